"""Ranks hold as often as they say. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np

from warner import Integers, RandomizedResponse
from warner.estimators.base import LikelihoodData
from warner.results.ranks import _factor_of_pairs, _spread_of_pairs
from warner.results.share_noise import independent_factor, simulated_errors


def test_no_pair_is_put_in_the_wrong_order_as_often_as_said() -> None:
    """Ten equal shares, 3000 tallies: no order is claimed in 0.95 of them (sd 0.008, with that of
    the quantile). The quantile of one pair claims an order in most, and that of independent pairs,
    which ignores that two pairs share a value, in a third less than it may.
    """
    shares, n = np.full(10, 0.1), 20_000
    mechanism = RandomizedResponse(Integers(0, 9), 1.0)
    channel = mechanism.channel()
    data = LikelihoodData(channel, channel.matvec(shares), n, mechanism.domain)
    learnt, judged = (
        simulated_errors(data, "population", shares, np.random.default_rng(seed), draws)
        for seed, draws in ((1, 1500), (2, 3000))
    )
    assert learnt is not None and judged is not None
    spread = _spread_of_pairs(learnt)
    inverse = 1 / (spread + np.eye(10))
    largest = np.array([(np.abs(row[:, None] - row) * inverse).max() for row in judged])
    held = (largest <= _factor_of_pairs(learnt, spread, 0.95)).mean()
    assert abs(held - 0.95) < 0.03
    assert (largest <= 1.96).mean() < 0.6
    assert (largest <= independent_factor(0.95, np.ones(45, dtype=bool))).mean() > 0.96
