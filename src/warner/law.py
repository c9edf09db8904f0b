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


@dataclass(frozen=True, eq=False)
class Table:
    """Report y has probability numerators[y, x] / 2**64 under value x; object array (m, K) of Python integers."""

    numerators: np.ndarray

    def ratio(self) -> Fraction:
        return worst_ratio(self.numerators)


Law = TwoLevel | OneHotBits | Table


def worst_ratio(table: np.ndarray) -> Fraction:
    """The largest ratio within a row of exact probabilities (m, K), or INFINITE."""
    worst = Fraction(1)
    for high, low in zip(table.max(axis=1), table.min(axis=1), strict=True):
        if high and not low:
            return INFINITE
        if high:
            worst = max(worst, Fraction(high) / Fraction(low))
    return worst


def epsilon_of(ratio: Fraction) -> float:
    """The logarithm of a worst ratio, rounded up; infinity for INFINITE."""
    return math.inf if ratio == INFINITE else log_ratio(ratio, 1)
