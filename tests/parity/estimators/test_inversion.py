"""Inversion leaves an unbiased estimate inside the simplex alone."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.estimators.base import LikelihoodData


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_an_unbiased_estimate_inside_the_simplex_sums_to_one(epsilon: float) -> None:
    """Entries of 1e6 cancel: without a division by the sum it is off by 1e-10."""
    coin = warner.RandomizedResponse(warner.Integers(0, 1), epsilon)
    channel = coin.channel()
    for constraint in (None, "project", "normalize", "base-cut", "threshold"):
        fit = warner.Inversion(constraint).fit(
            LikelihoodData(channel, np.array([0.5, 0.5]), 2, coin.domain)
        )
        assert abs(fit.shares.sum() - 1) <= 1e-12 and fit.shares == pytest.approx(
            [0.5, 0.5], abs=1e-6
        )
        assert fit.status is warner.Status.EXACT
