"""A tally is not added twice; whoever means it says so, and values, orders and files stay the same."""

from __future__ import annotations

import pickle
import warnings
from functools import reduce
from itertools import permutations
from operator import add
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from warner import (
    Categorical,
    OneOf,
    PerAttribute,
    Product,
    RandomizedResponse,
    Reports,
    Tally,
    UnaryEncoding,
    compare_groups,
    estimate,
)
from warner.errors import ArgumentError, FrameWarning, SmallGroupWarning
from warner.mechanisms import Mechanism, Repeated
from warner.reports.tally import load_tallies, merge, save_tallies

COIN = RandomizedResponse(Categorical(["no", "yes"]), 2.0)
TWICE = "must not be added twice"


def _tally(n: int = 5) -> Tally:
    return COIN.tally(COIN.randomize(["yes"] * n))


def _grouped() -> Tally:
    return COIN.tally(COIN.randomize(["yes"] * 4), {"ward": ["a", "b", "a", "b"]})


def test_a_tally_is_not_added_to_itself_or_to_a_sum_that_holds_it() -> None:
    a, b, c = _tally(), _tally(), _tally()
    for wrong in (
        lambda: a + a,
        lambda: a + (b + a),
        lambda: (a + b) + (b + c),
        lambda: sum([a, b, a]),
        lambda: merge([a, b, c, b]),
        lambda: estimate([a, a]),
        lambda: a + a.marked(False),
        lambda: a + a.per_person(3),
        lambda: a + pickle.loads(pickle.dumps(a)),
    ):
        refused(ArgumentError, TWICE, wrong)
    # A cell of a notebook that is run again.
    total = a
    total += b
    with pytest.raises(ArgumentError, match="of_others"):
        total += b


def test_groups_are_not_added_twice() -> None:
    g, h = _grouped(), _grouped()
    for wrong in (
        lambda: g + g,
        lambda: g + (h + g),
        lambda: g["a"] + g["a"],
        lambda: g.total() + g.total(),
    ):
        refused(ArgumentError, TWICE, wrong)
    assert (g["a"] + g["b"]) == g.total()
    assert (g + h).n == (g + g.of_others()).n == 8


def test_whoever_means_it_says_so() -> None:
    a = _tally()
    assert (a + a.of_others()).n == (a + Tally.from_json(a.to_json())).n == 10
    assert a.of_others() == a


def test_equal_tallies_of_different_people_are_added() -> None:
    a = COIN.reports([1, 1, 0])
    assert (COIN.tally(a) + COIN.tally(a)).n == 6  # counted twice, by two calls: not known


def test_reports_that_are_counted_twice_are_warned_of() -> None:
    """Two calls make two tallies; their counts are equal, which chance hardly makes of so many."""
    four = RandomizedResponse(Categorical(["a", "b", "c", "d"]), 2.0)
    reports = four.randomize(["a", "b", "c", "d"] * 3000)
    ward = {"ward": ["n", "s"] * 6000}
    a, b = four.tally(reports), four.tally(reports)
    g, h = four.tally(reports, ward), four.tally(reports, ward)
    for doubtful in (
        lambda: a + b,
        lambda: sum([a, b]),
        lambda: estimate([a, b]),
        lambda: estimate([g, h]),
        lambda: estimate({"x": a, "y": b}),
        lambda: compare_groups({"x": a, "y": b}),
        lambda: g + h,
    ):
        with pytest.warns(FrameWarning, match=r"12,000 reports have equal .* tally.of_others\(\)"):
            doubtful()
    # Whoever means it says so, and parts of one count are not warned of: all warnings are errors.
    others = b.of_others()
    assert (a + others).n == merge([a, b]).n == estimate([a, others]).n == 24_000
    assert len(estimate({"x": a, "y": others})) == 2
    refused(ArgumentError, TWICE, lambda: a + a)
    refused(ArgumentError, TWICE, lambda: estimate([a, a]))


def _several() -> list[tuple[Mechanism, object]]:
    """Mechanisms of several questions, or of several reports, and answers for them."""
    four = Categorical(["a", "b", "c", "d"])
    answers = {"x": ["a", "b", "c", "d"] * 3000, "y": ["a", "a", "b", "d"] * 3000}
    noisy, bits = RandomizedResponse(four, 2.0), UnaryEncoding(four, 2.0)
    both = Product(x=four, y=four)
    return [
        (PerAttribute(both, {"x": noisy, "y": noisy}), answers),
        (PerAttribute(both, {"x": noisy, "y": bits}), answers),
        (OneOf(both, 2.0), answers),
        (Repeated(noisy, 2), answers["x"]),
    ]


@pytest.mark.parametrize("case", range(4))
def test_reports_of_several_questions_are_not_counted_twice_in_silence(case: int) -> None:
    """Rejects a chance of 1 for tables, in which a report is counted more than once."""
    mechanism, answers = _several()[case]
    reports = mechanism.randomize(answers)
    a, b, ward = mechanism.tally(reports), mechanism.tally(reports), {"ward": ["n", "s"] * 6000}
    g, h = mechanism.tally(reports, ward), mechanism.tally(reports, ward)
    for doubtful in (
        lambda: a + b,
        lambda: g + h,
        lambda: estimate([a, b]),
        lambda: compare_groups({"a": a, "b": b}),
    ):
        with pytest.raises((FrameWarning, ArgumentError), match="equal counts"):
            doubtful()
    # Reports of other people are not warned of: all warnings are errors.
    assert (a + mechanism.tally(mechanism.randomize(answers))).n == 24_000


def test_a_group_that_is_counted_twice_is_warned_of() -> None:
    """Rejects a comparison of whole tallies alone: one holds all weeks, the other one of them."""
    four = RandomizedResponse(Categorical(["a", "b", "c", "d"]), 2.0)
    reports = four.randomize(["a", "b", "c", "d"] * 3000)
    weeks = four.tally(reports, {"week": [1, 2, 3] * 4000, "ward": ["n", "s"] * 6000})
    again = Tally.from_json(weeks.only([(2, "n"), (2, "s")]).to_json())
    alone = Tally.from_json(weeks.only([(3, "s")]).to_json())
    for other, where in ((again, "2, n and in 1 more"), (alone, "3, s")):
        for doubtful in (lambda t: weeks + t, lambda t: estimate([weeks, t])):
            said = rf"equal counts in the group {where}\. With .* tally.of_others\(\)"
            with pytest.warns(FrameWarning, match=said):
                doubtful(other)
        assert (weeks + other.of_others()).n == weeks.n + other.n


def test_small_groups_with_equal_counts_are_of_other_people() -> None:
    """Among 500 groups of four people, many are equal by chance."""
    answers, ward = ["no", "yes"] * 1000, {"ward": [i % 500 for i in range(2000)]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)
        tallies = [COIN.tally(COIN.randomize(answers), ward) for _ in range(3)]
    assert len(set(tallies[0].contents()[:50])) < 6
    assert (tallies[0] + tallies[1] + tallies[2]).n == 6000


def test_a_frame_that_was_put_together_with_itself_is_warned_of() -> None:
    pd = pytest.importorskip("pandas")
    reports = COIN.randomize(["no", "yes"] * 500)
    table = reports.to_frame("pandas").assign(ward=["n", "s"] * 500)
    shuffled = pd.concat([table, table]).sample(frac=1, random_state=1)
    in_order = pd.concat([table, table], ignore_index=True)
    same_label = r"same index label .* use frame.reset_index\(drop=True\)"
    same_order = (
        "Reports 1 to 1,000 stand in the data again, in the same order, from report 1,001 on"
    )
    for twice, said in ((shuffled, same_label), (in_order, same_order)):
        twice.attrs.update(table.attrs)
        for doubtful in (
            lambda frame: COIN.tally(frame),
            lambda frame: COIN.tally(frame, "ward"),
            lambda frame: COIN.tally(COIN.reports(frame)),
        ):
            with pytest.warns(FrameWarning, match=said):
                doubtful(twice)
    other = table.assign(report=1 - table["report"])
    alike = table.assign(report=1)  # of which nobody knows
    mixed = shuffled.reset_index(drop=True)
    for fine in (mixed, pd.concat([table, other]), pd.concat([alike] * 2)):
        fine.attrs.update(table.attrs)
        assert COIN.tally(fine).n == COIN.tally(COIN.reports(fine)).n == 2000


@pytest.mark.parametrize("bits", [False, True])
def test_reports_that_stand_twice_in_one_order_are_warned_of(bits: bool) -> None:
    """Also where other reports stand before, between and after them, in a frame."""
    domain = Categorical(["a", "b", "c", "d"])
    mechanism = UnaryEncoding(domain, 2.0) if bits else RandomizedResponse(domain, 2.0)
    (name,) = mechanism.schema.empty(0)
    june, july = (
        mechanism.randomize(["a", "b", "c", "d"] * many).columns[name] for many in (150, 120)
    )
    for parts, said in (
        (
            [june, june],
            "Reports 1 to 600 stand in the data again, in the same order, from report 601 on",
        ),
        (
            [june, july, june],
            "Reports 1 to 600 stand in the data again, in the same order, from report 1,081 on",
        ),
        ([july, june, june, july], "from report 1,"),
        (
            [june, june, june],
            "Reports 1 to 600 stand in the data again, in the same order, from report 601 on",
        ),
    ):
        twice = Reports(mechanism.header, {name: np.concatenate(parts)})
        with pytest.warns(FrameWarning, match=f"{said}.* second.of_others"):
            mechanism.tally(twice.to_frame())
        if all(part is june for part in parts):
            with pytest.warns(FrameWarning, match=said):
                mechanism.tally(twice)


def test_reports_in_an_order_are_not_taken_for_reports_that_stand_twice() -> None:
    """Sorted reports, patterns and reports that are all alike: of 64 kinds of rows or fewer."""
    coins = COIN.randomize(["no", "yes"] * 500).columns["report"]
    alike = np.zeros(1000, dtype=int)
    for fine in (
        np.sort(coins),
        np.concatenate([coins, alike]),
        np.concatenate([alike, coins]),
        np.tile([0, 1, 1], 400),
        np.repeat(np.tile([0, 1], 10), 100),
        np.tile(coins[:12], 2),
    ):
        assert COIN.tally(COIN.reports(fine)).n == len(fine)


def test_sums_are_the_same_in_any_order_and_files_hold_no_marks(tmp_path: Path) -> None:
    parts = [_tally(n) for n in (1, 2, 3)]
    texts = {str(reduce(add, order).to_json()) for order in permutations(parts)}
    assert len(texts) == 1 and "sources" not in texts.pop()


def test_a_file_that_is_loaded_twice_is_not_added_twice(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    _tally().save(path)
    with pytest.raises(ArgumentError, match=TWICE):
        Tally.load(path) + Tally.load(path)
    copy = tmp_path / "copy.json"
    copy.write_bytes(path.read_bytes())
    assert (Tally.load(path) + Tally.load(copy)).n == 10  # warner merge asks --allow-equal
    save_tallies({"a": _tally(), "b": _tally()}, path)
    found = load_tallies(path)
    assert (found["a"] + found["b"]).n == 10
    _grouped().save(path)
    with pytest.raises(ArgumentError, match=TWICE):
        Tally.load(path) + Tally.load(path)


def test_long_sums_forget_their_parts_and_stay_known_themselves() -> None:
    parts = [_tally(1) for _ in range(1500)]
    total = merge(parts)
    assert total.n == 1500 and len(total.sources) < 1001
    with pytest.raises(ArgumentError, match=TWICE):
        total + total


def test_distinct_reports_are_not_added_twice() -> None:
    bits = UnaryEncoding(Categorical(["no", "yes"]), 2.0)
    kept = bits.tally(bits.randomize(["no"] * 3), keep_reports=True)
    with pytest.raises(ArgumentError, match=TWICE):
        kept + kept
