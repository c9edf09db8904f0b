"""Domains of one answer: labels, whole numbers, real numbers, cells of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import (
    as_float,
    choice,
    integer,
    kind,
    legible,
    real,
    show,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    ValuesError,
    message,
)
from warner.domains.base import LARGEST_SIZE, Domain, flat, own_types, sequence, wrong_type


class _Table(dict[Any, int]):
    def __missing__(self, key: Any) -> int:
        return -1


_LABEL_TYPES: dict[type, tuple[type, ...]] = {
    str: (str,),
    int: (int, np.integer),
    bool: (bool, np.bool_),
}

_PLAIN = frozenset({str, int, bool})


class Categorical(Domain):
    """Values without order or distance: strings, integers or booleans.

    Args:
        values: the K >= 2 distinct labels; their order is the order of every estimate.

    Raises:
        ArgumentError: fewer than two labels, a label twice, or a label with characters that cannot be shown (control characters,
            marks of text direction, surrogates, noncharacters).
        ArgumentTypeError: a label that is not a string, integer or boolean.

    >>> colour = Categorical(["red", "green", "blue"])
    >>> colour.encode(["blue", "red"]).tolist(), colour.decode([2])
    ([2, 0], ['blue'])
    """

    def __init__(self, values: Sequence[str | int | bool]) -> None:
        if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__iter__"):
            raise ArgumentTypeError(
                message("values", "must be a list of labels, in an order that stays", kind(values))
            )
        labels = [v.item() if isinstance(v, np.generic) else v for v in values]
        for i, label in enumerate(labels):
            if type(label) not in _LABEL_TYPES:
                raise ArgumentTypeError(
                    message(
                        "values",
                        f"label {i} must be a string, an integer or a boolean",
                        kind(label),
                    )
                )
            if isinstance(label, str):
                legible(f"values: label {i}", label)
        self._table = _Table((label, i) for i, label in enumerate(labels))
        if len(self._table) < len(labels):
            raise ArgumentError(
                message(
                    "values",
                    "labels must be distinct (1 and True count as the same)",
                    f"{len(labels)} with repetitions",
                )
            )
        integer(
            "number of values",
            len(labels),
            2,
            LARGEST_SIZE,
            "A domain of one value has nothing to learn",
        )
        self.size = len(labels)
        self._labels = labels
        self._types = tuple({t for label in labels for t in _LABEL_TYPES[type(label)]})
        self._object = np.empty(self.size, dtype=object)
        self._object[:] = labels
        small = all(type(label) is int and abs(label) < 2**63 for label in labels)
        self._order = np.argsort(np.array(labels), kind="stable") if small else None

    def encode(self, values: Any) -> np.ndarray:
        values = sequence(values)
        if isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise ArgumentTypeError(
                    message("values", "must be one-dimensional", f"shape {values.shape}")
                )
            if values.dtype.kind in "iu" and self._order is not None:
                return self._encode_integers(values)
            values = values.tolist()
        wrong_type(values, self._types)
        if not _PLAIN.issuperset(map(type, values)):
            # NumPy's scalars are looked up as Python's own.
            plain = [v.item() if isinstance(v, np.generic) else v for v in own_types(values)]
        else:
            plain = values
        index = np.fromiter(map(self._table.__getitem__, plain), dtype=np.int64, count=len(values))
        if (index < 0).any():
            self._refuse(index < 0, kind(values[int(np.argmin(index >= 0))]))
        return index

    def _encode_integers(self, values: np.ndarray) -> np.ndarray:
        assert self._order is not None
        ordered = np.asarray(self._labels)[self._order]
        if ordered[-1] - ordered[0] == self.size - 1:  # consecutive: position is a subtraction
            outside = (values < ordered[0]) | (values > ordered[-1])
            self._refuse(outside, "an integer")
            place = (
                (values.astype(np.int64) - ordered[0]) if ordered[0] else values.astype(np.int64)
            )
        else:
            place = np.minimum(np.searchsorted(ordered, values), self.size - 1)
            self._refuse(ordered[place] != values, "an integer")
        return place if (self._order[1:] > self._order[:-1]).all() else self._order[place]

    def decode(self, index: Any) -> list[Any]:
        return self._object[self._index(index)].tolist()

    def spec(self) -> dict[str, Any]:
        return {"kind": "categorical", "values": self._labels}


class Integers(Domain):
    """The integers low..high, both included, at distance |x - x'|.

    >>> Integers(18, 99).encode([18, 20]).tolist()
    [0, 2]
    """

    remedy = "correct them or widen the limits"

    def __init__(self, low: int, high: int) -> None:
        self.low = integer("low", low, -(2**62), 2**62)
        self.high = integer("high", high, self.low + 1, self.low + LARGEST_SIZE - 1)
        self.size = self.high - self.low + 1

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        if max(-self.low, self.high) > 2**53:
            raise ArgumentError(
                message(
                    "domain",
                    "has integers beyond 2^53, which are no exact coordinates",
                    show(self.high),
                    "Subtract a common number, or use Categorical",
                )
            )
        return np.arange(self.low, self.high + 1, dtype=np.float64)[:, None]

    def encode(self, values: Any) -> np.ndarray:
        values = sequence(values)
        if not isinstance(values, np.ndarray) or values.dtype == object:
            values = list(values)
            wrong_type(values, (int, np.integer))
            values = own_types(values)
            if max(map(abs, values)) >= 2**63:  # an int that no array holds is outside any domain
                self._refuse(
                    np.fromiter((abs(v) >= 2**63 for v in values), dtype=bool, count=len(values)),
                    "an integer",
                )
            values = np.asarray(values, dtype=np.int64)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ArgumentTypeError(
                message(
                    "values",
                    "must be a one-dimensional array of integers",
                    f"{values.dtype} of shape {values.shape}",
                )
            )
        outside = (values < self.low) | (values > self.high)
        self._refuse(outside, "an integer")
        return values.astype(np.int64) - self.low

    def position(self, values: Any) -> np.ndarray:
        return self.encode(values) / (self.size - 1)

    def decode(self, index: Any) -> list[int]:
        return (self._index(index) + self.low).tolist()

    def spec(self) -> dict[str, Any]:
        return {"kind": "integers", "low": self.low, "high": self.high}


class Interval(Domain):
    """Real numbers in [low, high], in ``bins`` equal bins; ``decode`` gives bin centres.

    Args:
        low, high: the limits, both included.
        bins: in how many values the distribution is estimated. Numeric mechanisms do not see them.
        clip: take numbers beyond a limit as the limit, instead of refusing them.

    >>> Interval(0, 1, 4).encode([0.0, 0.3, 1.0]).tolist()
    [0, 1, 3]
    """

    remedy = "correct them, widen the limits, or say clip=True to take them as the limit"

    def __init__(self, low: float, high: float, bins: int, clip: bool = False) -> None:
        self.low, self.high = real("low", low), real("high", high)
        if not self.low < self.high:
            raise ArgumentError(
                message("high", f"must be greater than low = {self.low!r}", show(high))
            )
        self.size = self.bins = integer("bins", bins, 2, LARGEST_SIZE)
        self.clip = choice("clip", clip, (False, True))
        real("high - low", self.high - self.low, "Choose narrower limits")

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        centres, span = np.arange(self.size) + 0.5, self.high - self.low
        # A range near the largest float is divided first, because its product with the number of a bin is no float.
        inside = centres * span / self.size if span < 1e300 else centres / self.size * span
        return (self.low + inside)[:, None]

    def encode(self, values: Any) -> np.ndarray:
        values = self._numbers(values)
        return np.minimum(
            ((values - self.low) / (self.high - self.low) * self.size).astype(np.int64),
            self.size - 1,
        )

    def position(self, values: Any) -> np.ndarray:
        return np.clip((self._numbers(values) - self.low) / (self.high - self.low), 0.0, 1.0)

    def _numbers(self, values: Any) -> np.ndarray:
        values = sequence(values)
        if not isinstance(values, np.ndarray) or values.dtype == object:
            values = list(values)
            wrong_type(values, (int, float, np.integer, np.floating))
            values = np.fromiter(
                map(as_float, own_types(values)), dtype=np.float64, count=len(values)
            )
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                message(
                    "values",
                    "must be a one-dimensional array of numbers",
                    f"{values.dtype} of shape {values.shape}",
                )
            )
        values = values.astype(np.float64)  # a narrower type could not hold the limits or the bins
        self._refuse(np.isnan(values), "NaN")
        if self.clip:
            self._refuse(np.isinf(values), "infinity")
            return np.clip(values, self.low, self.high)
        self._refuse((values < self.low) | (values > self.high), "a number outside [low, high]")
        return values

    def decode(self, index: Any) -> list[float]:
        return self.points[self._index(index), 0].tolist()

    def spec(self) -> dict[str, Any]:
        limits = {"kind": "interval", "low": self.low, "high": self.high, "bins": self.size}
        return {**limits, "clip": True} if self.clip else limits


class Grid(Domain):
    """Cells (row, column) of a rows x columns grid of squares with the given ``side``; index = row * columns + column.

    >>> Grid(2, 3).encode([(1, 2), (0, 1)]).tolist()
    [5, 1]
    """

    remedy = "correct them or widen the grid"

    def __init__(self, rows: int, columns: int, side: float = 1.0) -> None:
        self.rows = integer("rows", rows, 1, LARGEST_SIZE)
        self.columns = integer("columns", columns, 1, LARGEST_SIZE)
        self.size = integer("rows * columns", self.rows * self.columns, 2, LARGEST_SIZE)
        self.side = real("side", side)
        if self.side <= 0:
            raise ArgumentError(message("side", "must be positive", show(side)))

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        return np.stack(np.divmod(np.arange(self.size), self.columns), axis=1) * self.side

    def encode(self, values: Any) -> np.ndarray:
        values = sequence(values)
        if not isinstance(values, np.ndarray) or values.dtype == object:
            for i, cell in enumerate(values):
                if not flat(cell, 2):
                    raise ValuesError(i, "must be a (row, column) pair", kind(cell))
            numbers = [c for cell in values for c in cell]
            wrong_type(numbers, (int, np.integer), per=2)
            values = np.asarray(own_types(numbers)).reshape(-1, 2)
        if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
            raise ArgumentTypeError(
                message(
                    "values",
                    "must be integer (row, column) pairs, shape (n, 2)",
                    f"{values.dtype} of shape {values.shape}",
                )
            )
        values = values.astype(np.int64)
        outside = (
            (values < 0).any(axis=1) | (values[:, 0] >= self.rows) | (values[:, 1] >= self.columns)
        )
        self._refuse(outside, "a cell outside the grid")
        return values[:, 0] * self.columns + values[:, 1]

    def decode(self, index: Any) -> list[tuple[int, int]]:
        rows, columns = np.divmod(self._index(index), self.columns)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def spec(self) -> dict[str, Any]:
        return {"kind": "grid", "rows": self.rows, "columns": self.columns, "side": self.side}


class Points(Domain):
    """A finite alphabet in R^d: the rows of ``points`` (K, d), at their Euclidean distances. A value is one of them, as d numbers.

    >>> corners = Points([[0, 0], [0, 1], [1, 0]])
    >>> corners.encode([(1, 0), (0, 0)]).tolist(), corners.decode([1])
    ([2, 0], [(0.0, 1.0)])
    """

    points: np.ndarray

    def __init__(self, points: Any) -> None:
        try:
            array = np.array(points)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                message("points", "must be an array of numbers, shape (K, d)", kind(points))
            )
        array = array.astype(np.float64)
        if array.ndim != 2 or not array.shape[1]:
            raise ArgumentError(message("points", "must have shape (K, d)", str(array.shape)))
        if not (np.abs(array) <= 1e100).all():
            raise ArgumentError(
                message("points", "must be finite, and at most 1e100, so that distances are")
            )
        self.size = integer("number of points", len(array), 2, LARGEST_SIZE)
        self.points = array + 0.0  # no negative zeros, which are equal to 0 and print differently
        self._table = _Table((tuple(row), i) for i, row in enumerate(self.points.tolist()))
        if len(self._table) < self.size:
            raise ArgumentError(
                message("points", "must be distinct", f"{self.size} with repetitions")
            )
        self.points.setflags(write=False)

    def encode(self, values: Any) -> np.ndarray:
        values, width = sequence(values), self.points.shape[1]
        if not isinstance(values, np.ndarray) or values.dtype == object:
            for i, value in enumerate(values):
                if not flat(value, width):
                    raise ValuesError(
                        i, f"must be {width} number{'s' if width > 1 else ''}", kind(value)
                    )
            numbers = [c for value in values for c in value]
            wrong_type(numbers, (int, float, np.integer, np.floating), per=width)
            values = np.asarray(list(map(as_float, own_types(numbers)))).reshape(-1, width)
        if values.ndim != 2 or values.shape[1] != width or values.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                message(
                    "values",
                    f"must be numbers, shape (n, {width})",
                    f"{values.dtype} of shape {values.shape}",
                )
            )
        index = np.fromiter(
            (self._table[tuple(row)] for row in values.astype(np.float64).tolist()),
            dtype=np.int64,
            count=len(values),
        )
        self._refuse(index < 0, "a point that is not one of them")
        return index

    def decode(self, index: Any) -> list[tuple[float, ...]]:
        return [tuple(row) for row in self.points[self._index(index)].tolist()]

    def spec(self) -> dict[str, Any]:
        return {"kind": "points", "points": self.points.tolist()}
