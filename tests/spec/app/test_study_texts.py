"""Texts of questions, tags, and files for pages of your own."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from tests.spec.app._command import STUDY, UTILITY, run
from warner import Study
from warner.collector.scripts import integrity
from warner.collector.survey_document import survey_bytes, survey_digest
from warner.errors import StudyError
from warner.io import read_reports

ASKED = STUDY.replace('title = "test"', 'title = "Habits"').replace(
    "[attributes.smokes]\n", '[attributes.smokes]\nlabel = "Do you smoke?"\n'
)
GROUPS = """
[[groups]]
name = "North"
[[groups]]
name = "South"
[groups.attributes.smokes]
mechanism = "UnaryEncoding"
"""


def test_a_study_keeps_its_title_and_the_texts_of_its_questions() -> None:
    study = Study.parse(ASKED)
    assert study.title == "Habits"
    assert study.labels == {"smokes": "Do you smoke?"}
    again = Study.parse(study.to_json())
    assert (again.title, again.labels) == (study.title, study.labels)


def test_texts_change_no_header_and_no_digest() -> None:
    with_texts, without = Study.parse(ASKED), Study.parse(STUDY)
    assert with_texts.digest == without.digest
    for name, mechanism in without.mechanisms.items():
        assert with_texts.mechanisms[name].header == mechanism.header


def test_attributes_that_are_randomised_together_have_texts_of_their_own() -> None:
    study = Study.parse("""
    [attributes.sex]
    label = "Your sex"
    values = ["f", "m"]
    [attributes.smokes]
    values = ["no", "yes"]
    [[joint]]
    attributes = ["sex", "smokes"]
    mechanism = "RandomizedResponse"
    epsilon = 1.0
    """)
    assert study.labels == {"sex": "Your sex"} and list(study.mechanisms) == ["sex x smokes"]


def test_groups_are_asked_the_same_question() -> None:
    study = Study.parse(ASKED + GROUPS)
    assert all(own.labels == study.labels for own in study.groups.values())
    with pytest.raises(StudyError, match=r"smokes\.label: must be the same for all groups"):
        Study.parse(ASKED + GROUPS + 'label = "Smoker?"\n')


@pytest.mark.parametrize("text", ['"""two\nlines"""', '"\\u202e"', "3"])
def test_a_text_is_one_printable_line(text: str) -> None:
    with pytest.raises(StudyError, match=r"attributes\.smokes\.label: must be"):
        Study.parse(ASKED.replace('"Do you smoke?"', text))


def test_tags_go_through_files_and_are_given_back(here: Path) -> None:
    Path("city.toml").write_text(UTILITY)
    Path("places.csv").write_text("place\n" + "park\n@home\nclinic\nschool\n@home\n" * 400)
    result = run("randomize", "city.toml", "places.csv", "-o", "r.parquet")
    assert "Only the sensitive values of place are protected" in result.output
    run("tally", "r.parquet", "-o", "t.json", "--study", "city.toml")
    shown = run("estimate", "t.json").output
    assert "@home" in shown and "The shares behind each tag were assumed. If the assumed" in shown
    assert re.search(r"of\s+all\s+shares\s+grows\s+by\s+at\s+most\s+[0-9.]+\s+points", shown)
    Path("home.csv").write_text("value,share\nshop,1\n")
    found = json.loads(run("estimate", "t.json", "--background", "home=home.csv", "--json").output)[
        0
    ]["redistributed"]
    shares = {row["value"]: row["estimate"] for row in found["shares"]}
    assert shares["shop"] == pytest.approx(found["tags"]["home"], abs=0.01) and found["tags"][
        "home"
    ] == pytest.approx(0.4, abs=0.1)
    assert found["worst_case"] == pytest.approx(2 * found["tags"]["home"])
    for text, rule in (
        ("moon,1", "bad.csv, line 2"),
        ("shop,x", "bad.csv, line 2"),
        ("shop,0.4", "must be shares"),
        ("shop,0\nshop,1", "line 3"),
    ):
        Path("bad.csv").write_text(f"value,share\n{text}\n")
        assert rule in run("estimate", "t.json", "--background", "home=bad.csv", ok=False).output
    assert (
        "with a tag of the questions (place.home), and each tag only once"
        in run("estimate", "t.json", "--background", "gym=home.csv", ok=False).output
    )
    assert (
        "does not exist"
        in run("estimate", "t.json", "--background", "home=nowhere.csv", ok=False).output
    )
    run("randomize", "study.toml", "answers.csv", "-o", "plain.parquet")
    run("tally", "plain.parquet", "-o", "plain.json")
    assert (
        'is for questions that list tags such as "@home" among their answers (key "tags"), but no '
        "question of this study lists tags"
        in run("estimate", "plain.json", "--background", "home=home.csv", ok=False).output
    )
    for wrong in (["home"], ["home=home.csv", "@home=home.csv"], ["other.home=home.csv"]):
        flags = [part for item in wrong for part in ("--background", item)]
        assert "must be TAG=FILE" in run("estimate", "t.json", *flags, ok=False).output
    lines = run(
        "estimate", "t.json", "--background", "place.@home=home.csv", "--csv"
    ).output.splitlines()
    assert sum("share with tags given back" in line for line in lines) == 4
    Path("long.csv").write_text("value,share\n" + "x" * 200_000 + ",1\n")
    assert "long.csv" in run("estimate", "t.json", "--background", "home=long.csv", ok=False).output
    shown = run("audit", "city.toml", "--wide").output
    assert "2 sensitive values" in shown and "other values can be revealed" in shown


@pytest.mark.parametrize(
    "domain, plain, bad",
    [
        ("integers = [0, 9]", "7", "77"),
        ("interval = { low = 0, high = 1, bins = 4 }", "0.5", "1.5"),
        ("values = [0, 1, 2, 7]", "2", "77"),
    ],
)
def test_tags_stand_among_numbers_in_a_text_column(
    here: Path, domain: str, plain: str, bad: str
) -> None:
    values = "0.125" if domain.startswith("interval") else "0"
    study = f'[attributes.q]\n{domain}\nmechanism = "UtilityOptimizedRR"\nsensitive = [{values}]\ntags = ["home"]\nepsilon = 20\n'
    Path("numbers.toml").write_text(study)
    run(
        "randomize",
        "numbers.toml",
        "--keep-order",
        "-o",
        "r.csv",
        text=f"q\n{plain}\n@home\n{plain}\n",
    )
    reports = read_reports("r.csv")["q"].columns["report"].tolist()
    size = 10 if domain.startswith("integers") else 4
    assert reports == [7 if size == 10 else 2, size, 7 if size == 10 else 2]
    refused = run("randomize", "numbers.toml", text=f"q\n@home\n{bad}\n", ok=False).output
    assert "data row 2" in refused and bad not in refused
    assert (
        "data row 3"
        in run("randomize", "numbers.toml", text="q\n@home\n@home\n@away\n", ok=False).output
    )


STUDY_EMBED = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY_EMBED)


def test_the_document_and_the_module_are_written() -> None:
    done = run("study", "embed", "study.toml", "-o", "page/survey")
    served = Path("page/survey/study.json").read_bytes()
    assert served == survey_bytes(Study.load("study.toml"))
    script = resources.files("warner").joinpath("browser", "warner.js").read_bytes()
    assert Path("page/survey/warner.js").read_bytes() == script
    assert survey_digest(served) in done.stderr


def test_a_study_in_rounds_gets_what_keeps_the_permanent_reports_and_says_so() -> None:
    """Rejects a page that is left alone with the permanent reports, or never hears of them."""
    once = run("study", "embed", "study.toml", "-o", "page")
    assert "rounds" not in once.stderr and not Path("page/memo.js").exists()
    repeat = "[repeat]\nrounds = 5\nround = 1\nforever = 2.0\nvalues = 2\n"
    Path("study.toml").write_text(repeat + STUDY_EMBED)
    done = run("study", "embed", "study.toml", "-o", "page", "--force")
    scripts = resources.files("warner").joinpath("browser")
    for name in ("memo.js", "outbox.js"):
        assert Path("page", name).read_bytes() == scripts.joinpath(name).read_bytes()
        assert f'href="{name}" integrity="{integrity(name)}"' in done.stderr
    told = " ".join(done.stderr.split())
    assert "memo.js keeps the person's permanent reports in the browser's storage" in told
    assert "the browser draws new permanent reports, which reveal as much again" in told


def test_files_that_are_there_are_not_replaced_without_being_told() -> None:
    Path("page").mkdir()
    Path("page/warner.js").write_text("mine")
    done = run("study", "embed", "study.toml", "-o", "page", ok=False)
    assert "page/warner.js: already exists" in done.stderr
    assert Path("page/warner.js").read_text() == "mine" and not Path("page/study.json").exists()
    run("study", "embed", "study.toml", "-o", "page", "--force")
    assert Path("page/study.json").exists()


def test_a_study_that_no_page_can_ask_is_refused() -> None:
    Path("study.toml").write_text(STUDY_EMBED + 'missing = "drop"\n')
    done = run("study", "embed", "study.toml", "-o", "page", ok=False)
    assert "cannot be served" in done.stderr and not Path("page").exists()
