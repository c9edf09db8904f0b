"""Structured channels against the same law written out entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.sparse.linalg import aslinearoperator

import warner
from tests.parity._core._hash import _hash_slowly
from tests.parity.channels._matrices import CHANNELS, _planar, _tied
from tests.refusals import refused
from warner import Categorical, Integers, Interval, KeyValue
from warner.channels import (
    BandChannel,
    DenseChannel,
    DirectChannel,
    GeometricChannel,
    KroneckerChannel,
    TiedChannel,
    walsh,
)
from warner.channels.hashed import _collisions
from warner.errors import ArgumentError, IdentifiabilityError


@pytest.mark.parametrize("name", CHANNELS)
def test_products_are_those_of_the_matrix(name: str) -> None:
    channel, dense = CHANNELS[name]()
    rng = np.random.default_rng(0)
    assert channel.shape == dense.shape
    assert dense.sum(axis=0) == pytest.approx(np.ones(dense.shape[1]), abs=1e-9)
    assert channel.dense() == pytest.approx(dense, abs=1e-9)
    for trailing in ((), (3,)):
        theta, r = (
            rng.normal(size=(dense.shape[1], *trailing)),
            rng.normal(size=(dense.shape[0], *trailing)),
        )  # linear: any sign
        assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-9)
        assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-9)
    v = rng.random(dense.shape[0])
    assert channel.gram(v) == pytest.approx(dense.T @ (v[:, None] * dense), abs=1e-9)
    assert channel.columns(np.array([1, 0])) == pytest.approx(dense[:, [1, 0]], abs=1e-9)


@pytest.mark.parametrize("name", CHANNELS)
def test_inverse_and_its_moments_are_those_of_its_weights(name: str) -> None:
    channel, dense = CHANNELS[name]()
    if dense.shape[0] < dense.shape[1]:
        refused(IdentifiabilityError, "rank", channel.invert, np.ones(dense.shape[0]))
        return
    weights = np.stack([channel.invert(row) for row in np.eye(dense.shape[0])], axis=1)
    theta = np.random.default_rng(1).dirichlet(np.ones(dense.shape[1]))
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-8)
    several = np.random.default_rng(2).random((dense.shape[0], 2))
    assert channel.invert(several) == pytest.approx(weights @ several, rel=1e-7, abs=1e-9)
    if channel.rows_per_report > 1:
        # rows are parts of reports there: tests/laws checks those by enumerating whole reports
        return
    total, own = channel.inverse_moments(theta)
    assert total == pytest.approx(weights**2 @ (dense @ theta), rel=1e-7)
    assert own == pytest.approx((weights**2 * dense.T).sum(axis=1), rel=1e-7)


@pytest.mark.parametrize("name", CHANNELS)
def test_channels_are_linear_operators_to_scipy(name: str) -> None:
    channel, dense = CHANNELS[name]()
    operator = aslinearoperator(channel)
    theta, thetas = np.ones(dense.shape[1]), np.ones((dense.shape[1], 2))
    assert operator.dtype == np.float64
    assert operator @ theta == pytest.approx(dense.sum(axis=1), abs=1e-9)
    assert operator @ thetas == pytest.approx(dense @ thetas, abs=1e-9)
    assert operator.H @ np.ones(dense.shape[0]) == pytest.approx(np.ones(dense.shape[1]), abs=1e-9)
    assert operator.H @ np.ones((dense.shape[0], 2)) == pytest.approx(
        np.ones((dense.shape[1], 2)), abs=1e-9
    )


def test_parts_of_reports_have_no_joint_law() -> None:
    """A person's report counts for several rows there: drawing rows one by one would be another
    mechanism.
    """
    channel = KroneckerChannel([_tied(3, True)[0], DirectChannel(2, 0.2, 0.6)])
    theta, rng = np.full(channel.shape[1], 1 / channel.shape[1]), np.random.default_rng(0)
    people = np.ones(theta.size, dtype=int)
    for call in (
        lambda: channel.simulate(theta, 10, rng),
        lambda: channel.simulate_from_values(people, rng),
    ):
        refused(ArgumentError, "bit sums", call)


def test_rows_of_a_channel_are_those_of_its_matrix() -> None:
    for mechanism in (
        warner.LocalHashing(warner.Integers(0, 6), 1.0, seeds=8),
        warner.HadamardResponse(warner.Integers(0, 6), 1.0),
        warner.SquareWave(warner.Integers(0, 6), 1.0, cells=32),
    ):
        channel = mechanism.channel()
        index = np.array([3, 0, 3, 7])
        assert channel.rows(index) == pytest.approx(channel.dense()[index], abs=1e-14)


def test_the_inverse_of_a_tall_matrix_is_the_one_of_least_variance() -> None:
    """At the uniform distribution, over all left inverses; plain least squares, which ignores how
    rare a report is, has more.
    """
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.r_[np.full(5, 5.0), np.full(5, 0.3)], 3).T
    channel = DenseChannel(matrix)
    uniform = np.full(3, 1 / 3)
    plain = np.linalg.pinv(matrix)
    best, simple = channel.variance(uniform), plain**2 @ (matrix @ uniform) - uniform**2
    assert (best <= simple + 1e-12).all() and best.sum() < 0.9 * simple.sum()
    for seed in range(20):  # any other left inverse is this one plus something in the null space
        other = np.random.default_rng(seed).normal(size=(3, 10))
        moved = channel.invert(np.eye(10)) + 0.1 * other @ (np.eye(10) - matrix @ plain)
        assert (moved**2 @ (matrix @ uniform) - uniform**2 >= best - 1e-12).all()


def test_reports_beyond_the_values_count_for_the_nearest() -> None:
    channel = GeometricChannel(3, 0.5, 1, 2)
    assert channel.naive_estimate(np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])) == pytest.approx(
        [0.3, 0.3, 0.4]
    )
    refused(ArgumentError, "ratio", GeometricChannel, 1, 0.5)


@pytest.mark.parametrize("integers", [False, True])
def test_windows_multiply_many_vectors_as_one_by_one(integers: bool) -> None:
    domain: warner.domains.Domain = Integers(0, 29) if integers else Interval(0, 1, 30)
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


@pytest.mark.parametrize("order", [1, 2, 8, 64])
def test_walsh_transform(order: int) -> None:
    values = np.random.default_rng(order).random(order)
    assert walsh(values) == pytest.approx(hadamard(order) @ values, abs=1e-12)


def test_walsh_transforms_of_counts_are_exact() -> None:
    """Sums of integers below 2^53 are not rounded, whatever their order."""
    counts = np.random.default_rng(3).integers(0, 2**40, (2048, 3))
    expected = hadamard(2048, dtype=np.int64) @ counts
    assert (walsh(counts) == expected).all()
    assert (walsh(counts[:, 0]) == expected[:, 0]).all()


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


def test_products_of_several_vectors_are_those_of_one() -> None:
    channel = KeyValue(
        Categorical(["a", "b"]), Interval(-1, 1, 4), 1.5, value="piecewise", cells=5
    ).channel()
    assert isinstance(channel, TiedChannel)
    thetas = np.random.default_rng(1).dirichlet(np.ones(8), 3).T
    w = channel.matvec(thetas)
    assert channel.invert(w) == pytest.approx(thetas, abs=1e-10)
    assert channel.influence(thetas).T @ w[:, 0] == pytest.approx(
        thetas.T @ channel.invert(w[:, 0]), abs=1e-10
    )
    assert channel.inverse_moments(thetas)[0][:, 1] == pytest.approx(
        channel.inverse_moments(thetas[:, 1])[0]
    )
