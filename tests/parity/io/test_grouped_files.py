"""Groups counted by the database, in batches and by data frames, against counts in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner import Categorical, Integers, io
from warner._core.table import frame
from warner.domains.interval import Dates
from warner.io.foreign_files import open_foreign, tally_foreign
from warner.io.parquet_format import ParquetFormat
from warner.reports.public_columns import PublicColumn

N = 400
RNG = np.random.default_rng(3)
PUBLIC = {
    'ward "x"': PublicColumn(
        Categorical(["it's", "b;c", "ü"]), RNG.choice(["it's", "ü"], N).tolist()
    ),
    "of_0": PublicColumn(Integers(-3, 60000), RNG.choice([-3, 7, 60000], N)),
    "seen": PublicColumn(Dates("month"), RNG.choice(["2024-01-05", "2023-12-31"], N).tolist()),
    "arm": PublicColumn(Categorical([True, False]), RNG.choice([True, False], N).tolist()),
}
ASKED = ["seen", 'ward "x"', "of_0"]


def _asked(names: list[str]) -> Mapping[str, PublicColumn]:
    return {name: PUBLIC[name] for name in names}


class _InBatches(ParquetFormat):
    groups = False


# One mechanism for each layout of reports.
SCHEMAS = {type(smallest(name).schema): name for name in ALL}.values()


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_database_counts_as_batches_and_memory_do(name: str, tmp_path: Path) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, N)
    path = str(tmp_path / "reports.parquet")
    io.write_reports({"a": reports}, path, public=PUBLIC)
    known = {"a": mechanism}
    opened = io.open_reports(path).expected(known)
    wanted = mechanism.tally(reports, _asked(ASKED))
    assert io.tally_file(opened, ASKED) == {"a": wanted}
    batched = replace(opened, format=_InBatches())
    assert io.tally_file(batched, ASKED) == {"a": wanted}
    assert io.tally_file(opened) == {"a": wanted.total()}
    kept = mechanism.tally(reports, _asked(["arm"]), keep_reports=True)
    assert io.tally_file(opened, ["arm"], keep_reports=True) == {"a": kept}


@pytest.mark.parametrize("name", SCHEMAS)
def test_csv_and_frames_count_the_same_groups(name: str, tmp_path: Path) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, N)
    path = str(tmp_path / "reports.csv")
    io.write_reports({"a": reports}, path, public=PUBLIC)
    opened = io.open_reports(path).expected({"a": mechanism})
    wanted = mechanism.tally(reports, _asked(ASKED))
    assert io.tally_file(opened, ASKED) == {"a": wanted}
    days = [str(day) for day in PUBLIC["seen"].values]
    table = {n: PUBLIC[n].values for n in ASKED} | {"seen": days}
    columns = reports.to_frame(attribute="a").to_pydict()
    for backend in ("pyarrow", "polars"):
        data = frame({**columns, **{k: list(v) for k, v in table.items()}}, backend)
        domains = {n: PUBLIC[n].domain for n in ASKED}
        assert mechanism.tally(data, domains, column="a").marked() == wanted.sums()
    plain = mechanism.tally(data, ["of_0"], column="a").marked()
    assert plain.total() == wanted.sums().total() and list(plain) == [(-3,), (7,), (60000,)]


def test_several_attributes_are_counted_together_in_each_group(tmp_path: Path) -> None:
    first, second = smallest("RandomizedResponse"), smallest("UnaryEncoding optimized")
    reports = {"a": _reports(first, N), "b": _reports(second, N)}
    path = str(tmp_path / "reports.parquet")
    io.write_reports(reports, path, public=PUBLIC)
    pairs = io.tally_file(path, ["arm"], ways=2)["joint"]
    assert pairs.total() == io.tally_file(path, ways=2)["joint"] and len(pairs) == 2
    assert io.tally_file(path, ["arm"]) == {
        "a": first.tally(reports["a"], _asked(["arm"])),
        "b": second.tally(reports["b"], _asked(["arm"])),
    }


@pytest.mark.parametrize("unit", ["day", "week", "month"])
@pytest.mark.parametrize("zone", [None, "America/Havana", "-03:30"])
@pytest.mark.parametrize("name", ["RandomizedResponse", "LocalHashing over a field"])
def test_times_are_counted_on_the_date_of_each_one(
    name: str, zone: str | None, unit: str, tmp_path: Path
) -> None:
    """Rejects: the first hour of a day in Havana, which does not exist in March, as another day."""
    mechanism = smallest(name)
    first = datetime(2026, 3, 7, 20, tzinfo=UTC)
    times = [first + timedelta(minutes=11 * i) for i in range(N)]
    column = pa.array(times, pa.timestamp("us", zone or "UTC"))
    column = column if zone else column.cast(pa.timestamp("us"))
    dates = [time.date().isoformat() for time in column.to_pylist()]
    reports, domains = _reports(mechanism, N), {"seen": Dates(unit)}
    one_by_one = mechanism.tally(reports, {"seen": PublicColumn(Dates(unit), dates)})
    table = reports.to_frame("pyarrow", attribute="a").append_column("seen", column)
    pq.write_table(table.replace_schema_metadata(None), tmp_path / "reports.parquet")
    file = open_foreign(str(tmp_path / "reports.parquet"))
    assert tally_foreign(file, {"a": mechanism}, by=domains)["a"].marked() == one_by_one.sums()
    frames = [table, table.to_pandas(), table.to_reader()]
    if zone is None:
        frames.append(duckdb.from_arrow(table))
    if zone != "-03:30":  # which Polars does not know
        frames.append(nw.from_native(table).to_polars())
    for data in frames:
        counted = mechanism.tally(data, domains, column="a")
        assert counted.marked() == one_by_one.sums(), type(data)
