"""Structured channels against the same law written out entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import warner
from tests.parity.channels._matrices import CHANNELS, _tied
from warner.channels import DirectChannel, KroneckerChannel


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
        with pytest.raises(warner.errors.IdentifiabilityError, match="rank"):
            channel.invert(np.ones(dense.shape[0]))
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
        with pytest.raises(warner.errors.ArgumentError, match="bit sums"):
            call()


def test_rows_of_a_channel_are_those_of_its_matrix() -> None:
    for mechanism in (
        warner.LocalHashing(warner.Integers(0, 6), 1.0, seeds=8),
        warner.HadamardResponse(warner.Integers(0, 6), 1.0),
        warner.SquareWave(warner.Integers(0, 6), 1.0, cells=32),
    ):
        channel = mechanism.channel()
        index = np.array([3, 0, 3, 7])
        assert channel.rows(index) == pytest.approx(channel.dense()[index], abs=1e-14)
