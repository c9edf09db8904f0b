"""Counting and tallies against loops, and one rule in NumPy, SQL and frames."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warner.errors import ReportError
from warner.io.file_format import file_columns
from warner.io.frames import GroupedFrame
from warner.reports.counting import sum_bits, unique_rows
from warner.reports.product_schema import marginal_tables, n_cells, table_of
from warner.reports.public_columns import Groups
from warner.reports.rules import BEYOND, GAP, WholeNumbers
from warner.reports.schema import BitVector, DigitVector, IntegerColumns, ReportSchema, Rows
from warner.reports.source import Histograms
from warner.reports.tally_kinds import Histogram


@pytest.mark.parametrize("n", [1, 254, 255, 256, 5000])
@pytest.mark.parametrize("width", [1, 8, 13, 64, 256, 777])
def test_bit_sums(n: int, width: int) -> None:
    bits = np.random.default_rng(n).integers(0, 2, (n, width), dtype=np.uint8)
    assert sum_bits(np.packbits(bits, axis=1), width).tolist() == bits.sum(axis=0).tolist()


@pytest.mark.parametrize("n", [3, 300])
def test_bit_sums_of_wide_reports(n: int) -> None:
    """Reports of more bytes than are added at a time."""
    bits = np.random.default_rng(n).integers(0, 2, (n, 20_003), dtype=np.uint8)
    assert (sum_bits(np.packbits(bits, axis=1), 20_003) == bits.sum(axis=0)).all()


def test_bit_sums_of_all_ones_do_not_overflow_their_lanes() -> None:
    packed = np.full((255 * 40 + 7, 4), 255, dtype=np.uint8)
    assert sum_bits(packed, 32).tolist() == [len(packed)] * 32
    assert sum_bits(packed[:, ::2], 16).tolist() == [len(packed)] * 16  # not contiguous


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 16, 21])
def test_kinds_of_rows_are_those_of_byte_strings(width: int) -> None:
    """Few different rows among many, which differ in any of their bytes."""
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 256, (12, width), dtype=np.uint8)[rng.integers(0, 12, 300)]
    rows[:, -1] ^= rng.integers(0, 2, 300, dtype=np.uint8)
    found, place = unique_rows(rows)
    strings = [row.tobytes() for row in rows]
    assert [row.tobytes() for row in found] == sorted(set(strings))
    assert [found[i].tobytes() for i in place] == strings
    assert [part.shape for part in unique_rows(rows[:0])] == [(0, width), (0,)]


# Counts of all groups at once against counts of one group after the other.


SCHEMAS: list[ReportSchema] = [
    IntegerColumns(("report",), (5,)),
    IntegerColumns(("seed", "bucket"), (3, 4)),
    BitVector(5),
    BitVector(16),
    BitVector(19),
    DigitVector(3, 4),
]


def _columns(schema: ReportSchema, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    if isinstance(schema, BitVector):
        return schema.parse(rng.integers(0, 2, (n, schema.width)))
    if isinstance(schema, DigitVector):
        return schema.parse(rng.integers(0, schema.base, (n, schema.width)))
    assert isinstance(schema, IntegerColumns)
    sizes = zip(schema.names, schema.sizes, strict=True)
    return schema.parse({name: rng.integers(0, size, n) for name, size in sizes})


@pytest.mark.parametrize("schema", SCHEMAS, ids=repr)
@pytest.mark.parametrize("groups", [1, 3, 100])
@pytest.mark.parametrize("repeated", [False, True])
def test_each_group_has_the_counts_of_its_own_reports(
    schema: ReportSchema, groups: int, repeated: bool
) -> None:
    n, rng = 700, np.random.default_rng(5)
    columns = _columns(schema, n)
    # Some groups have one report, and some have none.
    place = np.minimum(rng.integers(0, groups, n), rng.integers(0, groups, n))
    repeats = rng.integers(0, 4, n) if repeated else None
    people = Groups({"group": None}, [(g,) for g in range(groups)], place)
    found = schema.count(Rows(columns, people, repeats))
    assert found.sizes.sum() == (n if repeats is None else repeats.sum())
    for group in range(groups):
        rows = np.flatnonzero(place == group)
        part = {name: column[rows] for name, column in columns.items()}
        one = schema.count(Rows(part, None, None if repeats is None else repeats[rows]))
        assert found.kind == one.kind and found.sizes[group] == one.sizes[0]
        assert found.counts[group].tolist() == one.counts[0].tolist()


# Tables of tuples against a loop over people.


PARTS = {
    "a": IntegerColumns(("seed", "bucket"), (3, 2)),
    "b": BitVector(3),
    "c": IntegerColumns(("report",), (4,)),
    "d": BitVector(9),
}


def _columns_of_parts(n: int) -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(n)
    return {
        "a": {
            "seed": rng.integers(0, 3, n).astype(np.uint8),
            "bucket": rng.integers(0, 2, n).astype(np.uint8),
        },
        "b": {"bits": np.packbits(rng.random((n, 3)) < 0.4, axis=1)},
        "c": {"report": rng.integers(0, 4, n).astype(np.uint8)},
        "d": {"bits": np.packbits(rng.random((n, 9)) < 0.4, axis=1)},
    }


def _rows_of(name: str, columns: dict[str, np.ndarray], i: int) -> list[int]:
    """The rows that person i's report of one attribute counts for."""
    schema = PARTS[name]
    if isinstance(schema, BitVector):
        bits = np.unpackbits(columns["bits"][i])[: schema.width]
        return [k if bit else schema.width + k for k, bit in enumerate(bits)]
    return [int(np.ravel_multi_index([columns[c][i] for c in schema.names], schema.sizes))]


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 60])
def test_tables_are_those_of_a_loop_over_people(ways: int, n: int) -> None:
    columns, seen = _columns_of_parts(n), np.random.default_rng(0).integers(1, 5, n)
    for weight in (None, seen):
        slow = []
        for names in combinations(PARTS, ways):
            table = np.zeros([PARTS[name].rows for name in names], dtype=np.int64)
            for i in range(n):
                table[np.ix_(*(_rows_of(name, columns[name], i) for name in names))] += (
                    1 if weight is None else weight[i]
                )
            slow.append(table.ravel())
        fast = marginal_tables(PARTS, columns, ways, weight)
        assert fast.tolist() == np.concatenate(slow).tolist() and fast.size == n_cells(PARTS, ways)


@pytest.mark.parametrize("ways", [2, 3, 4])
def test_a_table_of_fewer_is_summed_from_one_of_more(ways: int) -> None:
    columns = _columns_of_parts(40)
    counts = marginal_tables(PARTS, columns, ways)
    for wanted in (["a"], ["d"], ["c", "a"], ["d", "b"], ["b", "c"]):
        table = table_of(PARTS, counts, ways, wanted)
        direct = table_of(
            {name: PARTS[name] for name in wanted},
            marginal_tables({name: PARTS[name] for name in wanted}, columns, len(wanted)),
            len(wanted),
            wanted,
        )
        assert table is not None and direct is not None and table.tolist() == direct.tolist()
    assert table_of(PARTS, counts[:-1], ways, ["a"]) is None
    assert table_of(PARTS, counts, 5, ["a"]) is None


# Histograms of tuples against a loop over people.


def test_histograms_count_tuples() -> None:
    rng = np.random.default_rng(0)
    seed, bucket = rng.integers(0, 7, 1000), rng.integers(0, 3, 1000)
    kind, table, sizes, *_ = IntegerColumns(("seed", "bucket"), (7, 3)).count(
        Rows({"seed": seed.astype(np.uint8), "bucket": bucket.astype(np.uint8)})
    )
    assert kind == Histogram() and sizes.tolist() == [1000]
    assert table[0].tolist() == [
        [sum((seed == s) & (bucket == b)) for b in range(3)] for s in range(7)
    ]


# The rules of bit reports are the same for arrays, SQL and data frames.


RULED = {
    "padding": BitVector(13),
    "padding of one byte": BitVector(5),
    "ones": BitVector(16, ones=3),
    "ones of one byte": BitVector(8, ones=2),
    "ones and padding": BitVector(11, ones=2),
    "exclusive": BitVector(24, exclusive_mask=bytes([0, 0b1111, 0b10000001])),
    "exclusive in one byte": BitVector(24, exclusive_mask=bytes([0, 0b1111, 0])),
    "none": BitVector(16, exclusive_mask=bytes(2)),
    "sets or one other": BitVector(16, ones=3, exclusive_mask=bytes([0b11, 0b10000001])),
    "sets or one other in one byte": BitVector(7, ones=2, exclusive_mask=bytes([0b110])),
}


def _slowly(schema: BitVector, row: np.ndarray) -> bool:
    """Whether a packed report keeps the rules, bit by bit."""
    bits = [int(b) for byte in row for b in f"{byte:08b}"]
    mask = [int(b) for byte in schema.exclusive_mask for b in f"{byte:08b}"]
    heavy = sum(b for b, m in zip(bits, mask, strict=False) if m)
    ones = schema.ones if schema.ones is None or not heavy else 1
    return not any(bits[schema.width :]) and (ones is None or sum(bits) == ones) and heavy <= 1


def _takes(schema: BitVector, source: Histograms) -> bool:
    try:
        counted = schema.count_histograms(source, list(file_columns("a", schema)))
    except ReportError:
        return False
    assert counted.sizes.tolist() == [1]
    return True


@pytest.mark.parametrize("name", RULED)
def test_arrays_sql_and_frames_refuse_the_same_reports(name: str, tmp_path: Path) -> None:
    import narwhals.stable.v2 as nw

    schema = RULED[name]
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 256, (9, schema.bytes), dtype=np.uint8)
    rows &= rng.integers(0, 256, rows.shape, dtype=np.uint8)
    rows[:6] &= rng.integers(0, 256, (6, schema.bytes), dtype=np.uint8)
    rows[0] = 0
    good = np.zeros(schema.width, dtype=np.uint8)
    good[: schema.ones or 0] = 1
    rows[1] = np.packbits(good)
    if schema.ones and schema.exclusive_mask:
        outside = np.unpackbits(np.frombuffer(schema.exclusive_mask, np.uint8), count=schema.width)
        alone = np.eye(schema.width, dtype=np.uint8)[outside.argmax()]
        rows[2:5] = np.packbits(np.stack([alone, alone | good, good & ~alone]), axis=1)
        rows[5] = np.packbits(np.maximum(alone, outside))
    fine = np.array([_slowly(schema, row) for row in rows])
    assert fine.any() and (name == "none" or not fine.all())
    for row, expected in zip(rows, fine, strict=True):
        try:
            schema.check({"bits": row[None]})
            taken = True
        except ReportError:
            taken = False
        table = pa.table({n: row[i : i + 1] for i, n in enumerate(file_columns("a", schema))})
        path = str(tmp_path / "r.parquet")
        pq.write_table(table, path)
        by_sql = _takes(schema, GroupedFrame(nw.from_native(duckdb.read_parquet(path)).lazy()))
        by_frame = _takes(schema, GroupedFrame(nw.from_native(table).lazy()))
        assert taken == by_sql == by_frame == expected


# The rule of a column of whole numbers is the same for NumPy, SQL and data frames.


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
        with pytest.raises(
            ReportError, match="must have a report in each row" if GAP in slow else rule.text
        ):
            rule.array(frame["a"], "a")
    else:
        assert rule.array(frame["a"], "a").tolist() == slow
