"""Limits of a mean that cross are replaced by the unbiased ones."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Integers, RandomizedResponse, estimate
from warner.results.intervals import normal_quantile
from warner.results.linear_limits import UnbiasedShares

MECHANISM = RandomizedResponse(Integers(0, 9), 1.0)
POINTS = np.arange(10.0)


@pytest.mark.parametrize("level", [0.3, 0.5])
def test_limits_that_cross_are_replaced(level: float) -> None:
    """The wrong program sorts them, so that a lower limit is taken for an upper one."""
    z, crossed = normal_quantile(level), 0
    for seed in range(12):
        reports = MECHANISM.randomize(np.full(300, 3), np.random.default_rng(seed))
        shares_of = estimate(MECHANISM.tally(reports))
        shares = UnbiasedShares.of(shares_of, "population")
        assert shares is not None
        low, high = shares.limits(POINTS, z)
        assert low <= high
        raw = shares._limits(POINTS, z, True)
        if raw[0] > raw[1]:
            crossed += 1
            assert [low, high] == shares._limits(POINTS, z, False).tolist()
        else:
            assert [low, high] == raw.tolist()
    assert crossed
