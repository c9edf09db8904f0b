"""Draws of few values hold the truth as often as they say. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.statistical.estimators.empirical_bayes._shapes import _facts
from warner import EmpiricalBayes


@pytest.mark.parametrize("size", [2, 5])
def test_draws_of_few_values_cover_the_truth(size: int) -> None:
    """95 % of draws' middle holds a share of the law it was drawn from, 90 to 99 times in a
    hundred; the draws' own spread is the posterior's.
    """
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(120):
        theta = rng.dirichlet(np.ones(size))
        fit = EmpiricalBayes().fit(_facts(theta, 1000, 1.0, rng, warner.RandomizedResponse))
        assert fit.posterior is not None
        low, high = np.quantile(fit.posterior.draws(400, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99
