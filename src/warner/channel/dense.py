"""Channels given as a matrix."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from warner._check import ArgumentError, IdentifiabilityError, message
from warner.channel.base import Channel


class DenseChannel(Channel):
    """Any matrix A (m, K) with columns that sum to one."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or not self.matrix.size:
            raise ArgumentError(message("matrix", "must have shape (reports, values)", str(self.matrix.shape)))
        if not (np.isfinite(self.matrix).all() and (self.matrix >= 0).all() and np.allclose(self.matrix.sum(axis=0), 1, rtol=0, atol=1e-9)):
            raise ArgumentError(message("matrix", "must have entries >= 0 and columns that sum to 1"))
        self.shape = self.matrix.shape

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.matrix @ theta

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.matrix.T @ r

    def dense(self) -> np.ndarray:
        return self.matrix.copy()

    @cached_property
    def _inverse(self) -> np.ndarray:
        """A left inverse (K, m): weighted least squares with the weights that are right at the uniform distribution."""
        spread = self.matrix.mean(axis=1)
        rows = spread > 0
        scaled = self.matrix[rows] / np.sqrt(spread[rows, None])
        if np.linalg.matrix_rank(scaled) < self.shape[1]:
            raise IdentifiabilityError(
                message(
                    "channel",
                    f"has rank below the number of values, {self.shape[1]}: different distributions make the same reports",
                    None,
                    "Use a mechanism whose channel has full column rank, or a method that does not invert it",
                )
            )
        inverse = np.zeros(self.shape[::-1])
        inverse[:, rows] = np.linalg.pinv(scaled) / np.sqrt(spread[rows])
        return inverse

    def invert(self, w: np.ndarray) -> np.ndarray:
        return self._inverse @ w

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return np.maximum(self._moments(theta)[0] - theta**2, 0.0)

    def _moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        squares = self._inverse**2
        return squares @ self.matvec(theta), (squares * self.matrix.T).sum(axis=1)

    def observed(self, w: np.ndarray) -> np.ndarray:
        if self.shape[0] != self.shape[1]:
            raise ArgumentError(
                message("observed", "needs as many reports as values", f"{self.shape[0]} reports and {self.shape[1]} values", "Use another method")
            )
        return w.copy()
