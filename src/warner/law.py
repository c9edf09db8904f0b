"""Exact laws of reports, as ratios of integers: what an epsilon is computed from.

A law answers one question, how much likelier any whole report can be under one value than under another, without floating
point. ``ratio`` is that number; epsilon is its logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

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

    @cached_property
    def protected(self) -> np.ndarray:
        """The reports (m,) that a sensitive value can make."""
        return np.ones(len(self.numerators), dtype=bool) if self.sensitive is None else image(self.numerators, self.sensitive)

    @cached_property
    def names_the_rest(self) -> bool:
        """Whether every other report names one value, as ULDP asks."""
        return self.sensitive is None or violation(self.numerators, self.sensitive, self.protected) is None

    def ratio(self) -> Fraction:
        return worst_ratio(self.numerators[self.protected]) if self.names_the_rest else worst_ratio(self.numerators, self.sensitive)


Law = TwoLevel | OneHotBits | GuardedBits | Table


def worst_ratio(table: np.ndarray, above: np.ndarray | None = None) -> Fraction:
    """The largest ratio within a row of exact probabilities (m, K), or INFINITE; over ``above`` (K,) values only, if given."""
    return worst_pair(table, above)[0]


def worst_pair(table: np.ndarray, above: np.ndarray | None = None) -> tuple[Fraction, int, int, int]:
    """The same, and where: the first such row, the value under which it is likeliest and the one under which it is least."""
    worst, place = Fraction(1), 0
    chosen = np.arange(table.shape[1]) if above is None else np.flatnonzero(above)
    for y, (high, low) in enumerate(zip(table[:, chosen].max(axis=1), table.min(axis=1), strict=True)):
        if high and not low:
            worst, place = INFINITE, y
            break
        if high and (ratio := Fraction(high) / Fraction(low)) > worst:
            worst, place = ratio, y
    if not len(table):
        return worst, 0, 0, 0
    return worst, place, int(chosen[np.argmax(table[place, chosen])]), int(np.argmin(table[place]))


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
