"""Budgets that no law can represent are refused by name, whatever the mechanism."""

from __future__ import annotations

from typing import Any

import pytest

import warner
from tests.registry import BAD_EPSILONS, MECHANISMS
from warner import Integers

# What every mechanism must do for itself: the largest budgets that it can represent differ.
OF_THE_LAW: list[Any] = [float("inf"), 1e308, 50.0]


# Refused by what all mechanisms share.
SHARED = [e for e in BAD_EPSILONS if e not in OF_THE_LAW]


# A range of several steps, or a table of as many digits as it takes, represents a budget of 50.
REPRESENTS_50 = ["Laplace", "Laplace between cells", "Gaussian", "Exponential"]


BUDGETED = [n for n in MECHANISMS if n != "MatrixMechanism"]


BAD_BUDGETS = [
    *((name, epsilon) for name in BUDGETED for epsilon in ("1", *OF_THE_LAW)),
    *(("RandomizedResponse", epsilon) for epsilon in SHARED if epsilon != "1"),
]


ACCEPTED = [("RandomizedResponse", float("inf")), *((name, 50.0) for name in REPRESENTS_50)]


@pytest.mark.parametrize(
    "name, epsilon", [pair for pair in BAD_BUDGETS if pair not in ACCEPTED], ids=repr
)
def test_bad_budgets_are_refused(name: str, epsilon: Any) -> None:
    with pytest.raises(
        (warner.errors.BudgetError, warner.errors.ArgumentTypeError), match="epsilon"
    ):
        MECHANISMS[name](Integers(0, 3), epsilon)


@pytest.mark.parametrize("name, epsilon", ACCEPTED)
def test_large_budgets_that_can_be_represented_are_accepted(name: str, epsilon: float) -> None:
    assert MECHANISMS[name](Integers(0, 3), epsilon).requested == epsilon
