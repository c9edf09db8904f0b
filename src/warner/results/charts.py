"""Charts of estimates and of comparisons of methods, made from rows that other modules compute.

Estimates are drawn as a dot with a bar for each value, as a line with a band for many numbers in
order, or as a map for the cells of a grid. Position, shape and lightness carry the meaning, so that
charts can be read in grey.
"""

from __future__ import annotations

import io
import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from warner._core.atomic_files import write_whole
from warner._core.checks import distribution, integer
from warner._core.errors import ArgumentError, MissingExtraError
from warner._core.table import as_text
from warner._core.text import visible
from warner.domains import Domain
from warner.results.intervals import available_kind
from warner.results.ranks import place_of
from warner.results.solution import Solution
from warner.results.tables import reports_of, rows

_MOST_DOTS = 24  # numbers in order; a line shows more numbers better
_MOST_LABELS = 60  # rows with labels that fit a page
_TOP = 20  # rows that are drawn of more labels
SUFFIXES = (".png", ".svg", ".pdf", ".html", ".json")
FORMATS = ".png, .svg, .pdf, .html or .json"
_WIDTH = 460
_CAPTION = 80  # characters that fit the width
_HEADING = 6  # lines of a title
_LABEL = 200  # characters of a label; to measure longer labels takes minutes
_AT_ONCE = ", for all values at once"
_EVERY_LOOK = ", of each value at every look"
_TRUTH = "#b84300"
_SHADES = ["#f3f7fb", "#6aaed6", "#08306b"]  # from light to dark, to be read in grey


class Ranking(Protocol):
    """A comparison of methods by their errors, with the attributes that a chart needs."""

    @property
    def loss_name(self) -> str: ...

    @property
    def runs(self) -> int: ...

    @property
    def n(self) -> int: ...

    def rows(self) -> list[dict[str, Any]]: ...


def require_altair() -> Any:
    """Return the module altair, which is optional."""
    try:
        import altair
    except ImportError:
        raise MissingExtraError(
            "plot", "needs altair and vl-convert-python", None, "Install warner[plot]"
        ) from None
    return altair


def chart(
    estimates: Sequence[Solution],
    truth: Sequence[Any] | None = None,
    level: float = 0.95,
    target: str = "population",
    top: int | None = None,
    title: str | None = None,
    kind: str | None = None,
) -> Any:
    """A chart of shares with intervals, with one panel for each estimate; truth (K,).

    Of more than 60 labels the 20 largest shares are drawn, and the others together. Their intervals
    hold for all values at once, and so for those chosen.
    """
    for i, e in enumerate(estimates):
        if e.fit.probabilities is None:
            rule = "needs shares, and only a mean was estimated"
            remedy = "Estimate with another method"
            raise ArgumentError("plot", rule, e.method, remedy)
        if truth is not None and np.shape(truth[i]) != (e.domain.size,):
            raise ArgumentError(
                "truth", f"must have shape ({e.domain.size},)", str(np.shape(truth[i]))
            )
        if truth is not None:
            distribution("truth", truth[i], e.domain.size)
    if top is not None:
        top = integer("top", top, 1)
    single = len(estimates) == 1
    panels = [
        _panel(
            e if title is None or not single else replace(e, attribute=title),
            None if truth is None else truth[i],
            IntervalOptions(level, target, kind),
            top,
        )
        for i, e in enumerate(estimates)
    ]
    return page(panels, None if single else title)


def page(panels: list[Any], title: str | None = None) -> Any:
    """A chart of panels, each below the previous one, and a title above them where there is one."""
    whole = require_altair().vconcat(*panels, spacing=30).resolve_scale(color="independent")
    if title is not None:
        above = require_altair().TitleParams(
            _heading(title), anchor="start", fontSize=16, offset=20
        )
        whole = whole.properties(title=above)
    return whole.configure_view(stroke="#dddddd").configure_axis(
        grid=False, labelLimit=300, labelFlush=False, labelOverlap=True, titleFontWeight="normal"
    )


def ranking(comparisons: Mapping[str, Ranking]) -> Any:
    """Return a chart of methods by their errors, with one panel for each comparison.

    A dot is the error of a method, on a logarithmic scale, and its bar extends two standard errors
    to both sides. The methods are sorted from the least error to the largest.
    """
    return page([_ranked(name, comparison) for name, comparison in comparisons.items()])


def _ranked(name: str, comparison: Ranking) -> Any:
    """The panel of one comparison."""
    alt = require_altair()
    rows = [
        {
            **row,
            "low": max(row["error"] - 2 * row["margin"], row["error"] / 10),
            "high": row["error"] + 2 * row["margin"],
        }
        for row in comparison.rows()
    ]
    base = alt.Chart(inline_data(rows)).encode(
        y=alt.Y("method:N", title=None, sort=alt.SortField("error"))
    )
    scale = alt.Scale(type="log", nice=False, padding=12) if rows[0]["error"] > 0 else alt.Scale()
    axis = alt.Axis(
        format="~g", grid=True, gridColor="#eeeeee", labelOverlap="greedy", labelSeparation=10
    )
    bars = base.mark_rule(strokeWidth=2, color="#777777").encode(
        x=alt.X("low:Q", scale=scale), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=45, color="#111111", opacity=1)
    dots = dots.encode(
        x=alt.X(
            "error:Q",
            title=f"{comparison.loss_name}{' (logarithmic scale)' * (rows[0]['error'] > 0)}",
            scale=scale,
            axis=axis,
        )
    )
    about = [
        f"{comparison.runs} tallies of {comparison.n:,} reports, simulated from an estimate of "
        "this one",
        "dots: mean error; bars: two standard errors to both sides; differences between methods "
        "are more precise, because all have the same tallies",
    ]
    wrapped = [wrapped_line for line in about for wrapped_line in textwrap.wrap(line, _CAPTION)]
    title = alt.TitleParams(
        _heading(name), subtitle=wrapped, anchor="start", frame="group", offset=12
    )
    return alt.layer(bars, dots).properties(title=title, width=_WIDTH)


class IntervalOptions(NamedTuple):
    """Which intervals a chart has: see :meth:`warner.Estimate.rows`."""

    level: float
    target: str
    kind: str | None = None


def _panel(estimate: Solution, truth: Any, options: IntervalOptions, top: int | None) -> Any:
    """The panel of one estimate."""
    domain = estimate.domain
    drawn_as_labels = domain.raster is None and not domain.is_numeric
    if top is None and drawn_as_labels and domain.size > _MOST_LABELS:
        top = _TOP
    is_chosen = top is not None and top < domain.size
    together = is_chosen and _bounded(estimate, options) and estimate.has_intervals
    kind = options.kind or ("simultaneous" if together else None)
    shares = rows(estimate, options.level, options.target, kind)
    for i, row in enumerate(shares):
        row["order"] = i
        if truth is not None:
            row["truth"] = float(truth[i])
    if top is not None:
        return _dots(estimate, shares, options, top)
    if estimate.domain.raster is not None:
        return _map(estimate, shares, options)
    if estimate.domain.is_numeric and estimate.domain.size > _MOST_DOTS:
        return _line(estimate, shares, options)
    return _dots(estimate, shares, options, None)


def _bounded(estimate: Solution, options: IntervalOptions) -> bool:
    """Whether the shares have intervals."""
    return available_kind(estimate, options.target, options.kind) != "none"


def inline_data(rows: list[dict[str, Any]]) -> Any:
    """The rows as one JSON text, because Altair takes seconds to check lists of numbers."""
    alt = require_altair()
    return alt.Data(values=json.dumps(rows), format=alt.JsonDataFormat(type="json"))


def _title(
    estimate: Solution, caption: str, options: IntervalOptions, shown: str, more: str = ""
) -> Any:
    """The title and caption of a panel; ``shown`` names the marks that are intervals."""
    kind = available_kind(estimate, options.target, options.kind)
    if kind == "average" and _AT_ONCE not in more:
        more = f", on average over the values{more}"
    if kind == "anytime":
        more = f"{_EVERY_LOOK}{more}"
    about = f"{shown}: {100 * options.level:.4g} % interval for the {options.target}{more}"
    if not _bounded(estimate, options):
        about = "no intervals: different distributions make the same reports"
    several = estimate.reports_per_person > 1
    people = f" of {estimate.data.least_people:,} people or more" if several else ""
    reports = reports_of(estimate.n, estimate.data.simulated)
    lines = [f"{reports}{people}, {estimate.method}", caption, about]
    wrapped = [wrapped_line for line in lines for wrapped_line in textwrap.wrap(line, _CAPTION)]
    name = _heading(estimate.attribute or "estimated shares")
    return require_altair().TitleParams(
        name, subtitle=wrapped, anchor="start", frame="group", offset=12
    )


def _heading(name: str) -> list[str]:
    """A name as a title of a few lines; it may be long, or come from a file of others."""
    return textwrap.wrap(visible(name), 60, max_lines=_HEADING, placeholder=" ...") or [""]


def _dots(
    estimate: Solution, rows: list[dict[str, Any]], options: IntervalOptions, top: int | None
) -> Any:
    """A row for each value with a dot, its interval, and a tick for the truth.

    Values without an order are sorted by their shares.
    """
    alt = require_altair()
    domain = estimate.domain
    is_bounded = _bounded(estimate, options)
    data = [
        {**row, "value": label}
        for row, label in zip(rows, _distinct([_label(row["value"]) for row in rows]), strict=True)
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
    y = alt.Y("value:N", title=_value_title(domain), sort=sort)
    base = alt.Chart(inline_data(data)).encode(y=y)
    share = alt.X(
        "estimate:Q", title="share", axis=alt.Axis(format="%", grid=True, gridColor="#eeeeee")
    )
    layers, caption = [], "dots: estimate"
    if is_bounded:
        layers.append(
            base.mark_rule(strokeWidth=2, color="#777777").encode(x=alt.X("low:Q"), x2="high:Q")
        )
    layers.append(base.mark_point(filled=True, size=45, color="#111111", opacity=1).encode(x=share))
    if "truth" in rows[0]:
        layers.append(
            base.mark_tick(thickness=2, height=11, color=_TRUTH, opacity=1).encode(x="truth:Q")
        )
        caption += ", upright ticks: truth"
    return alt.layer(*layers).properties(
        title=_title(estimate, caption, options, "bars", more), width=_WIDTH
    )


def _largest(data: list[dict[str, Any]], top: int) -> list[dict[str, Any]]:
    """The rows of the largest shares, the largest first, and one row of the others together.

    The label of the last row says what the others have together. Its dot is left out where it
    would make all other rows short, and it has no interval.
    """
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


def _distinct(labels: list[str]) -> list[str]:
    """Labels cut to a length; the number of the value is added to those that are then the same."""
    cut = [label if len(label) <= _LABEL else f"{label[:_LABEL]} ..." for label in labels]
    often = Counter(cut)
    return [label if often[label] == 1 else f"{label} ({i})" for i, label in enumerate(cut)]


def _value_title(domain: Domain) -> str | None:
    """The title of the axis of values; None where labels need none."""
    if domain.attributes:
        return textwrap.shorten(visible(", ".join(domain.attributes)), _CAPTION, placeholder=" ...")
    if domain.is_binned:
        return f"value (centre of each of {domain.size} bins)"
    return "value" if domain.is_numeric else None


def _line(estimate: Solution, rows: list[dict[str, Any]], options: IntervalOptions) -> Any:
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
    shown = [row[key] for row in rows for key in ("estimate", "truth") if key in row]
    bottom, top = min(0.0, *shown), max(shown)
    # A band that is much higher than the line would flatten the line, so the band is cut.
    most = 2 * top if _bounded(estimate, options) else top
    high = min(most, max([top, *(row["high"] for row in rows)])) * 1.02
    cut = _bounded(estimate, options) and any(row["high"] > high for row in rows)
    unit = f"value ({len(rows)} bins)" if domain.is_binned else "value"
    x = alt.X("edge:Q", title=unit, scale=alt.Scale(domain=[first, last], nice=False))
    base = alt.Chart(inline_data(data)).encode(x=x)
    axis = alt.Axis(format="~%", grid=True, gridColor="#eeeeee")
    share = alt.Y(
        "estimate:Q",
        title="share of each bin" if domain.is_binned else "share",
        axis=axis,
    )
    share = share.scale(domain=[bottom, high], nice=False)
    layers, caption = [], "line: estimate"
    if _bounded(estimate, options):
        layers.append(
            base.mark_area(
                interpolate="step-after", color="#bbbbbb", opacity=0.6, clip=True
            ).encode(y=alt.Y("low:Q"), y2="high:Q")
        )
    layers.append(
        base.mark_line(
            interpolate="step-after", color="#111111", strokeWidth=1.5, clip=True
        ).encode(y=share)
    )
    if "truth" in rows[0]:
        layers.append(
            base.mark_line(
                interpolate="step-after",
                color=_TRUTH,
                strokeWidth=1.5,
                strokeDash=[5, 3],
                clip=True,
            ).encode(y="truth:Q")
        )
        caption += ", dashed: truth"
    title = _title(
        estimate, caption, options, "band", ", in places beyond the picture" if cut else ""
    )
    return alt.layer(*layers).properties(title=title, width=_WIDTH, height=240)


def _map(estimate: Solution, rows: list[dict[str, Any]], options: IntervalOptions) -> Any:
    """A map of cells, darker for larger shares, with the truth beside it on the same scale."""
    alt = require_altair()
    cells = estimate.domain.raster
    assert cells is not None
    data = [{**row, "row": row["value"][0], "column": row["value"][1]} for row in rows]
    fields = ["estimate", *(["truth"] if "truth" in rows[0] else [])]
    each = _WIDTH / len(fields) - 20 * (len(fields) - 1)
    cell = max(1.0, min(each / cells.columns, 400 / cells.rows, 40.0))
    ends = [
        min(0.0, *(row[f] for row in rows for f in fields)),
        max(row[f] for row in rows for f in fields),
    ]
    sides = "" if cells.side == 1 else f" (cells of side {cells.side:g})"
    # Cells that are left out stay blank: all rows and columns have a place.
    across, down = (
        {} if cells.places is None else {"scale": alt.Scale(domain=list(range(count)))}
        for count in (cells.columns, cells.rows)
    )
    panels = []
    for f in fields:
        x = alt.X(
            "column:O",
            title=f"column{sides}",
            axis=_every(cells.columns, cell, labelAngle=0),
            **across,
        )
        y = alt.Y(
            "row:O",
            title=f"row{sides}" if f == fields[0] else None,
            axis=_every(cells.rows, cell),
            **down,
        )
        legend = alt.Legend(
            format="~%", tickCount=5, gradientLength=max(100.0, min(200.0, cell * cells.rows))
        )
        colour = alt.Color(
            f"{f}:Q", title="share", scale=alt.Scale(domain=ends, range=_SHADES), legend=legend
        )
        drawn = alt.Chart(inline_data(data)).mark_rect().encode(x=x, y=y, color=colour)
        panels.append(
            drawn.properties(
                width=cell * cells.columns,
                height=cell * cells.rows,
                title=alt.TitleParams(f, fontWeight="normal"),
            )
        )
    width = float(np.median([row["high"] - row["low"] for row in rows])) / 2
    title = _title(
        estimate,
        "darker cells: larger shares" + ("" if cells.places is None else "; blank: left out"),
        options,
        "per cell",
        f", median ± {100 * width:.2g} percentage points",
    )
    return alt.hconcat(*panels, spacing=20).resolve_scale(color="shared").properties(title=title)


def _every(count: int, cell: float, **options: Any) -> Any:
    """An axis of ``count`` indices, with as many labels as fit cells of this size."""
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if s * cell >= 18), count)
    return require_altair().Axis(
        values=list(range(0, count, step)), ticks=False, domain=False, **options
    )


class _Inert(json.JSONEncoder):
    """JSON without ``<``, so that no tag or comment begins in the script of a page."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save(picture: Any, path: str) -> None:
    """Write a chart to a file, in the format that the suffix names."""
    suffix = Path(str(path)).suffix
    if suffix not in SUFFIXES:
        raise ArgumentError("path", f"must end in {FORMATS}", path)
    buffer: Any = io.BytesIO() if suffix in (".png", ".pdf") else io.StringIO()
    # In a page the chart is JSON in a script, which ends at the first "</script", even in a label.
    options: dict[str, dict[str, Any]] = {
        ".png": {"scale_factor": 2},
        ".html": {"inline": True, "json_kwds": {"cls": _Inert}},
    }
    try:
        picture.save(buffer, format=suffix[1:], **options.get(suffix, {}))
    except ImportError:
        raise MissingExtraError(
            "plot", "needs vl-convert-python to make pictures", None, "Install warner[plot]"
        ) from None
    content = buffer.getvalue()
    write_whole(path, content if isinstance(content, bytes) else content.encode())


# -----------------------------------------------------------------------------------------------
# Charts of groups: one panel for each value, with dots by group or a line over time.


MOST_PANELS = 12  # values
_MOST_GROUPS = 60  # with labels on one page
_MOST_LINES = 6  # paths that can be told apart in one panel
_PANEL = 200
_ROW = 15  # pixels of a group


def chart_of_groups(
    estimate: Any,
    level: float,
    target: str,
    top: int | None = None,
    values: Sequence[Any] | None = None,
) -> Any:
    """A chart of an estimate of groups, with a panel for each value."""
    names, time = estimate.names, estimate.groups.time
    most = MOST_PANELS if top is None else integer("top", top, 1)
    average = f", which {estimate.groups.average_text}"
    about = average if estimate.interval_kind(target) == "posterior" else " of each group"
    reports = reports_of(estimate.n, estimate.data.simulated)
    caption = f"{reports}; {100 * level:.4g} % intervals{about}"
    rows = estimate.rows(level, target)
    if values is not None:
        size, chosen = estimate.domain.size, _indices(estimate.domain, values)
        rows = [rows[g * size + x] for g in range(len(estimate)) for x in chosen]
        most = len(chosen)
        caption += f"; {most} of {size:,} values"
    return _facets(rows, names, time, caption, most)


def _indices(domain: Domain, values: Sequence[Any]) -> list[int]:
    """The indices of values that a caller names, each once."""
    listed = [values] if isinstance(values, str) else list(values)
    rule, remedy = "must be values of the domain", "Estimates list them under domain.labels"
    if not listed:
        raise ArgumentError("values", rule, "none", remedy)
    indices = [place_of(domain, value) for value in listed]
    if None in indices:
        raise ArgumentError("values", rule, repr(listed[indices.index(None)]), remedy)
    return list(dict.fromkeys(i for i in indices if i is not None))


def _facets(
    rows: Sequence[dict[str, Any]], names: Sequence[str], time: str | None, caption: str, most: int
) -> Any:
    """A panel for each value of the rows; of many, for those with the largest shares."""
    alt = require_altair()
    values = list(dict.fromkeys(_shown_value(row["value"]) for row in rows))
    groups = list(dict.fromkeys(_group(row, names) for row in rows))
    totals = dict.fromkeys(values, 0.0)
    data = []
    for row in rows:
        if row["estimate"] is None:
            continue
        value = _shown_value(row["value"])
        totals[value] += row["estimate"] * row["reports"]
        figures = {name: row[name] for name in ("estimate", "low", "high")}
        data.append({**figures, "value": value, "label": _group(row, names)})
        if time is not None:
            others = [visible(str(row[name])) for name in names if name != time]
            data[-1] |= {"when": _cell(row[time]), "path": ", ".join(others)}
    shown = values
    if len(values) > most:
        largest = sorted(values, key=lambda value: -totals[value])[:most]
        shown = [value for value in values if value in largest]
        caption += f"; the {most} values of {len(values)} with the largest shares"
    order = {group: i for i, group in enumerate(groups)}
    data = [{**row, "order": order[row["label"]]} for row in data if row["value"] in shown]
    title = alt.TitleParams(
        f"shares by {visible(', '.join(names))}", subtitle=caption, anchor="start", offset=12
    )
    if time is not None:
        drawn = _lines(data, time, ", ".join(name for name in names if name != time))
    else:
        drawn = _dots_of_groups(data, groups)
    facet = drawn.facet(
        facet=alt.Facet("value:N", title=None, sort=shown, header=alt.Header(labelFontWeight=600)),
        columns=3 if len(shown) > 2 else len(shown),
    )
    return page([facet.properties(title=title)])


def _dots_of_groups(data: list[dict[str, Any]], groups: list[str]) -> Any:
    """Dots with bars, a row for each group."""
    alt = require_altair()
    many = len(groups) > _MOST_GROUPS
    if many:
        y = alt.Y("order:Q", title="group (its number)", scale=alt.Scale(reverse=True))
    else:
        y = alt.Y("label:N", title=None, sort=groups)
    base = alt.Chart(inline_data(data)).encode(y=y)
    share = alt.X(
        "estimate:Q",
        title="share",
        axis=alt.Axis(format="~%", grid=True, gridColor="#eeeeee", tickCount=4),
    )
    bars = base.mark_rule(strokeWidth=1 if many else 2, color="#777777").encode(
        x="low:Q", x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=12 if many else 40, color="#111111", opacity=1)
    height = 400 if many else max(40, _ROW * len(groups))
    return alt.layer(bars, dots.encode(x=share)).properties(width=_PANEL, height=height)


def _lines(data: list[dict[str, Any]], time: str, others: str) -> Any:
    """A line with a band over time, for each path."""
    alt = require_altair()
    paths = len({row["path"] for row in data})
    named = any(isinstance(row["when"], str) for row in data)
    weeks = named and any("W" in str(row["when"]) for row in data)
    axis = alt.Axis(labelOverlap=True)
    if weeks:  # Vega-Lite reads no weeks as dates
        x = alt.X("when:O", title=visible(time), axis=axis)
    else:
        scale = alt.Scale(zero=False)
        x = alt.X(f"when:{'T' if named else 'Q'}", title=visible(time), scale=scale, axis=axis)
    base = alt.Chart(inline_data(data)).encode(x=x)
    if paths > 1:
        base = base.encode(detail="path:N")
    if 1 < paths <= _MOST_LINES:
        base = base.encode(strokeDash=alt.StrokeDash("path:N", title=visible(others)))
    axis = alt.Axis(format="~%", grid=True, gridColor="#eeeeee", tickCount=4)
    band = base.mark_area(color="#999999", opacity=0.35).encode(
        y=alt.Y("low:Q", title="share", axis=axis), y2="high:Q"
    )
    line = base.mark_line(color="#111111", strokeWidth=1.5).encode(y="estimate:Q")
    dots = base.mark_point(filled=True, size=14, color="#111111", opacity=1).encode(y="estimate:Q")
    return alt.layer(band, line, dots).properties(width=_PANEL, height=130)


def _shown_value(value: Any) -> str:
    return visible(as_text(value))


def _group(row: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(visible(str(row[name])) for name in names)


def _cell(value: Any) -> Any:
    """A time as JSON can hold it."""
    return value if isinstance(value, str | int | float) else str(value)
