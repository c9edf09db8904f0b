"""Fast samplers against slow ones that compare whole 64-bit integers, on the same random words."""

from __future__ import annotations

import multiprocessing
import sys
from typing import ClassVar

import numpy as np
import pytest

from tests.registry import BOUNDARY_THRESHOLDS
from warner._core import randomness
from warner._core.sampling import _OPEN, Source, _byte_table, _cell_table

THRESHOLDS = [*BOUNDARY_THRESHOLDS, 2**64]


class Scripted(Source):
    """A source that plays given words back, so that the boundary of a threshold can be visited."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(None)
        self._words = words
        self._asked = 0

    def words(self, n: int, dtype: type) -> np.ndarray:
        """First the upper 16 bits of every word, then for the m words still open a 64-bit word with
        the lower 48 on top.
        """
        if dtype is np.uint16:
            return np.array([w >> 48 for w in self._words], dtype=np.uint16)
        assert dtype is np.uint64
        if n == len(self._words) and self._asked == 0 and self._whole:
            return np.array(self._words, dtype=np.uint64)
        self._asked += 1
        open_ = [w for w in self._words if self._is_open(w)]
        assert len(open_) == n
        return np.array([(w & 2**48 - 1) << 16 for w in open_], dtype=np.uint64)

    _whole = False

    def _is_open(self, word: int) -> bool:
        raise NotImplementedError


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_below_is_the_comparison_of_64_bits(threshold: int) -> None:
    around = {
        t for base in [*THRESHOLDS, threshold] for t in (base - 1, base, base + 1) if 0 <= t < 2**64
    }
    words = sorted(around)

    class Near(Scripted):
        def _is_open(self, word: int) -> bool:
            return word >> 48 == threshold >> 48

    result = Near(words).below(threshold, len(words))
    assert result.tolist() == [w < threshold for w in words]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 255, 1000])
@pytest.mark.parametrize("short", [0, 1, 5, 2**50])
def test_cells_by_table_are_cells_by_division(count: int, short: int) -> None:
    """At every edge, with 64 bits whole and by table; what lies beyond the last cell is drawn
    again, and only that.
    """
    width = 2**64 // (count + 2) + 1
    last = 2**64 - short - count * width
    edges = [k * width for k in range(count + 1)] + [2**64 - short]
    words = sorted({t for e in edges for t in (e - 1, e, e + 1) if 0 <= t < 2**64} | {0, 2**64 - 1})
    words = words * (5000 // len(words) + 1)  # enough draws for the table to be used
    beyond = sum(w >= 2**64 - short for w in words)
    table = _cell_table(width, count, last)

    class Near(Scripted):
        def _is_open(self, word: int) -> bool:
            return table[word >> 48] == count + _OPEN

        def words(self, n: int, dtype: type) -> np.ndarray:
            if dtype is np.uint64 and self._redrawing:
                assert n == beyond
                return np.zeros(n, dtype=np.uint64)
            out = super().words(n, dtype)
            self._redrawing = dtype is np.uint64
            return out

        _redrawing = False

    expected = [min(w // width, count) if w < 2**64 - short else 0 for w in words]
    assert Near(words).cells(width, count, last, len(words)).tolist() == expected
    direct = Near(words[:50])
    direct._whole = True
    beyond = sum(w >= 2**64 - short for w in words[:50])
    assert direct.cells(width, count, last, 50).tolist() == expected[:50]


def test_uniform_redraws_what_would_favour_the_first() -> None:
    """2**16 numbers do not divide into 5 equal parts: the one left over is drawn again, not folded
    onto a value.
    """

    class Top(Source):
        played = False

        def words(self, n: int, dtype: type) -> np.ndarray:
            assert dtype is np.uint16
            out = np.array(
                [65535, 65534, 0][:n] if not self.played else [13107] * n, dtype=np.uint16
            )
            assert not self.played or n == 1
            self.played = True
            return out

    assert Top(None).uniform(5, 3).tolist() == [1, 4, 0]


def test_the_systems_randomness_is_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warner._core.randomness.system_bytes", lambda n: bytes(range(n)))
    assert Source(None).words(4, np.uint8).tolist() == [0, 1, 2, 3]


def test_many_bytes_are_openssls_and_few_the_operating_systems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects bytes of one person that a copied virtual machine draws again, and a slow bulk."""
    monkeypatch.setattr("os.urandom", lambda n: bytes([7]) * n)
    few = randomness.system_bytes(randomness.BULK - 1)
    many = [randomness.system_bytes(randomness.BULK) for _ in range(2)]
    assert few == bytes([7]) * len(few) and many[0] != many[1]
    counts = np.bincount(np.frombuffer(randomness.system_bytes(2**20), np.uint8), minlength=256)
    assert abs(counts - 4096).max() < 7 * 64  # seven standard deviations
    # Without OpenSSL in Python, all bytes are the operating system's.
    randomness._bulk_bytes.cache_clear()
    monkeypatch.setitem(sys.modules, "ssl", None)
    try:
        assert randomness.system_bytes(randomness.BULK) == bytes([7]) * randomness.BULK
    finally:
        randomness._bulk_bytes.cache_clear()


def test_a_forked_process_draws_other_bytes() -> None:
    """Rejects a generator whose state two processes share."""
    first = randomness.system_bytes(randomness.BULK)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        drawn = pool.map(randomness.system_bytes, [randomness.BULK] * 4)
    assert len({first, randomness.system_bytes(randomness.BULK), *drawn}) == 6


class DigitVector(Source):
    """Plays back bits by binary digit: the k-th call is answered with the k-th digit of each
    outcome's word.
    """

    def __init__(self, outcomes: np.ndarray) -> None:
        super().__init__(None)
        self._outcomes = outcomes  # (bytes * 8,) uint64, most significant bit of each byte first
        self._digit = 63
        self._rows = np.arange(len(outcomes) // 8)

    def words(self, n: int, dtype: type) -> np.ndarray:
        bits = (
            self._outcomes.reshape(-1, 8)[self._rows] >> np.uint64(self._digit) & np.uint64(1)
        ).astype(np.uint8)
        packed = np.packbits(bits, axis=1).ravel()
        self._digit -= 1
        return packed.view(np.uint64) if np.dtype(dtype) == np.uint64 else packed

    def keep(self, rows: np.ndarray) -> None:
        self._rows = self._rows[rows]


@pytest.mark.parametrize("threshold", [t for t in THRESHOLDS if t < 2**64])
def test_packed_bits_are_comparisons_of_64_bits(
    threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    outcomes = rng.integers(0, 2**64 - 1, 64 * 8, dtype=np.uint64, endpoint=True)
    near = np.array(
        [
            t
            for t in (
                threshold - 1,
                threshold,
                threshold + 1,
                threshold ^ 1 << 40,
                threshold ^ 1 << 3,
            )
            if 0 <= t < 2**64
        ],
        dtype=np.uint64,
    )
    outcomes[:: 512 // len(near) + 1] = near[: len(outcomes[:: 512 // len(near) + 1])]
    source = DigitVector(outcomes)
    # The sampler gathers the bytes that are still open; the playback has to follow it.
    original = np.flatnonzero

    def following(a: np.ndarray) -> np.ndarray:
        found = original(a)
        source.keep(found)
        return found

    monkeypatch.setattr(np, "flatnonzero", following)
    packed = source.bits(threshold, 64)
    monkeypatch.undo()
    assert np.unpackbits(packed).tolist() == [int(v) < threshold for v in outcomes.tolist()]


@pytest.mark.parametrize("threshold", [t for t in THRESHOLDS if 0 < t < 2**64])
def test_bytes_by_table_are_cells_of_512_bits(threshold: int) -> None:
    """Around every edge between two bytes, with 64-bit ties on either side, the table path finds
    the byte that whole integers give.
    """
    weights = [
        threshold ** b.bit_count() * (2**64 - threshold) ** (8 - b.bit_count()) for b in range(256)
    ]
    edges = np.cumsum(np.array(weights, dtype=object)).tolist()
    assert edges[-1] == 2**512
    numbers = sorted(
        {
            e + d
            for e in edges[:-1]
            for d in (-1, 0, 1, -(1 << 448), 1 << 448)
            if 0 <= e + d < 2**512
        }
        | {0, 2**512 - 1}
    )
    expected = [next(b for b in range(256) if number < edges[b]) for number in numbers]
    tops = [e >> 448 for e in edges[:-1]]

    class Wide(Source):
        """Each call takes from the same 512-bit numbers: their first 16 bits, the next 48 where
        open, the last 448 where tied.
        """

        tied: ClassVar[list[int]]

        def words(self, n: int, dtype: type) -> np.ndarray:
            if dtype is np.uint16:
                return np.array([v >> 496 for v in numbers], dtype=np.uint16)
            if n == 7 and self.tied:
                return np.frombuffer(
                    (self.tied.pop(0) & (1 << 448) - 1).to_bytes(56, "little"), dtype=np.uint64
                )
            table, _, _ = _byte_table(threshold)
            open_ = [v for v in numbers if table[v >> 496] < 0]
            assert n == len(open_)
            self.tied = [v for v in open_ if v >> 448 in tops]
            return np.array([(v >> 448 & 2**48 - 1) << 16 for v in open_], dtype=np.uint64)

    assert Wide(None)._bits_by_byte(threshold, len(numbers)).tolist() == expected


@pytest.mark.parametrize("threshold", [2**64 // 3, 2**62, 2**64 // 10**10])
def test_both_ways_to_draw_bits_have_one_law(threshold: int) -> None:
    """Ones among 8 * 10^6 bits, and their pairs in a byte, within 6.2 sd of their expectation on
    either path.
    """
    p = threshold / 2**64
    for draw in (
        Source(np.random.default_rng(1))._bits_by_byte,
        Source(np.random.default_rng(2))._bits_by_digit,
    ):
        bits = np.unpackbits(draw(threshold, 10**6)).reshape(-1, 8)
        assert (np.abs(bits.mean(axis=0) - p) < 6.5 * np.sqrt(p * (1 - p) / 10**6)).all()
        assert abs((bits[:, 0] & bits[:, 7]).mean() - p * p) < 6.5 * np.sqrt(
            p * p * (1 - p * p) / 10**6
        )


def test_certain_bits() -> None:
    assert Source(None).bits(2**64, 5).tolist() == [255] * 5
    assert Source(None).bits(0, 5).tolist() == [0] * 5


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 4096, 4097, 2**16, 2**28 + 1])
def test_uniform_stays_in_range_and_reaches_both_ends(bound: int) -> None:
    drawn = Source(np.random.default_rng(0)).uniform(bound, 200_000)
    assert drawn.min() >= 0 and drawn.max() < bound
    if bound <= 4097:
        assert len(np.unique(drawn)) == bound


def test_a_seeded_source_repeats_and_the_systems_does_not() -> None:
    a, b = (Source(np.random.default_rng(5)).words(9, np.uint16) for _ in range(2))
    assert a.tolist() == b.tolist()
    assert Source(None).words(64, np.uint8).tolist() != Source(None).words(64, np.uint8).tolist()


@pytest.mark.parametrize("of", ["PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937"])
def test_words_are_those_of_whole_integers(of: str) -> None:
    """Rejects raw numbers of the Mersenne twister, whose upper halves are 0."""
    first, second = (np.random.Generator(getattr(np.random, of)(5)) for _ in range(2))
    first.integers(0, 9, 3, dtype=np.uint32)  # half a word is left over, which is not used
    second.integers(0, 9, 3, dtype=np.uint32)
    source = Source(first)
    for n in (0, 1, 5):
        whole = second.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)
        assert source.words(n, np.uint64).tolist() == whole.tolist()
    assert first.integers(0, 9, 3).tolist() == second.integers(0, 9, 3).tolist()
