"""The share of one value, and the values with the largest shares.

The values of a table of the largest shares are chosen by the same reports that the shares are
estimated from. Their estimates tend to be too large, and intervals that hold one share each miss
more often among those that were chosen. The intervals here hold all K shares together with
probability ``level`` (:mod:`warner.results.simultaneous`), and so those of any choice. Ranks are
read off the same intervals, so that one statement covers the whole table:

    Pr(every share lies in its interval, every rank between its limits) >= level

    rank of x: from 1 + #{y : low_y > high_x} to K - #{y : high_y < low_x}

Source: METHODS 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core import html
from warner._core.checks import choice, confidence_level, integer, show
from warner._core.errors import ArgumentError, WarnerError
from warner.domains import Domain
from warner.io.tabular import Tabular
from warner.results import intervals
from warner.results.share_rows import share_row
from warner.results.solution import Solution
from warner.results.tables import as_text


def place_of(domain: Domain, value: object) -> int | None:
    """The index of a value; None where it is not in the domain."""
    if isinstance(value, tuple) and len(value) == len(domain.attributes):
        value = dict(zip(domain.attributes, value, strict=True))
    try:
        return int(domain.encode([value])[0])
    except (WarnerError, TypeError):
        return None


class Share(float):
    """The estimated share of one value: a float that can give its interval.

    Attributes:
        value: the value.
        low, high: the ends of its 95 % interval for the population.

    >>> from warner import Categorical, RandomizedResponse, estimate
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> share = estimate(coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 100)))["yes"]
    >>> 0.7 < share < 1, share.value, share.interval().shape
    (True, 'yes', (2,))
    """

    value: Any
    _estimate: Any
    _place: int

    @classmethod
    def of(cls, solution: Any, value: Any) -> Share:
        """The share of a value; see :meth:`warner.Estimate.__getitem__`."""
        place = place_of(solution.domain, value)
        if place is None:
            rule, got = f"must be one of {solution.domain.size} values of the domain", show(value)
            raise ArgumentError("value", rule, got, "list(estimate) has all of them")
        return cls(solution, place)

    def __new__(cls, solution: Any, place: int) -> Share:
        self = super().__new__(cls, solution.probabilities[place])
        self._estimate, self._place = solution, place
        self.value = solution.domain.decode([place])[0]
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

    @property
    def low(self) -> float:
        return float(self.interval()[0])

    @property
    def high(self) -> float:
        return float(self.interval()[1])

    def __repr__(self) -> str:
        low, high = self.interval()
        alone = "" if self.shrunk_from is None else f" shrunk from {self.shrunk_from:.4g}"
        return f"{float(self):.4g}{alone} [{low:.4g}, {high:.4g}]"

    def __str__(self) -> str:
        return repr(float(self))


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
            f"probability {100 * self.level:g} % all intervals and ranks hold, whichever values "
            "are shown."
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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __repr__(self) -> str:
        cells = [["value", "share", "low", "high", "rank"], *self._cells()]
        widths = [max(len(row[i]) for row in cells) for i in range(5)]
        lines = [
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in cells
        ]
        return "\n".join([*lines, self.text])

    def _cells(self) -> list[list[str]]:
        return [
            [
                as_text(row["value"]),
                *(f"{row[name]:.4f}" for name in ("estimate", "low", "high")),
                f"{row['rank_low']}-{row['rank_high']}",
            ]
            for row in self.rows()
        ]

    def _repr_html_(self) -> str:
        largest = float(self.bounds.max()) or 1.0
        rows = [
            [*cells, html.interval_bar(float(share), float(low), float(high), largest)]
            for cells, share, (low, high) in zip(
                self._cells(), self.shares, self.bounds, strict=True
            )
        ]
        return html.table(["value", "share", "low", "high", "rank", ""], rows, self.text)


def top(solution: Solution, count: int, level: float, target: str) -> Top:
    """The values with the largest shares: see :meth:`warner.Estimate.top`."""
    integer("count", count, 1)
    confidence_level(level)
    choice("target", target, intervals.TARGETS)
    shares, size = solution.probabilities, solution.domain.size
    bounds, _ = intervals.intervals_of_table(solution, level, target, "simultaneous")
    places = np.argsort(-shares, kind="stable")[:count]
    chosen = bounds[places]
    lows, highs = np.sort(bounds[:, 0]), np.sort(bounds[:, 1])
    above = size - np.searchsorted(lows, chosen[:, 1], side="right")
    below = np.searchsorted(highs, chosen[:, 0], side="left")
    ranks = np.stack([1 + above, size - below], axis=1)
    return Top(solution.domain, places, shares[places], chosen, ranks, solution.n, level, target)
