"""Tallies that channels simulate vary as real tallies do. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from tests.registry import MECHANISMS, SEEING
from warner.channels.support import _noise_of_others, _sample_others


@pytest.mark.parametrize("name", SEEING)
def test_simulated_tallies_have_the_law_of_real_ones(name: str) -> None:
    """Mean and variance of the inversion over simulated tallies, against the exact variance; 1e-9
    limits.
    """
    size, n, runs = 6, 5000, 400
    mechanism = MECHANISMS[name](warner.Integers(0, size - 1), 1.5)
    channel, rng = mechanism.channel(), np.random.default_rng(1)
    theta = rng.dirichlet(np.ones(size))
    drawn = np.stack([channel.invert(channel.simulate(theta, n, rng)) for _ in range(runs)])
    variance = channel.variance(theta) / n
    assert (np.abs(drawn.mean(axis=0) - theta) < 6.5 * np.sqrt(variance / runs)).all()
    ratio = ((drawn - theta) ** 2).mean(axis=0) / variance
    low, high = (chi2.ppf(q, runs) / runs for q in (1e-10, 1 - 1e-10))
    assert ((low < ratio) & (ratio < high)).all()


def test_simulated_bit_sums_vary_together_as_real_ones_do() -> None:
    """The sum of all estimates varies only with the bits' noise: ((K-1) q (1-q) + p (1-p)) /
    (p-q)^2 / n, whatever theta is.

    The mutant that draws every bit sum on its own, binomially with the right rate, has many times
    that.
    """
    size, n, runs = 6, 5000, 400
    mechanism = warner.UnaryEncoding(warner.Integers(0, size - 1), 5.0)
    channel, rng = mechanism.channel(), np.random.default_rng(3)
    theta = rng.dirichlet(np.ones(size))
    q, gap = channel.q[0], channel.gap[0]
    exact = ((size - 1) * q * (1 - q) + (q + gap) * (1 - q - gap)) / gap**2 / n
    low, high = (chi2.ppf(p, runs) / runs for p in (1e-10, 1 - 1e-10))
    spread = np.mean(
        [(channel.invert(channel.simulate(theta, n, rng)).sum() - 1) ** 2 for _ in range(runs)]
    )
    assert low < spread / exact < high
    mu = q + gap * theta
    apart = np.mean([((rng.binomial(n, mu) / n - q).sum() / gap - 1) ** 2 for _ in range(runs)])
    assert apart / exact > high


@pytest.mark.parametrize("count, n", [(1, 100), (3, 300_000)])
def test_subsets_of_others_have_the_covariance_of_sampling_without_replacement(
    count: int, n: int
) -> None:
    """One by one and by the normal limit: mean, variance and covariance of two values' counts; 1e-9
    limits, and a mutant without it.
    """
    people, rng, runs = np.array([0, n, 0, 0, 0]), np.random.default_rng(0), 3000
    drawn = np.stack([_sample_others(people, count, rng) for _ in range(runs)])
    rate = count / 4
    assert (drawn[:, 1] == 0).all()
    rest = drawn[:, [0, 2, 3, 4]]
    assert np.abs(rest.mean(axis=0) - n * rate).max() < 6.5 * np.sqrt(n * rate * (1 - rate) / runs)
    together = np.cov(rest.T) / (n * rate * (1 - rate))
    assert np.diag(together) == pytest.approx(np.ones(4), abs=0.17)
    assert together[0, 1:] == pytest.approx(np.full(3, -1 / 3), abs=0.12)


@pytest.mark.parametrize(
    "people",
    [[7, 0, 0, 0, 0], [5, 4, 3, 0, 1], [80, 6, 9, 1, 0], [3, 3, 3, 3, 3], [2, 2, 0, 0, 0]],
    ids=["one value", "several", "most of one value", "even", "two values"],
)
def test_noise_of_subsets_has_the_covariance_of_all_people(people: list[int]) -> None:
    """Against the sum over people. Rejected: independent noise of the same variances."""
    rng, runs = np.random.default_rng(1), 3000
    drawn = np.stack([_noise_of_others(np.array(people), rng) for _ in range(runs)])
    exact = np.zeros((5, 5))
    for x, count in enumerate(people):
        others = np.arange(5) != x
        exact += count * np.where(np.eye(5), 1.0, -1 / 3) * np.outer(others, others)
    scale = np.abs(exact).max()
    assert np.cov(drawn.T) / scale == pytest.approx(exact / scale, abs=0.13)
    assert np.diag(np.diag(exact)) / scale != pytest.approx(exact / scale, abs=0.2)


def test_subsets_of_very_many_values_take_little_memory() -> None:
    """Rejected: one row of random numbers for each value, which takes 30 GB here."""
    size, n = 60_000, 100_000
    people = np.bincount(np.random.default_rng(2).integers(0, size // 2, n), minlength=size)
    channel = warner.SubsetSelection(warner.Categorical(range(size)), 2.0).channel()
    shares = channel.support_shares(channel.simulate_from_values(people, np.random.default_rng(3)))
    assert float(shares.sum()) == pytest.approx(channel.ones, rel=1e-3)
