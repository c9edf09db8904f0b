"""The smallest mechanisms and the smallest tallies of all that is registered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.registry import KEYED, MECHANISMS, PLACES
from warner import Categorical, Grid, Integers
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _mechanism(name: str, size: int, epsilon: float) -> Mechanism:
    """The mechanism of a few values, near the budget where it refuses that one."""
    domain = Integers(0, size - 1)
    if name == "LocalHashing optimized":
        epsilon = min(epsilon, 5.0)  # beyond, the pool has hundreds of thousands of cells
    if name in ("Gaussian", "Laplace"):
        epsilon = max(epsilon, 0.01)  # below, reports reach far out
    if name in KEYED:
        return KEYED[name](Categorical(["a", "b"]), domain, epsilon)
    if name in PLACES:
        return PLACES[name](Grid(2, size), max(epsilon, 0.2))
    return MECHANISMS[name](domain, epsilon)


def _extremes(mechanism: Mechanism) -> Iterator[LikelihoodData]:
    """One report; two reports of one value, which everybody has."""
    for n, value in ((1, mechanism.domain.labels[-1]), (2, mechanism.domain.labels[0])):
        yield likelihood_data(
            mechanism.tally(mechanism.randomize([value] * n, np.random.default_rng(n)))
        )
