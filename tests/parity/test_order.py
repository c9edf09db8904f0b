"""What the order of the values says, and few values: fast paths against slow ones, derivatives
against differences, draws against the law.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import dirichlet

from warner import Categorical, EmpiricalBayes, LocalHashing, UnaryEncoding
from warner.channels import SupportChannel
from warner.estimators.empirical_bayes import neighbours, small_domain
from warner.estimators.empirical_bayes import noise as noise_module
from warner.estimators.empirical_bayes.estimator import _without_collisions
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.empirical_bayes.settings import SETTINGS
from warner.estimators.empirical_bayes.small_domain import SmallDomainPosterior
from warner.estimators.likelihood_data import LikelihoodData


def test_gains_are_those_of_the_loop_over_frequencies() -> None:
    """The sums over near frequencies by cumulative sums, against sums written out."""
    p = np.random.default_rng(0).exponential(1 + 50 / np.arange(1.0, 41) ** 2)
    keep = 1 / (
        1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, max(4, int(np.log2(p.max()) + 2)))])
    )
    base = np.array([0.5] + [0.5 / (keep.size - 1)] * (keep.size - 1))
    posteriors = np.array([keep * np.exp(-v * keep) * base for v in p])
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    for _ in range(SETTINGS.power_sweeps):
        moved = np.empty_like(posteriors)
        for k in range(40):
            others = [j for j in range(40) if j != k]
            near = [j for j in others if 1 / 1.5 <= (j + 1) / (k + 1) <= 1.5]
            here = posteriors[near].sum(axis=0) * min(1.0, 4 / len(near)) if near else 0.0
            moved[k] = (
                keep
                * np.exp(-p[k] * keep)
                * ((posteriors[others].sum(axis=0) + 2 * base) / 41 + here)
            )
            moved[k] /= moved[k].sum()
        done = np.abs(moved - posteriors).max() < 1e-3
        posteriors = moved
        if done:
            break
    gain, slope = neighbours.gains(p)
    assert gain == pytest.approx(posteriors @ (1 - keep), abs=1e-12)
    assert slope == pytest.approx(posteriors @ (1 - keep) ** 2 - gain**2, abs=1e-12)


def test_what_each_value_adds_to_its_own_is_the_filters_derivative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the prior of powers held, by central differences; sizes with and without a real highest
    frequency.
    """
    prior = np.array([0.5, 0.2, 0.2, 0.1])
    keep = np.array([1.0, 0.5, 0.1, 0.01])

    def held(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        posteriors = prior * keep * np.exp(-p[:, None] * keep)
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        mean = posteriors @ (1 - keep)
        return mean, posteriors @ (1 - keep) ** 2 - mean**2

    monkeypatch.setattr(neighbours, "gains", held)
    for size in (24, 25):
        d = np.random.default_rng(1).normal(size=size) / np.sqrt(size)
        d -= d.mean()
        rows = 1e-5 * np.eye(size)
        rise = [
            neighbours.filtered(d + row, 1.0)[0][x] - neighbours.filtered(d - row, 1.0)[0][x]
            for x, row in enumerate(rows)
        ]
        assert neighbours.filtered(d, 1.0)[1] == pytest.approx(np.mean(rise) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_laws_given_the_sum_are_those_of_the_enumeration(size: int) -> None:
    """All points of a coarse lattice on the simplex, one by one."""
    points = 9
    rng = np.random.default_rng(size)
    likelihood = rng.random((size, points))
    grid = [t for t in itertools.product(range(points), repeat=size) if sum(t) == points - 1]
    total, scores = [], []
    for concentration in SETTINGS.dirichlet_concentrations:
        prior = small_domain._prior(concentration, size, points)
        mass = np.array(
            [np.prod([prior[j] * likelihood[x, j] for x, j in enumerate(t)]) for t in grid]
        )
        scores.append(mass.sum() / sum(np.prod(prior[list(t)]) for t in grid))
        laws = np.zeros((size, points))
        for t, m in zip(grid, mass / mass.sum(), strict=True):
            laws[np.arange(size), t] += m
        total.append(laws)
    few = SmallDomainPosterior.of(likelihood)
    assert few.weights == pytest.approx(np.array(scores) / sum(scores), abs=1e-9)
    assert few.laws == pytest.approx(np.einsum("c,ckj->kj", few.weights, np.array(total)), abs=1e-9)


def test_without_data_the_prior_is_dirichlet() -> None:
    """Variance of each share under a flat likelihood: (1/K) (1 - 1/K) / (K c + 1), averaged over
    the concentrations.
    """
    few = SmallDomainPosterior.of(np.ones((4, 1025)))
    atoms = np.arange(1025) / 1024
    exact = np.mean([dirichlet(np.full(4, c)).var()[0] for c in SETTINGS.dirichlet_concentrations])
    assert few.weights == pytest.approx(np.full(10, 0.1), abs=1e-6)
    assert few.laws @ atoms == pytest.approx(np.full(4, 0.25), abs=1e-9)
    assert few.laws @ atoms**2 - 0.25**2 == pytest.approx(np.full(4, exact), rel=0.01)


def test_draws_of_few_values_have_their_laws() -> None:
    rng = np.random.default_rng(3)
    channel = SupportChannel(4, 0.25, 0.3)
    w = channel.simulate(np.array([0.6, 0.3, 0.1, 0.0]), 800, rng)
    noise = EstimateNoise.of(LikelihoodData(channel, w, 800, Categorical(list("abcd"))), "binomial")
    few = SmallDomainPosterior.of(noise.likelihood(np.arange(257) / 256))
    draws = few.draws(20_000, rng)
    assert draws.sum(axis=1) == pytest.approx(np.ones(20_000), abs=1e-12)
    for x in range(4):
        empirical = (
            np.bincount(np.rint(draws[:, x] * 256).astype(int), minlength=257).cumsum() / 20_000
        )
        assert np.abs(empirical - few.laws[x].cumsum()).max() < 3.5 / np.sqrt(
            20_000
        )  # Kolmogorov: 1e-10


def test_counts_less_what_others_have_in_them_are_those_of_the_collisions() -> None:
    """y = theta + (S - (q' + (p - q') M) theta) / gap, with M counted seed by seed, then moved onto
    the sum.
    """
    mechanism = LocalHashing(Categorical([str(i) for i in range(30)]), 1.0, seeds=64)
    channel = mechanism.channel()
    assert hasattr(channel, "support_shares")
    rng = np.random.default_rng(2)
    theta = rng.dirichlet(np.ones(30))
    w = channel.simulate(theta, 4000, rng)
    data = LikelihoodData(channel, w, 4000, mechanism.domain)
    noise = EstimateNoise.of(data, "binomial")
    posterior = EmpiricalBayes()._posterior(noise)
    clearer = _without_collisions(data, noise, posterior)
    assert clearer is not None and clearer.n > noise.n and noise.gap is not None
    hit = (channel.dense() > channel.dense().min() + 1e-12).astype(float)
    expected = hit.T @ (channel.dense() @ posterior.shares)
    y = posterior.shares + (hit.T @ w - expected) / noise.gap
    assert np.ptp(clearer.y - y) < 0.2 * np.sqrt(clearer.variance(theta).mean())
    assert clearer.y.sum() == pytest.approx(1, abs=1e-12)
    assert np.std(clearer.y - y) < 1e-3


def test_a_guess_changes_rows_apart_by_little() -> None:
    """Values whose counts and guesses hardly differ are one row of the prior's data: the estimate
    with a row each is the same to a twentieth of the noise.
    """
    rng = np.random.default_rng(4)
    theta = np.exp(np.sin(np.arange(120) / 12))
    theta /= theta.sum()
    channel = UnaryEncoding(
        Categorical([str(i) for i in range(120)]), 2.0, keep="optimized"
    ).channel()
    w = channel.simulate(theta, 20_000, rng)
    noise = EstimateNoise.of(
        LikelihoodData(channel, w, 20_000, Categorical([str(i) for i in range(120)])), "binomial"
    ).with_neighbours()
    assert noise.prediction is not None
    whole = EmpiricalBayes()
    coarse = whole._posterior(noise).shares
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_module, "SETTINGS", replace(SETTINGS, row_width=1e-6))
        fine = whole._posterior(noise).shares
    assert coarse == pytest.approx(fine, abs=float(np.sqrt(noise.variance(theta)).min()) / 20)
