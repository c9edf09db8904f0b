"""Search finds guides first: by the words of their users, and before the reference.

A page has a comment ``<!-- search: dice, coin -->`` below its title. Each word becomes an entry of the
index, which the search ranks first. ``scorer.js`` ranks guides before the reference among the rest.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

_WORDS = re.compile(r"^<!-- search: (.*?) -->\n\n?", flags=re.M | re.S)


def words_of(text: str) -> list[str]:
    """The words of the users of a page.

    >>> words_of("# Paper\\n\\n<!-- search: dice, a coin -->\\n")
    ['dice', 'a coin']
    """
    return [word for found in _WORDS.findall(text) for word in re.split(r",\s+", found)]


def _read(app: Any, name: str, source: list[str]) -> None:
    app.env.metadata[name]["search_words"] = words_of(source[0])
    source[0] = _WORDS.sub("", source[0])


class SearchWords(SphinxTransform):
    """The words of a page, as entries of the index that lead to its top."""

    default_priority = 400

    def apply(self, **options: Any) -> None:
        words = self.env.metadata[self.env.docname].get("search_words", [])
        section = next(self.document.findall(nodes.section), None)
        if words and section is not None:
            where = section["ids"][0]
            entries = [("single", word, where, "main", None) for word in words]
            section.insert(1, addnodes.index(entries=entries))


def _written_again(app: Any, env: Any) -> list[str]:
    """The pages with words: Sphinx forgets the entries of pages that a build does not write."""
    return [page for page, data in env.metadata.items() if data.get("search_words")]


def _check(app: Any, failed: Exception | None) -> None:
    """Search the finished site for the words of searches.json, where Node is installed."""
    node, here = shutil.which("node"), Path(__file__).parent
    if failed is not None or app.builder.name != "html" or node is None:
        return
    wanted = json.loads((here / "searches.json").read_text())
    command = [node, str(here / "check_search.mjs"), str(app.outdir), *wanted]
    pages = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    wrong = {words: pages[words][:3] for words in wanted if pages[words][:1] != [wanted[words]]}
    if wrong:
        raise ExtensionError(f"searches whose first page is not that of searches.json: {wrong}")


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _read)
    app.add_transform(SearchWords)
    app.connect("env-updated", _written_again)
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
