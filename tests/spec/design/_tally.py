"""A random tally of a domain."""

from __future__ import annotations

import numpy as np

import warner
from warner import RandomizedResponse


def _tally(domain: warner.domains.Domain, n: int = 3000, epsilon: float = 1.0) -> warner.Tally:
    mechanism, rng = RandomizedResponse(domain, epsilon), np.random.default_rng(0)
    index = rng.choice(domain.size, n, p=rng.dirichlet(np.full(domain.size, 0.3)))
    return mechanism.tally(mechanism.randomize(domain.decode(index), rng))
