"""Plans to detect a difference of a share between groups: people, power, and what epsilon buys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from warner._core.errors import ArgumentError, WarnerError
from warner.design.theory import people_for_difference, power_for_difference
from warner.domains import Domain
from warner.mechanisms import Mechanism

BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the epsilon of the plan


@dataclass(frozen=True)
class WantedDifference:
    """A difference that a survey should detect.

    Attributes:
        difference: of the share of a value, between two groups.
        groups: the number of groups, of equal size.
        power: the probability to detect it, by a test of size 5 %.
    """

    difference: float
    groups: int
    power: float

    def people(self, mechanism: Mechanism | Domain, theta: np.ndarray) -> int:
        """See :func:`warner.theory.people_for_difference`."""
        return people_for_difference(mechanism, self.difference, theta, self.groups, self.power)

    def power_with(self, n: int, mechanism: Mechanism | Domain, theta: np.ndarray) -> float:
        """See :func:`warner.theory.power_for_difference`."""
        return power_for_difference(mechanism, self.difference, n, theta, self.groups)


@dataclass(frozen=True)
class BudgetRow:
    """What one budget buys.

    Attributes:
        epsilon: the budget in nats.
        mechanism: the name of the mechanism that needs the fewest people.
        people: how many it needs.
    """

    epsilon: float
    mechanism: str
    people: int


def wanted_difference(
    difference: float | None, groups: int, power: float, error: float | None, loss: str
) -> WantedDifference | None:
    """The difference that is asked for, or None."""
    if difference is None:
        return None
    if error is not None:
        rule = "does not go with a wanted difference: each asks for a number of people"
        raise ArgumentError("error", rule, repr(error), "Leave one of them out")
    if loss == "w1":
        rule, remedy = "goes with the losses 'l1' and 'l2'", "Use loss='l2' (--loss l2)"
        raise ArgumentError("difference", rule, repr(loss), remedy)
    return WantedDifference(difference, groups, power)


def what_epsilon_buys(
    domain: Domain,
    epsilon: float,
    makers: Mapping[str, Callable[[Domain, float], Mechanism]],
    people: Callable[[Mechanism], int],
) -> tuple[BudgetRow, ...]:
    """The mechanism that needs the fewest people at a quarter to four times of a budget."""
    found = []
    for budget in BUDGETS:
        needed = []
        for name, make in makers.items():
            try:
                needed.append((people(make(domain, epsilon * budget)), name))
            except WarnerError:
                continue  # not for these values, not at this budget, or far too many people
        if needed:
            least, name = min(needed)
            found.append(BudgetRow(epsilon * budget, name, least))
    return tuple(found)
