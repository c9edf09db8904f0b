"""Files and frames that other programs made: one set of rules, whichever reader reads them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.spec.io._sealed import COIN, run, sealed
from warner import Integers
from warner.io import read_reports, tally_file, write_reports
from warner.reports.tally import Tally

READERS: list[Callable[[str], Any]] = [tally_file, read_reports]


U8 = pa.uint8()


STRANGE = {
    "-1": pa.array([-1, 0], pa.int8()),
    "-2^63": pa.array([-(2**63), 0], pa.int64()),
    "wide": pa.array([0, 1], pa.int64()),
    "float": pa.array([1.7, 0.0]),
    "NaN": pa.array([float("nan"), 0.0]),
    "string": pa.array(["1", "0"]),
    "boolean": pa.array([True, False]),
    "decimal": pa.array([Decimal(1), Decimal(0)]),
    "timestamp": pa.array([1, 0], pa.timestamp("us")),
    "date": pa.array([1, 0], pa.date32()),
    "list": pa.array([[1], [0]], pa.list_(U8)),
    "nothing": pa.array([None, None], pa.null()),
    "missing": pa.array([1, None], U8),
    "beyond": pa.array([2, 0], U8),
}


@pytest.mark.parametrize("column", STRANGE.values(), ids=STRANGE)
def test_both_readers_refuse_the_same_columns(column: Any, tmp_path: Path) -> None:
    path = sealed(str(tmp_path / "r.parquet"), COIN, {"a_report": column}, 2)
    for reader in READERS:
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError), match="a_report"):
            reader(path)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    "names", [["A_REPORT"], ["b_report"], ["a_report", "more"], ["more", "a_report"]], ids=str
)
def test_both_readers_want_the_columns_of_the_header(
    names: list[str], suffix: str, tmp_path: Path
) -> None:
    column = pa.array([1, 0], U8) if suffix == "parquet" else [1, 0]
    path = sealed(str(tmp_path / f"r.{suffix}"), COIN, dict.fromkeys(names, column), 2)
    for reader in READERS:
        with pytest.raises(
            warner.errors.FileError, match="must have the 1 column that its beginning states"
        ):
            reader(path)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_both_readers_take_the_same_reports(suffix: str, tmp_path: Path) -> None:
    """Also the dictionaries of Arrow, which are stored as the plain type."""
    column = pa.array([1, 0, 1], U8).dictionary_encode() if suffix == "parquet" else [1, 0, 1]
    path = sealed(str(tmp_path / f"r.{suffix}"), COIN, {"a_report": column}, 3)
    assert tally_file(path)["a"].counts.tolist() == [1, 2]
    assert read_reports(path)["a"].columns["report"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("row", ["1#2", "#0", "", "-1", "1.0", "2", "256", "yes"])
def test_both_readers_refuse_the_same_lines(row: str, tmp_path: Path) -> None:
    path = sealed(
        str(tmp_path / "r.csv"), COIN, {"a_report": ["0", row, "1"]}, 2 if row in ("#0", "") else 3
    )
    for reader in READERS:
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError)):
            reader(path)


@pytest.mark.parametrize("n", [True, 1.0, "1", 0, -1, None], ids=repr)
def test_the_number_of_reports_is_an_integer(n: Any, tmp_path: Path) -> None:
    path = sealed(str(tmp_path / "r.parquet"), COIN, {"a_report": pa.array([1], U8)}, n)
    with pytest.raises(
        warner.errors.FileError, match="is not complete: its end is missing or damaged"
    ):
        tally_file(path)


@pytest.mark.parametrize("backend", ["pyarrow", "pandas"])
def test_a_frame_that_another_program_saved_is_told_from_a_damaged_file(
    backend: str, tmp_path: Path
) -> None:
    """Rejects: "is not complete", and "is not a report file", of the frame with its header."""
    path = str(tmp_path / "r.parquet")
    frame = COIN.reports([1, 0, 1]).to_frame(backend)
    if backend == "pandas":
        frame.to_parquet(path)
    else:
        pq.write_table(frame, path)
    with pytest.raises(warner.errors.FileError, match=r"data frame of reports.*--study STUDY"):
        tally_file(path)
    read = pd.read_parquet(path) if backend == "pandas" else pq.read_table(path)
    assert COIN.tally(read).counts.tolist() == [1, 2]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    "folder", ["value_report=0", "VALUE_REPORT=1", "value_report=yes", "date=2024-01-01", "s3:"]
)
def test_names_of_folders_are_no_columns(
    folder: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    reports = COIN.reports([1] * 7 + [0] * 3)
    path = f"{folder}/r.{suffix}"
    write_reports(reports, path, keep_order=True)
    assert tally_file(path) == {"value": COIN.tally(reports)}
    assert read_reports(path)["value"].columns["report"].tolist() == [1] * 7 + [0] * 3


def test_many_columns_are_counted_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.io.report_file._QUERIES", 2)
    mechanism = warner.UnaryEncoding(Integers(0, 30), 1.0)
    reports = mechanism.randomize(np.arange(31))
    write_reports(reports, str(tmp_path / "r.parquet"))
    assert tally_file(str(tmp_path / "r.parquet"))["value"] == mechanism.tally(reports)


def test_copies_of_tallies_and_reports_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reports = COIN.randomize(["yes", "no", "yes"] * 50)
    write_reports(reports, "r.parquet")
    write_reports(read_reports("r.parquet"), "again.csv")
    run("tally", "r.parquet", "-o", "t.json")
    shutil.copy("t.json", "copy.json")
    write_reports(COIN.randomize(["no"] * 40), "other.csv")
    run("tally", "other.csv", "-o", "other.json")
    for command, first, copy, other in (
        ("merge", "t.json", "copy.json", "other.json"),
        ("tally", "r.parquet", "again.csv", "other.csv"),
    ):
        said = run(command, first, other, copy, ok=False)
        assert f"{first} and {copy}" in said and "--allow-equal" in said
        run(command, first, other, "-o", "both.json")
        assert Tally.load("both.json").n == 190
        run(command, first, copy, "--allow-equal", "-o", "both.json")
        assert Tally.load("both.json").n == 300
