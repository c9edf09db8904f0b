"""What reports about several attributes say of some of them: the marginal of a channel on a product of domains."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import LARGEST_DENSE, Channel
from warner.channels.hashed import HashChannel
from warner.channels.kronecker import KroneckerChannel
from warner.channels.pure import DirectChannel, SupportChannel
from warner.channels.repeated import RepeatedRows
from warner.channels.stack import StackChannel
from warner.channels.support_reports import SupportRows


def summed(v: np.ndarray, shape: Sequence[int], keep: Sequence[int]) -> np.ndarray:
    """Sums over the attributes that are not kept, (prod shape, ...) -> (prod of kept, ...), in the order of ``keep``.

    >>> summed(np.arange(6), (2, 3), [0]).tolist()
    [3, 12]
    """
    table = v.reshape(*shape, *v.shape[1:])
    table = table.sum(axis=tuple(axis for axis in range(len(shape)) if axis not in keep))
    order = np.argsort(
        np.argsort(keep)
    )  # of the kept axes, which the sum left in the order of ``shape``
    return np.ascontiguousarray(np.moveaxis(table, order, range(len(keep)))).reshape(
        -1, *v.shape[1:]
    )


def lifted(u: np.ndarray, shape: Sequence[int], keep: Sequence[int]) -> np.ndarray:
    """The transpose of ``summed``: (prod of kept, ...) -> (prod shape, ...), every value gets what its kept attributes have.

    >>> lifted(np.array([3, 12]), (2, 3), [0]).tolist()
    [3, 3, 3, 12, 12, 12]
    """
    table = u.reshape(*(shape[axis] for axis in keep), *u.shape[1:])
    table = np.moveaxis(table, range(len(keep)), np.argsort(np.argsort(keep)))
    narrow = [size if axis in keep else 1 for axis, size in enumerate(shape)]
    table = np.broadcast_to(table.reshape(*narrow, *u.shape[1:]), (*shape, *u.shape[1:]))
    return np.ascontiguousarray(table).reshape(-1, *u.shape[1:])


def marginal(
    channel: Channel, w: np.ndarray, shape: Sequence[int], keep: Sequence[int]
) -> tuple[Channel, np.ndarray] | None:
    """The channel of the reports about some attributes alone, and its weights; None where the rest does not fall away.

    It falls away from attributes that were randomised on their own, since columns sum to one: sum over y2 of A1[y1, x1] A2[y2, x2] is
    A1[y1, x1]; and from randomised response on all combinations, whose wrong answers do not depend on the true one.

    Args:
        channel: of reports about attributes with ``shape`` values each.
        w: (m,) its weights.
        keep: places in ``shape`` of the attributes that are kept, in the order wanted.
    """
    if list(keep) == list(range(len(shape))):
        return channel, w
    if isinstance(channel, KroneckerChannel) and [c.shape[1] for c in channel.channels] == list(
        shape
    ):
        kept = [channel.channels[axis] for axis in keep]
        weights = summed(w, [c.shape[0] for c in channel.channels], keep)
        return (kept[0] if len(kept) == 1 else KroneckerChannel(kept)), weights
    if isinstance(channel, DirectChannel):
        return DirectChannel(
            prod(shape[axis] for axis in keep), summed(channel.q, shape, keep), channel.gap[0]
        ), summed(w, shape, keep)
    if isinstance(channel, StackChannel):
        found = [
            marginal(c, part / share, shape, keep)
            for c, part, share in zip(
                channel.channels, channel.split(w), channel.shares, strict=True
            )
        ]
        parts = [each for each in found if each is not None]
        if len(parts) < len(found):
            return None
        stack = StackChannel([c for c, _ in parts], [int(n) for n in channel.people], channel.equal)
        return stack, stack.stack([weights for _, weights in parts])
    return None


class SummedChannel(Channel):
    """Whole reports as a channel of some attributes, the others following as they do in ``theta``: A' = A C, C[x, x'] = theta_x / theta'_x'.

    The inverse is the sums of the inverse of A, unbiased whatever theta is; C only enters its variance, as theta itself would. The likelihood
    of A' takes C as known, so it must not be maximised.

    Args:
        channel: A (m, K).
        shape, keep: as in ``marginal``.
        theta: (K,) a distribution.
    """

    def __init__(
        self, channel: Channel, shape: Sequence[int], keep: Sequence[int], theta: np.ndarray
    ) -> None:
        self.channel, self._sizes, self._keep = channel, tuple(shape), tuple(keep)
        self.rows_per_report = channel.rows_per_report
        self.shape = (channel.shape[0], prod(shape[axis] for axis in keep))
        mass = lifted(summed(theta, shape, keep), shape, keep)
        # Of values that nobody has, the rest is taken as even.
        self._given = np.divide(
            theta, mass, out=np.full(theta.size, self.shape[1] / theta.size), where=mass > 0
        )

    @property
    def has_moments(self) -> bool:
        """Whether the inverse's variance is known: not where rows are those of seen reports, or hashes, or too many."""
        if isinstance(self.channel, SupportChannel):
            return True
        is_enumerable = self.rows_per_report == 1 and not isinstance(
            self.channel, HashChannel | SupportRows | RepeatedRows | StackChannel
        )
        return is_enumerable and self.channel.shape[0] * self.channel.shape[1] <= LARGEST_DENSE

    def _whole_law(self, t: np.ndarray) -> np.ndarray:
        """C t."""
        return (self._given * lifted(t, self._sizes, self._keep).T).T

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.channel.matvec(self._whole_law(theta))

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return summed((self._given * self.channel.rmatvec(r).T).T, self._sizes, self._keep)

    def invert(self, w: np.ndarray) -> np.ndarray:
        return summed(self.channel.invert(w), self._sizes, self._keep)

    def influence(self, c: np.ndarray) -> np.ndarray:
        return self.channel.influence(lifted(c, self._sizes, self._keep))

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.channel, SupportChannel):
            return self._of_supports(self.channel, theta)
        rows, size = self.shape
        if not self.has_moments:
            got = f"{type(self.channel).__name__} of {rows} reports"
            raise ArgumentError(
                message(
                    "marginal",
                    "has no Wald interval where reports' joint law is not listed",
                    got,
                    "Use kind='bootstrap'",
                )
            )
        squares = self.influence(np.eye(size)) ** 2
        return squares.T @ self.matvec(theta), np.einsum(
            "yx,yx->x", squares, self.matvec(np.eye(size))
        )

    def _of_supports(
        self, channel: SupportChannel, theta: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Moments of Z = sum over a group of r values of (b_x - q_x) / gap_x, b_x the bits of one report.

        Independent bits have E Z^2 = sum q (1 - q) / gap^2, and (1 - 2 q_v) / gap_v more where the report's value v is in the group (b^2 = b).
        Where k bits are 1, v's own with probability p and the others evenly, the r - [v in group] others count k or k - 1 draws without
        replacement from the K - 1, which have E N = k s, E N^2 = k s (1 - s) (K - 1 - k) / (K - 2) + (k s)^2, s their share.
        """
        q, gap, size = channel.q, channel.gap, channel.shape[1]
        mass = theta.sum(axis=0)
        if channel.ones is None:
            own = summed(q * (1 - q) / gap**2, self._sizes, self._keep)
            more = (1 - 2 * q) / gap
            inside = summed((more * self._whole_law(theta).T).T, self._sizes, self._keep)
            return np.add(np.multiply.outer(own, mass), inside), own + summed(
                more * self._given, self._sizes, self._keep
            )
        group, low, high = size // self.shape[1], float(q[0]), float(q[0] + gap[0])

        def square(own: int) -> float:
            """E Z^2 where ``own`` = 1 of the group is the report's value, or 0."""
            share, total = (group - own) / (size - 1), 0.0
            for chance, bit in ((high, 1), (1 - high, 0)):
                k = (channel.ones or 0) - bit
                mean, spread = (
                    k * share,
                    k * share * (1 - share) * (size - 1 - k) / max(size - 2, 1),
                )
                total += chance * (spread + (mean + own * bit - group * low) ** 2)
            return total / float(gap[0]) ** 2

        none, some = square(0), square(1)
        return np.broadcast_to(none * mass, theta.shape) + (some - none) * theta, np.full(
            self.shape[1], some
        )
