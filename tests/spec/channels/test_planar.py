"""Small grids are multiplied as matrices."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Grid
from warner.channels import DenseChannel, PlanarChannel
from warner.mechanisms import PlanarLaplace


def test_small_grids_are_multiplied_as_matrices() -> None:
    for side, wanted in ((2, DenseChannel), (16, DenseChannel), (17, PlanarChannel)):
        channel = PlanarLaplace(Grid(side, side), 0.7).channel()
        w = np.random.default_rng(side).dirichlet(np.ones(side**2))
        rows, weights = channel.restrict_to_observed(w)
        assert type(rows) is wanted and weights is w
        assert rows.rmatvec(w) == pytest.approx(channel.rmatvec(w), abs=1e-12) and rows.matvec(
            w
        ) == pytest.approx(channel.matvec(w), abs=1e-12)
