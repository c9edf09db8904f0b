"""Reports that are counted twice in any order, and equal reports that were left out, are noticed."""

from __future__ import annotations

import itertools
import math
import tracemalloc
import warnings

import numpy as np
import pytest

from tests.refusals import refused
from warner import (
    Categorical,
    Interval,
    LocalHashing,
    PerAttribute,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from warner.errors import ArgumentError, FrameWarning, ReportError
from warner.mechanisms import Mechanism
from warner.mechanisms.copies import (
    counted_twice,
    least_probability,
    log_chance_of_multiples,
    log_chance_of_no_twins,
)

FOUR = Categorical(["a", "b", "c", "d"])
TWO = PerAttribute(
    {
        "plan": RandomizedResponse(FOUR, 2.0),
        "minutes": SquareWave(Interval(0, 240, bins=8), 2.0, cells=128),
    }
)


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(FOUR, 1.0),
        UnaryEncoding(FOUR, 1.0),
        UnaryEncoding(FOUR, 1.0, "sue"),
        SubsetSelection(Categorical(range(8)), 1.0),
        SquareWave(Interval(0, 1, bins=4), 1.0, cells=16),
        PerAttribute({"x": RandomizedResponse(FOUR, 1.0), "y": UnaryEncoding(FOUR, 2.0)}),
    ],
)
def test_each_report_has_the_least_probability(mechanism: Mechanism) -> None:
    """Rejects a bound above the truth, and one that says nothing."""
    exact = float(min(mechanism.probabilities().ravel()))
    assert least_probability(mechanism) == pytest.approx(exact, rel=1e-9)


def test_of_seeds_no_least_probability_is_known() -> None:
    hashed = LocalHashing(FOUR, 1.0)
    assert least_probability(hashed) == 0.0
    assert log_chance_of_multiples(hashed, np.array([1e6]), 2) == 0.0


def test_sets_of_thousands_of_values_are_no_overflow() -> None:
    subsets = SubsetSelection(Categorical(range(3000)), 1.0)
    assert log_chance_of_multiples(subsets, np.array([5000.0]), 2)[0] < -100


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(Categorical(list("abcd")), 1.0),
        RandomizedResponse(Categorical(list("ab")), 3.0),
        UnaryEncoding(Categorical(list("abc")), 1.0),
        SubsetSelection(Categorical(list("abcde")), 1.0),
        SubsetSelection(Categorical(list("abcdef")), 0.1),
    ],
)
@pytest.mark.parametrize("d", [2, 3, 5, 7])
def test_the_chance_of_multiples_is_bounded_whatever_people_answer(
    mechanism: Mechanism, d: int
) -> None:
    """Exactly, as a sum over all weights of counts, where people answer alike or differently."""
    table = mechanism.probabilities().astype(float)
    bits = mechanism.outputs().get("bits")
    width = mechanism.domain.size
    held = np.eye(width) if bits is None else np.unpackbits(bits, axis=1, count=width)
    weights = np.arange(d**width)[:, None] // d ** np.arange(width) % d
    # The mean root of unity of each list of weights under each value.
    roots = np.exp(2j * np.pi * ((weights @ held.T) % d) / d) @ table
    for n in (2, 6, 20, 60, 210):
        for answers in (np.zeros(n, int), np.arange(n) % width, np.arange(n) % 2):
            values, times = np.unique(answers, return_counts=True)
            exact = np.prod(roots[:, values] ** times, axis=1).mean().real
            bound = math.exp(log_chance_of_multiples(mechanism, np.array([float(n)]), d)[0])
            assert exact <= bound * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(FOUR, 1.0),
        RandomizedResponse(Categorical(range(6)), 3.0),
        UnaryEncoding(Categorical(list("abc")), 1.0),
        SubsetSelection(Categorical(list("abcde")), 1.0),
        SquareWave(Interval(0, 1, bins=4), 1.0, cells=6),
    ],
)
def test_the_chance_of_no_twins_is_bounded_whatever_people_answer(mechanism: Mechanism) -> None:
    """Exactly, as a sum over all different reports; of randomised response the bound is reached."""
    table = mechanism.probabilities().astype(float)
    for n in (2, 3, 4):
        bound = math.exp(log_chance_of_no_twins([mechanism], np.array([n])))
        orders = np.array(list(itertools.permutations(range(len(table)), n)))
        exact = [
            table[orders, answers].prod(axis=1).sum()
            for answers in itertools.product(range(mechanism.domain.size), repeat=n)
        ]
        assert max(exact) <= bound * (1 + 1e-9)
        if isinstance(mechanism, RandomizedResponse):
            assert max(exact) == pytest.approx(bound)
    both = log_chance_of_no_twins([mechanism], np.array([4, 1, 3]))
    each = [log_chance_of_no_twins([mechanism], np.array([size])) for size in (4, 3)]
    assert both == pytest.approx(sum(each))
    assert log_chance_of_no_twins([mechanism], np.array([len(table) + 1])) == -math.inf


def test_reports_of_many_bits_and_of_seeds_may_all_differ() -> None:
    many = Categorical(range(100))
    for mechanism in (UnaryEncoding(many, 1.0), LocalHashing(many, 1.0)):
        assert log_chance_of_no_twins([mechanism], np.array([10_000])) == 0.0
    bits = UnaryEncoding(Categorical(range(64)), 1.0)
    assert -1e-6 < log_chance_of_no_twins([bits], np.array([10_000])) <= 0.0


@pytest.mark.parametrize(
    "mechanism",
    [RandomizedResponse(FOUR, 1.0), SubsetSelection(FOUR, 1.0), UnaryEncoding(FOUR, 1.0)],
)
def test_dropped_duplicates_are_noticed_whatever_the_reports_are_passed_as(
    mechanism: Mechanism,
) -> None:
    """Rejects a look at frames alone: reports of a frame are reports of what it holds."""
    rng = np.random.default_rng(8)
    frame = mechanism.randomize(rng.choice(list("abcd"), 4000), rng).to_frame("pandas")
    frame["ward"] = rng.choice(list("klmnopqrst"), 4000)
    said = "no two with the same ward have the same reports. Among so many .* duplicates dropped"
    dropped = frame.drop_duplicates()
    with pytest.warns(FrameWarning, match=said):
        mechanism.reports(dropped)
    with pytest.warns(FrameWarning, match=said):
        mechanism.tally(dropped)
    assert mechanism.tally(mechanism.reports(frame)).n == 4000  # all warnings are errors


def test_counts_of_one_are_noticed_where_no_frame_is_left() -> None:
    """Rejects a look at rows alone, which a lazy frame and an array do not show."""
    digits = RandomizedResponse(Categorical(range(80)), 1.0)
    said = "Of 80 people, no two have the same reports"
    with pytest.warns(FrameWarning, match=said):
        digits.tally(digits.reports(np.arange(80)))
    by = {"ward": np.repeat(["n", "s"], 80)}
    with pytest.warns(FrameWarning, match="Of 160 people, no two with the same ward have"):
        digits.tally(digits.reports([*range(80), *reversed(range(80))]), by)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FrameWarning)
        digits.tally(digits.reports(np.append(np.arange(80), 3)))
        RandomizedResponse(FOUR, 1.0).tally(RandomizedResponse(FOUR, 1.0).reports([0, 1, 2, 3]))


def _frame(n: int = 3000):
    """Reports of two questions in a data frame, with a region, a month and a number."""
    pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    answers = {"plan": rng.choice(list("abcd"), n), "minutes": rng.uniform(0, 240, n)}
    frame = TWO.randomize(answers, rng).to_frame("pandas")
    return frame.assign(region=rng.choice(["n", "s"], n), month=rng.choice([1, 2], n), id=range(n))


def test_reports_that_are_counted_twice_are_noticed_in_any_order() -> None:
    pd = pytest.importorskip("pandas")
    frame = _frame()
    rows = frame.index.repeat(2)
    mixed = pd.concat([frame, frame]).sample(frac=1, random_state=1).reset_index(drop=True)
    south = frame.loc[frame.index.repeat(1 + (frame["region"] == "s"))].reset_index(drop=True)
    for twice, by, said in (
        (mixed, "region", "All counts of people are even"),
        (mixed, None, "All counts of people are even"),
        (south, "region", "All counts of region s are even"),
        (south, ["month", "region"], "All counts of region s are even"),
        (frame.loc[rows].reset_index(drop=True), "region", "always stand together in even numbers"),
    ):
        with pytest.warns(
            FrameWarning,
            match=f"{said}.* Do not drop rows only because they are equal: equal reports",
        ):
            TWO.tally(twice, by)
    with pytest.warns(FrameWarning, match="All counts of people are even"):
        TWO.tally(TWO.reports(mixed), {"region": mixed["region"]})


def test_reports_without_duplicates_are_noticed() -> None:
    frame = _frame()
    own = frame.drop(columns="id")
    for without, by, said in (
        (
            own.drop_duplicates(),
            "region",
            "no two with the same region and month have the same reports",
        ),
        (
            own.drop_duplicates(),
            None,
            "no two with the same region and month have the same reports",
        ),
        (
            frame.drop_duplicates([*frame.columns[:2], "region"]),
            "region",
            "no two with the same region have the same reports",
        ),
    ):
        said += ". Among so many people, some reports should be the same. Were duplicates dropped"
        with pytest.warns(FrameWarning, match=said):
            assert TWO.tally(without, by).n == len(without) < 3000
    # All warnings are errors: people with a number, few people, and a frame as it was.
    for fine in (frame, own, own.drop_duplicates().iloc[:40]):
        assert TWO.tally(fine).n == len(fine)


def test_reports_that_are_counted_three_times_are_noticed() -> None:
    """Rejects a test of even counts alone, and one of whole columns: a region in one month."""
    pd = pytest.importorskip("pandas")
    frame = _frame()
    mixed = pd.concat([frame] * 3).sample(frac=1, random_state=1).reset_index(drop=True)
    chosen = (frame["region"] == "s") & (frame["month"] == 2)
    part = frame.loc[frame.index.repeat(1 + 2 * chosen)].sample(frac=1, random_state=1)
    for often, by, said in (
        (mixed, None, "All counts of people are multiples of 3"),
        (mixed, "region", "All counts of people are multiples of 3"),
        (
            part.reset_index(drop=True),
            ["region", "month"],
            "All counts of region s, month 2 are multiples of 3",
        ),
    ):
        with pytest.warns(FrameWarning, match=said):
            TWO.tally(often, by)


def test_few_people_and_answers_with_hardly_any_noise_are_not_taken_for_copies() -> None:
    """Rejects a bound that forgets the noise: without it, even answers make even counts."""
    many = Categorical(range(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FrameWarning)
        for mechanism in (RandomizedResponse(many, 23.0), UnaryEncoding(many, 44.0, "sue")):
            tally = mechanism.tally(
                mechanism.randomize(np.repeat(range(60), 20), np.random.default_rng(1))
            )
            assert (tally.common_factors() % 2 == 0).all()
        coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        coin.tally(coin.reports([0, 0, 1, 1] * 500))


def test_many_small_groups_are_looked_at_together() -> None:
    """Rejects a pass over all groups for each of them: a household is a group."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    tally = coin.tally(
        coin.reports([0, 1, 1] * 1000 + [1, 0, 0, 1] * 750), {"household": [*range(3000)] * 2}
    )
    tracemalloc.start()
    try:
        assert counted_twice({"value": coin}, {"value": tally}) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1000 * len(tally)  # bytes; a byte for each pair would be more


def test_a_misspelt_name_is_told_the_right_one() -> None:
    frame = _frame(200)
    refused(
        ArgumentError, r"got 'Region'\. Is 'region' meant\?", TWO.tally, frame, ["Region", "month"]
    )
    tally = TWO.tally(frame, "region")
    refused(ArgumentError, "Is 'minutes' meant", estimate, tally, attributes="minute")
    answers = frame[["region"]].assign(plan="a", minutes=3.0)
    refused(ReportError, "answers, randomise them first: mechanism.randomize", TWO.tally, answers)
