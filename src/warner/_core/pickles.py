"""Small pickles: what can be computed again is left out, and counts take few bytes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


def without_cached(thing: object) -> dict[str, Any]:
    """The attributes of an object, without the values that ``cached_property`` keeps."""
    cached = {
        name
        for cls in type(thing).__mro__
        for name, entry in vars(cls).items()
        if isinstance(entry, cached_property)
    }
    return {name: value for name, value in vars(thing).items() if name not in cached}


def narrow(counts: np.ndarray) -> np.ndarray:
    """Integers of 64 bits as the smallest type that holds them; others as they are.

    >>> narrow(np.array([0, 200], dtype=np.int64)).dtype
    dtype('uint8')
    """
    if counts.dtype != np.int64 or not counts.size or counts.min() < 0:
        return counts
    return counts.astype(np.min_scalar_type(int(counts.max())))


def packed(numbers: np.ndarray) -> Any:
    """Floats as their different values and places among them, where that takes half the bytes.

    Frequencies of reports take few values. :func:`unpacked` gives the same bits back.

    >>> array = np.array([0.5, 0.25] * 100)
    >>> [part.nbytes for part in packed(array)], (unpacked(packed(array)) == array).all().item()
    ([16, 200], True)
    """
    if numbers.dtype != np.float64 or numbers.ndim != 1:
        return numbers
    bits, index = np.unique(np.ascontiguousarray(numbers).view(np.int64), return_inverse=True)
    index = index.astype(np.min_scalar_type(max(bits.size - 1, 0)))
    small = index.nbytes + bits.nbytes <= numbers.nbytes // 2
    return (bits.view(np.float64), index) if small else numbers


def unpacked(state: Any) -> np.ndarray:
    """The floats that :func:`packed` was given."""
    if isinstance(state, tuple):
        values, index = state
        return np.asarray(values[index])
    return np.asarray(state)
