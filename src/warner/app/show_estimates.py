"""Estimates on a terminal, and the options that choose summaries and methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from warner.app.terminal import Side, console, plural, table
from warner.estimators.base import Status
from warner.reports.tally import Tally
from warner.results.conditional import Answered
from warner.results.csv_table import estimate_rows
from warner.results.estimate import Estimate
from warner.results.intervals import at_every_look
from warner.results.named_summaries import Named, applicable, parse, summary_rows
from warner.results.redistribution import Redistributed
from warner.results.solution import Solution
from warner.results.tables import as_text, reports_of

INTERVALS = {
    "score": "Each holds for its value, also for one that is read because its share is large.",
    "wald": "Each is around the unbiased estimate. It holds for its value, not for all at once.",
    "average": (
        "Together they hold as many of the values' shares as the percentage says, on average over "
        "the values. Of shares that fall like 1, 1/2, 1/3, the largest is missed in up to half of "
        "the surveys. Intervals of kind 'score' hold for each value."
    ),
    "simultaneous": "They are around the unbiased estimates, and hold for all values at once.",
    "anytime": (
        "They are around the unbiased estimates. Each holds for its value at all numbers of "
        "reports together, for somebody who looks again and again."
    ),
    "bootstrap": "Each is from the bootstrap. It holds for its value, not for all at once.",
    "posterior": "Each is from the posterior. It holds for its value, not for all at once.",
}
NO_INTERVALS = "There are no intervals: different distributions make the same reports."
# Shares that are all shown. Of more values the largest are shown, for a table of thousands of lines
# takes long to draw and nobody finds the largest in it.
_LARGEST_SHOWN = 1000
_MOST_SHOWN = 50
_MOST_NAMED = 5  # unbiased estimates of shrunk shares
_SHRUNK = (
    "* Shrunk towards the other shares, further than an interval from the reports of this value "
    "alone would allow."
)
_MEDIAN = parse("median")


def show_estimate(
    result: Estimate,
    level: float,
    target: str,
    truth: np.ndarray | None = None,
    kind: str | None = None,
) -> None:
    """Print the table of one estimate, its intervals and its status.

    Shapes: truth (K,).
    """
    if keys := result.key_rows(level, target):
        return _show_keys(result, keys, level)
    columns: dict[str, Side] = {"value": "left"}
    if truth is not None:
        columns["truth"] = "right"
    used, every = result.interval_kind(target, kind), list(result.rows(level, target, kind))
    average = "average " * (used == "average")
    columns |= {"estimate": "right", f"{average}{100 * level:.4g} % interval": "right"}
    columns[_estimated(result)] = "right"
    rows = []
    largest = sorted(range(len(every)), key=lambda i: -every[i]["estimate"])[:_MOST_SHOWN]
    for i in range(len(every)) if len(every) <= _LARGEST_SHOWN else largest:
        row = every[i]
        known = [] if truth is None else [f"{truth[i]:.4f}"]
        interval = f"{row['low']:.4f} .. {row['high']:.4f}"
        share, n = _share(row), f"{row['n']:,.0f}"
        rows.append([as_text(row["value"]), *known, share, interval, n])
    out = console()
    out.print(_title(result), style="bold")
    if rows:
        out.print(table(columns, rows))
        if len(rows) < len(every):
            out.print(
                f"These are the {len(rows)} largest of {len(every):,} shares. "
                "--csv FILE writes all of them."
            )
        out.print(_about_intervals(used, target))
        if about := _about_shrunk([every[i] for i in largest]):
            out.print(about)
        if result.domain.nonresponse is not None:
            _show_answered(result.answered(), level, target, at_every_look(kind))
    if result.fit.mean is not None or (
        result.has_posterior_intervals and result.domain.answered.points is not None
    ):
        out.print(_means(result, level, at_every_look(kind)))
    gap = "" if result.gap is None else f" Gap {result.gap:.1e} nats per report."
    unique = "" if result.unique is None else f"\nThe maximum is {result.unique}."
    out.print(f"{_method_and_status(result)}{gap}{unique}\n")


def _show_answered(given: Answered, level: float, target: str, kind: str | None) -> None:
    """Print the share of people who answered, and the shares among them."""
    share = given.row(level, target, kind)
    columns: dict[str, Side] = {"value": "left", "of those who answered": "right"}
    columns |= {f"{100 * level:.4g} % interval": "right", _estimated(given.estimate): "right"}
    every = given.rows(level, target, kind)
    largest = sorted(range(len(every)), key=lambda i: -every[i]["estimate"])[:_MOST_SHOWN]
    rows = []
    for i in range(len(every)) if len(every) <= _LARGEST_SHOWN else largest:
        row = every[i]
        limits = f"{row['low']:.4f} .. {row['high']:.4f}"
        value = as_text(row["value"])
        rows.append([value, f"{row['estimate']:.4f}", limits, f"{row['n']:,.0f}"])
    out = console()
    about = f"{100 * level:.4g} % interval {share['low']:.4f} .. {share['high']:.4f}"
    out.print(f"{share['estimate']:.4f} of all people answered, {about}.", style="bold")
    out.print(table(columns, rows))
    out.print(
        "Each of these intervals holds for its value, not for all at once. They say nothing about "
        "what silent people would have answered."
    )


def show_groups(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Estimate]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Callable[[Estimate], Sequence[Named]] | None = None,
) -> None:
    """Print one table of the estimates of groups."""
    columns: dict[str, Side] = dict.fromkeys(names, "left")
    columns |= {"attribute ": "left", "value ": "left", "estimate ": "right"}
    columns |= {f"{100 * level:.4g} % interval": "right", "reports": "right"}
    rows, is_marked = [], False
    for key, result in estimates:
        asked = [] if summaries is None else list(summaries(result))
        for row in summary_rows(result, asked, level, target, kind):
            figures = [f"{row['estimate']:.4g}", f"{row['low']:.4g} .. {row['high']:.4g}"]
            about = [str(result.attribute), row["text"], *figures, f"{result.n:,}"]
            rows.append([*map(as_text, key), *about])
        shares = () if asked else estimate_rows(result, level, target, kind)
        for attribute, value, share, low, high, _, unbiased in shares:
            is_marked |= unbiased is not None
            estimated = _share({"estimate": share, "shrunk_from": unbiased})
            figures = [estimated, f"{low:.4f} .. {high:.4f}", f"{result.n:,}"]
            rows.append([*map(as_text, key), attribute, as_text(value), *figures])
    console().print(table(columns, rows))
    if any(result.data.simulated for _, result in estimates):
        console().print("The reports are simulated.")
    console().print(f"Each group was estimated alone. Intervals are of the {target}.")
    if is_marked:
        console().print(f"{_SHRUNK} --csv FILE writes the unbiased estimates.")
    console().print(
        "All people together: in the report of warner report, or from a tally made without --by."
    )


def show_sources(tallies: Mapping[str, Sequence[Tally]]) -> None:
    """Print on standard error which reports are estimated together."""
    out = console(stderr=True)
    for name, parts in tallies.items():
        groups: dict[tuple[str, float | str], int] = {}
        for part in parts:
            key = (str(part.header["mechanism"]), part.header["requested"])
            groups[key] = groups.get(key, 0) + part.n
        reports = [
            f"{n:,} of {mechanism} at epsilon {epsilon:.6g}"
            if isinstance(epsilon, float | int)
            else f"{n:,} of {mechanism} without protection"
            for (mechanism, epsilon), n in groups.items()
        ]
        out.print(f"{name}: {', '.join(reports)}, estimated together")


def _title(result: Estimate) -> str:
    """The first line of a table: attribute, number of reports, method."""
    reports = reports_of(result.n, result.data.simulated)
    if result.reports_per_person > 1:
        people = plural(result.data.least_people, "person", "people")
        reports += f" of {people} or more"
    return f"{result.attribute or 'value'}: {reports}, {result.method}"


def _about_intervals(kind: str, target: str) -> str:
    """The lines under a table that say which intervals it has."""
    if kind == "none":
        return NO_INTERVALS
    people = (
        "the population that these people were drawn from"
        if target == "population"
        else "these respondents"
    )
    return f"The intervals are for {people}. {INTERVALS[kind]}"


def _estimated(result: Solution) -> str:
    """The name of the column of shares times n, which is no count."""
    return "reports, estimated" if result.reports_per_person > 1 else "people, estimated"


def _share(row: Mapping[str, Any]) -> str:
    """An estimated share, marked where the value's own reports exclude it."""
    return f"{row['estimate']:.4f}{'*' * (row['shrunk_from'] is not None)}"


def _about_shrunk(rows: Sequence[Mapping[str, Any]]) -> str:
    """The line under a table that says which estimates the value's own reports exclude, or ""."""
    marked = [row for row in rows if row["shrunk_from"] is not None]
    if not marked:
        return ""
    named = [f"{as_text(row['value'])} {row['shrunk_from']:.4f}" for row in marked[:_MOST_NAMED]]
    more = f" and {len(marked) - _MOST_NAMED} more" * (len(marked) > _MOST_NAMED)
    return f"{_SHRUNK} Unbiased estimates: {', '.join(named)}{more}."


def _means(result: Estimate, level: float, kind: str | None) -> str:
    """The mean of the values with its interval, for each coordinate; also the median of numbers."""
    whose = "" if result.domain.nonresponse is None else " of those who answered"
    lines = [
        f"Mean{whose} {'; '.join(_with_interval(m, level) for m in result.means(level, kind=kind))}"
    ]
    if result.has_posterior_intervals:
        (median,) = summary_rows(result, applicable(result.domain, _MEDIAN), level, kind=kind) or (
            None,
        )
        if median is not None:
            lines.append(f"Median{whose} {_with_interval(median, level)}")
    return "\n".join(
        f"{line}, for the population that these people were drawn from." for line in lines
    )


def _with_interval(row: Mapping[str, Any], level: float) -> str:
    interval = f"{row['low']:.6g} .. {row['high']:.6g}"
    return f"{row['estimate']:.6g}, {100 * level:.4g} % interval {interval}"


def _method_and_status(result: Estimate) -> str:
    """What the method computes, and how the fit ended, as sentences."""
    sentences = [text for text in (result.estimator.summary, result.status.value) if text]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


def _show_keys(result: Estimate, keys: list[dict[str, Any]], level: float) -> None:
    """Print the frequency of every key and the mean of its values."""
    about = f"{100 * level:.4g} % interval"
    columns: dict[str, Side] = {
        "key": "left",
        "frequency": "right",
        about: "right",
        "mean": "right",
        f"{about} of the mean": "right",
        _estimated(result): "right",
    }
    rows = []
    for row in keys:
        absent = " (absent?)" if row["status"] == Status.KEY_ABSENT.name.lower() else ""
        rows.append(
            [
                as_text(row["value"]) + absent,
                f"{row['estimate']:.4f}",
                f"{row['low']:.4f} .. {row['high']:.4f}",
                f"{row['mean']:.6g}",
                f"{row['mean_low']:.6g} .. {row['mean_high']:.6g}",
                f"{row['n']:,.0f}",
            ]
        )
    out = console()
    out.print(_title(result), style="bold")
    out.print(table(columns, rows))
    out.print(
        "Each interval is around an unbiased estimate, and holds for its value, not for all at "
        "once. Where few people have a key, the interval of its mean can be as wide as all values."
    )
    out.print(f"{_method_and_status(result)}\n")


def show_redistributed(result: Redistributed) -> None:
    """Print the shares of values after the shares of tags were distributed over them."""
    rows = [
        [as_text(value), f"{p:.4f}"]
        for value, p in zip(result.domain.labels, result.probabilities, strict=True)
    ]
    tags = ", ".join(f"@{tag} {share:.4f}" for tag, share in result.tag_shares.items())
    attribute = result.estimate.attribute or "value"
    out = console()
    out.print(f"{attribute}: the shares of tags ({tags}) are given back to values", style="bold")
    out.print(table({"value": "left", "estimate": "right"}, rows))
    out.print(
        "Wrong knowledge of the values under a tag adds at most "
        f"{result.worst_case:.4f} to the sum of absolute errors.\n"
    )


def show_summaries(
    result: Estimate,
    asked: Sequence[Named],
    level: float,
    target: str,
    kind: str | None = None,
) -> None:
    """Print a table of summaries of one estimate."""
    columns: dict[str, Side] = {"summary": "left", "estimate": "right"}
    columns[f"{100 * level:.4g} % interval"] = "right"
    cells = [
        [row["text"], *figures(row["estimate"], row["low"], row["high"], row["is_share"])]
        for row in summary_rows(result, asked, level, target, kind)
    ]
    people = (
        "the population that these people were drawn from"
        if target == "population"
        else "these respondents"
    )
    screen = console()
    reports = reports_of(result.n, result.data.simulated)
    screen.print(f"{result.attribute}: {reports}, {result.method}", style="bold")
    screen.print(table(columns, cells))
    screen.print(f"Each interval is for {people}, and for its number alone.\n")


def figures(estimate: float, low: float, high: float, is_share: bool) -> list[str]:
    """An estimate and its interval as two cells.

    >>> figures(0.25, 0.125, 0.5, True), figures(9.8612, 8.6, 12.4, False)
    (['0.2500', '0.1250 .. 0.5000'], ['9.861', '8.6 .. 12.4'])
    """
    if is_share:
        return [f"{estimate:.4f}", f"{low:.4f} .. {high:.4f}"]
    return [f"{estimate:.4g}", f"{low:.4g} .. {high:.4g}"]
