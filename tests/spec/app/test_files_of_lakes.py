"""Files of folders and patterns: those that are left out, that are copies, and that go away."""

from __future__ import annotations

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


def test_upper_case_endings_are_read_and_others_are_named(lake: Path) -> None:
    pq.write_table(rows(10), "lake/part.snappy.PARQUET")
    pa.csv.write_csv(rows(6), "lake/x.Csv")
    tally("lake")
    assert load_tallies("t.json")["smokes"].n == 96
    for name in ("part-0007.pq", "notes.txt", ".hidden.pq", "_left.pq"):
        Path("lake", name).write_text("x")
    for path in ("lake", "lake/*"):
        done = tally(path)
        said = f"{path}: 2 files were left out because of their endings, the first is lake/notes."
        assert said in done.stderr and load_tallies("t.json")["smokes"].n == 96
    assert "left out" not in tally("lake/*.[pPcC][aAsS]*").stderr
    Path("lake/notes.txt").unlink()
    said = "lake: 1 file was left out because of its ending, the first is lake/part-0007.pq."
    assert said in tally("lake").stderr
    tally("lake/part.snappy.PARQUET")
    assert load_tallies("t.json")["smokes"].n == 10


def test_copies_in_a_folder_are_known_by_their_counts(lake: Path) -> None:
    """2,000 reports of 16 bits: any of 6 pairs agrees with a chance below 1e-12."""
    big = rows(2000)
    pq.write_table(big, "lake/c.parquet")
    pq.write_table(big.take(list(range(2000))[::-1]), "lake/d.parquet")
    for options in ((), ("--by", "ward")):
        done = tally("lake", *options, ok=False)
        assert "got lake/c.parquet and lake/d.parquet, whose counts are equal" in done.stderr
        tally("lake", "--allow-equal", *options)
    Path("lake/d.parquet").unlink()
    tally("lake")


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
    assert "say --allow-equal" in done.stderr
    tally("lake/000.parquet", "lake/003.parquet", "--allow-equal")


def test_a_file_that_is_named_twice_is_no_copy(lake: Path) -> None:
    done = tally("lake/a.parquet", "lake/*.parquet", ok=False)
    said = "lake/a.parquet: is named by two arguments, lake/a.parquet and lake/*.parquet, and is "
    assert said + "not counted twice. Name it once." in done.stderr
    done = tally("lake", "lake", ok=False)
    assert "lake: is named twice, and is not counted twice. Name it once." in done.stderr
    os.symlink("a.parquet", "lake/z.parquet")
    done = tally("lake", ok=False)
    assert "lake/z.parquet: is the same file as lake/a.parquet" in done.stderr
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
    assert "simulated reports beside real ones; got own/0.parquet and own/1.parq" in done.stderr
    done = run("tally", "own", "--allow-simulated", "-o", "t.json")
    found = load_tallies("t.json")["smokes"]
    assert found.n == 66 and found.simulated and "a simulation" in done.stderr
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
    assert "is not a file" in tally("lake/never.parquet", ok=False).stderr


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
    assert "Beside them is 1 report file of warner with 60 reports." in done.stderr


def test_messages_name_the_file_first_and_in_one_line(lake: Path) -> None:
    Path("notes.txt").write_text("x")
    said = "notes.txt: must end in .warner, .parquet or .csv."
    assert said in tally("notes.txt", ok=False).stderr
    done = run("tally", "lake/a.parquet", ok=False)
    assert "If another program wrote it, count it with 'warner tally --study'." in done.stderr
    assert "randomize" not in done.stderr
    pq.write_table(rows(2).drop_columns(["item_bits_0"]), "lake/x\ny.parquet")
    done = tally("lake", ok=False)
    assert "lake/x\\ny.parquet: must have the column" in done.stderr
    pq.write_table(rows(0), "lake/x\ny.parquet")
    done = tally("lake", "--checkpoint", "c.jsonl")
    assert "the first is lake/x\\ny.parquet." in done.stderr
    pq.write_table(rows(4), "lake/x\ny.parquet")
    for _ in range(2):
        tally("lake", "--checkpoint", "c.jsonl")
    assert "\n" not in tally("lake/x\ny.parquet").stderr.partition(":")[0]
