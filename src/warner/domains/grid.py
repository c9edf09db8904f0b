"""Cells of a rectangular grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, real, show
from warner._core.errors import ArgumentError, message
from warner.domains.answers import INTEGER_TYPES, numbers
from warner.domains.base import LARGEST_SIZE, Domain
from warner.domains.declarations import Raster, StudyEntry, TextForm

# A cell as people write it, 3,5, and as estimates name it, [3, 5].
_CELL = r"^([0-9]{1,9}, ?[0-9]{1,9}|\[[0-9]{1,9}, ?[0-9]{1,9}\])$"
_ROW_AND_COLUMN = r"(?P<row>[0-9]+), ?(?P<column>[0-9]+)"


class Grid(Domain):
    """The cells (row, column) of a grid of squares, at the Euclidean distance of their centres.

    The index of a cell is row * columns + column. Rows and columns count from 0.

    Args:
        rows: the number of rows.
        columns: the number of columns; rows * columns is 2 to 2^26.
        side: the side of a square, in the unit of distances.

    Raises:
        ArgumentError: too few or too many cells, or a side that is not positive.
        ArgumentTypeError: an argument of another type.

    >>> Grid(2, 3).encode([(1, 2), (0, 1)]).tolist()
    [5, 1]
    """

    kind = "grid"
    study = StudyEntry(
        "grid",
        "cells of rows x columns squares of a side; answers are 'row,column', from 0",
        {"rows": (int, ...), "columns": (int, ...), "side": (float, 1.0)},
    )
    noun = "cells, as row,column"
    remedy = "correct them or widen the grid"
    dimension = 2

    def __init__(self, rows: int, columns: int, side: float = 1.0) -> None:
        self.rows = integer("rows", rows, 1, LARGEST_SIZE)
        self.columns = integer("columns", columns, 1, LARGEST_SIZE)
        self.size = integer("rows * columns", self.rows * self.columns, 2, LARGEST_SIZE)
        self.side = real("side", side)
        if self.side <= 0:
            raise ArgumentError(message("side", "must be positive", show(side)))

    @cached_property
    def points(self) -> np.ndarray:
        return np.stack(np.divmod(np.arange(self.size), self.columns), axis=1) * self.side

    @property
    def raster(self) -> Raster:
        return Raster(self.rows, self.columns, self.side)

    @property
    def text(self) -> TextForm:
        rule = "must be a cell as row,column"
        return TextForm(pattern=_CELL, number=int, parts=_ROW_AND_COLUMN, rule=rule)

    def encode(self, values: Any) -> np.ndarray:
        rule, each = "integer (row, column) pairs, shape (n, 2)", "must be a (row, column) pair"
        cells = numbers(values, INTEGER_TYPES, rule, 2, each).astype(np.int64)
        too_far = (cells[:, 0] >= self.rows) | (cells[:, 1] >= self.columns)
        self._refuse((cells < 0).any(axis=1) | too_far, "a cell outside the grid")
        return np.asarray(cells[:, 0] * self.columns + cells[:, 1])

    def decode(self, index: Any) -> list[tuple[int, int]]:
        rows, columns = np.divmod(self._index(index), self.columns)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "rows": self.rows, "columns": self.columns, "side": self.side}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(spec["rows"], spec["columns"], spec["side"])
