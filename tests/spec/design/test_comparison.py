"""Rankings of methods by parametric bootstrap."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.spec.design._tally import _tally
from warner import (
    Categorical,
    EmpiricalBayes,
    Integers,
    Inversion,
    LogSpline,
    MaximumLikelihood,
    RandomizedResponse,
)
from warner.estimators import Uniform


def test_the_ranking_is_that_of_the_errors_on_the_same_tallies() -> None:
    """Against the errors computed one by one; the unbiased estimate's mean is its closed-form
    variance within 5 standard errors.
    """
    tally = _tally(Categorical([f"v{i}" for i in range(30)]))
    found = warner.compare(tally, [Inversion(), Inversion("project"), Uniform()], runs=50)
    assert [line.error for line in found.results] == sorted(line.error for line in found.results)
    raw = next(line for line in found.results if line.method == Inversion())
    truth = warner.estimate(tally, Inversion("project")).probabilities
    mechanism = RandomizedResponse(Categorical([f"v{i}" for i in range(30)]), 1.0)
    assert (
        abs(raw.error - warner.theory.expected_loss(mechanism, truth, 3000, "l2")) < 5 * raw.margin
    )
    assert found.best.excess_error == 0 and found.best.excess_margin == 0 and raw.excess_error > 0
    assert 0 <= raw.best_share <= 1 and sum(line.best_share for line in found.results) >= 1


def test_the_same_call_gives_the_same_ranking() -> None:
    tally = _tally(Categorical(["a", "b", "c", "d"]))
    methods = [MaximumLikelihood(), EmpiricalBayes(), Inversion("project")]
    a, b = (warner.compare(tally, methods, runs=5).to_json() for _ in range(2))
    assert a == b and json.loads(json.dumps(a)) == a
    other = warner.compare(tally, methods, runs=5, rng=np.random.default_rng(1)).to_json()
    assert other != a


def test_methods_that_do_not_fit_are_left_out_with_the_reason() -> None:
    found = warner.compare(
        _tally(Categorical(["a", "b", "c"])),
        [LogSpline(), Inversion(), warner.SampleMean()],
        runs=3,
    )
    assert [line.method for line in found.results] == [Inversion()] and set(found.left_out) == {
        "LogSpline()",
        "SampleMean()",
    }
    assert "in order" in found.left_out["LogSpline()"]
    with pytest.raises(warner.errors.ArgumentError, match="none of them"):
        warner.compare(_tally(Categorical(["a", "b", "c"])), [LogSpline()], runs=3)


def test_numbers_can_be_compared_by_the_distance_of_their_distributions() -> None:
    found = warner.compare(
        _tally(Integers(0, 30)), [LogSpline(), Inversion("project"), Uniform()], loss="w1", runs=5
    )
    assert found.loss == "w1" and len(found.results) == 3
    with pytest.raises(warner.errors.ArgumentError, match="order"):
        warner.compare(_tally(Categorical(["a", "b"])), [Inversion()], loss="w1")


def test_a_ranking_is_drawn_in_its_order_with_two_standard_errors() -> None:
    found = warner.compare(
        _tally(Categorical(["a", "b", "c"])), [Inversion(), MaximumLikelihood(), Uniform()], runs=5
    )
    (panel,) = found.plot().to_dict()["vconcat"]
    bars, dots = panel["layer"]
    rows = json.loads(
        (dots.get("data") or panel.get("data") or found.plot().to_dict()["data"])["values"]
    )
    assert [row["method"] for row in rows] == [repr(line.method) for line in found.results]
    assert all(abs(row["high"] - row["error"] - 2 * row["margin"]) < 1e-12 for row in rows)
    assert (
        dots["encoding"]["y"]["sort"]["field"] == "error"
        and bars["encoding"]["x2"]["field"] == "high"
    )


def test_wrong_arguments_are_refused() -> None:
    tally = _tally(Categorical(["a", "b"]))
    for methods in ([], Inversion(), ["mle", 3], "mle"):
        with pytest.raises(warner.errors.ArgumentTypeError, match="methods"):
            warner.compare(tally, methods)  # type: ignore[arg-type]
    for wrong in ({"loss": "l3"}, {"runs": 1}, {"runs": 2.5}):
        with pytest.raises(warner.WarnerError):
            warner.compare(tally, [Inversion()], **wrong)
    kept = warner.UnaryEncoding(Integers(0, 3), 1.0)
    rows = kept.tally(kept.randomize([0, 1, 2, 3] * 20), keep_reports=True)
    with pytest.raises(warner.errors.ArgumentError):
        warner.compare(rows, [Inversion()])


def test_rankings_have_one_form() -> None:
    pair = warner.Product(a=warner.Integers(0, 1), b=warner.Integers(0, 1))
    coin = warner.RandomizedResponse(pair, 2.0)
    tally = coin.tally(
        coin.randomize([{"a": 0, "b": 1}, {"a": 1, "b": 1}] * 100, np.random.default_rng(1))
    )
    rankings = (
        warner.compare(tally, [Inversion(), Inversion("project")], runs=2),
        warner.compare_schemes(pair, 2.0, 100, [0.4, 0.1, 0.1, 0.4], runs=2),
        warner.plan(pair, 2.0, 100),
    )
    for ranking in rankings:
        data = json.loads(json.dumps(ranking.to_json()))
        assert {"loss", "n", "results", "left_out"} <= set(data) and data["loss"] == "l2"
        assert data["results"] == json.loads(json.dumps(ranking.rows()))
        assert ranking.best is ranking.results[0]
        assert len(ranking.results) == len(data["results"]) >= 2
        assert all(row["error"] > 0 for row in data["results"])
