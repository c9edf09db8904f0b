"""A chi-square test of reports against their law, at a false alarm rate of 1e-9."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import chisquare

from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.reports.counting import count_rows
from warner.reports.reports import Reports

N = 100_000


ALPHA = 1e-9


Sampler = Callable[[Mechanism, np.ndarray, Source], dict[str, np.ndarray]]


def _honest(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    return mechanism.randomize_index(index, source)


def _typed(mechanism: Mechanism, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name: columns[name].astype(empty.dtype) for name, empty in mechanism.schema.empty(0).items()
    }


def _p_value(mechanism: Mechanism, sampler: Sampler) -> float:
    """The smallest chi-square p-value over the values a person can have."""
    records = Reports(mechanism.header, mechanism.outputs()).records()
    place = {record: i for i, record in enumerate(records)}
    law = mechanism.probabilities().astype(float)
    worst = 1.0
    for x in range(mechanism.domain.size):
        columns = _typed(
            mechanism, sampler(mechanism, np.full(N, x), Source(np.random.default_rng(x)))
        )
        seen, counts = count_rows(
            Reports(mechanism.header, columns).record_array(), np.ones(N, dtype=np.int64)
        )
        observed = np.zeros(len(records))
        for record, n in zip(seen, counts, strict=True):
            if record.tobytes() not in place:
                return 0.0  # a report that cannot occur
            observed[place[record.tobytes()]] = n
        possible = law[:, x] > 0
        if observed[~possible].any():
            return 0.0
        rare = possible & (law[:, x] * N <= 5)  # far tails count as one
        seen_, expected = (
            np.append(v[possible & ~rare], v[rare].sum()) for v in (observed, law[:, x] * N)
        )
        if expected[-1] <= 5:
            seen_, expected = seen_[:-1], expected[:-1] * (seen_[:-1].sum() / expected[:-1].sum())
        worst = min(worst, float(chisquare(seen_, expected).pvalue))
    return worst
