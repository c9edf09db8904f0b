"""Channels of fewer components than values: some values share a component, others have none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import LikelihoodOperator


class MergedChannel(LikelihoodOperator):
    """The channel A M of components 0..K'-1, where some values of a channel A share a component.

    M[x, j] = 1 / h_j for the h_j values x of component j, and 0 elsewhere. The column of a
    component is the mean of its values' columns. So the weight t_j of component j gives each of its
    values the share t_j / h_j [P3 sec IV]. A product costs O(K) more than a product with A.

    Args:
        channel: A (m, K).
        labels: (K,) the component of every value; each of 0..K'-1 occurs. A value with the label
            -1 belongs to no component, and its share is 0.
    """

    has_fast_gram = True
    has_row_blocks = True

    def __init__(self, channel: LikelihoodOperator, labels: IntArray) -> None:
        self.channel, self.labels = channel, labels
        self.sizes = np.bincount(labels[labels >= 0])
        self.shape = (channel.shape[0], self.sizes.size)
        self.rows_per_report = channel.rows_per_report
        self.log_factors = channel.log_factors
        # The label -1 points to the last entry, a component of weight 0.
        self._scale: FloatArray = np.append(1 / self.sizes, 0.0)

    def spread(self, t: FloatArray) -> FloatArray:
        """M t: the shares of the values, (K',) -> (K,) or (K', B) -> (K, B)."""
        shares = (t.T * self._scale[:-1]).T
        padded = np.concatenate([shares, np.zeros((1, *t.shape[1:]))])
        return np.asarray(padded[self.labels])

    def gather(self, theta: FloatArray) -> FloatArray:
        """The weights of the components, which are sums over their values, (K,) -> (K',)."""
        return weighted_counts(self.labels + 1, theta, self.shape[1] + 1)[1:]

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.channel.matvec(self.spread(theta))

    def rmatvec(self, r: FloatArray) -> FloatArray:
        back = self.channel.rmatvec(r)
        if back.ndim == 1:
            return self.gather(back) * self._scale[:-1]
        return np.stack([self.gather(column) for column in back.T], axis=1) * self._scale[:-1, None]

    def gram(self, v: FloatArray) -> FloatArray:
        if not self.channel.has_fast_gram:
            return super().gram(v)
        matrix = self._matrix
        return matrix.T @ self.channel.gram(v) @ matrix

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        if not self.channel.has_row_blocks:
            yield from super().blocks()
            return
        for rows, block in self.channel.blocks():
            yield rows, block @ self._matrix

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        rows, weights = self.channel.restrict_to_observed(w)
        return MergedChannel(rows, self.labels), weights

    @property
    def _matrix(self) -> FloatArray:
        """M, (K, K')."""
        return self.spread(np.eye(self.shape[1]))


def on_cells(
    channel: LikelihoodOperator, w: FloatArray, starts: IntArray
) -> tuple[LikelihoodOperator, FloatArray]:
    """The likelihood of distributions that are even within cells of consecutive values.

    The share of a cell is split evenly among its values. So the column of a cell is the mean of the
    columns of its values. Rows that are then proportional may be added, and rows may have other
    factors. Of whole reports of bits it is the quasi-likelihood of the support counts.

    Shapes: channel (m, K), w (m,), starts (C,).
    """
    found = channel.coarsened(w, starts)
    if found is not None:
        return found
    rows, weights = channel.restrict_to_observed(w)
    if rows.nearly_constant() is not None:
        counted, shares = channel.supports(w)
        found = counted.coarsened(shares, starts)
        if found is not None:
            return found
    labels = np.zeros(channel.shape[1], dtype=np.int64)
    labels[starts[1:]] = 1
    return MergedChannel(rows, np.cumsum(labels)), weights
