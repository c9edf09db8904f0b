"""Intervals that hold the true shares of all values on average, whatever the shares are.

A table of many shares has many intervals. Intervals with the average coverage 1 - alpha miss on
average alpha K of the K shares. They can be much shorter than intervals that hold each share with
that probability, because the shares sum to one (METHODS 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from warner._core.checks import confidence_level
from warner.metrics import project
from warner.results.share_noise import ShareNoise, least_share
from warner.results.solution import Solution

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
    """Intervals that hold the true shares of the values on average.

        E #{x : theta_x in I_x} >= level K,   for every theta on the simplex

    The interval of value x holds every share t that a test with the level alpha(t) accepts, where

        alpha(t) = min(alpha (1 + K t) / 2, 1/2)

    A test of the true share theta_x rejects with probability alpha(theta_x). The mean of these
    numbers is at most alpha, because shares sum to one. So the average coverage needs no knowledge
    of the shares. Where shares are so large that it costs little, alpha(t) is at most alpha.

    The test accepts T_x between two quantiles of its law at t. The level is divided between the
    tails so that few estimates of all values lie between the quantiles. This makes the expected
    width small, as in [Pratt 1961] and [Yu and Hoff 2018], and leaves the level as it is. The law
    of the estimates is that of normal noise around the shares of ``solution``: a prior that is
    learnt from the reports, and that only the width depends on.

    Large shares are missed more often than small ones, each at most half of the time. Coverage is
    asymptotic, as that of Wald intervals; where reports support values, the skewness of the counts
    is taken into account.

    Source: Armstrong, Kolesar and Plagborg-Moller (2022), who bound moments of the shares where
    this function uses their known sum; METHODS 5.

    Returns (K, 2).
    """
    alpha = 1 - confidence_level(level)
    data = solution.data
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
    """The level alpha(t) of the test of a share t.

    Attributes:
        alpha: the average level.
        slope: alpha K / 2.
        large: shares from here on are missed at most with probability alpha.
    """

    alpha: float
    slope: float
    large: float

    def __call__(self, t: np.ndarray) -> np.ndarray:
        least = self.alpha * (1 - _TO_LARGE)
        found = np.minimum(least + self.slope * t, max(_MOST_MISSED, self.alpha))
        return np.asarray(np.where(t >= self.large, np.minimum(found, self.alpha), found))


@dataclass(frozen=True, eq=False)
class _Kind:
    """Values whose estimates have the same noise, and the tests of their shares.

    Attributes:
        index: the values.
        t: (J,) shares, from 0 to 1.
        deviation: (J,) the standard deviation of an estimate at each share.
        skewness: (J,) that of the estimate.
        y: (G,) possible estimates.
        below: (G,) the share of the estimates of all values that are expected below each.
        density: a bound from below of the density of one value's estimate near its share.
    """

    index: np.ndarray
    t: np.ndarray
    deviation: np.ndarray
    skewness: np.ndarray
    y: np.ndarray
    below: np.ndarray
    density: float

    @classmethod
    def of(cls, noise: ShareNoise, index: np.ndarray, shares: np.ndarray) -> _Kind:
        """The tests of the values ``index``, with the noise of the middle one of them.

        Shapes: shares (K,).
        """
        from scipy.special import ndtr

        size, n = shares.size, noise.data.n
        null, own = (float(np.median(v[index])) for v in (noise.null, noise.own))

        def deviation(t: np.ndarray) -> np.ndarray:
            return np.asarray(np.maximum(np.sqrt(noise.variance(null, own, t)), _NO_NOISE))

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
        place, often = np.unique(np.round(50 * np.arcsinh(shares / unit)), return_counts=True)
        atoms = np.clip(unit * np.sinh(place / 50), 0.0, 1.0)
        below = ndtr((y[:, None] - atoms) / deviation(atoms)) @ (often / size)
        density = 1 / (size * unit * np.sqrt(2 * np.pi))
        return cls(index, t, deviation(t), _skewness(noise, index, t), y, below, density)

    def tests(self, levels: _Levels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tests of all shares t, with the levels alpha(t).

        An estimate far from all others has no neighbours to learn from. Its interval then has
        equal tails, because the width counts besides the number of estimates between the
        quantiles.

        Returns (J,).
        """
        from scipy.special import ndtri

        alpha = levels(self.t)[:, None]
        tails = ndtri(alpha * _TAILS), -ndtri(alpha * (1 - _TAILS))
        # The tails are chosen for normal noise, as that of the expected estimates.
        low, high = (self.t[:, None] + self.deviation[:, None] * z for z in tails)
        inside = self._expected(high) - self._expected(low)
        ends = [np.clip(v, self.y[0], self.y[-1]) for v in (low, high)]
        cost = inside + self.density * (ends[1] - ends[0]) + 1e-9 * np.abs(_TAILS - 0.5)
        rows, best = np.arange(self.t.size), np.argmin(cost, axis=1)
        low, high = (self.t + self.deviation * self._skewed(z[rows, best]) for z in tails)
        return low, high, inside[rows, best]

    def _skewed(self, z: np.ndarray) -> np.ndarray:
        """Normal quantiles (J,) as quantiles of the law of the estimates [Cornish-Fisher]."""
        finite = np.where(np.isfinite(z), z, 0.0)
        return np.asarray(z + self.skewness * (finite**2 - 1) / 6)

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
    """The skewness (J,) of an estimate at shares t; 0 where reports do not support values.

    A support count is binomial, with probability mu = q + gap t.
    """
    law = noise.data.channel.support_law()
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
