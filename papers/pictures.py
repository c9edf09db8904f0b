"""Charts of the results of an experiment, drawn from the means of its table.

Series differ by the shape of their points, the dashes of their lines and their lightness, so that
a chart can be read in grey.
"""

from __future__ import annotations

from typing import Any

from papers.experiment import Experiment, Picture
from papers.table import Table
from warner.results.drawing import require_altair
from warner.results.named_summaries import encoded

_WIDTH, _HEIGHT, _CELL = 300, 220, 240
_LETTER = 5  # the width of a letter of a label, in the unit of the width
# Of areas: neighbours differ in lightness.
_FILLS = ["#08306b", "#dddddd", "#5b9bd5", "#8c510a", "#fee391", "#b2182b", "#80cdc1", "#000000"]
_SHADES = ["#f3f7fb", "#6aaed6", "#08306b"]


def draw(experiment: Experiment, picture: Picture, table: Table) -> Any:
    """Return the Altair chart of one picture.

    Args:
        experiment: the experiment, whose title stands above.
        picture: the chart as data.
        table: the results.

    Raises:
        MissingExtraError: altair is not installed.
    """
    altair = require_altair()
    rows, value = rows_of(picture, table), _value_of(picture)
    base = altair.Chart({"values": rows})
    panel = _PANELS[picture.kind](altair, base, picture, rows, value)
    if picture.facet is not None:
        order = list(dict.fromkeys(row[picture.facet] for row in rows))
        panel = panel.facet(
            altair.Facet(f"{picture.facet}:N", sort=order, title=picture.facet), columns=2
        )
        panel = _apart(panel, picture.kind)
    return panel.properties(
        title=altair.Title(picture.title or experiment.title, anchor="start", fontSize=12)
    ).configure_axis(grid=False, titleFontWeight="normal", labelLimit=300)


def rows_of(picture: Picture, table: Table) -> list[dict[str, Any]]:
    """The rows that a picture shows; none where the run has no cells of it."""
    chosen, value = table.select(**picture.where), _value_of(picture)
    rows = (
        [{k: v for k, v in row.items() if v is not None} for row in chosen.rows]
        if picture.kind == "box"
        else chosen.summary()
    )
    rows = [row for row in rows if row[value] == row[value]]
    # A logarithmic axis shows positive numbers alone; the shades of cells show 0 too.
    if picture.log_y and picture.kind not in ("map", "heat"):
        rows = [row for row in rows if row[value] > 0]
    return rows


def _value_of(picture: Picture) -> str:
    """The column of the value: of runs, or of their mean."""
    return "value" if picture.kind == "box" else "mean"


def _apart(panel: Any, kind: str) -> Any:
    """Panels with scales of their own.

    Bars side by side share their places: an offset of its own for each panel has no width. Maps
    have shades of their own, because one noisy panel would flatten the others.
    """
    if kind in ("bar", "box"):
        return panel.resolve_scale(y="independent").resolve_axis(x="independent")
    if kind in ("map", "heat"):
        return panel.resolve_scale(x="independent", y="independent", color="independent")
    return panel.resolve_scale(x="independent", y="independent")


def _x(altair: Any, picture: Picture, rows: list[dict[str, Any]]) -> Any:
    """The horizontal axis: a scale of numbers, or the texts in their order."""
    if all(isinstance(row[picture.x], (int, float)) for row in rows):
        scale = _log(altair) if picture.log_x else altair.Scale(zero=False)
        whole = all(row[picture.x] == int(row[picture.x]) for row in rows)
        axis = altair.Axis(tickMinStep=1) if whole and not picture.log_x else altair.Axis()
        return altair.X(f"{picture.x}:Q", scale=scale, title=picture.x, axis=axis)
    axis = _axis_of_texts(altair, picture, rows)
    return altair.X(f"{picture.x}:N", sort=None, title=picture.x, axis=axis)


def _places(altair: Any, picture: Picture, rows: list[dict[str, Any]]) -> Any:
    """The horizontal axis of bars and boxes: numbers in order, texts as they come."""
    numbers = all(isinstance(row[picture.x], (int, float)) for row in rows)
    return altair.X(
        f"{picture.x}:{'O' if numbers else 'N'}",
        sort="ascending" if numbers else None,
        title=picture.x,
        axis=_axis_of_texts(altair, picture, rows),
    )


def _axis_of_texts(altair: Any, picture: Picture, rows: list[dict[str, Any]]) -> Any:
    """The labels of an axis of texts; they slope where they would run into each other."""
    texts = {str(row[picture.x]) for row in rows}
    is_crowded = len(texts) * max(map(len, texts), default=0) * _LETTER > _WIDTH
    return altair.Axis(labelAngle=-30 if is_crowded else 0, labelLimit=_WIDTH)


def _log(altair: Any) -> Any:
    """A logarithmic scale that ends at the data, not at the next power of ten."""
    return altair.Scale(type="log", nice=False, padding=8)


def _y(altair: Any, picture: Picture, value: str) -> Any:
    scale = _log(altair) if picture.log_y else altair.Scale(zero=True)
    return altair.Y(f"{value}:Q", scale=scale, title=picture.value)


def _line(altair: Any, base: Any, picture: Picture, rows: list[dict[str, Any]], value: str) -> Any:
    """Means joined by lines, with bars of two standard errors."""
    x, y = _x(altair, picture, rows), _y(altair, picture, value)
    color: dict[str, Any] = {}
    series: dict[str, Any] = {}
    if picture.color is not None:
        values = list(dict.fromkeys(row[picture.color] for row in rows))
        series = encoded(picture.color, values, picture.color)
        color = {"color": series["color"]}
    bars = (
        base.transform_calculate(
            low=f"datum.{value} - 2 * datum.se", high=f"datum.{value} + 2 * datum.se"
        )
        .transform_filter("datum.low > 0" if picture.log_y else "true")
        .mark_rule(opacity=0.5)
        .encode(x=x, y=altair.Y("low:Q", title=picture.value), y2="high:Q", **color)
    )
    size = 45 if len({row[picture.x] for row in rows}) <= 40 else 12
    lines = base.mark_line(point=altair.OverlayMarkDef(filled=True, size=size))
    return altair.layer(lines.encode(x=x, y=y, **series), bars).properties(
        width=_WIDTH, height=_HEIGHT
    )


def _bar(altair: Any, base: Any, picture: Picture, rows: list[dict[str, Any]], value: str) -> Any:
    """Bars side by side; points where the axis is logarithmic and has no 0 to begin a bar at."""
    encoding = {
        "x": _places(altair, picture, rows),
        "y": _y(altair, picture, value),
    }
    if picture.color is not None:
        encoding["color"] = altair.Color(
            f"{picture.color}:N", sort=None, scale=altair.Scale(range=_FILLS), title=picture.color
        )
        encoding["xOffset"] = altair.XOffset(f"{picture.color}:N", sort=None)
    if picture.log_y:
        if picture.color is not None:
            encoding["shape"] = altair.Shape(f"{picture.color}:N", sort=None, title=picture.color)
        marks = base.mark_point(filled=True, size=70, stroke="#000000", strokeWidth=0.5)
    else:
        marks = base.mark_bar(stroke="#000000", strokeWidth=0.5)
    return marks.encode(**encoding).properties(width=_WIDTH, height=_HEIGHT)


def _box(altair: Any, base: Any, picture: Picture, rows: list[dict[str, Any]], value: str) -> Any:
    """Boxes of quartiles over runs, with whiskers to the least and the largest."""
    encoding = {
        "x": _places(altair, picture, rows),
        "y": altair.Y(
            f"{value}:Q",
            scale=altair.Scale(type="log" if picture.log_y else "linear", zero=False),
            title=picture.value,
        ),
    }
    if picture.color is not None:
        encoding["color"] = altair.Color(
            f"{picture.color}:N", sort=None, scale=altair.Scale(range=_FILLS), title=picture.color
        )
        encoding["xOffset"] = altair.XOffset(f"{picture.color}:N", sort=None)
    return (
        base.mark_boxplot(
            extent="min-max",
            size=10,
            box={"stroke": "#000000", "strokeWidth": 0.5},
            median={"color": "#e6550d", "thickness": 2},
        )
        .encode(**encoding)
        .properties(width=_WIDTH, height=_HEIGHT)
    )


def _cells(altair: Any, base: Any, picture: Picture, rows: list[dict[str, Any]], value: str) -> Any:
    """Cells that grow darker with the value: a map, or a table of two axes."""
    assert picture.y is not None
    kind = "O"
    across = len({row[picture.x] for row in rows})
    down = len({row[picture.y] for row in rows})
    side = max(4.0, min(24.0, 2 * _CELL / max(across, down, 1)))
    # Row 0 of a grid is its lowest row; a table of two axes is read from the top.
    across_order, order = ("ascending", "descending") if picture.kind == "map" else (None, None)
    ticks = altair.Axis(labels=picture.kind == "heat" and across <= 30, ticks=False, labelAngle=0)
    rows_axis = altair.Axis(labels=picture.kind == "heat" and down <= 30, ticks=False)
    encoding = {
        "x": altair.X(f"{picture.x}:{kind}", sort=across_order, title=picture.x, axis=ticks),
        "y": altair.Y(f"{picture.y}:{kind}", sort=order, title=picture.y, axis=rows_axis),
        "color": altair.Color(
            f"{value}:Q",
            scale=altair.Scale(range=_SHADES, type="symlog" if picture.log_y else "linear"),
            title=picture.value,
        ),
    }
    return base.mark_rect().encode(**encoding).properties(width=across * side, height=down * side)


_PANELS = {"line": _line, "bar": _bar, "box": _box, "map": _cells, "heat": _cells}
