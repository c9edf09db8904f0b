"""Errors of estimates over many random tallies."""

from __future__ import annotations

import numpy as np

import warner
from warner import Integers
from warner.estimators.base import LikelihoodData


def _errors(
    estimator: warner.estimators.Estimator,
    theta: np.ndarray,
    n: int,
    epsilon: float,
    runs: int = 12,
) -> np.ndarray:
    """Sums of squared errors (runs,) for bit sums."""
    channel = warner.UnaryEncoding(Integers(1, theta.size), epsilon, variant="oue").channel()
    rng = np.random.default_rng(17)
    weights = [channel.simulate(theta, n, rng) for _ in range(runs)]
    data = [LikelihoodData(channel, w, n, Integers(1, theta.size)) for w in weights]
    return np.array([((estimator.fit(f).probabilities - theta) ** 2).sum() for f in data])
