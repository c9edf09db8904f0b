"""Means and ranges of numbers: which intervals they have by default."""

from __future__ import annotations

import tracemalloc
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from warner import Integers, estimate
from warner.domains import Optional
from warner.estimators.base import LikelihoodData
from warner.results.estimate import Estimate
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


@pytest.mark.parametrize("name", NAMES)
def test_variances_and_quantiles_have_such_intervals_whatever_the_method(name: str) -> None:
    """Rejects the posterior, and an interval that depends on how the shares are estimated."""
    mechanism = MECHANISMS[name](Integers(0, 6), 0.7)
    rng = np.random.default_rng(4)
    tally = mechanism.tally(mechanism.randomize([1, 2, 3] * 400, rng))
    results = [estimate(tally), estimate(tally, "mle")]
    for number, most in ((lambda e: e.variance(), 9), (lambda e: e.quantile(0.9), 6)):
        bounds = [number(result)._around(1.96, "population") for result in results]
        assert bounds[0] == pytest.approx(bounds[1], abs=0.05 * most)
        for result in results:
            for target in ("population", "respondents"):
                low, high = number(result).interval(target=target)
                assert 0 <= low <= number(result) <= high <= most
            default, wald = (number(result).interval(kind=kind) for kind in (None, "wald"))
            assert (default == wald).all()


def test_without_information_the_whole_range_is_left() -> None:
    """The log-spline says [.11, .89] of the median, and that is its prior alone."""
    mechanism = warner.SquareWave(warner.Interval(0, 1, bins=32), 1e-6)
    reports = mechanism.randomize(np.full(500, 0.3), np.random.default_rng(5))
    result = estimate(mechanism.tally(reports))
    for q in (0.1, 0.5, 0.9):
        assert result.quantile(q).interval().tolist() == [0, 1]
    low, high = result.variance().interval()
    assert low < 0.001 and high > 0.2
    low, high = result.mean().interval()
    assert low < 0.02 or high > 0.98
    assert high - low > 0.9


def test_what_reports_do_not_determine_has_its_whole_range() -> None:
    """Stochastic rounding tells the mean alone. The posterior of a log-spline looks like more."""
    mechanism = MECHANISMS["StochasticRounding"](Integers(0, 6), 1.0)
    reports = mechanism.randomize([0, 6] * 450, np.random.default_rng(6))
    result = estimate(mechanism.tally(reports), warner.LogSpline())
    assert result.variance().interval().tolist() == [0, 9]
    assert result.quantile(0.5).interval().tolist() == [0, 6]


def test_quantiles_of_bins_are_made_of_whole_bins() -> None:
    """A quarter of all people are at 0 exactly. Rejects a quantile inside the first bin, which
    supposes that the numbers of a bin are spread evenly.
    """
    mechanism = warner.RandomizedResponse(warner.Interval(0, 1, bins=16), 6.0)
    values = np.append(np.zeros(1000), np.linspace(0, 1, 3000))
    reports = mechanism.randomize(values, np.random.default_rng(7))
    low, high = estimate(mechanism.tally(reports)).quantile(0.2).interval()
    assert low == 0 and high == 1 / 16


@pytest.mark.parametrize("epsilon", [1.0, np.inf])
@pytest.mark.parametrize("values", [[0], [1], [0, 1], [0] * 300, [0] * 300 + [1] * 300])
def test_variances_and_quantiles_of_two_values_and_of_one_report(
    epsilon: float, values: list[int]
) -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 1), epsilon)
    result = estimate(mechanism.tally(mechanism.randomize(values, np.random.default_rng(8))))
    for target in ("population", "respondents"):
        low, high = result.variance().interval(target=target)
        assert 0 <= low <= result.variance() <= high <= 0.25
        low, high = result.quantile(0.5).interval(target=target)
        assert low in (0, 1) and high in (0, 1) and low <= result.quantile(0.5) <= high
    if len(values) == 300:
        assert result.quantile(0.5).interval().tolist() == [0, 0]


def test_ten_thousand_integers_take_no_matrix_of_their_pairs() -> None:
    """It would have 800 MB, and its inverse takes minutes."""
    mechanism = warner.RandomizedResponse(Integers(0, 9999), 8.0)
    rng = np.random.default_rng(9)
    result = estimate(mechanism.tally(mechanism.randomize(rng.integers(2000, 3000, 20_000), rng)))
    tracemalloc.start()
    for number, truth in ((result.quantile(0.5), 2500), (result.variance(), 1000**2 / 12)):
        low, high = number.interval()
        assert low <= number <= high and low <= truth <= high
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()
    low, high = result.quantile(0.5).interval()
    assert high - low < 500


def test_places_have_variances_without_a_bootstrap() -> None:
    mechanism = warner.RandomizedResponse(warner.Grid(4, 3), 3.0)
    cells = np.random.default_rng(10).integers(0, 2, (2000, 2))
    result = estimate(mechanism.tally(mechanism.randomize(cells, np.random.default_rng(11))))
    for number in result.variance():
        low, high = number.interval()
        assert low <= number <= high and low < 0.25 < high and high - low < 0.4
        assert (number.interval(kind="wald") == [low, high]).all()


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
    middle = warner.estimators.SampleMean().fit(result.data).mean
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


BEYOND = [
    (warner.RandomizedResponse, 8.0, 3000),
    (warner.UnaryEncoding, 4.0, 600),
    (warner.UnaryEncoding, 4.0, 3000),
    (warner.LocalHashing, 4.0, 600),
    (warner.HadamardResponse, 4.0, 600),
    (warner.SubsetSelection, 4.0, 600),
    (warner.SquareWave, 5.0, 2000),
    (warner.mechanisms.Geometric, 0.05, 3000),
]


@pytest.mark.parametrize("make, epsilon, size", BEYOND)
@pytest.mark.parametrize("shape", ["ends", "middle"])
def test_numbers_in_cells_have_intervals_that_hold(
    make: Any, epsilon: float, size: int, shape: str
) -> None:
    """Everybody at both ends, or a narrow peak. Rejects sums of cells that are not estimates of
    their shares, and limits that take the numbers of a cell for one number.
    """
    mechanism = make(warner.Integers(0, size - 1), epsilon)
    x = np.arange(size)
    theta = (x % (size - 1) == 0) + 0.0
    if shape == "middle":
        theta = np.exp(-(((x - 0.4 * size) / (0.03 * size)) ** 2) / 2)
    theta /= theta.sum()
    rng = np.random.default_rng(8)
    channel, w = mechanism.channel().simulate_tally(theta, 20_000, rng)
    data = LikelihoodData(channel, w, 20_000, mechanism.domain)
    method = warner.MaximumLikelihood(1e-2)
    result = Estimate(method.fit(data), data, method)
    variance = float(theta @ x**2 - (theta @ x) ** 2)
    low, high = result.variance().interval(0.999)
    assert low * (1 - 1e-9) <= variance <= high * (1 + 1e-9)
    for q in (0.1, 0.9):
        low, high = result.quantile(q).interval(0.999)
        assert low <= np.searchsorted(theta.cumsum(), q) <= high
        assert shape == "ends" or high - low < size
