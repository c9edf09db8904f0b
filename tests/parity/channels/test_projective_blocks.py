"""The channel of projective geometry response in blocks, against its matrix."""

from __future__ import annotations

import numpy as np
import pytest

from warner._core.projective_space import ProjectiveBlocks
from warner.channels import ProjectiveBlocksChannel

BLOCKS = [(2, 2, 2, 5), (2, 3, 3, 19), (3, 2, 4, 16), (3, 3, 2, 9), (2, 2, 4, 9), (5, 3, 1, 20)]


def _matrices(blocks: ProjectiveBlocks) -> tuple[np.ndarray, np.ndarray]:
    """Which reports support which values, and which are in the block of which values."""
    points = blocks.space.points
    reports, values = np.arange(blocks.reports)[:, None], np.arange(blocks.size)
    inside = reports // points == values // blocks.each
    meets = blocks.space.are_orthogonal(reports % points, values % blocks.each)
    return inside & meets, inside


@pytest.mark.parametrize(("q", "t", "count", "size"), BLOCKS)
def test_the_channel_is_its_matrix(q: int, t: int, count: int, size: int) -> None:
    blocks, rng = ProjectiveBlocks(q, t, count, size), np.random.default_rng(size)
    n, inside = _matrices(blocks)
    s, m, c = blocks.space.orthogonal, blocks.space.points, blocks.space.common
    low = 1 / (2 * s + blocks.reports)
    channel = ProjectiveBlocksChannel(size, blocks, 3 * low, low)
    dense = low * (1 + 2 * n)
    assert dense.sum(axis=0) == pytest.approx(np.ones(size))
    assert channel.dense() == pytest.approx(dense, abs=1e-15)
    assert channel.rows(np.arange(blocks.reports)) == pytest.approx(dense, abs=1e-15)
    theta, w = rng.dirichlet(np.ones(size)), rng.random((blocks.reports, 2))
    both = np.stack([theta, theta[::-1]], axis=1)
    assert channel.matvec(theta) == pytest.approx(dense @ theta, rel=1e-12)
    assert channel.matvec(both) == pytest.approx(dense @ both, rel=1e-12)
    assert channel.rmatvec(w) == pytest.approx(dense.T @ w, rel=1e-12)
    assert channel.support_shares(w[:, 0]) == pytest.approx(n.T @ w[:, 0], rel=1e-12)
    # The formula of the class, written out as a matrix.
    inverse = (n.T - s * low - c / s * (inside.T - m * low)) / (2 * low * (s - c))
    assert inverse @ dense == pytest.approx(np.eye(size), abs=1e-12)
    assert channel.invert(w) == pytest.approx(inverse @ w, abs=1e-11)
    assert channel.influence(both) == pytest.approx(inverse.T @ both, abs=1e-11)
    total, at_value = channel.inverse_moments(both)
    assert total == pytest.approx(inverse**2 @ dense @ both, rel=1e-11)
    assert at_value == pytest.approx(np.einsum("xy,yx->x", inverse**2, dense), rel=1e-11)
    least, most = channel.inverse_range()
    assert least.min() <= inverse.min() + 1e-12 and most.max() >= inverse.max() - 1e-12


@pytest.mark.parametrize("people", [3, 3000])
def test_simulated_tallies_have_the_mean_and_spread_of_the_matrix(people: int) -> None:
    """A wrong channel, whose values stand in reverse, is more than 20 errors off."""
    blocks = ProjectiveBlocks(2, 2, 2, 5)
    channel = ProjectiveBlocksChannel(5, blocks, 0.6, 0.08)
    rng, held = np.random.default_rng(people), np.array([people, 0, 0, 5 * people, 0])
    draws = np.array([channel.simulate_from_values(held, rng) for _ in range(2000)])
    n, dense = held.sum(), channel.dense()
    mean, spread = dense @ held / n, np.sqrt((dense * (1 - dense)) @ held) / n
    error = spread / np.sqrt(len(draws))
    assert (abs(draws.mean(axis=0) - mean) < 5 * error).all()
    assert (abs(dense @ held[::-1] / n - mean) > 20 * error).any()
    assert draws.std(axis=0) == pytest.approx(spread, rel=0.1)
