"""What estimates, metrics, methods and charts promise, one sentence per test."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.registry import ESTIMATORS
from warner import Categorical, Estimate, Status, metrics
from warner.app.methods import METHODS, method
from warner.estimators import Estimator
from warner.reports.tally_kinds import Histogram


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


def test_established_names_are_accepted() -> None:
    assert warner.Inversion("norm-sub") == warner.Inversion("project") == method("Norm-Sub")
    assert warner.Inversion("normalise") == warner.Inversion("normalize")
    assert warner.Inversion("emp+thr") == warner.Inversion("threshold")
    assert warner.Inversion("none") == warner.Inversion(None) == method("inversion")


@pytest.mark.parametrize("wrong", ["clip", 1, True, ["project"]])
def test_unknown_constraints_are_refused(wrong: object) -> None:
    with pytest.raises(
        warner.errors.ArgumentError, match="constraint: must be one of None, 'normalize'"
    ):
        warner.Inversion(wrong)


@pytest.mark.parametrize("name", ["foo", "em", "em:x", "em:-1", "mle:3", "project:1", ""])
def test_unknown_methods_are_refused(name: str) -> None:
    with pytest.raises(warner.errors.ArgumentError, match="method: must be one of"):
        method(name)


def test_every_method_name_makes_an_estimator() -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 3), 1.0)  # some methods need an order
    tally = mechanism.tally(
        mechanism.randomize([0] * 600 + [1] * 300 + [2] * 100, np.random.default_rng(2))
    )
    pairs = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Integers(0, 3), 1.0)
    keyed = pairs.tally(
        pairs.randomize({"key": ["a", "b"] * 500, "value": [1] * 1000}, np.random.default_rng(2))
    )
    for name in METHODS:
        chosen = method(f"{name}:7" if name == "em" else name)
        assert warner.estimate(
            keyed if name in ("pckv", "per-key") else tally, chosen
        ).method == repr(chosen)


@pytest.mark.parametrize("steps", [0, -1, 1.5, True, None])
def test_steps_must_be_a_positive_integer(steps: object) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match="steps"
    ):
        warner.ExpectationMaximization(steps)


@pytest.mark.parametrize("gap", [0, -1.0, float("nan"), float("inf"), "1"])
def test_gaps_must_be_positive_numbers(gap: object) -> None:
    with pytest.raises((warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match="gap"):
        warner.MaximumLikelihood(gap)


def test_a_method_must_be_an_estimator_object(tally: warner.Tally) -> None:
    for wrong in ("project", warner.Inversion, 1):
        with pytest.raises(warner.errors.ArgumentTypeError, match="estimator object"):
            warner.estimate(tally, wrong)


def test_the_recommended_method_of_labels_is_empirical_bayes(tally: warner.Tally) -> None:
    assert warner.estimate(tally).method == "EmpiricalBayes()"


def test_several_tallies_of_one_mechanism_are_added(tally: warner.Tally) -> None:
    assert warner.estimate([tally, tally]).n == 2 * tally.n
    project = warner.Inversion("project")
    assert warner.estimate([tally, tally], project).probabilities == pytest.approx(
        warner.estimate(tally, project).probabilities
    )
    for wrong in ([], [1], 3):
        with pytest.raises((warner.errors.EmptyError, TypeError)):
            warner.estimate(wrong)


def test_status_says_what_happened(tally: warner.Tally) -> None:
    small = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 0.1)
    noisy = small.tally(small.randomize(["a"] * 50, np.random.default_rng(0)))
    assert warner.estimate(noisy, warner.Inversion()).status is Status.OUTSIDE_SIMPLEX
    assert warner.estimate(noisy, warner.Inversion("project")).status is Status.EXACT
    assert warner.estimate(noisy, warner.MaximumLikelihood()).status is Status.CONVERGED
    assert warner.estimate(noisy, warner.ExpectationMaximization(2)).status is Status.STOPPED
    assert warner.estimate(noisy, warner.estimators.Uniform()).status is Status.EXACT
    for status in Status:
        assert len(status.value) > 20, "a status says cause and remedy"


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_every_method_says_what_it_computes(method: Estimator) -> None:
    """One sentence without a full stop, so that tables can join it to the status."""
    assert len(method.summary) > 20 and not method.summary.endswith(".")


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


def test_wald_intervals_are_the_formula() -> None:
    """k-RR for a population: theta + z sqrt(mu (1 - mu) / n) / (p - q), mu the true report rate."""
    mechanism = warner.RandomizedResponse(warner.Integers(0, 1), np.log(3))
    tally = warner.Tally(mechanism.header, Histogram(), np.array([6000, 4000]), 10_000)
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
    """Even shares of 40 values: some are shrunk out of their Wald intervals, which are then
    widened; asked for by kind they are as they were.
    """
    mechanism, rng = (
        warner.RandomizedResponse(Categorical(list(range(40))), 0.5),
        np.random.default_rng(2),
    )
    outside = 0
    for _ in range(20):
        tally = mechanism.tally(mechanism.randomize(rng.integers(0, 40, 2000), rng))
        result = warner.estimate(tally)
        pure, held, p = result.interval(kind="wald"), result.interval(), result.probabilities
        outside += int(np.count_nonzero((p < pure[:, 0]) | (p > pure[:, 1])))
        assert ((held[:, 0] <= p) & (p <= held[:, 1])).all()
        assert ((held[:, 0] <= pure[:, 0]) & (pure[:, 1] <= held[:, 1])).all()
    assert outside > 0


def test_an_estimate_is_json_and_frame_and_rows(tally: warner.Tally) -> None:
    result = warner.estimate(tally, warner.MaximumLikelihood())
    data = json.loads(json.dumps(result.to_json()))
    assert (
        data["status"] == "converged"
        and data["n"] == 1000
        and data["interval"]["target"] == "population"
    )
    assert [row["value"] for row in data["shares"]] == ["a", "b", "c", "d"]
    for backend in ("pyarrow", "polars", "pandas"):
        frame = result.to_frame(backend)
        assert list(frame.column_names if backend == "pyarrow" else frame.columns) == [
            "value",
            "estimate",
            "low",
            "high",
            "n",
        ]
    with pytest.raises(warner.errors.ArgumentError, match="backend"):
        result.to_frame("excel")
    assert "gap=" in repr(result) and "K=4" in repr(result)


def test_values_that_are_no_scalars_are_written_as_json_in_frames() -> None:
    mechanism = warner.RandomizedResponse(
        warner.Product(a=warner.Integers(0, 1), b=Categorical(["x", "y"])), 2.0
    )
    result = warner.estimate(
        mechanism.tally(mechanism.randomize({"a": [0, 1, 1], "b": ["x", "y", "x"]}))
    )
    assert json.loads(result.to_frame("polars")["value"][3]) == {"a": 1, "b": "y"}


@pytest.mark.parametrize(
    "suffix, magic", [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE"), ("json", b"{")]
)
def test_pictures_are_saved(tally: warner.Tally, suffix: str, magic: bytes, tmp_path: Path) -> None:
    result: Estimate = warner.estimate(tally)
    result.plot(str(tmp_path / f"p.{suffix}"), truth=[0.6, 0.3, 0.1, 0])
    content = (tmp_path / f"p.{suffix}").read_bytes()
    assert content.lstrip().startswith(magic)
    if suffix == "html":
        assert b'src="http' not in content, "a picture must work offline"


def test_pictures_of_many_values_and_wrong_names(tally: warner.Tally, tmp_path: Path) -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 99), 4.0)
    warner.estimate(mechanism.tally(mechanism.randomize([1, 2, 3]))).plot(str(tmp_path / "p.svg"))
    with pytest.raises(warner.errors.ArgumentError, match=r"must end in \.png"):
        warner.estimate(tally).plot(str(tmp_path / "p.gif"))
    assert [p.name for p in tmp_path.iterdir()] == ["p.svg"]


def test_metrics_are_what_they_say() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert metrics.l1(p, q) == pytest.approx(0.6)
    assert metrics.total_variation(p, q) == pytest.approx(0.3)
    assert metrics.sum_of_squares(p, q) == pytest.approx(0.18)
    assert metrics.mean_squared_error(p, q) == pytest.approx(0.06)
    assert metrics.mean_absolute_error(p, q) == pytest.approx(0.2)
    assert metrics.mean_absolute_error(p, q, top=0.1) == pytest.approx(0.3)
    assert metrics.wasserstein1(p, q) == pytest.approx(0.6)
    assert metrics.wasserstein1(p, q, spacing=2) == pytest.approx(1.2)
    assert metrics.jensen_shannon(p, q) == pytest.approx(metrics.jensen_shannon(q, p))
    assert metrics.jensen_shannon(p, p) == 0


@pytest.mark.parametrize(
    "p, q",
    [([1], [1, 2]), ([], []), ([[1]], [[1]]), ([float("nan")], [1]), ("a", "b"), (None, None)],
)
def test_metrics_refuse_what_is_no_pair(p: object, q: object) -> None:
    for metric in (
        metrics.l1,
        metrics.sum_of_squares,
        metrics.jensen_shannon,
        metrics.wasserstein1,
    ):
        with pytest.raises((warner.errors.ArgumentError, warner.errors.ArgumentTypeError)):
            metric(p, q)
    with pytest.raises(warner.errors.ArgumentError, match="non-negative"):
        metrics.jensen_shannon([1.5, -0.5], [0.5, 0.5])


def test_mechanism_options_are_checked() -> None:
    domain = warner.Integers(0, 9)
    for build in (
        lambda: warner.UnaryEncoding(domain, 1.0, keep="best"),
        lambda: warner.UnaryEncoding(domain, 1.0, keep=1.0),
        lambda: warner.UnaryEncoding(domain, 1.0, keep=0.0),
        lambda: warner.UnaryEncoding(domain, 1.0, keep=None),
        lambda: warner.LocalHashing(domain, 1.0, buckets=1),
        lambda: warner.LocalHashing(domain, 1.0, seeds=0),
        lambda: warner.LocalHashing(domain, 1.0, seeds=1.5),
        lambda: warner.LocalHashing(domain, 1.0, seeds=2**40),
        lambda: warner.SubsetSelection(domain, 1.0, size=10),
        lambda: warner.SubsetSelection(domain, 1.0, size=0),
        lambda: warner.ChannelMechanism(domain, np.eye(9)),
        lambda: warner.ChannelMechanism(domain, np.full((2, 10), 0.4)),
        lambda: warner.ChannelMechanism(domain, "matrix"),
        lambda: warner.ChannelMechanism(domain, np.full((2, 10), np.nan)),
        lambda: warner.ChannelMechanism(warner.Integers(0, 1), [[1e-12, 0.5], [1 - 1e-12, 0.5]]),
        lambda: warner.RandomizedResponse(["a", "b"], 1.0),
        lambda: warner.Categorical(["a"]),
        lambda: warner.Categorical(["a", "a"]),
        lambda: warner.Categorical([1, True]),
        lambda: warner.Categorical([1.5, 2.5]),
        lambda: warner.Categorical("abc"),
        lambda: warner.Integers(3, 3),
        lambda: warner.Interval(1, 0, 4),
        lambda: warner.Interval(0, 1, 1),
        lambda: warner.Interval(0, float("inf"), 4),
        lambda: warner.Grid(1, 1),
        lambda: warner.Grid(2, 2, side=0),
        lambda: warner.Product(),
        lambda: warner.Product(a=3),
    ):
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.ArgumentTypeError)
        ) as caught:
            build()
        assert ": " in str(caught.value) and str(caught.value).endswith(".")


def test_a_channel_keeps_the_budget_it_is_given() -> None:
    domain, matrix = warner.Integers(0, 1), [[0.75, 0.25], [0.25, 0.75]]
    assert warner.ChannelMechanism(domain, matrix, epsilon=1.2).requested == 1.2
    with pytest.raises(warner.errors.BudgetError, match=r"needs epsilon 1\.09"):
        warner.ChannelMechanism(domain, matrix, epsilon=1.0)
    certain = warner.ChannelMechanism(domain, [[1.0, 0.5], [0.0, 0.5]])
    assert (
        certain.epsilon == float("inf") and certain.randomize([0] * 50).columns["report"].max() == 0
    )


def test_messages_state_name_rule_value_and_remedy() -> None:
    with pytest.raises(warner.errors.BudgetError) as caught:
        warner.RandomizedResponse(warner.Integers(0, 1), -1)
    assert (
        str(caught.value)
        == "epsilon: must be greater than 0; got -1.0. Pass a positive number such as 1.0."
    )
    with pytest.raises(warner.errors.ValuesError) as told:
        warner.Categorical(["no", "yes"]).encode(["no", "perhaps"])
    assert str(told.value) == (
        "values: position 1: not in the domain of 2 values; got a string. "
        "Answers outside the domain are refused, not guessed: correct them or add a catch-all value."
    )


def test_bootstrap_limits_are_reflected_around_the_estimate() -> None:
    """2 f - upper quantile, 2 f - lower quantile: an estimator that only errs upwards has its truth
    below, so its interval lies below.

    The wrong program that reports the quantiles themselves puts it above.
    """

    class Upward(warner.Inversion):
        def _fit(self, data):  # type: ignore[no-untyped-def]
            fit = super()._fit(data)
            raised = fit.probabilities + np.array([0.1, 0.0])
            return type(fit)(raised, fit.status)

    coin = warner.RandomizedResponse(warner.Integers(0, 1), 3.0)
    rng = np.random.default_rng(0)
    result = warner.estimate(coin.tally(coin.randomize([0] * 4000 + [1] * 6000, rng)), Upward())
    low, high = result.interval(kind="bootstrap", rng=rng)[0]
    assert high < result.probabilities[0] - 0.05 and low < 0.4 < high + 0.05
