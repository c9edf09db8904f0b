"""Algorithms of the papers, one person after the other, against the estimators' names for them."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers
from warner.estimators import ExpectationMaximization, Inversion
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import BiasCorrection, MixtureReduction
from warner.results.from_tally import likelihood_data


def _people(
    budgets: tuple[float, ...] = (0.5, 2.0), n: int = 60
) -> tuple[LikelihoodData, np.ndarray, np.ndarray]:
    """Data, every person's row (n, K) of the likelihood, and the reports (n,)."""
    rng = np.random.default_rng(3)
    tallies, rows, named = [], [], []
    for epsilon in budgets:
        mechanism = warner.RandomizedResponse(Integers(0, 3), epsilon)
        reports = mechanism.randomize(rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05]).tolist(), rng)
        tallies.append(mechanism.tally(reports))
        column = reports.columns["report"].astype(int)
        rows.append(mechanism.channel().dense()[column])
        named.append(column)
    return likelihood_data(tallies), np.concatenate(rows), np.concatenate(named)


def _em_by_people(rows: np.ndarray, theta: np.ndarray, delta: float) -> tuple[np.ndarray, int]:
    """[P4 alg 1]: posteriors of every person, their mean, until |L_t - L_(t-1)| < delta."""
    value, steps = float(np.log(rows @ theta).sum()), 0
    while True:
        posteriors = rows * theta
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        theta, steps = posteriors.mean(axis=0), steps + 1
        before, value = value, float(np.log(rows @ theta).sum())
        if abs(value - before) < delta:
            return theta, steps


@pytest.mark.parametrize("delta", [1.0, 0.01])
def test_em_of_p1_starts_at_the_histogram_and_ends_at_delta(delta: float) -> None:
    data, rows, reports = _people()
    theta, steps = _em_by_people(rows, np.bincount(reports, minlength=4) / reports.size, delta)
    fit = ExpectationMaximization(start="histogram", tolerance=delta).fit(data)
    assert fit.iterations == steps
    np.testing.assert_allclose(fit.shares, theta, rtol=1e-9)


def test_em_of_p2_starts_at_the_thresholded_estimate() -> None:
    data, rows, _ = _people((1.0,))
    start = Inversion("threshold").fit(data).shares
    theta, steps = _em_by_people(rows, start, 0.01)
    fit = ExpectationMaximization(start=Inversion("threshold"), tolerance=0.01).fit(data)
    assert fit.iterations == steps
    np.testing.assert_allclose(fit.shares, theta, rtol=1e-9)


def test_the_literature_runs_the_same_em() -> None:
    data, _, _ = _people()
    histogram = ExpectationMaximization(start="histogram", tolerance=1e-3).fit(data)
    uncorrected = BiasCorrection(alpha=0.0).fit(data)
    np.testing.assert_allclose(uncorrected.shares, histogram.shares, rtol=1e-14)
    assert uncorrected.iterations == histogram.iterations
    plain = ExpectationMaximization(tolerance=0.05).fit(data)
    alone = MixtureReduction("em", operation=None, tolerance=0.05).fit(data)
    np.testing.assert_allclose(alone.shares, plain.shares, rtol=1e-14)
    assert alone.iterations == plain.iterations
