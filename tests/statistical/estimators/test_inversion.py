"""Inversion has the error that theory says. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from tests.registry import MECHANISMS, SEEING


@pytest.mark.parametrize("name", SEEING)
def test_error_of_the_inversion_is_its_variance(name: str) -> None:
    size, n, runs = 6, 4000, 100
    mechanism = MECHANISMS[name](warner.Integers(0, size - 1), 1.5)
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.ones(size))
    estimates = np.stack(
        [
            warner.estimate(
                mechanism.tally(mechanism.randomize(rng.choice(size, n, p=theta), rng)),
                warner.Inversion(),
            ).probabilities
            for _ in range(runs)
        ]
    )
    variance = mechanism.channel().variance(theta) / n
    # Mean: each value's z-score; spread: each value's chi-square with runs degrees. 6.2 sd is 1e-9
    # over all of them.
    assert (np.abs(estimates.mean(axis=0) - theta) < 6.5 * np.sqrt(variance / runs)).all()
    ratio = ((estimates - theta) ** 2).mean(axis=0) / variance
    low, high = (chi2.ppf(q, runs) / runs for q in (1e-10, 1 - 1e-10))
    assert ((low < ratio) & (ratio < high)).all()
    # Wrong programs: the variance of the other population, and one that forgets the (p - q)^2.
    assert not ((low < 4 * ratio) & (4 * ratio < high)).any()
