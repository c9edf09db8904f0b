"""Operators made from another one: of merged or chosen values, of fewer or more attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels.base import (
    LARGEST_DENSE,
    Channel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    NearlyConstantRows,
    People,
    SupportLaw,
    lifted,
    summed,
    weighted_counts,
)
from warner.channels.support import slice_squares


class MergedChannel(LikelihoodOperator):
    """The channel A M of components, each the mean of the columns of its values [P3 sec IV].

    Shapes: channel A (m, K), labels (K,); the label -1 belongs to no component.
    """

    # M[x, j] = 1 / h_j for the h_j values x of component j, so each gets the share t_j / h_j.

    has_fast_gram = True
    has_row_blocks = True

    def __init__(self, channel: LikelihoodOperator, labels: IntArray) -> None:
        self.channel, self.labels = channel, labels
        self.sizes = np.bincount(labels[labels >= 0])
        self.shape = (channel.shape[0], self.sizes.size)
        self.rows_per_report = channel.rows_per_report
        self.log_factors = channel.log_factors
        # The label -1 points to the last entry, a component of weight 0.
        self._scale: FloatArray = np.append(1 / self.sizes, 0.0)

    def spread(self, t: FloatArray) -> FloatArray:
        """M t: the shares of the values, (K',) -> (K,) or (K', B) -> (K, B)."""
        shares = (t.T * self._scale[:-1]).T
        padded = np.concatenate([shares, np.zeros((1, *t.shape[1:]))])
        return np.asarray(padded[self.labels])

    def gather(self, theta: FloatArray) -> FloatArray:
        """The weights of the components, which are sums over their values, (K,) -> (K',)."""
        return weighted_counts(self.labels + 1, theta, self.shape[1] + 1)[1:]

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.channel.matvec(self.spread(theta))

    def rmatvec(self, r: FloatArray) -> FloatArray:
        back = self.channel.rmatvec(r)
        if back.ndim == 1:
            return self.gather(back) * self._scale[:-1]
        return np.stack([self.gather(column) for column in back.T], axis=1) * self._scale[:-1, None]

    def gram(self, v: FloatArray) -> FloatArray:
        if not self.channel.has_fast_gram:
            return super().gram(v)
        matrix = self._matrix
        return matrix.T @ self.channel.gram(v) @ matrix

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        if not self.channel.has_row_blocks:
            yield from super().blocks()
            return
        for rows, block in self.channel.blocks():
            yield rows, block @ self._matrix

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        rows, weights = self.channel.restrict_to_observed(w)
        return MergedChannel(rows, self.labels), weights

    @property
    def _matrix(self) -> FloatArray:
        """M, (K, K')."""
        return self.spread(np.eye(self.shape[1]))


def on_cells(
    channel: LikelihoodOperator, w: FloatArray, starts: IntArray
) -> tuple[LikelihoodOperator, FloatArray]:
    """The likelihood of distributions that are even within cells of consecutive values.

    Shapes: channel (m, K), w (m,), starts (C,).
    """
    # The column of a cell is the mean of its values' columns. Rows that are then proportional may
    # be added. Of whole reports of bits it is the quasi-likelihood of the support counts.
    rows_and_weights = channel.coarsened(w, starts)
    if rows_and_weights is not None:
        return rows_and_weights
    rows, weights = channel.restrict_to_observed(w)
    if isinstance(rows, NearlyConstantRows):
        counted, shares = channel.supports(w)
        rows_and_weights = counted.coarsened(shares, starts)
        if rows_and_weights is not None:
            return rows_and_weights
    labels = np.zeros(channel.shape[1], dtype=np.int64)
    labels[starts[1:]] = 1
    return MergedChannel(rows, np.cumsum(labels)), weights


# -----------------------------------------------------------------------------------------------
# The likelihood of reports where only some values are possible.


class SomeValues(LikelihoodOperator):
    """The columns ``values`` (k,), increasing, of an operator: other values have share 0 [P4 sec
    VIII].
    """

    # A closed unbiased inverse of the whole operator is used here too, as it is unbiased for every
    # distribution. Otherwise the kept columns are inverted, which is possible more often.

    def __init__(self, inner: LikelihoodOperator, values: IntArray) -> None:
        if inner.is_keyed:
            rule = "cannot be chosen where reports are of keys with values"
            raise ArgumentError("values", rule, None, "Choose keys in the estimate")
        self.inner, self.values = inner, values
        self.shape = (inner.shape[0], len(values))
        self.rows_per_report, self.log_factors = inner.rows_per_report, inner.log_factors
        self.lists_all_reports, self.has_row_blocks = inner.lists_all_reports, inner.has_row_blocks
        self.has_likelihood = inner.has_likelihood
        self.has_closed_inverse = inner.has_closed_inverse
        self.has_closed_moments = inner.has_closed_moments
        self.supports_overlap_alike = inner.supports_overlap_alike
        self._inverts_whole = inner.has_closed_inverse or inner.has_closed_moments

    def _whole(self, theta: FloatArray) -> FloatArray:
        """Entries (k,) or (k, B) of the values as entries of all K values."""
        out = np.zeros((self.inner.shape[1], *theta.shape[1:]), dtype=theta.dtype)
        out[self.values] = theta
        return out

    def _of(self, changed: tuple[LikelihoodOperator, FloatArray]) -> tuple[SomeValues, FloatArray]:
        """Another operator of the same reports, and the frequencies of its rows."""
        return SomeValues(changed[0], self.values), changed[1]

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.inner.matvec(self._whole(theta))

    def rmatvec(self, r: FloatArray) -> FloatArray:
        of_values: FloatArray = self.inner.rmatvec(r)[self.values]
        return of_values

    def columns(self, index: IntArray) -> FloatArray:
        return self.inner.columns(self.values[index])

    def rows(self, index: IntArray) -> FloatArray:
        return self.inner.rows(index)[:, self.values]

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        if not self.has_row_blocks:
            yield from super().blocks()
            return
        for rows, block in self.inner.blocks():
            yield rows, block[:, self.values]

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        return self._of(self.inner.restrict_to_observed(w))

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        return self._of(self.inner.supports(w))

    def invert(self, w: FloatArray) -> FloatArray:
        if not self._inverts_whole:
            return super().invert(w)
        of_values: FloatArray = self.inner.invert(w)[self.values]
        return of_values

    def influence(self, c: FloatArray) -> FloatArray:
        if not self._inverts_whole:
            return super().influence(c)
        return self.inner.influence(self._whole(c))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self._inverts_whole:
            return super().inverse_moments(theta)
        total, at_value = self.inner.inverse_moments(self._whole(theta))
        return total[self.values], at_value[self.values]

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        if not self._inverts_whole:
            return super().variance_of(c, theta)
        return self.inner.variance_of(self._whole(c), self._whole(theta))

    def covariance(self, theta: FloatArray) -> FloatArray:
        if not self._inverts_whole:
            return super().covariance(theta)
        return np.asarray(self.inner.covariance(self._whole(theta))[np.ix_(*[self.values] * 2)])

    def support_law(self) -> SupportLaw | None:
        law = self.inner.support_law()
        return None if law is None else SupportLaw(law.q[self.values], law.gap[self.values])

    def support_shares(self, w: FloatArray) -> FloatArray:
        of_values: FloatArray = self.inner.support_shares(w)[self.values]
        return of_values

    def report_scores(self) -> FloatArray:
        return self.inner.report_scores()

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        # Reports of values that are ruled out are left out.
        of_values = self.inner.naive_estimate(w)[self.values]
        total = float(of_values.sum())
        return np.asarray(
            of_values / total if total > 0 else np.full(len(of_values), 1 / len(of_values))
        )

    def complete(self) -> SomeValues:  # type: ignore[override]
        whole = self.inner.complete()
        return self if whole is self.inner else SomeValues(whole, self.values)

    def complete_weights(self, w: FloatArray) -> FloatArray:
        return self.inner.complete_weights(w)

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        values = None
        if people.values is not None:
            values = np.zeros(self.inner.shape[1], dtype=np.int64)
            values[self.values] = people.values
        of_all = people._replace(theta=self._whole(people.theta), values=values)
        return self._of(self.inner._simulated(of_all, rng))

    def groups(self) -> tuple[LikelihoodOperator, ...]:
        return self._each(self.inner.groups())

    def _each(self, operators: tuple[LikelihoodOperator, ...]) -> tuple[LikelihoodOperator, ...]:
        return tuple(SomeValues(operator, self.values) for operator in operators)

    def split_groups(
        self, w: FloatArray, n: int
    ) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        parts = self.inner.split_groups(w, n)
        return [
            (SomeValues(operator, self.values), weights, people)
            for operator, weights, people in parts
        ]

    def with_equal_groups(self) -> LikelihoodOperator:
        return SomeValues(self.inner.with_equal_groups(), self.values)


# -----------------------------------------------------------------------------------------------
# Reports about several attributes together, as a channel of some of them.


class SummedChannel(Channel):
    """The channel A' = A C of the attributes ``keep``, from a channel A of all attributes.

    Shapes: channel A (m, K), theta (K,).
    """

    # C[x, x'] = theta_x / theta'_x' where x' has the kept attributes of x, else 0; theta' is the
    # distribution of x'. The inverse sums that of A, so it is unbiased for every theta. The
    # likelihood of A' takes C as known, so it must not be maximised.

    has_closed_moments = True
    has_likelihood = False

    def __init__(
        self,
        channel: LikelihoodOperator,
        shape: Sequence[int],
        keep: Sequence[int],
        theta: FloatArray,
    ) -> None:
        self.channel, self._sizes, self._keep = channel, tuple(shape), tuple(keep)
        self.rows_per_report = channel.rows_per_report
        self.shape = (channel.shape[0], prod(shape[axis] for axis in keep))
        # The variance of the inverse is known for bit sums, and where all reports are listed.
        self.has_moments = channel.rows_are_bit_sums or (
            self.rows_per_report == 1
            and channel.lists_all_reports
            and channel.shape[0] * channel.shape[1] <= LARGEST_DENSE
        )
        mass = lifted(summed(theta, shape, keep), shape, keep)
        # Where no one has the kept values, the other attributes are taken as uniform.
        self._conditional = np.divide(
            theta, mass, out=np.full(theta.size, self.shape[1] / theta.size), where=mass > 0
        )

    def _spread(self, t: FloatArray) -> FloatArray:
        """C t."""
        return np.asarray((self._conditional * lifted(t, self._sizes, self._keep).T).T)

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.channel.matvec(self._spread(theta))

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return summed((self._conditional * self.channel.rmatvec(r).T).T, self._sizes, self._keep)

    def invert(self, w: FloatArray) -> FloatArray:
        return summed(self.channel.invert(w), self._sizes, self._keep)

    def influence(self, c: FloatArray) -> FloatArray:
        return self.channel.influence(lifted(c, self._sizes, self._keep))

    def part_of_values(self, theta: FloatArray, variance: FloatArray) -> FloatArray:
        return theta - theta**2 if len(self.channel.groups()) == 1 else variance

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        lifted_c = lifted(c, self._sizes, self._keep)
        return self.channel.variance_of(lifted_c, self._spread(theta))

    def covariance(self, theta: FloatArray) -> FloatArray:
        # The sums of the covariances of all attributes.
        whole = self.channel.covariance(self._spread(theta))
        rows = summed(whole, self._sizes, self._keep)
        return summed(np.ascontiguousarray(rows.T), self._sizes, self._keep)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        law = self.channel.support_law()
        if self.channel.rows_are_bit_sums and law is not None:
            return self._bit_sum_moments(law, theta)
        rows, size = self.shape
        if not self.has_moments:
            raise ArgumentError(
                "marginal",
                "has no Wald interval where the joint distribution of reports is not listed",
                f"{type(self.channel).__name__} of {rows} reports",
                "Use kind='bootstrap'",
            )
        squares = self.influence(np.eye(size)) ** 2
        at_value: FloatArray = np.einsum("yx,yx->x", squares, self.matvec(np.eye(size)))
        return squares.T @ self.matvec(theta), at_value

    def _bit_sum_moments(self, law: SupportLaw, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moments of Z = sum over a group of r values of (b_x - q_x) / gap_x, b the bits."""
        # For independent bits E Z^2 = sum q (1 - q) / gap^2, and (1 - 2 q_v) / gap_v more where the
        # report's value v is in the group, because b^2 = b.
        q, gap, size = law.q, law.gap, self.channel.shape[1]
        mass = theta.sum(axis=0)
        if law.pairs is not None:
            outside, inside = slice_squares(law, size // self.shape[1])
            total = np.broadcast_to(outside * mass, theta.shape) + (inside - outside) * theta
            return total, np.full(self.shape[1], inside)
        noise = summed(q * (1 - q) / gap**2, self._sizes, self._keep)
        excess = (1 - 2 * q) / gap
        within = summed((excess * self._spread(theta).T).T, self._sizes, self._keep)
        at_value = noise + summed(excess * self._conditional, self._sizes, self._keep)
        return np.add(np.multiply.outer(noise, mass), within), at_value


class LiftedChannel(Channel):
    """The channel A S of all attributes, from a channel A of the attributes ``keep`` alone.

        A'[y, x] = A[y, the kept attributes of x]

    People were asked about some attributes only. Such reports say nothing of the others, so there
    is no inverse; in a stack with the reports of other people there may be one.

    Shapes: channel A (m, K'), shape of all attributes, prod K.

    >>> from warner.channels import DirectChannel
    >>> LiftedChannel(DirectChannel(2, 0.25, 0.5), (2, 2), [1]).dense().tolist()
    [[0.75, 0.25, 0.75, 0.25], [0.25, 0.75, 0.25, 0.75]]
    """

    def __init__(self, channel: Channel, shape: Sequence[int], keep: Sequence[int]) -> None:
        self.channel, self._sizes, self.keep = channel, tuple(shape), tuple(keep)
        self.shape = (channel.shape[0], prod(shape))
        self.rows_per_report, self.log_factors = channel.rows_per_report, channel.log_factors
        self.has_likelihood = channel.has_likelihood
        self.lists_all_reports = channel.lists_all_reports

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.channel.matvec(summed(theta, self._sizes, self.keep))

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return lifted(self.channel.rmatvec(r), self._sizes, self.keep)

    def has_inverse(self) -> bool:
        return len(self.keep) == len(self._sizes) and self.channel.has_inverse()

    def second_moments(self, weights: FloatArray) -> FloatArray:
        return lifted(self.channel.second_moments(weights).T, self._sizes, self.keep).T

    def tells_about(self, axes: Sequence[int]) -> bool:
        return not set(axes).isdisjoint(self.keep)

    def parts(self, w: FloatArray, n: int) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        return self.channel.parts(w, n)

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        inside = [axis for axis in keep if axis in self.keep]
        positions = [self.keep.index(axis) for axis in inside]
        marginal = self.channel.marginal(w, [shape[axis] for axis in self.keep], positions)
        if marginal is None or not isinstance(marginal[0], Channel):
            return None
        if len(inside) == len(keep):
            return marginal
        sizes, axes = [shape[axis] for axis in keep], [keep.index(axis) for axis in inside]
        return LiftedChannel(marginal[0], sizes, axes), marginal[1]

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return self.channel.simulate(summed(theta, self._sizes, self.keep), n, rng)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        of_asked = summed(people.astype(np.float64), self._sizes, self.keep)
        return self.channel.simulate_from_values(of_asked.astype(np.int64), rng)
