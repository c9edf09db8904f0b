"""Tables and small pictures as HTML, for notebooks, reports and live pages.

Nothing here needs a script, a style sheet, an inline style or a request, so that a page may forbid
all of them. Pictures have the colours of the text around them, and can be read in dark mode and in
grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple


class Markup(str):
    """HTML that is complete and escaped: :func:`table` takes it as it is."""


def text(value: object) -> Markup:
    """A value as HTML text; markup stays as it is.

    >>> text("a < b"), text(Markup("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: object = "") -> Markup:
    """A table whose first column names its rows.

    >>> print(table(["value", "share"], [["yes", 0.2]], caption="Shares"))
    <table class="warner"><caption>Shares</caption>
    <thead><tr><th scope="col">value</th><th scope="col">share</th></tr></thead>
    <tbody>
    <tr><th scope="row">yes</th><td>0.2</td></tr>
    </tbody></table>
    """
    above = f"<caption>{text(caption)}</caption>" if caption else ""
    # A heading without a text, as above pictures, is none.
    columns = "".join(f'<th scope="col">{text(h)}</th>' if h else "<td></td>" for h in head)
    lines = [
        f'<tr><th scope="row">{text(first)}</th>'
        + "".join(f"<td>{text(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    ]
    return Markup(
        "\n".join(
            [
                f'<table class="warner">{above}',
                f"<thead><tr>{columns}</tr></thead>",
                "<tbody>",
                *lines,
                "</tbody></table>",
            ]
        )
    )


_STYLE = """body { font-family: serif }
table { border-collapse: collapse; border-top: 1.5pt solid; border-bottom: 1.5pt solid }
th, td { padding: 2pt 6pt; vertical-align: top }
th { border-bottom: 1pt solid }"""


def page(title: str, parts: Iterable[Markup]) -> str:
    """A page of its own, in a style that word processors keep."""
    head = f'<meta charset="utf-8"><title>{text(title)}</title>\n<style>\n{_STYLE}\n</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


class Bar(NamedTuple):
    """A picture of a number: a bar from 0, with its interval as a line."""

    estimate: float
    low: float
    high: float
    end: float  # the right end of the picture, the same for all rows of a table
    start: float = 0.0  # the left end; below 0 for differences


def interval_bar(bar: Bar, width: int = 160, height: int = 14) -> Markup:
    """A bar from 0 to an estimate, with its interval as a line.

    Screen readers skip it: the numbers belong into the cells beside it.

    >>> print(interval_bar(Bar(0.5, 0.25, 0.75, 1.0), width=100, height=12))
    <svg class="warner-bar" width="100" height="12" viewBox="0 0 100 12" aria-hidden="true">\
<rect x="0" y="1" width="50" height="10" fill="currentColor" fill-opacity="0.3"/>\
<path d="M25 6H75M25 3V9M75 3V9" stroke="currentColor" stroke-width="1.5" fill="none"/></svg>
    """

    def at(value: float) -> float:
        return width * min(max((value - bar.start) / (bar.end - bar.start), 0.0), 1.0)

    zero, end = at(0.0), at(bar.estimate)
    left, right = f"{at(bar.low):.4g}", f"{at(bar.high):.4g}"
    middle, tick = height / 2, height / 4
    ends = "".join(f"M{x} {middle - tick:g}V{middle + tick:g}" for x in (left, right))
    axis = f'<path d="M{zero:g} 0V{height}" stroke="currentColor" stroke-width="1" fill="none"/>'
    return Markup(
        f'<svg class="warner-bar" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" aria-hidden="true">'
        f'<rect x="{min(zero, end):.4g}" y="1" width="{abs(end - zero):.4g}" '
        f'height="{height - 2}" fill="currentColor" fill-opacity="0.3"/>'
        f"{axis if bar.start < 0 else ''}"
        f'<path d="M{left} {middle:g}H{right}{ends}" '
        'stroke="currentColor" stroke-width="1.5" fill="none"/></svg>'
    )
