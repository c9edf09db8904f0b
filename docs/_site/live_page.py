"""The live page's script: a module for tests, a plain script for the page.

A browser refuses a module from a folder of files. The only difference is the line of exports.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "live" / "live.mjs"


def script(module: str) -> str:
    """The module without its exports, wrapped so that no name of it is global."""
    lines = module.splitlines()
    kept = [line for line in lines if not line.startswith("export ")]
    assert len(kept) == len(lines) - 1
    return "\n".join(["(() => {", '"use strict";', *kept, "})();", ""])


def _write(app: Any) -> None:
    folder = Path(app.config.html_static_path[-1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "live.js").write_text(script(SOURCE.read_text()))


def _load(app: Any, pagename: str, *_: Any) -> None:
    if pagename == "live":
        app.add_js_file("live.js", loading_method="defer")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _write)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
