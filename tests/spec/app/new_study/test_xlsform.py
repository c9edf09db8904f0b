"""Studies from the forms of ODK and KoboToolbox."""

from __future__ import annotations

import csv
import sys
import zipfile
from pathlib import Path

import openpyxl  # type: ignore[import-untyped]
import pytest

from tests.spec.app._command import run
from warner import Categorical, Integers, Study
from warner.app.new_study.xlsform import limits_of, read_form
from warner.domains import Items
from warner.errors import ArgumentError, FileError, MissingExtraError

SURVEY = """
type | name | label::English (en) | label::Deutsch (de) | hint::English (en) | hint::Deutsch (de) | constraint | required | warner_mechanism | warner_epsilon | warner::variant | warner_unit | warner_public | relevant | parameters | choice_filter
begin_group | habits | Habits | Gewohnheiten | | | | | | | | | | | |
select_one freq | smokes | Do you smoke? | Rauchen Sie? | Pipes too | Auch Pfeife | | yes | UnaryEncoding | 0.5 | oue | | | | |
integer | age | Your age | Ihr Alter | | | . >= 18 and . < 100 | | | 1 | | years | | | |
end_group | | | | | | | | | | | | | | |
decimal | weight | Weight | Gewicht | | | (. > 30) and 200 >= . | | Laplace | 1 | | kg | | ${age} > 20 | |
integer | place | Place | Ort | | | . > 0 and . < 20 | | Geometric | 1 | | | | | |
range | pain | Pain | Schmerz | | | | | | 1 | | | | | start=0 end=10 step=1 |
range | fives | Fives | Fünfer | | | | true() | | 1 | | | | | start=0 end=20 step=5 |
integer | open | Open | Offen | | | . > 3 | | | 1 | | | | | |
select_one ward | ward | Ward | Station | | | | | | | | | yes | | |
text | name | Name | Name | | | | | | 1 | | | | | |
select_multiple freq | many | Many | Viele | | | | | | 1 | | | | | |
select_one freq | some | Some | Einige | | | | | | 1 | | | | | | name=${smokes}
select_one freq | again | Again ${age} | Wieder | | | | | | 1 | | | | | |
geopoint | spot | Spot | Ort | | | | | | 1 | | | | | |
begin_repeat | visits | Visits | Besuche | | | | | | | | | | | |
integer | nights | Nights | Nächte | | | . > 0 and . < 9 | | | 1 | | | | | |
end_repeat | | | | | | | | | | | | | | |
note | thanks | Thanks | Danke | | | | | | | | | | | |
text | remark | Remark | Bemerkung | | | | | | | | | | | |
"""
CHOICES = """
list_name | name | label::English (en) | label::Deutsch (de)
freq | 1 | Never | Nie
freq | 2 | Often | Oft
ward | n | North | Nord
ward | s | South | Süd
"""
SETTINGS = """
form_title | form_id | default_language
Health | health1 | Deutsch (de)
"""


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


def _sheets(**changed: str) -> dict[str, list[list[str]]]:
    texts = {"survey": SURVEY, "choices": CHOICES, "settings": SETTINGS} | changed
    return {name: _rows(text) for name, text in texts.items()}


def _write(path: Path, sheets: dict[str, list[list[str]]]) -> str:
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.remove(book.worksheets[0])
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append([float(c) if c in ("0.5", "1") else c or None for c in row])
        book.save(path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            for name, rows in sheets.items():
                csv.writer(file).writerows([[name], *(["", *row] for row in rows)])
    else:
        lines = [
            line
            for name, rows in sheets.items()
            for line in (f"| {name} |", *(f"| | {' | '.join(row)} |" for row in rows))
        ]
        path.write_text("\n".join(lines) + "\n")
    return str(path)


PLAIN = {
    "survey": "type | name | label | constraint | warner_epsilon\n"
    "select_one yn | smokes | Do you smoke? | | 1\n"
    "integer | units | Units | . >= 0 and . <= 60 | 2",
    "choices": "list_name | name | label\nyn | yes | Yes\nyn | no | No",
    "settings": "form_title | form_id\nHabits | h",
}


def test_a_form_becomes_a_study_whose_limits_are_named_where_they_are_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for suffix in (".xlsx", ".csv", ".md"):
        path = _write(Path(f"form{suffix}"), _sheets())
        done = run("study", "from-xlsform", path, "-o", f"{suffix[1:]}.toml")
        found.append(Path(f"{suffix[1:]}.toml").read_text())
    assert found[0] == found[1] == found[2]
    said = done.stderr
    for part in (
        "md.toml: 8 questions and 1 public column; no total epsilon.",
        "Left out: name. Reason: free text has no list of values.",
        "Left out: some. Reason: its choices depend on other answers.",
        "Left out: again. Reason: its text holds the answer to another question.",
        "Left out: spot. Reason: it asks for a place; ask for a cell of a grid instead.",
        "Left out: nights. Reason: it stands in a repeat, so one person answers it several times.",
        "Left out: remark. Reason: no entry in warner_epsilon, warner_mechanism or warner_public.",
        "The form asks only some people about weight, but the study asks everybody.",
        "Everybody must answer place, because the way of randomising it has no value for a "
        "missing answer.",
        "take the questions smokes, age, weight, place, pain, fives, open, many out of it",
        "Still to be decided: the values of the question open.",
    ):
        assert part in said, part
    assert "thanks" not in said
    done = run("audit", "md.toml", ok=False)
    assert "attributes.open.integers: is still to be decided" in done.stderr
    text = found[0].replace('integers = "TO DECIDE"', "integers = [4, 9]")
    study = Study.parse(text)
    texts = study.texts
    assert study.languages == ("de", "en") and study.title == "Health"
    assert texts.question("smokes", "en") == "Do you smoke?"
    assert texts.help("smokes", "de") == "Auch Pfeife"
    assert texts.answers("smokes", "de") == ("Nie", "Oft")
    assert texts.answers("ward", "en") == ("North", "South")
    assert texts.unit("weight") == "kg"
    domains = {name: domain.answered for name, domain in study.domains.items()}
    assert domains["smokes"] == Categorical([1, 2])
    assert domains["many"] == Items(["1", "2"]) and texts.answers("many", "en") == (
        "Never",
        "Often",
    )
    assert (domains["age"], domains["pain"]) == (Integers(18, 99), Integers(0, 10))
    assert domains["fives"] == Categorical([0, 5, 10, 15, 20])
    assert study.mechanisms["smokes"].guarantee.epsilon <= 0.5
    assert 'missing = "answer"' not in text.partition("[attributes.fives]")[2].partition("[a")[0]


def test_a_form_in_one_language_needs_no_tag(tmp_path: Path) -> None:
    path = _write(tmp_path / "form.md", _sheets(**PLAIN))
    text = read_form(path).study(1.0).text()
    study = Study.parse(text)
    assert study.budget == 3.0 and "languages" not in text and study.title == "Habits"
    assert study.labels == {"smokes": "Do you smoke?", "units": "Units"}
    assert study.texts.answers("smokes", "en")[:2] == ("Yes", "No")
    study = Study.parse(read_form(path, {"default": "sw"}).study(1.0).text())
    assert study.languages == ("sw",) and study.texts.question("units", "sw") == "Units"


def test_what_is_not_translated_is_still_to_be_decided(tmp_path: Path) -> None:
    survey = SURVEY.replace("Rauchen Sie?", "")
    path = _write(tmp_path / "form.md", _sheets(survey=survey, choices=CHOICES.replace("Oft", "")))
    first = read_form(path).study(1.0)
    assert first.untranslated == ["smokes", "many"]
    with pytest.raises(ValueError, match=r"smokes.label.de: is still to be decided") as caught:
        Study.parse(first.text())
    assert "smokes.answers.de[2]: is still to be decided" in str(caught.value)


def test_languages_without_a_tag_are_asked_for(tmp_path: Path) -> None:
    survey = SURVEY.replace("Deutsch (de)", "Swahili")
    sheets = _sheets(survey=survey, choices=CHOICES.replace("Deutsch (de)", "Swahili"))
    path = _write(tmp_path / "form.md", sheets)
    done = run("study", "from-xlsform", path, ok=False)
    assert 'Add --language "Swahili=TAG"' in done.stderr
    done = run("study", "from-xlsform", path, "--language", "Swahili=sw")
    assert 'languages = ["en", "sw"]' in done.stdout
    assert (
        "must be NAME=TAG" in run("study", "from-xlsform", path, "--language", "x", ok=False).stderr
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("| | 1\n", "| | many\n"), "smokes: warner_epsilon: must be a number above 0"),
        (("| | 1\n", "| |\n"), ""),
        (("warner_epsilon", "epsilon"), "has no question that can be randomised"),
    ],
)
def test_marks_that_cannot_be_used_are_named(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    sheets = _sheets(**PLAIN | {"survey": PLAIN["survey"].replace(*change)})
    path = _write(tmp_path / "form.md", sheets)
    if not told:
        assert read_form(path).left.popitem()[1] == ["smokes"]
        return
    with pytest.raises(ArgumentError, match=told):
        read_form(path)


def test_options_that_a_mechanism_does_not_have_are_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "form.md", _sheets(survey=SURVEY.replace("::variant", "::varint")))
    done = run("study", "from-xlsform", path, ok=False)
    assert "attributes.smokes.varint: is not an option of UnaryEncoding" in done.stderr


@pytest.mark.parametrize(
    ("constraint", "whole", "limits"),
    [
        (". >= 0 and . <= 120", True, ("0", "120")),
        (".>0 and .<120", True, ("1", "119")),
        (". > 0.5 and . < 9.5", True, ("1", "9")),
        (". > 0.5 and . < 9.5", False, ("0.5", "9.5")),
        ("-5 <= . and 5 > .", True, ("-5", "4")),
        (". >= 0 and . >= 3 and . <= 9", True, ("3", "9")),
        (". >= 9 and . <= 3", True, None),
        (". >= 0 and . <= 120 or . = 999", True, None),
        (". >= 0 and . <= ${most}", True, None),
        ("regex(., '[0-9]+')", True, None),
        ("not(. > 3)", True, None),
        ("", True, None),
    ],
)
def test_limits_are_read_from_plain_constraints_only(
    constraint: str, whole: bool, limits: tuple[str, str] | None
) -> None:
    assert limits_of(constraint, whole) == limits


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"survey,smokes\nCANARY,CANARY\n"),
        ("b.csv", b"CANARY,smokes\nCANARY,CANARY\n"),
        ("c.xlsx", b"PK\x03\x04CANARY"),
        ("d.xls", b"CANARY"),
        ("f.md", b"CANARY"),
    ],
)
def test_a_file_of_answers_in_the_place_of_a_form_is_not_shown(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match="cannot be read as an XLSForm") as caught:
        read_form(str(tmp_path / name))
    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_form_that_unzips_to_a_gigabyte_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a reader that unzips whatever a small file claims to hold."""
    monkeypatch.setattr("pyxform.xls2json_backends.get_xlsform", pytest.fail)
    path = tmp_path / "form.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb,
        bomb.open("xl/worksheets/sheet1.xml", "w") as sheet,
    ):
        for _ in range(64):
            sheet.write(b" " * 2**20)
    assert path.stat().st_size < 100_000
    with pytest.raises(FileError, match="which has at most 32 MiB; got 64 MiB"):
        read_form(str(path))
    plain = path.with_suffix(".csv")
    with open(plain, "wb") as file:
        file.truncate(2**26)
    with pytest.raises(FileError, match="which has at most 32 MiB"):
        read_form(str(plain))


def test_a_missing_file_a_suffix_and_a_missing_package_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        "none.xlsx: does not exist. Check the name."
        in run("study", "from-xlsform", "none.xlsx", ok=False).stderr
    )
    assert (
        "form.pdf: must be a form with the ending .xlsx, .xlsm, .xls, .csv or .md"
        in run("study", "from-xlsform", "form.pdf", ok=False).stderr
    )
    monkeypatch.setitem(sys.modules, "pyxform.errors", None)
    with pytest.raises(MissingExtraError, match=r"warner\[xlsform\]"):
        read_form(_write(tmp_path / "form.md", _sheets(**PLAIN)))


def test_a_study_that_is_there_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = _write(Path("form.md"), _sheets(**PLAIN))
    Path("study.toml").write_text("mine")
    done = run("study", "from-xlsform", path, "-o", "study.toml", ok=False)
    assert "already exists" in done.stderr and Path("study.toml").read_text() == "mine"
    run("study", "from-xlsform", path, "-o", "study.toml", "--force")
    assert run("audit", "study.toml").exit_code == 0


def test_the_form_of_the_recipe_becomes_what_the_recipe_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = (Path(__file__).parents[4] / "docs" / "recipes" / "odk.md").read_text()
    monkeypatch.chdir(tmp_path)
    Path("form.md").write_text(recipe.partition("```markdown\n")[2].partition("```")[0])
    done = run("study", "from-xlsform", "form.md", "-o", "study.toml")
    assert done.stderr == recipe.partition("```text\n")[2].partition("```")[0]
    assert run("audit", "study.toml").exit_code == 0
    texts = Study.load("study.toml").texts
    assert texts.answers("smokes", "de") == ("nie", "oft") and texts.unit("weight") == "kg"
