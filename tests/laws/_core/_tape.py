"""A source of random words that are written in advance."""

from __future__ import annotations

import numpy as np
import pytest

TOP = 2**64 - 1


class Tape:
    """Stands for system_bytes: hands out prepared words in their order, as bytes, which are
    read-only; every call must fit.
    """

    def __init__(self, *parts: tuple[list[int], str]) -> None:
        self.parts = [np.array(words, dtype=dtype).tobytes() for words, dtype in parts]

    def __call__(self, n: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == n
        return part


def _play(monkeypatch: pytest.MonkeyPatch, *parts: tuple[list[int], str]) -> Tape:
    tape = Tape(*parts)
    monkeypatch.setattr("warner._core.randomness.system_bytes", tape)
    return tape


def _heads(words: list[int]) -> tuple[list[int], str]:
    """The upper 16 bits of words."""
    return [w >> 48 for w in words], "u2"


def _rest(words: list[int]) -> tuple[list[int], str]:
    """Words whose upper 48 bits are the lower 48 of others."""
    return [(w & 2**48 - 1) << 16 for w in words], "u8"


def _around(edges: list[int]) -> list[int]:
    return sorted({w for e in edges for w in (e - 1, e, e + 1) if 0 <= w <= TOP} | {0, TOP})
