"""Random subsets are uniform: chi-square over all subsets, at a false alarm rate of 1e-9.

The same test must reject the wrong programs, each a way in which filling up can go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

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


def test_items_that_are_missing_must_be_uniform() -> None:
    """Rejects the program that fills up with the items at the front more often."""

    class Front(Source):
        def uniform(self, bound: int, n: int, dtype: Any = np.int64) -> np.ndarray:
            return np.asarray(super().uniform(2 * bound, n, dtype) * 15 // 16 % bound)

    assert (
        min(_p_values(lambda _, *rest: sampling._fill_up(Front(np.random.default_rng(3)), *rest)))
        < ALPHA
    )


@pytest.mark.parametrize("one_less", [False, True])
def test_a_table_of_draws_has_the_subsets_of_the_steps(one_less: bool) -> None:
    """Rejects a table that is read with the draws in another order, or without the first."""
    n, rng = 12_000, np.random.default_rng(2)
    fewer = np.arange(n) % 2 == 0 if one_less else np.zeros(n, dtype=bool)
    by_table = np.zeros((n, 2), dtype=np.uint8)
    sampling._floyd(Source(rng), TOTAL, 4, fewer, by_table)
    source, steps = Source(np.random.default_rng(2)), np.zeros((n, 2), dtype=np.uint8)
    first = np.full(n, TOTAL - 3)
    first[~fewer] = source.uniform(TOTAL - 3, np.count_nonzero(~fewer))
    draws = [first, *(source.uniform(bound, n) for bound in range(TOTAL - 2, TOTAL + 1))]
    sampling._enter_draws(TOTAL, 4, draws, steps)
    assert np.array_equal(by_table, steps)


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
