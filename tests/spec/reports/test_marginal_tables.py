"""Tallies of several attributes and of several reports of a person; forged ones are refused."""

from __future__ import annotations

import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.io._sealed import COIN as FAIR_COIN
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey, _tally
from warner import (
    Categorical,
    Integers,
    PerAttribute,
    Product,
    RandomizedResponse,
    UnaryEncoding,
    estimate,
)
from warner.errors import ArgumentError, ArgumentTypeError, FileError, MismatchError, WarnerError
from warner.mechanisms import Repeated
from warner.reports.tally import Tally, load_tallies, merge, save_tallies
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
    words = r"all 9 questions .attributes. together would have 1.00e\+18, and.*ways=2 "
    refused(ArgumentError, words, large.tally, reports)
    pairs = large.tally(reports, ways=2)
    assert pairs.counts.size == 36 * 10_000
    assert estimate(pairs, attributes=["q7", "q2"]).domain.size == 10_000
    hashed = PerAttribute(
        BOTH,
        {
            "sex": lambda d: RandomizedResponse(d, 1.0),
            "age": lambda d: warner.LocalHashing(d, 1.0, buckets=512, seeds=2**16),
        },
    )
    with pytest.raises(
        ArgumentError,
        match="Count 'age', with 33,554,432 different reports, in another tally",
    ):
        hashed.tally(hashed.randomize([{"sex": "f", "age": 1}]))


def test_tallies_of_other_products_or_ways_do_not_add() -> None:
    ours = _survey()
    wider = PerAttribute(
        Product(sex=SEX, years=AGE),
        {"sex": RandomizedResponse(SEX, 2.0), "years": UnaryEncoding(AGE, 2.0)},
    )
    with pytest.raises(MismatchError, match="do not belong together"):
        _tally(ours) + _tally(wider)
    with pytest.raises(MismatchError, match="do not belong together"):
        ours.tally(wider.randomize([{"sex": "f", "years": 1}]))
    with pytest.raises(MismatchError, match="1-way and 2-way"):
        _tally(ours, ways=1) + _tally(ours, ways=2)
    refused(MismatchError, "all be of one question", estimate, [_tally(ours), _tally(wider)])


def test_altered_tables_are_refused(tmp_path: Path) -> None:
    tally = _tally(_survey(), ways=2)
    for counts, n in (
        (tally.counts[:-1], tally.n),
        (-tally.counts, tally.n),
        (tally.counts, tally.n + 1),
        (tally.counts.reshape(1, -1), tally.n),
    ):
        with pytest.raises(MismatchError, match="has counts that"):
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
    refused(
        FileError,
        "must have format 6 for this version of warner; got 5",
        Tally.load,
        tmp_path / "u.json",
    )


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


# Tallies of people who send several reports say so, and add.


COIN = RandomizedResponse(Categorical(["no", "yes"]), 0.5)
DAYS = [COIN.tally(COIN.reports([0, 1, 1] * (day + 1))) for day in range(3)]


def test_a_tally_of_people_with_one_report_does_not_say_so() -> None:
    data = DAYS[0].to_json()
    assert "reports_per_person" not in data
    assert DAYS[0].per_person(1) == DAYS[0]


def test_the_number_is_part_of_the_file_and_of_the_digest(tmp_path: Path) -> None:
    several = DAYS[1].per_person(3)
    assert several != DAYS[1]
    assert (several.counts == DAYS[1].counts).all() and several.n == DAYS[1].n
    save_tallies({"a": several, "b": DAYS[1]}, tmp_path / "t.json")
    found = load_tallies(tmp_path / "t.json")
    assert found["a"] == several and found["a"].reports_per_person == 3
    assert found["b"] == DAYS[1] and found["b"].reports_per_person == 1


def test_an_altered_number_is_refused() -> None:
    for altered in (1, 2, 0, -1, 10**6, 2**70, "3", None, 3.0, True, [3]):
        data = DAYS[1].per_person(3).to_json() | {"reports_per_person": altered}
        refused(FileError, "", Tally.from_json, data)


def test_a_sum_keeps_the_largest_number_in_any_order() -> None:
    """At most t reports of one person: the variance grows with the most of any person."""
    parts = [DAYS[0], DAYS[1].per_person(2), DAYS[2].per_person(5)]
    sums = {merge(order).digest for order in permutations(parts)}
    assert len(sums) == 1 and merge(parts).reports_per_person == 5


def test_tallies_that_keep_reports_keep_the_number() -> None:
    bits = UnaryEncoding(Categorical(["a", "b", "c"]), 1.0)
    kept = bits.tally(bits.reports([[0, 1, 1], [1, 0, 0]] * 4), keep_reports=True).per_person(2)
    assert (kept + kept.of_others()).reports_per_person == 2
    assert kept.marked().reports_per_person == 2


def test_the_number_may_grow_and_not_shrink() -> None:
    """Three a day and then seven days: the most reports of one person is 21."""
    days = merge([DAYS[2].per_person(3).of_others() for _ in range(7)])
    assert days.per_person(21).reports_per_person == 21
    refused(ArgumentError, "at least 3", days.per_person, 2)


@pytest.mark.parametrize("wrong", [0, -1, 10_001])
def test_numbers_that_cannot_be_are_refused(wrong: int) -> None:
    refused(ArgumentError, "reports_per_person", DAYS[2].per_person, wrong)


@pytest.mark.parametrize("wrong", [1.5, "2", None, True])
def test_no_integers_are_refused(wrong: object) -> None:
    with pytest.raises(ArgumentTypeError, match="reports_per_person"):
        DAYS[2].per_person(wrong)  # type: ignore[arg-type]


# Forged tallies end in named errors.


def test_forged_tallies_are_named_errors(tmp_path: Path) -> None:
    """Entries of a tally file replaced by all kinds of JSON: never another error than the library's
    own.
    """
    FAIR_COIN.tally(FAIR_COIN.reports([0, 1])).save(tmp_path / "t.json")
    text = (tmp_path / "t.json").read_text()
    strange = [
        None,
        True,
        -1,
        2**70,
        1.5,
        "x",
        "\ud800",
        [],
        [[]],
        {},
        {"a": 1},
        [2**60],
        ["1", "2"],
        [[1, 2], [3]],
    ]
    depth = sys.getrecursionlimit()
    for key in ("header", "kind", "by", "groups", "sizes", "shape", "counts", "rows", "sha256"):
        for value in strange:
            data = json.loads(text)
            if data["attributes"]["value"].get(key) == value:
                continue
            data["attributes"]["value"][key] = value
            refused(WarnerError, "", Tally.from_json, data["attributes"]["value"])
            (tmp_path / "u.json").write_text(json.dumps(data))
            refused(WarnerError, "", Tally.load, tmp_path / "u.json")
    for levels in (depth // 2, depth, 10 * depth):
        deep = "[" * levels + "]" * levels
        (tmp_path / "u.json").write_text(text.replace('"kind": "histogram"', f'"kind": {deep}'))
        refused(WarnerError, "", Tally.load, tmp_path / "u.json")
