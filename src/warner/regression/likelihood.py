"""The likelihood of reports whose answers depend on covariates, by a multinomial logit.

    l(beta) = sum_i log sum_x A[y_i, x] pi_x(z_i),   pi(z) = softmax(0, beta_1 z, .., beta_E z)

A is the channel, y_i the report and z_i the covariates of person i. E = K - 1 values have
coefficients, and the reference has none. With the posterior q_ix of the values given the report,

    gradient      sum_i (q_i - pi_i) z_i'
    information   sum_i [diag(pi_i) - pi_i pi_i' - diag(q_i) + q_i q_i'] (x) z_i z_i'

The first two terms are the information of the answers themselves, and the last two the information
that the reports lack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from warner.channels import FloatArray, IntArray

_BLOCK = 2**19  # elements of an array of rows of covariates by entries of a matrix


@dataclass(frozen=True, eq=False)
class Pairs:
    """The different pairs of a report and covariates, and how often each occurs.

    Attributes:
        rows: (m, K) the likelihoods of the different reports, each up to a factor.
        covariates: (g, p) the different rows of covariates.
        report: (r,) the row of ``rows`` of each pair.
        group: (r,) the row of ``covariates`` of each pair, increasing.
        counts: (r,) how many people each pair has.
    """

    rows: FloatArray
    covariates: FloatArray
    report: IntArray
    group: IntArray
    counts: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, report: IntArray, covariates: FloatArray) -> Pairs:
        """The pairs of n people.

        Shapes: rows (m, K), report (n,), covariates (n, p).
        """
        group, first = _different_rows(covariates)
        pair, counts = np.unique(group * len(rows) + report, return_counts=True)
        return cls(
            rows,
            np.ascontiguousarray(covariates[first]),
            pair % len(rows),
            pair // len(rows),
            counts.astype(np.float64),
        )

    def turned(self, turn: FloatArray) -> Pairs:
        """The same pairs with covariates Z T, for T (p, p)."""
        return replace(self, covariates=self.covariates @ turn)

    @property
    def size(self) -> int:
        """K, the number of values."""
        return int(self.rows.shape[1])

    @property
    def are_known(self) -> bool:
        """Whether every report tells the answer."""
        return bool((np.count_nonzero(self.rows, axis=1) == 1).all())

    @cached_property
    def people(self) -> FloatArray:
        """(g,) the number of people with each row of covariates."""
        return np.asarray(np.bincount(self.group, self.counts, len(self.covariates)), float)

    @cached_property
    def starts(self) -> IntArray:
        """(g,) the first pair of each row of covariates."""
        return np.searchsorted(self.group, np.arange(len(self.covariates)))

    def at(self, beta: FloatArray) -> Point:
        """The likelihood at coefficients beta (E, p)."""
        pi = softmax(self.covariates @ beta.T)
        posterior = self.rows[self.report] * pi[self.group]
        total = posterior.sum(axis=1)
        # A probability may be below the smallest float, if a trial step is too long.
        with np.errstate(divide="ignore", invalid="ignore"):
            posterior /= total[:, None]
            return Point(self, pi, posterior, float(self.counts @ np.log(total)))

    def outer(self, factors: FloatArray, group: IntArray) -> FloatArray:
        """sum_i f_i f_i' (x) z_i z_i', (E p, E p), in blocks of i.

        Few factors are multiplied with each other, and then with the products of covariates. Many
        factors are multiplied with the covariates, and then with each other.

        Shapes: f = factors (r, E), group (r,).
        """
        extra, width = factors.shape[1], self.covariates.shape[1]
        size = extra * width
        first, second = np.triu_indices(extra)
        has_few = extra + 1 <= 2 * width
        total = np.zeros((len(first), width * width) if has_few else (size, size))
        step = max(1, _BLOCK // max(size, width * width))
        for start in range(0, len(factors), step):
            f = factors[start : start + step]
            z = self.covariates[group[start : start + step]]
            if has_few:
                columns = np.ascontiguousarray(f.T)
                total += (columns[first] * columns[second]) @ _products(z, z)
            else:
                products = _products(f, z)
                total += products.T @ products
        if not has_few:
            return total
        blocks = np.empty((extra, extra, width, width))
        blocks[first, second] = blocks[second, first] = total.reshape(-1, width, width)
        return np.asarray(blocks.transpose(0, 2, 1, 3).reshape(size, size))

    def diagonal_blocks(self, weights: FloatArray) -> FloatArray:
        """The block-diagonal matrix of sum_g w_ge z_g z_g', (E p, E p), for weights w (g, E)."""
        extra, width = weights.shape[1], self.covariates.shape[1]
        total = np.zeros((extra, width * width))
        step = max(1, _BLOCK // width**2)
        for start in range(0, len(weights), step):
            z = self.covariates[start : start + step]
            total += weights[start : start + step].T @ _products(z, z)
        found = np.zeros((extra, width, extra, width))
        each = np.arange(extra)
        found[each, :, each, :] = total.reshape(extra, width, width)
        return found.reshape(extra * width, extra * width)


@dataclass(frozen=True, eq=False)
class Point:
    """The likelihood at some coefficients.

    Attributes:
        pairs: the reports and covariates.
        pi: (g, K) the shares of the values at each row of covariates.
        posterior: (r, K) the shares given the report of each pair.
        value: l, in nats; -inf or NaN where coefficients are too large.
    """

    pairs: Pairs
    pi: FloatArray
    posterior: FloatArray
    value: float

    def derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The gradient of l and two matrices of information."""
        pairs = self.pairs
        expected = pairs.people[:, None] * self.pi
        counted = pairs.counts[:, None] * self.posterior
        seen = np.add.reduceat(counted, pairs.starts, axis=0)
        gradient = (seen - expected)[:, 1:].T @ pairs.covariates
        each = np.arange(len(self.pi))
        complete, missing = (
            pairs.diagonal_blocks(total[:, 1:])
            - pairs.outer(np.sqrt(counts)[:, None] * shares[:, 1:], group)
            for total, shares, counts, group in (
                (expected, self.pi, pairs.people, each),
                (seen, self.posterior, pairs.counts, pairs.group),
            )
        )
        return gradient.ravel(), complete - missing, complete

    def squared_scores(self) -> FloatArray:
        """The sum over the people of s_i s_i', s_i the gradient of person i, (E p, E p)."""
        pairs = self.pairs
        scores = (self.posterior - self.pi[pairs.group])[:, 1:]
        return pairs.outer(np.sqrt(pairs.counts)[:, None] * scores, pairs.group)


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    """The products of the entries of rows: (s, a) and (s, b) -> (s, a b)."""
    return np.asarray((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))


def softmax(eta: FloatArray) -> FloatArray:
    """The shares (g, E + 1) of log-odds eta (g, E) against a reference, which comes first."""
    logs = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    logs -= logs.max(axis=1, keepdims=True)
    shares = np.exp(logs)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _different_rows(matrix: FloatArray) -> tuple[IntArray, IntArray]:
    """The number of each row (n,) among the different ones, and where each occurs first, (g,).

    Columns are numbered one after the other, which is faster than sorting whole rows.
    """
    place, first = np.zeros(len(matrix), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for column in matrix.T:
        different, code = np.unique(column, return_inverse=True)
        _, first, place = np.unique(
            place * different.size + code, return_index=True, return_inverse=True
        )
    return place, first
