"""Channels given as a matrix."""

from __future__ import annotations

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel


class DenseChannel(Channel):
    """Any matrix A (m, K) with columns that sum to one.

    Args:
        matrix: A.
        copies: how many of its rows one report counts for.
        nearest: (m,) the value that each row stands for when taken as it is, where there is one.
    """

    def __init__(
        self, matrix: np.ndarray, rows_per_report: float = 1, nearest: np.ndarray | None = None
    ) -> None:
        self._nearest = nearest
        self.matrix = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or not self.matrix.size:
            raise ArgumentError(
                message("matrix", "must have shape (reports, values)", str(self.matrix.shape))
            )
        if not (
            np.isfinite(self.matrix).all()
            and (self.matrix >= 0).all()
            and np.allclose(self.matrix.sum(axis=0), 1, rtol=0, atol=1e-9)
        ):
            raise ArgumentError(
                message("matrix", "must have entries >= 0 and columns that sum to 1")
            )
        self.shape = self.matrix.shape
        self.rows_per_report = rows_per_report

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.matrix @ theta

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.matrix.T @ r

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        return (
            super().naive_estimate(w)
            if self._nearest is None
            else np.bincount(self._nearest, w, self.shape[1])
        )

    def columns(self, index: np.ndarray) -> np.ndarray:
        return self.matrix[:, index]

    def dense(self) -> np.ndarray:
        return self.matrix.copy()
