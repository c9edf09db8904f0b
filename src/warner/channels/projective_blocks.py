"""The channel of projective geometry response whose values are divided among several spaces."""

from __future__ import annotations

import numpy as np

from warner._core.projective_space import ProjectiveBlocks
from warner.channels.arrays import FloatArray
from warner.channels.projective import OrthogonalReports, hyperplane_sums
from warner.channels.pure import normalized


class ProjectiveBlocksChannel(OrthogonalReports):
    """A = low + (high - low) N: N[y, x] = 1 where y and x are orthogonal points of one block.

    There are h blocks, and each has the m points of PG(t-1, q). Value x is a point of block i(x).
    Let S_x be the share of the reports that support x, B_i the share of the reports in block i,
    and Theta_i the share of the values there. With d = high - low:

        E S_x = s low + d ((s - c) theta_x + c Theta_i),   E B_i = m low + d s Theta_i
        theta_x = (S_x - s low - (c / s) (B_i - m low)) / (d (s - c))

    So the inverse has three different weights: of reports that support x, of the others in the
    block of x, and of those in other blocks.

    Args:
        size: K.
        points: the blocks, with the points of the values and of the reports.
        high: the probability of a report under the values that it supports.
        low: its probability under the others.

    >>> blocks = ProjectiveBlocks(2, 2, 2, 5)
    >>> channel = ProjectiveBlocksChannel(5, blocks, 0.25, 0.15)
    >>> channel.matvec(np.eye(5)[0]).tolist()
    [0.25, 0.15, 0.15, 0.15, 0.15, 0.15]
    """

    points: ProjectiveBlocks

    has_closed_inverse = True
    supports_overlap_alike = True
    lists_all_reports = True

    def __init__(self, size: int, points: ProjectiveBlocks, high: float, low: float) -> None:
        self.shape = (points.reports, size)
        self.points, self.high, self.low = points, high, low
        space = points.space
        self._ratio = space.common / space.orthogonal
        self._scale = 1 / ((space.orthogonal - space.common) * (high - low))
        self._base = (
            -self._scale * low * (space.orthogonal - self._ratio * space.points)
        )  # weight of reports in other blocks

    @property
    def has_closed_moments(self) -> bool:
        return True

    def _spread(self, theta: FloatArray) -> FloatArray:
        """Numbers of the values (K,) or (K, B) at their points, (m, h) or (m, h B); 0 elsewhere."""
        count, each, m = self.points.count, self.points.each, self.points.space.points
        columns = int(np.prod(theta.shape[1:], dtype=np.int64))
        padded = np.zeros((count * each, columns))
        padded[: self.shape[1]] = theta.reshape(self.shape[1], columns)
        out = np.zeros((m, count * columns))
        out[:each] = padded.reshape(count, each, columns).swapaxes(0, 1).reshape(each, -1)
        return out

    def _supporting(self, theta: FloatArray) -> FloatArray:
        """N theta: the sum of theta over the values that each report supports."""
        sums = hyperplane_sums(self._spread(theta), self.points.space)
        count, m = self.points.count, self.points.space.points
        return np.ascontiguousarray(
            sums.reshape(m, count, -1).swapaxes(0, 1).reshape(count * m, -1)
        ).reshape(self.shape[0], *theta.shape[1:])

    def support_shares(self, w: FloatArray) -> FloatArray:
        count, each, m = self.points.count, self.points.each, self.points.space.points
        by_point = w.reshape(count, m, -1).swapaxes(0, 1).reshape(m, -1)
        sums = hyperplane_sums(by_point, self.points.space)[:each]
        values = sums.reshape(each, count, -1).swapaxes(0, 1).reshape(count * each, -1)
        return np.ascontiguousarray(values[: self.shape[1]]).reshape(self.shape[1], *w.shape[1:])

    def _block_sums(self, w: FloatArray) -> FloatArray:
        """B_i of the block of each value, (K,) or (K, B), from numbers of the reports."""
        of_block = w.reshape(self.points.count, self.points.space.points, *w.shape[1:]).sum(axis=1)
        return np.asarray(of_block[self.points.block_of(np.arange(self.shape[1]))])

    def _value_sums(self, theta: FloatArray) -> FloatArray:
        """The sum of numbers of the values of each block, (h,) or (h, B)."""
        starts = np.arange(0, self.shape[1], self.points.each)
        sums = np.add.reduceat(theta, starts, axis=0)
        out = np.zeros((self.points.count, *theta.shape[1:]))
        out[: len(sums)] = sums
        return out

    def invert(self, w: FloatArray) -> FloatArray:
        weighted = self.support_shares(w) - self._ratio * self._block_sums(w)
        return np.asarray(self._scale * weighted + self._base * w.sum(axis=0))

    def influence(self, c: FloatArray) -> FloatArray:
        of_block = np.repeat(self._value_sums(c), self.points.space.points, axis=0)
        weighted = self._supporting(c) - self._ratio * of_block
        return np.asarray(self._scale * weighted + self._base * c.sum(axis=0))

    def _weights(self) -> tuple[float, float, float]:
        """The weights of a report that supports x, of another in its block, and of the rest."""
        within = self._base - self._scale * self._ratio
        return within + self._scale, within, self._base

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return normalized(self.support_shares(w))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        space, gain = self.points.space, self.high - self.low
        total = theta.sum(axis=0)
        of_block = self._value_sums(theta)[self.points.block_of(np.arange(self.shape[1]))]
        supports = space.orthogonal * self.low * total + gain * (
            (space.orthogonal - space.common) * theta + space.common * of_block
        )
        within = space.points * self.low * total + gain * space.orthogonal * of_block
        on, off, outside = (weight**2 for weight in self._weights())
        moments = on * supports + off * (within - supports) + outside * (total - within)
        p = space.orthogonal * self.high
        rest = (space.points - space.orthogonal) * self.low
        at_value = on * p + off * rest + outside * (1 - p - rest)
        return np.asarray(moments), np.full(self.shape[1], at_value)

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        weights = self._weights()
        return np.full(self.shape[1], min(weights)), np.full(self.shape[1], max(weights))
