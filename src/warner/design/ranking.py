"""Rankings: results from the least error to the largest, as objects, tables, rows and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from warner._core.names import explained
from warner._core.table import Column, Table, Tabular


class Ranked(Protocol):
    """One result of a ranking."""

    @property
    def error(self) -> float: ...

    @property
    def standard_error(self) -> float: ...

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
        settings: what this ranking adds to its JSON data, such as the number of runs.
    """

    COLUMNS: ClassVar[tuple[Column, ...]] = ()

    results: tuple[Result, ...]
    loss: str
    n: int
    left_out: Mapping[str, str]
    settings: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    @property
    def best(self) -> Result:
        """The result with the least error."""
        return self.results[0]

    @property
    def ties(self) -> tuple[Result, ...]:
        """The other results whose errors are within two standard errors of the least one.

        The standard error is that of the difference, from the same simulated tallies where there
        are such.
        """
        return tuple(
            result
            for result in self.results[1:]
            if to_nine_digits(self._excess(result)[0]) <= 2 * self._excess(result)[1]
        )

    def _excess(self, result: Result) -> tuple[float, float]:
        """The error of a result above that of the best, with its standard error."""
        return result.error - self.best.error, math.hypot(
            result.standard_error, self.best.standard_error
        )

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each result, in the order of the ranking."""
        return [result.row() for result in self.results]

    def table(self) -> Table:
        """The ranking for people, with a picture of each error and two standard errors on pages."""
        rows = self._table_rows()
        ends = [row["error"] + 2 * row["standard_error"] for row in rows]
        largest = max([end for end in ends if math.isfinite(end)], default=0.0)
        drawn = []
        for row in rows:
            at, width = min(row["error"], largest), 2 * row["standard_error"]
            drawn.append({**row, "drawn": at, "low": at - width, "high": at + width})
        # A column that says nothing of any result is left out: people that nobody asked for.
        columns = [column for column in self.COLUMNS if any(row.get(column.key) for row in rows)]
        names = [str(next(iter(result.row().values()))) for result in self.results]
        # One scheme may stand in several rows, with different methods.
        tied = {id(result) for result in self.ties}
        ties = [
            name if names.count(name) == 1 else f"{name} (row {row})"
            for row, (name, result) in enumerate(zip(names, self.results, strict=True), 1)
            if id(result) in tied
        ]
        alike = (
            "Perhaps as good as the first row, because differences of at most two standard errors "
            f"may be chance: {', '.join(ties)}."
        )
        left_out = left_out_texts(self.left_out)
        return Table(
            [*columns, Column("drawn", "", "bar", ends=("low", "high"))],
            drawn,
            [*self._notes(), alike if ties else "", *left_out],
            self._title(),
        )

    def _table_rows(self) -> list[dict[str, Any]]:
        """The rows of the table; a ranking may add to those of its results."""
        return self.rows()

    def _notes(self) -> list[str]:
        """What people must know to read the table."""
        return []

    def _title(self) -> str:
        return f"Mean error ({self.loss}) for {self.n:,} people, the smallest first"

    @explained
    def to_latex(self) -> str:
        """The table for LaTeX with the package booktabs."""
        return self.table().latex()

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __repr__(self) -> str:
        first = next(iter(self.best.row().values()))
        left = f", left_out={len(self.left_out)}" if self.left_out else ""
        return (
            f"{type(self).__name__}({len(self)} ranked by {self.loss}, n={self.n}, "
            f"best: {first}, error={self.best.error:.4g}{left})"
        )

    def to_json(self) -> dict[str, Any]:
        """The ranking as JSON data: loss, n, settings, results and left_out."""
        return {
            "loss": self.loss,
            "n": self.n,
            **self.settings,
            "results": self.rows(),
            "left_out": dict(self.left_out),
        }


def left_out_texts(left_out: Mapping[str, str]) -> list[str]:
    """Why candidates are not in a ranking, as sentences."""
    return [f"{name} is left out: {why.removesuffix('.')}." for name, why in left_out.items()]


def to_nine_digits(error: float) -> float:
    """Round an error to nine digits, so that errors are sorted alike on every machine.

    >>> to_nine_digits(0.1 + 0.2) == to_nine_digits(0.3)
    True
    """
    return float(f"{error:.9g}")
