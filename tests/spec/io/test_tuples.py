"""Several reports of one person in files."""

from __future__ import annotations

from pathlib import Path

import pytest

import warner
from tests.spec.mechanisms._survey import SEX, _survey
from warner import Integers, PerAttribute, Product, RandomizedResponse
from warner.io import read_reports, tally_file, write_reports
from warner.mechanisms import Mechanism


def test_ways_of_one_attribute_are_refused(tmp_path: Path) -> None:
    coin = RandomizedResponse(SEX, 1.0)
    write_reports(coin.randomize(["f", "m"]), str(tmp_path / "r.csv"))
    with pytest.raises(warner.errors.ArgumentError, match="several questions"):
        tally_file(str(tmp_path / "r.csv"), ways=1)


def test_reports_of_many_attributes_are_read_though_no_table_of_all_fits(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(9)]
    large = PerAttribute(
        Product(**dict.fromkeys(names, Integers(0, 99))),
        {k: lambda d: RandomizedResponse(d, 1.0) for k in names},
    )
    reports = large.randomize({k: [1, 2] for k in names})
    path = str(tmp_path / "r.csv")
    write_reports(reports, path)
    assert sorted(read_reports(path)["value"].records()) == sorted(reports.records())
    with pytest.raises(warner.errors.ArgumentError, match="ways=2 "):
        tally_file(path)
    assert tally_file(path, ways=1)["value"].n == 2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_bad_tuples_in_a_file_are_refused(suffix: str, tmp_path: Path) -> None:
    """A file with a good seal and reports that no mechanism sends: padding that is set, a value
    beyond its size.
    """
    survey = _survey()
    reports = survey.randomize([{"sex": "f", "age": 1}, {"sex": "m", "age": 2}])
    for column, value in (("age.bits", 255), ("sex.report", 2)):
        bad = {name: array.copy() for name, array in reports.columns.items()}
        bad[column][1] = value
        forged = warner.Reports(reports.header, bad)
        path = str(tmp_path / f"{column}.{suffix}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Mechanism, "check", lambda self, r: None)
            write_reports(forged, path)
        with pytest.raises(warner.errors.ReportError, match=r"padding|sex"):
            tally_file(path)
