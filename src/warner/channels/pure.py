"""Channels of the pure family with fast products: reports that are values, bit sums, Hadamard indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner.channels.base import Channel

_DRAWS = 2**19  # random numbers for which subsets are drawn one by one


def spread(theta: np.ndarray, q: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """q_x sum(theta) + gap_x theta_x for every x: support probabilities, of (K,) or of the columns of (K, B)."""
    t = theta.T  # values last, so that (K,) numbers line up with one vector and with several
    return (q * t.sum(axis=-1, keepdims=True) + gap * t).T


def normalized(shares: np.ndarray) -> np.ndarray:
    """Support counts as a distribution; uniform where no report supports any value."""
    total = shares.sum()
    return shares / total if total > 0 else np.full(shares.size, 1 / shares.size)


def pure_moments(
    theta: np.ndarray, q: np.ndarray, gap: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The moments (see Channel.moments) of (b_x - q_x) / gap_x, b_x = 1 where a report supports x: b^2 = b."""
    t = theta.T
    total = (spread(theta, q, gap).T * (1 - 2 * q) + q**2 * t.sum(axis=-1, keepdims=True)) / gap**2
    return total.T, ((q + gap) * (1 - 2 * q) + q**2) / gap**2


class _Pure(Channel):
    """Channels whose inverse is (S_x - q_x) / gap_x, S_x the share of reports that support x.

    Args:
        size: K.
        q: Pr(support x | another value); one number, or (K,) where values differ, 0 where only x itself makes such reports.
        gap: Pr(support x | x) - q_x, likewise; passed itself because the difference cancels digits.
    """

    def _supported(self, size: int, q: Any, gap: Any) -> None:
        self.q, self.gap = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), (size,)) for v in (q, gap)
        )

    def shares(self, w: np.ndarray) -> np.ndarray:
        """S (K,): the share of reports that support each value."""
        raise NotImplementedError

    def invert(self, w: np.ndarray) -> np.ndarray:
        return ((self.shares(w).T - self.q * w.sum(axis=0, keepdims=True).T) / self.gap).T

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return pure_moments(theta, self.q, self.gap)

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        return normalized(self.shares(w))

    def supports(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        size, shares = self.shape[1], self.shares(w)
        return SupportChannel(size, self.q, self.gap, getattr(self, "ones", None)), np.concatenate(
            [shares, 1 - shares]
        ) / size


class DirectChannel(_Pure):
    """Reports are values: A = q 1' + gap I.

    One q for all values is randomised response. With q_y = 0 a report y can only come from y itself, which is the shape of
    utility-optimised randomised response [P2 def 4]; columns sum to one, so ``gap`` is one number.
    """

    def __init__(self, size: int, q: Any, gap: float) -> None:
        self.shape = (size, size)
        self._supported(size, q, gap)

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return spread(theta, self.q, self.gap)

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        t = r.T
        return ((t @ self.q)[..., None] + self.gap * t).T

    def shares(self, w: np.ndarray) -> np.ndarray:
        return w.copy()

    def influence(self, c: np.ndarray) -> np.ndarray:
        """g = u - q'u, u = c / gap."""
        u = c.T / self.gap
        return (u - (u @ self.q)[..., None]).T

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """With probability gap a report is the value, else it is drawn from q, whatever the value."""
        own = rng.binomial(people, min(self.gap[0], 1.0))
        left = int(people.sum() - own.sum())
        return (own + (rng.multinomial(left, self.q / self.q.sum()) if left else 0)) / people.sum()


class SupportChannel(_Pure):
    """Reports known only by how many of them support each value (bit sums): 2K rows, [P; 1 - P] / K, P = q 1' + diag(gap).

    One report is K binary ones, "supports x: yes or no", and a tally of bit sums is their histogram: w = [S; n - S] / (nK).
    The likelihood of these rows is the quasi-likelihood of METHODS 5, sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), divided
    by nK; ``rows_per_report`` = K turns it back to nats per report.
    """

    def __init__(self, size: int, q: Any, gap: Any, ones: int | None = None) -> None:
        self.shape = (2 * size, size)
        self.rows_per_report = self._size = size
        self.ones = ones
        self._supported(size, q, gap)

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        mu = spread(theta, self.q, self.gap)
        return np.concatenate([mu, theta.sum(axis=0) - mu]) / self.rows_per_report

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        yes, no = r[: self._size].T, r[self._size :].T
        level = yes @ self.q + no @ (1 - self.q)
        return (level[..., None] + self.gap * (yes - no)).T / self.rows_per_report

    def shares(self, w: np.ndarray) -> np.ndarray:
        return w[: self._size] * self.rows_per_report

    def supports(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        return self, w

    def second_moments(self, weights: np.ndarray) -> np.ndarray:
        """With u the weights of bits that are 1 less those of 0, g = c + sum_j u_j b_j, c the sum of the latter.

        Bits are independent given the value v, with means q_j and p_v = q_v + gap_v. Where k bits of each report are 1, the
        value's own is one of them with probability p_v, and the others are drawn without replacement.
        """
        yes, no = weights[:, : self._size], weights[:, self._size :]
        u, c = yes - no, no.sum(axis=1, keepdims=True)
        if self.ones is None:
            p, own = self.q + self.gap, self.q * (1 - self.q)
            mean = c + (u @ self.q)[:, None] + u * self.gap
            spread_ = (u**2 @ own)[:, None] + u**2 * (p * (1 - p) - own)
            return np.asarray(mean**2 + spread_)
        others, total = self._size - 1, 0.0
        middle = (u.sum(axis=1, keepdims=True) - u) / others
        around = np.maximum(
            (u**2).sum(axis=1, keepdims=True) - u**2 - others * middle**2, 0.0
        ) / max(others - 1, 1)
        for chance, own_bit in ((self.q + self.gap, 1), (1 - self.q - self.gap, 0)):
            k = self.ones - own_bit
            total = total + chance * (
                (c + own_bit * u + k * middle) ** 2 + k * (1 - k / others) * around
            )
        return np.asarray(total)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.simulate_from_values(rng.multinomial(n, theta / theta.sum()), rng)

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Bits are independent given the value, or a subset of fixed size that is uniform but for the value."""
        n = int(people.sum())
        own = rng.binomial(people, np.minimum(self.q + self.gap, 1.0))
        if self.ones is None:
            sums = own + rng.binomial(n - people, self.q)
        else:
            sums = own + _others(own, self.ones - 1, rng) + _others(people - own, self.ones, rng)
        return np.concatenate([sums, n - sums]) / (n * self._size)


def _others(people: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """How often each value is chosen where each of people[x] chooses ``count`` values other than x, every such set alike.

    Drawn one by one where that is little work. Else by the normal limit, with the covariance of sampling without replacement:
    variance r (1 - r) a person, r = count / m of the m others, and -1 / (m - 1) of it between two of them.
    """
    size, n = people.size, int(people.sum())
    m = size - 1
    if count == 0 or n == 0:
        return np.zeros(size, dtype=np.int64)
    if count == m:
        return n - people
    if n * size <= _DRAWS:
        keys = rng.random((n, size))
        keys[np.arange(n), np.repeat(np.arange(size), people)] = 2
        return np.bincount(
            np.argpartition(keys, count - 1, axis=1)[:, :count].ravel(), minlength=size
        )
    rate = count / m
    noise = (
        rng.standard_normal((size, size))
        * np.sqrt(people * rate * (1 - rate) * m / (m - 1))[:, None]
    )
    np.fill_diagonal(noise, 0.0)
    noise -= np.where(np.eye(size, dtype=bool), 0.0, noise.sum(axis=1, keepdims=True) / m)
    return np.clip(np.rint((n - people) * rate + noise.sum(axis=0)), 0, n - people).astype(np.int64)


class HadamardChannel(_Pure):
    """Report y in 0..B-1 supports x where row x + 1 of the Hadamard matrix of order B has +1 at y: Pr = 2p/B, else 2(1-p)/B.

    So A = (1 + c H) / B with the contrast c = 2p - 1, and both products are one fast Walsh-Hadamard transform.
    """

    def __init__(self, size: int, order: int, contrast: float) -> None:
        self.shape = (order, size)
        self.contrast = contrast
        self._supported(size, 0.5, contrast / 2)

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        order, size = self.shape
        placed = np.zeros((order, *theta.shape[1:]))
        placed[1 : size + 1] = theta
        return (theta.sum(axis=0) + self.contrast * walsh(placed)) / order

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        order, size = self.shape
        return (r.sum(axis=0) + self.contrast * walsh(r)[1 : size + 1]) / order

    def shares(self, w: np.ndarray) -> np.ndarray:
        return (w.sum(axis=0) + walsh(w)[1 : self.shape[1] + 1]) / 2

    def influence(self, c: np.ndarray) -> np.ndarray:
        """g = H u / 2 with u = c / gap in the rows of its values: the constants 1/2 - q cancel."""
        order, size = self.shape
        placed = np.zeros((order, *c.shape[1:]))
        placed[1 : size + 1] = (c.T / self.gap).T
        return walsh(placed) / 2

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A value x is randomised to the B/2 reports that support it, evenly, with probability p, else to the others."""
        order = self.shape[0]
        total = np.zeros(order, dtype=np.int64)
        for x in np.flatnonzero(people):
            sign = np.bitwise_count(np.arange(order) & (x + 1)) & 1
            kept = rng.binomial(people[x], (1 + self.contrast) / 2)
            for count, side in ((kept, sign == 0), (people[x] - kept, sign == 1)):
                total[side] += rng.multinomial(count, np.full(order // 2, 2 / order))
        return total / people.sum()


def walsh(values: np.ndarray) -> np.ndarray:
    """The Walsh-Hadamard transform along the first axis, (B,) or (B, C), B a power of two: sum_y (-1)^popcount(x & y) values_y.

    >>> walsh(np.array([1.0, 0.0, 0.0, 2.0])).tolist()
    [3.0, -1.0, -1.0, 3.0]
    """
    out = np.array(values, dtype=np.float64)
    shape, half = out.shape, 1
    while half < shape[0]:
        pairs = out.reshape(-1, 2, half, *shape[1:])
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(
            shape
        )
        half *= 2
    return out
