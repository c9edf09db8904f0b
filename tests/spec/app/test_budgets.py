"""Budgets of study files are decimals."""

from __future__ import annotations

from fractions import Fraction

import pytest

import warner


def _study(
    budget: str,
    epsilons: list[str],
    more: str = 'values = ["no", "yes"]\nmechanism = "RandomizedResponse"',
) -> warner.Study:
    parts = [
        f"[attributes.a{i}]\n{more}\nepsilon = {epsilon}" for i, epsilon in enumerate(epsilons)
    ]
    return warner.Study.parse("\n".join([f"budget = {budget}", *parts]))


@pytest.mark.parametrize(
    "budget, epsilons",
    [
        ("0.3", ["0.1", "0.2"]),
        ("1.0", ["0.1"] * 10),
        ("0.3", ["0.25", "0.05"]),
        ("0.7", ["0.1"] * 7),
        ("1", ["0.7", "0.3"]),
    ],
)
def test_budgets_that_add_up_as_decimals_are_met(budget: str, epsilons: list[str]) -> None:
    """And what is really spent is never above the budget, neither as a decimal nor as a float."""
    study = _study(budget, epsilons)
    spent = sum(Fraction(m.epsilon) for m in study.mechanisms.values())
    assert (
        spent <= Fraction(budget)
        and spent <= Fraction(float(budget))
        and study.epsilon <= float(budget)
    )
    for mechanism, written in zip(study.mechanisms.values(), epsilons, strict=True):
        assert mechanism.epsilon <= float(written) and mechanism.requested == pytest.approx(
            float(written), abs=1e-15
        )
        assert warner.audit(mechanism).holds
    assert warner.Study.parse(study.to_json()).digest == study.digest


def test_metric_budgets_add_up_as_decimals_too() -> None:
    study = _study("10.0", ["0.1"] * 10, 'integers = [0, 10]\nmechanism = "Geometric"')
    assert study.epsilon <= 10
    assert (
        _study(
            "1.0", ["0.1", "0.2"], 'integers = [0, 10]\nmechanism = "Laplace"\nsensitivity = 3'
        ).epsilon
        <= 1.0
    )


@pytest.mark.parametrize(
    "budget, epsilons, spent",
    [
        ("0.3", ["0.1", "0.2000001"], "0.3000001"),
        ("0.3", ["0.1", "0.20000000000000004"], "0.30000000000000004"),
    ],
)
def test_budgets_that_are_exceeded_say_by_how_much(
    budget: str, epsilons: list[str], spent: str
) -> None:
    with pytest.raises(warner.errors.StudyError) as error:
        _study(budget, epsilons)
    assert f"the attributes spend {spent} together; got {budget}." in str(error.value)
