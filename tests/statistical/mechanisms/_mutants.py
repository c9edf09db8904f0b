"""Wrong samplers that several tests must reject."""

from __future__ import annotations

import numpy as np

from warner._core.exact import ONE
from warner._core.hashing import buckets
from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.mechanisms.direct import direct_sample


def _unary(
    mechanism: Mechanism, index: np.ndarray, keep: int, raised: int, source: Source
) -> dict[str, np.ndarray]:
    n, size = len(index), mechanism.domain.size
    bits = np.stack([source.below(raised, n) for _ in range(size)], axis=1)
    bits[np.arange(n), index] = source.below(keep, n)
    return {"bits": np.packbits(bits, axis=1)}


def _rappor_never_clears(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    return _unary(m, index, ONE, m.law.raised, s)


def _olh_keeps_half(m: Mechanism, index: np.ndarray, s: Source) -> dict[str, np.ndarray]:
    """LDP-EM-MR's OLH client: p = 1/2 whatever epsilon is."""
    seed = s.uniform(m.seeds, len(index))
    bucket = buckets(seed, index, m.buckets).astype(np.int64)
    return {
        "seed": seed,
        "bucket": direct_sample(bucket, m.buckets, ONE // 2, ONE // (2 * (m.buckets - 1)), s),
    }
