"""Tables of groups: no tally in two groups, mixtures named, a short repr."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

from warner import (
    Categorical,
    HadamardResponse,
    RandomizedResponse,
    Tally,
    compare_groups,
    estimate,
)
from warner.errors import ArgumentError, MismatchError
from warner.reports.tally_kinds import Counted

LABELS = Categorical(["a", "b", "c"])


def _tally(mechanism: Any = None) -> Tally:
    mechanism = mechanism or RandomizedResponse(LABELS, 1.0)
    found: Tally = mechanism.tally(mechanism.randomize(["a", "b", "c"] * 40))
    return found


def test_a_tally_is_in_one_group_only() -> None:
    week, other = _tally(), _tally()
    series = {1: week, 2: other, 3: week}
    for wrong in (
        lambda: estimate(series),
        lambda: estimate({1: week, 2: week + other}),
        lambda: estimate({1: week, 2: pickle.loads(pickle.dumps(week))}, time="group"),
        lambda: compare_groups({"a": week, "b": week}),
        lambda: Tally.from_tallies("week", [week, other, week]),
        lambda: Tally.from_tallies("week", {1: week, 3: week}),
    ):
        with pytest.raises(ArgumentError, match=r"one tally in .* pass tally.of_others"):
            wrong()
    with pytest.raises(ArgumentError, match="one tally in 1 and 3"):
        estimate(series)
    with pytest.raises(ArgumentError, match="one tally in 'a' and 'b'"):
        compare_groups({"a": week, "b": week})
    assert len(estimate({1: week, 2: week.of_others()})) == 2
    assert len(Tally.from_tallies("week", [week, week.of_others()])) == 2
    # Groups with equal counts are of different people where their tallies are different ones.
    assert len(estimate({1: week, 2: Tally.from_json(week.to_json())})) == 2


def test_a_frame_that_was_not_filtered_is_noticed() -> None:
    """The same reports, counted again for each week, are different tallies with equal counts."""
    mechanism = HadamardResponse(Categorical([f"s{i}" for i in range(60)]), 2.0)
    reports = mechanism.randomize([f"s{i % 60}" for i in range(3000)])
    weeks = {week: mechanism.tally(reports) for week in (1, 2, 3)}
    for wrong in (
        lambda: estimate(weeks, time="week"),
        lambda: Tally.from_tallies("week", weeks),
    ):
        with pytest.raises(ArgumentError, match=r"equal counts in 1 and 2. Count each group's own"):
            wrong()
    others = {week: tally.of_others() for week, tally in weeks.items()}
    assert estimate(others, time="week").n == 9000
    series = Tally.from_tallies("week", others)
    assert estimate(series).n == estimate(pickle.loads(pickle.dumps(series))).n == 9000


@pytest.mark.parametrize("cells, n", [(2, 5), (2, 100), (3, 20), (4, 12), (6, 9)])
def test_a_twin_is_hardly_more_probable_than_stated(cells: int, n: int) -> None:
    """Exact, for all counts: under the law that makes the counts most probable.

    It rejects a product over counts without its square root, which counts a coin twice.
    """
    mechanism = RandomizedResponse(Categorical([f"s{i}" for i in range(cells)]), 1.0)
    kind = mechanism.tally(mechanism.randomize(["s0"])).kind
    for bars in itertools.combinations(range(n + cells - 1), cells - 1):
        edges = np.array([-1, *bars, n + cells - 1])
        counts = np.diff(edges) - 1
        chance = math.factorial(n) * math.prod(
            (int(c) / n) ** int(c) / math.factorial(int(c)) for c in counts
        )
        stated = Tally(
            mechanism.header, Counted.together(kind, counts.astype(np.int64), n)
        ).chance_of_a_twin
        assert chance <= 1.1 * stated <= 1.1


def test_groups_of_one_grouped_tally_are_different() -> None:
    coin = RandomizedResponse(LABELS, 1.0)
    groups = coin.tally(coin.randomize(["a"] * 60), {"ward": ["n", "s", "e"] * 20})
    assert len(estimate(dict(groups.items()))) == len(estimate(groups)) == 3
    with pytest.raises(ArgumentError, match="one tally in"):
        estimate({1: groups["n"], 2: groups["n"]})


@pytest.mark.parametrize(
    "other, words",
    [
        (RandomizedResponse(LABELS, 2.0), "another epsilon: 1.0 in 1 and 2.0 in 2"),
        (RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0), "another domain in 2"),
        (HadamardResponse(LABELS, 1.0), "another mechanism: RandomizedResponse in 1 and Hadamard"),
    ],
)
def test_groups_of_different_mechanisms_are_named(other: Any, words: str) -> None:
    with pytest.raises(MismatchError, match=words):
        estimate({1: _tally(), 2: _tally(other)})


def test_a_table_of_groups_shows_no_arrays() -> None:
    table = estimate({w: _tally() for w in range(4)}).groups.table
    assert repr(table) == "GroupTable(4 groups by group, K=3, n=480)"
    assert isinstance(table.shares, np.ndarray)
