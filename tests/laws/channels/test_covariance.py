"""The covariance of the inverse is that of the reports, for everything registered."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import COMBINED, PLACES, SEEING, smallest
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    LocalHashing,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from warner.channels import LikelihoodOperator, SomeValues, SummedChannel, stacked
from warner.errors import ArgumentError, IdentifiabilityError
from warner.results.from_tally import likelihood_data
from warner.testing.mechanisms import rows_of_reports


def _has_variances_of_functions(channel: LikelihoodOperator) -> None:
    """Against the matrix. Rejects a variance of the values alone, or of another inverse."""
    size = channel.shape[1]
    theta, c = _theta(size), np.random.default_rng(1).normal(3.0, 1.0, (size, 4))
    c[:, 0], c[:, 1] = 1.0, np.arange(size) > 0
    try:
        matrix = channel.covariance(theta)
    except (ArgumentError, IdentifiabilityError):
        return  # a part of a report in each row, or no inverse
    exact = np.einsum("xb,xz,zb->b", c, matrix, c)
    close = 1e-9 * max(1.0, np.abs(matrix).max())
    assert channel.variance_of(c, theta) == pytest.approx(exact, rel=1e-7, abs=close)


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
    _has_variances_of_functions(channel)
    some = SomeValues(channel, np.arange(0, channel.shape[1], 2))
    _has_variances_of_functions(some)


@pytest.mark.parametrize("name", COMBINED)
def test_covariance_has_the_variances_on_its_diagonal(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    values = mechanism.domain.labels * 3
    data = likelihood_data(mechanism.tally(mechanism.randomize(values)))
    channel, theta = data.channel, _theta(data.domain.size)
    _has_variances_of_functions(channel)
    shape = data.domain.shape
    _has_variances_of_functions(SummedChannel(channel, shape, [0], theta))
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
    _has_variances_of_functions(both)
    names = ("RandomizedResponse", "StochasticRounding")
    seeing, blind = (smallest(name).channel() for name in names)
    _has_variances_of_functions(stacked([seeing, blind], [100, 300]))


@pytest.mark.parametrize("mechanism", [RandomizedResponse, UnaryEncoding, SquareWave])
def test_whole_and_counted_reports_have_variances_of_functions(mechanism: type) -> None:
    """Rows of kept reports are completed first."""
    domain = Integers(0, 5)
    method = mechanism(domain, 1.0)
    tally = method.tally(method.randomize([0, 1, 2, 3] * 50), keep_reports=True)
    _has_variances_of_functions(likelihood_data(tally).channel)


def test_a_mean_of_some_values_has_an_interval() -> None:
    """Rejects a completion of the columns that never ends."""
    method = SquareWave(Integers(0, 9), 2.0)
    tally = method.tally(method.randomize([1, 2, 3] * 300, rng=np.random.default_rng(1)))
    low, high = estimate(tally, values=[1, 2, 3, 4]).mean().interval(kind="anytime:1000")
    assert low < 2 < high


def test_a_mean_of_very_many_values_takes_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a covariance of all pairs of values, which is 80 GB here."""
    size = 100_000
    monkeypatch.setattr(LikelihoodOperator, "_dense", None)
    for mechanism in (RandomizedResponse, LocalHashing, SubsetSelection, HadamardResponse):
        method = mechanism(Integers(0, size - 1), 1.0)
        channel = likelihood_data(method.tally(method.randomize([10, 70_000]))).channel
        monkeypatch.setattr(type(channel), "covariance", None)
        found = channel.variance_of(np.arange(size)[:, None] * 1.0, np.full(size, 1 / size))
        assert found.shape == (1,) and found[0] > size**2 / 12
