"""Reports about several attributes together, as a channel of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels.arrays import FloatArray, SupportLaw, lifted, summed
from warner.channels.base import LARGEST_DENSE, Channel, LikelihoodOperator


class SummedChannel(Channel):
    """The channel of some attributes, from a channel A of all attributes.

        A' = A C,   C[x, x'] = theta_x / theta'_x'

    Here x is a tuple of all attributes, x' has its kept attributes, and theta' is the distribution
    of x'. C is 0 for all other pairs.

    The other attributes follow their distribution in ``theta``. The inverse sums the inverse of A,
    so it is unbiased for every theta; C enters its variance alone, as theta itself would. The
    likelihood of A' takes C as known, so it must not be maximised.

    Args:
        channel: A (m, K).
        shape: the number of values of each attribute.
        keep: the positions of the attributes that are kept.
        theta: (K,) a distribution.
    """

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
        mass = lifted(summed(theta, shape, keep), shape, keep)
        # Where no one has the kept values, the other attributes are taken as uniform.
        self._conditional = np.divide(
            theta, mass, out=np.full(theta.size, self.shape[1] / theta.size), where=mass > 0
        )

    @property
    def has_closed_moments(self) -> bool:
        return True

    @property
    def has_moments(self) -> bool:
        """Whether the variance of the inverse is known.

        It is for bit sums, and where all reports are listed and few enough.
        """
        if self.channel.rows_are_bit_sums:
            return True
        return (
            self.rows_per_report == 1
            and self.channel.lists_all_reports
            and self.channel.shape[0] * self.channel.shape[1] <= LARGEST_DENSE
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
        """The sums of the covariances of all attributes."""
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
        """Moments of Z = sum over a group of r values of (b_x - q_x) / gap_x, b the bits.

        For independent bits, E Z^2 = sum q (1 - q) / gap^2. It is larger by (1 - 2 q_v) / gap_v
        where the report's value v is in the group, because b^2 = b.

        Where k of K bits are 1, the bit of v is one of them with probability p, and the others are
        chosen evenly. The r - [v in group] others count k or k - 1 draws without replacement from
        K - 1. With s their share, E N = k s and
        E N^2 = k s (1 - s) (K - 1 - k) / (K - 2) + (k s)^2.
        """
        q, gap, size = law.q, law.gap, self.channel.shape[1]
        mass = theta.sum(axis=0)
        if law.pairs is not None:
            squares = [self._paired_square(law, law.pairs, size, member) for member in (0, 1)]
            total = np.broadcast_to(squares[0] * mass, theta.shape)
            return total + (squares[1] - squares[0]) * theta, np.full(self.shape[1], squares[1])
        if law.ones is None:
            noise = summed(q * (1 - q) / gap**2, self._sizes, self._keep)
            excess = (1 - 2 * q) / gap
            inside = summed((excess * self._spread(theta).T).T, self._sizes, self._keep)
            at_value = noise + summed(excess * self._conditional, self._sizes, self._keep)
            return np.add(np.multiply.outer(noise, mass), inside), at_value
        outside, inside_ = (self._subset_square(law, law.ones, size, member) for member in (0, 1))
        total = np.broadcast_to(outside * mass, theta.shape) + (inside_ - outside) * theta
        return total, np.full(self.shape[1], inside_)

    def _paired_square(
        self, law: SupportLaw, pairs: tuple[float, float], size: int, member: int
    ) -> float:
        """:meth:`_subset_square` from the probabilities of pairs of bits."""
        group, low = size // self.shape[1], float(law.q[0])
        rest, gap = group - member, float(law.gap[0])
        mean = group * low + member * gap
        square = mean + 2 * member * rest * pairs[0] + rest * (rest - 1) * pairs[1]
        return (square - 2 * group * low * mean + (group * low) ** 2) / gap**2

    def _subset_square(self, law: SupportLaw, ones: int, size: int, member: int) -> float:
        """E Z^2 where ``member`` = 1 of the group is the report's value, or 0."""
        group, low = size // self.shape[1], float(law.q[0])
        high = low + float(law.gap[0])
        share, total = (group - member) / (size - 1), 0.0
        for chance, bit in ((high, 1), (1 - high, 0)):
            k = ones - bit
            mean = k * share
            variance = k * share * (1 - share) * (size - 1 - k) / max(size - 2, 1)
            total += chance * (variance + (mean + member * bit - group * low) ** 2)
        return total / float(law.gap[0]) ** 2
