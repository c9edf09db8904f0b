"""Estimates of questions and groups as the rows of a file, always with the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from warner._core.table import Column, Table
from warner.results.conditional import those_who_answered
from warner.results.from_tally import TOGETHER, all_people
from warner.results.intervals import (
    DESIGN_EFFECT,
    STANDARD_ERROR,
    at_every_look,
    interval_column,
    share_columns,
    share_row,
)
from warner.results.named_summaries import Named, of_coordinate, summary_rows
from warner.results.tables import asked_in_words

# The columns of every result in CSV, Excel and Parquet files and in frames, in their order. The
# public columns of groups stand after the attribute.
COLUMNS = {
    "attribute": "The question.",
    "value": "The answer that has this share; empty for a mean, a quantile or another summary.",
    "measure": (
        "What the column `estimate` holds. `share`: a share of people, from 0 to 1. `mean`, "
        "`median`, `quantile:0.9`, `above:80` and so on: the summary, as `--summary` names it. "
        "`share of those who answered`: without the people who gave no answer. `share of key` and "
        "`mean of key`: how many people have the key, and the mean of its values. "
        "`share with tags given back`: people who gave a tag are spread over the values behind it. "
        "`share if forged`: the bounds if some reports were made up."
    ),
    "estimate": "The share, or the number.",
    "low": (
        "The lower end of the interval. The interval of the share of a single number supposes that "
        "neighbouring numbers have similar shares: beside a number that many people give, it holds "
        "less often."
    ),
    "high": "The upper end of the interval; the same holds of it.",
    "error": (
        "The standard error of the unbiased estimate of the share. Empty for numbers, for groups "
        "moved towards other groups, and where the interval comes from a model of smooth shares."
    ),
    "people_about": (
        "About how many of the people who reported have this answer: the share times their "
        "number. With weights, the share is weighted, so the number is no count of people who "
        "reported. Empty for numbers, and where some people were not asked all questions."
    ),
    "n": "How many reports were counted: those of the group in this row, or of all people.",
    "status": (
        "How the row was estimated. `alone`: from the reports of its group. `pooled`: moved "
        "towards other groups. `no_reports`: the group has no reports. `weighted`: from all "
        "groups, weighted by their numbers of people in the population. `together`: from the "
        "reports of all people."
    ),
    "level": "How often such intervals contain the true value: 0.95 for 95 % intervals.",
    "target": (
        "Whom the intervals are for: the `population` that the people come from, or the "
        "`respondents` alone."
    ),
    "shrunk_from": (
        "The unbiased share, if the share was moved so far towards the other shares that the "
        "result lies outside the interval from its own reports. Mostly empty."
    ),
    "design_effect": (
        "The factor by which weights and clusters enlarge the variance of the share. Empty without "
        "a survey design."
    ),
    "simulated": "`yes` for reports that were made with a seed, otherwise `no`. Files of other "
    "programs do not say whether there was a seed, so `no` stands there too.",
}

# What stands above a column in Excel, where that is not its name.
HEADINGS = {
    "attribute": "question",
    "value": "answer",
    "measure": "what is estimated",
    "people_about": "people (about)",
    "n": "reports",
    "error": "standard error",
    "status": "estimated",
    "level": "level of the interval",
    "target": "whom the interval is for",
}

# The measure of rows with the bounds if some reports were made up.
IF_FORGED = "share if forged"

# The measure of shares without the people who gave no answer.
OF_ANSWERED = "share of those who answered"

# Which summaries of an estimate stand in the table.
Summaries = Callable[[Any], Sequence[Named]]


def table_of_estimates(
    estimates: Sequence[Any],
    level: float,
    target: str,
    more_rows: Sequence[Mapping[str, Any]] = (),
    kind: str | None = None,
    summaries: Summaries | None = None,
    has_shares: bool = True,
) -> Table:
    """The rows of several estimates, of all people or of groups, and more rows made of them.

    Without ``has_shares`` the questions that have summaries have no other rows.
    """
    names = dict.fromkeys(name for result in estimates for name in result.names)
    rows = [
        row
        for result in estimates
        for row in estimate_rows(result, level, target, kind, summaries, has_shares)
    ]
    return _table(tuple(names), [*rows, *more_rows], level, target, estimates)


def table_of_groups(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Any]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Summaries | None = None,
    has_shares: bool = True,
    more_rows: Sequence[tuple[Sequence[Any], Mapping[str, Any]]] = (),
) -> Table:
    """The rows of groups, each estimated alone; a name is of what nobody of it was asked.

    ``more_rows`` are made of some estimates, each with the public values of its group.
    """
    of_estimates = (
        (key, row)
        for key, result in estimates
        for row in (
            [{"attribute": result, "n": 0, "status": "no_reports"}]
            if isinstance(result, str)
            else estimate_rows(result, level, target, kind, summaries, has_shares)
        )
    )
    rows = [
        ({"status": TOGETHER} if key == all_people(names) else {})
        | {**row, **dict(zip(_public(names), key, strict=True))}
        for key, row in [*of_estimates, *more_rows]
    ]
    of_groups = [result for _, result in estimates if not isinstance(result, str)]
    return _table(names, rows, level, target, of_groups)


def _public(names: Sequence[str]) -> list[str]:
    """The names of public columns beside the columns of every result."""
    return [f"{name} (public)" if name in COLUMNS else name for name in names]


def _table(
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    level: float,
    target: str,
    results: Sequence[Any],
) -> Table:
    """Rows as a table with all columns, whatever the rows leave out, and the doubts of results."""
    simulated = any(result.data.simulated for result in results)
    doubts = dict.fromkeys(f"WARNING: {result.doubt}" for result in results if result.doubt)
    # The units of all columns that hold numbers, for the formats of files.
    of_shares = [column for column in share_columns(level) if column.unit != "bar"]
    units = {key: column.unit for column in of_shares for key in column.keys}
    units |= dict.fromkeys((STANDARD_ERROR.key, "shrunk_from"), "share")
    units |= {"n": "people", "level": "level", DESIGN_EFFECT.key: DESIGN_EFFECT.unit}
    interval = interval_column(level)
    headings = HEADINGS | dict(zip(interval.keys, interval.headings, strict=True))
    first, *others = (Column(name, headings.get(name), units.get(name, "text")) for name in COLUMNS)
    columns = [first, *map(Column, _public(names)), *others]
    empty = dict.fromkeys(column.key for column in columns)
    usual = {"measure": "share", "status": "alone"}
    settings = {"level": level, "target": target, "simulated": "yes" if simulated else "no"}
    listed = [{**empty, **usual, **row, **settings} for row in rows]
    return Table(columns, listed, [*doubts], simulated=simulated)


def estimate_rows(
    result: Any,
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Summaries | None = None,
    has_shares: bool = True,
) -> Iterator[dict[str, Any]]:
    """Rows of shares, keys, means and summaries, also of those who answered beside nonresponse."""
    about = {"attribute": result.attribute or "", "n": result.n}

    def of_shares(row: Mapping[str, Any], measure: str = "share") -> dict[str, Any]:
        return {**about, "measure": measure, "is_share": True, **row}

    def of_numbers(row: Mapping[str, Any], measure: str) -> dict[str, Any]:
        return {**about, "value": None, "measure": measure, "is_share": False, **row}

    if result.groups is not None:
        for row in result.rows(level, target, kind):
            public = dict(zip(_public(result.names), map(row.pop, result.names), strict=True))
            n, share = row.pop("reports"), row["estimate"]
            is_counted = share is not None and not asked_in_words(result.data)
            people = {"people_about": share * n} if is_counted else {}
            yield {**of_shares(row), **public, "n": n, **people}
        yield from answered_rows(result, level, target, kind)
        return
    chosen = [] if summaries is None else list(summaries(result))
    is_whole = has_shares or not chosen
    for row in result.rows(level, target, kind) if is_whole else ():
        yield of_shares(row)
    if is_whole:
        yield from answered_rows(result, level, target, kind)
    for row in result.key_rows(level, target):
        ends = np.array([row.pop("mean_low"), row.pop("mean_high")])
        mean = share_row(row["value"], row.pop("mean"), ends)
        yield of_shares({**row, "status": "alone"}, "share of key")
        yield of_numbers({**mean, "people_about": row["people_about"]}, "mean of key")
    if (
        is_whole
        and result.fit.mean is not None
        and not any(named.kind == "mean" for named in chosen)
    ):
        means = result.means(level, target, kind)
        for i, row in enumerate(means):
            yield of_numbers(row, f"mean{of_coordinate(i, len(means))}")
    people = result.n if result.domain.nonresponse is None else result.answered().n
    for named in chosen:
        numbers = summary_rows(result, [named], level, target, kind)
        for i, row in enumerate(numbers):
            measure = f"{named.code}{of_coordinate(i, len(numbers))}"
            is_counted = named.is_share and not asked_in_words(result.data)
            count = {"people_about": row["estimate"] * people} if is_counted else {}
            yield {**of_numbers(row, measure), **count}


def answered_rows(
    result: Any, level: float, target: str, kind: str | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of how many people answered, and of the shares among them, of each group by itself."""
    looks = at_every_look(kind)
    for key, given in those_who_answered(result):
        about = {"attribute": result.attribute or "", "n": given.estimate.n, "is_share": True}
        about |= zip(_public(result.names), key, strict=True)
        if key and key == all_people(result.names):
            about["status"] = TOGETHER
        yield {**about, "measure": "share", **given.row(level, target, looks)}
        for row in given.rows(level, target, looks):
            yield {**about, "measure": OF_ANSWERED, **row}
