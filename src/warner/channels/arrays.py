"""Names of array types, and small functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


def kron(left: FloatArray, right: FloatArray) -> FloatArray:
    """The Kronecker product of two matrices."""
    return np.asarray(np.kron(left, right), dtype=np.float64)


def weighted_counts(index: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """The sum of the weights with each index.

    Shapes: index (n,), weights (n,).

    >>> weighted_counts(np.array([0, 2, 2]), np.array([0.5, 1.0, 2.0]), 4).tolist()
    [0.5, 0.0, 3.0, 0.0]
    """
    counts: FloatArray = np.asarray(np.bincount(index, weights, size), dtype=np.float64)
    return counts


def joint_log_factors(
    factors: Sequence[FloatArray | float], rows: Sequence[int]
) -> FloatArray | float:
    """The ``log_factors`` of tuples of reports in C order, the sums of those of their parts.

    >>> joint_log_factors([np.array([1.0, 2.0]), 0.5], [2, 2])
    array([1.5, 1.5, 2.5, 2.5])
    """
    if all(np.ndim(part) == 0 for part in factors):
        return float(sum(float(part) for part in factors))
    total = np.zeros(1)
    for part, m in zip(factors, rows, strict=True):
        total = np.add.outer(total, np.broadcast_to(part, (m,))).ravel()
    return total


@lru_cache(maxsize=16)
def numbered_pairs(size: int) -> tuple[IntArray, IntArray, IntArray]:
    """The pairs x <= z of ``size`` values, and the number of each pair.

    Returns (U, U).

    >>> numbered_pairs(2)[2].tolist()
    [[0, 1], [1, 2]]
    """
    left, right = np.triu_indices(size)
    number = np.empty((size, size), dtype=np.int64)
    number[left, right] = number[right, left] = np.arange(left.size)
    for array in (left, right, number):
        array.setflags(write=False)
    return left, right, number


# -----------------------------------------------------------------------------------------------
# Plain records that describe operators, for estimators.


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


# -----------------------------------------------------------------------------------------------
# Sums over some attributes of a table of shares, and the transpose of that map.


def summed(v: FloatArray, shape: Sequence[int], keep: Sequence[int]) -> FloatArray:
    """Sums over the attributes that are not kept.

    >>> summed(np.arange(6), (2, 3), [0]).tolist()
    [3, 12]
    """
    table = v.reshape(*shape, *v.shape[1:])
    table = table.sum(axis=tuple(axis for axis in range(len(shape)) if axis not in keep))
    # The sum leaves the kept axes in the order of ``shape``.
    order = np.argsort(np.argsort(keep))
    return np.ascontiguousarray(np.moveaxis(table, order, range(len(keep)))).reshape(
        -1, *v.shape[1:]
    )


def lifted(u: FloatArray, shape: Sequence[int], keep: Sequence[int]) -> FloatArray:
    """The transpose of :func:`summed`: each value gets the entry of its kept attributes.

    >>> lifted(np.array([3, 12]), (2, 3), [0]).tolist()
    [3, 3, 3, 12, 12, 12]
    """
    table = u.reshape(*(shape[axis] for axis in keep), *u.shape[1:])
    table = np.moveaxis(table, range(len(keep)), np.argsort(np.argsort(keep)))
    narrow = [size if axis in keep else 1 for axis, size in enumerate(shape)]
    wide = np.broadcast_to(table.reshape(*narrow, *u.shape[1:]), (*shape, *u.shape[1:]))
    return np.ascontiguousarray(wide).reshape(-1, *u.shape[1:])
