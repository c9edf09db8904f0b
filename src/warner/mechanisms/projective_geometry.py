"""Projective geometry response: a point of a finite plane or space, preferably orthogonal."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.checks import integer, show
from warner._core.errors import ArgumentError, message
from warner._core.exact import ONE, check_representable, divide, down, exp
from warner._core.projective_space import (
    ProjectiveSpace,
    count_points,
    is_prime,
    next_prime,
    previous_prime,
)
from warner._core.sampling import Source
from warner.channels import ProjectiveChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.privacy.report_laws import TwoLevel
from warner.reports.schema import IntegerColumns

_LARGEST_TABLE = 2**25  # counts of a tally, the number of different reports


class ProjectiveGeometry(Mechanism):
    """Projective geometry response: a point of PG(t-1, q), preferably orthogonal to the value's.

        Pr(y | x) = e p0 where the points y and x are orthogonal, else p0
        p0 = 1 / (s e + m - s),   e = exp(epsilon)
        m = (q^t - 1) / (q - 1),   s = (q^(t-1) - 1) / (q - 1),   c = (q^(t-2) - 1) / (q - 1)

    Reports are the m points, and values are the first K of them. t >= 2 is the least number with
    m >= K. A report supports a value with probability p if it is the true one, else with q':

        p = s e p0,   q' = (s + c (e - 1)) p0

    because any two values share exactly c reports. A report is one number of about log2(K) bits,
    up to log2(q) more.

    The squared error of large domains is (e + q - 1)^2 / (4 e (q - 1)) times that of subset
    selection, which is least at q = e + 1. As q is a prime, it can be 3.1 % larger: at q = 2 or 3
    if e = sqrt(2), and at q = 3 or 5 if e = sqrt(8). From 256 values and e^2 <= K the excess is
    below 3.5 %. Otherwise t is small, and the sizes of spaces leave gaps: the excess reaches 25 %
    from 5 values on, 33 % for 4 values, and 100 % for 2. Where the best prime makes more than 2^25
    reports, a worse one is taken; with a million values and e = 350 it costs 31 %.

    Args:
        domain: K values.
        epsilon: budget in nats.
        prime: q; None for the prime with the least squared error.

    Attributes:
        prime: q.
        dimension: t.

    Raises:
        ArgumentError: a number that is not a prime, or more than 2^25 different reports.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Feldman, Nelson, Nguyen and Talwar (2022).

    >>> from warner import Integers
    >>> mechanism = ProjectiveGeometry(Integers(0, 99), 1.5)
    >>> mechanism.prime, mechanism.dimension, mechanism.n_reports
    (5, 4, 156)
    """

    schema: IntegerColumns
    law: TwoLevel

    def __init__(self, domain: Domain, epsilon: float, prime: int | None = None) -> None:
        super().__init__(domain, epsilon)
        e = exp(self.requested)
        self._space = (
            _best_space(domain.size, float(e))
            if prime is None
            else _space_of(_checked_prime(prime), domain.size)
        )
        self.prime, self.dimension = self._space.prime, self._space.dimension
        points, supported = self._space.points, self._space.orthogonal
        if points > _LARGEST_TABLE:
            rule = f"makes {points} different reports, and a tally has at most {_LARGEST_TABLE}"
            remedy = "Leave it out, or use HadamardResponse"
            raise ArgumentError(message("prime", rule, str(self.prime), remedy))
        include = divide(supported * e, supported * e + points - supported)
        check_representable(
            self.requested, min(include, 1 - include), "a report that does not support the value"
        )
        self._include = down(include)
        self.schema = IntegerColumns(("report",), (points,))
        self.law = TwoLevel(
            Fraction(self._include, ONE * supported),
            Fraction(ONE - self._include, ONE * (points - supported)),
        )
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"prime": self.prime}

    def thresholds(self) -> dict[str, str]:
        return {"include": hex(self._include)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        include = source.below(self._include, len(index))
        return {"report": self._space.draw(index, include, source)}

    def channel(self) -> ProjectiveChannel:
        return ProjectiveChannel(
            self.domain.size, self._space, float(self.law.high), float(self.law.low)
        )

    def probabilities(self) -> np.ndarray:
        reports, values = np.arange(self._space.points), np.arange(self.domain.size)
        return self.law.table(self._space.are_orthogonal(reports[:, None], values[None, :]))


def squared_error(space: ProjectiveSpace, size: int, e: float) -> float:
    """sum_x V_x + sum_x theta_x^2 of one report: the squared error that is to be least.

        K q' (1 - q') / (p - q')^2 + (1 - 2 q') / (p - q')

    Args:
        space: the points.
        size: K.
        e: exp(epsilon).

    >>> round(squared_error(ProjectiveSpace(2, 2), 2, 3.0), 3)
    3.5
    """
    supported, common = space.orthogonal, space.common
    none = 1 / (supported * e + space.points - supported)
    other = (supported + common * (e - 1)) * none
    gap = (supported - common) * (e - 1) * none
    return size * other * (1 - other) / gap**2 + (1 - 2 * other) / gap


def _space_of(prime: int, size: int) -> ProjectiveSpace:
    """The smallest space over a prime with at least K points."""
    dimension = 2
    while count_points(prime, dimension) < size:
        dimension += 1
    return ProjectiveSpace(prime, dimension)


def _best_space(size: int, e: float) -> ProjectiveSpace:
    """The space with the least squared error, of those whose reports a tally can count."""
    spaces = [_space_of(prime, size) for prime in set(_primes(size, e))]
    affordable = [space for space in spaces if space.points <= _LARGEST_TABLE]
    if not affordable:
        rule = f"must be coverable by {_LARGEST_TABLE} different reports"
        remedy = "Use HadamardResponse for a domain of this size, or a coarser domain"
        raise ArgumentError(message("domain", rule, f"{size} values", remedy))
    return min(affordable, key=lambda space: (squared_error(space, size, e), space.points))


def _primes(size: int, e: float) -> Iterator[int]:
    """Primes among which the best one is: for each t, those beside the least error.

    The error of one t falls in q and then rises, so bisection finds its minimum.
    """
    dimension, above = 2, 2 * size + 2
    while above > 2:
        least = _least_order(size, dimension, above)
        low, high = least, above
        while low < high:
            middle = (low + high) // 2
            here, next_ = (ProjectiveSpace(q, dimension) for q in (middle, middle + 1))
            if squared_error(here, size, e) <= squared_error(next_, size, e):
                high = middle
            else:
                low = middle + 1
        yield max(previous_prime(low), next_prime(least))
        yield next_prime(low)
        dimension, above = dimension + 1, least


def _least_order(size: int, dimension: int, most: int) -> int:
    """The least q >= 2 with at least K points in PG(t-1, q), by bisection below ``most``."""
    low, high = 2, most
    while low < high:
        middle = (low + high) // 2
        if count_points(middle, dimension) >= size:
            high = middle
        else:
            low = middle + 1
    return low


def _checked_prime(prime: int) -> int:
    number = integer("prime", prime, 2, _LARGEST_TABLE)
    if not is_prime(number):
        remedy = f"Pass {next_prime(number)}, for example"
        raise ArgumentError(message("prime", "must be a prime number", show(number), remedy))
    return number
