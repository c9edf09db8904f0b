"""Intervals of coefficients hold the truth as often as they say."""

from __future__ import annotations

import numpy as np

import warner
from warner import Integers, regress
from warner.regression.answer import Regression

RUNS, N = 80, 3000
BETA = np.array([[0.0, 0.0, 0.0], [-0.4, 0.8, 0.3], [-0.2, -0.5, 0.5]])


def _people(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    z = np.stack([np.ones(N), rng.integers(0, 2, N), rng.integers(-1, 2, N)], axis=1)
    p = np.exp(z @ BETA.T)
    p /= p.sum(axis=1, keepdims=True)
    return z, (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)


def _covered(found: Regression, errors: np.ndarray) -> np.ndarray:
    return np.abs(found.coefficients - BETA[1:]) <= 1.96 * errors


def test_coefficients_are_covered() -> None:
    """Rejects the programs that take reports for answers, and that take the information of the
    answers for that of the reports. Both have far too narrow or shifted intervals.

    The mean coverage of six coefficients over 80 runs has a standard error below 1.8 %.
    """
    rng = np.random.default_rng(8)
    domain = Integers(0, 2)
    mechanism = warner.RandomizedResponse(domain, 1.5)
    unprotected = warner.RandomizedResponse(domain, float("inf"))
    hits = np.zeros((4, 2, 3))
    narrow = None
    for _ in range(RUNS):
        z, values = _people(rng)
        rows = mechanism.channel().sample_rows(values, rng)
        found = regress(mechanism.reports(rows), z[:, 1:])
        assert found.status.name == "CONVERGED"
        hits[0] += _covered(found, found.standard_errors)
        mutant = regress(unprotected.reports(rows), z[:, 1:])
        hits[1] += _covered(mutant, mutant.standard_errors)
        if narrow is None:  # the errors that would hold if the answers were known
            narrow = regress(unprotected.reports(values), z[:, 1:]).standard_errors
        hits[2] += _covered(found, narrow)
        robust = regress(mechanism.reports(rows), z[:, 1:], errors="sandwich")
        hits[3] += _covered(found, robust.standard_errors)
    coverage = hits / RUNS
    for right in (coverage[0], coverage[3]):
        assert 0.91 < right.mean() < 0.985 and right.min() > 0.88
    assert coverage[1].mean() < 0.8
    assert coverage[2].mean() < 0.8


def test_slopes_of_a_mean_are_covered() -> None:
    """Rejects the program that takes reports for answers: its slope is shrunk."""
    rng = np.random.default_rng(9)
    mechanism = warner.UnaryEncoding(Integers(0, 4), 2.0)
    direct = warner.RandomizedResponse(Integers(0, 4), 1.0)
    unprotected = warner.RandomizedResponse(Integers(0, 4), float("inf"))
    hits, wrong = 0, 0
    for _ in range(RUNS):
        z = rng.normal(size=800)
        values = np.where(rng.random(800) < 1 / (1 + np.exp(-z)), 3, 1)
        # E(value | z) is not linear. The best line has the slope E[z E(value | z)].
        slope = 2 * 0.20662096414190704
        reports = mechanism.randomize(values, rng=rng)
        low, high = regress(reports, z, kind="mean").interval()[0, 1]
        hits += low <= slope <= high
        rows = direct.channel().sample_rows(values, rng)
        low, high = regress(unprotected.reports(rows), z, kind="mean").interval()[0, 1]
        wrong += low <= slope <= high
    assert 0.91 < hits / RUNS < 0.99
    assert wrong / RUNS < 0.5
