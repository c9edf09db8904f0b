"""An estimate as people read it: tables that print themselves, and a sentence or two below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from warner import estimators
from warner._core.table import Column, Table, as_text
from warner._core.text import lead, visible
from warner.domains import Domain, Items
from warner.estimators.base import Status
from warner.results.conditional import key_rows, those_who_answered
from warner.results.intervals import (
    DESIGN_EFFECT,
    STANDARD_ERROR,
    at_every_look,
    available_kind,
    interval_column,
    share_columns,
)
from warner.results.named_summaries import (
    DECLARE_CODES,
    SINGLE_CODES,
    Named,
    applicable,
    bands,
    bands_of,
    bins_in_words,
    has_bands,
    may_be_codes,
    parse,
    summary_rows,
)
from warner.results.recommend import tells_numbers_apart
from warner.results.solution import Solution
from warner.results.tables import (
    ALL_PEOPLE,
    PEOPLE,
    about_bins,
    about_clipped,
    about_combinations,
    about_intervals,
    about_own_method,
    about_paper,
    about_shares_of_numbers,
    counts_people,
    design_effect_in_words,
    drawn_to_the_middle,
    estimate_table,
    explained,
    figures_of,
    has_summaries,
    in_brackets,
    means,
    name_of,
    notebook_groups,
    reports_of,
    rows as rows_of_shares,
    tells_nothing,
    title,
    unusual_end,
)

SHRUNK = (
    "* This share was moved towards the other shares. It now lies outside the interval that the "
    "reports of this answer alone would give."
)
WITHOUT_STEP = "Without this move, the share would be"
_IN_FILE = "add -o FILE.csv to the command"  # where all rows are, on the command line
_AS_LABELS = (
    "The shares are estimated as if the numbers were labels, so neighbouring numbers may have very "
    "different shares."
)
_SMOOTHED = (
    "WARNING: the reports of this mechanism hardly distinguish neighbouring numbers, so nobody can "
    f"say which single numbers are the most frequent. {DECLARE_CODES}"
)
_LIKE_NEIGHBOURS = "The estimates assume that neighbouring numbers are about equally frequent."
_MOST_SHOWN = 50  # of more shares than are all shown
_MOST_NAMED = 5  # unbiased estimates of shrunk shares
_EVEN = "neighbouring numbers are about equally frequent"
_NUMBERS = parse("mean,quantile:0.25,median,quantile:0.75")
_MARK = Column("mark", "")  # of shrunk shares


def printed(result: Any, most: int, is_notebook: bool = False) -> list[Table | str]:
    """What ``print`` and a notebook show of an estimate, of one group of people or several."""
    if items := items_of(result):
        one = next(iter(items))
        return [
            table_of_items(result.attribute, items),
            f'To work with one item: warner.estimate(tally, attributes=["{visible(one)}"]).',
        ]
    if result.by_question:
        listed: list[Table | str] = []
        for question in result.by_question:
            listed += [*printed(question, most, is_notebook), ""]
        names = list(map(visible, result.domain.attributes))
        quoted = ", ".join(f'"{name}"' for name in names)
        listed += [
            f'To work with one question: warner.estimate(tally, attributes=["{names[0]}"]).',
            f"For the {result.domain.size:,} combinations of {' and '.join(names)}: "
            f"warner.estimate(tally, attributes=[{quoted}]).",
        ]
        # Tables of groups have the warning of their questions, which are tested together.
        is_warned = bool(result.doubt) and result.groups is None
        return [*listed, *([f"WARNING: {result.doubt}"] if is_warned else [])]
    if result.groups is None:
        return blocks(result, most=most, all_rows="use to_frame()")
    whole_table = notebook_groups if is_notebook else estimate_table
    return [numbers_of_groups(result) or whole_table(result)]


def table_as_printed(
    result: Any, level: float = 0.95, target: str = "population", kind: str | None = None
) -> Table | None:
    """The table of what is printed where that is not the shares of all values; else None.

    It has the items that people tick, each of several questions that are shown by themselves, and
    of many numbers bands, mean and quartiles.
    """
    if items := items_of(result):
        return table_of_items(result.attribute, items, level, target, kind)
    if questions := questions_of(result):
        return _table_of_questions(result, questions, level, target, kind)
    if kind is not None:
        return None
    numbers_of = numbers_of_all if result.groups is None else numbers_of_groups
    return numbers_of(result, level, target)


def items_of(result: Any) -> dict[str, Any]:
    """The estimate of each item that people tick, where they are shown; {} of other results."""
    if not isinstance(getattr(result, "domain", None), Items):
        return {}
    return {str(item.attribute): item for item in result.by_question}


def questions_of(result: Any) -> tuple[Any, ...]:
    """The estimates of several questions that are shown by themselves; none of other results."""
    return () if isinstance(getattr(result, "domain", None), Items) else result.by_question


def _table_of_questions(
    result: Any, questions: Sequence[Any], level: float, target: str, kind: str | None
) -> Table:
    """The tables of several questions below each other, with the question in the first column."""
    tables = [question.table(level, target, kind) for question in questions]
    of_shares: dict[str, Any] = {"measure": "share", "is_share": True, "people_about": None}
    rows = []
    for question, table in zip(questions, tables, strict=True):
        for row in table.rows:
            about = {"attribute": question.attribute, **of_shares, **row}
            text = as_text(row["value"] if "value" in row else row["summary"])
            shown = about if about["estimate"] is None else with_figures(about)
            rows.append({"figure": "", "limits": "", **shown, "value": text})
    value, share, interval, *_ = share_columns(level, None)
    counted = [Column("people_about", "people (about)", "people")]
    if result.groups is not None:
        counted = [Column("reports", unit="people", priority=1)]
    columns = [
        Column("attribute", "question"),
        *map(Column, result.names),
        value,
        Column("measure", "what is estimated", "data"),
        replace(share, shown="figure"),
        replace(interval, shown="limits"),
        *counted,
        Column("is_share", unit="data"),
    ]
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    heading = title(replace(result, attribute=", ".join(map(visible, result.domain.attributes))))
    how = dict.fromkeys(each for table in tables for each in table.explained)
    return Table(columns, rows, [*notes], heading, result.data.simulated, [*how])


def table_of_items(
    question: str | None,
    items: Mapping[str, Any],
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> Table:
    """The table of items that people tick: a row for each item, and for each group of people."""
    first = next(iter(items.values()))
    used = first.interval_kind(target, kind)
    rows = marked(
        [
            {"reports": item.n, **row, "value": name, "item": name}
            for name, item in items.items()
            for row in item.rows(level, target, kind)[1::2]  # of no and yes
        ]
    )
    value, share, *others = share_columns(level, None, used)
    columns = [
        *map(Column, first.names),
        replace(value, key="item"),
        replace(share, title="tick it"),
        *mark_column(rows),
        *others,
        STANDARD_ERROR,
        Column("reports", "people asked", "people", priority=1),
    ]
    most = reports_of(max(item.n for item in items.values()), first.data.simulated)
    groups = f" of {len(first):,} groups" if first.names else ""
    notes = [
        about_intervals(used, target),
        about_shrunk(rows),
        *dict.fromkeys(f"WARNING: {item.doubt}" for item in items.values() if item.doubt),
    ]
    heading = f"{lead(question or 'items')} up to {most}{groups} about each item"
    method = "" if first.names else f", method {first.method}"
    return Table(columns, rows, notes, f"{heading}{method}", first.data.simulated)


def blocks(
    result: Any,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
    on_paper: tuple[str, str] = ("", ""),
    most: int = 1000,
    all_rows: str = _IN_FILE,
    top: int | None = None,
) -> list[Table | str]:
    """The tables and sentences of an estimate of one group of people.

    ``on_paper`` is what people reported by a design for paper, as a title, and what its card makes
    them report. Of more than ``most`` shares the largest are shown, or the ``top`` that somebody
    asks for; ``all_rows`` says how to see all of them. Of numbers these are single shares in place
    of bands (:func:`numbers_as_labels`).
    """
    if keys := key_rows(result, level, target):
        return [_table_of_keys(result, keys, level)]
    used = available_kind(result, target, kind)
    shown: list[Table | str] = []
    of_bands = top is None and kind in (None, "posterior") and is_by_bands(result)
    if of_bands:
        rows = band_rows(result, level, target, kind)
        notes = [about_bands(result, all_rows)]
    else:
        every = marked(rows_of_shares(result, level, target, kind), result.domain)
        # Nobody reads hundreds of combinations.
        listed = min(most, _MOST_SHOWN) if result.domain.attributes else most
        about = _about_single_values(result) if top is not None and is_by_bands(result) else ""
        rows, notes = largest(every, listed, all_rows, top, about)
    if rows:
        value, share, *others = columns_of(level, result, used)
        errors = [STANDARD_ERROR] if "error" in rows[0] else []
        if names := list(result.domain.attributes or ()):
            value = replace(value, title=", ".join(map(visible, names)))
        shown.append(
            Table(
                [value, share, *mark_column(rows), *others, *errors],
                rows,
                [
                    *notes,
                    about_combinations(result),
                    tells_nothing(result, rows),
                    about_intervals(used, target, of_bands),
                    about_own_method(result, used),
                    about_shrunk(rows),
                    design_effect_in_words(result),
                    on_paper[1],
                    *about_paper(result),
                    unusual_end(result),
                ],
                on_paper[0] or title(result),
                explained=explained(result, used),
            )
        )
        shown += answered_tables(result, level, target, kind, most, all_rows, top)
    else:
        shown.append(title(result))
    numbers = _of_numbers(result, level, kind)
    if len(numbers) > 1:
        notes = [
            drawn_to_the_middle([result]),
            about_bins([result]),
            about_quantiles([result], numbers, kind),
        ]
        shown += ["", table_of_summaries(numbers, level, [*filter(None, notes)])]
    else:
        shown += [f"{row['text'].capitalize()} {in_brackets(row)}." for row in numbers]
    doubt = f"WARNING: {result.doubt}" if result.doubt else ""
    return [*shown, *filter(None, [about_clipped(result), doubt])]


def _of_numbers(result: Any, level: float, kind: str | None) -> list[dict[str, Any]]:
    """Mean and quartiles of numbers; the mean alone where their intervals are not known."""
    if has_summaries(result):
        return summary_rows(result, applicable(result.domain, _NUMBERS), level, kind=kind)
    if result.fit.mean is None:
        return []
    rows = means(result, level, kind=kind)
    axes = [""] if len(rows) == 1 else [f" of coordinate {i}" for i in range(len(rows))]
    return [
        {**row, "text": f"mean{axis}", "is_share": False}
        for axis, row in zip(axes, rows, strict=True)
    ]


def columns_of(level: float, result: Solution, kind: str = "") -> list[Column]:
    """The columns of a table of shares. Shares times n are no counts, and their title says so."""
    effect = [] if result.data.survey is None else [DESIGN_EFFECT]
    return [*share_columns(level, _counted(result), kind), *effect]


def _counted(result: Solution) -> str | None:
    """The title of shares times the number of people; None where these are no people."""
    whose = "reports" if result.reports_per_person > 1 else "people"
    return f"{whose} (about)" if counts_people(result.data) else None


def marked(rows: Sequence[Mapping[str, Any]], domain: Domain | None = None) -> list[dict[str, Any]]:
    """Rows with their values as texts, and a mark where the value's own reports exclude a share."""
    bins = {} if domain is None else bins_in_words(domain.answered)

    def text(value: Any) -> str:
        # Combinations stand without names, and numbers with all digits.
        return name_of(value) if isinstance(value, dict) else bins.get(value) or as_text(value)

    return [
        {
            **row,
            "value": text(row["value"]),
            "mark": "*" * (row.get("shrunk_from") is not None),
        }
        for row in rows
    ]


def mark_column(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The column of the marks of shrunk shares, where there are any."""
    return [_MARK] if any(row.get("mark") for row in rows) else []


def largest(
    rows: list[dict[str, Any]], most: int, all_rows: str, top: int | None = None, about: str = ""
) -> tuple[list[dict[str, Any]], list[str]]:
    """All rows, or the largest of more than ``most``, or the ``top``, with a note that says so."""
    if len(rows) <= (top or most):
        return rows, []
    # A table of thousands of lines takes long to draw, and nobody finds the largest in it.
    first = sorted(rows, key=lambda row: -row["estimate"])[: top or min(most, _MOST_SHOWN)]
    note = f"These are the {len(first)} largest of {len(rows):,} shares."
    sentences = [note, about, f"To see all shares, {all_rows}."]
    return first, [" ".join(filter(None, sentences))]


def is_by_bands(result: Any) -> bool:
    """Whether a table shows bands: of more numbers than a band each, with intervals of them."""
    size = result.domain.answered.size
    if not has_bands(result.domain) or not has_summaries(result):
        return False
    return result.domain.nonresponse is None and size > len(bands(result.domain))


def numbers_as_labels(result: Any) -> Any:
    """The estimate of the single values of numbers shown by bands, which need not be smooth.

    The estimate itself of other values, and where a method for labels is advised against.
    """
    labels = estimators.EmpiricalBayes()
    if result.sums is not None or not is_by_bands(result) or not tells_numbers_apart(result.data):
        return result
    return replace(result, fit=labels.fit(result.data.for_fit()), estimator=labels)


def _about_single_values(result: Any) -> str:
    """What is assumed of the single values of numbers, or why they are not known."""
    if not tells_numbers_apart(result.data):
        return _SMOOTHED
    return "" if isinstance(result.estimator, estimators.LogSpline) else _AS_LABELS


def band_rows(
    result: Any, level: float, target: str, kind: str | None = None
) -> list[dict[str, Any]]:
    """The bands of a question of numbers, as rows of a table."""
    labels = [label for _, _, label in bands(result.domain)]
    rows = summary_rows(result, bands_of(result.domain), level, target, kind)
    return [
        row | {"value": label, "people_about": row["estimate"] * result.n, "mark": ""}
        for label, row in zip(labels, rows, strict=True)
    ]


def about_bands(result: Any, all_rows: str = _IN_FILE) -> str:
    """How many values the bands hold, and what is assumed of whole numbers, which may be codes."""
    shown = f"The {result.domain.size:,} values are shown in bands. To see all values, {all_rows}."
    if not may_be_codes(result.domain) or not isinstance(result.estimator, estimators.LogSpline):
        return shown
    about_codes = SINGLE_CODES if tells_numbers_apart(result.data) else DECLARE_CODES
    return f"{shown} {_LIKE_NEIGHBOURS} {about_codes}"


def about_shrunk(rows: Sequence[Mapping[str, Any]]) -> str:
    """The line under a table that says which estimates the value's own reports exclude, or ""."""
    shrunk = sorted((row for row in rows if row["mark"]), key=lambda row: -row["estimate"])
    if not shrunk:
        return ""
    named = [f"{100 * row['shrunk_from']:.2f} % for {row['value']}" for row in shrunk[:_MOST_NAMED]]
    more = [f"and {len(shrunk) - _MOST_NAMED} more"] * (len(shrunk) > _MOST_NAMED)
    return f"{SHRUNK} {WITHOUT_STEP} {', '.join([*named, *more])}."


# -----------------------------------------------------------------------------------------------
# Summaries, people who answered, and keys.


def with_figures(row: Mapping[str, Any]) -> dict[str, Any]:
    """A summary with its estimate and its interval as texts, since only some are shares."""
    figure, limits = figures_of(row)
    return {**row, "figure": figure, "limits": limits}


def table_of_summaries(
    rows: Sequence[Mapping[str, Any]], level: float, about: Sequence[str] = (), heading: str = ""
) -> Table:
    """A table of summaries of one estimate, with sentences below and a title."""
    columns = [
        Column("text", "summary"),
        Column("figure", "estimate", "number"),
        Column("limits", f"{100 * level:.4g} % interval", "number"),
    ]
    return Table(columns, list(map(with_figures, rows)), about, heading)


def about_quantiles(
    results: Sequence[Any],
    rows: Sequence[Mapping[str, Any]],
    kind: str | None,
    target: str = "population",
) -> str:
    """What intervals of quantiles suppose, and which are narrower; "" where there is no choice."""
    is_of_quantiles = any(named in row["text"] for row in rows for named in ("median", "quantile"))
    has_choice = target == "population" and all(one.has_posterior_intervals for one in results)
    if not (is_of_quantiles and has_choice and kind in (None, "posterior")):
        return ""
    if kind == "posterior":
        return (
            f"If {_EVEN}, the intervals of median and quantiles are right about as often as the "
            "percentage says."
        )
    is_binned, has_bins = results[0].domain.answered.is_binned, results[0].data.channel.has_bins
    whole = [" are of whole bins"] * is_binned
    held = [" hold for any answers, also where many people round to the same numbers"] * (
        not has_bins
    )
    in_command = " (in a command: --interval posterior)" * (len(results) == 1)
    return (
        f"The intervals of median and quantiles{', and'.join(held + whole)}. "
        f"If {_EVEN}, narrower ones hold about as often: "
        f'quantile(0.5).interval(kind="posterior") in Python{in_command}.'
    )


def summaries_shown(
    result: Any, named: Sequence[Named], level: float, target: str, kind: str | None = None
) -> Table:
    """The table of summaries that somebody names."""
    rows = summary_rows(result, named, level, target, kind)
    notes = [
        design_effect_in_words(result),
        drawn_to_the_middle([result]),
        about_bins([result]),
        about_quantiles([result], rows, kind, target),
        f"Each interval is for {PEOPLE[target]}. It holds for one number, not for all at once.\n",
    ]
    return table_of_summaries(rows, level, notes, title(result))


def numbers_of_all(result: Any, level: float = 0.95, target: str = "population") -> Table | None:
    """Bands, mean and quartiles of numbers that are shown by bands, of all people together."""
    if not is_by_bands(result):
        return None
    summaries = [
        {**row, "value": row["text"], "people_about": None}
        for row in summary_rows(result, applicable(result.domain, _NUMBERS), level, target)
    ]
    value, share, interval, *_ = share_columns(level, None)
    counted = [Column("people_about", "people (about)", "people")]
    columns = [
        value,
        Column("measure", "summary, as files name it", "data"),
        replace(share, shown="figure"),
        replace(interval, shown="limits"),
        *(counted if counts_people(result.data) else []),
        Column("is_share", unit="data"),
    ]
    rows = [
        with_figures(row) | {"measure": row["summary"]}
        for row in (*band_rows(result, level, target), *summaries)
    ]
    notes = [
        about_bands(result, "use to_frame()"),
        tells_nothing(result, rows),
        about_intervals(available_kind(result, target), target, True),
        unusual_end(result),
        drawn_to_the_middle([result]),
        about_quantiles([result], rows, None, target),
        about_clipped(result),
        f"WARNING: {result.doubt}" if result.doubt else "",
    ]
    how = explained(result, available_kind(result, target))
    simulated = result.data.simulated
    return Table(columns, rows, notes, title(result), simulated, how)


def numbers_of_groups(result: Any, level: float = 0.95, target: str = "population") -> Table | None:
    """Mean and quartiles of each group that is estimated alone, where single shares say little."""
    if result.groups is None or not has_bands(result.domain):
        return None
    if {status.name for status in result.groups.statuses} != {"ALONE"}:
        return None
    rows: list[dict[str, Any]] = []
    of_groups = [*((key, result[key]) for key in result), *result.groups.last]
    for key, group in of_groups:
        if not has_summaries(group):
            return None
        public = dict(zip(result.names, key, strict=True))
        for row in summary_rows(group, applicable(group.domain, _NUMBERS), level, target):
            names = {"summary": row["text"], "measure": row["summary"], "reports": group.n}
            rows.append({**row, **public, **names})
    columns = [
        *(Column(name) for name in result.names),
        Column("summary"),
        Column("measure", "summary, as files name it", "data"),
        Column("estimate", unit="estimate"),
        interval_column(level, "estimate"),
        Column("reports", unit="people", priority=1),
    ]
    notes = [
        about_combinations(result),
        about_intervals("own", target),
        ALL_PEOPLE if result.groups.last else "",
        drawn_to_the_middle([group for _, group in of_groups]),
        about_bins([group for _, group in of_groups]),
        about_quantiles([group for _, group in of_groups], rows, None, target),
        f"With {result.domain.size:,} values, the share of a single value says little. To see all "
        f"shares, use to_frame() in Python, or {_IN_FILE}.",
        about_shares_of_numbers([group for _, group in of_groups]),
        f"WARNING: {result.doubt}" if result.doubt else "",
    ]
    return Table(columns, rows, notes, title(result), result.data.simulated)


def answered_tables(
    result: Any,
    level: float,
    target: str,
    kind: str | None = None,
    most: int = 1000,
    all_rows: str = _IN_FILE,
    top: int | None = None,
) -> list[Table]:
    """The table of the shares among those who answered, of all people or of each group.

    The list is empty where nonresponse is no value, and where groups were pooled.
    """
    looks, names = at_every_look(kind), result.names
    if not (given := those_who_answered(result)):
        return []
    value, share, *others = share_columns(level, None if names else _counted(result))
    share = replace(share, title="of those who answered")
    notes = ["Nobody knows what the people who did not answer would have said."]
    if not names:
        ((_, alone),) = given
        rows, about = largest(marked(alone.rows(level, target, looks)), most, all_rows, top)
        of_all = in_brackets({**alone.row(level, target, looks), "is_share": True})
        heading = f"{of_all} of all people answered."
        return [Table([value, share, *others], rows, [*about, *notes], heading)]
    sizes = sum(each.n * each.probabilities for _, each in given)
    shown = sorted(np.argsort(-sizes, kind="stable")[:top].tolist())
    rows = []
    for key, each in given:
        by = {f"by {name}": as_text(of) for name, of in zip(names, key, strict=True)}
        of_group = marked(each.rows(level, target, looks))
        rows += [{**of_group[x], **by, "answered": each.frequency} for x in shown]
    columns = [Column(f"by {name}", name) for name in names]
    columns += [value, share, *others, Column("answered", "people who answered", "share", 1)]
    heading = f"{lead(result.attribute or 'value')} shares among the people who answered"
    return [Table(columns, rows, notes, heading)]


def _table_of_keys(result: Any, keys: Sequence[Mapping[str, Any]], level: float) -> Table:
    """The frequency of every key and the mean of its values."""
    absent = Status.KEY_ABSENT.name.lower()
    rows = [
        {**row, "value": as_text(row["value"]) + " (absent?)" * (row["status"] == absent)}
        for row in keys
    ]
    key, share, interval, *others = columns_of(level, result)
    columns = [
        replace(key, title="key"),
        replace(share, title="frequency"),
        interval,
        Column("mean", unit="number"),
        Column("of mean", "interval of the mean", "number", ends=("mean_low", "mean_high")),
        *others,
    ]
    notes = [
        "Each interval holds for its own key, not for all keys at once. Where few people have a "
        "key, the interval of its mean can include all values.",
        unusual_end(result),
    ]
    return Table(columns, rows, notes, title(result), explained=explained(result, "wald"))
