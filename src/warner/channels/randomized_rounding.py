"""Numbers that are rounded at random to the points of a grid before they are randomised."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import Channel


class SpreadChannel(Channel):
    """A channel that first moves value x to grid point k with probability S[k, x]: A = inner S.

    Args:
        inner: the channel from grid points to reports, (m, M + 1).
        weights: S, (M + 1, K), sparse; columns sum to one.
    """

    def __init__(self, inner: Channel, weights: Any) -> None:
        self.inner = inner
        self.weights = weights
        self.shape = (inner.shape[0], weights.shape[1])

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.inner.matvec(self.weights @ theta)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        back: FloatArray = self.weights.T @ self.inner.rmatvec(r)
        return back

    def merge_proportional_rows(self) -> tuple[Channel, IntArray] | None:
        merged = self.inner.merge_proportional_rows()
        return None if merged is None else (SpreadChannel(merged[0], self.weights), merged[1])

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        """Each grid point counts for the value whose mean position on the grid is nearest."""
        points = self.weights.shape[0]
        centres = self.weights.T @ np.arange(points)
        nearest = np.searchsorted((centres[1:] + centres[:-1]) / 2, np.arange(points))
        return weighted_counts(nearest, self.inner.naive_estimate(w), self.shape[1])


def rounded(steps: int, bins: int) -> tuple[IntArray, FloatArray]:
    """Random rounding of bins of numbers, uniform inside each bin, to the grid 0..steps.

    A number s in [0, steps] goes to k with probability max(0, 1 - |s - k|). The probability of a
    bin is the mean over its numbers (METHODS 2).
    """
    edges = np.arange(bins + 1) * (steps / bins)
    point = (
        np.floor(edges[:-1]).astype(np.int64)[:, None]
        + np.arange(int(np.ceil(steps / bins)) + 2)[None, :]
    )
    weight = (triangle_cdf(edges[1:, None] - point) - triangle_cdf(edges[:-1, None] - point)) * (
        bins / steps
    )
    return point, weight


def rounded_at(steps: int, positions: FloatArray) -> tuple[IntArray, FloatArray]:
    """:func:`rounded` for values (K,) that are points, at ``positions`` in [0, 1]."""
    s = positions * steps
    first = np.minimum(np.floor(s).astype(np.int64), max(steps - 1, 0))
    upper = s - first
    return np.stack([first, first + 1], axis=1), np.stack([1 - upper, upper], axis=1)


def spread_over(steps: int, point: IntArray, weight: FloatArray) -> Any:
    """S (steps + 1, K), sparse: value x moves to point[x, i] with probability weight[x, i]."""
    from scipy.sparse import csr_array

    used = weight > 0
    values = np.broadcast_to(np.arange(len(point))[:, None], point.shape)[used]
    return csr_array((weight[used], (point[used], values)), shape=(steps + 1, len(point)))


def triangle_cdf(s: FloatArray) -> FloatArray:
    """The integral of max(0, 1 - |t|) over t <= s."""
    c = np.clip(s, -1.0, 1.0)
    return np.where(c <= 0, (1 + c) ** 2 / 2, 1 - (1 - c) ** 2 / 2)
