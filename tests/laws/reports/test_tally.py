"""Tallies: partitions, groups, tuples, reports as bytes, and what is forged."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.laws._reports import EVERY, _mechanism, _reports, _ways
from tests.refusals import refused
from tests.registry import ALL, COMBINED, smallest
from warner import Categorical, Tally
from warner.domains.interval import Dates
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    MismatchError,
    ReportError,
)
from warner.reports.public_columns import PublicColumn
from warner.reports.reports import Reports
from warner.reports.tally import load_tallies, save_tallies
from warner.reports.tally_kinds import BitSums, Counted, DistinctReports, Histogram


@pytest.mark.parametrize("name", EVERY)
def test_any_partition_in_any_order_gives_the_same_tally(name: str) -> None:
    mechanism = _mechanism(name)
    reports = _reports(mechanism, 200)
    rng = np.random.default_rng([*name.encode()])
    for how in _ways(mechanism):
        cuts = sorted(rng.choice(np.arange(1, 200), rng.integers(2, 6), replace=False).tolist())
        # Permanent reports of unknown rounds are added with a warning, which the sum keeps.
        parts = [
            mechanism.tally(reports[a:b], **how).of_round(1) for a, b in pairwise([0, *cuts, 200])
        ]
        whole = mechanism.tally(reports, **how).of_round(1)
        total = sum(parts[i] for i in rng.permutation(len(parts)))
        assert total == whole and whole.n == 200
        assert total.counts.tobytes() == whole.counts.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_kept_reports_are_the_distinct_ones(name: str) -> None:
    mechanism = smallest(name)
    reports = _reports(mechanism, 200)
    whole = mechanism.tally(reports, keep_reports=True).of_round(1)
    sums = mechanism.tally(reports, keep_reports=False).of_round(1)
    if not whole.kind.keeps_reports:
        assert whole == sums
        return
    assert whole.rows is not None
    assert len(whole.rows) == len(set(reports.records()))
    assert whole.counts.sum() == whole.n == 200
    if whole.kind == DistinctReports():
        with pytest.raises(MismatchError, match="must be of the same kind to be added"):
            sums + whole
    else:
        assert whole.sums() == sums
        assert whole + sums == sums + whole == sums + sums.of_others()


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
    path = tmp_path / "t.json"
    said = refused(FileError, r"has tallies of 2 questions \(a, b\)", Tally.load, path)
    assert f"Name one: Tally.load({str(path)!r}, 'a')." in said
    assert Tally.load(path, "b") == tally
    refused(ArgumentError, "must be one of the questions of", Tally.load, path, "c")


# Tallies of groups add up bit for bit, and their sum is the tally of all: for all registered.


N = 200
WARDS = np.random.default_rng(1).choice(["north", "south", "west"], N).tolist()
DAYS = [f"2024-01-{1 + i % 28:02d}" for i in range(N)]
WARD = Categorical(["west", "south", "north", "nobody"])


def _by(rows: slice) -> dict[str, PublicColumn]:
    return {
        "ward": PublicColumn(WARD, WARDS[rows]),
        "visit": PublicColumn(Dates("week"), DAYS[rows]),
    }


@pytest.mark.parametrize("name", EVERY)
def test_groups_are_the_tallies_of_their_people_and_their_total_is_that_of_all(name: str) -> None:
    mechanism = _mechanism(name)
    reports = _reports(mechanism, N)
    groups = mechanism.tally(reports, _by(slice(None)))
    assert groups.total() == mechanism.tally(reports)
    assert groups.total().counts.tobytes() == mechanism.tally(reports).counts.tobytes()
    weeks = Dates("week").decode(Dates("week").encode(DAYS))
    for key, tally in groups.items():
        rows = [i for i in range(N) if (WARDS[i], weeks[i]) == key]
        columns = {c: array[rows] for c, array in reports.columns.items()}
        assert tally == mechanism.tally(Reports(reports.header, columns, reports.simulated))
    assert groups.by("visit", "ward").by("ward") == groups.by("ward")
    assert groups.by("visit").total() == groups.total()


# One mechanism for each layout of reports, and those that send several.
LAYOUTS = [*{type(smallest(name).schema): name for name in ALL}.values(), *COMBINED]


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_partition_in_any_order_gives_the_same_groups(name: str, tmp_path: Path) -> None:
    mechanism = _mechanism(name)
    reports = _reports(mechanism, N)
    rng = np.random.default_rng(2)
    edges = [0, *sorted(rng.choice(np.arange(1, N), 3, replace=False).tolist()), N]
    parts = [
        mechanism.tally(reports[a:b], _by(slice(a, b))).of_round(1) for a, b in pairwise(edges)
    ]
    whole = mechanism.tally(reports, _by(slice(None))).of_round(1)
    assert sum(parts) == whole and sum(parts[::-1]) == whole
    first, second, third, last = parts
    assert (first + second) + (third + last) == first + ((second + third) + last)
    for part in (whole, last):
        part.save(tmp_path / "groups.json")
        again = Tally.load(tmp_path / "groups.json")
        assert again == part and list(again) == list(part) and again.columns == part.columns


@pytest.mark.parametrize("name", ["UnaryEncoding optimized", "RandomizedResponse"])
def test_kept_reports_stay_with_their_groups(name: str, tmp_path: Path) -> None:
    mechanism = _mechanism(name)
    reports = _reports(mechanism, N)
    whole = mechanism.tally(reports, _by(slice(None)), keep_reports=True)
    halves = [
        mechanism.tally(reports[rows], _by(rows), keep_reports=True)
        for rows in (slice(0, 90), slice(90, N))
    ]
    assert halves[1] + halves[0] == whole
    assert whole.total() == mechanism.tally(reports, keep_reports=True)
    whole.save(tmp_path / "groups.json")
    assert Tally.load(tmp_path / "groups.json") == whole


# Tallies of several reports of one person add up, and foreign tuples are checked.


@pytest.mark.parametrize("name", COMBINED)
def test_foreign_tuples_come_in_checked(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    reports = _reports(mechanism, 30)
    assert mechanism.reports(reports.columns).records() == reports.records()
    for column in reports.columns:
        with pytest.raises(ReportError, match=r"has no column .*; got the columns \["):
            mechanism.reports({k: v for k, v in reports.columns.items() if k != column})
        with pytest.raises(ReportError, match="columns"):
            mechanism.tally(
                Reports(
                    reports.header,
                    {k: v for k, v in reports.columns.items() if k != column}
                    or {"other": np.zeros(3)},
                )
            )
        for wrong in (-1, 2**40, 0.5, "1"):
            bad = {
                k: np.array(v, dtype=object if isinstance(wrong, str) else type(wrong))
                for k, v in reports.columns.items()
            }
            bad[column].flat[0] = wrong
            refused(ReportError, "", mechanism.reports, bad)
        if len(reports.columns) > 1:
            with pytest.raises(ReportError, match=r"equally many|same number of rows"):
                mechanism.reports({k: v[: 30 - (k == column)] for k, v in reports.columns.items()})


# Reports whose bytes or columns do not belong to their mechanism are refused.


def test_a_wire_with_a_good_checksum_and_bad_content_is_refused() -> None:
    import hashlib
    import json

    good = smallest("RandomizedResponse").randomize([0, 1, 2])
    data = good.to_bytes()[:-32]
    start = data.index(b"\n") + 1
    length = int.from_bytes(data[start : start + 4], "little")
    head, body = json.loads(data[start + 4 : start + 4 + length]), data[start + 4 + length :]
    for forged in (
        {**head, "schema": 2},
        {**head, "n": 4},
        {**head, "n": -1},
        {**head, "n": 10**30},
        {**head, "columns": 5},
        {**head, "columns": [["report", "|O", []]]},
        {**head, "columns": []},
        {**head, "header": 3},
        [],
        5,
    ):
        text = json.dumps(forged).encode()
        raw = data[:start] + len(text).to_bytes(4, "little") + text + body
        with pytest.raises((FileError, ReportError, ArgumentTypeError)):
            warner.Reports.from_bytes(raw + hashlib.sha256(raw).digest())
    with pytest.raises(FileError):
        warner.Reports.from_bytes(data[: start + 2] + hashlib.sha256(data[: start + 2]).digest())


def test_reports_carry_no_column_of_their_own() -> None:
    mechanism = smallest("RandomizedResponse")
    reports = mechanism.randomize([0, 1])
    smuggled = warner.Reports(reports.header, {**reports.columns, "answer": np.array([0, 1])})
    refused(ReportError, "and no others", mechanism.tally, smuggled)


# Tallies whose header, law or counts were forged are refused with named errors.


def test_an_altered_law_is_refused(tmp_path: Path) -> None:
    import json

    mechanism = smallest("RandomizedResponse")
    mechanism.tally(mechanism.randomize([0, 1])).save(tmp_path / "t.json")
    for key, value in (
        ("requested", 3.0),
        ("mechanism", "Unknown"),
        ("version", 2),
        ("thresholds", {"other": "0x1"}),
        ("parameters", {"no": 1}),
    ):
        data = json.loads((tmp_path / "t.json").read_text())
        entry = data["attributes"]["value"]
        entry["header"][key] = value
        forged = Tally(
            entry["header"],
            Counted.together(Histogram(), np.array(entry["counts"]), entry["sizes"][0]),
        )  # with a digest that fits
        refused(MismatchError, "", warner.estimate, forged)
        data["attributes"]["value"] = entry
        (tmp_path / "u.json").write_text(json.dumps(data))
        refused(FileError, "was changed", load_tallies, tmp_path / "u.json")


def test_a_tally_that_does_not_fit_its_mechanism_is_refused() -> None:
    mechanism = smallest("RandomizedResponse")
    for counts, n in (
        (np.array([1, 2, 3]), 6),
        (np.array([1, -1, 1, 1]), 2),
        (np.array([1, 1, 1, 1]), 5),
    ):
        with pytest.raises(MismatchError, match="has counts that"):
            warner.estimate(Tally(mechanism.header, Counted.together(Histogram(), counts, n)))
    with pytest.raises(EmptyError):
        warner.estimate(Tally(mechanism.header, Counted.together(Histogram(), np.zeros(4, int), 0)))


@pytest.mark.parametrize(
    "header",
    [None, "x", 5, [], {}, {"mechanism": ["a"]}, {"mechanism": "RandomizedResponse", "version": 1}],
    ids=repr,
)
def test_forged_headers_are_refused(header: Any) -> None:
    with pytest.raises((MismatchError, ArgumentTypeError)):
        warner.estimate(Tally(header, Counted.together(Histogram(), np.array([1, 2]), 3)))


@pytest.mark.parametrize(
    "key, value",
    [
        ("requested", 10**400),
        ("requested", None),
        ("domain", {"kind": "integers", "low": 10**400, "high": 3}),
        ("domain", {"kind": "nothing"}),
        ("domain", 3),
        ("domain", {"kind": "integers", "low": 0, "high": 2**60}),
        ("parameters", []),
        ("parameters", {"keep": [1]}),
        ("extra", 1),
    ],
    ids=repr,
)
def test_forged_laws_are_refused(key: str, value: Any) -> None:
    mechanism = smallest("UnaryEncoding symmetric")
    with pytest.raises(MismatchError):
        warner.estimate(
            Tally(
                {**mechanism.header, key: value},
                Counted.together(BitSums(), np.array([1, 2, 1, 0]), 3),
            )
        )


@pytest.mark.parametrize(
    "kind, counts, n",
    [
        ("histogram", [1], 1),
        (Histogram(), [1.5], 1),
        (Histogram(), None, 1),
        (Histogram(), [1], 1.0),
        (BitSums(), [1], 10**30),
        (Histogram(), [1], -1),
    ],
    ids=repr,
)
def test_forged_tallies_are_refused(kind: Any, counts: Any, n: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="tally"):
        Tally(
            smallest("RandomizedResponse").header,
            Counted.together(kind, None if counts is None else np.array(counts), n),
        )
