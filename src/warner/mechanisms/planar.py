"""Cells of a grid moved by a random displacement: planar geometric and planar Laplace mechanisms (geo-indistinguishability).

A displacement beyond the grid is moved to the nearest cell, row and column each on its own, so a displacement of R - 1 rows or more is as
good as one of R - 1: the law is a table of (2R - 1)(2C - 1) integers over a power of 2**64, whose outermost entries hold the tails.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import integer
from warner._core.errors import (
    ArgumentTypeError,
    BudgetError,
    MismatchError,
    message,
)
from warner._core.sampling import Source
from warner.channels import PlanarChannel
from warner.domains import Domain, Grid
from warner.mechanisms.base import Mechanism
from warner.mechanisms.planar_law import Displacements
from warner.privacy.guarantees import MetricLDP
from warner.privacy.likelihood_ratios import fractions
from warner.reports.schema import (
    IntegerColumns,
)

# Nats per cell: below, the tails to sum reach over more than 2^11 cells; above, over the whole grid, they are no floats.
_LEAST, _MOST = 0.02, 600.0
_LARGEST = 2**16  # cells
_TAIL = 40.0  # nats: tails are summed until what is left is e^-40 of them
_SLACK = 1e-11  # nats: more than the rounding of sums and tables moves any log-probability ratio
_NEAR = 4  # cells: displacements that are compared whenever a large law is made
# Another machine's table may differ from this one's by so much, relatively: a ratio of two entries then moves by less than _SLACK.
_ALIKE = 4e-12


class Planar(Mechanism):
    """A displacement that does not depend on the cell and is even in rows and in columns. Abstract: a subclass says how likely each is."""

    law: Displacements
    schema: IntegerColumns
    distance_unit = 1.0

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        if not isinstance(domain, Grid) or domain.rows < 2 or domain.columns < 2:
            raise ArgumentTypeError(
                message(
                    "domain",
                    "must be a Grid of at least 2 rows and 2 columns",
                    type(domain).__name__,
                    "For a line use Integers and Geometric",
                )
            )
        integer("number of cells", domain.size, 4, _LARGEST, "Use larger cells")
        nats, diameter = (
            self.requested * domain.side,
            math.hypot(domain.rows - 1, domain.columns - 1),
        )
        if nats < _LEAST:
            raise BudgetError(
                message(
                    "epsilon",
                    f"is too small for cells of side {domain.side:g}: the smallest whose law is summed exactly is {_LEAST / domain.side:.4g}",
                    repr(self.requested),
                    "Pass a larger epsilon or a grid of larger cells",
                )
            )
        if nats * diameter > _MOST:
            raise BudgetError(
                message(
                    "epsilon",
                    f"is too large: across this grid it must be at most {_MOST:g} nats, here epsilon {_MOST / diameter / domain.side:.4g}",
                    repr(self.requested),
                    "Pass a smaller epsilon or a smaller grid",
                )
            )
        # Rounding can move a ratio of two neighbours' probabilities by _SLACK nats, so that much less is used.
        self._table = self._masses(domain.rows, domain.columns, nats - _SLACK)
        self.schema = IntegerColumns(("report",), (domain.size,))
        self._settle()

    def _settle(self) -> None:
        """What follows from the table."""
        assert isinstance(self.domain, Grid)
        self.law = Displacements.of(self._table)
        found = (
            self.law.epsilon_per_unit() / self.domain.side if self.law.is_small else self.requested
        )
        if not self.law.is_small and self.law.steepest(_NEAR) > self.requested * self.domain.side:
            found = (
                math.inf
            )  # never by the derivation, which this watches; the audit compares all pairs
        self._found = math.nextafter(found, math.inf) if found < self.requested else found
        if self._found > self.requested:
            raise BudgetError(
                message(
                    "epsilon",
                    f"cannot be met: the nearest law realises {self._found!r}",
                    repr(self.requested),
                    "Pass another epsilon",
                )
            )

    @abstractmethod
    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        """How likely each displacement is, up to a factor: rows (r, 1), columns (1, c) -> (r, c)."""

    def _masses(self, height: int, width: int, nats: float) -> np.ndarray:
        """Shares of displacements (i, j), i < R, j < C, tails included in the last of each; all quarters together sum to one."""
        # From (i, j), t more rows lengthen the way by at least t^2 / (2 D + t): t at which that costs _TAIL nats.
        diameter, half = math.hypot(height, width), _TAIL / nats / 2
        reach = math.ceil(half + math.sqrt(half**2 + 4 * half * diameter))
        columns = np.arange(width + reach, dtype=np.float64)[None, :]
        out = np.zeros((height, width))
        for start in range(0, height + reach, 64):
            rows = np.arange(start, min(start + 64, height + reach), dtype=np.float64)[:, None]
            part = self._cell(rows, columns, nats)
            part[:, width - 1] = part[:, width - 1 :].sum(axis=1)
            np.add.at(out, np.minimum(rows[:, 0].astype(np.int64), height - 1), part[:, :width])
        return out / (out * quarters(height, width)).sum()

    @property
    def epsilon(self) -> float:
        """Per unit of distance: exact for grids of up to 400 cells, beyond that the one asked for, which bounds it."""
        return self._found

    @property
    def guarantee(self) -> MetricLDP:
        assert isinstance(self.domain, Grid)
        return MetricLDP(
            self.epsilon,
            math.hypot(self.domain.rows - 1, self.domain.columns - 1) * self.domain.side,
        )

    def epsilon_of_law(self) -> float:
        """Found anew from all pairs of cells where the grid is large."""
        if self.law.is_small:
            return self.epsilon
        assert isinstance(self.domain, Grid)
        return math.nextafter(self.law.epsilon_per_unit() / self.domain.side, math.inf)

    def parameters(self) -> dict[str, Any]:
        """The table, which other machines' arithmetic would round otherwise in the last place."""
        return {"table": self._table.tolist()}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        own, table = cls(domain, epsilon), np.array(parameters["table"], dtype=np.float64)
        if table.shape != own._table.shape or not np.allclose(
            table, own._table, rtol=_ALIKE, atol=0
        ):
            raise MismatchError(message("header", f"does not hold the law of {cls.__name__}"))
        own._table = table
        own._settle()
        return own

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, {self.requested!r})"

    def thresholds(self) -> dict[str, str]:
        return {"words": hex(self.law.words)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        height, width = self._table.shape
        down, right = np.divmod(source.among(self.law.edges, len(index)), 2 * width - 1)
        row = np.clip(index // width + down - (height - 1), 0, height - 1)
        return {"report": row * width + np.clip(index % width + right - (width - 1), 0, width - 1)}

    def channel(self) -> PlanarChannel:
        return PlanarChannel(*self.law.tables())

    def probabilities(self) -> np.ndarray:
        whole, (height, width) = self.law.whole(), self._table.shape
        size, total = height * width, whole.sum()
        table = np.full((size, size), 0, dtype=object)
        i, j = (
            np.arange(2 * height - 1)[:, None] - (height - 1),
            np.arange(2 * width - 1)[None, :] - (width - 1),
        )
        for x in range(size):
            to = np.clip(x // width + i, 0, height - 1) * width + np.clip(
                x % width + j, 0, width - 1
            )
            np.add.at(table[:, x], to.ravel(), whole.ravel())
        return fractions(table, total)


class PlanarGeometric(Planar):
    """Planar geometric mechanism on a grid: a cell moved by a displacement that falls with Euclidean distance, metric privacy.

        Pr(z | x) proportional to exp(-epsilon d(x, z)) over the infinite grid; what falls outside goes to the nearest cell

    Args:
        domain: a Grid; distances are in the unit of its ``side``.
        epsilon: nats per unit of distance.

    Raises:
        BudgetError: less than 0.02 nats from cell to cell, or more than 600 across the grid; the message says which epsilon would do.

    Source: [P4 app. B], [P4 sec IX-B].

    >>> from warner import Grid
    >>> city = PlanarGeometric(Grid(24, 16, side=0.5), 1.0)  # one nat per kilometre
    >>> abs(city.epsilon - 1) < 1e-9
    True
    """

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        return np.exp(-nats * np.sqrt(rows**2 + columns**2))


class PlanarLaplace(Planar):
    """Planar Laplace mechanism on a grid: the centre of a cell moved by a continuous displacement, then the nearest cell.

        density of the displacement epsilon^2 / (2 pi) exp(-epsilon d); Pr(z | x) is its integral over a cell

    It is not quite tight: ``epsilon`` is the exact one of the cells' law on grids of up to 400 cells.

    Args:
        domain: a Grid; distances are in the unit of its ``side``.
        epsilon: nats per unit of distance.

    Raises:
        BudgetError: less than 0.02 nats from cell to cell, or more than 600 across the grid.

    Source: Andres et al. (2013); METHODS 2.

    >>> from warner import Grid
    >>> city = PlanarLaplace(Grid(8, 8), 1.0)
    >>> 0.9 < city.epsilon < 1.0
    True
    """

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        """Gauss-Legendre over the unit square: more nodes near the cusp at distance 0, and where a cell spans more nats.

        Relative errors: exp(-nats u) over half a cell at most (nats / 2)^2k / (2k)! with k nodes, and r itself (1 / 4r)^2k: below 1e-12.
        """
        out = np.zeros((rows.size, columns.size))
        near = np.hypot(rows, columns)
        more = math.ceil(1.5 * nats) if nats > 0.2 else 0
        for low, high, nodes in ((0.5, 8, 24 + more), (8, 40, 6 + more), (40, math.inf, 4 + more)):
            r, c = np.nonzero((near >= low) & (near < high))
            if r.size:
                at, weights = np.polynomial.legendre.leggauss(nodes)
                for u, wu in zip(at / 2, weights / 2, strict=True):
                    y = rows[r, 0] + u
                    for v, wv in zip(at / 2, weights / 2, strict=True):
                        out[r, c] += (
                            wu * wv * np.exp(-nats * np.sqrt(y**2 + (columns[0, c] + v) ** 2))
                        )
        if rows[0, 0] == 0:
            out[0, 0] = _middle(nats)
        return out


def _middle(nats: float) -> float:
    """The integral of exp(-nats r) over the unit square around 0, in polar coordinates: eight times 0 <= angle <= pi / 4.

    Along the radius to R = 1 / (2 cos angle) it is (1 - e^-x (1 + x)) / nats^2 with x = nats R, = R^2 sum_k (-x)^k (k + 1) / (k + 2)!.
    """
    at, weights = np.polynomial.legendre.leggauss(40)
    angle = (at + 1) * (math.pi / 8)
    radius = 0.5 / np.cos(angle)
    x = nats * radius
    series = sum((-x) ** k * ((k + 1) / math.factorial(k + 2)) for k in range(25))
    closed = (1 - np.exp(-x) * (1 + x)) / np.maximum(x, 1e-9) ** 2
    return float(weights @ (radius**2 * np.where(x < 1, series, closed))) * math.pi


def quarters(height: int, width: int) -> np.ndarray:
    """In how many quarters of the plane each displacement (i, j) >= 0 occurs: 1, 2 or 4."""
    return (
        np.where(np.arange(height) > 0, 2, 1)[:, None]
        * np.where(np.arange(width) > 0, 2, 1)[None, :]
    )
