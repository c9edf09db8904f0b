"""Rankings: results from the least error to the largest, as objects, rows and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from warner._core import html
from warner.io.csv_format import Tabular, cell


class Ranked(Protocol):
    """One result of a ranking."""

    @property
    def error(self) -> float: ...

    def row(self) -> dict[str, Any]: ...


Result = TypeVar("Result", bound=Ranked)


@dataclass(frozen=True, repr=False)
class Ranking(Tabular, Generic[Result]):
    """Results from the least error to the largest.

    Attributes:
        results: one or more, sorted by error.
        loss: the name of the loss that ``error`` is a mean of, such as ``"l2"``.
        n: number of people.
        left_out: {name: reason}, the candidates that cannot be used here.
    """

    results: tuple[Result, ...]
    loss: str
    n: int
    left_out: Mapping[str, str]

    @property
    def best(self) -> Result:
        """The result with the least error."""
        return self.results[0]

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each result, in the order of the ranking."""
        return [result.row() for result in self.results]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __repr__(self) -> str:
        first = next(iter(self.rows()[0].values()))
        return (
            f"{type(self).__name__}({len(self)} ranked by {self.loss}, n={self.n}, "
            f"best: {first}, error={self.best.error:.4g})"
        )

    def _repr_html_(self) -> str:
        rows = self.rows()
        margins = [2 * float(row.get("margin") or 0.0) for row in rows]
        # A column that says nothing of any result is left out: people that nobody asked for.
        names = [name for name in rows[0] if any(row[name] for row in rows)]
        ends = [result.error + margin for result, margin in zip(self, margins, strict=True)]
        largest = max([end for end in ends if math.isfinite(end)], default=0.0) or 1.0
        cells = []
        for result, row, margin in zip(self, rows, margins, strict=True):
            error = min(result.error, largest)
            bar = html.interval_bar(error, error - margin, error + margin, largest)
            cells.append([*(cell(row[name]) for name in names), bar])
        out = "".join(f" Left out: {name}, {why}." for name, why in self.left_out.items())
        caption = (
            f"Mean {self.loss} error for {self.n:,} people, from the least to the largest. The "
            f"pictures show it with two standard errors.{out}"
        )
        return html.table([*names, ""], cells, caption)

    def to_json(self) -> dict[str, Any]:
        """The ranking as JSON data: loss, n, settings, results and left_out."""
        return {
            "loss": self.loss,
            "n": self.n,
            **self._settings(),
            "results": self.rows(),
            "left_out": dict(self.left_out),
        }

    def _settings(self) -> dict[str, Any]:
        """What this kind of ranking adds to its JSON data."""
        return {}


def to_nine_digits(error: float) -> float:
    """Round an error to nine digits, to sort by it.

    Errors that differ by rounding errors alone are then equal on every machine.

    >>> to_nine_digits(0.1 + 0.2) == to_nine_digits(0.3)
    True
    """
    return float(f"{error:.9g}")
