"""Points of the projective space PG(t-1, q) as whole numbers, and which of them are orthogonal.

A point is a vector of t digits 0..q-1, up to a factor. The vector whose first non-zero digit is 1
stands for it, written as a number in base q. Points are counted in the order of these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from warner._core.sampling import Source


@dataclass(frozen=True)
class ProjectiveSpace:
    """The points of PG(t-1, q): (q^t - 1) / (q - 1) of them.

    Points u and v are orthogonal where sum_k u_k v_(t-1-k) = 0 modulo q, k the place of a digit
    from the last one. Thereby v is read backwards, and its last non-zero digit is 1. Equations for
    that digit then need no division.

    Args:
        prime: q.
        dimension: t, at least 2.

    Attributes:
        points: m, the number of points.
        orthogonal: s = (q^(t-1) - 1) / (q - 1), the points that are orthogonal to a point.
        common: c = (q^(t-2) - 1) / (q - 1), the points that are orthogonal to two points.

    >>> space = ProjectiveSpace(2, 3)
    >>> space.points, space.orthogonal, space.common
    (7, 3, 1)
    """

    prime: int
    dimension: int

    @property
    def points(self) -> int:
        return count_points(self.prime, self.dimension)

    @property
    def orthogonal(self) -> int:
        return count_points(self.prime, self.dimension - 1)

    @property
    def common(self) -> int:
        return count_points(self.prime, self.dimension - 2)

    @cached_property
    def _powers(self) -> np.ndarray:
        """q^r for r = 0..t-1: the least number of a point with r free digits."""
        return np.array([self.prime**r for r in range(self.dimension)], dtype=np.int64)

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The index of the first point with r free digits, (t,)."""
        return np.array(
            [count_points(self.prime, r) for r in range(self.dimension)], dtype=np.int64
        )

    def numbers(self, index: np.ndarray) -> np.ndarray:
        """The points at ``index`` (n,) as numbers in base q, int64 (n,)."""
        free = self.free_digits(index)
        return np.asarray(index - self._firsts[free] + self._powers[free])

    def free_digits(self, index: np.ndarray) -> np.ndarray:
        """The number of digits after the first non-zero one of points, (n,)."""
        return np.searchsorted(self._firsts, index, side="right") - 1

    def index_of(self, numbers: np.ndarray) -> np.ndarray:
        """The points with the given numbers in base q, whose first non-zero digit is 1, (n,)."""
        free = np.searchsorted(self._powers, numbers, side="right") - 1
        return np.asarray(numbers - self._powers[free] + self._firsts[free])

    def are_orthogonal(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Whether points are orthogonal; indices broadcast."""
        u, v, q = self.numbers(left), self.numbers(right), self.prime
        total = sum(
            (u // q**k % q) * (v // q ** (self.dimension - 1 - k) % q)
            for k in range(self.dimension)
        )
        return np.asarray(total % q == 0)

    def draw(self, index: np.ndarray, orthogonal: np.ndarray, source: Source) -> np.ndarray:
        """A point for each of n points, uniform among those that are orthogonal to it, or not.

        Let L be the place, from the first digit, that meets the last non-zero digit of v, which
        is 1. The other t - 1 digits w of u are drawn, and digit L follows from <u, v>.

        - Orthogonal: w is a uniform point of PG(t-2, q). If its first digit stands after L, the
          digits before L are 0, so digit L is 0 too. Thus the first non-zero digit of u is 1.
        - Not orthogonal: w is uniform among all q^(t-1) vectors. If a digit before L is not 0, the
          first such digit a becomes 1, and <u, v> = a. Otherwise <u, v> = 1, so digit L is 1. Both
          together reach each of the q^(t-1) points once.

        Shapes: index (n,), orthogonal (n,) -> (n,).
        """
        by_table = self.points**2 <= min(_TABLE, 4 * len(index))
        dtype = np.min_scalar_type(self.points**2) if by_table else np.dtype(np.int64)
        on, off = np.flatnonzero(orthogonal), np.flatnonzero(~orthogonal)
        drawn = np.empty(len(index), dtype)
        drawn[on] = source.uniform(self.orthogonal, on.size, dtype)
        others = source.uniform(self.prime ** (self.dimension - 1), off.size, dtype)
        if not by_table:
            drawn[off] = others
            return self.drawn_point(index, orthogonal, drawn)
        others += dtype.type(self.orthogonal)
        drawn[off] = others
        entry = index.astype(dtype)
        entry *= dtype.type(self.points)
        entry += drawn
        return np.take(_drawn_points(self), entry)

    def drawn_point(
        self, index: np.ndarray, orthogonal: np.ndarray, drawn: np.ndarray
    ) -> np.ndarray:
        """The point (n,) of each draw: of s points, or of the q^(t-1) that are not orthogonal."""
        q, t = self.prime, self.dimension
        v, free = self.numbers(index), self.free_digits(index)
        w = drawn.copy()
        w[orthogonal] = self.numbers(drawn[orthogonal])
        product = np.where(orthogonal, 0, 1)
        pending = ~orthogonal
        number, total = np.zeros_like(w), np.zeros_like(w)
        for j in range(t - 1):
            digit = w // q ** (t - 2 - j) % q
            before = j < free
            first = pending & before & (digit > 0)
            product[first] = digit[first]
            digit[first] = 1
            pending &= ~first
            total += np.where(before, digit * (v // q**j % q), 0)
            number += digit * np.where(before, q ** (t - 1 - j), q ** (t - 2 - j))
        number += (product - total) % q * self._powers[t - 1 - free]
        return self.index_of(number)


_TABLE = 2**20  # entries of a table of draws, which fit the cache


@lru_cache(maxsize=8)
def _drawn_points(space: ProjectiveSpace) -> np.ndarray:
    """The points of all draws of each point, (m * m,): s orthogonal ones, then the others."""
    index = np.repeat(np.arange(space.points), space.points)
    entry = np.tile(np.arange(space.points), space.points)
    orthogonal = entry < space.orthogonal
    drawn = np.where(orthogonal, entry, entry - space.orthogonal)
    table = space.drawn_point(index, orthogonal, drawn)
    table = table.astype(np.min_scalar_type(space.points))
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class ProjectiveBlocks:
    """Several copies of one projective space, called blocks, with the values divided among them.

    Report y is point y mod m of block y // m. Value x is point x mod k of block x // k, where
    k = ceil(K / h) is the number of values of a block, at most m. Points of different blocks are
    not orthogonal.

    Args:
        prime, dimension: q and t of each block.
        count: h, the number of blocks.
        size: K, the number of values.

    Attributes:
        space: the points of one block.
        each: k, the number of values of a block.
        reports: h m, the number of points of all blocks.

    >>> blocks = ProjectiveBlocks(2, 2, 2, 5)
    >>> blocks.reports, blocks.each, blocks.block_of(np.arange(5)).tolist()
    (6, 3, [0, 0, 0, 1, 1])
    """

    prime: int
    dimension: int
    count: int
    size: int

    @cached_property
    def space(self) -> ProjectiveSpace:
        return ProjectiveSpace(self.prime, self.dimension)

    @property
    def each(self) -> int:
        return -(-self.size // self.count)

    @property
    def reports(self) -> int:
        return self.count * self.space.points

    @property
    def orthogonal(self) -> int:
        """The reports that are orthogonal to a value."""
        return self.space.orthogonal

    def block_of(self, values: np.ndarray) -> np.ndarray:
        """The block of each value, (n,)."""
        return np.asarray(values // self.each)

    def are_orthogonal(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether reports and values are orthogonal points of one block; indices broadcast."""
        points = self.space.points
        inside = self.space.are_orthogonal(reports % points, values % self.each)
        return np.asarray(inside & (reports // points == values // self.each))

    def draw(self, index: np.ndarray, orthogonal: np.ndarray, source: Source) -> np.ndarray:
        """A report for each of n values, uniform among those that are orthogonal to it, or not.

        A report that is not orthogonal is one of h m - s. Of these, m - s are in the block of the
        value, and m in each of the h - 1 others.

        Shapes: index (n,), orthogonal (n,) -> (n,).
        """
        # Drawn for everyone, so that the number of random words is the same for all values.
        drawn = source.uniform(self.reports - self.space.orthogonal, len(index))
        if self.count == 1:
            return self.space.draw(index, orthogonal, source)
        points, block = self.space.points, index // self.each
        inside = orthogonal | (drawn < points - self.space.orthogonal)
        other, point = np.divmod(drawn - (points - self.space.orthogonal), points)
        other += other >= block
        in_block = block * points + self.space.draw(index % self.each, orthogonal, source)
        return np.where(inside, in_block, other * points + point)


def count_points(prime: int, dimension: int) -> int:
    """The number of points of the projective space on vectors of ``dimension`` digits.

    >>> [count_points(3, t) for t in range(4)]
    [0, 1, 4, 13]
    """
    return int((prime**dimension - 1) // (prime - 1))


def is_prime(number: int) -> bool:
    """Whether a number is prime, by division up to its root."""
    if number < 4:
        return number > 1
    return number % 2 > 0 and all(number % d for d in range(3, int(number**0.5) + 2, 2))


def next_prime(number: int) -> int:
    """The least prime that is at least ``number``."""
    while not is_prime(number):
        number += 1
    return number


def previous_prime(number: int) -> int:
    """The largest prime that is at most ``number``, at least 2."""
    while number > 2 and not is_prime(number):
        number -= 1
    return max(number, 2)
