"""Intervals of shares: score, average, simultaneous and those of every look."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.refusals import refused
from tests.registry import MECHANISMS, SEEING
from tests.spec.app._command import run
from warner import (
    Categorical,
    EmpiricalBayes,
    HadamardResponse,
    Integers,
    Interval,
    Inversion,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from warner._core.progress import Stage
from warner.app.cli import main
from warner.app.report.question import Question, Settings
from warner.channels import DenseChannel
from warner.domains import with_missing
from warner.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError, WarnerError
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData, score as score_of
from warner.mechanisms import Laplace, Mechanism, Repeated, UtilityOptimizedRappor
from warner.reports.tally_kinds import Counted, Histogram
from warner.results import summaries
from warner.results.charts import chart
from warner.results.estimate import Estimate
from warner.results.from_tally import likelihood_data
from warner.results.intervals import (
    anytime_factor,
    anytime_of_functions,
    normal_quantile,
    score,
    wald,
)
from warner.results.result_files import table_of_estimates
from warner.results.share_noise import _Levels

SIZE, PEOPLE, RUNS = 4, 2000, 500


def test_fisher_is_wald_where_the_maximum_is_the_inversion_and_tighter_where_reports_say_more() -> (
    None
):
    rng = np.random.default_rng(4)
    values = rng.choice(SIZE, 20_000, p=[0.4, 0.3, 0.2, 0.1])
    for name in ("RandomizedResponse", "MatrixMechanism", "LocalHashing binary"):
        mechanism = MECHANISMS[name](warner.Integers(0, SIZE - 1), 2.0)
        result = warner.estimate(
            mechanism.tally(mechanism.randomize(values, rng)), warner.MaximumLikelihood()
        )
        for target in ("population", "respondents"):
            ratio = np.diff(result.interval(0.95, target, "fisher")) / np.diff(
                result.interval(0.95, target, "wald")
            )
            if name == "RandomizedResponse":
                assert ratio == pytest.approx(np.ones((SIZE, 1)), rel=1e-6)
            else:
                assert (ratio < 1).all() and ratio.min() < 0.998


def test_fisher_intervals_ignore_reports_that_nobody_makes() -> None:
    """Rejects the program that takes the observed information where a row of A is 0: 0 / 0."""
    domain, truth = Categorical(["a", "b", "c"]), np.array([0.5, 0.3, 0.2])
    table = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    found = []
    for rows in (table, np.vstack([table, np.zeros(3)])):
        data = LikelihoodData(DenseChannel(rows), rows @ truth, 1000, domain)
        maximum = warner.MaximumLikelihood()
        found.append(Estimate(maximum.fit(data), data, maximum).interval(kind="fisher"))
    assert found[1] == pytest.approx(found[0], abs=1e-9)


def test_fisher_intervals_refuse_the_border_and_what_is_no_maximum() -> None:
    rng = np.random.default_rng(0)
    coin = warner.RandomizedResponse(warner.Integers(0, 3), 1.0)
    tally = coin.tally(coin.randomize([0, 0, 1] * 300, rng))
    with pytest.raises(ArgumentError, match="no share of 0"):
        warner.estimate(tally, warner.MaximumLikelihood()).interval(kind="fisher")
    with pytest.raises(ArgumentError, match=r"the best fit .*; got Exp.*'bootstrap'\.$"):
        warner.estimate(tally, warner.ExpectationMaximization(5)).interval(kind="fisher")
    bits = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    reports = bits.randomize([0, 1, 2, 3] * 3000, rng)
    with pytest.raises(ArgumentError, match=r"complete reports .* keep_reports=True"):
        warner.estimate(bits.tally(reports), warner.MaximumLikelihood()).interval(kind="fisher")
    kept = warner.estimate(bits.tally(reports, keep_reports=True), warner.MaximumLikelihood())
    assert (np.diff(kept.interval(kind="fisher")) < np.diff(kept.interval())).all()
    blind = warner.MatrixMechanism(warner.Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    flat = warner.estimate(
        blind.tally(blind.randomize([0, 1, 2, 2] * 100, rng)), warner.MaximumLikelihood()
    )
    refused(WarnerError, "", flat.interval, kind="fisher")


def test_bootstraps_refuse_what_they_cannot_do() -> None:
    mechanism = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    reports = mechanism.randomize([0, 1, 2, 3] * 50, np.random.default_rng(0))
    result = warner.estimate(mechanism.tally(reports), warner.Inversion("project"))
    assert result.interval(kind="bootstrap", rng=np.random.default_rng(0)).shape == (4, 2)
    for wrong in (
        {"kind": "jackknife"},
        {"kind": "bootstrap", "target": "everyone"},
        {"kind": "bootstrap", "weights": [1, 2]},
        {"kind": "bootstrap", "weights": "mean"},
        {"kind": "fisher"},
        {"kind": "bootstrap", "replicates": 5},
        {"kind": "bootstrap", "rng": 3},
        {"weights": np.eye(4)},
    ):
        refused(WarnerError, "", result.interval, **wrong)
    hashes = warner.LocalHashing(warner.Integers(0, 3), 1.0, whole_reports=False)
    kept = hashes.tally(hashes.randomize([0, 1, 2, 3] * 50), keep_reports=True)
    with pytest.raises(ArgumentError, match="has only the reports that came in"):
        warner.estimate(kept, warner.MaximumLikelihood()).interval(kind="bootstrap")


def test_kept_reports_of_bits_are_drawn_anew() -> None:
    """Rejects the program that draws among the reports that were observed."""
    domain = warner.Integers(0, 3)
    for mechanism in (
        warner.UnaryEncoding(domain, 3.0),
        warner.SubsetSelection(domain, 1.0, 2),
        UtilityOptimizedRappor(domain, 2.0, sensitive=[0, 1]),
    ):
        reports = mechanism.randomize([0, 1, 1, 2, 3, 3, 3] * 20)
        channel = likelihood_data(mechanism.tally(reports, keep_reports=True)).channel
        shares, rng = np.array([0.1, 0.2, 0.3, 0.4]), np.random.default_rng(5)
        drawn, weights = channel.simulate_tally(shares, 200_000, rng)
        assert drawn.invert(weights) == pytest.approx(shares, abs=0.03)
        # Rows are the chances of reports, up to a factor of each: at the truth the score is 1.
        assert score_of(drawn, weights, shares) == pytest.approx(np.ones(4), abs=0.05)


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


def test_intervals_are_asked_for_by_level_and_target(tally: warner.Tally) -> None:
    result = warner.estimate(tally)
    wide, narrow = result.interval(0.99), result.interval(0.5)
    assert (wide[:, 0] <= narrow[:, 0]).all() and (narrow[:, 1] <= wide[:, 1]).all()
    fixed = result.interval(0.95, "respondents")
    assert (
        (fixed[:, 1] - fixed[:, 0]) <= (result.interval()[:, 1] - result.interval()[:, 0]) + 1e-15
    ).all()
    for level in (0, 1, -0.5, 1.5, float("nan"), "0.9"):
        refused((ArgumentError, ArgumentTypeError), "level", result.interval, level)
    with pytest.raises(ArgumentError, match="target: must be one of 'population', 'respondents'"):
        result.interval(target="everybody")


def test_a_probability_of_error_is_no_level() -> None:
    """Rejects the program that answers level=0.05 by an interval that misses in 19 of 20 cases."""
    both = warner.Product(a=Categorical(["x", "y"]), b=Integers(0, 3))
    mechanism = RandomizedResponse(both, 2.0)
    answers = [{"a": "x", "b": 1}, {"a": "y", "b": 2}, {"a": "y", "b": 3}] * 50
    joint = estimate(mechanism.tally(mechanism.randomize(answers)))
    ages = RandomizedResponse(Integers(0, 3), 2.0)
    b, other = (ages.tally(ages.randomize([0, 1, 2, 3] * 50)) for _ in "ab")
    one = estimate(b)
    groups = {"a": b, "b": other}
    kinds = ["wald", "average", "simultaneous", "bootstrap", "anytime:9"]
    calls: list[Callable[[float], object]] = [
        *(partial(one.interval, kind=kind) for kind in kinds),
        partial(estimate(b, warner.LogSpline()).interval, kind="posterior"),
        one.rows,
        one.to_json,
        partial(one.top, 2),
        one.ranks,
        lambda level: one.mean().interval(level),
        lambda level: one.variance().interval(level),
        lambda level: one.quantile(0.5).interval(level),
        lambda level: joint.cramers_v("a", "b").interval(level),
        lambda level: warner.compare_groups(groups, level=level),
        lambda level: warner.compare_groups(groups, of=0.5, level=level),
        lambda level: warner.weighted(groups, weights={"a": 1, "b": 2}).interval(level),
        lambda level: estimate(groups).interval(level),
    ]
    for call in calls:
        refused(ArgumentError, r"0\.05\. Did you mean 0\.95\?", call, 0.05)


def test_wald_intervals_are_the_formula() -> None:
    """k-RR for a population: theta + z sqrt(mu (1 - mu) / n) / (p - q), mu the true report rate."""
    mechanism = warner.RandomizedResponse(warner.Integers(0, 1), np.log(3))
    tally = warner.Tally(
        mechanism.header, Counted.together(Histogram(), np.array([6000, 4000]), 10_000)
    )
    half = 1.959963984540054 * np.sqrt(0.6 * 0.4 / 10_000) / 0.5
    assert warner.estimate(tally).interval(kind="wald")[0] == pytest.approx(
        [0.7 - half, 0.7 + half], abs=1e-9
    )
    fixed = (
        1.959963984540054 * np.sqrt((0.75 * 0.25) / 10_000) / 0.5
    )  # every device adds the same binomial variance
    assert warner.estimate(tally).interval(target="respondents", kind="wald")[0] == pytest.approx(
        [0.7 - fixed, 0.7 + fixed], abs=1e-9
    )


def test_without_protection_respondents_are_known_exactly() -> None:
    open_ = warner.RandomizedResponse(warner.Integers(0, 2), float("inf"))
    result = warner.estimate(open_.tally(open_.randomize([0, 0, 1, 2])))
    assert result.interval(target="respondents") == pytest.approx(
        np.array([[0.5, 0.5], [0.25, 0.25], [0.25, 0.25]])
    )


def test_an_interval_holds_its_estimate_even_where_that_was_shrunk() -> None:
    """Even shares of 25 values: some are shrunk out of their Wald intervals, which are then
    widened; asked for by kind they are as they were.
    """
    mechanism = warner.RandomizedResponse(Categorical(list(range(25))), 0.5)
    rng = np.random.default_rng(2)
    outside = 0
    for _ in range(20):
        tally = mechanism.tally(mechanism.randomize(rng.integers(0, 25, 2000), rng))
        result = warner.estimate(tally)
        pure, held, p = result.interval(kind="wald"), result.interval(), result.probabilities
        outside += int(np.count_nonzero((p < pure[:, 0]) | (p > pure[:, 1])))
        assert ((held[:, 0] <= p) & (p <= held[:, 1])).all()
        assert ((held[:, 0] <= pure[:, 0]) & (pure[:, 1] <= held[:, 1])).all()
    assert outside > 0


def test_bootstrap_limits_are_reflected_around_the_estimate() -> None:
    """2 f - upper quantile, 2 f - lower quantile: an estimator that only errs upwards has its truth
    below, so its interval lies below.

    The wrong program that reports the quantiles themselves puts it above.
    """

    class Upward(warner.Inversion):
        def _fit(self, data):  # type: ignore[no-untyped-def]
            fit = super()._fit(data)
            raised = fit.probabilities + np.array([0.1, 0.0])
            return type(fit)(raised, warner.estimators.base.Status.OUTSIDE_SIMPLEX)

    coin = warner.RandomizedResponse(warner.Integers(0, 1), 3.0)
    rng = np.random.default_rng(0)
    result = warner.estimate(coin.tally(coin.randomize([0] * 4000 + [1] * 6000, rng)), Upward())
    low, high = result.interval(kind="bootstrap", rng=rng)[0]
    assert high < result.probabilities[0] - 0.05 and low < 0.4 < high + 0.05


SEX, AGE = Categorical(["f", "m"]), Integers(0, 3)


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_intervals_of_repeated_reports(target: str) -> None:
    mechanism = Repeated(
        [
            RandomizedResponse(AGE, 1.0),
            RandomizedResponse(AGE, 1.0),
            warner.HadamardResponse(AGE, 1.0),
        ]
    )
    rng = np.random.default_rng(0)
    found = estimate(
        mechanism.tally(mechanism.randomize(rng.integers(0, 4, 3000), rng)), warner.Inversion()
    )
    wald = found.interval(target=target)
    boot = found.interval(target=target, kind="bootstrap", replicates=100, rng=rng)
    assert np.diff(boot, axis=1) == pytest.approx(np.diff(wald, axis=1), rel=0.45)
    bits = Repeated(UnaryEncoding(AGE, 1.0), 2)
    with pytest.raises(ArgumentError, match="only the reports that came in"):
        estimate(bits.tally(bits.randomize([0, 1, 2])), warner.Inversion()).interval(
            kind="bootstrap"
        )


# Score intervals: what they promise, and where a table says that an estimate is shrunk.


JOBS, ASKED, DRAWS = 60, 1500, 100
ZIPF = 1 / np.arange(1.0, JOBS + 1)
ZIPF /= ZIPF.sum()
MANY = RandomizedResponse(Categorical([f"j{i:02}" for i in range(JOBS)]), 1.0)


@cache
def _surveys() -> list[Estimate]:
    """Default estimates of simulated surveys with shares that fall like 1 / x."""
    rng, found = np.random.default_rng(1), []
    for _ in range(DRAWS):
        weights = MANY.channel().simulate(ZIPF, ASKED, rng)
        data = LikelihoodData(MANY.channel(), weights, ASKED, MANY.domain)
        found.append(Estimate(EmpiricalBayes().fit(data), data, EmpiricalBayes()))
    return found


def test_the_largest_share_and_the_one_reported_as_largest_are_held() -> None:
    """Rejects intervals that hold on average, and Wald's: they held the share that was reported as
    largest in about half of these surveys.
    """
    truly = reported = plain = 0
    for result in _surveys():
        bounds, first = result.interval(), int(result.probabilities.argmax())
        truly += bounds[0, 0] <= ZIPF[0] <= bounds[0, 1]
        reported += bounds[first, 0] <= ZIPF[first] <= bounds[first, 1]
        low, high = result.interval(kind="wald")[first]
        plain += low <= ZIPF[first] <= high
    assert min(truly, reported) >= 0.93 * DRAWS - 2 * (DRAWS * 0.95 * 0.05) ** 0.5
    assert plain < 0.8 * DRAWS


def test_an_estimate_that_its_own_reports_exclude_is_marked_with_what_they_say() -> None:
    """Rejects a table that shows a share shrunk far below its reports without a word."""
    marked = 0
    for result in _surveys()[:20]:
        row, (low, high) = result.rows()[0], result.interval(kind="wald")[0]
        assert row["low"] <= row["estimate"] <= row["high"]
        if row["shrunk_from"] is None:
            assert row["estimate"] > low - 0.02
            continue
        marked += 1
        assert low <= row["shrunk_from"] <= high and row["estimate"] < row["shrunk_from"]
        assert f"shrunk from {row['shrunk_from']:.4g}" in repr(result["j00"])
        assert result["j00"].shrunk_from == row["shrunk_from"]
        assert re.search(r"the share would be .*j00", result._repr_html_())
    assert marked >= 5


def test_the_mark_is_in_tables_files_and_reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    result = next(r for r in _surveys()[:20] if r.rows()[0]["shrunk_from"] is not None)
    counts = np.round(result.data.weights * ASKED).astype(np.int64)
    tally = warner.Tally(MANY.header, Counted.together(Histogram(), counts, ASKED))
    path = tmp_path_factory.mktemp("shrunk") / "t.json"
    tally.save(path)
    unbiased = result.rows()[0]["shrunk_from"]
    shown = CliRunner().invoke(main, ["estimate", str(path)]).output
    assert (
        "* This share was moved towards the other shares" in shown
        and f"{100 * unbiased:.2f} % for j00" in shown
    )
    assert f"{100 * result.probabilities[0]:.0f} %  *" in shown  # of intervals of 20 points
    lines = list(
        csv.DictReader(io.StringIO(table_of_estimates([result], 0.95, "population").csv()))
    )
    assert float(lines[0]["shrunk_from"]) == unbiased and lines[30]["shrunk_from"] == ""
    frame = result.to_frame().to_pylist()
    assert frame[0]["shrunk_from"] == unbiased and np.isnan(frame[30]["shrunk_from"])
    blocks = str(Question(result, Settings(top=100)).section().blocks)
    assert (
        "moved towards the other shares" in blocks
        and f"{100 * unbiased:.1f}\\xa0% for j00" in blocks
    )


@pytest.mark.crossed(40)
@pytest.mark.parametrize("name", SEEING)
@pytest.mark.parametrize(
    ("n", "epsilon"), [(1, 1.0), (2, 1.0), (50, 1.0), (10**6, 1.0), (1000, 20.0)]
)
def test_limits_are_shares_around_the_estimates_of_every_mechanism(
    name: str, n: int, epsilon: float
) -> None:
    """Rejects limits of respondents that cross where reports have hardly any noise."""
    if "Hashing" in name:
        epsilon = min(epsilon, 7.0)  # there are about e^epsilon buckets
    channel = MECHANISMS[name](Integers(0, 7), epsilon).channel()
    weights = channel.simulate(np.arange(8) / 28, n, np.random.default_rng(n))
    data = LikelihoodData(channel, weights, n, Integers(0, 7))
    centre = np.clip(channel.invert(weights), 0.0, 1.0)
    for target in ("population", "respondents"):
        alone, chosen = score(data, None, 0.95, target), score(data, centre, 0.95, target)
        for low, high in (alone.T, chosen.T):
            assert ((low >= 0) & (low <= centre + 1e-9)).all()
            assert ((high <= 1) & (high >= centre - 1e-9)).all()
        assert (alone[:, 1] == chosen[:, 1]).all()
        assert (chosen[:, 0] <= alone[:, 0] + 1e-9).all()


def test_of_two_values_nothing_was_chosen_and_without_noise_it_is_wilsons_interval() -> None:
    """8 of 10 people: 0.4902 to 0.9433 (Wilson 1927). Of the respondents it is 0.8 itself."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), np.inf)
    for yes, limits in ((8, (0.4902, 0.9433)), (0, (0.0, 0.2775)), (10, (0.7225, 1.0))):
        tally = warner.Tally(
            coin.header, Counted.together(Histogram(), np.array([10 - yes, yes]), 10)
        )
        result = warner.estimate(tally, Inversion())
        assert result.interval()[1] == pytest.approx(limits, abs=1e-4)
        assert result.interval()[0] == pytest.approx(1 - result.interval()[1][::-1])
        assert result.interval(target="respondents")[1] == pytest.approx(yes / 10)
    assert warner.estimate(tally).rows()[1]["shrunk_from"] is None


def test_with_many_people_it_is_walds_interval_but_for_the_rank() -> None:
    """The r-th of K estimates has the lower level r alpha / (2 (K - 1))."""
    channel, n = MANY.channel(), 10**8
    data = LikelihoodData(channel, channel.matvec(ZIPF), n, MANY.domain)
    plain, each = score(data), wald(data)
    assert plain == pytest.approx(each, abs=1e-6)
    below = (ZIPF - score(data, ZIPF)[:, 0]) / (ZIPF - each[:, 0])
    normal = 3.3378  # Phi(-3.3378) = 0.025 / 59
    assert below[0] == pytest.approx(normal / 1.95996, abs=2e-3)
    assert below[-1] == pytest.approx(1, abs=1e-3) and (np.diff(below) < 1e-6).all()


def test_equal_estimates_have_equal_intervals_and_the_order_of_values_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    channel = MANY.channel()
    data = LikelihoodData(
        channel,
        np.full(JOBS, 1 / JOBS),
        ASKED,
        MANY.domain,
    )
    assert np.ptp(score(data, np.full(JOBS, 1 / JOBS)), axis=0) == pytest.approx(0, abs=1e-12)
    weights = channel.simulate(ZIPF, ASKED, rng)
    order = rng.permutation(JOBS)
    data, turned = (
        LikelihoodData(channel, w, ASKED, MANY.domain) for w in (weights, weights[order])
    )
    assert score(turned, weights[order]) == pytest.approx(score(data, weights)[order], abs=1e-12)


def test_every_table_of_shares_has_them_by_default() -> None:
    """Margins, groups, keys with values and tables of weights, and channels without an inverse."""
    rng = np.random.default_rng(0)
    people = warner.Product(a=Integers(0, 5), b=Integers(0, 5))
    joint = RandomizedResponse(people, 3.0)
    answers = people.decode(rng.choice(36, 3000))
    margin = warner.estimate(joint.tally(joint.randomize(answers, rng))).marginal("a")
    assert margin.interval_kind() == "score"
    assert (margin.interval() == margin.interval(kind="score")).all()
    groups = {
        name: MANY.tally(MANY.randomize(rng.choice(MANY.domain.labels, 300, p=ZIPF).tolist(), rng))
        for name in ("north", "south", "west")
    }
    pooled = warner.estimate(groups, pool="partial")
    assert pooled.interval_kind("respondents") == "score"
    score_of, wald_of = (pooled.interval(kind=kind) for kind in ("score", "wald"))
    assert score_of.shape == wald_of.shape and (score_of != wald_of).any()
    blind = warner.MatrixMechanism(Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    flat = warner.estimate(blind.tally(blind.randomize([0, 1, 2] * 50, rng)), "mle")
    assert flat.interval_kind() == "none"
    assert {(row["low"], row["high"], row["shrunk_from"]) for row in flat.rows()} == {
        (0.0, 1.0, None)
    }


# Intervals of average coverage: what they promise, one sentence a test.


RANKED, SENDERS = 40, 3000
SHARES = 1 / np.arange(1.0, RANKED + 1)
SHARES /= SHARES.sum()


def _estimate(mechanism: Mechanism, method: Estimator, seed: int = 0) -> Estimate:
    """An estimate from a tally of PEOPLE reports, drawn from its law."""
    channel, rng = mechanism.channel(), np.random.default_rng(seed)
    size = mechanism.domain.size
    weights = channel.simulate(SHARES[:size] / SHARES[:size].sum(), SENDERS, rng)
    data = LikelihoodData(channel, weights, SENDERS, mechanism.domain)
    return Estimate(method.fit(data), data, method)


@pytest.mark.parametrize("name", SEEING)
def test_intervals_hold_the_estimate_for_every_mechanism(name: str) -> None:
    for target, method in (("population", EmpiricalBayes()), ("respondents", Inversion())):
        result = _estimate(MECHANISMS[name](Integers(0, 7), 1.0), method)
        low, high = result.interval(target=target, kind="average").T
        given = np.clip(result.probabilities, 0.0, 1.0)
        assert ((low >= 0) & (low <= given) & (given <= high) & (high <= 1)).all()


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_intervals_hold_the_unbiased_estimate_to_rounding(epsilon: float) -> None:
    """Each share is missed at most half of the time, so the middle of the noise is inside."""
    result = _estimate(
        RandomizedResponse(Categorical(list(range(RANKED))), epsilon),
        EmpiricalBayes(),
    )
    low, high = result.interval(kind="average").T
    centre = np.clip(result.data.channel.invert(result.data.weights), 0.0, 1.0)
    noise = np.diff(result.interval(kind="wald"))[:, 0] / 4
    outside = np.maximum(low - centre, centre - high)
    assert (outside < 0.25 * noise).all()


def test_intervals_are_much_shorter_than_those_of_each_value() -> None:
    for epsilon, most in ((0.5, 0.6), (1.0, 0.7), (2.0, 0.9)):
        mechanism = RandomizedResponse(Categorical(list(range(RANKED))), epsilon)
        result = _estimate(mechanism, EmpiricalBayes())
        average, wald = (np.diff(result.interval(kind=kind)).mean() for kind in ("average", "wald"))
        assert average < most * wald


def test_a_marginal_keeps_intervals_of_each_value_and_has_the_others_when_asked() -> None:
    people = warner.Product(a=Integers(0, 5), b=Integers(0, 5))
    result = _estimate(RandomizedResponse(people, 3.0), EmpiricalBayes(order=False))
    margin = result.marginal("a")
    assert margin.interval_kind() == "score"
    for kind in ("average", "simultaneous"):
        low, high = margin.interval(kind=kind).T
        assert low.shape == (6,)
        assert ((low <= margin.probabilities) & (margin.probabilities <= high)).all()


def test_a_large_share_among_very_many_has_an_interval_near_it() -> None:
    """Where almost all shares are small, no test gives all its level to one side."""
    size, people = 20_000, 200_000
    shares = 1 / np.arange(1.0, size + 1)
    channel = HadamardResponse(Integers(0, size - 1), 2.0).channel()
    weights = channel.simulate(shares / shares.sum(), people, np.random.default_rng(0))
    data = LikelihoodData(channel, weights, people, Integers(0, size - 1))
    result = Estimate(EmpiricalBayes().fit(data), data, EmpiricalBayes())
    width = np.diff(result.interval(kind="average"))[:, 0]
    assert (width[:5] < 1.5 * np.diff(result.interval(kind="wald"))[:5, 0]).all()


def test_a_higher_level_makes_wider_intervals() -> None:
    result = _estimate(
        RandomizedResponse(Categorical(list(range(RANKED))), 1.0),
        EmpiricalBayes(),
    )
    widths = [np.diff(result.interval(level, kind="average")).mean() for level in (0.5, 0.8, 0.99)]
    assert widths == sorted(widths)


def test_intervals_do_not_depend_on_the_order_of_the_values() -> None:
    mechanism = RandomizedResponse(Categorical(list(range(RANKED))), 2.0)
    result = _estimate(mechanism, EmpiricalBayes(order=False))
    order = np.arange(RANKED)[::-1]
    data = result.data
    turned = LikelihoodData(data.channel, data.weights[order], SENDERS, mechanism.domain)
    method = EmpiricalBayes(order=False)
    other = Estimate(method.fit(turned), turned, method)
    assert other.interval(kind="average") == pytest.approx(
        result.interval(kind="average")[order], abs=1e-6
    )


def test_answers_without_noise_have_intervals_around_their_shares() -> None:
    result = _estimate(RandomizedResponse(Integers(0, 39), np.inf), Inversion("project"))
    for target in ("population", "respondents"):
        low, high = result.interval(target=target, kind="average").T
        assert ((low <= result.probabilities) & (result.probabilities <= high)).all()


def test_other_kinds_refuse_what_they_do_not_need() -> None:
    result = _estimate(RandomizedResponse(Integers(0, 7), 1.0), EmpiricalBayes())
    for kind in ("average", "simultaneous", "anytime"):
        rule = (
            f"weights: cannot be combined with intervals of the kind '{kind}'. Use kind='bootstrap'"
        )
        with pytest.raises(ArgumentError, match=rule):
            result.interval(kind=kind, weights=np.eye(8), planned=10)
        refused(ArgumentError, "target", result.interval, kind=kind, target="everyone", planned=10)
    refused(ArgumentTypeError, "first look", result.interval, kind="anytime")
    blind = warner.MatrixMechanism(Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    flat = _estimate(blind, warner.MaximumLikelihood())
    for kind in ("average", "simultaneous", "anytime"):
        refused(IdentifiabilityError, "", flat.interval, kind=kind, planned=10)


def test_bands_are_wider_than_intervals_of_each_value_and_narrower_than_bonferroni() -> None:
    result = _estimate(
        RandomizedResponse(Categorical(list(range(RANKED))), 3.0),
        EmpiricalBayes(),
    )
    band, each = (result.interval(kind=kind) for kind in ("simultaneous", "wald"))
    bonferroni = result.interval(1 - 0.05 / RANKED, kind="wald")
    inside = (band[:, 0] > 0) & (band[:, 1] < 1)
    width, least, most = (np.diff(v)[:, 0] for v in (band, each, bonferroni))
    assert inside.any() and (width > least)[inside].all() and (width < most)[inside].all()
    assert (result.interval(kind="simultaneous") == band).all()


def test_bands_exist_where_reports_cannot_be_simulated_and_for_many_values() -> None:
    bits = warner.UnaryEncoding(Integers(0, 3), 1.0)
    reports = bits.randomize([0, 1, 2, 3] * 300, np.random.default_rng(0))
    kept = warner.estimate(bits.tally(reports, keep_reports=True), warner.MaximumLikelihood())
    summed = warner.estimate(bits.tally(reports), warner.MaximumLikelihood())
    widths = [np.diff(e.interval(kind="simultaneous")).mean() for e in (kept, summed)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)
    large = RandomizedResponse(Categorical(list(range(1200))), 1.0)
    rng = np.random.default_rng(0)
    tally = large.tally(large.randomize(rng.integers(0, 1200, 2000), rng))
    result = warner.estimate(tally, Inversion("project"))
    band, each = (np.diff(result.interval(kind=k)).mean() for k in ("simultaneous", "wald"))
    assert each < band <= 1


def test_anytime_intervals_are_the_formula_and_narrowest_near_the_plan() -> None:
    """At n = planned = 10,000 and alpha = 0.05, n r^2 = 5.99 + log 5.99 + 1 = 8.781."""
    coin = RandomizedResponse(Integers(0, 1), np.log(3))
    tally = warner.Tally(coin.header, Counted.together(Histogram(), np.array([6000, 4000]), 10_000))
    result = warner.estimate(tally, Inversion())
    growth = 2 * np.log(20) + np.log(2 * np.log(20)) + 1
    factor = np.sqrt(2 * (growth + 1) / growth * np.log(np.sqrt(growth + 1) * 20))
    half = factor * np.sqrt(0.6 * 0.4 / 10_000) / 0.5
    low, high = result.interval(kind="anytime", planned=10_000)[0]
    assert (low, high) == pytest.approx((0.7 - half, 0.7 + half), abs=1e-9)
    widths = [
        float(np.ptp(result.interval(kind="anytime", planned=planned)[0]))
        for planned in (100, 10_000, 1_000_000)
    ]
    assert widths[1] == min(widths)


@pytest.mark.parametrize(
    "kind, words",
    [
        (None, "because its share is large"),
        ("score", "because its share is large"),
        ("average", "On average over the values, the intervals"),
        ("wald", "holds for one answer, not for all"),
        ("simultaneous", "hold for all values at once"),
    ],
)
def test_the_command_line_says_what_the_intervals_hold(
    kind: str | None, words: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mechanism = RandomizedResponse(Categorical(list(range(RANKED))), 2.0)
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("kinds") / "t.json"
    mechanism.tally(mechanism.randomize(rng.choice(RANKED, SENDERS, p=SHARES), rng)).save(path)
    asked = [] if kind is None else ["--interval", kind]
    shown = CliRunner().invoke(main, ["estimate", str(path), *asked, "--explain"])
    assert shown.exit_code == 0 and words in " ".join(shown.output.split())
    written = CliRunner().invoke(main, ["estimate", str(path), *asked, "--json"])
    data = json.loads(written.stdout)[0]
    assert data["interval"]["kind"] == (kind or "score")
    heading = "average 95 % interval"
    assert (heading in shown.output) is (kind == "average")
    assert "people (about)" in shown.output
    expected = warner.estimate(warner.Tally.load(path)).interval(kind=kind)
    assert [row["high"] for row in data["shares"]] == pytest.approx(expected[:, 1].tolist())


def test_levels_are_alpha_on_average_for_every_distribution() -> None:
    """The promise itself: sum_x alpha(theta_x) <= alpha K, from corners to the uniform one."""
    rng = np.random.default_rng(0)
    for size in (2, 10, 500):
        for large in (np.inf, 0.1, 0.0):
            levels = _Levels(0.05, 0.05 / 2 * size, large)
            for shape in (0.01, 0.3, 10.0):
                shares = rng.dirichlet(np.full(size, shape))
                assert levels(shares).mean() <= 0.05 + 1e-12
                assert levels(shares).max() <= 0.5
        even = _Levels(0.05, 0.05 / 2 * size, np.inf)(np.full(size, 1 / size))
        assert even == pytest.approx(np.full(size, 0.05))


def test_bands_are_wide_where_noise_carries_estimates_beyond_one() -> None:
    """Rejects errors that are measured from estimates cut at 1: then most tallies have the same
    largest error, and bands around the estimates above 1 hold no small share.
    """
    mechanism = RandomizedResponse(Categorical(list(range(200))), 0.5)
    rng = np.random.default_rng(0)
    tally = mechanism.tally(mechanism.randomize(rng.integers(0, 200, 500), rng))
    result = warner.estimate(tally)
    assert result.data.channel.invert(result.data.weights).max() > 1
    assert result.interval(kind="simultaneous")[:, 0].max() == 0


# Intervals that hold at every look, of shares, means, quantiles and those who answered.


KIND = "anytime:1000"


def _drinks(method: object = None, nonresponse: bool = False) -> Estimate:
    domain = Integers(0, 5)
    asked = with_missing(domain, "answer") if nonresponse else domain
    mechanism = SubsetSelection(asked, 3.0)
    rng = np.random.default_rng(2)
    answers = rng.choice(6, p=[0.4, 0.2, 0.2, 0.1, 0.06, 0.04], size=900).tolist()
    given = [None if nonresponse and i % 5 == 0 else x for i, x in enumerate(answers)]
    tally = mechanism.tally(mechanism.randomize(given, rng=rng))
    return estimate(tally) if method is None else estimate(tally, method)  # type: ignore[arg-type]


def test_a_mean_is_its_unbiased_estimate_with_b_deviations() -> None:
    """The same interval as that of a share, where the function is a share."""
    result = _drinks(Inversion())
    low, high = result.mean().interval(kind=KIND)
    data, weights = result.data, np.arange(6.0)
    variance = weights @ data.channel.covariance(result.probabilities) @ weights / data.n
    assert (low + high) / 2 == pytest.approx(float(result.mean()))
    assert (high - low) / 2 == pytest.approx(
        anytime_factor(900, 1000) * np.sqrt(variance), rel=0.02
    )
    shares = anytime_of_functions(data, np.eye(6), 1000)
    usual = result.interval(kind=KIND)
    inside = (usual[:, 0] > 0) & (usual[:, 1] < 1)
    np.testing.assert_allclose(shares[inside], usual[inside], atol=2e-3)


def test_reports_of_one_person_widen_the_interval_of_a_mean() -> None:
    result = _drinks(Inversion())
    mechanism = SubsetSelection(Integers(0, 5), 3.0)
    reports = mechanism.randomize([1, 2, 3] * 300, rng=np.random.default_rng(3))
    once, seven = (
        np.ptp(
            estimate(mechanism.tally(reports).per_person(t), Inversion()).mean().interval(kind=KIND)
        )
        for t in (1, 4)
    )
    assert seven == pytest.approx(2 * once, rel=1e-6) and result.n == 900


@pytest.mark.parametrize("nonresponse", [False, True])
def test_every_number_of_a_default_estimate_lies_in_its_interval(nonresponse: bool) -> None:
    result = _drinks(nonresponse=nonresponse)
    numbers = [result.mean(), *(result.quantile(q) for q in (0.1, 0.5, 0.9)), result.range(2, 4)]
    for number in numbers:
        low, high = number.interval(kind="anytime", planned=1000)
        assert low <= float(number) <= high
    for row in result.rows(kind=KIND):
        assert row["low"] <= row["estimate"] <= row["high"]


def test_a_quantile_is_where_the_cumulative_share_can_pass() -> None:
    result = _drinks(Inversion())
    low, high = result.quantile(0.5).interval(kind=KIND)
    bounds = anytime_of_functions(result.data, np.tril(np.ones((6, 6))), 1000)
    can_reach = [v for v in range(6) if bounds[v, 1] >= 0.5 and (v == 0 or bounds[v - 1, 0] < 0.5)]
    assert (low, high) == (can_reach[0], can_reach[-1])


def test_a_quantile_of_many_values_is_bounded_a_little_further_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The interval from few cumulative shares holds that from all, and is one cell wider."""
    mechanism = RandomizedResponse(Integers(0, 299), 6.0)
    answers = np.random.default_rng(5).integers(80, 240, 3000)
    result = estimate(mechanism.tally(mechanism.randomize(answers, np.random.default_rng(6))))
    for q in (0.1, 0.5, 0.9):
        number = result.quantile(q)
        exact = number.interval(kind=KIND)
        with monkeypatch.context() as few:
            few.setattr(summaries, "_LOOKED", 0)
            few.setattr(summaries, "_FEWEST_LOOKED", 30)
            few.setattr(summaries, "_AT_A_TIME", 1000)
            coarse = number.interval(kind=KIND)
        assert exact[0] - 10 <= coarse[0] <= exact[0] and exact[1] <= coarse[1] <= exact[1] + 10
        assert coarse[1] - coarse[0] < 299


def test_shares_of_those_who_answered_hold_at_every_look_too() -> None:
    """Their intervals of one look are narrower."""
    result = _drinks(nonresponse=True)
    given = result.answered()
    assert np.all(
        np.ptp(given.interval(kind=KIND), axis=1) > np.ptp(given.interval(), axis=1) * 0.99
    )
    wide, usual = given.row(kind=KIND), given.row()
    assert wide["high"] - wide["low"] > usual["high"] - usual["low"]
    data = result.to_json(kind=KIND)
    assert data["interval"] == {
        "kind": "anytime",
        "planned": 1000,
        "level": 0.95,
        "target": "population",
    }
    assert data["answered"]["low"] == wide["low"]


def test_a_mean_of_noisy_numbers_holds_at_every_look() -> None:
    mechanism = Laplace(Interval(0, 10, 4), 2.0)
    reports = mechanism.randomize([4.5, 6.0] * 1000, rng=np.random.default_rng(4))
    result = estimate(mechanism.tally(reports), "mean")
    (once,), (always,) = result.means(), result.means(kind="anytime:2000")
    assert result.fit.mean is not None
    deviation = np.sqrt(result.fit.mean.variance[0] / 2000)
    more = (anytime_factor(2000, 2000) - normal_quantile(0.95)) * deviation
    assert always["high"] - once["high"] == pytest.approx(more, rel=1e-6)
    assert once["low"] - always["low"] == pytest.approx(more, rel=1e-6)


def test_what_has_no_such_interval_says_so() -> None:
    result = _drinks()
    refused(ArgumentError, "kind: must be one of", result.variance().interval, kind=KIND)
    for kind in (
        "anytime:",
        "anytime:0",
        "anytime:-5",
        "anytime:1e3",
        "anytime:\N{ARABIC-INDIC DIGIT TWO}",
    ):
        refused(ArgumentError, "the number of reports that you plan", result.interval, kind=kind)
    with pytest.raises(ArgumentError, match="target of anytime intervals"):
        result.mean().interval(kind=KIND, target="respondents")


def test_a_chart_says_which_intervals_it_has() -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    result = estimate(coin.tally(coin.randomize(["no", "yes"] * 200)))
    drawn = json.loads(chart([result], kind="anytime:500").to_json())
    text = json.dumps(drawn, ensure_ascii=False)
    assert "right for each value however often you" in text
    high = max(row["high"] for row in result.rows(kind="anytime:500"))
    assert repr(high) in text.replace("\\", "")


def test_the_command_line_writes_them(tmp_path: Path) -> None:
    mechanism = SubsetSelection(Integers(0, 5), 3.0)
    tally = mechanism.tally(mechanism.randomize([1, 2, 3] * 200))
    tally.save(tmp_path / "tally.json")
    path = str(tmp_path / "tally.json")
    shown = run("estimate", path, "--interval", "anytime:1000", "--summary", "median").output
    low, high = estimate(tally).quantile(0.5).interval(kind=KIND)
    assert f"{low:.2f} to {high:.2f}" in shown
    shown = run("estimate", path, "--interval", "anytime:1000").output
    assert "each holds however often you look while reports come in" in " ".join(shown.split())
    for wrong in ("anytime", "anytime:x", "bootstrap"):
        said = run("estimate", path, "--interval", wrong, ok=False).output
        assert (
            "one of score, wald, likelihood, average, simultaneous, posterior, or anytime:N"
            in " ".join(said.split())
        )


# Ranks of values: what they promise, one sentence a test.


def _ordered(shares: np.ndarray, n: int, epsilon: float = 2.0) -> Estimate:
    """An estimate from the expected frequencies of reports."""
    domain = Categorical([f"v{i}" for i in range(shares.size)])
    channel = RandomizedResponse(domain, epsilon).channel()
    data = LikelihoodData(channel, channel.matvec(shares), n, domain)
    method = warner.Inversion("project")
    return Estimate(method.fit(data), data, method)


def test_ranks_are_exact_with_many_reports_and_all_with_few() -> None:
    shares = np.array([0.1, 0.4, 0.2, 0.3])
    many, few = (_ordered(shares, n).ranks() for n in (10**7, 20))
    assert many.low.tolist() == many.high.tolist() == [4, 1, 3, 2]
    assert few.low.tolist() == [1] * 4 and few.high.tolist() == [4] * 4
    assert many.rows()[1] == {"value": "v1", "low": 1, "high": 1}
    assert many.is_commoner("v1", "v3") is True and many.is_commoner("v0", "v3") is False
    assert few.is_commoner("v1", "v3") is None and many.is_commoner("v1", "v1") is None
    refused(ArgumentError, "values of the question", many.is_commoner, "v1", "w")


def test_equal_values_share_their_ranks() -> None:
    found = _ordered(np.array([0.5, 0.2, 0.2, 0.1]), 10**6).ranks()
    assert found.low.tolist() == [1, 2, 2, 4] and found.high.tolist() == [1, 3, 3, 4]


@pytest.mark.parametrize("size", [40, 400])
def test_ranks_hold_the_order_of_the_estimates(size: int) -> None:
    """By simulation of all pairs, and beyond 300 values by a bound."""
    shares = np.arange(1.0, size + 1) ** 2
    found = _ordered(shares / shares.sum(), 10**8, 4.0).ranks()
    rank = size - np.arange(size)
    assert ((found.low <= rank) & (rank <= found.high)).all()
    assert found.high[-1] < size / 4 and found.low[0] > size / 4
    pairs = [(0, size - 1), (1, 2), (size - 1, size // 2)]
    for a, b in pairs:
        commoner = found.is_commoner(f"v{a}", f"v{b}")
        assert commoner is None or commoner == (a > b)


def test_a_higher_level_leaves_more_open() -> None:
    result = _ordered(np.array([0.4, 0.35, 0.15, 0.1]), 3000, 1.0)
    open_ = [(lambda r: (r.high - r.low).sum())(result.ranks(level)) for level in (0.5, 0.99)]
    assert open_[0] <= open_[1]
    refused(WarnerError, "target", result.ranks, target="everyone")


@pytest.mark.parametrize("ask", [Estimate.ranks, lambda r: r.interval(kind="simultaneous")])
def test_the_simulation_tells_its_steps(ask: Callable[[Estimate], object]) -> None:
    """With reports that are simulated one by one it takes up to a minute."""
    told: list[tuple[Stage, ...]] = []
    with warner.results.progress(told.append):
        ask(_ordered(np.array([0.1, 0.4, 0.5]), 100))
    (first, *_), (last, *_) = told[0], told[-2]
    assert (first.name, first.done, last.done) == ("simulating", 0, first.total)


def test_a_bootstrap_of_few_replicates_has_no_level_that_it_cannot_show() -> None:
    """Rejects the largest of 200 errors as the limit of 99.99 %."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    result = estimate(coin.tally(coin.randomize(["no", "yes"] * 50, np.random.default_rng(1))))
    with pytest.raises(ArgumentError, match=r"at least 10000; got 200\. An interval of 99\.99 %"):
        result.interval(0.9999, kind="bootstrap", replicates=200)
    with pytest.raises(
        ArgumentError, match=r"at least 100000; got 10000\. An interval of 99\.999 %"
    ):
        result.interval(0.99999, kind="bootstrap")
    assert result.interval(0.99, kind="bootstrap").shape == (2, 2)


def test_tables_of_a_high_level_have_the_replicates_that_it_needs() -> None:
    """Rejects a table of 99.9 % that asks for replicates, which only interval() takes."""
    pairs = warner.Product(a=warner.Integers(0, 1), b=warner.Integers(0, 1))
    device = warner.UnaryEncoding(pairs, 2.0)
    answers = {"a": [0, 1] * 50, "b": [0, 0, 1, 1] * 25}
    tally = device.tally(device.randomize(answers, np.random.default_rng(1)), keep_reports=True)
    of_a = estimate(tally).marginal("a")
    assert of_a.rows(0.999)[0]["high"] > of_a.rows(0.9)[0]["high"]
    assert "99.9 % interval" in str(of_a.table(0.999))
