"""Intervals among those who answered hold the truth as often as they say, and are not too wide.

The mean of numbers far from 0 shows whether an interval knows that the share of nonresponse is estimated
from the same reports. A program that divides the interval of the sum by the estimated share would be
several times too wide here. One that takes the people who answered as a sample without noise of the
mechanism would be too narrow.
"""

from __future__ import annotations

import numpy as np

from warner import Integers, Inversion, SubsetSelection, estimate
from warner._core.sampling import Source
from warner.domains import Optional
from warner.results.intervals import normal_quantile

DOMAIN = Optional(Integers(40, 45))
SHARES = np.array([0.3, 0.25, 0.2, 0.15, 0.1, 0.0])
ANSWER, N, RUNS = 0.6, 3000, 150


def test_means_and_shares_of_those_who_answered() -> None:
    mechanism = SubsetSelection(DOMAIN, 1.0)
    rng = np.random.default_rng(7)
    theta = np.append(SHARES * ANSWER, 1 - ANSWER)
    truth = float(SHARES @ np.arange(40, 46))
    means, bounds, shares, rows = [], [], [], []
    for _ in range(RUNS):
        index = rng.choice(7, N, p=theta)
        tally = mechanism.count(mechanism.randomize_index(index, Source(rng)))
        given = estimate(tally, Inversion()).answered()
        means.append(float(given.mean()))
        bounds.append(given.mean().interval())
        shares.append(given.interval())
        rows.append([given.row()[end] for end in ("low", "high")])
    low, high = np.transpose(bounds)
    # Of 150 runs at 95 %, fewer than 0.89 hold with probability below 0.002.
    assert np.mean((low <= truth) & (truth <= high)) >= 0.89
    low_row, high_row = np.transpose(rows)
    assert np.mean((low_row <= ANSWER) & (high_row >= ANSWER)) >= 0.89
    held = (np.array(shares)[..., 0] <= SHARES) & (np.array(shares)[..., 1] >= SHARES)
    assert (held.mean(axis=0) >= 0.89).all()
    # The standard error of the ratio of a width to an estimated deviation is 6 %.
    width = np.mean(high - low) / (2 * normal_quantile(0.95))
    assert 0.8 < width / np.std(means) < 1.25
