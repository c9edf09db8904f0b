"""Reports of several parts that are independent given the value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warner.channels.arrays import FloatArray, joint_log_factors
from warner.channels.base import Channel, LikelihoodOperator, one_by_one
from warner.channels.dense import DenseChannel
from warner.channels.repeated import RepeatedRows


class KhatriRaoChannel(Channel):
    """The channel of tuples of reports that are independent given the value, in C order.

        A[(y_1, .., y_d), x] = A_1[y_1, x] .. A_d[y_d, x]

    This is the column-wise Kronecker product. The factors are multiplied in two halves L and R, so
    that A theta = L diag(theta) R' is one product of matrices.

    Args:
        tables: A_1 .. A_d, (m_k, K) each.
        log_factors: those of the rows of each table, (m_k,) or one number; None where all are 0.

    >>> table = np.array([[0.8, 0.3], [0.2, 0.7]])
    >>> KhatriRaoChannel([table, table]).matvec(np.array([1.0, 0.0])).round(2).tolist()
    [0.64, 0.16, 0.16, 0.04]
    """

    has_independent_parts = True

    def __init__(
        self,
        tables: Sequence[FloatArray],
        log_factors: Sequence[FloatArray | float] | None = None,
    ) -> None:
        self.tables = tuple(tables)
        self._factors = [0.0] * len(self.tables) if log_factors is None else list(log_factors)
        self.log_factors = joint_log_factors(self._factors, [len(t) for t in self.tables])
        half = len(self.tables) // 2
        self._left = _multiplied(self.tables[:half]) if half else None
        self._right = _multiplied(self.tables[half:])
        self.shape = (int(np.prod([len(t) for t in self.tables])), self.tables[0].shape[1])

    @one_by_one
    def matvec(self, theta: FloatArray) -> FloatArray:
        if self._left is None:
            return self._right @ theta
        return ((self._left * theta) @ self._right.T).ravel()

    @one_by_one
    def rmatvec(self, r: FloatArray) -> FloatArray:
        if self._left is None:
            return self._right.T @ r
        back: FloatArray = np.einsum(
            "ix,ix->x", self._left, r.reshape(len(self._left), -1) @ self._right
        )
        return back

    def report_scores(self) -> FloatArray:
        return np.stack(
            np.unravel_index(np.arange(self.shape[0]), [len(t) for t in self.tables])
        ).astype(np.float64)

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """The rows of the observed reports, if at most a quarter of all rows are observed."""
        rows = np.flatnonzero(w > 0)
        if 4 * rows.size > self.shape[0]:
            return self, w
        parts = np.unravel_index(rows, [len(t) for t in self.tables])
        channels = [DenseChannel(t) for t in self.tables]
        for channel, factors in zip(channels, self._factors, strict=True):
            channel.log_factors = factors
        observed = RepeatedRows(channels, np.stack(parts, axis=1))
        return observed, w[rows]


def _multiplied(tables: Sequence[FloatArray]) -> FloatArray:
    """The column-wise Kronecker product of some tables as a matrix."""
    out = tables[0]
    for table in tables[1:]:
        out = (out[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
    return out
