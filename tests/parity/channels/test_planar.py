"""Products of a planar channel are those of its matrix."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.channels._matrices import _planar


@pytest.mark.parametrize("height, width", [(5, 4), (2, 7), (2, 2), (21, 20)])
def test_products_of_a_planar_channel_are_those_of_its_matrix(height: int, width: int) -> None:
    """Small grids multiply by the whole matrix, large ones transform; both ways are right for both."""
    channel, dense = _planar(height, width, 0.7)
    rng = np.random.default_rng(height)
    for shape in ((height * width,), (height * width, 3)):
        theta = rng.random(shape)
        for forth in (channel.matvec, channel._transformed):
            assert forth(theta) == pytest.approx(dense @ theta, abs=1e-12)
        for back in (channel.rmatvec, channel._transformed_back):
            assert back(theta) == pytest.approx(dense.T @ theta, abs=1e-12)
