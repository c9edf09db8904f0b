"""What a channel is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.errors import (
    ArgumentError,
    IdentifiabilityError,
    message,
)

_BLOCK = 2**22  # elements of an array of unit vectors
LARGEST_DENSE = 2**26  # entries of a channel that is made a matrix


class Channel(ABC):
    """A (m, K) operator with an unbiased inverse, by the conventions of SciPy's LinearOperator.

    Products take one vector or several side by side, along the last axis. A subclass states ``shape``, ``matvec`` and
    ``rmatvec``; what follows from a matrix has a default here, made from the matrix, which a subclass with structure replaces.

    Attributes:
        shape: (m, K).
        dtype: float64.
        copies: how many rows one report counts for: 1, except where a report is taken as several (see SupportChannel).
        log_factors: (m,) or one number: log Pr(report | value) = log(copies A) + log_factors. It is 0 where a row times
            ``rows_per_report`` is a probability, and something else where rows are only known up to a factor.
    """

    shape: tuple[int, int]
    dtype = np.dtype(np.float64)
    rows_per_report: float = 1
    log_factors: np.ndarray | float = 0.0

    def log_factors_of(self, rows: np.ndarray) -> np.ndarray | float:
        """``log_factors`` of some rows, given by number or as booleans."""
        return (
            self.log_factors[rows] if isinstance(self.log_factors, np.ndarray) else self.log_factors
        )

    @abstractmethod
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """A theta: the probability of every report, (K,) -> (m,) or (K, B) -> (m, B)."""

    @abstractmethod
    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        """A' r, (m,) -> (K,) or (m, B) -> (K, B)."""

    def matmat(self, thetas: np.ndarray) -> np.ndarray:
        return self.matvec(thetas)

    def rmatmat(self, rs: np.ndarray) -> np.ndarray:
        return self.rmatvec(rs)

    def invert(self, w: np.ndarray) -> np.ndarray:
        """The linear unbiased estimate of theta (K,) from report frequencies w (m,); invert(A theta) = theta."""
        return self._inverse @ w

    def influence(self, c: np.ndarray) -> np.ndarray:
        """What each report adds to a linear function of the unbiased estimate: g (m,) with g'w = c'invert(w), (K,) -> (m,) or (K, B) -> (m, B)."""
        return self._inverse.T @ c

    def report_scores(self) -> np.ndarray:
        """The numbers that reports carry, (s, m): their own, or one per coordinate."""
        return np.arange(self.shape[0], dtype=np.float64)[None, :]

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_y L[x, y]^2 (A theta)_y and sum_y L[x, y]^2 A[y, x], each (K,), L the inverse's weights of one report.

        Linear in theta, (K,) or (K, B), whose sum need not be one.
        """
        self._whole()
        squares = self._inverse**2
        return squares @ self.matvec(theta), np.einsum("xy,yx->x", squares, self._dense)

    def whole(self) -> Channel:
        """A channel with a row for every report that there can be: this one, except where rows are those of reports seen."""
        return self

    def placed(self, w: np.ndarray) -> np.ndarray:
        """Weights (m,) as weights of the rows of ``whole()``."""
        return w

    def second_moments(self, weights: np.ndarray) -> np.ndarray:
        """E[g^2 | value], (r, K), of g = the sum of ``weights`` (r, m) over the rows that one report counts for."""
        self._whole()
        return np.asarray(weights**2 @ self._dense)

    def variance(self, theta: np.ndarray) -> np.ndarray:
        """Variance (K,) of ``invert`` per report, for users drawn independently from theta; divide by n."""
        return np.maximum(self.inverse_moments(theta)[0] - theta**2, 0.0)

    def variance_at_zero(self, theta: np.ndarray) -> np.ndarray:
        """Variance (K,) per report of the inverse at each value if its true share were 0 and theta (K,) held for the rest.

        With L the inverse's weights: (sum_y L[x, y]^2 (A theta - theta_x A_x)_y) / (1 - theta_x).
        """
        total, own = self.inverse_moments(theta)
        rest = 1 - theta
        return np.maximum(
            np.where(rest > 0, (total - theta * own) / np.where(rest > 0, rest, 1.0), total), 0.0
        )

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        """The report histogram itself as a distribution (K,) over values, with no correction at all."""
        if self.shape[0] != self.shape[1]:
            raise ArgumentError(
                message(
                    "observed",
                    "needs as many reports as values",
                    f"{self.shape[0]} reports and {self.shape[1]} values",
                    "Use another method",
                )
            )
        return w.copy()

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Weights (m,) of n reports from people drawn independently from theta: what a tally would hold, without the people."""
        self._whole()
        d = np.maximum(self.matvec(theta), 0.0)
        return rng.multinomial(n, d / d.sum()) / n

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Weights (m,) of the reports of ``people`` (K,), so many with each value: the values are fixed, the reports are drawn."""
        self._whole()
        total = np.zeros(self.shape[0], dtype=np.int64)
        for x in np.flatnonzero(people):
            column = np.maximum(self._dense[:, x], 0.0)
            total += rng.multinomial(people[x], column / column.sum())
        return total / people.sum()

    def supports(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """What the reports say when only known by how many support each value, as a channel of its own and its weights."""
        raise ArgumentError(
            message(
                "likelihood",
                "of support counts needs reports that support values or not",
                None,
                "Use the likelihood of the reports",
            )
        )

    def _whole(self) -> None:
        """Refuse what only holds where a row is a whole report."""
        if self.rows_per_report != 1:
            raise ArgumentError(
                message(
                    "channel",
                    "has parts of reports for rows, whose joint law it does not know",
                    None,
                    "Keep whole reports, or use another kind",
                )
            )

    def restrict_to_observed(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """A channel with the same likelihood whose products are cheap for these weights, and its weights."""
        folded = self.merge_proportional_rows()
        return (
            (self, w)
            if folded is None
            else (folded[0], np.bincount(folded[1], w, folded[0].shape[0]))
        )

    def merge_proportional_rows(self) -> tuple[Channel, np.ndarray] | None:
        """A channel of fewer rows that tells as much, and which of its rows each row goes to, (m,); None where there is none.

        Rows that are proportional to each other tell the same.
        """
        return None

    def merge_unsupported_values(
        self, w: np.ndarray
    ) -> tuple[Channel, np.ndarray, Callable[[np.ndarray], np.ndarray]] | None:
        """A smaller channel with the same maximum of the likelihood, its weights, and how its maximiser (K',) is that of all (K,).

        None where values do not lump.
        """
        return None

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns of A for some values, (m, len(index))."""
        chosen = np.zeros((self.shape[1], len(index)))
        chosen[index, np.arange(len(index))] = 1
        return self.matvec(chosen)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """The rows of A for some reports, (len(index), K)."""
        step = max(1, _BLOCK // self.shape[0])
        found = np.empty((len(index), self.shape[1]))
        for start in range(0, len(index), step):
            part = index[start : start + step]
            unit = np.zeros((self.shape[0], len(part)))
            unit[part, np.arange(len(part))] = 1
            found[start : start + step] = self.rmatvec(unit).T
        return found

    def sample_rows(self, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Row numbers (n,) of reports of people with the values at ``index`` (n,), each drawn on its own."""
        self._whole()
        out = np.empty(len(index), dtype=np.int64)
        order = np.argsort(index, kind="stable")
        values, starts = np.unique(index[order], return_index=True)
        for x, people in zip(values, np.split(order, starts[1:]), strict=True):
            column = np.maximum(self.columns(np.array([x]))[:, 0], 0.0)
            out[people] = rng.choice(len(column), len(people), p=column / column.sum())
        return out

    def simulate_tally(
        self, theta: np.ndarray, n: int, rng: np.random.Generator, values: np.ndarray | None = None
    ) -> tuple[Channel, np.ndarray]:
        """A simulated tally: a channel and its weights. This channel and :meth:`simulate`, except where rows are those of reports seen.

        ``values``: how many people (K,) have each value, where that is fixed.
        """
        return self, self.simulate(theta, n, rng) if values is None else self.simulate_from_values(
            values, rng
        )

    def dense(self) -> np.ndarray:
        """A as an array (m, K)."""
        return self.columns(np.arange(self.shape[1]))

    def gram(self, v: np.ndarray) -> np.ndarray:
        """A' diag(v) A, (K, K)."""
        total = np.zeros((self.shape[1],) * 2)
        for rows, block in self.blocks():
            total += (block * v[rows, None]).T @ block
        return total

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """A in blocks of rows: (which rows, array)."""
        yield slice(0, self.shape[0]), self._dense

    @cached_property
    def _dense(self) -> np.ndarray:
        if self.shape[0] * self.shape[1] > LARGEST_DENSE:
            raise ArgumentError(
                message(
                    "channel",
                    f"is made a matrix up to {LARGEST_DENSE} entries",
                    f"{self.shape[0]} reports and {self.shape[1]} values",
                    "Use a method that only multiplies by it, such as ExpectationMaximization, or a coarser domain",
                )
            )
        return self.dense()

    @cached_property
    def _inverse(self) -> np.ndarray:
        """A left inverse (K, m): weighted least squares with the weights that are right at the uniform distribution."""
        if (folded := self.merge_proportional_rows()) is not None:
            return folded[0]._inverse[:, folded[1]]
        matrix = self._dense
        spread = matrix.mean(axis=1)
        rows = spread > 0
        scaled = matrix[rows] / np.sqrt(spread[rows, None])
        if np.linalg.matrix_rank(scaled) < self.shape[1]:
            raise IdentifiabilityError(
                message(
                    "channel",
                    f"has rank below the number of values, {self.shape[1]}: different distributions make the same reports",
                    None,
                    "Use a mechanism whose channel has full column rank, or a method that does not invert it (for the mean of numbers SampleMean)",
                )
            )
        inverse = np.zeros(self.shape[::-1])
        inverse[:, rows] = np.linalg.pinv(scaled) / np.sqrt(spread[rows])
        return inverse


def has_inverse(channel: Channel) -> bool:
    """Whether distributions are told apart by the reports that they make through this channel."""
    try:
        channel.invert(np.full(channel.shape[0], 1 / channel.shape[0]))
    except IdentifiabilityError:
        return False
    return True


def one_by_one(
    product: Callable[[Any, np.ndarray], np.ndarray],
) -> Callable[[Any, np.ndarray], np.ndarray]:
    """A product of one vector made one of several, column by column, where working on all at once gains nothing."""

    def several(self: Any, array: np.ndarray) -> np.ndarray:
        if array.ndim == 1:
            return product(self, array)
        return np.stack([product(self, column) for column in np.ascontiguousarray(array.T)], axis=1)

    return several
