"""The smallest mechanisms and the smallest tallies of all that is registered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.registry import KEYED, MECHANISMS, PLACES
from warner import Categorical, Grid, Integers, WarnerError
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _mechanism(name: str, size: int, epsilon: float) -> Mechanism | None:
    """None where the mechanism refuses the budget, with an error of its own."""
    domain = Integers(0, size - 1)
    if name == "LocalHashing optimized":
        epsilon = min(epsilon, 5.0)  # beyond, the pool has hundreds of thousands of cells
    if name in ("Gaussian", "Laplace"):
        epsilon = max(epsilon, 0.01)  # below, reports reach far out
    try:
        if name in KEYED:
            return KEYED[name](Categorical(["a", "b"]), domain, epsilon)
        return (
            PLACES[name](Grid(1, size), epsilon)
            if name in PLACES
            else MECHANISMS[name](domain, epsilon)
        )
    except WarnerError:
        return None


def _extremes(mechanism: Mechanism) -> Iterator[LikelihoodData]:
    """One report; two reports of one value, which everybody has."""
    for n, value in ((1, mechanism.domain.labels[-1]), (2, mechanism.domain.labels[0])):
        yield likelihood_data(
            mechanism.tally(mechanism.randomize([value] * n, np.random.default_rng(n)))
        )
