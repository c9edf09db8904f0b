"""Distributions in order, smooth and heaped, and random data of them."""

from __future__ import annotations

import numpy as np

import warner
from warner import Categorical
from warner.estimators.base import LikelihoodData


def _facts(
    theta: np.ndarray,
    n: int,
    epsilon: float,
    rng: np.random.Generator,
    mechanism: type = warner.UnaryEncoding,
) -> LikelihoodData:
    domain = Categorical([str(i) for i in range(theta.size)])
    channel = mechanism(domain, epsilon).channel()
    return LikelihoodData(channel, channel.simulate(theta, n, rng), n, domain)


def _smooth(size: int) -> np.ndarray:
    law = np.exp(2 * np.sin(np.arange(size) * 2 * np.pi / size))
    return np.asarray(law / law.sum())


def _heaped(size: int) -> np.ndarray:
    law = np.where(np.arange(size) % 5 == 0, 3.0, 1.0) * np.exp(-np.arange(size) / size)
    return np.asarray(law / law.sum())
