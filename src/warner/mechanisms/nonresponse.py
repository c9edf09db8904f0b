"""Mechanisms of numbers for people of whom some give no answer (METHODS 2).

A number has a place among the reports, and nonresponse has none. So there is one more report, which
says that there is no answer. People who answer send it too, now and then, and people who do not
answer often send the report of a dummy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, Self

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentTypeError
from warner._core.exact import ONE, check_representable, exp, rational
from warner._core.sampling import Source
from warner.channels import NonresponseChannel
from warner.domains import Domain, Optional
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import number, program
from warner.mechanisms.dummies import Dummies
from warner.mechanisms.headers import from_header
from warner.privacy.report_laws import Law
from warner.reports.schema import IntegerColumns


@dataclass(frozen=True, eq=False)
class AnswerOrNone(Law):
    """The report of an answer or of a dummy, or one that says "no answer".

    Attributes:
        inner: the law of the report of an answer.
        above, below: of the dummy, see :class:`~warner.mechanisms.dummies.Dummies`.
        dropped: 2**64 times the probability of "no answer" from an answer.
        silent: 2**64 times the probability of "no answer" from nonresponse.
    """

    inner: Law
    above: Fraction
    below: Fraction
    dropped: int
    silent: int

    @property
    def audit_method(self) -> str:
        return "exact odds of the law"

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
        numbers = np.where(silent, 0, index).astype(self._encoded_dtype, copy=False)
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

    @property
    def _encoded_dtype(self) -> np.dtype[Any]:
        return self.inner.encode(self.inner.domain.decode([0])).dtype

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
    """2^64 q and 2^64 s, rounded so that no ratio exceeds e = exp(epsilon).

        q >= (e - c) / (e^2 - c),   s <= e q,   1 - s >= (1 - q) c / e

    Rounding q up and s down keeps both limits. The third ratio, of a dummy's report to that of a
    number, is at most (1 - s) / (1 - q) times the largest D[y] / A[y, x]; that is c / e times it.

    Here c is ``above``.
    """
    e = Fraction(exp(epsilon))
    share = (e - above) / (e**2 - above)
    check_representable(epsilon, rational(share), "the report 'no answer' from an answer")
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
    found = mechanism.dummies() if isinstance(mechanism, Mechanism) else None
    if found is None:
        rule = "must be SquareWave, Piecewise, StochasticRounding, or Laplace over the whole range"
        remedy = (
            "Mechanisms of labels take nonresponse as one more label, see warner.domains.Optional"
        )
        raise ArgumentTypeError("mechanism", rule, kind(mechanism), remedy)
    return found
