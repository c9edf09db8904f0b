"""Estimates of several questions as one table, for CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from warner._core.table import Column, Table
from warner.results.estimate import Estimate
from warner.results.intervals import at_every_look
from warner.results.named_summaries import Named, summary_rows
from warner.results.redistribution import Redistributed

# Which summaries of an estimate stand in the table.
Summaries = Callable[[Estimate], Sequence[Named]]

_FIGURES = ("estimate", "low", "high", "n", "level", "target", "shrunk_from")


def csv_of(
    estimates: Sequence[Estimate],
    level: float,
    target: str,
    given_back: Sequence[Redistributed] = (),
    kind: str | None = None,
    summaries: Summaries | None = None,
) -> str:
    """The rows of several estimates as CSV."""
    rows = [
        _row([name, value, *figures], level, target)
        for result in estimates
        for name, value, *figures in estimate_rows(result, level, target, kind, summaries)
    ]
    for shares in given_back:
        name, n = f"{shares.estimate.attribute} (tags given back)", shares.estimate.n
        for value, p in zip(shares.domain.labels, shares.probabilities.tolist(), strict=True):
            rows.append(_row([name, value, p, None, None, p * n, None], level, target))
    return _table((), rows, any(result.data.simulated for result in estimates)).csv()


def csv_of_groups(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Estimate]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Summaries | None = None,
) -> str:
    """The rows of the estimates of groups as CSV, with a column for each public column."""
    taken = ("attribute", "value", *_FIGURES)
    names = [f"{name} (public)" if name in taken else name for name in names]
    rows = [
        dict(zip(names, key, strict=True)) | _row([name, value, *figures], level, target)
        for key, result in estimates
        for name, value, *figures in estimate_rows(result, level, target, kind, summaries)
    ]
    return _table(names, rows, any(result.data.simulated for _, result in estimates)).csv()


def _row(entries: Sequence[Any], level: float, target: str) -> dict[str, Any]:
    *figures, shrunk_from = entries
    keys = ("attribute", "value", *_FIGURES)
    return dict(zip(keys, [*figures, level, target, shrunk_from], strict=True))


def _table(names: Sequence[str], rows: Sequence[dict[str, Any]], simulated: bool) -> Table:
    columns = [Column(key) for key in (*names, "attribute", "value")]
    columns += [Column(key, unit="number") for key in _FIGURES]
    return Table(columns, rows, simulated=simulated)


def estimate_rows(
    result: Estimate,
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Summaries | None = None,
) -> Iterator[list[Any]]:
    """Attribute, value, estimate, low, high, n and shrunk_from of shares, keys, means, summaries.

    Where nonresponse is a value, the shares of those who answered follow those of all people.
    """
    name = result.attribute or ""
    for row in result.rows(level, target, kind):
        yield [name, row["value"], *_figures(row)]
    if result.domain.nonresponse is not None and result.fit.probabilities is not None:
        given = result.answered()
        looks = at_every_look(kind)
        yield [name, "(answered)", *_figures(given.row(level, target, looks))]
        for row in given.rows(level, target, looks):
            yield [f"{name} (of those who answered)", row["value"], *_figures(row)]
    for row in result.key_rows(level, target):
        yield [f"{name} (key)", row["value"], *_figures(row)]
        mean = [row["mean"], row["mean_low"], row["mean_high"], row["n"], None]
        yield [f"{name} (mean of key)", row["value"], *mean]
    asked = [] if summaries is None else list(summaries(result))
    if result.fit.mean is not None and not any(named.kind == "mean" for named in asked):
        several = len(result.fit.mean.value) > 1
        for i, mean_row in enumerate(result.means(level, target, kind)):
            axis = f" of coordinate {i}" if several else ""
            figures = [mean_row["estimate"], mean_row["low"], mean_row["high"], result.n, None]
            yield [f"{name} (mean{axis})", "", *figures]
    for row in summary_rows(result, asked, level, target, kind):
        people = row["estimate"] * result.n if row["is_share"] else result.n
        yield [f"{name} ({row['text']})", "", *_figures(row | {"n": people})]


def _figures(row: dict[str, Any]) -> list[Any]:
    return [row["estimate"], row["low"], row["high"], row["n"], row.get("shrunk_from")]
