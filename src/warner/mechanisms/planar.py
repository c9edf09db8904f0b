"""Mechanisms that move a cell of a grid by a random displacement (geo-indistinguishability).

The grid has R rows and C columns. A cell that would be outside the grid is replaced by the nearest
cell, separately for rows and columns. So a displacement of R - 1 rows or more has the effect of R -
1 rows. The distribution is a table of (2R - 1)(2C - 1) integers over a power of 2^64. Its outermost
entries also hold the probability of all longer displacements.

Reports that may lie outside the grid, and grids with cells left out, use the same law on a larger
rectangle around the grid. Cells beyond that rectangle are replaced by its nearest cell. Where
reports are values, each cell of the rectangle is then replaced by the nearest value. Both steps
look at the displaced cell alone, so they are post-processing and cost no privacy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, show
from warner._core.errors import ArgumentError, ArgumentTypeError, BudgetError, MismatchError
from warner._core.exact import natural, portable_exp
from warner._core.sampling import Edges, Source
from warner._core.text import AS_WRITTEN
from warner.channels import PlacedChannel, PlanarChannel
from warner.domains import Domain, Raster
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import NEIGHBOURS, largest_quotient, numbers, odds, program
from warner.privacy.guarantees import MetricLDP
from warner.privacy.report_laws import (
    ROUNDING,
    ReportDistribution,
    euclidean_distances,
    floats,
    fractions,
    worst_ratio,
    worst_slope,
    worst_slope_of_logs,
)
from warner.reports.schema import IntegerColumns

# -----------------------------------------------------------------------------------------------
# The exact law of planar mechanisms: a cell of a grid moved by a displacement.


_SMALL = 400  # cells up to which all pairs are compared exactly
_MOST_PAIRS = 2**14  # pairs of a report and a value up to which all are compared exactly


@dataclass(frozen=True, eq=False)
class Displacements(ReportDistribution):
    """A displacement (i, j) of a cell of an R x C grid, shortened where it would leave it."""

    # (R, C) integers: the mass of each of the displacements (+-i, +-j). The last row and column
    # also hold that of all longer ones. All masses sum to 2**(64 words).
    quadrant: np.ndarray
    words: int  # the number of 64-bit words of the denominator

    @classmethod
    def of(cls, shares: np.ndarray) -> Displacements:
        """The law with integer masses nearest to the given probabilities (R, C)."""
        # The smallest probability gets 64 binary digits.
        words = math.ceil((64 - math.log2(shares.min())) / 64)
        total = 1 << 64 * words
        quadrant = np.vectorize(lambda v: round(Fraction(v) * total), otypes=[object])(shares)
        # The sum is exact then.
        quadrant[0, 0] += total - _unfold(quadrant).sum()
        return cls(quadrant, words)

    @property
    def audit_method(self) -> str:
        if self.is_small:
            return "computed exactly for all pairs of cells"
        return "computed for all pairs of cells, rounded up"

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
        """Exact masses (R, C) of displacements by exactly or by at least i rows and j columns."""
        q = self.quadrant
        rows = np.cumsum(q[::-1], axis=0)[::-1]
        columns = np.cumsum(q[:, ::-1], axis=1)[:, ::-1]
        return q, rows, columns, np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The tables of :meth:`exact` as probabilities in double precision."""
        total = 1 << 64 * self.words
        inner, rows, columns, both = (floats(table, total) for table in self.exact())
        return inner, rows, columns, both

    def _reports(
        self, inner: np.ndarray, rows: np.ndarray, columns: np.ndarray, both: np.ndarray
    ) -> Iterator[np.ndarray]:
        """For every report of one quadrant of the grid, its entry under every cell, (R, C)."""
        # The other quadrants have the same entries. The arguments are tables as of :meth:`exact`.
        height, width = self.quadrant.shape
        for r in range((height + 1) // 2):
            for c in range((width + 1) // 2):
                i, j = np.abs(np.arange(height) - r)[:, None], np.abs(np.arange(width) - c)[None, :]
                yield (inner, columns, rows, both)[2 * (r == 0) + (c == 0)][i, j]

    def ratio(self) -> Fraction:
        return max(Fraction(row.max(), row.min()) for row in self._reports(*self.exact()))

    def steepest(self, within: int | None = None) -> float:
        """The largest log-likelihood ratio per cell of Euclidean distance, rounded up."""
        # The law is even in rows and in columns, so a report inside the grid has its worst pair of
        # cells within one quadrant around it; next to a corner that is largest. Sides and corners
        # have separate tables. A displacement (k a, k b) is k times (a, b), whose slope is at least
        # as large, so only displacements without a common divisor are compared.
        parts = _tables_of_reports(*(np.log(table) for table in self.tables()))
        worst = max(_steepest_of(table, within) for table in parts)
        return math.nextafter(max(0.0, worst), math.inf)

    def epsilon_per_unit(self) -> float:
        """Nats per side of a cell: the maximum over reports and pairs of cells, rounded up."""
        if not self.is_small:
            return self.steepest()
        height, width = self.quadrant.shape
        points = np.stack(np.divmod(np.arange(height * width), width), axis=1).astype(np.float64)
        logs = (np.vectorize(natural, otypes=[np.float64])(table) for table in self.exact())
        rows = np.array([row.ravel() for row in self._reports(*logs)])
        return worst_slope_of_logs(rows, euclidean_distances(points)).epsilon


@dataclass(frozen=True, eq=False)
class PlacedDisplacements(Displacements):
    """Displacements on a rectangle in which only some cells are values."""

    places: np.ndarray  # (K,) the cells that are values
    reports: np.ndarray  # (R C,) the report 0..m-1 that is sent for each cell of the rectangle
    n_reports: int  # m, the number of reports

    @property
    def audit_method(self) -> str:
        if self.compares_reports:
            return "computed exactly for all pairs of values and all reports"
        return f"{super().audit_method}, in a rectangle around all values and reports"

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
        for x, position in enumerate(self.places.tolist()):
            row = np.clip(position // width + down, 0, height - 1)
            cell = row * width + np.clip(position % width + right, 0, width - 1)
            np.add.at(table[:, x], self.reports[cell.ravel()], whole)
        return table

    def ratio(self) -> Fraction:
        return worst_ratio(self.masses()) if self.compares_reports else super().ratio()


def nearest_places(values: np.ndarray) -> np.ndarray:
    """The nearest value of every cell, by Euclidean distance, the first in index order of several.

    Shapes: values (H, W) -> (H, W).

    >>> nearest_places(np.array([[True, False, False, True]])).tolist()
    [[0, 0, 3, 3]]
    """
    height, width = values.shape
    rows, far = np.arange(height)[:, None], 4 * (height + width)
    # In each column the nearest value above or below first, then the best column. Squared distances
    # are integers, so ties are found exactly.
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
    """The tables of a report in a corner, on the sides, and inside, from those of ``exact``."""
    tall, wide = (size > 2 for size in inner.shape)
    # The last row and column hold tails, which only reports on that side of the grid have.
    parts = [corner]
    parts += [along[:, :-1]] if wide else []
    parts += [across[:-1]] if tall else []
    parts += [inner[:-1, :-1]] if tall and wide else []
    return parts


def _steepest_of(logs: np.ndarray, within: int | None) -> float:
    """The largest slope within one table of log probabilities (R, C), moved up by rounding."""
    height, width = logs.shape
    rows, columns = (size - 1 if within is None else min(within, size - 1) for size in logs.shape)
    steepest = np.zeros((rows + 1, columns + 1))
    for i in range(rows + 1):
        low, high = logs[: height - i], logs[i:]
        for j in range(columns + 1):
            if math.gcd(i, j) == 1:
                falls = high[:, j:] - low[:, : width - j]
                crosses = high[:, : width - j] - low[:, j:]
                steepest[i, j] = max(falls.max(), -falls.min(), crosses.max(), -crosses.min())
    error = ROUNDING * (1 + float(np.abs(logs).max()))
    distance = np.hypot(np.arange(rows + 1)[:, None], np.arange(columns + 1)[None, :])
    return float(((steepest + error) / np.maximum(distance, 1)).max())


def _unfold(quadrant: np.ndarray) -> np.ndarray:
    """All displacements (2R - 1, 2C - 1) from those of one quadrant (R, C)."""
    half = np.concatenate([quadrant[:0:-1], quadrant])
    return np.concatenate([half[:, :0:-1], half], axis=1)


# Nats from cell to cell; with fewer, tails would be sums over more than 2^11 cells.
_LEAST_NATS = 0.02
# Nats across the grid; with more, probabilities would be no floats.
_MOST_NATS = 600.0
_MOST_CELLS = 2**16
_LARGER = "Use larger cells"
# The u at which (1 + u) exp(-u) is 2^-40: noise beyond the default reach is rarer.
_REACH = 31.31
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

    def __init__(
        self, domain: Domain, epsilon: float, truncated: bool = True, reach: int | None = None
    ) -> None:
        super().__init__(domain, epsilon)
        cells = domain.raster
        if cells is None or cells.rows < 2 or cells.columns < 2:
            rule = "must be a Grid of at least 2 rows and 2 columns"
            remedy = f"For such values use {domain.usual_mechanism}"
            if cells is not None:  # in one row
                remedy = "Use the domain Integers and the mechanism Geometric"
            got = type(domain).__name__
            got += "" if cells is None else f" of {cells.rows} x {cells.columns}"
            raise ArgumentTypeError("domain", rule, got, remedy)
        if type(truncated) is not bool:
            raise ArgumentTypeError("truncated", "must be True or False", show(truncated))
        whole = integer("number of cells", cells.rows * cells.columns, 4, _MOST_CELLS, _LARGER)
        self._raster, nats = cells, self.requested * cells.side
        self.truncated, self._simple = truncated, truncated and domain.size == whole
        if nats < _LEAST_NATS:
            rule = f"is too small: for cells of side {cells.side:g} it must be at least"
            rule = f"{rule} {_LEAST_NATS / cells.side:.4g}"
            remedy = "Pass a larger epsilon, or a grid of larger cells"
            raise BudgetError("epsilon", rule, repr(self.requested), remedy)
        self.reach = self._reach(reach, nats)
        height, width = cells.rows + 2 * self.reach, cells.columns + 2 * self.reach
        diameter = math.hypot(height - 1, width - 1)
        if nats * diameter > _MOST_NATS:
            # rounded down, so that the number that a message names can be passed
            largest = math.floor(1e4 * _MOST_NATS / diameter / cells.side) / 1e4
            rule = f"is too large: for this grid the largest is {largest:g}"
            remedy = "Pass a smaller epsilon or a smaller grid"
            raise BudgetError("epsilon", rule, repr(self.requested), remedy)
        # Rounding can add up to _SLACK nats from cell to cell.
        self._table = self._masses(height, width, nats - _SLACK)
        self._place_values()
        self._set_law()

    def _reach(self, reach: int | None, nats: float) -> int:
        """The number of cells by which the rectangle of displaced cells exceeds the grid."""
        if self._simple:
            if reach is not None:
                rule = "can be used only with truncated=False, or with a grid that leaves cells out"
                raise ArgumentError("reach", rule, show(reach), "Leave out the argument reach")
            return 0
        rows, columns, _, _ = self._raster
        # The largest r with (rows + 2 r) (columns + 2 r) <= _MOST_CELLS.
        half = (math.isqrt((rows - columns) ** 2 + 4 * _MOST_CELLS) - rows - columns) // 4
        if reach is not None:
            return integer("reach", reach, 0, half)
        # Continuous noise is further than r with probability (1 + u) exp(-u), u = nats r.
        cells = math.ceil(_REACH / nats)
        if self.truncated:
            # Further out, the nearest value hardly depends on the cell.
            return min(cells, max(rows, columns), half)
        if cells > half:
            rule = (
                f"is too small: noise reaches {cells} cells beyond the grid, but {half} is the most"
            )
            remedy = f"Pass a larger epsilon, or reach={half}"
            raise BudgetError("epsilon", rule, repr(self.requested), remedy)
        return cells

    def _place_values(self) -> None:
        """Set where values lie in the rectangle, and which report stands for each of its cells."""
        cells, r = self._raster, self.reach
        mask = np.zeros(self._table.shape, dtype=bool)
        mask[r : r + cells.rows, r : r + cells.columns] = cells.values
        self._places = np.flatnonzero(mask)
        if self._simple:
            self._nearest = self._places
        else:
            index = np.cumsum(mask.ravel()) - 1
            self._nearest = index[nearest_places(mask).ravel()]
        self.schema = IntegerColumns(
            ("report",), (self.domain.size if self.truncated else self._table.size,)
        )

    @property
    def _points(self) -> np.ndarray:
        """The centres (K, 2) of the values."""
        points = self.domain.points
        assert points is not None
        return points

    def _set_law(self) -> None:
        """Set the exact distribution and its budget from the table."""
        law, side = Displacements.of(self._table), self._raster.side
        reports = self._nearest if self.truncated else np.arange(self._table.size)
        self._placed = placed = PlacedDisplacements(
            law.quadrant, law.words, self._places, reports, self.schema.sizes[0]
        )
        self.law = law if self._simple else placed
        self._is_exact = law.is_small if self._simple else placed.compares_reports
        if not self._simple and self._is_exact:
            epsilon = worst_slope(placed.masses(), euclidean_distances(self._points)).epsilon
        else:
            epsilon = law.epsilon_per_unit() / side if law.is_small else self.requested
            if not law.is_small and law.steepest(_NEAR) > self.requested * side:
                # The derivation excludes this case. The audit compares all pairs.
                epsilon = math.inf
        self._found = math.nextafter(epsilon, math.inf) if epsilon < self.requested else epsilon
        if self._found > self.requested:
            rule = f"cannot be kept: after rounding, epsilon would be {self._found:.6g}"
            remedy = "Pass another epsilon"
            raise BudgetError("epsilon", rule, repr(self.requested), remedy)

    @abstractmethod
    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        """Return the mass (r, c) of each displacement, up to a common factor."""

    def _masses(self, height: int, width: int, nats: float) -> np.ndarray:
        """The probability (R, C) of displacements by i rows and j columns; the last have tails."""
        # From (i, j), t more rows lengthen the distance by at least t^2 / (2 D + t). The sums stop
        # at the t for which this is _TAIL nats.
        diameter, half = math.hypot(height, width), _TAIL / nats / 2
        reach = math.ceil(half + math.sqrt(half**2 + 4 * half * diameter))
        columns = np.arange(width + reach, dtype=np.float64)[None, :]
        out = np.zeros((height, width))
        for start in range(0, height + reach, 64):
            rows = np.arange(start, min(start + 64, height + reach), dtype=np.float64)[:, None]
            masses = self._cell(rows, columns, nats)
            # A running sum has one order of additions, and so one result on every machine.
            masses[:, width - 1] = np.cumsum(masses[:, width - 1 :], axis=1)[:, -1]
            np.add.at(out, np.minimum(rows[:, 0].astype(np.int64), height - 1), masses[:, :width])
        # Of the displacements (+-i, +-j) there are 1, 2 or 4, whose sum is 1.
        down, across = (np.where(np.arange(count) > 0, 2, 1) for count in (height, width))
        return np.asarray(out / math.fsum((out * np.multiply.outer(down, across)).ravel()))

    @property
    def epsilon(self) -> float:
        """Nats per unit of distance: exact on small grids, an upper bound on larger ones.

        If reports are exactly the cells of the grid, up to 400 cells are small. If reports lie
        outside the grid or cells are left out, up to 2^14 pairs of a report and a value are.
        """
        return self._found

    @property
    def guarantee(self) -> MetricLDP:
        return MetricLDP(self.epsilon, self._diameter * self._raster.side)

    @cached_property
    def _diameter(self) -> float:
        """The largest distance between two values, in cells."""
        rows, columns, _, places = self._raster
        if places is None:
            return math.hypot(rows - 1, columns - 1)
        # Only corners of the convex hull can be furthest from each other. They are among the first
        # and the last values of rows, which are as many as the rows.
        row, column = np.divmod(places, columns)
        ends = np.flatnonzero((np.diff(row, prepend=-1) > 0) | (np.diff(row, append=rows) > 0))
        corners = hull(np.stack([row, column], axis=1)[ends])
        return float(euclidean_distances(corners * 1.0).max())

    def epsilon_of_law(self) -> float:
        """The epsilon that an audit states, on a large grid anew from all pairs of cells."""
        if self._is_exact:
            return self.epsilon
        return math.nextafter(self.law.epsilon_per_unit() / self._raster.side, math.inf)

    def parameters(self) -> dict[str, Any]:
        """What a header stores besides domain and epsilon.

        Returns:
            ``"table"``: the probabilities of all displacements between a value and a report, as
            nested lists of floats. ``"truncated"`` and ``"reach"``, where reports are not simply
            the cells of the grid.
        """
        return {"table": self._table.tolist(), **self._options()}

    def _options(self) -> dict[str, Any]:
        """The arguments besides domain and epsilon, where reports are not simply all cells."""
        if self._simple:
            return {}
        return {"truncated": self.truncated, "reach": self.reach}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        options = {k: v for k, v in parameters.items() if k != "table"}
        mechanism = cls(domain, epsilon, **options)
        table = np.array(parameters["table"], dtype=np.float64)
        if table.shape != mechanism._table.shape or not np.allclose(
            table, mechanism._table, rtol=_TOLERANCE, atol=0
        ):
            rule = f"has other probabilities than {cls.__name__}"
            raise MismatchError("header", rule, None, AS_WRITTEN)
        mechanism._table = table
        mechanism._set_law()
        return mechanism

    def __repr__(self) -> str:
        more = "".join(f", {name}={value!r}" for name, value in self._options().items())
        return f"{type(self).__name__}({self.domain!r}, {self.requested!r}{more})"

    def thresholds(self) -> dict[str, str]:
        return {"words": hex(self.law.words)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        height, width = self._table.shape
        down, right = np.divmod(source.among(self.law.edges, len(index)), 2 * width - 1)
        position = self._places[index]
        row = np.clip(position // width + down - (height - 1), 0, height - 1)
        cell = row * width + np.clip(position % width + right - (width - 1), 0, width - 1)
        return {"report": cell if self._simple or not self.truncated else self._nearest[cell]}

    def _program(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "size": self.domain.size,
            "words": self.law.words,
            "shape": list(self._table.shape),
            "quadrant": [numbers(row) for row in self.law.quadrant.tolist()],
        }
        if not self._simple:
            fields["places"] = self._places.tolist()
            if self.truncated:
                fields["reports"] = self._nearest.tolist()
        return program("planar", fields)

    def _program_odds(self) -> dict[str, Any]:
        # The odds of two cells with a common side, before cells are replaced by values.
        pairs = [
            pair
            for table in _tables_of_reports(*self.law.exact())
            for pair in ((table[1:], table[:-1]), (table[:, 1:], table[:, :-1]))
        ]
        ratio = max(
            largest_quotient(*pair) for a, b in pairs if a.size for pair in ((a, b), (b, a))
        )
        nats = Fraction(self.requested) * Fraction(self._raster.side)
        return odds(ratio, nats, NEIGHBOURS)

    def channel(self) -> PlanarChannel | PlacedChannel:
        whole = PlanarChannel(*self.law.tables())
        if self._simple:
            return whole
        if self.truncated:
            reports = self._nearest
            return PlacedChannel(whole, self._places, reports, np.arange(self.domain.size))
        return PlacedChannel(whole, self._places, None, self._nearest)

    def probabilities(self) -> np.ndarray:
        return fractions(self._placed.masses(), 1 << 64 * self.law.words)


class PlanarGeometric(Planar):
    """Planar geometric mechanism on a grid: metric privacy at Euclidean distance d.

        Pr(cell z | value x) = exp(-epsilon d(x, z)) / sum_z' exp(-epsilon d(x, z'))

    The sum is over all cells z' of the infinite grid. A cell z that is outside the grid or left out
    of it is replaced by the nearest value. Of several nearest values, the first in index order is
    used.

    Args:
        domain: a Grid of at least 2 rows and 2 columns. Distances are in the unit of its ``side``.
        epsilon: nats per unit of distance.
        truncated: whether reports are values. With False they are cells of the infinite grid up to
            ``reach`` rows and columns beyond the grid. The number of such a report is row *
            (columns + 2 reach) + column. Row and column are counted from the first cell of this
            larger rectangle. [P4 eq 27]
        reach: the number of rows and columns beyond the grid where a displaced cell can lie. A cell
            further out is replaced by the nearest cell within reach. It can only be set with
            ``truncated=False`` or with cells left out. None for a reach that noise exceeds with
            probability below 2^-40; if reports are values, at most the longer side of the grid.
            Files and times grow with (rows + 2 reach) (columns + 2 reach).

    Raises:
        ArgumentTypeError: ``domain`` is not a Grid.
        ArgumentError: a reach that is too large, or a reach where reports are all cells of the
            grid.
        BudgetError: fewer than 0.02 nats from cell to cell, more than 600 across the grid, or noise
            that reaches too far. The message states the nearest possible epsilon or the largest
            reach.

    Source: [P4 app. B], [P4 sec IX-B], [P4 eq 27].

    >>> from warner import Grid
    >>> city = PlanarGeometric(Grid(24, 16, side=0.5), 1.0)  # one nat per kilometre
    >>> abs(city.epsilon - 1) < 1e-9
    True
    >>> shore = PlanarGeometric(Grid(3, 3, without=[(0, 0), (0, 1)]), 1.0)
    >>> shore.channel().shape, PlanarGeometric(Grid(3, 3), 1.0, truncated=False, reach=2).n_reports
    ((7, 7), 49)
    """

    references = ("P4",)

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        return portable_exp(-nats * np.sqrt(rows**2 + columns**2))


class PlanarLaplace(Planar):
    """Planar Laplace mechanism on a grid: reports the cell of a point with planar Laplace noise.

        Pr(cell z | value x) = integral over cell z of epsilon^2 / (2 pi) exp(-epsilon |u - x|) du

    The noisy point u is the centre of the cell x plus the noise. A cell that is no value is
    replaced by the nearest value. The exact budget is a little below the argument epsilon. The
    attribute ``epsilon`` states it for grids of up to 400 cells.

    Args:
        domain: a Grid of at least 2 rows and 2 columns. Distances are in the unit of its ``side``.
        epsilon: an upper bound of the nats per unit of distance.
        truncated, reach: as for :class:`PlanarGeometric`.

    Raises:
        ArgumentTypeError: ``domain`` is not a Grid.
        ArgumentError: a reach that is too large, or a reach where reports are all cells of the
            grid.
        BudgetError: fewer than 0.02 nats from cell to cell, more than 600 across the grid, or noise
            that reaches too far.

    Source: Andres et al. (2013); METHODS 2.

    >>> from warner import Grid
    >>> city = PlanarLaplace(Grid(8, 8), 1.0)
    >>> 0.9 < city.epsilon < 1.0
    True
    """

    references = ("andres2013",)

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        """The integral of exp(-nats r) over each unit square, by Gauss-Legendre quadrature."""
        out = np.zeros((rows.size, columns.size))
        near = np.sqrt(rows**2 + columns**2)
        # More nodes near the cusp at r = 0, and where a cell spans more nats. With k nodes the
        # relative error is at most (nats / 2)^2k / (2k)! from exp(-nats u) over half a cell, and
        # (1 / 4r)^2k from r itself. Both are below 1e-12.
        more = math.ceil(1.5 * nats) if nats > 0.2 else 0
        for low, high, nodes in ((0.5, 8, 24 + more), (8, 40, 6 + more), (40, math.inf, 4 + more)):
            r, c = np.nonzero((near >= low) & (near < high))
            if r.size:
                at, weights = gauss_legendre(nodes)
                for u, wu in zip(at / 2, weights / 2, strict=True):
                    y = rows[r, 0] + u
                    for v, wv in zip(at / 2, weights / 2, strict=True):
                        x = columns[0, c] + v
                        out[r, c] += wu * wv * portable_exp(-nats * np.sqrt(y * y + x * x))
        if rows[0, 0] == 0:
            out[0, 0] = _middle(nats)
        return out


def _middle(nats: float) -> float:
    """The integral of exp(-nats r) over the unit square around 0, in polar coordinates."""
    # Eight times the integral over 0 <= angle <= pi / 4. With t = tan(angle), the radius goes to
    # R = sqrt(1 + t^2) / 2, and with x = nats R the integral along it is
    # (1 - exp(-x) (1 + x)) / nats^2 = R^2 sum_k (-x)^k (k + 1) / (k + 2)!
    at, weights = gauss_legendre(40)
    t = (at + 1) / 2
    square = 1 + t * t
    x = nats * np.sqrt(square) / 2
    series = np.zeros_like(x)
    for k in reversed(range(25)):
        series = series * -x + (k + 1) / math.factorial(k + 2)
    closed = (1 - portable_exp(-x) * (1 + x)) / np.maximum(x, 1e-9) ** 2
    # R^2 dt / (1 + t^2) is dt / 4, and dt is half of the weight.
    return math.fsum(weights * np.where(x < 1, series, closed))


def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss-Legendre quadrature on [-1, 1], the same on every machine.

    >>> at, weights = gauss_legendre(2)
    >>> (3 * at * at).round(12).tolist(), weights.round(12).tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """
    angle = math.pi * (np.arange(count, 0, -1) - 0.25) / (count + 0.5)
    # Newton's method on the Legendre polynomial. Its start is rounded, because cosines differ in
    # the last place from machine to machine; every step is made of exact operations of IEEE.
    x = np.rint(np.cos(angle) * 2.0**30) / 2.0**30
    for _ in range(6):
        before, value = np.zeros_like(x), np.ones_like(x)
        for k in range(1, count + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        slope = count * (x * value - before) / (x * x - 1)
        x = x - value / slope
    return x, 2 / ((1 - x * x) * slope * slope)


def hull(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points (Andrew 1979).

    Shapes: points (m, 2) -> (k, 2).

    >>> hull(np.array([[0, 0], [0, 2], [1, 1], [2, 0], [2, 2]])).tolist()
    [[0, 0], [2, 0], [2, 2], [0, 2]]
    """
    # The upper and the lower half separately, without the points at which they do not turn.
    halves: list[list[int]] = []
    for order in (points.tolist(), points.tolist()[::-1]):
        half: list[list[int]] = []
        for y, x in order:
            while len(half) > 1:
                (a, b), (c, d) = half[-2:]
                if (c - a) * (x - b) - (d - b) * (y - a) > 0:
                    break
                half.pop()
            half.append([y, x])
        halves += half[:-1] or half
    return np.array(halves)
