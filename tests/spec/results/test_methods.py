"""Names of methods on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import EmpiricalBayes, ExpectationMaximization
from warner.results.recommend import METHODS, method


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


def test_names_on_the_command_line() -> None:
    assert method("eb") == EmpiricalBayes() and method("eb-median") == EmpiricalBayes("absolute")
    assert method("em:auto") == ExpectationMaximization("auto") and method("EM:AUTO") == method(
        "em:auto"
    )
    for wrong in ("eb:auto", "em:best", "mle:auto"):
        with pytest.raises(warner.errors.ArgumentError, match="em:auto"):
            method(wrong)
    with pytest.raises(warner.errors.ArgumentError, match="'auto'"):
        ExpectationMaximization("best")
