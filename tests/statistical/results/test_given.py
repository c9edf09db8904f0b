"""Intervals of shares given a key hold the truth as often as they say, also where the share is
nearly 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tests.statistical.mechanisms._chi_square import ALPHA
from warner import Categorical, Integers, Product
from warner.channels import Channel, DirectChannel, KroneckerChannel
from warner.estimators.base import LikelihoodData
from warner.metrics import project
from warner.results.conditional import shares_given
from warner.results.intervals import normal_quantile

PAIR = Product(key=Categorical(["a", "b"]), value=Integers(0, 2))


THETA = np.array([[0.02, 0.38, 0.6], [0.2, 0.3, 0.5]]) / 2


N, Z = 1000, normal_quantile(0.95)


CHANNELS = {
    "together": DirectChannel(6, 0.08, 0.52),
    "apart": KroneckerChannel([DirectChannel(2, 0.1, 0.8), DirectChannel(3, 0.1, 0.7)]),
}


def _bootstrap(channel: Channel, w: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """The wrong program: the projected share of the first value, and its errors in 40 tallies
    simulated from the projected estimate.
    """

    def share(weights: np.ndarray) -> float:
        part = project(channel.invert(weights))[:3]
        return float(part[0] / part.sum())

    centre = project(channel.invert(w))
    found = share(w)
    low, high = np.quantile(
        [share(channel.simulate(centre, N, rng)) - found for _ in range(40)],
        [0.025, 0.975],
        method="weibull",
    )
    return max(found - high, 0.0), min(found - low, 1.0)


@pytest.mark.parametrize("name", CHANNELS)
def test_a_share_of_two_in_a_hundred_is_covered(name: str) -> None:
    """2,000 tallies of 1,000 reports: 90 % in place of 95 % is rejected. So is the bootstrap of the
    projected shares, after 150 of the first channel.
    """
    channel, rng = CHANNELS[name], np.random.default_rng(11)
    runs, hits, nearly = 2000, np.zeros(3), 0.0
    for _ in range(runs):
        data = LikelihoodData(channel, channel.simulate(THETA.ravel(), N, rng), N, PAIR)
        low, high = shares_given(data, 0, (2, 3), Z, respondents=False).T
        truth = THETA[0] / 0.5
        hits += (low <= truth) & (truth <= high)
    assert (hits >= binom.ppf(ALPHA, runs, 0.95)).all()
    assert binom.ppf(ALPHA, runs, 0.95) > binom.ppf(0.99, runs, 0.9)
    # Inside the range the interval is not wider than it says: away from 0 and 1 it covers no more
    # than 95 %.
    assert hits[1] <= binom.ppf(1 - ALPHA, runs, 0.95) or name == "apart"
    for _ in range(150 if name == "together" else 0):
        low, high = _bootstrap(channel, channel.simulate(THETA.ravel(), N, rng), rng)
        nearly += low <= 0.02 <= high
    assert name != "together" or binom.cdf(nearly, 150, 0.95) < ALPHA
