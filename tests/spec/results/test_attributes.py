"""Estimates of attributes that are named in a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import COMBINED, PER_ATTRIBUTE
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey, _tally
from warner import RandomizedResponse, estimate
from warner.mechanisms import Mechanism


@pytest.mark.parametrize("attributes", [[], ["sex", "sex"], ["sex", "other"], [3]], ids=repr)
def test_attributes_that_are_not_there_are_refused(attributes: Any) -> None:
    with pytest.raises(warner.errors.ArgumentError, match="different names among sex, age"):
        estimate(_tally(_survey()), attributes=attributes)


def test_attributes_are_of_tuples_and_named_in_a_list() -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match="list of names"):
        estimate(_tally(_survey()), attributes="sex")  # type: ignore[arg-type]
    coin = RandomizedResponse(SEX, 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="several"):
        estimate(coin.tally(coin.randomize(["f"])), attributes=["sex"])
    with pytest.raises(
        warner.errors.ArgumentError, match=r"can be 1 together of sex, age.*got all.*ways=2"
    ):
        estimate(_tally(_survey(), ways=1))


def test_attributes_come_in_the_order_asked() -> None:
    tally = _tally(_survey())
    a, b = (
        estimate(tally, warner.Inversion("project"), attributes=names)
        for names in (["sex", "age"], ["age", "sex"])
    )
    assert a.probabilities.reshape(2, 4) == pytest.approx(b.probabilities.reshape(4, 2).T)
    assert list(a.domain.attributes) == ["sex", "age"] and list(b.domain.attributes) == [
        "age",
        "sex",
    ]
    assert estimate(tally).domain == BOTH and estimate(tally, attributes=["age"]).domain == AGE


def test_tallies_of_several_budgets_are_estimated_together() -> None:
    parts = [_tally(_survey(1.0), 30_000), _tally(_survey(3.0), 30_000)]
    both = estimate(parts, warner.Inversion(), attributes=["age", "sex"])
    assert both.n == 60_000 and both.probabilities == pytest.approx(np.full(8, 1 / 8), abs=0.02)
    assert both.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0)).shape == (
        8,
        2,
    )


@pytest.mark.parametrize(
    "name", ["uRAP x OUE", "RR x OUE x OLH", "subsets x RR", "RR x SquareWave"]
)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_bootstrap_intervals_of_tuples_are_as_wide_as_walds(name: str, target: str) -> None:
    survey: Mechanism = COMBINED[name](3.0)
    rng = np.random.default_rng(1)
    tally = survey.tally(
        survey.randomize(survey.domain.decode(rng.integers(0, survey.domain.size, 3000)), rng)
    )
    found = estimate(tally, warner.Inversion(), attributes=list(PER_ATTRIBUTE[name](3.0).parts)[:2])
    wald, boot = (
        found.interval(target=target),
        found.interval(target=target, kind="bootstrap", replicates=100, rng=rng),
    )
    inside = (wald[:, 0] > 0) & (boot[:, 0] > 0)
    assert inside.any() and np.diff(boot, axis=1)[inside] == pytest.approx(
        np.diff(wald, axis=1)[inside], rel=0.5
    )
