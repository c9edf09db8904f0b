"""Planar channels: a random displacement on a grid that ends."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from math import prod

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.progress import in_blocks
from warner.channels.base import (
    Channel,
    DenseChannel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
)

_SMALL = 256  # cells up to which estimators get a matrix
_FEW = 400  # cells up to which a product with the matrix is faster than the transforms
# Entries of a matrix of some cells up to which a product with it is faster than the transforms.
_FEW_ENTRIES = 2**22
# The time of two transforms of one cell, in multiplications of a matrix by several vectors.
_TRANSFORM = 100


class _Transformed(Channel):
    """A channel whose products are transforms, or those of its matrix where that is faster."""

    @cached_property
    @abstractmethod
    def _matrix(self) -> FloatArray | None:
        """A (m, K), where it has few entries."""

    @abstractmethod
    def _transformed(self, theta: FloatArray) -> FloatArray:
        """A theta by transforms."""

    @abstractmethod
    def _transformed_back(self, r: FloatArray) -> FloatArray:
        """A' r by transforms."""

    def matvec(self, theta: FloatArray) -> FloatArray:
        matrix = self._matrix
        return self._transformed(theta) if matrix is None else matrix @ theta

    def rmatvec(self, r: FloatArray) -> FloatArray:
        matrix = self._matrix
        return self._transformed_back(r) if matrix is None else matrix.T @ r


class PlanarChannel(_Transformed):
    """A cell plus a random displacement (i, j), moved to the nearest cell of the grid [P4 app. B].

    On a rectangle the nearest cell clamps the row and the column separately. A cell inside has the
    probability of one displacement. A cell on a side has the sum over a half line of displacements,
    and a corner the sum over a quarter plane. So A is one convolution inside, and one convolution
    along each side for every row or column. All are computed by FFT, O(K log K). The distribution
    of the displacement is even in i and in j.

    Args:
        inner: (R, C), Pr(i, j) for i < R, j < C.
        rows: (R, C), Pr(row displacement >= i, column displacement = j).
        columns: (R, C), Pr(row displacement = i, column displacement >= j).
        corner: (R, C), Pr(row displacement >= i, column displacement >= j).

    Raises:
        ArgumentError: a grid of one row or one column.
    """

    def __init__(
        self, inner: FloatArray, rows: FloatArray, columns: FloatArray, corner: FloatArray
    ) -> None:
        height, width = inner.shape
        if height < 2 or width < 2:
            rule = "must have at least 2 rows and 2 columns"
            remedy = "Use Integers for values on a line"
            raise ArgumentError("domain", rule, str(inner.shape), remedy)
        self.grid = (height, width)
        self.shape = (height * width, height * width)
        self._sizes = (_fast_length(2 * height - 1), _fast_length(2 * width - 1))
        even_rows = _even(inner, 0, self._sizes[0])
        self._inner = np.fft.rfft2(_even(even_rows, 1, self._sizes[1]))
        # For every distance from a side, the distribution of the displacement along that side.
        self._sides = (
            np.fft.rfft(_even(rows, 1, self._sizes[1]), axis=1),
            np.fft.rfft(_even(columns, 0, self._sizes[0]), axis=0),
        )
        self._corner = corner
        # By whether the report is in the first or last row, and in the first or last column.
        self._tables = np.stack([inner, columns, rows, corner])

    def probabilities(self, cells: IntArray, values: IntArray) -> FloatArray:
        """Pr(cell | value) for some cells and some values, (len(cells), len(values))."""
        (height, width) = self.grid
        y, x = np.divmod(cells, width)
        i, j = np.divmod(values, width)
        on_side = (y == 0) | (y == height - 1), (x == 0) | (x == width - 1)
        table = 2 * on_side[0] + on_side[1]
        away = np.abs(y[:, None] - i), np.abs(x[:, None] - j)
        return np.asarray(self._tables[table[:, None], *away])

    def kernel(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Pr(displacement) for displacements inside the rectangle, (len(rows), len(columns))."""
        return np.asarray(self._tables[0][np.ix_(np.abs(rows), np.abs(columns))])

    @cached_property
    def _matrix(self) -> FloatArray | None:
        return self._transformed(np.eye(self.shape[1])) if self.shape[1] <= _FEW else None

    def _transformed(self, theta: FloatArray) -> FloatArray:
        height, width = self.grid
        t = np.moveaxis(theta.reshape(height, width, -1), 2, 0)
        out = np.fft.irfft2(np.fft.rfft2(t, self._sizes) * self._inner, self._sizes)[
            :, :height, :width
        ]
        along = np.fft.rfft(t, self._sizes[1], axis=2)
        across = np.fft.rfft(t, self._sizes[0], axis=1)
        for flip in (1, -1):
            edge = 0 if flip == 1 else -1
            out[:, edge, :] = np.fft.irfft(
                (along * self._sides[0][::flip]).sum(axis=1), self._sizes[1], axis=1
            )[:, :width]
            out[:, :, edge] = np.fft.irfft(
                (across * self._sides[1][:, ::flip]).sum(axis=2), self._sizes[0], axis=1
            )[:, :height]
        for down in (1, -1):
            for right in (1, -1):
                corner = self._corner[::down, ::right]
                out[:, 0 if down == 1 else -1, 0 if right == 1 else -1] = np.einsum(
                    "bij,ij->b", t, corner
                )
        if (theta >= 0).all():
            # Transforms leave rounding errors of either sign where a probability is almost 0.
            np.maximum(out, 0.0, out=out)
        return np.moveaxis(out, 0, 2).reshape(self.shape[0], *theta.shape[1:])

    def _transformed_back(self, r: FloatArray) -> FloatArray:
        height, width = self.grid
        v = np.moveaxis(r.reshape(height, width, -1), 2, 0)
        inside = v.copy()
        inside[:, [0, -1], :] = 0
        inside[:, :, [0, -1]] = 0
        out = np.fft.irfft2(np.fft.rfft2(inside, self._sizes) * self._inner, self._sizes)[
            :, :height, :width
        ]
        for flip in (1, -1):
            edge = 0 if flip == 1 else -1
            top, left = v[:, edge, :].copy(), v[:, :, edge].copy()
            top[:, [0, -1]] = 0
            left[:, [0, -1]] = 0
            along = np.fft.rfft(top, self._sizes[1], axis=1)[:, None, :] * self._sides[0][::flip]
            out += np.fft.irfft(along, self._sizes[1], axis=2)[:, :, :width]
            across = (
                np.fft.rfft(left, self._sizes[0], axis=1)[:, :, None] * self._sides[1][:, ::flip]
            )
            out += np.fft.irfft(across, self._sizes[0], axis=1)[:, :height, :]
        for down in (1, -1):
            for right in (1, -1):
                corner = v[:, 0 if down == 1 else -1, 0 if right == 1 else -1]
                out += corner[:, None, None] * self._corner[::down, ::right]
        return np.moveaxis(out, 0, 2).reshape(self.shape[1], *r.shape[1:])

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        # A matrix on small grids, which estimators multiply by many times.
        return (DenseChannel(self._dense), w) if self.shape[0] <= _SMALL else (self, w)


class PlacedChannel(_Transformed):
    """A planar channel on a rectangle whose values are some of its cells.

    The values leave out cells, or lie inside a larger rectangle of reports. Each cell of the
    rectangle is a report, or is replaced by the report that ``reports`` names.

    Args:
        inner: the channel on the rectangle, its M cells the values and the reports.
        places: (K,) the cells that are values.
        reports: (M,) the report 0..m-1 that stands for each cell; None where every cell is one.
        nearest: (m,) the value that each report stands for when it is not corrected.
    """

    def __init__(
        self, inner: PlanarChannel, places: IntArray, reports: IntArray | None, nearest: IntArray
    ) -> None:
        self.inner, self._places, self._reports, self._nearest = inner, places, reports, nearest
        self.shape = (len(nearest), len(places))

    @cached_property
    def _matrix(self) -> FloatArray | None:
        size = self.shape[1]
        if self.shape[0] * size > _FEW_ENTRIES:
            return None
        unit, some = np.eye(size), in_blocks(size, _FEW_ENTRIES, self.inner.shape[0])
        return np.concatenate([self._transformed(unit[:, values]) for values in some], axis=1)

    def _transformed(self, theta: FloatArray) -> FloatArray:
        whole = np.zeros((self.inner.shape[1], *theta.shape[1:]))
        whole[self._places] = theta
        cells = self.inner.matvec(whole)
        return cells if self._reports is None else summed_rows(self._reports, cells, self.shape[0])

    def _transformed_back(self, r: FloatArray) -> FloatArray:
        cells = r if self._reports is None else r[self._reports]
        return np.asarray(self.inner.rmatvec(cells)[self._places])

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        # The observed rows alone; or a matrix where it is small and cells share a report.
        if self._reports is None:
            return ObservedPlaces(self.inner, self._places, np.flatnonzero(w > 0)), w
        matrix = self._matrix
        return (self, w) if matrix is None else (DenseChannel(matrix, self._nearest), w)


class ObservedPlaces(LikelihoodOperator):
    """The rows of a :class:`PlacedChannel` at the reported cells, increasing; other rows are 0."""

    # Reported cells lie around the values. Up to the distance with the least work, products are a
    # convolution by transforms; cells further out and at the border have their rows as a matrix.
    # ``alone``: whether the rows are those of the observed cells alone, not of all M cells.

    def __init__(
        self, inner: PlanarChannel, places: IntArray, observed: IntArray, alone: bool = False
    ) -> None:
        self.inner, self._places, self._observed = inner, places, observed
        self._alone = alone
        self.shape = (len(observed) if alone else inner.shape[0], len(places))
        height, width = inner.grid
        y, x = np.divmod(observed, width)
        i, j = np.divmod(places, width)
        ends = (int(i.min()), int(i.max())), (int(j.min()), int(j.max()))
        beyond = np.zeros(len(observed), dtype=np.int64)
        for at, (first, final), last in zip((y, x), ends, (height - 1, width - 1), strict=True):
            beyond = np.maximum(beyond, np.maximum(first - at, at - final))
            beyond[(at == 0) | (at == last)] = max(height, width)
        reach = _least_work(beyond, ends, len(places), (height, width))
        far = beyond > reach
        row = np.arange(len(observed)) if alone else observed
        self._row, self._far, self._near = row, row[far], row[~far]
        self._rows = inner.probabilities(observed[far], places)
        if reach < 0:
            return
        # The cells within reach of the values' rectangle, and the same for columns.
        low = [max(first - reach, 0) for first, _ in ends]
        high = [min(ends[k][1] + reach, inner.grid[k] - 1) for k in (0, 1)]
        outputs = [high[k] - low[k] + 1 for k in (0, 1)]
        inputs = [last - first + 1 for first, last in ends]
        self._sizes = [_fast_length(outputs[k] + inputs[k] - 1) for k in (0, 1)]
        most = []
        for k, (first, _) in enumerate(ends):
            step = np.arange(self._sizes[k])
            move = np.where(step < outputs[k], step, step - self._sizes[k]) + low[k] - first
            # Entries that no cell and value have in common may hold anything: they are not used.
            most.append(np.minimum(np.abs(move), inner.grid[k] - 1))
        self._kernel = np.fft.rfft2(inner.kernel(*most))
        self._outputs, self._inputs = outputs, inputs
        near_y, near_x = np.divmod(observed[~far], width)
        self._near_at = (near_y - low[0], near_x - low[1])
        self._places_at = (i - ends[0][0], j - ends[1][0])

    def matvec(self, theta: FloatArray) -> FloatArray:
        out = np.zeros((self.shape[0], *theta.shape[1:]))
        out[self._far] = self._rows @ theta
        if self._near.size:
            t = np.zeros((*theta.shape[1:], *self._inputs))
            t[..., *self._places_at] = theta.T
            spread = np.fft.irfft2(np.fft.rfft2(t, self._sizes) * self._kernel, self._sizes)
            spread_at_cells = spread[..., *self._near_at].T
            # Transforms leave rounding errors of either sign where a probability is almost 0.
            out[self._near] = (
                np.maximum(spread_at_cells, 0.0) if (theta >= 0).all() else spread_at_cells
            )
        return out

    def rmatvec(self, r: FloatArray) -> FloatArray:
        out = self._rows.T @ r[self._far]
        if self._near.size:
            v = np.zeros((*r.shape[1:], *self._outputs))
            v[..., *self._near_at] = r[self._near].T
            back = np.fft.rfft2(v, self._sizes) * self._kernel.conj()
            out = out + np.fft.irfft2(back, self._sizes)[..., *self._places_at].T
        return out

    def columns(self, index: IntArray) -> FloatArray:
        out = np.zeros((self.shape[0], len(index)))
        out[self._row] = self.inner.probabilities(self._observed, self._places[index])
        return out

    def seen_rows(self) -> tuple[LikelihoodOperator, IntArray] | None:
        if self._alone:
            return None
        return ObservedPlaces(self.inner, self._places, self._observed, True), self._observed

    def gram(self, v: FloatArray) -> FloatArray:
        total = np.zeros((self.shape[1],) * 2)
        for some in in_blocks(len(self._observed), _FEW_ENTRIES, self.shape[1]):
            block = self.inner.probabilities(self._observed[some], self._places)
            total += (block * v[self._row[some], None]).T @ block
        return total


def _least_work(
    beyond: IntArray,
    ends: tuple[tuple[int, int], tuple[int, int]],
    values: int,
    grid: tuple[int, int],
) -> int:
    """The distance up to which cells are reached by transforms; -1 where a matrix is less work."""
    heights = [last - first + 1 for first, last in ends]
    best, least = -1, float(beyond.size) * values
    for reach in np.unique(beyond[beyond < max(grid)]):
        area = prod(_fast_length(2 * size + 2 * int(reach) - 1) for size in heights)
        work = float(np.count_nonzero(beyond > reach)) * values + _TRANSFORM * area
        if work < least:
            best, least = int(reach), work
    return best


def summed_rows(index: IntArray, rows: FloatArray, size: int) -> FloatArray:
    """Rows added up by their index: (M,) or (M, B) -> (size,) or (size, B)."""
    out = np.zeros((size, *rows.shape[1:]))
    np.add.at(out, index, rows)
    return out


def _fast_length(size: int) -> int:
    """The least length of the form 2^a 3^b 5^c that is at least ``size``; it transforms quickly."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def _even(half: FloatArray, axis: int, size: int) -> FloatArray:
    """An even sequence of period ``size`` from its values at 0, 1, 2, ..., zero in the middle."""
    half = np.moveaxis(half, axis, 0)
    out = np.zeros((size, *half.shape[1:]))
    out[: len(half)] = half
    if len(half) > 1:
        out[-(len(half) - 1) :] = half[:0:-1]
    return np.moveaxis(out, 0, axis)
