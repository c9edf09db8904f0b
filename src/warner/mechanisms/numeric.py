"""Mechanisms of numbers whose reports are likelier in a window around the number (METHODS 2).

The device takes the number itself. Only estimation uses the bins of an Interval."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.exact import ONE, check_representable, divide, exp, rational
from warner._core.sampling import Source
from warner.channels import (
    BandChannel,
    NonresponseChannel,
    rounded,
    rounded_at,
    spread_over,
    windows,
    windows_at,
)
from warner.domains import Domain, Optional
from warner.mechanisms.base import Dummies, Mechanism
from warner.mechanisms.device_program import number, program
from warner.mechanisms.direct import two_widths
from warner.mechanisms.headers import from_header
from warner.privacy.report_laws import ReportDistribution, TwoProbabilities
from warner.reports.schema import IntegerColumns

_MOST_VALUES = 2**21
_BLOCK = 2**14  # people at a time, whose arrays fit the cache


class Numeric(Mechanism):
    """Base class of mechanisms of numbers, which round a number to a grid at random.

    The grid points are the integers 0..steps. A number at position v in [0, 1] of the domain
    becomes v * steps, and is rounded to one of the two nearest integers. The mean of the rounded
    number is v * steps.
    """

    excludes_nonresponse = True

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        if not domain.is_numeric:
            domain.position([])  # raises the error that names the reason
        if domain.size > _MOST_VALUES:
            # The device could report them, and nobody could estimate from the reports.
            rule = f"must have at most {_MOST_VALUES:,} values for a mechanism of numbers"
            remedy = "Use an Interval with fewer bins, or coarser integers"
            raise ArgumentError("domain", rule, f"{domain.size:,}", remedy)
        self.represents_interval = domain.is_binned

    def encode(self, values: Any) -> np.ndarray:
        return self.domain.position(values)

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.randomize_encoded(self.encode(self.domain.decode(index)), source)

    def _rounded(self, position: np.ndarray, steps: int, source: Source) -> np.ndarray:
        """Grid points (n,) in 0..steps for positions (n,) in [0, 1]."""
        words = source.words(len(position), np.uint64)
        rounded = np.empty(len(position), dtype=np.int64 if steps >= 2**31 else np.int32)
        for block in (slice(i, i + _BLOCK) for i in range(0, len(position), _BLOCK)):
            s = position[block] * steps
            below = np.floor(s)
            point = below.astype(rounded.dtype)
            s -= below
            # 2^64 times the fraction, modulo 2^64: signed integers are quicker made of floats.
            s -= np.floor(2 * s, out=below)
            s *= 2.0**64
            point += words[block] < s.astype(np.int64).view(np.uint64)
            rounded[block] = point
        return rounded

    def _spread(self, steps: int) -> Any:
        """The matrix S (steps + 1, K): Pr(grid point | value)."""
        size = self.domain.size
        places = (
            rounded(steps, size)
            if self.domain.is_binned
            else rounded_at(steps, np.arange(size) / (size - 1))
        )
        return spread_over(steps, *places)

    def _points_of(self, x: int, steps: int) -> dict[int, Fraction]:
        """The exact distribution of the grid point of value x; a bin has evenly spread numbers."""
        size = self.domain.size
        if not self.domain.is_binned:
            s = Fraction(x, size - 1) * steps
            nearest = (k for k in (floor(s), floor(s) + 1) if k <= steps)
            return {k: 1 - abs(s - k) for k in nearest if abs(s - k) < 1}
        low, high = Fraction(x * steps, size), Fraction((x + 1) * steps, size)
        # The numbers of the bin are rounded to grid points less than 1 away.
        weights = {
            k: (_triangle_cdf(high - k) - _triangle_cdf(low - k)) / (high - low)
            for k in range(floor(low), min(ceil(high), steps) + 1)
        }
        return {k: weight for k, weight in weights.items() if weight}


class WindowMechanism(Numeric):
    """Base class of mechanisms that report one of M cells, likelier in a window of w cells.

        Pr(a cell inside the window) = e / (w e + M - w)
        Pr(a cell outside the window) = 1 / (w e + M - w),   e = exp(epsilon)

    The window of a number at position v in [0, 1] starts at one of the two integers next to v (M -
    w), drawn so that the mean start is v (M - w). So the mean report is exactly an affine function
    of the number. A subclass states the width w.
    """

    law: TwoProbabilities
    schema: IntegerColumns

    def __init__(self, domain: Domain, epsilon: float, cells: int = 1024) -> None:
        super().__init__(domain, epsilon)
        self.cells = integer("cells", cells, 2, 2**20)
        e = exp(self.requested)
        self.width = min(max(1, round(self._share(e) * self.cells)), self.cells - 1)
        outside = divide(1, self.width * e + self.cells - self.width)
        check_representable(self.requested, outside)
        # As in randomised response: own / other <= e, and what lies beyond all cells is drawn
        # again.
        self._true_width, self._other_width = two_widths(outside, e)
        self._total = self.width * self._true_width + (self.cells - self.width) * self._other_width
        self.schema = IntegerColumns(("report",), (self.cells,))
        self.law = TwoProbabilities(
            Fraction(self._true_width, self._total), Fraction(self._other_width, self._total)
        )
        self.check_realisable()

    @abstractmethod
    def _share(self, e: Decimal) -> Decimal:
        """The width w / M of the continuous mechanism at e = exp(epsilon)."""

    def parameters(self) -> dict[str, Any]:
        return {"cells": self.cells}

    def thresholds(self) -> dict[str, str]:
        return {
            "own": hex(self._true_width),
            "other": hex(self._other_width),
            "width": hex(self.width),
        }

    def dummies(self) -> Dummies:
        # Reports that are uniform on the M cells: D[y] = 1 / M.
        share = Fraction(1, self.cells)
        return Dummies(
            self.law.high / share,
            share / self.law.low,
            lambda n, source: {"report": source.uniform(self.cells, n)},
            lambda: np.full(self.cells, 1 / self.cells),
            lambda: np.full(self.cells, share, dtype=object),
        )

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n = len(index)
        start = self._rounded(index, self.cells - self.width, source)
        u = source.words(n, np.uint64)
        while (
            (redo := np.flatnonzero(u >= np.uint64(self._total))).size
            if self._total < ONE
            else False
        ):
            u[redo] = source.words(redo.size, np.uint64)
        edge = np.uint64(self.width * self._true_width)
        report = np.empty(n, dtype=np.int32)
        for block in (slice(i, i + _BLOCK) for i in range(0, n, _BLOCK)):
            first, word = start[block], u[block]
            # Both cells are computed for everyone, which is quicker than to pick those inside.
            here = (word // np.uint64(self._true_width)).astype(np.int32)
            here += first
            is_inside = word < edge
            word -= edge
            word //= np.uint64(self._other_width)
            other = word.astype(np.int32)
            other += (other >= first) * np.int32(self.width)
            other ^= (other ^ here) * is_inside
            report[block] = other
        return {"report": report}

    def _program(self) -> dict[str, Any]:
        widths = {"own": number(self._true_width), "other": number(self._other_width)}
        return program("window", {"cells": self.cells, "width": self.width, **widths}, "position")

    def channel(self) -> BandChannel:
        low, gain = float(self.law.low), float(self.law.high - self.law.low)
        if not self.domain.is_binned:
            positions = np.arange(self.domain.size) / (self.domain.size - 1)
            return windows_at(self.cells, self.width, positions, low, gain)
        return windows(self.cells, self.width, self.domain.size, low, gain)

    def probabilities(self) -> np.ndarray:
        table = np.full((self.cells, self.domain.size), self.law.low, dtype=object)
        gain = self.law.high - self.law.low
        for x in range(self.domain.size):
            # Only where a window begins or ends is a cell likelier or rarer than the one before.
            changes: dict[int, Fraction] = defaultdict(Fraction)
            for k, weight in self._points_of(x, self.cells - self.width).items():
                changes[k] += weight * gain
                changes[k + self.width] -= weight * gain
            level = self.law.low
            for start in sorted(changes):
                level += changes[start]
                table[start:, x] = level
        return table


def _triangle_cdf(s: Fraction) -> Fraction:
    """The integral of max(0, 1 - |t|) for t up to s."""
    c = min(max(s, Fraction(-1)), Fraction(1))
    return (1 + c) ** 2 / 2 if c <= 0 else 1 - (1 - c) ** 2 / 2


class SquareWave(WindowMechanism):
    """Square wave (SW): for estimating the distribution of numbers.

    A report is one of M cells. A window of w cells lies around the position of the number. Each
    cell inside has e times the probability of each cell outside. The width w is rounded to an
    integer from

        w / M = 2b / (1 + 2b),   b = (epsilon e - e + 1) / (2 e (e - 1 - epsilon))
        with e = exp(epsilon)

    This width maximises an upper bound of the mutual information between a number and its report.
    The docstring of the base class ``WindowMechanism`` states the probabilities.

    Args:
        domain: Integers or Interval. The device does not see the bins of an Interval.
        epsilon: the budget in nats.
        cells: M, the number of different reports, 2 to 2^20.

    Raises:
        ArgumentTypeError: a domain that is not numeric.
        BudgetError: an epsilon that 64-bit thresholds cannot represent.

    Source: [P3 sec II]; Li et al. (2020).

    >>> from warner import Interval
    >>> income = SquareWave(Interval(0, 100_000, bins=64), 1.0)
    >>> income.randomize([25_000.0, 99_999.5]).columns["report"].shape, round(income.epsilon, 9)
    ((2,), 1.0)
    """

    references = ("li2020", "P3")

    def _share(self, e: Decimal) -> Decimal:
        exponent = Decimal(self.requested)
        b = divide(exponent * e - e + 1, 2 * e * (e - 1 - exponent))
        return divide(2 * b, 1 + 2 * b)


class Piecewise(WindowMechanism):
    """Piecewise mechanism (PM): for estimating the mean of numbers at larger epsilon.

    A report is one of M cells. A window of w cells lies around the position of the number. Each
    cell inside has exp(epsilon) times the probability of each cell outside. The width w is rounded
    to an integer from

        w / M = 1 / (exp(epsilon / 2) + 1)

    This width minimises the variance of the mean. The docstring of the base class
    ``WindowMechanism`` states the probabilities.

    Args:
        domain: Integers or Interval. The device does not see the bins of an Interval.
        epsilon: the budget in nats.
        cells: M, the number of different reports, 2 to 2^20.

    Raises:
        ArgumentTypeError: a domain that is not numeric.
        BudgetError: an epsilon that 64-bit thresholds cannot represent.

    Source: [P3 sec II]; Wang et al. (2019).

    >>> from warner import Integers
    >>> round(Piecewise(Integers(0, 120), 1.0).epsilon, 9)
    1.0
    """

    references = ("wang2019", "P3")

    def _share(self, e: Decimal) -> Decimal:
        return divide(1, exp(self.requested / 2) + 1)


class StochasticRounding(WindowMechanism):
    """Stochastic rounding (SR, Duchi's mechanism): for estimating the mean of numbers.

        Pr(upper report | x) = (e - 1) x / (2 (e + 1)) + 1/2,   e = exp(epsilon)

    Here x in [-1, 1] is the number on a scale from the lower limit of the domain, -1, to the upper
    limit, 1. There are two possible reports, and a larger number makes the upper one likelier. The
    channel has rank 2, so reports determine the mean of the numbers alone (see SampleMean). Every
    distribution with the same mean is equally likely. At small epsilon no mechanism estimates the
    mean better.

    Args:
        domain: Integers or Interval. The device does not see the bins of an Interval.
        epsilon: the budget in nats.

    Raises:
        ArgumentTypeError: a domain that is not numeric.
        BudgetError: an epsilon that 64-bit thresholds cannot represent.

    Source: [P3 sec II]; Duchi, Jordan, Wainwright (2013).

    >>> from warner import Interval
    >>> mood = StochasticRounding(Interval(-1, 1, bins=2), 1.0)
    >>> mood.randomize([0.3, -1.0]).columns["report"].dtype
    dtype('uint8')
    """

    references = ("duchi2013", "P3")

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon, cells=2)

    def parameters(self) -> dict[str, Any]:
        return {}

    def _share(self, e: Decimal) -> Decimal:
        return Decimal("0.5")


# -----------------------------------------------------------------------------------------------
# Numbers with nonresponse beside them.


@dataclass(frozen=True, eq=False)
class AnswerOrNone(ReportDistribution):
    """The report of an answer or of a dummy, or one that says "no answer"."""

    inner: ReportDistribution  # the law of the report of an answer
    # ``above`` and ``below`` of the dummy: see :class:`~warner.mechanisms.base.Dummies`
    above: Fraction
    below: Fraction
    dropped: int  # 2**64 times the probability of "no answer" from an answer
    silent: int  # 2**64 times the probability of "no answer" from nonresponse

    def ratio(self) -> Fraction:
        """The largest likelihood ratio: of two answers, or of an answer and nonresponse."""
        named = Fraction(self.silent, self.dropped)
        others = Fraction(ONE - self.dropped, ONE - self.silent)
        nonresponse = max(named, 1 / named, others * self.above, self.below / others)
        return max(self.inner.ratio(), nonresponse)


class WithNonresponse(Mechanism):
    """A mechanism of numbers for people of whom some give no answer.

        Pr(y | answer x) = (1 - q) A[y, x],   Pr(no answer | answer x) = q
        Pr(y | nonresponse)  = (1 - s) D[y],      Pr(no answer | nonresponse)  = s

    A is the channel of the mechanism of numbers. It keeps all of epsilon, because a report "no
    answer" tells nothing of the number. D is the distribution of the reports of a dummy: for
    SquareWave they are uniform. Let c be the largest ratio A[y, x] / D[y]. With e = exp(epsilon),

        q = (e - c) / (e^2 - c),   s = e q

    is the only pair with s / q = e and (1 - q) c / (1 - s) = e. So an answer and nonresponse are as
    hard to tell apart as two numbers, and the report "no answer" says as much as it may. At epsilon
    1 and for SquareWave q is 0.18 and s is 0.48.

    Mechanisms of labels on bins and nonresponse err more, see METHODS 2.

    Args:
        mechanism: SquareWave, Piecewise, StochasticRounding, or Laplace over the whole range, on
            the numbers that can be answered. Its epsilon is that of all.
        empty: the texts that are missing answers, see :class:`~warner.domains.Optional`.

    Attributes:
        inner: the mechanism of the numbers.

    Raises:
        ArgumentTypeError: a mechanism without dummies. Mechanisms of labels need none: they take
            nonresponse as one more label.
        BudgetError: an epsilon that 64-bit thresholds cannot represent.

    Source: METHODS 2.

    >>> from warner import Integers, SquareWave
    >>> units = WithNonresponse(SquareWave(Integers(0, 40), 1.0))
    >>> len(units.randomize([3, None, 12, ""])), round(units.epsilon, 9)
    (4, 1.0)
    """

    is_of_studies = False  # a study says missing = "answer"
    references = ("warner1965",)

    law: AnswerOrNone
    schema: IntegerColumns
    domain: Optional

    def __init__(self, mechanism: Mechanism, empty: Sequence[str] = ("",)) -> None:
        dummies = _dummies_of(mechanism)
        super().__init__(Optional(mechanism.domain, empty), mechanism.requested)
        self.inner = mechanism
        self.represents_interval = mechanism.represents_interval
        self._dropped, self._silent = nonresponse_thresholds(self.requested, dummies.above)
        self.schema = IntegerColumns(("report",), (mechanism.n_reports + 1,))
        self.law = AnswerOrNone(
            mechanism.law, dummies.above, dummies.below, self._dropped, self._silent
        )
        self.check_realisable()

    @cached_property
    def _dummies(self) -> Dummies:
        return _dummies_of(self.inner)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.references, *self.inner.sources]))

    def parameters(self) -> dict[str, Any]:
        return {"mechanism": self.inner.header}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        return cls(from_header(parameters["mechanism"]), domain.missing.empty)

    def __repr__(self) -> str:
        return f"WithNonresponse({self.inner!r})"

    def thresholds(self) -> dict[str, str]:
        # The header of the inner mechanism, among the parameters, holds its thresholds.
        return {"dropped": hex(self._dropped), "silent": hex(self._silent)}

    # On the device. Nonresponse is NaN among the encoded numbers.

    def encode(self, values: Any) -> np.ndarray:
        return self.domain.encode_with(self.inner.encode, values, np.nan)

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        self.check_index(index)
        return self.randomize_encoded(self.encode(self.domain.decode(index)), source)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        # Everybody draws a report, a dummy and "no answer", so that time does not tell nonresponse.
        silent = np.isnan(index)
        numbers = np.where(silent, 0, index)
        numbers = numbers.astype(self.inner.encode(self.inner.domain.decode([0])).dtype, copy=False)
        report = self.inner._sample(numbers, source)["report"]
        dummy = self._dummies.sample(len(index), source)["report"]
        thresholds = np.array([self._dropped, self._silent], dtype=np.uint64)
        no_answer = source.below_each(thresholds[silent.astype(np.intp)])
        last = self.schema.sizes[0] - 1
        return {"report": np.where(no_answer, last, np.where(silent, dummy, report))}

    def _program(self) -> dict[str, Any]:
        inner = self.inner.device_program()
        fields = {"dropped": number(self._dropped), "silent": number(self._silent)}
        return program("silence", {**fields, "inner": inner}, inner["answer"])

    # At the collector.

    def channel(self) -> NonresponseChannel:
        q, s = self._dropped / ONE, self._silent / ONE
        return NonresponseChannel(self.inner.channel(), q, s, self._dummies.shares())

    def probabilities(self) -> np.ndarray:
        q, s = Fraction(self._dropped, ONE), Fraction(self._silent, ONE)
        table = np.empty((self.n_reports, self.domain.size), dtype=object)
        table[:-1, :-1] = (1 - q) * self.inner.probabilities()
        table[:-1, -1] = (1 - s) * self._dummies.exact()
        table[-1] = [*[q] * self.inner.domain.size, s]
        return table

    @property
    def is_enumerable(self) -> bool:
        return super().is_enumerable and self.inner.is_enumerable


def nonresponse_thresholds(epsilon: float, above: Fraction) -> tuple[int, int]:
    """2^64 q and 2^64 s, rounded so that no ratio exceeds e = exp(epsilon); c is ``above``."""
    e = Fraction(exp(epsilon))
    # q >= (e - c) / (e^2 - c), s <= e q, 1 - s >= (1 - q) c / e. Rounding q up and s down keeps
    # both limits. The third ratio, of a dummy's report to that of a number, is at most
    # (1 - s) / (1 - q) times the largest D[y] / A[y, x]; that is c / e times it.
    share = (e - above) / (e**2 - above)
    check_representable(epsilon, rational(share))
    dropped = ceil(ONE * share)
    return dropped, floor(min(e * dropped, ONE - (ONE - dropped) * above / e))


def with_nonresponse(mechanism: Mechanism, domain: Domain) -> Mechanism:
    """A mechanism of numbers on a domain in which nonresponse is a value.

    Args:
        mechanism: made on ``domain.answered``.
        domain: the numbers and nonresponse; one without nonresponse leaves the mechanism as it is.

    Raises:
        ArgumentTypeError: a mechanism without dummies.
    """
    if domain.nonresponse is None:
        return mechanism
    return WithNonresponse(mechanism, domain.missing.empty)


def _dummies_of(mechanism: Any) -> Dummies:
    """The dummies of a mechanism; an error where it has none."""
    dummies = mechanism.dummies() if isinstance(mechanism, Mechanism) else None
    if dummies is None:
        rule = "must be SquareWave, Piecewise, StochasticRounding, or Laplace over the whole range"
        remedy = (
            'With a mechanism for labels, make "no answer" one more label: see '
            "warner.domains.Optional"
        )
        raise ArgumentTypeError("mechanism", rule, kind(mechanism), remedy)
    return dummies
