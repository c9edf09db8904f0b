"""Which values are commoner than which: ranks of all values, with the doubt of the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._core.checks import choice, confidence_level, show
from warner._core.errors import ArgumentError
from warner.domains import Domain
from warner.io.tabular import Tabular, of_rows
from warner.metrics.simplex import project
from warner.results.intervals import TARGETS, normal_quantile
from warner.results.share_noise import ShareNoise
from warner.results.simultaneous import simulated_errors
from warner.results.solution import Solution

_DRAWS = 1000  # the 0.95 quantile of so many draws is that of a share within 0.007 (one sd)
_MOST_PAIRED = 300  # values whose pairs are simulated; beyond, it takes seconds


@dataclass(frozen=True, eq=False)
class Ranks(Tabular):
    """Ranks of all values that hold together with probability ``level``.

    Rank 1 is the commonest value. Values with the same share have all ranks between them.

    Attributes:
        domain: the K values.
        low, high: (K,) integers: the least and the largest rank of each value.
        level: the probability that the ranks of all values, and all statements of
            :meth:`is_commoner`, are right.
        margin: (K,) or (K, K), the difference of two unbiased estimates that shows an order: one
            number for each pair, or one for each value, to be added.
        centre: (K,) the unbiased estimates.
    """

    domain: Domain
    low: np.ndarray
    high: np.ndarray
    level: float
    margin: np.ndarray
    centre: np.ndarray

    def is_commoner(self, first: object, second: object) -> bool | None:
        """Whether the first value is commoner than the second.

        Args:
            first, second: two values of the domain.

        Returns:
            True or False where the reports show it; None where they leave it open.

        Raises:
            ArgumentError: a value outside the domain.
        """
        a, b = (self._index(value) for value in (first, second))
        apart = self.margin[a, b] if self.margin.ndim == 2 else self.margin[a] + self.margin[b]
        difference = float(self.centre[a] - self.centre[b])
        return None if abs(difference) <= apart else difference > 0

    def rows(self) -> list[dict[str, object]]:
        """One dict for each value, with the keys value, low and high."""
        rows = zip(self.domain.labels, self.low.tolist(), self.high.tolist(), strict=True)
        return [{"value": value, "low": low, "high": high} for value, low, high in rows]

    @property
    def text(self) -> str:
        """What the level means, in words."""
        return f"With probability {100 * self.level:g} % all ranks hold together."

    def __len__(self) -> int:
        return self.domain.size

    def __repr__(self) -> str:
        return f"Ranks(K={len(self)}, level={self.level:g})"

    def _repr_html_(self) -> str:
        order = np.argsort(-self.centre, kind="stable")
        rows = self.rows()
        return of_rows([rows[i] for i in order.tolist()], self.text, most=20)

    def _index(self, value: object) -> int:
        labels = list(self.domain.labels)
        if value not in labels:
            raise ArgumentError("value", "must be a value of the domain", show(value))
        return labels.index(value)


def ranks(solution: Solution, level: float = 0.95, target: str = "population") -> Ranks:
    """The ranks that the shares of all values can have.

        x is surely above y where T_x - T_y > c sd(T_x - T_y)
        rank of x: from 1 + (values surely above x) to K - (values surely below x)

    T are the unbiased estimates. Of up to 300 values, c is the quantile of the largest error of a
    difference of two estimates, in standard deviations, over all pairs of values and over tallies
    simulated from the estimated shares. So with probability ``level`` no pair is put in the wrong
    order. Beyond 300 values, c is the bound of independent errors of all pairs [Sidak 1967], with
    the sum of both standard deviations, which is larger than needed.

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), their one-step procedure; METHODS 5.
    """
    confidence_level(level)
    choice("target", target, TARGETS)
    data, size = solution.data, solution.domain.size
    noise = ShareNoise.of(data, target)
    errors = None
    if size <= _MOST_PAIRED:
        shares = project(solution.probabilities)
        errors = simulated_errors(data, target, shares, np.random.default_rng(0), _DRAWS)
    if errors is None:
        pairs = max(1, size * (size - 1) // 2)
        margin = normal_quantile(level ** (1 / pairs)) * noise.deviations(2.0)
        ends = np.sort(noise.centre + margin), np.sort(noise.centre - margin)
        below = np.searchsorted(ends[0], noise.centre - margin, side="left")
        above = size - np.searchsorted(ends[1], noise.centre + margin, side="right")
    else:
        spread = _spread_of_pairs(errors)
        margin = _factor_of_pairs(errors, spread, level) * spread
        difference = noise.centre[:, None] - noise.centre
        below = (difference > margin).sum(axis=1)
        above = (difference < -margin).sum(axis=1)
    return Ranks(solution.domain, 1 + above, size - below, level, margin, noise.centre)


def _spread_of_pairs(errors: np.ndarray) -> np.ndarray:
    """The standard deviation (K, K) of the difference of two estimates, from errors (B, K)."""
    second = errors.T @ errors / len(errors)
    own = second.diagonal()
    return np.asarray(np.sqrt(np.maximum(own[:, None] + own - 2 * second, 0.0)))


def _factor_of_pairs(errors: np.ndarray, spread: np.ndarray, level: float) -> float:
    """The ``level`` quantile of the largest error of a pair in standard deviations."""
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    largest = [float((np.abs(row[:, None] - row) * inverse).max()) for row in errors]
    return float(np.quantile(largest, level, method="weibull"))
