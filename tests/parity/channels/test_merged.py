"""Channels of merged values against their matrices."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity.estimators._data import _simulated, _unordered
from tests.registry import MECHANISMS
from warner import Integers
from warner.channels import DenseCompositeChannel, DirectChannel, MergedChannel, SupportChannel
from warner.estimators.base import LikelihoodData, log_likelihood
from warner.estimators.literature import averaged


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
