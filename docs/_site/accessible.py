"""What the theme and the notebooks leave out for people who do not see the page.

Every output picture gets a text. Captions in the theme's navigation get the level of a heading, and
its two side bars a name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes

_ADDED = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    '<aside class="toc-drawer no-toc">': '<aside class="toc-drawer no-toc" aria-hidden="true">',
}


def _texts(app: Any, document: nodes.document) -> None:
    for image in document.findall(nodes.image):
        image.setdefault("alt", "The chart that the code above draws")


def _write(app: Any, failed: Exception | None) -> None:
    if failed is not None:
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = before = page.read_text()
        for plain, better in _ADDED.items():
            text = text.replace(plain, better)
        if text != before:
            page.write_text(text)


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", _texts)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
