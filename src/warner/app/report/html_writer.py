"""A report as one HTML file, which needs no request, no script and no inline style.

The policy of the page forbids everything but its own style sheet, which is named by its hash.
"""

from __future__ import annotations

import base64
import hashlib

from warner._core.html import Markup, interval_bar, table, text
from warner.app.report.content import Bar, Block, Cell, Points, Report, Section, Table

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 46rem; padding: 1rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .3rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.2rem 0 .5rem; border-bottom: 1px solid #767676;
  padding-bottom: .2rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .4rem; }
p { margin: .5rem 0; }
ul { margin: .5rem 0; padding-left: 1.3rem; }
li { margin: .3rem 0; }
.about { color: #444; margin: 0; }
.notice { border: 3px solid #1a1a1a; padding: .6rem .8rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0; font-size: .95rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
  border-bottom: 1px solid #ccc; font-weight: 400; }
thead th { border-bottom: 1px solid #767676; color: #444; font-size: .85rem; }
tbody th { overflow-wrap: anywhere; min-width: 5.9em; }
svg { display: block; width: 10rem; height: auto; color: #1a1a1a; margin-top: .25rem; }
@media (max-width: 30rem) {
  body { padding: .6rem; }
  h1 { font-size: 1.4rem; }
  table { font-size: .8rem; }
  thead th { font-size: .75rem; }
  th, td { padding-right: .3rem; }
  th:last-child, td:last-child { padding-right: 0; }
  svg { width: 3.8rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; color: #000; }
  h2, h3, caption { break-after: avoid; }
  th, td { padding-top: .1rem; padding-bottom: .1rem; }
  tr, li, .notice { break-inside: avoid; }
  thead { display: table-header-group; }
  p, li { orphans: 2; widows: 2; }
}
@page { margin: 2cm; }
"""


def to_html(report: Report) -> str:
    """The report as the text of an HTML file."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    notice = f'<p class="notice" role="note">{text(report.notice)}</p>\n' if report.notice else ""
    about = "\n".join(f'<p class="about">{text(line)}</p>' for line in report.about)
    sections = "\n".join(_section(section, 2) for section in report.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(report.title)}</title>
<style>{_STYLE}</style>
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


def _section(section: Section, rank: int) -> Markup:
    """A section with a heading of a rank, and those inside it one rank lower."""
    parts = [
        "<section>",
        f"<h{rank}>{text(section.title)}</h{rank}>",
        *(_block(block) for block in section.blocks),
        *(_section(part, rank + 1) for part in section.parts),
        "</section>",
    ]
    return Markup("\n".join(parts))


def _block(block: Block) -> Markup:
    """A paragraph, a list or a table."""
    match block:
        case Points(items):
            return Markup(
                "\n".join(["<ul>", *(f"<li>{text(item)}</li>" for item in items), "</ul>"])
            )
        case Table(caption, head, rows):
            return table(head, [[_cell(cell) for cell in row] for row in rows], caption)
        case _:
            return Markup(f"<p>{text(block)}</p>")


def _cell(cell: Cell) -> Markup:
    """A text, or a picture."""
    if isinstance(cell, Bar):
        start, end = cell.ends
        if start < 0:
            return shift_bar(cell.estimate, cell.low, cell.high, end)
        return interval_bar(cell.estimate, cell.low, cell.high, end)
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
