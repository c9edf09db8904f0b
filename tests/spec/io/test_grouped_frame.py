"""Every engine counts reports by GROUP BY, fetches no more rows than there are values, and refuses
what is no report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import warner
from warner import Categorical, Integers, LocalHashing, PerAttribute, Product, RandomizedResponse
from warner.errors import ArgumentError, EmptyError, ReportError
from warner.io.frames import GroupedFrame
from warner.reports.reports import Reports

COIN = RandomizedResponse(Integers(0, 9), 1.0)
_RNG = np.random.default_rng(4)
N = 400
AGES = np.arange(N) % 10
WARDS = ["north", "south"] * (N // 2)
MECHANISMS = {
    "index": COIN,
    "bits": warner.UnaryEncoding(Integers(0, 9), 1.0),
    "subsets": warner.SubsetSelection(Integers(0, 9), 1.0),
    "hashes": LocalHashing(Integers(0, 9), 1.0, seeds=8),
    "a field": LocalHashing(Integers(0, 9), 1.0),
    "keys": warner.mechanisms.UtilityOptimizedRappor(Integers(0, 9), 1.0, sensitive=[1, 2]),
    "sets": warner.mechanisms.UtilityOptimizedSubset(Integers(0, 9), 1.0, range(2, 9), 3),
}
REPORTS = {name: m.randomize(AGES, _RNG) for name, m in MECHANISMS.items()}


def _duckdb(table: pa.Table) -> Any:
    return duckdb.connect(":memory:").from_arrow(table)


def _ibis(table: pa.Table) -> Any:
    import ibis  # slow, so not where the tests are collected

    return ibis.memtable(table)


ENGINES: Mapping[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda t: t.to_pandas(),
    "pandas of Arrow": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": lambda t: t,
    "polars": lambda t: pl.from_arrow(t),
    "lazy polars": lambda t: pl.from_arrow(t).lazy(),
    "duckdb": _duckdb,
    "ibis": _ibis,
}


def _table(name: str, dtype: Any = None) -> pa.Table:
    columns = MECHANISMS[name].schema.to_file(REPORTS[name].columns)
    if dtype is not None and pa.types.is_decimal(dtype):
        columns = {n: [Decimal(int(v)) for v in c] for n, c in columns.items()}
    arrays = {
        f"q_{n}": pa.array(c, dtype or pa.from_numpy_dtype(c.dtype)) for n, c in columns.items()
    }
    return pa.table({"ward": WARDS, **arrays})  # fmt: skip


def _real(name: str) -> Reports:
    return Reports(REPORTS[name].header, REPORTS[name].columns)


@pytest.mark.crossed(16)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_engine_gives_the_tally_of_the_same_reports_in_memory(engine: str, name: str) -> None:
    mechanism, real = MECHANISMS[name], _real(name)
    frame = ENGINES[engine](_table(name))
    assert mechanism.tally(frame, column="q") == mechanism.tally(real, keep_reports=False)
    slow = mechanism.tally(real, {"ward": WARDS}, keep_reports=False)
    assert mechanism.tally(frame, "ward", column="q") == slow


WHOLE = [
    *(pa.uint8(), pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.decimal128(20, 0), pa.decimal128(10, 2)),
]


@pytest.mark.crossed(16)
@pytest.mark.parametrize(
    ("engine", "dtype"),
    [
        (engine, dtype)
        for engine in ENGINES
        for dtype in WHOLE
        # pandas keeps decimals as objects.
        if not (engine == "pandas" and pa.types.is_decimal(dtype))
    ],
    ids=str,
)
def test_whole_numbers_of_any_type_are_counted(engine: str, dtype: Any) -> None:
    frame = ENGINES[engine](_table("index", dtype))
    assert COIN.tally(frame, column="q") == COIN.tally(_real("index"))


WRONG = {
    "beyond": (pa.array([1, 10], pa.uint8()), "must be from 0 to 9"),
    "below": (pa.array([1, -1], pa.int8()), "must be from 0 to 9"),
    "2^64 - 1": (pa.array([1, 2**64 - 1], pa.uint64()), "must be from 0 to 9"),
    "a gap": (pa.array([1, None], pa.int64()), "must have a report in each row"),
    "no whole number": (
        pa.array([Decimal(1), Decimal("0.5")], pa.decimal128(9, 1)),
        "whole|got Obj",
    ),
    "a huge decimal": (
        pa.array([Decimal(1), Decimal(2**100)], pa.decimal128(38, 0)),
        "0 to 9|got Obj",
    ),
    "a fraction": (pa.array([1.0, 0.5]), "numbers that are not whole; got Float64"),
    "a large float": (pa.array([1.0, 1e300]), r"must be from 0 to 9"),
    "no number": (pa.array([1.0, float("nan")]), r"must be from 0 to 9|missing values"),
    "text": (
        pa.array(["1", "0"]),
        "a column of integers; got .*. If these are answers, randomise them first",
    ),
    "truth values": (
        pa.array([True, False]),
        "a column of integers; got Bool.*If these are answers",
    ),
    "nothing": (pa.array([], pa.int64()), "no reports"),
}


@pytest.mark.crossed(26)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_report_is_refused(engine: str, wrong: str) -> None:
    column, words = WRONG[wrong]
    with pytest.raises((ReportError, EmptyError), match=words):
        COIN.tally(ENGINES[engine](pa.table({"q_report": column})), column="q")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_column_does_not_leave_the_engine(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of identifiers has as many values as rows. Two rows come back: inside and beyond."""
    fetched = []

    class Watched(GroupedFrame):
        def rows(self, columns: Mapping[str, int], most: int | None = None) -> Any:
            self._lazy = _Watch(self._lazy, fetched)
            return super().rows(columns, most)

    monkeypatch.setattr("warner.io.frames.GroupedFrame", Watched)
    frame = ENGINES[engine](pa.table({"q_report": pa.array(range(9, 5000), pa.int64())}))
    with pytest.raises(ReportError, match=r"must be from 0 to 9"):
        COIN.tally(frame, column="q")
    assert fetched == [2]


class _Watch:
    """A lazy frame that keeps the number of rows of each collect."""

    def __init__(self, lazy: Any, fetched: list[int]) -> None:
        self._lazy, self._fetched = lazy, fetched

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._lazy, name)

        def call(*args: Any, **options: Any) -> Any:
            found = method(*args, **options)
            if name == "collect":
                self._fetched.append(len(found))
                return found
            return _Watch(found, self._fetched)

        return call


def _bytes(name: str, per_row: int) -> pa.Table:
    records = REPORTS[name].record_array()
    blocks = [records[i : i + per_row].tobytes() for i in range(0, N, per_row)]
    return pa.table({"ward": WARDS[::per_row], "q_records": pa.array(blocks, pa.binary())})


@pytest.mark.crossed(18)
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pandas"])
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("per_row", [1, 100])
def test_a_column_of_bytes_holds_reports_or_blocks_of_them(
    engine: str, name: str, per_row: int
) -> None:
    mechanism, real = MECHANISMS[name], _real(name)
    frame = ENGINES[engine](_bytes(name, per_row))
    assert mechanism.tally(frame, column="q") == mechanism.tally(real, keep_reports=False)
    assert mechanism.reports(frame, column="q") == real
    wards = [ward for ward in WARDS[::per_row] for _ in range(per_row)]
    slow = mechanism.tally(real, {"ward": wards}, keep_reports=False)
    assert mechanism.tally(frame, "ward", column="q") == slow


@pytest.mark.parametrize("name", MECHANISMS)
def test_pandas_has_no_type_of_bytes(name: str) -> None:
    with pytest.raises((ReportError, ArgumentError)):
        MECHANISMS[name].tally(ENGINES["pandas"](_bytes(name, 100)), column="q")


@pytest.mark.parametrize("value", [b"", b"\0" * 3, None, b"\0\0\0\1"])
def test_bytes_that_are_no_reports_are_refused(value: bytes | None) -> None:
    subsets = MECHANISMS["subsets"]
    with pytest.raises(ReportError):
        subsets.tally(pa.table({"q_records": pa.array([value], pa.binary())}))


@pytest.mark.parametrize("engine", ["pyarrow", "lazy polars", "duckdb", "ibis"])
def test_tuples_and_kept_reports_are_counted_in_batches(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.io.frames.batches.__defaults__", (64,), raising=False)
    domain = Product(sex=Categorical(["f", "m"]), age=Integers(0, 9))
    both = PerAttribute(
        domain,
        {"sex": RandomizedResponse(domain.attributes["sex"], 1.0), "age": MECHANISMS["bits"]},
    )
    people = [{"sex": "fm"[i % 2], "age": int(a)} for i, a in enumerate(AGES)]
    reports = both.randomize(people, np.random.default_rng(3))
    real = Reports(reports.header, reports.columns)
    columns = both.schema.to_file(reports.columns)
    frame = ENGINES[engine](pa.table({f"q_{n}": c for n, c in columns.items()}))
    assert both.tally(frame, column="q") == both.tally(real)
    kept = MECHANISMS["bits"].tally(_real("bits"), keep_reports=True)
    again = ENGINES[engine](_table("bits"))
    assert MECHANISMS["bits"].tally(again, keep_reports=True, column="q") == kept
