"""Fast linear algebra, counting and hashing against slow twins."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

import warner
from warner._core import hash_family as hashing
from warner.channels import walsh
from warner.channels.hashed import _collisions
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import base_cut, normalize, project, threshold
from warner.reports.counting import sum_bits
from warner.reports.schema import (
    IntegerColumns,
)
from warner.reports.tally_kinds import Histogram


@pytest.mark.parametrize("n", [1, 254, 255, 256, 5000])
@pytest.mark.parametrize("width", [1, 8, 13, 64, 256, 777])
def test_bit_sums(n: int, width: int) -> None:
    bits = np.random.default_rng(n).integers(0, 2, (n, width), dtype=np.uint8)
    assert sum_bits(np.packbits(bits, axis=1), width).tolist() == bits.sum(axis=0).tolist()


def test_bit_sums_of_all_ones_do_not_overflow_their_lanes() -> None:
    packed = np.full((255 * 40 + 7, 4), 255, dtype=np.uint8)
    assert sum_bits(packed, 32).tolist() == [len(packed)] * 32
    assert sum_bits(packed[:, ::2], 16).tolist() == [len(packed)] * 16  # not contiguous


def test_histograms_count_tuples() -> None:
    rng = np.random.default_rng(0)
    seed, bucket = rng.integers(0, 7, 1000), rng.integers(0, 3, 1000)
    kind, table, n, _ = IntegerColumns(("seed", "bucket"), (7, 3)).count(
        {"seed": seed.astype(np.uint8), "bucket": bucket.astype(np.uint8)},
    )
    assert kind == Histogram() and n == 1000
    assert table.tolist() == [
        [sum((seed == s) & (bucket == b)) for b in range(3)] for s in range(7)
    ]


@pytest.mark.parametrize("order", [1, 2, 8, 64])
def test_walsh_transform(order: int) -> None:
    values = np.random.default_rng(order).random(order)
    assert walsh(values) == pytest.approx(hadamard(order) @ values, abs=1e-12)


def _hash_slowly(seed: int, x: int, g: int) -> int:
    def mix(h: int) -> int:
        h ^= h >> 16
        h = h * 0x7FEB352D % 2**32
        h ^= h >> 15
        h = h * 0x846CA68B % 2**32
        return h ^ h >> 16

    key = mix((seed * 0x9E3779B1 + 0x7F4A7C15) % 2**32)
    return (mix(key ^ x * 0x85EBCA77 % 2**32) >> 16) * g >> 16


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**26), st.integers(2, 2**16 - 1))
@settings(max_examples=200, deadline=None)
def test_hash_in_whole_integers(seed: int, x: int, g: int) -> None:
    assert int(hashing.buckets(np.array([seed]), np.array([x]), g)[0]) == _hash_slowly(seed, x, g)


def test_hash_known_answers() -> None:
    """The vectors that any other implementation of the family must reproduce."""
    vectors = json.loads((Path(__file__).parents[1] / "laws" / "hash_vectors.json").read_text())
    assert vectors["family"] == hashing.FAMILY
    assert len(vectors["vectors"]) >= 64
    for seed, index, g, bucket in vectors["vectors"]:
        assert (
            int(hashing.buckets(np.array([seed]), np.array([index]), g)[0])
            == bucket
            == _hash_slowly(seed, index, g)
        )


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


@pytest.mark.parametrize("seed", range(20))
def test_projection_satisfies_its_optimality_conditions(seed: int) -> None:
    """p = argmin |p - v|^2 on the simplex iff v - p is constant on the support and no larger off
    it.
    """
    v = np.random.default_rng(seed).normal(0.1, 0.3, 1 + seed)
    p = project(v)
    assert p.sum() == pytest.approx(1, abs=1e-12) and (p >= 0).all()
    slack = v - p
    on = p > 0
    assert slack[on] == pytest.approx(np.full(on.sum(), slack[on][0]), abs=1e-12)
    assert (slack[~on] <= slack[on][0] + 1e-12).all()


def test_post_processing_at_its_edges() -> None:
    negative = np.array([-0.5, -0.1, -0.4])
    assert project(negative) == pytest.approx(negative + 2 / 3)
    assert normalize(negative).tolist() == [1 / 3] * 3
    assert base_cut(negative).tolist() == [0, 0, 0]
    assert base_cut(np.array([1.4, 0.2])).tolist() == [1, 0]
    whole = np.array([0.4, 0.25, 0.2, 0.1, 0.05]) + 1e-16
    assert (base_cut(whole[::-1]) > 0).all(), "rounding must not cost the last share"
    assert threshold(np.array([0.9, 0.4, 0.0]), np.full(3, 0.01)) == pytest.approx(
        [0.9 / 1.3, 0.4 / 1.3, 0]
    )
    assert threshold(np.array([0.4, 0.4]), np.full(2, 0.01)) == pytest.approx([0.5, 0.5])
    assert threshold(np.array([0.3, 0.0, 0.0]), np.zeros(3)) == pytest.approx([0.3, 0.35, 0.35])
    # Threshold by the slow rule: above z(1 - alpha / K) sd.
    v, sd = np.array([0.30, 0.25, 0.20, -0.1]), np.full(4, 0.1)
    z = 2.2414027276  # the 0.9875 quantile
    assert threshold(v, sd) == pytest.approx([0.30, 0.25, 0.225, 0.225]) and 0.25 > z * 0.1 > 0.20


def test_pure_python_projection() -> None:
    """By bisection on the number that is subtracted."""
    v = np.random.default_rng(3).normal(0, 1, 50)
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    assert project(v) == pytest.approx(np.maximum(v - low, 0), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6, 1e12, 1e18])
def test_projections_sum_to_one_at_every_scale(scale: float) -> None:
    """Rejects the sum without the largest taken off first: it loses the 1 in entries of 1e6, and
    finds nothing to keep in those of 1e18.
    """
    for seed in range(20):
        v = scale * np.random.default_rng(seed).normal(size=5)
        for entries in (v, v - v.mean(), v + 1 - v.sum(), np.repeat(v[:1], 5)):
            found = project(entries)
            assert abs(found.sum() - 1) <= 1e-12 and (found >= 0).all()
            assert found.argmax() == entries.argmax() or found.max() == found[entries.argmax()]


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_an_unbiased_estimate_inside_the_simplex_sums_to_one(epsilon: float) -> None:
    """Entries of 1e6 cancel: without a division by the sum it is off by 1e-10."""
    coin = warner.RandomizedResponse(warner.Integers(0, 1), epsilon)
    channel = coin.channel()
    for constraint in (None, "project", "normalize", "base-cut", "threshold"):
        fit = warner.Inversion(constraint).fit(
            LikelihoodData(channel, np.array([0.5, 0.5]), 2, coin.domain)
        )
        assert abs(fit.shares.sum() - 1) <= 1e-12 and fit.shares == pytest.approx(
            [0.5, 0.5], abs=1e-6
        )
        assert fit.status is warner.Status.EXACT
