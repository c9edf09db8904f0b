"""Mechanisms that move a cell of a grid by a random displacement (geo-indistinguishability).

A cell that would be outside the grid is replaced by the nearest cell, separately for rows and
columns. So a displacement of R - 1 rows or more has the effect of R - 1 rows. The distribution is a
table of (2R - 1)(2C - 1) integers over a power of 2^64, whose outermost entries hold the tails.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import integer
from warner._core.errors import ArgumentTypeError, BudgetError, MismatchError, message
from warner._core.sampling import Source
from warner.channels import PlanarChannel
from warner.domains import Domain, Raster
from warner.mechanisms.base import Mechanism
from warner.mechanisms.planar_law import Displacements
from warner.privacy.guarantees import MetricLDP
from warner.privacy.likelihood_ratios import fractions
from warner.reports.schema import IntegerColumns

# Nats from cell to cell; with fewer, tails would be sums over more than 2^11 cells.
_LEAST_NATS = 0.02
# Nats across the grid; with more, probabilities would be no floats.
_MOST_NATS = 600.0
_MOST_CELLS = 2**16
# Tails are summed until the rest is exp(-40) of them.
_TAIL = 40.0
# Nats by which rounding can change the logarithm of a ratio of probabilities, rounded up.
_SLACK = 1e-11
# Displacements of up to this many cells are compared in each large table.
_NEAR = 4
# The largest relative difference between the tables of two machines: less than _SLACK nats.
_TOLERANCE = 4e-12


class Planar(Mechanism):
    """Base class of mechanisms that add a random displacement to a cell.

    The displacement does not depend on the cell, and has the same probability with either sign of
    its rows and of its columns. A subclass states the probabilities.
    """

    law: Displacements
    _raster: Raster
    schema: IntegerColumns
    distance_unit = 1.0

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        cells = domain.raster
        if cells is None or cells.rows < 2 or cells.columns < 2:
            raise ArgumentTypeError(
                message(
                    "domain",
                    "must be a Grid of at least 2 rows and 2 columns",
                    type(domain).__name__,
                    "For a line use Integers and Geometric",
                )
            )
        integer("number of cells", domain.size, 4, _MOST_CELLS, "Use larger cells")
        self._raster, nats = cells, self.requested * cells.side
        diameter = math.hypot(cells.rows - 1, cells.columns - 1)
        if nats < _LEAST_NATS:
            rule = f"is too small for cells of side {cells.side:g}: the smallest is"
            rule = f"{rule} {_LEAST_NATS / cells.side:.4g}"
            remedy = "Pass a larger epsilon or a grid of larger cells"
            raise BudgetError(message("epsilon", rule, repr(self.requested), remedy))
        if nats * diameter > _MOST_NATS:
            rule = f"is too large: across this grid it must be at most {_MOST_NATS:g} nats"
            rule = f"{rule}, here epsilon {_MOST_NATS / diameter / cells.side:.4g}"
            remedy = "Pass a smaller epsilon or a smaller grid"
            raise BudgetError(message("epsilon", rule, repr(self.requested), remedy))
        # Rounding can add up to _SLACK nats from cell to cell.
        self._table = self._masses(cells.rows, cells.columns, nats - _SLACK)
        self.schema = IntegerColumns(("report",), (domain.size,))
        self._set_law()

    def _set_law(self) -> None:
        """Set the exact distribution and its budget from the table."""
        self.law = Displacements.of(self._table)
        found = (
            self.law.epsilon_per_unit() / self._raster.side if self.law.is_small else self.requested
        )
        if not self.law.is_small and self.law.steepest(_NEAR) > self.requested * self._raster.side:
            # The derivation excludes this case. The audit compares all pairs.
            found = math.inf
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
        """Return the mass of each displacement, up to a common factor.

        Args:
            rows: (r, 1), at least 0.
            columns: (1, c), at least 0.
            nats: the budget from cell to cell.

        Returns:
            (r, c).
        """

    def _masses(self, height: int, width: int, nats: float) -> np.ndarray:
        """The probability (R, C) of each displacement of i < R rows and j < C columns.

        The last row and column include the tails. The sum over both signs of i and j is 1.
        """
        # From (i, j), t more rows lengthen the distance by at least t^2 / (2 D + t). The sums stop
        # at the t for which this is _TAIL nats.
        diameter, half = math.hypot(height, width), _TAIL / nats / 2
        reach = math.ceil(half + math.sqrt(half**2 + 4 * half * diameter))
        columns = np.arange(width + reach, dtype=np.float64)[None, :]
        out = np.zeros((height, width))
        for start in range(0, height + reach, 64):
            rows = np.arange(start, min(start + 64, height + reach), dtype=np.float64)[:, None]
            part = self._cell(rows, columns, nats)
            part[:, width - 1] = part[:, width - 1 :].sum(axis=1)
            np.add.at(out, np.minimum(rows[:, 0].astype(np.int64), height - 1), part[:, :width])
        return np.asarray(out / (out * multiplicities(height, width)).sum())

    @property
    def epsilon(self) -> float:
        """Nats per unit of distance: exact up to 400 cells, and beyond that an upper bound."""
        return self._found

    @property
    def guarantee(self) -> MetricLDP:
        rows, columns, side = self._raster
        return MetricLDP(self.epsilon, math.hypot(rows - 1, columns - 1) * side)

    def epsilon_of_law(self) -> float:
        """Found anew from all pairs of cells where the grid is large."""
        if self.law.is_small:
            return self.epsilon
        return math.nextafter(self.law.epsilon_per_unit() / self._raster.side, math.inf)

    def parameters(self) -> dict[str, Any]:
        """The table of probabilities, which other machines may round differently."""
        return {"table": self._table.tolist()}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        own, table = cls(domain, epsilon), np.array(parameters["table"], dtype=np.float64)
        if table.shape != own._table.shape or not np.allclose(
            table, own._table, rtol=_TOLERANCE, atol=0
        ):
            raise MismatchError(message("header", f"does not hold the law of {cls.__name__}"))
        own._table = table
        own._set_law()
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
    """Planar geometric mechanism on a grid: metric privacy at Euclidean distance d.

        Pr(z | x) = exp(-epsilon d(x, z)) / sum_z' exp(-epsilon d(x, z')),   z' in the infinite grid

    A cell outside the grid is replaced by the nearest cell of the grid.

    Args:
        domain: a Grid of at least 2 rows and 2 columns. Distances are in the unit of its ``side``.
        epsilon: nats per unit of distance.

    Raises:
        ArgumentTypeError: another domain.
        BudgetError: fewer than 0.02 nats from cell to cell, or more than 600 across the grid. The
            message has the nearest epsilon that is possible.

    Source: [P4 app. B], [P4 sec IX-B].

    >>> from warner import Grid
    >>> city = PlanarGeometric(Grid(24, 16, side=0.5), 1.0)  # one nat per kilometre
    >>> abs(city.epsilon - 1) < 1e-9
    True
    """

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        return np.asarray(np.exp(-nats * np.sqrt(rows**2 + columns**2)))


class PlanarLaplace(Planar):
    """Planar Laplace mechanism on a grid: the nearest cell to a point with Laplace noise.

        Pr(z | x) = integral over the cell of z of epsilon^2 / (2 pi) exp(-epsilon |u - x|) du

    The point is the centre of the cell x plus the noise. A cell outside the grid is replaced by the
    nearest cell of the grid. The privacy is not quite tight: ``epsilon`` is the exact budget up to
    400 cells.

    Args:
        domain: a Grid of at least 2 rows and 2 columns. Distances are in the unit of its ``side``.
        epsilon: an upper bound of the nats per unit of distance.

    Raises:
        ArgumentTypeError: another domain.
        BudgetError: fewer than 0.02 nats from cell to cell, or more than 600 across the grid.

    Source: Andres et al. (2013); METHODS 2.

    >>> from warner import Grid
    >>> city = PlanarLaplace(Grid(8, 8), 1.0)
    >>> 0.9 < city.epsilon < 1.0
    True
    """

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        """The integral of exp(-nats r) over each unit square, by Gauss-Legendre quadrature.

        More nodes are used near the cusp at r = 0, and where a cell spans more nats. With k nodes
        the relative error is at most (nats / 2)^2k / (2k)! from exp(-nats u) over half a cell, and
        (1 / 4r)^2k from r itself. Both are below 1e-12.
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
    """The integral of exp(-nats r) over the unit square around 0, in polar coordinates.

    It is eight times the integral over 0 <= angle <= pi / 4. Along the radius to
    R = 1 / (2 cos angle), with x = nats R, it is

        (1 - exp(-x) (1 + x)) / nats^2 = R^2 sum_k (-x)^k (k + 1) / (k + 2)!
    """
    at, weights = np.polynomial.legendre.leggauss(40)
    angle = (at + 1) * (math.pi / 8)
    radius = 0.5 / np.cos(angle)
    x = nats * radius
    series = sum((-x) ** k * ((k + 1) / math.factorial(k + 2)) for k in range(25))
    closed = (1 - np.exp(-x) * (1 + x)) / np.maximum(x, 1e-9) ** 2
    return float(weights @ (radius**2 * np.where(x < 1, series, closed))) * math.pi


def multiplicities(height: int, width: int) -> np.ndarray:
    """Return the number of sign combinations (R, C) of displacements (i, j) >= 0: 1, 2 or 4."""
    return (
        np.where(np.arange(height) > 0, 2, 1)[:, None]
        * np.where(np.arange(width) > 0, 2, 1)[None, :]
    )
