"""Hadamard and projective geometry response: a report is one number, a point of a geometry."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.checks import integer, show
from warner._core.errors import ArgumentError
from warner._core.exact import ONE, check_representable, divide, down, exp
from warner._core.projective_space import (
    ProjectiveBlocks,
    ProjectiveSpace,
    count_points,
    is_prime,
    next_prime,
    previous_prime,
)
from warner._core.sampling import Source
from warner.channels import HadamardChannel, ProjectiveBlocksChannel, ProjectiveChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import number, program
from warner.privacy.report_laws import TwoProbabilities
from warner.reports.rules import smallest_dtype
from warner.reports.schema import IntegerColumns


class HadamardResponse(Mechanism):
    """Hadamard response: an index y in 0..B-1 whose Hadamard sign is +1 more often than -1.

        Pr(report y | value x) = 2 p / B if (-1)^popcount(y & (x + 1)) = +1, else 2 (1 - p) / B
        p = e / (e + 1),   e = exp(epsilon)

    B is the smallest power of two above K. popcount counts the bits of an integer that are 1, and &
    is the bitwise and. So the sign is the entry of the Hadamard matrix of order B in row x + 1 and
    column y. Row 0 is not used, because it is constant.

    This is the form for high privacy. For epsilon above 1 take SubsetSelection or, with one short
    index as well, ProjectiveGeometryResponse: with 100 values the error of this form is 1.3 times
    that of subset selection at epsilon 1, and 14 times at epsilon 4.

    Args:
        domain: K values.
        epsilon: budget in nats.

    Raises:
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Acharya, Sun and Zhang (2019), the form for high privacy.

    >>> from warner import Integers
    >>> HadamardResponse(Integers(0, 99), 1.0).order
    128
    """

    references = ("acharya2019",)

    schema: IntegerColumns
    law: TwoProbabilities

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        e = exp(self.requested)
        agree = divide(e, e + 1)
        check_representable(self.requested, 1 - agree)
        self._agree = down(agree)
        self.order = 1 << domain.size.bit_length()
        self.schema = IntegerColumns(("report",), (self.order,))
        half = self.order // 2
        self.law = TwoProbabilities(
            Fraction(self._agree, ONE * half), Fraction(ONE - self._agree, ONE * half)
        )
        self.check_realisable()

    def thresholds(self) -> dict[str, str]:
        return {"agree": hex(self._agree)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        dtype = smallest_dtype(self.order)
        row = index.astype(dtype)
        row += dtype.type(1)
        y = source.uniform(self.order, len(index), dtype)
        differs = np.bitwise_count(y & row)
        differs &= np.uint8(1)
        # Flipping the lowest bit of y that the row selects maps either half onto the other one to
        # one, so y stays uniform within its half.
        flip = differs == source.below(self._agree, len(index)).view(np.uint8)
        y ^= (row & -row) * flip
        return {"report": y}

    def _program(self) -> dict[str, Any]:
        fields = {"order": self.order, "agree": number(self._agree)}
        return program("hadamard", {"size": self.domain.size, **fields})

    def channel(self) -> HadamardChannel:
        gap = (self.law.high - self.law.low) * (self.order // 2)
        return HadamardChannel(self.domain.size, self.order, float(gap))

    def probabilities(self) -> np.ndarray:
        agrees = (
            np.bitwise_count(
                np.arange(self.order)[:, None] & np.arange(1, self.domain.size + 1)[None, :]
            )
            & 1
            == 0
        )
        return self.law.table(agrees)


# -----------------------------------------------------------------------------------------------
# Projective geometry response.


_LARGEST_TABLE = 2**25  # counts of a tally, the number of different reports
_LARGEST_PRIME = 257  # of several blocks; q / (q - 1) is at most 0.4 % above 1 beyond it
# The error of one block, times this, is compared with that of several. One block has a two-level
# law, of which estimators know more, so several blocks must save 3 %.
_WORTH = 0.97


class ProjectiveGeometryResponse(Mechanism):
    """Projective geometry response: a point of PG(t-1, q), preferably orthogonal to the value's.

        Pr(y | x) = e p0 where the points y and x are orthogonal, else p0
        p0 = 1 / (s e + m - s),   e = exp(epsilon)
        m = (q^t - 1) / (q - 1),   s = (q^(t-1) - 1) / (q - 1),   c = (q^(t-2) - 1) / (q - 1)

    Reports are the m points, and values are the first K of them. t >= 2 is the least number with
    m >= K. A report supports a value with probability p if it is the true one, else with q':

        p = s e p0,   q' = (s + c (e - 1)) p0

    because any two values share exactly c reports. A report is one number of about log2(K) bits,
    up to log2(q) more.

    The squared error of large domains is (e + q - 1)^2 / (4 e (q - 1)) times that of subset
    selection, which is least at q = e + 1. As q is a prime, it can be 3.1 % larger: at q = 2 or 3
    if e = sqrt(2), and at q = 3 or 5 if e = sqrt(8).

    The hybrid variant divides the values among h blocks, each with a space of its own. Reports are
    the h m points of all blocks, so p0 = 1 / (s e + h m - s), and points of different blocks are
    never orthogonal. Its squared error is least near h q = e + 1, and q / (q - 1) times as large as
    at one block there. It serves where the primes of one block fit badly: where the sizes of spaces
    leave gaps, or where the best prime makes more than 2^25 reports.

    By default there is one block, unless several blocks err at least 3 % less. From 256 values and
    e^2 <= K the excess over subset selection is below 3.5 %. Otherwise t is small, and the sizes of
    spaces leave gaps, with one block or several: the excess reaches 25 % from 5 values on, 33 % for
    4 values, and 100 % for 2.

    Args:
        domain: K values.
        epsilon: budget in nats.
        prime: q; None for the prime with the least squared error.
        blocks: h; None for one if ``prime`` is given, else for the choice above.

    Attributes:
        prime: q.
        dimension: t.
        blocks: h.

    Raises:
        ArgumentError: a number that is not a prime, blocks without values, or more than 2^25
            different reports.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Feldman, Nelson, Nguyen and Talwar (2022).

    >>> from warner import Integers
    >>> mechanism = ProjectiveGeometryResponse(Integers(0, 99), 1.5)
    >>> mechanism.prime, mechanism.dimension, mechanism.n_reports
    (5, 4, 156)
    """

    references = ("feldman2022",)

    schema: IntegerColumns
    law: TwoProbabilities

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        prime: int | None = None,
        blocks: int | None = None,
    ) -> None:
        super().__init__(domain, epsilon)
        e = exp(self.requested)
        if blocks is not None:
            blocks = _checked_blocks(blocks, domain.size)
        if prime is not None:
            checked = _checked_prime(prime)
            self._points = _blocks_of(checked, domain.size, blocks or 1)
        else:
            self._points = _best_blocks(domain.size, float(e), blocks)
        self.prime, self.dimension = self._points.prime, self._points.dimension
        self.blocks = self._points.count
        points, supported = self._points.reports, self._points.space.orthogonal
        if points > _LARGEST_TABLE:
            rule = (
                f"would make {points:,} different reports, but a tally counts at most "
                f"{_LARGEST_TABLE:,}"
            )
            remedy = "Leave out the argument prime, or use HadamardResponse"
            raise ArgumentError("prime", rule, str(self.prime), remedy)
        include = divide(supported * e, supported * e + points - supported)
        check_representable(self.requested, min(include, 1 - include))
        self._include = down(include)
        self.schema = IntegerColumns(("report",), (points,))
        self.law = TwoProbabilities(
            Fraction(self._include, ONE * supported),
            Fraction(ONE - self._include, ONE * (points - supported)),
        )
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        several = {"blocks": self.blocks} if self.blocks > 1 else {}
        return {"prime": self.prime, **several}

    def thresholds(self) -> dict[str, str]:
        return {"include": hex(self._include)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        include = source.below(self._include, len(index))
        return {"report": self._points.draw(index, include, source)}

    def _program(self) -> dict[str, Any]:
        points = {"prime": self.prime, "dimension": self.dimension, "blocks": self.blocks}
        fields = {"size": self.domain.size, **points, "include": number(self._include)}
        return program("projective", fields)

    def channel(self) -> ProjectiveChannel | ProjectiveBlocksChannel:
        size, high, low = self.domain.size, float(self.law.high), float(self.law.low)
        if self.blocks == 1:
            return ProjectiveChannel(size, self._points.space, high, low)
        return ProjectiveBlocksChannel(size, self._points, high, low)

    def probabilities(self) -> np.ndarray:
        reports, values = np.arange(self._points.reports), np.arange(self.domain.size)
        return self.law.table(self._points.are_orthogonal(reports[:, None], values[None, :]))


def squared_error(space: ProjectiveSpace, size: int, e: float) -> float:
    """sum_x V_x + sum_x theta_x^2 of one report: the squared error that is to be least.

    >>> round(squared_error(ProjectiveSpace(2, 2), 2, 3.0), 3)
    3.5
    """
    supported, common = space.orthogonal, space.common
    none = 1 / (supported * e + space.points - supported)
    other = (supported + common * (e - 1)) * none
    gap = (supported - common) * (e - 1) * none
    # K q' (1 - q') / (p - q')^2 + (1 - 2 q') / (p - q')
    return size * other * (1 - other) / gap**2 + (1 - 2 * other) / gap


def squared_error_of_blocks(points: ProjectiveBlocks, e: float) -> float:
    """:func:`squared_error` of several blocks, where each block has the same share of the people.

    >>> one = ProjectiveBlocks(3, 3, 1, 13)
    >>> round(squared_error_of_blocks(one, 3.0) / squared_error(one.space, 13, 3.0), 12)
    1.0
    """
    space, size, each = points.space, points.size, points.each
    s, c, m = space.orthogonal, space.common, space.points
    none = 1 / (s * e + points.reports - s)
    gain = none * (e - 1)
    ratio, scale = c / s, 1 / ((s - c) * gain)
    base = -scale * none * (s - ratio * m)
    on, off, outside = ((base + scale * weight) ** 2 for weight in (1 - ratio, -ratio, 0.0))
    # With Theta = k / K for the k values of a block, the sums over x of Pr(a report supports x) and
    # of Pr(a report is in the block of x) are K s p0 + d ((s - c) + c k) and K m p0 + d s k, where
    # d = p0 (e - 1).
    supports = size * s * none + gain * (s - c + c * each)
    within = size * m * none + gain * s * each
    return on * supports + off * (within - supports) + outside * (size - within)


def _blocks_of(prime: int, size: int, count: int) -> ProjectiveBlocks:
    """Blocks over a prime, each the smallest space with at least its share of the values."""
    each, dimension = -(-size // count), 2
    while count_points(prime, dimension) < each:
        dimension += 1
    return ProjectiveBlocks(prime, dimension, count, size)


def _best_blocks(size: int, e: float, count: int | None) -> ProjectiveBlocks:
    """The blocks with the least squared error, of those whose reports a tally can count."""
    one = [_blocks_of(prime, size, 1) for prime in set(_primes(size, e))]
    several = list(_several_blocks(size, e, count)) if count != 1 else []
    best: list[tuple[float, int, ProjectiveBlocks]] = []
    for choice, factor in ((one if count in (None, 1) else [], _WORTH), (several, 1.0)):
        affordable = [points for points in choice if points.reports <= _LARGEST_TABLE]
        best += [
            (factor * squared_error_of_blocks(points, e), points.reports, points)
            for points in affordable
        ]
    if not best:
        rule = f"is too large: it would need more than {_LARGEST_TABLE:,} different reports"
        remedy = "Use HadamardResponse, or merge values"
        raise ArgumentError("domain", rule, f"{size:,} values", remedy)
    return min(best, key=lambda candidate: candidate[:2])[2]


def _several_blocks(size: int, e: float, count: int | None) -> Iterator[ProjectiveBlocks]:
    """Blocks among which the best are: beside h q = e + 1, and beside full blocks."""
    prime = 2
    # The factor q / (q - 1) is almost 1 for larger primes.
    while prime <= min(_LARGEST_PRIME, 2 * size):
        best = round((e + 1) / prime) if e < _LARGEST_TABLE * prime else size
        for dimension in range(2, 27):
            full = -(-size // count_points(prime, dimension))
            near = {full, full + 1, best, best + 1, best - 1} if count is None else {count}
            for h in near:
                if max(full, 2) <= h <= size:
                    points = _blocks_of(prime, size, h)
                    if points.dimension == dimension:
                        yield points
            if full == 1:
                break
        prime = next_prime(prime + 1)


def _primes(size: int, e: float) -> Iterator[int]:
    """Primes among which the best one is: for each t, those beside the least error."""
    dimension, above = 2, 2 * size + 2
    while above > 2:
        least = _least_order(size, dimension, above)
        low, high = least, above
        # The error of one t falls in q and then rises, so bisection finds its minimum.
        while low < high:
            middle = (low + high) // 2
            here, next_ = (ProjectiveSpace(q, dimension) for q in (middle, middle + 1))
            if squared_error(here, size, e) <= squared_error(next_, size, e):
                high = middle
            else:
                low = middle + 1
        yield max(previous_prime(low), next_prime(least))
        yield next_prime(low)
        dimension, above = dimension + 1, least


def _least_order(size: int, dimension: int, most: int) -> int:
    """The least q >= 2 with at least K points in PG(t-1, q), by bisection below ``most``."""
    low, high = 2, most
    while low < high:
        middle = (low + high) // 2
        if count_points(middle, dimension) >= size:
            high = middle
        else:
            low = middle + 1
    return low


def _checked_prime(prime: int) -> int:
    number = integer("prime", prime, 2, _LARGEST_TABLE)
    if not is_prime(number):
        remedy = f"Pass {next_prime(number)}, for example"
        raise ArgumentError("prime", "must be a prime number", show(number), remedy)
    return number


def _checked_blocks(blocks: int, size: int) -> int:
    number = integer("blocks", blocks, 1, size)
    in_block = -(-size // number)
    filled = -(-size // in_block)
    if filled < number:
        rule = (
            f"is too large, because {size} values fill only {filled} blocks of up to {in_block} "
            "values"
        )
        raise ArgumentError("blocks", rule, show(number), f"Pass {filled}")
    return number
