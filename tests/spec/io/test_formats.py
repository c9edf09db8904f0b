"""Formats: the wire format is read like the others, and a new format is one class and one line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import warner
from warner import Categorical, Integers, Product, Reports
from warner.app.cli import main
from warner.errors import ArgumentError, FileError
from warner.io import read_reports, tally_file, write_reports
from warner.io.file_format import FileFormat, ReportSink
from warner.io.formats import FORMATS, is_report_file, suffixes
from warner.reports.reports import MAGIC
from warner.reports.tally import dump_tallies, load_tallies

COIN = warner.RandomizedResponse(Categorical(["no", "yes"]), 1.0)


def run(*args: str) -> str:
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == 0, result.output
    return result.output


def test_commands_read_saved_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reports = COIN.randomize(["yes", "no", "yes"] * 100)
    reports.save("r.warner")
    run("tally", "r.warner", "-o", "t.json")
    assert warner.Tally.load("t.json") == COIN.tally(reports)
    assert run("estimate", "r.warner", "--json") == run("estimate", "t.json", "--json")
    assert "RandomizedResponse" in run("audit", "r.warner")
    result = CliRunner().invoke(main, ["tally", "-"], input=Path("r.warner").read_bytes())
    assert result.exit_code == 0 and '"warner-tally"' in result.stdout


def test_saved_tuples_keep_tables(tmp_path: Path) -> None:
    both = Product(a=Integers(0, 2), b=Integers(0, 3))
    survey = warner.PerAttribute(
        both,
        {
            "a": warner.RandomizedResponse(both.attributes["a"], 1.0),
            "b": warner.UnaryEncoding(both.attributes["b"], 1.0),
        },
    )
    reports = survey.randomize([{"a": 1, "b": 2}] * 50)
    reports.save(tmp_path / "r.warner")
    for ways in (1, 2):
        found = tally_file(str(tmp_path / "r.warner"), ways=ways)
        assert found == {"value": survey.tally(reports, ways=ways)}


def test_truncated_and_altered_wire_files_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.warner"
    COIN.randomize(["yes", "no"] * 100, np.random.default_rng(2)).save(path)
    data = path.read_bytes()
    for place in (*range(len(MAGIC) + 8), *range(len(MAGIC) + 8, len(data), 13), len(data) - 1):
        flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        for changed in (data[:place], flipped):
            path.write_bytes(changed)
            with pytest.raises(warner.errors.WarnerError):
                tally_file(str(path))


def test_help_and_errors_name_the_suffixes_of_the_registry(tmp_path: Path) -> None:
    names = {form.suffix for form in FORMATS}
    assert names == {".parquet", ".csv", ".warner"}
    assert all(suffix in suffixes() and suffix in run("tally", "--help") for suffix in names)
    assert suffixes(writable=True) == ".parquet or .csv"
    assert suffixes(writable=True) in " ".join(run("randomize", "--help").split())
    with pytest.raises(warner.errors.ArgumentError, match=r"\.parquet or \.csv"):
        write_reports(COIN.randomize(["yes"]), str(tmp_path / "r.warner"))
    with pytest.raises(warner.errors.ArgumentError, match=r": must be a file of reports [^;]*$"):
        tally_file("r.txt")
    assert not is_report_file("t.json") and is_report_file("missing.csv")


class JsonLines(FileFormat):
    """One JSON object per line: header, reports, end."""

    name = "JSON lines"
    suffix = ".jsonl"

    def read_ends(self, path: str) -> tuple[bytes, bytes]:
        lines = Path(path).read_bytes().splitlines()
        return (lines[0], lines[-1]) if len(lines) > 1 else (b"", b"")

    def columns(self, path: str) -> dict[str, str]:
        return dict.fromkeys(json.loads(Path(path).read_text().splitlines()[1]), "")

    def batches(self, path: str, columns: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()[1:-1]]
        types = {n: pa.from_numpy_dtype(np.min_scalar_type(s - 1)) for n, s in columns.items()}
        yield pa.RecordBatch.from_pydict(
            {name: pa.array([row[name] for row in rows], types[name]) for name in columns}
        )

    def sink(self, path: str, header: str, columns: Mapping[str, int]) -> ReportSink:
        return _Sink(path, header)


class _Sink(ReportSink):
    def __init__(self, path: str, header: str) -> None:
        self._path, self._lines = path, [header]

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        rows: Any = zip(*(column.tolist() for column in columns.values()), strict=True)
        self._lines += [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]

    def close(self, end: str | None) -> None:
        if end is not None:
            Path(self._path).write_text("\n".join([*self._lines, end]) + "\n")


def test_a_new_format_is_one_class_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.io.formats.FORMATS", (*FORMATS, JsonLines()))
    mechanism = warner.UnaryEncoding(Integers(0, 11), 1.0)
    reports = mechanism.randomize(np.arange(60) % 12)
    path = str(tmp_path / "r.jsonl")
    write_reports({"a": reports}, path, keep_order=True)
    assert tally_file(path) == {"a": mechanism.tally(reports)}
    assert read_reports(path)["a"].columns["bits"].tolist() == reports.columns["bits"].tolist()
    assert is_report_file(path) and ".jsonl" in suffixes()
    Path(path).write_text(Path(path).read_text().replace("0", "1", 1))
    with pytest.raises(warner.errors.FileError):
        tally_file(path)


def test_reports_load_what_they_saved_before(tmp_path: Path) -> None:
    """Bytes as the first version wrote them."""
    head = json.dumps(
        {
            "columns": [["report", "|u1", []]],
            "header": COIN.header,
            "n": 3,
            "schema": 1,
        },
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    text = MAGIC + len(head).to_bytes(4, "little") + head + bytes([1, 0, 1])
    (tmp_path / "old").write_bytes(text + hashlib.sha256(text).digest())
    assert Reports.load(tmp_path / "old").columns["report"].tolist() == [1, 0, 1]
    assert tally_file(str(tmp_path / "old"))["value"].counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    "save, name, remedy",
    [
        ("reports", "r.parquet", r"write Parquet or CSV with warner\.io\.write_reports"),
        ("reports", "r.CSV", "Let the name end in .warner"),
        ("reports", "r.xlsx", "the file will not be a spreadsheet"),
        ("tally", "t.csv", "Let the name end in .json"),
        ("tally", "t.parquet", "the file will not be a Parquet or Arrow table"),
    ],
)
def test_no_file_has_the_name_of_another_format(
    save: str, name: str, remedy: str, tmp_path: Path
) -> None:
    reports = COIN.randomize(["no", "yes"])
    one = reports if save == "reports" else COIN.tally(reports)
    with pytest.raises(ArgumentError, match=remedy):
        one.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    one.save(tmp_path / "any.name")


@pytest.mark.parametrize(
    "arguments, remedy",
    [
        (["tally", "r.parquet", "-o", "t.csv"], "Let the name end in .json"),
        (["merge", "t.json", "-o", "t.xlsx"], "Let the name end in .json"),
        (
            ["estimate", "t.json", "-o", "r.feather"],
            "Give it a name that ends in .json or .csv or .xlsx or .parquet, or .txt",
        ),
        (
            ["estimate", "t.json", "-o", "r.docx"],
            "because the file will not be an office document. Write -o r.html, and open this page",
        ),
        (["audit", "s.toml", "-o", "a.html"], "must not end in .html, because this result has no"),
        (["estimate", "t.json", "-o", "r.pq"], "the file will not be a Parquet or Arrow table"),
        (["estimate", "t.json", "-o", "r.csv.gz"], "the file will not be a compressed file"),
        (["audit", "s.toml", "-o", "a.tex"], "because this result has no tables for articles"),
        (
            ["estimate", "t.json", "--csv", "-o", "r.xlsx"],
            "--csv: writes CSV, but the name r.xlsx says another format. Leave out --csv",
        ),
        (["estimate", "t.json", "--json", "-o", "r.csv"], "Leave out --json: the ending"),
    ],
)
def test_commands_write_what_names_say(
    arguments: list[str], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    warner.io.write_reports(COIN.randomize(["no", "yes"]), "r.parquet")
    COIN.tally(COIN.randomize(["no", "yes"])).save("t.json")
    Path("s.toml").write_text(
        '[attributes.a]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    assert remedy in CliRunner().invoke(main, arguments).stderr


@pytest.mark.parametrize(
    "command",
    [
        ["estimate", "t.json"],
        ["plan", "s.toml"],
        ["plan", "draft.toml"],
        ["audit", "s.toml"],
        ["study", "check", "s.toml"],
    ],
)
def test_commands_write_tables_for_spreadsheets(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects what a terminal shows under a name that ends in .csv, as plan and audit once wrote."""
    monkeypatch.chdir(tmp_path)
    COIN.tally(COIN.randomize(["no", "yes"] * 50)).save("t.json")
    Path("draft.toml").write_text('[attributes.q]\nvalues = ["no", "yes"]\n')
    whole = 'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    Path("s.toml").write_text(Path("draft.toml").read_text() + whole)
    done = CliRunner().invoke(main, [*command, "-o", "r.csv", "-o", "r.xlsx"])
    assert done.exit_code == 0, done.output
    header, *rows = list(openpyxl.load_workbook("r.xlsx")["results"].values)
    with open("r.csv") as file:
        lines = list(csv.reader(file))
    assert "attribute" in lines[0] and "question" in header and len(lines[0]) == len(header)
    assert len(lines) - 1 == len(rows) > 0
    for line, row in zip(lines[1:], rows, strict=True):
        for text, value in zip(line, row, strict=True):
            if isinstance(value, float):
                assert float(text) == pytest.approx(value, rel=1e-14)
            elif isinstance(value, str):
                assert text == value


def test_a_pipe_and_a_compressed_file_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects the advice to randomise answers, for what is no file of CSV or is packed."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    end, start = os.pipe()
    os.write(start, b"smokes_report\n1\n")
    os.close(start)
    Path("d.csv.gz").write_bytes(gzip.compress(b"smokes_report\n1\n"))
    sqlite3.connect("s.sqlite").executescript("create table t (n); insert into t values (1)")
    for path, words in (
        (f"/dev/fd/{end}", "is a pipe or a device, not a file. Give what it holds on standard"),
        ("d.csv.gz", "d.csv.gz: is compressed by gzip. Unpack the file with gunzip."),
        ("s.sqlite", "s.sqlite: is a database of SQLite, such as the store of a collector. Fetch"),
    ):
        done = CliRunner().invoke(main, ["tally", path, "--study", "study.toml"])
        assert done.exit_code == 1 and words in done.stderr and "answers" not in done.stderr
    done = CliRunner().invoke(main, ["estimate", "s.sqlite"])
    assert "run" not in done.stderr and "warner collect pull URL" in done.stderr
    os.close(end)


def test_the_link_of_standard_output_is_written_to(tmp_path: Path) -> None:
    """Rejects a temporary file beside the pipe behind /dev/stdout, which lies in no folder."""
    script = (
        "from warner._core.atomic_files import write_whole; write_whole('/dev/stdout', b'a' * 99)"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"a" * 99


def test_tallies_one_behind_the_other_are_not_cut_off(tmp_path: Path) -> None:
    coin = warner.RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    text = dump_tallies({"smokes": coin.tally(coin.randomize(["no"] * 9))})
    for content, words in (
        (text * 2, r"holds several tallies, one behind the other\. Add them with 'warner merge'"),
        (text[:-9], "is cut off"),
        (text + "}", "is cut off"),
    ):
        (tmp_path / "t.json").write_text(content)
        with pytest.raises(FileError, match=words):
            load_tallies(tmp_path / "t.json")
