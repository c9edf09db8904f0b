"""Mechanisms and estimators from outside the package are known to all of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.own_parts import Forced, Shrunk
from tests.refusals import refused
from warner import Categorical, Integers
from warner.design.planning import candidates
from warner.errors import ArgumentError, ArgumentTypeError, MismatchError, WarnerError
from warner.mechanisms import MECHANISMS, from_header
from warner.results.recommend import for_a_while

DOMAIN = Categorical(["a", "b", "c"])


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with for_a_while():
        warner.register(Forced)
        warner.register("shrunk")(Shrunk)
        yield


def _tally(mechanism: Any) -> warner.Tally:
    return mechanism.tally(mechanism.randomize(["a", "b"] * 500, np.random.default_rng(0)))


def test_headers_files_and_estimates_know_a_registered_mechanism(tmp_path: Path) -> None:
    forced = Forced(DOMAIN, 1.0, [0.5, 0.25, 0.25])
    assert from_header(forced.header).header == forced.header
    tally = _tally(forced)
    tally.save(tmp_path / "t.json")
    result = warner.estimate(warner.Tally.load(tmp_path / "t.json"), "shrunk")
    assert result.method == "Shrunk(part=0.1)" and result.interval().shape == (3, 2)
    own = "The intervals are those of the unbiased estimate, not of Shrunk."
    assert own in str(result).replace("\n", " ")
    # Rejects the advice to use a kind that the command does not take, and that shows no bias.
    assert "bootstrap" not in str(result)
    for other, kind in ((result, "bootstrap"), (warner.estimate(tally), None)):
        assert "of the unbiased estimate" not in " ".join(other.table(kind=kind).notes)
    forced.randomize(["a", "b"] * 50).save(tmp_path / "r.warner")
    assert warner.Reports.load(tmp_path / "r.warner").header == forced.header
    assert warner.audit(forced).holds
    each = warner.PerAttribute(warner.Product(x=DOMAIN, y=DOMAIN), {"x": forced, "y": forced})
    assert from_header(each.header).header == each.header
    assert warner.mechanisms.Repeated(forced, 2).epsilon == pytest.approx(2.0)


def test_a_study_and_a_plan_know_a_registered_mechanism() -> None:
    study = '[attributes.q]\nvalues = ["a", "b"]\nmechanism = "Forced"\nepsilon = 1.0\n'
    assert isinstance(warner.Study.parse(study).mechanisms["q"], Forced)
    assert warner.Study.parse(f"{study}weights = [0.75, 0.25]\n").mechanisms["q"].epsilon > 0.99
    # With equal weights its reports say what those of randomised response say.
    assert "Forced is left out: it tells the same as RandomizedResponse." in str(
        warner.plan(DOMAIN, 1.0, 1000).table()
    )
    near = dict(candidates(Integers(0, 3), None, None, None, True))
    assert near["Forced"](Integers(0, 3), 1.0).header == Forced(Integers(0, 3), 1.0).header
    metric = dict(candidates(Integers(0, 3), None, None, 1.0, True))
    refused(ArgumentTypeError, "another kind", metric["Forced"], Integers(0, 3), 1.0)


def test_a_mechanism_that_a_plan_cannot_make_is_left_out() -> None:
    class Picky(Forced):
        def __init__(self, domain: Any, epsilon: float) -> None:
            raise KeyError("a map of the city")

    warner.register(Picky)
    found = warner.plan(DOMAIN, 1.0, 1000)
    assert "a map of the city" in found.left_out["Picky"]


def test_everything_is_forgotten_after_for_a_while() -> None:
    header = Forced(DOMAIN, 1.0).header
    with for_a_while():

        @warner.register
        class Other(Forced):
            pass

        other = Other(DOMAIN, 1.0).header
        assert from_header(other).header == other
    refused(MismatchError, r"'Other': is unknown here.*--load FILE\.py", from_header, other)
    assert from_header(header).header == header


def test_a_version_is_respected() -> None:
    header = {**Forced(DOMAIN, 1.0).header, "version": 2}
    refused(
        MismatchError,
        "mechanism 'Forced': has version 2 in this file, but the installed warner has",
        from_header,
        header,
    )


def test_a_taken_name_is_refused_and_the_same_class_is_replaced() -> None:
    taken = type("RandomizedResponse", (Forced,), {})
    refused(
        ArgumentError,
        r"RandomizedResponse: is already the name of another mechanism",
        warner.register,
        taken,
    )
    again = type("Forced", (Forced,), {"__module__": Forced.__module__, "__qualname__": "Forced"})
    warner.register(again)  # the cell of a notebook is run again
    assert MECHANISMS["Forced"] is again
    for name in ("mle", "norm-sub", "em"):
        refused(ArgumentError, "name of another method", warner.register(name), Shrunk)
    warner.register("shrunk")(Shrunk)


def test_what_cannot_be_registered_is_refused_with_a_remedy() -> None:
    class NoChannel(warner.mechanisms.Mechanism):
        pass

    for wrong, said in (
        (lambda: warner.register(NoChannel), r"must define _sample, channel, "),
        (lambda: warner.register(Shrunk), "needs a name"),
        (lambda: warner.register("x")(Forced), "named by its class"),
        (lambda: warner.register(3), "must get a class of mechanisms"),
        (lambda: warner.register("Big Name")(Shrunk), "lower-case"),
        (lambda: warner.register("raked-own")(warner.estimators.RakedJoint.fit), "default"),
        (lambda: warner.register("number")(lambda: 3), "must make an estimator"),
        (lambda: warner.register(type("Text", (Forced,), {"version": "1"})), "version = 1"),
    ):
        refused(WarnerError, said, wrong)


@pytest.mark.parametrize("name", ["mle", "em:100", "shrunk", "norm-sub"])
def test_names_are_taken_wherever_an_estimator_is(name: str) -> None:
    tally = _tally(warner.RandomizedResponse(DOMAIN, 1.0))
    chosen = warner.results.recommend.method(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert warner.estimate(tally, name).method == repr(chosen)
        assert warner.estimate({"x": tally, "y": tally.of_others()}, name).pool == "none"
        compared = warner.design.compare(tally, [name, "project"], runs=2)
    assert {result.method for result in compared.results} == {chosen, warner.Inversion("project")}


def test_a_wrong_name_names_the_nearest() -> None:
    tally = _tally(warner.RandomizedResponse(DOMAIN, 1.0))
    refused(ArgumentError, r"got 'shrnk'\. Is 'shrunk' meant", warner.estimate, tally, "shrnk")
    with pytest.raises(ArgumentTypeError, match="'mle'"):
        warner.estimate(tally, 3)  # type: ignore[call-overload]
    with pytest.raises(ArgumentTypeError, match="list of estimators"):
        warner.design.compare(tally, "mle")  # type: ignore[arg-type]


def test_a_comparison_simulates_from_a_given_truth() -> None:
    tally = _tally(warner.RandomizedResponse(DOMAIN, 1.0))
    found = warner.design.compare(
        tally, ["project", "uniform"], runs=4, truth=[1 / 3, 1 / 3, 1 / 3]
    )
    assert found.best.method == warner.estimators.Uniform() and found.best.error == pytest.approx(0)
    assert [(truth.name, truth.runs) for truth in found.truths] == [("truth", 4)]
    two = warner.design.compare(
        tally, ["project"], runs=2, truth={"x": ["a", "b"], "y": [0.2, 0.3, 0.5]}
    )
    assert [truth.name for truth in two.truths] == ["x", "y"] and two.runs == 4
