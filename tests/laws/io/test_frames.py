"""Data frames of any library are counted as memory is: for everything registered."""

from __future__ import annotations

import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner.io import reports_frame, tally_frame

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
    assert tally_frame(
        mechanism, reports_frame(reports, backend), simulated=reports.simulated
    ) == mechanism.tally(reports)


def test_lazy_frames_are_counted() -> None:
    import duckdb
    import polars as pl

    mechanism = smallest("LocalHashing optimized")
    reports = _reports(mechanism)
    lazy = pl.from_arrow(reports_frame(reports)).lazy()
    assert tally_frame(mechanism, lazy, simulated=True) == mechanism.tally(reports)
    found = reports_frame(reports)  # noqa: F841 - DuckDB finds it by name
    assert tally_frame(
        mechanism, duckdb.sql("SELECT * FROM found"), simulated=True
    ) == mechanism.tally(reports)
