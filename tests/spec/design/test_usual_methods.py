"""Methods that are compared where none is named, in Python as on the command line."""

from __future__ import annotations

import pytest

from warner import Categorical, Integers, Interval, KeyValue, RandomizedResponse, Tally, compare
from warner.design.comparison import usual_methods
from warner.errors import ArgumentTypeError


def _tally(mechanism: RandomizedResponse) -> Tally:
    return mechanism.tally(mechanism.randomize([*mechanism.domain.labels] * 100))


def test_the_usual_methods_are_compared() -> None:
    tally = _tally(RandomizedResponse(Categorical(["a", "b", "c"]), 1.0))
    ranking = compare(tally, runs=2)
    assert ranking == compare(tally, usual_methods(tally), runs=2)
    assert len(ranking.results) + len(ranking.left_out) == len(usual_methods(tally)) == 10
    assert compare(iter([tally]), runs=2) == ranking


def test_a_loss_of_the_mean_ranks_the_mean() -> None:
    tally = _tally(RandomizedResponse(Integers(1, 3), 1.0))
    assert "mean" in usual_methods(tally, "mae_mean") and "mean" not in usual_methods(tally)
    names = [repr(row.method) for row in compare(tally, loss="mae_mean", runs=2).results]
    assert "SampleMean()" in names


def test_keys_have_methods_of_their_own() -> None:
    mechanism = KeyValue(Categorical(["a", "b"]), Interval(-1, 1, bins=4), 2.0)
    tally = mechanism.tally(
        mechanism.randomize([{"key": "a", "value": 0.5}, {"key": "b", "value": -0.5}] * 50)
    )
    assert usual_methods(tally)[0] == "pckv"


def test_what_is_no_tally_is_refused() -> None:
    for wrong in (None, 3, [3]):
        with pytest.raises(ArgumentTypeError, match="tall"):
            compare(wrong)  # type: ignore[arg-type]
