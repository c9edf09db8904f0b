"""What a page of another tool loads is written whole, and equals what the collector serves."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from tests.spec.app._command import run
from warner import Study
from warner.collector.survey_document import survey_bytes, survey_digest

STUDY = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)


def test_the_document_and_the_module_are_written() -> None:
    done = run("study", "embed", "study.toml", "-o", "page/survey")
    served = Path("page/survey/study.json").read_bytes()
    assert served == survey_bytes(Study.load("study.toml"))
    script = resources.files("warner").joinpath("browser", "warner.js").read_bytes()
    assert Path("page/survey/warner.js").read_bytes() == script
    assert survey_digest(served) in done.stderr


def test_files_that_are_there_are_not_replaced_without_being_told() -> None:
    Path("page").mkdir()
    Path("page/warner.js").write_text("mine")
    done = run("study", "embed", "study.toml", "-o", "page", ok=False)
    assert "page/warner.js: is there already" in done.stderr
    assert Path("page/warner.js").read_text() == "mine" and not Path("page/study.json").exists()
    run("study", "embed", "study.toml", "-o", "page", "--force")
    assert Path("page/study.json").exists()


def test_a_study_that_no_page_can_ask_is_refused() -> None:
    Path("study.toml").write_text(STUDY + 'missing = "drop"\n')
    done = run("study", "embed", "study.toml", "-o", "page", ok=False)
    assert "cannot be served" in done.stderr and not Path("page").exists()
