"""Charts of groups: shares or numbers, a panel for each, and the forest of their differences."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from warner._core.checks import integer
from warner._core.errors import ArgumentError, WarnerError
from warner._core.table import as_text
from warner._core.text import visible
from warner.domains import Domain
from warner.domains.interval import Dates
from warner.results.drawing import (
    BAND,
    INK,
    PLAIN,
    QUIET,
    WIDTH,
    Undrawn,
    apart,
    folded,
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
from warner.results.from_tally import all_people
from warner.results.named_summaries import encoded
from warner.results.ranks import place_of
from warner.results.tables import counted_in_words, in_words, index_of_yes

MOST_PANELS = 12  # values
_MOST_GROUPS = 60  # with labels on one page
_MOST_LINES = 6  # paths that can be told apart in one panel
_PANEL = 200
_APART = 8  # pixels between the marks of two lines at one time
_ROW = 15  # pixels of a group
_OF_LINES = 130  # pixels of the height of a panel of lines
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")  # at the start of a day, or of a time of day
_DATE = re.compile(  # a day, a week or a month, also in the name of a file
    r"(?<!\d)\d{4}-(W[0-5]\d|(0[1-9]|1[0-2])(-\d{2})?)(?![\dT]|-\d| \d{2}:)"
)
_TITLE = 30  # characters of the title of a panel's axis


def chart_of_groups(
    estimate: Any,
    level: float,
    target: str,
    top: int | None = None,
    values: Sequence[Any] | None = None,
    title: str | None = None,
    labels: Sequence[str] | None = None,
) -> Undrawn:
    """A chart of an estimate of groups, with a panel for each value."""
    names, time = estimate.names, time_of_groups(estimate)
    most = MOST_PANELS if top is None else integer("top", top, 1)
    average = f", which {estimate.groups.average_text}"
    about = average if estimate.interval_kind(target) == "posterior" else " of each group"
    caption = f"{counted_in_words(estimate)}; {100 * level:.4g} % intervals{about}"
    rows, size = estimate.rows(level, target), estimate.domain.size
    count = len(estimate) + (0 if time else len(estimate.groups.last))  # all people have no time
    rows = rows[: count * size]
    require_each(labels, size)
    chosen = None if values is None else _indices(estimate.domain, values)
    if values is None and size == 2:  # the panels of two answers are mirror images
        chosen = [index_of_yes(estimate.domain)]
    if chosen is not None:
        rows = [rows[g * size + x] for g in range(count) for x in chosen]
        most = len(chosen)
        caption += f"; {most} of {size:,} values" if size > 2 else ""
        labels = None if labels is None else [labels[x] for x in chosen]
    if labels is not None:
        rows = [{**row, "value": labels[i % len(labels)]} for i, row in enumerate(rows)]
    return facets(rows, names, time, title or _shares_by(estimate), caption, most)


def chart_of_items(
    estimate: Any,
    rows: Sequence[Mapping[str, Any]],
    level: float,
    top: int | None = None,
    title: str | None = None,
) -> Undrawn:
    """A chart of items that people tick, with a panel for each, by the rows of their table."""
    data = [{**row, "value": row["item"]} for row in rows]
    caption = f"{counted_in_words(estimate)}; {100 * level:.4g} % intervals of each group"
    most = len(data) if top is None else integer("top", top, 1)
    heading, time = title or _shares_by(estimate), time_of_groups(estimate)
    return facets(data, estimate.names, time, heading, caption, most)


def _shares_by(estimate: Any) -> str:
    """The title of a chart of the shares of groups."""
    heading = f"Shares by {visible(', '.join(estimate.names))}"
    return f"{heading}: {estimate.attribute}" if estimate.attribute else heading


def chart_of_numbers(
    estimate: Any,
    rows: Sequence[Mapping[str, Any]],
    level: float,
    title: str | None = None,
    unit: str | None = None,
) -> Undrawn:
    """A chart of the mean and the quartiles of each group, by the rows of their table."""
    data = [{**row, "value": row["summary"]} for row in rows]
    heading = f"Mean and quartiles by {visible(', '.join(estimate.names))}"
    heading += f": {estimate.attribute}" if estimate.attribute else ""
    caption = f"{counted_in_words(estimate)}; {100 * level:.4g} % intervals of each group"
    axis = axis_of_numbers(unit or estimate.attribute or "value")
    names, time = estimate.names, time_of_groups(estimate)
    return facets(data, names, time, title or heading, caption, len(data), axis)


def axis_of_numbers(name: str) -> Any:
    """The axis of numbers with their unit or their question as its title."""
    title = textwrap.shorten(visible(name), _TITLE, placeholder=" ...")
    return require_altair().Axis(tickCount=4, grid=True, title=title)


def time_of_groups(estimate: Any) -> str | None:
    """The column of the times of an estimate of groups, or None."""
    return estimate.groups.time or time_among(estimate.names, estimate.groups.table.keys)


def time_among(names: Sequence[str], keys: Sequence[Sequence[Any]]) -> str | None:
    """The one column of dates among those of some groups, if few lines show them over time.

    >>> time_among(["ward", "week"], [("north", "2024-W01"), ("north", "2024-W02")])
    'week'
    """
    # Each group is estimated by itself, so that a column of dates is a time without a series too.
    columns = dict(zip(names, zip(*keys, strict=True), strict=True))
    dated = [name for name, values in columns.items() if _dates_in(values)]
    if len(dated) != 1:
        return None
    others = [of for name, of in columns.items() if name != dated[0]]
    lines = set(zip(*others, strict=True))
    return dated[0] if len(lines) <= _MOST_LINES else None


def _dates_in(values: Iterable[Any]) -> dict[Any, str]:
    """The day, the week or the month that each of several values has; {} where one has none."""
    dates: dict[Any, str] = {}
    for value in dict.fromkeys(values):
        stated = [match[0] for match in _DATE.finditer(str(value))]
        if len(stated) != 1:
            return {}
        dates[value] = stated[0]
    is_one_unit = len({(len(date), "W" in date) for date in dates.values()}) == 1
    # Two files of one week are no two times.
    return dates if is_one_unit and len(set(dates.values())) == len(dates) > 1 else {}


def _indices(domain: Domain, values: Sequence[Any]) -> list[int]:
    """The indices of values that a caller names, each once."""
    listed = [values] if isinstance(values, str) else list(values)
    remedy = "All values are in estimate.domain.labels"
    if not listed:
        raise ArgumentError("values", "must name at least one value", "none", remedy)
    indices = [place_of(domain, value) for value in listed]
    if None in indices:
        wrong = repr(listed[indices.index(None)])
        raise ArgumentError("values", "must be values of the question", wrong, remedy)
    return list(dict.fromkeys(i for i in indices if i is not None))


def facets(
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    time: str | None,
    heading: str,
    caption: str,
    most: int,
    axis: Any = None,
) -> Undrawn:
    """A panel for each value of the rows; of many, for those with the largest shares."""
    if time is not None:  # all people have none
        rows = [row for row in rows if row[time] not in all_people(names)]
    dates = {} if time is None else _dates_in(row[time] for row in rows)
    axis_of_time = time or ""
    if any(date != str(value) for value, date in dates.items()):  # in the names of files
        units = {8: "week", 7: "month", 10: "day"}
        axis_of_time = units[len(next(iter(dates.values())))]
    values = list(dict.fromkeys(_shown_value(row["value"]) for row in rows))
    groups = list(dict.fromkeys(_group(row, names) for row in rows))
    labels = dict(zip(groups, apart(groups), strict=True))
    totals = dict.fromkeys(values, 0.0)
    data = []
    for row in rows:
        if row["estimate"] is None:
            continue
        value = _shown_value(row["value"])
        totals[value] += row["estimate"] * row["reports"]
        figures = {name: row[name] for name in ("estimate", "low", "high")}
        data.append({**figures, "value": value, "label": labels[_group(row, names)]})
        if time is not None:
            path = [visible(str(row[name])) for name in names if name != time]
            when = dates.get(row[time]) or (
                row[time] if isinstance(row[time], str | int | float) else str(row[time])
            )
            data[-1] |= {"when": when, "path": folded(", ".join(path))}
    shown = values
    if len(values) > most:
        largest = sorted(values, key=lambda value: -totals[value])[:most]
        shown = [value for value in values if value in largest]
        caption += f"; of {len(values)} values, the {most} with the largest shares"
    order = {label: i for i, label in enumerate(labels.values())}
    data = [{**row, "order": order[row["label"]]} for row in data if row["value"] in shown]
    # All panels have one axis, so that they can be compared.
    ends = [row[key] for row in data for key in ("estimate", "low", "high") if row[key] is not None]

    def draw(shares: Sequence[float]) -> Any:
        alt = require_altair()
        if axis is None:
            scale, sizes = scale_of_shares(shares), axis_of_shares(tickCount=4)
        else:
            scale, sizes = alt.Scale(domain=[min(ends), max(ends)], nice=True, zero=False), axis
        if time is not None and len(names) == 1 and 1 < len(shown) <= _MOST_LINES:
            # All lines of one path have room in one panel, where they are compared best.
            lines_of = dict(zip(shown, apart(shown), strict=True))
            lines = [{**row, "path": lines_of[row["value"]]} for row in data]
            drawn = _lines(lines, [*lines_of.values()], axis_of_time, "", scale, sizes, WIDTH)
            panels = [drawn.properties(height=2 * _OF_LINES)]
            return _of_one_legend(panels, titled(heading, [caption]), 1)
        paths = list(dict.fromkeys(row["path"] for row in data)) if time is not None else []
        # Three panels in a line, or two where one would be left for the last line.
        columns = 2 if len(shown) % 3 == 1 and len(shown) % 2 == 0 else min(3, len(shown))
        width = WIDTH if columns == 1 else _PANEL
        panels = []
        for i, value in enumerate(shown):
            rows_of_value = [row for row in data if row["value"] == value]
            if time is not None:
                others = ", ".join(name for name in names if name != time)
                drawn = _lines(rows_of_value, paths, axis_of_time, others, scale, sizes, width)
            else:
                drawn = _dots_of_groups(
                    rows_of_value, [*labels.values()], scale, sizes, is_named=i % columns == 0
                )
            name = alt.TitleParams(folded(value).split("\n"), fontSize=12)
            panels.append(drawn.properties(title=name, width=width))
        return _of_one_legend(panels, titled(heading, [caption]), columns)

    return Undrawn(ends if axis is None else [], draw)


def _of_one_legend(panels: Sequence[Any], title: Any, columns: int) -> Any:
    """A page of panels with the same lines, which have their colours and shapes in all panels."""
    return page(panels, title, columns).resolve_scale(color="shared", shape="shared")


def _dots_of_groups(
    data: list[dict[str, Any]], groups: list[str], scale: Any, axis: Any, is_named: bool
) -> Any:
    """Dots with bars, a row for each group; the panels of a line name the rows once."""
    alt = require_altair()
    many = len(groups) > _MOST_GROUPS
    if many:
        y = alt.Y("order:Q", title="number of the group", scale=alt.Scale(reverse=True))
    else:
        y = alt.Y("label:N", title=None, sort=groups, axis=folded_labels(labels=is_named))
        y = y.scale(domain=groups)
    base = alt.Chart(inline_data(data)).encode(y=y)
    share = alt.X("estimate:Q", axis=axis, scale=scale)
    bars = base.mark_rule(strokeWidth=1 if many else 2, color=QUIET).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=12 if many else 40, color=INK, opacity=1)
    height = 400 if many else step(groups, _ROW)
    return alt.layer(bars, dots.encode(x=share)).properties(width=_PANEL, height=height)


def _lines(
    data: list[dict[str, Any]],
    paths: list[str],
    time: str,
    others: str,
    scale: Any,
    sizes: Any,
    width: int,
) -> Any:
    """A line for each path in time, with a band, or bars where bands would cover each other."""
    alt = require_altair()
    named = any(isinstance(row["when"], str) for row in data)
    days = all(_DAY.match(str(row["when"])) for row in data)
    # Between two whole numbers of weeks or years there is no tick.
    whole = all(isinstance(row["when"], int) for row in data)
    axis = alt.Axis(labelOverlap=True, **({"tickMinStep": 1, "format": "d"} if whole else {}))
    by_name, are_few = named and not days, 1 < len(paths) <= _MOST_LINES
    if by_name:  # weeks, which Vega-Lite does not read, and months, each with its name
        times = _whole_range(data)
        # Marks side by side stand near their tick, also where ticks are far apart.
        spread = min(0.5, _APART * len(paths) * len(times) / width)
        padding = {"paddingInner": 1 - spread} if are_few else {}
        x = alt.X("when:O", title=visible(time), axis=axis).scale(domain=times, **padding)
    else:
        x = alt.X(f"when:{'T' if named else 'Q'}", title=visible(time), axis=axis)
        x = x.scale(zero=False)
    base = alt.Chart(inline_data(data)).encode(x=x)
    y = alt.Y("low:Q", axis=sizes, scale=scale)
    if are_few:
        names = {"labelExpr": "split(datum.label, '\\n')", "labelLimit": 0}
        looks = encoded("path", paths, visible(others) or None, **names)
        dashes, shape = looks.pop("strokeDash"), looks.pop("shape")
        base = base.encode(**looks)
        if by_name:  # side by side
            base = base.encode(xOffset=alt.XOffset("path:N", sort=paths))
            band = base.mark_rule(strokeWidth=1.2)
        else:
            band = base.mark_area(fillOpacity=0.15)
        line = base.mark_line(strokeWidth=1.5).encode(y="estimate:Q", strokeDash=dashes)
        dots = base.mark_point(filled=True, size=28, opacity=1).encode(y="estimate:Q", shape=shape)
    else:
        base = base.encode(detail="path:N")
        band = base.mark_area(fill=BAND, fillOpacity=0.7, stroke=QUIET, strokeWidth=0.6)
        line = base.mark_line(color=INK, strokeWidth=1.5).encode(y="estimate:Q")
        dots = base.mark_point(filled=True, size=14, color=INK, opacity=1).encode(y="estimate:Q")
    layers = alt.layer(band.encode(y=y, y2="high:Q"), line, dots)
    layers = layers.resolve_legend(strokeDash="independent")
    return layers.properties(width=width, height=_OF_LINES)


def _shown_value(value: Any) -> str:
    return visible(as_text(value))


def _group(row: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(visible(str(row[name])) for name in names)


def _whole_range(data: list[dict[str, Any]]) -> Any:
    """All weeks or months from the first to the last, so that a gap of the data is seen as one."""
    texts = sorted({str(row["when"]) for row in data})
    unit = Dates("week" if "W" in texts[0] else "month")
    try:
        index = unit.encode(texts)
    except WarnerError:  # other texts, such as quarters
        return texts
    return unit.decode(range(index[0], index[-1] + 1))


# -----------------------------------------------------------------------------------------------
# The forest of differences: a panel for each quantity, with a row for each pair of groups.


def forest(
    differences: Any,
    top: int | None = None,
    title: str | None = None,
    largest_first: bool = True,
    labels: Sequence[str] | None = None,
    unit: str | None = None,
    has_legend: bool = True,
) -> Undrawn:
    """A chart of differences between groups, with a line at 0.

    There is a panel for each value or number, with a row for each pair of groups; of a single pair
    all shares stand in one panel. Of two values one is drawn, "yes" or else the last.
    """
    require_each(labels, differences.domain.size)
    most = _MOST_GROUPS if top is None else integer("top", top, 1)
    rows, texts = differences.rows(), {}
    if labels is not None and differences.of == "shares":
        shown = map(_shown_value, differences.domain.labels)
        texts = dict(zip(shown, labels, strict=True))
    is_one_pair = _is_one_pair(rows)
    largest_first = largest_first and not (is_one_pair and differences.of == "numbers")
    about = legend_of_forest(differences, largest_first) if has_legend else []
    for row in rows:
        row["name"] = _shown_value(row["value"])
    domain = differences.domain
    if differences.of == "shares" and domain.size == 2 and differences.noun == "value":
        drawn_value = _shown_value(domain.labels[index_of_yes(domain)])
        rows = [row for row in rows if row["name"] == drawn_value]
    panels: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = texts.get(row["name"], row["name"])
        panel, row["label"] = name, row["group"]
        if is_one_pair and row["is_share"]:
            panel, row["label"] = in_words(row["group"], row["reference"]), name
        elif len({each["reference"] for each in rows}) > 1:
            row["label"] = in_words(row["group"], row["reference"])
        panels.setdefault(panel, []).append(row)
    about += _chosen(panels, most, differences.of == "shares", differences.noun)
    about += [differences.chosen] if differences.chosen else []
    heading = "Differences between groups"
    heading += f": {differences.question}" if differences.question else ""
    about += [f"People are {differences.drawn}."] if differences.drawn else []
    for panel_rows in panels.values():
        if largest_first:
            panel_rows.sort(key=_size, reverse=True)
    listed = [row for panel_rows in panels.values() for row in panel_rows]
    numbers = _ends([row for row in listed if not row["is_share"]])  # all in one unit

    def draw(shares: Sequence[float]) -> Any:
        of_shares = "percentage points", _around_0(100 * end for end in shares)
        of_numbers = unit or "the unit of the answers", _around_0(numbers)
        drawn = [
            _of_differences(
                name,
                panel_rows,
                differences.level,
                *(of_shares if panel_rows[0]["is_share"] else of_numbers),
            )
            for name, panel_rows in panels.items()
        ]
        return page(drawn, titled(title or heading, about))

    return Undrawn(_ends([row for row in listed if row["is_share"]]), draw)


def legend_of_forest(differences: Any, largest_first: bool = True) -> list[str]:
    """How a chart of differences is read."""
    rows = differences.rows()
    order = "Largest difference first." if largest_first else "In the order of the groups."
    if _is_one_pair(rows) and differences.of == "numbers":
        order = "Bands in the order of the numbers."
    legend = [
        f"Lines: {100 * differences.level:.4g} % intervals, not corrected for the number of "
        "differences.",
        order,
        "Filled dots: differences too large to be chance, even with so many comparisons of one "
        f"question (p (Holm) below {1 - differences.level:.3g}). Hollow dots: all other "
        "differences.",
    ]
    if any("low_if_kept" in row for row in rows):
        legend.append("Thick lines: the interval if nobody changed the answer.")
    if differences.simulated:
        legend.append("The reports are simulated.")
    return legend


def _is_one_pair(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all differences are between the same two groups."""
    return len({(row["group"], row["reference"]) for row in rows}) == 1


def _chosen(
    panels: dict[str, list[dict[str, Any]]], most: int, is_of_shares: bool, noun: str
) -> list[str]:
    """Leave out the smallest differences of many, and say so."""
    about, choice = [], "the intervals do not allow for this choice"
    if is_of_shares and len(panels) > MOST_PANELS:
        furthest = {name: max(_size(row) for row in panels[name]) for name in panels}
        about.append(
            f"of {len(panels):,} {noun}s, the {MOST_PANELS} with the largest differences; {choice}"
        )
        for name in sorted(panels, key=lambda name: -furthest[name])[MOST_PANELS:]:
            del panels[name]
    if (longest := max(map(len, panels.values()))) > most:
        about.append(f"the {most} largest of {longest:,} differences in each panel; {choice}")
        for name, rows in panels.items():
            largest = sorted(rows, key=lambda row: -_size(row))[:most]
            panels[name] = [row for row in rows if row in largest]
    return about


def _size(row: dict[str, Any]) -> float:
    return abs(float(row["difference"]))


def _ends(rows: Sequence[dict[str, Any]]) -> list[float]:
    return [row[key] for row in rows for key in ("low", "high")]


def _around_0(ends: Iterable[float]) -> Any:
    """The scale of differences that reaches some ends, with 0 on it."""
    reached = [0.0, *ends]
    return require_altair().Scale(domain=[min(reached), max(reached)], nice=True)


def _of_differences(
    name: str, rows: Sequence[dict[str, Any]], level: float, unit: str, scale: Any
) -> Any:
    """The panel of one quantity; a dot is filled where the corrected p is small."""
    is_share = rows[0]["is_share"]
    groups, references = ({row[key] for row in rows} for key in ("group", "reference"))
    keys = [key for key in ("low", "high", "low_if_kept", "high_if_kept") if key in rows[0]]
    shown = apart([visible(row["label"]) for row in rows])
    data = []
    for row, label in zip(rows, shown, strict=True):
        figures = {key: row[key] * (100 if is_share else 1) for key in ("difference", *keys)}
        differs = row["p_holm"] < 1 - level
        data.append({**figures, "pair": label, "differs": differs})
    measured = f"difference in {unit}"
    if len(references) == 1:
        group = groups.pop() if len(groups) == 1 else "group"
        measured += f" ({in_words(group, references.pop())})"
    return panel_of_forest(name, data, measured, scale)


def panel_of_forest(
    name: str, data: list[dict[str, Any]], measured: str, scale: Any, none: float = 0.0
) -> Any:
    """The panel of a forest: "difference", its ends and whether it "differs" from ``none``."""
    alt = require_altair()
    shown = [row["pair"] for row in data]
    y = alt.Y("pair:N", title=None, sort=shown, axis=folded_labels()).scale(domain=shown)
    x = alt.X("difference:Q", title=folded(visible(measured), 2 * _PANEL // 6).split("\n"))
    x = x.axis(grid=True).scale(scale)
    base = alt.Chart(inline_data(data)).encode(y=y)
    zero = alt.Chart(inline_data([{"at": none}])).mark_rule(color=INK, strokeWidth=1)
    layers = [
        zero.encode(x="at:Q"),
        base.mark_rule(strokeWidth=2, color=QUIET).encode(x=alt.X("low:Q"), x2="high:Q"),
    ]
    if "low_if_kept" in data[0]:
        thick = base.mark_rule(strokeWidth=6, color=BAND)
        layers.append(thick.encode(x=alt.X("low_if_kept:Q"), x2="high_if_kept:Q"))
    dots = base.mark_point(size=50, stroke=INK, strokeWidth=1.5, opacity=1)
    fill = alt.condition("datum.differs", alt.value(INK), alt.value(PLAIN))
    layers.append(dots.encode(x=x, fill=fill))
    question = alt.TitleParams(folded(visible(name)).split("\n"), anchor="start", fontSize=12)
    return alt.layer(*layers).properties(title=question, width=WIDTH, height=step(shown))
