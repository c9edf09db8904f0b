"""Fast samplers against slow ones that compare whole 64-bit integers, on the same random words."""

from __future__ import annotations

import numpy as np
import pytest

from warner._random import Source, _cell_table

THRESHOLDS = [0, 1, 2**47, 2**48, 2**48 - 1, 2**63, 2**63 + 1, 3 * 2**62, 2**64 // 3, 2**64 - 2**48, 2**64 - 1, 2**64]


class Scripted(Source):
    """A source that plays given words back, so that the boundary of a threshold can be visited."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(None)
        self._words = words
        self._asked = 0

    def words(self, n: int, dtype: type) -> np.ndarray:
        """First the upper 16 bits of every word, then for the m words still open a 64-bit word with the lower 48 on top."""
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
    around = {t for base in [*THRESHOLDS, threshold] for t in (base - 1, base, base + 1) if 0 <= t < 2**64}
    words = sorted(around)

    class Near(Scripted):
        def _is_open(self, word: int) -> bool:
            return word >> 48 == threshold >> 48

    result = Near(words).below(threshold, len(words))
    assert result.tolist() == [w < threshold for w in words]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 255, 1000])
def test_cells_by_table_are_cells_by_division(count: int) -> None:
    width = 2**64 // (count + 2) + 1
    edges = [k * width for k in range(count + 1)]
    words = sorted({t for e in edges for t in (e - 1, e, e + 1) if 0 <= t < 2**64} | {0, 2**64 - 1})
    words = words * (5000 // len(words) + 1)  # enough draws for the table to be used
    table = _cell_table(width, count)

    class Near(Scripted):
        def _is_open(self, word: int) -> bool:
            return table[word >> 48] < 0

    expected = [min(w // width, count) for w in words]
    assert Near(words).cells(width, count, len(words)).tolist() == expected
    direct = Near(words[:50])
    direct._whole = True
    assert direct.cells(width, count, 50).tolist() == expected[:50]


class Digits(Source):
    """Plays back bits by binary digit: the k-th call is answered with the k-th digit of each outcome's word."""

    def __init__(self, outcomes: np.ndarray) -> None:
        super().__init__(None)
        self._outcomes = outcomes  # (bytes * 8,) uint64, most significant bit of each byte first
        self._digit = 63
        self._rows = np.arange(len(outcomes) // 8)

    def words(self, n: int, dtype: type) -> np.ndarray:
        bits = (self._outcomes.reshape(-1, 8)[self._rows] >> np.uint64(self._digit) & np.uint64(1)).astype(np.uint8)
        packed = np.packbits(bits, axis=1).ravel()
        self._digit -= 1
        return packed.view(np.uint64) if np.dtype(dtype) == np.uint64 else packed

    def keep(self, rows: np.ndarray) -> None:
        self._rows = self._rows[rows]


@pytest.mark.parametrize("threshold", [t for t in THRESHOLDS if t < 2**64])
def test_packed_bits_are_comparisons_of_64_bits(threshold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    outcomes = rng.integers(0, 2**64 - 1, 64 * 8, dtype=np.uint64, endpoint=True)
    near = np.array(
        [t for t in (threshold - 1, threshold, threshold + 1, threshold ^ 1 << 40, threshold ^ 1 << 3) if 0 <= t < 2**64], dtype=np.uint64
    )
    outcomes[:: 512 // len(near) + 1] = near[: len(outcomes[:: 512 // len(near) + 1])]
    source = Digits(outcomes)
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
