"""A survey of the planned size detects the difference as often as planned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from warner import Integers, RandomizedResponse
from warner.theory import people_for_difference

RUNS = 4000


def _rejections(shares: np.ndarray, n: int, rng: np.random.Generator) -> float:
    """How often Wald's test, with estimated variances, rejects that all shares are equal."""
    channel = RandomizedResponse(Integers(0, 1), 1.0).channel()
    m = n // len(shares)
    reports = np.array([channel.matvec(np.array([1 - s, s]))[1] for s in shares])
    w = rng.binomial(m, reports, (RUNS, len(shares))) / m
    flat = np.stack([1 - w.ravel(), w.ravel()])
    estimates = channel.invert(flat)[1].reshape(w.shape)
    variances = np.ptp(channel.invert(np.eye(2))[1]) ** 2 * w * (1 - w)
    weights = m / variances
    mean = (weights * estimates).sum(axis=1) / weights.sum(axis=1)
    statistics = (weights * (estimates - mean[:, None]) ** 2).sum(axis=1)
    return float((statistics > chi2.ppf(0.95, len(shares) - 1)).mean())


@pytest.mark.parametrize("groups", [2, 5])
def test_planned_power_and_size(groups: int) -> None:
    """Rejects the plan that forgets the noise of the reports: its survey is five times too small.
    Standard errors of the shares of runs are below 0.7 %.
    """
    rng = np.random.default_rng(4)
    coin = RandomizedResponse(Integers(0, 1), 1.0)
    n = people_for_difference(coin, 0.05, [0.7, 0.3], groups)
    shares = np.full(groups, 0.3)
    assert 0.04 < _rejections(shares, n, rng) < 0.06
    shares[:2] += [-0.025, 0.025]
    assert 0.775 < _rejections(shares, n, rng) < 0.825
    forgets = people_for_difference(coin.domain, 0.05, [0.7, 0.3], groups)
    assert _rejections(shares, forgets, rng) < 0.4
