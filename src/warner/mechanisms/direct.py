"""Randomised response, whose reports are values, and any channel given as a matrix."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import numbers_of
from warner._core.errors import ArgumentError, BudgetError
from warner._core.exact import ONE, SMALLEST, check_representable, divide, down, exp
from warner._core.sampling import Source
from warner._core.text import canonical
from warner.channels import DenseChannel, DirectChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.privacy.guarantees import LDP, OSLDP, ULDP, Guarantee, sensitive_mask
from warner.privacy.report_laws import ExactTable, TwoProbabilities, epsilon_of, floats, fractions
from warner.reports.rules import smallest_dtype
from warner.reports.schema import IntegerColumns

# -----------------------------------------------------------------------------------------------
# The integer law of two widths, which several mechanisms sample from.


def two_widths(other_share: Decimal, odds: Decimal) -> tuple[int, int]:
    """Widths of the cells of a 64-bit range, for the true outcome and for each other outcome.

    >>> two_widths(Decimal("0.25"), Decimal(3)) == (3 * 2**62, 2**62)
    True
    """
    # A 64-bit random number selects the outcome in whose cell it lies, and one outside all cells is
    # drawn again. true_width / other_width never exceeds ``odds``;
    # its relative error is about 1 / true_width.
    other_width = down(other_share)
    return down(divide(other_width, ONE) * odds), other_width


def direct_widths(size: int, epsilon: float) -> tuple[int, int]:
    """Integer widths of the law of randomised response over ``size`` symbols."""
    if math.isinf(epsilon):
        return ONE, 0
    # other_width ~ 2^64 / (e + size - 1), true_width ~ e other_width, both rounded down
    e = exp(epsilon)
    share = divide(1, e + size - 1)
    check_representable(epsilon, share)
    return two_widths(share, e)


def direct_law(size: int, true_width: int, other_width: int) -> TwoProbabilities:
    """The law of randomised response with these widths of cells."""
    # A random number outside all cells is drawn again.
    total = true_width + (size - 1) * other_width
    return TwoProbabilities(Fraction(true_width, total), Fraction(other_width, total))


def direct_sample(
    index: np.ndarray, size: int, true_width: int, other_width: int, source: Source
) -> np.ndarray:
    """Randomise symbols (n,) with the integer law of :func:`direct_widths`."""
    if other_width == 0:
        return index
    wrong = source.cells(other_width, size - 1, true_width, len(index))
    true = index.astype(wrong.dtype)
    # Wrong symbols are numbered without the true one; code size - 1 is the true symbol itself. By
    # arithmetic, as a choice by condition takes long where conditions are random.
    is_true, is_above = wrong == size - 1, wrong >= true
    wrong += is_above.view(np.uint8)
    true ^= wrong
    true *= is_true.view(np.uint8)
    wrong ^= true
    return wrong


class RandomizedResponse(Mechanism):
    """k-ary randomised response (k-RR, GRR): reports the true value or, less often, another value.

        Pr(report y | value x) = e / (e + K - 1) if y = x, else 1 / (e + K - 1),   e = exp(epsilon)

    Args:
        domain: K values.
        epsilon: budget in nats; ``inf`` sends the value itself, without protection [P1].

    Raises:
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Warner (1965); Kairouz, Bonawitz and Ramage (2016); [P1 eq 10], [P3 eq 2].

    >>> from warner import Categorical
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), epsilon=1.0)
    >>> len(coin.randomize(["yes", "no", "yes"])), round(coin.epsilon, 9)
    (3, 1.0)
    """

    references = ("warner1965", "kairouz2016", "P1", "P3")

    law: TwoProbabilities

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon, infinite=True)
        self._true_width, self._other_width = direct_widths(domain.size, self.requested)
        self.schema = IntegerColumns(("report",), (domain.size,))
        self.law = direct_law(domain.size, self._true_width, self._other_width)
        self.check_realisable()

    def thresholds(self) -> dict[str, str]:
        return {"own": hex(self._true_width), "other": hex(self._other_width)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return {
            "report": direct_sample(
                index, self.domain.size, self._true_width, self._other_width, source
            )
        }

    def _program(self) -> dict[str, Any]:
        from warner.mechanisms.device_program import number, program

        widths = {"own": number(self._true_width), "other": number(self._other_width)}
        return program("direct", {"size": self.domain.size, **widths})

    @property
    def report_words(self) -> tuple[str, ...]:
        from warner._core.table import as_text

        words = () if self.domain.is_binned else tuple(map(as_text, self.domain.labels))
        return words if len(set(words)) == len(words) else ()

    def channel(self) -> DirectChannel:
        return DirectChannel(
            self.domain.size, float(self.law.low), float(self.law.high - self.law.low)
        )

    def probabilities(self) -> np.ndarray:
        return self.law.table(np.eye(self.domain.size, dtype=bool))


class TableMechanism(Mechanism):
    """A mechanism whose law is a table of exact probabilities. Abstract."""

    law: ExactTable

    @property
    def guarantee(self) -> Guarantee:
        if self.sensitive_mask is None:
            return LDP(self.epsilon)
        return (ULDP if self.law.unprotected_are_unique else OSLDP)(
            self.epsilon, tuple(self.sensitive)
        )

    def protected(self) -> np.ndarray:
        return self.law.protected.copy()

    def channel(self) -> DenseChannel:
        return DenseChannel(floats(self.law.numerators, self.law.total))

    def probabilities(self) -> np.ndarray:
        return fractions(self.law.numerators, self.law.total)


class MatrixMechanism(TableMechanism):
    """Any finite channel given as a matrix: value x is reported as y with probability matrix[y, x].

    The matrix is rounded to integers over 2**64, column by column. Every column then sums to one
    exactly, and a zero stays a zero. The attribute ``epsilon`` is the budget of the rounded law. It
    is infinite if some report rules a value out.

    Args:
        domain: K values.
        matrix: (m, K), columns sum to 1; entries are 0 or at least 5e-11.
        epsilon: the budget in nats that the matrix must keep; None for the budget that it has.
        sensitive: the values to protect; None for all. With sensitive values the guarantee is ULDP
            or OSLDP [P2 defs 2, 6]. It is ULDP if every report that no sensitive value can make
            comes from one value alone.

    Raises:
        ArgumentError: not a channel, or an entry too small to be sampled exactly.
        BudgetError: the channel needs more than ``epsilon``.

    >>> from warner import Categorical
    >>> noisy = MatrixMechanism(Categorical(["a", "b"]), [[0.75, 0.25], [0.25, 0.75]])
    >>> round(noisy.epsilon, 6)  # ln 3
    1.098612
    """

    references: ClassVar[tuple[str, ...]] = ("P4",)

    @property
    def sources(self) -> tuple[str, ...]:
        return ()  # a matrix is of its author, who is not known here

    def __init__(
        self,
        domain: Domain,
        matrix: ArrayLike,
        epsilon: float | None = None,
        sensitive: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(domain, 1.0 if epsilon is None else epsilon, infinite=True)
        array = _checked_matrix(matrix, domain.size)
        self._matrix = array
        numerators = self._numerators = _integers(array)
        self._cumulative = [_thresholds(column) for column in numerators.T]
        self.sensitive_mask = None if sensitive is None else sensitive_mask(domain, sensitive)
        self.law = ExactTable(numerators, self.sensitive_mask)
        self.schema = IntegerColumns(("report",), (array.shape[0],))
        if self.law.ratio() == 1:
            rule = (
                "must have different columns, because otherwise reports would not depend on the "
                "answer"
            )
            raise ArgumentError("matrix", rule, "equal columns")
        realised = self._realised_epsilon
        self.requested = realised if epsilon is None else self.requested
        if realised > self.requested:
            rule = f"needs an epsilon of at least {realised!r}"
            remedy = "Leave out the argument epsilon, or make the columns of the matrix more alike"
            if realised <= self.requested * (1 + 1e-9):
                remedy = "This comes from rounding: make the matrix for epsilon * (1 - 1e-12)"
            if math.isinf(realised):
                rule = "keeps no epsilon, because a row has 0 beside larger entries"
                remedy = "Such a report rules an answer out: put a small probability in place of 0"
            raise BudgetError("matrix", rule, f"epsilon={self.requested!r}", remedy)

    @cached_property
    def _realised_epsilon(self) -> float:
        return epsilon_of(self.law.ratio())

    def parameters(self) -> dict[str, Any]:
        matrix = {"matrix": self._matrix.tolist()}
        return matrix if self.sensitive_mask is None else {**matrix, "sensitive": self.sensitive}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        return cls(domain, parameters["matrix"], epsilon, parameters.get("sensitive"))

    def thresholds(self) -> dict[str, str]:
        text = canonical([[hex(v) for v in row] for row in self._numerators.tolist()])
        return {"numerators_sha256": hashlib.sha256(text.encode()).hexdigest()}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        u = source.words(len(index), np.uint64)
        report = np.empty(len(index), dtype=smallest_dtype(self.n_reports))
        order = np.argsort(index, kind="stable")
        values, starts = np.unique(index[order], return_index=True)
        for x, rows in zip(
            values, np.split(order, starts[1:]), strict=True
        ):  # over values, not people
            edges, last = self._cumulative[x]
            report[rows] = np.minimum(np.searchsorted(edges, u[rows], side="right"), last)
        return {"report": report}

    def _program(self) -> dict[str, Any]:
        from warner.mechanisms.device_program import numbers, program

        columns = [numbers(column) for column in self._numerators.T.tolist()]
        fields = {"size": self.domain.size, "words": 1, "numerators": columns}
        if self.sensitive_mask is not None:
            fields["sensitive"] = np.flatnonzero(self.sensitive_mask).tolist()
        return program("table", fields)

    def _program_odds(self) -> dict[str, Any]:
        from warner.mechanisms.device_program import ANY, SENSITIVE, odds

        between = ANY if self.sensitive_mask is None else SENSITIVE
        return odds(self.law.ratio(), self.requested, between)


def _checked_matrix(matrix: ArrayLike, size: int) -> np.ndarray:
    """The matrix as an array (m, size), refused unless it is a channel that can be sampled."""
    array = numbers_of(
        "matrix", matrix, "must be an array of numbers with the shape (reports, values)"
    )
    DenseChannel(array)  # checks the shape, the signs and the sums
    if array.shape[1] != size:
        rule = f"must have one column for each of the {size} values"
        raise ArgumentError("matrix", rule, f"shape {array.shape}")
    if array.shape[0] < 2:
        rule = "must have one row for each possible report, so at least two rows"
        raise ArgumentError("matrix", rule, f"shape {array.shape}")
    if (array[array > 0] < float(SMALLEST)).any():
        rule = f"must have entries that are 0 or at least {float(SMALLEST):.0e}"
        raise ArgumentError("matrix", rule, f"{array[array > 0].min():.3g}")
    return array


def _integers(matrix: np.ndarray) -> np.ndarray:
    """The matrix as integers over 2**64, an object array whose columns sum to 2**64 exactly."""
    out = np.empty(matrix.shape, dtype=object)
    for x, column in enumerate(matrix.T):
        # A float of at least 2**-11 times 2**64 is an integer; a smaller one is rounded. The law
        # that counts is that of these integers.
        numerators = [round(v * 2.0**64) for v in column.tolist()]
        # The largest entry of a column takes the rounding.
        numerators[int(np.argmax(column))] += ONE - sum(numerators)
        out[:, x] = numerators
    return out


def _thresholds(numerators: np.ndarray) -> tuple[np.ndarray, int]:
    """Upper edges of the reports' ranges of U, and the last report that can occur."""
    edges, total = [], 0
    for value in numerators:
        total += value
        # An edge of 2**64 does not fit 64 bits; the last report catches the only U beyond it.
        edges.append(min(total, ONE - 1))
    return np.array(edges, dtype=np.uint64), max(i for i, v in enumerate(numerators) if v)
