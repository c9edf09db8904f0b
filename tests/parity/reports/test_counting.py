"""Counts of bits and of rows against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from warner.reports.counting import sum_bits, unique_rows


@pytest.mark.parametrize("n", [1, 254, 255, 256, 5000])
@pytest.mark.parametrize("width", [1, 8, 13, 64, 256, 777])
def test_bit_sums(n: int, width: int) -> None:
    bits = np.random.default_rng(n).integers(0, 2, (n, width), dtype=np.uint8)
    assert sum_bits(np.packbits(bits, axis=1), width).tolist() == bits.sum(axis=0).tolist()


@pytest.mark.parametrize("n", [3, 300])
def test_bit_sums_of_wide_reports(n: int) -> None:
    """Reports of more bytes than are added at a time."""
    bits = np.random.default_rng(n).integers(0, 2, (n, 20_003), dtype=np.uint8)
    assert (sum_bits(np.packbits(bits, axis=1), 20_003) == bits.sum(axis=0)).all()


def test_bit_sums_of_all_ones_do_not_overflow_their_lanes() -> None:
    packed = np.full((255 * 40 + 7, 4), 255, dtype=np.uint8)
    assert sum_bits(packed, 32).tolist() == [len(packed)] * 32
    assert sum_bits(packed[:, ::2], 16).tolist() == [len(packed)] * 16  # not contiguous


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 16, 21])
def test_kinds_of_rows_are_those_of_byte_strings(width: int) -> None:
    """Few different rows among many, which differ in any of their bytes."""
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 256, (12, width), dtype=np.uint8)[rng.integers(0, 12, 300)]
    rows[:, -1] ^= rng.integers(0, 2, 300, dtype=np.uint8)
    found, place = unique_rows(rows)
    strings = [row.tobytes() for row in rows]
    assert [row.tobytes() for row in found] == sorted(set(strings))
    assert [found[i].tobytes() for i in place] == strings
    assert [part.shape for part in unique_rows(rows[:0])] == [(0, width), (0,)]
