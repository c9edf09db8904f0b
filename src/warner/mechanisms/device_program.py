"""Parts of device programs: what a device in another language needs to randomise an answer.

docs/device_programs.md defines the programs. Their numbers are the integers that are sampled, so a
device computes no exponential and no logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.exact import exp_above
from warner.domains import Domain
from warner.privacy.report_laws import INFINITE, euclidean_distances
from warner.reports.schema import ReportSchema

FORMAT = 1
_EXACT = 2**53  # the integers below it are numbers of JSON in every language

ANY, NEIGHBOURS, SENSITIVE = "any", "neighbours", "sensitive"


def number(value: int) -> int | str:
    """An integer of at least 0 as JSON data: a number below 2^53, else a hexadecimal text.

    >>> number(2**53 - 1), number(2**53)
    (9007199254740991, '0x20000000000000')
    """
    return int(value) if value < _EXACT else hex(value)


def numbers(values: Iterable[int]) -> list[int | str]:
    """Several integers as :func:`number` writes them."""
    return [number(value) for value in values]


def fraction(value: Fraction) -> dict[str, int | str]:
    """A fraction in lowest terms as JSON data."""
    return {"numerator": number(value.numerator), "denominator": number(value.denominator)}


def odds(
    ratio: Fraction, nats: float | Fraction, between: str = ANY, power: int = 1
) -> dict[str, Any]:
    """The entries ``odds`` and ``odds_at_most`` of a program."""
    if ratio == INFINITE or math.isinf(nats):
        rule = "has no program for a device, because one of its reports can rule out an answer"
        raise ArgumentError("mechanism", rule, None, "Choose a finite epsilon")
    most = exp_above(nats)
    if ratio > most:
        rule = (
            f"has a report that is {float(ratio)!r} times as likely from one answer as from "
            f"another, but the requested epsilon allows at most {float(most)!r} times"
        )
        raise ArgumentError("mechanism", rule, None, "Choose another epsilon")
    return {
        "odds": {**fraction(ratio), "between": between, "power": power},
        "odds_at_most": fraction(most),
    }


def delta_of_noise(
    masses: Sequence[int], words: int, shift: int | None, nats: float, delta: float
) -> dict[str, Any]:
    """The entries of a program with approximate privacy, whose reports have no largest ratio.

    delta = sum_j max(0, Pr(noise = j) - r Pr(noise = j + shift)),   r = odds_at_most
    """
    most = exp_above(nats)
    exact = None
    if shift is not None:
        over = [*masses[shift:], *[0] * shift]
        high, low = most.numerator, most.denominator
        excess = sum(max(0, low * a - high * b) for a, b in zip(masses, over, strict=True))
        exact = fraction(Fraction(excess, low << 64 * words))
    limits = {"odds_at_most": fraction(most), "delta_at_most": fraction(Fraction(delta))}
    return {"odds": None, "delta": exact, **limits}


def repeated_odds(parts: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """The odds of several independent reports of one value, as a product."""
    entries = [program["odds"] for program, _ in parts]
    if None in entries:
        return {"odds": None, "odds_at_most": None}
    # One program keeps its fraction, and its power grows; several are multiplied out.
    if len(parts) == 1:
        ((one, times),) = parts
        power = one["odds"]["power"] * times
        return {"odds": {**one["odds"], "power": power}, "odds_at_most": one["odds_at_most"]}
    between = max((entry["between"] for entry in entries), key=(ANY, SENSITIVE, NEIGHBOURS).index)
    powers = [entry["power"] * times for entry, (_, times) in zip(entries, parts, strict=True)]
    product, most = (
        math.prod(
            _read(program[key]) ** power for (program, _), power in zip(parts, powers, strict=True)
        )
        for key in ("odds", "odds_at_most")
    )
    whole = {**fraction(Fraction(product)), "between": between, "power": 1}
    return {"odds": whole, "odds_at_most": fraction(Fraction(most))}


def _read(entry: Mapping[str, int | str]) -> Fraction:
    """The fraction that :func:`fraction` wrote."""
    return Fraction(*(int(str(entry[key]), 0) for key in ("numerator", "denominator")))


def columns_of(schema: ReportSchema) -> list[dict[str, Any]]:
    """The columns of a report; their bytes, little endian, in this order are its record."""
    return [
        {
            "name": name,
            "dtype": column.dtype.newbyteorder("<").str,
            "length": math.prod(column.shape[1:]),
        }
        for name, column in schema.empty(0).items()
    ]


def program(sampler: str, fields: Mapping[str, Any], answer: str = "index") -> dict[str, Any]:
    """A program without its columns and odds."""
    return {"format": FORMAT, "sampler": sampler, "answer": answer, **fields}


# -----------------------------------------------------------------------------------------------
# Values at places on one axis or two, as device programs state them.


@dataclass(frozen=True, eq=False)
class Places:
    """Values at the crossings of rows and columns."""

    # The distance of two values is a function of a class of their rows and a class of their
    # columns. Rows i and j have the class |i - j|, unless double precision tells differences apart
    # that should be equal.

    rows: np.ndarray  # the coordinates of the rows
    columns: np.ndarray  # the coordinates of the columns
    cells: np.ndarray  # (K,) row * columns + column of each value

    @classmethod
    def of(cls, domain: Domain) -> Places | None:
        """The places of numbers on a line or of cells of a grid; None for other domains."""
        points, raster = domain.points, domain.raster
        if points is None:
            return None
        if raster is not None:
            rows, columns = (np.arange(n) * raster.side for n in (raster.rows, raster.columns))
            cells = np.arange(len(points)) if raster.places is None else raster.places
            return cls(rows, columns, cells)
        if points.shape[1] > 1 or not domain.is_numeric:
            return None
        return cls(np.zeros(1), points[:, 0], np.arange(len(points)))

    @staticmethod
    def _classes(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """The squared distances of each class, the classes (m, m), and whether they are |i - j|."""
        squares = (axis[:, None] - axis[None, :]) ** 2
        steps = np.abs(np.arange(len(axis))[:, None] - np.arange(len(axis))[None, :])
        if (squares[0][steps] == squares).all():
            return squares[0], steps, True
        distinct, classes = np.unique(squares, return_inverse=True)
        return distinct, classes.reshape(squares.shape), False

    def distances(self) -> np.ndarray:
        """The distance of values by their classes of rows and of columns."""
        rows, columns = (self._classes(axis)[0] for axis in (self.rows, self.columns))
        return np.asarray(np.sqrt(rows[:, None] + columns[None, :]))

    def fields(self) -> dict[str, Any]:
        """The entries of a program: the shape, and what is not by rule."""
        out: dict[str, Any] = {"shape": [len(self.rows), len(self.columns)]}
        if len(self.cells) < len(self.rows) * len(self.columns):
            out["places"] = self.cells.tolist()
        for name, axis in (("row_classes", self.rows), ("column_classes", self.columns)):
            _, classes, plain = self._classes(axis)
            if not plain:
                out[name] = classes.tolist()
        return out

    def neighbours(self) -> np.ndarray:
        """The pairs (p, 2) of values that lie next to each other on one axis."""
        wide = len(self.columns)
        index = np.full(len(self.rows) * wide, -1)
        index[self.cells] = np.arange(len(self.cells))
        grid = index.reshape(len(self.rows), wide)
        across = np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], axis=1)
        down = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
        pairs = np.concatenate([across, down])
        return np.asarray(pairs[(pairs >= 0).all(axis=1)])


def odds_of_neighbours(numerators: np.ndarray, domain: Domain, epsilon: float) -> dict[str, Any]:
    """The odds of a table (m, K) with metric privacy: of neighbours, or without them of any two."""
    places, points = Places.of(domain), domain.points
    assert points is not None
    pairs = np.empty((0, 2), dtype=np.int64) if places is None else places.neighbours()
    if not len(pairs):
        rows = [max(row) for row in numerators.tolist()], [min(row) for row in numerators.tolist()]
        ratio = max(Fraction(high, low) for high, low in zip(*rows, strict=True))
        return odds(ratio, Fraction(epsilon) * Fraction(euclidean_distances(points).max()), ANY)
    unit = float(np.abs(points[pairs[:, 0]] - points[pairs[:, 1]]).max())
    left, right = numerators[:, pairs[:, 0]], numerators[:, pairs[:, 1]]
    ratio = largest_quotient(np.concatenate([left, right]), np.concatenate([right, left]))
    return odds(ratio, Fraction(epsilon) * Fraction(unit), NEIGHBOURS)


def largest_quotient(left: np.ndarray, right: np.ndarray) -> Fraction:
    """The largest quotient of positive integers at the same places, exactly."""
    # Quotients that double precision cannot tell from the largest one are compared as fractions.
    near = (left / right).astype(np.float64)
    candidates = np.flatnonzero((near >= near.max() * (1 - 1e-12)).ravel())
    pairs = {(left.ravel()[i], right.ravel()[i]) for i in candidates}
    return max(Fraction(a, b) for a, b in pairs)
