"""Values that are first spread over the points of a grid: numbers rounded at random, bins of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner.channels.base import Channel


class SpreadChannel(Channel):
    """A[y, x] = sum_k inner[y, k] S[k, x], where value x stands at grid point k with probability S[k, x].

    Args:
        inner: the channel from grid points to reports, (m, M + 1).
        weights: S, (M + 1, K), sparse; columns sum to one.
    """

    def __init__(self, inner: Channel, weights: Any) -> None:
        self.inner = inner
        self.weights = weights
        self.shape = (inner.shape[0], weights.shape[1])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.inner.matvec(self.weights @ theta)

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.weights.T @ self.inner.rmatvec(r)

    def merge_proportional_rows(self) -> tuple[Channel, np.ndarray] | None:
        inner = self.inner.merge_proportional_rows()
        return None if inner is None else (SpreadChannel(inner[0], self.weights), inner[1])

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        """Each grid point stands for the value whose own place on the grid is nearest."""
        points = self.weights.shape[0]
        centres = self.weights.T @ np.arange(points)
        nearest = np.searchsorted((centres[1:] + centres[:-1]) / 2, np.arange(points))
        return np.bincount(nearest, self.inner.naive_estimate(w), self.shape[1])


def rounded(steps: int, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Where bins of numbers, uniform inside, are rounded at random to on a grid 0..steps: points (bins, r), and how likely each is.

    Number s in [0, steps] goes to k with probability max(0, 1 - |s - k|); a bin averages that over its numbers (METHODS 2).
    """
    edges = np.arange(bins + 1) * (steps / bins)
    point = (
        np.floor(edges[:-1]).astype(np.int64)[:, None]
        + np.arange(int(np.ceil(steps / bins)) + 2)[None, :]
    )
    return point, (hat(edges[1:, None] - point) - hat(edges[:-1, None] - point)) * (bins / steps)


def rounded_at(steps: int, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for values (K,) that are points, at ``positions`` in [0, 1]: the two grid points next to each."""
    s = positions * steps
    first = np.minimum(np.floor(s).astype(np.int64), max(steps - 1, 0))
    upper = s - first
    return np.stack([first, first + 1], axis=1), np.stack([1 - upper, upper], axis=1)


def spread_over(steps: int, point: np.ndarray, weight: np.ndarray) -> Any:
    """S (steps + 1, K) of values that stand at ``point`` (K, r) with probabilities ``weight``, as a sparse array."""
    from scipy.sparse import csr_array

    kept = weight > 0
    values = np.broadcast_to(np.arange(len(point))[:, None], point.shape)[kept]
    return csr_array((weight[kept], (point[kept], values)), shape=(steps + 1, len(point)))


def hat(s: np.ndarray) -> np.ndarray:
    """The integral of max(0, 1 - |t|) for t up to s."""
    c = np.clip(s, -1.0, 1.0)
    return np.where(c <= 0, (1 + c) ** 2 / 2, 1 - (1 - c) ** 2 / 2)
