"""Charts of groups: one panel for each value, with dots by group or a line over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warner._core.text import visible
from warner.results.charts import inline_data, page, require_altair
from warner.results.tables import as_text

MOST_PANELS = 12  # values
_MOST_GROUPS = 60  # with labels on one page
_MOST_LINES = 6  # paths that can be told apart in one panel
_WIDTH = 200
_ROW = 15  # pixels of a group


def chart(
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    time: str | None,
    caption: str,
    most: int = MOST_PANELS,
) -> Any:
    """A chart of the rows of ``GroupEstimates.rows``."""
    alt = require_altair()
    values = list(dict.fromkeys(_text(row["value"]) for row in rows))
    groups = list(dict.fromkeys(_group(row, names) for row in rows))
    totals = dict.fromkeys(values, 0.0)
    data = []
    for row in rows:
        if row["estimate"] is None:
            continue
        value = _text(row["value"])
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
        drawn = _dots(data, groups)
    facet = drawn.facet(
        facet=alt.Facet("value:N", title=None, sort=shown, header=alt.Header(labelFontWeight=600)),
        columns=3 if len(shown) > 2 else len(shown),
    )
    return page([facet.properties(title=title)])


def _dots(data: list[dict[str, Any]], groups: list[str]) -> Any:
    """Dots with bars, a row for each group."""
    alt = require_altair()
    many = len(groups) > _MOST_GROUPS
    if many:
        place = alt.Y("order:Q", title="group (its number)", scale=alt.Scale(reverse=True))
    else:
        place = alt.Y("label:N", title=None, sort=groups)
    base = alt.Chart(inline_data(data)).encode(y=place)
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
    return alt.layer(bars, dots.encode(x=share)).properties(width=_WIDTH, height=height)


def _lines(data: list[dict[str, Any]], time: str, others: str) -> Any:
    """A line with a band over time, for each path."""
    alt = require_altair()
    paths = len({row["path"] for row in data})
    named = any(isinstance(row["when"], str) for row in data)
    weeks = named and any("W" in str(row["when"]) for row in data)
    axis = alt.Axis(labelOverlap=True)
    if weeks:  # Vega-Lite reads no weeks as dates
        place = alt.X("when:O", title=visible(time), axis=axis)
    else:
        scale = alt.Scale(zero=False)
        place = alt.X(f"when:{'T' if named else 'Q'}", title=visible(time), scale=scale, axis=axis)
    base = alt.Chart(inline_data(data)).encode(x=place)
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
    return alt.layer(band, line, dots).properties(width=_WIDTH, height=130)


def _text(value: Any) -> str:
    return visible(as_text(value))


def _group(row: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(visible(str(row[name])) for name in names)


def _cell(value: Any) -> Any:
    """A time as JSON can hold it."""
    return value if isinstance(value, str | int | float) else str(value)
