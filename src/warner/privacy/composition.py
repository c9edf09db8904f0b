"""The guarantee of several reports together, of one value or of several attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentTypeError,
    EmptyError,
    MismatchError,
)
from warner.privacy.guarantees import (
    LDP,
    OSLDP,
    ULDP,
    ApproximateLDP,
    Guarantee,
    MetricLDP,
)


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of several reports of one value: epsilons add (METHODS 8).

    The sum is rounded up, so it is never below the exact sum. The kind of the result:

    - LDP alone gives LDP.
    - ULDP with the same sensitive values gives ULDP [P2 prop 1], also together with LDP [P2 prop
      3]. A tuple of reports is protected if all its utility-optimised reports are protected.
    - If one guarantee is OSLDP, the result is OSLDP, because ULDP and LDP imply it [P2 prop 12].
    - MetricLDP alone adds per unit of distance. Together with another kind it counts as LDP, at its
      epsilon between the two most distant values.
    - If one guarantee is ApproximateLDP, epsilons and deltas add.

    Args:
        guarantees: at least one.

    Returns:
        Guarantee: of all reports together.

    Raises:
        MismatchError: guarantees with different sensitive values, or ApproximateLDP together with
            ULDP or OSLDP, to which no proposition applies.
        ArgumentTypeError, EmptyError: not guarantees, or none.

    >>> compose([LDP(0.5), LDP(1.0)])
    LDP(epsilon=1.5)
    >>> compose([ULDP(0.5, ("ill",)), LDP(1.0)]).epsilon
    1.5
    """
    parts = _checked(guarantees)
    if len(parts) == 1:
        return parts[0]
    diameters = {part.diameter for part in parts}
    diameter = diameters.pop()
    if diameter is not None and not diameters:
        return MetricLDP(add_up(part.epsilon for part in parts), diameter)
    return _of_any_values([part.between_any_values() for part in parts])


def _of_any_values(parts: list[Guarantee]) -> Guarantee:
    """The guarantee of several reports whose guarantees depend on no distance."""
    total = add_up(part.epsilon for part in parts)
    limited = [part for part in parts if part.sensitive is not None]
    deltas = [part.delta for part in parts if part.delta is not None]
    if deltas and limited:
        raise MismatchError(
            "guarantees",
            "with a delta do not compose with those of some values only",
            None,
            "Compose them apart",
        )
    if deltas:
        return ApproximateLDP(total, min(1.0, add_up(deltas)))
    return _limited(total, limited) if limited else LDP(total)


def side_by_side(guarantees: Mapping[str, Guarantee]) -> Guarantee:
    """The guarantee of several attributes with one report each: epsilons add.

    It holds for any two people, who may differ in every attribute. If some attributes protect only
    their sensitive values, the result is one-sided (OSLDP). It protects a person who has a
    sensitive value in each of these attributes, at the sum of the epsilons. ``sensitive`` then
    holds (attribute, value) pairs.

    >>> side_by_side({"sex": LDP(0.5), "age": MetricLDP(0.5, 2.0)})
    LDP(epsilon=1.5)
    """
    if len(guarantees) == 1:
        return next(iter(guarantees.values()))
    parts = {name: part.between_any_values() for name, part in guarantees.items()}
    pairs = [(name, value) for name, part in parts.items() for value in part.sensitive or ()]
    if not pairs:
        return compose(parts.values())
    if any(part.delta is not None for part in parts.values()):
        raise MismatchError(
            "guarantee",
            "with a delta beside one of some values only is no single statement",
            None,
            "See each attribute's",
        )
    return OSLDP(add_up(part.epsilon for part in parts.values()), tuple(pairs))


def add_up(epsilons: Iterable[float]) -> float:
    """The sum of budgets, rounded up so that it is never below the exact sum.

    >>> add_up([0.1] * 10)
    1.0000000000000002
    """
    parts = list(epsilons)
    try:
        total = math.fsum(parts)
    except OverflowError:
        return math.inf
    exact = math.isinf(total) or math.fsum([*parts, -total]) <= 0
    return total if exact else math.nextafter(total, math.inf)


def _checked(guarantees: Iterable[Guarantee]) -> list[Guarantee]:
    """The guarantees as a list, refused where one is none."""
    if not isinstance(guarantees, Iterable):
        raise ArgumentTypeError("guarantees", "must be a list of guarantees", kind(guarantees))
    parts = list(guarantees)
    if not parts:
        raise EmptyError("guarantees", "must not be empty")
    for part in parts:
        if not isinstance(part, Guarantee):
            raise ArgumentTypeError(
                "guarantees",
                "must all be LDP, ULDP, OSLDP, MetricLDP or ApproximateLDP",
                kind(part),
            )
    return parts


def _limited(total: float, limited: list[Guarantee]) -> ULDP | OSLDP:
    """The guarantee at ``total`` of several reports, some of which protect only some values."""
    sensitive = limited[0].sensitive or ()
    if any(
        sorted(map(repr, part.sensitive or ())) != sorted(map(repr, sensitive)) for part in limited
    ):
        raise MismatchError(
            "guarantees",
            "must protect the same sensitive values to compose",
            None,
            "Compose them apart, or protect the same values in each",
        )
    if any(part.is_one_sided for part in limited):
        return OSLDP(total, sensitive)
    return ULDP(
        total, sensitive, "tuples of reports whose utility-optimised parts are all protected"
    )
