"""The posterior of groups in coordinates against slow twins with full matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from warner import Categorical, RandomizedResponse, UnaryEncoding
from warner.metrics import project
from warner.results.pooling import Coordinates, along_time, exchangeable, project_rows

SIZES = np.array([30, 400, 1, 0, 90])
DOMAIN = Categorical(["a", "b", "c", "d"])
MU = np.array([0.4, 0.3, 0.2, 0.1])
MECHANISMS = [RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 1.5)]
PRIOR = np.diag(MU) - np.outer(MU, MU)
# Drops the last share, which is 1 less the others.
FREE = np.eye(4)[:3]


def _problem(number: int) -> tuple[np.ndarray, np.ndarray, Coordinates]:
    """Unbiased estimates of groups, C, and coordinates."""
    covariance = MECHANISMS[number].channel().covariance(MU)
    rng = np.random.default_rng(3)
    noise = [
        rng.multivariate_normal(np.zeros(4), covariance / n) if n else np.zeros(4) for n in SIZES
    ]
    return MU + np.array(noise), covariance, Coordinates.of(MU, covariance)


def _constrained(shares: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first three shares, and their covariance, given that all four sum to 1."""
    row = covariance.sum(axis=1)
    if row.sum() > 1e-9:
        shares = shares - np.outer(shares.sum(axis=1) - 1, row / row.sum())
        covariance = covariance - np.outer(row, row) / row.sum()
    return shares @ FREE.T, FREE @ covariance @ FREE.T


def _gaussian(
    y: np.ndarray, prior: np.ndarray, total: np.ndarray, cross: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Posterior mean, covariance and log-likelihood of a normal vector given y."""
    gain = cross @ np.linalg.inv(total)
    log = multivariate_normal(np.zeros(y.size), total).logpdf(y)
    return gain @ y, prior - gain @ cross.T, float(log)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("per_person", [1, 3])
def test_partial_pooling_is_the_posterior_of_all_shares_together(
    number: int, per_person: int
) -> None:
    shares, covariance, coordinates = _problem(number)
    z = coordinates.to(shares)
    z[SIZES == 0] = 0
    at = exchangeable(z, SIZES, coordinates.ratios, per_person)
    known = SIZES > 0
    logs = []
    for s in (0.02, 0.3):
        own, noise = _constrained(shares, covariance)
        prior = FREE @ PRIOR @ FREE.T
        groups = len(SIZES)
        joint = np.kron(np.eye(groups), s * prior) + np.kron(np.ones((groups, groups)), prior)
        within = np.zeros_like(joint)
        for g, n in enumerate(np.maximum(SIZES, 1)):
            drawn = max(1 - per_person / n, 0) - 1
            block = slice(3 * g, 3 * g + 3)
            within[block, block] = noise / n + drawn * s * prior
        seen = np.repeat(known, 3)
        y = (own - MU[:3])[known].ravel()
        mean, posterior, log = _gaussian(
            y, joint, (joint + within)[np.ix_(seen, seen)], joint[:, seen]
        )
        found = at(s)
        assert coordinates.back(found.mean)[:, :3].ravel() == pytest.approx(
            np.tile(MU[:3], groups) + mean, abs=1e-7
        )
        variance = found.variance @ (coordinates.basis.T**2)
        assert variance[:, :3].ravel() == pytest.approx(posterior.diagonal(), rel=1e-6)
        logs.append((found.log_likelihood, log))
    (a, slow_a), (b, slow_b) = logs
    assert a - b == pytest.approx(slow_a - slow_b, abs=1e-8)


@pytest.mark.parametrize("number", [0, 1])
def test_a_path_is_the_posterior_of_a_random_walk(number: int) -> None:
    shares, covariance, coordinates = _problem(number)
    z = coordinates.to(shares)
    z[SIZES == 0] = 0
    # Two paths; the first has the groups 3, 0, 2 at the times 0, 1, 3, the other 4, 1 at 5, 6.
    times = np.array([1.0, 6.0, 3.0, 0.0, 5.0])
    series = np.array([0, 1, 0, 0, 1])
    at = along_time(z, SIZES, coordinates.ratios, times, series)
    walk = np.zeros((5, 5))
    logs = []
    for s in (0.02, 0.3):
        for i in range(5):
            for j in range(5):
                start = {0: 0.0, 1: 5.0}[int(series[i])]
                alike = series[i] == series[j]
                walk[i, j] = alike * (1 + s * (min(times[i], times[j]) - start))
        own, noise = _constrained(shares, covariance)
        joint = np.kron(walk, FREE @ PRIOR @ FREE.T)
        within = np.kron(np.diag(1 / np.maximum(SIZES, 1)), noise)
        seen = np.repeat(SIZES > 0, 3)
        y = (own - MU[:3])[SIZES > 0].ravel()
        mean, posterior, log = _gaussian(
            y, joint, (joint + within)[np.ix_(seen, seen)], joint[:, seen]
        )
        found = at(s)
        assert coordinates.back(found.mean)[:, :3].ravel() == pytest.approx(
            np.tile(MU[:3], 5) + mean, abs=1e-7
        )
        variance = found.variance @ (coordinates.basis.T**2)
        assert variance[:, :3].ravel() == pytest.approx(posterior.diagonal(), rel=1e-6)
        logs.append((found.log_likelihood, log))
    (a, slow_a), (b, slow_b) = logs
    assert a - b == pytest.approx(slow_a - slow_b, abs=1e-8)


def test_rows_are_projected_as_one_by_one() -> None:
    rows = np.random.default_rng(0).normal(0.2, 0.4, (50, 5))
    assert project_rows(rows) == pytest.approx(np.stack([project(row) for row in rows]))


def test_coordinates_hold_noise_and_prior() -> None:
    for number in (0, 1):
        _, covariance, found = _problem(number)
        noise = _constrained(np.ones((1, 4)) / 4, covariance)[1]
        basis = FREE @ found.basis
        assert basis @ basis.T == pytest.approx(noise, rel=1e-9)
        assert (basis * found.ratios) @ basis.T == pytest.approx(FREE @ PRIOR @ FREE.T, rel=1e-9)
