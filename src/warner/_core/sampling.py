"""Sources of random words, and exact samplers.

Every sampler compares uniform 64-bit integers U with integer thresholds T, so an event has exactly
the probability T / 2^64. Bits are drawn only as far as a comparison needs them. The first 16 bits
decide U < T except in one case of 65,536, where the other 48 are drawn. The probabilities are those
of the full comparison, at a quarter of the random bits.
"""

from __future__ import annotations

import math
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

import numpy as np

from warner._core import randomness
from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.exact import doubling
from warner._core.progress import in_blocks

_LOW48 = 2**48 - 1
# Binary digits of a threshold that are compared at a time: for all bits, and for undecided bits.
_DENSE_STEPS = 5
_SPARSE_STEPS = 3
_TABLE_BYTES = 2**13  # random bytes from which a table is worth building
_BYTE_BLOCK = 2**16  # bytes at a time, so that the arrays fit the cache
_WORD_BLOCK = 2**13  # 64-bit words at a time
# With more cells, most 16-bit prefixes belong to two cells, and a table decides little.
_TABLE_CELLS = 2**14
_TABLE_DRAWS = 2**12  # draws from which a table is worth building
_RARE = 6.0  # nats from which successes of a trial are rare enough to repeat the trial
# Changes of the answer between neighbours in the order of their words: with fewer expected, chance
# could leave out three of four.
_FEWEST_CHANGES = 100
_COMPARED = 2**13  # people whose answers are compared with the words that come next
_BINS = 64  # of answers that are numbers from 0 to 1
# Generators whose raw numbers are the uniform 64-bit words; the Mersenne twister's have 32 bits.
_OF_WORDS = (np.random.PCG64, np.random.PCG64DXSM, np.random.SFC64, np.random.Philox)


@dataclass(frozen=True, eq=False)
class Edges:
    """Consecutive cells of the integers 0..2^(64 words) - 1.

    ``exact`` has their ends, but not of the last cell and of empty cells at the end; ``heads`` has
    the upper 64 bits of these ends.
    """

    exact: list[int]
    words: int
    heads: np.ndarray

    @classmethod
    def of(cls, widths: Sequence[int]) -> Edges:
        """Return cells of the given widths, which sum to a power of 2^64."""
        *exact, total = accumulate(widths)
        words = (total.bit_length() - 1) // 64
        assert total == 1 << 64 * words
        # Empty cells at the end would begin beyond the last integer.
        exact = [edge for edge in exact if edge < total]
        return cls(
            exact, words, np.array([edge >> 64 * (words - 1) for edge in exact], dtype=np.uint64)
        )


class Source:
    """Uniform random words, from the operating system or from a generator for simulations.

    Args:
        rng: the generator; None for the operating system.
        name: what people gave the generator or its seed by, in messages.

    Raises:
        ArgumentTypeError: something else.

    >>> Source(np.random.default_rng(1)).words(2, np.uint8).shape
    (2,)
    """

    # Whether decisions are drawn one after the other, so that no method is chosen by its speed.
    one_at_a_time = False

    def __init__(self, rng: np.random.Generator | None, name: str = "rng") -> None:
        if rng is not None and not isinstance(rng, np.random.Generator):
            rule = (
                "must be a numpy.random.Generator, or None for the randomness of the operating "
                "system"
            )
            remedy = "For a repeatable simulation pass numpy.random.default_rng(seed)"
            raise ArgumentTypeError(name, rule, kind(rng), remedy)
        self._rng, self._name = rng, name

    @property
    def simulated(self) -> bool:
        """Whether the words come from a generator, whose words can be repeated."""
        return self._rng is not None

    def words(self, n: int, dtype: Any) -> np.ndarray:
        """Return ``n`` independent uniform words (n,) of an unsigned dtype, in a writable array."""
        size = np.dtype(dtype).itemsize
        if self._rng is None:
            # Samplers write into the array, and bytes would be read-only.
            return np.frombuffer(bytearray(randomness.system_bytes(n * size)), dtype=dtype)
        whole, bits = -(-n * size // 8), self._rng.bit_generator
        if isinstance(bits, _OF_WORDS):
            # The words that integers() returns, at a tenth of its fixed cost.
            words = bits.random_raw(whole)
        else:
            words = self._rng.integers(0, 2**64 - 1, whole, dtype=np.uint64, endpoint=True)
        return np.asarray(words.view(dtype)[:n])

    def require_other_answers(self, encoded: np.ndarray) -> None:
        """Refuse answers (n,) that were drawn from the words that come next.

        Of two generators with one seed, each person's answer and noise would come from one word.
        ``choice`` gives each value an interval of that word, so that in the order of the words
        neighbours nearly all have one answer.
        """
        if self._rng is None or encoded.ndim != 1 or len(encoded) < _FEWEST_CHANGES:
            return
        answers = encoded[:_COMPARED]
        if answers.dtype.kind == "f":
            answers = np.floor(answers * _BINS)
        often = np.unique(answers, return_counts=True)[1]
        expected = len(answers) - float(often @ often) / len(answers)
        if expected < _FEWEST_CHANGES:
            return
        in_order = answers[np.argsort(deepcopy(self._rng).random(len(answers)))]
        if np.count_nonzero(in_order[1:] != in_order[:-1]) < expected / 4:
            rule = (
                "must not use the seed with which the answers were drawn, because the noise would "
                "then depend on the answers"
            )
            remedy = "Give another number"
            if self._name == "rng":
                remedy = "Pass numpy.random.default_rng with another seed"
            raise ArgumentError(self._name, rule, None, remedy)

    def below(self, threshold: int, n: int, more: tuple[int, ...] = ()) -> np.ndarray:
        """Return booleans (n,), each true with probability exactly threshold / 2^64."""
        head = self.words(n, np.uint16)
        pivot = threshold >> 48
        result = head < pivot
        tied = np.flatnonzero(head == pivot)
        if tied.size:
            low = self.words(tied.size, np.uint64) >> 16
            result[tied] = low < (threshold & _LOW48)
            tied = tied[low == (threshold & _LOW48)]
            if more and tied.size:
                result[tied] = self.below(more[0], tied.size, more[1:])
        return result

    def below_each(self, thresholds: np.ndarray) -> np.ndarray:
        """Return booleans (n,), the i-th true with probability exactly thresholds[i] / 2^64.

        The random words drawn and the operations do not tell the thresholds.
        """
        head = self.words(len(thresholds), np.uint16)
        pivot = (thresholds >> np.uint64(48)).astype(np.uint16)
        result = head < pivot
        tied = np.flatnonzero(head == pivot)
        if tied.size:
            result[tied] = self.words(tied.size, np.uint64) >> np.uint64(16) < (
                thresholds[tied] & np.uint64(_LOW48)
            )
        return result

    def among(self, edges: Edges, n: int) -> np.ndarray:
        """Return the cells (n,) of uniform integers: each with its share of the width."""
        u = self.words(n, np.uint64)
        cells = np.searchsorted(edges.heads, u, side="right")
        for i in (
            np.flatnonzero(edges.heads[np.maximum(cells, 1) - 1] == u)
            if edges.words > 1 and edges.heads.size
            else ()
        ):
            rest = int.from_bytes(self.words(edges.words - 1, np.uint64).tobytes(), "little")
            cells[i] = bisect_right(edges.exact, int(u[i]) << 64 * (edges.words - 1) | rest)
        return cells

    def geometric(self, ratio: int, n: int) -> np.ndarray:
        """Return integers G >= 0, int64 (n,), with Pr(G >= k) = a^k and a = ratio / 2^64.

        The binary digits of G are independent, and are drawn up to the j at which a^(2^j) is small.
        The rest is geometric in steps of 2^j, and is counted by trials that mostly fail at once.
        """
        total = np.zeros(n, dtype=np.int64)
        digits, (first, *more) = geometric_digits(ratio)
        for digit, (head, *tail) in enumerate(digits):
            total += self.below(head, n, tuple(tail)) * np.int64(2**digit)
        going = np.arange(n)
        while going.size:
            going = going[self.below(first, going.size, tuple(more))]
            total[going] += 2 ** len(digits)
        return total

    def bits(self, threshold: int, size: int) -> np.ndarray:
        """Return ``size`` bytes of independent bits, each 1 with probability threshold / 2^64.

        A byte takes 2 random bytes, and 8 more in about one case of 250. So the operating system's
        randomness, about 0.4 GB a second, takes most of the time. Few bytes take about 8 random
        bytes each: many digits for a word of outcomes, of which most need two.
        """
        if threshold >= 2**64:
            return np.full(size, 0xFF, dtype=np.uint8)
        if threshold <= 0:
            return np.zeros(size, dtype=np.uint8)
        return (
            self._bits_by_byte(threshold, size)
            if size >= _TABLE_BYTES
            else self._bits_by_digit(threshold, size)
        )

    def _bits_by_byte(self, threshold: int, size: int) -> np.ndarray:
        """Eight bits at a time: the cell of a 512-bit integer among 256 cells, one for each byte.

        The width of a cell is the probability of its byte. The first 16 bits find the cell in a
        table, except in about one case of 250. The first 64 bits find it, except in one case of
        2^56, where whole integers are compared.
        """
        table, edges, exact = _byte_table(threshold)
        out = np.empty(size, dtype=np.uint8)
        places, numbers = [], []
        for start in range(0, size, _BYTE_BLOCK):
            block = out[start : start + _BYTE_BLOCK]
            head = self.words(block.size, np.uint16)
            code = _looked_up(table, head)
            block[:] = code
            open_ = np.flatnonzero(code < 0)
            low = self.words(open_.size, np.uint64) >> np.uint64(16)
            places.append(open_ + start)
            numbers.append(head[open_].astype(np.uint64) << np.uint64(48) | low)
        u = np.concatenate(numbers)
        codes = np.searchsorted(edges, u, side="right")
        for i in np.flatnonzero(edges[np.maximum(codes, 1) - 1] == u):
            rest = int.from_bytes(self.words(7, np.uint64).tobytes(), "little")
            codes[i] = bisect_right(exact, int(u[i]) << 448 | rest)
        out[np.concatenate(places)] = codes
        return out

    def _bits_by_digit(self, threshold: int, size: int) -> np.ndarray:
        """Digit by digit, without a table, for few bits.

        U < T is decided from the most significant binary digit down, for 64 outcomes in one word. A
        digit in which U and T differ decides an outcome; equal digits leave it open. After five
        digits one outcome in 32 is open, and only the bytes with open outcomes go on.
        """
        words = -(-size // 8)
        value = np.zeros(words, dtype=np.uint64)
        still = np.full(words, 2**64 - 1, dtype=np.uint64)
        digit = self._compare(threshold, 63, _DENSE_STEPS, value, still)
        settled = value.view(np.uint8)[:size]
        open_ = still.view(np.uint8)[:size]
        where: np.ndarray | None = None
        while digit >= 0:
            pending = np.flatnonzero(open_)
            if not pending.size:
                break
            where = pending if where is None else where[pending]
            chosen, open_ = settled[where], open_[pending]
            digit = self._compare(threshold, digit, _SPARSE_STEPS, chosen, open_)
            settled[where] = chosen
        return settled

    def _compare(
        self, threshold: int, digit: int, steps: int, value: np.ndarray, still: np.ndarray
    ) -> int:
        """Compare ``steps`` binary digits in place; return the next digit, or -1 at the end."""
        for _ in range(steps):
            # The remaining digits of T are 0, so outcomes equal to T so far cannot be below it.
            if digit < 0 or threshold & ((2 << digit) - 1) == 0:
                return -1
            equal = still & self.words(still.size, still.dtype)
            if threshold >> digit & 1:
                value |= still ^ equal
                np.copyto(still, equal)
            else:
                still ^= equal
            digit -= 1
        return digit

    def uniform(self, bound: int, n: int, dtype: Any = np.int64) -> np.ndarray:
        """Return integers (n,) of a dtype, exactly uniform on 0..bound-1, by rejection."""
        if bound == 1:
            return np.zeros(n, dtype)
        word, top = (
            (np.uint16, 2**16)
            if bound <= 2**12
            else (np.uint32, 2**32)
            if bound <= 2**28
            else (np.uint64, 2**64)
        )
        width = top // bound
        result = self.words(n, word)
        result //= word(width)
        # The cells of a power of two fill the word.
        while width * bound < top and (redo := np.flatnonzero(result >= word(bound))).size:
            result[redo] = self.words(redo.size, word) // word(width)
        return result.astype(dtype, copy=False)

    def uniform_each(self, bounds: np.ndarray) -> np.ndarray:
        """Return integers (n,), the i-th exactly uniform on 0..bounds[i]-1, by rejection.

        One word is drawn for each integer, also where the bound is 1. Another word is drawn with a
        probability below bound / 2^64.
        """
        bounds = bounds.astype(np.uint64)
        width = np.uint64(2**64 - 1) // bounds
        result = self.words(len(bounds), np.uint64) // width
        while (redo := np.flatnonzero(result >= bounds)).size:
            result[redo] = self.words(redo.size, np.uint64) // width[redo]
        return result.astype(np.int64)

    def cells(self, width: int, count: int, last: int, n: int) -> np.ndarray:
        """Return the cells (n,) of uniform 64-bit integers U, of an unsigned dtype.

        Cells 0..count-1 have the width ``width``, and cell ``count`` has the width ``last``. U
        beyond the last cell is drawn again, so the probability of a cell is its width divided by
        count * width + last. The dtype holds count + 2.
        """
        if n < _TABLE_DRAWS or count > _TABLE_CELLS:
            code = _cell(self.words(n, np.uint64), width, count, last)
            redo = np.flatnonzero(code > count) if count * width + last < 2**64 else _NONE
        else:
            head = self.words(n, np.uint16)
            code = _looked_up(_cell_table(width, count, last), head)
            redo = np.flatnonzero(code > count)
            open_ = redo[code[redo] == count + _OPEN]
            if open_.size:
                low = self.words(open_.size, np.uint64) >> np.uint64(16)
                code[open_] = _cell(
                    head[open_].astype(np.uint64) << np.uint64(48) | low, width, count, last
                )
            redo = redo[code[redo] > count]
        while redo.size:
            code[redo] = _cell(self.words(redo.size, np.uint64), width, count, last)
            redo = redo[code[redo] > count]
        return code


def geometric_digits(ratio: int) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """The thresholds of a geometric number G with Pr(G >= k) = a^k and a = ratio / 2^64.

    >>> digits, rest = geometric_digits(2**63)
    >>> len(digits), hex(rest[0])
    (4, '0x1000000000000')
    """
    digits: list[tuple[int, ...]] = []
    nats = -math.log(ratio / 2**64)
    while 2 ** len(digits) * nats < _RARE:
        digits.append(doubling(ratio, len(digits))[0])
    return digits, doubling(ratio, len(digits))[1]


# What is no cell, as numbers after ``count``: several cells, and beyond the last cell.
_OPEN, _BEYOND = 1, 2
_NONE = np.empty(0, dtype=np.intp)


def _cell(u: np.ndarray, width: int, count: int, last: int) -> np.ndarray:
    """The cells of 64-bit integers, count + _BEYOND after the last cell."""
    code = np.empty(len(u), dtype=np.min_scalar_type(count + _BEYOND))
    total = count * width + last
    for block in (slice(i, i + _WORD_BLOCK) for i in range(0, len(u), _WORD_BLOCK)):
        cell = u[block] // np.uint64(width)
        code[block] = np.minimum(cell, np.uint64(count), out=cell)
        if total < 2**64:
            code[block][u[block] >= np.uint64(total)] = count + _BEYOND
    return code


def _looked_up(table: np.ndarray, head: np.ndarray) -> np.ndarray:
    """The entries (n,) of a table at 16-bit prefixes; numpy's indices of 64 bits fit the cache."""
    out = np.empty(len(head), table.dtype)
    for block in (slice(i, i + _WORD_BLOCK) for i in range(0, len(head), _WORD_BLOCK)):
        np.take(table, head[block], out=out[block], mode="clip")  # all are in the table
    return out


@lru_cache(maxsize=64)
def _cell_table(width: int, count: int, last: int) -> np.ndarray:
    """The cell of all integers with a 16-bit prefix, count + _OPEN where they are in several."""
    first = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    low, high = (_cell(u, width, count, last) for u in (first, first | np.uint64(_LOW48)))
    table = np.where(low == high, low, np.array(count + _OPEN, low.dtype))
    table.setflags(write=False)
    return table


@lru_cache(maxsize=16)
def _byte_table(threshold: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Cells of 512-bit integers for bytes whose bits are 1 with probability T / 2^64.

    The cell of a byte with k ones has the width T^k (2^64 - T)^(8 - k).
    """
    exact = list(
        accumulate(
            threshold ** b.bit_count() * (2**64 - threshold) ** (8 - b.bit_count())
            for b in range(255)
        )
    )
    edges = np.array([edge >> 448 for edge in exact], dtype=np.uint64)
    # A prefix has several bytes if an edge is among its integers, but not at the first of them.
    heads = np.array([edge >> 496 for edge in exact])
    at_start = np.bincount(
        heads[[edge & (1 << 496) - 1 == 0 for edge in exact]], minlength=2**16 + 1
    )[: 2**16]
    prefix = np.arange(2**16)
    first = np.searchsorted(heads, prefix, side="left") + at_start
    table = np.where(first == np.searchsorted(heads, prefix, side="right"), first, -1).astype(
        np.int16
    )
    table.setflags(write=False)
    return table, edges, exact


# -----------------------------------------------------------------------------------------------
# Uniform random subsets as packed bits, by exact integer arithmetic on random words.
#
# Two methods draw subsets of m of N items. Both are exactly uniform, and a rule of cost chooses.
#
# - Floyd's algorithm takes one step for each member, for all subsets at once.
# - For many members, each item enters on its own with a probability slightly below m / N. Items
#   drawn uniformly then enter a subset with too few members and leave one with too many, until it
#   has m. No step prefers one item to another, so the subset is uniform, whatever the probability
#   is.


_SET_BYTES = 2**18  # bytes of subsets at a time, so that they fit the cache
_SETS = 2**8, 2**13  # subsets at a time, where they are large: filled up, and by Floyd's algorithm
_FEW, _CHOICES = 8, 2**16  # members and draws of subsets for which there may be a table
_MASKS = (128 >> np.arange(8)).astype(np.uint8)
# How far the expected number of members lies below the wanted one, in standard deviations.
_MARGIN = 1.0
# Measured costs of one byte of independent bits and of one item that fills up, in steps of Floyd's
# algorithm for one subset; and of the calls of one step, and of filling up, whatever n is.
_BYTE, _FILL = 0.38, 3.7
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
    if size == 0:
        return np.zeros((len(fewer), width), dtype=np.uint8)
    if 2 * size > total + 1:
        # The complements are smaller: total - size members, or one more.
        others = uniform_subsets(source, total, total - size + 1, ~fewer, width)
        others ^= _items(total, width)
        return others
    n = len(fewer)
    packed = np.zeros((n, width), dtype=np.uint8)
    fills = not source.one_at_a_time and _fills_up(total, size, n)
    draw = _fill_up if fills else _floyd
    for block in in_blocks(n, max(_SETS[not fills], _SET_BYTES // width)):
        draw(source, total, size, fewer[block], packed[block])
    return packed


def _items(total: int, width: int) -> np.ndarray:
    """The set of all items as packed bits (width,)."""
    return np.packbits(np.arange(8 * width) < total)


def _below(total: int, size: int) -> float:
    """How far the expected number of independent members lies below the wanted one."""
    return _MARGIN * math.sqrt(size * (total - size) / total)


def _fills_up(total: int, size: int, n: int) -> bool:
    """Whether independent bits, filled up, cost less than Floyd's algorithm for n subsets."""
    floyd = size * (1 + _STEP_CALLS / max(1, min(n, _SETS[1])))
    filling = total / 8 * _BYTE + _below(total, size) * _FILL + _FILL_CALLS / max(1, n)
    return filling < floyd


def _floyd(source: Source, total: int, size: int, fewer: np.ndarray, packed: np.ndarray) -> None:
    """Floyd's algorithm, in place: ``size`` draws, or one less for subsets with one member less."""
    n, width = packed.shape
    bounds = range(total - size + 1, total + 1)
    # Those with one member less draw no first item, which is written as one more item.
    choices = (bounds[0] + 1) * math.prod(bounds[1:]) if size < _FEW else _CHOICES + 1
    by_table = choices <= min(_CHOICES, 4 * n)
    dtype = np.min_scalar_type(choices - 1) if by_table else np.dtype(np.int64)
    number, first = np.full(n, bounds[0], dtype), np.flatnonzero(~fewer)
    number[first] = source.uniform(bounds[0], first.size, dtype)
    others = (source.uniform(bound, n, dtype) for bound in bounds[1:])
    if not by_table:
        _enter_draws(total, size, chain([number], others), packed)
        return
    for bound, drawn in zip(bounds[1:], others, strict=True):
        number *= dtype.type(bound)
        number += drawn
    packed[:] = np.take(_floyd_table(total, size, width), number, axis=0)


@lru_cache(maxsize=8)
def _floyd_table(total: int, size: int, width: int) -> np.ndarray:
    """The subsets of all draws of Floyd's algorithm, uint8 (choices, width)."""
    first, *bounds = range(total - size + 1, total + 1)
    draws = np.indices((first + 1, *bounds)).reshape(size, -1)
    table = np.zeros((draws.shape[1], width), dtype=np.uint8)
    _enter_draws(total, size, draws, table)
    table.setflags(write=False)
    return table


def _enter_draws(total: int, size: int, draws: Iterable[np.ndarray], packed: np.ndarray) -> None:
    """The steps of Floyd's algorithm, in place, from the items that were drawn in each."""
    n, width = packed.shape
    flat, base = packed.reshape(-1), np.arange(0, n * width, width)
    for top, drawn in enumerate(draws, total - size):
        rows = np.flatnonzero(drawn <= top) if top == total - size else slice(None)
        start, item = base[rows], drawn[rows]
        where, mask = start + (item >> 3), _MASKS[item & 7]
        before = flat[where]
        flat[where] = before | mask
        # Where the item is a member already, the last item enters instead.
        flat[start[before & mask != 0] + (top >> 3)] |= _MASKS[top & 7]


def _fill_up(source: Source, total: int, size: int, fewer: np.ndarray, packed: np.ndarray) -> None:
    """Independent bits, which uniform items bring to the wanted sizes, in place."""
    n, width = packed.shape
    words = -(-width // 8)
    sizes = size - fewer.astype(np.int64)
    threshold = (int((size - _below(total, size)) * 2**16) << 48) // total
    sets = source.bits(threshold, n * words * 8).view(np.uint64).reshape(-1, words)
    sets &= _items(total, 8 * words).view(np.uint64)
    lacking = sizes - _sizes(sets)
    # One byte for each item, so that items may enter or leave at once, and one of them twice.
    flat = np.unpackbits(sets.view(np.uint8).reshape(-1))
    members = flat.reshape(n, -1)
    while lacking.any():
        few, many = np.flatnonzero(lacking > 0), np.flatnonzero(lacking < 0)
        other = np.concatenate([few, many])
        # Of the items that leave, only one in total / size is a member. Where more leave than
        # should, others enter in the next turn.
        draws = np.concatenate([lacking[few], lacking[many] * -(total // size)])
        places = np.repeat(other * members.shape[1], draws)
        places += source.uniform(total, len(places), np.int32)
        entering = int(draws[: few.size].sum())
        flat[places[:entering]] = 1
        flat[places[entering:]] = 0
        some = slice(None) if 2 * other.size > n else other  # all together is quicker for many
        sets = np.packbits(members[some].reshape(-1)).view(np.uint64).reshape(-1, words)
        lacking[some] = sizes[some] - _sizes(sets)
    packed[:] = np.packbits(flat).reshape(n, -1)[:, :width]


def _sizes(sets: np.ndarray) -> np.ndarray:
    """The numbers of members (m,) of sets as 64-bit words (m, words)."""
    out: np.ndarray = np.einsum("ij->i", np.bitwise_count(sets), dtype=np.int64)
    return out


# -----------------------------------------------------------------------------------------------
# Uniform random orders of rows, in memory or on disk.
#
# The order of the rows in a file can tell whose report is whose, so reports are written in a random
# order. All orders are exactly equally likely. The random words drawn and the bytes stored and read
# depend on the number of rows and their width, never on their contents.


_SHUFFLED = 2**21  # rows in memory at a time
_PERMUTED = 2**18  # rows from a file that are permuted at a time, so that they fit the cache
_BYTES = 2**26  # bytes in memory at a time
_BUCKETS = 2**12  # random parts into which the rows of a file are divided


def rows_at_a_time(width: int, most: int) -> int:
    """Return the number of rows of ``width`` bytes to hold at a time, from 1 to ``most``."""
    return max(1, min(most, _BYTES // max(width, 1)))


def permutation(source: Source, n: int) -> np.ndarray:
    """Return a uniform permutation of 0..n-1, (n,).

    Each index gets one of 2^32 places, drawn uniformly. The indices are sorted by place, and
    indices with the same place are permuted again.
    """
    low, high = source.words(n, np.uint16), source.words(n, np.uint16)
    # Integers of 16 bits are sorted by their bytes, in a time that does not depend on them.
    order = np.argsort(low, kind="stable")
    order = order[np.argsort(high[order], kind="stable")]
    key = (high.astype(np.uint32) << 16 | low)[order]
    shared = np.flatnonzero(key[1:] == key[:-1])
    if shared.size:
        first = shared[np.diff(shared, prepend=-2) > 1]
        for start in first.tolist():
            stop = int(np.searchsorted(key, key[start], side="right"))
            order[start:stop] = order[start:stop][permutation(source, stop - start)]
    return order


class Pieces:
    """Collects rows and passes them on in pieces of a fixed size, and the rest at the end."""

    def __init__(self, rows: int, width: int, take: Callable[[np.ndarray], None]) -> None:
        """Make an empty collector."""
        self._take = take
        self._rows = rows
        self._held = np.empty((0, width), np.uint8)
        self._filled = 0

    @property
    def rest(self) -> np.ndarray:
        """The rows that were not passed on yet, fewer than a piece."""
        return self._held[: self._filled]

    def add(self, rows: np.ndarray) -> None:
        """Collect rows, (n, width) uint8."""
        done = 0
        while done < len(rows):
            step = min(self._rows - self._filled, len(rows) - done)
            self._grow(self._filled + step)
            self._held[self._filled : self._filled + step] = rows[done : done + step]
            self._filled += step
            done += step
            if self._filled == self._rows:
                self._take(self._held)
                self._filled = 0

    def _grow(self, needed: int) -> None:
        """Make room for ``needed`` rows, by doubling, so that few rows need little memory."""
        if needed > len(self._held):
            larger = np.empty(
                (min(self._rows, max(needed, 2 * len(self._held))), self._held.shape[1]), np.uint8
            )
            larger[: self._filled] = self.rest
            self._held = larger

    def flush(self) -> None:
        """Pass the rest on."""
        if self._filled:
            self._take(self.rest)
            self._filled = 0


class Shuffle:
    """Takes rows of bytes and gives them back in a uniformly random order.

    Each row of a piece that fills the memory gets a uniformly random bucket. The piece is sorted by
    bucket and written to an unnamed temporary file. At the end a few buckets at a time are read
    from all pieces, and their rows are permuted in memory.
    """

    def __init__(self, width: int, source: Source, folder: str) -> None:
        """Make an empty shuffle."""
        self._width = width
        self._source = source
        self._folder = folder
        self._rows = rows_at_a_time(width, _SHUFFLED)
        self._pieces = Pieces(self._rows, width, self._store)
        self._file: tempfile._TemporaryFileWrapper[bytes] | None = None
        # The position of each piece in the file.
        self._starts: list[int] = []
        # For each piece the first row of each bucket, (buckets + 1,).
        self._bounds: list[np.ndarray] = []

    def add(self, rows: np.ndarray) -> None:
        """Take in rows, (n, width) uint8."""
        self._pieces.add(rows)

    def _store(self, rows: np.ndarray) -> None:
        """Write a piece to the file, sorted by random buckets."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".warner-")  # type: ignore[assignment]  # noqa: SIM115
        assert self._file is not None
        bucket = self._source.words(len(rows), np.uint16) & (_BUCKETS - 1)
        order = np.argsort(bucket, kind="stable")
        self._starts.append(self._file.tell())
        sizes = np.bincount(bucket, minlength=_BUCKETS)
        self._bounds.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32))
        self._file.write(rows[order].data)

    def shuffled(self) -> Iterator[np.ndarray]:
        """Return all rows in a uniformly random order, in parts (m, width) uint8 for the memory."""
        if self._file is None:
            rest = self._pieces.rest
            if len(rest):
                yield rest[permutation(self._source, len(rest))]
            return
        self._pieces.flush()
        bounds = np.array(self._bounds, dtype=np.int64)
        total = bounds.sum(axis=0)
        most = rows_at_a_time(self._width, _PERMUTED)
        first = 0
        while first < _BUCKETS:
            last = max(
                first + 1, int(np.searchsorted(total, total[first] + most, side="right")) - 1
            )
            block = np.empty((int(total[last] - total[first]), self._width), np.uint8)
            filled = 0
            for start, bound in zip(self._starts, bounds, strict=True):
                size = int(bound[last] - bound[first])
                self._file.seek(start + int(bound[first]) * self._width)
                block[filled : filled + size] = np.frombuffer(
                    self._file.read(size * self._width), np.uint8
                ).reshape(size, self._width)
                filled += size
            yield block[permutation(self._source, len(block))]
            first = last

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()
            self._file = None
