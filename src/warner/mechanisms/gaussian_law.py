"""The exact law of the Gaussian mechanism: integers plus rounded normal noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from warner._core.exact import log_ratio, normal_masses, share_of
from warner._core.sampling import Edges
from warner.privacy.likelihood_ratios import INFINITE, floats
from warner.privacy.report_laws import Law

_SUMS = 2**10  # numbers that the loss of several axes is rounded to


@dataclass(frozen=True, eq=False)
class Rounded(Law):
    """Rounded normal noise of at most ``reach`` steps, independent on every axis.

        Pr(noise = j) = masses[j + reach] / 2**(64 words)   for j = -reach..reach

    The largest likelihood ratio is infinite, because the noise is bounded.

    Attributes:
        masses: (2 reach + 1,) object array of Python integers.
        words: the number of 64-bit words of the denominator.
        deviation: the standard deviation of the noise, in steps.
    """

    masses: np.ndarray
    words: int
    deviation: float

    @property
    def audit_method(self) -> str:
        return "sums of normal odds, bounded from above"

    @property
    def reach(self) -> int:
        """The largest noise, in steps."""
        return len(self.masses) // 2

    @classmethod
    def normal(cls, deviation: float, reach: int) -> Rounded:
        """Normal noise with masses proportional to exp(-j^2 / (2 deviation^2)) for |j| <= reach.

        Decimal arithmetic gives the same integers on every machine. The mass of 0 is adjusted so
        that the masses sum to 2**(64 words).
        """
        half = normal_masses(deviation, reach)
        sides = 2 * sum(half[1:]) + half[0]
        words = math.ceil((64 + log_ratio(Fraction(sides), Fraction(half[-1])) / math.log(2)) / 64)
        total = 1 << 64 * words
        side = [share_of(mass, sides, total) for mass in half[1:]]
        return cls(
            np.array([*side[::-1], total - 2 * sum(side), *side], dtype=object), words, deviation
        )

    def ratio(self) -> Fraction:
        return INFINITE

    @cached_property
    def edges(self) -> Edges:
        """The table that noise is sampled from."""
        return Edges.of(self.masses.tolist())

    def floats(self) -> np.ndarray:
        """The masses as probabilities in double precision."""
        return floats(self.masses, 1 << 64 * self.words)

    def divergence(self, epsilon: float, shifts: np.ndarray) -> float:
        """The delta of this noise at an epsilon, for two values that differ by one of the shifts.

            max over shifts v of sum_j max(0, Pr(j) - exp(epsilon) Pr(j + v))

        The result is just above this maximum. Where both noises are possible, Pr(j + v) / Pr(j) =
        exp(-(2 v.j + |v|^2) / (2 deviation^2)). So only the scalar product v.j matters. On several
        axes v.j is rounded to one of 2^10 numbers, in the direction that raises delta. Where j + v
        is beyond the reach, all of Pr(j) counts. A last term covers the rounding error of sums in
        double precision.

        Shapes: shifts (s, d).
        """
        one = self.floats()
        j = np.arange(-self.reach, self.reach + 1, dtype=np.float64)
        tails = np.cumsum(one[::-1])
        worst = 0.0
        for v in shifts:
            moves = v[v != 0]
            chance, sum_ = one, moves[0] * j
            for step in moves[1:]:
                chance, sum_ = _coarser(chance, sum_)
                other, more = _coarser(one, step * j)
                chance, sum_ = (
                    np.multiply.outer(chance, other).ravel(),
                    np.add.outer(sum_, more).ravel(),
                )
            loss = epsilon - (2 * sum_ + float(v @ v)) / (2 * self.deviation**2)
            inside = float(-(chance * np.expm1(np.minimum(loss, 0.0))).sum())
            worst = max(worst, inside + float(tails[moves - 1].sum()))
        return worst * (1 + 1e-11) + 4e-15


def _coarser(chance: np.ndarray, sum_: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes (chance, sum) with the sums rounded up to at most 2^10 numbers."""
    low, high = float(sum_.min()), float(sum_.max())
    if sum_.size <= _SUMS or low == high:
        return chance, sum_
    width = (high - low) / _SUMS
    place = np.ceil((sum_ - low) / width).astype(np.int64)
    return np.bincount(place, chance), low + np.arange(int(place.max()) + 1) * width
