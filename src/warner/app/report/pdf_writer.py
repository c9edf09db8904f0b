"""A report as a PDF file, typeset by Typst with the fonts that come with it.

The template below is fixed. A report reaches it as data, so no text of a report is ever markup. The
file is a tagged PDF (PDF/UA-1): screen readers find headings, lists and tables.
"""

from __future__ import annotations

import json
from typing import Any

from warner._core.errors import MissingExtraError
from warner.app.report.content import Bar, Block, Cell, Points, Report, Section, Table

_TEMPLATE = r"""
#let report = json(bytes(sys.inputs.report))
#let ink = rgb("#1a1a1a")
#let pale = rgb("#b8b8b8")
#let soft = rgb("#444444")
#set document(title: report.title, author: (), date: none)
#set page(
  paper: "a4",
  margin: (x: 2.2cm, y: 2.2cm),
  footer: context [
    #set text(8pt, fill: soft)
    #if report.notice != "" [Simulation #h(1fr)] else [#h(1fr)]
    #counter(page).display("1 / 1", both: true)
  ],
)
#set text(10pt, font: ("Libertinus Serif", "DejaVu Sans Mono"), lang: "en", fill: ink)
#set par(leading: 0.6em, spacing: 0.9em)
#set list(indent: 0.3em, spacing: 0.7em)
#set table(stroke: none, inset: (x: 0pt, y: 3.2pt))
#show heading: set block(above: 1.5em, below: 0.7em, sticky: true)
#show heading.where(level: 1): set text(17pt)
#show heading.where(level: 2): set text(13pt)
#show heading.where(level: 3): set text(11pt)

#let place-of(value, bar) = {
  let part = (value - bar.start) / (bar.end - bar.start)
  calc.min(calc.max(part, 0.0), 1.0) * 100
}

#let picture(bar) = pdf.artifact(box(width: 100%, height: 8pt, {
  let (zero, end) = (place-of(0.0, bar), place-of(bar.estimate, bar))
  let (low, high) = (place-of(bar.low, bar), place-of(bar.high, bar))
  place(dx: calc.min(zero, end) * 1%, dy: 0.5pt,
    rect(width: calc.abs(end - zero) * 1%, height: 7pt, fill: pale))
  if bar.start < 0 {
    place(dx: zero * 1%, line(start: (0pt, 0pt), end: (0pt, 8pt), stroke: 0.6pt + ink))
  }
  place(dx: low * 1%, line(start: (0pt, 4pt), end: ((high - low) * 1%, 4pt), stroke: 0.9pt + ink))
  for x in (low, high) {
    place(dx: x * 1%, line(start: (0pt, 2pt), end: (0pt, 6pt), stroke: 0.9pt + ink))
  }
}))

#let cell(item) = if type(item) == str { text(item) } else { picture(item) }

#let columns-of(head, drawn) = {
  let count = head.len()
  if drawn { (1.5fr,) + (1fr,) * (count - 2) + (1.5fr,) } else { (1.5fr,) + (1fr,) * (count - 1) }
}

#let draw(block-of) = {
  if block-of.kind == "text" { par(text(block-of.text)) }
  if block-of.kind == "points" { list(..block-of.items.map(item => text(item))) }
  if block-of.kind == "table" {
    block(sticky: true, above: 1.2em, below: 0.5em, strong(text(block-of.caption)))
    table(
      columns: columns-of(block-of.head, block-of.drawn),
      column-gutter: 8pt,
      table.header(..block-of.head.map(name => text(8.5pt, fill: soft, name))),
      table.hline(stroke: 0.6pt + soft),
      ..block-of.rows.map(row => (
        text(row.first()), ..row.slice(1).map(cell),
      )).flatten(),
      table.hline(stroke: 0.4pt + pale),
    )
  }
}

#let write(section, depth) = {
  heading(level: depth, text(section.title))
  for item in section.blocks { draw(item) }
  for part in section.parts { write(part, depth + 1) }
}

#if report.notice != "" {
  block(width: 100%, stroke: 1.5pt + ink, inset: 8pt, strong(text(report.notice)))
}
#heading(level: 1, text(report.title))
#for line in report.about { par(text(fill: soft, line)) }
#for section in report.sections { write(section, 2) }
"""


def to_pdf(report: Report) -> bytes:
    """The report as a PDF file; equal reports are equal bytes."""
    typst = require_typst()
    data = json.dumps(_data(report), ensure_ascii=False)
    compiled: Any = typst.compile(
        _TEMPLATE.encode(),
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


def _data(report: Report) -> dict[str, Any]:
    """The report as JSON data."""
    return {
        "title": report.title,
        "about": list(report.about),
        "notice": report.notice,
        "sections": [_section(section) for section in report.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    return {
        "title": section.title,
        "blocks": [_block(block) for block in section.blocks],
        "parts": [_section(part) for part in section.parts],
    }


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Points(items):
            return {"kind": "points", "items": list(items)}
        case Table(caption, head, rows):
            drawn = bool(rows) and isinstance(rows[0][-1], Bar)
            cells = [[_cell(cell) for cell in row] for row in rows]
            names = list(head)
            return {
                "kind": "table",
                "caption": caption,
                "head": names,
                "rows": cells,
                "drawn": drawn,
            }
        case _:
            return {"kind": "text", "text": block}


def _cell(cell: Cell) -> str | dict[str, float]:
    if isinstance(cell, Bar):
        start, end = cell.ends
        numbers = {"estimate": cell.estimate, "low": cell.low, "high": cell.high}
        return {**numbers, "start": start, "end": end}
    return cell
