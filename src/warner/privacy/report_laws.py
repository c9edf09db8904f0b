"""Likelihood ratios of reports under two values, from a table of probabilities.

A table A has shape (m, K): ``A[y, x] = Pr(report y | value x)``, as Fractions or as integers over
one denominator. The functions here depend on the table alone and not on a mechanism.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from warner._core.errors import ArgumentTypeError
from warner._core.exact import ONE, log_ratio, natural

# Stands for a ratio with denominator 0: a report that one value can make and another cannot.
INFINITE = Fraction(-1)
# Relative error of a difference of two logarithms: a few units in the last place.
ROUNDING = 1e-15
# Nats, relative to 1 + epsilon: slopes come from rounded logarithms and are rounded up.
SLOPE_TOLERANCE = 1e-12


class WorstRatio(NamedTuple):
    """The largest likelihood ratio of a table, and where it is attained."""

    ratio: Fraction  # A[report, likely] / A[report, unlikely], or INFINITE
    report: int  # the row number of the report
    likely: int  # the index of the value under which the report is likeliest
    unlikely: int  # the index of the value under which it is least likely


class WorstSlope(NamedTuple):
    """The largest log-likelihood ratio per unit of distance, and where it is attained."""

    epsilon: float  # nats per unit of distance, or infinity
    report: int  # the row number of the report
    likely: int  # the index of the value under which the report is likelier
    unlikely: int  # the index of the value under which it is less likely


def epsilon_of(ratio: Fraction) -> float:
    """The logarithm of a worst ratio, rounded up.

    >>> epsilon_of(Fraction(1)), epsilon_of(INFINITE)
    (0.0, inf)
    """
    return math.inf if ratio == INFINITE else log_ratio(ratio, 1)


def worst_ratio(table: np.ndarray, likely: np.ndarray | None = None) -> Fraction:
    """The largest likelihood ratio of a report: max over y, x, x' of A[y, x] / A[y, x'].

    Shapes: table (m, K), likely (K,).

    >>> worst_ratio(np.array([[Fraction(3, 4), Fraction(1, 4)]], dtype=object))
    Fraction(3, 1)
    """
    return worst_pair(table, likely).ratio


def worst_pair(table: np.ndarray, likely: np.ndarray | None = None) -> WorstRatio:
    """The largest ratio within a row, with its row and its two values.

    Shapes: table (m, K), likely (K,).
    """
    worst, index = Fraction(1), 0
    chosen = np.arange(table.shape[1]) if likely is None else np.flatnonzero(likely)
    for y, (high, low) in enumerate(
        zip(table[:, chosen].max(axis=1), table.min(axis=1), strict=True)
    ):
        if high and not low:
            worst, index = INFINITE, y
            break
        if high * worst.denominator > low * worst.numerator:
            worst, index = Fraction(high) / Fraction(low), y
    if not len(table):
        return WorstRatio(worst, 0, 0, 0)
    top, bottom = int(chosen[np.argmax(table[index, chosen])]), int(np.argmin(table[index]))
    return WorstRatio(worst, index, top, bottom)


def worst_slope(table: np.ndarray, distances: np.ndarray) -> WorstSlope:
    """The smallest epsilon per unit of distance that a table keeps.

        A[y, x] <= exp(epsilon d(x, x')) A[y, x']   for all reports y and values x, x'

    Logarithms are computed in double precision. The result is raised by a bound of their error, and
    then to the next float.

    Shapes: table (m, K), distances (K, K).
    """
    possible = table != 0
    ruled_out = possible.any(axis=1) & ~possible.all(axis=1)
    if ruled_out.any():
        y = int(np.argmax(ruled_out))
        return WorstSlope(math.inf, y, int(np.argmax(table[y])), int(np.argmin(table[y])))
    rows = table[possible.all(axis=1)]
    # Few probabilities of a table differ.
    log_of = {share: natural(share) for share in set(rows.ravel().tolist())}
    logs = np.vectorize(log_of.__getitem__, otypes=[np.float64])(rows)
    return worst_slope_of_logs(logs, distances)


def worst_slope_of_logs(logs: np.ndarray, distances: np.ndarray) -> WorstSlope:
    """The same as :func:`worst_slope`, from the logarithms of probabilities.

    Shapes: logs (m, K), distances (K, K).
    """
    distances = np.where(distances > 0, distances, np.inf)
    worst, where = -math.inf, (0, 0, 0)
    for y, row in enumerate(logs):
        slopes = (row[:, None] - row[None, :] + ROUNDING * (1 + np.abs(row).max())) / distances
        if (top := float(slopes.max())) > worst:
            x, other = np.unravel_index(int(np.argmax(slopes)), slopes.shape)
            worst, where = top, (y, int(x), int(other))
    return WorstSlope(math.nextafter(worst, math.inf), *where)


def slope_exceeds(epsilon: float, bound: float) -> bool:
    """Whether a slope found by :func:`worst_slope` is above ``bound`` by more than rounding."""
    return epsilon > bound + SLOPE_TOLERANCE * (1 + bound)


def hockey_stick(table: np.ndarray, epsilon: float) -> float:
    """The least delta of a table at an epsilon, which is its hockey-stick divergence.

        max over values x, x' of sum_y max(0, A[y, x] - exp(epsilon) A[y, x'])

    Shapes: table (m, K).

    >>> round(hockey_stick(np.eye(2), 1.0), 12)
    1.0
    """
    # The nearest float of a probability is off by a part in 2^53 of it: so is their sum.
    rows = table.astype(np.float64)
    worst = max(
        float(np.maximum(rows[:, [x]] - math.exp(epsilon) * rows, 0.0).sum(axis=0).max())
        for x in range(rows.shape[1])
    )
    return min(1.0, worst * (1 + 1e-12) + 1e-15)


def euclidean_distances(points: np.ndarray) -> np.ndarray:
    """The Euclidean distances of points.

    Shapes: points (K, d) -> (K, K).

    >>> euclidean_distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    out: np.ndarray = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    return out


def common_denominator(table: np.ndarray) -> tuple[np.ndarray, int]:
    """Exact probabilities as integers over one denominator, which add and compare faster.

    >>> common_denominator(np.array([Fraction(1, 2), Fraction(1, 3)], dtype=object))
    (array([3, 2], dtype=object), 6)
    """
    exact = [v.as_integer_ratio() for v in table.ravel().tolist()]
    denominators = {denominator for _, denominator in exact}
    total = math.lcm(*denominators)
    times = {denominator: total // denominator for denominator in denominators}
    out = np.empty(len(exact), dtype=object)
    out[:] = [numerator * times[denominator] for numerator, denominator in exact]
    return out.reshape(table.shape), total


def floats(masses: np.ndarray, total: int) -> np.ndarray:
    """Integer masses over ``total`` as probabilities in double precision."""
    # As objects, because a mass can have more digits than any number of NumPy.
    return np.asarray(masses.astype(object) / total, dtype=np.float64)


def fractions(masses: np.ndarray, total: int) -> np.ndarray:
    """Integer masses over ``total`` as exact probabilities: an object array of Fractions."""
    # Few masses of a table differ, and each fraction is reduced by a common divisor.
    reduced = {mass: Fraction(mass, total) for mass in set(masses.ravel().tolist())}
    out: np.ndarray = np.vectorize(reduced.__getitem__, otypes=[object])(masses)
    return out


def image(table: np.ndarray, sensitive: np.ndarray) -> np.ndarray:
    """Which reports are possible under some sensitive value.

    Shapes: table (m, K), sensitive (K,) -> (m,).
    """
    return np.asarray((table[:, sensitive] > 0).any(axis=1), dtype=bool)


def ambiguous_report(
    table: np.ndarray,
    sensitive: np.ndarray,
    protected: np.ndarray,
    names: list[str] | None = None,
) -> str | None:
    """The first unprotected report that does not reveal one non-sensitive value [P2 eq 4].

    Shapes: table (m, K), sensitive (K,), protected (m,), names (K,).
    """
    names = [f"number {x}" for x in range(table.shape[1])] if names is None else names
    for y in np.flatnonzero(~protected):
        makers = np.flatnonzero(table[y] > 0)
        if len(makers) > 1:
            first, second = names[makers[0]], names[makers[1]]
            return f"unprotected report {y} comes from {first} and from {second}"
        if len(makers) and sensitive[makers[0]]:
            return f"unprotected report {y} comes from the sensitive value {names[makers[0]]}"
    return None


# -----------------------------------------------------------------------------------------------
# Exact distributions of reports. A law that only one mechanism uses is in the module of that
# mechanism.


class ReportDistribution(ABC):
    """The exact distribution of a report given the value. Abstract."""

    @property
    def audit_method(self) -> str:
        """How an audit examines the law, in words."""
        return "computed exactly from the probability of each report"

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
class TwoProbabilities(ReportDistribution, UnsupportedLikelihood):
    """A report has probability ``high`` under the values it supports, ``low`` under the others.

    >>> TwoProbabilities(Fraction(3, 4), Fraction(1, 4)).ratio()
    Fraction(3, 1)
    """

    high: Fraction  # high, low: the probabilities divided by a common factor
    low: Fraction
    # the natural logarithm of this factor; 0 if ``high`` and ``low`` are probabilities
    log_scale: float = 0.0

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
class OneHotBits(ReportDistribution, UnsupportedLikelihood):
    """K independent bits, one for each value, where the bit of the true value is 1 more often.

    Pr(bit j is 1 | value x) = keep / whole if j = x, else raised / whole
    """

    keep: int  # ``whole`` times the probability that the value's bit is 1
    raised: int  # ``whole`` times the probability that any other bit is 1
    whole: int = ONE

    @property
    def audit_method(self) -> str:
        return "computed exactly, bit by bit"

    def log_unsupported(self, ones: np.ndarray, size: int) -> np.ndarray:
        raised, clear, lost = (
            math.log(v / self.whole)
            for v in (self.raised, self.whole - self.raised, self.whole - self.keep)
        )
        return np.asarray(ones * raised + (size - 1 - ones) * clear + lost, dtype=np.float64)

    def ratio(self) -> Fraction:
        """The largest likelihood ratio, which multiplies the worst outcomes of two bits.

        The laws of two values x and x' differ only in the bits x and x'.
        """
        true_bit = (self.whole - self.keep, self.keep)
        other_bit = (self.whole - self.raised, self.raised)
        total = Fraction(1)
        for a, b in ((true_bit, other_bit), (other_bit, true_bit)):
            if any(y == 0 < x for x, y in zip(a, b, strict=True)):
                return INFINITE
            total *= max(Fraction(x, y) for x, y in zip(a, b, strict=True) if y)
        return total


@dataclass(frozen=True)
class GuardedBits(ReportDistribution):
    """Bits of which only the bits of sensitive values are noisy under other values. [P2 def 5]

    The bits of sensitive values follow :class:`OneHotBits`. The bit of a non-sensitive value can
    only be 1 under that value. Even then it is 0 with probability dropped / 2**64, and the report
    is protected.
    """

    keep: int  # 2**64 times the probability of 1 in a sensitive value's bit, under that value
    raised: int  # 2**64 times the probability of 1 in a sensitive value's bit, under another value
    # 2**64 times the probability of 0 in a non-sensitive value's bit, under that value
    dropped: int
    sensitive: int  # the number of sensitive values
    others: int  # the number of other values

    @property
    def audit_method(self) -> str:
        return "computed exactly, bit by bit"

    def ratio(self) -> Fraction:
        """The largest likelihood ratio of protected reports.

        It compares two sensitive values, and a sensitive value with another value.
        """
        total = OneHotBits(self.keep, self.raised).ratio() if self.sensitive > 1 else Fraction(1)
        if not self.others or total == INFINITE:
            return total
        # A sensitive value differs from another one in its bit and in the other's dropped bit.
        for keep, other in ((self.keep, self.raised), (ONE - self.keep, ONE - self.raised)):
            high, low = Fraction(keep, ONE), Fraction(other, ONE) * Fraction(self.dropped, ONE)
            if (high == 0) != (low == 0):
                return INFINITE
            if high:
                total = max(total, high / low, low / high)
        return total


@dataclass(frozen=True, eq=False)
class ExactTable(ReportDistribution):
    """A table of exact probabilities: Pr(report y | value x) = numerators[y, x] / total.

    With ``sensitive`` values, :meth:`ratio` is the ratio of ULDP if every unprotected report names
    one value. Otherwise it is the ratio of OSLDP [P2 defs 2, 6].
    """

    numerators: np.ndarray  # (m, K) object array of Python integers, or of Fractions
    # (K,) booleans, the values that are protected; None for all
    sensitive: np.ndarray | None = None
    total: int = ONE  # the sum of every column

    def __post_init__(self) -> None:
        table = np.asarray(self.numerators, dtype=object)  # NumPy's integers overflow in products
        others = {type(each) for each in table.ravel().tolist()} - {int, Fraction}
        if others:
            rule = "must be whole numbers (int) or Fractions, because epsilon is computed exactly"
            got = " and ".join(sorted(each.__name__ for each in others))
            remedy = "Pass Fractions, and total=1"
            raise ArgumentTypeError("numerators of ExactTable", rule, got, remedy)
        object.__setattr__(self, "numerators", table)

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
class Steps(ReportDistribution):
    """Integers plus two-sided geometric noise.

    Pr(noise = d) is proportional to (decay / 2**64)**|d|
    """

    decay: int  # 2**64 times the factor by which the probability falls with each step
    most: int  # the number of steps between the two most distant values

    def ratio(self) -> Fraction:
        return Fraction(ONE, self.decay) ** self.most

    def epsilon(self, steps: int | Fraction) -> float:
        """Nats between two values that are ``steps`` apart."""
        return log_ratio(ONE, self.decay, steps)

    def worst_epsilon(self) -> float:
        return self.epsilon(self.most)  # without the power, whose integers may be long


@dataclass(frozen=True, eq=False)
class OneOfReports(ReportDistribution):
    """One of several reports, which a draw that depends on no value chooses and the report names.

    >>> coin = TwoProbabilities(Fraction(3, 4), Fraction(1, 4))
    >>> OneOfReports((coin, TwoProbabilities(Fraction(2, 3), Fraction(1, 3)))).ratio()
    Fraction(3, 1)
    """

    parts: tuple[ReportDistribution, ...]

    @property
    def audit_method(self) -> str:
        return "computed block by block"

    def ratio(self) -> Fraction:
        ratios = [each.ratio() for each in self.parts]
        return INFINITE if INFINITE in ratios else max(ratios)


@dataclass(frozen=True, eq=False)
class IndependentReports(ReportDistribution):
    """Several independent reports, whose likelihood ratios multiply.

    They are of one value, or each is of another attribute.

    >>> IndependentReports((TwoProbabilities(Fraction(3, 4), Fraction(1, 4)),) * 2).ratio()
    Fraction(9, 1)
    """

    parts: tuple[ReportDistribution, ...]

    @property
    def audit_method(self) -> str:
        return "computed part by part"

    def ratio(self) -> Fraction:
        ratios = [each.ratio() for each in self.parts]
        return INFINITE if INFINITE in ratios else math.prod(ratios, start=Fraction(1))
