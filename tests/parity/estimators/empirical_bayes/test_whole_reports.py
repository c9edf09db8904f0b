"""The weighted estimates from whole reports, against dense least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warner import Categorical, ProjectiveGeometryResponse
from warner.estimators import empirical_bayes
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes.noise import EstimateNoise


def _data(size: int, seed: int) -> tuple[LikelihoodData, np.ndarray]:
    """Reports of skewed shares, with many more kinds of reports than values."""
    mechanism = ProjectiveGeometryResponse(Categorical(range(size)), 3.0, prime=13)
    channel, rng = mechanism.channel(), np.random.default_rng(seed)
    theta = 1 / np.arange(1.0, size + 1)
    theta /= theta.sum()
    chances = channel.matvec(theta)
    n = 100 * size
    w = rng.multinomial(n, chances / chances.sum()) / n
    return LikelihoodData(channel, w, n, mechanism.domain), theta


def _dense(data: LikelihoodData, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Least squares with the weights 1 / d, and the trace of the covariance given the sum."""
    a = data.channel.dense()
    weighted = a / (a @ theta)[:, None]
    inverse = np.linalg.inv(a.T @ weighted)
    return inverse @ (weighted.T @ data.weights), float(np.trace(inverse) - theta @ theta)


@pytest.mark.parametrize("size", [40, 200])
def test_conjugate_gradients_give_weighted_least_squares(size: int) -> None:
    data, theta = _data(size, 3)
    found = empirical_bayes._scoring_step(data, theta)
    assert found is not None
    y, trace = _dense(data, theta)
    assert found[0] == pytest.approx(y, abs=1e-9)
    assert found[1] == pytest.approx(trace, rel=1e-9 if size < 64 else 0.01)


def test_the_new_estimates_are_worth_their_variance() -> None:
    """Without the factor K / (K - 1) they would be worth 2 % more. Where one value gains less than
    the others, they are worth what they are for this value.
    """
    data, theta = _data(50, 5)
    noise = EstimateNoise.of(data, "binomial")
    found = empirical_bayes.with_whole_reports(data, noise, theta)
    assert found is not None and found.n > 1.02 * noise.n
    a = data.channel.dense()
    covariance = np.linalg.inv(a.T @ (a / (a @ theta)[:, None])) - np.outer(theta, theta)
    before = noise.variance(theta) * 49 / 50
    gains = before[:8] * data.n / np.diag(covariance)[:8]
    mean = before.sum() * data.n / np.trace(covariance)
    assert found.n == pytest.approx(data.n * min(mean, gains.min()), rel=1e-9)


def test_no_step_where_weights_gain_nothing() -> None:
    """With equal shares all reports are about equally likely."""
    data, theta = _data(200, 3)
    equal = np.full(200, 1 / 200)
    assert empirical_bayes._scoring_step(data, equal) is None
    few = replace(data, n=10)
    noise = EstimateNoise.of(few, "binomial")
    assert empirical_bayes.with_whole_reports(few, noise, theta) is None
