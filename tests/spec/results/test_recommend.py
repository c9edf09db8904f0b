"""Which method is used where none is named."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import (
    Categorical,
    EmpiricalBayes,
    ExpectationMaximization,
    Grid,
    Integers,
    Interval,
    Inversion,
    Laplace,
    LogSpline,
    MaximumLikelihood,
    SquareWave,
)
from warner.metrics import wasserstein1


@pytest.mark.parametrize("n", [500, 20_000])
def test_smooth_numbers_get_a_smooth_estimate(n: int) -> None:
    rng = np.random.default_rng(0)
    for mechanism, values in (
        (SquareWave(Interval(0, 1, 64), 1.0), rng.beta(2, 5, n)),
        (warner.RandomizedResponse(Integers(0, 40), 2.0), rng.binomial(40, 0.4, n)),
        (SquareWave(Interval(0, 1, 64), 2.0), 1 - np.abs(rng.random(n) - rng.random(n))),
    ):
        result = warner.estimate(mechanism.tally(mechanism.randomize(values, rng)))
        assert result.estimator == LogSpline() and result.interval_kind() == "posterior"


def test_numbers_that_come_in_threes_are_not_smoothed() -> None:
    """Degrees that are multiples of 3: the log-spline's mean was off and its interval held neither
    estimate nor truth.
    """
    rng = np.random.default_rng(0)
    degrees = np.minimum(3 * rng.zipf(2, 20_000), 399)
    mechanism = Laplace(Integers(0, 399), 1.0, sensitivity=1)
    tally = mechanism.tally(mechanism.randomize(degrees, rng))
    result = warner.estimate(tally)
    truth = np.bincount(degrees, minlength=400) / 20_000
    assert result.estimator == MaximumLikelihood()
    assert wasserstein1(result.probabilities, truth) < wasserstein1(
        warner.estimate(tally, LogSpline()).probabilities, truth
    )
    low, high = result.mean().interval(replicates=20, rng=rng)
    assert low < result.mean() < high


def test_places_are_not_inverted_and_labels_are_shrunk() -> None:
    rng = np.random.default_rng(1)
    city = warner.PlanarGeometric(Grid(6, 7), 0.5)
    cells = [
        (int(r), int(c))
        for r, c in zip(rng.binomial(5, 0.3, 5000), rng.binomial(6, 0.6, 5000), strict=True)
    ]
    tally = city.tally(city.randomize(cells, rng))
    result = warner.estimate(tally)
    truth = np.bincount(city.domain.encode(cells), minlength=42) / 5000
    assert result.estimator == ExpectationMaximization("auto")
    with pytest.warns(warner.errors.MethodWarning, match="ExpectationMaximization"):
        inverted = warner.estimate(tally, Inversion("project"))
    assert warner.metrics.earth_movers(
        result.probabilities, truth, city.domain.points
    ) < 0.9 * warner.metrics.earth_movers(inverted.probabilities, truth, city.domain.points)
    labels = warner.RandomizedResponse(Categorical(["a", "b"]), 1.0)
    assert warner.estimate(labels.tally(labels.randomize(["a", "b"]))).estimator == EmpiricalBayes()


def test_what_one_bit_leaves_open_is_said() -> None:
    mechanism, rng = (
        warner.mechanisms.StochasticRounding(Interval(0, 1, 16), 1.0),
        np.random.default_rng(2),
    )
    result = warner.estimate(mechanism.tally(mechanism.randomize(rng.random(2000), rng)))
    assert result.estimator == LogSpline() and str(result.unique).startswith("not unique")
