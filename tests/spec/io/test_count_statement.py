"""The counting statement, run by real databases, gives the tally of a file, bit for bit."""

from __future__ import annotations

import csv
import json
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import sqlglot

from tests.spec.io._people import run
from tests.sql.engines import ENGINES, run_statement
from warner import Integers, LocalHashing, Reports, Study, SubsetSelection
from warner.errors import ArgumentError, FileError, ReportError, WarnerError
from warner.io import count_statement, read_counts
from warner.io.sql_statements import DIALECTS
from warner.reports.rules import BEYOND, GAP, WholeNumbers
from warner.reports.tally import Tally, dump_tallies, load_tallies

STUDY = """
rows_per_person = 2
[public.ward]
values = ["north", "it's \\"south\\""]
[public.day]
dates = "week"
[attributes.setting]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.long]
integers = [0, 20]
mechanism = "SubsetSelection"
epsilon = 1.0
[attributes.secret]
integers = [0, 9]
mechanism = "UtilityOptimizedRappor"
sensitive = [1, 2, 3]
epsilon = 1.0
[attributes.rare]
integers = [0, 11]
mechanism = "UtilityOptimizedSubset"
sensitive = [1, 2, 3, 8, 9, 10]
size = 2
epsilon = 1.0
[attributes.hashed]
values = ["x", "y", "z"]
mechanism = "LocalHashing"
seeds = 8
epsilon = 1.0
"""
PLAN = Study.parse(STUDY)
N = 240
_RNG = np.random.default_rng(5)
_ANSWERS: dict[str, Any] = {
    "setting": ["a", "b", "c"] * 80,
    "long": np.arange(N) % 21,
    "secret": np.arange(N) % 10,
    "rare": np.arange(N) % 12,
    "hashed": ["x", "y", "z"] * 80,
}
REPORTS = {
    name: Reports(m.header, m.randomize(_ANSWERS[name], _RNG).columns)
    for name, m in PLAN.mechanisms.items()
}
WARDS = ["north", 'it\'s "south"', 'it\'s "south"'] * 80
DAYS = [f"2026-01-{1 + i % 28:02}" for i in range(N)]
COLUMNS = {
    f"{name}_{part}": column.astype(np.int64)
    for name, m in PLAN.mechanisms.items()
    for part, column in m.schema.to_file(REPORTS[name].columns).items()
}


def _table(**changed: list[Any]) -> dict[str, list[Any]]:
    columns = {n: c.tolist() for n, c in COLUMNS.items()}
    return {"ward": WARDS, "day": DAYS, **columns, **changed}


def _wanted() -> dict[str, Tally]:
    return {n: m.tally(REPORTS[n]).sums().per_person(2) for n, m in PLAN.mechanisms.items()}


def _wanted_by(*by: str) -> dict[str, Tally]:
    values = {name: {"ward": WARDS, "day": DAYS}[name] for name in by}
    return {n: t.sums().per_person(2) for n, t in PLAN.tally(REPORTS, values).items()}


def _write(names: list[str], rows: list[Any], path: str, delimiter: str = ",") -> str:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([names, *rows])
    return path


def _in_duckdb(statement: str, table: dict[str, list[Any]], path: str) -> str:
    return run_statement("duckdb", statement, table, path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@cache
def _count(dialect: str, *options: str) -> str:
    """What the command says of the study in the current folder, which is the same in all tests."""
    return run("sql", "study.toml", "--dialect", dialect, "--table", "reports", *options).stdout


def _statement(*given: Any) -> str:
    return count_statement(*given, study=PLAN.digest)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tally_is_that_of_the_reports_bit_for_bit(engine: str, folder: Path) -> None:
    counts = run_statement(engine, _count(engine), _table(), "counts.csv")
    done = run("tally", "--counts", counts, "--study", "study.toml", "-o", "t.json")
    assert "a database counted 240 rows. The command checked" in done.stderr
    assert load_tallies("t.json") == _wanted()
    # Rejects the refusal of an option that says what is counted as if it were said.
    run("tally", "--counts", counts, "--study", "study.toml", "--of-this-study", "-o", "t.json")
    # Rejects a record of counts that does not say what nothing checked, also with --quiet.
    unknown = (
        "which mechanism and epsilon made the reports",
        "whether they are simulated",
        "whether a report is in the table twice",
    )
    wanted = {name: tally.not_checked(unknown) for name, tally in _wanted().items()}
    written = json.loads(Path("t.json").read_text())
    assert len(written.pop("files")) == 1  # the fingerprint of the counts
    assert written == json.loads(dump_tallies(wanted))
    for by in (["ward"], ["day", "ward"]):
        counts = run_statement(engine, _count(engine, "--by", ",".join(by)), _table(), "counts.csv")
        done = run("tally", "--counts", counts, "--study", "study.toml", "-o", "g.json")
        assert "whether a column says the same as the folder of its file" in done.stderr
        assert load_tallies("g.json") == _wanted_by(*by)


def test_columns_of_other_names_are_counted(folder: Path) -> None:
    table = _table()
    table["said"] = table.pop("setting_report")
    table["b 1"] = table.pop("long_bits_1")
    options = ("--column", "setting=said", "--column", "long.bits_1=b 1")
    counts = _in_duckdb(_count("duckdb", *options), table, "c.csv")
    run("tally", "--counts", counts, "--study", "study.toml", "-o", "t.json")
    assert load_tallies("t.json") == _wanted()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "column, value, words",
    [
        (
            "setting_report",
            None,
            "setting: report: must have a report in each row; got 1 row without one",
        ),
        (
            "setting_report",
            3,
            r"setting: report: must have whole numbers from 0 to 2; got 1 row with",
        ),
        ("setting_report", -1, r"must have whole numbers from 0 to 2"),
        ("long_bits_2", 255, "padding"),
        ("long_bits_0", 255, "every report must have"),
        ("rare_bits_0", 0b11000000, "or only the bit of a non-sensitive value"),
        ("hashed_seed", 8, "hashed: seed,bucket: must have whole numbers from"),
        ("hashed_bucket", None, "hashed: seed,bucket: must have a report"),
    ],
)
def test_rows_that_are_no_reports_are_named_and_nothing_is_counted(
    engine: str, column: str, value: int | None, words: str, folder: Path
) -> None:
    changed = [*_table()[column][:-1], value]
    counts = run_statement(engine, _count(engine), _table(**{column: changed}), "counts.csv")
    with pytest.raises(ReportError, match=words):
        read_counts(counts).tallies(PLAN.mechanisms, PLAN.public, PLAN.digest)
    done = run("tally", "--counts", counts, "--study", "study.toml", "-o", "t.json", ok=False)
    assert done.exit_code == 1 and not Path("t.json").exists()


def _rows(path: str) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _spelt(names: list[str], rows: list[list[str]]) -> dict[str, tuple[list[str], Any, str]]:
    """The same counts in the spellings of several exports: names, rows, and the delimiter."""
    decimals = [[*r[:2], f"{r[2]}.0", *r[3:-1], f"{r[-1]}.000"] for r in rows]
    return {
        "decimals": (names, decimals, ","),
        "capitals": ([n.upper() for n in names], rows[::-1], ";"),
        "another order": (names[::-1], [r[::-1] for r in rows], "\t"),
    }


def test_counts_are_read_in_the_spellings_of_several_exports(folder: Path) -> None:
    counts = _in_duckdb(_count("duckdb", "--by", "ward"), _table(), "counts.csv")
    names, *rows = _rows(counts)
    for known, (head, body, mark) in _spelt(names, rows).items():
        path = _write(head, body, "again.csv", mark)
        found = read_counts(path).tallies(PLAN.mechanisms, PLAN.public, PLAN.digest)
        assert {n: t.per_person(2) for n, t in found.items()} == _wanted_by("ward"), known


@cache
def _right() -> list[list[str]]:
    """The counts of the reports, and the names of their columns before them."""
    return _rows(_in_duckdb(_count("duckdb"), _table(), "counts.csv"))


def _without(rows: list[list[str]], part: str) -> list[list[str]]:
    return [row for row in rows if row[1].partition(" ")[0] != part]


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda rows: rows[:-1], "lacks the counts of|counts .* reports"),
        (lambda rows: _without(rows, "bits_1"), "lacks the counts of 'bits_1'"),
        (lambda rows: _without(rows, "rows"), "lacks the counts of 'rows'"),
        (lambda rows: [r for r in rows if not r[1].startswith("check")], "lacks the counts of 'check"),
        (lambda rows: _without(rows, "study"), "does not say to which study it belongs"),
        (lambda rows: [*rows, rows[3]], "repeats an earlier count"),
        (lambda rows: [*rows, ["colour", "report", "0", "1"]], "line .* but the study has no such counts"),
        (lambda rows: [*rows[:-1], [*rows[-1][:3], "1.5"]], "reports must be a whole number"),
        (lambda rows: [*rows[:-1], [*rows[-1][:3], "-1"]], "reports must be a whole number"),
        (lambda rows: [*rows[:-1], [*rows[-1][:3], str(int(rows[-1][3]) + 1)]], "counts .* reports, but the table has 240"),
        (lambda rows: [[r[0], r[1], "99", r[3]] if r[1] == "report" else r for r in rows], "repeats|must be from"),
        (lambda rows: [[*r[:3], "0"] for r in rows], "holds no reports"),
        (lambda rows: [r[:2] for r in rows], "too few cells"),
    ],
)  # fmt: skip
def test_counts_that_do_not_agree_are_refused(folder: Path, change: Any, words: str) -> None:
    names, *rows = _right()
    path = _write(names, change(rows), "wrong.csv")
    with pytest.raises(WarnerError, match=words):
        read_counts(path).tallies(PLAN.mechanisms, PLAN.public, PLAN.digest)


def test_other_tables_are_no_counts(folder: Path) -> None:
    for text in ("", "a,b\n1,2\n", "attribute,part,value,reports,day\nq,report,0,1,2\n"):
        Path("other.csv").write_text(text)
        with pytest.raises(FileError, match="must have the columns attribute, part"):
            read_counts("other.csv")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_one_statement_that_its_parser_reads(dialect: str) -> None:
    statement = _statement(
        PLAN.mechanisms, "survey.reports", dialect, None, {"ward": PLAN.public["ward"]}
    )
    (parsed,) = sqlglot.parse(statement, dialect=dialect)
    assert parsed is not None
    tables = [t.name.lower() for t in parsed.find_all(sqlglot.exp.Table) if t.name]
    # By GROUPING SETS the reports are read once, and the rows are counted.
    together = DIALECTS[dialect].together
    assert tables == ["reports"] * (2 if together > 1 else tables.count("reports"))
    assert len(tables) == len(list(parsed.find_all(sqlglot.exp.Union)))
    named = {c.name.lower() for c in parsed.find_all(sqlglot.exp.Column)}
    assert {*COLUMNS, "ward"} <= named


@pytest.mark.parametrize("dialect", ["spark", "bigquery", "snowflake", "trino", "redshift"])
def test_other_dialects_are_counted_by_duckdb_after_translation(dialect: str, folder: Path) -> None:
    """What is written for a warehouse that is not at hand, translated and run by DuckDB."""
    text = _count(dialect, "--by", "day,ward")
    if dialect == "trino":  # the translator leaves the bits of BIT_COUNT as they are
        text = text.replace(", 64)", ")")
    (statement,) = sqlglot.transpile(text, read=dialect, write="duckdb")
    times = [f"{day} 23:59:59" for day in DAYS]
    counts = _in_duckdb(statement, _table(day=times), "c.csv")
    run("tally", "--counts", counts, "--study", "study.toml", "-o", "g.json")
    assert load_tallies("g.json") == _wanted_by("day", "ward")


def test_a_study_of_many_bits_is_a_short_statement() -> None:
    mechanism = SubsetSelection(Integers(0, 127), 1.0)
    mechanisms = {f"attribute {i}": mechanism for i in range(10)}
    for dialect in ("duckdb", "postgres", "spark", "bigquery", "snowflake"):
        assert len(_statement(mechanisms, "reports", dialect)) < 140_000, dialect
    many = {f"attribute {i}": mechanism for i in range(80)}
    for dialect, words in (
        ("snowflake", "1,[0-9,]+ characters, but Snowflake takes at most 1,000,000"),
        ("sqlite", "1,362 SELECTs, but SQLite takes at most 500"),
    ):
        with pytest.raises(ArgumentError, match=words):
            _statement(many, "reports", dialect)


def test_names_are_those_that_the_database_makes_of_them_and_reserved_words_are_names() -> None:
    coin = {"Group": PLAN.mechanisms["setting"]}
    for dialect, table, where, column in (
        ("postgres", "Survey.Order", '"survey"."order"', '"Group_report"'),
        ("snowflake", "Survey.order", '"SURVEY"."ORDER"', '"GROUP_REPORT"'),
        ("snowflake", 'Survey."order"', '"SURVEY"."order"', '"GROUP_REPORT"'),
        ("bigquery", "my-project.Survey.order", "`my-project`.`Survey`.`order`", "`Group_report`"),
        ("duckdb", "lake/*.parquet", '"lake/*.parquet"', '"Group_report"'),
    ):
        text = _statement(coin, table, dialect)
        assert f"FROM {where}\n" in text and f"CASE WHEN {column} IS NULL" in text, dialect
    exact = count_statement(coin, "t", "snowflake", {"Group": '"select"'}, study="")
    assert 'CASE WHEN "select" IS NULL' in exact


def test_what_a_statement_cannot_say_is_refused(folder: Path) -> None:
    field = LocalHashing(Integers(0, 9), 1.0)
    assert field.schema.group_bys == 0
    with pytest.raises(
        ArgumentError,
        match=r"hashed: has reports of LocalHashing, which SQL .* To count the other questions",
    ):
        _statement({"hashed": field}, "reports", "duckdb")
    with pytest.raises(ArgumentError, match="dialect: must be one of duckdb"):
        _statement(PLAN.mechanisms, "reports", "oracle")
    with pytest.raises(ArgumentError, match="table: must be the name of a table"):
        _statement(PLAN.mechanisms, " ", "duckdb")
    for table in ("a /*", "'a", "@a", "a; DROP TABLE b"):
        assert f'FROM "{table}"' in _statement(PLAN.mechanisms, table, "duckdb")
    # A call in quotes would be the name of a table that no database has.
    with pytest.raises(ArgumentError, match=r"not a call.*--table 'lake/\*\*/\*\.parquet'"):
        _statement(PLAN.mechanisms, "read_parquet('lake/**/*.parquet')", "duckdb")
    with pytest.raises(ArgumentError, match=r"must be for a question of the study.* make a view"):
        _statement(PLAN.mechanisms, "reports", "duckdb", {"colour": "x"})
    with pytest.raises(ArgumentError, match=r"got 'settin'\. Is 'setting' meant"):
        _statement(PLAN.mechanisms, "reports", "duckdb", {"settin": "x"})
    for options in (["--by", "town"], ["--by", "ward,ward"], ["--column", "colour=x"]):
        run("sql", "study.toml", "--dialect", "duckdb", "--table", "t", *options, ok=False)
    assert "needs --study" in run("tally", "--counts", "c.csv", ok=False).output
    assert "REPORTS: is missing" in run("tally", ok=False).output
    said = run("tally", "--counts", "c.csv", "--study", "study.toml", "--by", "ward", ok=False)
    assert "--counts: cannot be used with --by" in said.output


def test_texts_are_never_compared_as_texts() -> None:
    """In SQLite '10' < 3 is true of a column of texts; DuckDB refuses such a column."""
    code = WholeNumbers(3).sql("report", "INTEGER")
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (report TEXT)")
        cells = ["2", "10", "yes", "1.5", "-1", "", None]
        database.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        rows = database.execute(f"SELECT {code} FROM t").fetchall()
    database.close()
    assert [row[0] for row in rows] == [2, BEYOND, BEYOND, BEYOND, BEYOND, BEYOND, GAP]
    with pytest.raises(duckdb.BinderException):
        duckdb.execute(f"SELECT {code} FROM (SELECT '10' AS report FROM range(2)) AS t")
