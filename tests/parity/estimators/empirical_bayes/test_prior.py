"""The learned prior against brute force: integrals, exact convolutions, a convex solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from warner import Integers
from warner.channels import SupportChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import prior as prior_module
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.empirical_bayes.prior import (
    LearnedPrior,
    candidate_priors,
    fit_prior,
    tilt_to_sum,
    with_mean,
)


def _noise(size: int = 8, n: int = 3000, seed: int = 0) -> EstimateNoise:
    channel = SupportChannel(size, 0.25, 0.3)
    rng = np.random.default_rng(seed)
    w = channel.simulate(rng.dirichlet(np.full(size, 0.7)), n, rng)
    return EstimateNoise.of(LikelihoodData(channel, w, n, Integers(1, size)), "binomial")


def test_posterior_means_are_the_integrals() -> None:
    """Gamma prior of shape 4, binomial counts: atoms against quadrature, within a fiftieth of the
    posterior's spread.
    """
    noise = _noise()
    atoms = noise.atoms(1 / 8)
    law = next(
        g
        for g in candidate_priors(atoms, 1 / 8)[0]
        if np.isclose(g @ atoms**2, 1 / 64 * (1 + 1 / 4), rtol=0.02)
    )
    prior = LearnedPrior(law, [(1.0, np.inf, np.empty(0), np.empty(0), np.empty(0))])
    posteriors = prior.posteriors(noise.likelihood(atoms), np.zeros(8, dtype=int))
    means = posteriors @ atoms
    spread = np.sqrt(posteriors @ atoms**2 - means**2)
    for x in range(8):
        count = noise.n * (0.25 + 0.3 * noise.y[x])

        def joint(t: float, count: float = count) -> float:
            mu = 0.25 + 0.3 * t
            return float(
                np.exp(count * np.log(mu) + (3000 - count) * np.log1p(-mu) - _peak(count))
                * gamma.pdf(t, 4, scale=1 / 32)
            )

        mass = quad(joint, 0, 1, limit=200)[0]
        exact = quad(lambda t: t * joint(t), 0, 1, limit=200)[0] / mass
        assert means[x] == pytest.approx(exact, abs=spread[x] / 50)


def _peak(count: float) -> float:
    share = count / 3000
    return float(count * np.log(share) + (3000 - count) * np.log1p(-share))


def test_tilted_means_are_those_given_the_sum() -> None:
    """Atoms on a lattice make the law given the sum an exact convolution; the tilt is within 3 % of
    a posterior's spread of it.
    """
    rng = np.random.default_rng(4)
    size, cells = 30, 60
    atoms = np.arange(cells) / 200
    centres = rng.dirichlet(np.full(size, 2.0)) * 1.1
    posteriors = np.exp(-((atoms - centres[:, None]) ** 2) / (2 * 0.02**2))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    found = tilt_to_sum(posteriors.copy(), atoms, 1.0, np.zeros(0)) @ atoms
    assert found.sum() == pytest.approx(1, abs=1e-9)
    spread = np.sqrt(posteriors @ atoms**2 - (posteriors @ atoms) ** 2)
    for x in range(size):
        others = np.ones(1)
        for other in np.delete(np.arange(size), x):
            others = np.convolve(others, posteriors[other])
        given = np.array([posteriors[x, j] * others[200 - j] for j in range(cells)])
        assert found[x] == pytest.approx(given @ atoms / given.sum(), abs=0.03 * spread[x])


def test_tilts_do_not_depend_on_how_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By factors that all laws share, or by logarithms where such factors could underflow; in one
    block or in many.
    """
    rng = np.random.default_rng(3)
    atoms, alike = np.arange(40) / 400, rng.integers(1, 5, 50)
    posteriors = rng.dirichlet(np.full(40, 0.3), 50)
    args = (atoms, 1.5, np.array([1e-4]), alike)
    whole = tilt_to_sum(posteriors.copy(), *args)
    monkeypatch.setattr(prior_module, "_BLOCK", 400)
    assert tilt_to_sum(posteriors.copy(), *args) == pytest.approx(whole, abs=1e-13)
    monkeypatch.setattr(prior_module, "_SAFE_EXPONENT", 0.0)
    assert tilt_to_sum(posteriors.copy(), *args) == pytest.approx(whole, abs=1e-12)


def test_the_law_of_given_mean_is_the_convex_solvers() -> None:
    rng = np.random.default_rng(2)
    atoms = np.sort(rng.random(25))
    g = rng.dirichlet(np.ones(25))
    for mean in (0.15, 0.5, 0.8):
        h = cp.Variable(25)
        cp.Problem(cp.Maximize(g @ cp.log(h)), [cp.sum(h) == 1, atoms @ h == mean]).solve(
            solver=cp.CLARABEL
        )
        assert with_mean(g, atoms, mean) == pytest.approx(h.value, abs=1e-4)


def test_rows_that_are_told_apart_finely_make_the_same_prior() -> None:
    """Values closer than a tenth of the noise are one row; with a row each, shares move by less
    than a twentieth of the noise.
    """
    noise = _noise(size=200, n=20_000)
    atoms = noise.atoms(1 / 200)
    rows, first, counts = noise.subset(np.arange(200)).rows()
    assert counts.size < 120
    likelihood = noise.likelihood(atoms)
    coarse = fit_prior(likelihood[first], counts, atoms, 1 / 200, False).posteriors(
        likelihood, rows
    )
    fine = fit_prior(likelihood, np.ones(200), atoms, 1 / 200, False).posteriors(
        likelihood, np.arange(200)
    )
    assert coarse @ atoms == pytest.approx(
        fine @ atoms, abs=float(np.sqrt(noise.variance(noise.y)).min()) / 20
    )
