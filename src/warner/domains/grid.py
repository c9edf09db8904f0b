"""Cells of a rectangular grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import integer, kind, real, show
from warner._core.errors import ArgumentError, ArgumentTypeError, ValuesError, message
from warner.domains.base import (
    INTEGER_TYPES,
    LARGEST_SIZE,
    NUMBER_TYPES,
    Domain,
    Raster,
    StudyEntry,
    TextForm,
    numbers,
)

# A cell as people write it, 3,5, and as estimates name it, [3, 5].
_CELL = r"^([0-9]{1,9}, ?[0-9]{1,9}|\[[0-9]{1,9}, ?[0-9]{1,9}\])$"
_ROW_AND_COLUMN = r"(?P<row>[0-9]+), ?(?P<column>[0-9]+)"


class Grid(Domain):
    """The cells (row, column) of a grid of squares, at the Euclidean distance of their centres.

    The index of a cell is row * columns + column, less the number of cells before it that are left
    out. Rows and columns count from 0.

    Args:
        rows: the number of rows.
        columns: the number of columns; rows * columns is 2 to 2^26.
        side: the side of a square, in the unit of distances.
        without: cells (row, column) that nobody can be in, such as the sea. They are no values.

    Raises:
        ArgumentError: too few or too many cells, or a side that is not positive. Or ``without`` has
            a cell twice, or a cell outside the grid.
        ArgumentTypeError: an argument of another type.

    >>> Grid(2, 3).encode([(1, 2), (0, 1)]).tolist()
    [5, 1]
    >>> Grid(2, 3, without=[(0, 0), (1, 1)]).labels
    [(0, 1), (0, 2), (1, 0), (1, 2)]
    """

    kind = "grid"
    _stated, _at_times = ("rows", "columns", "side"), ("without",)
    study = StudyEntry(
        "grid",
        "a map of square cells in rows and columns. 'side' is the length of a cell. 'without' "
        "lists cells to leave out. Answers are 'row,column'",
        {
            "rows": (int, ...),
            "columns": (int, ...),
            "side": (float, 1.0),
            "without": (list[list[int]], []),
        },
        "grid = { rows = 24, columns = 16, side = 0.5 }",
    )
    noun = "cells, written as row,column"
    usual_mechanism = "PlanarGeometric"
    remedy = "Correct the answers, or widen the grid"
    dimension = 2

    def __init__(
        self,
        rows: int,
        columns: int,
        side: float = 1.0,
        without: Sequence[tuple[int, int]] | np.ndarray = (),
    ) -> None:
        self.rows = integer("rows", rows, 1, LARGEST_SIZE)
        self.columns = integer("columns", columns, 1, LARGEST_SIZE)
        self.size = integer("rows * columns", self.rows * self.columns, 2, LARGEST_SIZE)
        self.side = real("side", side, above=0)
        self._places = self._left(without)
        if self._places is not None:
            self.size = integer("number of cells that are left", len(self._places), 2, LARGEST_SIZE)

    def _left(self, without: Any) -> np.ndarray | None:
        """The places of the cells that are not left out, increasing; None for all."""
        listed = hasattr(without, "__len__") and not isinstance(without, str | bytes | Mapping)
        if not listed:
            rule = "must be a list of pairs (row, column)"
            raise ArgumentTypeError("without", rule, show(without))
        if not len(without):
            return None
        rule, each = (
            "an array (n, 2) of whole numbers, a (row, column) pair in each row",
            "must be a (row, column) pair",
        )
        try:
            cells = numbers(without, INTEGER_TYPES, rule, 2, each).astype(np.int64)
        except ValuesError as error:
            rule = f"cell {error.position} must be a pair of whole numbers (row, column)"
            problem = message("without", rule)
        else:
            outside = (cells < 0).any(axis=1) | (cells >= (self.rows, self.columns)).any(axis=1)
            left = np.ones(self.size, dtype=bool)
            left[(cells[:, 0] * self.columns + cells[:, 1])[~outside]] = False
            if not outside.any() and np.count_nonzero(~left) == len(cells):
                return np.flatnonzero(left)
            got = (
                f"the cell {tuple(cells[outside][0].tolist())}" if outside.any() else "a cell twice"
            )
            rule = "must list only cells of the grid, and each cell only once"
            problem = message("without", rule, got)
        raise ArgumentError(problem)

    @cached_property
    def _index_of(self) -> np.ndarray:
        """(rows * columns,) the index of the cell at each place, -1 where it is left out."""
        index = np.full(self.rows * self.columns, -1)
        index[self._places] = np.arange(self.size)
        return index

    def _places_of(self, index: np.ndarray) -> np.ndarray:
        """row * columns + column of the cells at ``index``."""
        return index if self._places is None else self._places[index]

    @cached_property
    def points(self) -> np.ndarray:
        places = self._places_of(np.arange(self.size))
        return np.stack(np.divmod(places, self.columns), axis=1) * self.side

    @property
    def raster(self) -> Raster:
        return Raster(self.rows, self.columns, self.side, self._places)

    @property
    def text(self) -> TextForm:
        rule = "must be a cell, written as row,column"
        return TextForm(pattern=_CELL, number=int, parts=_ROW_AND_COLUMN, rule=rule)

    def encode(self, values: Any) -> np.ndarray:
        rule, each = (
            "an array (n, 2) of whole numbers, a (row, column) pair in each row",
            "must be a (row, column) pair",
        )
        cells = numbers(values, INTEGER_TYPES, rule, 2, each).astype(np.int64)
        too_far = (cells[:, 0] >= self.rows) | (cells[:, 1] >= self.columns)
        outside = (cells < 0).any(axis=1) | too_far
        cell = np.asarray(cells[:, 0] * self.columns + cells[:, 1])
        if self._places is None:
            self._refuse(outside, "a cell outside the grid")
            return cell
        index = self._index_of[np.where(outside, 0, cell)]
        self._refuse(outside | (index < 0), "a cell that is outside the grid or left out")
        return index

    def decode(self, index: Any) -> list[tuple[int, int]]:
        rows, columns = np.divmod(self._places_of(self._index(index)), self.columns)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def spec(self) -> dict[str, Any]:
        whole = {"kind": self.kind, "rows": self.rows, "columns": self.columns, "side": self.side}
        if self._places is None:
            return whole
        out = np.flatnonzero(self._index_of < 0)
        return {**whole, "without": np.stack(np.divmod(out, self.columns), axis=1).tolist()}


# -----------------------------------------------------------------------------------------------
# A finite set of points.


class Points(Domain):
    """A finite set of points in R^d at their Euclidean distances; an answer is d numbers.

    Args:
        points: (K, d), the coordinates of the K >= 2 distinct points, with absolute values of at
            most 1e100.

    Raises:
        ArgumentError: points of another shape, a point twice, or coordinates that are not finite.
        ArgumentTypeError: not an array of numbers.

    >>> corners = Points([[0, 0], [0, 1], [1, 0]])
    >>> corners.encode([(1, 0), (0, 0)]).tolist(), corners.decode([1])
    ([2, 0], [(0.0, 1.0)])
    """

    kind = "points"
    _stated = ("points",)
    usual_mechanism = "Exponential"

    def __init__(self, points: Any) -> None:
        try:
            array = np.array(points)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind not in "iuf":
            rule = "must be an array of numbers, one row for each point"
            raise ArgumentTypeError("points", rule, kind(points))
        array = array.astype(np.float64)
        if array.ndim != 2 or not array.shape[1]:
            rule = "must have one row for each point and one column for each coordinate"
            raise ArgumentError("points", rule, f"shape {array.shape}")
        if not (np.abs(array) <= 1e100).all():
            rule = (
                "must have only finite coordinates of at most 1e100, so that distances can be "
                "computed"
            )
            raise ArgumentError("points", rule)
        self.size = integer("number of points", len(array), 2, LARGEST_SIZE)
        self.dimension = array.shape[1]
        # Adding 0 turns negative zeros into zeros: both are equal, but they print differently.
        self._points = array + 0.0
        self._points.setflags(write=False)
        self._table = {tuple(row): i for i, row in enumerate(self._points.tolist())}
        if len(self._table) < self.size:
            got = f"{self.size} points, only {len(self._table)} of them different"
            raise ArgumentError("points", "must all be different", got)

    @property
    def points(self) -> np.ndarray:
        return self._points

    def encode(self, values: Any) -> np.ndarray:
        d = self.dimension
        each = f"must be {d} number{'s' if d > 1 else ''}"
        coordinates = numbers(values, NUMBER_TYPES, f"an array (n, {d}) of numbers", d, each)
        rows = coordinates.astype(np.float64).tolist()
        places = (self._table.get(tuple(row), -1) for row in rows)
        index = np.fromiter(places, dtype=np.int64, count=len(rows))
        self._refuse(index < 0, "a point that is not in the domain")
        return index

    def decode(self, index: Any) -> list[tuple[float, ...]]:
        return [tuple(row) for row in self.points[self._index(index)].tolist()]

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.points.tolist()}
