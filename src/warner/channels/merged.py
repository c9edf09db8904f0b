"""Fewer components than values: values that share one weight evenly, and values left out [P3 sec IV]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warner.channels.base import Channel


class MergedChannel(Channel):
    """A M for components 0..K'-1: M[x, j] = 1 / h_j for the h_j values x of component j, 0 for the others.

    A component's column is the mean of its values' columns, so a weight t_j on it is a share t_j / h_j for each of them. Made of
    A's own products and one gather or scatter, O(K) more.

    Args:
        channel: A (m, K).
        labels: (K,) the component of every value, all of 0..K'-1 used; -1 for a value that has none, and so the share 0.
    """

    def __init__(self, channel: Channel, labels: np.ndarray) -> None:
        self.channel, self.labels = channel, labels
        self.sizes = np.bincount(labels[labels >= 0])
        self.shape = (channel.shape[0], self.sizes.size)
        self.rows_per_report = channel.rows_per_report
        self.log_factors = channel.log_factors
        # One more component of weight 0 at the end is where the label -1 points.
        self._scale = np.append(1 / self.sizes, 0.0)

    def spread(self, t: np.ndarray) -> np.ndarray:
        """M t: the shares of the values, (K',) -> (K,) or (K', B) -> (K, B)."""
        shares = (t.T * self._scale[:-1]).T
        return np.concatenate([shares, np.zeros((1, *t.shape[1:]))])[self.labels]

    def gather(self, theta: np.ndarray) -> np.ndarray:
        """The weights of the components, sums over their values, (K,) -> (K',)."""
        return np.bincount(self.labels + 1, theta, self.shape[1] + 1)[1:]

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.channel.matvec(self.spread(theta))

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        back = self.channel.rmatvec(r)
        if back.ndim == 1:
            return self.gather(back) * self._scale[:-1]
        return np.stack([self.gather(column) for column in back.T], axis=1) * self._scale[:-1, None]

    def gram(self, v: np.ndarray) -> np.ndarray:
        if type(self.channel).gram is Channel.gram:
            return super().gram(v)
        matrix = self._matrix
        return matrix.T @ self.channel.gram(v) @ matrix

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if type(self.channel).blocks is Channel.blocks:
            yield from super().blocks()
            return
        for rows, block in self.channel.blocks():
            yield rows, block @ self._matrix

    def restrict_to_observed(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        rows, weights = self.channel.restrict_to_observed(w)
        return MergedChannel(rows, self.labels), weights

    @property
    def _matrix(self) -> np.ndarray:
        """M, (K, K')."""
        return self.spread(np.eye(self.shape[1]))
