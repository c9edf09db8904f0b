"""Small products of channels are multiplied as large ones are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import COMBINED
from warner.channels import KroneckerChannel


def test_small_products_are_multiplied_as_large_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = COMBINED["RR twice x OUE"](1.0).channel()
    assert isinstance(channel, KroneckerChannel) and channel._small is not None
    rng = np.random.default_rng(0)
    theta, r = rng.random((channel.shape[1], 3)), rng.random((channel.shape[0], 3))
    monkeypatch.setattr("warner.channels.tuples._SMALL", 0)
    large = KroneckerChannel(channel.channels)
    assert large._small is None
    for several in (slice(None), 0):
        assert channel.matvec(theta[:, several]) == pytest.approx(
            large.matvec(theta[:, several]), abs=1e-14
        )
        assert channel.rmatvec(r[:, several]) == pytest.approx(
            large.rmatvec(r[:, several]), abs=1e-14
        )
