"""Write docs/references.md from the list of references in the package."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from warner._core.references import PAPERS, REFERENCES

PAGE = Path(__file__).parent / "references.md"
HEAD = """# References

The numbers in docstrings are these. `mechanism.bibtex()`, `estimator.bibtex()` and `result.bibtex()` give the
sources of a mechanism and of a method as BibTeX.

"""


def page() -> str:
    """The page as Markdown."""
    parts = ["\n\n".join(f"[{key}] {paper.line()}" for key, paper in PAPERS.items()) + "\n"]
    rest = [each for key, each in REFERENCES.items() if key not in PAPERS]
    for group, found in groupby(rest, lambda each: each.group):
        parts.append(f"\n## {group}\n\n" + "".join(f"- {each.line()}\n" for each in found))
    return HEAD + "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
