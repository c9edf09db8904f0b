"""Privacy guarantees as immutable objects, which can check a table of probabilities.

Other modules read the attributes ``delta``, ``sensitive``, ``diameter`` and ``total`` of a
guarantee, and never test its class. :mod:`warner.privacy.guarantees` combines guarantees.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    MismatchError,
    ValuesError,
)
from warner.domains import Domain
from warner.privacy.report_laws import (
    INFINITE,
    ambiguous_report,
    epsilon_of,
    euclidean_distances,
    hockey_stick,
    image,
    slope_exceeds,
    worst_pair,
    worst_slope,
)

# -----------------------------------------------------------------------------------------------
# The values that a mechanism or a claim protects, as a mask over the domain.


def sensitive_mask(domain: Domain, sensitive: Any) -> np.ndarray:
    """Which values of a domain are sensitive, from a checked list of them.

    Sensitive values are public parameters, so error messages may name them.

    Returns (K,).

    >>> from warner import Categorical
    >>> sensitive_mask(Categorical(["no", "yes"]), ["yes"]).tolist()
    [False, True]
    """
    if (
        isinstance(sensitive, str | bytes)
        or not hasattr(sensitive, "__iter__")
        or (isinstance(sensitive, np.ndarray) and not sensitive.ndim)
    ):
        raise ArgumentTypeError("sensitive", "must be a list of values", kind(sensitive))
    values = sensitive if isinstance(sensitive, np.ndarray) else list(sensitive)
    if not len(values):
        rule = (
            "must name at least one value, because otherwise all answers would be sent unprotected"
        )
        remedy = "Name the values that need protection"
        raise ArgumentError("sensitive", rule, None, remedy)
    outside = None
    try:
        index = domain.encode(values)
    except ValuesError as error:
        outside = error.position
    if outside is not None:  # outside the handler: one error is shown, not two
        rule = f"must be among the {domain.size} values of the question"
        raise ArgumentError("sensitive", rule, repr(values[outside]))
    if len(np.unique(index)) < len(index):
        again = next(i for i in range(1, len(index)) if index[i] in index[:i])
        rule = "must not name a value twice, or two values of one bin"
        raise ArgumentError("sensitive", rule, repr(values[again]))
    mask = np.zeros(domain.size, dtype=bool)
    mask[index] = True
    return mask


class Examination(NamedTuple):
    """The result of comparing a table of probabilities with a guarantee.

    Attributes:
        epsilon: the smallest epsilon in nats at which the table keeps a guarantee of this kind.
        violation: how the guarantee is broken, in words; None where it holds.
        delta: with approximate privacy, the least delta at the guarantee's epsilon; else None.
    """

    epsilon: float
    violation: str | None
    delta: float | None = None


class Guarantee(ABC):
    """A privacy guarantee of one report. Abstract; frozen.

    Attributes:
        epsilon: nats; with metric privacy, nats per unit of distance.
        delta: with approximate privacy, the delta in [0, 1]; else None.
        sensitive: the values that are protected; None where all are.
        diameter: the largest distance between two values where privacy is metric; else None.
    """

    epsilon: float
    delta: float | None = None
    sensitive: tuple[Any, ...] | None = None
    diameter: float | None = None
    is_one_sided = False  # whether reports may rule sensitive values out

    @property
    def is_metric(self) -> bool:
        """Whether ``epsilon`` is per unit of distance between values."""
        return self.diameter is not None

    @property
    def bounds_all_pairs(self) -> bool:
        """Whether ``epsilon`` bounds every report and does not depend on the distance of values."""
        return self.delta is None and not self.is_metric

    @property
    def total(self) -> float:
        """The epsilon in nats that bounds any two values, also the most distant ones."""
        return self.epsilon

    def between_any_values(self) -> Guarantee:
        """The guarantee for two values at any distance: itself, unless privacy is metric."""
        return self

    def with_epsilon(self, epsilon: float, distance: float | None = None) -> Guarantee:
        """The same kind of guarantee at another epsilon.

        Args:
            epsilon: nats between two values that are ``distance`` apart.
            distance: needed with metric privacy, in the unit of distances; ignored otherwise.
        """
        return replace(self, epsilon=epsilon)  # type: ignore[type-var]

    @abstractmethod
    def examine(self, table: np.ndarray, domain: Domain) -> Examination:
        """Compare a table of exact probabilities with this guarantee.

        Args:
            table: (m, K), Pr(report y | value x) as Fractions.
            domain: the K values.

        Returns:
            Examination: the smallest epsilon of the table, and whether the guarantee holds.

        Raises:
            ArgumentError: the guarantee names values that the domain does not have, or it is metric
                and the values have no coordinates.
        """


@dataclass(frozen=True)
class LDP(Guarantee):
    """Local differential privacy (LDP): no report tells two values apart by more than epsilon.

        A[y, x] <= exp(epsilon) A[y, x']   for every report y and all values x, x'

    Here A[y, x] = Pr(report y | value x).

    Args:
        epsilon: nats; infinity means no protection.

    Raises:
        ArgumentTypeError, BudgetError: epsilon that is not a number of at least 0.

    Source: [P2 def 1].

    >>> LDP(1.0)
    LDP(epsilon=1.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float):
            raise ArgumentTypeError("epsilon", "must be a number", kind(self.epsilon))
        if sys.float_info.max < self.epsilon != math.inf:
            rule = "is too large to compute with"
            raise BudgetError("epsilon", rule, None, "To turn protection off, pass math.inf")
        if not self.epsilon >= 0:
            raise BudgetError("epsilon", "must be at least 0", repr(self.epsilon))

    def __str__(self) -> str:
        return "no protection" if math.isinf(self.epsilon) else f"{self.epsilon:.10g}-LDP"

    def examine(self, table: np.ndarray, domain: Domain) -> Examination:
        return _examine_odds(self.epsilon, table, domain)


@dataclass(frozen=True)
class _OfSensitive(Guarantee):
    """A guarantee that protects the sensitive values only. Abstract."""

    epsilon: float
    sensitive: tuple[Any, ...]

    def __post_init__(self) -> None:
        LDP(self.epsilon)
        if not isinstance(self.sensitive, tuple) or not self.sensitive:
            rule = "must be a tuple of at least one value"
            got = "none" if self.sensitive == () else kind(self.sensitive)
            raise ArgumentTypeError("sensitive", rule, got)

    def __str__(self) -> str:
        one_sided = "one-sided " if self.is_one_sided else ""
        values = f"{len(self.sensitive)} sensitive value{'s' * (len(self.sensitive) > 1)}"
        return f"{one_sided}{LDP(self.epsilon)} for {values}, while other values can be revealed"


@dataclass(frozen=True)
class ULDP(_OfSensitive):
    """Utility-optimised local differential privacy: protection of the sensitive values only.

    An unprotected report y can come from one non-sensitive value alone, which it reveals. A
    protected report y satisfies

        A[y, x] <= exp(epsilon) A[y, x']   for all values x, x'

    Here A[y, x] = Pr(report y | value x). So a sensitive value is as well hidden as under LDP.

    Args:
        epsilon: nats.
        sensitive: the sensitive values, at least one.

    Raises:
        ArgumentTypeError, BudgetError: an epsilon or sensitive values that are not valid.

    Source: [P2 def 2].

    >>> ULDP(1.0, ("ill",)).relaxed()
    OSLDP(epsilon=1.0, sensitive=('ill',))
    """

    def relaxed(self) -> OSLDP:
        """The one-sided guarantee that this one implies [P2 prop 12]."""
        return OSLDP(self.epsilon, self.sensitive)

    def examine(self, table: np.ndarray, domain: Domain) -> Examination:
        mask = sensitive_mask(domain, self.sensitive)
        protected = image(table, mask)
        problem = ambiguous_report(table, mask, protected, _names(domain))
        if problem is not None:
            return Examination(math.inf, problem)
        return _examine_odds(self.epsilon, table, domain, reports=protected)


@dataclass(frozen=True)
class OSLDP(_OfSensitive):
    """One-sided local differential privacy: no report is strong evidence for a sensitive value.

        A[y, x] <= exp(epsilon) A[y, x']   for every report y, sensitive value x and value x'

    Here A[y, x] = Pr(report y | value x). A report may be much likelier under a non-sensitive
    value. It then rules the sensitive values out.

    Args:
        epsilon: nats.
        sensitive: the sensitive values, at least one.

    Raises:
        ArgumentTypeError, BudgetError: an epsilon or sensitive values that are not valid.

    Source: [P2 def 6].

    >>> OSLDP(1.0, ("ill",)).epsilon
    1.0
    """

    is_one_sided = True

    def examine(self, table: np.ndarray, domain: Domain) -> Examination:
        mask = sensitive_mask(domain, self.sensitive)
        return _examine_odds(self.epsilon, table, domain, likely=mask)


@dataclass(frozen=True)
class MetricLDP(Guarantee):
    """Metric privacy (d-privacy, geo-indistinguishability): epsilon per unit of distance.

        A[y, x] <= exp(epsilon d(x, x')) A[y, x']   for every report y and all values x, x'

    Here A[y, x] = Pr(report y | value x), and d is the Euclidean distance of values. Values close
    to each other are hard to distinguish. Distant values may be easy to distinguish.

    Args:
        epsilon: nats per unit of distance.
        diameter: the largest distance between two values.

    Raises:
        ArgumentTypeError, BudgetError: an epsilon or a diameter that is not valid.

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
            raise ArgumentTypeError("diameter", "must be a number above 0", show(self.diameter))

    def __str__(self) -> str:
        return (
            f"an epsilon of {self.epsilon:.10g} for each unit of distance between two values, "
            f"which are at most {self.diameter:.6g} apart"
        )

    @property
    def total(self) -> float:
        """Nats between the two most distant values: ``epsilon * diameter``, rounded up."""
        product = self.epsilon * self.diameter
        exact = Fraction(self.epsilon) * Fraction(self.diameter) if product < math.inf else None
        if exact is not None and Fraction(product) < exact:
            return math.nextafter(product, math.inf)
        return product

    def relaxed(self) -> LDP:
        """The guarantee for any two values, at any distance."""
        return LDP(self.total)

    def between_any_values(self) -> LDP:
        return self.relaxed()

    @classmethod
    def at(cls, epsilon: float, distance: float, diameter: float) -> Self:
        """The guarantee of ``epsilon`` nats between two values that are ``distance`` apart.

        Its epsilon per unit of distance is epsilon / distance, rounded up.

        Args:
            epsilon: nats between two values at ``distance``.
            distance: the distance of these two values.
            diameter: the largest distance between two values, in the same unit.

        >>> MetricLDP.at(1.0, 0.25, 3.0).epsilon, MetricLDP.at(1.0, 0.25, 3.0).total
        (4.0, 12.0)
        """
        per_unit = epsilon / distance
        if not math.isinf(per_unit) and Fraction(per_unit) * Fraction(distance) < Fraction(epsilon):
            per_unit = math.nextafter(per_unit, math.inf)
        return cls(per_unit, diameter)

    def with_epsilon(self, epsilon: float, distance: float | None = None) -> MetricLDP:
        assert distance is not None
        return MetricLDP.at(epsilon, distance, self.diameter)

    def examine(self, table: np.ndarray, domain: Domain) -> Examination:
        if domain.points is None:
            rule = "cannot be metric privacy, which needs values that are numbers or places"
            remedy = "Claim LDP(epsilon), which fits all values"
            raise ArgumentError("claim", rule, type(domain).__name__, remedy)
        worst = worst_slope(table, euclidean_distances(domain.points))
        if not slope_exceeds(worst.epsilon, self.epsilon):
            return Examination(worst.epsilon, None)
        likely, unlikely = domain.labels[worst.likely], domain.labels[worst.unlikely]
        return Examination(
            worst.epsilon,
            f"report {worst.report} tells {likely!r} from {unlikely!r} "
            f"at {worst.epsilon:.6g} nats per unit of distance",
        )


@dataclass(frozen=True)
class ApproximateLDP(Guarantee):
    """Approximate local differential privacy: (epsilon, delta)-LDP.

        Pr(y in Y | x) <= exp(epsilon) Pr(y in Y | x') + delta

    This holds for every set Y of reports and all values x, x'. Epsilon and delta only have a
    meaning together.

    Args:
        epsilon: nats.
        delta: in [0, 1].

    Raises:
        ArgumentTypeError, BudgetError: an epsilon or a delta that is not valid.

    >>> print(ApproximateLDP(1.0, 1e-6))
    (1, 1e-06)-LDP
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        LDP(self.epsilon)
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float):
            raise ArgumentTypeError("delta", "must be a number", kind(self.delta))
        if not 0 <= self.delta <= 1:
            raise BudgetError("delta", "must be at least 0 and at most 1", repr(self.delta))

    def __str__(self) -> str:
        return f"({self.epsilon:.10g}, {self.delta:.6g})-LDP"

    def examine(self, table: np.ndarray, domain: Domain) -> Examination:
        if self.delta == 0:  # exactly: a divergence would be rounded up
            return LDP(self.epsilon).examine(table, domain)
        delta = hockey_stick(table, self.epsilon)
        if delta <= self.delta:
            return Examination(self.epsilon, None, delta)
        return Examination(
            self.epsilon, f"delta is {delta:.6g} at epsilon {self.epsilon:.6g}", delta
        )


def _examine_odds(
    epsilon: float,
    table: np.ndarray,
    domain: Domain,
    reports: np.ndarray | None = None,
    likely: np.ndarray | None = None,
) -> Examination:
    """Compare the worst ratio of some reports (m,) and of some likely values (K,) with epsilon."""
    rows = np.arange(len(table)) if reports is None else np.flatnonzero(reports)
    worst = worst_pair(table[rows], likely)
    least = epsilon_of(worst.ratio)
    if least <= epsilon:
        return Examination(least, None)
    names = _names(domain)
    odds = "possible" if worst.ratio == INFINITE else f"{float(worst.ratio):.6g} times as likely"
    report, first, second = rows[worst.report], names[worst.likely], names[worst.unlikely]
    against = f"but not from {second}" if worst.ratio == INFINITE else f"as from {second}"
    return Examination(least, f"report {report} is {odds} from {first} {against}")


def _names(domain: Domain) -> list[str]:
    return [repr(label) for label in domain.labels]


# -----------------------------------------------------------------------------------------------
# The guarantee of several reports together, of one value or of several attributes.


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
    diameters = {guarantee.diameter for guarantee in parts}
    diameter = diameters.pop()
    if diameter is not None and not diameters:
        return MetricLDP(add_up(guarantee.epsilon for guarantee in parts), diameter)
    return _of_any_values([guarantee.between_any_values() for guarantee in parts])


def _of_any_values(parts: list[Guarantee]) -> Guarantee:
    """The guarantee of several reports whose guarantees depend on no distance."""
    total = add_up(guarantee.epsilon for guarantee in parts)
    limited = [guarantee for guarantee in parts if guarantee.sensitive is not None]
    deltas = [guarantee.delta for guarantee in parts if guarantee.delta is not None]
    if deltas and limited:
        rule = "cannot be combined, because one has a delta and another protects only some values"
        remedy = "Combine each kind of guarantee separately"
        raise MismatchError("guarantees", rule, None, remedy)
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
    parts = {name: guarantee.between_any_values() for name, guarantee in guarantees.items()}
    pairs = _sensitive_pairs(parts)
    if not pairs:
        return compose(parts.values())
    return OSLDP(add_up(guarantee.epsilon for guarantee in parts.values()), pairs)


def one_of(guarantees: Mapping[str, Guarantee]) -> Guarantee:
    """The guarantee of one report about one of several blocks, drawn without regard to answers.

    The largest epsilon, and the largest delta, hold for any two people, who may differ in every
    answer. Where blocks protect their sensitive values alone, the result is one-sided as that of
    :func:`side_by_side`.

    >>> one_of({"smokes": LDP(1.0), "drinks": LDP(2.0)})
    LDP(epsilon=2.0)
    """
    if len(guarantees) == 1:
        return next(iter(guarantees.values()))
    parts = {name: guarantee.between_any_values() for name, guarantee in guarantees.items()}
    most = max(guarantee.epsilon for guarantee in parts.values())
    if pairs := _sensitive_pairs(parts):
        return OSLDP(most, pairs)
    deltas = [guarantee.delta for guarantee in parts.values() if guarantee.delta is not None]
    return ApproximateLDP(most, max(deltas)) if deltas else LDP(most)


def _sensitive_pairs(parts: Mapping[str, Guarantee]) -> tuple[tuple[str, Any], ...]:
    """The protected values as (attribute, value), where some guarantees protect some alone."""
    pairs = tuple(
        (name, value) for name, guarantee in parts.items() for value in guarantee.sensitive or ()
    )
    if pairs and any(guarantee.delta is not None for guarantee in parts.values()):
        rule = (
            "does not exist for all questions together, because one question has a delta and "
            "another protects only some values"
        )
        remedy = "Look at the guarantee of each question by itself"
        raise MismatchError("guarantee", rule, None, remedy)
    return pairs


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
        raise EmptyError(
            "guarantees", "must not be empty", None, "Pass at least one, such as LDP(1.0)"
        )
    for guarantee in parts:
        if not isinstance(guarantee, Guarantee):
            rule = "must all be LDP, ULDP, OSLDP, MetricLDP or ApproximateLDP"
            raise ArgumentTypeError("guarantees", rule, kind(guarantee))
    return parts


def _limited(total: float, limited: list[Guarantee]) -> ULDP | OSLDP:
    """The guarantee at ``total`` of several reports, some of which protect only some values."""
    sensitive = limited[0].sensitive or ()
    for others in (guarantee.sensitive or () for guarantee in limited):
        if sorted(map(repr, others)) != sorted(map(repr, sensitive)):
            rule = "can be combined only if they protect the same sensitive values"
            remedy = "Protect the same values in each question"
            raise MismatchError("guarantees", rule, f"{show(sensitive)} and {show(others)}", remedy)
    if any(guarantee.is_one_sided for guarantee in limited):
        return OSLDP(total, sensitive)
    return ULDP(total, sensitive)
