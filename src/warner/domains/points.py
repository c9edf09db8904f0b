"""A finite set of points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.domains.answers import NUMBER_TYPES, numbers
from warner.domains.base import LARGEST_SIZE, Domain


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

    def __init__(self, points: Any) -> None:
        try:
            array = np.array(points)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind not in "iuf":
            rule = "must be an array of numbers, shape (K, d)"
            raise ArgumentTypeError("points", rule, kind(points))
        array = array.astype(np.float64)
        if array.ndim != 2 or not array.shape[1]:
            raise ArgumentError("points", "must have shape (K, d)", str(array.shape))
        if not (np.abs(array) <= 1e100).all():
            rule = "must be finite, and at most 1e100, so that distances are finite"
            raise ArgumentError("points", rule)
        self.size = integer("number of points", len(array), 2, LARGEST_SIZE)
        self.dimension = array.shape[1]
        # Adding 0 turns negative zeros into zeros: both are equal, but they print differently.
        self._points = array + 0.0
        self._points.setflags(write=False)
        self._table = {tuple(row): i for i, row in enumerate(self._points.tolist())}
        if len(self._table) < self.size:
            raise ArgumentError("points", "must be distinct", f"{self.size} with repetitions")

    @property
    def points(self) -> np.ndarray:
        return self._points

    def encode(self, values: Any) -> np.ndarray:
        d = self.dimension
        each = f"must be {d} number{'s' if d > 1 else ''}"
        found = numbers(values, NUMBER_TYPES, f"numbers, shape (n, {d})", d, each)
        rows = found.astype(np.float64).tolist()
        places = (self._table.get(tuple(row), -1) for row in rows)
        index = np.fromiter(places, dtype=np.int64, count=len(rows))
        self._refuse(index < 0, "a point that is not among them")
        return index

    def decode(self, index: Any) -> list[tuple[float, ...]]:
        return [tuple(row) for row in self.points[self._index(index)].tolist()]

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.points.tolist()}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(spec["points"])
