"""Data frames of any library are counted as memory is: for everything registered."""

from __future__ import annotations

import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest

NAMES = ALL


# Every mechanism in one library, and every layout of reports in the others.
FRAMES = [
    *((name, "pyarrow") for name in NAMES),
    *((next(n for n in NAMES if type(smallest(n).schema) is schema), backend)
      for schema in dict.fromkeys(type(smallest(n).schema) for n in NAMES) for backend in ("polars", "pandas")),
]  # fmt: skip


@pytest.mark.parametrize("name, backend", FRAMES)
def test_frames_of_any_library_are_counted(name: str, backend: str) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism)
    assert mechanism.tally(reports.to_frame(backend)).marked() == mechanism.tally(reports).sums()


def test_lazy_frames_are_counted() -> None:
    import duckdb
    import polars as pl

    mechanism = smallest("LocalHashing optimized")
    reports = _reports(mechanism)
    lazy = pl.from_arrow(reports.to_frame()).lazy()
    assert mechanism.tally(lazy).marked() == mechanism.tally(reports)
    found = reports.to_frame()  # noqa: F841 - DuckDB finds it by name
    relation = duckdb.sql("SELECT * FROM found")
    assert mechanism.tally(relation).marked() == mechanism.tally(reports)
