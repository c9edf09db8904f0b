"""Tallies of several attributes: which tables are kept, and which do not add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey, _tally
from warner import Integers, PerAttribute, Product, RandomizedResponse, UnaryEncoding, estimate
from warner.errors import ArgumentError, ArgumentTypeError, FileError, MismatchError
from warner.mechanisms import Repeated
from warner.reports.tally import Tally
from warner.reports.tally_kinds import (
    Counted,
    DistinctReports,
    Histogram,
    MarginalTables,
    tally_kind,
)


def test_ways_out_of_range_are_refused_and_too_large_tables_politely() -> None:
    survey = _survey()
    for ways in (0, 3, -1):
        refused(ArgumentError, "ways", _tally, survey, ways=ways)
    for bad in (1.0, True, "2"):
        refused(ArgumentTypeError, "ways", _tally, survey, ways=bad)
    names = [f"q{i}" for i in range(9)]
    large = PerAttribute(
        Product(**dict.fromkeys(names, Integers(0, 99))),
        {k: lambda d: RandomizedResponse(d, 1.0) for k in names},
    )
    reports = large.randomize({k: [1, 2] for k in names})
    with pytest.raises(
        ArgumentError, match=r"all 9 attributes would have 1e\+18 counts.*ways=1 or 2"
    ):
        large.tally(reports)
    pairs = large.tally(reports, ways=2)
    assert (
        pairs.counts.size == 36 * 10_000
        and estimate(pairs, attributes=["q7", "q2"]).domain.size == 10_000
    )
    hashed = PerAttribute(
        BOTH,
        {
            "sex": lambda d: RandomizedResponse(d, 1.0),
            "age": lambda d: warner.LocalHashing(d, 1.0, buckets=512, seeds=2**16),
        },
    )
    with pytest.raises(
        ArgumentError,
        match="Tally 'age' in a tally of its own; 'age' has 33554432 different reports, and fewer seeds",
    ):
        hashed.tally(hashed.randomize([{"sex": "f", "age": 1}]))


def test_tallies_of_other_products_or_ways_do_not_add() -> None:
    ours, wider = (
        _survey(),
        PerAttribute(
            Product(sex=SEX, years=AGE),
            {"sex": RandomizedResponse(SEX, 2.0), "years": UnaryEncoding(AGE, 2.0)},
        ),
    )
    with pytest.raises(MismatchError, match="do not belong together"):
        _tally(ours) + _tally(wider)
    with pytest.raises(MismatchError, match="do not belong together"):
        ours.tally(wider.randomize([{"sex": "f", "years": 1}]))
    with pytest.raises(MismatchError, match="1-way and 2-way"):
        _tally(ours, ways=1) + _tally(ours, ways=2)
    with pytest.raises(MismatchError, match="different domains"):
        estimate([_tally(ours), _tally(wider)])


def test_altered_tables_are_refused(tmp_path: Path) -> None:
    tally = _tally(_survey(), ways=2)
    for counts, n in (
        (tally.counts[:-1], tally.n),
        (-tally.counts, tally.n),
        (tally.counts, tally.n + 1),
        (tally.counts.reshape(1, -1), tally.n),
    ):
        with pytest.raises(MismatchError, match="does not fit"):
            estimate(Tally(tally.header, Counted.together(MarginalTables(2), counts, n)))
    for kind in (MarginalTables(3), Histogram(), DistinctReports()):
        with pytest.raises((MismatchError, ArgumentTypeError)):
            estimate(Tally(tally.header, Counted.together(kind, tally.counts, tally.n)))
    for name in ("0-way", "way", "-1-way", "2-way "):
        refused(ValueError, "kind", tally_kind, name)
        refused(FileError, "", Tally.from_json, {**tally.to_json(), "kind": name})
    with pytest.raises(MismatchError):
        estimate(
            Tally(
                RandomizedResponse(SEX, 1.0).header,
                Counted.together(MarginalTables(1), np.array([1, 2]), 3),
            )
        )
    tally.save(tmp_path / "t.json")
    older = (tmp_path / "t.json").read_text().replace('"schema": 6', '"schema": 5')
    (tmp_path / "u.json").write_text(older)
    refused(FileError, "schema must be 6; got 5", Tally.load, tmp_path / "u.json")


def test_ways_and_kept_reports_go_where_they_belong() -> None:
    repeated = Repeated(RandomizedResponse(AGE, 1.0), 2)
    reports = repeated.randomize([1, 2, 3])
    assert repeated.tally(reports, keep_reports=True) == repeated.tally(reports)
    refused(ArgumentError, "ways", repeated.tally, reports, ways=1)
    survey = _survey()
    with pytest.raises(ArgumentError, match="keep_reports"):
        survey.tally(survey.randomize([{"sex": "f", "age": 1}]), keep_reports=True)


def test_tables_of_many_people_are_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    people = warner.Product(a=warner.Integers(0, 9), b=warner.Categorical(["x", "y"]))
    survey = warner.PerAttribute(
        people,
        {
            "a": lambda d: warner.UnaryEncoding(d, 1.0),
            "b": lambda d: warner.RandomizedResponse(d, 1.0),
        },
    )
    reports = survey.randomize(
        [{"a": i % 10, "b": "xy"[i % 2]} for i in range(500)], np.random.default_rng(1)
    )
    whole = survey.tally(reports)
    seen = np.arange(500) % 3
    weighted = survey.count(reports.columns, repeats=seen)
    monkeypatch.setattr("warner.reports.product_schema._INDICATORS", 20 * 64)
    assert survey.tally(reports) == whole
    assert survey.count(reports.columns, repeats=seen) == weighted
