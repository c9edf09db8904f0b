"""The largest distance between two values of a planar mechanism."""

from __future__ import annotations

import math

import numpy as np

from warner import Grid
from warner.mechanisms import PlanarGeometric


def test_it_is_the_largest_over_all_pairs_of_values() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows, columns = rng.integers(2, 9, 2).tolist()
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        out = rng.permutation(len(cells))[: int(rng.integers(1, len(cells) - 1))]
        mechanism = PlanarGeometric(
            Grid(rows, columns, without=[cells[i] for i in out]), 1.0, reach=0
        )
        values = mechanism.domain.labels
        furthest = max(math.dist(a, b) for a in values for b in values)
        assert math.isclose(mechanism.guarantee.diameter, furthest, rel_tol=1e-15)


def test_long_grids_need_little_memory() -> None:
    # All pairs of the ends of 5000 rows would be 1.6 GB.
    long = PlanarGeometric(Grid(5000, 2, without=[(0, 0)]), 0.1, reach=0)
    assert long.guarantee.diameter == math.hypot(4999, 1)
