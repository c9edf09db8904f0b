"""Benchmarks: mean losses of mechanisms with methods on a known truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.own_parts import Forced, Shrunk
from warner import Categorical, Integers, Inversion, RandomizedResponse, benchmark
from warner.design.comparison import LOSSES
from warner.estimators.base import LikelihoodData

DOMAIN = Integers(0, 4)
TRUTH = [0.4, 0.3, 0.2, 0.1, 0.0]
run = partial(benchmark, TRUTH, DOMAIN, ["RandomizedResponse", Forced], ["project", "mle"])


def test_a_mean_is_that_of_the_losses_of_the_simulated_tallies() -> None:
    """By a slow twin, which draws a tally and estimates from it for each run."""
    found = benchmark(TRUTH, DOMAIN, [RandomizedResponse], ["project", "eb"], n=500, runs=3)
    channel = RandomizedResponse(DOMAIN, 1.0).channel()
    from warner.design.benchmark import Cell, _generator

    cell, theta = Cell("truth", "RandomizedResponse", 1.0, 500), np.array(TRUTH) / sum(TRUTH)
    losses = []
    for number in range(3):
        rng = _generator(0, theta, cell, number)
        operator, w = channel.simulate_tally(theta, 500, rng)
        fit = Inversion("project").fit(LikelihoodData(operator, w, 500, DOMAIN))
        losses.append(LOSSES["l2"].error(theta, fit, DOMAIN))
    first, second = found.rows()
    assert first["mean"] == pytest.approx(np.mean(losses), rel=1e-12)
    assert first["margin"] == pytest.approx(np.std(losses, ddof=1) / np.sqrt(3), rel=1e-9)
    assert min(first["excess"], second["excess"]) == 0 <= max(first["excess"], second["excess"])


def test_the_error_of_the_unbiased_estimate_is_that_of_the_theory() -> None:
    """Rejects a benchmark with another n, another budget, or reports without noise: each changes
    the error by a factor of 1.5 or more, and the mean of 200 runs has a standard error of 5 %.
    """
    for epsilon, n in ((1.0, 2000), (2.0, 500)):
        found = benchmark(TRUTH, DOMAIN, [RandomizedResponse], ["inversion"], epsilon, n, 200)
        expected = warner.theory.expected_loss(RandomizedResponse(DOMAIN, epsilon), TRUTH, n)
        (row,) = found.rows()
        assert abs(row["mean"] - expected) < 4 * row["margin"] < 0.3 * expected


def test_every_cell_has_every_method_and_loss() -> None:
    found = run(epsilon=[0.5, 1.0], n=[200, 400], runs=2, loss=["l1", "w1"])
    rows = found.rows()
    assert len(rows) == 2 * 2 * 2 * 2 * 2 and len(found.best()) == 2 * 2 * 2
    assert {row["mechanism"] for row in rows} == {"RandomizedResponse", "Forced"}
    assert found.to_frame("pandas")["mean"].tolist() == [row["mean"] for row in rows]
    assert repr(found) == "Benchmark(truths=1, mechanisms=2, epsilon=2, n=2, methods=2, runs=2)"
    assert len(str(found).splitlines()) == 35 and "<table" in found._repr_html_()
    assert json.loads(json.dumps(found.to_json()))["results"] == rows


def test_results_depend_on_the_contents_alone() -> None:
    first = run(n=[200, 300], runs=3)
    turned = benchmark(
        TRUTH, DOMAIN, [Forced, "RandomizedResponse"], ["mle", "project"], n=[300, 200], runs=3
    )
    key = lambda row: (row["mechanism"], row["n"], row["method"])
    assert sorted(first.rows(), key=key) == sorted(turned.rows(), key=key)
    assert run(n=200, runs=3, seed=1).rows() != run(n=200, runs=3).rows()


def test_a_store_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warner.design.benchmark as module

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
    with pytest.raises(warner.errors.FileError, match="another kind"):
        run(store=other)
    assert other.read_text() == "answer\nyes\n"


def test_the_code_of_own_methods_is_part_of_the_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    import warner.design.benchmark as module

    before = module._key_of_method(Shrunk()), module._key_of_method(Inversion())
    monkeypatch.setattr(module.inspect, "getsource", lambda _: "changed")
    assert module._key_of_method(Shrunk()) != before[0]
    assert module._key_of_method(Inversion()) == before[1]


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
    several = of({"even": [0.5, 0.5], "answers": ["a", "b", "b", "b"]}, runs=2)
    assert [row["truth"] for row in several.rows()] == ["even", "answers"]
    assert several.rows()[1]["mean"] == shares.rows()[0]["mean"]
    for wrong in ([0.5, 0.6], [0.5, 0.25, 0.25], {}):
        with pytest.raises(warner.errors.ArgumentError, match="truth"):
            of(wrong)
    with pytest.raises(warner.errors.ValuesError):
        of(["c", "a"])


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
    assert "spline with RR is left out of 1 setting: domain" in text
    assert "raised ZeroDivisionError: no reports" in text and "steps is left out" in text


def test_wrong_arguments_are_refused_with_a_remedy() -> None:
    for mechanisms, said in (
        (["RandomisedResponse"], "Is 'RandomizedResponse' meant"),
        (["OUE"], "Here it is 'UnaryEncoding optimized'"),
        (["k-RR"], "Here it is 'RandomizedResponse'"),
        ([lambda domain, epsilon: None], "need names"),
        ([RandomizedResponse(DOMAIN, 1.0)], "must be classes"),
        ("RandomizedResponse", "must be a list"),
    ):
        with pytest.raises(warner.WarnerError, match=said):
            benchmark(TRUTH, DOMAIN, mechanisms, ["mle"])  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentError, match="Is 'mle' meant"):
        benchmark(TRUTH, DOMAIN, [RandomizedResponse], ["mel"])
    with pytest.raises(warner.errors.ArgumentError, match="w1"):
        benchmark([0.5, 0.5], Categorical(["a", "b"]), [RandomizedResponse], ["mle"], loss="w1")


def test_progress_is_told_and_a_partial_has_a_name() -> None:
    told: list[str] = []
    with warner.progress(lambda stages: told.extend(map(str, stages))):
        make = partial(warner.UnaryEncoding, variant="oue")
        found = benchmark(TRUTH, DOMAIN, [make], ["project"], n=[100, 200], runs=2)
    assert "benchmark: 2 of 2" in told
    assert {row["mechanism"] for row in found.rows()} == {"UnaryEncoding variant='oue'"}


def test_pictures_are_saved(tmp_path: Path) -> None:
    run(epsilon=[0.5, 1.0], n=[200, 400], runs=2).plot(str(tmp_path / "league.json"))
    assert json.loads((tmp_path / "league.json").read_text())["facet"]


def test_each_panel_of_a_picture_has_its_own_rows() -> None:
    found = run(epsilon=[0.5, 1.0], n=[200, 400], runs=2)
    chart = found.plot().to_dict()
    assert chart["facet"]["column"]["field"] == "column" and chart["facet"]["row"]["field"] == "row"
    data = json.loads(chart["data"]["values"])
    assert {row["row"] for row in data} == {"epsilon 0.5", "epsilon 1"}
    assert not any("data" in layer for layer in chart["spec"]["layer"])
    across = found.plot(x="mechanism").to_dict()
    assert across["spec"]["layer"][0]["encoding"]["x"]["field"] == "mechanism"
    with pytest.raises(warner.errors.ArgumentError, match="x"):
        found.plot(x="method")
