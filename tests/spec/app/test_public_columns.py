"""Public columns from a study file to the estimates of groups, and the mistakes that are refused."""

from __future__ import annotations

import datetime
import json
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.app._command import run
from warner import Categorical, RandomizedResponse, Study, io
from warner.app.expected_groups import require_groups
from warner.app.what_files_hold import CountsBefore
from warner.domains.interval import Dates
from warner.errors import ArgumentError, FileError, ReportError, StudyError
from warner.io.foreign_files import open_foreign, tally_foreign
from warner.io.public_values import AnswerCopyCheck
from warner.reports.public_columns import PublicColumn
from warner.reports.tally import Tally, dump_tallies, load_tallies
from warner.results.result_files import COLUMNS

STUDY = """
[public.ward]
values = ["north", "south"]
[public.age]
integers = [18, 99]
[public.visit]
dates = "week"
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.steps]
integers = [0, 19]
mechanism = "UnaryEncoding"
epsilon = 1.5
"""
GROUPS = """
[[groups]]
name = "low"
[groups.attributes.smokes]
epsilon = 0.5
[[groups]]
name = "high"
"""
N = 600


def _answers(rng: np.random.Generator) -> dict[str, list[str]]:
    return {
        "name": [f"person{i}" for i in range(N)],
        "visit": [f"2024-01-{1 + i % 14:02d}" for i in range(N)],
        "smokes": rng.choice(["no", "yes"], N).tolist(),
        "ward": rng.choice(["north", "south"], N, p=[0.8, 0.2]).tolist(),
        "steps": rng.integers(0, 20, N).astype(str).tolist(),
        "age": rng.integers(40, 44, N).astype(str).tolist(),
        "group": rng.choice(["low", "high"], N).tolist(),
    }


def _write(path: str, columns: dict[str, list[str]]) -> None:
    rows = [",".join(row) for row in zip(*columns.values(), strict=True)]
    Path(path).write_text("\n".join([",".join(columns), *rows]) + "\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    _write("answers.csv", _answers(np.random.default_rng(0)))
    return tmp_path


def test_exactly_the_declared_columns_travel_in_random_order(here: Path) -> None:
    for name in ("reports.csv", "reports.parquet"):
        out = run("randomize", "study.toml", "answers.csv", "-o", name, "--again")
        assert "without protection: ward, age, visit" in out.stderr
        columns = list(io.open_reports(name).format.columns(name))
        bits = ["steps_bits_0", "steps_bits_1", "steps_bits_2"]
        assert columns == ["ward", "age", "visit", "smokes_report", *bits]
        public = io.read_public(name)
        answers = _answers(np.random.default_rng(0))
        assert set(public["visit"]) == {"2024-W01", "2024-W02"}
        people = sorted(zip(public["ward"], map(str, public["age"]), strict=True))
        assert people == sorted(zip(answers["ward"], answers["age"], strict=True))
        assert public["ward"] != answers["ward"]
    lines = Path("reports.csv").read_text().splitlines()
    assert lines[2].count(",") == 6 and not any("person" in line for line in lines)
    assert json.loads(lines[0][len("#warner ") :])["schema"] == 2


def test_one_tally_for_each_group_from_randomize_to_estimates(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "reports.parquet")
    run("tally", "reports.parquet", "-o", "all.json")
    out = run("tally", "reports.parquet", "--by", "ward, visit", "-o", "groups.json")
    assert "600 reports in 4 groups by ward, visit" in out.stderr
    groups = load_tallies("groups.json")
    assert {name: tally.total() for name, tally in groups.items()} == load_tallies("all.json")
    assert list(groups["smokes"].by("ward")) == [("north",), ("south",)]

    table = json.loads(run("estimate", "groups.json", "--only", "smokes", "--json").stdout)
    assert [entry["group"] for entry in table] == [
        {"ward": ward, "visit": week}
        for ward in ("north", "south")
        for week in ("2024-W01", "2024-W02")
    ]
    one = warner.estimate(groups["smokes"]["south", "2024-W02"])
    alone = json.loads(json.dumps(one.to_json()))
    of_group = {"ward": "south", "visit": "2024-W02", "reports": one.n}
    of_group["status"] = alone["status"]
    alone["shares"] = [row | of_group for row in alone["shares"]]
    assert {k: v for k, v in table[3].items() if k not in ("group", "attribute")} == {
        k: v for k, v in alone.items() if k != "attribute"
    }
    csv = run("estimate", "groups.json", "--csv").stdout.splitlines()
    public = ["ward", "visit"]
    assert csv[0].split(",") == [*list(COLUMNS)[:1], *public, *list(COLUMNS)[1:]]
    assert len(csv) == 1 + 4 * (2 + 20)
    assert "south" in run("estimate", "groups.json", "-m", "mle").stdout


def test_tallies_of_groups_merge_as_before(here: Path) -> None:
    for seed, name in ((1, "a"), (2, "b")):
        run("randomize", "study.toml", "answers.csv", "-o", f"{name}.csv", "--seed", str(seed))
        run("tally", f"{name}.csv", "--by", "visit", "-o", f"{name}.json")
    run("merge", "a.json", "b.json", "-o", "ab.json")
    run("merge", "b.json", "a.json", "-o", "ba.json")
    assert Path("ab.json").read_bytes() == Path("ba.json").read_bytes()
    run("tally", "a.csv", "b.csv", "--by", "visit", "-o", "both.json")
    assert Path("ab.json").read_bytes() == Path("both.json").read_bytes()
    run("tally", "a.csv", "--by", "ward", "-o", "ward.json")
    assert "by different columns" in run("merge", "a.json", "ward.json", ok=False).output
    run("tally", "a.csv", "-o", "plain.json")
    assert (
        "must not mix tallies of groups and tallies of all people together"
        in run("merge", "a.json", "plain.json", ok=False).output
    )
    Path("copy.json").write_bytes(Path("a.json").read_bytes())
    refused = run("merge", "a.json", "copy.json", ok=False).output
    assert "must not be counted twice" in refused and "equal counts" in refused
    assert (
        "must not mix tallies of groups and tallies of all people together"
        in run("estimate", "a.json", "plain.json", ok=False).output
    )


def test_tallies_whose_questions_have_different_groups_merge(here: Path) -> None:
    """Rejects a search for equal groups that takes all questions to have the same groups."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    for name, codes in (("a", [0, 1, 0] * 10), ("b", [1, 1, 0] * 10)):
        tally = coin.tally(coin.reports(codes), {"ward": [1] * 10 + [2] * 20})
        other = coin.tally(coin.reports(codes[::-1]), {"ward": [2] * 30})
        Path(f"{name}.json").write_text(dump_tallies({"smokes": tally, "drinks": other}))
    run("merge", "a.json", "b.json", "-o", "c.json")
    merged = load_tallies("c.json")
    assert list(merged["smokes"]) == [(1,), (2,)] and list(merged["drinks"]) == [(2,)]


def test_many_small_groups_are_compared_with_one_computation_of_chances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects one for each pair of equal groups: a household is a group, and most are alike."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    said = [0, 1, 1] * 100 + [1, 0, 0, 1] * 75
    tally = coin.tally(coin.reports(said), {"household": list(range(300)) * 2})
    calls, chances = [], Tally.chances_of_twins
    monkeypatch.setattr(Tally, "chances_of_twins", lambda t: calls.append(t) or chances(t))
    CountsBefore().require_new_groups("a.csv", {"smokes": tally})
    assert len(calls) == 1


def test_groups_with_budgets_of_their_own_are_estimated_together(here: Path) -> None:
    Path("study.toml").write_text(STUDY + GROUPS)
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    out = run(
        "tally", "r.low.csv", "r.high.csv", "--study", "study.toml", "--by", "ward", "-o", "t.json"
    )
    assert "groups by ward" in out.stderr
    low, high = (load_tallies(f"t.{name}.json")["smokes"] for name in ("low", "high"))
    assert low.header["requested"] == 0.5 and low.n + high.n == N
    found = json.loads(
        run("estimate", "t.low.json", "t.high.json", "--only", "smokes", "--json").stdout
    )
    assert [entry["group"]["ward"] for entry in found] == ["north", "south"]
    assert found[0]["n"] == low["north",].n + high["north",].n


def test_a_group_column_may_be_public_too(here: Path) -> None:
    text = STUDY.replace(
        "[public.visit]", '[public.group]\nvalues = ["low", "high"]\n[public.visit]'
    )
    Path("study.toml").write_text(text + GROUPS)
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    assert set(io.read_public("r.low.csv")["group"]) == {"low"}


def test_small_groups_are_counted_and_said(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    out = run("tally", "r.csv", "--by", "ward", "-o", "t.json")
    assert "fewer" not in out.stderr
    out = run("tally", "r.csv", "--by", "ward,age,visit", "--smallest-group", "30", "-o", "t.json")
    sizes = load_tallies("t.json")["smokes"].sizes
    few = int((sizes < 30).sum())
    assert 0 < few < 16 and f"{few} of 16 groups have fewer than 30 reports" in out.stderr
    assert f"the smallest has {sizes.min()}." in out.stderr and "may be recognised" in out.stderr
    audit = run("audit", "t.json", "--smallest-group", "30").output
    assert f"WARNING: {few} of 16 groups" in audit
    data = json.loads(run("audit", "t.json", "--json").stdout)["public"]
    assert data["groups"] == 16 and data["fewest"] == sizes.min() and data["protected"] is False


def test_the_audit_says_that_public_columns_are_not_protected(here: Path) -> None:
    text = run("audit", "study.toml").output
    assert "ward (2 values), age (82 values), visit (dates by week)" in text
    assert "NOT protected" in text and "164 groups for each date" in text
    data = json.loads(run("audit", "study.toml", "--json").stdout)
    assert data["public"]["groups_without_dates"] == 164 and data["smokes"]["holds"] is True
    Path("plain.toml").write_text(STUDY[STUDY.index("[attributes") :])
    assert "Public" not in run("audit", "plain.toml").output
    assert "public" not in json.loads(run("audit", "plain.toml", "--json").stdout)
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet")
    assert "NOT protected" in run("audit", "r.parquet").output


def test_a_study_of_other_columns_refuses_the_reports(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    Path("other.toml").write_text(STUDY.replace("[18, 99]", "[18, 98]"))
    assert "public columns" in run("tally", "r.csv", "--study", "other.toml", ok=False).output
    assert Study.load("other.toml").digest != Study.load("study.toml").digest
    again = Study.parse(Study.load("study.toml").to_json())
    assert again.digest == Study.load("study.toml").digest and list(again.public) == [
        "ward",
        "age",
        "visit",
    ]


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("[public.ward]", "[public.smokes]", "public.smokes: has the name of a protected question"),
        ("[public.ward]", "[public.Smokes]", "has the name of a protected question"),
        (
            '["north", "south"]',
            '["north", "north"]',
            "public.ward: values: must have each label only once",
        ),
        ('dates = "week"', 'dates = "year"', "public.visit.dates"),
        (
            'dates = "week"',
            'dates = "week"\nvalues = ["a"]',
            "exactly one of the keys values, integers, dates",
        ),
        ('dates = "week"', 'kinds = "week"', "is not a key of a study file"),
        # Rejects "Is 'items' meant?", which spells alike and means something else.
        ('dates = "week"', 'dates = "week"\ntexts = ["a"]', "Is 'answers' meant?"),
        # Rejects "Is 'stop' meant?", which is refused then.
        ('dates = "week"', 'dates = "week"\nto = "2026-12-28"', "a public column takes all dates"),
        ('dates = "week"', 'dates = "week"\nstart = "2026"', "--expect-groups visit=2026-"),
        ("[public.ward]", '[public."ward,age"]', "comma"),
        ("[public.ward]", '[public."AGE"]', "upper and lower case"),
        (
            "[attributes.smokes]",
            "[attributes.public]",
            "the name 'public' in a study with public columns",
        ),
    ],
)
def test_declarations_are_checked_in_words(old: str, new: str, words: str) -> None:
    assert old in STUDY
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY.replace(old, new))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "column, value, words",
    [
        (
            "ward",
            "east",
            "column 'ward', data row 3: must be one of 'north', 'south'; got another text",
        ),
        ("ward", "", "data row 3: must be one of 'north', 'south'; got an empty cell. Give each"),
        ("age", "17", "column 'age', data row 3: must be one of the 82 values"),
        ("visit", "31.05.2024", "column 'visit', data row 3: must be a date such as"),
        ("visit", "31.05.2024", "Write dates as"),
        (
            "visit",
            "2024-05-31T00:30:00+01:00",
            "column 'visit', data row 3: must be a date such as",
        ),
        ("visit", "2024-05-31T00:30:00+01:00", "Write the date without the time."),
        ("visit", "", "column 'visit', data row 3: must be a date such as"),
    ],
)
def test_public_values_are_refused_by_their_row(
    here: Path, column: str, value: str, words: str
) -> None:
    """Rejects the advice to declare an empty cell as a value."""
    answers = _answers(np.random.default_rng(0))
    answers[column][2] = value
    _write("answers.csv", answers)
    out = run("randomize", "study.toml", "answers.csv", "-o", "r.csv", ok=False).output
    assert words in out and not Path("r.csv").exists()
    assert f"[public.{column}]" in out or column == "visit"
    assert "east" not in out and "31.05" not in out


@pytest.mark.parametrize(
    "column, near, is_named", [("ward", "south", True), ("smokes", "yes", False)]
)
def test_only_of_a_public_value_a_message_says_what_is_meant(
    here: Path, column: str, near: str, is_named: bool
) -> None:
    """Rejects a hint that tells which answer a person gave."""
    answers = _answers(np.random.default_rng(0))
    answers[column][2] = f"{near}t"
    _write("answers.csv", answers)
    out = run("randomize", "study.toml", "answers.csv", "-o", "r.csv", ok=False).output
    assert (f"Is {near!r} meant?" in out) is is_named and f"{near}t" not in out


def test_a_missing_public_column_is_named(here: Path) -> None:
    answers = _answers(np.random.default_rng(0))
    del answers["ward"]
    _write("answers.csv", answers)
    assert "ward" in run("randomize", "study.toml", "answers.csv", "-o", "r.csv", ok=False).output


@pytest.mark.parametrize("same", [{"no": "no", "yes": "yes"}, {"no": "north", "yes": "south"}])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_public_column_that_repeats_answers_is_refused(
    here: Path, same: dict[str, str], grouped: bool
) -> None:
    listed = ", ".join(f'"{value}"' for value in same.values())
    text = STUDY.replace('"north", "south"', listed) + (GROUPS if grouped else "")
    Path("study.toml").write_text(text)
    answers = _answers(np.random.default_rng(0))
    answers["ward"] = [same[value] for value in answers["smokes"]]
    _write("answers.csv", answers)
    out = run("randomize", "study.toml", "answers.csv", "-o", "r.csv", ok=False).output
    assert "public.ward: repeats the answers in the column 'smokes'" in out
    assert not list(here.glob("r*.csv")) and "yes" not in out
    # A few people of whom it is not so: nearly a copy, which is named, without an answer.
    for person in range(7, 12):
        answers["ward"][person] = next(v for v in same.values() if v != answers["ward"][person])
    _write("answers.csv", answers)
    out = run("randomize", "study.toml", "answers.csv", "-o", "r.csv").output
    assert "public.ward nearly repeats the answers in the column 'smokes'" in out
    assert "yes" not in out and "'visit'" not in out


def _watched(columns: dict[str, Any]) -> AnswerCopyCheck:
    copies = AnswerCopyCheck(columns, columns)
    table = pa.table({name: [str(v) for v in values] for name, values in columns.items()})
    for batch in table.to_batches(max_chunksize=500):
        copies.add(batch)
    return copies


def test_columns_that_go_together_are_no_copies() -> None:
    """Rejects the program that takes any strong association, or one by chance, for a copy."""
    rng = np.random.default_rng(3)
    # The closest pair of Adult's columns: who is a husband is married.
    relationship = rng.choice(6, 5000, p=[0.4, 0.05, 0.26, 0.15, 0.11, 0.03])
    married = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0.57, 0.29, 0.14], [0.02, 0.88, 0.06, 0.04]]
    married += [[0, 0.26, 0.46, 0.28], [0.13, 0.62, 0.12, 0.13]]
    status = (np.cumsum(np.array(married)[relationship], axis=1) < rng.random((5000, 1))).sum(
        axis=1
    )
    sex = np.where(relationship < 2, relationship, rng.random(5000) < 0.5)
    columns = {"relationship": relationship, "status": status, "sex": sex}
    assert _watched(columns).near_copies() == []
    yes = rng.random(600) < 0.05
    many = {"person": range(600), "block": rng.integers(0, 300, 600), "yes": yes}
    assert _watched(many).near_copies() == []
    # A rare answer counts as a common one does: 28 of 30 are told.
    flag = np.where(rng.random(600) < 0.003, ~yes, yes)
    assert ("flag", "yes") in _watched({"flag": flag, "yes": yes}).near_copies()


def test_a_public_column_from_which_the_answer_follows_is_refused(here: Path) -> None:
    Path("study.toml").write_text(STUDY.replace('"north", "south"', '"a", "b", "c"'))
    answers = _answers(np.random.default_rng(0))
    wards = np.random.default_rng(1).choice(["a", "b"], len(answers["smokes"]))
    answers["ward"] = [
        "c" if smokes == "yes" else ward
        for smokes, ward in zip(answers["smokes"], wards.tolist(), strict=True)
    ]
    _write("answers.csv", answers)
    out = run("randomize", "study.toml", "answers.csv", "-o", "r.csv", ok=False).output
    assert "public.ward: repeats the answers in the column 'smokes'" in out


def test_a_public_column_of_persons_repeats_nothing() -> None:
    copies = AnswerCopyCheck(["person"], ["smokes"])
    copies.add(pa.record_batch({"person": list(range(50)), "smokes": ["yes", "no"] * 25}))
    copies.refuse()


def test_one_person_alone_repeats_nothing(here: Path) -> None:
    Path("one.toml").write_text(STUDY.replace('"north", "south"', '"no", "yes"'))
    out = run("randomize", "one.toml", "--bare", text="no,40,2024-05-31,no,3\n").stdout
    assert '"no",40,"2024-W22"' in out


def test_unknown_groups_are_refused(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    out = run("tally", "r.csv", "--by", "ward,street", ok=False).output
    assert "ward, age, visit" in out and "'street'" in out
    assert "twice" in run("tally", "r.csv", "--by", "ward,ward", ok=False).output
    run("tally", "r.csv", "--by", "ward", "-o", "t.json")
    assert "is a tally of groups of people" in run("benchmark", "t.json", ok=False).output


def test_the_example_declares_every_kind_of_column() -> None:
    study = Study.load(Path(warner.__file__).parents[2] / "docs" / "public.toml")
    assert [type(domain).__name__ for domain in study.public.values()] == [
        "Categorical",
        "Integers",
        "Dates",
    ]
    assert study.budget is not None and study.epsilon <= study.budget


def test_reports_in_memory_are_grouped_by_declared_values() -> None:
    study = Study.parse(STUDY)
    reports = {"smokes": study.mechanisms["smokes"].randomize(["no", "yes", "no"])}
    groups = study.tally(reports, {"ward": ["south", "north", "south"]})["smokes"]
    assert list(groups) == [("north",), ("south",)] and groups.columns == {
        "ward": study.public["ward"]
    }
    with pytest.raises(warner.errors.ArgumentError, match="ward, age, visit; got 'street'"):
        study.tally(reports, {"street": ["a", "b", "c"]})
    with pytest.raises(warner.errors.ValuesError, match="position 2"):
        study.tally(reports, {"ward": ["south", "north", "east"]})


def test_results_have_one_schema_and_parquet_has_its_types(here: Path) -> None:
    """All columns stand in every file; numbers that no row has are no texts."""
    run("randomize", "study.toml", "answers.csv", "-o", "reports.csv", "--seed", "1")
    run("tally", "reports.csv", "--by", "ward,visit", "-o", "groups.json")
    run("tally", "reports.csv", "-o", "all.json")
    schemas = []
    for args in (
        ("all.json",),
        ("groups.json", "--by", "ward,visit"),
        ("groups.json", "--by", "ward,visit", "--pool", "partial"),
    ):
        run("estimate", *args, "--only", "smokes", "-o", "r.parquet", "-o", "r.csv")
        table = pq.read_table("r.parquet")
        assert table.column_names == Path("r.csv").read_text().splitlines()[0].split(",")
        schemas.append([field for field in table.schema if field.name in COLUMNS])
        assert set(table["measure"].to_pylist()) == {"share"}
        assert set(table["simulated"].to_pylist()) == {"yes"}
    assert [field.name for field in schemas[0]] == list(COLUMNS)
    assert schemas[0] == schemas[1] == schemas[2]
    assert table["status"].to_pylist()[0] == "pooled"
    assert table.schema.field("shrunk_from").type == pa.float64()


def test_summaries_of_groups_stand_in_one_table(here: Path) -> None:
    """--by and --summary give each group the numbers that its own tally gives."""
    run("randomize", "study.toml", "answers.csv", "-o", "reports.csv", "--seed", "1")
    run("tally", "reports.csv", "--by", "ward,visit", "-o", "groups.json")
    by_ward = ("estimate", "groups.json", "--by", "ward", "--only", "steps")
    asked = (*by_ward, "--summary", "mean,median,above:5")
    shown = run(*asked, "-o", "-", "-o", "r.json", "-o", "r.parquet").stdout
    assert shown.count("median") == 2 == shown.count("share above 5")
    rows = [r for r in pq.read_table("r.parquet").to_pylist() if r["measure"] != "share"]
    run(*asked, "--no-shares", "-o", "few.parquet", "-o", "few.json")
    assert pq.read_table("few.parquet").to_pylist() == rows
    assert all("shares" not in each for each in json.loads(Path("few.json").read_text()))
    assert "needs --summary" in run(*by_ward, "--no-shares", ok=False).stderr
    assert [(r["ward"], r["measure"]) for r in rows] == [
        (ward, measure) for ward in ("north", "south") for measure in ("mean", "median", "above:5")
    ]
    for name, group in load_tallies("groups.json")["steps"].by("ward").items():
        mean = warner.estimate(group).mean()
        (row,) = [r for r in rows if r["ward"] == name[0] and r["measure"] == "mean"]
        assert row["estimate"] == pytest.approx(float(mean))
        assert (row["low"], row["high"]) == pytest.approx(mean.interval())
    for options, said in (
        (("--plot", "p.svg"), "--plot: cannot be used with --by and --summary"),
        (("--pool", "partial"), "--pool: cannot be used with --by and --summary"),
        (("--compare-groups",), "Leave out --summary, and say what to compare: --of"),
    ):
        assert said in run(*asked, *options, ok=False).stderr


def test_a_file_without_groups_is_told_the_command_that_fits_it(here: Path) -> None:
    """Rejects a report file that is told to be counted by a collector, or to be a table, and a
    regression of a tally that is told to be randomised.
    """
    run("randomize", "study.toml", "answers.csv", "-o", "reports.csv", "--seed", "1")
    run("tally", "reports.csv", "-o", "flat.json")
    for name, way in (
        (
            "reports.csv",
            "Count the groups first: warner tally reports.csv --by ward -o tally.json.",
        ),
        ("flat.json", "Make the tally with warner tally --by ward, or warner collect pull --by"),
    ):
        said = run("estimate", name, "--by", "ward", ok=False).stderr
        if name == "reports.csv":  # the column is named as it is, not as it was typed
            assert said == run("estimate", name, "--by", "Ward", ok=False).stderr
        assert (
            "--by: needs a tally of groups, but this tally was counted for all people together. "
            f"{way}" in said
        )
    said = run("regress", "flat.json", "smokes ~ ward", ok=False).stderr
    assert "flat.json: is a tally, which does not say" in said and "randomize" not in said
    counted = ("tally", "reports.csv", "-o", "t.json", "--expect-reports")
    assert "Check which files are missing.\n" in run(*counted, "1000000", ok=False).stderr
    assert "Check which files were added.\n" in run(*counted, "1", ok=False).stderr


def test_a_tally_of_groups_says_how_it_was_computed(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "reports.csv", "--seed", "1")
    run("tally", "reports.csv", "--by", "ward", "-o", "groups.json")
    args = ("estimate", "groups.json", "--only", "smokes")
    assert "Method: " in run(*args, "--explain").stdout
    assert "Method: " not in run(*args).stdout


def test_a_job_is_told_how_many_reports_and_groups_to_expect(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "reports.csv", "--seed", "1")
    people = len(Path("answers.csv").read_text().splitlines()) - 1
    expected = ("--expect-reports", str(people), "--expect-groups", "4")
    counted = ("tally", "reports.csv", "-o", "tally.json")
    run(*counted, "--by", "ward,visit", *expected)
    Path("tally.json").unlink()
    for options, said in (
        (("--by", "ward", *expected), "--expect-groups: is 4, but 2 groups were"),
        (("--expect-reports", "7"), f"--expect-reports: is 7, but {people:,} reports were"),
        (
            ("--expect-groups", "4"),
            "--expect-groups: needs groups, but this command counts none. Add --by COLUMN.",
        ),
        (("--by", "ward", "--expect-groups", "word=north"), "Is 'ward' meant?"),
        (("--by", "ward", "--expect-groups", "few"), "must be a number of groups, or COLUMN=VAL"),
        (
            ("--by", "ward", "--expect-groups", "ward=a..b"),
            "has a range, but the study states no dates and no numbers for",
        ),
        (("--by", "ward", "--expect-groups", "ward=east"), "no reports of east were counted; repo"),
        (
            ("--by", "ward", "--expect-groups", "ward=north"),
            "reports of south were counted, but not expected",
        ),
    ):
        assert said in run(*counted, *options, ok=False).stderr
        assert not Path("tally.json").exists()
    # A column that nobody counts by is refused before any file is read.
    missing = ("tally", "missing.csv", "--by", "ward", "--expect-groups", "word=north")
    assert "Is 'ward' meant?" in run(*missing, ok=False).stderr
    wards = ("--expect-groups", "ward=north,south", "--expect-groups", "2")
    run(*counted, "--by", "ward", *wards)


def test_a_job_names_the_weeks_and_wards_that_it_expects() -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    weeks = ["2026-W01", "2026-W03", "2026-W01", "2026-W03"]
    dates = PublicColumn(Dates("week"), weeks)
    wards = ["north", "north", "south", "south"]
    reports = coin.randomize(["no", "yes", "no", "yes"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = [{"smokes": coin.tally(reports, {"week": dates, "ward": wards})}]
    require_groups(both, ["week=2026-W01,2026-W03", "ward=north,south", "4"])
    for expected, said in (
        (["week=2026-W01..2026-W03"], "no reports of 2026-W02 were counted"),
        (
            ["week=2026-W02..2026-W03", "ward=north,south"],
            "no reports of 2026-W02, north; 2026-W02, south were counted",
        ),
        (
            ["week=2026-W03..2026-W01"],
            "after its last; got '2026-W03..2026-W01'. Write week=2026-W01",
        ),
        (["week=2026-W03..later"], "must have values of the column before and after the two dots"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(said)):
            require_groups(both, expected)


def test_a_question_is_no_public_column_of_reports_and_tallies(here: Path) -> None:
    """Rejects the advice to declare a secret question as a public column."""
    run("randomize", "study.toml", "answers.csv", "-o", "reports.parquet")
    run("tally", "reports.parquet", "-o", "all.json")
    run("tally", "reports.parquet", "--by", "ward", "-o", "groups.json")
    for command in (
        ("tally", "reports.parquet", "--by", "smokes", "-o", "x.json"),
        ("estimate", "groups.json", "--by", "smokes"),
        ("estimate", "groups.json", "--by", "smokes", "--compare-groups"),
        ("estimate", "all.json", "--by", "smokes"),
        ("report", "groups.json", "--by", "smokes", "-o", "x.html"),
    ):
        said = " ".join(run(*command, ok=False).stderr.split())
        assert "not a question, whose answers are secret; got 'smokes'." in said, said
        assert "run: warner tally --ways 2, and warner estimate --joint smokes,OTHER." in said
        assert ("The public columns are: ward" in said) is (command[1] != "all.json")


def test_a_question_is_no_public_column(here: Path) -> None:
    said = run(
        "sql", "study.toml", "--dialect", "duckdb", "--table", "t", "--by", "smokes", ok=False
    ).stderr
    assert "not a question, whose answers are secret" in said and "[public." not in said


def _moments(path: str, kind: pa.DataType, reports: bool) -> str:
    """A file of 60 people at half past midnight on a Monday, or half an hour before it."""
    late = kind.tz is not None and kind.tz.startswith(("America", "-"))
    local = (
        datetime.datetime(2026, 12, 27, 23, 30) if late else datetime.datetime(2026, 12, 28, 0, 30)
    )
    times = pa.array([local] * 60, pa.timestamp(kind.unit))
    if kind.tz is not None and kind.tz[0] in "+-":
        hours = datetime.timedelta(hours=int(kind.tz[:3]))
        times = pa.array([local - hours] * 60, pa.timestamp(kind.unit)).cast(kind)
    elif kind.tz is not None:
        times = pa.compute.assume_timezone(times, kind.tz)
    column = {"smokes_report": [0, 1, 1] * 20} if reports else {"smokes": ["no", "yes", "yes"] * 20}
    pq.write_table(pa.table({"visit": times, **column}), path)
    return path


ONE = """
[public.visit]
dates = "week"
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
MOMENTS = [
    (pa.timestamp("us", "Europe/Berlin"), "2026-W53"),
    (pa.timestamp("ns", "Europe/Berlin"), "2026-W53"),
    (pa.timestamp("ms", "America/New_York"), "2026-W52"),
    (pa.timestamp("us", "+02:00"), "2026-W53"),
    (pa.timestamp("us", "-03:00"), "2026-W52"),
    (pa.timestamp("us", "UTC"), "2026-W53"),
    (pa.timestamp("us"), "2026-W53"),
]


@pytest.mark.parametrize(("kind", "week"), MOMENTS)
def test_a_time_counts_on_its_date_in_the_time_zone_of_the_file(
    kind: pa.DataType, week: str, here: Path
) -> None:
    """Rejects: weeks that are cut in UTC, or in the time zone of the machine."""
    Path("one.toml").write_text(ONE)
    _moments("lake.parquet", kind, True)
    run("tally", "lake.parquet", "--study", "one.toml", "--by", "visit", "-o", "t.json")
    assert list(load_tallies("t.json")["smokes"]) == [(week,)]
    _moments("answers.parquet", kind, False)
    run("randomize", "one.toml", "answers.parquet", "-o", "reports.csv")
    assert set(io.read_public("reports.csv")["visit"]) == {week}
    column = pq.read_table("answers.parquet")["visit"]
    assert set(Dates("week").decode(Dates("week").encode(column))) == {week}


@pytest.mark.parametrize("days", [1, 7, 30, 500])
def test_weeks_of_a_time_zone_are_those_of_its_clocks_before_and_after_a_change(
    days: int, here: Path
) -> None:
    """Rejects one difference from UTC for a file in which clocks are changed, on 25 October."""
    Path("one.toml").write_text(ONE)
    start = datetime.datetime(2026, 10, 24, tzinfo=datetime.UTC)
    times = [start + datetime.timedelta(days * i / 720) for i in range(720)]
    column = pa.array(times, pa.timestamp("us", "Europe/Berlin"))
    pq.write_table(pa.table({"visit": column, "smokes_report": [0, 1] * 360}), "lake.parquet")
    run("tally", "lake.parquet", "--study", "one.toml", "--by", "visit", "-o", "t.json")
    weeks = Counter(t.astimezone(ZoneInfo("Europe/Berlin")).strftime("%G-W%V") for t in times)
    counted = load_tallies("t.json")["smokes"]
    assert {week: counted[week].n for (week,) in counted} == weeks


@pytest.mark.parametrize("frame", [pa.Table.to_reader, pa.Table.to_pandas, pl.from_arrow, None])
def test_a_time_that_has_no_date_is_refused(frame: Any, tmp_path: Path) -> None:
    """Rejects the error of Python for infinity, and for milliseconds that were read as seconds."""
    times = pa.array([0, 1_700_000_000_000], pa.int64()).cast(pa.timestamp("s"))
    table = pa.table({"visit": times.cast(pa.timestamp("ms")), "smokes_report": [0, 1]})
    mechanisms, by = Study.parse(ONE).mechanisms, {"visit": Dates("week")}
    with pytest.raises(ReportError, match=r"'visit': must be (of the years|a date)") as caught:
        if frame is None:
            pq.write_table(table, tmp_path / "lake.parquet")
            tally_foreign(open_foreign(str(tmp_path / "lake.parquet")), mechanisms, by=by)
        else:
            mechanisms["smokes"].tally(frame(table), by, column="smokes_report")
    assert frame is not None or "The first wrong row is data row 2." in str(caught.value)


def test_times_of_two_time_zones_in_one_column_are_refused(here: Path) -> None:
    """Rejects: parts of one table whose weeks are cut in the time zone of the first part."""
    Path("lake.parquet").mkdir()
    for i, (kind, _) in enumerate(MOMENTS[:3:2]):
        _moments(f"lake.parquet/part-{i}.parquet", kind, True)
    mechanisms, by = Study.parse(ONE).mechanisms, {"visit": Dates("week")}
    with pytest.raises(FileError, match="'visit'; got America/New_York and Europe/Berlin"):
        tally_foreign(open_foreign("lake.parquet"), mechanisms, by=by)
    assert tally_foreign(open_foreign("lake.parquet"), mechanisms)["smokes"].n == 120


WARDS_AND_WEEKS = ONE + '[public.ward]\nvalues = ["north", "south"]\n'
STRANGE = [
    ("visit", "2025-W53", "a week such as 2026-W53", "The last week of 2025 is 2025-W52."),
    ("visit", "2026-W54", "a week such as 2026-W53", "The last week of 2026 is 2026-W53."),
    ("visit", "50", "a date such as 2026-12-28 or a week such as 2026-W53", ""),
    ("visit", "2026-12-28 00:30:00", "a date such as", "Write the date without the time"),
    ("ward", "North", "", "Write 'north', exactly as in the study."),
]


@pytest.mark.parametrize(("name", "value", "form", "remedy"), STRANGE)
def test_what_is_wrong_with_a_public_value_is_said(
    name: str, value: str, form: str, remedy: str, here: Path
) -> None:
    """Rejects: a string that is not declared, or declare it in [public.visit], for a date."""
    Path("one.toml").write_text(WARDS_AND_WEEKS)
    rows = {"smokes_report": [0, 1, 1] * 20}
    pq.write_table(pa.table({name: [value] * 60, **rows}), "lake.parquet")
    Path(f"folder/{name}={value}").mkdir(parents=True)
    pq.write_table(pa.table(rows), f"folder/{name}={value}/a.parquet")
    counts = run("sql", "one.toml", "--dialect", "duckdb", "--table", "lake.parquet", "--by", name)
    with duckdb.connect() as database:
        database.sql(counts.stdout.rstrip().removesuffix(";")).write_csv("counts.csv")
    commands = [
        ("lake.parquet", "--by", name),
        ("folder", "--by", name),
        ("--counts", "counts.csv"),
    ]
    if " " in value:  # the statement takes a time for its date, as it cannot see a column of texts
        run("tally", *commands.pop(), "--study", "one.toml", "-o", "counted.json")
        assert list(load_tallies("counted.json")["smokes"]) == [("2026-W53",)]
    for command in commands:
        said = run("tally", *command, "--study", "one.toml", "-o", "t.json", ok=False).stderr
        assert form in said and remedy in said
        assert name == "ward" or "declare" not in said


def test_counts_of_several_files_say_which_groups_more_than_one_has(here: Path) -> None:
    """Rejects: two days of one week that add up without a word, where merge says it."""
    Path("one.toml").write_text(ONE)
    for i, day in enumerate(("2026-12-26", "2026-12-27")):
        rows = np.random.default_rng(i).integers(0, 2, 60 + i)
        pq.write_table(pa.table({"visit": [day] * len(rows), "smokes_report": rows}), "t.parquet")
        counts = run(
            "sql", "one.toml", "--dialect", "duckdb", "--table", "t.parquet", "--by", "visit"
        )
        with duckdb.connect() as database:
            database.sql(counts.stdout.rstrip().removesuffix(";")).write_csv(f"{i}.csv")
    done = run("tally", "--counts", "0.csv", "1.csv", "--study", "one.toml", "-o", "t.json")
    assert "1 group is in more than one file: 2026-W52.\n" in done.stderr


def test_json_of_groups_has_the_layout_that_its_format_says(here: Path) -> None:
    """As docs/result_columns.md says it: rows of all groups, or an entry for each group."""
    Path("one.toml").write_text(WARDS_AND_WEEKS)
    rows = {"ward": ["north", "south"] * 60, "smokes_report": [0, 1, 1] * 40}
    pq.write_table(pa.table(rows), "lake.parquet")
    run("tally", "lake.parquet", "--study", "one.toml", "--by", "ward", "-o", "t.json")
    (entry,) = json.loads(run("estimate", "t.json", "--by", "ward", "--json").stdout)
    assert entry["format"] == "warner-groups" and "simulated" not in entry
    assert {(row["ward"], row["reports"]) for row in entry["shares"]} == {
        ("north", 60),
        ("south", 60),
    }
    assert all("status" in row and "n" not in row for row in entry["shares"])
    entries = json.loads(run("estimate", "t.json", "--json").stdout)
    # Rejects rows that do not say of which group they are: one line reads both layouts.
    columns = {"ward", "value", "estimate", "low", "high", "error", "reports", "status"}
    for each in (entry, *entries):
        assert each["attribute"] == "smokes" and all(columns <= {*row} for row in each["shares"])
    rows_of_wards = [(row["ward"], row["reports"]) for e in entries for row in e["shares"]]
    assert rows_of_wards == [("north", 60)] * 2 + [("south", 60)] * 2
    assert [(e["format"], e["group"]["ward"], e["n"]) for e in entries] == [
        ("warner-estimate", "north", 60),
        ("warner-estimate", "south", 60),
    ]
