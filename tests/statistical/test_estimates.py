"""Estimates have the error that theory says, and intervals the coverage they claim. Seeded, so that nothing flakes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from tests.registry import MECHANISMS
from warner.evidence import Evidence, evidence
from warner.intervals import wald


def test_a_small_pool_of_seeds_has_the_theoretical_error_at_ten_million() -> None:
    """n = 10^7, 1024 seeds: squared error over its expectation, a chi-square of about K degrees, within its 1e-9 limits.

    The mutant that uses 1/g for the pool's collision rate has a bias that does not shrink with n and is rejected.
    """
    size, n = 256, 10**7
    mechanism = warner.LocalHashing(warner.Integers(0, size - 1), 1.0, seeds=1024)
    rng = np.random.default_rng(11)
    theta = rng.dirichlet(np.full(size, 0.5))
    values = rng.choice(size, n, p=theta)
    facts = evidence(mechanism.tally(mechanism.randomize(values, rng)))

    e, g = np.e, mechanism.buckets
    p = e / (e + g - 1)
    share = 1 / g + (p - 1 / g) * theta
    theory = (share * (1 - share) / (p - 1 / g) ** 2 / n).sum()
    low, high = (chi2.ppf(q, size) / size for q in (5e-10, 1 - 5e-10))

    error = ((facts.channel.invert(facts.weights) - theta) ** 2).sum()
    assert low < error / theory < high
    textbook = (facts.channel._gather(facts.weights) - 1 / g) / (p - 1 / g)
    assert ((textbook - theta) ** 2).sum() / theory > 5 * high


@pytest.mark.parametrize("name", MECHANISMS)
def test_error_of_the_inversion_is_its_variance(name: str) -> None:
    size, n, runs = 6, 4000, 150
    mechanism = MECHANISMS[name](warner.Integers(0, size - 1), 1.5)
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.ones(size))
    estimates = np.stack(
        [
            warner.estimate(mechanism.tally(mechanism.randomize(rng.choice(size, n, p=theta), rng)), warner.Inversion()).probabilities
            for _ in range(runs)
        ]
    )
    variance = mechanism.channel().variance(theta) / n
    # Mean: each value's z-score; spread: each value's chi-square with runs degrees. 6.2 sd is 1e-9 over all of them.
    assert (np.abs(estimates.mean(axis=0) - theta) < 6.5 * np.sqrt(variance / runs)).all()
    ratio = ((estimates - theta) ** 2).mean(axis=0) / variance
    low, high = (chi2.ppf(q, runs) / runs for q in (1e-10, 1 - 1e-10))
    assert ((low < ratio) & (ratio < high)).all()
    # Wrong programs: the variance of the other population, and one that forgets the (p - q)^2.
    assert not ((low < 4 * ratio) & (4 * ratio < high)).any()


SIZE, PEOPLE, RUNS = 4, 2000, 1500
# Coverage over RUNS independent runs, averaged over SIZE values: its sd is at most sqrt(.95 * .05 / RUNS) = 0.0056.
MARGIN = 6 * 0.0056


def _coverage(name: str, target: str, interval: Callable[[Evidence], np.ndarray], epsilon: float) -> float:
    mechanism = MECHANISMS[name](warner.Integers(0, SIZE - 1), epsilon)
    rng = np.random.default_rng(8)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    values = rng.choice(SIZE, PEOPLE, p=theta)
    hits = 0
    for _ in range(RUNS):
        if target == "population":
            values = rng.choice(SIZE, PEOPLE, p=theta)
        truth = theta if target == "population" else np.bincount(values, minlength=SIZE) / PEOPLE
        bounds = interval(evidence(mechanism.tally(mechanism.randomize(values, rng))))
        hits += int(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).sum())
    return hits / (RUNS * SIZE)


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n not in ("UnaryEncoding keep 0.8", "LocalHashing binary", "SubsetSelection of two")])
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_intervals_cover_what_they_say(name: str, target: str) -> None:
    assert abs(_coverage(name, target, lambda facts: wald(facts, 0.95, target), 3.0) - 0.95) < MARGIN


def test_intervals_that_are_wrong_are_caught() -> None:
    """Respondents' intervals claimed for the population, the reverse, and intervals of 68 % claimed as 95 %."""
    name = "RandomizedResponse"
    assert _coverage(name, "population", lambda facts: wald(facts, 0.95, "respondents"), 3.0) < 0.95 - MARGIN
    assert _coverage(name, "respondents", lambda facts: wald(facts, 0.95, "population"), 3.0) > 0.95 + MARGIN
    assert _coverage(name, "population", lambda facts: wald(facts, 0.68), 3.0) < 0.95 - MARGIN


@pytest.mark.parametrize("name", ["RandomizedResponse", "UnaryEncoding optimized", "LocalHashing optimized", "HadamardResponse"])
def test_simulated_tallies_have_the_law_of_real_ones(name: str) -> None:
    """Mean and variance of the inversion over simulated tallies, against the exact variance; 1e-9 limits."""
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
    """The sum of all estimates varies only with the bits' noise: ((K-1) q (1-q) + p (1-p)) / (p-q)^2 / n, whatever theta is.

    The mutant that draws every bit sum on its own, binomially with the right rate, has many times that.
    """
    size, n, runs = 6, 5000, 400
    mechanism = warner.UnaryEncoding(warner.Integers(0, size - 1), 5.0)
    channel, rng = mechanism.channel(), np.random.default_rng(3)
    theta = rng.dirichlet(np.ones(size))
    q, gap = channel.q[0], channel.gap[0]
    exact = ((size - 1) * q * (1 - q) + (q + gap) * (1 - q - gap)) / gap**2 / n
    low, high = (chi2.ppf(p, runs) / runs for p in (1e-10, 1 - 1e-10))
    spread = np.mean([(channel.invert(channel.simulate(theta, n, rng)).sum() - 1) ** 2 for _ in range(runs)])
    assert low < spread / exact < high
    mu = q + gap * theta
    apart = np.mean([((rng.binomial(n, mu) / n - q).sum() / gap - 1) ** 2 for _ in range(runs)])
    assert apart / exact > high


@pytest.mark.parametrize("method", [warner.Inversion("project"), warner.MaximumLikelihood()], ids=repr)
def test_bootstrap_intervals_cover_shares_and_linear_functions(method: warner.estimators.Estimator) -> None:
    """Away from the border: mean coverage over 300 runs of 4 shares, a mean and a range, within 6 sd of 0.95 (sd 0.0126).

    The wrong program that takes quantiles of the estimates' differences from 0 instead of from the centre never covers.
    """
    mechanism = warner.RandomizedResponse(warner.Integers(0, SIZE - 1), 2.0)
    theta, rng, runs = np.array([0.4, 0.3, 0.2, 0.1]), np.random.default_rng(2), 300
    weights = np.stack([*np.eye(SIZE), np.arange(SIZE), [0, 1, 1, 0]])
    hits = np.zeros(len(weights))
    for _ in range(runs):
        tally = mechanism.tally(mechanism.randomize(rng.choice(SIZE, PEOPLE, p=theta), rng))
        bounds = warner.estimate(tally, method).interval(kind="bootstrap", weights=weights, replicates=100, rng=rng)
        hits += (bounds[:, 0] <= weights @ theta) & (weights @ theta <= bounds[:, 1])
    assert (np.abs(hits / runs - 0.95) < 6 * 0.0126).all()


def test_bootstraps_refuse_what_they_cannot_do() -> None:
    mechanism = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    reports = mechanism.randomize([0, 1, 2, 3] * 50, np.random.default_rng(0))
    result = warner.estimate(mechanism.tally(reports))
    assert result.interval(kind="bootstrap", rng=np.random.default_rng(0)).shape == (4, 2)
    for wrong in (
        {"kind": "jackknife"},
        {"kind": "bootstrap", "target": "respondents"},
        {"kind": "bootstrap", "weights": [1, 2]},
        {"kind": "bootstrap", "replicates": 5},
        {"kind": "bootstrap", "rng": 3},
        {"weights": np.eye(4)},
    ):
        with pytest.raises(warner.WarnerError):
            result.interval(**wrong)
    with pytest.raises(warner.ArgumentError, match="keeps only those seen"):
        warner.estimate(mechanism.tally(reports, keep_reports=True), warner.MaximumLikelihood()).interval(kind="bootstrap")
