"""Estimates on a terminal: shares, summaries, keys, groups of people and their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.table import Column, Table, as_text
from warner._core.text import canonical, of_hundred
from warner.app.terminal import say, show
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.results.estimate import Estimate
from warner.results.intervals import available_kind
from warner.results.named_summaries import Named, summary_rows
from warner.results.result_files import estimate_rows
from warner.results.shown import (
    SHRUNK,
    about_bands,
    answered_tables,
    band_rows,
    blocks,
    is_by_bands,
    mark_column,
    marked,
    table_of_items,
    with_figures,
)
from warner.results.tables import (
    NO_INTERVALS,
    about_bins,
    about_intervals,
    about_shares_of_numbers,
    about_steadied,
    counted_in_words,
    drawn_to_the_middle,
    explained,
    of_largest,
)

if TYPE_CHECKING:
    from warner.designs import PaperDesign
    from warner.results.differences import Differences
    from warner.results.redistribution import Redistributed


_NOBODY = {"value": "nobody was asked", "figure": "", "limits": "", "mark": "", "reports": 0}
_SHARE = Column("estimate", unit="share")


def show_estimate(
    result: Estimate,
    level: float,
    target: str,
    kind: str | None = None,
    parts: Sequence[Tally] | None = None,
    top: int | None = None,
) -> None:
    """Print an estimate, of more than ``top`` shares the largest; ``parts`` are its tallies."""
    words = reports_in_words(str(result.attribute), parts or [])
    show(*blocks(result, level, target, kind, words, top=top), "")


def reports_in_words(attribute: str, parts: Sequence[Tally]) -> tuple[str, str]:
    """Of a design for paper: what people reported, and what the card makes them report."""
    from warner.designs import PaperDesign

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
    return f"{name}: {people}, {said}", chances_in_words(design)


def chances_in_words(design: PaperDesign) -> str:
    """What people say by the chances of a card, so that exchanged chances are seen."""
    words, law = design.report_words, design.channel().matrix
    if len(words) > 2 or design.domain.size > 2:
        return ""
    no, yes = (
        f'of 100 people whose answer is "{as_text(label)}", {of_hundred(float(share))} say '
        f'"{words[1]}"'
        for share, label in zip(law[1], design.domain.labels, strict=True)
    )
    return f"With the card, {no}; {yes}."


def show_items(
    question: str, results: Sequence[Estimate], level: float, target: str, kind: str | None = None
) -> None:
    """Print the table of a question of which people tick items: a row for each item."""
    items = {str(result.attribute).removeprefix(f"{question}: "): result for result in results}
    show(table_of_items(question, items, level, target, kind), "")


def groups_shown(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Estimate | str]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Callable[[Estimate], Sequence[Named]] | None = None,
) -> Table:
    """The table of groups, each estimated alone; a name is of what nobody of it was asked."""
    rows: list[dict[str, Any]] = []
    is_bounded, in_bands = True, dict[str, str]()
    how: dict[str, list[str]] = {}  # the groups that were computed in the same way
    for key, result in estimates:
        by = {f"by {name}": as_text(value) for name, value in zip(names, key, strict=True)}
        if isinstance(result, str):
            rows.append({**_NOBODY, **by, "attribute": result})
            continue
        for text in explained(result, available_kind(result, target, kind)):
            group = ", ".join(map(as_text, key))
            how.setdefault(f"{result.attribute}: {text}", []).append(group)
        chosen = [] if summaries is None else list(summaries(result))
        in_few = not chosen and kind in (None, "posterior") and is_by_bands(result)
        attribute = {"attribute": str(result.attribute)}
        own_rows = [
            {**with_figures(row), **attribute, "value": row["text"]}
            for row in summary_rows(result, chosen, level, target, kind)
        ]
        if in_few:
            in_bands[str(result.attribute)] = about_bands(result)
            own_rows = [
                {**with_figures(row), **attribute} for row in band_rows(result, level, target, kind)
            ]
        elif not chosen:
            own_rows = [
                {**with_figures(row), "attribute": _with_measure(row)}
                for row in estimate_rows(result, level, target, kind)
            ]
            own_rows = marked(own_rows, result.domain)
        if not chosen and result.interval_kind(target, kind) == "none":
            own_rows, is_bounded = [{**row, "limits": "none"} for row in own_rows], False
        rows += [{"mark": "", **by, **row, "reports": result.n} for row in own_rows]
    columns = [
        *(Column(f"by {name}", name) for name in names),
        Column("attribute"),
        Column("value"),
        Column("figure", "estimate", "number"),
        *mark_column(rows),
        Column("limits", f"{100 * level:.4g} % interval", "number"),
        Column("reports", unit="people", priority=1),
    ]
    is_marked = any(row["mark"] for row in rows)
    of_shares = [r for _, r in estimates if isinstance(r, Estimate)] if summaries is None else []
    notes = [
        about_intervals("own", target),
        about_shares_of_numbers(of_shares, kind),
        about_steadied(result for _, result in estimates if isinstance(result, Estimate)),
        f"{SHRUNK} For estimates without this step, add -o FILE.csv." if is_marked else "",
        "" if is_bounded else NO_INTERVALS,
        drawn_to_the_middle(result for _, result in estimates if isinstance(result, Estimate)),
        about_bins(result for _, result in estimates if isinstance(result, Estimate)),
        *(f"{name}: {text[0].lower()}{text[1:]}" for name, text in in_bands.items()),
    ]
    of_groups = [(key, result) for key, result in estimates if isinstance(result, Estimate)]
    if any(result.data.simulated for _, result in of_groups):
        notes.insert(0, "The reports are simulated.")
    doubted: dict[str, list[str]] = {}  # weights are in doubt in all groups alike
    for key, result in of_groups:
        doubted.setdefault(result.doubt, []).append(", ".join(map(as_text, key)))
    notes += [f"WARNING: {'; '.join(keys)}: {doubt}" for doubt, keys in doubted.items() if doubt]
    about = [f"{'; '.join(groups)}: {text}" for text, groups in how.items()]
    return Table(columns, rows, notes, explained=about)


def _with_measure(row: Mapping[str, Any]) -> str:
    """The attribute of a row, with what the number is where it is not the share of all people."""
    measure = row["measure"].removeprefix("share").strip()
    return f"{row['attribute']} ({measure})" if measure else str(row["attribute"])


def show_sources(
    tallies: Mapping[str, Sequence[Tally]], *, of_all: bool = False, target: str = "population"
) -> None:
    """Print on standard error which reports are estimated together, of all people or of groups."""
    from warner.app.ways import about_ways, in_one_way

    for name, parts in tallies.items():
        groups: dict[tuple[str, float | str], int] = {}
        for tally in parts:
            key = (str(tally.header["mechanism"]), tally.header["requested"])
            groups[key] = groups.get(key, 0) + tally.n
        reports = [
            f"{n:,} reports by {mechanism} at epsilon {epsilon:.6g}"
            if isinstance(epsilon, float | int)
            else f"{n:,} reports by {mechanism} without protection"
            for (mechanism, epsilon), n in groups.items()
        ]
        say(
            f"{name}: {', '.join(reports)}. All these reports are estimated together, as reports "
            "of different people."
        )
        about = about_ways(parts, None, parts, target) if of_all else in_one_way(parts)
        for sentence in about:
            say(f"{name}: {sentence}")


def show_redistributed(result: Redistributed) -> None:
    """Print the shares of values after the shares of tags were distributed over them."""
    tags = ", ".join(f"@{tag} {100 * share:.2f} %" for tag, share in result.tag_shares.items())
    attribute = result.estimate.attribute or "value"
    title = f"{attribute}: people who gave a tag ({tags}) are divided among the true values"
    note = (
        "The shares behind each tag were assumed. If the assumed shares are wrong, the sum of the "
        f"absolute errors of all shares grows by at most {100 * result.worst_case:.2f} points.\n"
    )
    show(Table([Column("value"), _SHARE], result.rows(), [note], title))


# -----------------------------------------------------------------------------------------------
# Groups of people: pooled estimates, weighted populations and differences.


def show_group_estimates(
    name: str, result: Estimate, level: float, target: str, top: int | None = None
) -> None:
    """Print the table of the groups of one attribute, of many values the ``top``."""
    table = result.table(level, target)
    note, *notes = table.notes
    if result.groups is not None and result.interval_kind(target) == "posterior":
        note = (
            f"Intervals {result.groups.average_text}. In a group unlike the others, the interval "
            "misses the true share more often. With --pool none, the intervals hold for every "
            "group."
        )
    pooled = "" if result.pool == "none" else f", pool {result.pool}"
    title = f"{name}: {len(result)} groups, {counted_in_words(result)}{pooled}"
    table = replace(table, title=title, notes=[note, *notes])
    table = table if top is None else of_largest(result, table, top)
    show(table, *answered_tables(result, level, target, top=top))


def show_differences(name: str, result: Differences) -> None:
    """Print the differences of one attribute and the test of all."""
    show(replace(result, question=name).table())
