"""Tallies of people who send several reports say so, and add."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from tests.refusals import refused
from warner import Categorical, RandomizedResponse, UnaryEncoding
from warner.errors import ArgumentError, ArgumentTypeError, FileError
from warner.reports.tally import Tally, load_tallies, merge, save_tallies

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
