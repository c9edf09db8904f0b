"""Random subsets are uniform: chi-square over all subsets, at a false alarm rate of 1e-9.

The same test must reject the wrong programs, each a way in which filling up can go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from warner._core import sampling
from warner._core.sampling import Source

ALPHA = 1e-9
Draw = Callable[[Source, int, int, np.ndarray, np.ndarray], None]
TOTAL, SIZE = 12, 5


def _p_values(draw: Draw) -> list[float]:
    """Of subsets of five items in two bytes, and of those with one member less."""
    n = 150_000
    fewer = np.arange(n) % 2 == 1
    packed = np.zeros((n, 2), dtype=np.uint8)
    draw(Source(np.random.default_rng(3)), TOTAL, SIZE, fewer, packed)
    codes = packed.astype(np.int64) @ [256, 1]
    found = []
    for less in (False, True):
        counts = np.bincount(codes[fewer == less], minlength=2**16)
        members = np.bitwise_count(np.arange(2**16, dtype=np.uint16)) == SIZE - less
        possible = members & (np.arange(2**16) % 16 == 0)
        assert possible.sum() == comb(TOTAL, SIZE - less)
        assert counts[~possible].sum() == 0
        found.append(float(chisquare(counts[possible]).pvalue))
    return found


@pytest.mark.parametrize("draw", [sampling._floyd, sampling._fill_up])
def test_all_subsets_are_equally_likely(draw: Draw) -> None:
    assert min(_p_values(draw)) > ALPHA


def test_items_that_share_a_byte_must_not_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects the program that writes all items at once: of two in one byte, one is lost."""

    def at_once(flat: np.ndarray, start: np.ndarray, drawn: np.ndarray) -> None:
        flat[start + (drawn >> 3)] |= sampling._MASKS[drawn & 7]

    monkeypatch.setattr(sampling, "_enter", at_once)
    assert min(_p_values(sampling._fill_up)) < ALPHA


def test_items_that_are_missing_must_be_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects the program that takes the item beside a drawn one that is a member."""
    enter = sampling._enter

    def beside(flat: np.ndarray, start: np.ndarray, drawn: np.ndarray) -> None:
        taken = flat[start + (drawn >> 3)] & sampling._MASKS[drawn & 7] != 0
        enter(flat, start, np.where(taken, (drawn + 1) % TOTAL, drawn))

    monkeypatch.setattr(sampling, "_enter", beside)
    assert min(_p_values(sampling._fill_up)) < ALPHA


@pytest.mark.parametrize(("total", "size"), [(999, 119), (700, 500), (64, 9), (65, 65)])
def test_items_of_large_subsets_are_equally_likely(total: int, size: int) -> None:
    """The number of subsets with an item has the variance n p (1 - p), and the sum is fixed."""
    n, width = 4_000, -(-total // 8) + 1
    fewer = np.arange(n) % 3 == 0
    packed = sampling.uniform_subsets(Source(np.random.default_rng(5)), total, size, fewer, width)
    bits = np.unpackbits(packed, axis=1)
    assert not bits[:, total:].any()
    assert bits.sum(axis=1).tolist() == (size - fewer).tolist()
    p = (size - fewer) / total
    away = bits[:, :total].sum(axis=0) - p.sum()
    statistic = float(away @ away) / float((p * (1 - p)).sum()) * (total - 1) / total
    assert min(chi2.sf(statistic, total - 1), chi2.cdf(statistic, total - 1)) > ALPHA
