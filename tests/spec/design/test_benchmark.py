"""Benchmarks: mean losses of mechanisms with methods on a known truth, their store and tables."""

from __future__ import annotations

import importlib
import json
import linecache
import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
import warner.design.benchmark as module
from tests.own_parts import Forced, Shrunk
from tests.refusals import refused
from warner import (
    Categorical,
    Integers,
    Inversion,
    MatrixMechanism,
    RandomizedResponse,
    benchmark,
    metrics,
)
from warner.design.benchmark import _generator
from warner.design.benchmark_result import Cell
from warner.design.benchmark_shown import _ticks, alike, exponent
from warner.design.comparison import LOSSES
from warner.design.own_code import contents_of
from warner.errors import ArgumentError, FileError, MethodWarning, ValuesError, WarnerError
from warner.estimators.base import Fit, LikelihoodData, PosteriorFit
from warner.mechanisms import TruncatedGeometric
from warner.results.intervals import interval
from warner.results.named_summaries import encoded
from warner.results.solution import Solution
from warner.theory import expected_loss

DOMAIN = Integers(0, 4)
TRUTH = [0.4, 0.3, 0.2, 0.1, 0.0]
run = partial(benchmark, TRUTH, DOMAIN, ["RandomizedResponse", Forced], ["project", "mle"])


def test_a_mean_is_that_of_the_losses_of_the_simulated_tallies() -> None:
    """By a slow twin, which draws a tally and estimates from it for each run."""
    found = benchmark(TRUTH, DOMAIN, [RandomizedResponse], ["project", "eb"], n=500, runs=3)
    channel = RandomizedResponse(DOMAIN, 1.0).channel()
    cell, theta = Cell("truth", "RandomizedResponse", 1.0, 500), np.array(TRUTH) / sum(TRUTH)
    losses = []
    for k in range(3):
        rng = _generator(0, theta, cell, k)
        operator, w = channel.simulate_tally(theta, 500, rng)
        fit = Inversion("project").fit(LikelihoodData(operator, w, 500, DOMAIN))
        losses.append(LOSSES["l2"].error(theta, fit, DOMAIN))
    first, second = found.rows()
    assert first["mean"] == pytest.approx(np.mean(losses), rel=1e-12)
    assert first["standard_error"] == pytest.approx(np.std(losses, ddof=1) / np.sqrt(3), rel=1e-9)
    assert min(first["excess"], second["excess"]) == 0 <= max(first["excess"], second["excess"])


def test_the_error_of_the_unbiased_estimate_is_that_of_the_theory() -> None:
    """Rejects a benchmark with another n, another budget, or reports without noise: each changes
    the error by a factor of 1.5 or more, and the mean of 200 runs has a standard error of 5 %.
    """
    for epsilon, n in ((1.0, 2000), (2.0, 500)):
        found = benchmark(TRUTH, DOMAIN, [RandomizedResponse], ["inversion"], epsilon, n, 200)
        expected = warner.theory.expected_loss(RandomizedResponse(DOMAIN, epsilon), TRUTH, n)
        (row,) = found.rows()
        assert abs(row["mean"] - expected) < 4 * row["standard_error"] < 0.3 * expected


def test_every_cell_has_every_method_and_loss() -> None:
    found = run(epsilon=[0.5, 1.0], n=[200, 400], runs=2, loss=["l1", "w1"])
    rows = found.rows()
    assert len(rows) == 2 * 2 * 2 * 2 * 2 and len(found.best()) == 2 * 2 * 2
    assert {row["mechanism"] for row in rows} == {"RandomizedResponse", "Forced"}
    assert found.to_frame("pandas")["mean"].tolist() == [row["mean"] for row in rows]
    assert repr(found) == "Benchmark(truths=1, mechanisms=2, epsilon=2, n=2, methods=2, runs=2)"
    # Two lines are the note that the sampler of Forced is not run.
    assert len(str(found).splitlines()) == 35 + 2 and "<table" in found._repr_html_()
    assert json.loads(json.dumps(found.to_json()))["results"] == rows


def test_the_part_of_intervals_that_hold_is_that_of_the_same_tallies(tmp_path: Path) -> None:
    """By the intervals of ten tallies. Rejects other tallies than those of the losses, draws of the
    bootstrap that depend on the methods before, and intervals of another kind.
    """
    store = tmp_path / "runs.jsonl"
    call = partial(benchmark, TRUTH, DOMAIN, [RandomizedResponse], n=300, runs=10, store=store)
    methods = ["project", "eb"]
    alone, drawn = call(methods), call(methods, coverage="bootstrap")
    counted = call(methods, coverage=True).rows()
    parts = []
    for k in range(10):
        rng = _generator(0, np.array(TRUTH) / sum(TRUTH), alone.cells[0], k)
        channel = RandomizedResponse(DOMAIN, 1.0).channel()
        operator, w = channel.simulate_tally(np.array(TRUTH) / sum(TRUTH), 300, rng)
        data, method = LikelihoodData(operator, w, 300, DOMAIN), Inversion("project")
        low, high = interval(Solution(method.fit(data), data, method)).T
        parts.append(np.mean((low <= TRUTH) & (high >= TRUTH)))
    error = np.std(parts, ddof=1) / np.sqrt(10)
    assert counted[0]["coverage"] == pytest.approx(np.mean(parts))
    assert counted[0]["coverage_standard_error"] == pytest.approx(error)
    names = set(counted[0]) - set(alone.rows()[0])
    assert names == {"coverage", "coverage_standard_error", "intervals"}
    assert {row["intervals"] for row in counted} == {"score"}
    for row, before in zip(counted, alone.rows(), strict=True):
        assert {name: row[name] for name in before} == before
    (one,) = benchmark(
        TRUTH, DOMAIN, [RandomizedResponse], ["eb"], n=300, runs=10, coverage="bootstrap"
    ).rows()
    assert one["coverage"] == drawn.rows()[1]["coverage"] != counted[1]["coverage"]
    assert "95 % bootstrap intervals that hold" in str(drawn) and "95 %" not in str(alone)
    left = call(methods, coverage="posterior").left_out
    assert [name for _, name in left] == ["project"]
    with pytest.raises(ArgumentError, match=r"coverage: must be one of .*'posterior'"):
        call(methods, coverage="percentile")


@dataclass(frozen=True)
class WithIntervals(Shrunk):
    """Its own intervals are from 0.2 to 0.3, or a point."""

    def _fit(self, data: LikelihoodData) -> Fit:
        draws = lambda count, rng: np.linspace([0.2] * data.domain.size, 0.3, count)
        return replace(super()._fit(data), posterior=PosteriorFit(draws, for_intervals=True))


def test_an_estimator_of_ones_own_can_have_intervals_of_its_own() -> None:
    """Rejects intervals of the unbiased estimate, and one heading for two kinds of intervals."""
    found = benchmark(
        [0.25, 0.25, 0.25, 0.25],
        NUMBERS,
        [RandomizedResponse],
        {"mine": WithIntervals(1.0), "mle": "mle"},
        n=300,
        runs=3,
        coverage=True,
    )
    mine, _ = found.rows()
    assert (mine["intervals"], mine["coverage"]) == ("posterior", 1.0)
    first, second = found.notes
    assert first == "The posterior intervals of mine are those of the method itself."
    assert second.startswith("The score intervals are those of the unbiased estimate, not of mle.")
    assert str(found).splitlines()[2].split()[:2] == ["method", "intervals"]


@pytest.mark.parametrize("coverage", [True, "bootstrap"])
def test_intervals_of_an_estimator_that_shrinks_are_seen_to_miss(coverage: bool | str) -> None:
    """Rejects intervals around estimates with a bias that are said to hold, and a bound of 95 %
    that is not that of the unbiased intervals.
    """
    (row,) = benchmark(
        TRUTH, DOMAIN, [RandomizedResponse], [Shrunk(0.9)], n=5000, runs=100, coverage=coverage
    ).rows()
    low, high = row["coverage"] + np.array([-4, 4]) * row["coverage_standard_error"]
    assert (low <= 0.95 <= high + 0.02) if coverage is True else high < 0.6


def test_a_coverage_says_whose_intervals_it_is_of(tmp_path: Path) -> None:
    """Rejects a coverage of the unbiased intervals that looks like one of the method, tables and
    pictures for papers without the coverage, and a kind that is that of another call.
    """
    methods, store = ["inversion", Shrunk(0.9)], tmp_path / "runs.jsonl"
    call = partial(
        benchmark, FOUR, NUMBERS, [RandomizedResponse], methods, n=300, runs=3, store=store
    )
    own = call(coverage="bootstrap")
    unbiased = call(loss=["l2", "l1"], coverage=True)
    assert str(call(coverage="bootstrap")) == str(own)
    text = " ".join(str(unbiased).split())
    assert "intervals are those of the unbiased estimate, not of Shrunk(part=0.9)." in text
    assert "95 % score intervals that hold" in text
    assert "The bootstrap intervals of inversion, Shrunk(part=0.9) are those" in own.notes[-1]
    caption, _, table = unbiased.to_latex("coverage").partition("\n")
    words = "part of the 95 % score intervals of the unbiased estimate that hold the true share"
    assert words[1:].replace("%", "\\%") in caption and "Bold" not in caption
    assert all(f"{row['coverage']:.2g}" in table for row in unbiased.rows())
    assert r"\textbf" not in table and "in units of" not in table and table in unbiased.to_latex()
    shown = unbiased.plot(loss="coverage").to_dict()
    data = json.loads(shown["data"]["values"])
    assert [row["mean"] for row in data] == [row["coverage"] for row in unbiased.rows()[:2]]
    assert max(row["high"] for row in data) <= 1
    y = shown["layer"][-1]["encoding"]["y"]
    assert " ".join(y["title"]) == words and y["scale"] == {"zero": False}
    with pytest.raises(ArgumentError, match="must be 'l2'; got 'coverage'"):
        call().to_latex("coverage")


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("mse", "'l2' is the sum of squared errors: for K shares, K times their MSE"),
        ("MAE", "'l1' is the sum of absolute errors: for K shares, K times their MAE"),
        ("tv", "'l1' is twice the total variation"),
    ],
)
def test_losses_of_other_papers_lead_to_the_one_that_is_meant(loss: str, said: str) -> None:
    """Rejects "Is 'mae_top' meant?" for the MAE."""
    here = {"mse": None, "MAE": "Is 'mae' meant?"}.get(loss, said)
    if here is not None:
        refused(ArgumentError, here, run, loss=loss)
    refused(ArgumentError, said, warner.plan, DOMAIN, 1.0, 1000, loss=loss)
    truth, estimate = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.5, 0.1])
    errors = truth - estimate
    assert metrics.l1(truth, estimate) == pytest.approx(3 * np.abs(errors).mean())
    assert metrics.sum_of_squares(truth, estimate) == pytest.approx(3 * (errors**2).mean())
    assert metrics.l1(truth, estimate) == 2 * metrics.total_variation(truth, estimate)


def test_mean_errors_are_the_sums_divided_by_the_number_of_values() -> None:
    losses = ["l2", "mse", "l1", "mae", "max"]
    found = benchmark(TRUTH, DOMAIN, ["GRR"], ["inversion"], 1.0, 500, 5, losses)
    by_loss = {row["loss"]: row for row in found.rows()}
    for mean, total in (("mse", "l2"), ("mae", "l1")):
        for key in ("mean", "standard_error"):
            assert by_loss[mean][key] == pytest.approx(by_loss[total][key] / DOMAIN.size)
        device = RandomizedResponse(DOMAIN, 1.0)
        expected = [expected_loss(device, TRUTH, 500, loss) for loss in (mean, total)]
        assert expected[0] == pytest.approx(expected[1] / DOMAIN.size)
    assert by_loss["mse"]["exact"] == pytest.approx(by_loss["l2"]["exact"] / DOMAIN.size)
    assert by_loss["mae"]["exact"] is None  # its closed form is an approximation
    assert by_loss["mae"]["mean"] < by_loss["max"]["mean"] < by_loss["l1"]["mean"]


def test_results_depend_on_the_contents_alone() -> None:
    first = run(n=[200, 300], runs=3)
    turned = benchmark(
        TRUTH, DOMAIN, [Forced, "RandomizedResponse"], ["mle", "project"], n=[300, 200], runs=3
    )
    key = lambda row: (row["mechanism"], row["n"], row["method"])
    assert sorted(first.rows(), key=key) == sorted(turned.rows(), key=key)
    assert run(n=200, runs=3, seed=1).rows() != run(n=200, runs=3).rows()


def test_a_store_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "out" / "league.jsonl"
    first = run(n=[200], runs=3, store=store)
    whole = store.read_text()
    store.write_text(whole[:-7])  # stopped while the last line was written
    seen: list[int] = []
    work = module._work_on

    def counted(*task: Any) -> Any:
        seen.append(len(task[-1]))
        return work(*task)

    monkeypatch.setattr(module, "_work_on", counted)
    assert run(n=[200], runs=3, store=store).rows() == first.rows() and sum(seen) == 1
    more = run(n=[200, 300], runs=4, store=store)
    assert sum(seen) == 1 + 2 * 1 + 2 * 4  # a fourth run, and all runs of the other n
    assert run(n=[200, 300], runs=4).rows() == more.rows()
    seen.clear()
    wider = partial(benchmark, TRUTH, DOMAIN, ["RandomizedResponse"], n=200, runs=3, store=store)
    wider(["project", "eb"])
    assert sum(seen) == 3  # of the other method
    seen.clear()
    wider({"shrunk": Shrunk(0.2)}), wider({"shrunk": Shrunk(0.3)}), wider({"other": Shrunk(0.3)})
    assert sum(seen) == 3 + 3  # options are contents, names are not
    other = tmp_path / "answers.csv"
    other.write_text("answer\nyes\n")
    refused(FileError, "is not a file of finished runs", run, store=other)
    assert other.read_text() == "answer\nyes\n"


def test_the_values_that_own_methods_read_are_part_of_the_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects the losses of before where a constant has changed that the method reads."""
    (tmp_path / "own_rates.py").write_text("RATE = 0.1\n")
    (tmp_path / "own_reading.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\nimport own_rates\n"
        "from warner.estimators import Inversion\nfrom warner.estimators.base import Fit, Status\n"
        "from tests.own_parts import Shrunk\n"
        "PART, TABLE, UNREAD, BASE = 0.1, np.full(5, 0.2), object(), Inversion('project')\n"
        "THING = object()\n"
        "def equal(size):\n    return TABLE[:size] / TABLE[:size].sum()\n"
        "@dataclass(frozen=True)\nclass Reads(Shrunk):\n"
        "    def _fit(self, data):\n"
        "        part, shares = PART + own_rates.RATE, BASE.fit(data).shares\n"
        "        return Fit((1 - part) * shares + part * equal(shares.size), Status.COMPLETED)\n"
        "class ReadsMore(Reads):\n    def _fit(self, data):\n"
        "        return THING and super()._fit(data)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    own: Any = importlib.import_module("own_reading")
    seen: list[int] = []
    work = module._work_on
    monkeypatch.setattr(module, "_work_on", lambda *task: (seen.append(1), work(*task))[1])
    store = tmp_path / "league.jsonl"

    def again(method: Any) -> int:
        seen.clear()
        benchmark(
            TRUTH, DOMAIN, ["RandomizedResponse"], {"own": method}, n=200, runs=2, store=store
        )
        return len(seen)

    assert (again(own.Reads()), again(own.Reads())) == (1, 0)
    for owner, name, value in (
        (own, "PART", 0.2),
        (own.own_rates, "RATE", 0.3),
        (own, "TABLE", np.arange(1.0, 6.0)),
        (own, "BASE", Inversion("norm-cut")),
    ):
        monkeypatch.setattr(owner, name, value)
        assert (again(own.Reads()), again(own.Reads())) == (1, 0), name
    monkeypatch.setattr(own, "UNREAD", object())
    assert again(own.Reads()) == 0
    lines = store.read_text()
    for _ in range(2):
        with pytest.warns(MethodWarning, match=r"Runs of own are not stored.* THING \(object\)"):
            assert again(own.ReadsMore()) == 1
    assert store.read_text() == lines


def _typed_in(helper: str, body: str, options: str = "") -> Any:
    """An estimator of a notebook, whose code stands in no file of its own."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "from dataclasses import dataclass, field\nimport numpy as np\nimport warner\n"
        f"def helper(shares):\n    {helper}\n"
        "@dataclass(frozen=True)\nclass Typed(warner.estimators.Estimator):\n"
        f"    summary = 'typed in'\n    {options}\n    def _fit(self, data):\n        {body}\n",
        space,
    )
    return space["Typed"]


def test_the_code_of_own_methods_is_part_of_the_contents() -> None:
    """Rejects the losses of before where a number in the code has changed, or the code of a helper
    that stands in another cell, or an option that repr leaves out or shortens.
    """
    code = ("return 0.1 * shares", "return helper(data.weights)")
    key = lambda *code, **options: module._key_of_method(_typed_in(*code)(**options))
    assert key(*code) == key(*code)
    others = {key("return 0.2 * shares", code[1]), key(code[0], "return helper(1 - data.weights)")}
    assert len(others | {key(*code)}) == 3
    hidden = (*code, "table: object = field(default=None, repr=False)")
    assert key(*hidden, table=np.zeros(3)) != key(*hidden, table=np.ones(3))
    starts = [tuple(np.roll(np.arange(1.0, 41.0) / 820, i).tolist()) for i in (0, 1)]
    first, second = (
        module._key_of_method(warner.estimators.ExpectationMaximization(5, start=start))
        for start in starts
    )
    assert first != second


def test_several_processes_give_the_same_numbers() -> None:
    """New processes import the own parts of this test by their module."""
    methods = ["project", Shrunk(0.1)]
    wanted = partial(benchmark, TRUTH, DOMAIN, [Forced], methods, n=[200, 300], runs=2)
    assert wanted(processes=2).rows() == wanted().rows()


def test_truths_are_shares_values_or_several_by_name() -> None:
    question = Categorical(["a", "b"])
    of = partial(benchmark, domain=question, mechanisms=[RandomizedResponse], methods=["project"])
    shares, values = of([0.25, 0.75], runs=2), of(["b", "a", "b", "b"], runs=2)
    assert shares.rows() == values.rows()
    assert of([0, 1.0], runs=2).rows() == of([0.0, 1.0], runs=2).rows()  # 0 is no answer here
    several = of({"even": [0.5, 0.5], "answers": ["a", "b", "b", "b"]}, runs=2)
    assert [row["truth"] for row in several.rows()] == ["even", "answers"]
    assert several.rows()[1]["mean"] == shares.rows()[0]["mean"]
    for wrong in ([0.5, 0.6], [0.5, 0.25, 0.25], {}):
        refused(ArgumentError, "truth", of, wrong)
    refused(ValuesError, "", of, ["c", "a"])


@dataclass(frozen=True)
class Fails(Shrunk):
    """Divides by zero."""

    def _fit(self, data: LikelihoodData) -> Any:
        raise ZeroDivisionError("no reports")


def test_what_cannot_be_used_is_left_out_with_the_reason() -> None:
    question = Categorical(["a", "b", "c"])
    found = benchmark(
        [0.2, 0.3, 0.5],
        question,
        {"RR": RandomizedResponse, "steps": "Geometric"},
        {"spline": "spline", "fails": Fails(), "mle": "mle"},
        n=100,
        runs=2,
    )
    assert [(row["mechanism"], row["method"]) for row in found.rows()] == [("RR", "mle")]
    text = str(found)
    assert "spline with RR is not run in 1 setting: domain" in text
    assert "raised ZeroDivisionError: no reports" in text and "steps is not run" in text


def test_progress_is_told_and_a_partial_has_a_name() -> None:
    told: list[str] = []
    with warner.results.progress(lambda stages: told.extend(map(str, stages))):
        make = partial(warner.UnaryEncoding, variant="oue")
        found = benchmark(TRUTH, DOMAIN, [make], ["project"], n=[100, 200], runs=2)
    assert "benchmark: 2 of 2" in told
    assert {row["mechanism"] for row in found.rows()} == {"UnaryEncoding variant='oue'"}


def test_each_panel_of_a_picture_has_its_own_rows(tmp_path: Path) -> None:
    found = run(epsilon=[0.5, 1.0], n=[200, 400], runs=2)
    chart = found.plot(str(tmp_path / "league.json")).to_dict()
    assert json.loads((tmp_path / "league.json").read_text())["facet"]
    assert chart["facet"]["column"]["field"] == "column" and chart["facet"]["row"]["field"] == "row"
    data = json.loads(chart["data"]["values"])
    assert {row["row"] for row in data} == {"epsilon 0.5", "epsilon 1"}
    assert not any("data" in layer for layer in chart["spec"]["layer"])
    many = benchmark(TRUTH, DOMAIN, ["GRR", "OUE", "OLH"], ["mle", "project"], [0.5, 1.0], runs=2)
    few = many.plot().to_dict()  # more mechanisms than methods: they are the lines
    assert few["spec"]["layer"][0]["encoding"]["color"]["field"] == "mechanism"
    assert few["facet"]["field"] == "column" and few["columns"] == 3
    lines = many.plot(lines="method").to_dict()
    assert lines["spec"]["layer"][0]["encoding"]["color"]["field"] == "method"
    refused(
        ArgumentError, 'cannot both be "mechanism"', many.plot, x="mechanism", lines="mechanism"
    )
    across = found.plot(x="mechanism").to_dict()
    assert across["spec"]["layer"][0]["encoding"]["x"]["field"] == "mechanism"
    refused(ArgumentError, "x", found.plot, x="method")


def test_the_axis_of_a_picture_has_the_numbers_of_which_there_are_more() -> None:
    """Rejects six panels of two numbers of people each, where four of three epsilons say it."""
    axis = lambda found: found.plot().to_dict()["spec"]["layer"][0]["encoding"]["x"]["title"]
    assert axis(run(epsilon=[0.5, 1.0, 2.0], n=[200, 400], runs=2)) == "epsilon (nats)"
    assert axis(run(epsilon=[0.5, 1.0], n=[200, 400], runs=2)) == "people"
    assert axis(run(epsilon=[0.5, 1.0], n=[200, 400, 800], runs=2)) == "people"


def test_bars_of_methods_stand_beside_each_other() -> None:
    """Rejects bars of all methods at one place, and bars that reach those of the next number."""
    found = run(epsilon=[0.5, 1.0, 2.0], n=[200], runs=2)
    data = json.loads(found.plot(lines="method").to_dict()["data"]["values"])
    for epsilon in (0.5, 1.0, 2.0):
        shown = {row["method"]: row["across"] for row in data if row["epsilon"] == epsilon}
        first, second = shown.values()
        assert first < epsilon < second < 1.1 * first
        assert first * second == pytest.approx(epsilon**2)


NUMBERS = Integers(0, 3)
FOUR = [0.4, 0.3, 0.2, 0.1]
small = partial(
    benchmark, FOUR, NUMBERS, mechanisms=[RandomizedResponse], methods=["mle"], n=100, runs=2
)


def _blind(domain: Any, epsilon: float) -> MatrixMechanism:
    """A channel without an inverse: the values 0 and 1 make the same reports."""
    return MatrixMechanism(domain, [[0.6, 0.6, 0.4, 0.4], [0.4, 0.4, 0.6, 0.6]], epsilon)


def test_a_refusal_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a store in which each call does the runs of refused methods again, and adds lines."""
    store = tmp_path / "league.jsonl"
    league = partial(
        benchmark, FOUR, NUMBERS, {"blind": _blind}, ["inversion", "mle"], runs=3, store=store
    )
    first = league()
    lines = store.read_text().splitlines()
    assert len(lines) == 1 + 3 + 1 and [key[1] for key in first.left_out] == ["inversion"]
    monkeypatch.setattr(module, "_work_on", lambda *task: pytest.fail("done again"))
    again = league()
    assert again.rows() == first.rows() and again.left_out == first.left_out
    assert store.read_text().splitlines() == lines


def test_a_refusal_by_one_loss_is_not_one_by_the_method(tmp_path: Path) -> None:
    """A method that is refused for one loss may have another."""
    store = tmp_path / "league.jsonl"
    league = partial(benchmark, FOUR, NUMBERS, [RandomizedResponse], ["mean"], runs=2, store=store)
    assert not league(loss="l2").rows()
    assert [row["loss"] for row in league(loss="mae_mean").rows()] == ["mae_mean"]


def test_other_files_are_refused_with_a_remedy(tmp_path: Path) -> None:
    store = tmp_path / "league.jsonl"
    store.touch()
    small(store=store)  # an empty file holds nothing that could be lost
    lines = store.read_text().splitlines()
    for wrong in ("garbage", "[1]"):
        store.write_text("\n".join([*lines[:-1], wrong, lines[-1], ""]))
        refused(FileError, r"line 3: cannot be read as .* Remove", small, store=store)
    refused(FileError, "is a folder", small, store=tmp_path)


def test_an_interrupt_says_where_the_finished_runs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*task: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_work_on", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        small(store=tmp_path / "league.jsonl")
    assert (
        "league.jsonl. To do the remaining runs, repeat the same call" in caught.value.__notes__[0]
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mechanisms": ["RandomisedResponse"]}, "Is 'RandomizedResponse' meant"),
        ({"mechanisms": ["zebra"]}, "must be one of RandomizedResponse"),
        ({"mechanisms": ["OUEE"]}, "got 'OUEE'. Is 'OUE' meant?"),
        (
            {"mechanisms": ["PrivUnit"]},
            "got 'PrivUnit'. PrivUnit is not in this package; it randomises",
        ),
        ({"mechanisms": ["EMS"]}, "got 'EMS'. EMS is called warner.estimators.literature.Smoothed"),
        ({"mechanisms": ["LocalHashing prime=x"]}, "with a number or a text in quotes"),
        ({"methods": ["GRR"]}, "GRR is called warner.RandomizedResponse here"),
        ({"mechanisms": [lambda domain, epsilon: None]}, "must have a name for each lambda"),
        ({"mechanisms": [RandomizedResponse(NUMBERS, 1.0)]}, "Write RandomizedResponse without"),
        ({"mechanisms": "RandomizedResponse"}, "must be a list"),
        (
            {"mechanisms": ["L-GRR"]},
            "made from a domain and an epsilon; got L-GRR, which is made from mechanism and forever"
            r"\. Write {'L-GRR': lambda domain, epsilon: Permanent\(\.\.\.\)}",
        ),
        ({"mechanisms": [warner.MatrixMechanism]}, "which is made from domain and matrix"),
        ({"methods": ["mel"]}, "Is 'mle' meant"),
        ({"domain": Categorical(list("abcd")), "loss": "w1"}, "w1"),
        ({"epsilon": []}, "epsilon: must not be empty"),
        ({"epsilon": [0.5, -1.0]}, "epsilon: must be above 0; got -1"),
        ({"n": []}, "n: must not be empty"),
        ({"loss": []}, "loss: must not be empty"),
        ({"seed": None}, r"seed: must be a whole number; got None\.$"),
        ({"n": 1e5}, r"n: must be a whole number; got 100000\.0 \(a number\)\. Write 100_000"),
        ({"n": 0.5}, r"n: must be a whole number; got 0\.5 \(a number\)\.$"),
        ({"mechanisms": []}, "got an empty list"),
        ({"methods": []}, "got an empty list"),
        ({"methods": [warner.MaximumLikelihood]}, "got a class"),
        (
            {"mechanisms": {"x": lambda d, e: None}},
            "mechanism 'x': its function must return .*; got None",
        ),
        (
            {"mechanisms": {"x": lambda d, e: RandomizedResponse(d, 2 * e)}},
            "must have an epsilon of at most 1.0; got 2.0",
        ),
        (
            {"mechanisms": {"x": lambda d, e: RandomizedResponse(Categorical(["a", "b"]), e)}},
            "must have the domain of the benchmark; got Categorical",
        ),
    ],
)
def test_wrong_arguments_are_refused(changed: dict[str, Any], said: str) -> None:
    """Rejects leagues with no rows, and rows of a mechanism that spends more than they say."""
    usual = {"domain": NUMBERS, "mechanisms": [RandomizedResponse], "methods": ["mle"], "runs": 2}
    refused(WarnerError, said, benchmark, FOUR, **usual | changed)


def test_a_store_notices_a_change_in_a_module_that_a_method_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects the losses of before where a helper in a file beside the method has changed."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of a file of the same second and size
    (tmp_path / "own_method.py").write_text(
        "import warner\n"
        "class Powered(warner.Inversion):\n"
        "    def _fit(self, data):\n"
        "        from own_helper import POWER\n"
        "        return warner.Inversion('project' if POWER else None)._fit(data)\n"
    )
    keys = []
    for power in (0, 1):
        (tmp_path / "own_helper.py").write_text(f"POWER = {power}\n")
        for name in ("own_method", "own_helper"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.checkcache()
        own = importlib.import_module("own_method")
        keys.append(module._key_of_method(own.Powered()))
    assert keys[0] != keys[1]
    # The file of code that runs may have changed since it was imported.
    (tmp_path / "own_helper.py").write_text("POWER = 2\n")
    linecache.checkcache()
    assert module._key_of_method(own.Powered()) == keys[1]
    forms, unknown = contents_of(Inversion())
    assert not unknown and list(forms) == ["Inversion"]  # the package's own code has a version


def test_counts_are_not_taken_for_answers() -> None:
    """Rejects shares of 3, 2, 1 and 1 people out of counts that happen to be values."""
    counted = partial(benchmark, [3, 2, 1, 1], NUMBERS, [RandomizedResponse], ["mle"])
    refused(ArgumentError, "4 whole numbers, which could be answers or counts", counted)


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(TypeError) as caught:
        small(mechanisms={"OUE": partial(warner.UnaryEncoding, form="optimized")})
    assert "'OUE'" in caught.value.__notes__[0]


def test_a_lambda_with_a_name_and_no_protection_are_mechanisms() -> None:
    rows = benchmark(
        FOUR,
        NUMBERS,
        {
            "RR": lambda d, e: RandomizedResponse(d, e),
            "none": lambda d, e: warner.RandomizedResponse(d, float("inf")),
        },
        ["inversion"],
        epsilon=[1.0, 1.0],
        runs=2,
    ).rows()
    assert [row["mechanism"] for row in rows] == ["RR", "none"]


def test_mechanisms_that_promise_less_are_marked_and_never_the_best() -> None:
    """Rejects a row of epsilon 1 that is 3-LDP, no privacy, or of one value, and wins unsaid."""
    unprotected = np.eye(4) * 0.9 + np.roll(np.eye(4), 1, 0) * 0.1
    makers = {
        "GRR": "GRR",
        "metric": TruncatedGeometric,
        "same law": "TruncatedGeometric",  # by its name it has the budget for any two values
        "open": lambda d, e: MatrixMechanism(d, unprotected),
        "one": partial(warner.UtilityOptimizedRR, sensitive=[0]),
    }
    found = benchmark(FOUR, NUMBERS, makers, ["inversion"], [1.0, 2.0], 1000, 4)  # type: ignore[arg-type]
    assert {cell.mechanism for cell in found.weaker} == {"metric", "open", "one"}
    assert {row["mechanism"] for row in found.best()} <= {"GRR", "same law"}
    shown, table = str(found), found.to_latex()
    assert "metric *" in shown and "same law *" not in shown and "GRR *" not in shown
    assert "* open protects less than its rows say: at epsilon 1 it gives no protection." in shown
    assert r"metric$^\dagger$ &" in table and r"open protects less" in table
    assert not re.search(r"(metric|open|one)\$.*textbf", table)
    guarantees = {row["mechanism"]: row["guarantee"] for row in found.rows()}
    assert guarantees["GRR"] == "2-LDP" and guarantees["open"] == "no protection"
    assert "Mechanisms with a * protect less" in json.dumps(found.plot().to_dict())


def test_a_promise_is_said_once_and_no_closed_form_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects a sentence for each truth, and a benchmark that ends where a form is too large."""

    def too_large(*arguments: Any) -> float:
        raise ArgumentError("channel", "has an inverse matrix that is too large")

    monkeypatch.setattr(module, "expected_loss", too_large)
    truths = {"first": FOUR, "second": [0.25] * 4}
    makers = {"metric": TruncatedGeometric, "GRR": "GRR"}
    found = benchmark(truths, NUMBERS, makers, ["inversion"], [1.0, 2.0], 100, 2)  # type: ignore[arg-type]
    assert (
        len(found.notes) == 1
        and "at epsilon 1 it gives an epsilon of 1 for each unit" in found.notes[0]
    )
    assert not found.exact and len(found.rows()) == 8


def test_bold_are_all_that_are_not_worse_beyond_chance() -> None:
    """Rejects bold for the least mean alone, whatever chance made of it."""
    same = {"a": RandomizedResponse, "b": partial(warner.UnaryEncoding, variant="oue")}
    found = benchmark(FOUR, NUMBERS, same, ["inversion", "mle"], 2.0, 500, 40)
    bold = found.to_latex(digits=9).count(r"\textbf")
    said = "The difference is taken run by run, so it can be known better than the means."
    assert said in found.to_latex()
    rows = {(r["mechanism"], r["method"]): found.values[found.cells[r["mechanism"] == "b"],
            r["method"]]["l2"] for r in found.rows()}  # fmt: skip
    best = min(rows.values(), key=np.mean)
    less = [(each - best).mean() / max((each - best).std(ddof=1), 1e-300) for each in rows.values()]
    means = [float(f"{each.mean():.8e}") for each in rows.values()]  # the same digits are bold, too
    assert bold == sum(each * np.sqrt(40) <= 2 or mean == min(means)
                       for each, mean in zip(less, means, strict=True))  # fmt: skip


def test_the_expected_error_stands_beside_that_of_the_inversion() -> None:
    found = benchmark(FOUR, NUMBERS, ["GRR"], ["inversion", "mle"], 1.0, 1000, 200)
    inversion, mle = found.rows()
    assert mle["exact"] is None and "exact" in str(found)
    exact = expected_loss(RandomizedResponse(NUMBERS, 1.0), FOUR, 1000)
    assert inversion["exact"] == pytest.approx(exact)
    assert abs(inversion["mean"] - inversion["exact"]) < 4 * inversion["standard_error"]


def test_a_mechanism_that_spends_less_than_its_row_says_is_marked() -> None:
    """Rejects a mechanism of epsilon 0.5 in a row of epsilon 1 unsaid, and a mark for 0.995."""

    def made(spent: float, domain: Any, epsilon: float) -> MatrixMechanism:
        matrix = np.where(np.eye(domain.size) > 0, np.exp(spent * epsilon), 1.0)
        return MatrixMechanism(domain, matrix / matrix.sum(axis=0), epsilon)

    makers = {"mine": partial(made, 0.5), "nearly": partial(made, 0.995), "GRR": "GRR"}
    found = benchmark(FOUR, NUMBERS, makers, ["inversion"], [1.0, 2.0], 100, 2)  # type: ignore[arg-type]
    assert {cell.mechanism for cell in found.smaller} == {"mine"} and not found.weaker
    said = "mine spends epsilon 0.5 in place of 1, 1 in place of 2, so it is compared at a smaller "
    assert found.notes == (f"\N{DOUBLE DAGGER} {said}epsilon.",)
    shown, table = str(found), found.to_latex()
    assert "mine \N{DOUBLE DAGGER}" in shown and said.strip() in " ".join(shown.split())
    assert r"mine$^\ddagger$ &" in table and rf"$^\ddagger$ {said}" in table
    assert r"nearly &" in table and r"GRR &" in table
    assert "spend less" in json.dumps(found.plot().to_dict())


def test_what_is_the_same_in_all_rows_is_in_the_title() -> None:
    """Rejects a table that says neither of which mechanism it is nor at which epsilon and n."""
    alone = benchmark(FOUR, NUMBERS, ["GRR"], ["mle"], 0.5, 1000, 2)
    said = "mean losses over 2 runs of each setting"
    assert alone.table().title == f"{said}, GRR, epsilon 0.5, 1,000 people, l2"
    several = benchmark(FOUR, NUMBERS, ["GRR", "OUE"], ["mle"], [0.5, 1.0], 1000, 2)
    assert several.table().title == f"{said}, 1,000 people, l2"


def test_it_is_said_that_the_sampler_of_an_own_class_is_not_run() -> None:
    """Rejects silence on a sampler that no benchmark runs, and a note on classes of the package."""

    class Unrun(Forced):
        def _sample(self, *arguments: Any, **options: Any) -> Any:
            raise AssertionError("the sampler was run")

    makers = {"mine": Unrun, "GRR": RandomizedResponse}
    found = benchmark(FOUR, NUMBERS, makers, ["inversion"], 1.0, 100, 2)  # type: ignore[arg-type]
    assert found.notes == (
        "mine: the benchmark draws reports with the probabilities that Unrun states. To test how "
        "Unrun itself draws reports, use warner.testing.check_mechanism.",
    )
    assert found.notes[0] in " ".join(str(found).split())


def test_a_baseline_for_high_privacy_alone_is_said() -> None:
    notes = [benchmark(FOUR, NUMBERS, ["HR"], ["mle"], e, 100, 2).notes for e in (1.0, 2.0)]
    assert (
        notes[0] == () and "For an epsilon above 1, compare it with SubsetSelection" in notes[1][0]
    )


FOUND = benchmark(
    {"a_b": FOUR, "even": [0.25] * 4},
    Integers(0, 3),
    {"R&R": RandomizedResponse, "steps": "TruncatedGeometric"},
    ["mle", "inversion"],
    epsilon=[0.5, 1.0],
    n=[100, 200],
    runs=2,
)


def test_each_column_has_its_least_mean_in_bold() -> None:
    text = FOUND.to_latex(digits=4)
    first, second = text.split("\n\n")
    about = (
        "with the standard error of each in brackets. Bold: the least of each column, and those not"
    )
    assert first.startswith(rf"% \caption{{Sum of squared errors: mean of 2 runs (a\_b), {about}")
    assert second.startswith(rf"% \caption{{Sum of squared errors: mean of 2 runs (even), {about}")
    rows = [row for row in FOUND.rows() if row["truth"] == "even"]
    for epsilon in (0.5, 1.0):
        for n in (100, 200):
            here = [row for row in rows if (row["epsilon"], row["n"]) == (epsilon, n)]
            least = min(here, key=lambda row: row["mean"])
            numbers = [least["mean"], least["standard_error"]]
            assert rf"\textbf{{{alike(numbers, exponent(numbers[0]), 4)[0]}}}" in second
    assert second.count(r"\textbf") >= 4 and r"R\&R" in second
    assert r"\multicolumn{2}{c}{$\varepsilon = 0.5$}" in second
    widths = {
        len(line.split(" & ")) for line in second.splitlines() if re.search(r"\d\)? \\\\$", line)
    }
    assert widths == {6}
    assert re.search(r"\\textbf{[\d.]+} \([\d.]+\)", second)
    assert "(" not in FOUND.to_latex(errors=False).split("toprule")[-1]
    assert FOUND.to_latex(digits=1).count(r"\textbf") >= text.count(r"\textbf")


def test_a_table_in_latex_has_its_order_where_cells_are_left_out() -> None:
    """Rejects columns, and methods, in the order in which the first rows happen to have them."""

    class Early(warner.Inversion):
        name = "early"

        def fit(self, data: Any) -> Any:
            if data.n == 100:
                raise ArgumentError("n", "must be more")
            return super().fit(data)

    def late(domain: Any, epsilon: float) -> RandomizedResponse:
        if epsilon < 1:
            raise ArgumentError("epsilon", "must be 1 or more", str(epsilon))
        return RandomizedResponse(domain, epsilon)

    found = benchmark(
        FOUR, Integers(0, 3), {"late": late, "all": RandomizedResponse},
        {"early": Early(), "mle": warner.MaximumLikelihood()},
        epsilon=[0.5, 1.0, 2.0], n=[100, 200], runs=2,
    )  # fmt: skip
    lines = [line for line in found.to_latex().splitlines() if not line.startswith("%")]
    (budgets,) = [line for line in lines if "varepsilon" in line]
    assert re.findall(r"varepsilon = ([\d.]+)", budgets) == ["0.5", "1", "2"]
    assert [line.split(" & ")[1] for line in lines if re.search(r"& (early|mle) &", line)] == [
        "early", "mle", "early", "mle"
    ]  # fmt: skip
    assert all(line.split(" & ")[2:4] == ["--", "--"] for line in lines if line.startswith("late"))


def _columns(line: str) -> int:
    """How many columns of a tabular a row fills."""
    spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
    return len(re.split(r"(?<!\\)&", line)) - len(spans) + sum(spans)


@pytest.mark.parametrize("scale", [None, 1e-4, 1.0])
def test_a_table_in_latex_has_a_power_of_ten_and_is_whole(scale: float | None) -> None:
    """Rejects powers of ten in some cells, errors of other decimals, and rows of another width."""
    table = FOUND.to_latex(scale=scale).split("\n\n")[0]
    comments = [line for line in table.splitlines() if line.startswith("%")]
    begin, *lines = [line for line in table.splitlines() if not line.startswith("%")]
    width = begin.removeprefix(r"\begin{tabular}{").rstrip("}")
    rows = [line for line in lines if line.endswith(r" \\")]
    assert width == "llrrrr" and all(_columns(row) == len(width) for row in rows)
    rules = [line for line in lines if line not in rows]
    assert rules == [
        r"\toprule", *[r"\midrule"] * 2, r"\bottomrule", r"\end{tabular}"
    ]  # fmt: skip
    body = "\n".join(rows)
    assert body.count("{") == body.count("}") and body.count("$") % 2 == 0
    units = [row for row in rows if "in units of" in row]
    assert len(units) == (scale != 1.0)
    powers = re.findall(r"\$10\^\{(-?\d+)\}\$", "".join(units))
    assert scale != 1e-4 or set(powers) == {"-4"}
    cells = [re.fullmatch(r"(?:\\textbf\{)?([\d.]+)\}? \(([\d.]+)\)", cell.strip())
             for row in rows for cell in row.removesuffix(r"\\").split("&")]  # fmt: skip
    pairs = [match.groups() for match in cells if match]
    assert len(pairs) == 4 * 4 and r"\cdot" not in body
    assert all(len(m.partition(".")[2]) == len(e.partition(".")[2]) for m, e in pairs)
    assert re.fullmatch(r"% warner [\d.]*, seed 0, 2 runs", comments[-1])
    refused(ArgumentError, "must be 1, 10, 100", FOUND.to_latex, scale=3e-4)


def test_numbers_in_units_of_the_power_are_the_means() -> None:
    found = small(mechanisms=["GRR", "OUE"], methods=["inversion", "mle"], loss="mse", n=10_000)
    rows = found.to_latex(digits=6, scale=1e-5).splitlines()
    means = [float(re.findall(r"([\d.]+)\}? \(", line)[0]) for line in rows if "(" in line[3:]
             and not line.startswith("%")]  # fmt: skip
    assert means == pytest.approx([1e5 * row["mean"] for row in found.rows()], rel=1e-5)
    exact = [float(line.split("&")[2].strip(" \\")) for line in rows if "closed form" in line]
    expected = [row["exact"] for row in found.rows() if row["exact"] is not None]
    assert exact == pytest.approx([1e5 * each for each in expected], rel=1e-3)


def test_means_with_the_same_digits_are_bold_together() -> None:
    """Rejects 3.4 in bold beside 3.4 that is not: the difference is taken run by run."""
    cell, several = FOUND.cells[0], np.linspace(0, 1e-3, 20)
    values = {
        (cell, "mle"): {"l2": 0.0401 + several},
        (cell, "inversion"): {"l2": 0.0402 + several},
    }
    found = replace(FOUND, values=values, runs=20)
    assert found.to_latex(digits=2, errors=False).count(r"\textbf") == 2
    assert found.to_latex(digits=4, errors=False).count(r"\textbf") == 1
    promises_less = replace(found, weaker=frozenset({cell}))
    assert promises_less.to_latex(digits=2, errors=False).count(r"\textbf") == 0


def test_a_picture_of_the_first_of_two_losses_says_so() -> None:
    """Rejects a picture of one of two losses without a word on the other."""
    found = small(mechanisms=["GRR"], methods=["mle"], loss=["l2", "l1"])
    said = 'This is the loss "l2". For another loss, pass loss="l1"'
    titles = [" ".join(each.plot(loss=loss).to_dict()["title"]["subtitle"])
              for each, loss in ((found, None), (found, "l2"), (FOUND, None))]  # fmt: skip
    assert [said in " ".join(title.split()) for title in titles] == [True, False, False]


def test_a_mean_of_0_is_left_out_of_the_picture_and_said() -> None:
    """Rejects a linear axis for all because of one mean, and a point that is nowhere."""
    cell = FOUND.cells[0]
    values = {**FOUND.values, (cell, "mle"): {"l2": np.zeros(2)}}
    picture = replace(FOUND, values=values).plot(x="epsilon").to_dict()
    subtitle = " ".join(" ".join(picture["title"]["subtitle"]).split())
    assert (
        "cannot show errors of 0, so these are left out: mle with R&R at epsilon 0.5." in subtitle
    )
    scales = [layer["encoding"]["y"].get("scale", {}) for layer in picture["spec"]["layer"]]
    assert {"log"} == {scale["type"] for scale in scales if scale}
    drawn = json.loads(picture["data"]["values"])
    assert len(drawn) == len(FOUND.rows()) - 1 and min(row["mean"] for row in drawn) > 0


def test_a_picture_has_closed_forms_as_lines_and_an_axis_below_every_panel() -> None:
    names = ["GRR", "OUE", "OLH", "SS"]
    found = benchmark(FOUR, NUMBERS, names, ["inversion", "mle"], [1.0, 2.0], 1000, 2)
    picture = found.plot(lines="method").to_dict()
    subtitle = " ".join(" ".join(picture["title"]["subtitle"]).split())
    of_inversion = "Lines of the method inversion show its expected loss, computed by a formula."
    assert subtitle.startswith(f"{of_inversion} Other lines join simulated means.")
    alone = benchmark(FOUR, NUMBERS, names, ["inversion"], [1.0, 2.0], 1000, 2).plot().to_dict()
    assert "Other lines" not in " ".join(alone["title"]["subtitle"])
    for row in json.loads(picture["data"]["values"]):
        assert row["line"] == (row["mean"] if row["exact"] is None else row["exact"])
    assert picture["resolve"]["axis"]["x"] == "independent"  # four panels in rows of three
    marks = {each["mark"]["type"]: each["encoding"] for each in picture["spec"]["layer"]}
    assert marks["line"]["y"]["field"] == "line" and marks["point"]["y"]["field"] == "mean"
    assert marks["line"]["strokeDash"]["legend"] is None and "shape" in marks["point"]


def test_a_picture_fits_a_paper_with_two_columns(tmp_path: Path) -> None:
    names = ["GRR", "OUE", "OLH", "SS"]
    found = benchmark(FOUR, NUMBERS, names, ["inversion", "mle"], [1.0, 2.0], 10**5, 2)
    for width, points in (("column", 240), ("text", 505), (300, 300)):
        picture = found.plot(str(tmp_path / "f.svg"), width=width, title=False)
        drawn = re.search(r'<svg[^>]* width="([\d.]+)"', (tmp_path / "f.svg").read_text())
        assert drawn and float(drawn[1]) == pytest.approx(points, abs=1)
        spec = picture.to_dict()
        assert "title" not in spec and spec["description"].startswith("Mean of 2 runs. Lines of")
        (points_of,) = (each for each in spec["spec"]["layer"] if each["mark"]["type"] == "point")
        words = points_of["encoding"]["y"]["axis"]["labelExpr"].partition("[format")[0]
        assert json.loads(words)["1e-5"] == "10\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT FIVE}"
    refused(ArgumentError, "is too small for the panels", found.plot, width=70)
    refused(ArgumentError, "must be one of 'column', 'text'", found.plot, width="page")


def test_many_series_look_different() -> None:
    """Rejects a ninth series with mark, colour and dashes of the first."""
    looks = encoded("mechanism", list(range(24)), "mechanism")
    ranges = [looks[key].to_dict()["scale"]["range"] for key in ("shape", "strokeDash", "color")]
    in_grey = {json.dumps(pair) for pair in zip(*ranges[:2], strict=True)}
    assert len(in_grey) == len(set(zip(ranges[0], ranges[2], strict=True))) == 24


def test_ticks_of_many_decades_do_not_merge() -> None:
    for decades in (1, 2, 9, 40):
        ends = {"low": 3e-30, "high": 3e-30 * 10.0**decades, "line": 4e-30}
        ticks = _ticks([ends])
        assert 3 <= len(ticks) <= 9 and ticks == sorted(ticks)


def test_fewer_collisions_than_papers_suppose_are_said_with_their_effect() -> None:
    """The effect by the variance of Wang et al. (2017), with collisions of 1 in g."""
    size, e, n = 100, np.exp(4.0), 1000
    shares, g = np.full(size, 1 / size), int(np.ceil(e + 1))
    own, other = e / (e + g - 1), 1 / g
    supports = other + (own - other) * shares
    published = (supports * (1 - supports)).sum() / (own - other) ** 2 / n
    values = Integers(0, size - 1)
    here = expected_loss(warner.LocalHashing(values, 4.0), shares, n)
    found = benchmark(shares, values, ["OLH", "GRR"], ["uniform"], [0.01, 4.0], n, 2)
    (note,) = found.notes
    less = f"{100 * (1 - here / published):.0f} % less"
    said = f"the l2 {published:#.3g} for the inversion. The true expected l2 is {here:#.3g}, which is {less}"
    assert (
        said in note and "OLH: the published formulae suppose" in note and note in found.to_latex()
    )
    wide = "LocalHashing prime=1019"
    assert wide in note
    near = benchmark(shares, values, [wide], ["mle"], 4.0, n, 2)
    assert near.notes == ()
    advised = warner.LocalHashing(values, 4.0, prime=1019)
    assert advised.whole_reports
    like = expected_loss(advised, shares, n)
    assert f"the expected l2 is only {100 * (1 - like / published):.1f} % less than" in note
    assert like == pytest.approx(published, rel=0.03)
    (of_mse,) = benchmark(shares, values, ["OLH"], ["uniform"], 4.0, n, 2, "mse").notes
    assert f"The true expected mse is {here / size:#.3g}, which is " in of_mse


def test_likelihoods_of_support_counts_are_said() -> None:
    """A prime that is too large for whole reports makes mle weaker than published."""
    wide = "LocalHashing prime=5639"
    methods = ["mle", "project", "em:9"]
    found = benchmark([0.02] * 50, Integers(0, 49), [wide], methods, [1.0, 4.0], 100, 2)
    assert found.notes == (
        f"mle, em:9 with {wide} at epsilon 4: tallies of so many reports hold only how many reports "
        "support each value. Tallies of whole reports would tell more, which is not measured here. "
        "To keep whole reports, write mechanism.tally(mechanism.randomize(answers), keep_reports=True).",
    )


def test_labels_of_rows_of_panels_have_room_in_a_column_of_a_paper() -> None:
    """Rejects panels lower than the upright labels beside them, which ran into each other."""
    truths = {"few values": [0.9, 0.1], "equal values": [0.5, 0.5]}
    asked = (truths, Integers(0, 1), [RandomizedResponse, "OUE"], ["mle", "project"])
    found = benchmark(*asked, [0.5, 1.0], [100, 2000], 2)
    spec = found.plot(width="column", title=False).to_dict()
    longest = "epsilon 0.5, equal values"
    assert longest in str(spec["data"]) and spec["spec"]["height"] > 4.4 * len(longest)


def test_mechanisms_that_cannot_tell_shares_apart_are_named() -> None:
    """Rejects stochastic rounding as the best for shares without a word: its bit tells a mean."""
    values = warner.Interval(0.0, 1.0, bins=8)
    asked = partial(benchmark, [0.125] * 8, values, ["SR", "SquareWave"], ["mle"], 1.0, 500, 2)
    (said,) = asked().notes
    assert said.startswith("SR: different shares make the same reports")
    assert said in str(asked()).replace("\n", " ") and asked(loss="mse_mean").notes == ()


@pytest.mark.parametrize("make", ["UnaryEncoding", "uRAP"])
def test_tallies_of_few_reports_of_bits_hold_what_those_of_users_hold(make: str) -> None:
    """Rejects bit sums, whose likelihood errs up to 50 % more than that of the default tally."""
    values, n = Integers(0, 15), 3000
    shares = 1 / np.arange(1.0, 17.0)
    shares /= shares.sum()
    mechanism = (
        warner.UnaryEncoding(values, 4.0)
        if make == "UnaryEncoding"
        else warner.mechanisms.UtilityOptimizedRappor(values, 4.0, sensitive=[0, 1, 2, 3])
    )
    assert mechanism.keeps_reports(n)
    makers = {make: lambda domain, epsilon: mechanism}
    found = benchmark(shares, values, makers, ["mle", "inversion"], 4.0, n, 40)
    assert "support each value" not in " ".join(found.notes)
    mean, inverted = (row["mean"] for row in found.rows())
    errors, rng = [], np.random.default_rng(5)
    for _ in range(40):
        answers = rng.choice(16, n, p=shares)
        tally = mechanism.tally(mechanism.randomize(answers.tolist(), rng))
        errors.append(((warner.estimate(tally, "mle").probabilities - shares) ** 2).sum())
    error = np.mean(errors)
    assert mean == pytest.approx(error, rel=4 * np.std(errors) / error * np.sqrt(2 / 40))
    assert inverted == pytest.approx(expected_loss(mechanism, shares, n), rel=0.35)
    sums, many = [], benchmark(shares, values, makers, ["mle"], 4.0, 10**6, 2)
    assert "support each value" in " ".join(many.notes)
    for run_ in range(40):
        operator, w = mechanism.channel().simulate_tally(shares, n, np.random.default_rng(run_))
        fit = warner.MaximumLikelihood().fit(LikelihoodData(operator, w, n, values))
        sums.append(((fit.shares - shares) ** 2).sum())
    assert np.mean(sums) > 1.15 * mean


def test_all_losses_are_in_latex_and_one_where_it_is_named() -> None:
    """Rejects the first of several losses without a word of the others."""
    found = benchmark(
        [0.5, 0.5], Integers(0, 1), [RandomizedResponse], ["mle"], 1.0, 100, 2, ["l1", "kl"]
    )
    both = found.to_latex().split("\n\n")
    assert [text.partition(":")[0] for text in both] == [
        r"% \caption{Sum of absolute errors",
        r"% \caption{Kullback-Leibler divergence, in nats",
    ]
    assert found.to_latex("kl") == both[1]
    assert "two standard errors" in json.dumps(found.plot().to_dict())


def test_what_is_left_out_is_a_dash() -> None:
    def only_much(domain: Any, epsilon: float) -> MatrixMechanism:
        return MatrixMechanism(domain, [[0.7, 0.3], [0.3, 0.7]], epsilon)  # needs 0.847

    found = benchmark(
        [0.5, 0.5], Integers(0, 1), [RandomizedResponse, only_much], ["mle"], [0.5, 1.0], 100, 2
    )
    line = found.to_latex().splitlines()[-3]
    assert line.startswith(r"only\_much$^\ddagger$ & mle & -- & ")  # it spends 0.847


def test_every_source_is_named_once() -> None:
    text = FOUND.bibtex()
    keys = re.findall(r"@\w+\{([\w-]+),", text)
    assert "% On R&R:\n@article{warner1965" in text
    assert len(keys) == len(set(keys)) and {"warner1965", "ghosh2009", "warner"} <= set(keys)
