"""Comparisons of methods and of schemes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import warner
from tests.refusals import refused
from tests.registry import ESTIMATORS
from tests.spec.design._tally import _tally
from tests.spec.results._attributes import DOMAIN, family, fitted, keep, seen
from warner import (
    Categorical,
    EmpiricalBayes,
    Estimate,
    Grid,
    Integers,
    Interval,
    Inversion,
    KeyValue,
    LogSpline,
    MaximumLikelihood,
    Product,
    RandomizedResponse,
    SquareWave,
    Tally,
)
from warner.app.cli import main
from warner.channels import KroneckerChannel
from warner.design.comparison import LOSSES, Comparison, _truths, compare, truths_of, usual_methods
from warner.design.schemes import clusters, clusters_of, compare_schemes
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError, ValuesError, WarnerError
from warner.estimators import SampleMean, Uniform, literature
from warner.metrics import project
from warner.results.from_tally import likelihood_data
from warner.results.recommend import (
    KEYS,
    MEANS,
    METHODS,
    SHARES,
    compared,
    estimator_of,
    recommended,
)
from warner.results.summaries import mean_of_shares, variance_of_shares


def test_the_ranking_is_that_of_the_errors_on_the_same_tallies() -> None:
    """Against the errors computed one by one; the unbiased estimate's mean is its closed-form
    variance within 5 standard errors.
    """
    tally = _tally(Categorical([f"v{i}" for i in range(30)]))
    found = warner.design.compare(tally, [Inversion(), Inversion("project"), Uniform()], runs=50)
    assert [line.error for line in found.results] == sorted(line.error for line in found.results)
    raw = next(line for line in found.results if line.method == Inversion())
    truth = warner.estimate(tally, Inversion("project")).probabilities
    mechanism = RandomizedResponse(Categorical([f"v{i}" for i in range(30)]), 1.0)
    assert (
        abs(raw.error - warner.theory.expected_loss(mechanism, truth, 3000, "l2"))
        < 5 * raw.standard_error
    )
    assert (
        found.best.excess_error == 0
        and found.best.excess_standard_error == 0
        and raw.excess_error > 0
    )
    assert 0 <= raw.best_share <= 1 and sum(line.best_share for line in found.results) >= 1


def test_the_same_call_gives_the_same_ranking() -> None:
    tally = _tally(Categorical(["a", "b", "c", "d"]))
    methods = [MaximumLikelihood(), EmpiricalBayes(), Inversion("project")]
    a, b = (warner.design.compare(tally, methods, runs=5).to_json() for _ in range(2))
    assert a == b and json.loads(json.dumps(a)) == a
    other = warner.design.compare(tally, methods, runs=5, rng=np.random.default_rng(1)).to_json()
    assert other != a


def test_methods_that_do_not_fit_are_left_out_with_the_reason() -> None:
    found = warner.design.compare(
        _tally(Categorical(["a", "b", "c"])),
        [LogSpline(), Inversion(), warner.estimators.SampleMean()],
        runs=3,
    )
    assert [line.method for line in found.results] == [Inversion()] and set(found.left_out) == {
        "LogSpline()",
        "SampleMean()",
    }
    assert "must have numbers as values for LogSpline" in found.left_out["LogSpline()"]
    with pytest.raises(ArgumentError, match="none of them"):
        warner.design.compare(_tally(Categorical(["a", "b", "c"])), [LogSpline()], runs=3)


def test_numbers_can_be_compared_by_the_distance_of_their_distributions() -> None:
    found = warner.design.compare(
        _tally(Integers(0, 30)), [LogSpline(), Inversion("project"), Uniform()], loss="w1", runs=5
    )
    assert found.loss == "w1" and len(found.results) == 3
    with pytest.raises(ArgumentError, match="order"):
        warner.design.compare(_tally(Categorical(["a", "b"])), [Inversion()], loss="w1")


def test_a_ranking_is_drawn_in_its_order_with_two_standard_errors() -> None:
    found = warner.design.compare(
        _tally(Categorical(["a", "b", "c"])), [Inversion(), MaximumLikelihood(), Uniform()], runs=5
    )
    (panel,) = found.plot().to_dict()["vconcat"]
    bars, dots = panel["layer"]
    rows = json.loads(
        (dots.get("data") or panel.get("data") or found.plot().to_dict()["data"])["values"]
    )
    assert [row["method"] for row in rows] == [repr(line.method) for line in found.results]
    assert all(abs(row["high"] - row["error"] - 2 * row["standard_error"]) < 1e-12 for row in rows)
    assert dots["encoding"]["y"]["sort"]["field"] == "error"
    assert bars["encoding"]["x2"]["field"] == "high"


def test_wrong_arguments_are_refused() -> None:
    tally = _tally(Categorical(["a", "b"]))
    for methods in ([], Inversion(), ["mle", 3], "mle"):
        with pytest.raises(ArgumentTypeError, match="methods"):
            warner.design.compare(tally, methods)  # type: ignore[arg-type]
    for other in (None, 3, [3]):
        with pytest.raises(ArgumentTypeError, match="tall"):
            compare(other)  # type: ignore[arg-type]
    for wrong in ({"loss": "l3"}, {"runs": 1}, {"runs": 2.5}):
        refused(WarnerError, "", warner.design.compare, tally, [Inversion()], **wrong)
    kept = warner.LocalHashing(Integers(0, 3), 1.0, whole_reports=False)
    rows = kept.tally(kept.randomize([0, 1, 2, 3] * 20), keep_reports=True)
    refused(ArgumentError, "", warner.design.compare, rows, [Inversion()])


def test_rankings_have_one_form_and_one_table() -> None:
    pair = warner.Product(a=warner.Integers(0, 1), b=warner.Integers(0, 1))
    coin = warner.RandomizedResponse(pair, 2.0)
    tally = coin.tally(
        coin.randomize([{"a": 0, "b": 1}, {"a": 1, "b": 1}] * 100, np.random.default_rng(1))
    )
    rankings = (
        warner.design.compare(tally, [Inversion(), Inversion("project")], runs=2),
        warner.design.compare_schemes(pair, 2.0, 100, [0.4, 0.1, 0.1, 0.4], runs=2),
        warner.plan(pair, 2.0, 100),
    )
    for ranking in rankings:
        data = json.loads(json.dumps(ranking.to_json()))
        assert {"loss", "n", "results", "left_out"} <= set(data) and data["loss"] == "l2"
        assert data["results"] == json.loads(json.dumps(ranking.rows()))
        assert ranking.best is ranking.results[0] and ranking.best not in ranking.ties
        first = str(next(iter(ranking.rows()[0].values())))
        assert (first in str(ranking) and "for 100" in ranking._repr_html_()) or ranking.n == 200
        assert ranking.to_latex().lower().startswith(("% mean error (l2) for", "% sum of squared"))
        assert ranking.to_frame("pandas")["error"].tolist() == [r.error for r in ranking]
        assert len(ranking.results) == len(data["results"]) >= 2
        assert all(row["error"] > 0 for row in data["results"])
    # A scheme that stands in several rows, with different methods, is named with its row.
    schemes = [line.scheme for line in rankings[1]]
    said = next(note for note in rankings[1].table().notes if note.startswith("Perhaps as good"))
    for row, line in enumerate(rankings[1], 1):
        if line in rankings[1].ties:
            of_row = f" (row {row})" if schemes.count(line.scheme) > 1 else ""
            assert f" {line.scheme}{of_row}" in said
    assert "(row " in said


def _counted(mechanism: RandomizedResponse) -> Tally:
    return mechanism.tally(mechanism.randomize([*mechanism.domain.labels] * 100))


def test_the_usual_methods_are_compared() -> None:
    tally = _counted(RandomizedResponse(Categorical(["a", "b", "c"]), 1.0))
    ranking = compare(tally, runs=2)
    assert ranking == compare(tally, usual_methods(tally), runs=2)
    assert len(ranking.results) + len(ranking.left_out) == len(usual_methods(tally)) == 10
    assert compare(iter([tally]), runs=2) == ranking


def test_a_loss_of_the_mean_ranks_the_mean() -> None:
    tally = _counted(RandomizedResponse(Integers(1, 3), 1.0))
    assert "mean" in usual_methods(tally, "mae_mean") and "mean" not in usual_methods(tally)
    names = [repr(row.method) for row in compare(tally, loss="mae_mean", runs=2).results]
    assert "SampleMean()" in names


def test_keys_have_methods_of_their_own() -> None:
    mechanism = KeyValue(Categorical(["a", "b"]), Interval(-1, 1, bins=4), 2.0)
    tally = mechanism.tally(
        mechanism.randomize([{"key": "a", "value": 0.5}, {"key": "b", "value": -0.5}] * 50)
    )
    assert {"pckv", "per-key", "mle"} < {*usual_methods(tally)} and "eb" not in usual_methods(tally)


def test_methods_that_only_papers_use_are_compared_when_all_are() -> None:
    """Rejects: a method of the literature among the usual ones, or one that "all" leaves out."""
    tally = _counted(RandomizedResponse(Integers(1, 3), 1.0))
    ranking = compare(tally, "all", runs=2)
    named = {repr(row.method) for row in ranking.results} | {*ranking.left_out}
    assert len(named) >= len(METHODS)
    assert {"BiasCorrection", "WienerFilter", "Observed"} <= {
        name.partition("(")[0] for name in named
    }
    usual = [estimator_of(name) for kind in (SHARES, KEYS, MEANS) for name in compared({kind})]
    assert not any(each.for_papers for each in usual)
    assert {
        type(make()).__name__
        for name, make in METHODS.items()
        if name != "em" and make().for_papers
    } == {*literature.__all__, "Observed"}


FIRST = "the recommended estimate"
SECOND = "the projected inversion"
DRAWS = "draws from the posterior of the recommended estimate"


def test_a_method_that_only_the_default_truth_flatters_does_not_hold_on_all_truths() -> None:
    """Few reports at a small budget: the default shrinks, and on tallies from it shrinking errs
    least by far. On rougher truths, which the reports allow too, the maximum errs less.
    """
    labels = Categorical([f"v{i}" for i in range(20)])
    mechanism, rng = RandomizedResponse(labels, 1.5), np.random.default_rng(3)
    shares = 1 / np.arange(1.0, 21)
    values = [f"v{i}" for i in rng.choice(20, 400, p=shares / shares.sum())]
    tally = mechanism.tally(mechanism.randomize(values, rng))
    found = warner.design.compare(
        tally, [Uniform(), EmpiricalBayes(), MaximumLikelihood()], runs=12
    )
    names = [truth.name for truth in found.truths]
    assert names[0] == FIRST and {SECOND, DRAWS} <= set(names)
    assert [truth.runs for truth in found.truths] == [12] + [4] * (len(names) - 1)
    assert found.runs == sum(truth.runs for truth in found.truths)
    least = {truth.name: next(iter(truth.errors)) for truth in found.truths}
    assert least[FIRST] == "EmpiricalBayes()" and least[SECOND].startswith("MaximumLikelihood")
    assert found.best.holds < 1


def test_the_error_is_the_mean_over_truths_and_holds_counts_them() -> None:
    found = warner.design.compare(
        _tally(Categorical([f"v{i}" for i in range(30)])),
        [Inversion(), Inversion("project"), Uniform(), MaximumLikelihood()],
        runs=6,
    )
    for line in found.results:
        each = [truth.errors[repr(line.method)] for truth in found.truths]
        assert line.error == pytest.approx(np.mean(each))
        best = [truth.errors[repr(found.best.method)] for truth in found.truths]
        if line is found.best:
            first = [next(iter(truth.errors)) == repr(line.method) for truth in found.truths]
            assert line.holds == pytest.approx(np.mean(first))
        else:
            assert line.holds == pytest.approx(
                np.mean([a >= b for a, b in zip(each, best, strict=True)])
            )
    data = found.to_json()
    assert json.loads(json.dumps(data)) == data
    assert [truth["name"] for truth in data["truths"]] == [truth.name for truth in found.truths]


def test_truths_that_are_one_are_used_once() -> None:
    """Without noise the projected inversion and the maximum are the answers' shares."""
    open_ = RandomizedResponse(Categorical(["a", "b"]), np.inf)
    tally = open_.tally(open_.randomize(["a"] * 30 + ["b"] * 70))
    found = warner.design.compare(tally, [Inversion()], runs=3)
    assert [truth.name for truth in found.truths] == [FIRST]


def test_badly_conditioned_inversions_are_no_truths() -> None:
    wave = SquareWave(Interval(0, 1, 32), 1.0)
    rng = np.random.default_rng(0)
    tally = wave.tally(wave.randomize(rng.beta(2, 5, 2000), rng))
    found = warner.design.compare(tally, [LogSpline(), MaximumLikelihood()], "w1", runs=2)
    names = {truth.name for truth in found.truths}
    assert SECOND not in names and {FIRST, DRAWS, "the maximum of the likelihood"} <= names


UNIT = Interval(0.0, 1.0, 10)


@pytest.mark.parametrize("domain", [UNIT, Integers(0, 9), Categorical(list("abcdefghij"))])
@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (np.full(10, 0.11), "sum 1.1"),
        (np.full(9, 1 / 9), "must be a list of 10 numbers; got 9 numbers"),
        (np.r_[-0.1, np.full(9, 1.1 / 9)], "numbers of at least 0"),
        (np.full(10, np.nan), "must be shares"),
        ([], "must be a list of 10 numbers"),
    ],
)
def test_wrong_shares_are_refused_as_shares(domain: Any, shares: Any, message: str) -> None:
    """Rejects shares that count as answers: 10 shares of 0.11 were ten answers 0.11."""
    refused(ArgumentError, message, truths_of, {"mine": shares}, domain)


def test_answers_are_counted() -> None:
    answers = [0.05, 0.05, 0.95]
    assert truths_of(answers, UNIT)["truth"].tolist() == [2 / 3, *[0] * 8, 1 / 3]
    assert truths_of([0, 9], Integers(0, 9))["truth"][[0, 9]].tolist() == [0.5, 0.5]
    refused(ValuesError, "position 2", truths_of, [0.1, 0.2, 1.2], UNIT)
    for truth, name in ((0.5, "truth"), ({"a": 0.5}, "truth 'a'")):
        said = f"{name}: must be a list of shares, or of answers; got a number"
        refused(ArgumentTypeError, said, truths_of, truth, Categorical(["a", "b"]))
    with pytest.raises(ArgumentError, match="position 1: must be int"):
        truths_of(np.array([3.0, 4.5]), Integers(0, 9))


BINS = Interval(0.0, 10.0, 40)
OF_SUMMARIES = ("mae_mean", "mae_variance", "mae_range", "mae_quantile")


def _of_numbers(domain: warner.domains.Domain = BINS, n: int = 3000) -> warner.Tally:
    mechanism = warner.mechanisms.Piecewise(domain, 2.0, cells=256)
    rng = np.random.default_rng(0)
    return mechanism.tally(mechanism.randomize(10 * rng.beta(2, 4, n), rng))


def _labels(n: int = 3000) -> warner.Tally:
    domain, rng = Categorical([f"v{i}" for i in range(30)]), np.random.default_rng(1)
    coin = RandomizedResponse(domain, 1.0)
    index = rng.choice(30, n, p=rng.dirichlet(np.full(30, 0.5)))
    return coin.tally(coin.randomize(domain.decode(index), rng))


def _errors(found: Comparison) -> dict[str, float]:
    """The errors on tallies that are simulated from the recommended estimate."""
    return dict(found.truths[0].errors)


@pytest.mark.parametrize("loss", OF_SUMMARIES)
def test_the_losses_are_those_of_the_numbers_that_an_estimate_gives(loss: str) -> None:
    """One run after the other: the mean, variance, ranges and quantiles of the shares themselves."""
    tally = _of_numbers()
    methods = [LogSpline(), MaximumLikelihood(), Uniform()]
    found = _errors(warner.design.compare(tally, methods, loss=loss, runs=2))
    data, rng = likelihood_data(tally), np.random.default_rng(0)
    truth = _truths(data, 2, rng)["the recommended estimate"][0]
    drawn = [data.channel.simulate_tally(truth, data.n, rng) for _ in range(2)]
    simulated = [replace(data, channel=channel, weights=w) for channel, w in drawn]

    def numbers(shares: np.ndarray) -> np.ndarray:
        fit = replace(Uniform().fit(data), probabilities=shares)
        solution = warner.Estimate(fit, data, Uniform())
        if loss == "mae_mean":
            return np.array([mean_of_shares(solution)])
        if loss == "mae_variance":
            return np.array([variance_of_shares(solution)])
        if loss == "mae_quantile":
            return np.array([solution.quantile(k / 10) for k in range(1, 10)])
        # 37 ranges of 4 bins of 40, and 25 of 16, each width with half the weight.
        edges = np.linspace(0, 10, 41)
        return np.array([solution.range(edges[i], edges[i + 4]) for i in range(37)]), np.array(
            [solution.range(edges[i], edges[i + 16]) for i in range(25)]
        )

    for method in methods:
        errors = []
        for each in simulated:
            a, b = numbers(truth), numbers(method.fit(each).shares)
            pairs = zip(a, b, strict=True) if loss == "mae_range" else [(a, b)]
            errors.append(np.mean([np.abs(x - y).mean() for x, y in pairs]))
        assert found[repr(method)] == pytest.approx(np.mean(errors), rel=1e-9)


def test_the_sample_mean_is_ranked_by_the_error_of_the_mean_alone() -> None:
    """Its error is sqrt(2 / pi) of its standard error, within four standard errors of 200 runs."""
    tally = _of_numbers()
    found = warner.design.compare(tally, [SampleMean()], loss="mae_mean", runs=200)
    line = found.best
    assert not found.left_out and "mean" in found.loss_name
    assert "absolute error of the mean" in json.dumps(found.plot().to_dict())
    fit = SampleMean().fit(likelihood_data(tally)).mean
    assert fit is not None
    expected = np.sqrt(2 / np.pi * fit.variance[0] / tally.n)
    assert abs(line.error - expected) < 4 * line.standard_error + 0.03 * expected
    for loss in ("l2", "mae_variance", "kl"):
        assert (
            "SampleMean()"
            in warner.design.compare(tally, [SampleMean(), Uniform()], loss=loss, runs=2).left_out
        )


def test_reports_that_tell_the_mean_alone_are_compared_by_it() -> None:
    mechanism = warner.mechanisms.StochasticRounding(Interval(0, 10, 8), 1.0)
    tally = mechanism.tally(
        mechanism.randomize([2.5] * 900 + [7.0] * 100, np.random.default_rng(2))
    )
    found = warner.design.compare(tally, [SampleMean(), Inversion()], loss="mae_mean", runs=4)
    assert [line.method for line in found.results] == [SampleMean()]
    assert "Inversion(constraint=None)" in found.left_out


def test_places_have_means_and_no_quantiles() -> None:
    mechanism = warner.PlanarGeometric(Grid(4, 4), 2.0)
    cells = mechanism.domain.decode(np.arange(16).repeat(20))
    tally = mechanism.tally(mechanism.randomize(cells, np.random.default_rng(3)))
    found = warner.design.compare(tally, [MaximumLikelihood(), Uniform()], loss="mae_mean", runs=3)
    assert len(found.results) == 2 and all(line.error >= 0 for line in found.results)
    for loss in ("mae_variance", "mae_range", "mae_quantile", "w1"):
        refused(ArgumentError, "order", warner.design.compare, tally, [Uniform()], loss=loss)
    with pytest.raises(ArgumentError, match="numbers or places"):
        warner.design.compare(_labels(), [Uniform()], loss="mae_mean")


def test_squared_errors_of_the_distribution_function_and_of_the_mean() -> None:
    """By hand, on shares that sum to 1 and on an unbiased estimate that does not stay in [0, 1]."""
    truth, found = np.array([0.2, 0.3, 0.5]), np.array([0.3, -0.1, 0.8])
    fit = replace(Uniform().fit(likelihood_data(_labels())), probabilities=found)
    domain = Integers(0, 2)
    assert LOSSES["cdf"].error(truth, fit, domain) == pytest.approx(0.1**2 + 0.3**2)
    assert LOSSES["mse_mean"].error(truth, fit, domain) == pytest.approx(0.2**2)
    with pytest.raises(ArgumentError, match="order"):
        warner.design.compare(_labels(), [Uniform()], loss="cdf")


def test_points_on_a_line_in_any_order_have_the_same_ranges_and_quantiles() -> None:
    """Integers, and the same numbers as points in another order, with the same reports."""
    rng = np.random.default_rng(4)
    mixed = rng.permutation(12)
    shares = rng.dirichlet(np.ones(12))
    estimate = rng.dirichlet(np.ones(12))
    fit = Uniform().fit(likelihood_data(_labels()))
    for loss in ("mae_range", "mae_quantile", "mae_variance", "mae_mean", "mse_mean", "cdf"):
        error = LOSSES[loss].error
        straight = error(shares, replace(fit, probabilities=estimate), Integers(0, 11))
        points = warner.domains.Points(mixed[:, None].astype(float).tolist())
        other = error(shares[mixed], replace(fit, probabilities=estimate[mixed]), points)
        assert other == pytest.approx(straight)


def test_distances_are_in_the_unit_of_the_values_and_shares_may_stand_in_a_frame() -> None:
    """Rejects: distances in bins, below the error of the mean; shares of a column as answers."""
    shares = np.arange(1.0, 33.0) / np.arange(1.0, 33.0).sum()
    losses: dict[int, list[float]] = {}
    for high in (1, 10_000):
        for truth in (shares, pd.Series(shares)):
            how: Any = {"epsilon": 1.0, "n": 500, "runs": 2, "loss": ["w1", "mae_mean"], "seed": 1}
            league = warner.benchmark(truth, Interval(0, high, bins=32), ["SW"], ["em:20"], **how)
            rows = {row["loss"]: row["mean"] for row in league.rows()}
            assert rows["w1"] >= rows["mae_mean"]
            losses.setdefault(high, []).append(rows["w1"])
    assert losses[1][0] == losses[1][1] == pytest.approx(losses[10_000][0] / 10_000)


def test_divergences_and_the_most_common_values() -> None:
    """A share of 0 makes the divergence infinite, so the method is left out and told why."""
    tally = _labels(n=1000)
    methods = [EmpiricalBayes(), Inversion("project"), Inversion(), Uniform()]
    found = warner.design.compare(tally, methods, loss="kl", runs=3)
    assert "infinite" in found.left_out["Inversion(constraint='project')"]
    assert "'js'" in found.left_out["Inversion(constraint='project')"]
    assert all(np.isfinite(line.error) and line.error > 0 for line in found.results)
    finite = warner.design.compare(tally, methods, loss="js", runs=3)
    assert len(finite.results) == 4 and not finite.left_out
    assert all(line.error < np.log(2) for line in finite.results)
    top = _errors(warner.design.compare(tally, [Inversion(), Uniform()], loss="mae_top", runs=40))
    # Three of 30 values; the inversion's errors there are alike, so they have its closed form.
    coin = RandomizedResponse(Categorical([f"v{i}" for i in range(30)]), 1.0)
    data = likelihood_data(tally)
    truth = project(recommended(data.domain, data.channel).fit(data).shares)
    common = np.argsort(-truth)[:3]
    expected = np.sqrt(2 / np.pi * coin.channel().variance(truth)[common] / tally.n).mean()
    assert top["Inversion(constraint=None)"] == pytest.approx(expected, rel=0.25)
    assert top["Uniform()"] == pytest.approx((truth[common] - 1 / 30).mean())


def test_every_loss_has_words_and_a_place_in_the_command(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    _of_numbers(n=400).save(path)
    runner = CliRunner()
    shown = "".join(runner.invoke(main, ["benchmark", "--help"]).output.split())
    for name, loss in LOSSES.items():
        assert f"{name}:{loss.words}".replace(" ", "") in shown
    done = runner.invoke(main, ["benchmark", path, "--loss", "mae_mean", "--runs", "2", "--json"])
    assert done.exit_code == 0
    (ranking,) = json.loads(done.output).values()
    assert ranking["loss"] == "mae_mean"
    assert "SampleMean()" in [line["method"] for line in ranking["results"]]
    done = runner.invoke(
        main, ["benchmark", path, "--loss", "mae_quantile", "-m", "mle", "--runs", "2"]
    )
    assert done.exit_code == 0 and "nine deciles" in done.output


SLOW = (warner.estimators.literature.BiasCorrection, warner.LogSpline)  # their bootstraps


EPSILONS = [1e-6, 1.0, 20.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_methods_are_compared_on_two_reports(epsilon: float) -> None:
    coin = warner.RandomizedResponse(Integers(0, 1), epsilon)
    found = compare(
        coin.tally(coin.randomize([0, 0], np.random.default_rng(0))),
        [m for m in ESTIMATORS if not isinstance(m, SLOW)][:8],
        runs=2,
    )
    json.dumps(found.to_json(), allow_nan=False)
    assert all(
        np.isfinite([line.error, line.standard_error, line.excess_error]).all()
        for line in found.results
    )


def test_methods_that_differ_by_rounding_alone_win_alike() -> None:
    """With one report a value the maximum of the likelihood and the projection are both the corner.
    Rejects wins that are decided by rounding.
    """
    coin = warner.RandomizedResponse(Integers(0, 1), 1.0)
    found = compare(
        coin.tally(coin.randomize([0] * 50, np.random.default_rng(0))),
        [warner.MaximumLikelihood(), warner.Inversion("project")],
        runs=5,
    )
    assert [line.best_share for line in found.results] == [1.0, 1.0]
    assert [line.method for line in found.results] == [
        warner.MaximumLikelihood(),
        warner.Inversion("project"),
    ]


# Which way of asking several attributes errs least, and clusters of those that depend.


def test_schemes_are_compared_at_one_total_budget() -> None:
    domain = Product(a=Integers(0, 3), b=Integers(0, 3), c=Integers(0, 1))
    theta = np.multiply.outer(family(np.array([0.4, 0.3, 0.2, 0.1]), 0.5), [0.3, 0.7]).ravel()
    found = compare_schemes(domain, 3.0, 5000, theta, runs=10)
    assert {line.scheme for line in found.results} == {
        "RR-Independent",
        "RR-Ind-Joint",
        "RR-Joint",
        "RR-Clusters",
        "One question each",
        "One pair each",
    }
    assert all(
        (max if line.scheme.startswith("One") else sum)(line.epsilons)
        == pytest.approx(3.0, abs=1e-9)
        and len(line.epsilons) == len(line.groups)
        for line in found.results
    )
    assert [line.error for line in found.results] == sorted(line.error for line in found.results)
    floors = {line.scheme: line.floor for line in found.results}
    assert floors["RR-Independent"] > 0.01
    assert floors["RR-Clusters"] == pytest.approx(0, abs=1e-12)
    assert floors["RR-Joint"] == 0
    assert floors["One question each"] == pytest.approx(floors["RR-Independent"])
    assert floors["One pair each"] == pytest.approx(0, abs=1e-6)
    for line in found.results:
        if line.expected is not None:
            assert abs(line.error - line.expected) < 6 * line.standard_error
    data = json.loads(json.dumps(found.to_json()))
    assert data["results"][0]["scheme"] == found.best.scheme and data["epsilon"] == 3.0
    pair, uniform = Product(a=Integers(0, 1), b=Integers(0, 1)), np.full(4, 0.25)
    assert compare_schemes(pair, 3.0, 500, uniform) == compare_schemes(pair, 3.0, 500, uniform)


def test_comparisons_take_estimates_and_refuse_what_they_cannot_compare() -> None:
    whole, _ = fitted(Inversion())
    found = compare_schemes(DOMAIN, 2.0, 1000, whole, groups=[["sex", "pay"]], runs=2, loss="l1")
    assert {line.groups for line in found.results if line.scheme == "RR-Clusters"} == {
        (("sex", "pay"), ("age",))
    }
    alone = compare_schemes(DOMAIN, 2.0, 1000, np.full(24, 1 / 24), runs=2)
    assert "RR-Clusters" in alone.left_out
    with pytest.raises(ArgumentError, match="of the questions in domain"):
        compare_schemes(Product(a=Integers(0, 1), b=Integers(0, 1)), 2.0, 1000, whole)
    with pytest.raises(ArgumentTypeError, match="Product"):
        compare_schemes(Integers(0, 3), 2.0, 1000, [0.25] * 4)  # type: ignore[arg-type]
    refused(BudgetError, "", compare_schemes, DOMAIN, 0.0, 1000, np.full(24, 1 / 24))


def test_one_group_of_all_attributes_is_the_joint_scheme() -> None:
    pair = Product(a=Integers(0, 1), b=Integers(0, 1))
    found = warner.design.compare_schemes(
        pair, 2.0, n=1000, theta=[0.45, 0.05, 0.05, 0.45], groups=[["a", "b"]], runs=3
    )
    assert "RR-Joint" in found.left_out["One pair each"]
    assert "RR-Joint" in found.left_out["RR-Clusters"] and all(
        line.scheme != "RR-Clusters" for line in found.results
    )


def test_clusters_are_the_attributes_that_depend_as_far_as_they_fit() -> None:
    pair = family(np.full(4, 0.25), 0.6)
    domain = Product(a=Integers(0, 3), b=Integers(0, 3), c=Integers(0, 1), d=Integers(0, 1))
    theta = np.multiply.outer(pair, family(np.full(2, 0.5), 0.3)).ravel()
    assert clusters_of(domain, theta) == (("a", "b"), ("c", "d"))
    assert clusters_of(domain, theta, threshold=0.5) == (("a", "b"), ("c",), ("d",))
    assert clusters_of(domain, theta, largest=15) == (("a",), ("b",), ("c", "d"))
    data = seen(KroneckerChannel([keep(d) for d in domain.shape]), theta, 100_000, domain)
    assert (
        clusters(data)
        == clusters(Estimate(Inversion().fit(data), data, Inversion()))
        == (("a", "b"), ("c", "d"))
    )
    refused(ArgumentError, "threshold", clusters, data, threshold=1.5)


def test_clusters_come_from_a_tally_of_pairs() -> None:
    """Three attributes of which two are one: no joint estimate of all is kept, and none is needed."""
    three = Product(
        a=Categorical(["x", "y"]), b=Categorical(["x", "y"]), c=Categorical(["x", "y", "z"])
    )
    survey = warner.PerAttribute(
        three, {name: lambda domain: RandomizedResponse(domain, 2.0) for name in "abc"}
    )
    rng = np.random.default_rng(0)
    x = rng.choice(["x", "y"], 5000)
    tally = survey.tally(
        survey.randomize({"a": x, "b": x, "c": rng.choice(["x", "y", "z"], 5000)}, rng), ways=2
    )
    assert clusters(tally) == (("a", "b"), ("c",))
    plain = RandomizedResponse(Categorical(["x", "y"]), 2.0)
    refused(ArgumentTypeError, "Product", clusters, plain.tally(plain.randomize(x, rng)))


def test_one_question_each_errs_least_where_questions_are_many_and_independent() -> None:
    domain = Product(**{name: Integers(0, 1) for name in "abcde"})
    shares = np.array([0.7, 0.3])
    theta = shares
    for _ in range(4):
        theta = np.multiply.outer(theta, shares).ravel()
    found = compare_schemes(domain, 1.5, 5000, theta, runs=2)
    assert found.best.scheme == "One question each"
    errors = {line.scheme: line.error for line in reversed(found.results)}
    assert errors["One question each"] < 0.5 * errors["RR-Independent"]
    assert errors["One pair each"] < 0.5 * errors["RR-Ind-Joint"]


def test_the_command_compares_all_methods_by_a_flag(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    _counted(RandomizedResponse(Integers(1, 3), 1.0)).save(path)
    runner = CliRunner()
    command = ["benchmark", path, "--runs", "2"]
    assert "WienerFilter" not in runner.invoke(main, command).output
    assert "WienerFilter" in runner.invoke(main, [*command, "--all"]).output
    done = runner.invoke(main, [*command, "--all", "-m", "mle"])
    assert done.exit_code == 1 and "--all: cannot be used with --method" in done.output
