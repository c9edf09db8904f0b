"""Summaries: means, variances, quantiles and ranges, with their limits."""

from __future__ import annotations

import copy
import json
import pickle
import tracemalloc
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import warner
from tests.refusals import refused
from tests.registry import MECHANISMS
from tests.spec.app._command import run
from warner import (
    Categorical,
    Estimate,
    Grid,
    Integers,
    Interval,
    Inversion,
    Laplace,
    Product,
    RandomizedResponse,
    estimate,
)
from warner._core.text import outwards
from warner.domains import Optional
from warner.errors import ArgumentError, ArgumentTypeError
from warner.estimators.base import Fit, LikelihoodData, PosteriorFit
from warner.results.linear_limits import UnbiasedShares
from warner.results.named_summaries import parse, summary_rows
from warner.results.result_files import estimate_rows, table_of_estimates


def _result(
    domain: warner.domains.Domain, n: int = 3000, method: Any = None, epsilon: float = 2.0
) -> Estimate:
    mechanism, rng = warner.RandomizedResponse(domain, epsilon), np.random.default_rng(1)
    index = rng.choice(domain.size, n)
    return warner.estimate(
        mechanism.tally(mechanism.randomize(domain.decode(index), rng)),
        method or warner.Inversion("project"),
    )


def test_a_quantity_is_a_float_that_survives_copies_files_and_arithmetic() -> None:
    mean = _result(Integers(0, 4)).mean()
    rng = np.random.default_rng
    limits = mean.interval(rng=rng(0))
    assert type(mean + 1) is float
    assert json.dumps(mean) == repr(float(mean))
    assert np.asarray([mean]).dtype == float
    for again in (copy.copy(mean), copy.deepcopy(mean), pickle.loads(pickle.dumps(mean))):
        assert again == mean and again.interval(rng=rng(0)) == pytest.approx(limits, rel=1e-9)


def test_intervals_of_every_summary_are_ordered_and_inside_what_it_can_be() -> None:
    for domain, low, high, ends in (
        (Integers(2, 7), 3, 5, (2, 7)),
        (Interval(2, 7, 5), 2.5, 4, (2, 7)),
    ):
        result, span = _result(domain), 25 / 4 + 1
        for found, (least, most) in (
            (result.mean(), ends),
            (result.variance(), (0, span)),
            (result.quantile(0.5), ends),
            (result.quantile(0.01), ends),
            (result.range(low, high), (0, 1)),
        ):
            wide, narrow = (
                found.interval(level, rng=np.random.default_rng(0)) for level in (0.99, 0.5)
            )
            assert wide.shape == (2,)
            assert least <= wide[0] <= narrow[0] <= found <= narrow[1] <= wide[1] <= most


def test_limits_of_a_quantile_of_integers_are_integers() -> None:
    limits = _result(Integers(0, 20), n=500).quantile(0.5).interval(rng=np.random.default_rng(0))
    assert (limits == np.round(limits)).all() and limits[0] < limits[1]


def test_the_zeroth_quantile_is_the_least_value_for_certain() -> None:
    for domain in (Integers(3, 9), Interval(3, 9, 4)):
        least = _result(domain).quantile(0)
        assert least == 3 and least.interval().tolist() == [3, 3]


def test_the_whole_range_has_mass_one_for_certain() -> None:
    for domain in (Integers(3, 9), Interval(3, 9, 4)):
        whole = _result(domain).range(3, 9)
        assert whole == pytest.approx(1) and whole.interval() == pytest.approx([1, 1])


@pytest.mark.parametrize("domain", [Integers(0, 9), Interval(0, 9, 4)])
@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None, True, [0.5]])
def test_shares_that_are_none_are_refused(domain: warner.domains.Domain, q: Any) -> None:
    refused((ArgumentError, ArgumentTypeError), r"^q: must", _result(domain).quantile, q)


@pytest.mark.parametrize("domain", [Integers(0, 9), Interval(0, 9, 4)])
@pytest.mark.parametrize(
    "low, high, name",
    [
        (5, 4, "low"),
        (-1, 4, "low"),
        (0, 9.1, "high"),
        (float("nan"), 4, "low"),
        (0, float("inf"), "high"),
        ("0", 4, "low"),
        (0, None, "high"),
    ],
)
def test_ranges_that_are_none_are_refused(
    domain: warner.domains.Domain, low: Any, high: Any, name: str
) -> None:
    refused((ArgumentError, ArgumentTypeError), f"^{name}: must", _result(domain).range, low, high)


def test_values_without_numbers_or_order_are_refused_with_what_would_do() -> None:
    labels = _result(Categorical(["a", "b", "c"]))
    both = _result(Product(a=Integers(0, 1), b=Integers(0, 1)))
    for result, remedy in (
        (labels, "Use Integers or Interval if the values are numbers"),
        (both, "Estimate the question with numbers by itself"),
    ):
        for ask in (
            result.mean,
            result.variance,
            lambda r=result: r.quantile(0.5),
            lambda r=result: r.range(0, 1),
        ):
            refused(ArgumentTypeError, remedy, ask)
    place = _result(Grid(3, 2))
    for ask in (lambda: place.quantile(0.5), lambda: place.range(0, 1)):
        refused(ArgumentTypeError, r"in an order.*Use mean\(\)", ask)
    for quantity in (*place.mean(), *place.variance()):
        low, high = quantity.interval(rng=np.random.default_rng(0))
        assert low < quantity < high
    # The remedy works: a number for each value.
    assert labels.interval(
        kind="bootstrap", weights=[1, 2, 4], rng=np.random.default_rng(0)
    ).shape == (1, 2)


def test_outside_the_simplex_mean_and_range_take_the_shares_as_they_are_and_the_rest_projects_them() -> (
    None
):
    raw = _result(Integers(0, 9), n=60, method=warner.Inversion(), epsilon=0.5)
    theta, points = raw.probabilities, np.arange(10)
    assert theta.min() < 0
    assert raw.mean() == pytest.approx(theta @ points) and raw.range(2, 4) == pytest.approx(
        theta[2:5].sum()
    )
    near = _result(Integers(0, 9), n=60, epsilon=0.5)  # projected
    assert raw.variance() == pytest.approx(near.variance()) and raw.quantile(0.5) == near.quantile(
        0.5
    )
    for quantity in (raw.mean(), raw.variance(), raw.quantile(0.5), raw.range(2, 4)):
        low, high = quantity.interval(rng=np.random.default_rng(0))
        assert low <= high


def test_fisher_is_for_linear_summaries_and_agrees_with_the_bootstrap() -> None:
    result = _result(Integers(0, 4), n=20_000, method=warner.MaximumLikelihood())
    for quantity in (result.mean(), result.range(1, 2)):
        fisher = quantity.interval(kind="fisher")
        bootstrap = quantity.interval(replicates=1000, rng=np.random.default_rng(0))
        assert np.ptp(fisher) == pytest.approx(np.ptp(bootstrap), rel=0.15)
    for quantity in (result.variance(), result.quantile(0.5)):
        with pytest.raises(ArgumentError, match="kind: must be one of 'bootstrap', 'posterior'"):
            quantity.interval(kind="fisher")
    with pytest.raises(ArgumentTypeError, match="weights"):
        result.interval(kind="fisher", weights=lambda theta: theta[:1])


def _with_posterior(domain: warner.domains.Domain, counts: list[int]) -> Estimate:
    """Answers sent as they are, and the posterior of their shares under a flat prior:
    Dirichlet(counts + 1).
    """
    open_ = warner.RandomizedResponse(domain, float("inf"))
    index = np.repeat(np.arange(domain.size), counts)
    plain = warner.estimate(
        open_.tally(open_.randomize(domain.decode(index))), warner.Inversion("project")
    )
    asked: list[int] = []

    def draws(number: int, rng: np.random.Generator) -> np.ndarray:
        asked.append(number)
        return rng.dirichlet(np.asarray(counts) + 1.0, number)

    return Estimate(
        Fit(
            plain.probabilities.copy(),
            plain.status,
            posterior=PosteriorFit(draws, for_intervals=True),
        ),
        plain.data,
        plain.estimator,
    )


def test_a_posterior_is_of_the_population_where_there_is_one() -> None:
    result = _with_posterior(Integers(0, 3), [40, 30, 20, 10])
    shares = result.interval(kind="posterior", rng=np.random.default_rng(0))
    exact = np.array(
        [[beta.ppf(p, c + 1, 103 - c) for p in (0.025, 0.975)] for c in (40, 30, 20, 10)]
    )
    assert shares == pytest.approx(exact, abs=0.02)
    for quantity in (result.variance(), result.quantile(0.5)):
        low, high = quantity.interval(kind="posterior", rng=np.random.default_rng(0))
        assert low <= quantity <= high
    for kind in ("posterior", None):
        assert result.quantile(0.4).interval(kind=kind).tolist() == [0, 1]  # either is likely
    assert result.mean().interval(target="respondents") == pytest.approx(
        [1, 1]
    )  # by the bootstrap: nothing is random
    with pytest.raises(ArgumentError, match=r"target: must be 'population'.*kind='bootstrap'"):
        result.mean().interval(target="respondents", kind="posterior")
    words = r"is not possible with this estimator.*kind='bootstrap'"
    refused(ArgumentError, words, _result(Integers(0, 3)).interval, kind="posterior")


def test_functions_of_shares_have_intervals() -> None:
    result = _result(Integers(0, 3), n=4000)
    linear = result.interval(kind="bootstrap", weights=np.arange(4.0), rng=np.random.default_rng(0))
    same = result.interval(
        kind="bootstrap", weights=lambda theta: theta @ np.arange(4.0), rng=np.random.default_rng(0)
    )
    assert same == pytest.approx(linear)
    two = result.interval(
        kind="bootstrap",
        weights=lambda theta: np.array([theta[0] / theta[1], theta[2] ** 2]),
        rng=np.random.default_rng(0),
    )
    assert two.shape == (2, 2) and (two[:, 0] < two[:, 1]).all()
    for wrong in (lambda theta: np.nan, lambda theta: np.ones((2, 2))):
        with pytest.raises(ArgumentError, match="returns a list of finite numbers"):
            result.interval(kind="bootstrap", weights=wrong)
    for wrong in (
        {"kind": "average"},
        {"target": "everyone"},
        {"level": 1.0},
        {"kind": "bootstrap", "replicates": 3},
        {"kind": "bootstrap", "rng": 3},
    ):
        refused((ArgumentError, ArgumentTypeError), "", result.mean().interval, **wrong)


# Means and ranges of numbers: which intervals they have by default.


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
        result = estimate(mechanism.tally(reports), warner.Inversion("project"))
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


@pytest.mark.crossed(9)
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


# Summaries that a text names: mean, median, shares above a limit, each with an interval.


def _numbers(domain: Integers | Interval) -> Estimate:
    rng = np.random.default_rng(3)
    mechanism = RandomizedResponse(domain, 3.0)
    values = rng.integers(0, 6, size=2000).tolist()
    return estimate(mechanism.tally(mechanism.randomize(values, rng=rng)), Inversion("project"))


def test_limits_above_and_below_do_not_count_and_those_of_between_do() -> None:
    shares = _numbers(Integers(0, 9))
    rows = summary_rows(shares, parse("below:4,between:4:4,above:4,between:0:4"))
    below, at, above, up_to = (row["estimate"] for row in rows)
    assert below + at + above == pytest.approx(1) and up_to == pytest.approx(below + at)
    assert at == pytest.approx(shares.probabilities[4])


def test_a_limit_within_a_bin_counts_its_part() -> None:
    shares = _numbers(Interval(0, 10, 10))
    rows = summary_rows(shares, parse("above:2.5,below:2.5"))
    p = shares.probabilities
    assert rows[0]["estimate"] == pytest.approx(p[2] / 2 + p[3:].sum())
    assert rows[0]["estimate"] + rows[1]["estimate"] == pytest.approx(1)


def test_rows_are_the_methods_of_the_estimate_and_can_be_made_again() -> None:
    shares = _numbers(Integers(0, 9))
    asked = parse("mean,variance,median,quantile:0.9")
    rows = summary_rows(shares, asked)
    expected = [shares.mean(), shares.variance(), shares.quantile(0.5), shares.quantile(0.9)]
    assert [row["estimate"] for row in rows] == expected
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows)
    assert summary_rows(shares, asked) == rows


def test_summaries_are_left_out_where_values_are_no_numbers() -> None:
    labels = RandomizedResponse(Categorical(["a", "b"]), 3.0)
    assert summary_rows(estimate(labels.tally(labels.randomize(["a"] * 50))), parse("mean")) == []
    places = RandomizedResponse(Grid(2, 2), 3.0)
    found = estimate(places.tally(places.randomize([(0, 1)] * 500)))
    rows = summary_rows(found, parse("mean,median,above:1"))
    assert [row["text"] for row in rows] == ["mean of coordinate 0", "mean of coordinate 1"]


@pytest.mark.parametrize(
    "text", ["", "mode", "mean:1", "above", "above:x", "above:nan", "between:3:1", "quantile:50"]
)
def test_texts_that_name_no_summary_are_refused(text: str) -> None:
    refused(ArgumentError, "summary: ", parse, text)


def test_a_limit_outside_the_domain_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"must be from 0 to 9; got 14"):
        summary_rows(_numbers(Integers(0, 9)), parse("above:14"))


def test_a_mean_is_no_share_beside_the_shares_of_a_question() -> None:
    height = Laplace(Interval(0.0, 100.0, 4), 2.0)
    tally = height.tally(height.randomize(np.full(300, 60.0), np.random.default_rng(1)))
    rows = list(estimate_rows(estimate(tally, "mean"), 0.95, "population"))
    assert [(row["is_share"], "people_about" in row) for row in rows] == [(False, False)]
    (row,) = table_of_estimates([estimate(tally, "mean")], 0.95, "population").rows
    assert row["n"] == 300 and row["people_about"] is None
    assert 40 < rows[0]["estimate"] < 80


def test_a_table_of_quartiles_says_why_their_intervals_are_wide_and_how_they_are_narrower(
    tmp_path: Path,
) -> None:
    """Rejects intervals of whole bins without a word, of an estimate that has narrower ones; the
    sentence where there is no choice; and ``--interval posterior`` of the shares alone.
    """
    minutes = warner.SquareWave(Interval(0, 240, bins=24), 2.0)
    rng = np.random.default_rng(3)
    tally = minutes.tally(minutes.randomize(rng.gamma(4, 20, 4_000).clip(0, 239), rng))
    result, words = warner.estimate(tally), "median and quantiles are of whole bins. If "
    assert words in " ".join(str(result).split())
    assert "whole bins" not in str(warner.estimate(tally, "Inversion"))
    tally.save(tmp_path / "tally.json")
    path = str(tmp_path / "tally.json")
    assert words in run("estimate", path, "--summary", "median").output
    assert "whole bins" not in run("estimate", path, "--summary", "mean,above:60").output
    ages = warner.SquareWave(Integers(0, 90), 2.0)
    of_ages = str(warner.estimate(ages.tally(ages.randomize(rng.integers(20, 60, 4_000), rng))))
    assert "round to the same numbers. If" in " ".join(of_ages.split())
    median, mean = result.quantile(0.5), result.mean()
    low, high = median.interval(kind="posterior")
    assert high - low < np.ptp(median.interval())
    for more in ([], ["--summary", "median,mean"]):
        shown = run("estimate", path, "--interval", "posterior", *more).output
        for least, most in ((low, high), mean.interval()):
            least, most = outwards(least, most, 1)
            assert f"{least:.1f} to {most:.1f}" in shown
        assert (
            "If neighbouring numbers are about equally frequent, the intervals of median" in shown
        )
        assert "whole bins" not in shown
    # Rejects an error that advises what the command does not have.
    labels = warner.RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    labels.tally(labels.randomize(["no", "yes"] * 50)).save(tmp_path / "labels.json")
    refused = {
        "numbers that are estimated as a smooth curve; got": [str(tmp_path / "labels.json")],
        "--target population; got --target respondents": [path, "--target", "respondents"],
    }
    for needed, more in refused.items():
        said = run("estimate", *more, "--interval", "posterior", ok=False).output
        assert f"--interval: posterior needs {needed}" in said
        assert "Leave out --interval" in said and "bootstrap" not in said


@pytest.mark.parametrize("method", [None, "EMS", "Inversion"])
def test_numbers_print_bands_a_mean_and_quartiles_whatever_the_method(method: str | None) -> None:
    """Rejects: the 50 largest of 241 shares, each from 0 to half of all people."""
    minutes = warner.SquareWave(Integers(0, 240), 1.0)
    answers = np.random.default_rng(7).integers(20, 90, 5_000)
    shown = str(warner.estimate(minutes.tally(minutes.randomize(answers)), method))
    for text in ("0 to 49 ", "200 to 240", "mean ", "25 % quantile", "median"):
        assert f"\n{text}" in shown
    assert "largest" not in shown


def test_bands_of_numbers_promise_no_more_than_they_keep() -> None:
    """Rejects the sentence of labels below bands, of which those at a steep edge are held in about
    90 % of surveys (docs/estimators.md), and a hint that `table` is meant by `above`.
    """
    numbers = warner.SquareWave(warner.Interval(0, 120, bins=24), 2.0)
    rng = np.random.default_rng(4)
    result = warner.estimate(numbers.tally(numbers.randomize(rng.uniform(0, 90, 3000), rng)))
    printed = " ".join(str(result).split())
    assert "each holds for its own numbers, but less often where shares of neighbouring" in printed
    assert "of many such intervals" not in printed
    with pytest.raises(AttributeError, match=r"Use range\(\)"):
        result.above(60)  # type: ignore[attr-defined]
    rule = "truth: must name values of the question; got '0 to 5'"
    with pytest.raises(warner.errors.ArgumentError, match=rule):
        result.plot(truth={"0 to 5": 0.5})  # type: ignore[arg-type]


def test_few_bins_are_printed_by_their_limits_and_given_by_their_middles() -> None:
    """Rejects "25" for the bin from 0 to 50, which a reader takes for an answer."""
    device = RandomizedResponse(Interval(0, 600, bins=12), 2.0)
    rng = np.random.default_rng(3)
    result = estimate(device.tally(device.randomize([10.0] * 600 + [520.0] * 400, rng)))
    printed = str(result)
    assert "\n0 to 50 " in printed and "\n550 to 600 " in printed and "25.0" not in printed
    assert [row["value"] for row in result.rows()[:2]] == [25.0, 75.0]
