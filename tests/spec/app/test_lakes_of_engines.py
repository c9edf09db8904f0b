"""Engines write files without rows, and files whose wrong rows somebody must find again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from warner import Study
from warner.io import write_reports
from warner.reports.tally import load_tallies

STUDY = """
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drug]
values = ["a", "b", "c"]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""


def _reports(rows: int, **changed: list[Any]) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "ward": ["north", "south"] * (rows // 2),
        "smokes_report": [0, 1] * (rows // 2),
        "drug_bits_0": [32, 192] * (rows // 2),
    }
    return pa.table(columns | changed)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("lake").mkdir()
    pq.write_table(_reports(8), "lake/b.parquet")
    return tmp_path


def _tally(*options: str, ok: bool = True) -> Any:
    return run("tally", "lake", "--study", "study.toml", "-o", "t.json", *options, ok=ok)


def test_files_without_rows_add_nothing_and_are_named(lake: Path) -> None:
    _tally()
    alone = Path("t.json").read_bytes()
    for name in ("a", "c"):  # of equal content, which is no copy of any report
        pq.write_table(_reports(8).slice(0, 0), f"lake/{name}.parquet")
    for options in ((), ("--checkpoint", "c.jsonl"), ("--checkpoint", "c.jsonl")):
        said = _tally(*options).stderr
        assert "2 files without rows add nothing, the first is lake/a.parquet." in said
        assert "8 rows." in said and Path("t.json").read_bytes() == alone
    # A file that is filled later is counted then.
    pq.write_table(_reports(6), "lake/a.parquet")
    _tally("--checkpoint", "c.jsonl")
    assert load_tallies("t.json")["smokes"].n == 14


def test_files_without_rows_need_the_columns_too(lake: Path) -> None:
    pq.write_table(_reports(0).drop_columns(["drug_bits_0"]), "lake/a.parquet")
    assert "lake/a.parquet: must have the column" in _tally(ok=False).stderr


def test_a_lake_without_rows_is_named(lake: Path) -> None:
    pq.write_table(_reports(8).slice(0, 0), "lake/b.parquet")
    assert "Error: lake: holds no reports." in _tally(ok=False).stderr
    assert not Path("t.json").exists()


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("west", "got a string that is not declared. Correct these rows, or declare their values."),
        (None, "got no value. Give these rows a value, or leave them out."),
    ],
)
def test_a_wrong_public_value_is_named_by_its_row(lake: Path, value: Any, got: str) -> None:
    wards = ["north"] * 5 + [value] + ["south"] * 2
    pq.write_table(_reports(8, ward=wards), "lake/c.parquet")
    said = _tally("--by", "ward", ok=False).stderr
    assert "lake/c.parquet: public column 'ward': must hold declared values" in said
    assert f"{got} The first such row is row 6." in said and "west" not in said


def test_a_broken_rule_names_the_attribute(lake: Path) -> None:
    pq.write_table(_reports(8, drug_bits_0=[32] * 7 + [33]), "lake/c.parquet")
    said = _tally(ok=False).stderr
    rule = "lake/c.parquet: drug: padding bits must be 0. The last byte has bits set after bit 3."
    assert rule in said and "The first such row is row 8." in said


def test_a_broken_rule_in_counts_names_file_and_attribute(lake: Path) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "seen").stdout
    table = _reports(8, drug_bits_0=[32] * 7 + [33])
    with duckdb.connect() as database:
        database.register("seen", table)
        database.execute(f"COPY ({statement.rstrip().rstrip(';')}) TO 'counts.csv' (HEADER)")
    said = run("tally", "--counts", "counts.csv", "--study", "study.toml", ok=False).stderr
    assert "counts.csv: drug: padding bits must be 0" in said


def test_counts_of_a_value_that_is_not_declared_name_the_study(lake: Path) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "seen", "--by", "ward")
    with duckdb.connect() as database:
        database.register("seen", _reports(8, ward=["west"] * 8))
        query = statement.stdout.rstrip().rstrip(";")
        database.execute(f"COPY ({query}) TO 'counts.csv' (HEADER)")
    said = run("tally", "--counts", "counts.csv", "--study", "study.toml", ok=False).stderr
    assert "counts.csv: column 'ward': holds values that the study does not declare." in said
    assert "west" not in said


def test_reports_of_another_budget_name_both(lake: Path) -> None:
    alone = STUDY.partition("[attributes.drug]")[0].partition("[attributes.smokes]")[2]
    Path("one.toml").write_text(f"[attributes.smokes]{alone}")
    Path("two.toml").write_text(f"[attributes.smokes]{alone}".replace("1.0", "1.2"))
    reports = Study.load("one.toml").mechanisms["smokes"].randomize(["no", "yes"])
    write_reports({"smokes": reports}, "r.parquet")
    said = run("tally", "r.parquet", "--study", "two.toml", ok=False).stderr
    assert "the study has epsilon 1.2, and the reports have 1.0." in said


def test_a_printed_table_is_no_csv_and_the_remedy_says_so(lake: Path) -> None:
    Path("p.txt").write_text(" attribute | part | value | reports \n-----------+------+---\n")
    said = run("tally", "--counts", "p.txt", "--study", "study.toml", ok=False).stderr
    assert "p.txt: line 2: has too few cells. Export CSV, for example with psql --csv" in said


@pytest.mark.parametrize(
    "table", ["lake/*.parquet", "a;b", "a; DROP TABLE b", "a'b", "reports of 1"]
)
def test_what_is_no_name_of_a_table_is_one_name_in_quotes(lake: Path, table: str) -> None:
    """DuckDB reads a pattern in quotes as the files that it names."""
    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", table).stdout
    assert f'FROM "{table}"' in statement and statement.count(";") == 1 + table.count(";")


def test_duckdb_counts_files_by_the_name_in_quotes(lake: Path) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "lake/*.parquet").stdout
    with duckdb.connect() as database:
        rows = database.execute(statement).fetchall()
    Path("c.csv").write_text(
        "attribute,part,value,reports\n" + "".join(f'{a},"{p}",{v},{n}\n' for a, p, v, n in rows)
    )
    run("tally", "--counts", "c.csv", "--study", "study.toml", "-o", "sql.json")
    _tally()
    assert Path("sql.json").read_bytes() == Path("t.json").read_bytes()
    assert Study.parse(STUDY).mechanisms.keys() == load_tallies("sql.json").keys()


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_told_what_to_do(lake: Path, encoding: str) -> None:
    text = "name,smokes_report,drug_bits_0\nÄ,1,32\n"
    Path("export.csv").write_bytes(text.encode(encoding))
    said = run("tally", "export.csv", "--study", "study.toml", ok=False).stderr
    assert "Is it CSV in UTF-8 with a line of names?" in said
