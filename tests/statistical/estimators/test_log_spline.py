"""Intervals from the draws of a log-spline hold the truth about as often as they say. Seeded, so
that nothing flakes.
"""

from __future__ import annotations

import numpy as np

import warner
from warner import Interval, LogSpline
from warner.estimators.base import LikelihoodData


def test_draws_cover_smooth_functionals_of_a_smooth_shape() -> None:
    """95 % intervals for mean, median and mass of a range: at least 50 of 60, and not always; the
    mutant of half the spread covers fewer.

    The draws are of a Laplace approximation and the estimate is biased towards smoothness, so the
    level is not promised exactly.
    """
    bins, n, runs = 48, 10_000, 60
    x = (np.arange(bins) + 0.5) / bins
    truth = np.exp(-((x - 0.35) ** 2) / 0.03) + 0.6 * np.exp(-((x - 0.75) ** 2) / 0.02)
    truth /= truth.sum()
    mechanism = warner.SquareWave(Interval(0, 1, bins), 1.0)
    channel = mechanism.channel()

    def functionals(thetas: np.ndarray) -> np.ndarray:
        below = np.cumsum(thetas, axis=1)
        median = np.array([np.interp(0.5, row, x + 0.5 / bins) for row in below])
        return np.stack([thetas @ x, median, thetas[:, 12:24].sum(axis=1)])

    expected = functionals(truth[None, :])[:, 0]
    hits, halved = np.zeros(3), np.zeros(3)
    for seed in range(runs):
        rng = np.random.default_rng([seed, 9])
        fit = LogSpline().fit(
            LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
        )
        assert fit.posterior is not None
        low, high = np.quantile(functionals(fit.posterior.draws(200, rng)), [0.025, 0.975], axis=1)
        hits += (low <= expected) & (expected <= high)
        middle, half = (low + high) / 2, (high - low) / 4
        halved += np.abs(expected - middle) <= half
    assert (hits >= 50).all() and hits.sum() < 3 * runs
    assert halved.sum() < 0.85 * 3 * runs
