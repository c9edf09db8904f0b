"""What a channel is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np


class Channel(ABC):
    """A (m, K) operator with an unbiased inverse.

    Attributes:
        shape: (m, K).
        copies: how many rows one report counts for: 1, except where a report is taken as several (see SupportChannel).
    """

    shape: tuple[int, int]
    copies: float = 1

    @abstractmethod
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """A theta: the probability of every report, (K,) -> (m,)."""

    @abstractmethod
    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        """A' r, (m,) -> (K,)."""

    @abstractmethod
    def invert(self, w: np.ndarray) -> np.ndarray:
        """The linear unbiased estimate of theta (K,) from report frequencies w (m,); invert(A theta) = theta."""

    @abstractmethod
    def variance(self, theta: np.ndarray) -> np.ndarray:
        """Variance (K,) of ``invert`` per report, for users drawn independently from theta; divide by n."""

    @abstractmethod
    def observed(self, w: np.ndarray) -> np.ndarray:
        """The report histogram itself as a distribution (K,) over values, with no correction at all."""

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        """Variance (K,) per report of the inverse at each value if its true share were 0 and theta (K,) held for the rest.

        With L the inverse's weights: (sum_y L[x, y]^2 (A theta - theta_x A_x)_y) / (1 - theta_x).
        """
        total, own = self._moments(theta)
        rest = 1 - theta
        return np.where(rest > 0, (total - theta * own) / np.where(rest > 0, rest, 1.0), total)

    def _moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_y L[x, y]^2 (A theta)_y and sum_y L[x, y]^2 A[y, x], each (K,); needed where null_variance has no formula."""
        raise NotImplementedError

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Weights (m,) of n reports from people drawn independently from theta: what a tally would hold, without the people."""
        d = np.maximum(self.matvec(theta), 0.0)
        return rng.multinomial(n, d / d.sum()) / n

    def seen(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """A channel with the same likelihood whose products are cheap for these weights, and its weights."""
        return self, w

    def dense(self) -> np.ndarray:
        """A as an array (m, K)."""
        return np.stack([self.matvec(column) for column in np.eye(self.shape[1])], axis=1)

    def gram(self, v: np.ndarray) -> np.ndarray:
        """A' diag(v) A, (K, K)."""
        total = np.zeros((self.shape[1],) * 2)
        for rows, block in self.blocks():
            total += (block * v[rows, None]).T @ block
        return total

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """A in blocks of rows: (which rows, array)."""
        yield slice(0, self.shape[0]), self._dense

    @cached_property
    def _dense(self) -> np.ndarray:
        return self.dense()
