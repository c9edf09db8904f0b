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
from importlib import resources
from typing import Any

from warner._core.atomic_files import write_whole
from warner._core.extras import not_installed
from warner._core.html import Markup, text
from warner._core.table import Table
from warner.app.report.content import Block, Boxes, Commands, Picture, Points, Report, Section
from warner.app.what_files_hold import say_written
from warner.results.drawing import dark_colours


def _file(name: str) -> str:
    return resources.files("warner.app.report").joinpath(name).read_text(encoding="utf-8")


def write_report(report: Report, path: str, suffix: str) -> None:
    """Write a report to a file in the format of its suffix, and say so."""
    write_whole(path, to_html(report).encode() if suffix == ".html" else to_pdf(report))
    say_written(path)


def to_html(report: Report) -> str:
    """The report as the text of an HTML file."""
    sections = "\n".join(_html_section(section, 2) for section in report.sections)
    style = _file("report.css") + (dark_colours() if "<figure>" in sections else "")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    notice = f'<p class="notice" role="note">{text(report.notice)}</p>\n' if report.notice else ""
    about = "\n".join(f'<p class="about">{text(line)}</p>' for line in report.about)
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
        '<section class="page">' if section.starts_page else "<section>",
        f"<h{rank}>{text(section.title)}</h{rank}>",
        *(_html_block(block) for block in section.blocks),
        *(_html_section(inner, rank + 1) for inner in section.parts),
        "</section>",
    ]
    return Markup("\n".join(parts))


def _html_block(block: Block) -> Markup:
    """A paragraph, a list or a table."""
    match block:
        case Points(items, are_steps):
            points = "\n".join(f"<li>{text(item)}</li>" for item in items)
            kind = "ol" if are_steps else "ul"
            return Markup(f"<{kind}>\n{points}\n</{kind}>")
        case Boxes(items):
            boxes = "\n".join(
                f"<li><strong>{text(word)}</strong> {text(meaning)}</li>" for word, meaning in items
            )
            return Markup(f'<ul class="boxes">\n{boxes}\n</ul>')
        case Commands(typed):
            return Markup(f"<pre>{text(typed)}</pre>")
        case Picture():
            return Markup(f"<figure>{block.svg}</figure>")
        case Table():
            return block.html()
        case _:
            return Markup(f"<p>{text(block)}</p>")


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
        otherwise = ". Or write a file that ends in .html, and print it"
        raise not_installed("typst", "a PDF file", otherwise) from None
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
        about: dict[str, Any] = {"about": list(content.about), "notice": content.notice}
        about |= {"title": content.title, "numbered": content.is_numbered}
        return {**about, "sections": [_pdf_data(section) for section in content.sections]}
    head: dict[str, Any] = {"title": content.title, "page": content.starts_page}
    blocks = [_pdf_block(block) for block in content.blocks]
    return {**head, "blocks": blocks, "parts": [_pdf_data(inner) for inner in content.parts]}


def _pdf_block(block: Block) -> dict[str, Any]:
    match block:
        case Points(items, are_steps):
            return {"kind": "steps" if are_steps else "points", "items": items}
        case Boxes(items):
            return {"kind": "boxes", "items": items}
        case Commands(typed):
            return {"kind": "commands", "text": typed}
        case Picture():
            return {"kind": "picture", "svg": block.svg, "about": block.about}
        case Table():
            (_, (head, *lines)), drawn = block.printed(), block.pictures()
            rows = [
                [*line, *(bars[i]._asdict() for bars in drawn.values())]
                for i, line in enumerate(lines)
            ]
            about = {"caption": block.title, "head": [*head, *drawn]}
            return {"kind": "table", **about, "rows": rows}
        case _:
            return {"kind": "text", "text": block}
