"""A few bytes of a file never make much memory or time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import warner
from tests.spec.io._sealed import COIN, YES, run, sealed
from warner import Grid, Integers
from warner.io import open_reports, tally_file, write_reports
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted, Histogram

U8 = pa.uint8()


def test_subsets_of_a_million_values_cost_nothing() -> None:
    """The law is a ratio of two integers; the binomials with 280,000 factors are not worked out."""
    mechanism = warner.SubsetSelection(Integers(0, 2**20 - 1), 1.0)
    assert (
        mechanism.subset > 280_000
        and 1 - 1e-9 < mechanism.epsilon <= 1
        and not mechanism.is_enumerable
    )
    small = warner.SubsetSelection(Integers(0, 6), 1.0)
    table = small.probabilities()
    assert (table.sum(axis=0) == 1).all()
    assert max(row.max() / row.min() for row in table) == small.law.ratio()


def test_the_number_of_reports_of_one_person_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    daily = warner.mechanisms.Repeated(COIN, 2)
    deep = {**daily.header, "parameters": {"parts": [[COIN.header, 10_001]]}}
    nested = {**daily.header, "parameters": {"parts": [[deep, 1000], [deep, 1000]]}}
    monkeypatch.setattr(
        "warner.mechanisms.headers._from_header", lambda text: pytest.fail("was built")
    )
    for forged in (
        deep,
        nested,
        {**daily.header, "parameters": {"parts": [[COIN.header, 3_000_000]]}},
    ):
        with pytest.raises(warner.errors.MismatchError, match="at most 10000 reports"):
            from_header(forged)
    with pytest.raises(warner.errors.ArgumentError, match="number of reports"):
        warner.mechanisms.Repeated([COIN] * 10_001)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: warner.mechanisms.Exponential(d, 1.0),
        lambda d: warner.mechanisms.Gaussian(d, 1.0, 1e-5),
    ],
)
def test_large_grids_are_refused_before_their_points_are_made(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Grid, "points", property(lambda self: pytest.fail("points were made")))
    with pytest.raises(warner.errors.ArgumentError, match="number of values"):
        make(Grid(8192, 8192))


LARGE = {
    "RandomizedResponse": (
        warner.RandomizedResponse(Integers(0, 2**26 - 1), 1.0),
        {"a_report": [0]},
        "67,108,864 counts",
    ),
    "LocalHashing": (
        warner.LocalHashing(YES, 1.0, seeds=2**24),
        {"a_seed": [0], "a_bucket": [0]},
        "67,108,864 counts",
    ),
    "UnaryEncoding": (
        warner.UnaryEncoding(Integers(0, 2**26 - 1), 1.0),
        {"a_bits_0": [0]},
        "67,108,864 counts",
    ),
    "wide": (
        warner.UnaryEncoding(Integers(0, 2**24 - 1), 1.0),
        {"a_bits_0": [0]},
        "2097152 columns that its beginning states",
    ),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_few_bytes_do_not_make_gigabytes(
    name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a study of another size: its headers are compared before anything is built."""
    mechanism, columns, said = LARGE[name]
    kinds = {key: pa.uint32() for key in columns} | {"a_bucket": U8, "a_bits_0": U8}
    typed = {
        key: pa.array(v, kinds[key]) if suffix == "parquet" else v for key, v in columns.items()
    }
    path = sealed(str(tmp_path / f"r.{suffix}"), mechanism, typed, 1)
    study = tmp_path / "s.toml"
    study.write_text(
        '[attributes.a]\nvalues = ["no", "yes"]\nepsilon = 1.0\nmechanism = "RandomizedResponse"\n'
    )
    monkeypatch.setattr(
        "warner.io.report_file.file_columns", lambda *_: pytest.fail("names were made")
    )
    with pytest.raises(warner.errors.FileError, match=said):
        tally_file(path)
    assert said in run("tally", path, ok=False) and said in run("estimate", path, ok=False)
    monkeypatch.setattr("warner.io.report_file.from_header", lambda _: pytest.fail("was built"))
    assert "do not belong together" in run("tally", path, "--study", str(study), ok=False)


def test_a_study_may_ask_for_more_than_a_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warner.io.report_file.LARGEST", 1)
    path = str(tmp_path / "r.csv")
    write_reports(COIN.reports([0, 1]), path)
    with pytest.raises(warner.errors.FileError, match="--study"):
        tally_file(path)
    assert tally_file(open_reports(path).expected({"value": COIN}))["value"].n == 2
    with pytest.raises(warner.errors.MismatchError):
        open_reports(path).expected({"value": warner.RandomizedResponse(YES, 2.0)})
    with pytest.raises(warner.errors.MismatchError):
        open_reports(path).expected({"other": COIN})


def test_nested_brackets_are_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    brackets = "[" * 200_000 + "]" * 200_000
    path.write_text(f"#warner {brackets}\na_report\n1\n" + '#end {"n":1,"sha256":"0"}\n')
    with pytest.raises(warner.errors.FileError):
        open_reports(str(path))
    path.write_text('#warner {"format":"warner-reports","schema":null,"attributes":{}}\na_report\n')
    with pytest.raises(warner.errors.FileError, match="was changed afterwards"):
        open_reports(str(path))
    path.with_suffix(".json").write_text(brackets)
    for name in (path, path.with_suffix(".json")):
        run("estimate", str(name), ok=False)


def test_a_domain_of_millions_is_not_estimated_by_default() -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 2**20), 1.0)
    counts = np.zeros(2**20 + 1, dtype=np.int64)
    counts[0] = 1
    with pytest.raises(
        warner.errors.ArgumentError,
        match="number of values: must be at most 1,048,576 for the recommended",
    ):
        warner.estimate(Tally(mechanism.header, Counted.together(Histogram(), counts, 1)))


def test_memory_that_is_not_enough_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("warner.app.what_files_hold.load_tallies", fail)
    assert "memory: is too small for this task. Use fewer questions" in run(
        "estimate", str(tmp_path / "t.json"), ok=False
    )
