"""Planar channels: a displacement on a grid that does not depend on the cell, and a grid that ends."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel
from warner.channels.dense import DenseChannel

_SMALL = 256  # cells up to which a matrix is the quicker one

_FEW = 400  # cells up to which one product with the whole matrix is faster than the transforms


class PlanarChannel(Channel):
    """A cell plus a random displacement (i, j), moved to the nearest cell of the grid where it falls outside [P4 app. B].

    On a rectangle the nearest cell clamps the row and the column each on its own. So a cell inside has the probability of one
    displacement, a cell of the border that of a half line of them, a corner that of a quarter plane: inside, A is a convolution; on
    each side, one convolution along it for every row or column; both by FFT, O(K log K). The displacement's law is even in i and in j.

    Args:
        inner: (R, C), Pr(i, j) for i < R, j < C.
        rows: (R, C), Pr(row displacement >= i, column displacement = j).
        columns: (R, C), Pr(row displacement = i, column displacement >= j).
        corner: (R, C), Pr(row displacement >= i, column displacement >= j).
    """

    def __init__(
        self, inner: np.ndarray, rows: np.ndarray, columns: np.ndarray, corner: np.ndarray
    ) -> None:
        height, width = inner.shape
        if height < 2 or width < 2:
            raise ArgumentError(
                message(
                    "domain",
                    "must have at least 2 rows and 2 columns",
                    str(inner.shape),
                    "Use Integers for a line",
                )
            )
        self.grid = (height, width)
        self.shape = (height * width,) * 2
        self._sizes = (_good(2 * height - 1), _good(2 * width - 1))
        self._inner = np.fft.rfft2(_even(_even(inner, 0, self._sizes[0]), 1, self._sizes[1]))
        # Along a side, the law of the displacement in its direction, for every distance from the side.
        self._sides = (
            np.fft.rfft(_even(rows, 1, self._sizes[1]), axis=1),
            np.fft.rfft(_even(columns, 0, self._sizes[0]), axis=0),
        )
        self._corner = corner

    @cached_property
    def _whole_matrix(self) -> np.ndarray | None:
        """A, (K, K), of a grid of few cells."""
        return self._transformed(np.eye(self.shape[1])) if self.shape[1] <= _FEW else None

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        whole = self._whole_matrix
        return self._transformed(theta) if whole is None else whole @ theta

    def _transformed(self, theta: np.ndarray) -> np.ndarray:
        """A theta by transforms."""
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
            # A transform leaves errors of rounding, of either sign, where a probability is almost 0.
            np.maximum(out, 0.0, out=out)
        return np.moveaxis(out, 0, 2).reshape(self.shape[0], *theta.shape[1:])

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        whole = self._whole_matrix
        return self._transformed_back(r) if whole is None else whole.T @ r

    def _transformed_back(self, r: np.ndarray) -> np.ndarray:
        """A' r by transforms."""
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

    def restrict_to_observed(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """A matrix on small grids, whose products cost less than the transforms' overhead."""
        return (DenseChannel(self._dense), w) if self.shape[0] <= _SMALL else (self, w)


def _good(size: int) -> int:
    """A length at least ``size`` that transforms quickly: 2^a 3^b 5^c."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def _even(half: np.ndarray, axis: int, size: int) -> np.ndarray:
    """An even sequence of period ``size`` from its values at 0, 1, 2, ..., zero in the middle."""
    half = np.moveaxis(half, axis, 0)
    out = np.zeros((size, *half.shape[1:]))
    out[: len(half)] = half
    if len(half) > 1:
        out[-(len(half) - 1) :] = half[:0:-1]
    return np.moveaxis(out, 0, axis)
