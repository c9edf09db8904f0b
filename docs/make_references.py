"""Write docs/references.md from the list of references in the package."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from warner._core.references import PAPERS, bibtex_of, references

PAGE = Path(__file__).parent / "references.md"
HEAD = """# References

<!-- search: cite, citation, how to cite, bibtex, bibliography -->

The numbers in docstrings are these. How to cite warner and the five papers stands [below](#how-to-cite).

"""
CITE = """
## How to cite

Cite the package, and the papers of the mechanism and of the method that you use: `mechanism.bibtex()`, `estimator.bibtex()`,
`result.bibtex()` and, of a whole benchmark, `found.bibtex()` print them with the entry of the package. That entry and the five papers are

```bibtex
"""


def page() -> str:
    """The page as Markdown."""
    parts = ["\n\n".join(f"[{key}] {references()[key].line()}" for key in PAPERS) + "\n"]
    rest = [each for key, each in references().items() if key not in PAPERS]
    for group, found in groupby(rest, lambda each: each.heading):
        parts.append(f"\n## {group}\n\n" + "".join(f"- {each.line()}\n" for each in found))
    return f"{HEAD}{''.join(parts)}{CITE}{bibtex_of(PAPERS)}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page())
