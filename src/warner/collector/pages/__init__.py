"""The pages of the collector, made from the templates of ``collector/templates``.

Templates escape every value that is not marked as HTML, and a name that they are not given is an
error. No page has a script or a style inside it.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from warner._core import html
from warner._core.text import visible


def _lines(text: str) -> Markup:
    """A text whose lines stay lines."""
    return escape(text).replace("\n", Markup("<br>"))


def _fact(value: Any) -> str:
    """A fact of a deployment card as text; sentences one after the other."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value:,.10g}" if isinstance(value, float) else visible(str(value))


def _interval_bar(bar: tuple[float, float, float] | None, largest: float) -> Markup:
    """The picture of an estimate and its interval, which is HTML already."""
    return Markup(html.interval_bar(html.Bar(*(bar or (0.0, 0.0, 0.0)), largest)))


_TEMPLATES = Environment(
    loader=PackageLoader("warner.collector"),  # also from a package in a zip file
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "fact": _fact,
    "lines": _lines,
    "quoted": partial(quote, safe=""),
    "thousands": "{:,}".format,
    "visible": visible,
}
_TEMPLATES.globals["interval_bar"] = _interval_bar


def render(name: str, **values: Any) -> str:
    """The page that a template makes of these values."""
    return _TEMPLATES.get_template(f"{name}.html").render(values)
