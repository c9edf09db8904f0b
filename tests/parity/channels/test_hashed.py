"""Channels of hashed reports against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity._core._hash import _hash_slowly
from warner.channels.hashed import _collisions


def test_collisions_by_counting() -> None:
    table = np.array([[_hash_slowly(s, x, 4) for x in range(9)] for s in range(30)])
    expected = [[np.mean(table[:, a] == table[:, b]) for b in range(9)] for a in range(9)]
    assert _collisions(30, 4, 9) == pytest.approx(np.array(expected), abs=1e-15)


def test_hash_spreads_pairs_of_labels() -> None:
    """Over a pool of 2**16 seeds any two labels collide about 1/g of the time: 5 sd of a fair hash,
    all pairs at once.
    """
    m = _collisions(2**16, 4, 64)[np.triu_indices(64, 1)]
    assert np.abs(m - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 2**16)


def test_hash_channel_in_blocks_is_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = warner.LocalHashing(warner.Integers(0, 19), 1.0, seeds=64).channel()
    theta, r = np.random.default_rng(0).dirichlet(np.ones(20)), np.random.default_rng(1).random(256)
    whole = channel.matvec(theta), channel.rmatvec(r), channel.variance(theta), channel.gram(r)
    monkeypatch.setattr("warner.channels.hashed._BLOCK", 130)
    monkeypatch.setattr("warner.channels.hashed._HASH_CACHE", 0)
    again = warner.LocalHashing(warner.Integers(0, 19), 1.0, seeds=64).channel()
    for a, b in zip(
        whole,
        (again.matvec(theta), again.rmatvec(r), again.variance(theta), again.gram(r)),
        strict=True,
    ):
        assert a == pytest.approx(b, abs=1e-12)
    monkeypatch.setattr("warner.channels.hashed._VARIANCE_WORK", 32 * 4 * 400)
    assert again.variance(theta) == pytest.approx(whole[2], rel=0.4)
