"""What a report says, without any format: sections of paragraphs, lists and tables with bars.

All texts are plain. A writer makes them safe for its format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from warner._core.html import Bar
from warner._core.table import UNITS, Column, Table, bars
from warner._core.text import (
    decimals_of_percent,
    outwards,
    percent,
    percent_interval,
    visible,
)
from warner.estimators.base import Status
from warner.results.differences import (
    Differences,
    decimals_of_differences,
    figures_of_difference,
)
from warner.results.estimate import Estimate
from warner.results.intervals import intervals_of_table
from warner.results.named_summaries import bands, bands_of, has_bands, summary_rows
from warner.results.shown import SHRUNK, WITHOUT_STEP, with_figures
from warner.results.tables import name_of
from warner.results.wald_tests import shown_p


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]
    are_steps: bool = False  # whether they are numbered, to be done in their order


@dataclass(frozen=True)
class Boxes:
    """Boxes to tick on paper: the word of each, and what it means."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Commands:
    """Lines to type as they are."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A chart, whose numbers stand in a table beside it."""

    svg: str
    about: str  # what it shows, for readers who do not see it


Block = str | Points | Boxes | Commands | Picture | Table


@dataclass(frozen=True)
class Section:
    """A section with a heading."""

    title: str  # the heading
    blocks: tuple[Block, ...] = ()  # paragraphs, lists and tables, in their order
    parts: tuple[Section, ...] = ()  # sections inside it
    starts_page: bool = False  # whether it begins on a new page when it is printed


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str  # the heading of the report
    about: tuple[str, ...]  # lines below the title
    notice: str  # what stands in a frame above all else; "" for nothing
    sections: tuple[Section, ...]  # the sections
    is_numbered: bool = True  # whether printed pages have numbers


# -----------------------------------------------------------------------------------------------
# Tables of a report: shares, ranges of numbers, summaries, keys, groups and differences.


_SEED = 0  # of a bootstrap: a report that is made again is the same report

Row = Mapping[str, Any]


class Shares(NamedTuple):
    """The shares that a report shows of one question."""

    rows: list[Row]  # with value, estimate, low and high
    is_chosen: bool = False  # whether they are the largest only
    at_once: bool = False  # whether their intervals hold for all values at once


def shares_of(result: Estimate, level: float, target: str, top: int) -> Shares:
    """The shares that a report shows of one question: by ranges, or the ``top`` largest."""
    domain = result.domain.answered
    if result.fit.probabilities is None:
        return Shares([])
    if has_bands(domain):
        in_bands = summary_rows(result, bands_of(result.domain), level, target)
        labels = [label for _, _, label in bands(domain)]
        return Shares(
            [
                {**row, "value": label, "estimate": min(max(row["estimate"], 0.0), 1.0)}
                for row, label in zip(in_bands, labels, strict=True)
            ]
        )
    is_chosen = domain.size > top
    # The reports choose which are the largest, so intervals hold for all values at once; for places
    # such intervals would take minutes.
    at_once = is_chosen and result.has_intervals and domain.raster is None
    at_once = at_once and domain is result.domain
    rows = answer_rows(result, level, target, "simultaneous" if at_once else None)
    if is_chosen:
        rows = sorted(rows, key=lambda row: -row["estimate"])[:top]
    return Shares(rows, is_chosen, at_once)


def answer_rows(result: Estimate, level: float, target: str, kind: str | None = None) -> list[Row]:
    """All shares with intervals, of those who answered; a bootstrap has a fixed seed."""
    domain = result.domain
    if domain.nonresponse is not None:
        rows = result.answered().rows(level, target)
        return [{**row, "value": name_of(row["value"], domain.answered)} for row in rows]
    limits, unbiased = intervals_of_table(result, level, target, kind, np.random.default_rng(_SEED))
    shares = np.clip(result.probabilities, 0.0, 1.0)
    return [
        {
            "value": name_of(label, domain),
            "estimate": float(share),
            "low": float(low),
            "high": float(high),
            "shrunk_from": None if np.isnan(alone) else float(alone),
        }
        for label, share, (low, high), alone in zip(
            domain.labels, shares, limits, unbiased, strict=True
        )
    ]


def table_of_shares(
    caption: str, first: str, rows: Sequence[Row], level: float | None, limits: str = ""
) -> Table:
    """A table of shares with a bar each; level None where there are no intervals."""
    decimals = decimals_of_percent(row["high"] - row["low"] for row in rows)
    shown = [{**row, **_share_texts(row, decimals)} for row in rows]
    drawn = picture_of(rows, is_share=True, is_bounded=level is not None)
    columns = [Column("value", first), *_figures("share", level, limits), drawn]
    return Table(columns, shown, title=caption)


def _figures(title: str, level: float | None, limits: str = "") -> list[Column]:
    """The columns of an estimate and its interval, which rows have as texts."""
    if level is None:
        return [Column("figure", title)]
    return [Column("figure", title), Column("limits", limits or f"{100 * level:.4g} % interval")]


def _share_texts(row: Row, decimals: int) -> dict[str, str]:
    """A share and its interval as texts, with a mark where its own reports exclude it."""
    figure = percent(row["estimate"], decimals) + "*" * is_shrunk(row)
    return {"figure": figure, "limits": percent_interval(row["low"], row["high"], decimals)}


def picture_of(
    rows: Sequence[Row], is_share: bool, key: str = "estimate", is_bounded: bool = True
) -> Column:
    """The column of a picture of each number, whose heading is its scale."""
    drawn = Column(key, "", "bar", ends=("low", "high") if is_bounded else None)
    bar = next(iter(bars(drawn, rows)), Bar(0.0, 0.0, 0.0, 1.0))
    end = f"{100 * bar.end:.4g}\N{NO-BREAK SPACE}%" if is_share else f"{bar.end:.6g}"
    start = f"\N{MINUS SIGN}{bar.end:.4g}" if bar.start else "0"
    return replace(drawn, title=f"{start} to {end}")


def is_shrunk(row: Row) -> bool:
    """Whether the reports of the value alone exclude its estimate."""
    return row.get("shrunk_from") is not None


def about_shrunk(rows: Sequence[Row]) -> list[Block]:
    """The sentence under a table that says which estimates are marked; [] where none is."""
    marked = [
        f"{percent(row['shrunk_from'], 1)} for {row['value']}" for row in rows if is_shrunk(row)
    ]
    return [f"{SHRUNK} {WITHOUT_STEP} {', '.join(marked)}."] if marked else []


def table_of_summaries(caption: str, rows: Sequence[Row], level: float) -> Table:
    """A table of means, medians, quantiles and shares of ranges."""
    columns = [Column("text", "number"), *_figures("estimate", level)]
    return Table(columns, [*map(with_figures, rows)], title=caption)


def tables_of_keys(rows: Sequence[Row], level: float) -> list[Block]:
    """The tables of keys with values: how many have a key, and the mean of its values."""
    named = [{**row, "value": name_of(row["value"])} for row in rows]
    means = []
    for row in named:
        ends = {"low": row["mean_low"], "high": row["mean_high"]}
        shown = with_figures({**row, "estimate": row["mean"], "is_share": False, **ends})
        is_absent = row["status"] == Status.KEY_ABSENT.name.lower()
        means.append({**shown, **({"figure": "not known"} if is_absent else {})})
    columns = [Column("value", "key"), *_figures("mean", level)]
    return [
        table_of_shares(
            f"Share of people with each key, such as “{named[0]['value']}”", "key", named, level
        ),
        Table(columns, means, title="The mean of the values of each key"),
    ]


def table_by_group(
    caption: str, columns: str, rows: Iterable[tuple[str, int, Row]], level: float | None
) -> Table:
    """A table of one number in all groups."""
    named = [{**row, "group": f"{visible(name)} ({n:,})"} for name, n, row in rows]
    is_share = all(row["is_share"] for row in named)
    decimals = decimals_of_percent(row["high"] - row["low"] for row in named)
    shown = [
        {**row, **_share_texts(row, decimals)} if is_share else with_figures(row) for row in named
    ]
    # A number below 0 has no bar: its picture would look like that of a difference.
    has_bar = all(row["low"] >= 0 for row in named)
    drawn = [picture_of(named, is_share, is_bounded=level is not None)] if has_bar else []
    head = [Column("group", f"{columns} (people)"), *_figures("estimate", level)]
    return Table([*head, *drawn], shown, title=caption)


def table_of_differences(
    result: Differences, rows: Sequence[Row], name: Callable[[Any], str], caption: str
) -> Table:
    """A table of differences, each with a picture about 0."""
    is_share = rows[0]["is_share"]
    is_several = len({name(row["value"]) for row in rows}) > 1
    scale = 100.0 if is_share else 1.0
    scaled = [{k: scale * row[k] for k in ("difference", "low", "high")} for row in rows]
    decimals = decimals_of_differences(rows)
    shown = [
        {
            **number,
            "group": f"{row['group']}: {name(row['value'])}" if is_several else row["group"],
            "figure": signed(number["difference"], decimals),
            "limits": " to ".join(
                signed(end, decimals) for end in outwards(number["low"], number["high"], decimals)
            ),
            "p": shown_p(row["p_holm"]).removeprefix("p ").removeprefix("= "),
            **(of_both(row, decimals) if result.of == "numbers" else {}),
        }
        for row, number in zip(rows, scaled, strict=True)
    ]
    both = [Column("of group", "estimate"), Column("of reference")]
    columns = [
        Column("group"),
        *(both if result.of == "numbers" else []),
        *_figures("points" if is_share else "difference", result.level),
        Column("p", "p (Holm)"),
        picture_of(shown, is_share=False, key="difference"),
    ]
    return Table(columns, shown, title=caption)


def of_both(row: Row, decimals: int) -> dict[str, str]:
    """The two numbers that a difference is of, and the difference."""
    texts = figures_of_difference(row, decimals)
    figure = texts[2].removesuffix(" points").replace("-", "\N{MINUS SIGN}")
    return {"of group": texts[0], "of reference": texts[1], "figure": figure}


def signed(value: float, decimals: int) -> str:
    """A difference with its sign.

    >>> signed(4.12, 1), signed(-3.0, 0) == "\N{MINUS SIGN}3", signed(0.001, 1)
    ('+4.1', True, '0.0')
    """
    return UNITS["points"].write(value / 100, decimals).replace("-", "\N{MINUS SIGN}")
