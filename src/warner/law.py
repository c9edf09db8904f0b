"""Exact laws of reports, as ratios of integers: what an epsilon is computed from.

A law answers one question, how much likelier any whole report can be under one value than under another, without floating
point. ``ratio`` is that number; epsilon is its logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from warner._exact import ONE, log_ratio

INFINITE = Fraction(-1)  # what ``ratio`` returns where a report is possible under one value and impossible under another


@dataclass(frozen=True)
class TwoLevel:
    """Every report has probability ``high`` under the values it supports and ``low`` under all others."""

    high: Fraction
    low: Fraction

    def table(self, supported: np.ndarray) -> np.ndarray:
        """Exact probabilities (m, K) as Fractions, from which report supports which value."""
        out = np.full(supported.shape, self.low, dtype=object)
        out[supported] = self.high
        return out

    def ratio(self) -> Fraction:
        if self.low == 0:
            return INFINITE
        return max(self.high / self.low, self.low / self.high)


@dataclass(frozen=True)
class OneHotBits:
    """K independent bits: bit x of a person with value x is 1 w.p. keep / 2**64, every other bit w.p. raised / 2**64."""

    keep: int
    raised: int

    def ratio(self) -> Fraction:
        """Values x and x' differ in two bits; the worst report takes the worst outcome of each."""
        own, other = (ONE - self.keep, self.keep), (ONE - self.raised, self.raised)
        total = Fraction(1)
        for a, b in ((own, other), (other, own)):
            if any(y == 0 < x for x, y in zip(a, b, strict=True)):
                return INFINITE
            total *= max(Fraction(x, y) for x, y in zip(a, b, strict=True) if y)
        return total


@dataclass(frozen=True)
class GuardedBits:
    """Bits of sensitive values as :class:`OneHotBits`; bits of other values are set by their own value alone.

    A non-sensitive value loses its own bit w.p. dropped / 2**64; its report is then protected. [P2 def 5]

    ``sensitive``, ``others``: how many values of each kind there are.
    """

    keep: int
    raised: int
    dropped: int
    sensitive: int
    others: int

    def ratio(self) -> Fraction:
        """Over protected reports: two sensitive values, and a sensitive against a non-sensitive one, by the bit of the former."""
        total = OneHotBits(self.keep, self.raised).ratio() if self.sensitive > 1 else Fraction(1)
        if not self.others or total == INFINITE:
            return total
        for own, other in ((self.keep, self.raised), (ONE - self.keep, ONE - self.raised)):
            high, low = Fraction(own, ONE), Fraction(other, ONE) * Fraction(self.dropped, ONE)
            if (high == 0) != (low == 0):
                return INFINITE
            if high:
                total = max(total, high / low, low / high)
        return total


@dataclass(frozen=True, eq=False)
class Table:
    """Report y has probability numerators[y, x] / 2**64 under value x; object array (m, K) of Python integers.

    ``sensitive``: which values are protected (K,), None for all; then ``ratio`` is that of ULDP where the table allows it, of
    OSLDP else (see warner.uldp).
    """

    numerators: np.ndarray
    sensitive: np.ndarray | None = None

    def ratio(self) -> Fraction:
        if self.sensitive is None:
            return worst_ratio(self.numerators)
        protected = image(self.numerators, self.sensitive)
        if violation(self.numerators, self.sensitive, protected) is None:
            return worst_ratio(self.numerators[protected])
        return worst_ratio(self.numerators, self.sensitive)


Law = TwoLevel | OneHotBits | GuardedBits | Table


def worst_ratio(table: np.ndarray, above: np.ndarray | None = None) -> Fraction:
    """The largest ratio within a row of exact probabilities (m, K), or INFINITE; over ``above`` (K,) values only, if given."""
    worst = Fraction(1)
    for high, low in zip((table if above is None else table[:, above]).max(axis=1), table.min(axis=1), strict=True):
        if high and not low:
            return INFINITE
        if high:
            worst = max(worst, Fraction(high) / Fraction(low))
    return worst


def image(table: np.ndarray, sensitive: np.ndarray) -> np.ndarray:
    """The reports (m,) that some sensitive value can make, of a table of probabilities (m, K)."""
    return np.asarray((table[:, sensitive] > 0).any(axis=1), dtype=bool)


def violation(table: np.ndarray, sensitive: np.ndarray, protected: np.ndarray, names: list[str] | None = None) -> str | None:
    """What breaks the first condition of ULDP, if anything: an unprotected report names one non-sensitive value [P2 eq 4].

    ``names``: what values are called, their indices if not given.
    """
    names = [f"number {x}" for x in range(table.shape[1])] if names is None else names
    for y in np.flatnonzero(~protected):
        makers = np.flatnonzero(table[y] > 0)
        if len(makers) > 1:
            return f"unprotected report {y} comes from {names[makers[0]]} and from {names[makers[1]]}"
        if len(makers) and sensitive[makers[0]]:
            return f"unprotected report {y} comes from the sensitive value {names[makers[0]]}"
    return None


def epsilon_of(ratio: Fraction) -> float:
    """The logarithm of a worst ratio, rounded up; infinity for INFINITE."""
    return math.inf if ratio == INFINITE else log_ratio(ratio, 1)
