"""Linear regression of the mean of a hidden number."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Categorical, Integers, Interval, regress
from warner.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError

N = 400
RNG = np.random.default_rng(1)
AGE = RNG.normal(size=N)
VISITS = np.clip(np.round(4 + AGE + RNG.normal(size=N)), 0, 9).astype(int)


def test_without_protection_it_is_least_squares() -> None:
    reports = warner.RandomizedResponse(Integers(0, 9), float("inf")).reports(VISITS)
    found = regress(reports, AGE, kind="mean")
    z = np.stack([np.ones(N), AGE], axis=1)
    best, *_ = np.linalg.lstsq(z, VISITS.astype(float))
    assert found.coefficients[0] == pytest.approx(best)
    rest = VISITS - z @ best
    inverse = np.linalg.inv(z.T @ z)
    robust = inverse @ (z.T @ (z * rest[:, None] ** 2)) @ inverse * N / (N - 2)
    assert found.covariance == pytest.approx(robust)
    assert found.outcomes == ("mean",) and found.status.name == "EXACT"
    estimate, low, high = found.predict([0.5])[0]
    assert estimate == pytest.approx(best @ [1, 0.5]) and low < estimate < high
    assert "adds the estimate to the mean" in " ".join(str(found.table()).split())
    assert repr(found) == "MeanRegression(2 coefficients, n=400)"


DOMAIN = Integers(0, 9)
MAKERS = {
    "k-RR": warner.RandomizedResponse(DOMAIN, 6.0),
    "OUE": warner.UnaryEncoding(DOMAIN, 6.0),
    "OLH": warner.LocalHashing(DOMAIN, 6.0, seeds=64),
    "Laplace": warner.Laplace(DOMAIN, 20.0),
    "square wave": warner.SquareWave(DOMAIN, 6.0),
    "stochastic rounding": warner.mechanisms.StochasticRounding(DOMAIN, 6.0),
    "twice OUE": warner.mechanisms.Repeated(warner.UnaryEncoding(DOMAIN, 6.0), 2),
    "Laplace of numbers": warner.Laplace(Interval(0, 9, 16), 20.0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_noise_is_averaged_out(name: str) -> None:
    rng = np.random.default_rng(3)
    numbers = VISITS if name != "Laplace of numbers" else VISITS.astype(float)
    reports = MAKERS[name].randomize(np.tile(numbers, 10), rng=rng)
    found = regress(reports, np.tile(AGE, 10), kind="mean")
    best, *_ = np.linalg.lstsq(np.stack([np.ones(N), AGE], axis=1), VISITS.astype(float))
    assert np.abs((found.coefficients[0] - best) / found.standard_errors[0]).max() < 4
    assert found.standard_errors.max() < 0.25


def test_bad_input_is_named() -> None:
    labels = warner.RandomizedResponse(Categorical(["a", "b"]), 1.0).randomize(["a", "b"])
    with pytest.raises(ArgumentTypeError, match="needs values that are numbers"):
        regress(labels, [1.0, 2.0], kind="mean")
    reports = warner.RandomizedResponse(DOMAIN, 1.0).randomize([1, 2])
    with pytest.raises(ArgumentError, match="must be more than the 2 coefficients; got 2"):
        regress(reports, [1.0, 2.0], kind="mean")
    twice = warner.mechanisms.Repeated(warner.mechanisms.StochasticRounding(DOMAIN, 1.0), 2)
    with pytest.raises(IdentifiabilityError):
        regress(twice.randomize([1, 2, 3]), [1.0, 2.0, 4.0], kind="mean")


def test_an_exact_fit_has_no_nan() -> None:
    """Errors of 0: the ratios are infinite, or 0 for coefficients of 0."""
    reports = warner.RandomizedResponse(DOMAIN, float("inf")).reports([3] * 10)
    found = regress(reports, np.arange(10.0), kind="mean")
    assert not np.isnan(found.z).any() and not np.isnan(found.p_values).any()
