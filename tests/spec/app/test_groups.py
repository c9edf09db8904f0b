"""Groups of people: budgets of their own, a file each, estimates and comparisons."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from tests.spec.results._tallies import MECHANISM, SHARES, drawn
from warner import (
    Categorical,
    Integers,
    RandomizedResponse,
    SquareWave,
    Study,
    compare_groups,
    estimate,
    weighted,
)
from warner.app.what_files_hold import group_and_file, read_or_count
from warner.designs import ForcedResponse
from warner.errors import ArgumentError, FileError, StudyError, ValuesError
from warner.io import ReportWriter, open_reports, tally_file, write_reports
from warner.io.read_answers import read_groups
from warner.reports.public_columns import PublicColumn
from warner.reports.tally import Tally, load_tallies, save_tallies

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


def groups_in_files(paths: Sequence[str]) -> dict[tuple[str], Tally]:
    """The people of each file as a group that is named after it."""
    return {(group_and_file(path)[0],): read_or_count(path)["value"] for path in paths}


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
    assert "r.South side.parquet. Each person spends at most epsilon = 0.75" in said
    assert open_reports("r.North.parquet").group == "North"
    run("tally", "r.North.parquet", "r.South side.parquet", "--study", "study.toml", "-o", "t.json")
    low, high = load_tallies("t.South side.json"), load_tallies("t.North.json")
    assert low["smokes"].n + high["smokes"].n == 4000
    shown = run("estimate", "t.North.json", "t.South side.json", "-o", "both.json", "-m", "project")
    assert (
        "RandomizedResponse at epsilon 0.25. All these reports are estimated together"
        in shown.stderr
    )
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
        ("fewer", {"smokes": smokes}, "must be about the same questions"),
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
    north, south = load_tallies("t.North.json"), load_tallies("t.South side.json")
    save_tallies({"smokes": south["smokes"]}, "smokes.json")
    fewer = ("estimate", "t.North.json", "smokes.json")
    assert (
        "or add --only smokes for the questions that all files have" in run(*fewer, ok=False).stderr
    )
    assert "the same questions" in run(*fewer, "--only", "pay", ok=False).stderr
    run(*fewer, "--only", "smokes", "-o", "smokes_of_both.json")
    both = json.loads(Path("smokes_of_both.json").read_text())
    assert [each["n"] for each in both] == [north["smokes"].n + south["smokes"].n]
    by_file = run(*fewer, "--only", "smokes", "--by", "file").stdout
    assert "North" in by_file and "smokes: 2 groups" in by_file
    run("report", *fewer[1:], "--only", "smokes", "-o", "smokes.html", "--allow-simulated")
    mixed = ("estimate", "t.North.json", "real.South side.csv")
    assert "--allow-simulated" in run(*mixed, ok=False).stderr
    run(*mixed, "--allow-simulated", "--only", "smokes")
    _report_of("East", "g.csv")
    said = run("tally", "g.csv", "--study", "study.toml", ok=False).stderr
    assert "has reports of the group 'East', but the study has the groups North" in said


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
    assert (
        "Write for example -o reports.csv"
        in run("randomize", "study.toml", "answers.csv", ok=False).stderr
    )
    # Reports of devices that came one by one name no group: their headers tell.
    south = Study.parse(STUDY).groups["South side"].mechanisms
    write_reports({n: m.randomize(m.domain.labels[:2]) for n, m in south.items()}, "one.csv")
    run("tally", "one.csv", "--study", "study.toml", "-o", "one.json")


def test_a_bad_group_or_answer_stops_everything_and_is_not_shown(here: Path) -> None:
    for bad, row in (("secret-7391,no,3", 2), ("North,secret-7391,3", 2), ("North,no,", 2)):
        text = f"clinic,smokes,pay\nSouth side,no,1\n{bad}\n"
        said = run("randomize", "study.toml", "-o", "r.csv", text=text, ok=False).output
        assert f"data row {row}" in said and "secret" not in said and not list(here.glob("r.*"))
    # Both groups read the column pay, each in its way. The line with two answers is not blank.
    gaps = "clinic,smokes,pay\nNorth,no,\nNorth,no,\n"
    said = run("randomize", "study.toml", "-o", "r.csv", text=gaps, ok=False)
    assert "in 1 more data row: 2." in said.output and "blank line" not in said.output
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
    assert "The group South side has no people" in said and not Path("r.South side.csv").exists()
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
        "all.questions",  # of a person of the group that spends most
    ]
    assert exact["all.questions"] == Study.load("study.toml").epsilon
    assert exact["South side: smokes"] <= 0.25 < 0.99 < exact["North: smokes"] <= 1.0
    assert "South side: smokes" in run("plan", "study.toml", "--loss", "l2").output


@pytest.mark.parametrize(
    "change, complaint",
    [
        (('name = "North"', 'name = "../x"'), "groups.name: must begin with a letter or a digit"),
        (('name = "North"', 'name = "south Side"'), "upper and lower case"),
        (
            ("[groups.attributes.pay]", "[groups.attributes.paid]"),
            "is not one of the questions smokes, pay",
        ),
        (
            ("[groups.attributes.smokes]\n", '[groups.attributes.smokes]\nvalues = ["a", "b"]\n'),
            "groups.South side.attributes.smokes.values: must be the same for all groups",
        ),
        (("epsilon = 0.25", "epsilon = -1"), "groups.South side: attributes.smokes: epsilon"),
        (
            ('"clinic"', '"smokes"'),
            "group_column: must not be a column with the answers to a question",
        ),
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
    with pytest.raises(StudyError, match="can be used only in a study with groups"):
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


STUDY_GROUP_FILES = """
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
def here_of_group_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY_GROUP_FILES)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a\\\\b", ".x", "..", "", " a", "a ", "a\\nb", "x" * 61, "e\\u0301"]
)
def test_a_group_has_a_name_that_a_file_can_have(name: str) -> None:
    with pytest.raises(StudyError, match="because files are named after groups"):
        Study.parse(STUDY_GROUP_FILES.replace('"South"', f'"{name}"'))


@pytest.mark.parametrize("names", [("ﬁ", "FI"), ("가", "\u1100\u1161"), ("K", "\u212a")])
def test_groups_whose_files_some_systems_take_for_one_are_refused(names: tuple[str, str]) -> None:
    text = STUDY_GROUP_FILES.replace("North", names[0]).replace("South", names[1])
    with pytest.raises(StudyError, match="only in upper and lower case"):
        Study.parse(text)


@pytest.mark.parametrize("name", ["../../x", "a/b", "", "..", "x" * 300, "a\x1b[2J"])
def test_a_report_file_names_no_group_that_no_file_can_be_named_after(
    here_of_group_files: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    with pytest.raises(ArgumentError, match="because files are named after groups"):
        write_reports({"s": coin.randomize(["no"])}, "r.csv", group=name)
    # A file that another program made, with a checksum that is right.
    monkeypatch.setattr("warner.io.report_writer.can_name_a_file", lambda name: True)
    write_reports({"s": coin.randomize(["no"])}, "r.csv", group=name)
    with pytest.raises(
        FileError, match="has a group whose name cannot be part of the name of a file"
    ):
        open_reports("r.csv")


def test_tallies_of_groups_do_not_replace_each_other_on_any_system(
    here_of_group_files: Path,
) -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    for i, group in enumerate(["North", "NORTH"]):
        write_reports({"s": coin.randomize(["no"] * (i + 1))}, f"{i}.csv", group=group)
    said = run("tally", "0.csv", "1.csv", "-o", "t.json", ok=False).output
    assert "differ in more than capital letters" in said
    assert not list(here_of_group_files.glob("t*.json"))


def test_a_group_cannot_change_what_is_randomised_together() -> None:
    # In another order the same reports would stand for other answers.
    with pytest.raises(StudyError, match="attributes: must be the same for all groups"):
        Study.parse(STUDY_GROUP_FILES + CHANGE + 'attributes = ["smokes", "sex"]\n')


@pytest.mark.parametrize("column", ["", "a\\u001b[2J"])
def test_the_column_of_the_group_is_a_name_that_screens_show(column: str) -> None:
    with pytest.raises(StudyError, match="group_column: must not"):
        Study.parse(STUDY_GROUP_FILES.replace('"clinic"', f'"{column}"'))


def test_a_stated_group_must_agree_with_the_column_of_a_file(here_of_group_files: Path) -> None:
    Path("a.csv").write_text("clinic,sex,smokes\nNorth,f,no\nSECRET,f,no\n")
    said = run("randomize", "study.toml", "a.csv", "--group", "North", "-o", "r.csv", ok=False)
    assert "column 'clinic', data row 2: must name the group 'North'" in said.output
    assert "SECRET" not in said.output and not Path("r.csv").exists()
    for text in ("clinic,sex,smokes\nNorth,f,no\n", "sex,smokes\nf,no\n"):
        Path("a.csv").write_text(text)
        run("randomize", "study.toml", "a.csv", "--group", "North", "-o", "r.csv")
        Path("r.csv").unlink()
    run("randomize", "study.toml", "--group", "North", "-o", "r.csv", text="sex,smokes\nf,no\n")
    run("randomize", "study.toml", "--group", "North", "--bare", "-o", "r2.csv", text="f,no\n")


def test_it_says_that_no_file_is_written_for_a_group_of_nobody(here_of_group_files: Path) -> None:
    Path("a.csv").write_text("clinic,sex,smokes\nNorth,f,no\n")
    said = run("randomize", "study.toml", "a.csv", "-o", "r.csv").stderr
    assert "The group South has no people, so r.South.csv was not written" in said
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
    with pytest.raises(StudyError, match=r"above 0; got -1\.0"):
        Study.parse(table + "epsilon = -1\n")


@pytest.fixture
def here_of_groups_of_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("north", "south", "east")):
        drawn(i, [400], shares=np.roll(SHARES, i))["a",].save(f"tally.{name}.json")
    return tmp_path


FILES = ("tally.north.json", "tally.south.json", "tally.east.json")


def test_groups_are_named_after_their_files_and_estimated(here_of_groups_of_people: Path) -> None:
    run(
        "estimate",
        *FILES,
        "-o",
        "out.json",
        "-o",
        "out.csv",
        "--plot",
        "out.json.svg",
        "--by",
        "file",
    )
    (data,) = json.loads(Path("out.json").read_text())
    expected = estimate(groups_in_files(FILES))
    assert [row["group"] for row in data["shares"][::4]] == ["north", "south", "east"]
    assert data["shares"] == json.loads(json.dumps(expected.rows()))
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert len(rows) == 12 and float(rows[0]["estimate"]) == expected.probabilities[0, 0]
    assert "its own reports alone" in run("estimate", *FILES, "--by", "file").output
    pooled = run("estimate", *FILES, "--by", "file", "--pool", "partial").output
    assert "Intervals hold on average over groups" in pooled


def test_differences_are_drawn_with_the_texts_of_the_study(here_of_groups_of_people: Path) -> None:
    options = ("--by", "file", "--compare-groups")
    run("estimate", *FILES, *options, "--plot", "d.html", "--title", "Do you drink?", "--top", "2")
    page = Path("d.html").read_text()
    assert "Do you drink?" in page and "the 2 largest of 3 differences" in page
    assert "95 % intervals, not corrected" in page
    assert page.count("<table") == 1 and "p (Holm)" in page
    Path("study.toml").write_text(
        "[attributes.value]\nlabel = 'Do you smoke?'\nvalues = ['0', '1']\n"
        "answers = {en = ['not at all', 'every day']}\nmechanism = 'RandomizedResponse'\nepsilon = "
        "1.0\n"
    )
    coin, rng = RandomizedResponse(Categorical(["0", "1"]), 1.0), np.random.default_rng(0)
    for name in ("north", "south"):
        coin.tally(coin.randomize(["0", "1", "0"] * 200, rng)).save(f"{name}.json")
    for more in (options, ("--by", "file"), ()):
        names = ("north.json", "south.json") if more else ("north.json",)
        run("estimate", *names, *more, "--study", "study.toml", "--plot", "p.json")
        picture = Path("p.json").read_text()
        assert "Do you smoke?" in picture and "every day" in picture
    beside = run("estimate", FILES[0], "--plot", "p.json", "--with-reports")
    assert "reports that name the value" in Path("p.json").read_text() and not beside.exception


def test_pictures_of_numbers_have_the_unit_of_the_study(here_of_groups_of_people: Path) -> None:
    Path("study.toml").write_text(
        "[attributes.value]\nlabel = 'How far do you walk?'\nunit = 'km'\nintegers = [0, 40]\n"
        "mechanism = 'SquareWave'\nepsilon = 2.0\n"
    )
    wave, rng = SquareWave(Integers(0, 40), 2.0), np.random.default_rng(0)
    for name, p in (("north", 0.3), ("south", 0.5)):
        wave.tally(wave.randomize(rng.binomial(40, p, 800), rng)).save(f"{name}.json")
    both, study = ("north.json", "south.json"), ("--study", "study.toml", "--plot", "p.svg")
    for more, axis in (
        (("--by", "file", "--compare-groups"), "difference in km (south minus north)"),
        (("--by", "file"), "km"),
        ((), "km"),
    ):
        run("estimate", *(both if more else both[:1]), *more, *study)
        picture = Path("p.svg").read_text()
        assert f">{axis}<" in picture and "How far do you walk? (km)<" in picture


def test_only_the_most_common_of_many_codes_are_shown(here_of_groups_of_people: Path) -> None:
    codes, rng = Categorical([str(i) for i in range(40)]), np.random.default_rng(0)
    ask = RandomizedResponse(codes, 5.0)
    for name, common in (("49", "7"), ("50", "31")):
        answers = [common] * 300 + ["12"] * 600 + [str(i) for i in range(40)] * 5
        ask.tally(ask.randomize(answers, rng)).save(f"{name}.json")
    weeks = ("estimate", "49.json", "50.json")
    shown = run(*weeks, "--compare-groups", "--top", "3").output
    assert shown.startswith("value: the difference group 50 minus group 49, of")
    rows = [line.split()[0] for line in shown.splitlines() if " points " in line]
    assert rows == ["7", "12", "31"] and "with the largest share in any group." in shown
    differences = compare_groups(groups_in_files(("49.json", "50.json")))
    every = {row["value"]: row for row in differences.rows()}
    kept = differences.most_common(3).rows()
    assert all(row == every[row["value"]] for row in kept)  # p (Holm) stays that of all 40
    run(*weeks, "--compare-groups", "--top", "3", "--plot", "p.html")
    assert "with the largest share in any group." in Path("p.html").read_text()
    grouped = run(*weeks, "--by", "file", "--top", "3").output
    assert "Of 40 values, this table shows the 3 values with the largest shares." in grouped
    assert sum(line.startswith(("49 ", "50 ")) for line in grouped.splitlines()) == 6
    means = run("estimate", *FILES, "--compare-groups", "--of", "mean", "--top", "3", ok=False)
    assert "--top: can be used only for shares" in means.stderr


def test_pictures_that_cannot_be_drawn_are_answered_by_a_sentence(
    here_of_groups_of_people: Path,
) -> None:
    for options, sentence in (
        (("--with-reports",), "--with-reports: needs --plot"),
        (("--plot", "p.gif"), "must end in .png, .svg, .pdf, .html or .json"),
        (("--by", "file", "--with-reports", "--plot", "p.svg"), "cannot be used with --by"),
    ):
        assert sentence in run("estimate", FILES[0], *options, ok=False).stderr


def test_margins_weight_the_groups(here_of_groups_of_people: Path) -> None:
    Path("census.csv").write_text("value,number\nnorth,50\nsouth,30\neast,20\n")
    out = run("estimate", *FILES, "--margins", "census.csv", "--json", "--by", "file").stdout
    groups = groups_in_files(FILES)
    expected = weighted(groups, {"group": {"north": 50, "south": 30, "east": 20}})
    assert json.loads(out)[0]["weighted"] == json.loads(json.dumps(expected.to_json()))
    assert (
        "Design effect" in run("estimate", *FILES, "--margins", "census.csv", "--by", "file").output
    )
    for text, problem in (
        ("value,number\nnorth,50\nsouth,30\n", "none for east"),
        ("value,number\nnorth,50\nsouth,30\neast,20\nwest,3\n", "people of west"),
        ("value,number\nnorth,many\n", "line 2"),
        ("value,number\nnorth,1\nnorth,2\n", "repeats a value"),
        ("ward,people\nnorth,1\n", "must begin with the line value,number or group,number"),
    ):
        Path("census.csv").write_text(text)
        assert (
            problem
            in run("estimate", *FILES, "--margins", "census.csv", "--by", "file", ok=False).output
        )


def test_differences_have_intervals_and_a_test(here_of_groups_of_people: Path) -> None:
    out = run(
        "estimate", *FILES, "--reference", "north", "--of", "mean", "--json", "--compare-groups"
    ).stdout
    expected = compare_groups(groups_in_files(FILES), reference="north", of="mean")
    (data,) = json.loads(out)
    assert data["differences"] == json.loads(json.dumps(expected.rows()))
    shown = run("estimate", f"before={FILES[0]}", f"after={FILES[1]}", "--compare-groups").output
    assert "before and after have the same shares. If so, chance alone can" in shown
    # Means may agree where shares do not, so that the test of shares would contradict the rows.
    assert data["test"]["hypothesis"] == "3 groups have the same mean"
    of_means = run("estimate", *FILES, "--of", "mean", "--compare-groups").output
    assert "the same mean. If so" in of_means and "the same shares" not in of_means
    of_medians = run("estimate", *FILES, "--of", "median", "--compare-groups").output
    assert "chi-square" not in of_medians
    medians = [
        run("estimate", *FILES, "--of", of, "--json", "--compare-groups").stdout
        for of in ("median", "0.5")
    ]
    assert medians[0] == medians[1]
    run("estimate", *FILES, "-o", "out.csv", "--compare-groups")
    assert (
        Path("out.csv").read_text().startswith("attribute,group,reference,value,is_share,estimate")
    )


def test_groups_on_a_path_are_in_the_order_of_their_numbers(here_of_groups_of_people: Path) -> None:
    named = [f"{year}={file}" for year, file in zip((2019, 2021, 2020), FILES, strict=True)]
    (data,) = json.loads(run("estimate", *named, "--pool", "path", "--json", "--by", "file").stdout)
    assert data["pool"] == "path" and data["shares"][0]["group"] == 2019


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("estimate", FILES[0], "--by", "file"), "at least 2 files"),
        (("estimate", f"a={FILES[0]}", f"a={FILES[1]}", "--by", "file"), "different names"),
        (("estimate", *FILES, "--only", "age", "--by", "file"), "must be 'value'"),
        (
            ("estimate", *FILES, "--of", "modus", "--compare-groups"),
            "must be 'shares', 'answered', 'numbers', 'mean', 'median', or a number",
        ),
        (("estimate", *FILES, "--of", "average", "--compare-groups"), "--of: must be 'shares'"),
        (("estimate", *FILES, "--of", "average", "--compare-groups"), "Is 'mean' meant?"),
        (("estimate", *FILES, "--of", "1.5", "--compare-groups"), "--of: must"),
        (
            ("estimate", *FILES, "--reference", "west", "--compare-groups"),
            "groups north; south; east",
        ),
        (
            ("estimate", *FILES, "--between", "north,suoth", "--compare-groups"),
            "--between: must be one of the groups north; south; east; got 'suoth'. Is 'south'",
        ),
        (("estimate", *FILES, "--by", "file", "--between", "north,south"), "--compare-groups"),
        (("estimate", *FILES, "--json", "--csv", "--by", "file"), "cannot be used together"),
        (("estimate", *FILES, "-o", FILES[0], "--by", "file"), "must not be one of the inputs"),
        (
            ("estimate", *FILES, "--pool", "path", "--by", "file"),
            "--pool path: needs names of files that are numbers or dates; got north.",
        ),
    ],
)
def test_mistakes_are_named(
    here_of_groups_of_people: Path, args: tuple[str, ...], problem: str
) -> None:
    assert problem in run(*args, ok=False).output


def test_a_sum_says_what_was_added(here_of_groups_of_people: Path) -> None:
    for name, wards in (("one", "nns"), ("two", "sswww")):
        reports = MECHANISM.randomize([0] * len(wards), rng=np.random.default_rng(len(wards)))
        save_tallies({"q": MECHANISM.tally(reports, {"ward": list(wards)})}, f"{name}.json")
        save_tallies({"q": MECHANISM.tally(reports)}, f"all-{name}.json")
    said = run("merge", "one.json", "two.json", "-o", "sum.json").stderr
    assert (
        "Added: 3 reports of one.json, 5 reports of two.json. 1 group is in more than one file: s. "
        "2 groups are in only one of the files: n, w.\n8 reports in 3 groups by ward\n" in said
    )
    said = run("merge", "all-one.json", "all-two.json", "-o", "sum.json").stderr
    assert said == (
        "Added: 3 reports of all-one.json, 5 reports of all-two.json.\n8 reports\n"
        "Written: sum.json (replaced the earlier file of this name)\n"
    )
    for name, few in (("one", 3), ("two", 5)):
        tallies = {
            q: MECHANISM.tally(MECHANISM.randomize([i % 4 for i in range(n)]))
            for q, n in (("theme", 40 * few), ("size", 40 * few), ("crash", 10 * few))
        }
        save_tallies(tallies, f"crashes-{name}.json")
        save_tallies({q: tallies[q] for q in ("theme", "size")}, f"settings-{name}.json")
    said = run("merge", "settings-one.json", "settings-two.json", "-o", "sum.json").stderr
    assert "\n320 reports, on each of 2 questions: theme, size\n" in said
    said = run("merge", "crashes-one.json", "crashes-two.json", "-o", "sum.json").stderr
    assert "\n320 reports; by question: theme 320, size 320, crash 80\n" in said


def test_a_tally_of_groups_is_one_file(here_of_groups_of_people: Path) -> None:
    rng = np.random.default_rng(3)
    reports = MECHANISM.randomize(rng.choice(4, 900, p=SHARES).tolist(), rng=rng)
    ward, week = np.repeat(["n", "s", "w"], 300).tolist(), np.tile([1, 2, 3], 300).tolist()
    groups = MECHANISM.tally(reports, {"ward": ward, "week": week})
    groups.save("all.json")
    (data,) = json.loads(run("estimate", "all.json", "--json", "--by", "file").stdout)
    assert data["columns"] == ["ward", "week"]
    assert data["shares"] == json.loads(json.dumps(estimate(groups).rows()))
    (path,) = json.loads(
        run("estimate", "all.json", "--time", "week", "--json", "--by", "file").stdout
    )
    assert path["pool"] == "path"
    out = run(
        "estimate", "all.json", "--by", "ward", "--reference", "s", "--json", "--compare-groups"
    ).stdout
    expected = compare_groups(groups.by("ward"), reference="s").rows()
    assert json.loads(out)[0]["differences"] == json.loads(json.dumps(expected))
    two = ("--compare-groups", "--json", "--between")
    for by, named in (("ward", '"w", n'), ("ward,week", '"s, 3","n, 1"')):
        (data,) = json.loads(run("estimate", "all.json", "--by", by, *two, named).stdout)
        keys = [("w",), ("n",)] if by == "ward" else [("s", 3), ("n", 1)]
        alone = compare_groups({key: groups.by(*by.split(","))[key] for key in keys})
        assert data["differences"] == json.loads(json.dumps(alone.rows()))
    lines = [*(f"ward,{w},1" for w in "nsw"), *(f"week,{w},1" for w in (1, 2, 3))]
    Path("census.csv").write_text("\n".join(["column,value,number", *lines]) + "\n")
    shown = run("estimate", "all.json", "--margins", "census.csv", "--by", "file").output
    assert "weighted by ward, week: every margin is met" in shown
    assert (
        "needs a tally of groups, but this tally was counted for all people together"
        in run("estimate", *FILES, "--by", "ward", ok=False).output
    )


def _weeks(*, of_rounds: bool = False) -> dict[str, warner.Tally]:
    """Two weeks by platform, with week1.json and week2.json; tv is new in the second one."""
    tallies, rng = {}, np.random.default_rng(11)
    for week, platforms in ((1, ["mac", "linux"]), (2, ["mac", "linux", "tv"])):
        listed = np.repeat(platforms, 200)
        column = PublicColumn(Categorical(["mac", "linux", "tv"]), listed.tolist())
        by = {"platform": column}
        if not of_rounds:
            weeks = Categorical([f"W{week}", f"W{week + 1}"])
            by["week"] = PublicColumn(weeks, [f"W{week}"] * len(listed))
        reports = MECHANISM.randomize(rng.choice(4, len(listed), p=SHARES).tolist(), rng=rng)
        tally = MECHANISM.tally(reports, by).of_round(week if of_rounds else None)
        save_tallies({"q": tally}, f"week{week}.json")
        tallies[f"week{week}"] = tally
    return tallies


def test_weeks_are_compared_within_each_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = _weeks().values()
    files = ("estimate", "week1.json", "week2.json")
    (data,) = json.loads(run(*files, "--by", "week,platform", "--json").stdout)
    assert data["shares"] == json.loads(
        json.dumps(estimate((one + two).by("week", "platform")).rows())
    )
    within = (*files, "--compare-groups", "--by", "week", "--within", "platform")
    done = run(*within, "--reference", "W1", "-o", "out.json", "-o", "out.csv", "--plot", "out.svg")
    assert "Not compared: q (platform tv), because all these people are in W2.\n" in done.stderr
    mac, linux = json.loads(Path("out.json").read_text())
    assert (mac["attribute"], mac["platform"], linux["platform"]) == ("q", "mac", "linux")
    of_linux = {week: (one + two)["linux", week] for week in ("W1", "W2")}
    expected = compare_groups(of_linux, reference="W1").rows()
    assert linux["differences"] == json.loads(json.dumps(expected))
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert [row["platform"] for row in rows] == ["mac"] * 4 + ["linux"] * 4
    drawn = Path("out.svg").read_text()  # one legend above all charts
    assert (
        drawn.count(">Filled dots: differences too large to be chance") == 1
        and ">q, linux<" in drawn
    )
    assert "q, linux: the difference W2 minus W1 by week" in run(*within).output
    named = run(*within, "--between", "W2,W1", "-o", "named.csv")
    assert "Not compared: q (platform tv)" in named.stderr
    turned = list(csv.DictReader(Path("named.csv").read_text().splitlines()))
    assert {(row["platform"], row["group"]) for row in turned} == {("mac", "W1"), ("linux", "W1")}
    said = run(*within, "--between", "W1,W7", ok=False).output
    assert "--within: leaves no table with 'W1' and 'W7'. Leave out --within, or name other" in said
    said = run(*within, "--reference", "W7", ok=False).output
    assert "--within: leaves no table with 'W7' and another group to compare it with." in said
    said = run("estimate", "week1.json", "--compare-groups", "--within", "week", ok=False).output
    words = (
        "--within: needs groups to compare. To compare the groups of platform, add --by platform"
    )
    assert words in said
    one.by("platform").save("alone.json")
    said = run("estimate", "alone.json", "--compare-groups", "--within", "platform", ok=False)
    assert "--within: needs groups to compare. Give several files" in said.output
    said = run(*files, "--by", "week", "--within", "platform", ok=False).output
    assert "--within: needs --compare-groups. Add --compare-groups." in said
    command = (*files, "--compare-groups", "--by", "week,platform", "--within", "platform")
    said = run(*command, ok=False).output
    assert "--within: must name other columns than --by; got platform" in said


def test_a_platform_with_too_few_reports_does_not_keep_others_from_being_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects an error that names no platform, in place of the tables of the others."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    for week in ("week1.json", "week2.json"):
        reports = MECHANISM.randomize(rng.choice(4, 401, p=SHARES).tolist(), rng=rng)
        save_tallies({"q": MECHANISM.tally(reports, {"at": ["mac"] * 400 + ["tv"]})}, week)
    command = ("estimate", "week1.json", "week2.json", "--compare-groups", "--within", "at")
    done = run(*command, "--json")
    said = "Not compared, because fewer than two groups have enough reports: q (at tv).\n"
    assert said in done.stderr
    (mac,) = json.loads(done.stdout)
    assert mac["at"] == "mac"


def test_tables_of_values_that_read_alike_are_all_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects tables under one title, of which the last one alone is shown and written."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    columns = {"maker": ["a, b", "a"], "model": ["c", "b, c"]}
    by = {name: PublicColumn(Categorical(values), values * 200) for name, values in columns.items()}
    for week in ("week1.json", "week2.json"):
        reports = MECHANISM.randomize(rng.choice(4, 400, p=SHARES).tolist(), rng=rng)
        save_tallies({"q": MECHANISM.tally(reports, by)}, week)
    command = (
        "estimate",
        "week1.json",
        "week2.json",
        "--compare-groups",
        "--within",
        "maker,model",
    )
    said = run(*command).output
    assert 'q, "a, b", c: the diff' in said and 'q, a, "b, c": the diff' in said
    assert "It does not allow for the comparisons in all 2 tables together." in " ".join(
        said.split()
    )
    data = json.loads(run(*command, "--json").stdout)
    assert [(each["maker"], each["model"]) for each in data] == [("a, b", "c"), ("a", "b, c")]


def test_rounds_of_the_same_people_are_compared_within_each_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = _weeks(of_rounds=True).values()
    files = ("estimate", "week1.json", "week2.json")
    said = run(*files, "--by", "platform", ok=False).output
    assert "(in a command: --by file, without --total). To compare two rounds, use" in said
    said = run(*files, "--by", "file,platform", "--total", ok=False).output
    assert "come from the same people, in rounds 1 and 2" in " ".join(said.split())
    (data,) = json.loads(run(*files, "--by", "file,platform", "--json").stdout)
    assert data["columns"] == ["file", "platform"]
    assert [row["platform"] for row in data["shares"][::4]] == [
        "mac",
        "linux",
        "mac",
        "linux",
        "tv",
    ]
    command = (*files, "--compare-groups", "--within", "platform", "--same-people")
    mac, linux = json.loads(run(*command, "--json").stdout)
    rounds = {"week1": one["linux"], "week2": two["linux"]}
    expected = compare_groups(rounds, reference="week1", same_people=True).rows()
    assert linux["differences"] == json.loads(json.dumps(expected))
    assert mac["differences"][0]["group"] == "week2"


def _rounds_of_three_questions() -> None:
    """week2.json and week3.json, of one study whose question language has one more value later."""
    rng = np.random.default_rng(5)
    for week, languages in ((2, ["de", "en"]), (3, ["de", "en", "ko"])):
        mechanisms = {
            "dark": RandomizedResponse(Categorical(["no", "yes"]), 2.0),
            "language": RandomizedResponse(Categorical(languages), 2.0),
            "hours": SquareWave(Integers(0, 24), 2.0),
        }
        answers = {"dark": ["yes", "no"] * 150, "language": ["de", "en"] * 150, "hours": [8] * 300}
        save_tallies(
            {
                name: each.tally(each.randomize(answers[name], rng)).of_round(week)
                for name, each in mechanisms.items()
            },
            f"week{week}.json",
        )


def test_questions_that_did_not_change_are_compared_beside_one_with_a_new_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a check of questions that nobody asks for, and rounds refused for all questions."""
    monkeypatch.chdir(tmp_path)
    _rounds_of_three_questions()
    named = ("2=week2.json", "3=week3.json")
    rounds = ("estimate", *named, "--by", "file")
    for options, remedy in (
        ((), "To estimate the other questions, write --only dark,hours."),
        (("--only", "dark,language"), "To estimate the other questions, write --only dark."),
        (("--only", "language"), "Estimate each file on its own."),
    ):
        said = run(*rounds, *options, ok=False).stderr
        assert "'language' has other values in week2.json than in week3.json" in said
        assert said.endswith(f"{remedy}\n")
    assert "dark: 2 groups" in run(*rounds, "--only", "dark").stdout
    compared = (*rounds, "--compare-groups", "--same-people", "--json")
    both = run(*compared, "--only", "dark,hours")
    dark, hours = json.loads(both.stdout)
    assert "low_if_kept" in dark["differences"][0]
    assert "low_if_kept" not in hours["differences"][0]
    assert "Compared as if the rounds were of different people: hours." in both.stderr
    refused_alone = run(*compared, "--only", "hours", ok=False).stderr
    assert "--same-people: can be used only for shares" in refused_alone
    for command in (("estimate", *named), ("report", *named, "-o", "r.html")):
        said = run(*command, "--only", "dark", ok=False).stderr
        assert "2=week2.json: names week2.json '2', but names of files are used only" in said
        assert "Run: warner estimate 2=week2.json 3=week3.json --by file." in said


def test_files_of_groups_are_not_added_where_they_may_be_what_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects platforms compared over the sum of two weeks, names of files that nobody uses, and
    the advice to leave out names that nobody gave.
    """
    monkeypatch.chdir(tmp_path)
    for of_rounds in (False, True):
        _weeks(of_rounds=of_rounds)
        columns = "platform" if of_rounds else "platform,week"
        for files in (("1=week1.json", "2=week2.json"), ("week1.json", "week2.json")):
            said = run("estimate", *files, "--compare-groups", ok=False).output
            assert "To compare the files, add --by file. To compare the files within" in said
            assert f"within each group, add --within {columns}. To compare" in said
            no_names = " and give the files no names" * ("=" in files[0])
            assert f"To compare the groups, add --by {columns}{no_names}. The files are" in said
    named = ("estimate", "1=week1.json", "2=week2.json")
    for more in ((), ("--compare-groups",)):
        said = run(*named, "--by", "platform", *more, ok=False).output
        assert (
            "are added up for each platform, so the names of the files would not be used; got 1, 2"
            in said
        )
        assert "To keep the files apart, write --by file,platform." in said
    (data,) = json.loads(run(*named, "--by", "file,platform", "--json").stdout)
    assert {row["file"] for row in data["shares"]} == {"1", "2"}
    mac, _ = json.loads(run(*named, "--compare-groups", "--within", "platform", "--json").stdout)
    assert {row["group"] for row in mac["differences"]} == {"2"}
    (whole,) = json.loads(run(*named, "--compare-groups", "--by", "file", "--json").stdout)
    assert {row["group"] for row in whole["differences"]} == {"2"}
    one = run("estimate", "1=week1.json", "--compare-groups", "--json").stdout
    assert {row["group"] for row in json.loads(one)[0]["differences"]} == {"linux"}


def test_a_picture_has_all_questions_and_is_refused_before_anything_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wards = ["North", "South"] * 200
    questions = {"drugs": ["never", "sometimes", "often"], "tested": ["no", "yes"]}
    for path, epsilon in (("a.json", 1.0), ("b.json", 2.0)):
        tallies = {}
        for name, values in questions.items():
            coin = RandomizedResponse(Categorical(values), epsilon)
            reports = coin.reports([i // 2 % len(values) for i in range(400)])
            tallies[name] = coin.tally(reports, {"ward": wards})
        save_tallies(tallies, path)
    by = ("estimate", "a.json", "b.json", "--by", "ward")
    for more, text in (((), "Shares by ward: {}"), (("--compare-groups",), "{}")):
        run(*by, *more, "--plot", "p.html", "--plot", "p.json", "-o", "t.xlsx")
        page, picture = Path("p.html").read_text(), Path("p.json").read_text()
        assert page.count("<table") == 2 and Path("t.xlsx").exists()
        for name, values in questions.items():
            assert f'"{text.format(name)}"' in picture and f'"{values[-1]}"' in picture
        Path("t.xlsx").unlink()
        run(*by, *more, "--plot", "p.json", "--title", "Two wards")
        assert '"Two wards"' in Path("p.json").read_text()
        assert "drugs" in Path("p.json").read_text()
        refused = run(*by, *more, "--plot", "p.gif", ok=False)
        assert "must end in" in refused.stderr and "taken together" not in refused.stderr
        one = run(*by, *more, "--only", "drugs").stderr
        assert "drugs: 400 reports by" in one and "tested" not in one
    run(*by, "--plot", "p.svg")
    for text in ("Shares by ward: drugs", "often", "Shares by ward: tested", "yes"):
        assert f">{text}<" in Path("p.svg").read_text()


def test_phones_and_paper_are_estimated_compared_and_reported_by_ward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    phone = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    paper = ForcedResponse("1/6", "1/6")
    tallies = []
    for name, mechanism, counts in (
        ("phones", phone, (220, 180, 180, 220)),
        ("paper", paper, (120, 80, 84, 116)),
    ):
        wards = np.repeat(["North", "North", "South", "South"], counts).tolist()
        reports = mechanism.reports(np.repeat([0, 1, 0, 1], counts).tolist())
        tallies.append(mechanism.tally(reports, {"ward": wards}))
        save_tallies({"tested": tallies[-1]}, f"{name}.json")
    files = ("phones.json", "paper.json")

    shown = run("estimate", *files, "--by", "ward", "-o", "by.json", "--plot", "by.svg")
    assert (
        "800 reports by RandomizedResponse at epsilon 1, 400 reports by ForcedResponse"
        in shown.stderr
    )
    (by,) = json.loads(Path("by.json").read_text())
    assert by["shares"] == json.loads(json.dumps(estimate(tallies).rows()))
    (each,) = json.loads(run("estimate", *files, "--json").stdout)[:1]
    assert each["shares"][1]["estimate"] == by["shares"][1]["estimate"]
    differences = ("--by", "ward", "--compare-groups", "--json", "--plot", "differences.svg")
    (compared,) = json.loads(run("estimate", *files, *differences).stdout)
    assert compared["differences"] == json.loads(json.dumps(compare_groups(tallies).rows()))
    # The files as groups: whether the people of both ways have the same shares.
    (ways,) = json.loads(run("estimate", *files, "--by", "file", "--json").stdout)
    assert [row["group"] for row in ways["shares"]] == ["phones"] * 2 + ["paper"] * 2
    Path("census.csv").write_text("ward,number\nNorth,30\nSouth,10\n")
    shown = run("estimate", *files, "--by", "ward", "--margins", "census.csv")
    assert "weighted by ward: every margin is met" in shown.output

    # What the hints name is not refused.
    refused = run("estimate", *files, "--plot", "a.svg", ok=False).stderr
    assert "Add --by ward" in refused
    assert "add --total" in run("estimate", *files).stderr
    run("report", *files, "-o", "page.html", "--reference", "North")
    page = Path("page.html").read_text()
    assert "tested (800 by phone or computer)" in page and "73.2" in page
    assert "tested (400 on paper)" in page and "83.4" in page
    assert "compared with North" in page
    assert (
        "randomised in different ways (mechanisms or epsilons)" in page
        and "followed the card" in page
    )
    pooled = run("estimate", *files, "--by", "ward", "--pool", "partial", ok=False).stderr
    assert "needs reports of one mechanism and one epsilon" in pooled


def test_a_question_has_one_number_in_every_command(here_of_groups_of_people: Path) -> None:
    """Rejects groups that are pooled in one command and not in another."""
    by = run("estimate", *FILES, "--by", "file", "--json").output
    (together,) = json.loads(by[by.index("[") :])
    for file in FILES:
        out = run("estimate", file, "--json").output
        (alone,) = json.loads(out[out.index("[") :])
        name = file.split(".")[1]
        rows = [row for row in together["shares"] if row["group"] == name]
        for key in ("estimate", "low", "high"):
            assert [row[key] for row in rows] == [row[key] for row in alone["shares"]]


def test_shares_that_are_moved_are_said_to_be_other_than_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects tables of 71.8 % and 52.0 % beside a difference of 19.3 points without a word, and
    a refusal of the method whose shares fit."""
    monkeypatch.chdir(tmp_path)
    coin = RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    answers = ["a"] * 700 + ["b"] * 150 + ["c"] * 100 + ["d"] * 50 + ["a", "b", "c", "d"] * 250
    reports = coin.randomize(answers, rng=np.random.default_rng(3))
    wards = ["north"] * 1000 + ["south"] * 1000
    save_tallies({"x": coin.tally(reports, {"ward": wards})}, "t.json")
    moved = "Differences between groups are computed before shares are moved closer to each other"
    shown = " ".join(run("estimate", "t.json", "--by", "ward").output.split())
    assert moved in shown and "Method:" not in shown
    alone = " ".join(run("estimate", "t.json").output.split())
    assert moved in alone
    for short in ([], ["--short"]):
        run("report", "t.json", "-o", "t.html", *short)
        assert Path("t.html").read_text().count(moved) == 2 - len(short)
    shown = run("estimate", "t.json", "--by", "ward", "--explain").output
    assert "Method: EmpiricalBayes()." in shown
    run("estimate", "t.json", "--by", "ward", "-m", "mle", "-o", "t.csv")
    rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
    north, south = (float(row["estimate"]) for row in rows if row["value"] == "a")
    found = compare_groups(load_tallies("t.json")["x"], reference="north").rows()
    assert south - north == pytest.approx(found[0]["difference"])
    shown = run("estimate", "t.json", "--by", "ward", "-m", "inversion").output
    assert moved not in " ".join(shown.split())
