"""Laws and statistics of tests, against reports that are dealt and covariances of all cells."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Categorical, PerAttribute, Product, RandomizedResponse
from warner.estimators.base import LikelihoodData
from warner.metrics import project
from warner.results.differences import dealt_moments, independence, quadratic

SIZES = np.array([12, 6, 4])
COUNTS = np.array([10, 5, 3, 2, 1, 1])


def test_moments_over_all_deals_are_those_of_dealt_reports() -> None:
    """Rejects the program that takes the moments of a chi-square: their variance is 12."""
    rng = np.random.default_rng(1)
    shares, z = COUNTS / COUNTS.sum(), rng.normal(size=(6, 3))
    z -= shares @ z
    z = z @ np.linalg.cholesky(np.linalg.inv((z.T * shares) @ z))
    reports, ends, dealt = np.repeat(z, COUNTS, axis=0), np.cumsum(SIZES)[:-1], []
    for _ in range(4000):
        groups = np.split(rng.permutation(reports), ends)
        dealt.append(sum(len(g) * (g.mean(axis=0) ** 2).sum() for g in groups))
    moments = dealt_moments(SIZES.astype(float), shares, (z**2).sum(axis=1))
    assert moments is not None
    mean, variance = moments
    assert mean == pytest.approx(np.mean(dealt), abs=0.2)
    assert variance == pytest.approx(np.var(dealt), rel=0.1)
    assert dealt_moments(SIZES[:2] / 6, shares, shares) is None


def test_attributes_randomised_separately_are_tested_by_the_noise_of_each() -> None:
    """Against the covariance of all cells."""
    domain = Product(a=Categorical(["x", "y", "z"]), b=Categorical(["p", "q"]))
    survey = PerAttribute(
        domain, {"a": lambda d: RandomizedResponse(d, 1.0), "b": lambda d: RandomizedResponse(d, 2)}
    )
    channel, rng = survey.channel(), np.random.default_rng(2)
    weights = channel.simulate(np.array([0.3, 0.1, 0.2, 0.2, 0.15, 0.05]), 900, rng)
    found = independence(LikelihoodData(channel, weights, 900, domain, True), "a", "b")
    table = channel.invert(weights).reshape(3, 2)
    sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
    a, b = ((900 * side + 0.5) / (900 + 0.5 * side.size) for side in sides)
    contrast = np.kron(np.eye(3) - a[:, None], np.eye(2) - b[:, None])
    d, covariance = contrast @ table.ravel(), channel.covariance(np.multiply.outer(a, b).ravel())
    slow = 900 * quadratic(d, contrast @ covariance @ contrast.T, 2)
    assert (found.statistic, found.degrees) == (pytest.approx(slow), 2)
