"""Channels of Hadamard and projective geometry response, and of observed places, slowly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warner
from warner import Integers, Interval
from warner._core.projective_space import ProjectiveBlocks, ProjectiveSpace
from warner.channels import (
    Channel,
    LikelihoodOperator,
    ProjectiveBlocksChannel,
    ProjectiveChannel,
    hyperplane_sums,
    on_cells,
    planar,
    stacked,
)

# Name -> epsilon and K -> channel.
CHANNELS: dict[str, Callable[[int, float], Channel]] = {
    "direct": lambda k, e: warner.RandomizedResponse(Integers(0, k - 1), e).channel(),
    "direct, some sensitive": lambda k, e: warner.UtilityOptimizedRR(
        Integers(0, k - 1), e, sensitive=[0, 5, 6]
    ).channel(),
    "bit sums": lambda k, e: warner.UnaryEncoding(Integers(0, k - 1), e).channel(),
    "bit sums, some sensitive": lambda k, e: warner.mechanisms.UtilityOptimizedRappor(
        Integers(0, k - 1), e, sensitive=[0, 5, 6]
    ).channel(),
    "hadamard": lambda k, e: warner.HadamardResponse(Integers(0, k - 1), e).channel(),
    "projective": lambda k, e: warner.mechanisms.ProjectiveGeometryResponse(
        Integers(0, k - 1), e, prime=3
    ).channel(),
    "windows": lambda k, e: warner.SquareWave(Interval(0, 1, k), e, cells=128).channel(),
}


def _starts(channel: LikelihoodOperator, most: int) -> np.ndarray:
    """The channel's own cells, or cells of other widths."""
    found = channel.value_cells(most)
    if found is not None:
        return found
    return np.unique(np.append(np.arange(0, channel.shape[1] - 1, 3), [1, channel.shape[1] - 1]))


def _two_stacked(k: int) -> LikelihoodOperator:
    return stacked([CHANNELS["hadamard"](k, 1.0), CHANNELS["bit sums"](k, 2.0)], [30, 70])


@pytest.mark.parametrize("name", [*CHANNELS, "stack"])
@pytest.mark.parametrize("size", [1800, 2047, 3280])
def test_the_likelihood_on_cells_is_that_of_shares_that_are_even_within_cells(
    name: str, size: int
) -> None:
    """Up to a constant. Rows may be added, so differences of log-likelihoods are compared. In the
    blocks of the ends that are not whole, rows that differ may be added: there shares are alike.
    """
    channel = _two_stacked(size) if name == "stack" else CHANNELS[name](size, 1.0)
    rng = np.random.default_rng(size)
    starts = _starts(channel, 1300)
    sizes = np.diff(starts, append=size)
    w = rng.dirichlet(np.ones(channel.shape[0]))
    cells, weights = on_cells(channel, w, starts)
    assert cells.shape == (len(weights), len(starts)) and weights.sum() == pytest.approx(1)
    partial = sizes < sizes.max()
    partial[[0, -1]] = False
    thetas = rng.dirichlet(np.ones(len(starts)), 2)
    for theta in thetas:
        theta[partial] = 0
        theta /= theta.sum()

    def values(
        operator: LikelihoodOperator, frequencies: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        return frequencies @ np.log(np.maximum(operator.matvec(columns.T), 1e-300))

    fine = np.repeat(thetas / sizes, sizes, axis=1)
    assert np.diff(values(cells, weights, thetas)) == pytest.approx(
        np.diff(values(channel, w, fine)), rel=1e-6, abs=1e-12
    )
    r = rng.normal(size=cells.shape[0])
    assert cells.rmatvec(r) @ thetas[0] == pytest.approx(r @ cells.matvec(thetas[0]))
    assert np.stack([cells.matvec(t) for t in thetas], axis=1) == pytest.approx(
        cells.matvec(np.ascontiguousarray(thetas.T))
    )


@pytest.mark.parametrize("name", ["hadamard", "projective"])
def test_cells_of_special_channels_are_few_rows(name: str) -> None:
    """The mutant that keeps all rows, or forgets the groups of the ends, has another shape."""
    channel = CHANNELS[name](2047, 1.0)
    starts = channel.value_cells(1300)
    assert starts is not None
    cells, _ = on_cells(channel, np.full(channel.shape[0], 1 / channel.shape[0]), starts)
    assert cells.shape[0] < 0.6 * channel.shape[0] and 600 < len(starts) < 1100


@pytest.mark.parametrize("name", [*CHANNELS, "stack", "cells"])
def test_the_gram_product_of_directions_is_the_dense_one(name: str) -> None:
    """Exact where the weights of rows do not vary, and everywhere but for two channels; there the
    weights of a tally of smooth shares change it by less than 1 %.
    """
    size, n = 900, 50_000
    channel: LikelihoodOperator
    if name == "stack":
        channel = _two_stacked(size)
    elif name == "cells":
        whole = CHANNELS["hadamard"](2047, 1.0)
        starts = whole.value_cells(1100)
        assert starts is not None
        channel = on_cells(whole, np.full(whole.shape[0], 1 / whole.shape[0]), starts)[0]
    else:
        channel = CHANNELS[name](size, 1.0)
    rng = np.random.default_rng(7)
    x = np.linspace(-1, 1, channel.shape[1])
    theta = np.exp(-((x - 0.3) ** 2) / 0.1)
    theta /= theta.sum()
    # Smooth directions, whose sum is not 0, and the two ends.
    directions = theta[:, None] * np.stack([np.cos(k * x) for k in range(6)], axis=1)
    directions[0, 4] += 0.01
    directions[-1, 5] += 0.01

    def dense(v: np.ndarray) -> np.ndarray:
        through = channel.matvec(directions)
        return (through.T * v) @ through

    even = np.full(channel.shape[0], 0.7)
    assert channel.gram_of(even, directions) == pytest.approx(
        dense(even), rel=1e-9, abs=1e-12 * np.abs(dense(even)).max()
    )
    d = channel.matvec(theta)
    v = rng.poisson(n * d) / np.where(d > 0, d, 1.0) ** 2
    exact = dense(v)
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    special = name in ("hadamard", "projective", "stack", "cells")
    assert (
        np.abs(channel.gram_of(v, directions) - exact).max()
        <= (1e-2 if special else 1e-9) * np.abs(exact).max()
    )
    assert (np.abs(channel.gram_of(v, directions) - exact) <= 0.1 * scale).all()


# Of 2 and 3 also those whose digits take several products.
SPACES = [(2, 2), (2, 3), (2, 6), (2, 9), (3, 2), (3, 4), (3, 6), (5, 3), (5, 4), (7, 3)]
SPACES += [(13, 2), (17, 3), (31, 3)]


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


BLOCKS = [(2, 2, 2, 5), (2, 3, 3, 19), (3, 2, 4, 16), (3, 3, 2, 9), (2, 2, 4, 9), (5, 3, 1, 20)]


def _matrices(blocks: ProjectiveBlocks) -> tuple[np.ndarray, np.ndarray]:
    """Which reports support which values, and which are in the block of which values."""
    points = blocks.space.points
    reports, values = np.arange(blocks.reports)[:, None], np.arange(blocks.size)
    inside = reports // points == values // blocks.each
    meets = blocks.space.are_orthogonal(reports % points, values % blocks.each)
    return inside & meets, inside


@pytest.mark.parametrize(("q", "t", "count", "size"), BLOCKS)
def test_the_channel_of_blocks_is_its_matrix(q: int, t: int, count: int, size: int) -> None:
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
def test_tallies_of_blocks_have_the_mean_and_spread_of_the_matrix(people: int) -> None:
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


CASES = [
    (warner.Grid(5, 8, 1.0), 1.0, None, 300),
    (warner.Grid(9, 7, 0.5), 2.0, 12, 3_000),
    (warner.Grid(8, 10, 1.0), 3.0, 5, 2_000),
    (warner.Grid(4, 6, 1.0), 1.0, 1, 5_000),
    (warner.Grid(6, 6, 1.0, without=[(0, 0), (3, 2)]), 1.0, None, 400),
]


@pytest.mark.parametrize("transform", [0.5, 100])
@pytest.mark.parametrize(("grid", "epsilon", "reach", "n"), CASES)
def test_products_with_the_reported_cells_are_those_with_all(
    grid: warner.Grid,
    epsilon: float,
    reach: int | None,
    n: int,
    transform: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the rectangle of reports ends close to the values, so that its border is reported.

    The time of a transform decides whether the products are a convolution or a matrix.
    """
    monkeypatch.setattr(planar, "_TRANSFORM", transform)
    channel = warner.PlanarGeometric(grid, epsilon, truncated=False, reach=reach).channel()
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(grid.size), 3).T
    w = channel.simulate(theta[:, 0], n, rng)
    rows, same = channel.restrict_to_observed(w)
    assert isinstance(rows, planar.ObservedPlaces) and same is w
    if transform < 1 and reach != 1:
        assert rows._near.size
    else:
        assert rows._far.size
    seen, whole = np.flatnonzero(w), channel.matvec(theta)
    found = rows.matvec(theta)
    assert found[seen] == pytest.approx(whole[seen], rel=1e-7, abs=1e-17)
    assert found.sum(axis=0) == pytest.approx(whole[seen].sum(axis=0))
    r = np.where(w > 0, 1 / np.maximum(w, 1e-9), 0.0)
    both = np.stack([r, w], axis=1)
    assert rows.rmatvec(both) == pytest.approx(channel.rmatvec(both), rel=1e-9)
    assert rows.rmatvec(r) == pytest.approx(channel.rmatvec(r), rel=1e-9)
    index = np.array([0, 3, grid.size - 1])
    assert rows.columns(index)[seen] == pytest.approx(
        channel.columns(index)[seen], rel=1e-7, abs=1e-16
    )
    matrix = rows.columns(np.arange(grid.size))
    assert rows.gram(w) == pytest.approx((matrix * w[:, None]).T @ matrix)
    alone, cells = rows.seen_rows() or (None, seen)
    assert alone is not None and (cells == seen).all() and alone.seen_rows() is None
    assert alone.matvec(theta) == pytest.approx(found[seen])
    assert alone.rmatvec(both[seen]) == pytest.approx(rows.rmatvec(both))
    assert alone.gram(w[seen]) == pytest.approx(rows.gram(w))
