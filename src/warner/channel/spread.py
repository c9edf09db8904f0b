"""Values that are first spread over the points of a grid: numbers rounded at random, bins of numbers."""

from __future__ import annotations

import numpy as np

from warner.channel.base import Channel


class SpreadChannel(Channel):
    """A[y, x] = sum_k inner[y, k] S[k, x], where value x stands at grid point k with probability S[k, x].

    Args:
        inner: the channel from grid points to reports, (m, M + 1).
        weights: S, (M + 1, K); columns sum to one.
    """

    def __init__(self, inner: Channel, weights: np.ndarray) -> None:
        self.inner = inner
        self.weights = weights
        self.shape = (inner.shape[0], weights.shape[1])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.inner.matvec(self.weights @ theta)

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.weights.T @ self.inner.rmatvec(r)

    def fold(self) -> tuple[Channel, np.ndarray] | None:
        inner = self.inner.fold()
        return None if inner is None else (SpreadChannel(inner[0], self.weights), inner[1])

    def observed(self, w: np.ndarray) -> np.ndarray:
        """Each grid point stands for the value whose own place on the grid is nearest."""
        centres = self.weights.T @ np.arange(len(self.weights))
        nearest = np.searchsorted((centres[1:] + centres[:-1]) / 2, np.arange(len(self.weights)))
        return np.bincount(nearest, self.inner.observed(w), self.shape[1])


def dithered(cells: int, bins: int) -> np.ndarray:
    """S (cells + 1, bins) of bins of numbers, uniform inside, each rounded at random to one of the two grid points next to it.

    Number s in [0, cells] goes to k with probability max(0, 1 - |s - k|); a bin averages that over its numbers (METHODS 2).
    """
    edges = np.arange(bins + 1) * (cells / bins)
    area = hat(edges[None, :] - np.arange(cells + 1)[:, None])
    return np.diff(area, axis=1) * (bins / cells)


def dithered_at(cells: int, positions: np.ndarray) -> np.ndarray:
    """The same for values (K,) that are points, at ``positions`` in [0, 1]."""
    return np.maximum(0.0, 1 - np.abs(positions[None, :] * cells - np.arange(cells + 1)[:, None]))


def hat(s: np.ndarray) -> np.ndarray:
    """The integral of max(0, 1 - |t|) for t up to s."""
    c = np.clip(s, -1.0, 1.0)
    return np.where(c <= 0, (1 + c) ** 2 / 2, 1 - (1 - c) ** 2 / 2)
