"""Tallies of groups of people."""

from __future__ import annotations

import numpy as np

from warner import Integers, RandomizedResponse, Tally
from warner.mechanisms import Mechanism
from warner.reports.tally_kinds import Counted

MECHANISM = RandomizedResponse(Integers(0, 3), 2.0)
SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def drawn(
    seed: int, sizes: list[int], mechanism: Mechanism = MECHANISM, shares: np.ndarray = SHARES
) -> dict[tuple[str], Tally]:
    """Groups a, b, c, .. of people with the same shares; some may be empty."""
    rng = np.random.default_rng(seed)
    groups = {}
    for i, n in enumerate(sizes):
        values = rng.choice(len(shares), max(n, 1), p=shares).tolist()
        counted = mechanism.tally(mechanism.randomize(values, rng=rng))
        if n == 0:
            nobody = Counted.together(counted.kind, 0 * counted.counts, 0)
            counted = Tally(counted.header, nobody, None, counted.simulated)
        groups[(chr(97 + i),)] = counted
    return groups
