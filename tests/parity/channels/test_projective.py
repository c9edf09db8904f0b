"""Sums over hyperplanes, and the channel of projective geometry response, against their matrices."""

from __future__ import annotations

import numpy as np
import pytest

from warner._core.projective_space import ProjectiveSpace
from warner.channels import ProjectiveChannel, hyperplane_sums

SPACES = [(2, 2), (2, 3), (2, 6), (3, 2), (3, 4), (5, 3), (5, 4), (7, 3), (13, 2), (17, 3)]


def _incidence(space: ProjectiveSpace) -> np.ndarray:
    every = np.arange(space.points)
    return space.are_orthogonal(every[:, None], every).astype(np.float64)


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_hyperplane_sums(q: int, t: int) -> None:
    space, rng = ProjectiveSpace(q, t), np.random.default_rng(q * t)
    for f in (rng.normal(size=space.points), rng.random((space.points, 3))):
        expected = _incidence(space) @ f
        assert hyperplane_sums(f, space) == pytest.approx(expected, abs=1e-12)


def test_hyperplane_sums_of_many_points() -> None:
    """At 20 of 10,303 points, in a space over a prime whose transforms are not of small factors."""
    space, rng = ProjectiveSpace(101, 3), np.random.default_rng(1)
    f, some = rng.random(space.points), rng.integers(0, space.points, 20)
    expected = space.are_orthogonal(some[:, None], np.arange(space.points)) @ f
    assert hyperplane_sums(f, space)[some] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("q", "t", "size"), [(2, 3, 5), (3, 2, 4), (3, 3, 9), (5, 3, 31)])
def test_the_channel_is_its_matrix(q: int, t: int, size: int) -> None:
    space, rng = ProjectiveSpace(q, t), np.random.default_rng(size)
    low = 1 / (space.orthogonal * 2 + space.points)
    channel = ProjectiveChannel(size, space, 3 * low, low)
    n = _incidence(space)[:, :size]
    dense = low * (1 + 2 * n)
    assert dense.sum(axis=0) == pytest.approx(np.ones(size))
    assert channel.dense() == pytest.approx(dense, abs=1e-15)
    assert channel.rows(np.arange(space.points)) == pytest.approx(dense, abs=1e-15)
    theta, w = rng.dirichlet(np.ones(size)), rng.random((space.points, 2))
    assert channel.matvec(theta) == pytest.approx(dense @ theta, rel=1e-12)
    assert channel.rmatvec(w) == pytest.approx(dense.T @ w, rel=1e-12)
    assert channel.support_shares(w) == pytest.approx(n.T @ w, rel=1e-12)
    inverse = (n.T - channel.q[:, None]) / channel.gap[:, None]
    assert inverse @ dense == pytest.approx(np.eye(size), abs=1e-12)
    assert channel.invert(w[:, 0] / w[:, 0].sum()) == pytest.approx(
        inverse @ (w[:, 0] / w[:, 0].sum()), abs=1e-12
    )
    assert channel.influence(theta) == pytest.approx(inverse.T @ theta, abs=1e-12)
    total, own = channel.inverse_moments(theta)
    assert total == pytest.approx(inverse**2 @ dense @ theta, rel=1e-11)
    assert own == pytest.approx(np.einsum("xy,yx->x", inverse**2, dense), rel=1e-11)


@pytest.mark.parametrize("people", [3, 3000])
def test_simulated_tallies_have_the_mean_and_spread_of_the_matrix(people: int) -> None:
    """Drawn report by report, and value by value. A wrong channel with values in reverse is far
    off: its mean differs by more than 20 standard errors.
    """
    space = ProjectiveSpace(3, 2)
    channel = ProjectiveChannel(3, space, 0.5, 0.5 / 3)
    rng, held = np.random.default_rng(people), np.array([people, 0, 5 * people])
    draws = np.array([channel.simulate_from_values(held, rng) for _ in range(2000)])
    n = held.sum()
    dense = channel.dense()
    mean = dense @ held / n
    spread = np.sqrt((dense * (1 - dense)) @ held) / n
    error = spread / np.sqrt(len(draws))
    assert (abs(draws.mean(axis=0) - mean) < 5 * error).all()
    assert (abs(dense @ held[::-1] / n - mean) > 20 * error).any()
    assert draws.std(axis=0) == pytest.approx(spread, rel=0.1)
