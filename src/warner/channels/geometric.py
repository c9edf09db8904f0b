"""Exponential channels: every step away from the value divides the probability by one factor."""

from __future__ import annotations

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels.arrays import FloatArray, IntArray
from warner.channels.base import Channel, extremes


class GeometricChannel(Channel):
    """The channel of two-sided geometric noise on integers.

        Pr(report z | value x) = c_z a^|z - x|

    c_z is 1 / (1 + a) at the two end reports, and (1 - a) / (1 + a) between them. A report that
    would lie outside is replaced by the nearest end. This is the truncated geometric mechanism
    where reports have the range of the values [P4 eq 22]. Where their range is wider, it is the
    geometric mechanism as far as it is recorded [P4 eq 21]. Both products are two recursions with
    one coefficient, O(m). The inverse of a^|z - x| has three diagonals.

    Args:
        size: K; the values are 0..K-1.
        ratio: a, in (0, 1).
        before, after: how far reports reach below the first and above the last value.

    Raises:
        ArgumentError: a ratio outside (0, 1), or a single report.

    >>> GeometricChannel(3, 0.5).matvec(np.array([1.0, 0.0, 0.0])).round(3).tolist()
    [0.667, 0.167, 0.167]
    """

    def __init__(self, size: int, ratio: float, before: int = 0, after: int = 0) -> None:
        self.shape = (size + before + after, size)
        if self.shape[0] < 2 or not 0 < ratio < 1:
            raise ArgumentError(
                "ratio",
                "must lie in (0, 1), with at least 2 reports",
                f"{ratio}, {self.shape[0]} reports",
            )
        self.ratio, self.before = ratio, before
        # 1 - a cancels where a is near 1; expm1 of its logarithm does not.
        gap = -np.expm1(np.log(ratio))
        self._level = np.full(self.shape[0], gap / (1 + ratio))
        self._level[[0, -1]] = 1 / (1 + ratio)
        self._values = slice(before, before + size)
        self._gap = gap

    @property
    def has_closed_moments(self) -> bool:
        return True

    def _convolve(self, v: FloatArray) -> FloatArray:
        """sum_x a^|z - x| v_x for every z, along the first axis."""
        from scipy.signal import lfilter

        denominator = [1.0, -self.ratio]
        forward = lfilter([1.0], denominator, v, axis=0)
        backward = lfilter([1.0], denominator, v[::-1], axis=0)[::-1]
        return np.asarray(forward + backward - v)

    def _deconvolve(self, v: FloatArray) -> FloatArray:
        """The inverse of :meth:`_convolve`, three diagonals divided by 1 - a^2.

        The main diagonal is 1 + a^2, or 1 at both ends; the diagonals beside it are -a.
        """
        a = self.ratio
        out = (1 + a**2) * v
        out[0], out[-1] = v[0], v[-1]
        out[1:] -= a * v[:-1]
        out[:-1] -= a * v[1:]
        return np.asarray(out / (self._gap * (1 + a)))

    def matvec(self, theta: FloatArray) -> FloatArray:
        padded = np.zeros((self.shape[0], *theta.shape[1:]))
        padded[self._values] = theta
        return (self._level * self._convolve(padded).T).T

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self._convolve((self._level * r.T).T)[self._values]

    def merge_proportional_rows(self) -> tuple[GeometricChannel, IntArray] | None:
        """Reports beyond the values on one side are all proportional to a^x: they become one."""
        rows, size = self.shape
        if rows == size or size < 2:
            return None
        new_rows = np.clip(np.arange(rows) - self.before, 0, size - 1)
        return GeometricChannel(size, self.ratio), new_rows

    def _merged_weights(self, w: FloatArray) -> FloatArray:
        """Frequencies (K,) with the reports beyond the values added to the two ends."""
        out = w[self._values].copy()
        out[0] += w[: self.before].sum(axis=0)
        out[-1] += w[self.before + self.shape[1] :].sum(axis=0)
        return out

    def invert(self, w: FloatArray) -> FloatArray:
        if (merged := self.merge_proportional_rows()) is not None:
            return merged[0].invert(self._merged_weights(w))
        return self._deconvolve((w.T / self._level).T)

    def influence(self, c: FloatArray) -> FloatArray:
        if (merged := self.merge_proportional_rows()) is not None:
            return merged[0].influence(c)[merged[1]]
        return np.asarray((self._deconvolve(c).T / self._level).T)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Row x of the inverse has three entries, so both sums have three terms."""
        if (merged := self.merge_proportional_rows()) is not None:
            return merged[0].inverse_moments(theta)
        a, size = self.ratio, self.shape[1]
        scale = self._gap * (1 + a)
        diagonal = np.full(size, 1 + a**2)
        diagonal[[0, -1]] = 1
        probabilities = self.matvec(theta)
        total, at_value = np.zeros_like(probabilities), np.zeros(size)
        for shift, weight in ((0, diagonal), (-1, np.full(size, a)), (1, np.full(size, a))):
            z = np.arange(size) + shift
            inside = (z >= 0) & (z < size)
            z = z[inside]
            square = (weight[inside] / scale / self._level[z]) ** 2
            total[inside] += (square * probabilities[z].T).T
            at_value[inside] += square * self._level[z] * a ** abs(shift)
        return total, at_value

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        """An end, the value next to it and one inside have all the weights that there are."""
        size = min(self.shape[1], 5)
        return extremes(GeometricChannel(size, self.ratio).influence(np.eye(size)).T)

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        """Reports beyond the values count for the nearest value."""
        return self._merged_weights(w)
