"""The posterior of few values against enumeration and its law."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import dirichlet

from warner import Categorical
from warner.channels import SupportChannel
from warner.estimators import empirical_bayes
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import SmallDomainPosterior
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.empirical_bayes.prior import SETTINGS


def _weight(concentration: float) -> float:
    """The weight before the data: 0.6 to the number of doublings between the law and the flat."""
    return float(0.6 ** abs(math.log2(concentration)))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_laws_given_the_sum_are_those_of_the_enumeration(size: int) -> None:
    """All points of a coarse lattice on the simplex, one by one."""
    points = 9
    rng = np.random.default_rng(size)
    likelihood = rng.random((size, points))
    grid = [t for t in itertools.product(range(points), repeat=size) if sum(t) == points - 1]
    total, scores = [], []
    for concentration in SETTINGS.dirichlet_concentrations:
        prior = empirical_bayes._prior(concentration, size, points)
        mass = np.array(
            [np.prod([prior[j] * likelihood[x, j] for x, j in enumerate(t)]) for t in grid]
        )
        whole = sum(np.prod(prior[list(t)]) for t in grid)
        scores.append(mass.sum() / whole * _weight(concentration))
        laws = np.zeros((size, points))
        for t, m in zip(grid, mass / mass.sum(), strict=True):
            laws[np.arange(size), t] += m
        total.append(laws)
    few = SmallDomainPosterior.of(likelihood)
    assert few.weights == pytest.approx(np.array(scores) / sum(scores), abs=1e-9)
    assert few.laws == pytest.approx(np.einsum("c,ckj->kj", few.weights, np.array(total)), abs=1e-9)


def test_without_data_the_prior_is_dirichlet() -> None:
    """Variance of each share under a flat likelihood: (1/K) (1 - 1/K) / (K c + 1), averaged over
    the concentrations with their weights.
    """
    few = SmallDomainPosterior.of(np.ones((4, 1025)))
    atoms = np.arange(1025) / 1024
    laws = SETTINGS.dirichlet_concentrations
    weights = np.array([_weight(c) for c in laws])
    weights /= weights.sum()
    exact = weights @ [dirichlet(np.full(4, c)).var()[0] for c in laws]
    assert few.weights == pytest.approx(weights, abs=1e-6)
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
