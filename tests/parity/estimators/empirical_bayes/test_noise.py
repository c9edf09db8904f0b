"""The noise of estimates against channels' variances and binomial laws."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import MECHANISMS, SEEING
from warner import Integers
from warner.channels import StackChannel, SupportChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes.noise import EstimateNoise


@pytest.mark.parametrize("likelihood", ["binomial", "normal"])
@pytest.mark.parametrize(
    "name", [n for n in SEEING if n not in ("SquareWave", "Piecewise", "MatrixMechanism")]
)
def test_the_noise_has_the_channels_variance(name: str, likelihood: str) -> None:
    """Exactly for counts; in the normal form the rest of the distribution is taken as estimated.
    The least is one report in n^2.
    """
    mechanism = MECHANISMS[name](Integers(1, 7), 1.0)
    channel, n = mechanism.channel(), 1000
    theta = np.random.default_rng(0).dirichlet(np.ones(7))
    noise = EstimateNoise.of(
        LikelihoodData(channel, channel.matvec(theta), n, mechanism.domain), likelihood
    )
    assert noise.y == pytest.approx(theta, abs=1e-9)
    exact = np.maximum(channel.variance(theta) / n, 1e-6)
    if "Hashing" in name and likelihood == "binomial":
        # One number says what a small pool of seeds costs, on the mean over values.
        assert noise.variance(theta).sum() == pytest.approx(exact.sum(), rel=0.05)
    else:
        assert noise.variance(theta) == pytest.approx(
            exact, rel=0.1 if likelihood == "normal" else 1e-6
        )


def test_likelihoods_of_several_budgets_are_products_of_binomial_laws() -> None:
    """Bits at two budgets, against the binomial law of each group's counts, moved as the estimates
    were.
    """
    domain, people = Integers(1, 5), (400, 700)
    parts = [SupportChannel(5, 0.25, 0.3), SupportChannel(5, 0.1, 0.5)]
    channel, rng = StackChannel(parts, people), np.random.default_rng(4)
    w = channel.simulate(rng.dirichlet(np.ones(5)), sum(people), rng)
    noise = EstimateNoise.of(LikelihoodData(channel, w, sum(people), domain), "binomial")
    atoms, moved = np.linspace(0, 0.8, 9), noise.y - channel.invert(w)
    logs = np.zeros((5, 9))
    for part, own, share, n in zip(parts, channel.split(w), channel.shares, people, strict=True):
        # The binomial law goes on between whole numbers up to a factor without the share in it.
        counts = n * (part.q + part.gap * (part.invert(own / share) + moved))
        mu = part.q[:, None] + part.gap[:, None] * atoms
        logs += np.stack(
            [c * np.log(m) + (n - c) * np.log1p(-m) for c, m in zip(counts, mu, strict=True)]
        )
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert noise.likelihood(atoms) == pytest.approx(expected, rel=1e-9)
    assert noise.subset(np.array([3, 1])).likelihood(atoms) == pytest.approx(
        expected[[3, 1]], rel=1e-9
    )
