"""Cells of values, and Gram products of directions, against the products of the whole channel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warner
from warner import Integers, Interval
from warner.channels import Channel, LikelihoodOperator, on_cells, stacked

# Name -> epsilon and K -> channel.
CHANNELS: dict[str, Callable[[int, float], Channel]] = {
    "direct": lambda k, e: warner.RandomizedResponse(Integers(0, k - 1), e).channel(),
    "direct, some sensitive": lambda k, e: warner.UtilityOptimizedRR(
        Integers(0, k - 1), e, sensitive=[0, 5, 6]
    ).channel(),
    "bit sums": lambda k, e: warner.UnaryEncoding(Integers(0, k - 1), e).channel(),
    "bit sums, some sensitive": lambda k, e: warner.UtilityOptimizedRappor(
        Integers(0, k - 1), e, sensitive=[0, 5, 6]
    ).channel(),
    "hadamard": lambda k, e: warner.HadamardResponse(Integers(0, k - 1), e).channel(),
    "projective": lambda k, e: warner.ProjectiveGeometryResponse(
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
