"""Several mechanisms or budgets together: each person uses one of several channels.

[P1 sec 3, P4 sec V]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner.channels.base import (
    BlockMoments,
    Channel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    People,
    polarized,
)
from warner.channels.derived import on_cells

_MOST_DEALT = 10**9  # people that numpy deals out without replacement


class Stacked(LikelihoodOperator):
    """Operators A_1 .. A_G on one domain, one below the other; n_g people used A_g."""

    # A report of group g counts in r_g rows: the stack holds s_g A_g and weights s_g w_g, with s_g
    # = n_g r_g / N, N = sum n_g r_g, and ``rows_per_report`` N / n. ``people`` are n_g, positive,
    # (G,), and ``shares`` s_g, (G,).

    has_fast_gram = True
    has_row_blocks = True
    lists_all_reports = False
    channels: tuple[LikelihoodOperator, ...]

    def __init__(self, channels: Sequence[LikelihoodOperator], people: Sequence[int]) -> None:
        self.channels = tuple(channels)
        self.people = np.asarray(people, dtype=np.float64)
        rows = self.people * np.array([c.rows_per_report for c in channels])
        self.shares: FloatArray = rows / rows.sum()
        self.rows_per_report = float(rows.sum() / self.people.sum())
        self.shape = (sum(c.shape[0] for c in channels), channels[0].shape[1])
        self._ends = np.cumsum([c.shape[0] for c in channels])
        self.has_bins = all(c.has_bins for c in channels)

    def split(self, w: FloatArray) -> list[FloatArray]:
        """The vector w (m,) of the stack, cut into one part for each group."""
        return np.split(w, self._ends[:-1])

    def stack(self, weights: Sequence[FloatArray]) -> FloatArray:
        """The weights (m,) of the stack, from one vector of weights w_g for each group."""
        return np.concatenate([share * w for share, w in zip(self.shares, weights, strict=True)])

    def at_limits(self) -> FloatArray:
        return self.stack([channel.at_limits() for channel in self.channels])

    def exact_scores(self) -> FloatArray:
        each = [channel.exact_scores() for channel in self.channels]
        return np.concatenate([scores[: min(map(len, each))] for scores in each], axis=1)

    def _summed(
        self,
        product: Callable[[LikelihoodOperator, FloatArray], FloatArray],
        v: FloatArray,
        power: int,
    ) -> FloatArray:
        """The sum of s_g^power times a product of each group's operator and its part of v (m,)."""
        parts = zip(self.shares, self.channels, self.split(v), strict=True)
        return np.asarray(
            np.sum(
                [share**power * product(channel, rows) for share, channel, rows in parts], axis=0
            )
        )

    def matvec(self, theta: FloatArray) -> FloatArray:
        return self.stack([channel.matvec(theta) for channel in self.channels])

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self._summed(lambda channel, rows: channel.rmatvec(rows), r, 1)

    def gram(self, v: FloatArray) -> FloatArray:
        return self._summed(lambda channel, rows: channel.gram(rows), v, 2)

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        return self._summed(lambda channel, rows: channel.gram_of(rows, directions), v, 2)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        start = 0
        for share, channel in zip(self.shares, self.channels, strict=True):
            for rows, block in channel.blocks():
                yield slice(start + rows.start, start + rows.stop), share * block
            start += channel.shape[0]

    def dense(self) -> FloatArray:
        return self.stack([channel.dense() for channel in self.channels])


class StackedRows(Stacked):
    """The reports of several groups of people, as in :class:`Stacked`."""

    # ``mix`` says which weights :meth:`invert` gives the groups: their "precision", "equal" ones
    # [P1 eq 13], or their "people", as where each person has a weight.

    def __init__(
        self,
        channels: Sequence[LikelihoodOperator],
        people: Sequence[int],
        mix: str = "precision",
    ) -> None:
        super().__init__(channels, people)
        self.mix = mix
        self.has_closed_moments = all(channel.has_closed_moments for channel in channels)
        self.is_keyed = all(channel.is_keyed for channel in channels)
        self.is_on_paper = all(channel.is_on_paper for channel in channels)
        self.tells_means_only = any(channel.tells_means_only for channel in channels)
        # Rows of group g times ``rows_per_report`` are n_g / n times the probabilities of its
        # reports.
        factors = [
            c.log_factors - np.log(n / self.people.sum())
            for c, n in zip(self.channels, self.people, strict=True)
        ]
        self.log_factors = np.concatenate(
            [np.broadcast_to(f, c.shape[:1]) for f, c in zip(factors, self.channels, strict=True)]
        )

    @property
    def _group_sizes(self) -> list[int]:
        return [int(n) for n in self.people]

    def groups(self) -> tuple[LikelihoodOperator, ...]:
        return self.channels

    def split_groups(
        self, w: FloatArray, n: int
    ) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        if self.mix != "people":
            return self._parts(w)
        # Of weights, which are no numbers of people.
        scale = n / self.people.sum()
        return [(c, weights, max(1, round(scale * of))) for c, weights, of in self._parts(w)]

    def _parts(self, w: FloatArray) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        """The operator of each group, the frequencies of its rows, and its people."""
        parts = zip(self.channels, self.split(w), self.shares, self.people, strict=True)
        return [
            (channel, weights / share, int(people)) for channel, weights, share, people in parts
        ]

    def with_equal_groups(self) -> LikelihoodOperator:
        return stacked(self.channels, self._group_sizes, "equal")

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        return self._map_groups(w, lambda channel, weights: channel.supports(weights))

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        # The shares do not change, because they count people and not stored rows.
        return self._map_groups(w, lambda channel, weights: channel.restrict_to_observed(weights))

    def merge_equal_rows(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        return self._map_groups(w, lambda channel, weights: channel.merge_equal_rows(weights))

    def value_cells(self, most: int) -> IntArray | None:
        # The cells of the first group for which only some cells are small.
        for channel in self.channels:
            cells = channel.value_cells(most)
            if cells is not None:
                return cells
        return None

    def coarsened(self, w: FloatArray, starts: IntArray) -> tuple[LikelihoodOperator, FloatArray]:
        return self._map_groups(w, lambda channel, weights: on_cells(channel, weights, starts))

    def _map_groups(
        self,
        w: FloatArray,
        change: Callable[[LikelihoodOperator, FloatArray], tuple[LikelihoodOperator, FloatArray]],
    ) -> tuple[LikelihoodOperator, FloatArray]:
        """The stack of the groups' operators and weights after a change."""
        return self._stacked_anew([change(channel, rows) for channel, rows, _ in self._parts(w)])

    def clusters(self, shape: Sequence[int]) -> list[list[int]] | None:
        clusters = [channel.clusters(shape) for channel in self.channels]
        return clusters[0] if all(each == clusters[0] for each in clusters) else None

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        # Groups that were asked about none of these attributes are left out.
        groups = [
            (channel.marginal(weights, shape, keep), people)
            for channel, weights, people in self._parts(w)
            if channel.tells_about(keep)
        ]
        marginals = [marginal for marginal, _ in groups if marginal is not None]
        if not groups or len(marginals) < len(groups):
            return None
        people = [people for _, people in groups]
        return self._stacked_anew(marginals, people if len(people) < len(self.people) else None)

    def n_people(self, n: int) -> int:
        return n if self.mix == "people" else int(self.people.sum())  # weights add to no number

    def n_of_all(self, axes: Sequence[int], n: int) -> int:
        if self.mix == "people":
            return super().n_of_all(axes, n)
        groups = zip(self.channels, self._group_sizes, strict=True)
        return sum(channel.n_of_all(axes, people) for channel, people in groups)

    def _stacked_anew(
        self,
        groups: Sequence[tuple[LikelihoodOperator, FloatArray]],
        people: Sequence[int] | None = None,
    ) -> tuple[StackedRows, FloatArray]:
        """The stack of other operators of the groups, and of the weights of their rows."""
        sizes = self._group_sizes if people is None else people
        changed = stacked([channel for channel, _ in groups], sizes, self.mix)
        return changed, changed.stack([weights for _, weights in groups])

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        # Every group's own simulated tally. All reports of a person are in one group.
        if people.values is not None:
            rule = (
                "'respondents' cannot be used where tallies of several mechanisms are combined and "
                "one of these tallies was made with keep_reports=True"
            )
            remedy = "Use target='population'"
            raise ArgumentError("target", rule, None, remedy)
        return self._stacked_anew(
            [
                channel._simulated(people._replace(n=reports), rng)
                for channel, reports in zip(self.channels, self._group_sizes, strict=True)
            ]
        )

    def part_of_values(self, theta: FloatArray, variance: FloatArray) -> FloatArray:
        # The sum over the groups g of mixture_g^2 n / n_g (theta - theta^2).
        if self.is_inverted_together:
            return variance
        scale = self._mixture**2 * (self.people.sum() / self.people)[:, None]
        return np.asarray(scale.sum(axis=0) * (theta - theta**2))

    # The unbiased inverse

    @cached_property
    def _mixture(self) -> FloatArray:
        """(G, K): each group's weight in the inversion, by inverse variance at uniform theta."""
        # The weights depend on no report, so the mixture of unbiased estimates is unbiased; equal
        # weights too [P1 eq 13], with more variance.
        size = self.shape[1]
        if self.mix != "precision":
            parts = self.people if self.mix == "people" else np.ones(len(self.channels))
            return np.tile((parts / parts.sum())[:, None], size)
        variances = np.stack(
            [channel.variance(np.full(size, 1 / size)) for channel in self.channels]
        )
        if self.has_bins:  # a mean has no bias if all its bins have the same weights
            variances[:] = variances.mean(axis=1, keepdims=True)
        precision = self.people[:, None] / variances
        return np.asarray(precision / precision.sum(axis=0))

    @cached_property
    def is_inverted_together(self) -> bool:
        """Whether all rows are inverted together, because a group's channel has no inverse."""
        # That inverse is least squares with weights 1 / d, d = A theta at the uniform theta. Of L
        # with L A = I it also has the least variance under the true covariances (diag d_g - d_g
        # d_g') / n_g, with constants added to each group's weights that make L_g d_g = theta n_g /
        # n.
        return (
            self.mix == "precision"
            and len(self.channels) > 1
            and not all(channel.has_inverse() for channel in self.channels)
        )

    def complete(self) -> StackChannel:
        return self._completed

    @cached_property
    def _completed(self) -> StackChannel:
        return StackChannel([c.complete() for c in self.channels], self._group_sizes, self.mix)

    def complete_weights(self, w: FloatArray) -> FloatArray:
        return self.complete().stack(
            [channel.complete_weights(weights) for channel, weights, _ in self._parts(w)]
        )

    def invert(self, w: FloatArray) -> FloatArray:
        if self.is_inverted_together:
            return self.complete()._inverse @ self.complete_weights(w)
        parts = zip(self._mixture, self._parts(w), strict=True)
        each = [(mix * channel.invert(weights).T).T for mix, (channel, weights, _) in parts]
        return np.asarray(np.sum(each, axis=0))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The moments of the mixture, for theta (K,) that sums to one."""
        # Group g has n_g of n reports, each with n / n_g times its weights. The squared mean
        # theta^2 counts once, not per group: so total - theta^2 is mixed, and theta^2 is added.
        if self.is_inverted_together:
            return self.complete()._joint_moments(theta)
        parts = [channel.inverse_moments(theta) for channel in self.channels]
        scale = self._mixture**2 * (self.people.sum() / self.people)[:, None]
        excess = 1 - scale.sum(axis=0)
        total = (
            np.sum([s * total for s, (total, _) in zip(scale, parts, strict=True)], axis=0)
            + excess * theta**2
        )
        at_value = (
            np.sum([s * at_value for s, (_, at_value) in zip(scale, parts, strict=True)], axis=0)
            + excess * theta
        )
        return total, at_value

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        # As covariance.
        total, n = np.zeros(c.shape[1]), self.people.sum()
        if not self.is_inverted_together:
            parts = zip(self._mixture, self.channels, self.people, strict=True)
            for mix, channel, people in parts:
                total += channel.variance_of((mix * c.T).T, theta) * (n / people)
            return total
        stack = self.complete()
        for channel, weights, people in zip(
            stack.channels, stack.group_weights(), stack.people, strict=True
        ):
            terms = c.T @ weights
            # The number of a group's reports is fixed, so its mean adds no variance.
            mean = terms @ channel.matvec(theta) * channel.rows_per_report
            total += (people / n) * (channel.complete().second_moments(terms) @ theta - mean**2)
        return total

    def covariance(self, theta: FloatArray) -> FloatArray:
        # That of the groups' inversions, mixed; or of the inverse of all rows together.
        total = np.zeros((theta.size, theta.size))
        n = self.people.sum()
        if not self.is_inverted_together:
            parts = zip(self._mixture, self.channels, self.people, strict=True)
            for mix, channel, people in parts:
                total += np.multiply.outer(mix, mix) * channel.covariance(theta) * (n / people)
            return total
        stack = self.complete()
        for channel, weights, people in zip(
            stack.channels, stack.group_weights(), stack.people, strict=True
        ):
            # The number of a group's reports is fixed, so its mean adds no variance.
            second = polarized(channel.complete().second_moments, weights, theta)
            mean = weights @ channel.matvec(theta) * channel.rows_per_report
            total += (people / n) * (second - np.multiply.outer(mean, mean))
        return total

    def group_weights(self) -> list[FloatArray]:
        """For each group, n times what the rows of one report add to the estimate, (K, m_g)."""
        return [
            np.ascontiguousarray(columns) / self.rows_per_report
            for columns in np.split(self._inverse, self._ends[:-1], axis=1)
        ]

    def _joint_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The moments of the inverse of all rows, in a stack of complete channels."""
        # The mean of a group's terms, m_g = G_g theta, is not theta, but the means sum to theta:
        #     V = sum_g [ (n_g / n) E_g l^2 - (n / n_g) m_g^2 ]
        # Where x has the share t and the others keep their proportions, m_g is linear in t: the
        # result makes ``variance_at_zero`` right for that V.
        if theta.ndim > 1:
            parts = [self._joint_moments(column) for column in theta.T]
            return np.stack([total for total, _ in parts], axis=1), np.stack(
                [at_value for _, at_value in parts], axis=1
            )
        rest = np.where(theta < 1, 1 - theta, 1.0)
        n = self.people.sum()
        variance, at_zero, at_one, bend = (np.zeros(theta.size) for _ in range(4))
        for channel, weights, people in zip(
            self.channels, self.group_weights(), self.people, strict=True
        ):
            share = people / n
            squares = channel.complete().second_moments(weights)
            # The mean of one report's weights by value, times the group's share.
            means = (
                share * channel.rows_per_report * channel.rmatvec(np.ascontiguousarray(weights.T)).T
            )
            second, second_at_one = share * (squares @ theta), share * squares.diagonal()
            first, first_at_one = means @ theta, means.diagonal()
            first_at_zero = (first - theta * first_at_one) / rest
            variance += second - first**2 / share
            at_zero += (second - theta * second_at_one) / rest - first_at_zero**2 / share
            at_one += second_at_one - first_at_one**2 / share
            bend += (first_at_one - first_at_zero) ** 2 / share
        total = np.maximum(variance, 0.0) + theta**2
        # V(t) = (1 - t) at_zero + t at_one + t (1 - t) bend.
        return total, at_one + 1 + (1 - theta) * (bend - 1)

    def has_wald_intervals(self, w: FloatArray) -> bool:
        try:
            self.invert(w)
            if self.is_inverted_together:
                self.variance(np.full(self.shape[1], 1 / self.shape[1]))
        except (IdentifiabilityError, ArgumentError):
            return False
        return True

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        # The groups' moments, mixed by the inverse variance of T at the uniform distribution.
        #
        # T and F have the same mixture, so T - r F is a mixture too. Groups without an inverse are
        # left out.
        groups: list[tuple[float, BlockMoments]] = []
        problem = None
        for channel, weights, people in self._parts(w):
            try:
                moments = channel.block_moments(weights, block, shape, columns)
                groups.append((float(people), moments))
            except IdentifiabilityError as error:
                problem = error
        if problem is not None and not groups:
            raise problem
        sizes = np.array([n for n, _ in groups])[:, None]
        moments_of = [moments for _, moments in groups]
        variance = np.stack([m.squares[:, -1] for m in moments_of]) - 1 / self.shape[1] ** 2
        mix = sizes / np.maximum(variance, 1e-300)
        mix = mix / mix.sum(axis=0)
        scale = (self.people.sum() / sizes * mix**2)[:, :, None]
        return BlockMoments(
            _weighted_sum(mix, [m.total for m in moments_of]),
            _weighted_sum(mix, [m.block for m in moments_of]),
            _weighted_sum(scale, [m.squares for m in moments_of]),
            _weighted_sum(scale, [m.mixed for m in moments_of]),
            _weighted_sum(scale, [m.block_squares for m in moments_of]),
        )

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        total = np.sum(
            [people * channel.naive_estimate(rows) for channel, rows, people in self._parts(w)],
            axis=0,
        )
        return np.asarray(total / self.people.sum())


class StackChannel(StackedRows, Channel):
    """A stack of channels, whose tallies can be simulated; see :class:`StackedRows`.

    >>> from warner.channels import DirectChannel
    >>> stack = StackChannel([DirectChannel(2, 0.25, 0.5), DirectChannel(2, 0.0, 1.0)], [30, 10])
    >>> stack.invert(stack.matvec(np.array([0.9, 0.1]))).round(3).tolist()
    [0.9, 0.1]
    """

    channels: tuple[Channel, ...]

    def complete(self) -> StackChannel:
        return self

    def complete_weights(self, w: FloatArray) -> FloatArray:
        return w

    @property
    def draws_reports_alone(self) -> bool:
        # False: each group's number of people is fixed.
        return False

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        return self.stack(
            [
                channel.simulate(theta, people, rng)
                for channel, people in zip(self.channels, self._group_sizes, strict=True)
            ]
        )

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # The members of each group are drawn without replacement, so that its size is kept.
        if people.sum() >= _MOST_DEALT:
            rule = (
                "'respondents' must be fewer than 10^9 people where tallies of several mechanisms "
                "are combined"
            )
            remedy = "Use target='population'"
            raise ArgumentError("target", rule, f"{people.sum():,}", remedy)
        left, parts = people.copy(), []
        for channel, n in zip(self.channels, self._group_sizes, strict=True):
            members = rng.multivariate_hypergeometric(left, n, method="marginals")
            parts.append(channel.simulate_from_values(members, rng))
            left = left - members
        return self.stack(parts)

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        if people.per_person > 1 and people.values is None:
            return super()._simulated(people, rng)
        return Channel._simulated(self, people._replace(per_person=1), rng)


def stacked(
    channels: Sequence[LikelihoodOperator], people: Sequence[int], mix: str = "precision"
) -> StackedRows:
    """The stack of the groups' operators: a :class:`StackChannel` where all are channels."""
    full = [channel for channel in channels if isinstance(channel, Channel)]
    if len(full) == len(channels):
        return StackChannel(full, people, mix)
    return StackedRows(channels, people, mix)


def _weighted_sum(weights: FloatArray, arrays: Sequence[FloatArray]) -> FloatArray:
    """sum_g weights[g] * arrays[g]."""
    return np.asarray(np.sum([w * a for w, a in zip(weights, arrays, strict=True)], axis=0))
