"""Steps of empirical Bayes against brute force."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import warner
from warner import Categorical, EmpiricalBayes, Integers, LocalHashing
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import (
    _common_quantile,
    _without_collisions,
    with_whole_reports,
)
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.results.from_tally import likelihood_data


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


def test_sharpened_estimates_are_newtons_step() -> None:
    """Against the bordered system of the dense likelihood, sum held at one."""
    mechanism = warner.LocalHashing(Integers(1, 6), 3.0, seeds=64)
    rng = np.random.default_rng(5)
    theta = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(1 + rng.choice(6, 3000, p=theta), rng))
    )
    noise = EstimateNoise.of(data, "binomial")
    sharp = with_whole_reports(data, noise, theta)
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
