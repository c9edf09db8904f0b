"""A report as one HTML file, or as one PDF file.

The HTML needs no request, no script and no inline style: its policy forbids everything but its own
style sheet, which is named by its hash. The PDF is typeset by Typst with the fonts that come with
it. The template is fixed, and a report reaches it as data, so no text of a report is ever markup.
It is a tagged PDF (PDF/UA-1): screen readers find headings, lists and tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from importlib import resources
from typing import Any

from warner._core.errors import MissingExtraError
from warner._core.html import Markup, interval_bar, table, text
from warner.app.report.content import Bar, Block, Cell, Points, Report, Section, Table


def _file(name: str) -> str:
    return resources.files("warner.app.report").joinpath(name).read_text(encoding="utf-8")


def to_html(report: Report) -> str:
    """The report as the text of an HTML file."""
    style = _file("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    notice = f'<p class="notice" role="note">{text(report.notice)}</p>\n' if report.notice else ""
    about = "\n".join(f'<p class="about">{text(line)}</p>' for line in report.about)
    sections = "\n".join(_html_section(section, 2) for section in report.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(report.title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{notice}<h1>{text(report.title)}</h1>
{about}
{sections}
</main>
</body>
</html>
"""


def _html_section(section: Section, rank: int) -> Markup:
    """A section with a heading of a rank, and those inside it one rank lower."""
    parts = [
        "<section>",
        f"<h{rank}>{text(section.title)}</h{rank}>",
        *(_html_block(block) for block in section.blocks),
        *(_html_section(inner, rank + 1) for inner in section.parts),
        "</section>",
    ]
    return Markup("\n".join(parts))


def _html_block(block: Block) -> Markup:
    """A paragraph, a list or a table."""
    match block:
        case Points(items):
            points = "\n".join(f"<li>{text(item)}</li>" for item in items)
            return Markup(f"<ul>\n{points}\n</ul>")
        case Table(caption, head, rows):
            return table(head, [[_html_cell(cell) for cell in row] for row in rows], caption)
        case _:
            return Markup(f"<p>{text(block)}</p>")


def _html_cell(cell: Cell) -> Markup:
    """A text, or a picture."""
    if isinstance(cell, Bar):
        draw = shift_bar if cell.start < 0 else interval_bar
        return draw(cell.estimate, cell.low, cell.high, cell.end)
    return text(cell)


def shift_bar(
    estimate: float, low: float, high: float, largest: float, width: int = 160, height: int = 14
) -> Markup:
    """A bar from 0 in the middle to a difference, with its interval as a line.

    >>> print(shift_bar(-0.5, -0.75, 0.25, 1.0, width=100, height=12))
    <svg class="warner-bar" width="100" height="12" viewBox="0 0 100 12" aria-hidden="true">\
<rect x="25" y="1" width="25" height="10" fill="currentColor" fill-opacity="0.3"/>\
<path d="M50 0V12" stroke="currentColor" stroke-width="1" fill="none"/>\
<path d="M12.5 6H62.5M12.5 3V9M62.5 3V9" stroke="currentColor" stroke-width="1.5" \
fill="none"/></svg>
    """

    def place(value: float) -> float:
        return width * (0.5 + 0.5 * min(max(value / largest, -1.0), 1.0))

    zero, end = place(0.0), place(estimate)
    left, right = f"{place(low):.4g}", f"{place(high):.4g}"
    middle, tick = height / 2, height / 4
    ends = "".join(f"M{x} {middle - tick:g}V{middle + tick:g}" for x in (left, right))
    return Markup(
        f'<svg class="warner-bar" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" aria-hidden="true">'
        f'<rect x="{min(zero, end):.4g}" y="1" width="{abs(end - zero):.4g}" '
        f'height="{height - 2}" fill="currentColor" fill-opacity="0.3"/>'
        f'<path d="M{zero:g} 0V{height}" stroke="currentColor" stroke-width="1" fill="none"/>'
        f'<path d="M{left} {middle:g}H{right}{ends}" '
        'stroke="currentColor" stroke-width="1.5" fill="none"/></svg>'
    )


def to_pdf(report: Report) -> bytes:
    """The report as a PDF file; equal reports are equal bytes."""
    typst = require_typst()
    data = json.dumps(_pdf_data(report), ensure_ascii=False)
    compiled: Any = typst.compile(
        _file("report.typ").encode(),
        format="pdf",
        sys_inputs={"report": data},
        ignore_system_fonts=_fonts_suffice(data),
        pdf_standards="ua-1",
        timestamp=0,
    )
    return bytes(compiled)


def require_typst() -> Any:
    """Return the module typst, which is optional."""
    try:
        import typst
    except ImportError:
        remedy = "Install warner[report], or write .html and print it"
        raise MissingExtraError("PDF", "needs typst", None, remedy) from None
    return typst


def _fonts_suffice(data: str) -> bool:
    """Whether Libertinus, which comes with Typst, has all letters: Latin, Greek, Cyrillic, Hebrew.

    >>> _fonts_suffice("Łódź, Αθήνα, Київ"), _fonts_suffice("東京")
    (True, False)
    """
    return all(ord(letter) < 0x0600 or 0x1E00 <= ord(letter) < 0x2300 for letter in data)


def _pdf_data(content: Report | Section) -> dict[str, Any]:
    """A report or a section as JSON data."""
    if isinstance(content, Report):
        about = {"about": list(content.about), "notice": content.notice}
        return {
            "title": content.title,
            **about,
            "sections": [_pdf_data(s) for s in content.sections],
        }
    blocks = [_pdf_block(block) for block in content.blocks]
    return {
        "title": content.title,
        "blocks": blocks,
        "parts": [_pdf_data(s) for s in content.parts],
    }


def _pdf_block(block: Block) -> dict[str, Any]:
    match block:
        case Points(items):
            return {"kind": "points", "items": items}
        case Table(_, _, rows):
            drawn = bool(rows) and isinstance(rows[0][-1], Bar)
            return {"kind": "table", **asdict(block), "drawn": drawn}
        case _:
            return {"kind": "text", "text": block}
