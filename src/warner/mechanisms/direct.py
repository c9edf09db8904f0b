"""Reports that are values: randomised response, and any channel given as a matrix."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import numbers_of
from warner._core.errors import (
    ArgumentError,
    BudgetError,
    message,
)
from warner._core.exact import ONE, SMALLEST, check_representable, divide, down, exp
from warner._core.sampling import Source
from warner.channels import DenseChannel, DirectChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism, sensitive_mask
from warner.privacy.guarantees import LDP, OSLDP, ULDP, Guarantee
from warner.privacy.report_laws import Table, TwoLevel, epsilon_of, fractions
from warner.reports.schema import (
    IntegerColumns,
    smallest_dtype,
)


def direct_cells(size: int, epsilon: float) -> tuple[int, int]:
    """Integer law of randomised response over ``size`` symbols: (own, other), the widths of their cells in the 64-bit range.

    other = 2**64 / (e + size - 1) and own = e other, both rounded down, so own / other <= e, and short of it by one part in
    own at most, whatever the size. The few numbers beyond own + (size - 1) other are drawn again.
    """
    if math.isinf(epsilon):
        return ONE, 0
    e = exp(epsilon)
    share = divide(1, e + size - 1)
    check_representable(epsilon, share, "each wrong answer")
    cell = down(share)
    return down(divide(cell, ONE) * e), cell


def direct_law(size: int, own: int, other: int) -> TwoLevel:
    """The law of cells (own, other): probabilities over what is not drawn again."""
    total = own + (size - 1) * other
    return TwoLevel(Fraction(own, total), Fraction(other, total))


def direct_sample(index: np.ndarray, size: int, own: int, other: int, source: Source) -> np.ndarray:
    """Symbols (n,): each of the size - 1 wrong ones is a cell of width ``other`` of the 64-bit range, the true one of width ``own``."""
    if other == 0:
        return index
    wrong = source.cells(other, size - 1, own, len(index))
    # Wrong symbols are numbered without the true one; the last cell (code size - 1) is the true one itself.
    return np.where(wrong == size - 1, index, wrong + (wrong >= index))


class RandomizedResponse(Mechanism):
    """k-ary randomised response (k-RR, GRR): tell the truth with probability p, else any other value.

        Pr(y | x) = e / (e + K - 1) if y = x, else 1 / (e + K - 1),   e = exp(epsilon)

    Args:
        domain: K values.
        epsilon: budget in nats; ``inf`` sends the value itself, for people who need no protection [P1].

    Raises:
        BudgetError: epsilon not positive, NaN, or outside what 64-bit sampling represents.

    Source: Warner (1965); [P1 eq 10], [P3 eq 2].

    >>> from warner import Categorical
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), epsilon=1.0)
    >>> len(coin.randomize(["yes", "no", "yes"])), round(coin.epsilon, 9)
    (3, 1.0)
    """

    law: TwoLevel

    def __init__(self, domain: Domain, epsilon: float) -> None:
        self._start(domain, epsilon, infinite=True)
        self._own, self._other = direct_cells(domain.size, self.requested)
        self.schema = IntegerColumns(("report",), (domain.size,))
        self.law = direct_law(domain.size, self._own, self._other)
        self.epsilon  # noqa: B018 - refuses here what the grid cannot represent

    def parameters(self) -> dict[str, Any]:
        return {}

    def thresholds(self) -> dict[str, str]:
        return {"own": hex(self._own), "other": hex(self._other)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return {"report": direct_sample(index, self.domain.size, self._own, self._other, source)}

    def channel(self) -> DirectChannel:
        return DirectChannel(
            self.domain.size, float(self.law.low), float(self.law.high - self.law.low)
        )

    def probabilities(self) -> np.ndarray:
        return self.law.table(np.eye(self.domain.size, dtype=bool))


class ChannelMechanism(Mechanism):
    """Any finite channel given as a matrix: value x is reported as y with probability matrix[y, x].

    The matrix is rounded to integers over 2**64, column by column, so that every column sums to one exactly and a zero
    stays a zero; ``epsilon`` is that of the rounded law, infinite if some report rules a value out.

    Args:
        domain: K values.
        matrix: (m, K), columns sum to 1; entries are 0 or at least 5e-11.
        epsilon: if given, the budget that the matrix must keep; else whatever it has.
        sensitive: the values to protect, None for all. The guarantee is then ULDP where every report that no sensitive value can
            make names one value, and OSLDP else [P2 defs 2, 6].

    Raises:
        ArgumentError: not a channel, or an entry too small to be sampled exactly.
        BudgetError: the channel needs more than ``epsilon``.

    >>> from warner import Categorical
    >>> noisy = ChannelMechanism(Categorical(["a", "b"]), [[0.75, 0.25], [0.25, 0.75]])
    >>> round(noisy.epsilon, 6)  # ln 3
    1.098612
    """

    law: Table

    def __init__(
        self,
        domain: Domain,
        matrix: Any,
        epsilon: float | None = None,
        sensitive: Sequence[Any] | None = None,
    ) -> None:
        self._start(domain, 1.0 if epsilon is None else epsilon, infinite=True)
        array = numbers_of("matrix", matrix, "must be an array of numbers, shape (reports, values)")
        DenseChannel(array)  # checks shape, signs and sums
        if array.shape[1] != domain.size:
            raise ArgumentError(
                message(
                    "matrix", f"must have one column per value, {domain.size}", str(array.shape)
                )
            )
        if array.shape[0] < 2:
            raise ArgumentError(
                message("matrix", "must have at least two reports", str(array.shape))
            )
        if (array[array > 0] < float(SMALLEST)).any():
            raise ArgumentError(
                message(
                    "matrix",
                    f"entries must be 0 or at least {float(SMALLEST):.0e}",
                    f"{array[array > 0].min():.3g}",
                )
            )
        self._matrix = array
        numerators = self._numerators = _integers(array)
        self._cumulative = [_thresholds(column) for column in numerators.T]
        self.sensitive_mask = None if sensitive is None else sensitive_mask(domain, sensitive)
        self.law = Table(numerators, self.sensitive_mask)
        self.schema = IntegerColumns(("report",), (array.shape[0],))
        if self.law.ratio() == 1:
            raise ArgumentError(
                message("matrix", "must make reports that depend on the value", "equal columns")
            )
        found = self._realised
        self.requested = found if epsilon is None else self.requested
        if found > self.requested:
            raise BudgetError(
                message(
                    "matrix",
                    f"needs epsilon {found!r}",
                    f"a budget of {self.requested!r}",
                    "Allow that budget or flatten the matrix",
                )
            )

    @cached_property
    def _realised(self) -> float:
        return epsilon_of(self.law.ratio())

    @property
    def guarantee(self) -> Guarantee:
        if self.sensitive_mask is None:
            return LDP(self.epsilon)
        return (ULDP if self.law.names_the_rest else OSLDP)(self.epsilon, tuple(self.sensitive))

    def protected(self) -> np.ndarray:
        return self.law.protected.copy()

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

    def channel(self) -> DenseChannel:
        return DenseChannel((self._numerators / ONE).astype(np.float64))

    def probabilities(self) -> np.ndarray:
        return fractions(self._numerators, ONE)


def _integers(matrix: np.ndarray) -> np.ndarray:
    """The matrix as integers over 2**64 (object array): columns sum exactly, the largest entry takes the rounding."""
    out = np.empty(matrix.shape, dtype=object)
    for x, column in enumerate(matrix.T):
        # A float times 2**64 is an integer once it is at least 2**-11, and else rounded to one: exact enough either way,
        # because the law that counts is the one of these integers.
        numerators = [round(v * 2.0**64) for v in column.tolist()]
        numerators[int(np.argmax(column))] += ONE - sum(numerators)
        out[:, x] = numerators
    return out


def _thresholds(numerators: np.ndarray) -> tuple[np.ndarray, int]:
    """Upper edges of the reports' ranges of U, and the last report that can occur.

    An edge of 2**64 does not fit 64 bits: it is lowered to 2**64 - 1 and ``last`` catches the one U beyond it.
    """
    edges, total = [], 0
    for value in numerators:
        total += value
        edges.append(min(total, ONE - 1))
    return np.array(edges, dtype=np.uint64), max(i for i, v in enumerate(numerators) if v)
