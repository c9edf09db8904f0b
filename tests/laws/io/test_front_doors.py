"""A mechanism takes a data frame of any library where it takes reports: for everything registered."""

from __future__ import annotations

import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner.io import reports_frame
from warner.mechanisms import Mechanism

# Every mechanism in one library, and every layout of reports in the others.
FRAMES = [
    *((name, "pyarrow") for name in ALL),
    *((next(n for n in ALL if type(smallest(n).schema) is schema), backend)
      for schema in dict.fromkeys(type(smallest(n).schema) for n in ALL) for backend in ("polars", "pandas")),
]  # fmt: skip


def _same(mechanism: Mechanism, frame: object, column: object = None) -> None:
    reports = _reports(mechanism)
    wanted = mechanism.tally(reports)
    assert mechanism.tally(frame, column=column).marked(reports.simulated) == wanted
    found = mechanism.reports(frame, column=column)
    assert found.to_bytes(keep_order=True) == mechanism.reports(
        dict(reports.columns) if len(reports.columns) > 1 or mechanism.schema.width_as_matrix
        else next(iter(reports.columns.values()))
    ).to_bytes(keep_order=True)  # fmt: skip


@pytest.mark.parametrize("name, backend", FRAMES)
def test_a_mechanism_takes_frames(name: str, backend: str) -> None:
    mechanism = smallest(name)
    frame = reports_frame(_reports(mechanism), backend, "setting")
    _same(mechanism, frame)
    _same(mechanism, frame, "setting")
    _same(mechanism, frame, {n: f"setting_{n}" for n in mechanism.schema.file_columns()})


@pytest.mark.parametrize(
    "name", ["RandomizedResponse", "LocalHashing optimized", "SubsetSelection"]
)
def test_a_mechanism_takes_lazy_frames(name: str) -> None:
    import duckdb
    import polars as pl

    mechanism = smallest(name)
    arrow = reports_frame(_reports(mechanism))
    _same(mechanism, pl.from_arrow(arrow).lazy())
    _same(mechanism, duckdb.from_arrow(arrow))
