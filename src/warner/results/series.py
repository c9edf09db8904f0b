"""Series of a chart, told apart by colour, dashes and shape, so that grey print shows them too."""

from __future__ import annotations

from typing import Any

from warner.results.charts import require_altair

_DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [10, 4], [4, 1, 1, 1], [3, 5], [1, 1]]
_SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "stroke",
    "arrow",
]
_TONES = ["#000000", "#b84300", "#0b6aa2", "#7a7a7a", "#4b9b5f", "#a05a9c", "#c9a227", "#6aaed6"]


def encoded(column: str, order: list[Any]) -> dict[str, Any]:
    """The encodings of lines and points that tell series apart."""
    alt = require_altair()
    tones, dashes, shapes = (
        alt.Scale(domain=order, range=(each * len(order))[: len(order)])
        for each in (_TONES, _DASHES, _SHAPES)
    )
    field = f"{column}:N"
    return {
        "color": alt.Color(field, scale=tones, title=column),
        "strokeDash": alt.StrokeDash(field, scale=dashes, title=column),
        "shape": alt.Shape(field, scale=shapes, title=column),
    }
