"""The covariance of the inverse is that of the reports, for everything registered."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import COMBINED, PLACES, SEEING, smallest
from warner import Categorical, RandomizedResponse, UnaryEncoding
from warner.channels import stacked
from warner.errors import ArgumentError, IdentifiabilityError
from warner.results.from_tally import likelihood_data
from warner.testing.mechanisms import rows_of_reports


def _theta(size: int) -> np.ndarray:
    return np.random.default_rng(size).dirichlet(np.ones(size))


@pytest.mark.parametrize("name", [*SEEING, *PLACES])
def test_covariance_is_that_of_the_inverse(name: str) -> None:
    """By enumeration: E[L(y) L(y)'] - theta theta' over all reports y."""
    mechanism = smallest(name)
    channel, theta = mechanism.channel(), _theta(mechanism.domain.size)
    single = np.stack([channel.invert(row) for row in rows_of_reports(mechanism)])
    law = mechanism.probabilities().astype(float) @ theta
    exact = (single.T * law) @ single - np.outer(theta, theta)
    assert channel.covariance(theta) == pytest.approx(exact, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("name", COMBINED)
def test_covariance_has_the_variances_on_its_diagonal(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    values = mechanism.domain.labels * 3
    data = likelihood_data(mechanism.tally(mechanism.randomize(values)))
    channel, theta = data.channel, _theta(data.domain.size)
    try:
        found = channel.covariance(theta)
    except (ArgumentError, IdentifiabilityError):
        return  # a part of a report in each row, or no inverse
    assert found.diagonal() == pytest.approx(channel.variance(theta), rel=1e-7, abs=1e-9)
    assert found == pytest.approx(found.T, rel=1e-9, abs=1e-9)
    assert np.linalg.eigvalsh(found).min() >= -1e-9 * np.abs(found).max()


def test_covariance_of_several_mechanisms_is_that_of_their_mixture() -> None:
    domain = Categorical(["a", "b", "c"])
    channels = [RandomizedResponse(domain, 1.0).channel(), UnaryEncoding(domain, 2.0).channel()]
    both, theta = stacked(channels, [100, 300]), _theta(3)
    found = both.covariance(theta)
    assert found.diagonal() == pytest.approx(both.variance(theta), rel=1e-9)
    assert np.linalg.eigvalsh(found).min() > 0
