"""Plain records that describe operators, for estimators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner.channels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class SupportLaw:
    """How often reports support each value: Pr(a report supports x) = q_x + gap_x theta_x.

    Attributes:
        q: (K,), Pr(the report supports x | another value).
        gap: (K,), Pr(the report supports x | x) - q_x.
        ones: how many values each report supports, where that number is fixed.
        pairs: where all pairs of values are alike, how often a report supports two values: the
            person's and another one, and two others. None for independent bits, or where ``ones``
            says it.
    """

    q: FloatArray
    gap: FloatArray
    ones: int | None = None
    pairs: tuple[float, float] | None = None


@dataclass(frozen=True)
class HashPool:
    """The public pool of hash functions that reports of local hashing choose from.

    Attributes:
        seeds: number of hash functions.
        buckets: number of values of each hash function, g.
    """

    seeds: int
    buckets: int


@dataclass(frozen=True, eq=False)
class BlockMoments:
    """Unbiased estimates for one block of V values, and the second moments of their terms.

    A report y adds g_v(y) to the estimate T_v of the share of value v, and h(y) to the estimate F
    of the share of the block. The moments are taken at B distributions.

    Attributes:
        total: T, (V,).
        block: F, (V,). Its entries differ only where several mechanisms are mixed.
        squares: E[g_v^2], (V, B).
        mixed: E[g_v h], (V, B).
        block_squares: E[h^2], (V, B).
    """

    total: FloatArray
    block: FloatArray
    squares: FloatArray
    mixed: FloatArray
    block_squares: FloatArray

    @classmethod
    def of_sums(cls, total: FloatArray, squares: FloatArray, mixed: FloatArray) -> BlockMoments:
        """The moments where the block's term is the sum of its values' terms."""
        size = len(total)
        block_squares = np.tile(mixed.sum(axis=0), (size, 1))
        return cls(total, np.full(size, total.sum()), squares, mixed, block_squares)
