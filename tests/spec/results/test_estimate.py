"""What estimates promise, one sentence per test."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from warner import Categorical


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


def test_a_method_must_be_an_estimator_object_or_a_name(tally: warner.Tally) -> None:
    for wrong in (warner.Inversion, 1, ["mle"]):
        with pytest.raises(warner.errors.ArgumentTypeError, match="estimator object"):
            warner.estimate(tally, wrong)


def test_the_recommended_method_of_labels_is_empirical_bayes(tally: warner.Tally) -> None:
    assert warner.estimate(tally).method == "EmpiricalBayes()"


def test_several_tallies_of_one_mechanism_are_added(tally: warner.Tally) -> None:
    assert warner.estimate([tally, tally.of_others()]).n == 2 * tally.n
    project = warner.Inversion("project")
    assert warner.estimate([tally, tally.of_others()], project).probabilities == pytest.approx(
        warner.estimate(tally, project).probabilities
    )
    for wrong in ([], [1], 3):
        with pytest.raises((warner.errors.EmptyError, TypeError)):
            warner.estimate(wrong)


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
            "shrunk_from",
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
