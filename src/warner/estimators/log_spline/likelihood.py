"""The likelihood of log-splines and its derivatives, exactly or to second order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.mle.objective import safe_divide


@dataclass(eq=False)
class Likelihood:
    """The log-likelihood n l(theta) and its derivatives, from products with the channel alone.

    Attributes:
        rows: the channel A (m, K).
        weights: the frequencies w (m,) of its rows.
        count: n times the number of rows that one report counts for.
        steps: how many Newton steps were taken with it.
    """

    rows: LikelihoodOperator
    weights: np.ndarray
    count: float
    steps: int = 0

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """The expected frequencies d = A theta (m,), and n l in nats up to a constant."""
        seen = self.weights > 0
        d = self.rows.matvec(theta)
        some = d[seen]
        return d, self.count * float(self.weights[seen] @ np.log(some)) if (
            some > 0
        ).all() else -np.inf

    def score(self, theta: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The gradient of l, A' (w / d), (K,)."""
        return self.rows.rmatvec(safe_divide(self.weights, d))

    def information(self, d: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """The information U' A' diag(n w / d^2) A U (P, P) about some directions.

        Args:
            d: (m,), A theta.
            directions: U (K, P), the directions in which theta changes.
        """
        v = safe_divide(safe_divide(self.weights, d), d)
        return self.count * self.rows.gram_of(v, directions)


@dataclass(eq=False)
class Expansion(Likelihood):
    """The likelihood to second order around ``centre``, for many more rows than values.

        l(theta) ~ l(c) + s (theta - c) - 1/2 (theta - c)' G (theta - c)
        s = A' (w / A c),   G = A' diag(w / (A c)^2) A

    G and s are the information and the score at the centre c. This needs one pass over the rows
    instead of hundreds. In the pure family A theta changes little with theta (METHODS 4.3). The
    centre is moved to the estimate until the estimate no longer changes.

    Attributes:
        centre: c (K,).
    """

    centre: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        d, self._value = super().value(self.centre)
        self._slope = super().score(self.centre, d)
        self._gram = self.rows.gram(safe_divide(safe_divide(self.weights, d), d))

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        away = theta - self.centre
        bend = self._gram @ away
        return bend, self._value + self.count * float(self._slope @ away - away @ bend / 2)

    def score(self, theta: np.ndarray, d: np.ndarray) -> np.ndarray:
        out: np.ndarray = self._slope - d
        return out

    def information(self, d: np.ndarray, directions: np.ndarray) -> np.ndarray:
        out: np.ndarray = self.count * directions.T @ self._gram @ directions
        return out
