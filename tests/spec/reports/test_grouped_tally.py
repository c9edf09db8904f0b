"""A tally of groups is a mapping of public values to tallies, and refuses what does not fit."""

from __future__ import annotations

import datetime
import json
import operator
import re
import warnings
from functools import reduce
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import warner
from tests.refusals import refused
from warner import Categorical, Integers, RandomizedResponse, Tally, UnaryEncoding
from warner.domains.interval import Dates
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    FrameWarning,
    MismatchError,
    SmallGroupWarning,
    ValuesError,
)
from warner.io import tally_file, write_reports
from warner.reports.counting import LARGEST
from warner.reports.public_columns import Groups, PublicColumn, domain_from_spec, group_people
from warner.reports.tally import load_tallies
from warner.reports.tally_kinds import Counted

COIN = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
WARDS = ["north", "south", "north", "west"]


def _groups(mechanism: RandomizedResponse = COIN, **by: Any) -> Tally:
    reports = mechanism.randomize(mechanism.domain.decode([0, 1, 1, 0]))
    return mechanism.tally(reports, by or {"ward": WARDS, "year": [2024, 2024, 2023, 2024]})


def test_it_is_a_mapping_of_public_values() -> None:
    groups = _groups()
    assert groups.names == ("ward", "year") and groups.n == 4 and len(groups) == 4
    assert list(groups) == [("north", 2023), ("north", 2024), ("south", 2024), ("west", 2024)]
    assert ("south", 2024) in groups and ("south", 1) not in groups and ["south"] not in groups
    assert groups.get(("east", 2024)) is None and groups.get(("west", 2024)) == groups["west", 2024]
    with pytest.raises(KeyError, match=r"There is no group 'south'\. The groups are by ward, year"):
        _ = groups["south"]
    assert sum(tally.n for tally in groups.values()) == 4
    assert groups.by("year")[2023] == groups["north", 2023]
    assert groups.by("year", "ward").names == ("year", "ward")
    assert "groups=4" in repr(groups)


def test_the_counts_are_one_read_only_table() -> None:
    groups = _groups()
    assert groups.counts.shape == (4, 2) and groups.sizes.tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        groups.counts[0, 0] = 9


def test_declared_labels_keep_their_order_and_others_are_sorted() -> None:
    ward = PublicColumn(Categorical(["west", "south", "north"]), WARDS)
    assert list(_groups(ward=ward)) == [("west",), ("south",), ("north",)]
    assert list(_groups(ward=WARDS)) == [("north",), ("south",), ("west",)]
    days = [datetime.date(2024, 5, d) for d in (30, 31, 1, 2)]
    assert list(_groups(day=days)) == [(f"2024-05-{d}",) for d in ("01", "02", "30", "31")]
    assert list(_groups(day=np.array(days, dtype="datetime64[D]"))) == list(_groups(day=days))
    week = PublicColumn(Dates("week"), days)
    assert list(_groups(week=week)) == [("2024-W18",), ("2024-W22",)]
    assert list(_groups(x=np.array([True, False, True, True]))) == [(False,), (True,)]
    assert list(_groups(x=np.array(["b", "a", "b", "b"]))) == [("a",), ("b",)]


@pytest.mark.parametrize(
    "by, error, words",
    [
        ({"ward": ["north", None, "south", "west"]}, ValuesError, "'ward', position 1: .*no value"),
        ({"ward": ["north", 1.5, "south", "west"]}, ValuesError, "position 1"),
        ({"ward": ["north", float("nan"), "a", "b"]}, ValuesError, "position 1: .*got no value"),
        (
            {"ward": ["north", 3, "south", "west"]},
            ValuesError,
            "position 1: must be of the same type",
        ),
        ({"ward": np.array([0.5, 1, np.inf, 3])}, ValuesError, "position 2: .*infinity"),
        ({"ward": WARDS[:3]}, ArgumentError, "a value for each of 4 reports; got 3"),
        ({"ward": []}, ArgumentError, "got 0 values"),
        ({"ward": "north"}, ArgumentTypeError, "list"),
        ({"ward": [WARDS]}, (ValuesError, ArgumentError), "ward"),
        (
            {"ward": np.zeros((4, 2), int)},
            ArgumentTypeError,
            "column with one value for each person",
        ),
        ({}, ArgumentError, "at least one"),
        (["ward"], ArgumentTypeError, "dict of public columns"),
        ({"a,b": WARDS}, ArgumentError, "comma"),
        ({"": WARDS}, ArgumentError, "empty"),
        ({7: WARDS}, ArgumentTypeError, "must be text"),
        ({"x\x1b": WARDS}, ArgumentError, "U\\+001B"),
        ({"ward": PublicColumn(Categorical(["north", "south"]), WARDS)}, ValuesError, "position 3"),
        ({"ward": PublicColumn(Integers(0, 9), [1, 2, 3, 10])}, ValuesError, "position 3"),
        ({"ward": PublicColumn(Dates("day"), ["2024-01-01"] * 3 + ["soon"])}, ValuesError, "3: "),
    ],
)
def test_public_values_are_refused_by_position(by: Any, error: Any, words: str) -> None:
    said = refused(error, words, COIN.tally, COIN.randomize(["no"] * 4), by)
    assert "soon" not in said and "west" not in said


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (np.array([["north"] * 4]), "shape (1, 4)"),
        (np.array([["north", "south"]] * 4), "shape (4, 2)"),
        (np.full((4, 1, 1), 2), "shape (4, 1, 1)"),
        ("north", "a string"),
        (3, "an integer"),
    ],
)
@pytest.mark.parametrize("domain", [None, Categorical(["north", "south"])])
def test_what_is_no_public_column_is_named_as_it_was_typed(
    given: Any, got: str, domain: Categorical | None
) -> None:
    """Rejects "values", which nobody typed, and what answers would need."""
    rule = "by: column 'ward': must be a list, an array or a column with one value for each person"
    column = given if domain is None else PublicColumn(domain, given)
    said = refused(
        ArgumentTypeError,
        f"{rule}; got {re.escape(got)}",
        COIN.tally,
        COIN.randomize(["no"] * 4),
        {"ward": column},
    )
    assert "answer" not in said


def test_public_columns_have_domains_of_their_own_kinds() -> None:
    for bad in (warner.Interval(0, 1, 2), warner.Grid(2, 2), "ward", None):
        refused(ArgumentTypeError, "one of Categorical, Integers, Dates", PublicColumn, bad, [])
    for spec, words in (
        ({}, "must be one of 'categorical', 'integers', 'dates'; got None"),
        (None, "got None"),
        ({"kind": "grid"}, "got 'grid'"),
        ({"kind": "dates"}, "public column of kind 'dates': must have the entry 'unit'"),
        ({"kind": "dates", "unit": "year"}, "got 'year'"),
    ):
        refused(ArgumentError, words, domain_from_spec, spec)


def test_many_columns_of_many_values_are_numbered_without_overflow() -> None:
    n, rng = 500, np.random.default_rng(0)
    by = {f"c{i}": PublicColumn(Dates("day"), _days(rng, n)) for i in range(5)}
    groups = group_people(by, n)
    assert len(groups.keys) == n and sorted(groups.place.tolist()) == list(range(n))
    for i in (0, 7, 499):
        assert groups.keys[groups.place[i]] == tuple(c.values[i] for c in by.values())


def _days(rng: np.random.Generator, n: int) -> list[str]:
    return Dates("day").decode(rng.integers(0, Dates("day").size, n))


@pytest.mark.parametrize(
    ("lists", "of_both"),
    [
        ((["W49", "W50"], ["W50", "W51"], ["W52", "W53"]), ["W49", "W50", "W51", "W52", "W53"]),
        ((["week 9", "week 10"], ["week 10", "week 11"]), ["week 9", "week 10", "week 11"]),
        ((["mac", "linux"], ["mac", "linux", "android"]), ["mac", "linux", "android"]),
        (([2025, 2026], [2026, 2027]), [2025, 2026, 2027]),
    ],
)
def test_values_of_a_public_column_may_grow_from_tally_to_tally(
    lists: tuple[list[Any], ...], of_both: list[Any]
) -> None:
    parts = [_groups(week=PublicColumn(Categorical(v), [v[0]] * 4)) for v in lists]
    sums = [reduce(operator.add, ordered) for ordered in permutations(parts)]
    assert sums[0].columns == {"week": Categorical(of_both)}
    assert list(sums[0]) == [(v,) for v in of_both if v in [values[0] for values in lists]]
    assert len({one.digest for one in sums}) == 1
    assert Tally.from_json(sums[0].to_json()) == sums[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["low", "high"], ["high", "low"]),  # another order
        (["low", "high"], ["low", "middle", "high"]),  # a new value between, in no clear order
        (["North", "South"], ["North ", "West"]),  # values that look alike
        ([0, 1], [False, True]),
    ],
)
def test_values_of_a_public_column_in_no_clear_order_are_refused(
    one: list[Any], other: list[Any]
) -> None:
    tallies = [_groups(week=PublicColumn(Categorical(v), [v[0]] * 4)) for v in (one, other)]
    refused(MismatchError, "'week' in different ways", operator.add, *tallies)
    refused(MismatchError, "'week' in different ways", operator.add, *tallies[::-1])


def test_limits_of_a_public_column_may_grow_from_tally_to_tally() -> None:
    weeks = [_groups(week=PublicColumn(Integers(1, most), [most] * 4)) for most in (2, 3)]
    assert sum(weeks).columns == {"week": Integers(1, 3)} and list(sum(weeks)) == [(2,), (3,)]


def test_only_tallies_of_the_same_groups_and_mechanism_add() -> None:
    groups = _groups(ward=WARDS)
    other = _groups(RandomizedResponse(COIN.domain, 0.5), ward=WARDS)
    declared = _groups(ward=PublicColumn(Categorical(["north", "south", "west"]), WARDS))
    for wrong, words in (
        (other, "the first has epsilon|the second has"),
        (declared, "declare the public column .* in different ways.* the same order"),
        (_groups(street=WARDS), "by different columns"),
        (groups.total(), "a tally with groups and a tally without"),
    ):
        for left, right in ((groups, wrong), (wrong, groups)):
            refused(MismatchError, words, operator.add, left, right)
    real, simulated = groups, groups.marked()
    refused(MismatchError, "simulated", operator.add, real, simulated)
    assert simulated.simulated and simulated != real and simulated["north"].simulated
    assert sum([groups]) == groups
    refused(TypeError, "", operator.add, groups, 5)


def test_it_says_how_many_reports_one_person_sent() -> None:
    groups = _groups().per_person(3)
    assert groups.total().reports_per_person == 3 and groups["west", 2024].reports_per_person == 3
    assert (groups + _groups()).reports_per_person == 3
    refused(ArgumentError, "", groups.per_person, 2)


@pytest.mark.parametrize("names", [(), ("ward", "ward"), ("street",)])
def test_coarser_groups_are_by_its_own_columns(names: tuple[str, ...]) -> None:
    refused(ArgumentError, "ward, year", _groups().by, *names)


def test_more_groups_than_memory_are_refused() -> None:
    n = 2000
    many = UnaryEncoding(Integers(0, 2**16 - 1), 1.0)
    assert many.schema.cells * n > LARGEST
    reports = many.randomize(np.zeros(n, int), np.random.default_rng(0))
    refused(ArgumentError, "Group by fewer columns", many.tally, reports, {"person": np.arange(n)})


def test_files_hold_groups_or_not(tmp_path: Path) -> None:
    groups, path = _groups(), tmp_path / "groups.json"
    groups.save(path)
    assert Tally.load(path) == groups and load_tallies(path) == {"value": groups}
    assert json.loads(path.read_text())["schema"] == 6
    groups.total().save(path)
    assert Tally.load(path).columns == {} and Tally.load(path).keys() == {(): None}.keys()


def _changes() -> list[tuple[str, Any]]:
    return [
        ("sizes", [1, 1, 1, 2]),
        ("sizes", [1, 1, 1]),
        ("sizes", "many"),
        ("groups", [["north", 2023]] * 4),
        ("groups", [["north"], ["south"], ["west"], ["east"]]),
        ("groups", [["south", 2024], ["north", 2023], ["north", 2024], ["west", 2024]]),
        ("groups", [[["a"], 1], ["b", 1], ["c", 1], ["d", 1]]),
        ("by", [["ward", None]]),
        ("by", [["ward", {"kind": "grid"}], ["year", None]]),
        ("by", 7),
        ("shape", [8]),
        ("shape", [2, 4]),
        ("counts", [0.5] * 8),
        ("kind", "reports"),
        ("simulated", "yes"),
        ("reports_per_person", 0),
        ("sha256", "0" * 64),
    ]


@pytest.mark.parametrize("key, value", _changes())
def test_altered_files_are_refused(tmp_path: Path, key: str, value: Any) -> None:
    data = _groups().to_json()
    refused(FileError, "was changed", Tally.from_json, data | {key: value})
    path = tmp_path / "groups.json"
    whole = {"format": "warner-tally", "schema": 6, "attributes": {"value": data | {key: value}}}
    path.write_text(json.dumps(whole))
    refused(FileError, "", Tally.load, path)


def test_nobody_has_no_total() -> None:
    groups = _groups()
    empty = Tally(groups.header, _none(groups), Groups(groups.columns, [], groups.sizes[:0]))
    assert len(empty) == 0 and empty.n == 0 and groups + empty == groups == empty + groups
    refused(EmptyError, "", empty.total)


def _none(groups: Tally) -> Any:
    return Counted(groups.kind, groups.counts[:0], groups.sizes[:0])


@pytest.mark.parametrize("keeps", [False, True])
def test_some_of_the_groups_with_the_rest_are_all(keeps: bool) -> None:
    bits = UnaryEncoding(Categorical(["a", "b", "c"]), 1.0)
    reports = bits.randomize(["a", "b", "c", "a"] * 9)
    groups = bits.tally(reports, {"ward": WARDS * 9}, keep_reports=keeps)
    some, rest = groups.only(["south"]), groups.only([("north",), ("west",)])
    assert list(some) == [("south",)] and some["south"] == groups["south"]
    assert some.kind == groups.kind and some.sources == groups.sources
    assert some.of_others() + rest == groups and len(groups.only([])) == 0
    assert rest["west"] == groups["west"] and rest.n == 27
    assert groups.only(["south", ("south",)]) == some
    for key in (("soutt",), "soutt"):  # rejects: a group that is left out in silence
        with pytest.raises(KeyError, match="There is no group"):
            groups.only([key])
    with pytest.raises(KeyError, match="Is 'south' meant"):
        groups.only(["north", "soutt"])


def test_groups_of_few_people_warn_in_python_as_on_the_command_line(tmp_path: Path) -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    wards = ["north"] * 30 + ["south"]
    reports = coin.randomize(["no"] * 31)
    words = (
        "1 of 2 groups has fewer than 10 reports, and the smallest has 1. Public columns are not"
    )
    frame = pa.table({"ward": wards, "said": reports.columns["report"]})
    with pytest.warns(SmallGroupWarning, match=words):
        coin.tally(reports, {"ward": wards})
    with pytest.warns(SmallGroupWarning, match=words), warnings.catch_warnings():
        warnings.simplefilter("ignore", FrameWarning)
        coin.tally(frame, "ward", column="said")
    public = {"ward": PublicColumn(Categorical(["north", "south"]), wards)}
    write_reports(reports, str(tmp_path / "r.csv"), public=public)
    with pytest.warns(SmallGroupWarning, match=words):
        tally_file(str(tmp_path / "r.csv"), ["ward"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coin.tally(reports, {"ward": ["north"] * 31})
        coin.tally(coin.randomize(["no"]))


def test_groups_that_look_alike_are_said_by_arrays_frames_and_files(tmp_path: Path) -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    wards = (["North", "South"] * 20) + ["North "] * 10
    reports = coin.randomize(["no"] * 50)
    words = "Public column 'ward' has both 'North' and 'North '"
    with pytest.warns(FrameWarning, match=words):
        coin.tally(reports, pl.DataFrame({"ward": wards}))
    frame = pa.table({"ward": wards, "said": reports.columns["report"]})
    with pytest.warns(FrameWarning, match=words):
        coin.tally(frame, "ward", column="said")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_frame = coin.tally(reports, pl.DataFrame({"ward": ["North", "South"] * 25}))
        assert by_frame == coin.tally(reports, {"ward": ["North", "South"] * 25})


def test_weights_of_a_survey_are_numbers_that_files_keep(tmp_path: Path) -> None:
    weights = [0.1, 2.5, 0.1, 1 / 3]
    groups = _groups(weight=weights, ward=WARDS)
    assert [key[0] for key in groups] == sorted(key[0] for key in groups)
    assert {key[0] for key in groups} == set(weights)
    groups.save(tmp_path / "t.json")
    assert Tally.load(tmp_path / "t.json") == groups
    assert list(_groups(weight=np.array(weights), ward=WARDS)) == list(groups)
    assert groups.by("weight")[0.1,].n == 2
