"""The exact law of planar mechanisms: a cell of a grid moved by a displacement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from warner._core.exact import natural
from warner._core.sampling import Edges
from warner.privacy.likelihood_ratios import (
    ROUNDING,
    euclidean_distances,
    floats,
    worst_ratio,
    worst_slope_of_logs,
)
from warner.privacy.report_laws import Law

_SMALL = 400  # cells up to which all pairs are compared exactly
_MOST_PAIRS = 2**14  # pairs of a report and a value up to which all are compared exactly


@dataclass(frozen=True, eq=False)
class Displacements(Law):
    """A random displacement (i, j) of a cell of a grid with R rows and C columns.

    A displacement that would leave the grid is shortened, separately in rows and in columns.

    Attributes:
        quadrant: (R, C) integers. Entry (i, j) is the mass of each of the displacements (+-i, +-j).
            The last row and column also hold the mass of all longer displacements. The whole
            distribution sums to 2**(64 words).
        words: the number of 64-bit words of the denominator.
    """

    quadrant: np.ndarray
    words: int

    @classmethod
    def of(cls, shares: np.ndarray) -> Displacements:
        """The law with integer masses nearest to the given probabilities.

        The smallest probability gets 64 binary digits. The mass of displacement (0, 0) is adjusted
        so that the sum is exact.

        Shapes: shares (R, C).
        """
        words = math.ceil((64 - math.log2(shares.min())) / 64)
        total = 1 << 64 * words
        quadrant = np.vectorize(lambda v: round(Fraction(v) * total), otypes=[object])(shares)
        quadrant[0, 0] += total - _unfold(quadrant).sum()
        return cls(quadrant, words)

    @property
    def audit_method(self) -> str:
        if self.is_small:
            return "all pairs of cells of the exact law"
        return "all pairs of cells of the law, to double precision rounded up"

    @property
    def is_small(self) -> bool:
        """Whether the grid has at most 400 cells, so that all pairs are compared exactly."""
        return self.quadrant.size <= _SMALL

    def whole(self) -> np.ndarray:
        """All displacements, (2R - 1, 2C - 1) integers."""
        return _unfold(self.quadrant)

    @cached_property
    def edges(self) -> Edges:
        """The table that displacements are sampled from, in C order of :meth:`whole`."""
        return Edges.of(self.whole().ravel().tolist())

    def exact(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Integer masses of displacements by exactly or by at least i rows and j columns.

        Returns (R, C).
        """
        q = self.quadrant
        rows = np.cumsum(q[::-1], axis=0)[::-1]
        columns = np.cumsum(q[:, ::-1], axis=1)[:, ::-1]
        return q, rows, columns, np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The tables of :meth:`exact` as probabilities in double precision."""
        total = 1 << 64 * self.words
        inner, rows, columns, both = (floats(part, total) for part in self.exact())
        return inner, rows, columns, both

    def _reports(
        self, inner: np.ndarray, rows: np.ndarray, columns: np.ndarray, both: np.ndarray
    ) -> Iterator[np.ndarray]:
        """For every report of one quadrant of the grid, its entry under every cell, (R, C).

        The reports of the other quadrants have the same entries. The arguments are tables as of
        :meth:`exact`.
        """
        height, width = self.quadrant.shape
        for r in range((height + 1) // 2):
            for c in range((width + 1) // 2):
                i, j = np.abs(np.arange(height) - r)[:, None], np.abs(np.arange(width) - c)[None, :]
                yield (inner, columns, rows, both)[2 * (r == 0) + (c == 0)][i, j]

    def ratio(self) -> Fraction:
        return max(Fraction(row.max(), row.min()) for row in self._reports(*self.exact()))

    def steepest(self, within: int | None = None) -> float:
        """The largest log-likelihood ratio per cell of Euclidean distance, rounded up.

        It is the maximum over all reports and pairs of cells, in double precision. The law is even
        in rows and in columns. So a report inside the grid has its worst pair of cells within one
        quadrant around it. The report next to a corner has the largest such quadrant. Reports on a
        side and in a corner have separate tables. A displacement (k a, k b) is k times (a, b),
        whose slope is at least as large. So only displacements without a common divisor are
        compared.
        """
        parts = _tables_of_reports(*(np.log(part) for part in self.tables()))
        worst = max(_steepest_of(part, within) for part in parts)
        return math.nextafter(max(0.0, worst), math.inf)

    def tables_of_reports(self) -> list[np.ndarray]:
        """Integer masses of a report under the cells around it: corner, sides and inside."""
        return _tables_of_reports(*self.exact())

    def epsilon_per_unit(self) -> float:
        """Nats per side of a cell: the maximum over reports and pairs of cells, rounded up."""
        if not self.is_small:
            return self.steepest()
        height, width = self.quadrant.shape
        place = np.stack(np.divmod(np.arange(height * width), width), axis=1).astype(np.float64)
        logs = (np.vectorize(natural, otypes=[np.float64])(part) for part in self.exact())
        rows = np.array([row.ravel() for row in self._reports(*logs)])
        return worst_slope_of_logs(rows, euclidean_distances(place)).epsilon


@dataclass(frozen=True, eq=False)
class PlacedDisplacements(Displacements):
    """Displacements on a rectangle in which only some cells are values.

    Attributes:
        places: (K,) the cells that are values.
        reports: (R C,) the report 0..m-1 that is sent for each cell of the rectangle.
        n_reports: m, the number of reports.
    """

    places: np.ndarray
    reports: np.ndarray
    n_reports: int

    @property
    def audit_method(self) -> str:
        if self.compares_reports:
            return "all pairs of values under all reports of the exact law"
        return f"{super().audit_method}, of a rectangle that holds all values and reports"

    @property
    def compares_reports(self) -> bool:
        """Whether there are at most 2^14 pairs of a report and a value; all are then compared."""
        return self.n_reports * len(self.places) <= _MOST_PAIRS

    def masses(self) -> np.ndarray:
        """The integer mass of each report under each value, (m, K)."""
        whole, (height, width) = self.whole().ravel(), self.quadrant.shape
        down = np.arange(2 * height - 1)[:, None] - (height - 1)
        right = np.arange(2 * width - 1)[None, :] - (width - 1)
        table = np.full((self.n_reports, len(self.places)), 0, dtype=object)
        for x, place in enumerate(self.places.tolist()):
            row = np.clip(place // width + down, 0, height - 1)
            cell = row * width + np.clip(place % width + right, 0, width - 1)
            np.add.at(table[:, x], self.reports[cell.ravel()], whole)
        return table

    def ratio(self) -> Fraction:
        return worst_ratio(self.masses()) if self.compares_reports else super().ratio()


def nearest_places(values: np.ndarray) -> np.ndarray:
    """The nearest value of every cell, by Euclidean distance.

    Of several nearest values, the first in index order is returned. In each column the nearest
    value above or below is found first, then the best column. Squared distances are integers, so
    ties are found exactly.

    Shapes: values (H, W) -> (H, W).

    >>> nearest_places(np.array([[True, False, False, True]])).tolist()
    [[0, 0, 3, 3]]
    """
    height, width = values.shape
    rows, far = np.arange(height)[:, None], 4 * (height + width)
    above = np.maximum.accumulate(np.where(values, rows, -far), axis=0)
    below = np.minimum.accumulate(np.where(values, rows, 2 * far)[::-1], axis=0)[::-1]
    row = np.where(rows - above <= below - rows, above, below)
    columns = np.arange(width)
    # Distances first, then places; a column without values is beyond all others.
    key = (row - rows) ** 2 * (height * width) + row * width + columns
    out = np.empty((height, width), dtype=np.int64)
    for column in range(width):
        across = (columns - column) ** 2 * (height * width)
        out[:, column] = (key + across).min(axis=1) % (height * width)
    return out


def _tables_of_reports(
    inner: np.ndarray, along: np.ndarray, across: np.ndarray, corner: np.ndarray
) -> list[np.ndarray]:
    """The tables of a report in a corner, on the sides, and inside, from those of ``exact``.

    The last row and column hold tails, which only reports on that side of the grid have.
    """
    tall, wide = (size > 2 for size in inner.shape)
    parts = [corner]
    parts += [along[:, :-1]] if wide else []
    parts += [across[:-1]] if tall else []
    parts += [inner[:-1, :-1]] if tall and wide else []
    return parts


def _steepest_of(logs: np.ndarray, within: int | None) -> float:
    """The largest slope within one table of log probabilities (R, C), moved up by rounding."""
    height, width = logs.shape
    rows, columns = (size - 1 if within is None else min(within, size - 1) for size in logs.shape)
    found = np.zeros((rows + 1, columns + 1))
    for i in range(rows + 1):
        low, high = logs[: height - i], logs[i:]
        for j in range(columns + 1):
            if math.gcd(i, j) == 1:
                falls = high[:, j:] - low[:, : width - j]
                crosses = high[:, : width - j] - low[:, j:]
                found[i, j] = max(falls.max(), -falls.min(), crosses.max(), -crosses.min())
    error = ROUNDING * (1 + float(np.abs(logs).max()))
    distance = np.hypot(np.arange(rows + 1)[:, None], np.arange(columns + 1)[None, :])
    return float(((found + error) / np.maximum(distance, 1)).max())


def _unfold(quadrant: np.ndarray) -> np.ndarray:
    """All displacements (2R - 1, 2C - 1) from those of one quadrant (R, C)."""
    half = np.concatenate([quadrant[:0:-1], quadrant])
    return np.concatenate([half[:, :0:-1], half], axis=1)
