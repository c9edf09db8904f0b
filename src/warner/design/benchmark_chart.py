"""The chart of a benchmark: mean losses as lines, one panel for each mechanism and setting."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from warner.results.charts import inline_data, require_altair
from warner.results.named_summaries import encoded

AXES = ("n", "epsilon", "mechanism")
_WIDTH, _HEIGHT = 240, 190
_TITLE = 30  # letters of a line of the title of the vertical axis
_NAMES = {"n": "people", "epsilon": "epsilon (nats)", "mechanism": "mechanism", "truth": "truth"}


def chart(rows: Sequence[dict[str, Any]], loss: str, x: str | None) -> Any:
    """Draw rows of a benchmark, all of one loss."""
    alt = require_altair()
    counts = {key: len({row[key] for row in rows}) for key in (*AXES, "truth")}
    axis = x or next((key for key in AXES if counts[key] > 1), "n")
    columns, others = _panels(counts, axis)
    positive = all(row["mean"] > 0 for row in rows)
    drawn = [_drawn(row, columns, others) for row in rows]
    base = alt.Chart()  # the data are of all panels
    across = _across(alt, axis, rows)
    down = alt.Y(
        "mean:Q",
        title=[*textwrap.wrap(loss, _TITLE), f"mean of {rows[0]['runs']} runs"],
        scale=_log(alt) if positive else alt.Undefined,
        axis=alt.Axis(format="~g", grid=True, gridColor="#eeeeee"),
    )
    series = encoded("method", list(dict.fromkeys(row["method"] for row in rows)))
    dodge = {"xOffset": "method:N"} if axis == "mechanism" else {}
    bars = base.mark_rule().encode(
        x=across, y=alt.Y("low:Q"), y2="high:Q", color=series["color"], **dodge
    )
    if axis == "mechanism":
        marks = base.mark_point(filled=True, size=55, opacity=1)
        series = {key: value for key, value in series.items() if key != "strokeDash"}
    else:
        marks = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=45))
    layers = alt.layer(bars, marks.encode(x=across, y=down, **series, **dodge))
    layers = layers.properties(width=_width(axis, counts, rows), height=_HEIGHT)
    facets: dict[str, Any] = {}
    if columns is not None:
        facets["column"] = _facet(alt, "column", drawn)
    if others:
        facets["row"] = _facet(alt, "row", drawn)
    data = inline_data(drawn)
    whole = layers.facet(data=data, **facets) if facets else layers.properties(data=data)
    return whole.configure_view(stroke="#dddddd").configure_axis(
        grid=False, titleFontWeight="normal", labelLimit=300
    )


def _panels(counts: dict[str, int], axis: str) -> tuple[str | None, list[str]]:
    """The key whose values are columns of panels, and those whose combinations are the rows."""
    left = [
        key for key in ("mechanism", "epsilon", "n", "truth") if key != axis and counts[key] > 1
    ]
    return (left[0], left[1:]) if left else (None, [])


def _drawn(row: dict[str, Any], columns: str | None, others: list[str]) -> dict[str, Any]:
    """The fields of a row that the chart shows."""
    low = max(row["mean"] - 2 * row["margin"], row["mean"] / 10)
    named = {
        **({} if columns is None else {"column": _named(columns, row[columns])}),
        **({"row": ", ".join(_named(key, row[key]) for key in others)} if others else {}),
    }
    return {**row, "low": low, "high": row["mean"] + 2 * row["margin"], **named}


def _named(key: str, value: Any) -> str:
    """The heading of a panel."""
    if key == "n":
        return f"{value:,} people"
    return f"epsilon {value:g}" if key == "epsilon" else str(value)


def _facet(alt: Any, field: str, drawn: Sequence[dict[str, Any]]) -> Any:
    """The panels of one field, in the order of the rows."""
    header = alt.Header(title=None, labelFontSize=12, labelLimit=_WIDTH)
    order = list(dict.fromkeys(row[field] for row in drawn))
    kind = alt.Column if field == "column" else alt.Row
    return kind(f"{field}:N", header=header, sort=order, title=None)


def _across(alt: Any, axis: str, rows: Sequence[dict[str, Any]]) -> Any:
    """The horizontal axis, with a tick at every value."""
    if axis == "mechanism":
        order = list(dict.fromkeys(row["mechanism"] for row in rows))
        return alt.X("mechanism:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30))
    values = sorted({row[axis] for row in rows})
    ticks = alt.Axis(values=values, format="~s" if axis == "n" else "~g", labelOverlap=True)
    return alt.X(f"{axis}:Q", title=_NAMES[axis], scale=_log(alt), axis=ticks)


def _log(alt: Any) -> Any:
    return alt.Scale(type="log", nice=False, padding=12)


def _width(axis: str, counts: dict[str, int], rows: Sequence[dict[str, Any]]) -> int:
    """The width of a panel; mechanisms need room for their methods."""
    if axis != "mechanism":
        return _WIDTH
    methods = len({row["method"] for row in rows})
    return max(_WIDTH, counts["mechanism"] * (12 * methods + 20))
