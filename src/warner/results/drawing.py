"""How every chart looks, and how it is saved: one palette, one style, and text beside the picture.

A chart is one of Altair, in the colours of ``PALETTE``. An SVG has a title, a description and the
colours for dark mode inside it. A page has the chart for wide and for narrow windows, and its
tables. It needs no script and no request.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from warner._core.atomic_files import write_whole
from warner._core.checks import real
from warner._core.errors import ArgumentError
from warner._core.extras import imported, not_installed
from warner._core.table import Table
from warner._core.text import visible

SUFFIXES = (".png", ".svg", ".pdf", ".html", ".json")
FORMATS = ".png, .svg, .pdf, .html or .json"
WIDTH = 460  # of the panel of a chart
CAPTION = 80  # characters that fit the width
_HEADING = 6  # lines of a title
_ACROSS = 60  # characters of a line of a title
_BESIDE = 160  # what labels take beside a panel, about
_NARROW, _LETTERS = 0.42, 0.63  # in a window of a phone, the part of a chart's widths and lines
_ONE_COLUMN = 0.7  # of the width, below which panels stand in one column
_AXIS = 48  # characters of a line of the title of an axis
_LABEL = 30  # characters of a line of a label
_LINES = 3  # of a label
_FONTS = "Verdana, DejaVu Sans, sans-serif"  # one as wide as the other, and hardly any is wider

# {colour: the one in dark mode}. Lightness, shape and dashes carry what hue does.
PAPER, INK, QUIET, BAND = "#ffffff", "#111111", "#6b6b6b", "#d4d4d4"
FRAME, GRID, TRUTH, PLAIN = "#dddddd", "#eeeeee", "#b84300", "#fefefe"
SERIES = (INK, TRUTH, "#0b6aa2", QUIET, "#4b9b5f", "#a05a9c", "#94740c", "#3a88b8")
PALETTE = {
    PAPER: "#16181c",
    INK: "#f0f0f0",
    QUIET: "#a3a7ad",
    BAND: "#474b52",
    FRAME: "#3b3f45",
    GRID: "#2a2d32",
    TRUTH: "#ff9e5e",
    PLAIN: "#17191d",  # the inside of hollow marks
    "#0b6aa2": "#5aaee0",
    "#4b9b5f": "#69bd7e",
    "#a05a9c": "#d190cd",
    "#94740c": "#d9b544",
    "#3a88b8": "#9accea",
}


def require_altair() -> Any:
    """Return the module altair, which is optional."""
    return imported("altair", "a picture")


def require_each(labels: Sequence[str] | None, size: int) -> None:
    """Refuse texts of values that are not one for each value."""
    if labels is not None and len(labels) != size:
        rule = f"must be {size:,} texts, one for each value"
        raise ArgumentError("labels", rule, str(len(labels)))


def inline_data(rows: list[dict[str, Any]]) -> Any:
    """The rows as one JSON text, because Altair takes seconds to check lists of numbers."""
    alt = require_altair()
    return alt.Data(values=json.dumps(rows), format=alt.JsonDataFormat(type="json"))


def heading(name: str) -> list[str]:
    """A name as a title of a few lines; it may be long, or come from a file of others."""
    lines = textwrap.wrap(visible(name), _ACROSS, max_lines=_HEADING, placeholder=" ...")
    return lines or [""]


def titled(name: str, about: Sequence[str]) -> Any:
    """The title of a panel, with sentences below it."""
    lines = []
    for sentence in about:
        *first, last = textwrap.wrap(sentence, CAPTION - 1) or [""]
        # A blank at the end says that a sentence goes on, see :func:`_resized`.
        lines += [*(f"{line} " for line in first), last]
    alt = require_altair()
    below = lines or alt.Undefined  # no lines at all would leave room for one
    return alt.TitleParams(heading(name), subtitle=below, anchor="start", frame="bounds", offset=12)


def folded(label: str, across: int = _LABEL) -> str:
    """A label on as many lines as a chart has room for; :func:`labels` draws them.

    >>> folded("ExpectationMaximization(steps='auto')")
    "ExpectationMaximization\\n(steps='auto')"
    """
    if len(label) > across:
        label = re.sub(r"(?<=\w)\((?=\w+=)", " (", label)  # the name of a method, and its options
    lines = textwrap.wrap(label, across, max_lines=_LINES, placeholder=" ...") or [label]
    return "\n".join(lines)


def apart(rows: Sequence[str]) -> list[str]:
    """Folded labels of rows; those that are then the same get the number of their row.

    >>> apart(["a", "b", "b"])
    ['a', 'b (1)', 'b (2)']
    """
    lines = [folded(label) for label in rows]
    often = Counter(lines)
    return [label if often[label] == 1 else f"{label} ({i})" for i, label in enumerate(lines)]


def labels(**options: Any) -> Any:
    """An axis of folded labels."""
    return require_altair().Axis(
        labelExpr="split(datum.label, '\\n')", labelLineHeight=12, **options
    )


def step(shown: Sequence[str], least: float = 20) -> Any:
    """The height of a row with room for the longest folded label."""
    lines = max((label.count("\n") for label in shown), default=0) + 1
    # ``for``, because a row may have two bars side by side.
    return require_altair().Step(max(least, 12 * lines + 8 * (lines > 1)), **{"for": "position"})


def spread(places: Sequence[float], least: float, most: float) -> list[float]:
    """Places of texts between 0 and ``most``, as near to theirs as ``least`` between two allows.

    >>> spread([50, 10, 52], 15, 100)
    [50, 10, 65]
    >>> spread([95, 99], 15, 100)
    [85, 100]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for before, i in pairwise(order):
        moved[i] = max(moved[i], moved[before] + least)
    end = most
    for i in reversed(order):
        moved[i] = min(moved[i], end)
        end = moved[i] - least
    return moved


def shares(title: str = "share of people", **options: Any) -> Any:
    """The axis of shares."""
    return require_altair().Axis(format="~%", grid=True, title=title, **options)


@dataclass(frozen=True)
class Undrawn:
    """A picture with an axis of shares, which is drawn when the pictures beside it are known."""

    ends: Sequence[float]  # the shares, or the differences of shares, that its axis must reach
    draw: Callable[[Sequence[float]], Any]  # the picture whose axis reaches some ends


def drawn_together(pictures: Sequence[Any]) -> list[Any]:
    """The pictures of one page as charts, with one scale of shares, so that they are comparable."""
    ends = [end for each in pictures if isinstance(each, Undrawn) for end in each.ends]
    return [each.draw(ends) if isinstance(each, Undrawn) else each for each in pictures]


def scale_of_shares(ends: Sequence[float]) -> Any:
    """The scale of an axis of shares that reaches some ends."""
    low, high = min([0.0, *ends]), max([0.0, *ends])
    # An axis that ends just before 100 % looks cut off.
    return require_altair().Scale(domain=[low, max(1.0, high) if high > 0.8 else high], nice=True)


def page(panels: Sequence[Any], title: str | None = None, columns: int = 1) -> Any:
    """A chart of panels, below each other or in columns, under a text or a title of ``titled``."""
    alt = require_altair()
    panels = [panel.copy(deep=False) for panel in panels]
    for panel in panels:
        panel.config = alt.Undefined  # the whole has one style
    looks = dict.fromkeys(("color", "shape", "strokeDash", "xOffset"), "independent")
    options: dict[str, Any] = {
        "spacing": 30,
        "resolve": alt.Resolve(scale=alt.ScaleResolveMap(**looks)),
    }
    if columns > 1:
        options["columns"] = columns
    if title is not None:
        if isinstance(title, str):
            title = alt.TitleParams(heading(title), anchor="start", fontSize=16, offset=20)
        options["title"] = title
    # All at once: Altair copies all panels whenever a property of the whole is added.
    return styled((alt.vconcat if columns == 1 else alt.concat)(*panels, **options))


def styled(chart: Any) -> Any:
    """The chart itself, now in the colours of the palette."""
    alt = require_altair()
    text = {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"}
    chart.config = alt.Config(
        background=PAPER,
        padding=8,
        font=_FONTS,
        view=alt.ViewConfig(stroke=FRAME),
        axis=alt.AxisConfig(
            **text,
            grid=False,
            gridColor=GRID,
            domainColor=QUIET,
            tickColor=QUIET,
            labelLimit=300,
            labelFlush=False,
            labelOverlap=True,
        ),
        title=alt.TitleConfig(color=INK, subtitleColor=INK),
        legend=alt.LegendConfig(**text),
        header=alt.HeaderConfig(labelColor=INK, titleColor=INK),
    )
    return chart


def finished(
    picture: Any,
    tables: Callable[[], Sequence[Table]],
    path: str | None = None,
    width: float | None = None,
) -> Any:
    """A picture as a chart whose panels are as wide as asked, and which is saved to a path."""
    (chart,) = drawn_together([picture])
    if width is not None:
        wide = real("width", width, least=100, most=5000)
        letters = (wide + _BESIDE) / (WIDTH + _BESIDE)
        spec = _resized(chart.to_dict(validate=False), wide / WIDTH, letters)
        chart = type(chart).from_dict(spec, validate=False)
    if path is not None:
        save(chart, path, tables())
    return chart


def save(picture: Any, path: str, tables: Sequence[Table] = ()) -> None:
    """Write a chart to a file in the format of its suffix, with its numbers, the ``tables``."""
    suffix = Path(str(path)).suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError("path", f"must end in {FORMATS}", path)
    if suffix in (".svg", ".html", ".json"):
        # To check a chart of ours against Altair's schema takes as long as to draw it.
        spec = picture.to_dict(validate=False)
        content: str | bytes
        if suffix == ".json":
            content = json.dumps(spec)
        elif suffix == ".svg":
            content = svg_of(spec, tables, dark_colours())
        else:
            content = _html(spec, tables)
    else:
        buffer = io.BytesIO()
        try:
            picture.save(
                buffer, format=suffix[1:], **({"scale_factor": 2} if suffix == ".png" else {})
            )
        except ImportError:
            raise not_installed("vl_convert", "a picture") from None
        content = buffer.getvalue()
    write_whole(path, content if isinstance(content, bytes) else content.encode())


def dark_colours() -> str:
    """The style sheet that replaces the colours of a chart where somebody prefers dark pages."""
    rules = "".join(
        f'[{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in PALETTE.items()
        for attribute in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark) {{{rules}}}"


def svg_of(spec: dict[str, Any], tables: Sequence[Table], style: str = "") -> str:
    """A chart as an SVG that a screen reader reads as its title and its numbers."""
    vl_convert: Any = imported("vl_convert", "a picture")
    # The whole is read as one picture, so that its dots and ticks need no names of their own.
    config = {**spec.get("config", {}), "aria": False}
    drawn: str = vl_convert.vegalite_to_svg({**spec, "config": config})
    titles = _titles(spec)
    described = "\n".join([*titles, *(table.text() for table in tables)])
    head = f"<title>{escape(visible(titles[0] if titles else 'chart'))}</title>"
    head += f"<desc>{escape(visible(described))}</desc>"
    head += f"<style>{style}</style>" if style else ""
    start, _, rest = drawn.partition(">")
    return f'{start} role="img">{head}{rest}'


def _titles(spec: Any) -> list[str]:
    """The titles and captions in a chart, in their order."""
    if isinstance(spec, list):
        return [line for inner in spec for line in _titles(inner)]
    if not isinstance(spec, dict):
        return []
    title = spec.get("title")
    shown = (
        [] if not isinstance(title, dict) else [title.get("text", ""), title.get("subtitle", "")]
    )
    lines = [line if isinstance(line, str) else " ".join(line) for line in shown]
    inner = (_titles(spec[key]) for key in ("vconcat", "concat", "hconcat", "spec") if key in spec)
    return [line for line in lines if line] + [line for each in inner for line in each]


_PAGE = """:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 46rem; padding: .6rem; background: #ffffff; color: #111111;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
    sans-serif; }
figure { margin: 0; }
figure svg { display: block; max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: .3rem 0 .5rem; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
h2 { font-size: 1rem; margin: 1rem 0 0; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; font-weight: 400;
  border-bottom: 1px solid #cccccc; white-space: nowrap; }
tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 10em; }
.numbers { overflow-x: auto; }
.numbers svg { max-width: 8rem; }
.numbers p { font-size: .9rem; }
.narrow { display: none; }
@media (max-width: 38rem) {
  .wide { display: none; }
  .narrow { display: block; }
  table { font-size: .8rem; }
  th, td { white-space: normal; padding-right: .4rem; }
  tbody th { min-width: 4.5em; }
  .numbers svg { display: none; } /* cut off it would look like a larger share */
}
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #f0f0f0; }
  th, td { border-color: #474b52; }
}
"""


def _html(spec: dict[str, Any], tables: Sequence[Table]) -> str:
    """A chart as a page without scripts, with its numbers in tables below."""
    style = _PAGE + dark_colours()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    wide, narrow = svg_of(spec, tables), svg_of(_resized(spec), tables)
    numbers = "\n".join(
        f'<h2>{escape(visible(table.title))}</h2>\n<div class="numbers">'
        f"{replace(table, title='').html()}</div>"
        for table in tables
    )
    title = escape(visible(next(iter(_titles(spec)), "chart")))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<figure>
<div class="wide">{wide}</div>
<div class="narrow">{narrow}</div>
</figure>
{numbers}
</main>
</body>
</html>
"""


def _resized(spec: Any, width: float = _NARROW, letters: float = _LETTERS) -> Any:
    """A chart with parts of its widths and letters; in narrow windows panels are in one column."""
    if isinstance(spec, list):
        return [_resized(inner, width, letters) for inner in spec]
    if not isinstance(spec, dict):
        return spec
    changed = {key: _resized(inner, width, letters) for key, inner in spec.items()}
    is_narrow = width < _ONE_COLUMN
    least = WIDTH / 2 if is_narrow else 0.0  # panels that were small have room
    if isinstance(spec.get("width"), int | float) and spec["width"] > least:
        changed["width"] = spec["width"] * width
    if "hconcat" in changed and is_narrow:
        changed["vconcat"] = changed.pop("hconcat")
    if "columns" in spec and "concat" in spec and is_narrow:
        changed["columns"] = 1
    for key, across in (("text", _ACROSS), ("subtitle", CAPTION), ("title", _AXIS)):
        if key in spec and isinstance(spec[key], list):
            sentences = "".join(f"{line}\n" for line in spec[key]).replace(" \n", " ").splitlines()
            most = round(across * letters)
            changed[key] = [cut for each in sentences for cut in textwrap.wrap(each, most)]
    if spec.get("labels") is False and is_narrow:  # panels that stood in one line are named each
        changed["labels"] = True
    return changed
