"""Histograms of tuples against a loop over people."""

from __future__ import annotations

import numpy as np

from warner.reports.schema import IntegerColumns
from warner.reports.tally_kinds import Histogram


def test_histograms_count_tuples() -> None:
    rng = np.random.default_rng(0)
    seed, bucket = rng.integers(0, 7, 1000), rng.integers(0, 3, 1000)
    kind, table, sizes, *_ = IntegerColumns(("seed", "bucket"), (7, 3)).count(
        {"seed": seed.astype(np.uint8), "bucket": bucket.astype(np.uint8)},
    )
    assert kind == Histogram() and sizes.tolist() == [1000]
    assert table[0].tolist() == [
        [sum((seed == s) & (bucket == b)) for b in range(3)] for s in range(7)
    ]
