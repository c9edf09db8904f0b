"""Exact laws of reports, as ratios of integers: what an epsilon is computed from.

A law answers one question, how much likelier any whole report can be under one value than under another, without floating
point. ``ratio`` is that number; epsilon is its logarithm. ``examined`` says what an audit of the law alone looks at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from warner._core.exact import ONE, log_ratio, natural, normal_masses, share_of

INFINITE = Fraction(
    -1
)  # what ``ratio`` returns where a report is possible under one value and impossible under another


@dataclass(frozen=True)
class TwoLevel:
    """A report has probability ``high`` under the values that it supports and ``low`` under all others.

    ``log_scale`` is the logarithm of a factor of both, where ``high`` and ``low`` are stated without it.
    """

    examined: ClassVar[str] = "exact odds of the law"

    high: Fraction
    low: Fraction
    log_scale: float = 0.0

    def table(self, supported: np.ndarray) -> np.ndarray:
        """Exact probabilities (m, K) as Fractions, from which report supports which value."""
        out = np.full(supported.shape, self.low, dtype=object)
        out[supported] = self.high
        return out

    def log_least(self, ones: np.ndarray, size: int) -> np.ndarray:
        """log Pr(report | a value that it does not support), of reports with so many (m,) of ``size`` bits set."""
        log_low = math.log(self.low.numerator) - math.log(self.low.denominator)
        return np.full(len(ones), log_low + self.log_scale)

    def ratio(self) -> Fraction:
        if self.low == 0:
            return INFINITE
        return max(self.high / self.low, self.low / self.high)


@dataclass(frozen=True)
class OneHotBits:
    """K independent bits: bit x of a person with value x is 1 w.p. keep / 2**64, every other bit w.p. raised / 2**64."""

    examined: ClassVar[str] = "bit by bit, exactly"

    keep: int
    raised: int

    def log_least(self, ones: np.ndarray, size: int) -> np.ndarray:
        """log Pr(report | a value whose bit is 0 in it), of reports with so many (m,) of ``size`` bits set."""
        raised, clear, lost = (
            math.log(v / ONE) for v in (self.raised, ONE - self.raised, ONE - self.keep)
        )
        return np.asarray(ones * raised + (size - 1 - ones) * clear + lost, dtype=np.float64)

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

    examined: ClassVar[str] = "bit by bit, exactly"

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
    OSLDP else (see warner.privacy.postprocessing).
    """

    examined: ClassVar[str] = "exact odds of the law"

    numerators: np.ndarray
    sensitive: np.ndarray | None = None

    @cached_property
    def protected(self) -> np.ndarray:
        """The reports (m,) that a sensitive value can make."""
        return (
            np.ones(len(self.numerators), dtype=bool)
            if self.sensitive is None
            else image(self.numerators, self.sensitive)
        )

    @cached_property
    def names_the_rest(self) -> bool:
        """Whether every other report names one value, as ULDP asks."""
        return (
            self.sensitive is None
            or violation(self.numerators, self.sensitive, self.protected) is None
        )

    def ratio(self) -> Fraction:
        return (
            worst_ratio(self.numerators[self.protected])
            if self.names_the_rest
            else worst_ratio(self.numerators, self.sensitive)
        )


@dataclass(frozen=True)
class Steps:
    """Whole numbers plus noise, Pr(noise d) proportional to (fall / 2**64)**|d|, on values that lie up to ``most`` steps apart."""

    examined: ClassVar[str] = "exact odds of the law"

    fall: int
    most: int

    def ratio(self) -> Fraction:
        return Fraction(ONE, self.fall) ** self.most

    def epsilon(self, steps: int | Fraction) -> float:
        """Nats between values so many steps apart."""
        return log_ratio(ONE, self.fall, steps)


@dataclass(frozen=True, eq=False)
class Displacements:
    """A cell (r, c) of a grid of R x C plus a displacement (i, j), moved back to the grid row by row and column by column.

    ``quarter``: (R, C) integers, the mass of displacements +-i, +-j each; the last row and column hold all that goes further. The four
    quarters together sum to 2**(64 words).
    """

    quarter: np.ndarray
    words: int

    @classmethod
    def of(cls, shares: np.ndarray) -> Displacements:
        """The law nearest to shares (R, C) that sum to one over the quarters: the smallest takes 64 binary digits, no displacement the rounding."""
        words = math.ceil((64 - math.log2(shares.min())) / 64)
        total = 1 << 64 * words
        quarter = np.vectorize(lambda v: round(Fraction(v) * total), otypes=[object])(shares)
        folded = _unfold(quarter)
        quarter[0, 0] += total - folded.sum()
        return cls(quarter, words)

    @property
    def examined(self) -> str:
        """What an audit of the law alone looks at."""
        return (
            "all pairs of cells of the exact law"
            if self.few
            else "all pairs of cells of the law, to double precision rounded up"
        )

    @property
    def few(self) -> bool:
        """Few enough cells that all pairs of them are compared."""
        return self.quarter.size <= 400

    def whole(self) -> np.ndarray:
        """All displacements (2R - 1, 2C - 1), as integers."""
        return _unfold(self.quarter)

    def exact(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Integer masses (R, C) of: row i and column j; at least i rows and column j; row i and at least j columns; at least both."""
        q = self.quarter
        rows = np.cumsum(q[::-1], axis=0)[::-1]
        columns = np.cumsum(q[:, ::-1], axis=1)[:, ::-1]
        return q, rows, columns, np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]

    def tables(self) -> tuple[np.ndarray, ...]:
        """The same as probabilities in double precision."""
        total = 1 << 64 * self.words
        return tuple(floats(part, total) for part in self.exact())

    def _reports(
        self, inner: np.ndarray, rows: np.ndarray, columns: np.ndarray, both: np.ndarray
    ) -> Iterator[np.ndarray]:
        """What every report (one quarter of the grid, the others are alike) has under every cell, (R, C), of four tables as of ``exact``."""
        height, width = self.quarter.shape
        for r in range((height + 1) // 2):
            for c in range((width + 1) // 2):
                i, j = np.abs(np.arange(height) - r)[:, None], np.abs(np.arange(width) - c)[None, :]
                yield (inner, columns, rows, both)[2 * (r == 0) + (c == 0)][i, j]

    def ratio(self) -> Fraction:
        """Over all pairs of cells."""
        return max(Fraction(row.max(), row.min()) for row in self._reports(*self.exact()))

    def steepest(self, within: int | None = None) -> float:
        """Nats per cell of Euclidean distance, by double precision, rounded up: the worst over all reports and pairs of cells.

        The law is even in rows and in columns, so a report inside the grid has its worst pair of cells within one quarter
        around it, and the report next to a corner has the largest such quarter. Reports of a side and of a corner have tables
        of their own. A displacement (k a, k b) is k times (a, b), whose slope is at least as large: so only
        displacements without a common divisor are compared.

        Args:
            within: only displacements of at most so many rows and columns; None for all, which bounds every pair.
        """
        inner, along, across, corner = (np.log(part) for part in self.tables())
        # The last row and column hold tails, which only reports on that side of the grid have the probability of.
        tall, wide = (size > 2 for size in self.quarter.shape)
        parts = [corner]
        parts += [along[:, :-1]] if wide else []
        parts += [across[:-1]] if tall else []
        parts += [inner[:-1, :-1]] if tall and wide else []
        worst = 0.0
        for part in parts:
            height, width = part.shape
            rows, columns = (
                size - 1 if within is None else min(within, size - 1) for size in (height, width)
            )
            found = np.zeros((rows + 1, columns + 1))
            for i in range(rows + 1):
                low, high = part[: height - i], part[i:]
                for j in range(columns + 1):
                    if math.gcd(i, j) == 1:
                        falls = high[:, j:] - low[:, : width - j]
                        crosses = high[:, : width - j] - low[:, j:]
                        found[i, j] = max(falls.max(), -falls.min(), crosses.max(), -crosses.min())
            error = ROUNDING * (1 + float(np.abs(part).max()))
            slopes = (found + error) / np.maximum(
                np.hypot(np.arange(rows + 1)[:, None], np.arange(columns + 1)[None, :]), 1
            )
            worst = max(worst, float(slopes.max()))
        return math.nextafter(worst, math.inf)

    def slope(self) -> float:
        """Nats per cell of distance: the worst over all reports and pairs of cells, rounded up."""
        if not self.few:
            return self.steepest()
        height, width = self.quarter.shape
        place = np.stack(np.divmod(np.arange(height * width), width), axis=1).astype(np.float64)
        logs = (np.vectorize(natural, otypes=[np.float64])(part) for part in self.exact())
        rows = np.array([row.ravel() for row in self._reports(*logs)])
        return worst_slope_of(rows, apart(place))[0]


@dataclass(frozen=True, eq=False)
class Rounded:
    """Whole numbers plus noise on every axis, Pr(noise j) = masses[j + reach] / 2**(64 words): approximate privacy, no ratio.

    ``deviation``: of the noise, in steps.
    """

    examined: ClassVar[str] = "sums of normal odds, bounded from above"

    masses: np.ndarray
    words: int
    deviation: float

    @property
    def reach(self) -> int:
        return len(self.masses) // 2

    @classmethod
    def normal(cls, deviation: float, reach: int) -> Rounded:
        """exp(-j^2 / (2 deviation^2)) for |j| <= reach, by decimal arithmetic; 0 takes the rounding."""
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

    def floats(self) -> np.ndarray:
        """The masses as probabilities in double precision."""
        return floats(self.masses, 1 << 64 * self.words)

    def divergence(self, epsilon: float, shifts: np.ndarray) -> float:
        """A bound just above the largest sum_j max(0, Pr(j) - e^epsilon Pr(j + v)) over shifts v (s, d) of noise on d axes.

        Where both are possible Pr(j + v) / Pr(j) = exp(-(2 v.j + |v|^2) / (2 deviation^2)): with normal noise only the number v.j counts. On
        several axes it is rounded to one of 2^10 numbers, to the side that diverges more. Noise so far out that j + v lies beyond the
        reach counts whole. Sums of double precision are off by less than what is added at the end.
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
    """Outcomes with sums rounded up to at most 2^10 numbers."""
    low, high = float(sum_.min()), float(sum_.max())
    if sum_.size <= 2**10 or low == high:
        return chance, sum_
    width = (high - low) / 2**10
    place = np.ceil((sum_ - low) / width).astype(np.int64)
    return np.bincount(place, chance), low + np.arange(int(place.max()) + 1) * width


@dataclass(frozen=True, eq=False)
class Independent:
    """Several reports, independent given the value, or each of an attribute of its own: odds multiply."""

    examined: ClassVar[str] = "part by part"

    parts: tuple[Law, ...]

    def ratio(self) -> Fraction:
        ratios = [part.ratio() for part in self.parts]
        return INFINITE if INFINITE in ratios else math.prod(ratios, start=Fraction(1))


def _unfold(quarter: np.ndarray) -> np.ndarray:
    half = np.concatenate([quarter[:0:-1], quarter])
    return np.concatenate([half[:, :0:-1], half], axis=1)


@dataclass(frozen=True)
class Keyed:
    """A key and a value: a person's own key is sent w.p. keep with a report of her value, every other key w.p. other with one of ``cells`` dummies.

    ``apart``: every key sends or is silent by itself; else one key is sent in all, keep + (d - 1) other = 1.
    """

    examined: ClassVar[str] = "key by key, exactly"

    keep: Fraction
    other: Fraction
    value: TwoLevel
    cells: int
    apart: bool

    def ratio(self) -> Fraction:
        """Two values of one key differ by the value's law. Values of two keys differ in what those two send, or in which of the two is sent."""
        dummy = self.other / self.cells
        own, lacking = self.keep * self.value.high / dummy, dummy / (self.keep * self.value.low)
        silent = (1 - self.keep) / (1 - self.other)
        between = max(own, silent) * max(lacking, 1 / silent) if self.apart else max(own, lacking)
        return max(between, self.value.ratio())


Law = (
    TwoLevel
    | OneHotBits
    | GuardedBits
    | Table
    | Steps
    | Displacements
    | Rounded
    | Independent
    | Keyed
)


def log_worst(law: Law) -> float:
    """Nats between any two values: the logarithm of a law's worst ratio, rounded up."""
    return law.epsilon(law.most) if isinstance(law, Steps) else epsilon_of(law.ratio())


def worst_ratio(table: np.ndarray, above: np.ndarray | None = None) -> Fraction:
    """The largest ratio within a row of exact probabilities (m, K), or INFINITE; over ``above`` (K,) values only, if given."""
    return worst_pair(table, above)[0]


def worst_pair(
    table: np.ndarray, above: np.ndarray | None = None
) -> tuple[Fraction, int, int, int]:
    """The same, and where: the first such row, the value under which it is likeliest and the one under which it is least."""
    worst, place = Fraction(1), 0
    chosen = np.arange(table.shape[1]) if above is None else np.flatnonzero(above)
    for y, (high, low) in enumerate(
        zip(table[:, chosen].max(axis=1), table.min(axis=1), strict=True)
    ):
        if high and not low:
            worst, place = INFINITE, y
            break
        if high * worst.denominator > low * worst.numerator:
            worst, place = Fraction(high) / Fraction(low), y
    if not len(table):
        return worst, 0, 0, 0
    return worst, place, int(chosen[np.argmax(table[place, chosen])]), int(np.argmin(table[place]))


def worst_slope(table: np.ndarray, distances: np.ndarray) -> tuple[float, int, int, int]:
    """The smallest epsilon with A[y, x] <= exp(epsilon d(x, x')) A[y, x'] for all, of exact probabilities (m, K), and where.

    ``distances`` (K, K), in whatever unit epsilon is per. Logarithms are taken to double precision and the result is moved up by
    what that can be off, then once more to the next float.
    """
    possible = table != 0
    ruled_out = possible.any(axis=1) & ~possible.all(axis=1)
    if ruled_out.any():
        y = int(np.argmax(ruled_out))
        return math.inf, y, int(np.argmax(table[y])), int(np.argmin(table[y]))
    return worst_slope_of(
        np.vectorize(natural, otypes=[np.float64])(table[possible.all(axis=1)]), distances
    )


def apart(points: np.ndarray) -> np.ndarray:
    """Euclidean distances (K, K) of points (K, d)."""
    out: np.ndarray = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    return out


def floats(masses: np.ndarray, total: int) -> np.ndarray:
    """Integer masses over ``total`` as probabilities in double precision."""
    out: np.ndarray = np.vectorize(lambda v: v / total, otypes=[np.float64])(masses)
    return out


def fractions(masses: np.ndarray, total: int) -> np.ndarray:
    """The same exactly, as Fractions."""
    out: np.ndarray = np.vectorize(lambda v: Fraction(v, total), otypes=[object])(masses)
    return out


def whole(table: np.ndarray) -> tuple[np.ndarray, int]:
    """Exact probabilities as integers over one denominator, and that: integers add and compare fast.

    >>> whole(np.array([Fraction(1, 2), Fraction(1, 3)], dtype=object))
    (array([3, 2], dtype=object), 6)
    """
    exact = table.ravel().tolist()
    total = math.lcm(*{v.denominator for v in exact})
    out = np.empty(len(exact), dtype=object)
    out[:] = [v.numerator * (total // v.denominator) for v in exact]
    return out.reshape(table.shape), total


def worst_slope_of(logs: np.ndarray, distances: np.ndarray) -> tuple[float, int, int, int]:
    """The same from the logarithms of probabilities, to double precision."""
    distances = np.where(distances > 0, distances, np.inf)
    worst, where = -math.inf, (0, 0, 0)
    for y, row in enumerate(logs):
        slopes = (row[:, None] - row[None, :] + ROUNDING * (1 + np.abs(row).max())) / distances
        if (top := float(slopes.max())) > worst:
            x, other = np.unravel_index(int(np.argmax(slopes)), slopes.shape)
            worst, where = top, (y, int(x), int(other))
    return math.nextafter(worst, math.inf), *where


# A few units in the last place: what logarithms and a difference of two can be off, relative to their size.
ROUNDING = 1e-15


def image(table: np.ndarray, sensitive: np.ndarray) -> np.ndarray:
    """The reports (m,) that some sensitive value can make, of a table of probabilities (m, K)."""
    return np.asarray((table[:, sensitive] > 0).any(axis=1), dtype=bool)


def violation(
    table: np.ndarray, sensitive: np.ndarray, protected: np.ndarray, names: list[str] | None = None
) -> str | None:
    """What breaks the first condition of ULDP, if anything: an unprotected report names one non-sensitive value [P2 eq 4].

    ``names``: what values are called, their indices if not given.
    """
    names = [f"number {x}" for x in range(table.shape[1])] if names is None else names
    for y in np.flatnonzero(~protected):
        makers = np.flatnonzero(table[y] > 0)
        if len(makers) > 1:
            return (
                f"unprotected report {y} comes from {names[makers[0]]} and from {names[makers[1]]}"
            )
        if len(makers) and sensitive[makers[0]]:
            return f"unprotected report {y} comes from the sensitive value {names[makers[0]]}"
    return None


def epsilon_of(ratio: Fraction) -> float:
    """The logarithm of a worst ratio, rounded up; infinity for INFINITE."""
    return math.inf if ratio == INFINITE else log_ratio(ratio, 1)
