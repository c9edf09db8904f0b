"""Names of groups, of which files are named, and people whose group is stated twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.app._command import run
from warner import Categorical, RandomizedResponse, Study
from warner.errors import ArgumentError, FileError, StudyError
from warner.io import open_reports, write_reports

STUDY = """
group_column = "clinic"
[attributes.sex]
values = ["f", "m"]
[attributes.smokes]
values = ["no", "yes"]
[[joint]]
attributes = ["sex", "smokes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[[groups]]
name = "North"
[[groups]]
name = "South"
"""
CHANGE = '[groups.attributes."sex x smokes"]\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a\\\\b", ".x", "..", "", " a", "a ", "a\\nb", "x" * 61, "e\\u0301"]
)
def test_a_group_has_a_name_that_a_file_can_have(name: str) -> None:
    with pytest.raises(StudyError, match="because files are named after groups"):
        Study.parse(STUDY.replace('"South"', f'"{name}"'))


@pytest.mark.parametrize("names", [("ﬁ", "FI"), ("가", "\u1100\u1161"), ("K", "\u212a")])
def test_groups_whose_files_some_systems_take_for_one_are_refused(names: tuple[str, str]) -> None:
    text = STUDY.replace("North", names[0]).replace("South", names[1])
    with pytest.raises(StudyError, match="differ by more than upper and lower case"):
        Study.parse(text)


@pytest.mark.parametrize("name", ["../../x", "a/b", "", "..", "x" * 300, "a\x1b[2J"])
def test_a_report_file_names_no_group_that_no_file_can_be_named_after(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    with pytest.raises(ArgumentError, match="because files are named after groups"):
        write_reports({"s": coin.randomize(["no"])}, "r.csv", group=name)
    # A file that another program made, with a checksum that is right.
    monkeypatch.setattr("warner.io.report_writer.can_name_a_file", lambda name: True)
    write_reports({"s": coin.randomize(["no"])}, "r.csv", group=name)
    with pytest.raises(FileError, match="group that no file can be named after"):
        open_reports("r.csv")


def test_tallies_of_groups_do_not_replace_each_other_on_any_system(here: Path) -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    for i, group in enumerate(["North", "NORTH"]):
        write_reports({"s": coin.randomize(["no"] * (i + 1))}, f"{i}.csv", group=group)
    said = run("tally", "0.csv", "1.csv", "-o", "t.json", ok=False).output
    assert "differ by more than upper and lower case" in said
    assert not list(here.glob("t*.json"))


def test_a_group_cannot_change_what_is_randomised_together() -> None:
    # In another order the same reports would stand for other answers.
    with pytest.raises(StudyError, match="attributes: is the same for all groups"):
        Study.parse(STUDY + CHANGE + 'attributes = ["smokes", "sex"]\n')


@pytest.mark.parametrize("column", ["", "a\\u001b[2J"])
def test_the_column_of_the_group_is_a_name_that_screens_show(column: str) -> None:
    with pytest.raises(StudyError, match="group_column: must not"):
        Study.parse(STUDY.replace('"clinic"', f'"{column}"'))


def test_a_stated_group_must_agree_with_the_column_of_a_file(here: Path) -> None:
    Path("a.csv").write_text("clinic,sex,smokes\nNorth,f,no\nSECRET,f,no\n")
    said = run("randomize", "study.toml", "a.csv", "--group", "North", "-o", "r.csv", ok=False)
    assert "column 'clinic', data row 2: must name the group 'North'" in said.output
    assert "SECRET" not in said.output and not Path("r.csv").exists()
    for text in ("clinic,sex,smokes\nNorth,f,no\n", "sex,smokes\nf,no\n"):
        Path("a.csv").write_text(text)
        run("randomize", "study.toml", "a.csv", "--group", "North", "-o", "r.csv")
        Path("r.csv").unlink()
    run("randomize", "study.toml", "--group", "North", "-o", "r.csv", text="sex,smokes\nf,no\n")
    run("randomize", "study.toml", "--group", "North", "--bare", "-o", "r.csv", text="f,no\n")


def test_it_says_that_no_file_is_written_for_a_group_of_nobody(here: Path) -> None:
    Path("a.csv").write_text("clinic,sex,smokes\nNorth,f,no\n")
    said = run("randomize", "study.toml", "a.csv", "-o", "r.csv").stderr
    assert "South: 0 people, so r.South.csv was not written" in said
    assert "North: 1 person in r.North.csv" in said and not Path("r.South.csv").exists()


@pytest.mark.parametrize("key", ["epsilon", "delta"])
def test_numbers_beyond_every_float_are_refused_for_several_reports_too(key: str) -> None:
    numbers = {"epsilon": "1.0", "delta": "1e-6"} | {key: "1" + "0" * 400}
    with pytest.raises(StudyError, match=f"{key}: "):
        Study.parse(
            'delta = 0.1\n[attributes.q]\nintegers = [0, 9]\nmechanism = "Gaussian"\nreports = 3\n'
            + "".join(f"{name} = {number}\n" for name, number in numbers.items())
        )


def test_a_budget_that_is_none_is_named_as_it_was_stated() -> None:
    table = '[attributes.q]\nintegers = [0, 9]\nmechanism = "Geometric"\nreports = 3\n'
    with pytest.raises(StudyError, match=r"greater than 0; got -1\.0"):
        Study.parse(table + "epsilon = -1\n")
