"""Two-level channels: a report is likely from a window of values and unlikely from others."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import Channel
from warner.channels.randomized_rounding import rounded, rounded_at


class BandChannel(Channel):
    """A channel whose reports are likelier inside a window of the value.

        A[y, x] = Pr(report y | value x) = low + gain * W[y, x]

    W[y, x] is the mean share of report y that the window of x covers. W = cumsum(D), down the rows,
    for a sparse matrix D that holds where windows begin and end. A product is one cumulative sum
    and one scatter or gather of the entries of D. It costs O(m + K) for windows of any width.
    Square wave and piecewise mechanisms on bins have such channels, including windows whose edges
    cover rows in part [P3 sec V-B].

    Args:
        shape: (m, K).
        low: the level outside the window.
        gain: the level where W = 1, less ``low``.
        rows, columns, jumps: the entries of D, (e,) each. The jumps of a column sum to W in the
            last row.
        nearest: (m,) the value that each report stands for when it is not corrected.

    >>> windows(4, 2, 2, 0.125, 0.25).matvec(np.array([1.0, 0.0])).round(3).tolist()
    [0.25, 0.375, 0.25, 0.125]
    """

    def __init__(
        self,
        shape: tuple[int, int],
        low: float,
        gain: float,
        rows: IntArray,
        columns: IntArray,
        jumps: FloatArray,
        nearest: IntArray | None = None,
    ) -> None:
        self.shape = shape
        self._nearest = nearest
        self.low, self.gain = low, gain
        order = np.argsort(columns, kind="stable")
        self._rows, self._columns = rows[order], columns[order]
        self._jumps: FloatArray = jumps[order].astype(np.float64)

    @cached_property
    def _sparse_jumps(self) -> Any:
        """D as a sparse matrix, for products with many vectors."""
        from scipy.sparse import csr_array

        return csr_array((self._jumps, (self._rows, self._columns)), shape=self.shape)

    def matvec(self, theta: FloatArray) -> FloatArray:
        steps: FloatArray
        if theta.ndim == 1:
            steps = weighted_counts(self._rows, self._jumps * theta[self._columns], self.shape[0])
        else:
            steps = self._sparse_jumps @ theta
        return np.asarray(self.low * theta.sum(axis=0) + self.gain * np.cumsum(steps, axis=0))

    def columns(self, index: IntArray) -> FloatArray:
        first = np.searchsorted(self._columns, index)
        counts = np.searchsorted(self._columns, index, "right") - first
        column = np.repeat(np.arange(len(index)), counts)
        entries = (
            np.arange(column.size)
            - np.repeat(np.cumsum(counts) - counts, counts)
            + np.repeat(first, counts)
        )
        steps = np.zeros((self.shape[0], len(index)))
        np.add.at(steps, (self._rows[entries], column), self._jumps[entries])
        return self.low + self.gain * np.cumsum(steps, axis=0)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        tails = np.cumsum(r[::-1], axis=0)[::-1]
        covered: FloatArray
        if r.ndim == 1:
            covered = weighted_counts(self._columns, self._jumps * tails[self._rows], self.shape[1])
        else:
            covered = self._sparse_jumps.T @ tails
        return np.asarray(self.low * r.sum(axis=0) + self.gain * covered)

    def coarsened(self, w: FloatArray, starts: IntArray) -> tuple[Channel, FloatArray]:
        """The windows of a cell are the mean of those of its values."""
        size = self.shape[1]
        cell = np.searchsorted(starts, self._columns, side="right") - 1
        jumps = self._jumps / np.diff(starts, append=size)[cell]
        where, place = np.unique(cell * self.shape[0] + self._rows, return_inverse=True)
        columns, rows = np.divmod(where, self.shape[0])
        merged = weighted_counts(place, jumps, where.size)
        shape = (self.shape[0], len(starts))
        return BandChannel(shape, self.low, self.gain, rows, columns, merged), w

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        if self._nearest is None:
            return super().naive_estimate(w)
        return weighted_counts(self._nearest, w, self.shape[1])


def windows(outputs: int, width: int, size: int, low: float, gain: float) -> BandChannel:
    """The channel (m, K) of bins of numbers, where the reports in a window are the likely ones.

    The windows have ``width`` cells and start at one of the first ``outputs - width + 1`` cells. A
    number v in [0, 1] is rounded at random to one of the two starts next to s = v (outputs -
    width). The column of a bin is the mean over numbers that are uniform in the bin. So the weight
    of start k is the mean of max(0, 1 - |s - k|) over the bin (METHODS 2).

    With m = outputs, K = size.
    """
    return _from_starts(outputs, width, size, *rounded(outputs - width, size), low, gain)


def windows_at(
    outputs: int, width: int, positions: FloatArray, low: float, gain: float
) -> BandChannel:
    """:func:`windows` for values (K,) that are points, at ``positions`` in [0, 1]."""
    return _from_starts(
        outputs, width, len(positions), *rounded_at(outputs - width, positions), low, gain
    )


def _from_starts(
    outputs: int,
    width: int,
    size: int,
    start: IntArray,
    weight: FloatArray,
    low: float,
    gain: float,
) -> BandChannel:
    """The channel whose window of value x starts at start[x, i] with probability weight[x, i]."""
    centres = (weight * start).sum(axis=1) / weight.sum(axis=1)
    means = (centres[1:] + centres[:-1]) / 2
    bins = np.broadcast_to(np.arange(size)[:, None], start.shape)
    used = weight > 0
    start, weight, bins = start[used], weight[used], bins[used]
    ends = start + width
    inside = ends < outputs
    return BandChannel(
        (outputs, size),
        low,
        gain,
        np.concatenate([start, ends[inside]]),
        np.concatenate([bins, bins[inside]]),
        np.concatenate([weight, -weight[inside]]),
        # A report in the middle of a window stands for the value whose windows start there.
        nearest=np.searchsorted(means, np.arange(outputs) - (width - 1) / 2),
    )
