"""Means, variances and quantiles against slow definitions of the same."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.estimators.base import Fit, Status
from warner.results.from_tally import likelihood_data
from warner.results.summaries import mean, variance_of_shares


def _estimate(domain: warner.domains.Domain, theta: np.ndarray) -> warner.Estimate:
    """An estimate that is theta, of a mechanism that does not matter."""
    mechanism = warner.RandomizedResponse(domain, 2.0)
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(domain.labels, np.random.default_rng(0)))
    )
    return warner.Estimate(Fit(theta.copy(), Status.EXACT), data, warner.Inversion())


def test_summaries_of_bins_are_those_of_numbers_spread_evenly_in_them() -> None:
    domain, fine = warner.Interval(-2, 4, 6), 20_000
    rng = np.random.default_rng(7)
    theta = rng.dirichlet(np.ones(6))
    theta[2] = 0
    theta /= theta.sum()
    numbers = -2 + 6 * (np.arange(6 * fine) + 0.5) / (6 * fine)
    weights = np.repeat(theta, fine) / fine
    result = _estimate(domain, theta)
    assert result.mean() == pytest.approx(weights @ numbers)
    assert variance_of_shares(result) == pytest.approx(
        weights @ (numbers - weights @ numbers) ** 2, rel=1e-6
    )
    for q in (0.05, 0.3, 0.5, 0.77, 1.0):
        assert result.quantile(q) == pytest.approx(
            numbers[np.searchsorted(np.cumsum(weights), q - 1e-12)], abs=1e-3
        )
    for low, high in ((-2, 4), (-1.3, 0.4), (0.1, 0.2), (3.9, 4.0), (1, 1)):
        assert result.range(low, high) == pytest.approx(
            weights[(numbers >= low) & (numbers <= high)].sum(), abs=1e-4
        )


def test_summaries_of_integers_are_those_of_a_list_of_people() -> None:
    domain = warner.Integers(-1, 5)
    people = np.array([0, 3, 1, 0, 4, 2, 0])
    ages = np.repeat(np.arange(-1, 6), people)
    result = _estimate(domain, people / people.sum())
    assert result.mean() == pytest.approx(ages.mean())
    assert variance_of_shares(result) == pytest.approx(ages.var())
    for q in (0.0, 0.1, 0.3, 0.4, 0.5, 0.8, 0.81, 1.0):
        expected = np.quantile(ages, q, method="inverted_cdf") if q > 0 else -1
        assert result.quantile(q) == expected
    assert result.range(0, 3) == pytest.approx(((ages >= 0) & (ages <= 3)).mean())
    assert result.range(1.5, 3.5) == pytest.approx(((ages >= 1.5) & (ages <= 3.5)).mean())


def test_means_and_variances_of_a_grid_are_those_of_its_rows_and_columns() -> None:
    domain, rng = warner.Grid(3, 4, 0.5), np.random.default_rng(8)
    theta = rng.dirichlet(np.ones(12))
    shares = theta.reshape(3, 4)
    means, variances = (of(_estimate(domain, theta)) for of in (mean, variance_of_shares))
    assert isinstance(means, tuple) and isinstance(variances, tuple)
    for axis, (middle, spread) in enumerate(zip(means, variances, strict=True)):
        side = 0.5 * np.arange(shares.shape[axis])
        marginal = shares.sum(axis=1 - axis)
        assert middle == pytest.approx(marginal @ side)
        assert spread == pytest.approx(marginal @ side**2 - (marginal @ side) ** 2)
