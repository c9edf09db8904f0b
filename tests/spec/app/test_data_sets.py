"""Folders, patterns and partitioned data sets are counted whole or not at all, and go on after a
restart.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from warner import Reports, Study
from warner.errors import FileError
from warner.io import write_reports
from warner.io.data_sets import files_of
from warner.reports.tally import Tally, load_tallies

STUDY = """
[public.ward]
values = ["north", "the south"]
[public.year]
integers = [2000, 2030]
[attributes.setting]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.long]
integers = [0, 10]
mechanism = "SubsetSelection"
epsilon = 1.0
"""
PLAN = Study.parse(STUDY)
N = 60
_RNG = np.random.default_rng(5)
_ANSWERS: dict[str, Any] = {"setting": ["a", "b", "c"] * 20, "long": np.arange(N) % 11}
REPORTS = {
    name: Reports(m.header, m.randomize(_ANSWERS[name], _RNG).columns)
    for name, m in PLAN.mechanisms.items()
}
WARDS = ["north"] * 35 + ["the south"] * 25
COLUMNS = {
    f"{name}_{part}": pa.array(column, pa.int64())
    for name, m in PLAN.mechanisms.items()
    for part, column in m.schema.to_file(REPORTS[name].columns).items()
}
TABLE = pa.table(COLUMNS)
CUTS = [0, 12, 25, 35, 48, 60]


def _wanted() -> dict[str, Tally]:
    return {name: m.tally(REPORTS[name]) for name, m in PLAN.mechanisms.items()}


def _tally(*options: str, ok: bool = True) -> Any:
    return run("tally", *options, "--study", "study.toml", "-o", "t.json", ok=ok)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of wards and years with five files in Parquet and CSV, and what engines leave."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    root = Path("lake")
    for i in range(5):
        rows = TABLE[CUTS[i] : CUTS[i + 1]]
        folder = root / ("ward=north" if i < 3 else "ward=the%20south") / "year=2024"
        folder.mkdir(parents=True, exist_ok=True)
        if i % 2:
            pa.csv.write_csv(rows, folder / f"part-{i}.csv")
        else:
            pq.write_table(rows, folder / f"part-{i}.parquet")
    (root / "_SUCCESS").write_text("")
    (root / ".part-1.parquet.crc").write_text("x")
    (root / "_temporary").mkdir()
    (root / "_temporary" / "part-9.parquet").write_text("not whole")
    return root


def test_folders_and_patterns_are_counted_whole(lake: Path) -> None:
    assert [f.values for f in files_of("lake")][-1] == {"ward": "the south", "year": "2024"}
    for path in ("lake", "lake/**/*.*", "lake/ward=*"):
        done = _tally(path)
        assert "60 rows in 5 files" in done.stderr
        assert load_tallies("t.json") == _wanted(), path
    _tally("lake/ward=north", "lake/ward=the%20south")
    assert load_tallies("t.json") == _wanted()
    assert "counted twice" in _tally("lake", "lake/ward=north", ok=False).stderr
    assert "has no files" in _tally("lake/*.parquet", ok=False).stderr
    Path("empty").mkdir()
    assert "has no files whose names end in" in (said := _tally("empty", ok=False).stderr)
    assert "Check the path" in said and "folders below" not in said


def test_the_folders_that_the_command_names_say_public_values_too(lake: Path) -> None:
    """Rejects a reading of the folders below the given one alone, as for the week of a night."""
    first, pattern = "lake/ward=north/year=2024/part-0.parquet", "lake/ward=north/**/*.parquet"
    for path in ("lake/ward=north", pattern, first, os.path.abspath("lake/ward=north/year=2024")):
        _tally(path, "--by", "ward,year")
        assert [set(t) for t in load_tallies("t.json").values()] == [{("north", 2024)}] * 2, path
    _tally("lake/ward=north", "lake/ward=the%20south", "--by", "ward")
    assert load_tallies("t.json") == PLAN.tally(REPORTS, {"ward": WARDS})


def test_folders_name_the_values_of_public_columns(lake: Path) -> None:
    _tally("lake", "--by", "ward,year")
    found = load_tallies("t.json")
    slow = PLAN.tally(REPORTS, {"ward": WARDS, "year": [2024] * N})
    assert found == slow
    shutil.move("lake/ward=north", "lake/ward=__HIVE_DEFAULT_PARTITION__")
    said = _tally("lake", "--by", "ward", ok=False).stderr
    assert (
        "is in a folder for people whose ward is missing (NULL). Move the file to a folder with a "
        "value" in said
    )
    shutil.move("lake/ward=__HIVE_DEFAULT_PARTITION__", "lake/ward=west")
    said = _tally("lake", "--by", "ward", ok=False).stderr
    assert "folder ward=west: the study does not declare the value west for ward" in said


@pytest.mark.parametrize("name", ["setting_report=1", "SETTING_REPORT=1", "long_bits_0=255"])
def test_folders_never_stand_for_columns_of_reports(lake: Path, name: str) -> None:
    shutil.move("lake", "inner")
    Path("lake").mkdir()
    shutil.move("inner", f"lake/{name}")
    _tally("lake")
    assert load_tallies("t.json") == _wanted()
    # A file without the column is not given one by its folder either.
    pq.write_table(TABLE.drop_columns(["setting_report"]), f"lake/{name}/less.parquet")
    assert "no setting_report" in _tally("lake", ok=False).stderr


def test_a_column_of_the_file_must_agree_with_its_folder(lake: Path) -> None:
    for path in Path("lake").rglob("part*.*"):
        if "temporary" not in str(path):
            path.unlink()
    for ward, name in (("north", "north"), ("the south", "the%20south")):
        rows = [i for i, own in enumerate(WARDS) if own == ward]
        table = TABLE.take(rows).append_column("ward", [[ward] * len(rows)])
        pq.write_table(table, f"lake/ward={name}/all.parquet")
    _tally("lake", "--by", "ward")
    assert load_tallies("t.json") == PLAN.tally(REPORTS, {"ward": WARDS})
    pq.write_table(TABLE.append_column("ward", [WARDS]), "lake/ward=north/all.parquet")
    said = _tally("lake", "--by", "ward", ok=False).stderr
    wrong = WARDS.count("the south")
    assert (
        "lake/ward=north/all.parquet: the folder says ward=north, but the column says something "
        f"else in {wrong} rows. Move the file to the right folder" in said
    )
    # Without groups, nothing depends on it.
    _tally("lake")


def test_a_report_file_of_warner_must_agree_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a count by the column of a file that was moved: databases take the folder."""
    monkeypatch.chdir(tmp_path)
    dates = STUDY.replace("[public.year]\nintegers = [2000, 2030]", '[public.day]\ndates = "week"')
    Path("study.toml").write_text(dates)
    plan = Study.parse(dates)
    for ward in ("north", "the south"):
        folder = Path(f"lake/day=2026-11-02/ward={ward.replace(' ', '%20')}")
        folder.mkdir(parents=True)
        public = plan.public_columns({"ward": [ward] * N, "day": ["2026-11-04"] * N})
        reports = {
            name: Reports(m.header, m.randomize(_ANSWERS[name], _RNG).columns)
            for name, m in plan.mechanisms.items()
        }
        write_reports(reports, str(folder / "part-0.parquet"), public=public)
    _tally("lake", "--by", "ward,day")  # the week of Monday
    north = Path("lake/day=2026-11-02/ward=north/part-0.parquet")
    north.rename(moved := north.parent.with_name("ward=the%20south") / "part-1.parquet")
    for by in ("ward,day", "day,ward"):
        said = _tally("lake", "--by", by, ok=False).stderr
        assert (
            f"{moved}: the folder says ward=the south, but the column says something else in "
            f"{N} rows. Move the file to the right folder." in said
        )
    _tally("lake", "--by", "day")
    Path("lake/day=2026-11-02").rename("lake/day=soon")
    assert "folder day=soon must be named after" in _tally("lake", "--by", "day", ok=False).stderr
    _tally("lake")


def test_files_of_blocks_are_counted(lake: Path) -> None:
    shutil.rmtree("lake")
    Path("lake").mkdir()
    records = {name: own.record_array() for name, own in REPORTS.items()}
    for i in range(3):
        blocks = {
            f"{n}_records": [r[s : s + 5].tobytes() for s in range(20 * i, 20 * i + 20, 5)]
            for n, r in records.items()
        }
        wards = [WARDS[s] for s in range(20 * i, 20 * i + 20, 5)]
        columns = {name: pa.array(own, pa.binary()) for name, own in blocks.items()}
        pq.write_table(pa.table({"ward": wards, **columns}), f"lake/{i}.parquet")
    _tally("lake")
    assert load_tallies("t.json") == _wanted()
    _tally("lake", "--by", "ward")
    assert load_tallies("t.json") == PLAN.tally(REPORTS, {"ward": WARDS})
    pq.write_table(pa.table({n: pa.array([b"\0"], pa.binary()) for n in columns}), "lake/x.parquet")
    done = _tally("lake", ok=False)
    assert (
        "lake/x.parquet: long_records: must hold one or more whole reports, of 2 bytes each, in every row"
        in done.stderr
    )


def _spoiled(column: str, values: list[Any]) -> pa.Table:
    place = TABLE.column_names.index(column)
    return TABLE[:12].set_column(place, column, [values])


def _said(value: Any) -> list[Any]:
    values = TABLE["setting_report"].to_pylist()[:12]
    values[7] = value
    return values


BAD = {
    "a gap": (
        _spoiled("setting_report", _said(None)),
        "must have a report in each row.*data row 8",
    ),
    "out of range": (_spoiled("setting_report", _said(3)), r"must be from 0 to 2.*data row 8"),
    "negative": (_spoiled("setting_report", _said(-1)), r"must be from 0 to 2.*data row 8"),
    "a rule of rows": (
        _spoiled("long_bits_1", [*TABLE["long_bits_1"].to_pylist()[:11], 255]),
        "data row 12",
    ),
    "no column": (TABLE[:12].drop_columns(["long_bits_0"]), "no long_bits_0 among"),
    "drift to text": (_spoiled("setting_report", ["a"] * 12), "column of integers"),
    "drift to floats": (_spoiled("setting_report", [0.5] * 12), "not whole.*data row 1[.]"),
}


def test_a_wrong_file_is_named_with_its_row_and_nothing_is_counted(lake: Path) -> None:
    path = "lake/ward=north/year=2024/part-2.parquet"
    for bad, (table, words) in BAD.items():
        pq.write_table(table, path)
        # From the second on, the files before it are in the checkpoint already.
        done = _tally("lake", "--checkpoint", "c.jsonl", ok=False)
        assert done.exit_code == 1 and path in done.stderr and not Path("t.json").exists(), bad
        assert re.search(words, done.stderr), (bad, done.stderr)
    pq.write_table(TABLE[25:35], path)
    _tally("lake", "--checkpoint", "c.jsonl")
    assert load_tallies("t.json") == _wanted()


def test_a_truncated_file_among_many_is_named(lake: Path) -> None:
    for i in range(10):
        pq.write_table(TABLE[6 * i : 6 * i + 6], f"lake/one-{i:02}.parquet")
    for path in Path("lake").glob("ward=*/*/*"):
        path.unlink()
    whole = Path("lake/one-04.parquet").read_bytes()
    Path("lake/one-04.parquet").write_bytes(whole[:-20])
    tables = {f"lake/one-{i:02}.parquet": TABLE[6 * i : 6 * i + 6] for i in range(10)}
    for i, (path, table) in enumerate(tables.items()):
        if i != 4:
            pq.write_table(table, path)
    done = _tally("lake", "--checkpoint", "c.jsonl", ok=False)
    assert "lake/one-04.parquet: cannot be read as Parquet. The file may be damaged" in done.stderr
    assert not Path("t.json").exists() and len(Path("c.jsonl").read_bytes().splitlines()) == 5
    Path("lake/one-04.parquet").write_bytes(whole)
    _tally("lake", "--checkpoint", "c.jsonl")
    assert load_tallies("t.json") == _wanted()


def test_mixed_headers_in_one_folder_are_named(lake: Path) -> None:
    Path("own").mkdir()
    other = Study.parse(STUDY.replace("epsilon = 1.0", "epsilon = 2.0"))
    for i, plan in enumerate((PLAN, PLAN, other)):
        reports = {n: m.randomize(_ANSWERS[n]) for n, m in plan.mechanisms.items()}
        write_reports(reports["setting"], f"own/part-{i}.parquet", "setting")
    done = run("tally", "own", "-o", "t.json", ok=False)
    assert "own/part-0.parquet and in own/part-2.parquet" in done.stderr
    assert not Path("t.json").exists()
    Path("own/part-2.parquet").unlink()
    run("tally", "own", "-o", "t.json")
    assert Tally.load("t.json").n == 120
    shutil.copy("own/part-1.parquet", "own/copy.parquet")
    assert "counted twice" in run("tally", "own", ok=False).stderr


def test_a_restart_after_any_cut_of_the_checkpoint_gives_the_same_tally(lake: Path) -> None:
    _tally("lake", "--checkpoint", "c.jsonl")
    whole, tally = Path("c.jsonl").read_bytes(), Path("t.json").read_bytes()
    ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (
        0,
        5,  # in the header
        ends[0],
        ends[0] + 1,
        ends[2] + 40,  # in an entry
        ends[4] + 1,
        len(whole) - 1,
    ):
        Path("c.jsonl").write_bytes(whole[:cut])
        Path("t.json").unlink()
        _tally("lake", "--checkpoint", "c.jsonl")
        assert Path("t.json").read_bytes() == tally, cut
        assert len(Path("c.jsonl").read_bytes().splitlines()) == 6


def test_what_is_counted_is_not_read_again_and_what_is_new_is(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = Path("lake/ward=the%20south/year=2024/part-4.parquet")
    late = last.read_bytes()
    last.unlink()
    _tally("lake", "--checkpoint", "c.jsonl")
    opened: list[str] = []
    from warner.io import foreign_files as files

    original = files.open_foreign
    monkeypatch.setattr(files, "open_foreign", lambda p: opened.append(p) or original(p))
    last.write_bytes(late)
    _tally("lake", "--checkpoint", "c.jsonl")
    assert opened == [str(last)] and load_tallies("t.json") == _wanted()
    os.utime(last, (1, 1))  # touched, and not changed
    _tally("lake", "--checkpoint", "c.jsonl")
    assert opened == [str(last)] and load_tallies("t.json") == _wanted()


def test_a_checkpoint_that_does_not_fit_is_refused(lake: Path) -> None:
    _tally("lake", "--checkpoint", "c.jsonl")
    done = _tally("lake", "--checkpoint", "c.jsonl", "--by", "ward", ok=False)
    assert "was made with another value of --by" in done.stderr
    done = _tally("lake/ward=north", "--checkpoint", "c.jsonl", ok=False)
    assert "holds counts of 2 files that are not named in this command" in done.stderr
    first = Path("lake/ward=north/year=2024/part-0.parquet")
    pq.write_table(TABLE[1:13], first)
    assert (
        "was changed after it was counted"
        in _tally("lake", "--checkpoint", "c.jsonl", ok=False).stderr
    )
    pq.write_table(TABLE[:12], first)
    text = Path("c.jsonl").read_text()
    for wrong, said in (
        (
            text.replace('"group":null', '"group":"x"', 1),
            "was written by --checkpoint, and was changed or damaged since",
        ),
        (
            text.replace('"ways":null', '"ways":1', 1),
            "was written by --checkpoint, and was changed or damaged since",
        ),
        ("{}\n" + text, "was not written by --checkpoint"),
        (text.split("\n", 1)[1], "was not written by --checkpoint"),
        ("notes\n", "was not written by --checkpoint"),
    ):
        Path("c.jsonl").write_text(wrong)
        assert said in _tally("lake", "--checkpoint", "c.jsonl", ok=False).stderr
        assert Path("c.jsonl").read_text() == wrong
    done = run("tally", "-", "--checkpoint", "new.jsonl", ok=False)
    assert "cannot be used with standard input" in done.stderr


def test_a_killed_count_goes_on(lake: Path) -> None:
    """SIGKILL between files: the files that were counted are not counted again."""
    for i in range(12):
        pq.write_table(TABLE.append_column("id", [[i] * N]), f"lake/more-{i:02}.parquet")
    _tally("lake")
    wanted = Path("t.json").read_bytes()
    Path("t.json").unlink()
    command = [sys.executable, "-m", "warner", "tally", "lake", "--study", "study.toml", "--checkpoint", "c.jsonl", "-o", "t.json"]  # fmt: skip
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    checkpoint = Path("c.jsonl")
    while child.poll() is None and (
        not checkpoint.exists() or checkpoint.read_bytes().count(b"\n") < 4
    ):
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert checkpoint.read_bytes().count(b"\n") >= 4
    before = checkpoint.read_bytes().rpartition(b"\n")[0]
    _tally("lake", "--checkpoint", "c.jsonl")
    assert Path("t.json").read_bytes() == wanted
    assert checkpoint.read_bytes().startswith(before)


def test_addresses_are_given_to_duckdb_and_its_extension_is_named(lake: Path) -> None:
    """No address can be read here. What DuckDB lacks is said in one line."""
    done = _tally("nowhere://bucket/reports/*.parquet", ok=False)
    assert "nowhere://bucket" in done.stderr and "Traceback" not in done.stderr


def test_a_pattern_that_misses_files_in_folders_is_told_the_pattern_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lake/week=2026-W45").mkdir(parents=True)
    Path("lake/week=2026-W45/part-0.parquet").touch()
    with pytest.raises(FileError, match=r"Name the folder, or write 'lake/\*\*/\*\.parquet'"):
        files_of("lake/*.parquet")
    with pytest.raises(FileError, match=r"\.csv\. Check the path"):
        files_of("lake/*.csv")
