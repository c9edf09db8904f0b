"""Marginals of attributes that are randomised in groups, against sums of the joint table."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from warner import Categorical, Product, RandomizedResponse
from warner.channels import DirectChannel, KroneckerChannel, summed

SHAPE = (2, 3, 4, 2)
# The groups (0, 1), (2,) and (3,), and the groups (0,), (1, 2, 3).
CHANNELS = {
    "2 and 1 and 1": [
        DirectChannel(6, 0.1, 0.4),
        DirectChannel(4, 0.05, 0.8),
        DirectChannel(2, 0.2, 0.6),
    ],
    "1 and 3": [DirectChannel(2, 0.3, 0.4), DirectChannel(24, 0.02, 0.52)],
}
CLUSTERS = {"2 and 1 and 1": [[0, 1], [2], [3]], "1 and 3": [[0], [1, 2, 3]]}


@pytest.mark.parametrize("name", CHANNELS)
def test_the_marginal_of_the_reports_inverts_to_the_marginal_of_the_shares(name: str) -> None:
    channel = KroneckerChannel(CHANNELS[name])
    assert channel.clusters(SHAPE) == CLUSTERS[name]
    theta = np.random.default_rng(0).dirichlet(np.ones(48))
    w = channel.matvec(theta)
    owner = {axis: i for i, axes in enumerate(CLUSTERS[name]) for axis in axes}
    seen = 0
    for keep in [k for size in (1, 2, 3, 4) for k in permutations(range(4), size)]:
        owners = [owner[axis] for axis in keep]
        runs = [o for i, o in enumerate(owners) if not i or owners[i - 1] != o]
        found = channel.marginal(w, SHAPE, keep)
        if len(set(runs)) < len(runs):
            assert found is None  # such a table is no product of channels
            continue
        assert found is not None
        operator, weights = found
        expected = summed(theta, SHAPE, keep)
        np.testing.assert_allclose(operator.invert(weights), expected, atol=1e-12)
        np.testing.assert_allclose(operator.matvec(expected), weights, atol=1e-12)
        seen += 1
    assert seen >= 40


def test_shapes_that_do_not_fit_have_no_clusters() -> None:
    channel = KroneckerChannel(CHANNELS["1 and 3"])
    for shape in ((4, 12), (2, 24, 2), (2, 12), (48,)):
        assert channel.clusters(shape) is None
    assert DirectChannel(6, 0.1, 0.4).clusters((2, 3)) is None


def test_reports_of_several_attributes_together_have_the_marginals_of_their_tallies() -> None:
    """``attributes=`` of randomised response on a Product, against the table of its reports."""
    domain = Product(a=Categorical(["x", "y"]), b=Categorical([0, 1, 2]))
    both = RandomizedResponse(domain, 1.0)
    rng = np.random.default_rng(0)
    tally = both.tally(both.randomize([{"a": "x", "b": 1}, {"a": "y", "b": 2}] * 300, rng))
    channel, counts, alone = both.channel_for(tally, ["b"])
    np.testing.assert_array_equal(counts, tally.counts.reshape(2, 3).sum(axis=0))
    assert alone == domain.attributes["b"] and channel.shape == (3, 3)
