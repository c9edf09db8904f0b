"""Privacy guarantees as frozen facts: what they say, and how they add up. No mechanism, no sampling."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    MismatchError,
    message,
)


@dataclass(frozen=True)
class LDP:
    """Local differential privacy: A[y, x] <= exp(epsilon) A[y, x'] for every report y and all values x, x'.

    ``epsilon`` in nats; infinity means no protection. [P2 def 1]

    >>> LDP(1.0)
    LDP(epsilon=1.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float):
            raise ArgumentTypeError(
                message("epsilon", "must be a number (nats)", kind(self.epsilon))
            )
        if self.epsilon > sys.float_info.max and not math.isinf(self.epsilon):
            raise BudgetError(
                message("epsilon", "must be a float or infinity", "an integer that no float holds")
            )
        if not self.epsilon >= 0:
            raise BudgetError(message("epsilon", "must be at least 0", repr(self.epsilon)))

    @property
    def total(self) -> float:
        """Nats between any two values: ``epsilon`` itself."""
        return self.epsilon

    def __str__(self) -> str:
        return "no protection" if math.isinf(self.epsilon) else f"{self.epsilon:.10g}-LDP"


@dataclass(frozen=True)
class ULDP:
    """Utility-optimised local differential privacy [P2 def 2]: protection for the sensitive values, none for the others.

    A report outside the protected ones comes from one non-sensitive value alone, which it reveals; on the protected ones
    A[y, x] <= exp(epsilon) A[y, x'] for all values x, x'. So a sensitive value is as well hidden as under LDP.

    Args:
        epsilon: nats.
        sensitive: the sensitive values.
        protected: which reports are protected, in words.

    >>> ULDP(1.0, ("ill",)).relaxed()
    OSLDP(epsilon=1.0, sensitive=('ill',))
    """

    epsilon: float
    sensitive: tuple[Any, ...]
    protected: str = "reports that a sensitive value can make"

    def __post_init__(self) -> None:
        _checked(self.epsilon, self.sensitive)

    def __str__(self) -> str:
        return f"{LDP(self.epsilon)} of {_count(self.sensitive)}, on {self.protected}; other reports reveal the value they name"

    @property
    def total(self) -> float:
        """Nats between any two values, in a protected report: ``epsilon`` itself."""
        return self.epsilon

    def relaxed(self) -> OSLDP:
        """ULDP implies OSLDP [P2 prop 12]."""
        return OSLDP(self.epsilon, self.sensitive)


@dataclass(frozen=True)
class OSLDP:
    """One-sided local differential privacy [P2 def 6]: A[y, x] <= exp(epsilon) A[y, x'] for sensitive x, any x' and any report y.

    A report may be much likelier under a non-sensitive value: it then rules the sensitive ones out.

    >>> OSLDP(1.0, ("ill",)).epsilon
    1.0
    """

    epsilon: float
    sensitive: tuple[Any, ...]

    def __post_init__(self) -> None:
        _checked(self.epsilon, self.sensitive)

    @property
    def total(self) -> float:
        """Nats between a sensitive value and any other: ``epsilon`` itself."""
        return self.epsilon

    def __str__(self) -> str:
        return f"one-sided {LDP(self.epsilon)} of {_count(self.sensitive)}"


@dataclass(frozen=True)
class MetricLDP:
    """Metric privacy (d-privacy, geo-indistinguishability): A[y, x] <= exp(epsilon d(x, x')) A[y, x'] for every y and all x, x'.

    Values close to each other are hard to tell apart, values far from each other need not be.

    Args:
        epsilon: nats per unit of distance. What two values spend in all is ``total``, another quantity.
        diameter: the largest distance between two values.

    Source: METHODS 8; [P4 sec IX]; Andres et al. (2013).

    >>> MetricLDP(0.5, 10.0).relaxed()
    LDP(epsilon=5.0)
    """

    epsilon: float
    diameter: float

    def __post_init__(self) -> None:
        LDP(self.epsilon)
        if (
            isinstance(self.diameter, bool)
            or not isinstance(self.diameter, int | float)
            or not 0 < self.diameter <= sys.float_info.max
        ):
            raise ArgumentTypeError(
                message("diameter", "must be a positive number", show(self.diameter))
            )

    def __str__(self) -> str:
        return f"{self.epsilon:.10g}-LDP per unit of distance (values lie up to {self.diameter:.6g} apart)"

    @property
    def total(self) -> float:
        """Nats between the two most distant values: ``epsilon`` times ``diameter``, rounded up."""
        return _times(self.epsilon, self.diameter)

    def relaxed(self) -> LDP:
        """What it is for any two values, however far apart."""
        return LDP(self.total)

    @classmethod
    def at(cls, epsilon: float, distance: float, diameter: float) -> MetricLDP:
        """The guarantee of ``epsilon`` nats between values that lie ``distance`` apart: epsilon / distance per unit, rounded up.

        >>> MetricLDP.at(1.0, 0.25, 3.0).epsilon, MetricLDP.at(1.0, 0.25, 3.0).total
        (4.0, 12.0)
        """
        per_unit = epsilon / distance
        if not math.isinf(per_unit) and Fraction(per_unit) * Fraction(distance) < Fraction(epsilon):
            per_unit = math.nextafter(per_unit, math.inf)
        return cls(per_unit, diameter)


@dataclass(frozen=True)
class ApproximateLDP:
    """Approximate local differential privacy: Pr(y in Y | x) <= exp(epsilon) Pr(y in Y | x') + delta for every set Y and all x, x'.

    Neither number means anything without the other.

    >>> print(ApproximateLDP(1.0, 1e-6))
    (1, 1e-06)-LDP
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        LDP(self.epsilon)
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float):
            raise ArgumentTypeError(message("delta", "must be a number", kind(self.delta)))
        if not 0 <= self.delta <= 1:
            raise BudgetError(message("delta", "must lie in [0, 1]", repr(self.delta)))

    @property
    def total(self) -> float:
        """Nats between any two values, up to delta: ``epsilon`` itself."""
        return self.epsilon

    def __str__(self) -> str:
        return f"({self.epsilon:.10g}, {self.delta:.6g})-LDP"


Guarantee = LDP | ULDP | OSLDP | MetricLDP | ApproximateLDP


def _times(epsilon: float, distance: float) -> float:
    """epsilon times distance, never below the exact product."""
    product = epsilon * distance
    if not math.isinf(product) and Fraction(product) < Fraction(epsilon) * Fraction(distance):
        return math.nextafter(product, math.inf)
    return product


def _checked(epsilon: float, sensitive: Any) -> None:
    LDP(epsilon)
    if not isinstance(sensitive, tuple) or not sensitive:
        raise ArgumentTypeError(
            message(
                "sensitive",
                "must be a tuple of at least one value",
                "none" if sensitive == () else kind(sensitive),
            )
        )


def _count(sensitive: tuple[Any, ...]) -> str:
    return "1 sensitive value" if len(sensitive) == 1 else f"{len(sensitive)} sensitive values"


def compose(guarantees: Iterable[Any]) -> Any:
    """What one person who sends several reports of one value has spent: epsilons add (METHODS 8).

    The sum is rounded up, so that it is never below the exact one. LDP alone gives LDP. ULDP on the same sensitive values
    gives ULDP, on the tuples of reports whose utility-optimised parts are all protected [P2 prop 1]; LDP added to it keeps it
    [P2 prop 3]. With OSLDP among them the whole is OSLDP, because ULDP and LDP imply it [P2 prop 12]. MetricLDP alone adds per
    unit of distance, and with others counts as the LDP that it is between its two most distant values. With ApproximateLDP among
    them epsilons and deltas add.

    Raises:
        MismatchError: guarantees on different sensitive values, or ApproximateLDP beside ULDP or OSLDP, to which no proposition applies.

    >>> compose([LDP(0.5), LDP(1.0)])
    LDP(epsilon=1.5)
    >>> compose([ULDP(0.5, ("ill",)), LDP(1.0)]).epsilon
    1.5
    """
    if not isinstance(guarantees, Iterable):
        raise ArgumentTypeError(
            message("guarantees", "must be a list of guarantees", kind(guarantees))
        )
    parts = list(guarantees)
    if not parts:
        raise EmptyError(message("guarantees", "must not be empty"))
    for part in parts:
        if not isinstance(part, Guarantee):
            raise ArgumentTypeError(
                message(
                    "guarantees",
                    "must all be LDP, ULDP, OSLDP, MetricLDP or ApproximateLDP",
                    kind(part),
                )
            )
    if (
        all(isinstance(part, MetricLDP) for part in parts)
        and len({part.diameter for part in parts}) == 1
    ):
        return MetricLDP(add_up(part.epsilon for part in parts), parts[0].diameter)
    parts = [part.relaxed() if isinstance(part, MetricLDP) else part for part in parts]
    total = add_up(part.epsilon for part in parts)
    limited = [part for part in parts if isinstance(part, ULDP | OSLDP)]
    if loose := [part.delta for part in parts if isinstance(part, ApproximateLDP)]:
        if limited:
            raise MismatchError(
                message(
                    "guarantees",
                    "with a delta do not compose with those of some values only",
                    None,
                    "Compose them apart",
                )
            )
        return ApproximateLDP(total, min(1.0, add_up(loose)))
    if not limited:
        return LDP(total)
    sensitive = limited[0].sensitive
    if any(sorted(map(repr, part.sensitive)) != sorted(map(repr, sensitive)) for part in limited):
        raise MismatchError(
            message(
                "guarantees",
                "must protect the same sensitive values to compose",
                None,
                "Compose them apart, or protect the same values in each",
            )
        )
    if any(isinstance(part, OSLDP) for part in limited):
        return OSLDP(total, sensitive)
    first = limited[0]
    protected = (
        first.protected
        if isinstance(first, ULDP) and len(parts) == 1
        else "tuples of reports whose utility-optimised parts are all protected"
    )
    return ULDP(total, sensitive, protected)


def side_by_side(guarantees: Mapping[str, Any]) -> Any:
    """What one person who sends a report of each of several attributes has spent: epsilons add, for any two values of each.

    Where some protect only some values the whole is one-sided: whoever has a sensitive value in each of those is protected at the sum
    of the epsilons; ``sensitive`` then holds (attribute, value) pairs.

    Raises:
        MismatchError: ApproximateLDP beside ULDP or OSLDP.

    >>> side_by_side({"sex": LDP(0.5), "age": MetricLDP(0.5, 2.0)})
    LDP(epsilon=1.5)
    """
    if len(guarantees) == 1:
        return next(iter(guarantees.values()))
    parts = {
        name: part.relaxed() if isinstance(part, MetricLDP) else part
        for name, part in guarantees.items()
    }
    if all(isinstance(part, LDP | ApproximateLDP) for part in parts.values()):
        return compose(parts.values())
    if any(isinstance(part, ApproximateLDP) for part in parts.values()):
        raise MismatchError(
            message(
                "guarantee",
                "with a delta beside one of some values only is no single statement",
                None,
                "See each attribute's",
            )
        )
    pairs = [
        (name, value)
        for name, part in parts.items()
        if not isinstance(part, LDP)
        for value in part.sensitive
    ]
    return OSLDP(add_up(part.epsilon for part in parts.values()), tuple(pairs))


def add_up(epsilons: Iterable[float]) -> float:
    """The sum of budgets, never below the exact one."""
    parts = list(epsilons)
    try:
        total = math.fsum(parts)
    except OverflowError:
        return math.inf
    exact = math.isinf(total) or math.fsum([*parts, -total]) <= 0
    return total if exact else math.nextafter(total, math.inf)
