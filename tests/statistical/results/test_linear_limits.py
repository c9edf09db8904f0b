"""Intervals of means, ranges, variances and quantiles of numbers hold, near a border too. Seeded, so
that nothing flakes.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import beta, expon, gamma

from warner import (
    Interval,
    LogSpline,
    MaximumLikelihood,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    estimate,
)
from warner.estimators.base import LikelihoodData
from warner.results.estimate import Estimate
from warner.results.linear_limits import UnbiasedShares, _Near
from warner.results.summaries import variance_of_shares

RUNS = 24


def test_intervals_hold_means_and_ranges_near_both_borders() -> None:
    """Of 24 surveys of 300 people at least 20 hold the mean, and 20 the share of the quarter next to
    the border. With 95 % the chance of fewer is 0.6 %, and the seed is fixed.

    Rejects quantiles of the posterior, which suppose a smooth distribution: they hold the mean in
    at most 18 surveys, and the share in fewer.
    """
    domain = Interval(0, 60, bins=12)
    mechanism, n = SubsetSelection(domain, 1.7), 300
    low = np.diff(gamma(2.25, scale=4).cdf(np.append(np.linspace(0, 55, 12), np.inf)))
    rng, points, held = np.random.default_rng(6), domain.points[:, 0], np.zeros((2, 2), dtype=int)
    for run in range(RUNS):
        theta, ends = (low, (0, 15)) if run % 2 else (low[::-1], (45, 60))
        data = LikelihoodData(
            mechanism.channel(), mechanism.channel().simulate(theta, n, rng), n, domain
        )
        result = Estimate(LogSpline().fit(data), data, LogSpline())
        numbers = (result.mean(), result.range(*ends))
        truths = (theta @ points, low[:3].sum())
        for i, (number, truth) in enumerate(zip(numbers, truths, strict=True)):
            for j, kind in enumerate((None, "posterior")):
                least, most = number.interval(kind=kind)
                assert least <= number <= most or kind
                held[i, j] += least <= truth <= most
    assert held[:, 0].min() >= 20, held
    assert held[:, 1].max() <= 18, held


def test_intervals_hold_the_variance_and_outer_quantiles_of_a_smooth_shape() -> None:
    """Of 20 surveys of 2000 people, at least 17 hold the variance, with an estimate that is at most
    a fifth too large on average, and at least 17 each quantile. With 95 % the chance of fewer is
    1.6 %, and the seed is fixed.

    Rejects quantiles of the posterior, which hold the variance in at most 14, and the variance of
    the smooth distribution, which is a quarter too large or more.
    """
    mechanism, rng = SquareWave(Interval(0, 1, bins=32), 1.0), np.random.default_rng(2)
    variance, held, points = 10 / (49 * 8), np.zeros(4, dtype=int), []
    quantiles = dict(zip((0.1, 0.9), beta(2, 5).ppf([0.1, 0.9]), strict=True))
    for _ in range(20):
        reports = mechanism.randomize(rng.beta(2, 5, 2000), rng)
        result = estimate(mechanism.tally(reports), LogSpline())
        number = result.variance()
        points.append((float(number), float(variance_of_shares(result))))
        for i, kind in enumerate((None, "posterior")):
            low, high = number.interval(kind=kind)
            held[i] += low <= variance <= high
        for i, (q, truth) in enumerate(quantiles.items(), start=2):
            low, high = result.quantile(q).interval()
            held[i] += low <= truth <= high
    assert held[[0, 2, 3]].min() >= 17 and held[1] <= 14, held
    moved, smooth = np.mean(points, axis=0) / variance
    assert 0.8 < moved < 1.2 and smooth > 1.25, (moved, smooth)


def test_quantiles_hold_where_many_bins_are_empty_and_their_errors_independent() -> None:
    """Of 30 surveys at least 25 hold the 0.9 quantile. With 95 % the chance of fewer is 0.3 %.

    Rejects the set of all distributions near the estimates, which holds it in at most 5: of empty
    bins it keeps the errors above 0 alone.
    """
    mechanism, n, z = RandomizedResponse(Interval(0, 1, bins=128), 3.0), 2000, 1.96
    edges = np.append(expon(scale=0.08).cdf(np.arange(128) / 128), 1.0)
    truth, held = float(expon(scale=0.08).ppf(0.9)), np.zeros(2, dtype=int)
    rng, channel, method = np.random.default_rng(2), mechanism.channel(), MaximumLikelihood(1e-4)
    about = np.tri(129, 128, -1) - 0.9
    for _ in range(30):
        weights = channel.simulate(np.diff(edges), n, rng)
        data = LikelihoodData(channel, weights, n, mechanism.domain)
        result = Estimate(method.fit(data), data, method)
        limits = result.quantile(0.9)._around(z, "population")
        known = UnbiasedShares.on_cells(result, "population")
        assert limits is not None and known is not None
        first, last = _Near.of(known).reach(about, z)
        held += [limits[0] <= truth <= limits[1], (first - 1) / 128 <= truth <= (last + 1) / 128]
    assert held[0] >= 25 and held[1] <= 5, held
