"""Report files: names of files, and reports of any size."""

from __future__ import annotations

from pathlib import Path

import pytest

import warner
from warner.io import ReportWriter, tally_file, write_reports


def test_file_names_are_names_not_patterns(here: Path) -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 1), 1.0)
    for suffix in ("csv", "parquet"):
        plain, odd = f"r1.{suffix}", f"r[1]*? '.{suffix}"
        write_reports(mechanism.reports([0, 0, 0]), plain)
        write_reports(mechanism.reports([1, 1]), odd)
        assert tally_file(odd)["value"].counts.tolist() == [0, 2]


def test_large_subsets_are_counted(here: Path) -> None:
    mechanism = warner.SubsetSelection(warner.Integers(1, 900), 0.5)
    assert mechanism.subset > 256
    reports = mechanism.randomize([1, 2, 900])
    write_reports(reports, "s.parquet")
    assert tally_file("s.parquet")["value"] == mechanism.tally(reports)


def test_a_broken_writer_leaves_nothing(here: Path) -> None:
    study = warner.Study.load("study.toml")
    for path in ("w.csv", "w.parquet"):
        with pytest.raises(RuntimeError), ReportWriter(path, study.mechanisms) as writer:
            writer.write(
                {name: m.randomize(m.domain.labels[:1] * 3) for name, m in study.mechanisms.items()}
            )
            raise RuntimeError
        with pytest.raises(warner.errors.EmptyError), ReportWriter(path, study.mechanisms):
            pass
        with (
            pytest.raises(warner.errors.MismatchError),
            ReportWriter(path, study.mechanisms) as writer,
        ):
            writer.write({"smokes": study.mechanisms["smokes"].randomize(["no"])})
    assert not [p for p in here.iterdir() if p.name.startswith((".", "w."))]
