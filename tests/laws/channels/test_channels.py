"""Channels against the exact law they stand for, for everything registered."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import KEYED, MECHANISMS, PLACES, SEEING, smallest
from warner.channels import Channel
from warner.testing.mechanisms import rows_of_reports

NAMES = list(MECHANISMS)


INVERTED = [*SEEING, *PLACES, *(name for name in KEYED if "rounding" not in name)]


def _theta(size: int) -> np.ndarray:
    return np.random.default_rng(size).dirichlet(np.ones(size))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [2, 9, 33])
def test_columns_sum_to_one_and_products_agree(name: str, size: int) -> None:
    channel: Channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    dense, rng = channel.dense(), np.random.default_rng(0)
    assert dense.shape == channel.shape
    assert (dense >= 0).all()
    assert dense.sum(axis=0) == pytest.approx(np.ones(size), abs=1e-12)
    theta, r = rng.random(size), rng.random(channel.shape[0])
    assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-12)
    assert channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), abs=1e-12)


@pytest.mark.parametrize("name", SEEING)
@pytest.mark.parametrize("size", [2, 9, 33])
def test_inverse_is_unbiased(name: str, size: int) -> None:
    channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    theta = _theta(size)
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-10)
    c, w = (
        np.random.default_rng(1).random(size),
        channel.matvec(np.random.default_rng(2).dirichlet(np.ones(size))),
    )
    if channel.shape[0] * size < 10**6:
        assert channel.influence(c) @ w == pytest.approx(c @ channel.invert(w), abs=1e-9)


@pytest.mark.parametrize("name", INVERTED)
def test_variance_is_that_of_the_inverse(name: str) -> None:
    """By enumeration: E[L(y)^2] - theta^2 over all reports y, L(y) the inverse of one report."""
    mechanism = smallest(name)
    channel, theta = mechanism.channel(), _theta(mechanism.domain.size)
    single = np.stack([channel.invert(row) for row in rows_of_reports(mechanism)])
    law = mechanism.probabilities().astype(float) @ theta
    assert law @ single == pytest.approx(theta, abs=1e-12)
    assert channel.variance(theta) == pytest.approx(law @ single**2 - theta**2, rel=1e-9)


@pytest.mark.parametrize("name", SEEING)
def test_null_variance_is_the_variance_at_an_absent_value(name: str) -> None:
    channel = smallest(name).channel()
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    for x in range(4):
        absent = np.where(np.arange(4) == x, 0, theta) / (1 - theta[x])
        assert channel.variance_at_zero(theta)[x] == pytest.approx(
            channel.variance(absent)[x], rel=1e-9
        )
    certain = np.array([0, 1.0, 0, 0])
    assert np.isfinite(channel.variance_at_zero(certain)).all()


def test_textbook_collision_rate_is_not_the_pools() -> None:
    """The mutant that inverts local hashing with 1/g instead of the pool's collision matrix is
    biased.
    """
    mechanism = warner.LocalHashing(warner.Integers(0, 9), 1.0, seeds=16)
    channel, theta = mechanism.channel(), _theta(10)
    w = channel.matvec(theta)
    p, g = float(mechanism.law.high), mechanism.buckets
    textbook = (channel._gather(w) - 1 / g) / (p - 1 / g)
    assert np.abs(textbook - theta).max() > 0.05
    assert channel.invert(w) == pytest.approx(theta, abs=1e-10)


def test_a_pool_that_cannot_tell_labels_apart_is_refused() -> None:
    mechanism = warner.LocalHashing(warner.Integers(0, 9), 1.0, seeds=2)
    with pytest.raises(warner.errors.IdentifiabilityError, match="larger pool"):
        mechanism.channel().invert(np.full(mechanism.n_reports, 1 / mechanism.n_reports))


def test_a_channel_of_low_rank_is_refused_for_inversion_only() -> None:
    blind = warner.MatrixMechanism(warner.Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    tally = blind.tally(blind.randomize([0, 1, 2, 2]))
    with pytest.raises(warner.errors.IdentifiabilityError, match="rank"):
        warner.estimate(tally, warner.Inversion())
    assert warner.estimate(tally, warner.MaximumLikelihood()).probabilities.sum() == pytest.approx(
        1
    )
