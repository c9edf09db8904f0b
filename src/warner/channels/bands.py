"""Two-level channels: a report is likely from a window of values and unlikely from others."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.extras import scipy
from warner.channels.base import Channel, FloatArray, IntArray, extremes, weighted_counts

# -----------------------------------------------------------------------------------------------
# Exponential channels: every step away from the value divides the probability by one factor.


class GeometricChannel(Channel):
    """The channel of two-sided geometric noise, Pr(report z | value x) = c_z a^|z - x| [P4 eq 21,
    22].

    >>> GeometricChannel(3, 0.5).matvec(np.array([1.0, 0.0, 0.0])).round(3).tolist()
    [0.667, 0.167, 0.167]
    """

    # c_z is 1 / (1 + a) at the two end reports, (1 - a) / (1 + a) between them: a report outside is
    # replaced by the nearest end. Reports may reach ``before`` below the first of K = ``size``
    # values and ``after`` above the last. Products are two sums of decaying terms, O(m log m).

    has_closed_moments = True

    def __init__(self, size: int, ratio: float, before: int = 0, after: int = 0) -> None:
        self.shape = (size + before + after, size)
        if self.shape[0] < 2 or not 0 < ratio < 1:
            rule = (
                "must be above 0 and below 1, and the mechanism must have at least 2 different "
                "reports"
            )
            raise ArgumentError(
                "ratio", rule, f"the ratio {ratio} and {self.shape[0]} different reports"
            )
        self.ratio, self.before = ratio, before
        # 1 - a cancels where a is near 1; expm1 of its logarithm does not.
        gap = -np.expm1(np.log(ratio))
        self._level = np.full(self.shape[0], gap / (1 + ratio))
        self._level[[0, -1]] = 1 / (1 + ratio)
        self._values = slice(before, before + size)
        self._gap = gap

    def _convolve(self, v: FloatArray) -> FloatArray:
        """sum_x a^|z - x| v_x for every z, along the first axis."""
        return np.asarray(self._decayed(v) + self._decayed(v[::-1])[::-1] - v)

    def _decayed(self, v: FloatArray) -> FloatArray:
        """sum_(x <= z) a^(z - x) v_x for every z: of twice as many terms after each step."""
        # A filter of SciPy does the same, but its module takes seconds to import.
        total, step, factor = np.array(v, dtype=float), 1, self.ratio
        while step < len(total) and factor > 0:
            total[step:] += factor * total[:-step]
            step, factor = 2 * step, factor * factor
        return total

    def _deconvolve(self, v: FloatArray) -> FloatArray:
        """The inverse of :meth:`_convolve`: three diagonals divided by 1 - a^2."""
        # 1 + a^2 on the main diagonal, 1 at both ends; -a beside it.
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
        # Reports beyond the values on one side are all proportional to a^x: they become one.
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
        # Row x of the inverse has three entries, so both sums have three terms.
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
        # An end, the value next to it and one inside have all the weights that there are.
        size = min(self.shape[1], 5)
        return extremes(GeometricChannel(size, self.ratio).influence(np.eye(size)).T)

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        # Reports beyond the values count for the nearest value.
        return self._merged_weights(w)


# -----------------------------------------------------------------------------------------------
# Numbers that are rounded at random to the points of a grid before they are randomised.


class SpreadChannel(Channel):
    """A channel A = inner S that first moves value x to grid point k with probability S[k, x].

    Shapes: inner (m, M + 1), weights S (M + 1, K), sparse, columns sum to one.
    """

    def __init__(self, inner: Channel, weights: Any, has_bins: bool) -> None:
        self.inner = inner
        self.weights = weights
        self.has_bins = has_bins
        self.shape = (inner.shape[0], weights.shape[1])

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.inner.matvec(self.weights @ theta)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return np.asarray(self.weights.T @ self.inner.rmatvec(r))

    def unrounded(self) -> Channel:
        return self.inner

    def merge_proportional_rows(self) -> tuple[Channel, IntArray] | None:
        merged = self.inner.merge_proportional_rows()
        if merged is None:
            return None
        return SpreadChannel(merged[0], self.weights, self.has_bins), merged[1]

    def exact_scores(self) -> FloatArray:
        points, size = self.weights.shape
        if not self.has_bins:
            return np.empty((0, self.shape[0]))
        return self.inner.influence(np.linspace(-size / 2, size / 2, points))[None]

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        # Each grid point counts for the value whose mean position on the grid is nearest.
        points = self.weights.shape[0]
        centres = self.weights.T @ np.arange(points)
        nearest = np.searchsorted((centres[1:] + centres[:-1]) / 2, np.arange(points))
        return weighted_counts(nearest, self.inner.naive_estimate(w), self.shape[1])


def rounded(steps: int, bins: int) -> tuple[IntArray, FloatArray]:
    """Random rounding of bins of numbers, uniform inside each, to the grid 0..steps (METHODS 2)."""
    # A number s goes to k with probability max(0, 1 - |s - k|); a bin has the mean of its numbers.
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
    used = weight > 0
    values = np.broadcast_to(np.arange(len(point))[:, None], point.shape)[used]
    return scipy.sparse.csr_array(
        (weight[used], (point[used], values)), shape=(steps + 1, len(point))
    )


def triangle_cdf(s: FloatArray) -> FloatArray:
    """The integral of max(0, 1 - |t|) over t <= s."""
    c = np.clip(s, -1.0, 1.0)
    return np.where(c <= 0, (1 + c) ** 2 / 2, 1 - (1 - c) ** 2 / 2)


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
        low: the level outside the window, one number or that of each row, (m,).
        gain: the level where W = 1, less ``low``.
        rows, columns, jumps: the entries of D, (e,) each. The jumps of a column sum to W in the
            last row.
        nearest: (m,) the value that each report stands for when it is not corrected.
        width: the number of rows in a window, where it is whole.

    >>> windows(4, 2, 2, 0.125, 0.25).matvec(np.array([1.0, 0.0])).round(3).tolist()
    [0.25, 0.375, 0.25, 0.125]
    """

    def __init__(
        self,
        shape: tuple[int, int],
        low: FloatArray | float,
        gain: FloatArray | float,
        rows: IntArray,
        columns: IntArray,
        jumps: FloatArray,
        nearest: IntArray | None = None,
        width: int | None = None,
    ) -> None:
        self.shape = shape
        self._nearest, self._width = nearest, width
        self.low, self.gain = low, gain
        order = np.argsort(columns, kind="stable")
        self._rows, self._columns = rows[order], columns[order]
        self._jumps: FloatArray = jumps[order].astype(np.float64)

    @cached_property
    def _sparse_jumps(self) -> Any:
        """D as a sparse matrix, for products with many vectors."""
        return scipy.sparse.csr_array((self._jumps, (self._rows, self._columns)), shape=self.shape)

    def matvec(self, theta: FloatArray) -> FloatArray:
        steps: FloatArray
        if theta.ndim == 1:
            steps = weighted_counts(self._rows, self._jumps * theta[self._columns], self.shape[0])
        else:
            steps = self._sparse_jumps @ theta
        # In place, because new arrays of many vectors take longer than the sums.
        out = np.cumsum(steps, axis=0, out=steps)
        np.multiply(out.T, self.gain, out=out.T)
        out += np.multiply.outer(self.low, theta.sum(axis=0))
        return out

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
        return np.asarray((self.low + self.gain * np.cumsum(steps, axis=0).T).T)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        tails = np.cumsum((self.gain * r.T).T[::-1], axis=0)[::-1]
        covered: FloatArray
        if r.ndim == 1:
            covered = weighted_counts(self._columns, self._jumps * tails[self._rows], self.shape[1])
        else:
            covered = self._sparse_jumps.T @ tails
        return np.asarray((self.low * r.T).sum(axis=-1) + covered)

    def merge_equal_rows(self, w: FloatArray) -> tuple[BandChannel, FloatArray]:
        channel, new_rows = self._merged
        if channel.shape == self.shape:
            return self, w
        return channel, weighted_counts(new_rows, w, channel.shape[0])

    @cached_property
    def _merged(self) -> tuple[BandChannel, IntArray]:
        """The channel with one row for equal ones, and the new number of every row, (m,)."""
        # Rows between which no window begins or ends are equal.
        begins = np.zeros(self.shape[0], dtype=np.int64)
        begins[self._rows] = 1
        begins[0] = 0
        new_rows = np.cumsum(begins)
        count = int(new_rows[-1]) + 1
        low, gain = (
            weighted_counts(new_rows, np.broadcast_to(level, new_rows.shape), count)
            for level in (self.low, self.gain)
        )
        rows, shape = new_rows[self._rows], (count, self.shape[1])
        return BandChannel(shape, low, gain, rows, self._columns, self._jumps), new_rows

    def unrounded(self) -> BandChannel:
        # A window starts at one of two rows next to the number.
        if self._width is None:
            return self
        starts = np.arange(self.shape[0] - self._width + 1)[:, None]
        rows, even = self.shape[0], np.ones(starts.shape)
        return _from_starts(rows, self._width, len(starts), starts, even, self.low, self.gain)

    def coarsened(self, w: FloatArray, starts: IntArray) -> tuple[Channel, FloatArray]:
        # The windows of a cell are the mean of those of its values.
        size = self.shape[1]
        cell = np.searchsorted(starts, self._columns, side="right") - 1
        jumps = self._jumps / np.diff(starts, append=size)[cell]
        where, entry = np.unique(cell * self.shape[0] + self._rows, return_inverse=True)
        columns, rows = np.divmod(where, self.shape[0])
        merged = weighted_counts(entry, jumps, where.size)
        shape = (self.shape[0], len(starts))
        return BandChannel(shape, self.low, self.gain, rows, columns, merged), w


def windows(outputs: int, width: int, size: int, low: float, gain: float) -> BandChannel:
    """The channel (m, K) of bins of numbers whose likely reports are in a window (METHODS 2)."""
    # Windows start at one of the first ``outputs - width + 1`` cells. A number v in [0, 1] is
    # rounded at random to a start next to s = v (outputs - width); a bin has the mean of its
    # numbers.
    channel = _from_starts(outputs, width, size, *rounded(outputs - width, size), low, gain)
    channel.has_bins = True
    return channel


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
    low: FloatArray | float,
    gain: FloatArray | float,
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
        width=width,
    )
