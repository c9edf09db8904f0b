"""The pages of the papers agree with the declarations of the experiments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from papers import experiments
from papers.registry import PAPERS

DOCS = Path(__file__).parents[2] / "docs" / "papers"


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_a_paper_has_every_claim_with_its_answer(paper: str) -> None:
    page = (DOCS / f"{paper}.md").read_text()
    answers = {"yes": True, "**no**": False, "not decided": None}
    rows = re.findall(rf"^\| (.+) \| (?:{paper}|ours) \| (\S+) \| (.+) \|$", page, flags=re.M)
    shown = {(name, text): answers[answer] for text, name, answer in rows}
    declared = {
        (experiment.name, claim.text): claim.held
        for experiment in experiments().values()
        if experiment.paper == paper
        for claim in experiment.claims
    }
    assert shown == declared


@pytest.mark.parametrize("paper", PAPERS)
def test_every_picture_of_a_page_is_there(paper: str) -> None:
    page = (DOCS / f"{paper}.md").read_text()
    pictures = re.findall(r"!\[.*?\]\((.+?)\)", page)
    assert pictures
    for picture in pictures:
        assert (DOCS / picture).is_file(), picture


def test_every_row_of_the_papers_has_an_answer() -> None:
    coverage = (DOCS / "coverage.md").read_text()
    rows = [line.split("|") for line in coverage.splitlines() if line.startswith("| ")]
    answers = [row for row in rows if len(row) >= 5 and set(row[1].strip()) - set("-")]
    assert len(answers) > 200
    for row in answers:
        assert all(cell.strip() for cell in row[1:4]), row
