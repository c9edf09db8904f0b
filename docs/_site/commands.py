"""Cells of commands, ``%%console``, are shown as a terminal shows them: each after ``$``."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def _as_terminal(app: Any, document: nodes.document) -> None:
    for block in document.findall(nodes.literal_block):
        first, _, commands = block.astext().partition("\n")
        if not first.startswith("%%console"):
            continue
        shown, goes_on = [], False
        for line in commands.rstrip().splitlines():
            shown.append(line if goes_on else f"$ {line}")
            goes_on = line.endswith("\\")
        text = "\n".join(shown)
        block.rawsource = text
        block.children = [nodes.Text(text)]
        block["language"] = "console"


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", _as_terminal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
