"""Estimates on a terminal: shares, summaries, keys, groups of people and their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from warner._core.table import Column, Table, as_text
from warner._core.text import (
    canonical,
    decimals_of_number,
    decimals_of_percent,
    number,
    of_hundred,
    percent,
    percent_interval,
)
from warner.app.terminal import plural, show
from warner.designs import PaperDesign
from warner.estimators.base import Status
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.results.conditional import Answered
from warner.results.differences import Differences
from warner.results.estimate import Estimate
from warner.results.intervals import DESIGN_EFFECT, at_every_look, share_columns
from warner.results.named_summaries import (
    Named,
    applicable,
    bands,
    bands_of,
    estimate_rows,
    has_bands,
    parse,
    summary_rows,
)
from warner.results.redistribution import Redistributed
from warner.results.solution import Solution
from warner.results.tables import (
    about_paper,
    asked_in_words,
    design_effect_in_words,
    reports_of,
    tells_nothing,
)
from warner.results.weights import WeightedEstimate

INTERVALS = {
    "score": "Each holds for its value, also for one that is read because its share is large.",
    "wald": "Each is around the unbiased estimate. It holds for its value, not for all at once.",
    "likelihood": (
        "Each has the shares that a likelihood-ratio test does not reject. It holds for its value."
    ),
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
    "posterior": (
        "Each is from a posterior of smooth shares with heaps at round numbers. It holds for its "
        "value, not for all at once."
    ),
}
NO_INTERVALS = "There are no intervals: different distributions make the same reports."
_PEOPLE = {
    "population": "the population that these people were drawn from",
    "respondents": "these respondents",
}
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
_NOBODY = {"value": "nobody was asked", "figure": "", "limits": "", "mark": "", "reports": 0}
_SHARE = Column("estimate", unit="share")
_MARK = Column("mark", "")  # of shrunk shares


def _columns(level: float, result: Solution, kind: str = "") -> list[Column]:
    """The columns of a table of shares. Shares times n are no counts, and their title says so."""
    whose = "reports" if result.reports_per_person > 1 else "people"
    counted = None if asked_in_words(result.data) else f"{whose}, estimated"
    effect = [] if result.data.survey is None else [DESIGN_EFFECT]
    return [*share_columns(level, counted, kind), *effect]


def _marked(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with their values as texts, and a mark where the value's own reports exclude a share."""
    return [
        {
            **row,
            "value": as_text(row["value"]),
            "mark": "*" * (row.get("shrunk_from") is not None),
        }
        for row in rows
    ]


def _mark_column(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    return [_MARK] if any(row["mark"] for row in rows) else []


def _largest(rows: Sequence[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], list[str]]:
    """All rows, or the largest of very many, with a note that says so."""
    if len(rows) <= _LARGEST_SHOWN:
        return rows, []
    largest = sorted(rows, key=lambda row: -row["estimate"])[:_MOST_SHOWN]
    note = f"These are the {len(largest)} largest of {len(rows):,} shares."
    return largest, [f"{note} -o FILE.csv writes all of them."]


def show_estimate(
    result: Estimate,
    level: float,
    target: str,
    truth: np.ndarray | None = None,
    kind: str | None = None,
    parts: Sequence[Tally] | None = None,
) -> None:
    """Print the table of one estimate, its intervals and its status.

    ``parts`` are the tallies, where they are known. Shapes: truth (K,).
    """
    words, chances = _reports_in_words(str(result.attribute), parts or [])
    if keys := result.key_rows(level, target):
        _show_keys(result, keys, level)
        return
    if truth is None and kind is None and _is_by_bands(result):
        _show_bands(result, level, target)
        return
    used, every = result.interval_kind(target, kind), _marked(result.rows(level, target, kind))
    for row, true in zip(every, [] if truth is None else truth.tolist(), strict=False):
        row["truth"] = true
    rows, notes = _largest(every)
    if rows:
        value, share, *others = _columns(level, result, used)
        true_shares = [] if truth is None else [Column("truth", unit="share")]
        columns = [value, *true_shares, share, *_mark_column(rows), *others]
        notes += [tells_nothing(result, every), _about_intervals(used, target), _about_shrunk(rows)]
        notes += [design_effect_in_words(result), chances, *about_paper(result)]
        show(Table(columns, rows, [note for note in notes if note], words or _title(result)))
        if result.domain.nonresponse is not None:
            _show_answered(result.answered(), level, target, at_every_look(kind))
    else:
        show(_title(result))
    if result.fit.mean is not None or (
        result.has_posterior_intervals and result.domain.answered.points is not None
    ):
        show(*_means(result, level, at_every_look(kind)))
    _show_end(result)


def _reports_in_words(attribute: str, parts: Sequence[Tally]) -> tuple[str, str]:
    """Of a design for paper: what people reported, and what the card makes them report."""
    design = from_header(parts[0].header) if parts else None
    if not isinstance(design, PaperDesign) or len({canonical(t.header) for t in parts}) > 1:
        return "", ""
    counts = np.sum([tally.total().counts for tally in parts], axis=0).ravel().tolist()
    listed = list(zip(design.report_words, counts, strict=True))
    said = ", ".join(f"{n:,} {word}" for word, n in reversed(listed))
    if design.report_words[0].isdecimal():  # numbers of red cards
        said = ", ".join(f"{word}: {n:,}" for word, n in listed)
    people = f"{sum(counts):,} {'simulated ' * any(t.simulated for t in parts)}people"
    name = attribute if attribute == design.text else f"{attribute} ({design.text})"
    return f"{name}: {people}, {said}", _chances_in_words(design)


def _chances_in_words(design: PaperDesign) -> str:
    """What people say by the chances of a card, so that exchanged chances are seen."""
    words, law = design.report_words, design.channel().matrix
    if len(words) > 2 or design.domain.size > 2:
        return ""
    no, yes = (
        f"{of_hundred(float(share))} of 100 people whose answer is {as_text(label)}"
        for share, label in zip(law[1], design.domain.labels, strict=True)
    )
    return f"By the card, {no} say {words[1]}, and {yes}."


def _is_by_bands(result: Estimate) -> bool:
    """Whether a table shows bands: of more numbers than a band each, whose shares are smooth."""
    size = result.domain.answered.size
    if not has_bands(result.domain) or not result.has_posterior_intervals:
        return False
    return result.domain.nonresponse is None and size > len(bands(result.domain))


def _band_rows(result: Estimate, level: float, target: str) -> list[dict[str, Any]]:
    """The bands of a question of numbers, as rows of a table."""
    labels = [label for _, _, label in bands(result.domain)]
    rows = summary_rows(result, bands_of(result.domain), level, target)
    return [
        row | {"value": label, "n": row["estimate"] * result.n}
        for label, row in zip(labels, rows, strict=True)
    ]


def _about_bands(result: Estimate) -> str:
    size = result.domain.size
    return f"These are bands of {size:,} values. -o FILE.csv writes a row for each of them."


def _show_bands(result: Estimate, level: float, target: str) -> None:
    """Print the bands of a question of numbers, its mean and its median."""
    rows = _band_rows(result, level, target)
    notes = [
        tells_nothing(result, rows),
        _about_intervals(result.interval_kind(target), target),
        _about_bands(result),
    ]
    show(Table(_columns(level, result), rows, [note for note in notes if note], _title(result)))
    show(*_means(result, level, None))
    _show_end(result)


def _show_end(result: Estimate) -> None:
    """Print why the reports are doubtful, what the method computes, and how it ended."""
    _show_doubt(result)
    if result.data.channel.is_on_paper and result.status is Status.CONVERGED:
        show("")  # one share of a small table: how it was searched for is of no interest
        return
    gap = "" if result.gap is None else f" Gap {result.gap:.1e} nats per report."
    unique = "" if result.unique is None else f"\nThe maximum is {result.unique}."
    show(f"{_method_and_status(result)}{gap}{unique}\n")


def show_items(
    question: str, results: Sequence[Estimate], level: float, target: str, kind: str | None = None
) -> None:
    """Print the table of a question of which people tick items: a row for each item."""
    rows = [
        {**result.rows(level, target, kind)[1], "asked": result.n}
        | {"value": str(result.attribute).removeprefix(f"{question}: ")}
        for result in results
    ]
    rows = _marked(rows)
    used = results[0].interval_kind(target, kind)
    value, share, *others = share_columns(level, None, used)
    columns = [
        replace(value, title="item"),
        replace(share, title="tick it"),
        *_mark_column(rows),
        *others,
        Column("asked", "people asked", "people", priority=1),
    ]
    counted = reports_of(max(result.n for result in results), results[0].data.simulated)
    title = f"{question}: up to {counted} about each item, {results[0].method}"
    notes = [_about_intervals(used, target), _about_shrunk(rows)]
    show(Table(columns, rows, [note for note in notes if note], title))
    for result in results:
        _show_doubt(result)
    show("")


def _show_doubt(result: Estimate) -> None:
    """Print why the reports are doubtful, where they are."""
    if result.doubt:
        show(f"WARNING: {result.doubt}")


def _show_answered(given: Answered, level: float, target: str, kind: str | None) -> None:
    """Print the share of people who answered, and the shares among them."""
    share = given.row(level, target, kind)
    rows, notes = _largest(_marked(given.rows(level, target, kind)))
    answered, limits = figures_of({**share, "is_share": True})
    notes.append(
        "Each of these intervals holds for its value, not for all at once. They say nothing about "
        "what people who did not answer would have said."
    )
    value, of_answers, *others = _columns(level, given.estimate)
    columns = [value, replace(of_answers, title="of those who answered"), *others]
    title = f"{answered} of all people answered, {100 * level:.4g} % interval {limits}."
    show(Table(columns, rows, notes, title))


def show_summaries(
    result: Estimate,
    summaries: Sequence[Named],
    level: float,
    target: str,
    kind: str | None = None,
) -> None:
    """Print a table of summaries of one estimate."""
    rows = [with_figures(row) for row in summary_rows(result, summaries, level, target, kind)]
    columns = [
        Column("text", "summary"),
        Column("figure", "estimate", "number"),
        Column("limits", f"{100 * level:.4g} % interval", "number"),
    ]
    notes = [
        design_effect_in_words(result),
        f"Each interval is for {_PEOPLE[target]}, and for its number alone.\n",
    ]
    show(Table(columns, rows, notes, _title(result)))


def with_figures(row: Mapping[str, Any]) -> dict[str, Any]:
    """A summary with its estimate and its interval as texts, since only some are shares."""
    figure, limits = figures_of(row)
    return {**row, "figure": figure, "limits": limits}


def figures_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """The estimate and the interval of a share, or of another number, as texts.

    >>> figures_of({"estimate": 9.8612, "low": 8.6, "high": 12.4, "is_share": False})
    ('9.9', '8.6 to 12.4')
    """
    low, high, estimate = row["low"], row["high"], row["estimate"]
    if row["is_share"]:
        decimals = decimals_of_percent([high - low])
        return percent(estimate, decimals), percent_interval(low, high, decimals)
    decimals = decimals_of_number(high - low)
    return number(estimate, decimals), f"{number(low, decimals)} to {number(high, decimals)}"


def show_groups(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Estimate | str]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Callable[[Estimate], Sequence[Named]] | None = None,
) -> None:
    """Print one table of groups, each estimated alone; a name is of what nobody of it was asked."""
    rows: list[dict[str, Any]] = []
    is_bounded, in_bands = True, dict[str, str]()
    for key, result in estimates:
        by = {f"by {name}": as_text(value) for name, value in zip(names, key, strict=True)}
        if isinstance(result, str):
            rows.append({**_NOBODY, **by, "attribute": result})
            continue
        chosen = [] if summaries is None else list(summaries(result))
        is_by_bands = not chosen and kind is None and _is_by_bands(result)
        attribute = {"attribute": str(result.attribute)}
        own_rows = [
            {**with_figures(row), **attribute, "value": row["text"]}
            for row in summary_rows(result, chosen, level, target, kind)
        ]
        if is_by_bands:
            in_bands[str(result.attribute)] = _about_bands(result)
            own_rows = [
                {**with_figures(row), **attribute} for row in _band_rows(result, level, target)
            ]
        elif not chosen:
            own_rows = _marked([*map(with_figures, estimate_rows(result, level, target, kind))])
        if not chosen and result.interval_kind(target, kind) == "none":
            own_rows, is_bounded = [{**row, "limits": "none"} for row in own_rows], False
        rows += [{"mark": "", **by, **row, "reports": result.n} for row in own_rows]
    columns = [
        *(Column(f"by {name}", name) for name in names),
        Column("attribute"),
        Column("value"),
        Column("figure", "estimate", "number"),
        *_mark_column(rows),
        Column("limits", f"{100 * level:.4g} % interval", "number"),
        Column("reports", unit="people", priority=1),
    ]
    is_marked = any(row["mark"] for row in rows)
    notes = [
        f"Each group was estimated alone. Intervals are of the {target}.",
        f"{_SHRUNK} -o FILE.csv writes the unbiased estimates." if is_marked else "",
        "" if is_bounded else NO_INTERVALS,
        *(f"{name}: {text[0].lower()}{text[1:]}" for name, text in in_bands.items()),
        "All people together: in the report of warner report, or from a tally made without --by.",
    ]
    of_groups = [(key, result) for key, result in estimates if isinstance(result, Estimate)]
    if any(result.data.simulated for _, result in of_groups):
        notes.insert(0, "The reports are simulated.")
    for key, result in of_groups:
        if result.doubt:
            notes.append(f"WARNING: {', '.join(map(as_text, key))}: {result.doubt}")
    show(Table(columns, rows, notes))


def show_sources(tallies: Mapping[str, Sequence[Tally]]) -> None:
    """Print on standard error which reports are estimated together."""
    for name, parts in tallies.items():
        groups: dict[tuple[str, float | str], int] = {}
        for tally in parts:
            key = (str(tally.header["mechanism"]), tally.header["requested"])
            groups[key] = groups.get(key, 0) + tally.n
        reports = [
            f"{n:,} of {mechanism} at epsilon {epsilon:.6g}"
            if isinstance(epsilon, float | int)
            else f"{n:,} of {mechanism} without protection"
            for (mechanism, epsilon), n in groups.items()
        ]
        show(f"{name}: {', '.join(reports)}, estimated together", err=True)


def _title(result: Estimate) -> str:
    """The first line of a table: attribute, number of reports, method."""
    reports = reports_of(result.n, result.data.simulated)
    if result.reports_per_person > 1:
        people = plural(result.data.least_people, "person", "people")
        reports += f" of {people} or more"
    if words := asked_in_words(result.data):
        reports += f" ({words})"
    if result.data.survey is not None:
        reports += f", {result.data.survey.drawn.text}"
    return f"{result.attribute or 'value'}: {reports}, {result.method}"


def _about_intervals(kind: str, target: str) -> str:
    """The line under a table that says which intervals it has."""
    if kind == "none":
        return NO_INTERVALS
    return f"The intervals are for {_PEOPLE[target]}. {INTERVALS[kind]}"


def _about_shrunk(rows: Sequence[Mapping[str, Any]]) -> str:
    """The line under a table that says which estimates the value's own reports exclude, or ""."""
    marked = sorted((row for row in rows if row["mark"]), key=lambda row: -row["estimate"])
    if not marked:
        return ""
    named = [f"{row['value']} {100 * row['shrunk_from']:.2f} %" for row in marked[:_MOST_NAMED]]
    more = f" and {len(marked) - _MOST_NAMED} more" * (len(marked) > _MOST_NAMED)
    return f"{_SHRUNK} Unbiased estimates: {', '.join(named)}{more}."


def _means(result: Estimate, level: float, kind: str | None) -> list[str]:
    """The mean of the values with its interval, for each coordinate; also the median of numbers."""
    whose = "" if result.domain.nonresponse is None else " of those who answered"
    named = [("Mean", result.means(level, kind=kind))]
    if result.has_posterior_intervals:
        median = applicable(result.domain, _MEDIAN)
        named.append(("Median", summary_rows(result, median, level, kind=kind)))
    return [
        f"{name}{whose} {'; '.join(_with_interval(row, level) for row in rows)}, for the "
        "population that these people were drawn from."
        for name, rows in named
        if rows
    ]


def _with_interval(row: Mapping[str, Any], level: float) -> str:
    interval = f"{row['low']:.6g} to {row['high']:.6g}"
    return f"{row['estimate']:.6g}, {100 * level:.4g} % interval {interval}"


def _method_and_status(result: Estimate) -> str:
    """What the method computes, and how the fit ended, as sentences."""
    sentences = [text for text in (result.estimator.summary, result.status.value) if text]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


def _show_keys(result: Estimate, keys: list[dict[str, Any]], level: float) -> None:
    """Print the frequency of every key and the mean of its values."""
    absent = Status.KEY_ABSENT.name.lower()
    rows = [
        {**row, "value": as_text(row["value"]) + " (absent?)" * (row["status"] == absent)}
        for row in keys
    ]
    key, share, interval, *others = _columns(level, result)
    columns = [
        replace(key, title="key"),
        replace(share, title="frequency"),
        interval,
        Column("mean", unit="number"),
        Column("of mean", "interval of the mean", "number", ends=("mean_low", "mean_high")),
        *others,
    ]
    notes = [
        "Each interval is around an unbiased estimate, and holds for its value, not for all at "
        "once. Where few people have a key, the interval of its mean can be as wide as all values.",
        f"{_method_and_status(result)}\n",
    ]
    show(Table(columns, rows, notes, _title(result)))


def show_redistributed(result: Redistributed) -> None:
    """Print the shares of values after the shares of tags were distributed over them."""
    tags = ", ".join(f"@{tag} {100 * share:.2f} %" for tag, share in result.tag_shares.items())
    attribute = result.estimate.attribute or "value"
    title = f"{attribute}: the shares of tags ({tags}) are given back to values"
    note = (
        "Wrong knowledge of the values under a tag adds at most "
        f"{100 * result.worst_case:.2f} points to the sum of absolute errors.\n"
    )
    show(Table([Column("value"), _SHARE], result.rows(), [note], title))


# -----------------------------------------------------------------------------------------------
# Groups of people: pooled estimates, weighted populations and differences.


def show_group_estimates(name: str, result: Estimate, level: float, target: str) -> None:
    """Print the table of the groups of one attribute."""
    table = result.table(level, target)
    note = "Intervals hold for every group by itself."
    if result.groups is not None and result.interval_kind(target) == "posterior":
        note = (
            f"Intervals {result.groups.average_text}. A group unlike the others is missed more "
            "often; --pool none has intervals that hold for every group."
        )
    reports = reports_of(result.n, result.data.simulated)
    title = f"{name}: {len(result)} groups, {reports}, pool {result.pool}"
    show(replace(table, title=title, notes=[note, *table.notes[1:]]))
    _show_doubt(result)


def show_weighted(result: WeightedEstimate, level: float, target: str) -> None:
    """Print the table of a weighted population."""
    show(result.table(level, target))


def show_differences(name: str, result: Differences) -> None:
    """Print the differences of one attribute and the test of all."""
    table = result.table()
    show(replace(table, title=f"{name}: {table.title[0].lower()}{table.title[1:]}"))
