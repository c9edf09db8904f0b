"""Data of random reports."""

from __future__ import annotations

import numpy as np

from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _reported(mechanism: Mechanism, theta: np.ndarray, n: int, seed: int = 3) -> LikelihoodData:
    rng = np.random.default_rng(seed)
    values = np.array(mechanism.domain.labels)[rng.choice(theta.size, n, p=theta)]
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
