"""Reports of several parts that are independent given the value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warner.channels.base import Channel, one_by_one
from warner.channels.dense import DenseChannel
from warner.channels.repeated import RepeatedRows


class KhatriRaoChannel(Channel):
    """A[(y_1, .., y_d), x] = A_1[y_1, x] .. A_d[y_d, x], reports in C order: the column-wise Kronecker product.

    The parts are gathered in two halves L and R, so that A theta = L diag(theta) R' is one product of matrices.

    Args:
        tables: A_1 .. A_d, (m_k, K) each.
    """

    def __init__(self, tables: Sequence[np.ndarray]) -> None:
        self.tables = tuple(tables)
        half = len(self.tables) // 2
        self._left = _gathered(self.tables[:half]) if half else None
        self._right = _gathered(self.tables[half:])
        self.shape = (int(np.prod([len(t) for t in self.tables])), self.tables[0].shape[1])

    @one_by_one
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        if self._left is None:
            return self._right @ theta
        return ((self._left * theta) @ self._right.T).ravel()

    @one_by_one
    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        if self._left is None:
            return self._right.T @ r
        return np.einsum("ix,ix->x", self._left, r.reshape(len(self._left), -1) @ self._right)

    def report_scores(self) -> np.ndarray:
        return np.stack(
            np.unravel_index(np.arange(self.shape[0]), [len(t) for t in self.tables])
        ).astype(np.float64)

    def restrict_to_observed(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """Only the reports seen, where that saves work."""
        rows = np.flatnonzero(w > 0)
        if 4 * rows.size > self.shape[0]:
            return self, w
        parts = np.unravel_index(rows, [len(t) for t in self.tables])
        return RepeatedRows([DenseChannel(t) for t in self.tables], np.stack(parts, axis=1)), w[
            rows
        ]


def _gathered(tables: Sequence[np.ndarray]) -> np.ndarray:
    """The column-wise Kronecker product of some of the tables as a matrix."""
    out = tables[0]
    for table in tables[1:]:
        out = (out[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
    return out
