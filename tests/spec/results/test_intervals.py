"""What intervals promise, one sentence per test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from warner import Categorical, Integers, RandomizedResponse, UnaryEncoding, estimate
from warner.channels import DenseChannel
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Repeated
from warner.reports.tally_kinds import Counted, Histogram
from warner.results.estimate import Estimate

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
    with pytest.raises(warner.errors.ArgumentError, match="no share at 0"):
        warner.estimate(tally, warner.MaximumLikelihood()).interval(kind="fisher")
    with pytest.raises(
        warner.errors.ArgumentError, match="maximum of the likelihood of whole reports"
    ):
        warner.estimate(tally, warner.ExpectationMaximization(5)).interval(kind="fisher")
    bits = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    reports = bits.randomize([0, 1, 2, 3] * 3000, rng)
    with pytest.raises(warner.errors.ArgumentError, match="whole reports"):
        warner.estimate(bits.tally(reports), warner.MaximumLikelihood()).interval(kind="fisher")
    kept = warner.estimate(bits.tally(reports, keep_reports=True), warner.MaximumLikelihood())
    assert (np.diff(kept.interval(kind="fisher")) < np.diff(kept.interval())).all()
    blind = warner.MatrixMechanism(warner.Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    flat = warner.estimate(
        blind.tally(blind.randomize([0, 1, 2, 2] * 100, rng)), warner.MaximumLikelihood()
    )
    with pytest.raises(warner.errors.WarnerError):
        flat.interval(kind="fisher")


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
        with pytest.raises(warner.errors.WarnerError):
            result.interval(**wrong)
    with pytest.raises(warner.errors.ArgumentError, match="keeps the observed reports alone"):
        warner.estimate(
            mechanism.tally(reports, keep_reports=True), warner.MaximumLikelihood()
        ).interval(kind="bootstrap")


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
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match="level"
        ):
            result.interval(level)
    with pytest.raises(
        warner.errors.ArgumentError, match="target: must be one of 'population', 'respondents'"
    ):
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
    groups, kinds = (
        {"a": b, "b": other},
        ["wald", "average", "simultaneous", "bootstrap", "anytime:9"],
    )
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
        with pytest.raises(warner.errors.ArgumentError, match=r"0\.05\. Did you mean 0\.95\?"):
            call(0.05)


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
    mechanism, rng = (
        warner.RandomizedResponse(Categorical(list(range(25))), 0.5),
        np.random.default_rng(2),
    )
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
    wald, boot = (
        found.interval(target=target),
        found.interval(target=target, kind="bootstrap", replicates=100, rng=rng),
    )
    assert np.diff(boot, axis=1) == pytest.approx(np.diff(wald, axis=1), rel=0.45)
    bits = Repeated(UnaryEncoding(AGE, 1.0), 2)
    with pytest.raises(warner.errors.ArgumentError, match="bootstrap"):
        estimate(bits.tally(bits.randomize([0, 1, 2])), warner.Inversion()).interval(
            kind="bootstrap"
        )
