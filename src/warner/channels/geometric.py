"""Exponential channels: the probability of a report falls by one factor with every step away from the value."""

from __future__ import annotations

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel


class GeometricChannel(Channel):
    """A[z, x] = c_z a^|z - x| on whole numbers, c = (1 - a) / (1 + a) inside and 1 / (1 + a) at the two ends of the reports.

    The ends collect the tails beyond them, so this is the truncated geometric mechanism where reports range like values
    [P4 eq 22], and where they range wider the geometric one as far as it is recorded [P4 eq 21]. Both products are two
    one-pole recursions, O(m), and the inverse of a^|z - x| has three diagonals.

    Args:
        size: K values 0..K-1.
        ratio: a, in (0, 1).
        before, after: how far reports reach beyond the first and the last value.
    """

    def __init__(self, size: int, ratio: float, before: int = 0, after: int = 0) -> None:
        self.shape = (size + before + after, size)
        if self.shape[0] < 2 or not 0 < ratio < 1:
            raise ArgumentError(
                message(
                    "ratio",
                    "must lie in (0, 1), with at least 2 reports",
                    f"{ratio}, {self.shape[0]} reports",
                )
            )
        self.ratio, self.before = ratio, before
        # 1 - a cancels where a is near 1; expm1 of its logarithm does not.
        gap = -np.expm1(np.log(ratio))
        self._level = np.full(self.shape[0], gap / (1 + ratio))
        self._level[[0, -1]] = 1 / (1 + ratio)
        self._values = slice(before, before + size)
        self._gap = gap

    def _smear(self, v: np.ndarray) -> np.ndarray:
        """sum_x a^|z - x| v_x for every z, along the first axis."""
        from scipy.signal import lfilter

        denominator = [1.0, -self.ratio]
        forward = lfilter([1.0], denominator, v, axis=0)
        backward = lfilter([1.0], denominator, v[::-1], axis=0)[::-1]
        return forward + backward - v

    def _sharpen(self, v: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`_smear`: (1 + a^2 inside, 1 at the ends; -a beside) / (1 - a^2)."""
        a = self.ratio
        out = (1 + a**2) * v
        out[0], out[-1] = v[0], v[-1]
        out[1:] -= a * v[:-1]
        out[:-1] -= a * v[1:]
        return out / (self._gap * (1 + a))

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        placed = np.zeros((self.shape[0], *theta.shape[1:]))
        placed[self._values] = theta
        return (self._level * self._smear(placed).T).T

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self._smear((self._level * r.T).T)[self._values]

    def merge_proportional_rows(self) -> tuple[Channel, np.ndarray] | None:
        """Reports beyond the values on one side are all proportional to a^x: they tell as much as the end does."""
        rows, size = self.shape
        if rows == size or size < 2:
            return None
        return GeometricChannel(size, self.ratio), np.clip(
            np.arange(rows) - self.before, 0, size - 1
        )

    def _folded(self, w: np.ndarray) -> np.ndarray:
        out = w[self._values].copy()
        out[0] += w[: self.before].sum(axis=0)
        out[-1] += w[self.before + self.shape[1] :].sum(axis=0)
        return out

    def invert(self, w: np.ndarray) -> np.ndarray:
        if (folded := self.merge_proportional_rows()) is not None:
            return folded[0].invert(self._folded(w))
        return self._sharpen((w.T / self._level).T)

    def influence(self, c: np.ndarray) -> np.ndarray:
        if (folded := self.merge_proportional_rows()) is not None:
            return folded[0].influence(c)[folded[1]]
        return (self._sharpen(c).T / self._level).T

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row x of the inverse has three entries, so both sums have three terms."""
        if (folded := self.merge_proportional_rows()) is not None:
            return folded[0].inverse_moments(theta)
        a, size = self.ratio, self.shape[1]
        scale = self._gap * (1 + a)
        inner = np.full(size, 1 + a**2)
        inner[[0, -1]] = 1
        law = self.matvec(theta)
        total, own = np.zeros_like(law), np.zeros(size)
        for shift, weight in ((0, inner), (-1, np.full(size, a)), (1, np.full(size, a))):
            z = np.arange(size) + shift
            there = (z >= 0) & (z < size)
            z = z[there]
            # The weight on the diagonal is that of the value, those beside it are equal everywhere.
            square = (weight[there] / scale / self._level[z]) ** 2
            total[there] += (square * law[z].T).T
            own[there] += square * self._level[z] * a ** abs(shift)
        return total, own

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        """Reports beyond the values count for the nearest one."""
        return self._folded(w)
