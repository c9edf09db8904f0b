"""Random data of a mechanism over given shares."""

from __future__ import annotations

from typing import Any

import numpy as np

import warner
from warner import Categorical
from warner.estimators.base import LikelihoodData

LABELS = Categorical([f"v{x}" for x in range(20)])


def _facts(
    shares: Any,
    n: int = 20_000,
    epsilon: float = 1.0,
    seed: int = 0,
    domain: warner.Domain = LABELS,
) -> LikelihoodData:
    """Randomised response of people with these shares."""
    rng = np.random.default_rng(seed)
    channel = warner.RandomizedResponse(domain, epsilon).channel()
    weights = channel.simulate_from_values(
        rng.multinomial(n, np.asarray(shares) / np.sum(shares)), rng
    )
    return LikelihoodData(channel, weights, n, domain)
