"""The list of all sentences that people read, from which readers draw: nothing is left out of it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "sentences.py"


@pytest.fixture(scope="module")
def texts() -> set[str]:
    return {each.text for each in runpy.run_path(str(SCRIPT))["sentences"]()}


def test_the_list_has_sentences_of_commands_pages_reports_and_errors(texts: set[str]) -> None:
    """Rejects: a list of whole literals alone, which would show a rule without its name and remedy."""
    for kind, text in {
        "an error with its name, its rule and its remedy": "frame: has no reports.",
        "a remedy that stands in a variable": "{suffix}. Rename the file, so that its name ends in {suffix}.",
        "the help of a command": "The tally file to write (JSON). Default: print the tally.",
        "a word of the survey page": "Delete that report",
        "a sentence under a table": "The reports are simulated.",
    }.items():
        assert any(text in each for each in texts), kind
    assert len(texts) > 2500


def test_the_list_has_no_code(texts: set[str]) -> None:
    assert not [each for each in texts if "SELECT " in each or "</" in each or "{%" in each]
