"""Channels given as a matrix."""

from __future__ import annotations

import numpy as np

from warner._check import ArgumentError, message
from warner.channel.base import Channel


class DenseChannel(Channel):
    """Any matrix A (m, K) with columns that sum to one; ``copies`` is how many of its rows one report counts for."""

    def __init__(self, matrix: np.ndarray, copies: float = 1) -> None:
        self.matrix = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or not self.matrix.size:
            raise ArgumentError(message("matrix", "must have shape (reports, values)", str(self.matrix.shape)))
        if not (np.isfinite(self.matrix).all() and (self.matrix >= 0).all() and np.allclose(self.matrix.sum(axis=0), 1, rtol=0, atol=1e-9)):
            raise ArgumentError(message("matrix", "must have entries >= 0 and columns that sum to 1"))
        self.shape = self.matrix.shape
        self.copies = copies

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.matrix @ theta

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.matrix.T @ r

    def columns(self, index: np.ndarray) -> np.ndarray:
        return self.matrix[:, index]

    def dense(self) -> np.ndarray:
        return self.matrix.copy()
