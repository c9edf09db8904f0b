"""Sums over some attributes of a table of shares, and the transpose of that map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warner.channels.arrays import FloatArray


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
