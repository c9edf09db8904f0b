"""Names of array types, and small functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
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
