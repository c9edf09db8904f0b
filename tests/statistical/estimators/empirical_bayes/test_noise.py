"""The noise of a pool of seeds is as stated. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Categorical, EmpiricalBayes
from warner.estimators import empirical_bayes
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import noise
from warner.estimators.empirical_bayes.noise import EstimateNoise


def test_a_pool_of_seeds_is_not_taken_for_independent_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 values, 256 seeds, few reports: the inverse of the collisions, its noise taken for the
    counts' own, errs a tenth more at least.
    """
    domain = Categorical([str(i) for i in range(300)])
    channel = warner.LocalHashing(domain, 1.0, seeds=256).channel()
    rng = np.random.default_rng(7)
    theta = np.arange(1.0, 301) ** -1.0
    theta /= theta.sum()
    data = [
        LikelihoodData(channel, channel.simulate(theta, 1000, rng), 1000, domain) for _ in range(10)
    ]

    def error() -> float:
        return float(
            np.mean(
                [((EmpiricalBayes(order=False).fit(f).shares - theta) ** 2).sum() for f in data]
            )
        )

    right = error()
    monkeypatch.setattr(noise, "_pool_estimates", lambda channel, data, y, q, gap: (y, 1.0))
    monkeypatch.setattr(empirical_bayes, "_without_collisions", lambda *_: None)
    assert error() > 1.1 * right


def test_the_noise_of_what_is_left_of_collisions_is_as_stated() -> None:
    """Estimates with other values' shares left in: their squared errors are the stated variance,
    within a tenth.
    """
    domain = Categorical([str(i) for i in range(200)])
    channel = warner.LocalHashing(domain, 1.0, seeds=512).channel()
    rng = np.random.default_rng(8)
    theta = rng.dirichlet(np.full(200, 0.3))
    ratios = []
    for _ in range(30):
        noise = EstimateNoise.of(
            LikelihoodData(channel, channel.simulate(theta, 3000, rng), 3000, domain), "binomial"
        )
        ratios.append(((noise.y - theta) ** 2).sum() / noise.variance(theta).sum())
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
