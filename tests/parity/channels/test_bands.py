"""Band channels multiply many vectors as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers, Interval
from warner.channels import BandChannel


@pytest.mark.parametrize("integers", [False, True])
def test_windows_multiply_many_vectors_as_one_by_one(integers: bool) -> None:
    domain: warner.Domain = Integers(0, 29) if integers else Interval(0, 1, 30)
    channel = warner.SquareWave(domain, 1.0, cells=100).channel()
    assert isinstance(channel, BandChannel)
    rng = np.random.default_rng(0)
    thetas, rs = rng.normal(size=(30, 7)), rng.normal(size=(100, 7))
    assert channel.matvec(thetas) == pytest.approx(
        np.stack([channel.matvec(v) for v in thetas.T], axis=1), abs=1e-13
    )
    assert channel.rmatvec(rs) == pytest.approx(
        np.stack([channel.rmatvec(v) for v in rs.T], axis=1), abs=1e-12
    )
