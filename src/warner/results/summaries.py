"""Summaries of a distribution: mean, variance, quantiles and shares of ranges, with intervals.

The place of a value is its row of ``domain.points``. The numbers in a bin of width h are taken as
spread evenly, so that the cumulative share is linear within a bin. With the centres c of the bins:

    mean = sum_x theta_x c_x,   variance = sum_x theta_x c_x^2 - mean^2 + h^2 / 12

The values of other domains are points: h = 0, and the cumulative share is a step function.

Means and shares of ranges are linear in theta and take the estimated shares as they are, so they
are unbiased where the shares are. Where devices took the numbers themselves, the mean of bins is
moved into an interval of the reports, which holds wherever in the bins numbers are. Variances and
quantiles are functions of distributions. So shares outside the simplex are first projected on it.
The variance of a smooth distribution is too large where reports say little, so it is moved into an
interval of the reports, see :func:`variance`.

The intervals of means, variances and quantiles hold for every distribution, see
:mod:`warner.results.linear_limits`. Those of shares of ranges are of one kind with those of single
values, see :mod:`warner.results.rough_posterior`.
Those of variances and quantiles also hold however numbers lie within the bins, but for terms of
h^2.

Where nonresponse is a value of its own, summaries are of the people who answered: of theta_x / f,
with f = 1 - the share of nonresponse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from warner._core.checks import choice, real
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
)
from warner._core.names import explained
from warner._core.progress import in_blocks
from warner.channels import LikelihoodOperator
from warner.domains import Domain
from warner.estimators import LogSpline, SampleMean
from warner.estimators.base import MeanFit
from warner.metrics import ROUNDING, cumulative, project
from warner.results.intervals import (
    TARGETS,
    BoundedNumber,
    anytime_factor,
    anytime_of_functions,
    holding,
    interval,
    normal_quantile,
    with_plan,
)
from warner.results.solution import BlockShares, Solution, WithinBlock, within

if TYPE_CHECKING:
    from warner.results.linear_limits import UnbiasedShares

_F = TypeVar("_F", bound=Callable[..., Any])
_Mean = TypeVar("_Mean", bound="Quantity | tuple[Quantity, ...]")
# A quantile is bounded by the limits of so many cumulative shares of K values each, or of all.
# Where there are more, its interval is wider by the values between two of them.
_LOOKED, _FEWEST_LOOKED = 2**22, 256
_AT_A_TIME = 2**20  # numbers in the functions whose variances are computed together
_WEIGHTS = "interval(kind='bootstrap', weights=...) with a number"
# A variance is moved into limits of so many standard deviations, the interval of level 0.3. With
# 0, the estimate is unbiased and its error half as large again.
_MIDDLE = 0.385


class Quantity(BoundedNumber):
    """An estimated number that can give a confidence interval.

    Attributes:
        low, high: the ends of its 95 % interval.

    >>> from warner import Integers, RandomizedResponse, estimate
    >>> ages = RandomizedResponse(Integers(0, 9), 4.0)
    >>> mean = estimate(ages.tally(ages.randomize([2, 3, 4] * 500))).mean()
    >>> bool(mean.low <= mean <= mean.high), bool(abs(mean - 3) < 1)
    (True, True)
    """

    _estimate: Solution
    # Linear, Variance, Quantile, Sampled or Ratio, or a function of a part of the shares.
    _of: Any

    def __new__(cls, value: float, estimate: Solution, of: Any) -> Quantity:
        self = super().__new__(cls, value)
        self._estimate, self._of = estimate, of
        return self

    def __getnewargs__(self) -> tuple[float, Solution, Any]:  # type: ignore[override]
        return float(self), self._estimate, self._of

    @explained
    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        kind: str | None = None,
        replicates: int | None = None,
        rng: np.random.Generator | None = None,
        planned: int | None = None,
    ) -> np.ndarray:
        """Return a confidence interval (2,) for the true number, within its possible range.

        Bootstrap and posterior intervals of a quantile come from bounds of all cumulative shares F,
        which rise evenly in a bin. They hold the values v at which F can reach q [Woodruff 1952]:

            { v : low(F(v - 1)) < q <= high(F(v)) }

        A quantile jumps as the shares change, so limits made by reflection about the estimate, as
        for other numbers, would miss the truth.

        Where different distributions make the same reports (``has_intervals`` is False), the
        bootstrap does not show how far the number could differ among them. Where an estimator is
        biased, as after few steps of EM, it shows the bias at the estimate only.

        Args:
            level: the coverage, in [0.5, 1).
            target: ``"population"`` for the distribution that people were drawn from;
                ``"respondents"`` for exactly the people who reported.
            kind: ``"wald"``, from the unbiased estimates of the shares and widened to hold the
                estimate: it holds for every distribution, see :mod:`warner.results.linear_limits`.
                That of a quantile in bins is made of whole bins. ``"bootstrap"``; ``"posterior"``
                where the estimator has a posterior: of quantiles it is narrower, and holds about as
                often as it says where neighbouring numbers are about equally frequent;
                ``"fisher"`` for means and ranges; see :mod:`warner.results.intervals`. None takes
                ``"wald"`` where the channel has an inverse, and for means that reports determine
                without one. Shares of ranges have the posterior where there is one and the target
                is the population. Without an inverse a variance and a quantile have the whole
                range, because reports do not determine them, and other numbers have the posterior
                where there is one and the target is the population, and else the bootstrap. For a
                marginal, None uses the reports of the marginal alone and widens the interval to
                hold the estimate.
                ``"anytime"``, or ``"anytime:1000"`` with the planned number of reports, holds at
                every look, see :func:`anytime_limits`. Variances have none.
            replicates: the number of replicates of the bootstrap, as in
                :meth:`warner.Estimate.interval`.
            rng: the generator of the bootstrap; None for fresh randomness.
            planned: for ``"anytime"``, the number of reports planned before the first look.

        Raises:
            ArgumentError: a level, target or kind that does not exist for this number.
            IdentifiabilityError: an anytime interval, and the channel has no inverse.
        """
        kind, planned = with_plan(kind, planned)
        if kind == "anytime" and self._has_anytime:
            choice("target of anytime intervals", target, ("population",))
            return self._holding(anytime_limits(self._estimate, self._of, planned, level))
        if isinstance(self._of, Sampled | Ratio):
            choice("kind", kind, ("wald", None))
            choice("target", target, TARGETS)
            z = normal_quantile(level, self._estimate.data.degrees)
            around: np.ndarray = self._of.around(z, target)
            return self._holding(around) if isinstance(self._of, Ratio) else around
        if kind is None and (alone := self._alone()) is not None:
            return self._holding(alone.interval(level, target, None, replicates, rng))
        if kind is None and target == "population" and self._is_share_of_numbers:
            kind = "posterior"  # of every year, band and range the same
        if kind in (None, "wald") and (bounds := self._wald(level, target)) is not None:
            return bounds
        if kind is None:
            kind = (
                "posterior"
                if self._estimate.has_posterior_intervals and target == "population"
                else "bootstrap"
            )
        choice(
            "kind",
            kind,
            ("bootstrap", "posterior", *(("fisher",) if isinstance(self._of, Linear) else ())),
        )
        function = getattr(self._of, "cumulative", self._of)
        weights = function
        if isinstance(function, Linear) and (function.limits is None or kind == "fisher"):
            weights = function.weights
        elif isinstance(function, Cumulative) and kind == "posterior":
            weights = function.weights  # limits of ranges, which allow for heaps
        bounds = interval(self._estimate, level, target, kind, weights, replicates, rng)
        if not hasattr(function, "invert"):
            return np.asarray(bounds[0])
        limits = function.invert(bounds, self._of)
        return np.asarray(limits if kind == "bootstrap" else self._holding(limits))

    def _wald(self, level: float, target: str) -> np.ndarray | None:
        """The interval (2,) that holds for every distribution; None where there is none."""
        block = getattr(self._of, "block", None)
        inner = self._of if block is None else self._of.of
        z = normal_quantile(level, self._estimate.data.degrees)
        choice("target", target, TARGETS)
        if isinstance(inner, Variance | Quantile):
            return self._holding(self._around(z, target))
        if not isinstance(inner, Linear):
            return None
        bounds = self._around_linear(inner, block, z, target)
        if bounds is None:
            return None
        return np.asarray(holding(bounds[None], np.clip(float(self), *_range_of(self._of)))[0])

    def _around_linear(
        self, of: Linear, block: slice | None, z: float, target: str
    ) -> np.ndarray | None:
        """Limits (2,) of a linear function; None where no unbiased estimate is known."""
        unbiased = _unbiased(self._estimate, target)
        if unbiased is None:
            return self._of_sample_mean(of, z, target) if block is None else None
        if block is None:
            bounds = unbiased.limits(of.weights, z)
        else:
            weights, base = np.zeros((2, self._estimate.domain.size))
            weights[block], base[block] = of.weights, 1.0
            bounds = unbiased.limits_of_ratio(weights, base, float(self), z)
        return np.asarray(np.clip(bounds, *_range_of(self._of)))

    def _around(self, z: float, target: str) -> np.ndarray:
        """Limits (2,) of a mean, a variance or a quantile; its range if reports say nothing."""
        from warner.results.linear_limits import UnbiasedShares

        result, block = self._estimate, getattr(self._of, "block", None)
        of: Linear | Variance | Quantile = self._of if block is None else self._of.of
        whole = np.array(_range_of(of))
        if isinstance(of, Linear):
            bounds = self._around_linear(of, block, z, target)
            return whole if bounds is None else bounds
        if isinstance(of, Quantile) and of.q <= ROUNDING:
            # The quantile at 0 is the least value for any shares.
            return np.repeat(whole[:1], 2)
        unbiased = _unbiased(result, target) if isinstance(of, Variance) else None
        unbiased = unbiased or UnbiasedShares.on_cells(result.data, target)
        if unbiased is None:
            return whole
        values = np.arange(result.domain.size)[block or slice(None)]
        if isinstance(of, Quantile):
            curve = of.cumulative
            first, last = unbiased.reach_of_quantile(values[curve.order], of.q, z)
            return curve.edges[[first, last + curve.has_bins]]
        points, base = np.zeros((2, result.domain.size))
        points[values], base[values] = of.points, 1.0
        limits = unbiased.limits_of_variance(points, base, z) + of.width**2 / 12
        return np.asarray(np.clip(limits, *whole))

    def _of_sample_mean(self, of: Linear, z: float, target: str) -> np.ndarray | None:
        """The interval (2,) of a mean around the sample mean; None unless reports determine it."""
        result = self._estimate
        points = result.domain.points
        if not result.domain.is_ordered or points is None:
            return None
        if not np.array_equal(of.weights, points[:, 0]):
            return None
        try:
            fit = SampleMean().fit(result.data).mean
        except (IdentifiabilityError, ArgumentError):
            return None
        assert fit is not None
        return _sampled(result, fit)[0].around(z, target)

    @property
    def _is_share_of_numbers(self) -> bool:
        """Whether the number is the share of a range, and the estimate has a posterior."""
        inner = getattr(self._of, "of", self._of)
        is_share = isinstance(inner, Linear) and inner.limits is None
        return is_share and self._estimate.has_posterior_intervals

    @property
    def _has_anytime(self) -> bool:
        """Whether the number is a mean over the reports, or a quantile, and so has such limits."""
        inner = getattr(self._of, "of", self._of)
        return isinstance(inner, Sampled | Ratio | Linear | Quantile)

    def _holding(self, bounds: np.ndarray) -> np.ndarray:
        """The interval (2,) of another estimate of the same number, widened to hold this one."""
        return np.asarray(holding(bounds[None], float(self))[0])

    def _alone(self) -> Quantity | None:
        """The number from a marginal's reports alone, which is fast; None of all others."""
        result = self._estimate
        data = result.data
        if result.sums is None or not data.channel.has_likelihood or not data.domain.is_ordered:
            return None
        of_marginal = Solution(LogSpline().fit(data), data, LogSpline())
        value = float(np.atleast_1d(self._of(of_marginal.probabilities))[0])
        return without_bins(Quantity(value, of_marginal, self._of))


def _unbiased(estimate: Solution, target: str) -> UnbiasedShares | None:
    """The unbiased shares of an estimate, for limits that hold wherever in bins numbers are."""
    from warner.results.linear_limits import UnbiasedShares

    unbiased = UnbiasedShares.of(estimate, target)
    has_bins = estimate.data.channel.has_bins
    return unbiased.for_heaps if unbiased is not None and has_bins else unbiased


def _range_of(of: Any) -> tuple[float, float]:
    """The least and the largest value of a function of the shares."""
    return of.limits or (float(of.weights.min()), float(of.weights.max()))


def anytime_limits(
    estimate: Solution, of: Any, planned: int | None, level: float = 0.95
) -> np.ndarray:
    """An interval (2,) of a number that holds at all numbers of reports together.

        quantile: { v : low(F(v - 1) - q f) < 0 <= high(F(v) - q f) }   [Woodruff 1952]

    f is 1, or the share of people who answered. All others are linear functions or ratios of them.
    """
    estimate.data.require_simple_sample("kind 'anytime'", "Leave out the argument kind")
    factor = anytime_factor(estimate.n, planned, level)
    if isinstance(of, Sampled | Ratio):
        return of.around(factor)
    size = estimate.domain.size
    block = getattr(of, "block", None)
    inner = getattr(of, "of", of)
    if isinstance(inner, Linear) and block is not None:
        return _ratio(estimate, inner, block).around(factor)
    if isinstance(inner, Linear):
        bounds = anytime_of_functions(estimate.data, inner.weights, planned, level)
        limits = inner.limits or (inner.weights.min(), inner.weights.max())
        return np.asarray(np.clip(bounds[0], *limits))
    curve = inner.cumulative
    places = (np.arange(size) if block is None else np.arange(size)[block])[curve.order]
    count = min(places.size, max(_FEWEST_LOOKED, _LOOKED // size))
    looked = np.linspace(0, places.size, count + 1).astype(np.int64)
    bounds = np.empty((looked.size, 2))
    for rows in in_blocks(looked.size, _AT_A_TIME, size):
        some = looked[rows]
        below = np.zeros((some.size, size))
        below[:, places] = (np.arange(places.size) < some[:, None]) - inner.q
        bounds[rows] = anytime_of_functions(estimate.data, below, planned, level)
    # Cumulative shares increase: between two of them hold the lower limit of the one before, and
    # the upper limit of the one after.
    every = np.arange(places.size + 1)
    low = bounds[np.searchsorted(looked, every, side="right") - 1, 0]
    high = bounds[np.searchsorted(looked, every), 1]
    return np.asarray(curve.invert(np.stack([low, high], axis=1) + inner.q, inner))


@dataclass(frozen=True, eq=False)
class Sampled:
    """A mean that was estimated without a distribution."""

    value: float
    variance: float
    limits: tuple[float, float]  # the least and the largest value that it can have
    bias: float = 0.0  # an upper bound of its bias
    # what several reports of one person add to the variance for the population
    repeated: float = 0.0

    def around(self, z: float, target: str = "population") -> np.ndarray:
        """Return the interval (2,) value -+ (z sd + bias), within the limits."""
        variance = self.variance + (self.repeated if target == "population" else 0.0)
        half = z * np.sqrt(variance) + self.bias
        return np.asarray(np.clip([self.value - half, self.value + half], *self.limits))


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio of two estimated numbers, such as a mean among people whose share is estimated."""

    numerator: float  # N
    denominator: float  # f
    variance: np.ndarray  # the covariance matrix (2, 2) of (N, f)
    limits: tuple[float, float]  # the least and the largest value that the ratio can have

    def around(self, z: float, target: str = "population") -> np.ndarray:
        """Return { r : |N - r f| <= z sd(N - r f) } within the limits, (2,) [Fieller 1954].

        Where f does not differ significantly from 0, the interval is the limits. It is the same
        for both targets.
        """
        (nn, nf), (_, ff) = z**2 * self.variance
        a = self.denominator**2 - ff
        b = self.numerator * self.denominator - nf
        c = self.numerator**2 - nn
        if a <= 0 or self.denominator <= 0:
            return np.array(self.limits)
        root = np.sqrt(max(b**2 - a * c, 0.0))
        return np.asarray(np.clip([(b - root) / a, (b + root) / a], *self.limits))


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear function of the shares, theta (K,) to weights @ theta (1,)."""

    weights: np.ndarray  # (K,)
    # the range, if numbers within a bin can be outside that of the weights; else None
    limits: tuple[float, float] | None = None

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return np.atleast_1d(self.weights @ theta)


@dataclass(frozen=True, eq=False)
class Variance:
    """The variance of theta (K,): sum_x theta_x c_x^2 - (sum_x theta_x c_x)^2 + h^2 / 12."""

    points: np.ndarray  # c (K,), the points or the centres of bins
    width: float  # h, the width of a bin; 0 for points

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest possible variance."""
        least = self.width**2 / 12
        return least, least + float(np.ptp(self.points)) ** 2 / 4

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        theta = _distribution(theta)
        return np.atleast_1d(theta @ (self.points - theta @ self.points) ** 2 + self.width**2 / 12)


@dataclass(frozen=True, eq=False)
class Cumulative:
    """The cumulative shares (K + 1,): 0, then the share at or below each value or bin in order."""

    edges: np.ndarray  # the edges (K + 1,) of bins, or points (K,), increasing
    order: np.ndarray  # the indices (K,) of the values in increasing order

    limits = (0.0, 1.0)

    @property
    def weights(self) -> np.ndarray:
        """The function as a matrix (K + 1, K)."""
        size = self.order.size
        below = np.zeros((size + 1, size))
        below[:, self.order] = np.tri(size + 1, size, -1)
        return below

    @property
    def has_bins(self) -> bool:
        """Whether ``edges`` bound bins."""
        return self.edges.size > self.order.size

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return cumulative(_distribution(theta)[self.order])

    def reached(self, shares: np.ndarray, q: float) -> float:
        """Return the smallest value at which cumulative ``shares`` (K + 1,) are q or more."""
        j = max(1, int(np.argmax(shares >= q - ROUNDING)))
        if not self.has_bins:
            return float(self.edges[j - 1])
        before, after = shares[j - 1], shares[j]
        fraction = min(1.0, max(0.0, (q - before) / (after - before))) if after > before else 0.0
        return float(self.edges[j - 1] + fraction * (self.edges[j] - self.edges[j - 1]))

    def invert(self, bounds: np.ndarray, of: Quantile) -> np.ndarray:
        """Return the values (2,) between which F can reach q, from its ``bounds`` (K + 1, 2)."""
        q = of.q
        if q <= ROUNDING:
            # The quantile at 0 is the least value for any shares.
            return np.repeat(self.edges[0], 2)
        bounds = bounds.copy()
        bounds[0], bounds[-1] = 0.0, 1.0
        low = self.reached(bounds[:, 1], q)
        if not self.has_bins:
            return np.array([low, self.edges[np.flatnonzero(bounds[:-1, 0] < q)[-1]]])
        j = int(np.flatnonzero(bounds[:, 0] <= q)[-1])
        if j == self.order.size:
            return np.array([low, self.edges[-1]])
        fraction = (q - bounds[j, 0]) / (bounds[j + 1, 0] - bounds[j, 0])
        return np.array(
            [low, max(low, self.edges[j] + fraction * (self.edges[j + 1] - self.edges[j]))]
        )


@dataclass(frozen=True, eq=False)
class Quantile:
    """The smallest value whose cumulative share reaches q, (1,)."""

    cumulative: Cumulative
    q: float

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value of the domain."""
        return float(self.cumulative.edges[0]), float(self.cumulative.edges[-1])

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return np.array([self.cumulative.reached(self.cumulative(theta), self.q)])


def _of_answers(summary: _F) -> _F:
    """A summary that is of the people who answered where nonresponse is a value of its own."""

    @wraps(summary)
    def of_those(estimate: Solution, *arguments: Any, **named: Any) -> Any:
        if estimate.normal is not None and estimate.domain.answered.points is not None:
            # Each share is moved towards other groups and cut at 0, and errors add up in sums.
            rule = "is of a group that was pooled, whose mean, quantiles and ranges would be wrong"
            remedy = "Estimate the groups without pool= and time=, and take this group of them"
            raise ArgumentError("estimate", rule, repr(estimate.estimator), remedy)
        if estimate.domain.nonresponse is None or estimate.fit.probabilities is None:
            return summary(estimate, *arguments, **named)
        block = slice(0, estimate.domain.nonresponse)
        given = estimate.domain.answered
        alone = BlockShares(within(estimate.probabilities, block), given, estimate)
        number = summary(alone, *arguments, **named)
        several = number if isinstance(number, tuple) else (number,)
        moved = tuple(_among_answers(estimate, one, block) for one in several)
        return moved if isinstance(number, tuple) else moved[0]

    return cast(_F, of_those)


def _among_answers(estimate: Solution, number: Quantity, block: slice) -> Quantity:
    """A number of the answers, with an interval that knows the share of nonresponse is estimated.

    Numbers that are linear in the shares are ratios c'theta / f. Their intervals are Fieller's,
    around the unbiased estimates; where there are posterior draws, with slack that these choose.
    """
    of = number._of
    if estimate.has_posterior_intervals or not estimate.has_intervals or not hasattr(of, "weights"):
        return Quantity(float(number), estimate, WithinBlock(of, block))
    return Quantity(float(number), estimate, _ratio(estimate, of, block))


def _ratio(estimate: Solution, of: Linear, block: slice) -> Ratio:
    """c'theta / f from the unbiased estimates, of the share f of the values in a block."""
    weights = np.zeros((2, estimate.domain.size))
    weights[:, block] = np.stack([of.weights, np.ones(of.weights.size)])
    shares = estimate.data.channel.invert(estimate.data.weights)
    each = np.stack([*weights, weights.sum(axis=0)], axis=1)
    data = estimate.data
    alone = data.channel.variance_of(each, project(shares)) / estimate.n
    if data.survey is not None:

        def of_shares(one: LikelihoodOperator, at: np.ndarray) -> np.ndarray:
            return np.diag(one.variance_of(each, at))

        alone = data.survey.covariance(data.channel, of_shares, "population", each).diagonal()
    # One person's reports are at most as dependent as copies of one.
    nn, ff, both = alone * estimate.reports_per_person
    nf = (both - nn - ff) / 2
    numerator, denominator = weights @ shares
    limits = WithinBlock(of, block).limits
    return Ratio(float(numerator), float(denominator), np.array([[nn, nf], [nf, ff]]), limits)


def mean(estimate: Solution) -> Quantity | tuple[Quantity, ...]:
    """Return the mean on each axis of the domain's points: see ``Estimate.mean``."""
    return without_bins(mean_of_shares(estimate))


@_of_answers
def mean_of_shares(estimate: Solution) -> Quantity | tuple[Quantity, ...]:
    """The mean of the estimated shares on each axis of the domain's points."""
    points, ends = _points(estimate.domain, "mean"), estimate.domain.ends
    fit = estimate.fit.mean
    if fit is None:
        linear = zip(points.T, ends, strict=True)
        return _each(estimate, [Linear(axis, limits) for axis, limits in linear])
    means = tuple(Quantity(one.value, estimate, one) for one in _sampled(estimate, fit))
    return means[0] if len(means) == 1 else means


def _sampled(estimate: Solution, fit: MeanFit) -> tuple[Sampled, ...]:
    """The sample mean of each coordinate, with what an interval needs."""
    estimate.data.require_simple_sample("sample mean", "Leave out the argument method")
    given = zip(fit.value, fit.variance, estimate.domain.ends, fit.bias, strict=True)
    numbers = []
    for m, v, limits, b in given:
        more = _repeated(estimate, float(m), float(v), limits)
        numbers.append(Sampled(float(m), float(v / estimate.n), limits, float(b), more))
    return tuple(numbers)


def _repeated(
    estimate: Solution, mean: float, variance: float, limits: tuple[float, float]
) -> float:
    """What up to t reports of one person add to the variance of a sample mean.

    It is (t - 1) / n times the variance of the values. That variance is at most
    (mean - low) (high - mean), and at most the variance of the reports. Several mechanisms together
    need not be unbiased one by one, so the second bound is taken.
    """
    more = estimate.reports_per_person - 1
    if more == 0:
        return 0.0
    low, high = limits
    inside = min(max(mean, low), high)
    of_values = min((inside - low) * (high - inside), variance)
    alone = len(estimate.data.channel.groups()) == 1
    return more * (of_values if alone else variance) / estimate.n


def variance(estimate: Solution) -> Quantity | tuple[Quantity, ...]:
    """Return the variance on each axis of the domain's points: see ``Estimate.variance``.

    It is that of the estimated shares, moved to the nearest limit of the interval of level 0.3
    where it lies outside.
    """
    moved: Quantity | tuple[Quantity, ...] = between_limits(variance_of_shares(estimate))
    return moved


@_of_answers
def variance_of_shares(estimate: Solution) -> Quantity | tuple[Quantity, ...]:
    """The variance of the estimated shares on each axis of the domain's points."""
    points = _points(estimate.domain, "variance")
    return _each(estimate, [Variance(axis, estimate.domain.bin_width) for axis in points.T])


def between_limits(numbers: Quantity | tuple[Quantity, ...]) -> Any:
    """A variance, or one for each axis, moved into the interval of level 0.3.

    Smooth shares say too large a variance where reports say little. Unbiased estimates are noisy.
    """
    if isinstance(numbers, tuple):
        return tuple(map(between_limits, numbers))
    of = numbers._of
    limits = of.around(_MIDDLE) if isinstance(of, Ratio) else numbers._around(_MIDDLE, "population")
    return Quantity(float(np.clip(numbers, *limits)), numbers._estimate, numbers._of)


def without_bins(number: _Mean) -> _Mean:
    """The mean of numbers in bins moved as a variance is, to where numbers in the bins may be.

    Shares in bins say nothing of this. The reports do, where devices took the numbers themselves.
    Places have no bins, and a mean of each coordinate.
    """
    if isinstance(number, tuple):
        return number
    result, of = number._estimate, getattr(number._of, "of", number._of)
    is_mean = isinstance(of, Ratio) or (isinstance(of, Linear) and of.limits is not None)
    if is_mean and result.data.channel.has_bins and not result.estimator.for_papers:
        moved: _Mean = between_limits(number)
        return moved
    return number


def cumulative_on(domain: Domain) -> Cumulative:
    """The cumulative shares on a domain whose values lie on a line."""
    points = _line(domain, "quantile")
    order, edges = np.argsort(points, kind="stable"), domain.edges
    return Cumulative(points[order] if edges is None else edges, order)


@_of_answers
def quantile(estimate: Solution, q: float) -> Quantity:
    """Return the quantile at ``q`` in [0, 1]: see ``Estimate.quantile``."""
    _line(estimate.domain, "quantile")
    q = real("q", q, "Write 0.9 for 90 %", least=0, most=1)
    return _quantity(estimate, Quantile(cumulative_on(estimate.domain), q))


@_of_answers
def mass(estimate: Solution, low: float, high: float) -> Quantity:
    """Return the share of people between two numbers: see ``Estimate.range``."""
    domain = estimate.domain
    points = _line(domain, "range")
    first, last = domain.ends[0]
    low, high = real("low", low), real("high", high)
    for name, value in (("low", low), ("high", high)):
        if not first <= value <= last:
            rule = f"must be from {first:.10g} to {last:.10g}"
            raise ArgumentError(name, rule, f"{value:.10g}")
    if low > high:
        raise ArgumentError("low", f"must be at most high, which is {high:.10g}", f"{low:.10g}")
    if domain.edges is None:
        weights = ((points >= low) & (points <= high)).astype(np.float64)
    else:
        inside = np.diff(np.clip(domain.edges, low, high))
        weights = np.clip(inside / domain.bin_width, 0.0, 1.0)
    return _quantity(estimate, Linear(weights))


@_of_answers
def tail(estimate: Solution, limit: float, is_above: bool) -> Quantity:
    """Return the share of people above a number, or below it; the number itself does not count."""
    domain = estimate.domain
    points = _line(domain, "share")
    first, last = domain.ends[0]
    limit = real("limit", limit)
    if not first <= limit <= last:
        rule = f"must be from {first:.10g} to {last:.10g}"
        raise ArgumentError("limit", rule, f"{limit:.10g}")
    if domain.edges is None:
        weights = (points > limit if is_above else points < limit).astype(np.float64)
    else:
        inside = np.diff(np.clip(domain.edges, *((limit, last) if is_above else (first, limit))))
        weights = np.clip(inside / domain.bin_width, 0.0, 1.0)
    return _quantity(estimate, Linear(weights))


def _quantity(estimate: Solution, of: Linear | Variance | Quantile) -> Quantity:
    """The value of a function of the shares at the estimate."""
    return Quantity(float(of(estimate.probabilities)[0]), estimate, of)


def _each(
    estimate: Solution, functions: Sequence[Linear | Variance]
) -> Quantity | tuple[Quantity, ...]:
    """One quantity, or a tuple of one for each axis."""
    numbers = tuple(_quantity(estimate, of) for of in functions)
    return numbers[0] if len(numbers) == 1 else numbers


def _distribution(theta: np.ndarray) -> np.ndarray:
    """theta, projected on the simplex where it is outside."""
    return theta if (theta >= 0).all() and abs(theta.sum() - 1) <= 1e-9 else project(theta)


def _points(domain: Domain, name: str) -> np.ndarray:
    """The coordinates (K, d) of the values; refused where values have none."""
    if domain.points is not None:
        return domain.points
    each = "combination" if domain.attributes else "value"
    rule = "needs values that are numbers or places, such as Integers, Interval or Grid"
    remedy = f"{_of_numbers(domain)}. For the mean of scores, use {_WEIGHTS} for each {each}"
    raise ArgumentTypeError(name, rule, type(domain).__name__, remedy)


def _of_numbers(domain: Domain) -> str:
    """What to do for a summary of numbers of values that are none."""
    if domain.attributes:
        return "Estimate the question with numbers by itself"
    return "Use Integers or Interval if the values are numbers"


def _line(domain: Domain, name: str) -> np.ndarray:
    """The coordinates (K,) of values on a line; refused where values are elsewhere."""
    points = domain.points
    if points is not None and points.shape[1] == 1:
        return points[:, 0]
    rule = "needs values in an order, such as Integers or Interval"
    remedy = "Use mean() or variance()" if points is not None else _of_numbers(domain)
    raise ArgumentTypeError(name, rule, type(domain).__name__, remedy)
