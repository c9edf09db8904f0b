"""The public hash family of local hashing, version 1, in 32-bit arithmetic as browsers have it.

    key(s)    = mix(s * 0x9E3779B1 + 0x7F4A7C15)
    h_s(x)    = ((mix(key(s) ^ (x * 0x85EBCA77)) >> 16) * g) >> 16        in 0..g-1

All products are modulo 2^32, and ``mix`` is Wellons' lowbias32 finaliser. The last line maps the
upper 16 bits to g buckets by a multiplication, which is exact in JavaScript's numbers. Buckets need
not be equally likely over seeds, because estimation uses the collision matrix of the actual seeds
(METHODS 1). Known answers: tests/parity/_core/hash_vectors.json.
"""

from __future__ import annotations

import numpy as np

FAMILY = 1
LARGEST_BUCKETS = 2**16 - 1

_STEP, _OFFSET, _SPREAD = np.uint32(0x9E3779B1), np.uint32(0x7F4A7C15), np.uint32(0x85EBCA77)
_M1, _M2 = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_15, _16 = np.uint32(15), np.uint32(16)


def _mix(h: np.ndarray) -> np.ndarray:
    """The lowbias32 finaliser of 32-bit words, in place."""
    h ^= h >> _16
    h *= _M1
    h ^= h >> _15
    h *= _M2
    h ^= h >> _16
    return h


def buckets(seeds: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Return the buckets h_s(x).

    Here s is ``seeds``, x is ``index``, g is ``count``.

    >>> buckets(np.array([0, 1, 2]), np.array([7, 7, 7]), 4).tolist()
    [0, 0, 1]
    """
    key = _mix(seeds.astype(np.uint32) * _STEP + _OFFSET)
    h = _mix(key ^ (index.astype(np.uint32) * _SPREAD))
    h >>= _16
    h *= np.uint32(count)
    h >>= _16
    return h
