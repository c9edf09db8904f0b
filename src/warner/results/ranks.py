"""Which values are commoner than which: ranks of all values, with the doubt of the noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import choice, confidence_level, integer, kind, show
from warner._core.errors import ArgumentError, WarnerError
from warner._core.table import Column, Table, Tabular
from warner._core.text import meant
from warner.domains import Categorical, Domain
from warner.metrics import project
from warner.results import intervals
from warner.results.intervals import (
    TARGETS,
    BoundedNumber,
    normal_quantile,
    share_columns,
    share_row,
)
from warner.results.share_noise import ShareNoise, simulated_errors
from warner.results.solution import Solution

_DRAWS = 1000  # the 0.95 quantile of so many draws is that of a share within 0.007 (one sd)
_MOST_COMPARED = 1000  # values with which a wrong one is compared
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
        return f"With probability {100 * self.level:g} % all ranks are right at the same time."

    def __len__(self) -> int:
        return self.domain.size

    def __repr__(self) -> str:
        return f"Ranks(K={len(self)}, level={self.level:g})"

    def table(self) -> Table:
        """The ranks as a table, the commonest value first."""
        rows = self.rows()
        ordered = [rows[i] for i in np.argsort(-self.centre, kind="stable").tolist()]
        ranks = Column("rank", unit="number", ends=("low", "high"))
        return Table(["value", ranks], ordered, [self.text])

    def _index(self, value: object) -> int:
        labels = list(self.domain.labels)
        if value not in labels:
            raise ArgumentError("value", "must be one of the values of the question", show(value))
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
    data.require_simple_sample("ranks", "Use rows(kind='simultaneous')")
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
    variance = second.diagonal()
    return np.asarray(np.sqrt(np.maximum(variance[:, None] + variance - 2 * second, 0.0)))


def _factor_of_pairs(errors: np.ndarray, spread: np.ndarray, level: float) -> float:
    """The ``level`` quantile of the largest error of a pair in standard deviations."""
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    largest = [float((np.abs(row[:, None] - row) * inverse).max()) for row in errors]
    return float(np.quantile(largest, level, method="weibull"))


# -----------------------------------------------------------------------------------------------
# The share of one value, and the values with the largest shares.
#
# The values of a table of the largest shares are chosen by the same reports that the shares are
# estimated from. Their estimates tend to be too large, and intervals that hold one share each miss
# more often among those that were chosen. The intervals here hold all K shares together with
# probability ``level`` (:mod:`warner.results.share_noise`), and so those of any choice. Ranks are
# read off the same intervals, so that one statement covers the whole table:
#
#     Pr(every share lies in its interval, every rank between its limits) >= level
#
#     rank of x: from 1 + #{y : low_y > high_x} to K - #{y : high_y < low_x}
#
# Source: METHODS 5.


def place_of(domain: Domain, value: object) -> int | None:
    """The index of a value; None where it is not in the domain."""
    if isinstance(value, tuple) and len(value) == len(domain.attributes):
        value = dict(zip(domain.attributes, value, strict=True))
    try:
        return int(domain.encode([value])[0])
    except (WarnerError, TypeError):
        return None


class Share(BoundedNumber):
    """The estimated share of one ``value``: a float with its 95 % interval."""

    value: Any
    _estimate: Any
    _place: int

    @classmethod
    def of(cls, solution: Any, value: Any) -> Share:
        """The share of a value; see :meth:`warner.Estimate.__getitem__`."""
        index = place_of(solution.domain, value)
        if index is None:
            rule, got = f"must be one of the {solution.domain.size} values", show(value)
            labels = solution.domain.labels if solution.domain.size <= _MOST_COMPARED else []
            words = [each for each in labels if isinstance(each, str)]
            words += solution.domain.attributes
            near = meant(value, words) if isinstance(value, str) else None
            remedy = near or "To see them all, call list(estimate)"
            for name, question in solution.domain.attributes.items():
                if place_of(question, value) is not None:
                    remedy = f"For the share in one question, write estimate[{name!r}][{value!r}]"
                    break
            if isinstance(value, slice | list | np.ndarray):
                got = kind(value)
                remedy = "To choose several values, choose rows of estimate.to_frame('pandas')"
            raise ArgumentError("value", rule, got, remedy)
        return cls(solution, index)

    def __new__(cls, solution: Any, index: int) -> Share:
        self = super().__new__(cls, solution.probabilities[index])
        self._estimate, self._place = solution, index
        self.value = solution.domain.decode([index])[0]
        return self

    def __getnewargs__(self) -> tuple[Any, int]:  # type: ignore[override]
        return self._estimate, self._place

    def interval(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> np.ndarray:
        """The interval (2,) of the share: the row of this value in ``estimate.interval``."""
        if (level, target, kind) == (0.95, "population", None):
            return np.array(self._estimate.usual_intervals[0][self._place])
        bounds, _ = intervals.intervals_of_table(self._estimate, level, target, kind)
        return np.array(bounds[self._place])

    @property
    def shrunk_from(self) -> float | None:
        """The unbiased estimate where the value's own reports exclude this share, else None."""
        unbiased = float(self._estimate.usual_intervals[1][self._place])
        return None if np.isnan(unbiased) else unbiased

    def __repr__(self) -> str:
        low, high = self.interval()
        alone = "" if self.shrunk_from is None else f" shrunk from {self.shrunk_from:.4g}"
        return f"{float(self):.4g}{alone} [{low:.4g}, {high:.4g}]"


@dataclass(frozen=True, eq=False)
class Top(Tabular):
    """The values with the largest shares, from the largest to the smallest.

    Attributes:
        domain: all K values.
        places: (m,) the indices of the values that are shown.
        shares: (m,) their estimated shares.
        bounds: (m, 2) the intervals.
        ranks: (m, 2) the least and the largest rank of each among all K values. Rank 1 is the
            commonest.
        n: the number of reports.
        level: the probability that all intervals and all ranks hold.
        target: ``"population"`` or ``"respondents"``.
    """

    domain: Domain
    places: np.ndarray
    shares: np.ndarray
    bounds: np.ndarray
    ranks: np.ndarray
    n: int
    level: float
    target: str

    @property
    def text(self) -> str:
        """What the level means, in words."""
        return (
            f"The {len(self)} largest of {self.domain.size} shares, from {self.n:,} reports. With "
            f"probability {100 * self.level:g} % all intervals and ranks are right, whichever "
            "values are shown."
        )

    @property
    def surely(self) -> list[Any]:
        """The values that are surely among the m commonest, at the level of the table."""
        inside = self.ranks[:, 1] <= len(self)
        return self.domain.decode(self.places[inside])

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each value, as of ``estimate.rows()``, with ``rank_low`` and ``rank_high``."""
        values = self.domain.decode(self.places)
        return [
            share_row(value, share, limits, self.n) | {"rank_low": int(low), "rank_high": int(high)}
            for value, share, limits, (low, high) in zip(
                values, self.shares, self.bounds, self.ranks, strict=True
            )
        ]

    def __len__(self) -> int:
        return len(self.places)

    def table(self) -> Table:
        """The rows as a table."""
        rank = Column("rank", unit="number", ends=("rank_low", "rank_high"))
        return Table([*share_columns(self.level, None), rank], self.rows(), [self.text])

    __repr__ = Tabular.__str__


def top(solution: Solution, count: int, level: float, target: str) -> Top:
    """The values with the largest shares: see :meth:`warner.Estimate.top`."""
    _check(count, level, target)
    bounds, _ = intervals.intervals_of_table(solution, level, target, "simultaneous")
    return _largest(
        solution.domain, solution.probabilities, bounds, count, solution.n, level, target
    )


def top_of_items(items: Mapping[str, Any], count: int, n: int, level: float, target: str) -> Top:
    """The items that most people tick, of the estimate of each: no or yes."""
    _check(count, level, target)
    # Each of the intervals is wrong so rarely that together they hold at the level.
    of_each = 1 - (1 - level) / len(items)
    bounds = np.stack([item.interval(of_each, target)[1] for item in items.values()])
    shares = np.array([item.probabilities[1] for item in items.values()])
    return _largest(Categorical(list(items)), shares, bounds, count, n, level, target)


def _check(count: int, level: float, target: str) -> None:
    integer("count", count, 1)
    confidence_level(level)
    choice("target", target, intervals.TARGETS)


def _largest(
    domain: Domain,
    shares: np.ndarray,
    bounds: np.ndarray,
    count: int,
    n: int,
    level: float,
    target: str,
) -> Top:
    """The largest of K shares, with the ranks that their intervals (K, 2) leave."""
    places = np.argsort(-shares, kind="stable")[:count]
    chosen = bounds[places]
    lows, highs = np.sort(bounds[:, 0]), np.sort(bounds[:, 1])
    above = domain.size - np.searchsorted(lows, chosen[:, 1], side="right")
    below = np.searchsorted(highs, chosen[:, 0], side="left")
    ranks = np.stack([1 + above, domain.size - below], axis=1)
    return Top(domain, places, shares[places], chosen, ranks, n, level, target)
