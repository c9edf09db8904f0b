"""Operators of merged and chosen values, and parts of variances, against their matrices."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity.estimators._data import _simulated, _unordered
from tests.registry import MECHANISMS, PLACES, SEEING, smallest
from warner import Integers, RandomizedResponse, UnaryEncoding
from warner.channels import (
    Channel,
    DenseChannel,
    DenseCompositeChannel,
    DirectChannel,
    MergedChannel,
    SomeValues,
    StackChannel,
    SupportChannel,
)
from warner.estimators.base import LikelihoodData, log_likelihood
from warner.estimators.literature import averaged
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["direct", "bit sums"])
def test_merging_by_mean_counts_is_the_merged_channel(kind: str, seed: int) -> None:
    """Randomised response and bit sums: the closed form on mean counts is the maximum over the
    dense matrix with merged columns.
    """
    rng = np.random.default_rng(seed)
    size, n = 12, 4000
    channel = DirectChannel(size, 0.05, 0.4) if kind == "direct" else SupportChannel(size, 0.2, 0.3)
    w = channel.simulate_from_values(rng.multinomial(n, rng.dirichlet(np.full(size, 0.2))), rng)
    labels = np.unique(rng.integers(0, 6, size), return_inverse=True)[1]
    merged = MergedChannel(channel, labels)
    counts = averaged(channel, w, merged)
    assert counts is not None
    domain = _unordered(size)
    fast = warner.MaximumLikelihood(1e-12).fit(LikelihoodData(channel, counts, n, domain))
    matrix = np.stack(
        [channel.dense()[:, labels == j].mean(axis=1) for j in range(merged.shape[1])], axis=1
    )
    dense = DenseCompositeChannel(matrix, rows_per_report=channel.rows_per_report)
    slow = warner.MaximumLikelihood(1e-12).fit(
        LikelihoodData(dense, w, n, _unordered(merged.shape[1]))
    )
    assert merged.spread(slow.probabilities) == pytest.approx(fast.probabilities, abs=1e-6)
    assert log_likelihood(channel, w, fast.probabilities) == pytest.approx(
        log_likelihood(dense, w, slow.probabilities), abs=1e-11
    )
    assert fast.log_likelihood == pytest.approx(
        n * log_likelihood(channel, w, fast.probabilities)
    ), "merging changes no constant"


def test_counts_are_not_averaged_where_values_differ() -> None:
    """Merging a sensitive and an open value of utility-optimised RR: rows differ, and the mean of
    the counts is the mutant.
    """
    data = _simulated(warner.UtilityOptimizedRR(_unordered(6), 1.0, sensitive=["v0", "v1"]), 2000)
    for labels, same in (
        ([0, 1, 2, 2, 3, 4], True),
        ([0, 0, 1, 2, 3, 4], True),
        ([0, 1, 1, 2, 3, 4], False),
    ):
        merged = MergedChannel(data.channel, np.array(labels))
        assert (averaged(data.channel, data.weights, merged) is not None) == same


@pytest.mark.parametrize("kind", ["direct", "bit sums", "hashed", "whole reports", "square wave"])
def test_merged_channels_multiply_like_their_matrix(kind: str) -> None:
    rng = np.random.default_rng(0)
    name = {
        "direct": "RandomizedResponse",
        "hashed": "LocalHashing optimized",
        "square wave": "SquareWave",
    }.get(kind, "UnaryEncoding optimized")
    data = _simulated(MECHANISMS[name](Integers(1, 9), 1.0), 300, kept=kind == "whole reports")
    for labels in (
        np.arange(9),
        np.array([0, 1, 0, 2, 2, 2, 3, 1, 4]),
        np.array([0, -1, 0, 1, -1, 2, 2, 3, -1]),
    ):
        merged, w = MergedChannel(data.channel, labels).restrict_to_observed(data.weights)
        matrix = np.zeros((9, merged.shape[1]))
        for x, j in enumerate(labels):
            if j >= 0:
                matrix[x, j] = 1 / np.count_nonzero(labels == j)
        dense = data.channel.restrict_to_observed(data.weights)[0].dense() @ matrix
        assert merged.dense() == pytest.approx(dense, abs=1e-14)
        several, r = rng.random((merged.shape[1], 3)), rng.random((len(w), 3))
        assert merged.matvec(several) == pytest.approx(dense @ several, abs=1e-12)
        assert merged.matvec(several[:, 0]) == pytest.approx(dense @ several[:, 0], abs=1e-12)
        assert merged.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-10)
        assert merged.rmatvec(r[:, 0]) == pytest.approx(dense.T @ r[:, 0], abs=1e-10)
        assert merged.gram(w) == pytest.approx(dense.T @ (w[:, None] * dense), rel=1e-5)


KEPT = np.array([0, 2, 3])


@pytest.mark.parametrize("name", [*MECHANISMS, *PLACES])
def test_products_are_those_of_the_columns(name: str) -> None:
    whole = smallest(name).channel()
    some, columns = SomeValues(whole, KEPT), whole.dense()[:, KEPT]
    rng = np.random.default_rng(0)
    theta, r = rng.random((3, 2)), rng.random((whole.shape[0], 2))
    assert some.matvec(theta) == pytest.approx(columns @ theta, abs=1e-12)
    assert some.matvec(theta[:, 0]) == pytest.approx(columns @ theta[:, 0], abs=1e-12)
    assert some.rmatvec(r) == pytest.approx(columns.T @ r, abs=1e-12)
    assert some.dense() == pytest.approx(columns, abs=1e-12)
    assert some.gram(r[:, 0]) == pytest.approx(columns.T @ (columns * r[:, :1]), abs=1e-12)
    assert some.rows(np.array([1, 0])) == pytest.approx(columns[[1, 0]], abs=1e-12)


@pytest.mark.parametrize("name", SEEING)
def test_the_inverse_and_its_variance_are_those_of_the_shares(name: str) -> None:
    """Rejects an inverse of other columns, and moments at a distribution on all values."""
    whole = smallest(name, 2.0).channel()
    some, theta = SomeValues(whole, KEPT), np.array([0.5, 0.2, 0.3])
    w = some.matvec(theta)
    assert some.invert(w) == pytest.approx(theta, abs=1e-9)
    c = np.eye(3)
    assert some.influence(c).T @ w == pytest.approx(theta, abs=1e-9)
    if some.rows_per_report == 1:
        wanted = (some.influence(c) ** 2).T @ w
        assert some.inverse_moments(theta)[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["RandomizedResponse", "SquareWave", "TruncatedGeometric"])
def test_the_maximum_is_that_of_the_matrix_of_columns(name: str) -> None:
    mechanism, rng = smallest(name, 1.5), np.random.default_rng(4)
    tally = mechanism.tally(mechanism.randomize([0] * 300 + [2] * 50 + [3] * 150, rng))
    data = likelihood_data(tally).restricted(KEPT)
    plain = LikelihoodData(
        DenseChannel(data.channel.dense()), data.weights, data.n, warner.Integers(0, 2)
    )
    method = warner.MaximumLikelihood()
    found, wanted = method.fit(data), method.fit(plain)
    assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)
    assert found.status == wanted.status and found.gap is not None and found.gap < 1e-6


THETA = np.array([0.5, 0.3, 0.2])
CHANNELS: dict[str, list[Channel]] = {
    "values": [DirectChannel(3, 0.1, 0.7), DirectChannel(3, 0.25, 0.25)],
    "values and bits": [
        RandomizedResponse(Integers(0, 2), 1.0).channel(),
        UnaryEncoding(Integers(0, 2), 2.0).channel(),
    ],
}


def _slow(stack: StackChannel, theta: np.ndarray) -> np.ndarray:
    """sum_g n_g / n Var_x E[n times what a report of group g with value x adds]."""
    n, inverse = stack.people.sum(), stack.invert(np.eye(stack.shape[0]))
    total = np.zeros(theta.size)
    for channel, part, share, size in zip(
        stack.channels, stack.split(inverse.T), stack.shares, stack.people, strict=True
    ):
        means = n / size * share * (part.T @ channel.dense())
        total += size / n * (means**2 @ theta - (means @ theta) ** 2)
    return total


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("sizes", [(100, 100), (900, 100), (10, 2000)])
@pytest.mark.parametrize("equal", [False, True])
def test_of_several_mechanisms(name: str, sizes: tuple[int, int], equal: bool) -> None:
    """Rows of bits are more than reports; people are weighed, not rows."""
    stack = StackChannel(CHANNELS[name], sizes, equal)
    variance = stack.variance(THETA)
    found = stack.part_of_values(THETA, variance)
    assert found == pytest.approx(_slow(stack, THETA), rel=1e-9)
    assert (found < variance).all()


def test_a_group_without_an_inverse_leaves_the_whole_variance() -> None:
    blind = DenseChannel(np.array([[0.8, 0.8, 0.2], [0.2, 0.2, 0.8]]))
    stack = StackChannel([DirectChannel(3, 0.1, 0.7), blind], (100, 100))
    variance = stack.variance(THETA)
    found = stack.part_of_values(THETA, variance)
    assert stack.is_inverted_together and (found == variance).all()
    assert (found >= _slow(stack, THETA) - 1e-12).all()


def test_one_mechanism_has_the_variance_of_the_values() -> None:
    channel = DirectChannel(3, 0.1, 0.7)
    found = channel.part_of_values(THETA, channel.variance(THETA))
    assert (found == THETA - THETA**2).all()
