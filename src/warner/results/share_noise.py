"""The unbiased estimates of the shares, and the variance of their noise at any true share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warner._core.checks import confidence_level, kind as kind_of
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.extras import scipy
from warner._core.progress import in_blocks, stage
from warner.channels import LikelihoodOperator
from warner.channels.base import LARGEST_DENSE
from warner.estimators.base import LikelihoodData, inverted, threads_for
from warner.metrics import project
from warner.results.solution import Solution


@dataclass(frozen=True, eq=False)
class ShareNoise:
    """Unbiased estimates T of K shares, and the variance of each if its share were t.

    n Var(T_x) = (1 - t) null_x + t own_x - t^2,   for people drawn from a population
    """

    data: LikelihoodData
    target: str  # whom intervals are for
    centre: np.ndarray  # T (K,)
    plausible: np.ndarray  # (K,) its projection on the simplex
    null: np.ndarray  # (K,) the second moment of one report where nobody has the value
    own: np.ndarray  # (K,) the same where everybody has it
    effects: np.ndarray | float = 1.0  # (K,) by how much a survey design raises the variances

    @classmethod
    def of(
        cls,
        data: LikelihoodData,
        target: str,
        least: float = 0.0,
        centre: np.ndarray | None = None,
    ) -> ShareNoise:
        """The noise of the inversion of a tally, at the shares ``centre`` (K,)."""
        channel = data.channel
        centre = channel.invert(data.weights) if centre is None else centre
        plausible = project(centre)
        # Every value gets some share, so that the moments given the other values exist.
        spread = (1 - least) * plausible + least / plausible.size
        at_one = channel.inverse_moments(spread)[1]
        made = cls(data, target, centre, plausible, channel.variance_at_zero(spread), at_one)
        if data.survey is None:
            return made
        # Near 0 and 1 the variance of a survey is that of people who were drawn one by one, times
        # the effect of the design on the shares.
        usual = (
            data.design_effect
            if target == "population"
            else data.survey.of_answers[0].sum() * data.n
        )
        alone = for_target(data, target, channel.variance(plausible), plausible) / data.n
        of_design = variances_of(data, plausible, target)
        varies = (of_design > 0) & (alone > _NO_NOISE**2)
        effects = np.divide(of_design, alone, out=np.full(alone.size, usual), where=varies)
        return replace(made, effects=effects)

    def at(self, shares: np.ndarray | float) -> np.ndarray:
        """n times the variance of the estimate of each value at ``shares``, (..., K) or one."""
        t = shares + np.zeros(self.centre.shape)
        there = (1 - t) * self.null + t * self.own - t**2
        return self.effects * for_target(self.data, self.target, there, t)

    def deviations(self, z: float) -> np.ndarray:
        """The standard deviation (K,) of each estimate, at the projected estimates.

        A report that only one value can make has variance 0 where nobody or everybody sent it. The
        share is then taken to be at least z^2 / (n + z^2) from 0 and from 1, for n people. For a
        binomial this gives the limits of Wilson's interval there. With noise it is negligible.
        """
        data, plausible = self.data, self.plausible
        variance = data.n * variances_of(data, plausible, self.target)
        least = least_share(data, self.target, z)
        for share, near in ((least, plausible < least), (1 - least, plausible > 1 - least)):
            variance = np.where(near, np.maximum(variance, self.at(share)), variance)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / data.n))

    def variance(self, null: float, at_one: float, t: np.ndarray) -> np.ndarray:
        """The variance (J,), not below 0, of an estimate with these moments at shares t (J,)."""
        there = (1 - t) * null + t * at_one - t**2
        out = for_target(self.data, self.target, there, t)
        return np.asarray(np.maximum(out, 0.0) / self.data.n)

    def accepted(self, z: np.ndarray, usual: float) -> np.ndarray:
        """Limits (K, 2) of the shares t that a test accepts, T_x being near enough to t, at z (K,).

            T_x - t <= z sd(t) + (z^2 - usual^2) skew(t) sd(t) / 6,   t - T_x <= usual sd(t)

        n sd(t)^2 is :meth:`at`, so each limit is the root of a quadratic; farther out in the tail
        the skewness of a support count moves the quantile [Cornish-Fisher].
        """
        at_0, between, at_1 = (self.at(t) for t in (0.0, 0.5, 1.0))
        square = 2 * (at_0 + at_1 - 2 * between)
        slope = at_1 - at_0 - square
        law = self.data.channel.binomial_law(self.plausible)
        constant = linear = np.zeros_like(self.centre)
        if law is not None:
            # The square in the denominator keeps the correction small where people are few.
            correction = (z**2 - usual**2) / (6 * (self.data.n + z**2)) * (between > 0)
            constant, linear = correction * (1 - 2 * law.q) / law.gap, -2 * correction
        centre = np.clip(self.centre, 0.0, 1.0)
        ends = []
        for side, times, shift, rise in ((-1, z, constant, linear), (1, usual, 0.0, 0.0)):
            # (T - shift - (1 + rise) t)^2 = times^2 (at_0 + slope t + square t^2) / n
            factor, rate, rest = times**2 / self.data.n, 1 + rise, centre - shift
            first = rate**2 - factor * square
            middle = rest * rate + factor * slope / 2
            root = np.sqrt(np.maximum(middle**2 - first * (rest**2 - factor * at_0), 0.0))
            ends.append((middle + side * root) / first)
        # Of respondents without noise the skewness alone would move the lower limit up.
        low, high = np.minimum(ends[0], centre), ends[1]
        low = np.where(centre > constant, low, 0.0)  # a share of 0 is accepted without noise, too
        return np.asarray(np.clip(np.stack([low, high], axis=1), 0.0, 1.0))

    def around(self, z: float, factor: float | None = None) -> np.ndarray:
        """Limits (K, 2) around the unbiased estimates, which are moved into [0, 1] before that."""
        half = (z if factor is None else factor) * self.deviations(z)
        centre = np.clip(self.centre, 0.0, 1.0)
        return np.asarray(np.clip(np.stack([centre - half, centre + half], axis=1), 0.0, 1.0))


def student(z: np.ndarray | float, degrees: float) -> Any:
    """The quantiles of Student's t at the probabilities of normal quantiles z > 0."""
    if not np.isfinite(degrees):
        return z

    return -scipy.special.stdtrit(degrees, scipy.special.ndtr(-np.asarray(z)))


def least_share(data: LikelihoodData, target: str, z: float) -> float:
    """z^2 / (n + z^2) for n people: the least share at which a variance is taken."""
    if not isinstance(data, LikelihoodData):
        raise ArgumentTypeError("data", "must be LikelihoodData", kind_of(data), "Pass result.data")
    independent = data.n / data.reports_per_person if target == "population" else data.n
    return z**2 / (independent + z**2)


def for_target(
    data: LikelihoodData, target: str, variance: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """The variance (K,) per report around the target, from that of independent people."""
    if target == "respondents":
        return np.asarray(variance - (shares - shares**2))
    if data.reports_per_person == 1:
        return variance
    more = data.reports_per_person - 1
    return np.asarray(variance + more * data.channel.part_of_values(shares, variance))


def variances_of(data: LikelihoodData, shares: np.ndarray, target: str) -> np.ndarray:
    """The variance (K,) of each unbiased estimate, by the survey design or at ``shares`` (K,)."""

    def plain(channel: LikelihoodOperator, at: np.ndarray) -> np.ndarray:
        return for_target(replace(data, channel=channel), target, channel.variance(at), at)

    if data.survey is not None:
        return data.survey.variances(data.channel, plain, target)
    return np.asarray(plain(data.channel, shares) / data.n)


_DENSE = 2048  # values of which the covariance matrix is formed; more take seconds
_TERMS = 2**24  # numbers that are held at a time
_PAIRS = 32  # sums whose covariances are found pair by pair


def covariance_of(
    data: LikelihoodData,
    shares: np.ndarray,
    target: str = "population",
    starts: np.ndarray | None = None,
) -> np.ndarray:
    """The covariance (K, K) of the inversion per report; for a survey, n times its own."""
    if data.survey is not None:
        alone = replace(data, survey=None)
        cells = None
        if starts is not None:
            of_value = np.repeat(np.arange(starts.size), np.diff(starts, append=shares.size))
            cells = (of_value[:, None] == np.arange(starts.size)).astype(np.float64)

        def of_shares(one: LikelihoodOperator, at: np.ndarray) -> np.ndarray:
            return covariance_of(replace(alone, channel=one), at, target, starts)

        return data.n * data.survey.covariance(data.channel, of_shares, target, cells)
    if starts is None:
        covariance = data.channel.covariance(shares)
    elif _has_matrix(data.channel.complete()):
        covariance = np.add.reduceat(data.channel.covariance(shares), starts, axis=0)
        covariance = np.add.reduceat(covariance, starts, axis=1)
    else:
        covariance = _covariance_of_sums(data.channel.complete(), shares, starts)
    if starts is not None:
        shares = np.add.reduceat(shares, starts)
    of_values = np.diag(shares) - np.multiply.outer(shares, shares)
    if target == "respondents":
        return np.asarray(covariance - of_values)
    return np.asarray(covariance + (data.reports_per_person - 1) * of_values)


def most_cells(channel: LikelihoodOperator, most: int) -> int:
    """The number of cells, at most ``most``, whose sums have a covariance in little memory.

    It is 0 where the inverse of so many values has no closed form.
    """
    try:
        whole = channel.complete()
    except ArgumentError:
        return 0  # reports that were not observed are not known
    if _has_matrix(whole):
        return most
    if not whole.has_closed_inverse:
        return 0
    return min(most, _PAIRS if whole.rows_per_report > 1 else _TERMS // whole.shape[0])


def _has_matrix(channel: LikelihoodOperator) -> bool:
    """Whether the covariance matrix of all values takes less than seconds."""
    rows, size = channel.shape
    return size <= _DENSE and (channel.rows_per_report > 1 or rows * size <= LARGEST_DENSE)


def _covariance_of_sums(
    channel: LikelihoodOperator, shares: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """The covariance (C, C) per report of sums of the inversion over cells of values.

    Of bit sums, that of two sums is half the variance of both together less those of each.
    """
    cells = np.repeat(np.arange(starts.size), np.diff(starts, append=shares.size))
    if channel.rows_per_report == 1:
        sums = (cells[:, None] == np.arange(starts.size)).astype(np.float64)
        terms = channel.influence(sums) - np.add.reduceat(shares, starts)
        return np.asarray((terms.T * channel.matvec(shares)) @ terms)
    first, second = np.triu_indices(starts.size)
    variances = np.empty(first.size)
    for some in in_blocks(first.size, _TERMS, 2 * channel.shape[0]):
        either = (cells[:, None] == first[some]) | (cells[:, None] == second[some])
        variances[some] = channel.variance_of(either.astype(np.float64), shares)
    alone = variances[first == second]
    apart = (variances - alone[first] - alone[second]) / 2
    covariance = np.diag(alone)
    covariance[first, second] = covariance[second, first] = np.where(
        first == second, variances, apart
    )
    return covariance


# -----------------------------------------------------------------------------------------------
# Intervals that hold the true shares of all values together.
#
# Both ways to find the half-width, in standard deviations, know that an interval whose centre was
# moved to 0 errs on one side only.


_DRAWS = 2000  # the 0.95 quantile of so many draws is that of a share within 0.005 (one sd)
_MOST_SIMULATED = 1000  # values; beyond, the largest of nearly independent errors is known
_MOST_ROWS = 4  # rows of a channel for each value; beyond, a simulation takes seconds
_SMALL_CHANNEL = 2**16  # entries of a channel that may have more rows
_AT_A_TIME = 2**20  # numbers in the tallies that are inverted together
_MOST_AT_A_TIME = 200  # tallies, so that progress is shown where each takes long


def simultaneous(solution: Solution, level: float = 0.95, target: str = "population") -> np.ndarray:
    """Intervals (K, 2) that hold all true shares at once.

        T_x +- c sd_x,   Pr(all K intervals hold their shares) = level

    c is the quantile of the largest error over simulated tallies, or the bound of independent
    errors [Sidak 1967] of many values and of reports that cannot be simulated fast.

    Source: Montiel Olea and Plagborg-Moller (2019), sup-t bands; METHODS 5.
    """
    alpha = 1 - confidence_level(level)
    data = solution.data
    alone = independent_factor(1 - alpha, np.ones(data.domain.size, dtype=bool))
    noise = ShareNoise.of(data, target, least_share(data, target, alone))
    shares = project(solution.probabilities)
    errors = None
    if data.survey is None:
        errors = simulated_errors(data, target, shares, np.random.default_rng(0), _DRAWS)
    if errors is not None:
        largest = _largest(noise, shares, errors, alone)
        factor = float(np.quantile(largest, 1 - alpha, method="weibull"))
    else:
        # Shares well below as many standard deviations err on one side.
        deviation, factor = noise.deviations(alone), alone
        for _ in range(3):
            factor = independent_factor(1 - alpha, shares + deviation > factor * deviation)
        factor = student(factor, data.degrees)
    return noise.around(alone, factor)


def _largest(noise: ShareNoise, shares: np.ndarray, errors: np.ndarray, z: float) -> np.ndarray:
    """The largest error in standard deviations of each of B simulated tallies, (B,)."""
    n, least = noise.data.n, least_share(noise.data, noise.target, z)
    at = np.clip(project((shares + errors).T).T, least, 1 - least)
    deviation = np.sqrt(np.maximum(noise.at(at), 0.0) / n)
    # Estimates above 1 are not moved here, else most tallies would have one largest error.
    away = np.abs(np.maximum(shares + errors, 0.0) - shares)
    sizes = np.divide(away, deviation, out=np.zeros_like(away), where=deviation > 0)
    return np.asarray(sizes.max(axis=1))


def simulated_errors(
    data: LikelihoodData,
    target: str,
    shares: np.ndarray,
    rng: np.random.Generator,
    draws: int,
) -> np.ndarray | None:
    """The errors (B, K) of unbiased estimates on B = draws tallies simulated from ``shares``."""
    rows, size = data.channel.shape
    if size > _MOST_SIMULATED or (rows > _MOST_ROWS * size and rows * size > _SMALL_CHANNEL):
        return None
    errors = np.empty((draws, size))
    with threads_for(data), stage("simulating", draws) as tell:
        for block in in_blocks(draws, min(_MOST_AT_A_TIME, _AT_A_TIME // rows)):
            some = errors[block]
            try:
                several, truths = simulated_tallies(data, target, shares, len(some), rng)
            except ArgumentError:  # a tally of the observed reports alone
                return None
            some[:] = inverted(several) - truths
            tell(block.stop)
    return errors


def simulated_tallies(
    data: LikelihoodData, target: str, shares: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[list[LikelihoodData], np.ndarray]:
    """Simulated tallies, and for each the shares (K,) that its estimate is compared with."""
    channel, n, often = data.channel, data.n, data.reports_per_person
    truths = np.tile(shares, (count, 1))
    if target == "respondents":
        drawn = []
        for truth in truths:
            people = rng.multinomial(n, shares)
            truth[:] = people / n
            drawn.append(channel.simulate_tally(shares, n, rng, people, often))
    elif often == 1:
        drawn = channel.simulate_tallies(shares, n, rng, count)
    else:
        drawn = [channel.simulate_tally(shares, n, rng, None, often) for _ in range(count)]
    return [replace(data, channel=rows, weights=weights) for rows, weights in drawn], truths


def independent_factor(level: float, two_sided: np.ndarray) -> float:
    """c with prod_x (1 - sides_x Phi(-c)) = level, where interval x errs on one side or on two."""
    sides = 1.0 + two_sided
    low = 0.0
    high = float(-scipy.special.ndtri(max((1 - level) / (2 * float(sides.sum())), 1e-300)))
    for _ in range(60):
        middle = (low + high) / 2
        inside = np.log1p(-np.minimum(sides * scipy.special.ndtr(-middle), 1 - 1e-12)).sum()
        low, high = (low, middle) if inside > np.log(level) else (middle, high)
    return high


# -----------------------------------------------------------------------------------------------
# Intervals that hold the true shares of all values on average, whatever the shares are.
#
# A table of many shares has many intervals. Intervals with the average coverage 1 - alpha miss on
# average alpha K of the K shares. They can be much shorter than intervals that hold each share with
# that probability, because the shares sum to one (METHODS 5).


# The part of alpha that is spent in proportion to the share. With 0 each value has the level. With
# 1 shares near 0 are never missed, and their intervals all begin at 0. On made-up tables, values
# from 1/2 to 1 gave widths within a tenth of each other; 1/2 misses large shares least often.
_TO_LARGE = 0.5
# No share is missed more often than this, so the interval holds the unbiased estimate too.
_MOST_MISSED = 0.5
# The part of the mean width that may be spent on holding large shares with the full level.
_PRICE_OF_LARGE = 0.05
# Shares from this multiple of 1/K on may count as large.
_LEAST_LARGE = 3.0
# The parts of a test's level that its lower tail may have. Never all of it: a small share that no
# large estimate rejects would be the lower end of the interval of every large share.
_TAILS = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
_MOST_KINDS = 32  # kinds of noise; each costs some milliseconds
_FIRST_STEP = 0.05  # largest relative difference of the moments within a kind, where kinds are few
_NO_NOISE = 1e-12  # the least standard deviation, for answers that were sent unchanged
_USUAL = 2.0  # standard deviations of a usual interval


def average(solution: Solution, level: float = 0.95, target: str = "population") -> np.ndarray:
    """Intervals (K, 2) that hold the true shares of the values on average.

        E #{x : theta_x in I_x} >= level K,   for every theta on the simplex

    The interval of value x holds every share t that a test with the level alpha(t) accepts, where

        alpha(t) = min(alpha (1 + K t) / 2, 1/2)

    The mean of these levels at the true shares is at most alpha, because shares sum to one. Where
    shares are so large that it costs little, alpha(t) is at most alpha. Each test divides its level
    between the tails so that few estimates are expected between the quantiles [Pratt 1961; Yu and
    Hoff 2018]. Only the width depends on the prior that ``solution`` is for this.

    Source: Armstrong, Kolesar and Plagborg-Moller (2022); METHODS 5.
    """
    alpha = 1 - confidence_level(level)
    data = solution.data
    data.require_simple_sample("kind 'average'")
    noise = ShareNoise.of(data, target, least_share(data, target, _USUAL))
    given = np.clip(solution.probabilities, 0.0, 1.0)
    shares = given if abs(float(given.sum()) - 1) < 1e-6 else project(solution.probabilities)
    kinds = [_Kind.of(noise, index, shares) for index in _alike(noise)]
    levels = _levels(kinds, alpha, shares.size)
    limits = np.empty((shares.size, 2))
    for kind in kinds:
        limits[kind.index] = kind.accepted(levels, noise.centre[kind.index])
    return limits


@dataclass(frozen=True)
class _Levels:
    """The level alpha(t) of the test of a share t; from ``large`` on at most alpha."""

    alpha: float
    slope: float
    large: float

    def __call__(self, t: np.ndarray) -> np.ndarray:
        least = self.alpha * (1 - _TO_LARGE)
        levels = np.minimum(least + self.slope * t, max(_MOST_MISSED, self.alpha))
        return np.asarray(np.where(t >= self.large, np.minimum(levels, self.alpha), levels))


@dataclass(frozen=True, eq=False)
class _Kind:
    """Values whose estimates have the same noise, and the tests of their shares."""

    index: np.ndarray  # the values
    t: np.ndarray  # (J,) shares, from 0 to 1
    deviation: np.ndarray  # (J,) the standard deviation of an estimate at each share
    skewness: np.ndarray  # (J,) that of the estimate
    y: np.ndarray  # (G,) possible estimates
    below: np.ndarray  # (G,) the share of the estimates of all values that are expected below each
    density: float  # a bound from below of the density of one value's estimate near its share

    @classmethod
    def of(cls, noise: ShareNoise, index: np.ndarray, shares: np.ndarray) -> _Kind:
        """The tests of the values ``index``, with the noise of the middle one of them."""
        size, n = shares.size, noise.data.n
        null, at_one = (float(np.median(v[index])) for v in (noise.null, noise.own))

        def deviation(t: np.ndarray) -> np.ndarray:
            return np.asarray(np.maximum(np.sqrt(noise.variance(null, at_one, t)), _NO_NOISE))

        unit = max(float(deviation(np.array([1 / size]))[0]), 1 / n)
        highest = float(np.clip(max(noise.centre[index].max(), shares.max()), 0.0, 1.0))
        top = min(1.0, highest + 6 * max(unit, float(deviation(np.array([highest]))[0])))
        t = np.unique(
            np.concatenate(
                [
                    [0.0, 1 / size, 1.0],
                    np.geomspace(3e-3 / size, 1.0, 400),
                    np.linspace(0.0, min(1.0, 6 * unit), 200),
                    np.linspace(0.0, top, 200),
                ]
            )
        )
        y = np.unique(
            np.concatenate(
                [np.linspace(-6 * unit, 6 * unit, 400), np.linspace(-6 * unit, top + 6 * unit, 800)]
            )
        )
        # Shares in steps of a fiftieth of the noise, or of 2 % where they are larger.
        steps_of_noise, often = np.unique(
            np.round(50 * np.arcsinh(shares / unit)), return_counts=True
        )
        atoms = np.clip(unit * np.sinh(steps_of_noise / 50), 0.0, 1.0)
        below = scipy.special.ndtr((y[:, None] - atoms) / deviation(atoms)) @ (often / size)
        density = 1 / (size * unit * np.sqrt(2 * np.pi))
        return cls(index, t, deviation(t), _skewness(noise, index, t), y, below, density)

    def tests(self, levels: _Levels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The lower and upper quantiles (J,) of the tests of all shares t, and what is inside."""
        alpha = levels(self.t)[:, None]
        tails = scipy.special.ndtri(alpha * _TAILS), -scipy.special.ndtri(alpha * (1 - _TAILS))
        # The tails are chosen for normal noise, as that of the expected estimates.
        low, high = (self.t[:, None] + self.deviation[:, None] * z for z in tails)
        inside = self._expected(high) - self._expected(low)
        ends = [np.clip(v, self.y[0], self.y[-1]) for v in (low, high)]
        cost = inside + self.density * (ends[1] - ends[0]) + 1e-9 * np.abs(_TAILS - 0.5)
        rows, best = np.arange(self.t.size), np.argmin(cost, axis=1)
        # Normal quantiles as quantiles of the law of the estimates [Cornish-Fisher].
        z = np.stack([each[rows, best] for each in tails])
        skewed = z + self.skewness * (np.where(np.isfinite(z), z, 0.0) ** 2 - 1) / 6
        low, high = self.t + self.deviation * skewed
        return low, high, inside[rows, best]

    def _expected(self, y: np.ndarray) -> np.ndarray:
        """The share of the estimates of all values that are expected below each of ``y``."""
        return np.asarray(np.interp(y, self.y, self.below))

    def least_large(self, levels: _Levels) -> float:
        """The least share from which the full level costs little width."""
        step = np.gradient(self.t)
        inside = self.tests(levels)[2]
        full = self.tests(_Levels(levels.alpha, 0.0, 0.0))[2]
        extra = np.where(levels(self.t) > levels.alpha, full - inside, 0.0) * step
        above = np.cumsum(extra[::-1])[::-1]
        cheap = above <= _PRICE_OF_LARGE * float(inside @ step)
        return float(self.t[cheap.argmax()]) if cheap.any() else np.inf

    def accepted(self, levels: _Levels, estimates: np.ndarray) -> np.ndarray:
        """The interval (L, 2) of shares that the tests accept, for each of L estimates."""
        low, high, _ = self.tests(levels)
        # The first share whose test is not passed from above, and the last not from below.
        up = np.maximum.accumulate(high)
        down = np.minimum.accumulate(low[::-1])[::-1]
        first = np.searchsorted(up, estimates, side="left")
        last = np.searchsorted(down, estimates, side="right") - 1
        return np.stack(
            [
                self._between(up, np.clip(first, 0, self.t.size - 1), -1, estimates),
                self._between(down, np.clip(last, 0, self.t.size - 1), 1, estimates),
            ],
            axis=1,
        )

    def _between(
        self, border: np.ndarray, at: np.ndarray, side: int, estimates: np.ndarray
    ) -> np.ndarray:
        """The share at which a border (J,) of the tests passes each estimate.

        It lies between the accepted share ``at`` and the next one on its ``side``. Where the border
        jumps, as tails are exchanged, the next share itself is taken.
        """
        beside = np.clip(at + side, 0, self.t.size - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = border[at] - border[beside]
            way = (estimates - border[beside]) / rise
        step = np.abs(self.t[at] - self.t[beside])
        steady = np.isfinite(rise) & (np.abs(rise) <= 2 * step + 0.05 * self.deviation[at])
        way = np.where(steady & (way >= 0) & (way <= 1), way, 0.0)
        return np.asarray(self.t[beside] + way * (self.t[at] - self.t[beside]))


def _levels(kinds: list[_Kind], alpha: float, size: int) -> _Levels:
    """The levels of the tests of K shares: their slope, and the least share that is large."""
    free = _Levels(alpha, alpha * _TO_LARGE * size, np.inf)
    large = max(_LEAST_LARGE / size, *(kind.least_large(free) for kind in kinds))
    return _Levels(alpha, free.slope, large)


def _skewness(noise: ShareNoise, index: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The skewness (J,) of a support count, a binomial, at shares t; 0 where there is none."""
    law = noise.data.channel.binomial_law(noise.plausible)
    if law is None:
        return np.zeros(t.size)
    mu = float(np.median(law.q[index])) + float(np.median(law.gap[index])) * t
    spread = np.sqrt(np.maximum(noise.data.n * mu * (1 - mu), 1e-12))
    return np.asarray(np.clip((1 - 2 * mu) / spread, -1.0, 1.0))


def _alike(noise: ShareNoise) -> Iterator[np.ndarray]:
    """The values in kinds with nearly the same noise, each as an array of indices."""
    step, many = _FIRST_STEP, True
    round_to: Callable[[np.ndarray], np.ndarray] = lambda v: np.round(
        np.log(np.maximum(v, 1e-300)) / step
    )
    while many:
        columns = np.stack([round_to(noise.null), round_to(noise.own)])
        kinds, kind = np.unique(columns, axis=1, return_inverse=True)
        many, step = kinds.shape[1] > _MOST_KINDS, 2 * step
    for number in range(kinds.shape[1]):
        yield np.flatnonzero(kind.ravel() == number)
