"""Estimates on the values that are possible, such as those that were reported [P4 sec VIII]."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import warner
from warner import (
    Categorical,
    Integers,
    Interval,
    MatrixMechanism,
    MaximumLikelihood,
    RandomizedResponse,
    UnaryEncoding,
    estimate,
)
from warner.mechanisms import TruncatedGeometric

RNG = np.random.default_rng(8)
AGES = TruncatedGeometric(Integers(0, 99), 0.5)
TALLY = AGES.tally(AGES.randomize([20] * 300 + [40] * 100, RNG))


def test_reported_values_alone_have_shares_and_a_unique_maximum() -> None:
    result = estimate(TALLY, MaximumLikelihood(), values="reported")
    named = np.flatnonzero(TALLY.counts)
    assert result.domain.labels == named.tolist() and result.probabilities.sum() == pytest.approx(1)
    assert str(result.unique).startswith("unique")
    best = estimate(TALLY, MaximumLikelihood())
    assert result.log_likelihood <= best.log_likelihood + 1e-6
    assert [row["value"] for row in result.rows()] == named.tolist()
    assert json.loads(json.dumps(result.to_json()))["domain"]["index"] == named.tolist()


def test_values_that_are_ruled_out_make_the_rest_identifiable() -> None:
    """Two groups that a report does not tell apart: their labels together are one value less."""
    cloak = MatrixMechanism(
        Categorical(["a", "b", "c"]), np.array([[0.6, 0.6, 0.2], [0.4, 0.4, 0.8]])
    )
    tally = cloak.tally(cloak.randomize(["a"] * 500 + ["c"] * 500, RNG))
    result = estimate(tally, MaximumLikelihood(), values=["c", "a"])
    assert estimate(tally, MaximumLikelihood()).unique != result.unique
    assert str(result.unique).startswith("unique") and result.domain.labels == ["a", "c"]
    low, high = result.interval().T
    assert (low < [0.5, 0.5]).all() and (high > [0.5, 0.5]).all()
    assert estimate(tally, warner.Inversion(), values=["a", "c"]).probabilities == pytest.approx(
        result.probabilities, abs=1e-9
    )


METHODS: list[Any] = [
    warner.Inversion("project"),
    MaximumLikelihood(),
    warner.ExpectationMaximization(50),
    warner.EmpiricalBayes(),
    None,
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("keep", [None, False, True])
def test_all_estimators_and_intervals_work_on_some_values(method: Any, keep: bool | None) -> None:
    domain = Categorical([f"v{i}" for i in range(12)])
    mechanism: Any = RandomizedResponse(domain, 2.0) if keep is None else UnaryEncoding(domain, 2.0)
    reports = mechanism.randomize(["v3"] * 3_000 + ["v7"] * 1_000, np.random.default_rng(2))
    tally = mechanism.tally(reports, keep_reports=bool(keep))
    result = estimate(tally, method, values=["v3", "v7", "v11"])
    assert result.probabilities == pytest.approx([0.75, 0.25, 0], abs=0.07)
    low, high = result.interval().T
    assert (low <= result.probabilities + 1e-9).all() and (
        high >= result.probabilities - 1e-9
    ).all()
    if keep is not True and method == MaximumLikelihood():
        rng = np.random.default_rng(0)
        low, high = result.interval(kind="bootstrap", replicates=20, rng=rng).T
        assert low[0] < 0.78 and high[0] > 0.72


def test_fewer_possible_values_mean_less_error() -> None:
    """Rejects shares of the whole domain that are cut and scaled."""
    domain, rng = Integers(0, 49), np.random.default_rng(11)
    mechanism = UnaryEncoding(domain, 1.0)
    errors = []
    for _ in range(20):
        tally = mechanism.tally(mechanism.randomize([5] * 150 + [6] * 50, rng))
        some = estimate(tally, MaximumLikelihood(), values=[5, 6, 7]).probabilities
        cut = estimate(tally, MaximumLikelihood()).probabilities[[5, 6, 7]]
        cut = cut / max(cut.sum(), 1e-9)
        truth = np.array([0.75, 0.25, 0])
        errors.append([((some - truth) ** 2).sum(), ((cut - truth) ** 2).sum()])
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]


def test_several_budgets_and_bins_take_values_too() -> None:
    domain = Interval(0.0, 1.0, 10)
    tallies = []
    for epsilon in (1.0, 3.0):
        mechanism = warner.SquareWave(domain, epsilon, cells=64)
        tallies.append(mechanism.tally(mechanism.randomize([0.05] * 600 + [0.95] * 200, RNG)))
    result = estimate(tallies, MaximumLikelihood(), values=[0.05, 0.55, 0.95])
    assert result.probabilities == pytest.approx([0.75, 0, 0.25], abs=0.12)
    assert result.mean() == pytest.approx(0.275, abs=0.1)


@pytest.mark.parametrize(
    "values", ["all", [1], [], [1, 1, 2], [1, 100], ["1", 2], 3, [1.5, 2], {"a": 1}]
)
def test_values_that_cannot_be_all_that_is_possible_are_refused(values: Any) -> None:
    with pytest.raises(warner.errors.WarnerError, match="values"):
        estimate(TALLY, values=values)


def test_reports_that_name_no_values_leave_the_choice_to_a_list() -> None:
    product = warner.Product(a=Integers(0, 2), b=Integers(0, 1))
    parts = {
        "a": RandomizedResponse(product.attributes["a"], 2.0),
        "b": warner.UnaryEncoding(product.attributes["b"], 2.0),
    }
    both = warner.PerAttribute(product, parts)
    tally = both.tally(both.randomize([{"a": 0, "b": 1}, {"a": 2, "b": 0}] * 20))
    with pytest.raises(warner.errors.ArgumentError, match=r"values: cannot be .* List them"):
        estimate(tally, values="reported")


def test_one_reported_value_is_too_few() -> None:
    tally = AGES.tally(AGES.reports([3, 3]))
    with pytest.raises(warner.errors.ArgumentError, match="at least 2 that are reported"):
        estimate(tally, values="reported")
