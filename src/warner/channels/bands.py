"""Two-level channels: a report is likely from a window of values, and equally unlikely from all others."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from warner.channels.base import Channel
from warner.channels.randomized_rounding import rounded, rounded_at


class BandChannel(Channel):
    """A[y, x] = low + gain * W[y, x], W[:, x] the share of a window that covers y, given by where it rises and falls.

    Windows are sums of few steps down the rows, W = cumsum(D), D sparse: both products are a scatter or a gather of D's
    entries and one cumulative sum, O(m + K), whatever the width of the windows. Square wave and piecewise mechanisms on bins are such,
    edges that a bin smears over several rows included [P3 sec V-B].

    Args:
        shape: (m, K).
        low, gain: the level outside, and how much higher it is where W = 1.
        rows, columns, jumps: the entries of D, (e,) each; jumps down a column sum to W's last row there.
        nearest: (m,) the value that each row stands for when taken as it is.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        low: float,
        gain: float,
        rows: np.ndarray,
        columns: np.ndarray,
        jumps: np.ndarray,
        nearest: np.ndarray | None = None,
    ) -> None:
        self.shape = shape
        self._nearest = nearest
        self.low, self.gain = low, gain
        order = np.argsort(columns, kind="stable")
        self._rows, self._columns, self._jumps = (
            rows[order],
            columns[order],
            jumps[order].astype(np.float64),
        )

    @cached_property
    def _steps(self) -> Any:
        """D as a sparse matrix, for products of many vectors."""
        from scipy.sparse import csr_array

        return csr_array((self._jumps, (self._rows, self._columns)), shape=self.shape)

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        if theta.ndim == 1:
            steps: np.ndarray = np.bincount(
                self._rows, self._jumps * theta[self._columns], self.shape[0]
            )
        else:
            steps = self._steps @ theta
        return self.low * theta.sum(axis=0) + self.gain * np.cumsum(steps, axis=0)

    def columns(self, index: np.ndarray) -> np.ndarray:
        counts = np.searchsorted(self._columns, index, "right") - (
            first := np.searchsorted(self._columns, index)
        )
        where = np.repeat(np.arange(len(index)), counts)
        entries = (
            np.arange(where.size)
            - np.repeat(np.cumsum(counts) - counts, counts)
            + np.repeat(first, counts)
        )
        steps = np.zeros((self.shape[0], len(index)))
        np.add.at(steps, (self._rows[entries], where), self._jumps[entries])
        return self.low + self.gain * np.cumsum(steps, axis=0)

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        tails = np.cumsum(r[::-1], axis=0)[::-1]
        if r.ndim == 1:
            covered: np.ndarray = np.bincount(
                self._columns, self._jumps * tails[self._rows], self.shape[1]
            )
        else:
            covered = self._steps.T @ tails
        return self.low * r.sum(axis=0) + self.gain * covered

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        return (
            super().naive_estimate(w)
            if self._nearest is None
            else np.bincount(self._nearest, w, self.shape[1])
        )


def windows(outputs: int, width: int, size: int, low: float, gain: float) -> BandChannel:
    """The channel of a window of ``width`` cells among ``outputs``, its start spread over the first ``outputs - width + 1`` cells.

    A value v in [0, 1] is rounded at random to one of the two starts next to s = v (outputs - width); a bin of values, uniform
    inside, has the average law: start k with weight integral max(0, 1 - |s - k|) over its s (METHODS 2).

    Args:
        outputs: m cells of the report.
        width: cells in a window.
        size: K bins of values.
        low, gain: Pr(a cell outside), and Pr(a cell inside) - low.
    """
    return _from_starts(outputs, width, size, *rounded(outputs - width, size), low, gain)


def _from_starts(
    outputs: int,
    width: int,
    size: int,
    start: np.ndarray,
    weight: np.ndarray,
    low: float,
    gain: float,
) -> BandChannel:
    """Windows that start at start[x, i] with probability weight[x, i]."""
    centres = (weight * start).sum(axis=1) / weight.sum(axis=1)
    means = (centres[1:] + centres[:-1]) / 2
    bins = np.broadcast_to(np.arange(size)[:, None], start.shape)
    kept = weight > 0
    start, weight, bins = start[kept], weight[kept], bins[kept]
    ends = start + width
    inside = ends < outputs
    return BandChannel(
        (outputs, size),
        low,
        gain,
        np.concatenate([start, ends[inside]]),
        np.concatenate([bins, bins[inside]]),
        np.concatenate([weight, -weight[inside]]),
        # A report in the middle of a window that starts at k stands for the value whose windows start there.
        nearest=np.searchsorted(means, np.arange(outputs) - (width - 1) / 2),
    )


def windows_at(
    outputs: int, width: int, positions: np.ndarray, low: float, gain: float
) -> BandChannel:
    """The same for values (K,) that are points, at ``positions`` in [0, 1]."""
    return _from_starts(
        outputs, width, len(positions), *rounded_at(outputs - width, positions), low, gain
    )
