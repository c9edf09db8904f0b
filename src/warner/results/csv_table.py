"""Estimates as a CSV table that spreadsheets show and do not run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from warner._core.text import visible
from warner.results.estimate import Estimate
from warner.results.intervals import at_every_look
from warner.results.named_summaries import Named, summary_rows
from warner.results.redistribution import Redistributed
from warner.results.tables import as_text

# Which summaries of an estimate stand in the table.
Summaries = Callable[[Estimate], Sequence[Named]]

_HEADER = ["attribute", "value", "estimate", "low", "high", "n", "level", "target", "shrunk_from"]

# Spreadsheets take a cell for a formula that starts like this, in full width too. A number is none.
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


def as_cell(value: Any) -> str:
    """A value of a domain, or a name, as a cell that no spreadsheet takes for a formula.

    A text that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return gets a ``'`` in
    front, also where blanks or quotation marks come first. The label is therefore the cell without
    its first ``'``. Numbers stay as they are.

    >>> as_cell("=1+1"), as_cell("@home"), as_cell(-5), as_cell("-5"), as_cell("a-b")
    ("'=1+1", "'@home", '-5', '-5', 'a-b')
    """
    text = visible(as_text(value))
    return f"'{text}" if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text) else text


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Any]], simulated: bool) -> str:
    """A table as CSV. Of a simulation each row says so, in one more column."""
    out, mark = io.StringIO(), ["yes"] if simulated else []
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*header, *(["simulated"] if simulated else [])])
    writer.writerows([*row, *mark] for row in rows)
    return out.getvalue()


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
        [as_cell(name), as_cell(value), *figures, level, target, last]
        for result in estimates
        for name, value, *figures, last in estimate_rows(result, level, target, kind, summaries)
    ]
    for shares in given_back:
        name, n = as_cell(f"{shares.estimate.attribute} (tags given back)"), shares.estimate.n
        for value, p in zip(shares.domain.labels, shares.probabilities.tolist(), strict=True):
            rows.append([name, as_cell(value), p, "", "", p * n, level, target, ""])
    return as_csv(_HEADER, rows, any(result.data.simulated for result in estimates))


def csv_of_groups(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Estimate]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Summaries | None = None,
) -> str:
    """The rows of the estimates of groups as CSV, with a column for each public column."""
    rows = [
        [*map(as_cell, (*key, name, value)), *figures, level, target, last]
        for key, result in estimates
        for name, value, *figures, last in estimate_rows(result, level, target, kind, summaries)
    ]
    simulated = any(result.data.simulated for _, result in estimates)
    return as_csv([*map(as_cell, names), *_HEADER], rows, simulated)


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
