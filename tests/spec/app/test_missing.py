"""Missing answers on the command line: from a study file to tables."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import warner
from tests.spec.app._command import run

STUDY = """
[attributes.smokes]
values = ["never", "often"]
mechanism = "SubsetSelection"
epsilon = 3.0
missing = "answer"
empty = ["", "NA"]
[attributes.units]
integers = [0, 3]
mechanism = "{mechanism}"
epsilon = 3.0
missing = "{missing}"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY.format(mechanism="SubsetSelection", missing="answer"))
    rows = ["never,1", "often,2", ",", "NA,2", "never,"] * 300
    Path("answers.csv").write_text("smokes,units\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_shares_are_shown_of_all_people_and_of_those_who_answered(here: Path) -> None:
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1").output
    assert "1,500 people" in said and "left out" not in said
    run("tally", "r.parquet", "-o", "t.json")
    shown = run("estimate", "t.json", "-o", "e.csv", "-o", "e.json", "-o", "-").output
    assert re.search(r"\(no answer\) +[34]\d\.\d %", shown)
    assert re.search(r"[56]\d[.\d]*\s% of all people answered, 95 % interval \d\d", shown)
    assert "Mean of those who answered 1." in shown
    rows = list(csv.DictReader(io.StringIO(Path("e.csv").read_text())))
    by = {(row["attribute"], row["value"]): row for row in rows}
    given = float(by["smokes", "(answered)"]["estimate"])
    assert given + float(by["smokes", "(no answer)"]["estimate"]) == pytest.approx(1)
    share = float(by["smokes (of those who answered)", "never"]["estimate"])
    assert share * given == pytest.approx(float(by["smokes", "never"]["estimate"]))
    smokes, units = json.loads(Path("e.json").read_text())
    assert smokes["answered"]["estimate"] == given and units["answered"]["low"] < 0.6
    assert [row["value"] for row in units["answered"]["shares"]] == [0, 1, 2, 3]
    assert sum(row["estimate"] for row in units["answered"]["shares"]) == pytest.approx(1)
    shown = run("estimate", "t.json", "--only", "units", "--summary", "mean,above:1").output
    assert "mean, of those who answered" in shown and "share above 1, of those who" in shown


def test_a_word_drops_people_and_the_terminal_says_what_that_tells(here: Path) -> None:
    Path("study.toml").write_text(STUDY.format(mechanism="SquareWave", missing="drop"))
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1").output
    assert "900 people" in said and "600 of 1,500 people left out as a whole" in said
    assert "can see how many sent no report" in said
    run("tally", "r.parquet", "-o", "t.json")
    assert "answered" not in json.loads(run("estimate", "t.json", "--json").stdout)[1]


def test_a_missing_answer_is_refused_with_the_policies_as_remedy(here: Path) -> None:
    Path("study.toml").write_text(STUDY.format(mechanism="SquareWave", missing="refuse"))
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", ok=False).stderr
    assert "column 'units', data row 3" in said and "for 599 more: data rows 5, 8" in said
    assert 'missing = "answer"' in said and not Path("r.parquet").exists()


@pytest.mark.parametrize("mechanism", ["Geometric", "TruncatedGeometric", "PlanarLaplace"])
def test_a_metric_mechanism_refuses_nonresponse_and_names_what_works(mechanism: str) -> None:
    text = STUDY.format(mechanism=mechanism, missing="answer")
    if mechanism == "PlanarLaplace":
        text = text.replace("integers = [0, 3]", "grid = { rows = 2, columns = 2 }")
    with pytest.raises(warner.errors.StudyError, match=r"attributes\.units\.missing") as caught:
        warner.Study.parse(text)
    assert "SquareWave" in str(caught.value) and "KeyValue" in str(caught.value)


@pytest.mark.parametrize("mechanism", ["SquareWave", "Piecewise", "StochasticRounding", "Laplace"])
def test_a_mechanism_of_numbers_has_nonresponse_beside_it(here: Path, mechanism: str) -> None:
    Path("study.toml").write_text(STUDY.format(mechanism=mechanism, missing="answer"))
    study = warner.Study.load("study.toml")
    found = study.mechanisms["units"]
    assert isinstance(found, warner.mechanisms.WithNonresponse) and found.epsilon <= 3.0
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1").output
    assert "1,500 people" in said and "left out" not in said
    run("tally", "r.parquet", "-o", "t.json")
    _, units = json.loads(run("estimate", "t.json", "-m", "mle", "--json").stdout)
    # 600 of 1500 people gave no number; StochasticRounding tells the mean alone.
    if mechanism != "StochasticRounding":
        assert units["answered"]["estimate"] == pytest.approx(0.6, abs=0.1)


@pytest.mark.parametrize("more", ["", "reports = 2", 'tags = ["home"]'])
def test_nonresponse_must_be_sensitive_where_some_answers_are_not(more: str) -> None:
    """Otherwise a report shows who gave no answer, and the study promises to protect it."""
    text = """
    [attributes.smokes]
    values = ["never", "often"]
    mechanism = "UtilityOptimizedRR"
    epsilon = 1.0
    missing = "answer"
    sensitive = ["often"%s]
    """
    with pytest.raises(warner.errors.StudyError, match=r"sensitive: must list '.no answer.'"):
        warner.Study.parse(text % "" + more)
    study = warner.Study.parse(text % ', "(no answer)"' + more)
    assert not study.mechanisms["smokes"].shows_nonresponse


def test_keys_of_a_study_are_checked(here: Path) -> None:
    for old, new, said in (
        ('missing = "answer"', 'missing = "ignore"', "missing"),
        ('empty = ["", "NA"]', 'empty = "NA"', "empty"),
        ('empty = ["", "NA"]', 'empty = ["never"]', "must not list a value"),
        ('empty = ["", "NA"]', "empty = [1]", "empty"),
    ):
        with pytest.raises(warner.errors.StudyError, match=said):
            warner.Study.parse(Path("study.toml").read_text().replace(old, new, 1))


def test_a_study_without_the_keys_is_what_it_was() -> None:
    text = STUDY.format(mechanism="SquareWave", missing="refuse")
    bare = re.sub("(missing|empty) = .*\n", "", text)
    before, now = warner.Study.parse(bare), warner.Study.parse(text.replace('"answer"', '"drop"'))
    assert before.digest == now.digest
    # Nonresponse as a value makes another question.
    assert warner.Study.parse(text).digest != before.digest


def test_pairs_leave_people_out_or_need_a_key_for_nonresponse() -> None:
    text = """
    [attributes.pay]
    keys = ["a", "b"]
    interval = { low = 0, high = 1, bins = 4 }
    mechanism = "KeyValue"
    epsilon = 1.0
    missing = "%s"
    """
    study = warner.Study.parse(text % "drop")
    assert study.answer_columns == ["pay_key", "pay_value"]
    with pytest.raises(warner.errors.StudyError, match="a key for nonresponse"):
        warner.Study.parse(text % "answer")


def test_the_joint_shares_of_attributes_have_nonresponse(here: Path) -> None:
    text = STUDY.format(mechanism="X", missing="answer")
    text = re.sub("(mechanism|epsilon) = .*\n", "", text)
    Path("study.toml").write_text(
        text + '[[joint]]\nattributes = ["smokes", "units"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 5.0\n'
    )
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1")
    run("tally", "r.parquet", "-o", "t.json")
    data = json.loads(run("estimate", "t.json", "--only", "units", "--json").stdout)
    assert data[0]["attribute"] == "units" and 0.5 < data[0]["answered"]["estimate"] < 0.7
