"""Intervals of people with several reports, for every mechanism."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import MECHANISMS
from warner import (
    Categorical,
    Integers,
    PerAttribute,
    Product,
    RandomizedResponse,
    UnaryEncoding,
    estimate,
)
from warner.estimators import Inversion
from warner.mechanisms import Repeated
from warner.reports.tally import Tally

TIMES, SIZE = 6, 5


def _tally(name: str) -> Tally:
    mechanism = MECHANISMS[name](Integers(0, SIZE - 1), 2.0)
    rng = np.random.default_rng(0)
    return mechanism.tally(mechanism.randomize(rng.integers(0, SIZE, 300), rng))


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n != "StochasticRounding"])
def test_variances_grow_by_a_factor_between_one_and_the_reports_of_one_person(name: str) -> None:
    """n reports of n / t people say no less than one report each of n / t people, and no more than
    n reports of n people. Limits are clipped, so a bound is compared where both are inside.
    """
    tally = _tally(name)
    slim, wide = (estimate(tally.per_person(t), Inversion()).interval() for t in (1, TIMES))
    assert (wide[:, 0] <= slim[:, 0]).all() and (wide[:, 1] >= slim[:, 1]).all()
    inside = ((wide > 0) & (wide < 1)).all(axis=1)
    ratio = np.diff(wide[inside]) / np.diff(slim[inside])
    assert (ratio <= np.sqrt(TIMES) * (1 + 1e-9)).all()


def test_reports_of_one_value_and_of_several_attributes_may_be_of_several_values_too() -> None:
    """A person is asked on six days, each day twice; or two questions on each of six days."""
    rng = np.random.default_rng(2)
    twice = Repeated(RandomizedResponse(Integers(0, 2), 2.0), 2)
    pair = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    both = PerAttribute(
        pair,
        {
            "a": RandomizedResponse(pair.attributes["a"], 2.0),
            "b": UnaryEncoding(pair.attributes["b"], 2.0),
        },
    )
    answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 150
    for tally in (
        twice.tally(twice.randomize([0, 1, 2] * 100, rng)),
        both.tally(both.randomize(answers, rng)),
        both.tally(both.randomize(answers, rng), ways=2),
    ):
        widths = [
            [
                np.diff(
                    estimate(tally.per_person(t), Inversion()).interval(
                        kind=kind, replicates=60, rng=np.random.default_rng(3)
                    )
                    if kind == "bootstrap"
                    else estimate(tally.per_person(t), Inversion()).interval(kind=kind)
                ).mean()
                for t in (1, TIMES)
            ]
            for kind in ("wald", "bootstrap")
        ]
        for slim, wide in widths:
            assert 1.1 * slim < wide < 1.2 * np.sqrt(TIMES) * slim
