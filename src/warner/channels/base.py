"""The base classes of channels: the likelihood of reports as a linear operator with an inverse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner._core.progress import in_blocks

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


def weighted_counts(index: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """The sum of the weights with each index.

    Shapes: index (n,), weights (n,).

    >>> weighted_counts(np.array([0, 2, 2]), np.array([0.5, 1.0, 2.0]), 4).tolist()
    [0.5, 0.0, 3.0, 0.0]
    """
    counts: FloatArray = np.asarray(np.bincount(index, weights, size), dtype=np.float64)
    return counts


def joint_log_factors(
    factors: Sequence[FloatArray | float], rows: Sequence[int]
) -> FloatArray | float:
    """The ``log_factors`` of tuples of reports in C order, the sums of those of their parts.

    >>> joint_log_factors([np.array([1.0, 2.0]), 0.5], [2, 2])
    array([1.5, 1.5, 2.5, 2.5])
    """
    if all(np.ndim(factor) == 0 for factor in factors):
        return float(sum(float(factor) for factor in factors))
    total = np.zeros(1)
    for factor, m in zip(factors, rows, strict=True):
        total = np.add.outer(total, np.broadcast_to(factor, (m,))).ravel()
    return total


@lru_cache(maxsize=16)
def numbered_pairs(size: int) -> tuple[IntArray, IntArray, IntArray]:
    """The pairs x <= z of ``size`` values, and the number of each pair.

    Returns (U, U).

    >>> numbered_pairs(2)[2].tolist()
    [[0, 1], [1, 2]]
    """
    left, right = np.triu_indices(size)
    number = np.empty((size, size), dtype=np.int64)
    number[left, right] = number[right, left] = np.arange(left.size)
    for array in (left, right, number):
        array.setflags(write=False)
    return left, right, number


# -----------------------------------------------------------------------------------------------
# Plain records that describe operators, for estimators.


@dataclass(frozen=True, eq=False)
class SupportLaw:
    """How often reports support each value: Pr(a report supports x) = q_x + gap_x theta_x.

    Attributes:
        q: (K,), Pr(the report supports x | another value).
        gap: (K,), Pr(the report supports x | x) - q_x.
        ones: how many values each report supports, where that number is fixed.
        alike: where all pairs of values are alike, :attr:`pairs`. None for independent bits, or
            where ``ones`` says it.
    """

    q: FloatArray
    gap: FloatArray
    ones: int | None = None
    alike: tuple[float, float] | None = None

    @property
    def pairs(self) -> tuple[float, float] | None:
        """How often a report supports two values: the person's and another one, and two others.

        Where each report supports k of K values, the person's with probability p, they are
        p (k - 1) / (K - 1) and (p (k - 1) (k - 2) + (1 - p) k (k - 1)) / ((K - 1) (K - 2)). None
        where bits are independent given the value.
        """
        if self.ones is None:
            return self.alike
        k, p, size = self.ones, float(self.q[0] + self.gap[0]), max(self.q.size, 2)
        others = (p * (k - 1) * (k - 2) + (1 - p) * k * (k - 1)) / ((size - 1) * max(size - 2, 1))
        return p * (k - 1) / (size - 1), others


@dataclass(frozen=True, eq=False)
class BlockMoments:
    """Unbiased estimates for one block of V values, and the second moments of their terms.

    A report y adds g_v(y) to the estimate T_v of the share of value v, and h(y) to the estimate F
    of the share of the block. The moments are taken at B distributions.

    Attributes:
        total: T, (V,).
        block: F, (V,). Its entries differ only where several mechanisms are mixed.
        squares: E[g_v^2], (V, B).
        mixed: E[g_v h], (V, B).
        block_squares: E[h^2], (V, B).
    """

    total: FloatArray
    block: FloatArray
    squares: FloatArray
    mixed: FloatArray
    block_squares: FloatArray

    @classmethod
    def of_sums(cls, total: FloatArray, squares: FloatArray, mixed: FloatArray) -> BlockMoments:
        """The moments where the block's term is the sum of its values' terms."""
        size = len(total)
        block_squares = np.tile(mixed.sum(axis=0), (size, 1))
        return cls(total, np.full(size, total.sum()), squares, mixed, block_squares)


# -----------------------------------------------------------------------------------------------
# Sums over some attributes of a table of shares, and the transpose of that map.


def summed(v: FloatArray, shape: Sequence[int], keep: Sequence[int]) -> FloatArray:
    """Sums over the attributes that are not kept.

    >>> summed(np.arange(6), (2, 3), [0]).tolist()
    [3, 12]
    """
    table = v.reshape(*shape, *v.shape[1:])
    table = table.sum(axis=tuple(axis for axis in range(len(shape)) if axis not in keep))
    # The sum leaves the kept axes in the order of ``shape``.
    order = np.argsort(np.argsort(keep))
    return np.ascontiguousarray(np.moveaxis(table, order, range(len(keep)))).reshape(
        -1, *v.shape[1:]
    )


def lifted(u: FloatArray, shape: Sequence[int], keep: Sequence[int]) -> FloatArray:
    """The transpose of :func:`summed`: each value gets the entry of its kept attributes."""
    table = u.reshape(*(shape[axis] for axis in keep), *u.shape[1:])
    table = np.moveaxis(table, range(len(keep)), np.argsort(np.argsort(keep)))
    narrow = [size if axis in keep else 1 for axis, size in enumerate(shape)]
    wide = np.broadcast_to(table.reshape(*narrow, *u.shape[1:]), (*shape, *u.shape[1:]))
    return np.ascontiguousarray(wide).reshape(-1, *u.shape[1:])


class People(NamedTuple):
    """The people whose reports are simulated: see :meth:`LikelihoodOperator.simulate_tally`."""

    theta: FloatArray
    n: int
    values: IntArray | None = None
    per_person: int = 1

    def drawn(self, rng: np.random.Generator) -> IntArray:
        """How many of the n reports are of each value, (K,)."""
        if self.values is not None:
            return self.values
        people, rest = divmod(self.n, self.per_person)
        values = self.per_person * rng.multinomial(people, self.theta)
        return np.asarray(values + rest * rng.multinomial(1, self.theta) if rest else values)


# -----------------------------------------------------------------------------------------------
# Operators and channels.


_BLOCK = 2**22  # elements of an array of unit vectors
_PEOPLE = 2**18  # people who are simulated at a time
LARGEST_DENSE = 2**26  # entries of an operator that is made a matrix
_MOST_POLARIZED = 256  # values for whose pairs a composite channel is asked one by one
_LARGEST_INVERSE = 2**18  # entries of an inverse that is formed for its extremes
_BENT = 1e-7  # of the range of means that are a line: more than far tails that are cut off leave


class LikelihoodOperator(ABC):
    """Rows of the likelihood of reports, as a linear operator A (m, K).

        l(theta) = sum_y w_y log (A theta)_y

    Here l is the log-likelihood per report, theta (K,) the shares of the values, and w (m,) the
    frequencies of the reports.

    Row y is Pr(report y | value x) for every value x, up to a known factor. The rows may be those
    of the observed reports alone. The columns then do not sum to one. A :class:`Channel` has a row
    for every possible report.

    A subclass states ``shape``, :meth:`matvec` and :meth:`rmatvec`. Products take one vector, or
    several side by side along the last axis. Every other method has a default, which forms the
    matrix; a subclass with structure replaces it. What only some operators can do is asked of the
    small protocols below, such as :class:`HashPool`, or by a method that may return None.

    Attributes:
        shape: (m, K).
        rows_per_report: the number of rows in which one report counts. It is 1, except in a
            composite likelihood (see :class:`CompositeChannel`).
        log_factors: (m,) or one number,
            log Pr(report | value) = log(rows_per_report A) + log_factors. It is 0 where a row times
            ``rows_per_report`` is a probability.
        has_fast_gram: whether :meth:`gram` avoids the loop over all rows.
        has_row_blocks: whether :meth:`blocks` avoids forming the whole matrix.
        has_closed_inverse: whether the inverse is a closed form with the precision of the
            likelihood or nearly so.
        has_closed_moments, has_moments: whether :meth:`inverse_moments` has a closed form, and
            whether it is known at all.
        has_likelihood: whether the likelihood may be maximised.
        lists_all_reports: whether the rows are few enough, and complete, so that a sum over all of
            them is an expectation.
        reports_are_values: whether A = q 1' + gap I, so that a report is a value.
        rows_are_bit_sums: whether the rows are [P; 1 - P] / K with P = q 1' + diag(gap).
        ones_are_fixed: whether the number of ones among the bits of a report is fixed.
        supports_overlap_alike: whether each report supports some values, and any two values share
            nearly as many reports as any other two.
        is_keyed: whether the reports are about keys with values.
        tells_means_only: whether the reports about a key determine the mean of its values alone.
        memo: the operator of the permanent reports that are kept and degraded in each round; None
            where each report is drawn anew.
        is_on_paper: whether people randomise themselves, by a design of :mod:`warner.designs`.
        has_bins: whether values are equal bins of numbers, and devices took the numbers themselves.
        mix: the weights of groups of people in :meth:`invert`: "precision", "equal" or "people".
    """

    shape: tuple[int, int]
    rows_per_report: float = 1
    log_factors: FloatArray | float = 0.0
    has_fast_gram: bool = False
    has_row_blocks: bool = False
    has_closed_inverse: bool = False
    has_closed_moments: bool = False
    has_moments: bool = True
    has_likelihood: bool = True
    lists_all_reports: bool = True
    reports_are_values: bool = False
    rows_are_bit_sums: bool = False
    ones_are_fixed: bool = False
    supports_overlap_alike: bool = False
    is_keyed: bool = False
    tells_means_only: bool = False
    memo: LikelihoodOperator | None = None
    is_on_paper: bool = False
    _nearest: IntArray | None = None  # (m,) the value nearest to each report that is no value
    has_bins: bool = False
    mix: str = "precision"

    # Products

    @abstractmethod
    def matvec(self, theta: FloatArray) -> FloatArray:
        """A theta: the probability of every report, (K,) -> (m,) or (K, B) -> (m, B)."""

    @abstractmethod
    def rmatvec(self, r: FloatArray) -> FloatArray:
        """A' r, (m,) -> (K,) or (m, B) -> (K, B)."""

    def columns(self, index: IntArray) -> FloatArray:
        """The columns of A for the values at ``index``, (m, len(index))."""
        units = np.zeros((self.shape[1], len(index)))
        units[index, np.arange(len(index))] = 1
        return self.matvec(units)

    def rows(self, index: IntArray) -> FloatArray:
        """The rows of A for the reports at ``index``, (len(index), K)."""
        rows = np.empty((len(index), self.shape[1]))
        for some in in_blocks(len(index), _BLOCK, self.shape[0]):
            block = index[some]
            units = np.zeros((self.shape[0], len(block)))
            units[block, np.arange(len(block))] = 1
            rows[some] = self.rmatvec(units).T
        return rows

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """A in blocks of rows: pairs of a slice of the rows and an array of them."""
        yield slice(0, self.shape[0]), self._dense

    def dense(self) -> FloatArray:
        """A as an array (m, K)."""
        return self.columns(np.arange(self.shape[1]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A, so that functions of NumPy take the operator for its matrix (m, K)."""
        return np.asarray(self.dense(), dtype=dtype)

    def gram(self, v: FloatArray) -> FloatArray:
        """A' diag(v) A, (K, K), of weights v (m,)."""
        total = np.zeros((self.shape[1],) * 2)
        for rows, block in self.blocks():
            total += (block * v[rows, None]).T @ block
        return total

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        """U' A' diag(v) A U (P, P) of directions U (K, P) and weights v (m,), at least 0.

        Hadamard and projective geometry response on more than 512 values approximate it; see
        :mod:`warner.channels.geometry`.
        """
        # The product of a matrix with its own transpose takes half the time of others.
        through = self.matvec(directions) * np.sqrt(v)[:, None]
        return np.asarray(through.T @ through)

    def pair_products(self, index: IntArray, r: FloatArray) -> FloatArray:
        """sum_y A[y, x] A[y, z] r[y] for every pair of values x <= z at ``index``.

        Shapes: index (U,) increasing, r (m, B) -> (U (U + 1) / 2, B), in the order of
        ``numpy.triu_indices``.
        """
        left, right, _ = numbered_pairs(len(index))
        columns = self.columns(index)
        return (columns[:, left] * columns[:, right]).T @ r

    def log_factors_of(self, rows: IntArray | np.ndarray) -> FloatArray | float:
        """``log_factors`` of some rows, given by number or as booleans."""
        if isinstance(self.log_factors, np.ndarray):
            return np.asarray(self.log_factors[rows])
        return self.log_factors

    # Equivalent likelihoods

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """An operator with the same likelihood and cheap products, and the frequencies of its rows.

        Unobserved rows may be missing. Shapes: w (m,).
        """
        merged = self.merge_proportional_rows()
        if merged is None:
            return self, w
        operator, new_rows = merged
        return operator, weighted_counts(new_rows, w, operator.shape[0])

    def merge_proportional_rows(self) -> tuple[Channel, IntArray] | None:
        """A channel with fewer rows and the same information: proportional rows are added.

        With it comes the new number of every row, (m,). None where no rows are merged.
        """
        return None

    def merge_equal_rows(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """An operator with one row, their sum, for rows known to be equal, and its frequencies.

        Shapes: w (m,).
        """
        return self, w

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """The quasi-likelihood of the support counts S_x, as an operator and its weights.

        Raises:
            ArgumentError: the reports do not support values.
        """
        rule = (
            "'supports' needs reports that each stand for a set of values, and reports of this "
            "mechanism do not"
        )
        remedy = "Use likelihood='fullest'"
        raise ArgumentError("likelihood", rule, None, remedy)

    def seen_rows(self) -> tuple[LikelihoodOperator, IntArray] | None:
        """The operator of the rows that were sent, and their numbers, where it leaves out others.

        Others are left out as 0. None where there are no others.
        """
        return None

    # Values in cells

    def value_cells(self, most: int) -> IntArray | None:
        """Cells of consecutive values for which :meth:`coarsened` is small; None for others.

        There are at most ``most`` cells, but for a few at the ends. Returns the first value of each
        cell, (C,), increasing from 0.
        """
        return None

    def coarsened(
        self, w: FloatArray, starts: IntArray
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        """A small operator on cells of consecutive values; see :func:`warner.channels.on_cells`.

        Returns the operator and the frequencies of its rows; None where no small one is known.

        Shapes: w (m,), starts (C,), the first value of each cell, increasing from 0.
        """
        return None

    # The unbiased inverse

    def invert(self, w: FloatArray) -> FloatArray:
        """The linear unbiased estimate L w of theta, (m,) -> (K,), where L A = I.

        Raises:
            IdentifiabilityError: A has rank below K.
        """
        return self._inverse @ w

    def influence(self, c: FloatArray) -> FloatArray:
        """g = L' c, the term that each report adds to the estimate of c'theta: g'w = c'invert(w).

        Shapes: c (K,) or (K, B).
        """
        return self._inverse.T @ c

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Second moments of the inverse's weights L[x, y] of one report y, linear in theta.

        They are sum_y L[x, y]^2 (A theta)_y, (K,) or (K, B), and sum_y L[x, y]^2 A[y, x], (K,).
        The sum of theta (K,) or (K, B) need not be one.
        """
        self._require_whole_reports()
        squares = self._inverse**2
        return squares @ self.matvec(theta), np.einsum("xy,yx->x", squares, self._dense)

    def variance(self, theta: FloatArray) -> FloatArray:
        """The variance (K,) of :meth:`invert` per report; that of n reports is 1/n of it.

        The people's values are drawn independently from theta (K,).
        """
        return np.maximum(self.inverse_moments(theta)[0] - theta**2, 0.0)

    def second_moments(self, weights: FloatArray) -> FloatArray:
        """E[g^2 | value], where g is the sum of the weights of the rows in which one report counts.

        Shapes: weights (r, m) -> (r, K).
        """
        self._require_whole_reports()
        return self.rmatvec(np.ascontiguousarray(weights.T) ** 2).T

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        """The variances (B,) of c'invert(w) per report; those of n reports are 1/n of them.

            sum_y (A theta)_y (g_y - c'theta)^2,   g = L'c of :meth:`influence`

        No matrix is formed where the inverse and the products have a closed form. The people's
        values are drawn independently from theta.

        Shapes: c (K, B), theta (K,) -> (B,).

        Raises:
            IdentifiabilityError: A has no left inverse.
        """
        channel = self.complete()
        if channel is not self:
            return channel.variance_of(c, theta)
        terms = self.influence(c) - theta @ c
        if self.rows_per_report == 1:
            return np.asarray(self.matvec(theta) @ terms**2)
        return np.asarray(self.second_moments(terms.T / self.rows_per_report) @ theta)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """The covariance (K, K) of :meth:`invert` per report; that of n reports is 1/n of it.

            sum_y (A theta)_y L_y L_y' - theta theta'

        L_y (K,) is column y of the inverse. The diagonal is :meth:`variance`. The people's values
        are drawn independently from theta (K,).

        Raises:
            ArgumentError: too many reports or values for the matrix.
            IdentifiabilityError: A has no left inverse.
        """
        channel = self.complete()
        if channel is not self:
            return channel.covariance(theta)
        self._require_whole_reports()
        rows, size = self.shape
        if rows * size > LARGEST_DENSE:
            raise too_large_for_covariance(rows, size)
        weights = self.influence(np.eye(size))
        second = (weights.T * self.matvec(theta)) @ weights
        return np.asarray(second - np.multiply.outer(theta, theta))

    def variance_at_zero(self, theta: FloatArray) -> FloatArray:
        """The variance (K,) of :meth:`invert` at each value x per report, if theta_x were 0.

        The other shares keep their proportions:
        (sum_y L[x, y]^2 (A theta - theta_x A_x)_y) / (1 - theta_x).
        """
        total, at_value = self.inverse_moments(theta)
        rest = 1 - theta
        return np.maximum(
            np.where(rest > 0, (total - theta * at_value) / np.where(rest > 0, rest, 1.0), total),
            0.0,
        )

    def has_inverse(self) -> bool:
        """Whether different distributions always make different reports."""
        try:
            self.invert(np.full(self.shape[0], 1 / self.shape[0]))
        except IdentifiabilityError:
            return False
        return True

    def has_wald_intervals(self, w: FloatArray) -> bool:
        """Whether the inverse of the frequencies w (m,) and its variance can be computed."""
        return self.has_inverse()

    def inverse_range(self) -> tuple[FloatArray, FloatArray] | None:
        """The least and the largest weight of one report in the estimate of each value, or bounds.

        They are min_y L[x, y] and max_y L[x, y], (K,) each. None if the inverse has more than 2^18
        entries and no closed form.
        """
        merged = self.merge_proportional_rows()
        operator = self if merged is None else merged[0]
        if operator.shape[0] * operator.shape[1] > _LARGEST_INVERSE:
            return None
        return extremes(operator._inverse)

    def report_weight(self, values_per_report: int = 1) -> float | None:
        """The largest change of an estimated count by one report: max L[x, y] - L[x, y'].

        A report may be about one of several values of a person, drawn at random. None where the
        inverse is too large to form.
        """
        bounds = self.inverse_range()
        return None if bounds is None else float((bounds[1] - bounds[0]).max())

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        """Unbiased estimates for one block of values, and the second moments of their terms.

        ``shape`` has the number of blocks and the number V of values in each; K is their product.
        The sums of the columns need not be one; the last column is uniform.

        Shapes: w (m,), columns (K, B).
        """
        size = shape[1]
        members = slice(block * size, (block + 1) * size)
        total = self.invert(w)[members]
        unit = np.zeros((self.shape[1], size))
        unit[members] = np.eye(size)
        g = self.influence(unit)
        h = g.sum(axis=1)
        probabilities = self.matvec(columns)
        return BlockMoments(
            total,
            np.full(size, total.sum()),
            (g**2).T @ probabilities,
            (g * h[:, None]).T @ probabilities,
            np.tile(h**2 @ probabilities, (size, 1)),
        )

    def report_scores(self) -> FloatArray:
        """The numbers that the reports carry, (s, m): the report's number, or its coordinates."""
        return np.arange(self.shape[0], dtype=np.float64)[None, :]

    def exact_scores(self) -> FloatArray:
        """g (r, m) of reports on bins of numbers, right on average wherever in a bin a number is.

        The mean of the first is the place of the number, in bins from the middle of all. There is
        none where values are no bins of numbers, or no such g is known.
        """
        size, none = self.shape[1], np.empty((0, self.shape[0]))
        for numbers in self.report_scores() if self.has_bins else none:
            means = self.unrounded().rmatvec(numbers)  # of grid points from end to end
            reach = float(means[-1] - means[0])
            bend = np.abs(means - np.linspace(means[0], means[-1], means.size)).max()
            if reach and bend <= _BENT * abs(reach):
                return np.asarray((numbers - (means[0] + means[-1]) / 2) * (size / reach))[None]
        return none

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        """The report histogram itself as a distribution (K,) over the values, not corrected.

        Raises:
            ArgumentError: the reports are not values, and are nearest to none.
        """
        if self._nearest is not None:
            return weighted_counts(self._nearest, w, self.shape[1])
        if self.shape[0] != self.shape[1]:
            rule = "must have as many different reports as values for this method"
            got = f"{self.shape[0]} reports and {self.shape[1]} values"
            remedy = "Use another method, such as ExpectationMaximization()"
            raise ArgumentError("mechanism", rule, got, remedy)
        return w.copy()

    # Other data of the same mechanism

    def complete(self) -> Channel:
        """The channel with a row for every possible report."""
        raise only_seen_reports()

    def complete_weights(self, w: FloatArray) -> FloatArray:
        """Frequencies (m,) as frequencies of the rows of :meth:`complete`."""
        return w

    def simulate_tally(
        self,
        theta: FloatArray,
        n: int,
        rng: np.random.Generator,
        values: IntArray | None = None,
        per_person: int = 1,
    ) -> tuple[LikelihoodOperator, FloatArray]:
        """A simulated tally of n reports, as an operator and the frequencies of its rows.

        Args:
            theta: (K,) the distribution from which the people's values are drawn.
            n: number of reports.
            values: the number of people (K,) with each value, where it is fixed.
            per_person: reports that each person sends of one value; the last person sends the rest.
                The shares of reports then vary more than with a report per person.

        Raises:
            ArgumentError: the channel has rows for observed reports only.
        """
        return self._simulated(People(theta, n, values, per_person), rng)

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        """The tally of :meth:`simulate_tally`; refused where rows are of observed reports only."""
        raise only_seen_reports()

    def simulate_tallies(
        self, theta: FloatArray, n: int, rng: np.random.Generator, count: int
    ) -> list[tuple[LikelihoodOperator, FloatArray]]:
        """Several tallies as :meth:`simulate_tally` draws them one after another."""
        return [self.simulate_tally(theta, n, rng) for _ in range(count)]

    def part_of_values(self, theta: FloatArray, variance: FloatArray) -> FloatArray:
        """An upper bound (K,) of the part of the inverse's variance that is due to the values.

        The inverse is unbiased for every value, so of one mechanism the part is exactly
        theta - theta^2. The rest is the noise of the mechanism. Of several mechanisms together the
        bound is the whole variance (K,), per report, if nothing better is known.
        """
        return theta - theta**2 if len(self.groups()) == 1 else variance

    def parts(self, w: FloatArray, n: int) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        """The reports of each person one by one, where there are several.

        For each mechanism: its operator, its rows' frequencies, and the number of reports.

        Shapes: w (m,).
        """
        return [(self, w, n)]

    def unrounded(self) -> LikelihoodOperator:
        """An operator with the same rows, whose columns mix to that of any number in a bin.

        Devices that take numbers send reports by the number itself, and not by its bin.
        """
        return self

    def at_limits(self) -> FloatArray:
        """The columns (m, 2) of the least and the largest number, where values are bins."""
        grid = self.unrounded()
        return grid.columns(np.array([0, grid.shape[1] - 1]))

    # What the reports say about

    def support_law(self) -> SupportLaw | None:
        """The exact law of the support counts; None where reports do not support values."""
        return None

    def binomial_law(self, theta: FloatArray) -> SupportLaw | None:
        """The law of counts whose estimates have the variances of the inverse at theta (K,).

        It is the support law; or one like it, where several other values support a value with
        several chances. None where reports do not support values.
        """
        return self.support_law()

    def support_shares(self, w: FloatArray) -> FloatArray:
        """S (K,): the share of the reports that support each value.

        Raises:
            ArgumentError: the reports do not support values.
        """
        rule = (
            "cannot be used with this method, which needs reports that each stand for a set of "
            "values"
        )
        raise ArgumentError("mechanism", rule, None, "Use another method")

    def function_shares(self, w: FloatArray) -> FloatArray | None:
        """The share (f,) of the reports that chose each hash function, or each of equal groups.

        None where reports name no hash functions.
        """
        return None

    def groups(self) -> tuple[LikelihoodOperator, ...]:
        """The operators of the groups of people that used different mechanisms or budgets."""
        return (self,)

    def split_groups(
        self, w: FloatArray, n: int
    ) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        """For each group of the n people: its operator, its rows' frequencies, its people."""
        return [(self, w, n)]

    def with_equal_groups(self) -> LikelihoodOperator:
        """The same operator; :meth:`invert` gives all groups the same weight [P1 eq 13]."""
        return self

    def n_people(self, n: int) -> int:
        """How many of n people sent the reports of these rows."""
        return n

    def n_of_all(self, axes: Sequence[int], n: int) -> int:
        """How many of n reports depend on every one of these attributes."""
        return n if all(self.tells_about([axis]) for axis in axes) else 0

    def tells_about(self, axes: Sequence[int]) -> bool:
        """Whether reports depend on one of these attributes at least."""
        return True

    def factors(self, shape: Sequence[int]) -> tuple[Channel, ...] | None:
        """The channels of attributes of these sizes, where they were randomised separately."""
        return None

    def clusters(self, shape: Sequence[int]) -> list[list[int]] | None:
        """The positions of attributes of these sizes that were randomised together, group by group.

        None where the channel is not made of several groups of attributes.
        """
        return None

    def marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        """The reports about some attributes alone, as an operator and the frequencies of its rows.

        Attributes that were randomised separately can be left out, since columns sum to one:
        sum over y2 of A1[y1, x1] A2[y2, x2] = A1[y1, x1]. Randomised response on combinations also
        has marginals, since its wrong answers do not depend on the true one.

        ``shape`` has the number of values of each attribute, ``keep`` the positions of those that
        are kept, in the order asked for. None if the other attributes cannot be left out.

        Shapes: w (m,).
        """
        if list(keep) == list(range(len(shape))):
            return self, w
        return self._marginal(w, shape, keep)

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        """:meth:`marginal` where ``keep`` is not the identity."""
        return None

    def _require_whole_reports(self) -> None:
        """Refuse computations that need one row for each report."""
        if self.rows_per_report != 1:
            rule = (
                "has only the number of reports in which each bit was 1, but this interval needs "
                "complete reports"
            )
            remedy = "Make the tally with keep_reports=True"
            raise ArgumentError("tally", rule, None, remedy)

    @cached_property
    def _dense(self) -> FloatArray:
        """:meth:`dense`, kept; refused where it is too large."""
        if self.shape[0] * self.shape[1] > LARGEST_DENSE:
            raise ArgumentError(
                "mechanism",
                f"has more than {LARGEST_DENSE} probabilities, too many for a matrix",
                f"{self.shape[0]} reports and {self.shape[1]} values",
                "Use ExpectationMaximization(), which needs no such matrix",
            )
        return self.dense()

    @property
    def _inverse(self) -> FloatArray:
        """A left inverse (K, m): weighted least squares, optimal at the uniform distribution.

        The mean of numbers in bins is made of :meth:`exact_scores`, and so has no bias at heaps.
        """
        if self._left_inverse is None:
            raise IdentifiabilityError(
                "mechanism",
                f"cannot tell all {self.shape[1]} values apart: different shares would give the "
                "same reports",
                None,
                "Use another mechanism. If you need only the mean of numbers, use SampleMean()",
            )
        return self._left_inverse

    @cached_property
    def _left_inverse(self) -> FloatArray | None:
        """:attr:`_inverse`, kept, or None where there is none, which is kept too."""
        if (merged := self.merge_proportional_rows()) is not None:
            return np.asarray(merged[0]._inverse[:, merged[1]])
        matrix = self._dense
        mean = matrix.mean(axis=1)
        rows = mean > 0
        weights = np.sqrt(mean[rows])
        left, sizes, right = np.linalg.svd(matrix[rows] / weights[:, None], full_matrices=False)
        # Sizes below this are rounding, as matrix_rank has it.
        least = max(left.shape[0], self.shape[1]) * np.finfo(float).eps * sizes.max(initial=0.0)
        if np.count_nonzero(sizes > least) < self.shape[1]:
            return None
        inverse = np.zeros(self.shape[::-1])
        inverse[:, rows] = (right.T / sizes) @ left.T / weights
        if (scores := self.exact_scores()).size:
            # L A stays I: what is added to L is 0 on average for numbers that fill a bin evenly.
            means = self.rmatvec(scores.T)
            inverse += np.linalg.pinv(means).T @ (scores - means.T @ inverse)
        return inverse


class NearlyConstantRows(LikelihoodOperator):
    """An operator whose rows are nearly constant: base + gain * b for a vector b of bits.

    A theta then hardly depends on theta. So Newton's method can use one Hessian for all steps.

    Attributes:
        steady: (m,) booleans, the rows with base > 0. Each other row names one value alone.
    """

    steady: np.ndarray

    @abstractmethod
    def named_gram(self, v: FloatArray) -> FloatArray:
        """The diagonal (K,) of A' diag(v) A over the rows that name one value alone."""

    @abstractmethod
    def merge_unsupported_values(
        self, w: FloatArray
    ) -> tuple[LikelihoodOperator, FloatArray, Callable[[FloatArray], FloatArray]] | None:
        """An equivalent smaller problem: values that few reports distinguish become one value.

        It is an operator on K' values, the frequencies of its rows, and a function that lifts its
        maximiser (K',) to all K values. None where no values are merged.
        """


@runtime_checkable
class HashPool(Protocol):
    """A channel whose reports choose from a public pool of hash functions."""

    seeds: int
    buckets: int

    def average_support_law(self) -> SupportLaw:
        """How often reports support each value, averaged over the pool."""


@runtime_checkable
class IndependentParts(Protocol):
    """A channel whose reports have several parts that are independent given the value."""

    tables: tuple[FloatArray, ...]


@runtime_checkable
class ColumnProducts(Protocol):
    """An operator with products of some of its columns that need not be formed."""

    @property
    def has_fast_gram_among(self) -> bool:
        """Whether the pairs of values are few enough."""

    def gram_among(self, index: IntArray, v: FloatArray) -> FloatArray:
        """``gram`` of the columns of the values at ``index`` (U,), for weights v (m,): (U, U)."""


def observed_rows(
    operator: LikelihoodOperator, *arrays: np.ndarray
) -> tuple[LikelihoodOperator, list[np.ndarray]]:
    """The operator without rows that it leaves out as 0, and arrays (m, ..) of its rows alone."""
    if (seen := operator.seen_rows()) is None:
        return operator, list(arrays)
    return seen[0], [array[seen[1]] for array in arrays]


class Channel(LikelihoodOperator):
    """A[y, x] = Pr(report y | value x) for every possible report y: columns sum to one.

    Where ``rows_per_report`` is above 1, rows are parts of reports (see :class:`CompositeChannel`),
    and methods that need one row for each report refuse.
    """

    def complete(self) -> Channel:
        return self

    def unrounded(self) -> Channel:
        return self

    @property
    def has_information(self) -> bool:
        """Whether :meth:`information` is known."""
        return self.rows_per_report == 1

    def information(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The Fisher information of one whole report about theta (K,), in any direction.

        Returns:
            sum_y A_y A_y' / (A theta)_y, (K, K), over the reports with a positive probability at
            theta. And a matrix (K, K), >= 0, whose range is spanned by the rows A_y of the others,
            where the information is infinite.

        Raises:
            ArgumentError: the channel stores parts of reports, or is too large.
        """
        self._require_whole_reports()
        d = self.matvec(theta)
        positive = d > 0
        information = self.gram(np.divide(1.0, d, out=np.zeros_like(d), where=positive))
        return information, self.gram((~positive).astype(np.float64))

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Simulated report frequencies (m,) of n people whose values are drawn from theta (K,)."""
        self._require_whole_reports()
        d = np.maximum(self.matvec(theta), 0.0)
        return rng.multinomial(n, d / d.sum()) / n

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        """Simulated report frequencies (m,) when people[x] people hold value x."""
        self._require_whole_reports()
        total = np.zeros(self.shape[0], dtype=np.int64)
        for x in np.flatnonzero(people):
            column = np.maximum(self._dense[:, x], 0.0)
            total += rng.multinomial(people[x], column / column.sum())
        return np.asarray(total / people.sum())

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        if people.values is None and people.per_person == 1:
            return self, self.simulate(people.theta, people.n, rng)
        return self, self.simulate_from_values(people.drawn(rng), rng)

    def simulate_tallies(
        self, theta: FloatArray, n: int, rng: np.random.Generator, count: int
    ) -> list[tuple[LikelihoodOperator, FloatArray]]:
        if not self.draws_reports_alone:
            return super().simulate_tallies(theta, n, rng, count)
        d = np.maximum(self.matvec(theta), 0.0)
        return [(self, w) for w in rng.multinomial(n, d / d.sum(), count) / n]

    @property
    def draws_reports_alone(self) -> bool:
        """Whether :meth:`simulate` draws whole reports from A theta, and no values before them."""
        return self.rows_per_report == 1

    def sample_rows(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        """The row numbers (n,) of the reports of n people with the values at ``index`` (n,)."""
        self._require_whole_reports()
        rows = np.empty(len(index), dtype=np.int64)
        order = np.argsort(index, kind="stable")
        values, starts = np.unique(index[order], return_index=True)
        for x, people in zip(values, np.split(order, starts[1:]), strict=True):
            column = np.maximum(self.columns(np.array([x]))[:, 0], 0.0)
            rows[people] = rng.choice(len(column), len(people), p=column / column.sum())
        return rows

    def sample_marks(self, index: IntArray, rng: np.random.Generator) -> FloatArray:
        """The rows in which simulated reports count, (n, m) zeros and ones.

        Args:
            index: (n,) the people's values.
        """
        return np.eye(self.shape[0])[self.sample_rows(index, rng)]


class CompositeChannel(Channel):
    """A channel whose rows are parts of reports, such as single bits.

    Each report counts in ``rows_per_report`` > 1 rows. The likelihood of the rows is a composite
    likelihood, which treats the parts of one report as independent. Times ``rows_per_report``, it
    is in nats per report. Simulated tallies draw the people's values first, because the parts of
    one report belong together.
    """

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return self.simulate_from_values(rng.multinomial(n, theta / theta.sum()), rng)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """By polarisation: 2 Cov(g, h) = Var(g + h) - Var(g) - Var(h)."""
        size = self.shape[1]
        if size > _MOST_POLARIZED:
            raise too_large_for_covariance(*self.shape)
        weights = self.influence(np.eye(size)).T / self.rows_per_report
        second = polarized(self.second_moments, weights, theta)
        return np.asarray(second - np.multiply.outer(theta, theta))


def only_seen_reports() -> ArgumentError:
    """The error of a simulation or a variance from rows of observed reports alone."""
    rule = (
        "has only the reports that came in, but this computation needs a count for every possible "
        "report"
    )
    remedy = "Use kind='score'"
    return ArgumentError("tally", rule, None, remedy)


def simulate_reports(
    channel: Channel, people: IntArray, rng: np.random.Generator, together: int = _PEOPLE
) -> FloatArray:
    """Simulated report frequencies (m,) of people (K,) with each value, report by report."""
    n, ends = int(people.sum()), np.cumsum(people)
    total = np.zeros(channel.shape[0], dtype=np.int64)
    for people_of in in_blocks(n, together):
        person = np.arange(people_of.start, people_of.stop)
        values = np.searchsorted(ends, person, side="right")
        total += np.bincount(channel.sample_rows(values, rng), minlength=channel.shape[0])
    return np.asarray(total / n)


def polarized(
    second_moments: Callable[[FloatArray], FloatArray], weights: FloatArray, theta: FloatArray
) -> FloatArray:
    """E[g_x g_z] (K, K) for pairs of sums of weights (K, m) of rows, from E[(g_x + g_z)^2]."""
    single = second_moments(weights) @ theta
    second = np.diag(single)
    for x in range(len(weights) - 1):
        both = second_moments(weights[x] + weights[x + 1 :]) @ theta
        second[x, x + 1 :] = second[x + 1 :, x] = (both - single[x] - single[x + 1 :]) / 2
    return second


def too_large_for_covariance(rows: int, size: int) -> ArgumentError:
    """The error of a covariance matrix whose computation would take too long."""
    rule = "has too many possible reports to compute the covariance of the estimated shares"
    remedy = "Use fewer values, or fewer hash functions"
    return ArgumentError(
        "mechanism", rule, f"{rows:,} possible reports for {size:,} values", remedy
    )


def extremes(inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest entry of every row."""
    return inverse.min(axis=1), inverse.max(axis=1)


def one_by_one(
    product: Callable[[Any, FloatArray], FloatArray],
) -> Callable[[Any, FloatArray], FloatArray]:
    """A product with one vector as a product with several, where these gain nothing together."""

    def several(self: Any, array: FloatArray) -> FloatArray:
        if array.ndim == 1:
            return product(self, array)
        return np.stack([product(self, column) for column in np.ascontiguousarray(array.T)], axis=1)

    return several


# -----------------------------------------------------------------------------------------------
# Channels given as a matrix.


_QUICK = 2**16  # entries


class MatrixRows(LikelihoodOperator):
    """The rows of another operator as a matrix, whose products are quick where it is small."""

    matrix: FloatArray

    def __init__(self, operator: LikelihoodOperator) -> None:
        self.matrix = operator.dense()
        self.shape, self.rows_per_report = operator.shape, operator.rows_per_report
        self.log_factors = operator.log_factors

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.matrix @ theta

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self.matrix.T @ r

    def columns(self, index: IntArray) -> FloatArray:
        return np.asarray(self.matrix[:, index])

    def dense(self) -> FloatArray:
        return self.matrix.copy()


class DenseChannel(MatrixRows, Channel):
    """Any matrix A (m, K) with columns that sum to one.

    Args:
        matrix: A.
        nearest: (m,) the value that each report stands for when it is not corrected, where there
            is such a value.
        grid: the channel (m, M) of the points to which numbers are moved, see :meth:`unrounded`.

    Raises:
        ArgumentError: not a matrix of probabilities.

    >>> channel = DenseChannel(np.array([[0.8, 0.3], [0.2, 0.7]]))
    >>> channel.invert(np.array([0.5, 0.5])).round(3).tolist()
    [0.4, 0.6]
    """

    def __init__(
        self,
        matrix: FloatArray,
        nearest: IntArray | None = None,
        grid: FloatArray | None = None,
    ) -> None:
        self._nearest, self._grid = nearest, grid
        self.matrix: FloatArray = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or not self.matrix.size:
            rule = "must have a row for each report and a column for each value"
            raise ArgumentError("matrix", rule, f"shape {self.matrix.shape}")
        remedy = "Each column has the probabilities of all reports for one value"
        if not (np.isfinite(self.matrix).all() and (self.matrix >= 0).all()):
            wrong = self.matrix[~((self.matrix >= 0) & (self.matrix < np.inf))]
            got = f"an entry {wrong[0]:.3g}"
            raise ArgumentError("matrix", "must have finite entries of at least 0", got, remedy)
        sums = self.matrix.sum(axis=0)
        worst = int(np.argmax(np.abs(sums - 1)))
        if abs(sums[worst] - 1) > 1e-9:
            if np.allclose(self.matrix.sum(axis=1), 1, rtol=0, atol=1e-9):
                remedy = "Its rows sum to 1: pass the transposed matrix, matrix.T"
            got = f"the sum {sums[worst]:.9g} in column {worst}"
            raise ArgumentError("matrix", "must have columns that sum to 1", got, remedy)
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])

    def unrounded(self) -> Channel:
        return self if self._grid is None else DenseChannel(self._grid)


class DenseCompositeChannel(DenseChannel, CompositeChannel):
    """A matrix A (m, K) whose rows are parts of reports; a report counts in ``rows_per_report``."""

    def __init__(self, matrix: FloatArray, rows_per_report: float) -> None:
        super().__init__(matrix)
        self.rows_per_report = rows_per_report


def quick(operator: LikelihoodOperator) -> LikelihoodOperator:
    """The operator (m, K), as :class:`MatrixRows` if it is small: products cost less than calls."""
    # Randomised response and bit sums are quicker themselves from 2^14 entries on.
    separate = operator.reports_are_values or operator.rows_are_bit_sums
    small = operator.shape[0] * operator.shape[1] <= (_QUICK // 4 if separate else _QUICK)
    return MatrixRows(operator) if small else operator
