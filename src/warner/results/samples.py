"""The reports of groups of people, and how far one quantity of two groups is apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from warner._core.errors import EmptyError
from warner._core.extras import scipy
from warner.estimators.base import LikelihoodData
from warner.metrics import project
from warner.results.from_tally import side_by_side
from warner.results.intervals import normal_quantile
from warner.results.recommend import recommended_fit
from warner.results.share_noise import covariance_of, student, variances_of
from warner.results.solution import Solution
from warner.results.summaries import Cumulative, Quantile

REST = "all other groups"
_HALVINGS = 50  # of the level, in the search for a p-value
LEAST_REPORTS = 2


@dataclass(frozen=True, eq=False)
class Sample:
    """The reports of one group of people, with its unbiased estimates ``shares`` T (K,).

    ``same`` is the share of the people of two groups who are in both and gave one answer.
    """

    name: str
    data: LikelihoodData
    shares: np.ndarray
    target: str
    given: Solution | None = None  # the estimate of the group, where there is one
    same: float = 0.0

    @cached_property
    def solution(self) -> Solution:
        """The estimate of the group alone."""
        if self.given is not None:
            return self.given
        method, fit = recommended_fit(self.data)
        return Solution(fit, self.data, method)

    @classmethod
    def of(
        cls, name: str, data: LikelihoodData, target: str, given: Solution | None = None
    ) -> Sample:
        """The sample of a group."""
        if data.n < LEAST_REPORTS:
            rule = "must have at least 2 reports each for a difference"
            raise EmptyError(
                "groups", rule, f"{data.n} in {name}", f"Join {name} with another group"
            )
        return cls(name, data, data.channel.invert(data.weights), target, given)

    def variances(self) -> np.ndarray:
        """The variance (K,) of each unbiased estimate.

        A share near 0 or 1 is taken to be 1 / (n + 1) away from it, so that no variance is 0.
        """
        near = self._plausible()
        variances = variances_of(self.data, near, self.target)
        if self.data.survey is not None:
            usual = self.data.design_effect * self.data.channel.variance(near) / self.data.n
            return np.where(variances > 0, variances, usual)
        return np.asarray(np.maximum(variances, 0.0))

    def covariance(self) -> np.ndarray:
        """The covariance (K, K) of the unbiased estimates."""
        return covariance_of(self.data, self._plausible(), self.target) / self.data.n

    def variances_with(self, other: Sample) -> np.ndarray:
        """The variance (K,) of the difference of each share from that of another group."""
        shared = self.shared_with(other).diagonal()
        return np.asarray(self.variances() + other.variances() - 2 * shared)

    def shared_with(self, other: Sample) -> np.ndarray:
        """The covariance (K, K) of two groups: of the same people, clusters or strata."""
        if self.same:
            # Two reports on one answer share its permanent report, where there is one, and the
            # answer. Given these they are independent, and each inverts to what the inverse makes
            # of the permanent report, in the mean.
            near, memo = (self._plausible() + other._plausible()) / 2, self.data.channel.memo
            covariance = np.diag(near) - np.multiply.outer(near, near)
            of_respondents = covariance if self.target == "respondents" else 0.0
            covariance = covariance if memo is None else memo.covariance(near)
            return self.same * (covariance - of_respondents) / max(self.data.n, other.data.n)
        ours, theirs = self.data.survey, other.data.survey
        is_one = ours is not None and theirs is not None and ours.drawn is theirs.drawn
        if not is_one or self.target == "respondents" or ours is None or theirs is None:
            return np.zeros((self.shares.size, self.shares.size))
        return ours.with_other(theirs)

    def degrees_with(self, other: Sample) -> float:
        """The degrees of freedom of the variance of a difference from another group."""
        ours, theirs = self.data.survey, other.data.survey
        if ours is not None and theirs is not None and ours.drawn is theirs.drawn:
            return ours.moments(theirs)[0]
        return min(self.data.degrees, other.data.degrees)

    @property
    def one_by_one(self) -> Sample:
        """The sample of the same reports, as of people who were drawn one by one."""
        return replace(self, data=replace(self.data, survey=None))

    def _plausible(self) -> np.ndarray:
        least = 1 / (self.data.n + 1)
        shares = project(self.shares)
        return np.asarray((1 - least) * shares + least / shares.size)


@dataclass(frozen=True, eq=False)
class SeveralGroups(Sample):
    """The people of several groups, each of which counts as often as it has people.

    An inversion of all their reports together would give a group of surer reports more weight.
    """

    groups: tuple[Sample, ...] = ()

    @classmethod
    def together(cls, groups: Sequence[Sample]) -> SeveralGroups:
        """The people of some groups, under the name of all others."""
        data = side_by_side([group.data for group in groups])
        shares = sum(group.data.n / data.n * group.shares for group in groups)
        return cls(REST, data, np.asarray(shares), groups[0].target, groups=tuple(groups))

    def variances(self) -> np.ndarray:
        """The variance (K,) of each unbiased estimate."""
        return np.asarray(sum(s.variances() * (s.data.n / self.data.n) ** 2 for s in self.groups))

    def covariance(self) -> np.ndarray:
        """The covariance (K, K) of the unbiased estimates."""
        return np.asarray(sum(s.covariance() * (s.data.n / self.data.n) ** 2 for s in self.groups))


@dataclass(frozen=True, eq=False)
class Compared:
    """One quantity in two groups a and b, the interval of a - b, and the p-value of a = b."""

    a: float
    b: float
    low: float
    high: float
    p: float
    is_share: bool = False
    error: float | None = None  # the standard error of a - b, where the interval is made of it


def _apart(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """The difference of two numbers with intervals, and how far below and above it can be."""
    (a, a_low, a_high), (b, b_low, b_high) = one, other
    return a - b, float(np.hypot(a - a_low, b_high - b)), float(np.hypot(a_high - a, b - b_low))


def combined(
    one: Sequence[float], other: Sequence[float], level: float, from_middles: bool = False
) -> Compared:
    """The difference of two numbers, each with its interval [Zou and Donner 2008].

    It may be that of the middles of the intervals, where these are unbiased estimates.
    """
    middles = [((low + high) / 2, low, high) for _, low, high in (one, other)]
    d, below, above = _apart(*middles) if from_middles else _apart(one, other)
    # The normal law whose limit towards 0 is that of the interval.
    half = below if d > 0 else above
    p = 2 * NormalDist().cdf(-abs(d) / half * normal_quantile(level)) if half > 0 else float(d == 0)
    return Compared(one[0], other[0], d - below, d + above, p)


def of_shares(a: Sample, b: Sample, level: float) -> list[Compared]:
    """The differences of all shares."""
    deviation = np.sqrt(np.maximum(a.variances_with(b), 0.0))
    pairs, degrees = zip(a.shares, b.shares, deviation, strict=True), a.degrees_with(b)
    compared = (
        _wald(float(x), float(y), float(sd), level, (-1.0, 1.0), degrees) for x, y, sd in pairs
    )
    return [replace(one, is_share=True) for one in compared]


def mean_in(
    sample: Sample, points: np.ndarray, level: float = 0.95
) -> tuple[float, np.ndarray] | None:
    """The mean of a group, and its slopes g (K,), of which Var m = g'C g / n; None if not known.

        m = c'T,   or of those who answered   m = c'T / f,   f = sum_v T_v,   g_v = (c_v - m) / f

    Where f is within z standard deviations of 0, nothing is known of the mean of those who
    answered. ``points`` c (V,) are of fewer values than T (K,) where nonresponse is a value.
    """
    answered = points.size
    if answered == sample.shares.size:
        # Estimates need not sum to 1. About their middle, weights add least of that noise.
        centred = points - (points.max() + points.min()) / 2
        return float(centred @ sample.shares) + float(points[0] - centred[0]), centred
    shares = sample.shares[:answered]
    f, z = float(shares.sum()), normal_quantile(level, sample.data.degrees)
    if f <= z * float(np.sqrt(max(sample.covariance()[:answered, :answered].sum(), 0.0))):
        return None
    m = float(np.clip(points @ shares / f, points.min(), points.max()))
    return m, np.append((points - m) / f, np.zeros(sample.shares.size - answered))


def of_means(a: Sample, b: Sample, points: np.ndarray, level: float) -> Compared:
    """The difference of the means, of those who answered where nonresponse is a value."""
    first, second = (mean_in(sample, points, level) for sample in (a, b))
    reach = float(np.ptp(points))
    if first is None or second is None:
        middle = float(points.min() + reach / 2)
        return Compared(middle, middle, -reach, reach, 1.0)
    (of_a, g), (of_b, h) = first, second
    shared = 2 * float(g @ a.shared_with(b) @ h)
    variance = float(g @ a.covariance() @ g) + float(h @ b.covariance() @ h) - shared
    sd = float(np.sqrt(max(variance, 0.0)))
    return _wald(of_a, of_b, sd, level, (-reach, reach), a.degrees_with(b))


def of_answered(a: Sample, b: Sample, size: int, level: float) -> list[Compared]:
    """The differences of the shares of ``size`` values among the people who answered."""
    compared = (of_means(a, b, is_value, level) for is_value in np.eye(size))
    return [replace(one, is_share=True) for one in compared]


def _wald(
    a: float, b: float, sd: float, level: float, limits: tuple[float, float], degrees: float
) -> Compared:
    """The interval and the test of a difference: normal, or of Student's t in a survey."""
    d, z = a - b, normal_quantile(level, degrees)
    low, high = np.clip([d - z * sd, d + z * sd], *limits)
    p = p_of_difference(d, sd, degrees)
    return Compared(a, b, float(low), float(high), p, error=float(sd))


def p_of_difference(d: float, sd: float, degrees: float) -> float:
    """The two-sided p-value of a difference from 0."""
    if sd <= 0:
        return float(d == 0)
    z = -abs(d) / sd
    return 2 * float(
        scipy.special.stdtr(degrees, z) if np.isfinite(degrees) else scipy.special.ndtr(z)
    )


def of_quantile(a: Sample, b: Sample, of: Quantile, level: float) -> Compared:
    """The difference of a quantile."""
    line = of.cumulative
    lines = [_line_of(s, line) for s in (a, b)]
    quantiles = [line.reached(shares, of.q) for shares, _ in lines]

    degrees = min(a.data.degrees, b.data.degrees)

    def bounds(at: float) -> tuple[float, float]:
        z = float(student(NormalDist().inv_cdf((1 + at) / 2), degrees))
        ends = []
        for (shares, sd), value in zip(lines, quantiles, strict=True):
            limits = np.clip(np.stack([shares - z * sd, shares + z * sd], axis=1), 0.0, 1.0)
            limits = np.maximum.accumulate(limits, axis=0)
            low, high = line.invert(limits, of)
            ends.append((value, min(low, value), max(high, value)))
        d, below, above = _apart(*ends)
        return d - below, d + above

    def holds_zero(at: float) -> bool:
        low, high = bounds(at)
        return low <= 0 <= high

    inside, outside = 1 - 1e-9, 0.0  # levels whose intervals hold 0, or not
    if holds_zero(outside + 1e-9):
        inside = 0.0
    elif holds_zero(inside):
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if holds_zero(middle) else (inside, middle)
    return Compared(quantiles[0], quantiles[1], *bounds(level), 1 - inside)


def _line_of(sample: Sample, line: Cumulative) -> tuple[np.ndarray, np.ndarray]:
    """The unbiased cumulative shares (K + 1,) of a group, and their standard deviations."""
    ordered = sample.covariance()[np.ix_(line.order, line.order)]
    sums = np.cumsum(np.cumsum(ordered, axis=0), axis=1)
    sd = np.sqrt(np.maximum(sums.diagonal(), 0.0))
    sd[-1] = 0.0  # all shares together are 1
    shares = np.concatenate([[0.0], np.cumsum(sample.shares[line.order])])
    shares[-1] = 1.0
    return shares, np.concatenate([[0.0], sd])
