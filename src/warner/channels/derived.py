"""Operators made from another one: of merged or chosen values, of fewer or more attributes, and of
a value that is hidden among others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from warner._core.errors import ArgumentError
from warner.channels.base import (
    LARGEST_DENSE,
    Channel,
    CompositeChannel,
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
from warner.channels.support import (
    DirectChannel,
    SupportChannel,
    SupportInverse,
    SupportRows,
    normalized,
    slice_squares,
    support_information,
)


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
    """The columns ``values`` (k,), increasing, of an operator; other shares are 0 [P4 sec VIII]."""

    # A closed unbiased inverse of the whole operator is used here too, as it is unbiased for every
    # distribution. Otherwise the kept columns are inverted, which is possible more often.

    def __init__(self, inner: LikelihoodOperator, values: IntArray) -> None:
        if inner.is_keyed:
            rule = "cannot be chosen here, because each report is a key with a value"
            remedy = "Estimate all keys, and take what you need from the result"
            raise ArgumentError("values", rule, None, remedy)
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
        return np.asarray(self.inner.rmatvec(r)[self.values])

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
        return np.asarray(self.inner.invert(w)[self.values])

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

    def binomial_law(self, theta: FloatArray) -> SupportLaw | None:
        law = self.inner.binomial_law(self._whole(theta))
        return None if law is None else SupportLaw(law.q[self.values], law.gap[self.values])

    def support_shares(self, w: FloatArray) -> FloatArray:
        return np.asarray(self.inner.support_shares(w)[self.values])

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
        return tuple(SomeValues(operator, self.values) for operator in self.inner.groups())

    def split_groups(
        self, w: FloatArray, n: int
    ) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        parts = self.inner.split_groups(w, n)
        return [(*self._of((operator, weights)), people) for operator, weights, people in parts]

    def with_equal_groups(self) -> LikelihoodOperator:
        return SomeValues(self.inner.with_equal_groups(), self.values)


# -----------------------------------------------------------------------------------------------
# Reports about several attributes together, as a channel of some of them.


class SummedChannel(Channel):
    """The channel A' = A C of the attributes ``keep``, from a channel A (m, K) of all."""

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
            rule = "has too many possible reports for a Wald interval"
            raise ArgumentError("marginal", rule, f"{rows:,} reports", "Use kind='bootstrap'")
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


# -----------------------------------------------------------------------------------------------
# Reports that name a value which is not sensitive, or are sets of sensitive values.


class _HiddenAmong(SupportInverse):
    """What the reports of utility-optimised subset selection say of each value.

        A = B D,   D = q 1' + gap I a :class:`DirectChannel` with q > 0 for the values of S alone

    First D draws a value z. If it is not in S, the report is the set of z alone. If it is, the
    report is a uniform set of d values of S with z among them. So a report supports j in S with one
    probability under another value of S, and with a smaller one under a value that is not in S. The
    share T of the reports that are sets of values of S makes up for the difference:

        (S_j - r T - (1 - r) q) / ((1 - r) gap),   r = (d - 1) / (s - 1) for j in S, else 0

    is unbiased, S_j the share of the reports that support j.
    """

    first: DirectChannel
    members: IntArray  # S, (s,) indices
    subset: int  # d

    def _set_stages(self, first: DirectChannel, subset: int) -> None:
        self.first, self.subset, self.members = first, subset, np.flatnonzero(first.q > 0)
        raised = (subset - 1) / max(self.members.size - 1, 1)
        self._second = SupportChannel(self.members.size, raised, 1 - raised, ones=subset)
        self._raised = np.where(first.q > 0, raised, 0.0)
        hidden = 1 - self._raised
        self._set_support_law(first.shape[1], hidden * first.q, hidden * first.gap)

    def support_law(self) -> None:  # type: ignore[override]
        return None  # no one chance is that of all other values

    def binomial_law(self, theta: FloatArray) -> SupportLaw:
        # q (1 - q) / gap^2 and (1 - 2 q) / gap are the exact variance at 0, and its slope.
        total, at_value = self.inverse_moments(theta)
        null = np.maximum((total - theta * at_value) / np.maximum(1 - theta, 1e-12), 0.0)
        null[self.first.q <= 0] = 0.0
        gap = 1 / np.sqrt((at_value - null) ** 2 + 4 * null)
        return SupportLaw(np.where(null > 0, (1 - (at_value - null) * gap) / 2, 0.0), gap)

    def _supported(self, theta: FloatArray) -> FloatArray:
        """The chances that a report supports each value, (K,) or (K, B)."""
        drawn = self.first.matvec(theta).T
        among = drawn[..., self.members].sum(axis=-1, keepdims=True)
        return np.asarray((drawn * (1 - self._raised) + among * self._raised).T)

    @abstractmethod
    def _counted_shares(self, w: FloatArray) -> FloatArray:
        """The share of the reports that support each value."""

    @abstractmethod
    def _counting(self, u: FloatArray) -> FloatArray:
        """The transpose of :meth:`_counted_shares`."""

    def sets(self, w: FloatArray) -> FloatArray:
        """T: the share of the reports that are sets of values of S."""
        return np.asarray(self._counted_shares(w)[self.members].sum(axis=0) / self.subset)

    def support_shares(self, w: FloatArray) -> FloatArray:
        # Without those that other values of S raise, in units of q and gap.
        return self._counted_shares(w) - np.multiply.outer(self._raised, self.sets(w))

    def _supporting(self, u: FloatArray) -> FloatArray:
        moved = u.copy()
        moved[self.members] -= (self._raised @ u) / self.subset
        return self._counting(moved)

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return normalized(self._counted_shares(w))

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        shares = self._counted_shares(w)
        return self.complete(), np.concatenate([shares, 1 - shares]) / self.shape[1]

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Of (b - r t - q) / gap with bits b and t, which is 1 where b is.
        q, r = self.q, self._raised
        slope, of_set = 1 - 2 * (q + r), r * (r + 2 * q)
        counted = self._supported(theta).T
        sets = counted[..., self.members].sum(axis=-1, keepdims=True) / self.subset
        everyone = theta.sum(axis=0)[..., None]
        total = (slope * counted + of_set * sets + q**2 * everyone) / self.gap**2
        return total.T, (slope * (q + r + self.gap) + of_set + q**2) / self.gap**2

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        least = -(self.q + self._raised) / self.gap
        return least, least + 1 / self.gap

    def _mixed_moments(
        self, w: FloatArray, members: slice, columns: FloatArray, squares: FloatArray
    ) -> FloatArray:
        # E[g h] = (E (g + h)^2 - E (g - h)^2) / 4
        channel, inside = self.complete(), np.zeros((self.shape[1], members.stop - members.start))
        inside[members] = np.eye(inside.shape[1])
        g = channel.influence(inside).T / channel.rows_per_report
        h = g.sum(axis=0)
        moments = channel.second_moments(g + h) - channel.second_moments(g - h)
        return np.asarray(moments @ columns / 4)


class HiddenAmongChannel(_HiddenAmong, CompositeChannel):
    """The channel of bit sums of reports that name a value, or are d of the values of a set S.

    Rows are as in :class:`SupportChannel`: bit j is 1 for every j, then bit j is 0.

    Args:
        first: D, by which a value is drawn first; its q is above 0 for the values of S alone.
        subset: d.

    >>> first = DirectChannel(4, np.array([0.2, 0.2, 0.2, 0.0]), 0.4)
    >>> channel = HiddenAmongChannel(first, 2)
    >>> channel.matvec(np.array([0.0, 0.0, 0.5, 0.5])).round(3).tolist()
    [0.125, 0.125, 0.15, 0.05, 0.125, 0.125, 0.1, 0.2]
    >>> channel.invert(channel.matvec(np.array([0.1, 0.2, 0.3, 0.4]))).round(3).tolist()
    [0.1, 0.2, 0.3, 0.4]
    """

    has_closed_inverse = True
    rows_are_bit_sums = True
    has_information = True

    def __init__(self, first: DirectChannel, subset: int) -> None:
        self._set_stages(first, subset)
        size = first.shape[1]
        self.shape, self.rows_per_report = (2 * size, size), size

    def matvec(self, theta: FloatArray) -> FloatArray:
        counted = self._supported(theta)
        return np.concatenate([counted, theta.sum(axis=0) - counted]) / self.shape[1]

    def rmatvec(self, r: FloatArray) -> FloatArray:
        yes, no = np.split(r, 2)
        u = ((yes - no).T * (1 - self._raised)).T
        u[self.members] += self._raised @ (yes - no)
        return np.asarray((self.first.rmatvec(u) + no.sum(axis=0)) / self.shape[1])

    def _counted_shares(self, w: FloatArray) -> FloatArray:
        return w[: self.shape[1]] * self.shape[1]

    def _counting(self, u: FloatArray) -> FloatArray:
        return np.concatenate([self.shape[1] * u, np.zeros(u.shape)])

    def covariance(self, theta: FloatArray) -> FloatArray:
        """That of the values drawn first, whose estimates add up to 1, divided by gap^2."""
        drawn = self.first.matvec(theta)
        of_sets = drawn[self.members]
        second, within = np.diag(drawn), np.ix_(self.members, self.members)
        sets = float(of_sets.sum())
        given = of_sets / sets
        second[within] = sets * (self._second.covariance(given) + np.multiply.outer(given, given))
        return np.asarray((second - np.multiply.outer(drawn, drawn)) / self.first.gap[0] ** 2)

    def second_moments(self, weights: FloatArray) -> FloatArray:
        yes, no = np.split(weights, 2, axis=1)
        single = (no.sum(axis=1, keepdims=True) + yes - no) ** 2
        # The weights of the bits outside S, which a set leaves at 0, are added to those inside.
        s = self.members
        rest = (no.sum(axis=1) - no[:, s].sum(axis=1))[:, None] / s.size
        single[:, s] = self._second.second_moments(np.hstack([yes[:, s] + rest, no[:, s] + rest]))
        return np.asarray(self.first.rmatvec(single.T).T)

    @property
    def gain_of_whole_reports(self) -> float:
        return 0.0  # at equal shares, as of all sets of a fixed size

    def information(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.subset == 1:
            return self.first.information(theta)
        law = SupportLaw(self.q + self._raised, self.gap, ones=self.subset)
        return support_information(law, theta)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        n, size = int(people.sum()), self.shape[1]
        sums = np.rint(self.first.simulate_from_values(people, rng) * n).astype(np.int64)
        of_sets = sums[self.members]
        if (sets := int(of_sets.sum())) > 0:
            bits = self._second.simulate_from_values(of_sets, rng)[: of_sets.size]
            sums[self.members] = np.rint(bits * (sets * of_sets.size))
        return np.concatenate([sums, n - sums]) / (n * size)

    def sample_marks(self, index: IntArray, rng: np.random.Generator) -> FloatArray:
        size, drawn = self.shape[1], self.first.sample_rows(index, rng)
        bits = np.eye(size)[drawn]
        rank = np.full(size, -1)
        rank[self.members] = np.arange(self.members.size)
        sets = np.flatnonzero(rank[drawn] >= 0)
        marks = self._second.sample_marks(rank[drawn[sets]], rng)[:, : self.members.size]
        bits[np.ix_(sets, self.members)] = marks
        return np.concatenate([bits, 1 - bits], axis=1)


class HiddenAmongRows(_HiddenAmong, SupportRows):
    """The observed reports of :class:`HiddenAmongChannel`, each a row.

    A set of values of S has the entries 1 + (e - 1) b, any other report those of its one value.

    Args:
        channel: the channel of bit sums.
        bits: (m, ceil(K / 8)) uint8, the reports.
        ratio: e.
        log_factors: (m,), see :class:`LikelihoodOperator`.
    """

    def __init__(
        self,
        channel: HiddenAmongChannel,
        bits: NDArray[np.uint8],
        ratio: float,
        log_factors: FloatArray | float = 0.0,
    ) -> None:
        named = np.any(bits & np.packbits(channel.first.q <= 0), axis=1)
        base, gain = np.where(named, 0.0, 1.0), np.where(named, 1.0, ratio - 1)
        super().__init__(bits, channel.shape[1], base, gain, log_factors=log_factors)
        self._set_stages(channel.first, channel.subset)

    def complete(self) -> HiddenAmongChannel:  # type: ignore[override]
        return HiddenAmongChannel(self.first, self.subset)

    def _counted_shares(self, w: FloatArray) -> FloatArray:
        return SupportRows.support_shares(self, w)

    def _counting(self, u: FloatArray) -> FloatArray:
        return self._counted_bits().matvec(u)

    def _rows_of(self, reports: NDArray[np.uint8], ratio: float) -> SupportRows:
        return HiddenAmongRows(self.complete(), reports, ratio)
