"""The supported part of a dependence, against the noise of the inversion (METHODS 10.3)."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from warner import Categorical, Product
from warner.channels import DirectChannel, KroneckerChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.raking import supported_part


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (2, 3, 4)])
def test_at_the_uniform_distribution_it_is_that_of_the_inverted_interaction(
    sizes: tuple[int, ...],
) -> None:
    """E|noise of T_S|^2 = (1/n) prod (1 - 1/d_a) / g_a^2, without the share's own square."""
    gains = [0.3, 0.5, 0.4][: len(sizes)]
    channel = KroneckerChannel(
        [DirectChannel(d, (1 - g) / d, g) for d, g in zip(sizes, gains, strict=True)]
    )
    n, rng = 5000, np.random.default_rng(0)
    domain = Product(**{f"a{i}": Categorical(list(range(d))) for i, d in enumerate(sizes)})
    for amount in (0.0, 0.05, 0.5):
        theta = rng.dirichlet(np.full(prod(sizes), 1.0))
        w = channel.simulate(amount * theta + (1 - amount) / theta.size, n, rng)
        inner = channel.invert(w).reshape(sizes)
        for axis in range(len(sizes)):
            inner = inner - inner.mean(axis=axis, keepdims=True)
        noise = prod((1 - 1 / d) / g**2 for d, g in zip(sizes, gains, strict=True)) / n
        freedom = prod(d - 1 for d in sizes)
        slow = max(0.0, 1 - freedom / (freedom + 1) * noise / float((inner**2).sum()))
        uniform = [np.full(d, 1 / d) for d in sizes]
        fast = supported_part(LikelihoodData(channel, w, n, domain), uniform)
        assert fast == pytest.approx(slow, abs=1e-9)
