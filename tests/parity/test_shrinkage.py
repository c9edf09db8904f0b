"""Empirical Bayes against brute force: integrals, exact convolutions, a convex solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

import warner
from tests.registry import MECHANISMS, SEEING
from warner import Integers
from warner.channels import StackChannel, SupportChannel
from warner.estimators.empirical_bayes.estimator import _common_quantile, _with_whole_reports
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.empirical_bayes.prior import (
    LearnedPrior,
    candidate_priors,
    fit_prior,
    tilt_to_sum,
    with_mean,
)
from warner.estimators.likelihood_data import LikelihoodData
from warner.results.from_tally import likelihood_data


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
    found = tilt_to_sum(posteriors, atoms, 1.0, np.zeros(0)) @ atoms
    assert found.sum() == pytest.approx(1, abs=1e-9)
    spread = np.sqrt(posteriors @ atoms**2 - (posteriors @ atoms) ** 2)
    for x in range(size):
        others = np.ones(1)
        for other in np.delete(np.arange(size), x):
            others = np.convolve(others, posteriors[other])
        given = np.array([posteriors[x, j] * others[200 - j] for j in range(cells)])
        assert found[x] == pytest.approx(given @ atoms / given.sum(), abs=0.03 * spread[x])


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


def test_the_common_quantile_has_the_least_absolute_error_of_its_sum() -> None:
    """A linear programme over the posteriors' own cells, each cut in twenty."""
    rng = np.random.default_rng(3)
    atoms = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.6])
    laws = rng.dirichlet(np.ones(6), size=4)
    found = _common_quantile(laws, atoms, 1.0)
    edges = np.concatenate([[0.0, 0.0], (atoms[2:] + atoms[1:-1]) / 2, atoms[-1:]])
    fine = (edges[:-1, None] + (np.arange(20) + 0.5) / 20 * np.diff(edges)[:, None]).ravel()
    weights = np.repeat(laws, 20, axis=1) / 20

    def risk(t: np.ndarray) -> float:
        return float((weights * np.abs(t[:, None] - fine)).sum())

    t = cp.Variable(4)
    objective = sum(cp.sum(cp.multiply(weights[x], cp.abs(t[x] - fine))) for x in range(4))
    cp.Problem(cp.Minimize(objective), [t >= 0, cp.sum(t) == 1]).solve(solver=cp.CLARABEL)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert risk(found) <= risk(t.value) + 1e-4


@pytest.mark.parametrize("likelihood", ["binomial", "normal"])
@pytest.mark.parametrize(
    "name", [n for n in SEEING if n not in ("SquareWave", "Piecewise", "ChannelMechanism")]
)
def test_the_noise_has_the_channels_variance(name: str, likelihood: str) -> None:
    """Exactly for counts; in the normal form the rest of the distribution is taken as estimated.
    The least is one report in n^2.
    """
    mechanism = MECHANISMS[name](Integers(1, 7), 1.0)
    channel, n = mechanism.channel(), 1000
    theta = np.random.default_rng(0).dirichlet(np.ones(7))
    noise = EstimateNoise.of(
        LikelihoodData(channel, channel.matvec(theta), n, mechanism.domain), likelihood
    )
    assert noise.y == pytest.approx(theta, abs=1e-9)
    exact = np.maximum(channel.variance(theta) / n, 1e-6)
    if "Hashing" in name and likelihood == "binomial":
        # One number says what a small pool of seeds costs, on the mean over values.
        assert noise.variance(theta).sum() == pytest.approx(exact.sum(), rel=0.05)
    else:
        assert noise.variance(theta) == pytest.approx(
            exact, rel=0.1 if likelihood == "normal" else 1e-6
        )


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


def test_sharpened_estimates_are_newtons_step() -> None:
    """Against the bordered system of the dense likelihood, sum held at one."""
    mechanism = warner.LocalHashing(Integers(1, 6), 3.0, seeds=64)
    rng = np.random.default_rng(5)
    theta = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(1 + rng.choice(6, 3000, p=theta), rng))
    )
    noise = EstimateNoise.of(data, "binomial")
    sharp = _with_whole_reports(data, noise, theta)
    assert sharp is not None
    a, w = data.channel.dense(), data.weights
    d = a @ theta
    information = a.T @ (a * (w / d**2)[:, None])
    system = np.block([[information, np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
    step = np.linalg.solve(system, np.append(a.T @ (w / d), 0.0))[:6]
    assert sharp.y == pytest.approx(theta + step, abs=1e-5)
    inverse = np.linalg.inv(system)[:6, :6]
    assert sharp.n > noise.n
    assert sharp.variance(theta).sum() * 5 / 6 == pytest.approx(np.trace(inverse) / 3000, rel=1e-4)


def test_likelihoods_of_several_budgets_are_products_of_binomial_laws() -> None:
    """Bits at two budgets, against the binomial law of each group's counts, moved as the estimates
    were.
    """
    domain, people = Integers(1, 5), (400, 700)
    parts = [SupportChannel(5, 0.25, 0.3), SupportChannel(5, 0.1, 0.5)]
    channel, rng = StackChannel(parts, people), np.random.default_rng(4)
    w = channel.simulate(rng.dirichlet(np.ones(5)), sum(people), rng)
    noise = EstimateNoise.of(LikelihoodData(channel, w, sum(people), domain), "binomial")
    atoms, moved = np.linspace(0, 0.8, 9), noise.y - channel.invert(w)
    logs = np.zeros((5, 9))
    for part, own, share, n in zip(parts, channel.split(w), channel.shares, people, strict=True):
        # The binomial law goes on between whole numbers up to a factor without the share in it.
        counts = n * (part.q + part.gap * (part.invert(own / share) + moved))
        mu = part.q[:, None] + part.gap[:, None] * atoms
        logs += np.stack(
            [c * np.log(m) + (n - c) * np.log1p(-m) for c, m in zip(counts, mu, strict=True)]
        )
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert noise.likelihood(atoms) == pytest.approx(expected, rel=1e-9)
    assert noise.subset(np.array([3, 1])).likelihood(atoms) == pytest.approx(
        expected[[3, 1]], rel=1e-9
    )
