"""Studies whose answers have several rows of one person, from the budget to the intervals."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner import Study
from warner.errors import FileError, StudyError
from warner.io import open_reports, tally_file, write_reports
from warner.io.file_format import UNSEALED, seal
from warner.reports.tally import Tally, load_tallies

DAYS = 7
STUDY = """
budget = 1.0
rows_per_person = 7
[attributes.place]
values = ["home", "work", "clinic"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    values = np.repeat(["home", "work", "clinic"], [DAYS * 60, DAYS * 30, DAYS * 10])
    Path("answers.csv").write_text("place\n" + "\n".join(values) + "\n")
    return tmp_path


def test_epsilon_and_budget_are_of_all_rows_of_one_person() -> None:
    study = Study.parse(STUDY)
    row = study.mechanisms["place"]
    assert study.rows_per_person == DAYS
    assert Fraction(row.epsilon) * DAYS <= 1 and row.epsilon > 0.999 / DAYS
    assert 0.999 < study.epsilon <= 1.0 and study.guarantee == warner.LDP(study.epsilon)
    with pytest.raises(StudyError, match="budget"):
        Study.parse(STUDY.replace("epsilon = 1.0", "epsilon = 1.1"))


def test_deltas_sensitive_values_and_repeated_reports_are_shared_by_the_rows_too() -> None:
    study = Study.parse(
        """
rows_per_person = 3
delta = 1e-6
[attributes.steps]
integers = [0, 9]
mechanism = "Gaussian"
delta = 1e-6
epsilon = 1.0
[attributes.mood]
values = ["a", "b"]
mechanism = "RandomizedResponse"
reports = 2
epsilon = 0.6
"""
    )
    assert study.delta <= 1e-6 and study.epsilon <= 1.6
    assert 3 * study.mechanisms["mood"].epsilon <= 0.6
    limited = Study.parse(
        STUDY.replace('"RandomizedResponse"', '"UtilityOptimizedRR"\nsensitive = ["clinic"]')
    )
    assert limited.guarantee.sensitive == ("clinic",) and 0.99 < limited.guarantee.epsilon <= 1


def test_the_digest_and_the_saved_study_know_the_rows() -> None:
    study = Study.parse(STUDY)
    again = Study.parse(study.to_json())
    assert again.rows_per_person == DAYS and again.digest == study.digest
    one = STUDY.replace("rows_per_person = 7", "")
    assert Study.parse(one + "\n").digest != study.digest
    assert Study.parse(STUDY.replace("= 7", "= 1")).digest == Study.parse(one).digest


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", '"2"', "true", "10001"])
def test_other_numbers_of_rows_are_refused(wrong: str) -> None:
    with pytest.raises(StudyError, match="rows_per_person"):
        Study.parse(STUDY.replace("rows_per_person = 7", f"rows_per_person = {wrong}"))


def test_groups_share_the_rows() -> None:
    study = Study.parse(
        STUDY + '[[groups]]\nname = "A"\n[[groups]]\nname = "B"\nbudget = 0.5\n'
        "[groups.attributes.place]\nepsilon = 0.5\n"
    )
    assert {name: g.rows_per_person for name, g in study.groups.items()} == {"A": 7, "B": 7}
    assert study.groups["B"].epsilon <= 0.5


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_reports_say_how_many_are_of_one_person(here: Path, suffix: str) -> None:
    done = run("randomize", "study.toml", "answers.csv", "-o", f"r.{suffix}")
    assert "700 rows. A person with 7 rows spends at most epsilon = " in done.stderr
    assert open_reports(f"r.{suffix}").reports_per_person == DAYS
    assert "up to 7 by the same person" in run("tally", f"r.{suffix}", "-o", "t.json").stderr
    assert load_tallies("t.json")["place"].reports_per_person == DAYS
    shown = run("estimate", "t.json", "-m", "inversion")
    assert "700 reports of 100 people or more" in shown.output
    run("estimate", f"r.{suffix}", "-o", "e.json")
    assert '"reports_per_person": 7' in Path("e.json").read_text()
    audited = run("audit", "study.toml").output
    said = "A person can have up to 7 rows, and with 7 rows spends 7 times as much."
    assert said in audited.replace("\n", " ")


def test_files_of_people_with_one_report_are_as_before(here: Path) -> None:
    Path("study.toml").write_text(STUDY.replace("rows_per_person = 7", ""))
    assert (
        "Each person spends" in run("randomize", "study.toml", "answers.csv", "-o", "r.csv").stderr
    )
    assert "reports_per_person" not in Path("r.csv").read_text()
    assert "person" not in run("tally", "r.csv", "-o", "t.json").stderr
    assert "reports_per_person" not in Path("t.json").read_text()


def test_days_are_merged_as_those_of_the_same_people(here: Path) -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 0.5)
    for day in range(3):
        coin.tally(coin.reports([0, 1, 1] * (day + 1))).save(f"{day}.json")
    days = [f"{day}.json" for day in range(3)]
    run("merge", *days, "--reports-per-person", "3", "-o", "all.json")
    assert Tally.load("all.json").reports_per_person == 3
    run("merge", *days, "-o", "apart.json")
    assert Tally.load("apart.json").reports_per_person == 1
    refused = run("merge", "all.json", "--reports-per-person", "2", ok=False)
    assert "at least 3" in refused.output
    run("merge", *days, "--reports-per-person", "0", ok=False)


def test_reports_that_devices_sent_one_by_one_take_the_number_of_the_study(here: Path) -> None:
    """Or of the option; a file of one report cannot know how many the device sends in all."""
    mechanism = Study.parse(STUDY).mechanisms["place"]
    for day in range(2):
        write_reports({"place": mechanism.randomize(["home"] * (day + 3))}, f"{day}.csv")
    run("tally", "0.csv", "1.csv", "--study", "study.toml", "-o", "t.json")
    assert Tally.load("t.json").reports_per_person == DAYS
    run("tally", "0.csv", "1.csv", "--reports-per-person", "9", "-o", "u.json")
    assert Tally.load("u.json").reports_per_person == 9


def test_joint_tables_and_kept_reports_carry_the_number(here: Path) -> None:
    Path("two.toml").write_text(
        STUDY.replace("budget = 1.0", "")
        + '[attributes.mood]\nvalues = ["a", "b", "c"]\nmechanism = "UnaryEncoding"\n'
        "epsilon = 1.0\n"
    )
    Path("two.csv").write_text("place,mood\n" + "home,a\nwork,b\n" * 20)
    run("randomize", "two.toml", "two.csv", "-o", "r.parquet")
    for option in (["--ways", "2"], ["--keep-reports"], []):
        run("tally", "r.parquet", *option, "-o", "t.json")
        assert all(t.reports_per_person == DAYS for t in load_tallies("t.json").values())


@pytest.mark.parametrize("wrong", ["0", "-3", "1.5", '"7"', "null", "true", "100000"])
def test_a_header_with_another_number_is_refused(here: Path, wrong: str) -> None:
    mechanism = Study.parse(STUDY).mechanisms["place"]
    write_reports({"place": mechanism.randomize(["home"] * 3)}, "r.csv", reports_per_person=7)
    assert tally_file("r.csv")["place"].reports_per_person == 7
    text = Path("r.csv").read_text()
    digest = open_reports("r.csv").end["sha256"]
    changed = text.replace('"reports_per_person":7', f'"reports_per_person":{wrong}')
    assert changed != text
    Path("r.csv").write_text(changed.replace(digest, UNSEALED))
    seal("r.csv")
    with pytest.raises(FileError, match="reports of one person"):
        open_reports("r.csv")
