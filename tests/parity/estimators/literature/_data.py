"""Random data of a mechanism, and its values without an order."""

from __future__ import annotations

import numpy as np

from warner import Categorical, Domain
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _facts(mechanism: Mechanism, n: int, seed: int = 0, kept: bool = False) -> LikelihoodData:
    rng = np.random.default_rng(seed)
    labels = mechanism.domain.labels
    shares = rng.dirichlet(np.full(len(labels), 0.3))
    values = [labels[i] for i in rng.choice(len(labels), n, p=shares)]
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng), keep_reports=kept))


def _unordered(size: int) -> Domain:
    return Categorical([f"v{x}" for x in range(size)])
