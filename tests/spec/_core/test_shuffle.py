"""Every order of rows is equally likely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from warner._core import sampling as _shuffle
from warner._core.sampling import Shuffle, Source, permutation


class Coarse(Source):
    """A source whose 16-bit words are 0 or 1, so that many places coincide."""

    def words(self, n: int, dtype: Any) -> np.ndarray:
        assert self._rng is not None
        return self._rng.integers(0, 2, n).astype(dtype)


def _unlike_uniform(orders: list[tuple[int, ...]], kinds: int) -> bool:
    """Whether a chi-square test at 1e-9 finds that orders are not equally likely."""
    _, counts = np.unique(np.array(orders), axis=0, return_counts=True)
    expected = len(orders) / kinds
    statistic = float(
        ((counts - expected) ** 2).sum() / expected + (kinds - len(counts)) * expected
    )
    return statistic > float(chi2.isf(1e-9, kinds - 1))


@pytest.mark.parametrize("kind", [Source, Coarse])
def test_every_order_is_equally_likely(kind: type[Source]) -> None:
    """Rejects a program that leaves rows of equal places in the order they came in."""
    source = kind(np.random.default_rng(3))
    orders = [tuple(permutation(source, 4).tolist()) for _ in range(6000)]
    assert not _unlike_uniform(orders, 24)
    unrepaired = [
        tuple(np.argsort(source.words(4, np.uint16), kind="stable").tolist()) for _ in range(6000)
    ]
    assert _unlike_uniform(unrepaired, 24) is (kind is Coarse)


def test_every_order_of_rows_that_do_not_fit_into_memory_is_equally_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a program that shuffles pieces and does not mix them, or mixes them and does not
    permute the buckets.
    """
    monkeypatch.setattr(_shuffle, "_SHUFFLED", 2)
    monkeypatch.setattr(_shuffle, "_PERMUTED", 2)
    monkeypatch.setattr(_shuffle, "_BUCKETS", 4)
    source = Source(np.random.default_rng(5))
    orders = []
    for _ in range(2400):
        rows = Shuffle(1, source, str(tmp_path))
        for i in range(4):
            rows.add(np.array([[i]], dtype=np.uint8))
        orders.append(tuple(np.concatenate(list(rows.shuffled())).ravel().tolist()))
        rows.close()
    assert not _unlike_uniform(orders, 24)
    assert not list(tmp_path.iterdir())
    pieces = [
        tuple(p.tolist())
        for p in (
            np.concatenate([permutation(source, 2), 2 + permutation(source, 2)]) for _ in orders
        )
    ]
    assert _unlike_uniform(pieces, 24)
