"""Report files of blocks: rows of many reports, in one column of bytes for each attribute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.attack.metamorphic import besides_reports
from tests.spec.app._command import whatever_file
from tests.spec.io._people import STUDY, N, run
from warner import Integers, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from warner._core.text import canonical
from warner.errors import ArgumentError, FileError, ReportError, WarnerError
from warner.io import ReportWriter, read_reports, report_writer, tally_file, write_reports
from warner.io.file_format import UNSEALED, seal
from warner.io.report_file import open_reports
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports

DOMAIN = Integers(0, 19)
MECHANISMS: dict[str, Mechanism] = {
    "index": RandomizedResponse(DOMAIN, 1.0),
    "bits": UnaryEncoding(DOMAIN, 1.0),
    "subsets": SubsetSelection(DOMAIN, 1.0),
    "field": LocalHashing(DOMAIN, 1.0),
}
BITS = MECHANISMS["bits"]


def _reports(n: int, answer: int | None = None) -> dict[str, Reports]:
    rng = np.random.default_rng(5)
    people = np.arange(n) % 20 if answer is None else np.full(n, answer)
    return {name: m.randomize(people, rng) for name, m in MECHANISMS.items()}


def _rows(path: Path) -> list[list[int]]:
    """The numbers of reports in the rows of each column."""
    table = pq.read_table(path)
    widths = [m.schema.bytes_per_report for m in MECHANISMS.values()]
    return [
        [len(row) // width for row in column.to_pylist()]
        for column, width in zip(table.columns, widths, strict=False)
    ]


def test_blocks_hold_the_same_reports(tmp_path: Path) -> None:
    reports = _reports(10_000)
    for name, blocks in (("rows.parquet", False), ("blocks.parquet", True)):
        rng = np.random.default_rng(1)
        write_reports(reports, str(tmp_path / name), rng=rng, blocks=blocks)
    rows, blocks_ = (str(tmp_path / f"{name}.parquet") for name in ("rows", "blocks"))
    table = pq.read_table(blocks_)
    assert table.column_names == [f"{name}_records" for name in MECHANISMS]
    assert {str(column.type) for column in table.columns} == {"binary"}
    assert _rows(Path(blocks_)) == [[4096, 4096, 1808]] * 4
    # The same order was drawn, so that all reports are equal, row by row.
    one, other = read_reports(rows), read_reports(blocks_)
    for name in MECHANISMS:
        for column, values in one[name].columns.items():
            assert np.array_equal(other[name].columns[column], values)
    assert tally_file(blocks_) == tally_file(rows)
    assert tally_file(blocks_, keep_reports=True) == tally_file(rows, keep_reports=True)
    assert tally_file(blocks_, ways=2) == tally_file(rows, ways=2)


@pytest.mark.parametrize("keep_order", [False, True])
def test_rows_are_cut_by_counts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_order: bool
) -> None:
    """Rejects a program that cuts a row where a batch, or the text of a batch, ends."""
    monkeypatch.setattr(report_writer, "BLOCK", 64)
    monkeypatch.setattr(report_writer, "_ROW_GROUP", 700)
    seen = []
    for size, answer in ((2000, 0), (137, 19), (700, None)):
        reports, path = _reports(2000, answer), str(tmp_path / f"{size}.parquet")
        with ReportWriter(
            path, MECHANISMS, True, keep_order=keep_order, rng=np.random.default_rng(2), blocks=True
        ) as writer:
            for first in range(0, 2000, size):
                writer.write({name: own[first : first + size] for name, own in reports.items()})
        assert _rows(Path(path)) == [[64] * 31 + [16]] * 4
        sizes = [pq.ParquetFile(path).metadata.row_group(i).num_rows for i in range(4)]
        assert sizes == [10, 10, 10, 2]
        seen.append(besides_reports(path))
        assert {t.n for t in tally_file(path).values()} == {2000}
    assert seen[0] == seen[1] == seen[2]


def test_the_command_writes_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("answers.csv").write_text("smokes,age\n" + "".join(f"no,{i % 100}\n" for i in range(N)))
    for name, option in (("rows", ()), ("blocks", ("--blocks",))):
        made = ("randomize", "study.toml", "answers.csv", "--seed", "7", *option)
        run(*made, "-o", f"{name}.parquet")
        run("tally", f"{name}.parquet", "--study", "study.toml", "-o", f"{name}.json")
    assert whatever_file("blocks.json") == whatever_file("rows.json")
    assert open_reports("blocks.parquet").blocks == 4096
    assert open_reports("rows.parquet").blocks is None
    said = run("randomize", "study.toml", "answers.csv", "--blocks", ok=False).output
    assert "blocks (--blocks): cannot be stored in this kind of file (CSV). Write" in said
    Path("ward.toml").write_text(STUDY + '[public.ward]\nvalues = ["north", "south"]\n')
    made = ("randomize", "ward.toml", "answers.csv", "--blocks", "-o", "x.parquet")
    assert "cannot be used with public columns" in run(*made, ok=False).output
    assert not Path("x.parquet").exists()


def test_long_reports_stand_in_shorter_rows(tmp_path: Path) -> None:
    long = UnaryEncoding(Integers(0, 2**18 - 1), 1.0)
    made = long.randomize([3, 4, 5], np.random.default_rng(1))
    path = str(tmp_path / "long.parquet")
    write_reports({"a": made}, path, blocks=True)
    assert open_reports(path).blocks == 2**26 // 2**15
    assert tally_file(path)["a"] == long.tally(made)


def _sealed(path: Path, rows: list[bytes | None], n: int, **changes: Any) -> str:
    head = {
        "format": "warner-reports",
        "schema": 3,
        "blocks": 8,
        "attributes": {"a": BITS.header},
        **changes,
    }
    end = canonical({"n": n, "sha256": UNSEALED})
    table = pa.table({"a_records": pa.array(rows, pa.binary())})
    table = table.replace_schema_metadata({"warner": json.dumps(head), "warner.end": end})
    pq.write_table(table, path)
    seal(str(path))
    return str(path)


def test_blocks_that_warner_did_not_write_are_refused(tmp_path: Path) -> None:
    reports = BITS.randomize(np.arange(20), np.random.default_rng(1))
    records = reports.record_array()
    whole, rest = records[:8].tobytes(), records[16:].tobytes()
    good = _sealed(tmp_path / "good.parquet", [whole, records[8:16].tobytes(), rest], 20)
    assert tally_file(good)["a"].n == 20
    padded = bytearray(whole)
    padded[2] |= 0b1111  # of 24 bits the last four are no answers
    cases: dict[str, tuple[type[WarnerError], str]] = {
        "short": (FileError, "8 reports in each row"),
        "long": (FileError, "8 reports in each row"),
        "gap": (ReportError, "1 empty row"),
        "cut": (ReportError, "reports, of 3 bytes each"),
        "padded": (ReportError, "a"),
        "number": (FileError, "must have 21 reports"),
    }
    rows: dict[str, list[bytes | None]] = {
        "short": [rest, whole],
        "long": [whole + whole],
        "gap": [whole, None],
        "cut": [whole, rest[:-1]],
        "padded": [bytes(padded)],
        "number": [whole, rest],
    }
    for name, (error, words) in cases.items():
        path = _sealed(tmp_path / f"{name}.parquet", rows[name], 21)
        with pytest.raises(error, match=words):
            tally_file(path)
        with pytest.raises(error, match=words):
            read_reports(path)
    for blocks in (0, 2**30, True, "8"):
        path = _sealed(tmp_path / "head.parquet", [whole], 8, blocks=blocks)
        with pytest.raises(FileError, match="reports in one row"):
            open_reports(path)
    path = _sealed(tmp_path / "columns.parquet", [whole], 8, attributes={"b": BITS.header})
    with pytest.raises(FileError, match="column that its beginning states"):
        tally_file(path)


def test_a_writer_refuses_blocks_in_other_formats(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="blocks"):
        ReportWriter(str(tmp_path / "r.csv"), MECHANISMS, blocks=True)
