"""Where random bits come from, and the exact samplers made of them.

Every sampler is a function of uniform 64-bit integers U and integer thresholds T: an event has probability exactly
T / 2**64. Bits are drawn only as far as the comparison needs them. The first 16 bits settle U < T except in one case of
65,536, where the remaining 48 are drawn: the law is that of the full comparison, at a quarter of the randomness.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentTypeError,
    message,
)
from warner._core.exact import doubling

_LOW48 = 2**48 - 1
_DENSE_STEPS = 5  # binary digits of a threshold that are compared for all bits at once, before the undecided are gathered
_SPARSE_STEPS = 3
_TABLE_BYTES = 2**13  # fewer random bytes than this do not repay their table
_BYTE_BLOCK = 2**16  # bytes at a time, so that the working arrays stay in the cache
_TABLE_CELLS = (
    2**14
)  # beyond it most 16-bit prefixes straddle two cells and a look-up decides nothing
_TABLE_DRAWS = 2**12  # fewer draws than this do not repay building the table
_RARE = 6.0  # nats at which a trial succeeds rarely enough to be repeated


@dataclass(frozen=True, eq=False)
class Edges:
    """Consecutive cells of 0..2**(64 words): where all but the last end (``exact``), and the upper 64 bits of that."""

    exact: list[int]
    words: int
    heads: np.ndarray

    @classmethod
    def of(cls, widths: Sequence[int]) -> Edges:
        """Cells of the given widths, which sum to a power of 2**64."""
        *exact, total = accumulate(widths)
        words = (total.bit_length() - 1) // 64
        assert total == 1 << 64 * words
        # Trailing cells of width 0 would begin at the very end.
        exact = [edge for edge in exact if edge < total]
        return cls(
            exact, words, np.array([edge >> 64 * (words - 1) for edge in exact], dtype=np.uint64)
        )


class Source:
    """Uniform random words: the operating system's, or those of a generator given for simulation.

    >>> Source(np.random.default_rng(1)).words(2, np.uint8).shape
    (2,)
    """

    def __init__(self, rng: np.random.Generator | None) -> None:
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise ArgumentTypeError(
                message(
                    "rng",
                    "must be None (the operating system's randomness) or a numpy.random.Generator",
                    kind(rng),
                    "For a repeatable simulation pass numpy.random.default_rng(seed)",
                )
            )
        self._rng = rng

    @property
    def simulated(self) -> bool:
        """Whether the words come from a generator, which can be repeated, and not from the operating system."""
        return self._rng is not None

    def words(self, n: int, dtype: Any) -> np.ndarray:
        """``n`` independent uniform words of an unsigned dtype, shape (n,): an array that may be written to."""
        size = np.dtype(dtype).itemsize
        if self._rng is None:
            # A bytearray, because samplers write into what they draw: bytes would be read-only.
            return np.frombuffer(bytearray(os.urandom(n * size)), dtype=dtype)
        whole = -(-n * size // 8)
        return self._rng.integers(0, 2**64 - 1, whole, dtype=np.uint64, endpoint=True).view(dtype)[
            :n
        ]

    def below(self, threshold: int, n: int, more: tuple[int, ...] = ()) -> np.ndarray:
        """Booleans (n,), each true with probability exactly threshold / 2**64, to which ``more`` words of 64 bits can be appended."""
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
        """Booleans (n,), each true with probability exactly its own threshold / 2**64, of thresholds (n,) uint64.

        The same words are drawn, and the same operations done, whatever the thresholds are.
        """
        head, pivot = (
            self.words(len(thresholds), np.uint16),
            (thresholds >> np.uint64(48)).astype(np.uint16),
        )
        result = head < pivot
        tied = np.flatnonzero(head == pivot)
        if tied.size:
            result[tied] = self.words(tied.size, np.uint64) >> np.uint64(16) < (
                thresholds[tied] & np.uint64(_LOW48)
            )
        return result

    def among(self, edges: Edges, n: int) -> np.ndarray:
        """Which cell a uniform number falls in, (n,): cell i with probability exactly its width."""
        u = self.words(n, np.uint64)
        found = np.searchsorted(edges.heads, u, side="right")
        for i in (
            np.flatnonzero(edges.heads[np.maximum(found, 1) - 1] == u)
            if edges.words > 1 and edges.heads.size
            else ()
        ):
            rest = int.from_bytes(self.words(edges.words - 1, np.uint64).tobytes(), "little")
            found[i] = bisect_right(edges.exact, int(u[i]) << 64 * (edges.words - 1) | rest)
        return found

    def geometric(self, ratio: int, n: int) -> np.ndarray:
        """Whole numbers G >= 0, int64 (n,), with Pr(G >= k) = (ratio / 2**64)**k.

        By binary digits, which are independent, until a^(2^j) is small; what lies beyond is geometric in steps of 2^j, counted by
        trials that mostly fail at once.
        """
        total = np.zeros(n, dtype=np.int64)
        digit, nats = 0, -math.log(ratio / 2**64)
        while 2**digit * nats < _RARE:
            (first, *more), _ = doubling(ratio, digit)
            total += self.below(first, n, tuple(more)) * np.int64(2**digit)
            digit += 1
        _, (first, *more) = doubling(ratio, digit)
        going = np.arange(n)
        while going.size:
            going = going[self.below(first, going.size, tuple(more))]
            total[going] += 2**digit
        return total

    def bits(self, threshold: int, size: int) -> np.ndarray:
        """``size`` bytes of independent bits, each 1 with probability exactly threshold / 2**64."""
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
        """Eight bits at a time: the cell of a 512-bit number among 256 cells as long as the bytes are likely.

        16 bits find the cell by table except in about one case of 250, 64 bits do except in one of 2**56; what is left is
        compared in whole integers.
        """
        table, edges, exact = _byte_table(threshold)
        out = np.empty(size, dtype=np.uint8)
        for start in range(0, size, _BYTE_BLOCK):
            part = out[start : start + _BYTE_BLOCK]
            head = self.words(part.size, np.uint16)
            code = np.take(table, head)
            part[:] = code
            open_ = np.flatnonzero(code < 0)
            u = head[open_].astype(np.uint64) << np.uint64(48) | self.words(
                open_.size, np.uint64
            ) >> np.uint64(16)
            found = np.searchsorted(edges, u, side="right")
            tied = np.flatnonzero(edges[np.maximum(found, 1) - 1] == u)
            for i in tied:
                rest = int.from_bytes(self.words(7, np.uint64).tobytes(), "little")
                found[i] = bisect_right(exact, int(u[i]) << 448 | rest)
            part[open_] = found
        return out

    def _bits_by_digit(self, threshold: int, size: int) -> np.ndarray:
        """Digit by digit, without a table to build: for few bits.

        U < T is decided from the most significant binary digit down, for 64 outcomes in one word at a time: a digit
        where they differ settles an outcome (1 if T has the one), equal digits leave it open. After five digits one
        outcome in 32 is open; those bytes are gathered and go on alone.
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
            part, open_ = settled[where], open_[pending]
            digit = self._compare(threshold, digit, _SPARSE_STEPS, part, open_)
            settled[where] = part
        return settled

    def _compare(
        self, threshold: int, digit: int, steps: int, value: np.ndarray, still: np.ndarray
    ) -> int:
        """Compare ``steps`` more binary digits in place; the next digit, or -1 when all is decided."""
        for _ in range(steps):
            # No one left in T: outcomes still equal to it so far cannot be below it.
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

    def uniform(self, bound: int, n: int) -> np.ndarray:
        """Integers (n,) exactly uniform on 0..bound-1, as int64, by rejection."""
        if bound == 1:
            return np.zeros(n, dtype=np.int64)
        dtype, top = (
            (np.uint16, 2**16)
            if bound <= 2**12
            else (np.uint32, 2**32)
            if bound <= 2**28
            else (np.uint64, 2**64)
        )
        width = top // bound
        result = (self.words(n, dtype) // dtype(width)).astype(np.int64)
        while (redo := np.flatnonzero(result >= bound)).size:
            result[redo] = self.words(redo.size, dtype) // dtype(width)
        return result

    def uniform_each(self, bounds: np.ndarray) -> np.ndarray:
        """Integers (n,), each exactly uniform on 0..bound-1 of its own bound, by rejection; bounds (n,) int64, at least 1.

        One word is drawn for each, also where the bound is 1, and another one with a probability below bound / 2**64.
        """
        bounds = bounds.astype(np.uint64)
        width = np.uint64(2**64 - 1) // bounds
        result = self.words(len(bounds), np.uint64) // width
        while (redo := np.flatnonzero(result >= bounds)).size:
            result[redo] = self.words(redo.size, np.uint64) // width[redo]
        return result.astype(np.int64)

    def cells(self, width: int, count: int, last: int, n: int) -> np.ndarray:
        """Which cell a 64-bit U falls in, int32 (n,): 0..count-1 of ``width`` each, then one of width ``last``, code ``count``.

        U beyond the last cell is drawn again, so that probabilities are widths over count * width + last.
        """
        if n < _TABLE_DRAWS or count > _TABLE_CELLS:
            code = _cell(self.words(n, np.uint64), width, count, last)
        else:
            head = self.words(n, np.uint16)
            code = np.take(_cell_table(width, count, last), head)
            open_ = np.flatnonzero(code == _OPEN)
            if open_.size:
                low = self.words(open_.size, np.uint64) >> np.uint64(16)
                code[open_] = _cell(
                    head[open_].astype(np.uint64) << np.uint64(48) | low, width, count, last
                )
        while (redo := np.flatnonzero(code == _BEYOND)).size:
            code[redo] = _cell(self.words(redo.size, np.uint64), width, count, last)
        return code


_OPEN, _BEYOND = -1, -2


def _cell(u: np.ndarray, width: int, count: int, last: int) -> np.ndarray:
    code = np.minimum(u // np.uint64(width), np.uint64(count)).astype(np.int32)
    if (total := count * width + last) < 2**64:
        code[u >= np.uint64(total)] = _BEYOND
    return code


@lru_cache(maxsize=64)
def _cell_table(width: int, count: int, last: int) -> np.ndarray:
    """The cell that a 16-bit prefix settles, _OPEN where it leaves the cell open."""
    first = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    low, high = (_cell(u, width, count, last) for u in (first, first | np.uint64(_LOW48)))
    table = np.where(low == high, low, _OPEN).astype(np.int32)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=16)
def _byte_table(threshold: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Bytes of eight bits that are 1 w.p. T / 2**64, as cells of 512 bits: byte b with k ones is T**k (2**64 - T)**(8 - k) long.

    Returns the byte that a 16-bit prefix settles (-1 where it does not), the upper 64 bits of the 255 inner edges, and
    those edges whole.
    """
    exact = list(
        accumulate(
            threshold ** b.bit_count() * (2**64 - threshold) ** (8 - b.bit_count())
            for b in range(255)
        )
    )
    edges = np.array([edge >> 448 for edge in exact], dtype=np.uint64)
    # A prefix leaves the byte open if an edge lies among the numbers that begin with it, other than at the first of them.
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
