"""Weighted groups meet the margins, and say what weights cost."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.spec.results._tallies import drawn
from warner import Tally, estimate, weighted
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError
from warner.results.weights import WeightStatus


def _crossed() -> dict[tuple[str, str], Tally]:
    parts = list(drawn(1, [100, 300, 200, 400]).values())
    return dict(zip([("n", "f"), ("n", "m"), ("s", "f"), ("s", "m")], parts, strict=True))


def test_post_stratification_weights_groups_by_their_part_of_the_population() -> None:
    groups = drawn(1, [100, 300])
    found = weighted(groups, {"group": {"a": 900, "b": 100}})
    shares = estimate(groups, pool="none").groups.table.shares
    assert found.weights.tolist() == [0.9, 0.1]
    assert found.unbiased == pytest.approx(0.9 * shares[0] + 0.1 * shares[1])
    # n sum W_g^2 / n_g
    assert found.design_effect == pytest.approx(400 * (0.81 / 100 + 0.01 / 300))
    assert found.effective_n == pytest.approx(400 / found.design_effect)
    json.dumps(found.to_json(), allow_nan=False)
    assert "Design effect" in found.text


def test_raking_meets_all_margins_and_keeps_odds_ratios() -> None:
    found = weighted(
        _crossed(), {"column 1": {"n": 0.5, "s": 0.5}, "column 2": {"f": 0.7, "m": 0.3}}
    )
    table = found.weights.reshape(2, 2)
    assert table.sum(axis=1) == pytest.approx([0.5, 0.5], abs=1e-9)
    assert table.sum(axis=0) == pytest.approx([0.7, 0.3], abs=1e-9)
    odds = table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
    assert odds == pytest.approx(100 * 400 / (300 * 200))
    assert found.status is WeightStatus.EXACT


def test_a_margin_of_tuples_is_post_stratification() -> None:
    numbers = {("n", "f"): 1, ("n", "m"): 2, ("s", "f"): 3, ("s", "m"): 4}
    found = weighted(_crossed(), {("column 1", "column 2"): numbers})
    assert found.weights == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_weights_in_proportion_to_reports_change_nothing() -> None:
    groups = drawn(2, [150, 450])
    found = weighted(groups, {"group": {"a": 1, "b": 3}})
    whole = estimate(sum(groups.values(), start=0))  # type: ignore[arg-type]
    assert found.design_effect == pytest.approx(1)
    assert found.interval().mean(axis=1) == pytest.approx(
        whole.interval(kind="wald").mean(axis=1), abs=0.01
    )
    ratio = np.diff(found.interval()) / np.diff(whole.interval(kind="wald"))
    assert ratio == pytest.approx(np.ones((4, 1)), abs=0.05)


def test_weights_of_persons_count_a_group_as_often_as_it_has_reports() -> None:
    found = weighted(drawn(2, [100, 300]), weights={"a": 3.0, "b": 1.0})
    assert found.weights.tolist() == [0.5, 0.5]


def test_margins_that_contradict_the_groups_are_told_by_the_status() -> None:
    parts = list(drawn(1, [100, 300]).values())
    groups = {("n", "f"): parts[0], ("s", "m"): parts[1]}
    found = weighted(groups, {"column 1": {"n": 0.5, "s": 0.5}, "column 2": {"f": 0.7, "m": 0.3}})
    assert found.status is WeightStatus.NOT_CONVERGED
    assert np.isfinite(found.interval()).all()


@pytest.mark.parametrize(
    ("margins", "error", "text"),
    [
        ({"ward": {"a": 1, "b": 1}}, ArgumentError, "public columns group"),
        ({"group": {"a": 1}}, ArgumentError, "none for b"),
        ({"group": {"a": 1, "b": 1, "z": 3}}, EmptyError, "people of z"),
        ({"group": {"a": 1, "b": 1, "c": 3}}, EmptyError, "people of c"),
        ({"group": {"a": -1, "b": 1}}, ArgumentError, "at least 0"),
        ({"group": {"a": 0, "b": 0}}, ArgumentError, "positive sum"),
        ({"group": {"a": float("nan"), "b": 1}}, ArgumentError, "finite"),
        ({"group": [1, 2]}, ArgumentTypeError, "value: number"),
        ({}, ArgumentTypeError, "column"),
    ],
)
def test_bad_margins_are_refused(margins: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        weighted(drawn(1, [10, 20, 0]), margins)


def test_margins_of_different_totals_are_refused() -> None:
    with pytest.raises(ArgumentError, match="one total; got 10 by column 1, 100 by column 2"):
        weighted(_crossed(), {"column 1": {"n": 4, "s": 6}, "column 2": {"f": 70, "m": 30}})


@pytest.mark.parametrize("unit", [1e308, 1.0, 5e-324])
def test_weights_of_any_size_count_by_their_ratios(unit: float) -> None:
    """Rejects the program that adds up weights as they are: near 1e308 the sum is infinite."""
    groups = drawn(2, [100, 300])
    found = weighted(groups, weights={"a": unit, "b": unit})
    assert found.weights.tolist() == [0.25, 0.75]
    assert weighted(groups, {"group": {"a": unit, "b": 0}}).weights.tolist() == [1, 0]
    with pytest.raises(ArgumentError, match="a finite one"):
        weighted(groups, {"group": {"a": 1e308, "b": 1e308}})


def test_bad_weights_are_refused() -> None:
    groups = drawn(1, [10, 20])
    for weights, text in (
        ({"a": 1.0}, "none for b"),
        ({"a": 0.0, "b": 0.0}, "positive sum"),
        ({"a": -1.0, "b": 1.0}, "at least 0"),
        ({"x": 1.0}, "must be one of the groups"),
    ):
        with pytest.raises(ArgumentError, match=text):
            weighted(groups, weights=weights)
    with pytest.raises(ArgumentError, match="not both"):
        weighted(groups)


def test_small_groups_have_a_variance() -> None:
    found = weighted(drawn(3, [1, 2, 50]), {"group": {"a": 1, "b": 1, "c": 1}})
    assert (np.diff(found.interval()) > 0.1).all()
    assert (found.variances("respondents") >= 0).all()
