"""The hash family, one value at a time in Python's integers."""

from __future__ import annotations


def _hash_slowly(seed: int, x: int, g: int) -> int:
    def mix(h: int) -> int:
        h ^= h >> 16
        h = h * 0x7FEB352D % 2**32
        h ^= h >> 15
        h = h * 0x846CA68B % 2**32
        return h ^ h >> 16

    key = mix((seed * 0x9E3779B1 + 0x7F4A7C15) % 2**32)
    return (mix(key ^ x * 0x85EBCA77 % 2**32) >> 16) * g >> 16
