"""The Gaussian mechanism: normal noise on a grid, with the exact (epsilon, delta) of the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import integer, probability, real
from warner._core.errors import ArgumentTypeError, BudgetError
from warner._core.exact import log_ratio, normal_masses, share_of
from warner._core.sampling import Edges, Source
from warner.channels import Channel, DenseChannel, KhatriRaoChannel
from warner.channels.tuples import products_of_columns
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import delta_of_noise, numbers, program
from warner.mechanisms.numeric import Numeric
from warner.privacy.guarantees import ApproximateLDP
from warner.privacy.report_laws import INFINITE, ReportDistribution, floats, fractions
from warner.reports.schema import IntegerColumns

# -----------------------------------------------------------------------------------------------
# The exact law of the Gaussian mechanism: integers plus rounded normal noise.


_SUMS = 2**10  # numbers that the loss of several axes is rounded to


@dataclass(frozen=True, eq=False)
class Rounded(ReportDistribution):
    """Rounded normal noise of at most ``reach`` steps, independent on every axis."""

    # Pr(noise = j) = masses[j + reach] / 2**(64 words) for j = -reach..reach. The largest
    # likelihood ratio is infinite, because the noise is bounded.

    masses: np.ndarray  # (2 reach + 1,) object array of Python integers
    words: int  # the number of 64-bit words of the denominator
    deviation: float  # the standard deviation of the noise, in steps

    @property
    def audit_method(self) -> str:
        return "computed from the probabilities of the noise, rounded up"

    @property
    def reach(self) -> int:
        """The largest noise, in steps."""
        return len(self.masses) // 2

    @classmethod
    def normal(cls, deviation: float, reach: int) -> Rounded:
        """Normal noise with masses proportional to exp(-j^2 / (2 deviation^2)) for |j| <= reach."""
        # Decimal arithmetic gives the same integers on every machine. The mass of 0 is adjusted so
        # that the masses sum to 2**(64 words).
        half = normal_masses(deviation, reach)
        sides = 2 * sum(half[1:]) + half[0]
        words = math.ceil((64 + log_ratio(Fraction(sides), Fraction(half[-1])) / math.log(2)) / 64)
        total = 1 << 64 * words
        side = [share_of(mass, sides, total) for mass in half[1:]]
        return cls(
            np.array([*side[::-1], total - 2 * sum(side), *side], dtype=object), words, deviation
        )

    def ratio(self) -> Fraction:
        return INFINITE

    @cached_property
    def edges(self) -> Edges:
        """The table that noise is sampled from."""
        return Edges.of(self.masses.tolist())

    def floats(self) -> np.ndarray:
        """The masses as probabilities in double precision."""
        return floats(self.masses, 1 << 64 * self.words)

    def divergence(self, epsilon: float, shifts: np.ndarray) -> float:
        """The delta of this noise at an epsilon, rounded up, for values that differ by a shift."""
        # max over shifts v of sum_j max(0, Pr(j) - exp(epsilon) Pr(j + v)). Where both noises are
        # possible, Pr(j + v) / Pr(j) = exp(-(2 v.j + |v|^2) / (2 deviation^2)), so only v.j
        # matters. On several axes it is rounded to one of 2^10 numbers, in the direction that
        # raises delta.
        one = self.floats()
        j = np.arange(-self.reach, self.reach + 1, dtype=np.float64)
        tails = np.cumsum(one[::-1])
        worst = 0.0
        for v in shifts:
            moves = v[v != 0]
            chance, sum_ = one, moves[0] * j
            for step in moves[1:]:
                chance, sum_ = _coarser(chance, sum_)
                other, more = _coarser(one, step * j)
                chance = np.multiply.outer(chance, other).ravel()
                sum_ = np.add.outer(sum_, more).ravel()
            loss = epsilon - (2 * sum_ + float(v @ v)) / (2 * self.deviation**2)
            inside = float(-(chance * np.expm1(np.minimum(loss, 0.0))).sum())
            # Where j + v is beyond the reach, all of Pr(j) counts.
            worst = max(worst, inside + float(tails[moves - 1].sum()))
        # The rounding error of sums in double precision is covered.
        return worst * (1 + 1e-11) + 4e-15


def _coarser(chance: np.ndarray, sum_: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes (chance, sum) with the sums rounded up to at most 2^10 numbers."""
    low, high = float(sum_.min()), float(sum_.max())
    if sum_.size <= _SUMS or low == high:
        return chance, sum_
    width = (high - low) / _SUMS
    cell = np.ceil((sum_ - low) / width).astype(np.int64)
    return np.bincount(cell, chance), low + np.arange(int(cell.max()) + 1) * width


_MOST_REPORTS = 2**22
_MOST_VALUES = 2**14  # points whose pairs are compared
_LEAST_DELTA = 1e-12  # smaller than the rounding of sums in double precision
# The share of delta that may lie in the tails of the noise. The end reports collect the tails.
_TAILS = 1e-4
_MOST_STEPS = 2**15  # grid steps in one sigma
_CELLS_IN_SIGMA = (16, 8, 4, 2, 1)  # widths of a report to try, the finest first
_FARTHEST = 16  # the most distant pairs of points, whose divergence is computed


class Gaussian(Numeric):
    """Gaussian mechanism: a number, or a point in R^d, plus normal noise on each axis.

        Pr(noise of j grid steps) = g(j h) / sum_i g(i h),   g(x) = exp(-x^2 / (2 sigma^2))

    Here h is the length of a grid step, and sigma is the standard deviation of the noise. The
    privacy is approximate LDP. Its delta is the hockey-stick divergence

        delta = max over x, x' of sum_y max(0, Pr(y | x) - exp(epsilon) Pr(y | x'))

    over values x, x' and reports y. sigma is calibrated to the largest Euclidean distance of two
    values [Balle and Wang]. It is then raised until the divergence of the discrete distribution is
    at most delta. The attribute ``epsilon`` means nothing without delta, so ``guarantee`` states
    both.

    Args:
        domain: Interval or Integers; Points or Grid in up to about five dimensions.
        epsilon: the budget in nats.
        delta: in (0, 1). It must be far below 1 / n, or some people may have no protection.
        sigma: the standard deviation of the noise, in the unit of the values. None for the least
            that keeps (epsilon, delta).

    Raises:
        BudgetError: a sigma that does not keep (epsilon, delta), or a budget that no grid meets.
        ArgumentTypeError: values without coordinates, or too many dimensions.

    Source: Balle, Wang (2018); Canonne, Kamath, Steinke (2020); [P3 sec V-B].

    >>> from warner import Interval
    >>> from warner.domains import Points
    >>> print(Gaussian(Interval(0, 100, bins=64), 1.0, delta=1e-6).guarantee.epsilon)
    1.0
    >>> corners = Gaussian(Points([[0, 0], [1, 0], [0, 1]]), 2.0, delta=1e-6)
    >>> corners.randomize([(1, 0)]).columns.keys()
    dict_keys(['axis0', 'axis1'])
    """

    references = ("balle2018", "canonne2020", "P3")

    law: Rounded
    schema: IntegerColumns

    def __init__(
        self, domain: Domain, epsilon: float, delta: float, sigma: float | None = None
    ) -> None:
        Mechanism.__init__(self, domain, epsilon)
        if not domain.dimension:
            rule = "must be Interval, Integers, Grid or Points"
            remedy = f"For such values use {domain.usual_mechanism}"
            raise ArgumentTypeError("domain", rule, type(domain).__name__, remedy)
        if not domain.is_numeric:
            # All pairs are compared. The check comes before the points of a large grid are made.
            remedy = "Use fewer points" if domain.raster is None else "Use larger cells"
            integer("number of values", domain.size, 2, _MOST_VALUES, remedy)
        assert domain.points is not None
        self.delta = probability("delta", delta)
        if self.delta < _LEAST_DELTA:
            rule = f"must be at least {_LEAST_DELTA:g}, because rounding loses a smaller delta"
            raise BudgetError("delta", rule, repr(delta))
        self.represents_interval = domain.is_binned
        ((low, high), *_) = domain.ends
        self._span = high - low
        far = self._span if domain.is_numeric else _diameter(domain.points)
        least = far * calibrate(self.requested, self.delta)
        if not math.isfinite(least):
            rule = (
                f"is too wide: its values are up to {far:.3g} apart, so the noise is too large to "
                "compute with"
            )
            raise BudgetError("domain", rule, None, "Use a larger unit, or a larger epsilon")
        if sigma is not None:
            enough = real("sigma", sigma) > 0.99 * least
            if enough:
                self._set_grid(float(sigma))
            if not enough or self._found > self.delta:
                rule = f"must be at least about {least:.6g} for ({epsilon!r}, {delta!r})-LDP"
                remedy = "To get the smallest possible sigma, leave out the argument"
                raise BudgetError("sigma", rule, repr(sigma), remedy)
            return
        for _ in range(200):
            self._set_grid(least)
            if self._found <= self.delta:
                return
            least *= 1.001
        rule = "cannot both be kept with noise on the grid of these values"
        remedy = "Pass sigma, the standard deviation of the noise"
        raise BudgetError("epsilon and delta", rule, f"{epsilon!r}, {delta!r}", remedy)

    def _set_grid(self, sigma: float) -> None:
        """Set the grid for noise of standard deviation ``sigma``, and compute its delta."""
        self.sigma = sigma
        if self.domain.is_numeric:
            # A step is a 64th of the range or an eighth of sigma, and coarser for a large sigma.
            fine = max(8 * self._span / sigma, min(64.0, _MOST_STEPS * self._span / sigma / 2))
            self.steps = np.array([max(4, math.ceil(fine))])
            deviation = sigma / self._span * int(self.steps[0])
            self._places = None
        else:
            deviation, self._places = self._round(sigma)
            self.steps = self._places.max(axis=0)
        if deviation > _MOST_STEPS:
            raise BudgetError(
                "epsilon",
                "is too small: the noise is so wide that it cannot be computed exactly",
                repr(self.requested),
                f"Pass an epsilon of about {self.requested * deviation / _MOST_STEPS:.2g} or more",
            )
        # The mass of normal noise beyond z standard deviations is below exp(-z^2 / 2).
        self._beyond = math.ceil(math.sqrt(-2 * math.log(_TAILS * self.delta)) * deviation)
        for fine in _CELLS_IN_SIGMA:
            # A report names a group of grid points, which is post-processing. A group is a
            # sixteenth of sigma, or wider where there would be too many reports.
            self._group = max(1, int(deviation / fine))
            sizes = tuple(-(-(int(c) + 1 + 2 * self._beyond) // self._group) for c in self.steps)
            if math.prod(sizes) <= _MOST_REPORTS:
                break
        else:
            rule = f"would need {math.prod(sizes):,} different reports, more than {_MOST_REPORTS:,}"
            remedy = "Use points with fewer coordinates, or a smaller epsilon"
            raise ArgumentTypeError("domain", rule, None, remedy)
        self.law = Rounded.normal(deviation, int(self.steps.max()) + self._beyond)
        self.schema = IntegerColumns(
            ("report",) if self.domain.is_numeric else tuple(f"axis{k}" for k in range(len(sizes))),
            sizes,
        )
        self._found = _up(self.law.divergence(self.requested, self._shifts()))

    def _round(self, sigma: float) -> tuple[float, np.ndarray]:
        """Return sigma in grid steps, and the points (K, d) as places on the grid."""
        points = self.domain.points
        assert points is not None
        origin, extent = points.min(axis=0), float(np.ptp(points, axis=0).max())
        # Halved until all places are distinct.
        step = min(sigma / 8, extent / 64)
        while sigma / step <= _MOST_STEPS:
            places = np.rint((points - origin) / step).astype(np.int64)
            if len(np.unique(places, axis=0)) == len(places):
                return sigma / step, places
            step /= 2
        rule = "has points that are too close to each other for so much noise"
        remedy = "Merge points that are close"
        raise BudgetError("domain", rule, None, remedy)

    def _shifts(self) -> np.ndarray:
        """Differences (s, d), in grid steps, of the most distant pairs of values."""
        if self._places is None:
            return self.steps[None, :]
        # Closer pairs have a smaller divergence.
        of_axes = []
        for position in self._places:
            away = np.abs(self._places - position)
            most = min(_FARTHEST, len(away) - 1)
            of_axes.append(away[np.argpartition((away**2).sum(axis=1), -most)[-most:]])
        shifts = np.unique(np.concatenate(of_axes), axis=0)
        shifts = shifts[np.argsort(-(shifts**2).sum(axis=1), kind="stable")][:_FARTHEST]
        return shifts[shifts.any(axis=1)]

    @property
    def epsilon(self) -> float:
        raise AttributeError(
            "Gaussian has an epsilon and a delta. Use .guarantee, which states both"
        )

    @property
    def guarantee(self) -> ApproximateLDP:
        return ApproximateLDP(self.requested, self._found)

    def parameters(self) -> dict[str, Any]:
        return {"delta": self.delta, "sigma": self.sigma}

    def thresholds(self) -> dict[str, str]:
        return {"words": hex(self.law.words), "beyond": hex(self._beyond)}

    def encode(self, values: Any) -> np.ndarray:
        return super().encode(values) if self.domain.is_numeric else self.domain.encode(values)

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return (
            super().randomize_index(index, source)
            if self.domain.is_numeric
            else Mechanism.randomize_index(self, index, source)
        )

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        places = (
            self._rounded(index, int(self.steps[0]), source)[:, None]
            if self._places is None
            else self._places[index]
        )
        columns = {}
        for name, steps, position in zip(self.schema.names, self.steps, places.T, strict=True):
            noise = source.among(self.law.edges, len(index)) - self.law.reach
            columns[name] = (
                np.clip(position + noise + self._beyond, 0, int(steps) + 2 * self._beyond)
                // self._group
            )
        return columns

    def _program(self) -> dict[str, Any]:
        fields = {
            "steps": self.steps.tolist(),
            "beyond": self._beyond,
            "group": self._group,
            "words": self.law.words,
            "masses": numbers(self.law.masses[self.law.reach :].tolist()),
        }
        if self._places is None:
            return program("gaussian", fields, "position")
        return program(
            "gaussian", {"size": self.domain.size, **fields, "places": self._places.tolist()}
        )

    def _program_odds(self) -> dict[str, Any]:
        # No odds, but the delta of the noise where it has one axis.
        shift = int(self.steps[0]) if len(self.steps) == 1 else None
        masses = self.law.masses.tolist()
        return delta_of_noise(masses, self.law.words, shift, self.requested, self.delta)

    def _tables(self, masses: np.ndarray) -> list[np.ndarray]:
        """Return for each axis the masses (m_k, places) of reports, by the place of a person."""
        tables = []
        below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
        for axis, steps in enumerate(self.steps):
            last = int(steps) + 2 * self._beyond
            groups = np.arange(0, last + 1, self._group)
            places = np.arange(int(steps) + 1) if self._places is None else self._places[:, axis]
            # Numbers may be at all grid points. Points are at few, and only those have a column.
            used, column = np.unique(places, return_inverse=True)
            table = np.empty((len(groups), len(used)), dtype=masses.dtype)
            for k, position in enumerate(used.tolist()):
                first = self.law.reach - self._beyond - position
                # The noise is moved to the place, its tails are added to the ends, and points are
                # grouped.
                law = masses[first : first + last + 1].copy()
                law[0], law[-1] = below[first], above[first + last]
                table[:, k] = np.add.reduceat(law, groups)
            tables.append(table[:, column])
        return tables

    def channel(self) -> Channel:
        tables, size = self._tables(self.law.floats()), self.domain.size
        if self._places is not None:
            return KhatriRaoChannel(tables)
        steps = int(self.steps[0])
        cell = np.arange(len(tables[0])) * self._group + (self._group - 1) / 2 - self._beyond
        channel = DenseChannel(
            tables[0] @ self._spread(steps),
            nearest=np.clip((cell / steps * size).astype(np.int64), 0, size - 1),
            grid=tables[0],
        )
        channel.has_bins = self.represents_interval
        return channel

    def probabilities(self) -> np.ndarray:
        total = 1 << 64 * self.law.words
        masses = self._tables(self.law.masses)
        if self._places is None:
            # Integers over one denominator add faster than fractions.
            steps = int(self.steps[0])
            points = [self._points_of(x, steps) for x in range(self.domain.size)]
            parts = math.lcm(*(w.denominator for column in points for w in column.values()))
            columns = [
                sum(int(w * parts) * masses[0][:, k] for k, w in column.items())
                for column in points
            ]
            return fractions(np.stack(columns, axis=1), total * parts)
        return products_of_columns([fractions(table, total) for table in masses])


def calibrate(epsilon: float, delta: float) -> float:
    """Return the least standard deviation s for values at distance 1 [Balle and Wang, theorem 8].

    Shapes: delta (0, 1).

    >>> round(calibrate(1.0, 1e-5), 3)
    3.731
    """
    # delta = Phi(1 / (2 s) - epsilon s) - exp(epsilon) Phi(-1 / (2 s) - epsilon s), with the
    # distribution function Phi of the standard normal distribution
    low, high = -20.0, 40.0  # limits of ln sigma
    for _ in range(200):
        middle = (low + high) / 2
        if divergence(epsilon, math.exp(middle)) > delta:
            low = middle
        else:
            high = middle
    return math.exp(high)


def divergence(epsilon: float, sigma: float) -> float:
    """Return the delta of continuous normal noise for values at distance 1."""
    near = (1 / (2 * sigma) - epsilon * sigma) / math.sqrt(2)
    far = (1 / (2 * sigma) + epsilon * sigma) / math.sqrt(2)
    return math.erfc(-near) / 2 - math.exp(epsilon) * math.erfc(far) / 2


def _diameter(points: np.ndarray) -> float:
    """The largest distance between two points."""
    return math.sqrt(max(float(((points - point) ** 2).sum(axis=1).max()) for point in points))


def _up(delta: float) -> float:
    """delta rounded up to nine digits, because machines may differ in the sixteenth."""
    if delta <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(delta)) - 8)
    return min(1.0, math.ceil(delta / unit) * unit)
