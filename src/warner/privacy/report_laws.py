"""Exact distributions of reports, as ratios of integers: epsilon is computed from them.

:meth:`Law.ratio` is the largest factor by which a report can be likelier under one value than under
another. It is exact, and epsilon is its logarithm. A law that only one mechanism uses is in the
module of that mechanism.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from warner._core.exact import ONE, log_ratio
from warner.privacy.likelihood_ratios import (
    INFINITE,
    ambiguous_report,
    epsilon_of,
    image,
    worst_ratio,
)


class Law(ABC):
    """The exact distribution of a report given the value. Abstract.

    Attributes:
        audit_method: how an audit examines the law, in words.
    """

    @property
    @abstractmethod
    def audit_method(self) -> str: ...

    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio Pr(y | x) / Pr(y | x') over reports y and values x, x', or INFINITE."""

    def worst_epsilon(self) -> float:
        """The epsilon in nats: the logarithm of :meth:`ratio`, rounded up."""
        return epsilon_of(self.ratio())


class UnsupportedLikelihood(ABC):
    """A law of bits that also states the likelihood of a value that a report does not support."""

    @abstractmethod
    def log_unsupported(self, ones: np.ndarray, size: int) -> np.ndarray:
        """The log-likelihood of a value whose bit is 0 in the report.

        Shapes: ones (m,), K = size -> (m,).
        """


@dataclass(frozen=True)
class TwoLevel(Law, UnsupportedLikelihood):
    """A report has probability ``high`` under the values it supports, ``low`` under the others.

    Attributes:
        high, low: the probabilities divided by a common factor.
        log_scale: the natural logarithm of this factor; 0 if ``high`` and ``low`` are
            probabilities.

    >>> TwoLevel(Fraction(3, 4), Fraction(1, 4)).ratio()
    Fraction(3, 1)
    """

    high: Fraction
    low: Fraction
    log_scale: float = 0.0

    @property
    def audit_method(self) -> str:
        return "exact odds of the law"

    def table(self, supported: np.ndarray) -> np.ndarray:
        """The exact probabilities of reports under all values.

        Shapes: supported (m, K) -> (m, K).
        """
        out = np.full(supported.shape, self.low, dtype=object)
        out[supported] = self.high
        return out

    def log_unsupported(self, ones: np.ndarray, size: int) -> np.ndarray:
        log_low = math.log(self.low.numerator) - math.log(self.low.denominator)
        return np.full(len(ones), log_low + self.log_scale)

    def ratio(self) -> Fraction:
        if self.low == 0:
            return INFINITE
        return max(self.high / self.low, self.low / self.high)


@dataclass(frozen=True)
class OneHotBits(Law, UnsupportedLikelihood):
    """K independent bits, one for each value, where the bit of the true value is 1 more often.

        Pr(bit j is 1 | value x) = keep / 2**64 if j = x, else raised / 2**64

    Attributes:
        keep: 2**64 times the probability that the value's bit is 1.
        raised: 2**64 times the probability that any other bit is 1.
    """

    keep: int
    raised: int

    @property
    def audit_method(self) -> str:
        return "bit by bit, exactly"

    def log_unsupported(self, ones: np.ndarray, size: int) -> np.ndarray:
        raised, clear, lost = (
            math.log(v / ONE) for v in (self.raised, ONE - self.raised, ONE - self.keep)
        )
        return np.asarray(ones * raised + (size - 1 - ones) * clear + lost, dtype=np.float64)

    def ratio(self) -> Fraction:
        """The largest likelihood ratio, which multiplies the worst outcomes of two bits.

        The laws of two values x and x' differ only in the bits x and x'.
        """
        true_bit = (ONE - self.keep, self.keep)
        other_bit = (ONE - self.raised, self.raised)
        total = Fraction(1)
        for a, b in ((true_bit, other_bit), (other_bit, true_bit)):
            if any(y == 0 < x for x, y in zip(a, b, strict=True)):
                return INFINITE
            total *= max(Fraction(x, y) for x, y in zip(a, b, strict=True) if y)
        return total


@dataclass(frozen=True)
class GuardedBits(Law):
    """Bits of which only the bits of sensitive values are noisy under other values. [P2 def 5]

    The bits of sensitive values follow :class:`OneHotBits`. The bit of a non-sensitive value can
    only be 1 under that value. Even then it is 0 with probability dropped / 2**64, and the report
    is protected.

    Attributes:
        keep: 2**64 times the probability of 1 in a sensitive value's bit, under that value.
        raised: 2**64 times the probability of 1 in a sensitive value's bit, under another value.
        dropped: 2**64 times the probability of 0 in a non-sensitive value's bit, under that value.
        sensitive: the number of sensitive values.
        others: the number of other values.
    """

    keep: int
    raised: int
    dropped: int
    sensitive: int
    others: int

    @property
    def audit_method(self) -> str:
        return "bit by bit, exactly"

    def ratio(self) -> Fraction:
        """The largest likelihood ratio of protected reports.

        It compares two sensitive values, and a sensitive value with another value.
        """
        total = OneHotBits(self.keep, self.raised).ratio() if self.sensitive > 1 else Fraction(1)
        if not self.others or total == INFINITE:
            return total
        # A sensitive value differs from another one in its bit and in the other's dropped bit.
        for own, other in ((self.keep, self.raised), (ONE - self.keep, ONE - self.raised)):
            high, low = Fraction(own, ONE), Fraction(other, ONE) * Fraction(self.dropped, ONE)
            if (high == 0) != (low == 0):
                return INFINITE
            if high:
                total = max(total, high / low, low / high)
        return total


@dataclass(frozen=True, eq=False)
class Table(Law):
    """A table of exact probabilities: Pr(report y | value x) = numerators[y, x] / 2**64.

    With ``sensitive`` values, :meth:`ratio` is the ratio of ULDP if every unprotected report names
    one value. Otherwise it is the ratio of OSLDP [P2 defs 2, 6].

    Attributes:
        numerators: (m, K) object array of Python integers.
        sensitive: (K,) booleans, the values that are protected; None for all.
    """

    numerators: np.ndarray
    sensitive: np.ndarray | None = None

    @property
    def audit_method(self) -> str:
        return "exact odds of the law"

    @cached_property
    def protected(self) -> np.ndarray:
        """The reports that a sensitive value can make, (m,) booleans."""
        if self.sensitive is None:
            return np.ones(len(self.numerators), dtype=bool)
        return image(self.numerators, self.sensitive)

    @cached_property
    def unprotected_are_unique(self) -> bool:
        """Whether every unprotected report comes from one value alone, as ULDP requires."""
        return (
            self.sensitive is None
            or ambiguous_report(self.numerators, self.sensitive, self.protected) is None
        )

    def ratio(self) -> Fraction:
        if self.unprotected_are_unique:
            return worst_ratio(self.numerators[self.protected])
        return worst_ratio(self.numerators, self.sensitive)


@dataclass(frozen=True)
class Steps(Law):
    """Integers plus two-sided geometric noise.

        Pr(noise = d) is proportional to (decay / 2**64)**|d|

    Attributes:
        decay: 2**64 times the factor by which the probability falls with each step.
        most: the number of steps between the two most distant values.
    """

    decay: int
    most: int

    @property
    def audit_method(self) -> str:
        return "exact odds of the law"

    def ratio(self) -> Fraction:
        return Fraction(ONE, self.decay) ** self.most

    def epsilon(self, steps: int | Fraction) -> float:
        """Nats between two values that are ``steps`` apart."""
        return log_ratio(ONE, self.decay, steps)

    def worst_epsilon(self) -> float:
        return self.epsilon(self.most)  # without the power, whose integers may be long


@dataclass(frozen=True, eq=False)
class Independent(Law):
    """Several independent reports, whose likelihood ratios multiply.

    They are of one value, or each is of another attribute.

    >>> Independent((TwoLevel(Fraction(3, 4), Fraction(1, 4)),) * 2).ratio()
    Fraction(9, 1)
    """

    parts: tuple[Law, ...]

    @property
    def audit_method(self) -> str:
        return "part by part"

    def ratio(self) -> Fraction:
        ratios = [part.ratio() for part in self.parts]
        return INFINITE if INFINITE in ratios else math.prod(ratios, start=Fraction(1))
