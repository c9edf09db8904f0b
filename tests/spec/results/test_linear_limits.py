"""Means and ranges of numbers: which intervals they have by default."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from warner import Integers, estimate
from warner.domains import Optional
from warner.results.linear_limits import UnbiasedShares

NAMES = (
    "RandomizedResponse",
    "UnaryEncoding optimized",
    "SubsetSelection",
    "HadamardResponse",
    "SquareWave",
    "Laplace",
)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_their_estimates_and_stay_in_the_range(name: str) -> None:
    """Also where people are few, and all of them at the border."""
    mechanism = MECHANISMS[name](Integers(0, 6), 0.7)
    rng = np.random.default_rng(3)
    result = estimate(mechanism.tally(mechanism.randomize([0] * 60, rng)))
    for number, most in ((result.mean(), 6), (result.range(0, 1), 1)):
        for target in ("population", "respondents"):
            low, high = number.interval(target=target, replicates=20, rng=rng)
            assert 0 <= low <= number <= high <= most


def test_the_interval_is_the_same_whenever_it_is_made_and_narrower_for_these_people() -> None:
    ages = warner.RandomizedResponse(Integers(0, 9), 3.0)
    result = estimate(ages.tally(ages.randomize([1, 2, 3] * 400, np.random.default_rng(4))))
    first, again = result.mean().interval(), result.mean().interval(kind="wald")
    assert (first == again).all()
    wide = result.mean().interval(0.99)
    assert wide[0] < first[0] < first[1] < wide[1]
    # Those who reported are fixed: only the mechanism is random.
    assert np.ptp(result.mean().interval(target="respondents")) < np.ptp(first)


def test_numbers_that_are_no_linear_function_keep_their_kinds() -> None:
    ages = warner.RandomizedResponse(Integers(0, 9), 3.0)
    result = estimate(ages.tally(ages.randomize([1, 2, 3] * 400, np.random.default_rng(4))))
    assert (
        result.quantile(0.5).interval() == result.quantile(0.5).interval(kind="posterior")
    ).all()
    with pytest.raises(warner.errors.ArgumentError, match="kind"):
        result.variance().interval(kind="wald")


def test_means_of_those_who_answered_hold_their_estimates() -> None:
    domain = Optional(Integers(0, 6))
    mechanism = warner.RandomizedResponse(domain, 1.5)
    rng = np.random.default_rng(5)
    for answers in ([0] * 50 + [None] * 50, [None] * 100):
        result = estimate(mechanism.tally(mechanism.randomize(answers, rng)))
        assert result.has_posterior_intervals
        for target in ("population", "respondents"):
            low, high = result.mean().interval(target=target, replicates=20, rng=rng)
            assert 0 <= low <= result.mean() <= high <= 6


def test_means_have_such_intervals_where_reports_tell_the_mean_alone() -> None:
    """Stochastic rounding tells no distribution. Rejects the posterior, which the prior decides."""
    mechanism = MECHANISMS["StochasticRounding"](Integers(0, 6), 1.0)
    result = estimate(mechanism.tally(mechanism.randomize([0] * 900, np.random.default_rng(6))))
    assert not result.has_intervals
    low, high = result.mean().interval()
    middle = warner.SampleMean().fit(result.data).mean
    assert middle is not None
    assert low <= result.mean() <= high
    half = 1.96 * np.sqrt(middle.variance[0] / result.n)
    assert high >= min(middle.value[0] + half, 6) - 1e-3
    assert low <= max(middle.value[0] - half, 0) + 1e-3


@pytest.mark.parametrize("level", [0.3, 0.5])
def test_limits_that_cross_are_replaced(level: float) -> None:
    """The wrong program sorts them, so that a lower limit is taken for an upper one."""
    mechanism, points = warner.RandomizedResponse(Integers(0, 9), 1.0), np.arange(10.0)
    z, crossed = NormalDist().inv_cdf((1 + level) / 2), 0
    for seed in range(12):
        reports = mechanism.randomize(np.full(300, 3), np.random.default_rng(seed))
        result = estimate(mechanism.tally(reports))
        shares = UnbiasedShares.of(result, "population")
        assert shares is not None
        low, high = shares.limits(points, z)
        assert low <= high
        raw = shares._limits(points, z, True)
        if raw[0] > raw[1]:
            crossed += 1
            assert [low, high] == shares._limits(points, z, False).tolist()
        else:
            assert [low, high] == raw.tolist()
    assert crossed
