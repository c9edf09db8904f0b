"""Values with the same data, fitted once, against every value fitted on its own."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import EmpiricalBayes, Integers
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes.noise import EstimateNoise, SupportCounts, same_columns
from warner.mechanisms import Mechanism

SIZE, N = 600, 3000


def _alone(noise: EstimateNoise) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slow twin: no two values are alike."""
    every = np.arange(noise.y.size)
    return every, every, np.ones(every.size)


def _data(mechanism: Mechanism, rng: np.random.Generator) -> LikelihoodData:
    theta = rng.permutation(np.geomspace(1, 1e-4, SIZE))
    channel = mechanism.channel()
    weights = channel.simulate(theta / theta.sum(), N, rng)
    return LikelihoodData(channel, weights, N, mechanism.domain)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("name", ["RandomizedResponse", "HadamardResponse", "UnaryEncoding"])
def test_values_with_the_same_data_are_fitted_once(
    name: str, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = _data(getattr(warner, name)(Integers(1, SIZE), 2.0), np.random.default_rng(4))
    kinds, _, alike = EstimateNoise.of(data, "binomial").distinct()
    assert kinds.max() + 1 == len(alike) < SIZE and alike.sum() == SIZE
    method = EmpiricalBayes(loss=loss, order=False)
    fast = method.fit(data)
    monkeypatch.setattr(EstimateNoise, "distinct", _alone)
    slow = method.fit(data)
    assert fast.probabilities is not None and slow.probabilities is not None
    assert fast.posterior is not None and slow.posterior is not None
    # Posteriors move by a fraction of ``same_estimate``, 1e-9 standard deviations.
    assert np.abs(fast.probabilities - slow.probabilities).max() < 1e-9
    drawn = [fit.posterior.draws(5, np.random.default_rng(1)) for fit in (fast, slow)]
    assert np.abs(drawn[0] - drawn[1]).max() < 1e-7


def test_a_prediction_tells_values_apart() -> None:
    """Rejects a program that merges values of one count where their neighbours differ."""
    mechanism = warner.RandomizedResponse(Integers(1, SIZE), 3.0)
    smooth = np.exp(-(((np.arange(SIZE) - 200) / 80) ** 2))
    rng = np.random.default_rng(6)
    weights = mechanism.channel().simulate(smooth / smooth.sum(), 20_000, rng)
    noise = EstimateNoise.of(
        LikelihoodData(mechanism.channel(), weights, 20_000, mechanism.domain), "binomial"
    )
    told = noise.with_neighbours()
    assert told.prediction is not None
    assert len(noise.distinct()[1]) < SIZE == len(told.distinct()[1])


def test_values_of_two_kinds_of_noise_are_not_alike() -> None:
    noise = EstimateNoise(
        100.0,
        np.full(4, 0.25),
        np.array([1.0, 1.0, 2.0, 2.0]),
        np.array([0.5, 0.5, 0.5, 0.6]),
        None,
        None,
        False,
    )
    kinds, one, alike = noise.distinct()
    assert kinds.tolist() == [0, 0, 1, 2]
    assert one.tolist() == [0, 2, 3] and alike.tolist() == [2, 1, 1]


def test_values_that_one_of_several_mechanisms_tells_apart_are_not_alike() -> None:
    """Rejects a program that looks at the estimates only, where two groups count."""
    q, gap = np.full(3, 0.1), np.full(3, 0.5)
    first, second = np.array([0.2, 0.3, 0.2]), np.array([0.3, 0.2, 0.3])
    groups = tuple(SupportCounts(50.0, share, q, gap, False) for share in (first, second))
    third = np.full(3, 1 / 3)
    noise = EstimateNoise(100.0, third, third, third, None, None, False, groups=groups)
    assert noise.distinct()[0].tolist() == [0, 1, 0]


def test_kinds_of_columns_are_those_of_sorted_tuples() -> None:
    rng = np.random.default_rng(2)
    columns = [rng.integers(-2, 3, 500) * 0.5, np.zeros(500), rng.integers(0, 4, 500) / 3]
    _, expected = np.unique(np.stack(columns), axis=1, return_inverse=True)
    assert same_columns(columns).tolist() == expected.ravel().tolist()
    assert same_columns([np.zeros(3)]).tolist() == [0, 0, 0]
