"""Several mechanisms or budgets at once: each person reports through one of several channels [P1 sec 3, P4 sec V]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel, has_inverse

_MOST_DEALT = 10**9  # people that numpy deals out without replacement


def groups_of(channel: Channel) -> tuple[Channel, ...]:
    """The channels of a stack, or the one channel there is."""
    return channel.channels if isinstance(channel, StackChannel) else (channel,)


class StackChannel(Channel):
    """Channels A_1 .. A_G on one domain, of which n_g people used A_g: rows one below the other, A_g times its share of rows.

    A report of group g counts for ``copies_g`` rows, so the share of rows is n_g copies_g / N', N' = sum n_g copies_g, and on
    average a report counts for N' / n rows, which is ``rows_per_report`` here. Weights are the groups' weights times the same shares.

    Args:
        channels: one per group.
        people: n_g, all positive.
        equal: let every group's inversion count alike in ``invert``, whatever its size and budget [P1 eq 13], instead of by inverse variance.
    """

    def __init__(
        self, channels: Sequence[Channel], people: Sequence[int], equal: bool = False
    ) -> None:
        self.channels = tuple(channels)
        self.equal = equal
        self.people = np.asarray(people, dtype=np.float64)
        rows = self.people * np.array([c.rows_per_report for c in channels])
        self.shares = rows / rows.sum()
        self.rows_per_report = float(rows.sum() / self.people.sum())
        self.shape = (sum(c.shape[0] for c in channels), channels[0].shape[1])
        # Rows of group g times ``copies`` are n_g / n of the probabilities of its own reports.
        factors = [
            c.log_factors - np.log(n / self.people.sum())
            for c, n in zip(self.channels, self.people, strict=True)
        ]
        self.log_factors = np.concatenate(
            [np.broadcast_to(f, c.shape[:1]) for f, c in zip(factors, self.channels, strict=True)]
        )
        self._ends = np.cumsum([c.shape[0] for c in channels])

    def equally(self) -> StackChannel:
        """The same channel, its inverse mixed from the groups' with equal weights."""
        return StackChannel(self.channels, [int(n) for n in self.people], equal=True)

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        """The parts of (m,) that belong to each channel."""
        return np.split(w, self._ends[:-1])

    def stack(self, weights: Sequence[np.ndarray]) -> np.ndarray:
        """Weights of the groups, each summing to one, as weights of the whole."""
        return np.concatenate([share * w for share, w in zip(self.shares, weights, strict=True)])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.stack([channel.matvec(theta) for channel in self.channels])

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        parts = zip(self.shares, self.channels, self.split(r), strict=True)
        return np.sum([share * channel.rmatvec(part) for share, channel, part in parts], axis=0)

    def gram(self, v: np.ndarray) -> np.ndarray:
        parts = zip(self.shares, self.channels, self.split(v), strict=True)
        return np.sum([share**2 * channel.gram(part) for share, channel, part in parts], axis=0)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        start = 0
        for share, channel in zip(self.shares, self.channels, strict=True):
            for rows, block in channel.blocks():
                yield slice(start + rows.start, start + rows.stop), share * block
            start += channel.shape[0]

    def dense(self) -> np.ndarray:
        return np.concatenate(
            [
                share * channel.dense()
                for share, channel in zip(self.shares, self.channels, strict=True)
            ]
        )

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.stack(
            [
                c.simulate(theta, int(people), rng)
                for c, people in zip(self.channels, self.people, strict=True)
            ]
        )

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Who reported through which channel is drawn without replacement, so that the groups keep their sizes."""
        if people.sum() >= _MOST_DEALT:
            raise ArgumentError(
                message(
                    "target",
                    "'respondents' of several mechanisms together takes fewer than 10^9 people",
                    f"{people.sum():,}",
                )
            )
        left, parts = people.copy(), []
        for channel, n in zip(self.channels, self.people, strict=True):
            own = rng.multivariate_hypergeometric(left, int(n), method="marginals")
            parts.append(channel.simulate_from_values(own, rng))
            left = left - own
        return self.stack(parts)

    def simulate_tally(
        self, theta: np.ndarray, n: int, rng: np.random.Generator, values: np.ndarray | None = None
    ) -> tuple[Channel, np.ndarray]:
        if all(type(c).simulate_tally is Channel.simulate_tally for c in self.channels):
            return super().simulate_tally(theta, n, rng, values)
        if values is not None:
            raise ArgumentError(
                message(
                    "target",
                    "'respondents' of several mechanisms is not simulated where tuples of reports are kept",
                )
            )
        parts = [
            c.simulate_tally(theta, int(people), rng)
            for c, people in zip(self.channels, self.people, strict=True)
        ]
        stacked = StackChannel(
            [channel for channel, _ in parts], [int(people) for people in self.people], self.equal
        )
        return stacked, stacked.stack([w for _, w in parts])

    def supports(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        return self._each(w, lambda channel, part: channel.supports(part))

    def restrict_to_observed(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        # Shares do not change: they are of people, not of rows that are stored.
        return self._each(w, lambda channel, part: channel.restrict_to_observed(part))

    def _each(
        self, w: np.ndarray, change: Callable[[Channel, np.ndarray], tuple[Channel, np.ndarray]]
    ) -> tuple[Channel, np.ndarray]:
        """The stack of what every channel and its weights become."""
        parts = [
            change(c, part / share)
            for c, part, share in zip(self.channels, self.split(w), self.shares, strict=True)
        ]
        changed = StackChannel(
            [channel for channel, _ in parts], [int(n) for n in self.people], self.equal
        )
        return changed, changed.stack([weights for _, weights in parts])

    @cached_property
    def _mixture(self) -> np.ndarray:
        """(G, K): how much of each group's inversion makes the estimate, by inverse variance at the uniform distribution.

        The weights depend on no report, so the mixture of unbiased estimates is unbiased; so are equal ones [P1 eq 13], with more variance.
        """
        size = self.shape[1]
        if self.equal:
            return np.full((len(self.channels), size), 1 / len(self.channels))
        variances = np.stack(
            [channel.variance(np.full(size, 1 / size)) for channel in self.channels]
        )
        precision = self.people[:, None] / variances
        return precision / precision.sum(axis=0)

    @cached_property
    def together(self) -> bool:
        """Whether the inverse is that of all rows together, because some group's channel has none of its own.

        It is ``Channel._inverse`` of the stack, weighted least squares with weights 1 / d, d = A theta at the uniform theta. A group's
        frequencies have the covariance (diag d_g - d_g d_g') / n_g. Among weights L with L A = I those of least variance
        under it are also those of least variance under diag d_g / n_g: adding a constant to the weights of one group and taking it
        from another's changes neither L A nor the true variance, and the best such constants make L_g d_g = theta n_g / n.
        """
        return (
            not self.equal
            and len(self.channels) > 1
            and not all(has_inverse(channel) for channel in self.channels)
        )

    def whole(self) -> Channel:
        return (
            self
            if self._listed
            else StackChannel(
                [c.whole() for c in self.channels], [int(n) for n in self.people], self.equal
            )
        )

    def placed(self, w: np.ndarray) -> np.ndarray:
        if self._listed:
            return w
        parts = zip(self.shares, self.channels, self.split(w), strict=True)
        whole = self.whole()
        assert isinstance(whole, StackChannel)
        return whole.stack([channel.placed(part / share) for share, channel, part in parts])

    @cached_property
    def _listed(self) -> bool:
        return all(channel.whole() is channel for channel in self.channels)

    @cached_property
    def _everything(self) -> StackChannel:
        """The stack whose rows are all reports that there can be, which is inverted."""
        whole = self.whole()
        assert isinstance(whole, StackChannel)
        return whole

    def each_weights(self) -> list[np.ndarray]:
        """Of every group, what the rows of one of its reports add to the estimate times n, (K, m_g)."""
        return [
            np.ascontiguousarray(part) / self.rows_per_report
            for part in np.split(self._inverse, self._ends[:-1], axis=1)
        ]

    def _moments_together(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the inverse of all rows together. The mean of a group's reports alone, m_g = G_g theta, is not theta; their sum is.

            V = sum_g [ (n_g / n) E_g l^2 - (n / n_g) m_g^2 ]

        Where x has the share t and the rest is as in theta, m_g is linear in t, and V is what Channel.null_variance takes it for.
        """
        if theta.ndim > 1:
            parts = [self._moments_together(column) for column in theta.T]
            return np.stack([total for total, _ in parts], axis=1), np.stack(
                [own for _, own in parts], axis=1
            )
        if not self._listed:
            return self._everything._moments_together(theta)
        rest = np.where(theta < 1, 1 - theta, 1.0)
        n = self.people.sum()
        variance, none, some, bend = (np.zeros(theta.size) for _ in range(4))
        for channel, weights, people in zip(
            self.channels, self.each_weights(), self.people, strict=True
        ):
            share = people / n
            squares = channel.second_moments(weights)
            # The mean of one report's weights by value, times the group's share.
            means = (
                share * channel.rows_per_report * channel.rmatvec(np.ascontiguousarray(weights.T)).T
            )
            second, own = share * (squares @ theta), share * squares.diagonal()
            first, at_one = means @ theta, means.diagonal()
            at_none = (first - theta * at_one) / rest
            variance += second - first**2 / share
            none += (second - theta * own) / rest - at_none**2 / share
            some += own - at_one**2 / share
            bend += (at_one - at_none) ** 2 / share
        total = np.maximum(variance, 0.0) + theta**2
        # V(t) = (1 - t) none + t some + t (1 - t) bend.
        return total, some + 1 + (1 - theta) * (bend - 1)

    def invert(self, w: np.ndarray) -> np.ndarray:
        if self.together:
            return Channel.invert(self._everything, self.placed(w))
        parts = zip(self._mixture, self.channels, self.split(w), self.shares, strict=True)
        return np.sum(
            [(mixed * channel.invert(part / share).T).T for mixed, channel, part, share in parts],
            axis=0,
        )

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For theta (K,) that sums to one.

        Per report of the whole, group g's part of the estimate is n_g of n reports, each with n / n_g times its weight. The squares
        of that are n / n_g times the group's, and its mean share theta is squared once, not once a group: each group's variance,
        total - theta^2, is mixed, and theta^2 added back.
        """
        if self.together:
            return self._moments_together(theta)
        parts = [channel.inverse_moments(theta) for channel in self.channels]
        scale = self._mixture**2 * (self.people.sum() / self.people)[:, None]
        excess = 1 - scale.sum(axis=0)
        total = (
            np.sum([s * total for s, (total, _) in zip(scale, parts, strict=True)], axis=0)
            + excess * theta**2
        )
        own = (
            np.sum([s * own for s, (_, own) in zip(scale, parts, strict=True)], axis=0)
            + excess * theta
        )
        return total, own

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        parts = zip(self.people, self.channels, self.split(w), self.shares, strict=True)
        return (
            np.sum(
                [n * channel.naive_estimate(part / share) for n, channel, part, share in parts],
                axis=0,
            )
            / self.people.sum()
        )
