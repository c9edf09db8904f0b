"""``warner new``: a first study from a look at a file, which the other commands take."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from warner import Study

ROWS = 300
STATED = (
    "--values=smokes=never,sometimes,often",
    "--values=condition=yes,no",
    "--range=units=0:60",
    "--values=hospital=North,South",
)
ASKED = ("--secret", "smokes,units,condition", "--public", "hospital")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    columns = {
        "patient": [f"P{i}" for i in range(ROWS)],
        "hospital": rng.choice(["North", "South"], ROWS).tolist(),
        "smokes": rng.choice(["never", "sometimes", "often"], ROWS).tolist(),
        "units": rng.integers(0, 58, ROWS).tolist(),
        "weight": np.round(40 + 79 * rng.random(ROWS), 1).tolist(),
        "condition": rng.choice(["yes", "no"], ROWS).tolist(),
        "visit": [str(datetime.date(2024, 1, 1) + datetime.timedelta(i)) for i in range(ROWS)],
        "home": [f"{i},{j}" for i, j in rng.integers(0, 9, (ROWS, 2)).tolist()],
        "rating": rng.integers(1, 6, ROWS).tolist(),
    }
    pq.write_table(pa.table(columns), "answers.parquet")
    lines = [",".join(columns)]
    lines += [",".join(f'"{cell}"' for cell in row) for row in zip(*columns.values(), strict=True)]
    Path("answers.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("file", ["answers.csv", "answers.parquet"])
def test_a_study_that_is_stated_is_audited_and_used_at_once(here: Path, file: str) -> None:
    said = run("new", file, "-o", "study.toml", *ASKED, *STATED).stderr
    assert "study.toml: 3 questions and 1 public column; epsilon 1.0 for each person." in said
    assert (
        "Columns left out, because you named them neither secret nor public: patient, weight, visit, "
        in said
    )
    assert "Next: warner audit study.toml" in said
    run("audit", "study.toml")
    run("randomize", "study.toml", file, "-o", "r.parquet")
    study = Study.load("study.toml")
    assert study.title == "A survey of smokes, units, condition"
    head = Path("study.toml").read_text().partition("[")[0]
    assert "these public columns, as people read it: hospital." in " ".join(head.split())
    assert study.labels == {"smokes": "smokes", "units": "units", "condition": "condition"}
    assert study.epsilon <= 1.0 and list(study.public) == ["hospital"]
    assert study.draw is not None and len(study.draw.parts) == 3
    assert study.draw.domain.attributes["units"].spec() == {
        "kind": "integers",
        "low": 0,
        "high": 60,
    }


def test_a_range_of_labels_is_a_list_of_codes(here: Path) -> None:
    """Rejects --kind labels that a range silently makes numbers again."""
    stated = "--secret", "error", "--kind", "error=labels", "--range"
    run("new", "-o", "codes.toml", *stated, "error=0:29")
    assert Study.load("codes.toml").domains["error"].labels == list(range(30))
    for text in ("error=0:29:5", "error=0:9.5", "error=0:9999999"):
        assert (
            "must have only a first and a last code, such as 0:299"
            in run("new", *stated, text, ok=False).stderr
        )


def test_secret_columns_may_be_named_one_by_one(here: Path) -> None:
    one_by_one = ("--secret", "smokes", "--secret", "units,condition", "--public", "hospital")
    run("new", "answers.csv", "-o", "a.toml", *ASKED, *STATED)
    run("new", "answers.csv", "-o", "b.toml", *one_by_one, *STATED)
    assert Path("a.toml").read_text() == Path("b.toml").read_text()


def test_what_nobody_stated_is_refused_at_its_line_until_it_is_decided(here: Path) -> None:
    said = run("new", "answers.csv", "-o", "study.toml", *ASKED).stderr
    assert (
        "Still to be decided: the values of the columns smokes, units, condition, hospital." in said
    )
    text = Path("study.toml").read_text()
    lines = [i for i, line in enumerate(text.splitlines(), 1) if '= "TO DECIDE"' in line]
    told = run("audit", "study.toml", ok=False).stderr.splitlines()[1:]
    assert [line.partition(":")[0] for line in told] == [f"line {i}" for i in lines]
    assert all("is still to be decided. Write for example " in line for line in told)
    decided = text.replace('integers = "TO DECIDE"', "integers = [0, 60]")
    for labels in ('["never", "sometimes", "often"]', '["yes", "no"]', '["North", "South"]'):
        decided = decided.replace('"TO DECIDE"', labels, 1)
    Path("study.toml").write_text(decided)
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")


def test_values_are_copied_only_when_told_and_this_is_said(here: Path) -> None:
    everything = "smokes,units,weight,home,rating,condition"
    told = ("--secret", everything, "--public", "hospital,visit", "--values-from-data")
    said = run("new", "answers.csv", "-o", "study.toml", *told, "--grid=home=9x9").stderr
    warning = "WARNING: values of smokes, units, weight, rating, condition, hospital were copied"
    assert warning in said and "can be one person's answer" in said
    text = Path("study.toml").read_text()
    assert "can be one person's" in text.replace("\n#    ", " ")
    assert 'values = ["never", "often", "sometimes"]' in text and "integers = [0, 57]" in text
    assert "interval = { low = 4" in text and "grid = { rows = 9, columns = 9" in text
    assert "integers = [1, 5]" in text and 'dates = "week"' in text
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("new", "answers.csv", "-o", "study.toml", *told, "--grid=home=9x9", "--rounded", "--force")
    rounded = Path("study.toml").read_text()
    assert "integers = [0, 60]" in rounded and "low = 0, high = 200" in rounded
    Study.load("study.toml")


def test_some_columns_can_be_copied_alone(here: Path) -> None:
    run("new", "answers.csv", "-o", "study.toml", *ASKED, "--copy", "hospital")
    text = Path("study.toml").read_text()
    assert 'values = ["North", "South"]' in text and text.count('= "TO DECIDE"') == 3
    refused = run("new", "answers.csv", *ASKED, "--copy", "hospitl", ok=False).stderr
    assert (
        "--copy: must be one of the columns of --secret and --public: smokes" in refused
        and "Is 'hospital' meant?" in refused
    )


def test_the_mechanism_follows_the_values_and_the_budget(here: Path) -> None:
    told = ("--secret", "rating,units,home", "--grid", "home=24x16", "--range", "rating=1:5")
    text = run("new", "answers.csv", *told, "--range", "units=0:20", "--epsilon", "0.1").stdout
    data = tomllib.loads(text)
    chosen = {name: table["mechanism"] for name, table in data["attributes"].items()}
    assert chosen == {
        "rating": "RandomizedResponse",  # five values are fewer than 3 exp(0.1) + 2
        "units": "SquareWave",
        "home": "UnaryEncoding",
    }
    assert data["ask"] == {"each": "one", "epsilon": 0.1} and Study.parse(text).epsilon <= 0.1
    two = run("new", "answers.csv", "--secret=rating,units", "--range=rating=1:5").stdout
    assert "[ask]" not in two and "budget = 2.0" in two
    rating = run("new", "answers.csv", "--secret=rating", "--range=rating=1:11").stdout
    assert 'mechanism = "SquareWave"' in rating


def test_a_file_is_replaced_only_if_told_and_never_the_answers(here: Path) -> None:
    Path("study.toml").write_text("mine")
    refused = run("new", "answers.csv", "-o", "study.toml", *ASKED, *STATED, ok=False).stderr
    assert "study.toml: already exists. Choose another name, or replace it with --force" in refused
    assert Path("study.toml").read_text() == "mine"
    before = Path("answers.csv").read_bytes()
    run("new", "answers.csv", "-o", "answers.csv", *ASKED, *STATED, "--force", ok=False)
    assert Path("answers.csv").read_bytes() == before
    run("new", "answers.csv", "-o", "study.toml", *ASKED, *STATED, "--force")
    Study.load("study.toml")


@pytest.mark.parametrize(
    "options, complaint",
    [
        ((), "--secret: must name the columns whose answers are to be protected"),
        (("--secret", "smokes,,units"), "--secret: must have a name on both sides of each comma"),
        (("--secret", "smokes,smokes"), "--secret: must name each column only once"),
        (
            ("--secret", "smokes", "--public", "smokes"),
            "--public: must not name a column that --secret names too; got smokes",
        ),
        (("--secret", "smoke"), "answers.csv: has no column 'smoke'. Check the names"),
        (("--secret", "Smokes"), "has no column 'Smokes'. Is 'smokes' meant?"),
        (
            (*ASKED, "--values", "smokes"),
            "must be written NAME=VALUE; got 'smokes'. Write --values smokes=VALUE.",
        ),
        ((*ASKED, "--values", "smoke=a,b"), "must be one of smokes, units, condition, hospital"),
        ((*ASKED, "--values", "smokes=a,a"), "smokes: must have two or more different labels"),
        ((*ASKED, "--values", "smokes=yes/no"), "separated by commas; got 'yes/no'. Write yes,no."),
        ((*ASKED, "--values", "smokes=yes; no"), "Write yes,no."),
        ((*ASKED, "--values", "units=0-60"), "For numbers, give their range: 0:60."),
        ((*ASKED, "--range", "units=0-60"), "got '0-60'. Write 0:60."),
        ((*ASKED, "--range", "units=60:0"), "units: must have two limits, the smaller limit first"),
        (
            (*ASKED, "--range", "units=0:1", "--values", "units=1,2"),
            "units: has --values and --range, but only one of these can be given",
        ),
        ((*ASKED, "--kind", "units=whole"), "--kind: must be one of labels, integers"),
        ((*ASKED, "--grid", "units=3"), "units: must have a grid ROWSxCOLUMNS"),
        (("--secret", "a.b", "--values", "a.b=x,y"), "answers.csv: has no column 'a.b'"),
    ],
)
def test_options_are_checked_in_words(here: Path, options: tuple[str, ...], complaint: str) -> None:
    refused = run("new", "answers.csv", "-o", "study.toml", *options, ok=False).stderr
    assert complaint in refused and not Path("study.toml").exists()


def test_names_and_texts_that_toml_must_escape_come_back(tmp_path: Path) -> None:
    asked = 'Say "so":\\ \u00e9 # = ['
    text = run(
        *("new", "--secret", 'ein Name,b"c', "--no-ask", "--title", asked),
        *("--values", "ein Name=#a,\u00f6", "--values", 'b"c=[,\\', "--label", f'b"c={asked}'),
    ).stdout
    study = Study.parse(text)
    assert study.title == asked and study.labels == {"ein Name": "ein Name", 'b"c': asked}
    assert study.mechanisms["ein Name"].domain.labels == ["#a", "\u00f6"]
    assert study.mechanisms['b"c'].domain.labels == ["[", "\\"]


def test_no_file_and_a_name_that_no_study_can_have() -> None:
    refused = run("new", "--secret", "a.b", "--values", "a.b=x,y", "--no-ask", ok=False).stderr
    assert "attributes.a.b: names must not contain a point." in refused
    refused = run("new", "--secret", "a", "--values-from-data", ok=False).stderr
    said = (
        "Error: --values-from-data: can be used only with a file of answers. Name the file: warner"
    )
    assert said in refused


@pytest.mark.parametrize(
    "typed, complaint",
    [
        (["Do you smoke?"], "Without such a file, write --secret 'Do you smoke?'."),
        (["study.toml"], "Without such a file, write -o study.toml."),
        (
            ["--secret", "smokes=Do you smoke?"],
            "Write --secret smokes --label 'smokes=Do you smoke?'.",
        ),
        (["--design", "smokes=crosswise:1/4"], "For example --secret smokes."),
    ],
)
def test_a_question_in_the_place_of_a_file_or_of_a_name_is_told_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], complaint: str
) -> None:
    """Rejects a study of the question "smokes=Do you smoke?", and options that nobody read."""
    monkeypatch.chdir(tmp_path)
    assert complaint in run("new", *typed, ok=False).stderr


def test_coordinates_and_dates_have_the_comment_that_helps(here: Path) -> None:
    Path("places.csv").write_text("lat,lon,born\n" + "52.5,13.4,1980-05-01\n" * 20)
    text = run("new", "places.csv", "--secret", "lat,lon,born").stdout
    assert (
        text.count("One coordinate alone") == 2 and "Dates have too many different values" in text
    )


def test_semicolons_and_decimal_commas_are_read(here: Path) -> None:
    Path("b.csv").write_text("weight;home\n" + '61,5;"3,4"\n70,25;"0,1"\n' * 20)
    told = ("--secret", "weight,home", "--values-from-data", "--grid", "home=4x5")
    text = run("new", "b.csv", "-o", "study.toml", *told).stderr
    assert "values of weight were copied" in text
    study = Study.load("study.toml")
    assert study.domains["weight"].ends == [(61.5, 70.25)] and study.domains["home"].size == 20
    run("randomize", "study.toml", "b.csv", "-o", "r.csv")


def test_for_a_number_of_people_mechanisms_are_those_that_plan_proposes() -> None:
    told = ("--secret", "sex,later,home", "--values", "sex=f,m", "--grid", "home=2x2")
    text = run("new", "--no-ask", *told, "--people", "2000").stdout
    line = 'mechanism = "RandomizedResponse"  # with 666 people who are asked it a share of'
    assert text.count(line) == 1
    assert tomllib.loads(text)["attributes"]["later"]["mechanism"] == "RandomizedResponse"


def test_a_column_that_no_study_can_name_is_refused_before_anything_is_written(here: Path) -> None:
    Path("b.csv").write_text("No. of units,smokes\n3,yes\n4,no\n")
    refused = run("new", "b.csv", "-o", "b.toml", "--secret", "No. of units", ok=False).stderr
    assert "names must not contain a point. Rename it, for example to 'No_ of" in refused
    assert not Path("b.toml").exists()


def test_a_single_number_makes_no_limits(here: Path) -> None:
    Path("b.csv").write_text("units\n" + "3\n" * 9)
    text = run("new", "b.csv", "--secret", "units", "--values-from-data").stdout
    assert 'integers = "TO DECIDE"' in text
    text = run("new", "b.csv", "--secret", "units", "--values-from-data", "--rounded").stdout
    assert "integers = [3, 4]" in text


def test_a_label_with_a_comma_stands_in_quotes(here: Path) -> None:
    stated = [*STATED[:-1], '--values=hospital=North, "South, City" ']
    run("new", "answers.csv", "-o", "study.toml", *ASKED, *stated)
    assert Study.load("study.toml").public["hospital"].labels == ["North", "South, City"]
    unpaired = [*STATED[:-1], '--values=hospital=North,6" scale']
    run("new", "answers.csv", "-o", "other.toml", *ASKED, *unpaired)
    assert Study.load("other.toml").public["hospital"].labels == ["North", '6" scale']


@pytest.mark.parametrize(
    "written, kind, remedies",
    [
        ("word {}", (), ("put rare values together", "--values tool=A,B,C")),
        ("{}", ("--kind", "tool=labels"), ("are amounts", "--kind tool=labels --range tool=0:299")),
    ],
)
def test_a_column_of_many_labels_is_refused_with_what_works(
    tmp_path: Path, written: str, kind: tuple[str, ...], remedies: tuple[str, ...]
) -> None:
    """No label is in the message."""
    rows = [written.format(1000 + i) for i in range(65)]
    (tmp_path / "many.csv").write_text("\n".join(["tool", *rows]))
    asked = ("new", str(tmp_path / "many.csv"), "--secret", "tool", *kind)
    text = run(*asked, "--copy", "tool", ok=False).stderr
    assert "more than 64 different" in text and "10" not in text.replace("10-19", "")
    for remedy in remedies:
        assert remedy in text
    for option in ("--values", "--range"):
        if (stated := re.search(f"{option} tool=[A-Z0-9:,]+", text)) is not None:
            assert "Still to be decided" not in run(*asked, *stated[0].split()).stderr


def test_equal_parts_of_whole_numbers_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects minutes of a study in bins that they do not fill, without a word; and the warning on
    numbers with decimals, or on parts around the whole numbers.
    """
    monkeypatch.chdir(tmp_path)
    lines = [f"{i % 60},{i % 60}.5" for i in range(100)]
    Path("answers.csv").write_text("\n".join(["minutes,weight", *lines]) + "\n")
    for column, limits, is_said in (
        ("minutes", "0:60:12", True),
        ("minutes", "0:60", False),
        ("minutes", "-0.5:60.5:61", False),
        ("weight", "0:60:12", False),
    ):
        told = ("--secret", column, "--range", f"{column}={limits}", "-o", "study.toml", "--force")
        shown = " ".join(run("new", "answers.csv", *told).output.split())
        said = "WARNING: minutes has whole numbers. But its shares will be estimated as if the answers in"
        assert (said in shown) == is_said
        assert ("Write --range minutes=0:60, without the 12 parts." in shown) == is_said


def test_answers_are_those_of_the_card(tmp_path: Path) -> None:
    """Rejects no and yes for a card whose design names other answers."""
    path = tmp_path / "paper.toml"
    card = "said=forced:never=0.1,once=0.05,often=0.05"
    run("new", "-o", str(path), "--secret", "said", "--design", card)
    assert 'values = ["never", "once", "often"]' in path.read_text()
    asked = ("--secret", "q", "--values", "q=ja,nein", "--design", "q=crosswise:1/4", "--force")
    run("new", "-o", str(path), *asked)
    assert 'values = ["nein", "ja"]' in path.read_text()
