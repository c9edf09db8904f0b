"""Columns of Parquet files counted while they are read, against GROUP BY and counts in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner import errors, io
from warner.io import parquet_format
from warner.io.foreign_files import open_foreign, tally_foreign
from warner.io.parquet_format import StreamedColumns, count_columns
from warner.reports.counting import LARGEST, count_values

RNG = np.random.default_rng(5)
VALUES = RNG.integers(0, 7, 10_000)
TYPES = ["uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "uint64"]


def _write(path: Path, columns: Mapping[str, Any], **options: Any) -> str:
    pq.write_table(pa.table(dict(columns)), path, **options)
    return str(path)


@pytest.mark.crossed(8)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [1, 999, 10_000])
def test_any_integers_in_any_row_groups_are_counted(
    dtype: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_format, "_ROWS", 512)  # batches cross the pages
    values = VALUES[: 1_100 * rows]  # a row group of one row takes as long as one of thousands
    other = RNG.integers(0, 3, len(values))
    columns = {"a": values.astype(dtype), "b": other.astype(dtype), "c": ["x"] * len(values)}
    path = _write(tmp_path / "1.parquet", columns, row_group_size=rows)
    again = _write(tmp_path / "2.parquet", columns, use_dictionary=False)
    wanted = np.bincount(values, minlength=9)
    counted = count_columns([path, again], {"a": 9})
    assert counted is not None and counted.tolist() == (2 * wanted).tolist()
    table = count_columns([path], {"a": 9, "b": 3})
    assert table is not None
    slow = np.zeros((9, 3), dtype=np.int64)
    np.add.at(slow, (values, other), 1)
    assert table.tolist() == slow.tolist()


@pytest.mark.crossed(4)
@pytest.mark.parametrize("dtype", ["uint32", "int32", "int64", "uint64"])
@pytest.mark.parametrize("most_rows", [2**32, 10])
def test_a_million_values_are_counted_as_one_by_one(
    dtype: str, most_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Narrow counts, and wide ones for so many rows that narrow ones would begin again at 0."""
    monkeypatch.setattr(parquet_format, "_NARROW", most_rows)
    size = parquet_format._MANY + 3
    values = np.append(RNG.integers(0, size, 20_000), [0, size - 1, size - 1]).astype(dtype)
    path = _write(tmp_path / "1.parquet", {"a": values}, row_group_size=1_000)
    other = RNG.integers(0, 2, len(values))
    pairs = _write(tmp_path / "2.parquet", {"a": values, "b": other}, row_group_size=7_000)
    counted = count_columns([path, path], {"a": size})
    assert counted is not None and counted.dtype == np.int64
    assert counted.tolist() == (2 * np.bincount(values.astype(int), minlength=size)).tolist()
    table = count_columns([pairs], {"a": size, "b": 2})
    assert table is not None
    slow = np.zeros((size, 2), dtype=np.int64)
    np.add.at(slow, (values.astype(int), other), 1)
    assert table.tolist() == slow.tolist()
    assert count_columns([path], {"a": size - 1}) is None  # one value is beyond


@pytest.mark.parametrize("number", [1_001, 65_535, 65_537, 98_303, 98_305, 200_001])
def test_bytes_are_counted_in_pairs_as_one_by_one(number: int) -> None:
    values = RNG.integers(0, 256, 2 * number).astype(np.uint8)
    for index in (values[:number], values[::2], values[1:number]):
        assert count_values(index, 256).tolist() == np.bincount(index, minlength=256).tolist()
    assert (
        count_values(values[:number] % 5, 5).tolist() == np.bincount(values[:number] % 5).tolist()
    )


def _with(value: Any, place: int = 777) -> Callable[[], pa.Array]:
    def column() -> pa.Array:
        entries: list[Any] = VALUES.tolist()
        entries[place] = value
        return pa.array(entries)

    return column


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(_with(None), id="gap"),
        pytest.param(_with(7), id="beyond"),
        pytest.param(_with(-1, 9_999), id="negative"),
        pytest.param(_with(2**40), id="huge"),
        pytest.param(lambda: pa.array(VALUES.astype(float)), id="float"),
        pytest.param(lambda: pa.array(VALUES.astype(str)), id="text"),
        pytest.param(lambda: pa.array(VALUES % 2 == 0), id="bool"),
        pytest.param(lambda: pa.array([], pa.int64()), id="no rows"),
    ],
)
def test_whatever_is_not_plainly_right_is_left_to_the_group_by(
    made: Callable[[], pa.Array], tmp_path: Path
) -> None:
    column = made()
    path = _write(tmp_path / "1.parquet", {"a": column})
    assert count_columns([path], {"a": 7}) is None

    class Judge:
        def counts(self, columns: Mapping[str, int]) -> np.ndarray:
            raise errors.ReportError("asked")

        any_breaks = None

        def groups(self) -> None:
            return None

    right = _write(tmp_path / "2.parquet", {"a": pa.array(VALUES)})
    columns = StreamedColumns([right, path], Judge())  # type: ignore[arg-type]
    if len(column):  # a file without rows adds nothing to another
        with pytest.raises(errors.ReportError, match="asked"):
            columns.counts({"a": 7})


def test_files_that_cannot_be_read_are_left_to_the_group_by(tmp_path: Path) -> None:
    path = _write(tmp_path / "1.parquet", {"a": VALUES, "x.y": VALUES})
    assert count_columns([path], {"b": 7}) is None
    assert count_columns([path], {"a": LARGEST + 1}) is None  # more counts than there is memory for
    counted = count_columns([path], {"x.y": 7})
    assert counted is None or counted.tolist() == np.bincount(VALUES, minlength=7).tolist()
    data = Path(path).read_bytes()
    torn = tmp_path / "torn.parquet"
    torn.write_bytes(data[: len(data) // 2])
    assert count_columns([path, str(torn)], {"a": 7}) is None
    torn.write_bytes(data[:100] + bytes(2_000) + data[2_100:])
    with pytest.raises(errors.FileError, match="has a part that was damaged"):
        count_columns([str(torn)], {"a": 7})
    assert count_columns([str(tmp_path / "none.parquet")], {"a": 7}) is None


@pytest.mark.parametrize("name", {type(smallest(name).schema): name for name in ALL}.values())
def test_files_are_counted_as_by_group_by_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, 300)
    path = str(tmp_path / "reports.parquet")
    io.write_reports({"a": reports}, path)
    known = io.open_reports(path).expected({"a": mechanism})
    frame = _write(tmp_path / "plain.parquet", reports.to_frame(attribute="a").to_pydict())

    def both() -> list[Any]:
        return [io.tally_file(known), tally_foreign(open_foreign(frame), {"a": mechanism})]

    fast = both()
    monkeypatch.setattr(parquet_format, "count_columns", lambda *_: None)
    assert fast == both()
    assert fast[0]["a"].counts.tolist() == mechanism.tally(reports).counts.tolist()
