"""Charts of estimates, made from rows that other modules compute.

Estimates are drawn as a dot with a bar for each value, as a histogram of the bands of their table
or a line with a band for many numbers in order, or as a map for the cells of a grid. Position,
shape and lightness carry the meaning, so that charts can be read in grey.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, distribution, integer, kind as kind_of, show
from warner._core.errors import ArgumentError
from warner._core.foreign_tables import index_of, names_rows
from warner._core.table import Column, Table, as_text
from warner._core.text import visible
from warner.domains import Domain
from warner.results.charts_of_groups import chart_of_groups, chart_of_items, chart_of_numbers
from warner.results.drawing import (
    BAND,
    CAPTION,
    INK,
    PLAIN,
    QUIET,
    TRUTH,
    WIDTH,
    Undrawn,
    apart,
    drawn_together,
    inline_data,
    labels as folded_labels,
    page,
    require_altair,
    require_each,
    scale_of_shares,
    shares as axis_of_shares,
    step,
    titled,
)
from warner.results.intervals import available_kind
from warner.results.ranks import place_of
from warner.results.shown import (
    band_rows,
    is_by_bands,
    items_of,
    numbers_of_groups,
    questions_of,
    table_of_items,
)
from warner.results.solution import Solution
from warner.results.tables import counted_in_words, estimate_table, index_of_yes, rows

_MOST_DOTS = 24  # numbers in order; a line shows more numbers better
_MOST_LABELS = 60  # rows with labels that fit a page
_TOP = 20  # rows that are drawn of more labels
_AT_ONCE = ", right for all values together"
_EVERY_LOOK = ", right for each value however often you look while reports come in"
# What stands beside an estimate.
_SERIES = {"truth": "truth", "reports": "the reports that name the value"}
_SHADES = ["#f3f7fb", "#6aaed6", "#08306b"]  # from light to dark, to be read in grey


@dataclass(frozen=True)
class Questions:
    """Questions with two answers each, as rows of one panel: of each the share of "yes"."""

    attribute: str | None  # what stands above the panel
    noun: str  # what one of them is called, such as "item"
    estimates: Mapping[str, Solution]  # by the names of the rows


def chart(
    estimates: Sequence[Solution | Questions],
    truth: Sequence[Any] | None = None,
    level: float = 0.95,
    target: str = "population",
    top: int | None = None,
    title: str | None = None,
    kind: str | None = None,
    reports: bool = False,
    labels: Sequence[Sequence[str] | None] | None = None,
    units: Sequence[str | None] | None = None,
) -> Any:
    """A chart of shares with intervals, with one panel for each estimate; truth (K,).

    Panels of dots have one scale. With ``reports``, the share of the reports that name each value
    stands beside what is concluded from them. People read ``labels`` (K,) as values, and numbers
    count ``units`` such as minutes.

    Of more than 60 labels the 20 largest shares are drawn, and the others together. Their intervals
    hold for all values at once, and so for those chosen.
    """
    alone = [[*e.estimates.values()] if isinstance(e, Questions) else [e] for e in estimates]
    for i, e in ((i, e) for i, each in enumerate(alone) for e in each):
        if e.fit.probabilities is None:
            rule = "needs shares, and only a mean was estimated"
            remedy = "Estimate with another method"
            raise ArgumentError("plot", rule, e.method, remedy)
        if truth is not None and np.shape(truth[i]) != (e.domain.size,):
            rule = f"must be a list of {e.domain.size} shares, in the order of list(estimate)"
            shape = np.shape(truth[i])
            got = f"the shape {shape}" if shape else kind_of(truth[i])
            raise ArgumentError("truth", rule, got)
        if truth is not None:
            distribution("truth", truth[i], e.domain.size)
        if labels is not None:
            require_each(labels[i], e.domain.size)
    if top is not None:
        top = integer("top", top, 1)
    single = len(estimates) == 1
    panels, options = [], IntervalOptions(level, target, kind)
    for i, one in enumerate(estimates):
        shown = one if title is None or not single else replace(one, attribute=title)
        if isinstance(shown, Questions):
            panels.append(_panel_of_questions(shown, options, top, reports))
            continue
        true = None if truth is None else truth[i]
        texts = None if labels is None else labels[i]
        unit = None if units is None else units[i]
        if title is not None and single:
            unit = unit or one.attribute or "value"  # a title does not rename the axis
        named = received(shown) if reports else None
        panels.append(_panel(shown, true, options, top, named, texts, unit))
    return page(drawn_together(panels), None if single else title)


def received(estimate: Solution) -> np.ndarray:
    """The share (K,) of reports that name each value; those of several bits name several values."""
    try:
        return estimate.data.channel.support_shares(estimate.data.weights)
    except ArgumentError:
        rule = "cannot be drawn beside the estimate: a report of this mechanism names no value"
        raise ArgumentError("reports", rule, None, "Draw without reports") from None


class IntervalOptions(NamedTuple):
    """Which intervals a chart has: see :meth:`warner.Estimate.rows`."""

    level: float
    target: str
    kind: str | None = None


def numbers(
    table: Table,
    truth: Any = None,
    reports: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
) -> Table:
    """The table of an estimate with the other numbers that its chart shows, and its texts."""
    more = {"truth": (truth, "truth"), "reports": (reports, "reports that name it")}
    more = {key: value for key, value in more.items() if value[0] is not None}
    rows = [
        {**row, **{key: float(values[i]) for key, (values, _) in more.items()}}
        | ({} if labels is None else {"value": labels[i % len(labels)]})
        for i, row in enumerate(table.rows)
    ]
    columns = [Column(key, title, "share") for key, (_, title) in more.items()]
    return replace(table, columns=[*table.columns, *columns], rows=rows)


def _in_order(truth: Any, domain: Domain) -> Any:
    """True shares (K,) in the order of the values, where a dict or a pandas series names these."""
    if not isinstance(truth, Mapping) and not names_rows(index_of(truth)):
        return truth
    shares = np.zeros(domain.size)  # a value that is not named has share 0
    for label, share in truth.items():
        index = place_of(domain, label)
        if index is None:
            rule, remedy = "must name values of the question", "All values are in list(estimate)"
            raise ArgumentError("truth", rule, show(label), remedy)
        shares[index] += share
    return shares


def pictured(
    estimate: Any,
    truth: ArrayLike | Mapping[Any, float] | None,
    level: float,
    target: str,
    top: int | None,
    title: str | None,
    values: Sequence[Any] | None,
    reports: bool,
    labels: Sequence[str] | None,
    unit: str | None,
) -> tuple[Any, Callable[[], list[Table]]]:
    """The chart of one estimate, or what is drawn of groups, and what makes its tables."""
    named = estimate if title is None else replace(estimate, attribute=title)
    is_of_values = any(each is not None for each in (top, values, labels))
    summaries = None if is_of_values else numbers_of_groups(named, level, target)
    if items := items_of(estimate):
        for name, given in (("truth", truth), ("values", values), ("labels", labels)):
            if given is not None:
                rule = "cannot be used for a question whose items people tick"
                remedy = "Draw one item: estimate.by_question[0].plot(...)"
                raise ArgumentError(name, rule, None, remedy)
        table_of = table_of_items(named.attribute, items, level, target)
        if estimate.groups is not None:
            choice("reports of groups", reports, (False,))
            return chart_of_items(named, table_of.rows, level, top, title), lambda: [table_of]
        panel = Questions(named.attribute, "item", items)
        return chart([panel], None, level, target, top, title, None, reports), lambda: [table_of]
    if questions := questions_of(estimate):
        of_one = {"truth": truth, "values": values, "labels": labels, "unit": unit}
        for name, given in of_one.items():
            if given is not None:
                rule = "can be used only where one question is drawn"
                remedy = f"For example estimate[{show(questions[0].attribute)}].plot(...)"
                raise ArgumentError(name, rule, None, remedy)
        alone = (None, level, target, top, None, None, reports, None, None)
        panels, tables = zip(*(pictured(each, *alone) for each in questions), strict=True)
        return page(drawn_together(panels), title), lambda: [
            table for made in tables for table in made()
        ]
    if estimate.groups is not None:
        if truth is not None:
            rule, remedy = "cannot be drawn for groups", "Draw one group: estimate[group].plot()"
            raise ArgumentError("truth", rule, None, remedy)
        choice("reports of groups", reports, (False,))
        if summaries is not None:
            picture = chart_of_numbers(estimate, summaries.rows, level, title, unit)
        else:
            picture = chart_of_groups(estimate, level, target, top, values, title, labels)
    else:
        choice("values of one group", values, (None,))
        if truth is not None:
            truth = _in_order(truth, estimate.domain)
        truths = None if truth is None else [truth]
        texts = None if labels is None else [labels]
        options = level, target, top, title, None, reports, texts, [unit]
        picture = chart([estimate], truths, *options)

    def tables_of() -> list[Table]:
        shown = summaries or estimate_table(named, level, target)
        return [numbers(shown, truth, received(estimate) if reports else None, labels)]

    return picture, tables_of


def _panel(
    estimate: Solution,
    truth: Any,
    options: IntervalOptions,
    top: int | None,
    reports: np.ndarray | None,
    labels: Sequence[str] | None,
    unit: str | None,
) -> Any:
    """The panel of one estimate; of dots, to be drawn together with the others."""
    domain = estimate.domain
    drawn_as_labels = domain.raster is None and not domain.is_numeric
    if top is None and drawn_as_labels and domain.size > _MOST_LABELS:
        top = _TOP
    is_chosen = top is not None and top < domain.size
    together = is_chosen and _bounded(estimate, options) and estimate.has_intervals
    kind = options.kind or ("simultaneous" if together else None)
    is_plain = truth is None and reports is None and labels is None and top is None
    is_usual = options.kind in (None, "posterior") and estimate.has_posterior_intervals
    if is_plain and is_usual and is_by_bands(estimate):
        return _histogram(estimate, options, unit)
    shares = rows(estimate, options.level, options.target, kind)
    for i, row in enumerate(shares):
        row["order"] = i
        if truth is not None:
            row["truth"] = float(truth[i])
        if reports is not None:
            row["reports"] = float(reports[i])
        if labels is not None and domain.raster is None:
            row["value"] = labels[i]
    if top is not None:
        return _dots(estimate, shares, options, top, unit)
    if estimate.domain.raster is not None:
        return _map(estimate, shares, options)
    if estimate.domain.is_numeric and estimate.domain.size > _MOST_DOTS:
        return _line(estimate, shares, options, unit)
    return _dots(estimate, shares, options, None, unit)


def _panel_of_questions(
    questions: Questions, options: IntervalOptions, top: int | None, reports: bool
) -> Undrawn:
    """The panel of several questions, with the share of "yes" of each, or of the last answer."""
    data = []
    for name, estimate in questions.estimates.items():
        yes = index_of_yes(estimate.domain)
        row = rows(estimate, options.level, options.target, options.kind)[yes]
        answer = as_text(row["value"])
        row["value"] = name if answer.casefold() in ("yes", "true") else f"{name}: {answer}"
        data.append(row | ({"reports": float(received(estimate)[yes])} if reports else {}))
    about = f" about each {questions.noun}"
    if top is not None and top < len(data):
        about += f", the {top} largest of {len(data):,} {questions.noun}s"
        data = sorted(data, key=lambda row: -row["estimate"])[:top]
    most = max(questions.estimates.values(), key=lambda estimate: estimate.n)
    return _dots(replace(most, attribute=questions.attribute), data, options, None, None, about)


def _bounded(estimate: Solution, options: IntervalOptions) -> bool:
    """Whether the shares have intervals."""
    return available_kind(estimate, options.target, options.kind) != "none"


def _title(
    estimate: Solution,
    caption: str,
    options: IntervalOptions,
    shown: str,
    more: str = "",
    about_each: str = "",
) -> Any:
    """The title and caption of a panel; ``shown`` names the marks that are intervals."""
    kind = available_kind(estimate, options.target, options.kind)
    if kind == "average" and _AT_ONCE not in more:
        more = f", right on average over the values{more}"
    if kind == "anytime":
        more = f"{_EVERY_LOOK}{more}"
    about = f"{shown}: {100 * options.level:.4g} % interval for the {options.target}{more}"
    if not _bounded(estimate, options):
        about = "no intervals, because different shares would give the same reports"
    several = estimate.reports_per_person > 1
    people = f" of {estimate.data.least_people:,} people or more" if several else ""
    counted = counted_in_words(estimate)
    counted = f"up to {counted}{about_each}" if about_each else counted
    lines = [f"{counted}{people}; method: {_in_words(estimate.method)}", caption, about]
    return titled(estimate.attribute or "estimated shares", [*filter(None, lines)])


def _in_words(method: str) -> str:
    """A method as a reader of a picture calls it.

    >>> _in_words("LogSpline()"), _in_words("Inversion(constraint='norm-sub')")
    ('smoothed', "inversion (constraint='norm-sub')")
    """
    named = lambda match: re.sub("(?<=[a-z])(?=[A-Z])", " ", match[1]).lower() + " ("
    words = re.sub(r"([A-Z]\w+)\(", named, method).replace("bayes", "Bayes")
    words = words.replace("log spline", "smoothed")
    return words.replace(" ()", "")


def _dots(
    estimate: Solution,
    rows: list[dict[str, Any]],
    options: IntervalOptions,
    top: int | None,
    unit: str | None,
    about_each: str = "",
) -> Undrawn:
    """A row for each value, sorted by share if it has no order: dot, interval, and true share."""
    alt = require_altair()
    domain = estimate.domain
    is_bounded = _bounded(estimate, options)
    data = [
        {**row, "value": label}
        for row, label in zip(rows, apart([_label(row["value"]) for row in rows]), strict=True)
    ]
    more = ""
    if top is not None and top < len(data):
        data = _largest(data, top)
        together = is_bounded and estimate.has_intervals and options.kind is None
        more = _AT_ONCE if together else ""
        sort = alt.SortField("order")
    elif domain.is_ordered or not isinstance(domain.labels[0], str):
        sort = alt.SortField("order")
    else:
        sort = alt.SortField("estimate", order="descending")
    y = alt.Y("value:N", title=_value_title(estimate, unit), sort=sort, axis=folded_labels())
    is_against = "reports" in rows[0]
    caption = "dots: estimate"
    if is_against:
        caption = "dashed bars: reports that name the value; grey bars with dots: estimate"
    if "truth" in rows[0]:
        caption += ", upright ticks: truth"
    title = _title(estimate, caption, options, "lines" if is_against else "bars", more, about_each)
    keys = ["estimate", *_SERIES, *(("low", "high") if is_bounded else ())]
    ends = [row[key] for row in data for key in keys if row.get(key) is not None]
    return Undrawn(ends, partial(_drawn_dots, data, y, title, is_bounded))


def _drawn_dots(
    data: list[dict[str, Any]], y: Any, title: Any, is_bounded: bool, ends: Sequence[float]
) -> Any:
    """The panel of dots, whose axis of shares reaches some ends."""
    alt = require_altair()
    is_against = "reports" in data[0]
    y = y.scale(paddingInner=0.3, paddingOuter=0.15) if is_against else y
    base = alt.Chart(inline_data(data)).encode(y=y)
    share = alt.X("estimate:Q", axis=axis_of_shares(), scale=scale_of_shares(ends))
    layers: list[Any] = []
    if is_against:  # two bars for each value, the hollow one above the filled one
        side = alt.Scale(domain=["reports", "estimate"])
        above, base = (
            base.encode(yOffset=alt.YOffsetDatum(each, scale=side)) for each in side.domain
        )
        hollow = above.mark_bar(fill=PLAIN, stroke=INK, strokeWidth=1.2, strokeDash=[3, 2])
        layers.append(hollow.encode(x="reports:Q"))
        layers.append(base.mark_bar(fill=BAND, stroke=QUIET, strokeWidth=1).encode(x=share))
    if is_bounded:
        rule = base.mark_rule(strokeWidth=2, color=QUIET)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q"))
    layers.append(base.mark_point(filled=True, size=45, color=INK, opacity=1).encode(x=share))
    if "truth" in data[0]:
        tick = base.mark_tick(thickness=2, height=11, color=TRUTH, opacity=1)
        layers.append(tick.encode(x="truth:Q"))
    height = step([row["value"] for row in data], 34 if is_against else 20)
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=height)


def _largest(data: list[dict[str, Any]], top: int) -> list[dict[str, Any]]:
    """The rows of the largest shares, and one row of all others together, without an interval."""
    ordered = sorted(data, key=lambda row: -row["estimate"])
    chosen, others = ordered[:top], ordered[top:]
    end = max(row["high"] for row in chosen)
    last: dict[str, Any] = {"low": None, "high": None}
    for name in ("estimate", "truth"):
        if name in data[0]:
            share = sum(row[name] for row in others)
            last[name] = share if share <= end else None
    together = sum(row["estimate"] for row in others)
    few = "1 other value" if len(others) == 1 else f"{len(others):,} other values together"
    last["value"] = f"{few}: {100 * together:.3g} %"
    return [{**row, "order": i} for i, row in enumerate([*chosen, last])]


def _label(value: Any) -> str:
    """A value as the label of a row."""
    if isinstance(value, dict):
        return ", ".join(map(_label, value.values()))
    return f"{value:.5g}" if isinstance(value, float) else visible(as_text(value))


def _value_title(estimate: Solution, unit: str | None) -> str | None:
    """The title of the axis of values; None where labels need none."""
    domain = estimate.domain
    if domain.attributes:
        return textwrap.shorten(visible(", ".join(domain.attributes)), CAPTION, placeholder=" ...")
    if not domain.is_numeric:
        return None
    name = _in_unit(estimate, unit)
    return f"{name} (middle of each of {domain.size} ranges)" if domain.is_binned else name


def _in_unit(estimate: Solution, unit: str | None) -> str:
    """What numbers count, else the question, as the title of an axis."""
    name = visible(unit or estimate.attribute or "value")
    return textwrap.shorten(name, CAPTION, placeholder=" ...")


def _histogram(estimate: Solution, options: IntervalOptions, unit: str | None) -> Any:
    """A bar with an interval for each band of numbers that their table has, in order."""
    alt = require_altair()
    data = band_rows(estimate, *options)
    axis = alt.Axis(labelAngle=-40, labelOverlap=False)
    x = alt.X("value:N", title=_in_unit(estimate, unit), sort=None, axis=axis)
    base = alt.Chart(inline_data(data)).encode(x=x)
    ends = [row[key] for row in data for key in ("estimate", "low", "high")]
    share = alt.Y("estimate:Q", axis=axis_of_shares(), scale=scale_of_shares(ends))
    bars = base.mark_bar(fill=BAND, stroke=QUIET, strokeWidth=1).encode(y=share)
    rule = base.mark_rule(strokeWidth=2, color=INK).encode(y=alt.Y("low:Q"), y2="high:Q")
    title = _title(estimate, "", options, "bars: estimate; lines")
    return alt.layer(bars, rule).properties(title=title, width=WIDTH, height=240)


def _line(
    estimate: Solution, rows: list[dict[str, Any]], options: IntervalOptions, unit: str | None
) -> Any:
    """A line of steps over the values, with the intervals as a band and the truth dashed."""
    alt = require_altair()
    domain = estimate.domain
    first, last = domain.ends[0]
    if not domain.is_binned:
        half_step = (last - first) / (domain.size - 1) / 2
        first, last = first - half_step, last + half_step
    edges = np.linspace(first, last, len(rows) + 1).tolist()
    # Each step begins at its left edge; the last is repeated at the right end.
    data = [{**row, "edge": edge} for row, edge in zip([*rows, rows[-1]], edges, strict=True)]
    series = {"truth": (TRUTH, [5, 3], "dashed"), "reports": (INK, [1, 3], "dotted")}
    series = {key: style for key, style in series.items() if key in rows[0]}
    shown = [row[key] for row in rows for key in ("estimate", *series)]
    bottom, top = min(0.0, *shown), max(shown)
    # A band that is much higher than the line would flatten the line, so the band is cut.
    most = 2 * top if _bounded(estimate, options) else top
    high = min(most, max([top, *(row["high"] for row in rows)])) * 1.02
    cut = _bounded(estimate, options) and any(row["high"] > high for row in rows)
    name = _in_unit(estimate, unit)
    name = f"{name} ({len(rows)} ranges)" if domain.is_binned else name
    x = alt.X("edge:Q", title=name, scale=alt.Scale(domain=[first, last], nice=False))
    base = alt.Chart(inline_data(data)).encode(x=x)
    of_whom = "share of people in each range" if domain.is_binned else "share of people"
    share = alt.Y("estimate:Q", axis=axis_of_shares(of_whom))
    share = share.scale(domain=[bottom, high], nice=False)
    layers, caption = [], "line: estimate"
    stepped: dict[str, Any] = {"interpolate": "step-after", "clip": True}
    if _bounded(estimate, options):
        band = base.mark_area(fill=BAND, stroke=QUIET, strokeWidth=0.6, **stepped)
        layers.append(band.encode(y=alt.Y("low:Q"), y2="high:Q"))
    layers.append(base.mark_line(color=INK, strokeWidth=1.5, **stepped).encode(y=share))
    for key, (colour, dashes, look) in series.items():
        line = base.mark_line(color=colour, strokeWidth=1.5, strokeDash=dashes, **stepped)
        layers.append(line.encode(y=f"{key}:Q"))
        caption += f", {look}: {_SERIES[key]}"
    more = "; where a band reaches the edge of the picture, it is cut off" if cut else ""
    if available_kind(estimate, options.target, options.kind) == "posterior":
        rough = estimate.rough_posterior
        if rough is not None and rough.heaps:  # the model of the intervals has heaps there
            more += "; bands are wider at round numbers, because people may have rounded"
    title = _title(estimate, caption, options, "band", more)
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=240)


def _map(estimate: Solution, rows: list[dict[str, Any]], options: IntervalOptions) -> Any:
    """A map of cells, darker for larger shares, with the truth beside it on the same scale."""
    alt = require_altair()
    cells = estimate.domain.raster
    assert cells is not None
    data = [{**row, "row": row["value"][0], "column": row["value"][1]} for row in rows]
    fields = ["estimate", *(key for key in _SERIES if key in rows[0])]
    each = WIDTH / len(fields) - 20 * (len(fields) - 1)
    cell = max(1.0, min(each / cells.columns, 400 / cells.rows, 40.0))
    ends = [
        min(0.0, *(row[f] for row in rows for f in fields)),
        max(row[f] for row in rows for f in fields),
    ]
    sides = "" if cells.side == 1 else f" (cells with sides of {cells.side:g})"
    # Cells that are left out stay blank: all rows and columns have a place.
    across, down = (
        {} if cells.places is None else {"scale": alt.Scale(domain=list(range(count)))}
        for count in (cells.columns, cells.rows)
    )
    panels = []
    for f in fields:
        axis = _every(cells.columns, cell, labelAngle=0)
        x = alt.X("column:O", title=f"column{sides}", axis=axis, **across)
        name = f"row{sides}" if f == fields[0] else None
        y = alt.Y("row:O", title=name, axis=_every(cells.rows, cell), **down)
        length = max(100.0, min(200.0, cell * cells.rows))
        legend = alt.Legend(format="~%", tickCount=5, gradientLength=length)
        shades = alt.Scale(domain=ends, range=_SHADES)
        colour = alt.Color(f"{f}:Q", title="share", scale=shades, legend=legend)
        drawn = alt.Chart(inline_data(data)).mark_rect().encode(x=x, y=y, color=colour)
        heading = alt.TitleParams(f, fontWeight="normal")
        size = {"width": cell * cells.columns, "height": cell * cells.rows}
        panels.append(drawn.properties(title=heading, **size))
    width = float(np.median([row["high"] - row["low"] for row in rows])) / 2
    title = _title(
        estimate,
        "darker cells: larger shares"
        + ("" if cells.places is None else "; blank: cells that are left out of the map"),
        options,
        "per cell",
        f", in half of the cells at most ± {100 * width:.2g} percentage points",
    )
    return alt.hconcat(*panels, spacing=20).resolve_scale(color="shared").properties(title=title)


def _every(count: int, cell: float, **options: Any) -> Any:
    """An axis of ``count`` indices, with as many labels as fit cells of this size."""
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if s * cell >= 18), count)
    return require_altair().Axis(
        values=list(range(0, count, step)), ticks=False, domain=False, **options
    )
