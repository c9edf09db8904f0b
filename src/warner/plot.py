"""Pictures of estimates. Takes Estimates, computes nothing. Readable in grey: position and shape carry the meaning."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warner._check import ArgumentError, MissingExtraError, message
from warner.estimate import Estimate, as_text
from warner.reports import write_whole

_MOST_LABELS = 60  # beyond it a row per value does not fit a page


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise MissingExtraError(message("plot", "needs altair and vl-convert-python", None, "Install warner[plot]")) from None
    return altair


def chart(estimates: Sequence[Estimate], truth: Sequence[Any] | None = None, level: float = 0.95, target: str = "population") -> Any:
    """Shares as points with intervals, one panel per estimate; a tick marks the truth where ``truth`` (K,) is given."""
    for i, e in enumerate(estimates):
        if truth is not None and np.shape(truth[i]) != (e.domain.size,):
            raise ArgumentError(message("truth", f"must have shape ({e.domain.size},)", str(np.shape(truth[i]))))
    panels = [_panel(e, None if truth is None else truth[i], level, target) for i, e in enumerate(estimates)]
    return _altair().vconcat(*panels).configure_view(stroke=None).configure_axis(grid=False)


def _panel(estimate: Estimate, truth: Any, level: float, target: str) -> Any:
    alt = _altair()
    data = [{**row, "value": as_text(row["value"]), "order": i} for i, row in enumerate(estimate.rows(level, target))]
    for i, row in enumerate(data):
        if truth is not None:
            row["truth"] = float(truth[i])
    ordered = len(data) > _MOST_LABELS or not isinstance(estimate.domain.labels[0], str)
    if len(data) > _MOST_LABELS:
        numbers = all(isinstance(value, int | float) for value in estimate.domain.labels)
        for row, value in zip(data, estimate.domain.labels, strict=True):
            row["place"] = value if numbers else row["order"]
        place = alt.Y("place:Q", title="value" if numbers else "value (its number)", scale=alt.Scale(zero=False, nice=False))
    else:
        place = alt.Y("value:N", title=None, sort=alt.SortField("order") if ordered else alt.SortField("estimate", order="descending"))
    base = alt.Chart(alt.Data(values=data)).encode(y=place)
    share = alt.X("estimate:Q", title=f"share, with {level:.0%} interval for the {target}", axis=alt.Axis(format="%"))
    layers = [
        base.mark_rule(strokeWidth=2, color="#777777").encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=45, color="#111111", opacity=1).encode(x=share),
    ]
    caption = f"{estimate.n:,} reports, {estimate.method}"
    if truth is not None:
        layers.append(base.mark_tick(thickness=2, height=11, color="#c44e00", opacity=1).encode(x="truth:Q"))
        caption += "; dots: estimate, upright ticks: truth"
    title = alt.TitleParams(estimate.attribute or "estimated shares", subtitle=caption, anchor="start")
    return alt.layer(*layers).properties(title=title, width=460, **({"height": 400} if len(data) > _MOST_LABELS else {}))


def save(picture: Any, path: str) -> None:
    """Write a chart to ``path``: .png, .svg, .html (with everything inside, works offline) or .json (Vega-Lite)."""
    suffix = Path(str(path)).suffix
    if suffix not in (".png", ".svg", ".html", ".json"):
        raise ArgumentError(message("path", "must end in .png, .svg, .html or .json", path))
    buffer: Any = io.BytesIO() if suffix == ".png" else io.StringIO()
    options: dict[str, dict[str, Any]] = {".png": {"scale_factor": 2}, ".html": {"inline": True}}
    try:
        picture.save(buffer, format=suffix[1:], **options.get(suffix, {}))
    except ImportError:
        raise MissingExtraError(message("plot", "needs vl-convert-python to make pictures", None, "Install warner[plot]")) from None
    content = buffer.getvalue()
    write_whole(path, content if isinstance(content, bytes) else content.encode())
