"""Several reports of one person survive every file and every frame."""

from __future__ import annotations

from pathlib import Path

import pytest

import warner
from tests.laws._reports import _reports, _ways
from tests.registry import COMBINED
from tests.sampling import drawn
from warner import Reports, Tally
from warner.io import read_reports, tally_file, write_reports

NAMES = list(COMBINED)


@pytest.mark.parametrize("name", NAMES)
def test_tuples_survive_every_wire_and_are_counted_from_it_alike(name: str, tmp_path: Path) -> None:
    mechanism = COMBINED[name](1.0)
    reports = _reports(mechanism)
    reports.save(tmp_path / "r.warner", keep_order=True)
    rows_per_report = [Reports.load(tmp_path / "r.warner")]
    for suffix in ("parquet", "csv"):
        path = str(tmp_path / f"r.{suffix}")
        write_reports(reports, path, keep_order=True)
        rows_per_report.append(read_reports(path)["value"])
        assert tally_file(path) == {"value": mechanism.tally(reports)}
        for how in _ways(mechanism) if isinstance(mechanism, warner.PerAttribute) else []:
            assert tally_file(path, **how) == {"value": mechanism.tally(reports, **how)}
    for copy in rows_per_report:
        assert copy.header == reports.header and copy.to_bytes(keep_order=True) == reports.to_bytes(
            keep_order=True
        )
    for how in _ways(mechanism):
        tally = mechanism.tally(reports, **how)
        tally.save(tmp_path / "t.json")
        assert Tally.load(tmp_path / "t.json") == tally
        for backend in drawn(("pyarrow", "polars", "pandas"), 1, f"{name} {how}"):
            assert mechanism.tally(reports.to_frame(backend), **how).marked() == tally
