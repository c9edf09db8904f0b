"""Mistakes of newcomers: misspelt keys of a study, and options that do not fit a tally."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.app._command import STUDY, run
from warner import Study
from warner.errors import StudyError


@pytest.mark.parametrize(
    "change, complaint",
    [
        (
            ("epsilon = 1.0", "epsilom = 1.0"),
            "smokes.epsilon: is missing. Is it misspelt as 'epsilom'?",
        ),
        (
            ('mechanism = "R', 'mechnism = "R'),
            "smokes.mechanism: is missing. Is it misspelt as 'mechnism'?",
        ),
        (("values = [", "value = ["), "interval, grid. Is a key misspelt as 'value'?"),
        (("epsilon = 1.0", "epsilon = 1.0\nreprots = 3"), "no options. Is 'reports' meant?"),
        (("RandomizedResponse", "RandomisedResponse"), "Is 'RandomizedResponse' meant?"),
        (("RandomizedResponse", "randomizedresponse"), "Is 'RandomizedResponse' meant?"),
        (("epsilon = 1.0", 'epsilon = "1"'), "smokes.epsilon: must be a number; got '1'."),
        (
            ("epsilon = 1.0", "epsilon = 1.0\nreports = 2.5"),
            "reports: must be a whole number; got 2.5.",
        ),
        (("epsilon = 1.0", "epsilon = 1.0\nreports = 0"), "reports: must be at least 1; got 0."),
        (("budget = 3.0", "budget = 0"), "budget: must be greater than 0; got 0."),
        (("budget = 3.0", "delta = 1"), "delta: must be less than 1; got 1."),
        (
            ("[0, 9]", "[0, 4, 9]"),
            "attributes.age.integers: must have at most 2 entries; got [0, 4, 9].",
        ),
        (
            ("[attributes.smokes]", "[attribute.smokes]"),
            "attribute: is not a key of a study file. Is 'attributes' meant?",
        ),
        (('title = "test"', "title = 3"), "title: must be text in quotes; got 3."),
        (
            ("budget = 3.0", 'groups = [{name = "A", budgett = 1}, {name = "B"}]'),
            "groups[1].budgett: is not a key of a study file. Is 'budget' meant?",
        ),
    ],
)
def test_a_mistake_in_a_study_is_named_in_plain_words(
    change: tuple[str, str], complaint: str
) -> None:
    assert change[0] in STUDY
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY.replace(*change, 1))
    assert complaint in str(caught.value)


def test_an_unprotected_attribute_exceeds_every_budget() -> None:
    with pytest.raises(StudyError, match="budget: is exceeded: the attributes spend inf together"):
        Study.parse(STUDY.replace("epsilon = 1.0", "epsilon = inf"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("answers.csv").write_text("smokes,age\n" + "yes,3\nno,4\nno,5\n" * 50)
    for name, seed in (("a", "1"), ("b", "2")):
        run("randomize", "study.toml", "answers.csv", "-o", f"{name}.parquet", "--seed", seed)
        run("tally", f"{name}.parquet", "-o", f"{name}.json")
    return tmp_path


def test_joint_shares_of_separate_tallies_are_refused_with_the_remedy(here: Path) -> None:
    wanted = run("estimate", "a.json", "--joint", "smokes,age", ok=False)
    assert (
        "--joint: needs attributes whose reports are counted together; got smokes,age. "
        "Tally them with --ways 2." in wanted.output
    )
    unknown = run("estimate", "a.json", "--joint", "smokes,wrong", ok=False)
    assert "--joint: must be names among smokes, age; got wrong." in unknown.output


def test_clusters_of_separate_tallies_are_refused_with_the_remedy(here: Path) -> None:
    refused = run("plan", "a.json", ok=False).output
    assert "a.json: has no joint reports of pairs of attributes" in refused
    assert "warner tally --ways 2" in refused


def test_only_the_attributes_asked_for_are_said_to_be_estimated_together(here: Path) -> None:
    together = run("estimate", "a.json", "b.json", "--only", "smokes")
    assert "smokes: 300 of RandomizedResponse at epsilon 1, estimated together" in together.output
    assert "age" not in together.output


def test_a_plan_says_how_many_reports_the_study_asks_for(here: Path) -> None:
    Path("several.toml").write_text(
        '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
        "reports = 3\nepsilon = 1.0\n"
    )
    said = run("plan", "several.toml").stdout
    assert "The 3 reports of RandomizedResponse in the study have expected error" in said


def test_an_unknown_group_is_answered_with_the_groups(here: Path) -> None:
    Path("groups.toml").write_text(
        STUDY.replace("budget = 3.0", 'group_column = "at"\ngroups = [{name = "A"}, {name = "B"}]')
    )
    Path("grouped.csv").write_text("at,smokes,age\nA,yes,1\nC,no,2\n")
    refused = run("randomize", "groups.toml", "grouped.csv", "-o", "g.parquet", ok=False)
    assert "data row 2" in refused.output and "as the study does: A, B." in refused.output
