"""Plans: which mechanism errs least for a question, and how many people a wanted error needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

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
from warner.design.report_weight import report_weight
from warner.design.theory import LOSSES, MOST, expected_loss
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

# What is compared: every way of protecting all values, and with sensitive ones named, of protecting those.
_FOR_ALL: dict[str, Callable[..., Mechanism]] = {
    "RandomizedResponse": RandomizedResponse,
    "UnaryEncoding symmetric": UnaryEncoding,
    "UnaryEncoding optimized": partial(UnaryEncoding, keep="optimized"),
    "LocalHashing": LocalHashing,
    "SubsetSelection": SubsetSelection,
    "HadamardResponse": HadamardResponse,
}
_FOR_SOME: dict[str, Callable[..., Mechanism]] = {
    "UtilityOptimizedRR": UtilityOptimizedRR,
    "UtilityOptimizedRappor": UtilityOptimizedRappor,
}
_LARGEST_HASHED = 1024  # values; beyond, the exact variance of a hash pool takes minutes


@dataclass(frozen=True)
class Option:
    """One mechanism in a plan.

    Attributes:
        name: the mechanism and its variant.
        mechanism: None for no protection, the line that nothing can beat.
        error: expected loss with the n people planned for.
        people: how many people the wanted error needs, None where none was named.
        weight: how many people one forged report can add to the estimated count of a value; see warner.design.report_weight.report_weight.
    """

    name: str
    mechanism: Mechanism | None
    error: float
    people: int | None
    weight: float | None = None


@dataclass(frozen=True)
class Plan:
    """Mechanisms from the least expected error to the largest; the last line is what no protection would give.

    Attributes:
        options: sorted by error.
        open: the same without protection.
        left_out: {name: why} of mechanisms that cannot be had here.
        loss, n: what was planned for.
    """

    options: tuple[Option, ...]
    open: Option
    left_out: dict[str, str]
    loss: str
    n: int

    @property
    def best(self) -> Option:
        return self.options[0]

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON data."""
        lines = [
            {"mechanism": o.name, "error": o.error, "people": o.people, "weight": o.weight}
            for o in (*self.options, self.open)
        ]
        return {"loss": self.loss, "n": self.n, "options": lines, "left_out": self.left_out}


def plan(
    domain: Domain,
    epsilon: float,
    n: int,
    sensitive: Any = None,
    error: float | None = None,
    loss: str = "l1",
    p: Any = None,
) -> Plan:
    """Rank the mechanisms for a question by expected error, and say how many people a wanted error needs.

    Args:
        domain: what can be answered.
        epsilon: budget in nats.
        n: how many people will answer.
        sensitive: the values to protect; None for all. Utility-optimised mechanisms come in only where it is given.
        error: a wanted expected loss; each option then says how many people it needs.
        loss: ``"l1"`` (twice the total variation) or ``"l2"`` (sum of squared errors), see warner.design.theory.expected_loss.
        p: (K,) a guess of the distribution; None for the uniform one.

    Raises:
        BudgetError: no mechanism can be had at this budget.

    Source: METHODS 6; [P2 sec 4.3].

    >>> from warner import Integers
    >>> ranking = plan(Integers(1, 100), 1.0, n=10_000, sensitive=[7, 8], error=0.1)
    >>> ranking.best.name
    'UtilityOptimizedRR'
    """
    if not isinstance(domain, Domain):
        raise ArgumentTypeError(message("domain", "must be a Domain", kind(domain)))
    integer("n", n, 1, MOST)
    choice("loss", loss, LOSSES)
    if error is not None and real("error", error) <= 0:
        raise ArgumentError(message("error", "must be positive", repr(error)))
    guess = (
        np.full(domain.size, 1 / domain.size) if p is None else distribution("p", p, domain.size)
    )
    sensitive = None if sensitive is None else list(sensitive)
    builders = dict(_FOR_ALL)
    if sensitive is not None:
        builders |= {name: partial(make, sensitive=sensitive) for name, make in _FOR_SOME.items()}
    options, left_out = [], {}
    for name, make in builders.items():
        if name == "LocalHashing" and domain.size > _LARGEST_HASHED:
            left_out[name] = (
                f"its exact error is computed up to {_LARGEST_HASHED} values; UnaryEncoding optimized has about the same"
            )
            continue
        try:
            mechanism = make(domain, epsilon)
            options.append(_option(name, mechanism, guess, n, error, loss))
        except (BudgetError, IdentifiabilityError) as problem:
            left_out[name] = str(problem)
    if not options:
        raise BudgetError(
            message(
                "epsilon",
                "suits no mechanism on this domain",
                repr(epsilon),
                next(iter(left_out.values())),
            )
        )
    options.sort(key=lambda option: option.error)
    return Plan(
        tuple(options), _option("no protection", domain, guess, n, error, loss), left_out, loss, n
    )


def _option(
    name: str, subject: Mechanism | Domain, p: np.ndarray, n: int, error: float | None, loss: str
) -> Option:
    value = expected_loss(subject, p, n, loss)
    # l1 falls with the root of n, l2 with n.
    people = None
    if error is not None:
        times = math.log(n) + (2 if loss == "l1" else 1) * math.log(value / error)
        if times > math.log(MOST):
            raise ArgumentError(
                message(
                    "error",
                    f"would need more than {MOST:.0e} people with {name}",
                    repr(error),
                    "Ask for less",
                )
            )
        people = math.ceil(n * (value / error) ** (2 if loss == "l1" else 1) * (1 - 1e-12))
    mechanism = subject if isinstance(subject, Mechanism) else None
    return Option(
        name, mechanism, value, people, 1.0 if mechanism is None else report_weight(mechanism)
    )
