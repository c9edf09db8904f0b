"""Plans: which mechanism errs least for a question, and how many people a wanted error needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import (
    choice,
    distribution,
    integer,
    kind,
    real,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    IdentifiabilityError,
    message,
)
from warner.design.ranked_results import Ranking
from warner.design.report_weight import report_weight
from warner.design.theory import LOSSES, MAX_PEOPLE, expected_loss
from warner.domains import Domain
from warner.mechanisms import (
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
)

Maker = Callable[[Domain, float], Mechanism]

# The candidates: mechanisms that protect all values, and mechanisms that protect sensitive ones.
_PROTECT_ALL: dict[str, Maker] = {
    "RandomizedResponse": RandomizedResponse,
    "UnaryEncoding symmetric": UnaryEncoding,
    "UnaryEncoding optimized": partial(UnaryEncoding, keep="optimized"),
    "LocalHashing": LocalHashing,
    "SubsetSelection": SubsetSelection,
    "HadamardResponse": HadamardResponse,
}
_PROTECT_SENSITIVE: dict[str, Callable[..., Mechanism]] = {
    "UtilityOptimizedRR": UtilityOptimizedRR,
    "UtilityOptimizedRappor": UtilityOptimizedRappor,
}
_LARGEST_HASHED = 1024  # values; beyond, the exact variance of a hash pool takes minutes


@dataclass(frozen=True)
class RankedMechanism:
    """One mechanism in a plan.

    Attributes:
        name: the mechanism and its variant.
        mechanism: the mechanism; None for no protection.
        error: expected loss with the n people of the plan.
        people: number of people that the wanted error needs; None where no error was named.
        weight: number of people that one forged report can add to the estimated count of a value;
            None where it is not known; see :func:`warner.design.report_weight.report_weight`.
    """

    name: str
    mechanism: Mechanism | None
    error: float
    people: int | None
    weight: float | None

    def row(self) -> dict[str, Any]:
        """The result as a dict: mechanism, error, people, weight."""
        return {
            "mechanism": self.name,
            "error": self.error,
            "people": self.people,
            "weight": self.weight,
        }


@dataclass(frozen=True)
class Plan(Ranking[RankedMechanism]):
    """Mechanisms from the least expected error to the largest.

    Attributes:
        results, loss, n, left_out: see :class:`warner.design.ranked_results.Ranking`.
        no_protection: the same figures where answers are sent as they are. No mechanism errs less.
    """

    no_protection: RankedMechanism

    def _settings(self) -> dict[str, Any]:
        return {"no_protection": self.no_protection.row()}


def plan(
    domain: Domain,
    epsilon: float,
    n: int,
    sensitive: Iterable[Any] | None = None,
    theta: ArrayLike | None = None,
    loss: str = "l2",
    error: float | None = None,
) -> Plan:
    """Rank the mechanisms for one question by expected error.

    The error is that of :func:`warner.theory.expected_loss`: of the unbiased estimate, in closed
    form.

    Args:
        domain: the values that can be answered.
        epsilon: budget in nats.
        n: number of people who will answer.
        sensitive: the values to protect; None for all. Utility-optimised mechanisms are candidates
            only where this is given.
        theta: (K,) a guess of the distribution; None for the uniform distribution.
        loss: ``"l2"``, sum of squared errors, or ``"l1"``, sum of absolute errors.
        error: a wanted expected loss. Each result then says how many people it needs.

    Returns:
        Plan: the mechanisms from the least expected error to the largest.

    Raises:
        BudgetError: no mechanism can be made with this budget.
        ArgumentError: the wanted error needs more than 10^15 people.

    Source: METHODS 6; [P2 sec 4.3].

    >>> from warner import Integers
    >>> ranking = plan(Integers(1, 100), 1.0, n=10_000, sensitive=[7, 8], loss="l1", error=0.1)
    >>> ranking.best.name, ranking.best.people
    ('UtilityOptimizedRR', 16940)
    """
    if not isinstance(domain, Domain):
        raise ArgumentTypeError(message("domain", "must be a Domain", kind(domain)))
    integer("n", n, 1, MAX_PEOPLE)
    choice("loss", loss, LOSSES)
    if error is not None and real("error", error) <= 0:
        raise ArgumentError(message("error", "must be positive", repr(error)))
    guess = (
        np.full(domain.size, 1 / domain.size)
        if theta is None
        else distribution("theta", theta, domain.size)
    )

    def ranked(name: str, mechanism: Mechanism | None) -> RankedMechanism:
        expected = expected_loss(domain if mechanism is None else mechanism, guess, n, loss)
        people = None if error is None else _people(name, expected, n, error, loss)
        weight = 1.0 if mechanism is None else report_weight(mechanism)
        return RankedMechanism(name, mechanism, expected, people, weight)

    results: list[RankedMechanism] = []
    left_out: dict[str, str] = {}
    for name, make in _candidates(sensitive):
        if name == "LocalHashing" and domain.size > _LARGEST_HASHED:
            left_out[name] = (
                f"its exact error is computed up to {_LARGEST_HASHED} values; "
                "UnaryEncoding optimized has about the same"
            )
            continue
        try:
            results.append(ranked(name, make(domain, epsilon)))
        except (BudgetError, IdentifiabilityError) as problem:
            left_out[name] = str(problem)
    if not results:
        reason = next(iter(left_out.values()))
        raise BudgetError(
            message("epsilon", "suits no mechanism on this domain", repr(epsilon), reason)
        )
    results.sort(key=lambda result: result.error)
    return Plan(tuple(results), loss, n, left_out, ranked("no protection", None))


def _candidates(sensitive: Iterable[Any] | None) -> Iterator[tuple[str, Maker]]:
    """Names and makers of the mechanisms to compare."""
    yield from _PROTECT_ALL.items()
    if sensitive is not None:
        values = list(sensitive)
        for name, make in _PROTECT_SENSITIVE.items():
            yield name, partial(make, sensitive=values)


def _people(name: str, expected: float, n: int, error: float, loss: str) -> int:
    """How many people bring the expected loss with n people down to ``error``."""
    power = 2 if loss == "l1" else 1  # l1 falls with the root of n, l2 with n
    if math.log(n) + power * math.log(expected / error) > math.log(MAX_PEOPLE):
        raise ArgumentError(
            message(
                "error",
                f"would need more than {MAX_PEOPLE:.0e} people with {name}",
                repr(error),
                "Name a larger error",
            )
        )
    return math.ceil(n * (expected / error) ** power * (1 - 1e-12))
