"""The documents of the mathematics: every citation resolves, every example runs, every quoted figure is the measured one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import warner

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = ("methods.md", "mechanisms.md", "estimators.md")
NUMBER = r"\d+[a-z]?(?:\.\d+)?"


def headings(text: str) -> set[str]:
    """The numbers of the headings of a document: ``## 0 Notation`` has the number 0."""
    return set(re.findall(rf"^#{{2,3}} ({NUMBER}) ", text, flags=re.M))


def sections_cited(text: str) -> Iterator[str]:
    """The numbers that citations such as ``METHODS 4.1, 4.2`` and ``METHODS 9.1-9.3`` name."""
    for found in re.finditer(rf"METHODS\s+({NUMBER}(?:(?:,\s+|\s+and\s+|-){NUMBER})*)(?![\d.]*\d)", text):
        yield from re.findall(NUMBER, found.group(1))


def papers_cited(text: str) -> Iterator[str]:
    """The papers that citations such as ``[P1 sec 3, P4 sec V]`` name."""
    for found in re.finditer(r"\[(P\d+[^\][]*)\]", text):
        yield from re.findall(r"\bP\d+\b", found.group(1))


def papers_listed(text: str) -> set[str]:
    """The papers of docs/references.md."""
    return set(re.findall(r"^\[(P\d+)\] ", text, flags=re.M))


def unresolved(text: str, sections: set[str], papers: set[str]) -> set[str]:
    """The citations of a text that lead nowhere."""
    wrong = {f"METHODS {number}" for number in sections_cited(text) if number not in sections}
    return wrong | {f"[{paper}]" for paper in papers_cited(text) if paper not in papers}


def sources() -> list[Path]:
    """The files of the code, and the documents."""
    code = [path for room in ("src", "tests", "bench") for path in sorted((ROOT / room).rglob("*.py")) if ".venv" not in path.parts]
    return [path for path in code if path != Path(__file__)] + [DOCS / name for name in DOCUMENTS]


def test_every_citation_resolves() -> None:
    """A citation of a section that is not in docs/methods.md, or of a paper that is not in docs/references.md, fails."""
    sections = headings((DOCS / "methods.md").read_text())
    papers = papers_listed((DOCS / "references.md").read_text())
    wrong = {str(path.relative_to(ROOT)): found for path in sources() if (found := unresolved(path.read_text(), sections, papers))}
    assert not wrong


def test_citations_are_found_at_all() -> None:
    """A checker whose pattern finds nothing would pass every file."""
    found = [number for path in sources() for number in sections_cited(path.read_text())]
    papers = {paper for path in sources() for paper in papers_cited(path.read_text())}
    assert len(found) >= 50 and {"0", "4.5", "6b", "9.2"} <= set(found)
    assert papers == {"P1", "P2", "P3", "P4", "P5"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("as in METHODS 4.7", {"METHODS 4.7"}),
        ("(METHODS 4.1, 4.9)", {"METHODS 4.9"}),
        ("(METHODS 5,\n    77)", {"METHODS 77"}),
        ("METHODS 9.1-9.30", {"METHODS 9.30"}),
        ("METHODS 6c", {"METHODS 6c"}),
        ("[P6 eq 1]", {"[P6]"}),
        ("[P1 sec 3, P9 sec V]", {"[P9]"}),
        ("METHODS 4.1 and 6b, 4 values; METHODS 9.1: 0.45, 0.05; [P2 eqs 12, 17]", set()),
        ("METHODS: dict[str, Estimator] = {}", set()),
    ],
)
def test_the_checker_finds_made_up_citations(text: str, wrong: set[str]) -> None:
    made_up = "## 4 One\n### 4.1 Two\n### 6b Three\n## 5 Four\n### 9.1 Five\n### 9.3 Six\n# 77 No section\n"
    assert unresolved(text, headings(made_up), {"P1", "P2"}) == wrong


def test_numbers_of_sections_are_unique_and_in_order() -> None:
    """A number that stands twice makes a citation ambiguous."""
    found = re.findall(rf"^#{{2,3}} ({NUMBER}) ", (DOCS / "methods.md").read_text(), flags=re.M)
    keys = [tuple(int(part) for part in re.findall(r"\d+", number)) + (number.endswith("b"),) for number in found]
    assert len(set(found)) == len(found)
    assert keys == sorted(keys)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_named_by_the_documents_exist(name: str) -> None:
    """Files are named in tables, relative to src/warner, and in links."""
    text = (DOCS / name).read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for path in {found for row in rows for found in re.findall(r"`([\w/]+\.py)`", row)}:
        assert (ROOT / "src" / "warner" / path).exists(), f"{name} names {path}"
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (DOCS / link).exists(), f"{name} links to {link}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_public_names_of_the_documents_exist(name: str) -> None:
    """Names in CamelCase in code style are public names of the package, or attributes of one."""
    text = re.sub(r"```.*?```", "", (DOCS / name).read_text(), flags=re.S)
    for found in set(re.findall(r"`([A-Z][a-z]+[A-Z]\w*)(?:\([^`]*\))?`", text)):
        assert hasattr(warner, found), f"{name} names {found}"
