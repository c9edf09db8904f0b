"""The truths that methods are compared on, one sentence a test."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.spec.design._tally import _tally
from warner import (
    Categorical,
    EmpiricalBayes,
    Interval,
    Inversion,
    LogSpline,
    MaximumLikelihood,
    RandomizedResponse,
    SquareWave,
)
from warner.estimators import Uniform

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
    found = warner.compare(tally, [Uniform(), EmpiricalBayes(), MaximumLikelihood()], runs=12)
    names = [truth.name for truth in found.truths]
    assert names[0] == FIRST and {SECOND, DRAWS} <= set(names)
    assert [truth.runs for truth in found.truths] == [12] + [4] * (len(names) - 1)
    assert found.runs == sum(truth.runs for truth in found.truths)
    least = {truth.name: next(iter(truth.errors)) for truth in found.truths}
    assert least[FIRST] == "EmpiricalBayes()" and least[SECOND].startswith("MaximumLikelihood")
    assert found.best.holds < 1


def test_the_error_is_the_mean_over_truths_and_holds_counts_them() -> None:
    found = warner.compare(
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
    found = warner.compare(tally, [Inversion()], runs=3)
    assert [truth.name for truth in found.truths] == [FIRST]


def test_badly_conditioned_inversions_are_no_truths() -> None:
    wave = SquareWave(Interval(0, 1, 32), 1.0)
    rng = np.random.default_rng(0)
    tally = wave.tally(wave.randomize(rng.beta(2, 5, 2000), rng))
    found = warner.compare(tally, [LogSpline(), MaximumLikelihood()], "w1", runs=2)
    names = {truth.name for truth in found.truths}
    assert SECOND not in names and {FIRST, DRAWS, "the maximum of the likelihood"} <= names
