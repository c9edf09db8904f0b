"""The rules of bit reports are the same for arrays, SQL and data frames."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from warner.io.file_format import file_columns
from warner.io.frames import GroupedFrame
from warner.reports.schema import BitVector
from warner.reports.source import Histograms

SCHEMAS = {
    "padding": BitVector(13),
    "padding of one byte": BitVector(5),
    "ones": BitVector(16, ones=3),
    "ones of one byte": BitVector(8, ones=2),
    "ones and padding": BitVector(11, ones=2),
    "exclusive": BitVector(24, exclusive_mask=bytes([0, 0b1111, 0b10000001])),
    "exclusive in one byte": BitVector(24, exclusive_mask=bytes([0, 0b1111, 0])),
    "none": BitVector(16, exclusive_mask=bytes(2)),
}


def _slowly(schema: BitVector, row: np.ndarray) -> bool:
    """Whether a packed report keeps the rules, bit by bit."""
    bits = [int(b) for byte in row for b in f"{byte:08b}"]
    mask = [int(b) for byte in schema.exclusive_mask for b in f"{byte:08b}"]
    return (
        not any(bits[schema.width :])
        and (schema.ones is None or sum(bits) == schema.ones)
        and sum(b for b, m in zip(bits, mask, strict=False) if m) <= 1
    )


def _takes(schema: BitVector, source: Histograms) -> bool:
    try:
        counted = schema.count_histograms(source, list(file_columns("a", schema)))
    except warner.errors.ReportError:
        return False
    assert counted.sizes.tolist() == [1]
    return True


@pytest.mark.parametrize("name", SCHEMAS)
def test_arrays_sql_and_frames_refuse_the_same_reports(name: str, tmp_path: Path) -> None:
    import narwhals.stable.v2 as nw

    schema = SCHEMAS[name]
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 256, (14, schema.bytes), dtype=np.uint8)
    rows &= rng.integers(0, 256, rows.shape, dtype=np.uint8)
    rows[:6] &= rng.integers(0, 256, (6, schema.bytes), dtype=np.uint8)
    rows[0] = 0
    good = np.zeros(schema.width, dtype=np.uint8)
    good[: schema.ones or 0] = 1
    rows[1] = np.packbits(good)
    fine = np.array([_slowly(schema, row) for row in rows])
    assert fine.any() and (name == "none" or not fine.all())
    for row, expected in zip(rows, fine, strict=True):
        try:
            schema.check({"bits": row[None]})
            taken = True
        except warner.errors.ReportError:
            taken = False
        table = pa.table({n: row[i : i + 1] for i, n in enumerate(file_columns("a", schema))})
        path = str(tmp_path / "r.parquet")
        pq.write_table(table, path)
        by_sql = _takes(schema, GroupedFrame(nw.from_native(duckdb.read_parquet(path)).lazy()))
        by_frame = _takes(schema, GroupedFrame(nw.from_native(table).lazy()))
        assert taken == by_sql == by_frame == expected
