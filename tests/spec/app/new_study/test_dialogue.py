"""``warner new`` on a terminal: questions, wrong answers to them, and Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.spec.app._command import run
from warner import Study
from warner.app.cli import main
from warner.designs import Crosswise

ALL = """\
Habits
smokes
secret
labels
Do you smoke?
never, never
never, often
units
s
wh
Units in a week?
60:0
0:60
weight

d

40:200:16
home
secret
places
Where do you live?
4x3
age
public
w
How old are you?
18:99
units

"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_file_everything_is_asked() -> None:
    said = run("new", "-o", "study.toml", text=ALL).stderr
    assert "smokes: must have two or more different labels, separated by commas" in said
    assert "units: must have two limits, the smaller limit first" in said
    assert "units is already in the study" in said
    study = Study.load("study.toml")
    assert study.title == "Habits" and list(study.public) == ["age"]
    assert study.texts.question("age", "en") == "How old are you?"
    assert study.labels == {
        "smokes": "Do you smoke?",
        "units": "Units in a week?",
        "weight": "weight",
        "home": "Where do you live?",
    }
    assert study.draw is not None and study.draw.domain.shape == (2, 61, 16, 12)


def test_a_question_on_paper_is_asked_for_its_card() -> None:
    """Rejects a dialogue at whose end nobody can print a sheet."""
    typed = "Club\ndoped\n\nyes\ncrosswise:1/0\ncrosswise:1/6\nHave you doped?\n\n"
    said = run("new", "-o", "study.toml", text=typed).stderr
    assert "p: must be a chance; got '1/0'" in said
    assert Study.load("study.toml").mechanisms["doped"] == Crosswise("1/6")
    assert Study.load("study.toml").labels == {"doped": "Have you doped?"}
    assert "Next: warner study sheet study.toml" in said


def test_with_a_file_what_is_not_stated_is_asked() -> None:
    Path("a.csv").write_text("smokes,units,ward,day\n" + "no,3,N,2024-05-31\n" * 20)
    typed = "\nDo you smoke?\nno,yes\n\n0:60\nIn which ward?\nN,S\n\n"
    asked = ("--secret", "smokes,units", "--public", "ward,day", "--ask")
    run("new", "a.csv", "-o", "study.toml", *asked, text=typed)
    study = Study.load("study.toml")
    assert study.labels == {"smokes": "Do you smoke?", "units": "units"}
    assert study.public["ward"].labels == ["N", "S"]
    assert study.texts.question("ward", "en") == "In which ward?"
    typed = "smokes\nT\n\n\n"
    run("new", "a.csv", "-o", "later.toml", "--ask", text=typed)
    assert 'values = "TO DECIDE"' in Path("later.toml").read_text()


@pytest.mark.parametrize("lines", [0, 1, 2, 5, 12])
def test_where_the_input_ends_nothing_is_written(lines: int) -> None:
    typed = "".join(ALL.splitlines(keepends=True)[:lines])
    result = CliRunner().invoke(main, ["new", "-o", "study.toml"], input=typed)
    assert result.exit_code == 130 and "Interrupted: no file was written." in result.stderr
    assert list(Path().iterdir()) == []


def test_ctrl_c_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("study.toml").write_text("mine")
    answers = iter(["Habits", "smokes"])

    def typed(*args: object, **kwargs: object) -> str:
        answer = next(answers, None)
        if answer is None:
            raise click.Abort  # what click makes of Ctrl-C
        return answer

    monkeypatch.setattr(click, "prompt", typed)
    result = CliRunner().invoke(main, ["new", "-o", "study.toml", "--force"])
    assert result.exit_code == 130 and Path("study.toml").read_text() == "mine"
    assert [path.name for path in Path().iterdir()] == ["study.toml"]
