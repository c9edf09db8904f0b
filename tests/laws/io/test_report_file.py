"""Reports survive every file and are counted from it as from memory: for everything registered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner import Reports, Tally
from warner.io import read_reports, tally_file, write_reports

NAMES = ALL


@pytest.mark.parametrize("name", NAMES)
def test_merging_through_files_gives_the_same_tally(name: str, tmp_path: Path) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism)
    parts = []
    for i, rows in enumerate((slice(0, 123), slice(123, 124), slice(124, 500))):
        # Permanent reports of unknown rounds are added with a warning, which the sum keeps.
        mechanism.tally(reports[rows]).of_round(1).save(tmp_path / f"{i}.json")
        parts.append(Tally.load(tmp_path / f"{i}.json"))
    write_reports(reports[123:124], str(tmp_path / "one.parquet"))
    assert tally_file(str(tmp_path / "one.parquet"))["value"].of_round(1) == parts[1]
    assert sum(parts[::-1]) == mechanism.tally(reports).of_round(1)


@pytest.mark.parametrize("name", NAMES)
def test_reports_survive_the_wire(name: str, tmp_path: Path) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism)
    reports.save(tmp_path / "reports.warner", keep_order=True)
    (tmp_path / "reports.csv").write_bytes((tmp_path / "reports.warner").read_bytes())
    for name in ("reports.warner", "reports.csv"):  # known by its first bytes
        assert tally_file(str(tmp_path / name)) == {"value": mechanism.tally(reports)}
        copy = read_reports(str(tmp_path / name))["value"]
        assert copy.to_bytes(keep_order=True) == reports.to_bytes(keep_order=True)
    for suffix in ("parquet", "csv"):
        write_reports(reports, str(tmp_path / f"rows.{suffix}"), keep_order=True)
    rows_per_report = [
        Reports.load(tmp_path / "reports.warner"),
        *(read_reports(str(tmp_path / f"rows.{s}"))["value"] for s in ("parquet", "csv")),
    ]
    for copy in rows_per_report:
        assert copy.header == reports.header
        assert copy.to_bytes(keep_order=True) == reports.to_bytes(keep_order=True)
        assert mechanism.tally(copy) == mechanism.tally(reports)


@pytest.mark.crossed(51)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_are_counted_as_memory_is(name: str, suffix: str, tmp_path: Path) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism)
    path = str(tmp_path / f"reports.{suffix}")
    write_reports({"a b": reports, "quoted\"'": reports}, path)
    assert tally_file(path) == dict.fromkeys(("a b", "quoted\"'"), mechanism.tally(reports))
