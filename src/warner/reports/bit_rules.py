"""Rules of packed bits, stated once for numpy arrays, SQL and data frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class BitRule:
    """A rule of packed bits: between ``least`` and ``most`` of the bits under a mask are 1.

    Attributes:
        mask: one byte per byte of a report.
        least: the least number of bits under the mask that are 1.
        most: the greatest number of bits under the mask that are 1.
        text: the rule in words, for messages.
        remedy: what may have made reports that break it, as a question.

    >>> rule = BitRule(bytes([0b1000, 0b11]), 0, 1, "at most one bit may be set")
    >>> rule.broken_by(np.array([[8, 0], [8, 2], [7, 3]], dtype=np.uint8)).tolist()
    [False, True, True]
    """

    mask: bytes
    least: int
    most: int
    text: str
    remedy: str = "Were they made by this mechanism?"

    @cached_property
    def masks(self) -> dict[int, int]:
        """The bytes of the mask that are not 0: {index of the byte: mask}."""
        return {i: byte for i, byte in enumerate(self.mask) if byte}

    def broken_by(self, packed: np.ndarray) -> np.ndarray:
        """Which reports break the rule.

        Returns (n,).
        """
        first, last = min(self.masks), max(self.masks)
        some, mask = packed[:, first : last + 1], self.mask[first : last + 1]
        if any(byte != 255 for byte in mask):
            some = some & np.frombuffer(mask, np.uint8)
        ones = np.bitwise_count(some).sum(axis=1, dtype=np.int64)
        return np.asarray((ones < self.least) | (ones > self.most))

    @cached_property
    def broken_bytes(self) -> np.ndarray:
        """bool (256,): which values of a byte break the rule, if the mask covers only one byte."""
        (mask,) = self.masks.values()
        ones = np.bitwise_count(np.arange(256, dtype=np.uint8) & np.uint8(mask))
        return np.asarray((ones < self.least) | (ones > self.most))
