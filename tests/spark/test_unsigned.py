"""Spark reads unsigned integers as wider ones or as decimals, and pandas writes floats: all are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner.spark
from tests.spark.test_tallying import MECHANISMS, REPORTS


@pytest.mark.parametrize(
    "dtype", [pa.uint8(), pa.uint64(), pa.decimal128(20, 0), pa.float64()], ids=str
)
def test_whole_numbers_of_any_type_are_counted(spark: Any, dtype: Any, tmp_path: Path) -> None:
    mechanism, real = MECHANISMS["index"], REPORTS["index"]
    values = pa.array(real.columns["report"], pa.int64()).cast(dtype)
    path = str(tmp_path / "reports.parquet")
    pq.write_table(pa.table({"index_report": values}), path)
    frame = spark.read.parquet(path)
    assert mechanism.tally(frame) == mechanism.tally(real)
    assert warner.spark.tally(mechanism, frame) == mechanism.tally(real)
