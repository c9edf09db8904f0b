"""Channels given as a matrix."""

from __future__ import annotations

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import Channel, CompositeChannel, LikelihoodOperator

_QUICK = 2**16  # entries


class DenseChannel(Channel):
    """Any matrix A (m, K) with columns that sum to one.

    Args:
        matrix: A.
        nearest: (m,) the value that each report stands for when it is not corrected, where there
            is such a value.

    Raises:
        ArgumentError: not a matrix of probabilities.

    >>> channel = DenseChannel(np.array([[0.8, 0.3], [0.2, 0.7]]))
    >>> channel.invert(np.array([0.5, 0.5])).round(3).tolist()
    [0.4, 0.6]
    """

    def __init__(self, matrix: FloatArray, nearest: IntArray | None = None) -> None:
        self._nearest = nearest
        self.matrix: FloatArray = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or not self.matrix.size:
            raise ArgumentError(
                "matrix", "must have shape (reports, values)", str(self.matrix.shape)
            )
        if not (
            np.isfinite(self.matrix).all()
            and (self.matrix >= 0).all()
            and np.allclose(self.matrix.sum(axis=0), 1, rtol=0, atol=1e-9)
        ):
            sums = self.matrix.sum(axis=0)
            worst = int(np.argmax(np.where(np.isnan(sums), np.inf, np.abs(sums - 1))))
            got = (
                f"the sum {sums[worst]:.9g} in column {worst}, least entry {self.matrix.min():.3g}"
            )
            rule = "must have entries >= 0 and columns that sum to 1"
            raise ArgumentError("matrix", rule, got, "A column is the law of one value")
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.matrix @ theta

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self.matrix.T @ r

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        if self._nearest is None:
            return super().naive_estimate(w)
        return weighted_counts(self._nearest, w, self.shape[1])

    def columns(self, index: IntArray) -> FloatArray:
        columns: FloatArray = self.matrix[:, index]
        return columns

    def dense(self) -> FloatArray:
        return self.matrix.copy()


class DenseCompositeChannel(DenseChannel, CompositeChannel):
    """A matrix whose rows are parts of reports.

    Args:
        matrix: A (m, K), columns sum to one.
        rows_per_report: the number of rows in which one report counts.
    """

    def __init__(self, matrix: FloatArray, rows_per_report: float) -> None:
        super().__init__(matrix)
        self.rows_per_report = rows_per_report


class MatrixRows(LikelihoodOperator):
    """The rows of another operator as a matrix, whose products are quick where it is small.

    Args:
        operator: A (m, K).
    """

    def __init__(self, operator: LikelihoodOperator) -> None:
        self.matrix = operator.dense()
        self.shape, self.rows_per_report = operator.shape, operator.rows_per_report
        self.log_factors = operator.log_factors

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.matrix @ theta

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self.matrix.T @ r


def quick(operator: LikelihoodOperator) -> LikelihoodOperator:
    """The operator as :class:`MatrixRows` up to 2^16 entries, else the operator itself.

    Products of fewer entries take less time than the calls of a structured product. The products of
    randomised response and of bit sums are quicker from 2^14 entries on.

    Shapes: operator (m, K).
    """
    separate = operator.reports_are_values or operator.rows_are_bit_sums
    small = operator.shape[0] * operator.shape[1] <= (_QUICK // 4 if separate else _QUICK)
    return MatrixRows(operator) if small else operator
