"""The square of an association against a slow twin that lists every report."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.channels._matrices import _geometric, _utility
from warner.channels import DenseChannel, KroneckerChannel
from warner.results.association import Pair


def test_the_square_of_an_association_is_the_same_axis_by_axis_and_listed() -> None:
    factors = [_utility(3, 1, 1.0)[0], _geometric(4, 0.5, 0, 0)[0]]
    fast = KroneckerChannel(factors)
    w = fast.simulate(
        np.random.default_rng(0).dirichlet(np.ones(12)), 500, np.random.default_rng(1)
    )
    slow = DenseChannel(fast.dense())
    pair = Pair(fast, w, 500, (3, 4))
    sides = [np.random.default_rng(k).dirichlet(np.ones(k), 2).T for k in (3, 4)]
    maps = [np.eye(len(side)) - side[:, :1] for side in sides]
    inverse = slow.invert(np.eye(12))
    numbers = np.kron(maps[0], maps[1]) @ inverse  # (r c, m): g_ij of each report
    both = np.stack([w, w[::-1]], axis=1)
    for each in (pair, Pair(slow, w, 500, (3, 4))):
        assert each._second_moments(both, sides)[..., 0] == pytest.approx(
            (numbers**2 @ w).reshape(3, 4)
        )
    assert pair.square(w) == pytest.approx(Pair(slow, w, 500, (3, 4)).square(w), rel=1e-6)
