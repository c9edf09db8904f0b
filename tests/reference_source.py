"""A source of given random words, one 64-bit word for each decision.

The samplers of mechanisms draw random words in large blocks and look at as few bits as a decision
needs. A program in another language cannot repeat that word for word. So this source defines a slow
reference: every decision takes one whole word, in the order in which the sampler asks. A mechanism
that randomises one person's answer with it is the reference sampler of its mechanism.
docs/device_programs.md states the same for readers, and tests/vectors has known answers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from warner._core.errors import EmptyError
from warner._core.sampling import Edges, Source

_WORD = 2**64


class ReferenceSource(Source):
    """Given words, one for each decision.

        below        true where u < T
        uniform      u // floor(2^64 / b), drawn again where it is b or more
        cells        the cell of u, drawn again beyond the last cell
        among        the cell of an integer of k words, the most significant word first
        bits         one word for each bit, the first bit first

    A decision with a single outcome, ``uniform(1)``, takes no word.

    Args:
        words: integers in 0..2^64 - 1.

    Attributes:
        used: how many words were taken.

    Raises:
        EmptyError: a decision after the last word.

    >>> source = ReferenceSource([2**63, 5, 2**64 - 1, 7])
    >>> source.below(2**63, 2).tolist(), source.uniform(3, 1).tolist(), source.used
    ([False, True], [0], 4)
    """

    one_at_a_time = True

    def __init__(self, words: Iterable[int]) -> None:
        super().__init__(None)
        self._given = iter(words)
        self.used = 0

    @property
    def simulated(self) -> bool:
        return True

    def words(self, n: int, dtype: Any) -> np.ndarray:
        """Return the next ``n`` words, uint64 (n,); other types are words of no decision."""
        assert np.dtype(dtype) == np.uint64
        return np.array(self._next(n), dtype=np.uint64)

    def _next(self, n: int) -> list[int]:
        words = [int(word) for word in islice(self._given, n)]
        self.used += len(words)
        if len(words) < n:
            rule = "are used up: the decision needs one word more"
            raise EmptyError("words", rule, str(self.used), "Pass more words")
        return words

    def _one(self) -> int:
        return self._next(1)[0]

    def below(self, threshold: int, n: int, more: tuple[int, ...] = ()) -> np.ndarray:
        """Booleans (n,): u < T. Where u = T, the next word is compared with the next part of T."""
        return np.array([self._below(threshold, more) for _ in range(n)], dtype=bool)

    def _below(self, threshold: int, more: tuple[int, ...]) -> bool:
        for digits in (threshold, *more):
            u = self._one()
            if u != digits:
                return u < digits
        return False

    def below_each(self, thresholds: np.ndarray) -> np.ndarray:
        """Booleans (n,): u < T, with a threshold for each."""
        return np.array([self._below(int(t), ()) for t in thresholds], dtype=bool)

    def among(self, edges: Edges, n: int) -> np.ndarray:
        """The cells (n,) of integers of k words, the most significant word first."""
        cells = np.empty(n, dtype=np.int64)
        for i in range(n):
            whole = 0
            for word in self._next(edges.words):
                whole = whole << 64 | word
            cells[i] = bisect_right(edges.exact, whole)
        return cells

    def bits(self, threshold: int, size: int) -> np.ndarray:
        """``size`` bytes of bits, each 1 where u < T; the first bit is the highest of a byte."""
        return np.packbits([self._below(threshold, ()) for _ in range(8 * size)])

    def uniform(self, bound: int, n: int, dtype: Any = np.int64) -> np.ndarray:
        """Integers (n,) in 0..bound-1: u // floor(2^64 / bound), again where this is too large."""
        return np.array([self._uniform(bound) for _ in range(n)], dtype)

    def _uniform(self, bound: int) -> int:
        if bound == 1:
            return 0
        width = _WORD // bound
        while (number := self._one() // width) >= bound:
            pass
        return number

    def uniform_each(self, bounds: np.ndarray) -> np.ndarray:
        """Integers (n,), the i-th in 0..bounds[i]-1, as by :meth:`uniform`."""
        return np.array([self._uniform(int(bound)) for bound in bounds], dtype=np.int64)

    def cells(self, width: int, count: int, last: int, n: int) -> np.ndarray:
        """Cells, int32 (n,), of words: ``count`` of one width, then one of the width ``last``."""
        total = count * width + last
        cells = np.empty(n, dtype=np.int32)
        for i in range(n):
            while (u := self._one()) >= total:
                pass
            cells[i] = min(u // width, count)
        return cells
