"""A small pool of seeds has the error that theory says."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

import warner
from warner.results.from_tally import likelihood_data


def test_a_small_pool_of_seeds_has_the_theoretical_error_at_ten_million() -> None:
    """n = 10^7, 1024 seeds: squared error over its expectation, a chi-square of about K degrees,
    within its 1e-9 limits.

    The mutant that uses 1/g for the pool's collision rate has a bias that does not shrink with n
    and is rejected.
    """
    size, n = 256, 10**7
    mechanism = warner.LocalHashing(warner.Integers(0, size - 1), 1.0, seeds=1024)
    rng = np.random.default_rng(11)
    theta = rng.dirichlet(np.full(size, 0.5))
    values = rng.choice(size, n, p=theta)
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))

    e, g = np.e, mechanism.buckets
    p = e / (e + g - 1)
    share = 1 / g + (p - 1 / g) * theta
    theory = (share * (1 - share) / (p - 1 / g) ** 2 / n).sum()
    low, high = (chi2.ppf(q, size) / size for q in (5e-10, 1 - 5e-10))

    error = ((data.channel.invert(data.weights) - theta) ** 2).sum()
    assert low < error / theory < high
    textbook = (data.channel._gather(data.weights) - 1 / g) / (p - 1 / g)
    assert ((textbook - theta) ** 2).sum() / theory > 5 * high
