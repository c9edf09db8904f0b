"""Channels of the pure family with fast products: reports that are values, bit sums, Hadamard indices."""

from __future__ import annotations

import numpy as np

from warner.channel.base import Channel


def pure_variance(theta: np.ndarray, q: float, gap: float) -> np.ndarray:
    """Variance per report of (S_x - q) / gap, S_x a share of reports."""
    mu = q + gap * np.clip(theta, 0.0, 1.0)
    return mu * (1 - mu) / gap**2


class DirectChannel(Channel):
    """Reports are values: A = q + (p - q) I. ``gap`` is p - q, passed itself because the difference cancels digits."""

    def __init__(self, size: int, q: float, gap: float) -> None:
        self.shape = (size, size)
        self.q, self.gap = q, gap

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.q * theta.sum() + self.gap * theta

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.matvec(r)

    def invert(self, w: np.ndarray) -> np.ndarray:
        return (w - self.q) / self.gap

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return pure_variance(theta, self.q, self.gap)

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        return self.variance(np.zeros_like(theta))

    def observed(self, w: np.ndarray) -> np.ndarray:
        return w.copy()


class SupportChannel(Channel):
    """Reports known only by how many of them support each value (bit sums): 2K rows, [P; 1 - P] / K, P = q + (p - q) I.

    One report is K binary ones, "supports x: yes or no", and a tally of bit sums is their histogram: w = [S; n - S] / (nK).
    The likelihood of these rows is the quasi-likelihood of METHODS 5, sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), divided
    by nK; ``copies`` = K turns it back to nats per report.
    """

    def __init__(self, size: int, q: float, gap: float) -> None:
        self.shape = (2 * size, size)
        self.copies = self._size = size
        self.q, self.gap = q, gap

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        total = theta.sum()
        mu = self.q * total + self.gap * theta
        return np.concatenate([mu, total - mu]) / self.copies

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        yes, no = r[: self._size], r[self._size :]
        return (self.q * yes.sum() + (1 - self.q) * no.sum() + self.gap * (yes - no)) / self.copies

    def invert(self, w: np.ndarray) -> np.ndarray:
        return (w[: self._size] * self.copies - self.q) / self.gap

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return pure_variance(theta, self.q, self.gap)

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        return self.variance(np.zeros_like(theta))

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Bits are independent given the value, as in unary encodings; those of a subset of fixed size are so nearly."""
        own = rng.multinomial(n, theta / theta.sum())
        sums = rng.binomial(own, min(self.q + self.gap, 1.0)) + rng.binomial(n - own, self.q)
        return np.concatenate([sums, n - sums]) / (n * self._size)

    def observed(self, w: np.ndarray) -> np.ndarray:
        return w[: self._size] / w[: self._size].sum()


class HadamardChannel(Channel):
    """Report y in 0..B-1 supports x where row x + 1 of the Hadamard matrix of order B has +1 at y: Pr = 2p/B, else 2(1-p)/B.

    So A = (1 + c H) / B with the contrast c = 2p - 1, and both products are one fast Walsh-Hadamard transform.
    """

    def __init__(self, size: int, order: int, contrast: float) -> None:
        self.shape = (order, size)
        self.contrast = contrast

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        order, size = self.shape
        spread = np.zeros(order)
        spread[1 : size + 1] = theta
        return (theta.sum() + self.contrast * walsh(spread)) / order

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        order, size = self.shape
        return (r.sum() + self.contrast * walsh(r)[1 : size + 1]) / order

    def _supports(self, w: np.ndarray) -> np.ndarray:
        return (w.sum() + walsh(w)[1 : self.shape[1] + 1]) / 2

    def invert(self, w: np.ndarray) -> np.ndarray:
        return (self._supports(w) - 0.5) / (self.contrast / 2)

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return pure_variance(theta, 0.5, self.contrast / 2)

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        return self.variance(np.zeros_like(theta))

    def observed(self, w: np.ndarray) -> np.ndarray:
        supports = self._supports(w)
        return supports / supports.sum()


def walsh(values: np.ndarray) -> np.ndarray:
    """The Walsh-Hadamard transform of (B,), B a power of two: sum_y (-1)^popcount(x & y) values_y, in B log B.

    >>> walsh(np.array([1.0, 0.0, 0.0, 2.0])).tolist()
    [3.0, -1.0, -1.0, 3.0]
    """
    out = np.array(values, dtype=np.float64)
    half = 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return out
