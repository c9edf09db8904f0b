"""Folders of report files as engines and other programs write them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from tests.spec.app._lakes import STUDY, lake, rows, tally
from warner import Study
from warner.io import ReportWriter, write_reports
from warner.reports.tally import load_tallies

_ = lake
_RNG = np.random.default_rng(12)
_THREE_AND_TWO = (("smokes", 3), ("drinks", 2))  # questions and the number of their values


def test_upper_case_endings_are_read_and_others_are_named(lake: Path) -> None:
    pq.write_table(rows(10), "lake/part.snappy.PARQUET")
    pa.csv.write_csv(rows(6), "lake/x.Csv")
    tally("lake")
    assert load_tallies("t.json")["smokes"].n == 96
    pq.write_table(rows(4), "lake/y.PQ")
    tally("lake")
    assert load_tallies("t.json")["smokes"].n == 100
    tally("lake/y.PQ")
    assert load_tallies("t.json")["smokes"].n == 4
    Path("lake/y.PQ").unlink()
    for name in ("readme", "notes.txt", ".hidden.pq", "_left.pq"):
        Path("lake", name).write_text("x")
    for path in ("lake", "lake/*"):
        done = tally(path)
        said = f"{path}: 2 files were left out, because their names have no known ending. The first is lake/notes."
        assert said in done.stderr and load_tallies("t.json")["smokes"].n == 96
        assert "WARNING: lake: 2" not in done.stderr
    assert "left out" not in tally("lake/*.[pPcC][aAsS]*").stderr
    Path("lake/notes.txt").unlink()
    said = "lake: 1 file was left out, because its name has no known ending. It is lake/readme."
    assert said in tally("lake").stderr
    tally("lake/part.snappy.PARQUET")
    assert load_tallies("t.json")["smokes"].n == 10


def test_files_that_look_like_data_are_left_out_with_a_warning_or_refused(lake: Path) -> None:
    """Rejects a line that names one of them, and a job that takes them for notes of somebody."""
    run("-q", "tally", "lake", "--study", "study.toml", "-o", "lake/t.json")
    tally("lake", "--checkpoint", "lake/c.jsonl")
    assert "looks like data" not in tally("lake", "--checkpoint", "lake/c.jsonl").stderr
    Path("lake/part-0007.orc").write_text("x")
    said = "WARNING: lake: 1 file that looks like data was left out: lake/part-0007.orc. If reports"
    assert f"{said} are in there, write them as .parquet or .csv." in tally("lake").stderr
    for name in ("a.csv.gz", "b.ORC", "c.json", "part-8.Parquet.snappy"):
        Path("lake", name).write_text("x")
    names = "lake/a.csv.gz, lake/b.ORC, lake/c.json, and 2 more"
    said = f"WARNING: lake: 5 files that look like data were left out: {names}."
    assert said in tally("lake", "--of-this-study").stderr
    done = tally("lake", "--require-headers", ok=False)
    assert f"lake: has 5 files that look like data and cannot be read: {names}." in done.stderr
    assert "If not, put them into another folder." in done.stderr


def test_copies_in_a_folder_are_known_by_their_counts(lake: Path) -> None:
    """2,000 reports of 16 bits: any of 6 pairs agrees with a chance below 1e-12."""
    big = rows(2000)
    pq.write_table(big, "lake/c.parquet")
    pq.write_table(big.take(list(range(2000))[::-1]), "lake/d.parquet")
    for options in ((), ("--by", "ward")):
        done = tally("lake", *options, ok=False)
        assert (
            "Error: lake/c.parquet and lake/d.parquet, which have equal counts: must not"
            in done.stderr
        )
        tally("lake", "--allow-equal", *options)
    Path("lake/d.parquet").unlink()
    tally("lake")


@pytest.mark.parametrize("by", [(), ("--by", "ward")])
def test_questions_tell_a_copy_together_of_which_none_does_so_alone(
    lake: Path, by: tuple[str, ...]
) -> None:
    """Rejects the chance of the least likely question: eight of yes and no are no chance."""
    questions = [f"q{i}" for i in range(8)]
    one = 'values = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0'
    tables = "\n".join(f"[attributes.{name}]\n{one}" for name in questions)
    Path("study.toml").write_text(f'[public.ward]\nvalues = ["north", "south"]\n{tables}\n')
    table = rows(4000).select(["ward"])
    for name in questions:
        table = table.append_column(f"{name}_report", [_RNG.integers(0, 2, 4000)])
    for path in ("lake/a.parquet", "lake/b.parquet"):
        pq.write_table(table, path)
        table = table.take(_RNG.permutation(4000))
    said = tally("lake", *by, ok=False).stderr
    assert "lake/a.parquet and lake/b.parquet, which have equal counts" in said
    Path("lake/b.parquet").unlink()
    tally("lake", *by)


def test_a_warning_names_a_copy_where_chance_makes_it_in_fewer_than_1_of_1000_cases(
    lake: Path,
) -> None:
    """Rejects the square root of the chance of three values: 861 pairs make 2 of 1,000 of it."""
    shutil.rmtree("lake")
    lake.mkdir()
    pair = STUDY.partition("[attributes.item]")[0].partition("[attributes.smokes]")
    two = pair[2].replace(', "often"', "")
    Path("study.toml").write_text(f"{''.join(pair)}[attributes.drinks]{two}")
    n = 25_000
    for i in range(41):
        table = pa.table({f"{q}_report": _RNG.integers(0, k, n) for q, k in _THREE_AND_TWO})
        pq.write_table(table, f"lake/{i:02}.parquet")
    assert "equal counts" not in tally("lake").stderr
    pq.write_table(table.take(np.arange(n)[::-1]), "lake/again.parquet")
    said = tally("lake").stderr
    assert "lake/40.parquet and lake/again.parquet have equal counts, and both were" in said
    run("--strict", "tally", "lake", "--of-this-study", "--study", "study.toml", ok=False)


def test_a_day_that_was_written_anew_as_another_day_is_known_by_its_groups_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects groups that are judged one by one: four counts of 20,000 reports can be equal."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(
        "[public.day]\nintegers = [1, 3]\n[public.region]\nintegers = [1, 3]\n[attributes.q]\n"
        'values = ["a", "b", "c", "d"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    rng = np.random.default_rng(3)
    regions = np.repeat([1, 2, 3], 20_000)
    for day in (1, 2):
        reports = rng.choice(4, 60_000, p=[0.3, 0.28, 0.22, 0.2])
        for name, of in ((f"{day}", day), *([("copy", 3)] if day == 1 else [])):
            columns = {"q_report": reports[::-1], "region": regions[::-1], "day": [of] * 60_000}
            Path("lake").mkdir(exist_ok=True)
            pq.write_table(pa.table(columns), f"lake/{name}.parquet")
    count = ("--study", "s.toml", "--by", "day,region")
    done = run("tally", "lake", *count, "-o", "t.json", ok=False)
    assert "which have equal counts" in done.stderr and "copy.parquet" in done.stderr
    for name in ("1", "2", "copy"):
        run("tally", f"lake/{name}.parquet", *count, "-o", f"{name}.json")
    assert "equal counts" in run("merge", "1.json", "copy.json", "-o", "m.json", ok=False).stderr
    run("merge", "1.json", "2.json", "-o", "m.json")


def test_a_part_that_was_written_anew_under_another_name_is_known_by_its_counts(lake: Path) -> None:
    """Rejects a test that compares groups of one name alone: a copied week has another name."""
    big = rows(2000).drop_columns(["ward"])
    again = big.take(list(range(2000))[::-1])
    shutil.rmtree("lake")
    for ward, part in (("north", big), ("south", again)):
        Path(f"lake/ward={ward}").mkdir(parents=True)
        pq.write_table(part, f"lake/ward={ward}/x.parquet")
    north, south = "lake/ward=north/x.parquet", "lake/ward=south/x.parquet"
    said = f"the group north of {north} and the group south of {south}, which have equal counts"
    done = tally("lake", "--by", "ward", ok=False)
    assert said in done.stderr and "--allow-equal" in done.stderr
    tally("lake", "--by", "ward", "--allow-equal")
    # The same reports in one file instead of two have no twin among the files.
    Path(south).unlink()
    for i, half in enumerate((again.slice(0, 900), again.slice(900))):
        pq.write_table(half, f"lake/ward=south/{i}.parquet")
    done = tally("lake", "--by", "ward", ok=False)
    parts = "lake/ward=south/0.parquet, lake/ward=south/1.parquet"
    assert f"{north}, with the same counts as 2 others together: {parts}" in done.stderr
    for ward in ("north", "south"):
        where = ("tally", f"lake/ward={ward}/*", "--by", "ward", "--study", "study.toml")
        run(*where, "--allow-equal", "-o", f"{ward}.json")
    done = run("merge", "north.json", "south.json", ok=False)
    assert "north of north.json and the group south of south.json, which have" in done.stderr
    run("merge", "north.json", "south.json", "--allow-equal")


def test_small_files_with_equal_counts_are_counted(lake: Path) -> None:
    """30 files of one report each: nearly all have the counts of another file."""
    shutil.rmtree("lake")
    lake.mkdir()
    Path("study.toml").write_text(STUDY.partition("[attributes.item]")[0])
    for i in range(30):
        pq.write_table(pa.table({"smokes_report": [i % 3], "id": [i]}), f"lake/{i:03}.parquet")
    tally("lake")
    assert load_tallies("t.json")["smokes"].counts.tolist() == [10, 10, 10]
    done = tally("lake/000.parquet", "lake/003.parquet", ok=False)
    assert "add --allow-equal" in done.stderr
    tally("lake/000.parquet", "lake/003.parquet", "--allow-equal")


def test_a_file_that_is_named_twice_is_no_copy(lake: Path) -> None:
    done = tally("lake/a.parquet", "lake/*.parquet", ok=False)
    said = "lake/a.parquet: is in both lake/a.parquet and lake/*.parquet, and would "
    assert said + "be counted twice. Leave out lake/a.parquet or lake/*.parquet." in done.stderr
    done = tally("lake", "lake", ok=False)
    assert "lake: is named twice, and would be counted twice. Name it only once." in done.stderr
    os.symlink("a.parquet", "lake/z.parquet")
    done = tally("lake", ok=False)
    said = "lake/z.parquet: is the same file as lake/a.parquet, and would be counted twice. Leave"
    assert f"{said} out one of the two files." in done.stderr
    done = tally("lake/a.parquet", "lake/z.parquet", ok=False)
    assert said in done.stderr
    # Rejects a count of hours, at the end of which there is no folder for the tally.
    done = run("tally", "lake", "--study", "study.toml", "-o", "nope/t.json", ok=False)
    said = "nope/t.json: cannot be written, because there is no folder nope. Make the folder"
    assert done.stderr.startswith(f"Error: {said}")
    Path("lake/z.parquet").unlink()
    tally("./lake/**")  # names the folder, and then its files
    assert load_tallies("t.json")["smokes"].n == 80


def test_simulations_are_added_to_real_reports_where_that_is_said(lake: Path) -> None:
    Path("own").mkdir()
    mechanism = Study.parse(STUDY).mechanisms["smokes"]
    for i, rng in enumerate((None, np.random.default_rng(3), None)):
        reports = mechanism.randomize(["no", "yes"] * (10 + i), rng)  # of different sizes
        write_reports({"smokes": reports}, f"own/{i}.parquet", rng is not None)
    done = run("tally", "own", ok=False)
    assert (
        "own/1.parquet: holds simulated reports, but own/0.parquet holds real reports."
        in done.stderr
    )
    done = run("tally", "own", "--allow-simulated", "-o", "t.json")
    found = load_tallies("t.json")["smokes"]
    assert found.n == 66 and found.simulated and "simulated, because they were made" in done.stderr
    apart = [f"own/{i}.parquet" for i in range(3)]
    run("tally", *apart, "--allow-simulated", "-o", "t2.json")
    assert load_tallies("t2.json") == {"smokes": found}


@pytest.mark.parametrize(
    ("options", "when"),
    [((), "open_foreign"), (("--checkpoint", "c.jsonl"), "tally_foreign")],
)
def test_a_file_that_goes_away_is_named(
    lake: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], when: str
) -> None:
    from warner.io import foreign_files as files

    original = getattr(files, when)

    def count(first: Any, *more: Any) -> Any:
        Path("lake/b.parquet").unlink(missing_ok=True)
        return original(first, *more)

    monkeypatch.setattr(files, when, count)
    done = tally("lake", *options, ok=False)
    said = "lake/b.parquet: was removed while it was counted. Run the command again."
    assert said in done.stderr
    assert "does not exist" in tally("lake/never.parquet", ok=False).stderr


def test_report_files_of_warner_beside_others_are_named(lake: Path) -> None:
    without = STUDY.replace('[public.ward]\nvalues = ["north", "south"]\n', "")
    Path("study.toml").write_text(without)
    plan = Study.parse(without)
    answers = {"smokes": ["no", "yes"] * 30, "item": [3, 4] * 30}
    pq.write_table(rows(2), "lake/c.parquet")
    with ReportWriter("lake/d.parquet", plan.mechanisms) as writer:
        writer.write({n: m.randomize(answers[n]) for n, m in plan.mechanisms.items()})
    done = tally("lake")
    assert "82 rows in 3 files." in done.stderr
    assert "Also counted: 1 report file from warner with 60 reports." in done.stderr


def test_a_folder_that_is_not_there_is_said_not_to_be_there(lake: Path) -> None:
    """Rejects the advice about endings of files for a folder whose name was misspelt."""
    assert "lak/: does not exist. Is 'lake' meant?" in tally("lak/", ok=False).stderr
    # Rejects "The files lie in folders below" of an empty folder, which matches itself.
    Path("empty").mkdir()
    assert tally("empty", ok=False).stderr.rstrip().endswith(".csv. Check the path.")
    Path("empty/a.csv.gz").write_bytes(b"")
    said = tally("empty", ok=False).stderr
    assert "Unpack the compressed files, such as empty/a.csv.gz." in said
    said = tally("lake", "--checkpoint", "nope/c.jsonl", ok=False).stderr
    assert "nope/c.jsonl: cannot be written, because there is no folder nope. Make" in said


def test_a_tally_of_other_groups_is_to_be_counted_again(lake: Path) -> None:
    """Rejects the names of the columns that are there, without a way to those that are not."""
    tally("lake", "--by", "ward")
    said = run("estimate", "t.json", "--by", "ward,day", ok=False).stderr
    assert "by these columns (in a command: warner tally --by ward,day)." in said
    assert "Count" not in run("estimate", "t.json", "--by", "wards", ok=False).stderr


def test_messages_name_the_file_first_and_in_one_line(lake: Path) -> None:
    Path("notes.txt").write_text("x")
    said = "notes.txt: must be a file of reports (.warner, .parquet or .csv)."
    assert said in tally("notes.txt", ok=False).stderr
    done = run("tally", "lake/a.parquet", ok=False)
    first, second = done.stderr.index("warner randomize STUDY"), done.stderr.index("--study STUDY")
    assert first < second
    pq.write_table(rows(2).drop_columns(["item_bits_0"]), "lake/x\ny.parquet")
    done = tally("lake", ok=False)
    assert "lake/x\\ny.parquet: must have the column" in done.stderr
    pq.write_table(rows(0), "lake/x\ny.parquet")
    done = tally("lake", "--checkpoint", "c.jsonl")
    assert "lake: 1 file has no rows. It is lake/x\\ny.parquet." in done.stderr
    pq.write_table(rows(4), "lake/x\ny.parquet")
    for _ in range(2):
        tally("lake", "--checkpoint", "c.jsonl")
    assert "\n" not in tally("lake/x\ny.parquet").stderr.partition(":")[0]


STUDY_LAKES_OF_ENGINES = """
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
def lake_of_lakes_of_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY_LAKES_OF_ENGINES)
    Path("lake").mkdir()
    pq.write_table(_reports(8), "lake/b.parquet")
    return tmp_path


def _tally(*options: str, ok: bool = True) -> Any:
    return run("tally", "lake", "--study", "study.toml", "-o", "t.json", *options, ok=ok)


def test_files_without_rows_add_nothing_and_are_named(lake_of_lakes_of_engines: Path) -> None:
    _tally()
    alone = Path("t.json").read_bytes()
    for name in ("a", "c"):  # of equal content, which is no copy of any report
        pq.write_table(_reports(8).slice(0, 0), f"lake/{name}.parquet")
    for options in ((), ("--checkpoint", "c.jsonl"), ("--checkpoint", "c.jsonl")):
        said = _tally(*options).stderr
        assert "2 files have no rows. The first is lake/a.parquet." in said
        assert "8 rows." in said and Path("t.json").read_bytes() == alone
    # A file that is filled later is counted then.
    pq.write_table(_reports(6), "lake/a.parquet")
    _tally("--checkpoint", "c.jsonl")
    assert load_tallies("t.json")["smokes"].n == 14


def test_files_without_rows_need_the_columns_too(lake_of_lakes_of_engines: Path) -> None:
    pq.write_table(_reports(0).drop_columns(["drug_bits_0"]), "lake/a.parquet")
    assert "lake/a.parquet: must have the column" in _tally(ok=False).stderr


def test_a_lake_without_rows_is_named(lake_of_lakes_of_engines: Path) -> None:
    pq.write_table(_reports(8).slice(0, 0), "lake/b.parquet")
    assert "Error: lake: holds no reports." in _tally(ok=False).stderr
    assert not Path("t.json").exists()


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (
            "west",
            "got a string that is not declared. Correct these rows, or declare their values in the study.",
        ),
        (None, "got no value. Give these rows a value, or leave them out."),
    ],
)
def test_a_wrong_public_value_is_named_by_its_row(
    lake_of_lakes_of_engines: Path, value: Any, got: str
) -> None:
    wards = ["north"] * 5 + [value] + ["south"] * 2
    pq.write_table(_reports(8, ward=wards), "lake/c.parquet")
    said = _tally("--by", "ward", ok=False).stderr
    assert "lake/c.parquet: public column 'ward': must have a declared value" in said
    assert f"{got} The first wrong row is data row 6." in said and "west" not in said


def test_a_broken_rule_names_the_attribute(lake_of_lakes_of_engines: Path) -> None:
    pq.write_table(_reports(8, drug_bits_0=[32] * 7 + [33]), "lake/c.parquet")
    said = _tally(ok=False).stderr
    rule = "lake/c.parquet: drug: unused (padding) bits must be 0. The last byte has bits set after bit 3."
    assert rule in said and "The first wrong row is data row 8." in said


def test_a_broken_rule_in_counts_names_file_and_attribute(lake_of_lakes_of_engines: Path) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "seen").stdout
    table = _reports(8, drug_bits_0=[32] * 7 + [33])
    with duckdb.connect() as database:
        database.register("seen", table)
        database.execute(f"COPY ({statement.rstrip().rstrip(';')}) TO 'counts.csv' (HEADER)")
    said = run("tally", "--counts", "counts.csv", "--study", "study.toml", ok=False).stderr
    assert "counts.csv: drug: unused (padding) bits must be 0" in said


def test_counts_of_a_value_that_is_not_declared_name_the_study(
    lake_of_lakes_of_engines: Path,
) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "seen", "--by", "ward")
    with duckdb.connect() as database:
        database.register("seen", _reports(8, ward=["west"] * 8))
        query = statement.stdout.rstrip().rstrip(";")
        database.execute(f"COPY ({query}) TO 'counts.csv' (HEADER)")
    said = run("tally", "--counts", "counts.csv", "--study", "study.toml", ok=False).stderr
    assert (
        "counts.csv: line 3: column 'ward': must have a value that the study declares; "
        "got another value in 1 of 1 groups." in " ".join(said.split())
    )
    assert "west" not in said


def test_reports_of_another_budget_name_both(lake_of_lakes_of_engines: Path) -> None:
    alone = STUDY_LAKES_OF_ENGINES.partition("[attributes.drug]")[0].partition(
        "[attributes.smokes]"
    )[2]
    Path("one.toml").write_text(f"[attributes.smokes]{alone}")
    Path("two.toml").write_text(f"[attributes.smokes]{alone}".replace("1.0", "1.2"))
    reports = Study.load("one.toml").mechanisms["smokes"].randomize(["no", "yes"])
    write_reports({"smokes": reports}, "r.parquet")
    said = run("tally", "r.parquet", "--study", "two.toml", ok=False).stderr
    assert "the study has epsilon 1.2, and the reports have 1.0." in said


def test_a_printed_table_is_no_csv_and_the_remedy_says_so(lake_of_lakes_of_engines: Path) -> None:
    Path("p.txt").write_text(" attribute | part | value | reports \n-----------+------+---\n")
    said = run("tally", "--counts", "p.txt", "--study", "study.toml", ok=False).stderr
    assert "p.txt: line 2: has too few cells. Export CSV, for example with psql --csv" in said


@pytest.mark.parametrize(
    "table", ["lake/*.parquet", "a;b", "a; DROP TABLE b", "a'b", "reports of 1"]
)
def test_what_is_no_name_of_a_table_is_one_name_in_quotes(
    lake_of_lakes_of_engines: Path, table: str
) -> None:
    """DuckDB reads a pattern in quotes as the files that it names."""
    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", table).stdout
    times = statement.count(f'FROM "{table}"')
    assert times and statement.count(";") == 1 + times * table.count(";")


def test_duckdb_counts_files_by_the_name_in_quotes(lake_of_lakes_of_engines: Path) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "lake/*.parquet").stdout
    with duckdb.connect() as database:
        rows = database.execute(statement).fetchall()
    Path("c.csv").write_text(
        "attribute,part,value,reports\n" + "".join(f'{a},"{p}",{v},{n}\n' for a, p, v, n in rows)
    )
    run("tally", "--counts", "c.csv", "--study", "study.toml", "-o", "sql.json")
    _tally()
    by_sql, by_files = (
        json.loads(Path(f).read_text())["attributes"] for f in ("sql.json", "t.json")
    )
    for name, entry in by_sql.items():  # the same, but for what was not checked of each
        assert "whether a report is in the table twice" in entry.pop("unchecked")
        assert "whether the file is complete" in by_files[name].pop("unchecked")
    assert by_sql == by_files
    assert Study.parse(STUDY_LAKES_OF_ENGINES).mechanisms.keys() == load_tallies("sql.json").keys()


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_told_what_to_do(lake_of_lakes_of_engines: Path, encoding: str) -> None:
    text = "name,smokes_report,drug_bits_0\nÄ,1,32\n"
    Path("export.csv").write_bytes(text.encode(encoding))
    said = run("tally", "export.csv", "--study", "study.toml", ok=False).stderr
    assert "Save it as CSV in UTF-8, with the names of the columns in the first line." in said


def test_counts_may_be_a_pattern(lake_of_lakes_of_engines: Path) -> None:
    import duckdb

    statement = run("sql", "study.toml", "--dialect", "duckdb", "--table", "seen").stdout
    Path("counts").mkdir()
    for name, n in (("monday", 300), ("tuesday", 500)):
        with duckdb.connect() as database:
            database.register("seen", _reports(n))
            query = statement.rstrip().rstrip(";")
            database.execute(f"COPY ({query}) TO 'counts/{name}.csv' (HEADER)")
    counted = ("--study", "study.toml", "--allow-implausible")
    run("tally", "--counts", "counts/*.csv", *counted, "--expect-reports", "800", "-o", "a.json")
    files = ("counts/monday.csv", "counts/tuesday.csv")
    run("tally", "--counts", *files, *counted, "-o", "b.json")
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()
    text = Path(files[0]).read_text().replace("reports", "count", 1)
    Path(files[0]).write_text(text)
    said = run("tally", "--counts", files[0], *counted, "-o", "c.json", ok=False).stderr
    assert 'its column of counts must be called "reports"' in said
