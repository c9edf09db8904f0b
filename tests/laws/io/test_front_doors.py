"""A mechanism takes a data frame of any library where it takes reports: for everything registered."""

from __future__ import annotations

import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner import Reports
from warner.mechanisms import Mechanism

# Every mechanism in one library, and every layout of reports in the others.
FRAMES = [
    *((name, "pyarrow") for name in ALL),
    *((next(n for n in ALL if type(smallest(n).schema) is schema), backend)
      for schema in dict.fromkeys(type(smallest(n).schema) for n in ALL) for backend in ("polars", "pandas")),
]  # fmt: skip


def _same(mechanism: Mechanism, frame: object, column: object = None) -> None:
    reports = _reports(mechanism)
    wanted = mechanism.tally(reports).sums()  # frames are counted as sums of bits
    assert mechanism.tally(frame, column=column).marked(reports.simulated) == wanted
    found = mechanism.reports(frame, column=column)
    (first, *more), matrix = reports.columns.values(), mechanism.schema.width_as_matrix
    bare = mechanism.reports(dict(reports.columns) if more or matrix else first)
    assert found == Reports(bare.header, bare.columns, found.simulated)


@pytest.mark.parametrize("name, backend", FRAMES)
def test_a_mechanism_takes_frames(name: str, backend: str) -> None:
    mechanism = smallest(name)
    frame = _reports(mechanism).to_frame(backend, "setting")
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
    arrow = _reports(mechanism).to_frame()
    _same(mechanism, pl.from_arrow(arrow).lazy())
    _same(mechanism, duckdb.from_arrow(arrow))
