"""The rule of a column of whole numbers is the same for NumPy, SQL and data frames."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from warner.errors import ReportError
from warner.reports.rules import BEYOND, GAP, WholeNumbers

COLUMNS = {
    "bytes": pa.array([0, 6, 7, 255], pa.uint8()),
    "signed": pa.array([-1, 0, 6, None, -(2**63)], pa.int64()),
    "unsigned": pa.array([0, 2**64 - 1, 6], pa.uint64()),
    "floats": pa.array([0.0, 6.0, 7.0, None, 1e18]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("size", [1, 7, 300])
def test_a_column_has_the_same_codes_everywhere(name: str, size: int) -> None:
    import narwhals.stable.v2 as nw

    column, rule = COLUMNS[name], WholeNumbers(size)
    slow = [GAP if v is None else int(v) if 0 <= v < size else BEYOND for v in column.to_pylist()]
    table = pa.table({"a": column})
    sql = rule.sql('"a"', "BIGINT")
    with duckdb.connect(":memory:") as database:
        database.register("t", table)
        assert [row[0] for row in database.execute(f"SELECT {sql} FROM t").fetchall()] == slow
    frame = nw.from_native(table)
    codes = frame.select(rule.expression("a", frame.schema["a"]).alias("code"))
    assert codes["code"].to_list() == slow
    if pa.types.is_integer(column.type):
        assert (
            rule.codes(
                [v if v is None or v < 2**63 else 2**62 for v in column.to_pylist()]
            ).tolist()
            == slow
        )
    if not column.null_count:
        values = column.to_numpy()
        assert (rule.outside(values) == (np.array(slow) == BEYOND)).all()
        assert rule.holds(values) == (BEYOND not in slow)
    if set(slow) & {GAP, BEYOND}:
        with pytest.raises(ReportError, match="without gaps" if GAP in slow else rule.text):
            rule.array(frame["a"], "a")
    else:
        assert rule.array(frame["a"], "a").tolist() == slow
