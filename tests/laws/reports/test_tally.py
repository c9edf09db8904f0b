"""Tallies add up bit for bit, in memory and in files: for everything registered."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import warner
from tests.laws._reports import _reports
from tests.registry import ALL, smallest
from warner import Tally
from warner.errors import ArgumentTypeError, FileError, MismatchError, ReportError
from warner.reports.tally import load_tallies, save_tallies
from warner.reports.tally_kinds import Counted, DistinctReports

NAMES = ALL


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_partition_in_any_order_gives_the_same_tally(name: str, data: st.DataObject) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, 200)
    cuts = sorted(data.draw(st.sets(st.integers(1, 199), max_size=6)))
    edges = [0, *cuts, 200]
    parts = [mechanism.tally(reports[a:b]) for a, b in pairwise(edges)]
    whole = mechanism.tally(reports)
    total = sum(data.draw(st.permutations(parts)))
    assert total == whole
    assert total.counts.tobytes() == whole.counts.tobytes()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_kept_reports_add_up_bit_for_bit(name: str, data: st.DataObject) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, 200)
    cuts = sorted(data.draw(st.sets(st.integers(1, 199), max_size=6)))
    parts = [mechanism.tally(reports[a:b], keep_reports=True) for a, b in pairwise([0, *cuts, 200])]
    whole = mechanism.tally(reports, keep_reports=True)
    assert sum(data.draw(st.permutations(parts))) == whole
    if whole.kind == DistinctReports():
        assert (
            whole.rows is not None
            and len(whole.rows) == len(set(reports.records()))
            and whole.counts.sum() == whole.n == 200
        )
        with pytest.raises(MismatchError, match="different kinds"):
            mechanism.tally(reports) + whole
    else:
        assert whole == mechanism.tally(reports)


def test_kept_reports_travel_in_files_and_are_checked(tmp_path: Path) -> None:
    mechanism = smallest("UnaryEncoding optimized")
    tally = mechanism.tally(_reports(mechanism), keep_reports=True)
    tally.save(tmp_path / "t.json")
    assert Tally.load(tmp_path / "t.json") == tally
    assert warner.estimate(tally, warner.Inversion()).probabilities == pytest.approx(
        warner.estimate(mechanism.tally(_reports(mechanism)), warner.Inversion()).probabilities
    )
    assert tally.rows is not None
    with pytest.raises(ReportError, match="padding"):
        warner.estimate(
            Tally(
                tally.header,
                Counted.together(DistinctReports(), tally.counts, tally.n, tally.rows | 1),
            )
        )
    with pytest.raises(MismatchError):
        warner.estimate(
            Tally(
                smallest("RandomizedResponse").header,
                Counted.together(DistinctReports(), tally.counts, tally.n, tally.rows),
            )
        )
    for rows in (None, tally.rows[:-1], tally.rows.astype(int)):
        with pytest.raises(ArgumentTypeError):
            Tally(tally.header, Counted.together(DistinctReports(), tally.counts, tally.n, rows))


def test_named_tallies_share_a_file(tmp_path: Path) -> None:
    mechanism = smallest("RandomizedResponse")
    tally = mechanism.tally(_reports(mechanism))
    save_tallies({"a": tally, "b": tally}, tmp_path / "t.json")
    assert load_tallies(tmp_path / "t.json") == {"a": tally, "b": tally}
    with pytest.raises(FileError, match="holds 2 tallies"):
        Tally.load(tmp_path / "t.json")
