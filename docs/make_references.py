"""Write docs/references.md from the list of references in the package."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from warner._core.references import PAPERS, references

PAGE = Path(__file__).parent / "references.md"
HEAD = """# References

The numbers in docstrings are these. `mechanism.bibtex()`, `estimator.bibtex()` and `result.bibtex()` give the
sources of a mechanism and of a method as BibTeX.

"""


def page() -> str:
    """The page as Markdown."""
    parts = ["\n\n".join(f"[{key}] {references()[key].line()}" for key in PAPERS) + "\n"]
    rest = [each for key, each in references().items() if key not in PAPERS]
    for group, found in groupby(rest, lambda each: each.heading):
        parts.append(f"\n## {group}\n\n" + "".join(f"- {each.line()}\n" for each in found))
    return HEAD + "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
