"""Points of the projective space PG(t-1, q) as whole numbers, and which of them are orthogonal.

A point is a vector of t digits 0..q-1, up to a factor. The vector whose first non-zero digit is 1
stands for it, written as a number in base q. Points are counted in the order of these numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

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
        """Whether points are orthogonal; indices broadcast.

        >>> ProjectiveSpace(2, 2).are_orthogonal(np.arange(3)[:, None], np.arange(3)).tolist()
        [[True, False, False], [False, True, False], [False, False, True]]
        """
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
        q, t = self.prime, self.dimension
        v, place = self.numbers(index), self.free_digits(index)
        on, off = np.flatnonzero(orthogonal), np.flatnonzero(~orthogonal)
        w = np.empty(len(index), dtype=np.int64)
        w[on] = self.numbers(source.uniform(self.orthogonal, on.size))
        w[off] = source.uniform(q ** (t - 1), off.size)
        product = np.where(orthogonal, 0, 1)
        pending = ~orthogonal
        number, total = np.zeros_like(w), np.zeros_like(w)
        for j in range(t - 1):
            digit = w // q ** (t - 2 - j) % q
            before = j < place
            first = pending & before & (digit > 0)
            product[first] = digit[first]
            digit[first] = 1
            pending &= ~first
            total += np.where(before, digit * (v // q**j % q), 0)
            number += digit * np.where(before, q ** (t - 1 - j), q ** (t - 2 - j))
        number += (product - total) % q * self._powers[t - 1 - place]
        return self.index_of(number)


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
        points, block = self.space.points, index // self.each
        # Drawn for everyone, so that the number of random words is the same for all values.
        place = source.uniform(self.reports - self.space.orthogonal, len(index))
        inside = orthogonal | (place < points - self.space.orthogonal)
        other, point = np.divmod(place - (points - self.space.orthogonal), points)
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
    """Whether a number is prime, by division up to its root.

    >>> [n for n in range(14) if is_prime(n)]
    [2, 3, 5, 7, 11, 13]
    """
    if number < 4:
        return number > 1
    return number % 2 > 0 and all(number % d for d in range(3, int(number**0.5) + 2, 2))


def next_prime(number: int) -> int:
    """The least prime that is at least ``number``.

    >>> next_prime(8)
    11
    """
    while not is_prime(number):
        number += 1
    return number


def previous_prime(number: int) -> int:
    """The largest prime that is at most ``number``, at least 2.

    >>> previous_prime(8)
    7
    """
    while number > 2 and not is_prime(number):
        number -= 1
    return max(number, 2)


# -----------------------------------------------------------------------------------------------
# Uniform random subsets as packed bits, by exact integer arithmetic on random words.
#
# Two methods draw subsets of m of N items. Both are exactly uniform, and a rule of cost chooses.
#
# - Floyd's algorithm takes one step for each member, for all subsets at once.
# - For many members, each item enters on its own with a probability slightly below m / N, and items
#   drawn uniformly fill the subset up. A subset with too many members is drawn again. No step
#   prefers one item to another, so given its size the subset is uniform, whatever the
#   probability is.


_BLOCK = 2**18  # bytes of subsets at a time, so that they fit the cache
_ROWS = 2**8, 2**13  # subsets at a time, where they are large: filled up, and by Floyd's algorithm
_MASKS = (128 >> np.arange(8)).astype(np.uint8)
# How far the expected number of members lies below the wanted one, in standard deviations.
_MARGIN = 2.0
# Measured costs of one byte of independent bits and of one item that fills up, in steps of Floyd's
# algorithm for one subset; and of the calls of one step, and of filling up, whatever n is.
_BYTE, _FILL = 0.19, 3.9
_STEP_CALLS, _FILL_CALLS = 900, 15_000


def uniform_subsets(
    source: Source, total: int, size: int, fewer: np.ndarray, width: int
) -> np.ndarray:
    """Return subsets of the items 0..total-1 as packed bits, uint8 (n, width).

    Shapes: fewer (n,).

    >>> rng = np.random.default_rng(1)
    >>> found = uniform_subsets(Source(rng), 10, 4, np.array([False, True]), 2)
    >>> np.unpackbits(found, axis=1).sum(axis=1).tolist()
    [4, 3]
    """
    if 2 * size > total + 1:
        # The complements are smaller: total - size members, or one more.
        others = uniform_subsets(source, total, total - size + 1, ~fewer, width)
        others ^= _items(total, width)
        return others
    n = len(fewer)
    packed = np.zeros((n, width), dtype=np.uint8)
    fills = not source.one_at_a_time and _fills_up(total, size, n)
    draw = _fill_up if fills else _floyd
    rows = max(_ROWS[not fills], _BLOCK // width)
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        draw(source, total, size, fewer[part], packed[part])
    return packed


def _items(total: int, width: int) -> np.ndarray:
    """The set of all items as packed bits (width,)."""
    return np.packbits(np.arange(8 * width) < total)


def _spread(total: int, size: int) -> float:
    """The standard deviation of the number of members where items enter on their own."""
    return math.sqrt(size * (total - size) / total)


def _fills_up(total: int, size: int, n: int) -> bool:
    """Whether independent bits, filled up, cost less than Floyd's algorithm for n subsets."""
    missing = _MARGIN * _spread(total, size) + 1
    floyd = size * (1 + _STEP_CALLS / max(1, min(n, _ROWS[1])))
    filling = total / 8 * _BYTE + missing * _FILL + _FILL_CALLS / max(1, n)
    return missing < size and filling < floyd


def _floyd(source: Source, total: int, size: int, fewer: np.ndarray, packed: np.ndarray) -> None:
    """Floyd's algorithm, in place: ``size`` steps, or one less for subsets with one member less."""
    n, width = packed.shape
    flat, base = packed.reshape(-1), np.arange(n) * width
    for step in range(size):
        top = total - size + step
        rows = np.flatnonzero(~fewer) if step == 0 else slice(None)
        start = base[rows]
        drawn = source.uniform(top + 1, len(start))
        where, mask = start + (drawn >> 3), _MASKS[drawn & 7]
        before = flat[where]
        flat[where] = before | mask
        # Where the item is a member already, the last item enters instead.
        flat[start[before & mask != 0] + (top >> 3)] |= _MASKS[top & 7]


def _fill_up(source: Source, total: int, size: int, fewer: np.ndarray, packed: np.ndarray) -> None:
    """Independent bits, which uniform items fill up to the wanted sizes, in place."""
    n, width = packed.shape
    words = -(-width // 8)
    wanted = size - fewer.astype(np.int64)
    below = size - 1 - _MARGIN * _spread(total, size)
    threshold = (int(below * 2**16) << 48) // total
    items = _items(total, 8 * words).view(np.uint64)
    sets = np.empty((n, words), dtype=np.uint64)
    missing = np.full(n, -1, dtype=np.int64)
    while (redo := np.flatnonzero(missing < 0)).size:
        bits = source.bits(threshold, redo.size * words * 8).view(np.uint64).reshape(-1, words)
        bits &= items
        sets[redo] = bits
        missing[redo] = wanted[redo] - _sizes(bits)
    flat = sets.view(np.uint8).reshape(-1)
    while (short := np.flatnonzero(missing)).size:
        # As many items as are missing at most enter, so a set never has too many.
        start = np.repeat(short * (8 * words), missing[short])
        _enter(flat, start, source.uniform(total, len(start)))
        missing[short] = wanted[short] - _sizes(sets[short])
    packed[:] = sets.view(np.uint8)[:, :width]


def _enter(flat: np.ndarray, start: np.ndarray, drawn: np.ndarray) -> None:
    """Enter items into sets that begin at the bytes ``start``; an item may be drawn twice.

    Items at the same place within their bytes are entered together: then those that share a byte
    are the same item, and none is lost.
    """
    where, place = start + (drawn >> 3), (drawn & 7).astype(np.uint8)
    for bit in range(8):
        flat[where[place == bit]] |= _MASKS[bit]


def _sizes(sets: np.ndarray) -> np.ndarray:
    """The numbers of members (m,) of sets as 64-bit words (m, words)."""
    out: np.ndarray = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return out
