"""Simulated and real tallies of local hashing over a prime field have the theoretical error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from warner import Integers, LocalHashing
from warner.channels import HashSupportChannel, hashed
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("whole", [True, False])
def test_a_small_field_has_the_theoretical_error(whole: bool) -> None:
    """n = 10^6 on 11 residues: the squared error over its variance, within 1e-9 limits of a
    chi-square. The mutant that takes 1/g for c has a bias, and is rejected.
    """
    size, n = 10, 10**6
    mechanism = LocalHashing(Integers(0, size - 1), 1.0, prime=11, whole_reports=whole)
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.ones(size))
    values = rng.choice(size, n, p=theta)
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
    z = (data.channel.invert(data.weights) - theta) ** 2 / (data.channel.variance(theta) / n)
    assert chi2.ppf(1e-9, size) < z.sum() < chi2.ppf(1 - 1e-9, size)
    low, gap = float(mechanism.law.low), float(mechanism.law.high - mechanism.law.low)
    g = mechanism.buckets
    textbook = (data.channel.support_shares(data.weights) - low - gap / g) / (gap * (1 - 1 / g))
    assert ((textbook - theta) ** 2 / (data.channel.variance(theta) / n)).sum() > 10 * z.sum() + 500


def test_ten_thousand_values_have_the_theoretical_error() -> None:
    """Ten runs of 10^4 reports on 10^4 values: their mean ratio to theory within 1 %, which is 4.5
    of its standard deviations. A variance that is 3 % off is rejected.
    """
    size, n, runs = 10**4, 10**4, 10
    mechanism = LocalHashing(Integers(0, size - 1), 2.0)
    assert not mechanism.whole_reports
    theta = 1 / np.arange(1.0, size + 1)
    theta /= theta.sum()
    rng, ratios = np.random.default_rng(6), []
    for _ in range(runs):
        values = rng.choice(size, n, p=theta)
        data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
        error = ((data.channel.invert(data.weights) - theta) ** 2).sum()
        ratios.append(error / warner.theory.expected_loss(mechanism, theta, n))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("exact", [True, False])
def test_simulated_counts_have_the_moments_of_reports(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variance of the sum of all counts, which is far below that of independent bits; 200 runs,
    within 5 standard deviations (50 %).
    """
    monkeypatch.setattr(hashed, "_DRAWS", 2**40 if exact else 0)
    size, n, runs = 96, 400, 200
    mechanism = LocalHashing(Integers(0, size - 1), 1.0, whole_reports=False)
    channel = mechanism.channel()
    assert isinstance(channel, HashSupportChannel)
    rng, people = np.random.default_rng(7), np.full(size, n // size)
    n = int(people.sum())
    sums = np.stack(
        [channel.simulate_from_values(people, rng)[:size] * n * size for _ in range(runs)]
    )
    variance = n * channel._variance_of_number()
    assert sums.sum(axis=1).var() == pytest.approx(variance, rel=0.5)
    assert variance < 0.5 * n * channel._variance_if_independent()
    single = people * (channel.q + channel.gap) * (1 - channel.q - channel.gap)
    single += (n - people) * channel.q * (1 - channel.q)
    assert sums.var(axis=0).mean() == pytest.approx(single.mean(), rel=0.06)
