"""Groups of people with budgets of their own, from a study file to one estimate of all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner import Study
from warner.errors import ArgumentError, FileError, StudyError, ValuesError
from warner.io import ReportWriter, open_reports, tally_file, write_reports
from warner.io.read_answers import read_groups
from warner.reports.tally import load_tallies

STUDY = """
budget = 3.0
group_column = "clinic"
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.pay]
interval = { low = 0, high = 100, bins = 8 }
mechanism = "SquareWave"
cells = 256
epsilon = 2.0
[[groups]]
name = "North"
[[groups]]
name = "South side"
budget = 0.75
[groups.attributes.smokes]
epsilon = 0.25
[groups.attributes.pay]
mechanism = "RandomizedResponse"
epsilon = 0.5
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    rng = np.random.default_rng(0)
    rows = [
        f"{clinic},{smokes},{pay:.2f}\n"
        for clinic, smokes, pay in zip(
            rng.choice(["North", "South side"], 4000, p=[0.4, 0.6]),
            rng.choice(["no", "yes"], 4000, p=[0.8, 0.2]),
            100 * rng.beta(2, 5, 4000),
            strict=True,
        )
    ]
    Path("answers.csv").write_text("clinic,smokes,pay\n" + "".join(rows))
    return tmp_path


def test_a_group_answers_the_common_study_with_its_own_changes() -> None:
    study = Study.parse(STUDY)
    north, south = study.groups["North"], study.groups["South side"]
    assert north.mechanisms["smokes"].requested == 1.0 and north.epsilon <= 3.0
    assert south.mechanisms["smokes"].requested == 0.25 and south.epsilon <= 0.75
    # Another mechanism does not inherit the options of the first: cells are SquareWave's.
    assert type(south.mechanisms["pay"]) is warner.RandomizedResponse
    assert study.domains == north.domains == south.domains
    assert study.epsilon == north.epsilon and study.answer_columns == ["smokes", "pay"]
    with pytest.raises(ArgumentError, match=r"study.groups\[name\]"):
        _ = study.mechanisms
    again = Study.parse(study.to_json())
    assert again.digest == study.digest and list(again.groups) == ["North", "South side"]
    assert Study.parse(STUDY.replace("0.25", "0.2")).digest != study.digest


def test_the_budget_holds_for_each_group() -> None:
    with pytest.raises(StudyError, match=r"groups.North: budget: is exceeded.* spend 3.0"):
        Study.parse(STUDY.replace("budget = 3.0", "budget = 2.9"))
    with pytest.raises(StudyError, match=r"groups.South side: budget: is exceeded"):
        Study.parse(STUDY.replace("budget = 0.75", "budget = 0.7"))
    # The common table alone need not fit: nobody answers it where all groups change it.
    Study.parse(
        STUDY.replace(
            'name = "North"\n', 'name = "North"\n[groups.attributes.pay]\nepsilon = 1.0\n'
        ).replace("budget = 3.0", "budget = 2.0")
    )


def test_reports_and_tallies_are_kept_by_group_and_estimated_together(here: Path) -> None:
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet").stderr
    assert "r.South side.parquet, each spends at most epsilon = 0.75" in said
    assert open_reports("r.North.parquet").group == "North"
    run("tally", "r.North.parquet", "r.South side.parquet", "--study", "study.toml", "-o", "t.json")
    low, high = load_tallies("t.South side.json"), load_tallies("t.North.json")
    assert low["smokes"].n + high["smokes"].n == 4000
    shown = run("estimate", "t.North.json", "t.South side.json", "-o", "both.json", "-m", "project")
    assert "RandomizedResponse at epsilon 0.25, estimated together" in shown.stderr
    both = json.loads(Path("both.json").read_text())
    assert [part["attribute"] for part in both] == ["smokes", "pay"]
    for part in both:
        name = part["attribute"]
        expected = warner.estimate([high[name], low[name]], warner.Inversion("project"))
        shares = [row["estimate"] for row in part["shares"]]
        np.testing.assert_allclose(shares, expected.probabilities, atol=1e-9)
    # Report files do as well as tallies, and the order of files does not matter.
    run("estimate", "r.South side.parquet", "t.North.json", "-o", "again.json", "-m", "project")
    again = json.loads(Path("again.json").read_text())
    assert again[0]["shares"][1]["estimate"] == pytest.approx(both[0]["shares"][1]["estimate"])
    options = ("-o", "e.csv", "--only", "smokes", "--level", "0.5", "--plot", "e.json")
    run("estimate", "t.North.json", "t.South side.json", *options)
    methods = ("-m", "project", "-m", "mle", "--runs", "2", "--only", "smokes")
    run("benchmark", "t.North.json", "t.South side.json", *methods)


def test_what_does_not_go_together_is_refused_in_words(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv", "--seed", "1")
    run("tally", "r.North.csv", "r.South side.csv", "-o", "t.json")
    said = run("merge", "t.North.json", "t.South side.json", ok=False).stderr
    assert "warner estimate t.North.json 't.South side.json'" in said
    assert "added twice" in run("estimate", "t.North.json", "t.North.json", ok=False).stderr
    Path("copy.json").write_bytes(Path("t.North.json").read_bytes())
    assert "--allow-equal" in run("estimate", "t.North.json", "copy.json", ok=False).stderr
    run("estimate", "t.North.json", "copy.json", "--allow-equal", "--only", "smokes")
    study = Study.parse(STUDY)
    smokes = study.groups["North"].mechanisms["smokes"]
    for name, mechanism, rule in (
        ("fewer", {"smokes": smokes}, "different attributes"),
        (
            "other",
            {
                "smokes": warner.RandomizedResponse(warner.Categorical(["never", "ever"]), 1.0),
                "pay": study.groups["North"].mechanisms["pay"],
            },
            "'smokes' has other values in t.North.json than in other.csv",
        ),
    ):
        rng = np.random.default_rng(0)
        with ReportWriter(f"{name}.csv", mechanism, simulation=True) as writer:
            writer.write({a: m.randomize(m.domain.labels[:1], rng) for a, m in mechanism.items()})
        assert rule in run("estimate", "t.North.json", f"{name}.csv", ok=False).stderr
    run("randomize", "study.toml", "answers.csv", "-o", "real.csv")
    mixed = ("estimate", "t.North.json", "real.South side.csv")
    assert "--allow-simulated" in run(*mixed, ok=False).stderr
    run(*mixed, "--allow-simulated", "--only", "smokes")
    _report_of("East", "g.csv")
    said = run("tally", "g.csv", "--study", "study.toml", ok=False).stderr
    assert "has reports of the group 'East', and the study has the groups North" in said


def _report_of(group: str, path: str) -> None:
    """Write one report of a group."""
    mechanisms = Study.parse(STUDY).groups["North"].mechanisms
    reports = {name: m.randomize(m.domain.labels[:1]) for name, m in mechanisms.items()}
    write_reports(reports, path, group=group)


def test_a_device_that_knows_its_group_needs_no_column(here: Path) -> None:
    text = "smokes,pay\nyes,3\nno,7\n"
    run("randomize", "study.toml", "-o", "d.csv", "--group", "South side", text=text)
    assert open_reports("d.csv").group == "South side" and tally_file("d.csv")["pay"].n == 2
    run("tally", "d.csv", "--study", "study.toml", "-o", "d.json")
    assert (
        "must be one of North, South side"
        in run("randomize", "study.toml", "--group", "East", text=text, ok=False).stderr
    )
    assert "Name a file with -o" in run("randomize", "study.toml", "answers.csv", ok=False).stderr
    # Reports of devices that came one by one name no group: their headers tell.
    south = Study.parse(STUDY).groups["South side"].mechanisms
    write_reports({n: m.randomize(m.domain.labels[:2]) for n, m in south.items()}, "one.csv")
    run("tally", "one.csv", "--study", "study.toml", "-o", "one.json")


def test_a_bad_group_or_answer_stops_everything_and_is_not_shown(here: Path) -> None:
    for bad, row in (("secret-7391,no,3", 2), ("North,secret-7391,3", 2), ("North,no,", 2)):
        text = f"clinic,smokes,pay\nSouth side,no,1\n{bad}\n"
        said = run("randomize", "study.toml", "-o", "r.csv", text=text, ok=False).output
        assert f"data row {row}" in said and "secret" not in said and not list(here.glob("r.*"))
    # The row counts people of all groups.
    study = Study.parse(STUDY)
    mechanisms = {name: own.mechanisms for name, own in study.groups.items()}
    Path("a.csv").write_text("clinic,smokes,pay\n" + "North,no,1\n" * 5 + "South side,no,101\n")
    with pytest.raises(ValuesError, match="data row 6"):
        list(read_groups("a.csv", "clinic", mechanisms))
    Path("b.csv").write_text("smokes,pay\nno,1\n")
    assert "clinic" in run("randomize", "study.toml", "b.csv", "-o", "r.csv", ok=False).stderr


def test_nothing_is_written_for_a_group_of_which_there_is_nobody(here: Path) -> None:
    text = "North,no,1\nNorth,yes,2\n"
    said = run("randomize", "study.toml", "-o", "r.csv", "--bare", text=text).stderr
    assert "South side: 0 people" in said and not Path("r.South side.csv").exists()
    assert open_reports("r.North.csv").n == 2


def test_people_keep_the_mechanism_of_their_group(here: Path) -> None:
    """At a large epsilon each report is the answer, so groups that were swapped would show."""
    sharp = STUDY.replace("budget = 3.0", "").replace("budget = 0.75", "")
    sharp = sharp.replace("epsilon = 1.0", "epsilon = 20").replace("epsilon = 0.25", "epsilon = 21")
    sharp = sharp.replace('"SquareWave"\ncells = 256', '"RandomizedResponse"')
    Path("sharp.toml").write_text(sharp)
    text = "clinic,smokes,pay\n" + "North,yes,1\nSouth side,no,1\n" * 50
    run("randomize", "sharp.toml", "-o", "r.csv", text=text)
    assert tally_file("r.North.csv")["smokes"].counts.tolist() == [0, 50]
    assert tally_file("r.South side.csv")["smokes"].counts.tolist() == [50, 0]


def test_audit_and_plan_show_every_group(here: Path) -> None:
    shown = run("audit", "study.toml", "--json").output
    exact = {name: row["epsilon"] for name, row in json.loads(shown).items()}
    assert list(exact) == [
        "North: smokes",
        "North: pay",
        "South side: smokes",
        "South side: pay",
    ]
    assert exact["South side: smokes"] <= 0.25 < 0.99 < exact["North: smokes"] <= 1.0
    assert "South side: smokes" in run("plan", "study.toml", "--loss", "l2").output


@pytest.mark.parametrize(
    "change, complaint",
    [
        (('name = "North"', 'name = "../x"'), "groups.name: must be letters"),
        (('name = "North"', 'name = "south Side"'), "upper and lower case"),
        (("[groups.attributes.pay]", "[groups.attributes.paid]"), "must be one of smokes, pay"),
        (
            ("[groups.attributes.smokes]\n", '[groups.attributes.smokes]\nvalues = ["a", "b"]\n'),
            "groups.South side.attributes.smokes.values: is the same for all groups",
        ),
        (("epsilon = 0.25", "epsilon = -1"), "groups.South side: attributes.smokes: epsilon"),
        (('"clinic"', '"smokes"'), "group_column: must not be the column of an attribute"),
        (('[[groups]]\nname = "North"\n', ""), "groups"),
    ],
)
def test_groups_are_checked_in_words(change: tuple[str, str], complaint: str) -> None:
    assert change[0] in STUDY
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY.replace(*change))
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


def test_the_example_of_groups_keeps_its_budgets() -> None:
    example = Path(warner.__file__).parents[2] / "docs" / "groups.toml"
    study = Study.load(example)
    assert [own.epsilon <= own.budget for own in study.groups.values()] == [True] * 3  # type: ignore[operator]
    audits = [warner.audit(m) for own in study.groups.values() for m in own.mechanisms.values()]
    assert all(result.holds for result in audits)


def test_a_column_of_groups_without_groups_is_refused() -> None:
    with pytest.raises(StudyError, match="goes with groups"):
        Study.parse(STUDY[: STUDY.index("[[groups]]")])


def test_a_report_file_without_group_is_as_before(here: Path) -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    write_reports(coin.randomize(["no"]), "plain.csv")
    assert (
        '"group"' not in Path("plain.csv").read_text() and open_reports("plain.csv").group is None
    )
    with pytest.raises(ArgumentError):
        write_reports(coin.randomize(["no"]), "bad.csv", group="a\nb")
    with pytest.raises(FileError):
        open_reports("bad.csv")
