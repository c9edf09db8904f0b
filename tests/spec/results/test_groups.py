"""Groups of people: tables, pooled estimates, series and weights."""

from __future__ import annotations

import io
import itertools
import json
import math
import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl  # type: ignore[import-untyped]
import pytest

import warner
from tests.refusals import refused
from tests.spec.results._tallies import MECHANISM, SHARES, drawn
from warner import (
    Categorical,
    Estimate,
    HadamardResponse,
    Integers,
    PerAttribute,
    Product,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    compare_groups,
    estimate,
    weighted,
)
from warner.designs import ForcedResponse
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    SmallGroupWarning,
)
from warner.metrics import project
from warner.reports.tally_kinds import Counted
from warner.results.pooling import kept_mean, time_as_number
from warner.results.weights import WeightStatus


@pytest.mark.parametrize("name", ["error", "summary", "measure", "value"])
def test_a_public_column_that_is_called_like_one_of_a_table_keeps_its_groups(name: str) -> None:
    """Rejects a table in which the numbers of that column stand in place of the groups."""
    device, rng = warner.SquareWave(warner.Interval(0, 10, 20), 2.0), np.random.default_rng(1)
    tally = device.tally(device.randomize(rng.uniform(0, 10, 300)), by={name: list("xy") * 150})
    result = estimate(tally)
    assert set(result.table().to_frame()[f"{name} (public)"].to_pylist()) == {"x", "y"}
    assert set(result.to_frame()[f"{name} (public)"].to_pylist()) == {"x", "y"}


def test_a_small_group_has_all_its_reports_in_a_table_of_items() -> None:
    """Rejects "0 people asked" of a group in which nobody was asked some two items together."""
    text = '[attributes.used]\nitems = ["a", "b", "c", "d"]\neach = "pair"\nepsilon = 2.0\n'
    device, rng = warner.Study.parse(text).mechanisms["used"], np.random.default_rng(1)
    reports = device.randomize([["a", "b"], ["a"]] * 103, rng)
    tally = device.tally(reports, by={"ward": ["north"] * 203 + ["south"] * 3})
    rows = [row for row in estimate(tally).table().rows if row["ward"] == "south"]
    assert sum(row["reports"] for row in rows) == 2 * 3
    for row in rows:
        alone = estimate(tally, attributes=row["item"]).rows()[-1]
        assert alone["ward"] == "south" and row["reports"] == alone["reports"]


def test_a_mapping_gives_groups_and_a_tally_an_estimate() -> None:
    groups = drawn(1, [100, 200, 300])
    found = estimate(groups)
    assert (len(found), found.pool, found.names) == (3, "none", ("group",))
    assert estimate(groups["a",]).probabilities.shape == (4,)
    with pytest.raises(ArgumentError, match="weights: cannot be used for groups"):
        found.interval(weights=np.eye(4))
    with pytest.raises(ArgumentTypeError, match="pool: can be used only for groups"):
        estimate(groups["a",], pool="none")


@pytest.mark.parametrize("pool", ["partial", "none"])
@pytest.mark.parametrize("sizes", [[50, 1, 0], [1, 1, 1], [0, 0, 3], [5000, 2, 400]])
def test_shares_are_distributions_and_nothing_is_nan(sizes: list[int], pool: str) -> None:
    found = estimate(drawn(2, sizes), pool=pool)
    assert found.probabilities.sum(axis=1) == pytest.approx(np.ones(3))
    assert (found.probabilities >= 0).all()
    bounds = found.interval()
    assert np.isfinite(bounds).all() and (bounds[..., 0] <= bounds[..., 1]).all()
    assert (bounds[..., 0] <= found.probabilities + 1e-12).all()
    json.dumps(found.to_json(), allow_nan=False)
    status = [row["status"] for row in found.rows()[::4]]
    expected = {"partial": "pooled", "none": "alone"}[pool]
    assert status == [expected if n else "no_reports" for n in sizes]


def test_a_group_without_reports_has_no_estimate_of_its_own() -> None:
    groups = drawn(2, [50, 60, 0])
    assert estimate(groups, pool="none").rows()[-1]["estimate"] is None
    assert estimate(groups, pool="none").interval()[2].tolist() == [[0, 1]] * 4
    row = estimate(groups, pool="partial").rows()[-1]
    assert row["reports"] == 0 and 0 < row["estimate"] < 1


def test_groups_alone_are_what_estimate_makes_of_each() -> None:
    """Rejects groups that are pooled although nobody asked for it."""
    groups = drawn(3, [300, 400, 50, 20])
    found = estimate(groups)
    assert found.pool == "none"
    for key, tally in groups.items():
        own = estimate(tally)
        assert found[key] == own
        # The table of a group says which group it is of.
        assert str(found[key]).startswith(f"group {key[0]}: {tally.n} simulated reports\n")
        assert found[key] is found[key], "a copy computes its intervals again"
        assert found.interval()[found.keys.index(key)] == pytest.approx(own.interval())


def test_equal_groups_are_drawn_together_and_different_ones_are_not() -> None:
    alike = estimate(drawn(4, [500] * 20), pool="partial")
    apart = np.ptp(alike.probabilities, axis=0).max()
    assert apart < np.ptp(alike.groups.table.shares, axis=0).max() / 2
    far = {(i,): MECHANISM.tally(MECHANISM.randomize([i % 4] * 5000)) for i in range(8)}
    found = estimate(far, pool="partial")
    assert found.probabilities.max(axis=1).min() > 0.9
    assert found.groups.concentration is not None and alike.groups.concentration is not None
    assert found.groups.concentration < 2 < alike.groups.concentration


def test_wald_intervals_hold_for_every_group_and_are_wider() -> None:
    found = estimate(drawn(5, [200] * 12), pool="partial")
    posterior, own = found.interval(), found.interval(kind="wald")
    assert np.diff(own).mean() > 1.5 * np.diff(posterior).mean()
    single = estimate(drawn(5, [200] * 12)["a",], warner.Inversion())
    assert own[0] == pytest.approx(single.interval(kind="wald"))
    assert found.to_json()["interval"]["holds"] == "on average over groups"
    with pytest.raises(ArgumentError, match="Use kind='score'"):
        found.interval(kind="posterior", target="respondents")
    assert found.interval(target="respondents")[0, 0, 0] > own[0, 0, 0]


@pytest.mark.parametrize("mechanism", [MECHANISM, UnaryEncoding(Integers(0, 3), 2.0)])
def test_pooling_keeps_the_shares_of_all_people(mechanism: Any) -> None:
    groups = {}
    for g in range(30):
        shares = np.random.default_rng(g).dirichlet(np.full(4, 0.3))
        groups[g] = drawn(g, [40], mechanism, shares)["a",]
    found = estimate(groups, pool="partial")
    assert found.groups and found.groups.posterior is not None
    assert (found.groups.posterior.mean < 0).any()  # so that the simplex matters
    pooled = found.groups.posterior.mean.mean(axis=0)
    assert found.probabilities.mean(axis=0) == pytest.approx(pooled, abs=1e-6)


def test_projection_alone_raises_small_shares() -> None:
    """The mutant that projects each group by itself, and does not rake."""
    rng = np.random.default_rng(0)
    shares = np.array([0.9, 0.05, 0.03, 0.02]) + rng.normal(0, 0.1, (500, 4)) @ (np.eye(4) - 0.25)
    mean = shares.mean(axis=0)
    assert kept_mean(project(shares.T).T, shares, np.ones(500)).mean(axis=0) == pytest.approx(
        mean, abs=1e-6
    )
    mutant = np.stack([warner.metrics.project(row) for row in shares])
    assert mutant.mean(axis=0)[3] > 1.3 * mean[3]


def test_paths_follow_time_in_every_other_column() -> None:
    rng = np.random.default_rng(7)
    groups = {}
    for ward in ("x", "y"):
        for week in range(1, 13):
            yes = 0.2 + 0.03 * week if ward == "x" else 0.6
            answers = rng.choice(4, 400, p=[yes, 0.9 - yes, 0.05, 0.05]).tolist()
            groups[ward, f"2024-W{week:02d}"] = MECHANISM.tally(
                MECHANISM.randomize(answers, rng=rng)
            )
    found = estimate(groups, time="column 2")
    assert (found.pool, found.groups.time) == ("path", "column 2")
    x = found.probabilities[:12, 0]
    assert x[-3:].mean() - x[:3].mean() > 0.15
    rough = found.groups.table.shares[:12, 0]
    assert np.abs(np.diff(x)).sum() < np.abs(np.diff(rough)).sum()
    truth = np.r_[0.2 + 0.03 * np.arange(1, 13), np.full(12, 0.6)]
    error = [
        ((s[:, 0] - truth) ** 2).mean() for s in (found.probabilities, found.groups.table.shares)
    ]
    assert error[0] < error[1]


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), ("1970-01-02", 1.0), ("1970-02", 31.0), ("1970-W02", 4.0), (2.5, 2.5)],
)
def test_times_are_numbers_or_dates(value: Any, number: float) -> None:
    assert time_as_number("t", value) == number


@pytest.mark.parametrize("value", ["north", None, float("nan"), ("a",)])
def test_other_times_are_refused(value: Any) -> None:
    refused(ArgumentError, "must hold numbers or dates", time_as_number, "t", value)


def test_bad_groups_are_refused() -> None:
    groups: dict[Any, Any] = dict(drawn(8, [10, 20]))
    other = RandomizedResponse(Integers(0, 4), 1.0)
    cases: list[tuple[Any, type[Exception], str]] = [
        ({}, EmptyError, "must not be empty"),
        (drawn(8, [0, 0]), EmptyError, "have no reports"),
        ({"a": 3}, ArgumentTypeError, "must be a tally"),
        ({**groups, ("z", 1): groups["a",]}, ArgumentError, "several lengths"),
        ({**groups, ("z",): drawn(1, [5], other)["a",]}, MismatchError, "the same values"),
        (
            {**groups, ("z",): MECHANISM.tally(MECHANISM.randomize([0, 1]))},
            MismatchError,
            "simulated",
        ),
    ]
    for bad, error, text in cases:
        refused(error, text, estimate, bad)
    with pytest.raises(ArgumentError, match="cannot be chosen for pooled groups"):
        estimate(groups, warner.Inversion(), pool="partial")
    with pytest.raises(ArgumentError, match="must be one of the public columns"):
        estimate({("a", 1): groups["a",], ("b", 2): groups["b",]}, time="week")
    with pytest.raises(ArgumentError, match="must be one of the groups a; b"):
        estimate(groups)["nowhere"]


class Table(Mapping[tuple[Any, ...], Tally]):
    """A mapping with names of the public columns."""

    names = ("ward", "sex")

    def __init__(self, parts: dict[Any, Tally]) -> None:
        self.parts = parts

    def __getitem__(self, key: Any) -> Tally:
        return self.parts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


def test_any_mapping_of_tallies_will_do_and_may_name_its_columns(tmp_path: Path) -> None:
    parts = drawn(9, [60, 70, 80])
    table = Table({(ward, "f"): tally for (ward,), tally in parts.items()})
    found = estimate(table)
    assert found.rows()[0]["ward"] == "a" and found.rows()[0]["sex"] == "f"
    assert found["b", "f"].probabilities.tolist() == estimate(parts)["b"].probabilities.tolist()
    frame = found.to_frame()
    assert frame.column_names[:3] == ["ward", "sex", "value"]
    found.plot(str(tmp_path / "dots.json"))
    dates = {f"2024-0{i + 1}-01": tally for i, tally in enumerate(parts.values())}
    drawing = estimate(dates, pool="path")
    drawing.plot(str(tmp_path / "lines.json"))
    assert "mark" in (tmp_path / "lines.json").read_text()


def test_reports_that_are_kept_and_several_of_a_person_are_estimated_too() -> None:
    mechanism = UnaryEncoding(Categorical(["a", "b", "c"]), 2.0)
    rng = np.random.default_rng(4)
    groups = {}
    for g in range(4):
        answers = rng.choice(["a", "b", "c"], 300, p=[0.5, 0.3, 0.2]).tolist()
        groups[g] = mechanism.tally(mechanism.randomize(answers, rng=rng), keep_reports=True)
    found = estimate(groups)
    assert found.probabilities.mean(axis=0) == pytest.approx([0.5, 0.3, 0.2], abs=0.06)
    several = estimate({key: tally.per_person(5) for key, tally in drawn(3, [300] * 6).items()})
    once = estimate(drawn(3, [300] * 6))
    assert several.interval(kind="wald")[0, 0, 0] < once.interval(kind="wald")[0, 0, 0]
    assert SHARES.size == several.domain.size


def test_attributes_of_tuples_are_estimated_compared_and_weighted() -> None:
    domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q", "r"]))
    mechanism = PerAttribute(
        domain, {"a": lambda d: UnaryEncoding(d, 2.0), "b": lambda d: RandomizedResponse(d, 2.0)}
    )
    rng = np.random.default_rng(5)
    answers = [{"a": "xy"[i], "b": "pqr"[j]} for i, j in rng.integers(0, 2, (900, 2))]
    groups = {g: mechanism.tally(mechanism.randomize(answers[g::3], rng=rng)) for g in range(3)}
    assert estimate(groups, attributes=["b"]).pool == "none"
    # The bits of a are counted apart from the reports on b.
    assert estimate(groups).pool == "none"
    refused(
        ArgumentError,
        "only the number of reports in which each bit was 1",
        estimate,
        groups,
        pool="partial",
    )
    assert warner.compare_groups(groups, attributes=["a"]).test.degrees == 2
    numbers = {"group": {0: 1.0, 1: 1.0, 2: 1.0}}
    assert warner.weighted(groups, numbers, attributes=["b"]).probabilities.size == 3
    with pytest.raises(ArgumentError, match="for estimates that are made already"):
        warner.compare_groups(estimate(groups, attributes=["b"]), attributes=["a"])


# Tables of groups: no tally in two groups, mixtures named, a short repr.


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
        refused(ArgumentError, r"one tally in .* pass tally.of_others", wrong)
    refused(ArgumentError, "one tally in 1 and 3", estimate, series)
    refused(ArgumentError, "one tally in 'a' and 'b'", compare_groups, {"a": week, "b": week})
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
        refused(
            ArgumentError, r"equal counts in 1 and 2. Count the reports of each group alone", wrong
        )
    others = {week: tally.of_others() for week, tally in weeks.items()}
    assert estimate(others, time="week").n == 9000
    series = Tally.from_tallies("week", others)
    assert estimate(series).n == estimate(pickle.loads(pickle.dumps(series))).n == 9000


@pytest.mark.parametrize("cells, n", [(2, 5), (2, 100), (3, 20), (4, 12), (6, 9)])
def test_a_twin_is_as_probable_as_stated(cells: int, n: int) -> None:
    """Exact, for all counts: under the law that makes the counts most probable.

    It rejects a product over counts without its square root, which counts a coin twice, and one
    with it, which is right of a coin alone and lets pass copies of three values and more.
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
        assert chance <= 1.01 * stated <= 1.05 * chance


def test_groups_of_one_grouped_tally_are_different() -> None:
    coin = RandomizedResponse(LABELS, 1.0)
    groups = coin.tally(coin.randomize(["a"] * 60), {"ward": ["n", "s", "e"] * 20})
    assert len(estimate(dict(groups.items()))) == len(estimate(groups)) == 3
    refused(ArgumentError, "one tally in", estimate, {1: groups["n"], 2: groups["n"]})


def test_groups_of_different_questions_are_named() -> None:
    other = _tally(RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0))
    refused(MismatchError, "other values in 2 than in 1", estimate, {1: _tally(), 2: other})


@pytest.mark.parametrize("other", [RandomizedResponse(LABELS, 2.0), HadamardResponse(LABELS, 1.0)])
def test_groups_of_different_mechanisms_have_their_own_estimates(other: Any) -> None:
    one, two = _tally(), _tally(other)
    both = estimate({1: one, 2: two})
    assert (both[1].probabilities == estimate(one).probabilities).all()
    assert (both[2].probabilities == estimate(two).probabilities).all()
    rows = compare_groups({1: one, 2: two}).rows()
    same = compare_groups(estimate(two), estimate(one), names=("2", "1")).rows()
    assert rows == same


# One question that some people answered on a phone and others on paper, by ward.

ANSWERS = Categorical(["no", "yes"])
PHONE, PAPER = RandomizedResponse(ANSWERS, 1.0), ForcedResponse("1/6", "1/6")
# Reports of "no" and of "yes"; nobody of the east was asked on a phone.
ON_PHONES = {"north": (70, 50), "south": (40, 80)}
ON_PAPER = {"north": (20, 10), "south": (10, 25), "east": (30, 15)}


def _by_ward(mechanism: Any, counts: Mapping[str, tuple[int, int]]) -> Tally:
    reports = [code for pair in counts.values() for code in np.repeat([0, 1], pair).tolist()]
    wards = [ward for ward, pair in counts.items() for _ in range(sum(pair))]
    return mechanism.tally(mechanism.reports(reports), {"ward": wards})


def _by_hand(ward: str) -> tuple[float, float, int]:
    """The unbiased share of yes, its variance and the people, of the reports of both."""
    parts = []
    for mechanism, counts in ((PHONE, ON_PHONES), (PAPER, ON_PAPER)):
        if ward in counts:
            (no, yes), law = counts[ward], mechanism.channel().dense()
            low, high = law[1]
            share = (yes / (no + yes) - low) / (high - low)
            parts.append((no + yes, low, high, share))
    # The weight of each is that of its precision where both answers are equally common.
    precision = np.array(
        [n * (high - low) ** 2 / ((low + high) / 2 * (1 - (low + high) / 2))
         for n, low, high, _ in parts]
    )  # fmt: skip
    weights = precision / precision.sum()
    people = sum(n for n, *_ in parts)
    share = float(sum(w * s for w, (*_, s) in zip(weights, parts, strict=True)))
    near = (1 - 1 / (people + 1)) * min(max(share, 0.0), 1.0) + 0.5 / (people + 1)
    variance = 0.0
    for w, (n, low, high, _) in zip(weights, parts, strict=True):
        chance = low + (high - low) * near
        variance += w**2 * chance * (1 - chance) / (high - low) ** 2 / n
    return share, float(variance), people


def test_groups_of_two_mechanisms_have_the_likelihood_of_all_their_reports() -> None:
    both = estimate([_by_ward(PHONE, ON_PHONES), _by_ward(PAPER, ON_PAPER)], "mle")
    assert list(both) == [("east",), ("north",), ("south",)]
    shares = np.linspace(0, 1, 100_001)
    for ward in ON_PAPER:
        likelihood = np.zeros(shares.size)
        for mechanism, counts in ((PHONE, ON_PHONES), (PAPER, ON_PAPER)):
            law = mechanism.channel().dense()
            for report, people in enumerate(counts.get(ward, (0, 0))):
                likelihood += people * np.log(
                    law[report, 0] * (1 - shares) + law[report, 1] * shares
                )
        assert both[ward].probabilities[1] == pytest.approx(shares[likelihood.argmax()], abs=2e-5)
        assert both[ward].n == sum(ON_PAPER[ward]) + sum(ON_PHONES.get(ward, ()))


def test_differences_of_groups_of_two_mechanisms_add_the_variances_of_both() -> None:
    tallies = [_by_ward(PHONE, ON_PHONES), _by_ward(PAPER, ON_PAPER)]
    hand = {ward: _by_hand(ward) for ward in ON_PAPER}

    def half(*variances: float) -> float:
        return 1.959964 * math.sqrt(sum(variances))

    row = compare_groups(tallies, reference="north").rows()[3]
    assert (row["group"], row["value"]) == ("south", "yes")
    assert row["difference"] == pytest.approx(hand["south"][0] - hand["north"][0])
    expected = half(hand["south"][1], hand["north"][1])
    assert (row["high"] - row["low"]) / 2 == pytest.approx(expected, rel=1e-6)
    # All others together: each ward counts as often as it has people, however sure its reports.
    row = compare_groups(tallies).rows()[1]
    (north, of_north, n), (south, of_south, m) = hand["north"], hand["south"]
    assert (row["group"], row["value"]) == ("east", "yes")
    assert row["reference_estimate"] == pytest.approx((n * north + m * south) / (n + m))
    rest = (n**2 * of_north + m**2 * of_south) / (n + m) ** 2
    expected = half(hand["east"][1], rest)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(expected, rel=1e-6)


def test_tallies_of_one_mechanism_by_groups_are_their_sum() -> None:
    one, two = _by_ward(PHONE, ON_PHONES), _by_ward(PHONE, ON_PAPER)
    assert estimate([one, two]).rows() == estimate(one + two).rows()
    assert compare_groups([one, two]).rows() == compare_groups(one + two).rows()
    margins = {"ward": {"north": 2, "south": 1, "east": 1}}
    assert weighted([one, two], margins).rows() == weighted(one + two, margins).rows()


def test_what_needs_one_mechanism_says_so() -> None:
    phones, papers = _by_ward(PHONE, ON_PHONES), _by_ward(PAPER, ON_PAPER)
    needs_one = "needs reports of one mechanism and one epsilon. Leave out the argument (pool|time)"
    refused(ArgumentError, needs_one, estimate, [phones, papers], pool="partial")
    refused(ArgumentError, needs_one, estimate, [phones, papers], time="ward")
    refused(MismatchError, "different columns", estimate, [phones, papers.total()])
    rounds = [phones.of_round(1), papers.of_round(2)]
    refused(MismatchError, "come from the same people, in rounds 1 and 2", estimate, rounds)
    words = "must have the same mechanism and the same epsilon if they are weighted together"
    numbers = [RandomizedResponse(Integers(0, 3), epsilon) for epsilon in (1.0, 2.0)]
    with pytest.warns(SmallGroupWarning):
        of_numbers = [m.tally(m.randomize([0, 1, 2, 3]), {"ward": [1, 1, 2, 2]}) for m in numbers]
    refused(MismatchError, words, estimate, of_numbers, weights="ward")


def test_a_table_of_groups_shows_no_arrays() -> None:
    table = estimate({w: _tally() for w in range(4)}).groups.table
    assert repr(table) == "GroupTable(4 groups by group, K=3, n=480)"
    assert isinstance(table.shares, np.ndarray)


# Series of weeks as they are read: keys, names, tables in a notebook, panels of chosen values.


MANY = Categorical([f"s{i}" for i in range(60)])


def _weekly(seed: int, domain: Categorical = MANY, times: int = 20) -> Tally:
    rng = np.random.default_rng(seed)
    mechanism = RandomizedResponse(domain, 3.0)
    return mechanism.tally(mechanism.randomize(list(domain.labels) * times, rng))


def _series(weeks: int, domain: Categorical = MANY) -> Estimate:
    tallies = {week: _weekly(week, domain) for week in range(1, weeks + 1)}
    return estimate(tallies, time="week")


def _cells(text: str) -> list[list[str]]:
    """The cells of each row of a table."""
    rows = re.findall("<tr.*?</tr>", text, re.S)
    return [re.sub("<[^>]*>", " ", row).split() for row in rows[1:]]


def test_time_names_the_column_of_a_mapping() -> None:
    tallies = {week: _weekly(week, Categorical(["a", "b", "c"])) for week in range(4)}
    series = estimate(tallies, time="week")
    same = estimate(Tally.from_tallies("week", tallies), time="week")
    assert series.names == ("week",) and series.groups.time == "week" and series.pool == "path"
    assert (series.probabilities == same.probabilities).all() and series.rows() == same.rows()
    assert estimate(tallies, time="group").names == ("group",)
    assert estimate(tallies).names == ("group",)
    for wrong in (
        lambda: estimate(Tally.from_tallies("week", tallies), time="day"),
        lambda: estimate({(1, week): tally for week, tally in tallies.items()}, time="week"),
        lambda: estimate(tallies, time="value"),
    ):
        refused(ArgumentError, "must be one of the public columns", wrong)


def test_estimates_of_groups_are_gone_through_by_their_keys() -> None:
    series = _series(3, Categorical(["a", "b"]))
    assert list(series) == [(1,), (2,), (3,)] == list(series.keys)
    assert all(series[key].probabilities.shape == (2,) for key in series)
    assert 2 in series and (2,) in series and 9 not in series and "2" in series


def test_a_series_shows_the_weeks_of_one_value_together() -> None:
    shown = _cells(_series(4)._repr_html_())
    assert len(shown) == 20
    assert [row[0] for row in shown] == ["1", "2", "3", "4"] * 5
    assert [len({row[1] for row in shown[i : i + 4]}) for i in range(0, 20, 4)] == [1] * 5


def test_a_long_series_shows_whole_values() -> None:
    text = _series(30)._repr_html_()
    assert (
        len(_cells(text)) == 90
        and "Of 60 values, this table shows the 3 values with the largest shares." in text
    )
    groups = {f"g{i:02}": _weekly(i) for i in range(25)}
    text = estimate(groups)._repr_html_()
    assert (
        len(_cells(text)) == 100
        and "The first 100 of 125 rows are shown. To see all, call to_frame()." in text
    )


def test_panels_of_chosen_values() -> None:
    series = _series(3)
    text = json.dumps(series.plot(values=["s41", "s7"]).to_dict())
    assert '"s41"' in text and '"s7"' in text and '"s8"' not in text and "2 of 60 values" in text
    assert text.count("s41") >= 3 and text.index("s41") < text.index("s7")
    assert "1 of 60 values" in json.dumps(series.plot(values="s7").to_dict())
    for wrong in (["s60"], [3], ["s41", "s60"]):
        rule = f"values: must be values of the question; got {wrong[-1]!r}"
        refused(ArgumentError, rule, series.plot, values=wrong)
    refused(ArgumentError, "values: must name at least one value", series.plot, values=[])


def test_of_many_differences_those_with_the_smallest_p_are_shown() -> None:
    rng = np.random.default_rng(4)
    mechanism = RandomizedResponse(MANY, 3.0)
    often = mechanism.tally(mechanism.randomize([*MANY.labels] * 20 + ["s55"] * 900, rng))
    found = warner.compare_groups({"before": _weekly(1), "after": often}, reference="before")
    text = found._repr_html_()
    shown = _cells(text)
    assert len(shown) == 50 and shown[0][0] == "s55"
    assert "The 50 of 60 rows with the smallest p are shown." in text
    few = warner.compare_groups(
        {
            "a": _weekly(1, Categorical(["no", "yes"])),
            "b": _weekly(2, Categorical(["no", "yes"])),
        }
    )
    assert [row[0] for row in _cells(few._repr_html_())][:2] == ["no", "yes"]


# Weighted groups meet the margins, and say what weights cost.


def _crossed() -> dict[tuple[str, str], Tally]:
    parts = list(drawn(1, [100, 300, 200, 400]).values())
    return dict(zip([("n", "f"), ("n", "m"), ("s", "f"), ("s", "m")], parts, strict=True))


def test_post_stratification_weights_groups_by_their_part_of_the_population() -> None:
    groups = drawn(1, [100, 300])
    found = weighted(groups, {"group": {"a": 900, "b": 100}})
    shares = estimate(groups, pool="none").groups.table.shares
    assert found.weights.tolist() == [0.9, 0.1]
    assert found.unbiased == pytest.approx(0.9 * shares[0] + 0.1 * shares[1])
    # n sum W_g^2 / n_g
    assert found.design_effect == pytest.approx(400 * (0.81 / 100 + 0.01 / 300))
    assert found.effective_n == pytest.approx(400 / found.design_effect)
    json.dumps(found.to_json(), allow_nan=False)
    assert "Design effect" in found.text


def test_raking_meets_all_margins_and_keeps_odds_ratios() -> None:
    found = weighted(
        _crossed(), {"column 1": {"n": 0.5, "s": 0.5}, "column 2": {"f": 0.7, "m": 0.3}}
    )
    table = found.weights.reshape(2, 2)
    assert table.sum(axis=1) == pytest.approx([0.5, 0.5], abs=1e-9)
    assert table.sum(axis=0) == pytest.approx([0.7, 0.3], abs=1e-9)
    odds = table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
    assert odds == pytest.approx(100 * 400 / (300 * 200))
    assert found.status is WeightStatus.EXACT


def test_a_margin_of_tuples_is_post_stratification() -> None:
    numbers = {("n", "f"): 1, ("n", "m"): 2, ("s", "f"): 3, ("s", "m"): 4}
    found = weighted(_crossed(), {("column 1", "column 2"): numbers})
    assert found.weights == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_weights_in_proportion_to_reports_change_nothing() -> None:
    groups = drawn(2, [150, 450])
    found = weighted(groups, {"group": {"a": 1, "b": 3}})
    whole = estimate(sum(groups.values(), start=0))  # type: ignore[arg-type]
    assert found.design_effect == pytest.approx(1)
    assert found.interval().mean(axis=1) == pytest.approx(
        whole.interval(kind="wald").mean(axis=1), abs=0.01
    )
    ratio = np.diff(found.interval()) / np.diff(whole.interval(kind="wald"))
    assert ratio == pytest.approx(np.ones((4, 1)), abs=0.05)


def test_weights_of_persons_count_a_group_as_often_as_it_has_reports() -> None:
    found = weighted(drawn(2, [100, 300]), weights={"a": 3.0, "b": 1.0})
    assert found.weights.tolist() == [0.5, 0.5]


def test_margins_that_contradict_the_groups_are_told_by_the_status() -> None:
    parts = list(drawn(1, [100, 300]).values())
    groups = {("n", "f"): parts[0], ("s", "m"): parts[1]}
    found = weighted(groups, {"column 1": {"n": 0.5, "s": 0.5}, "column 2": {"f": 0.7, "m": 0.3}})
    assert found.status is WeightStatus.NOT_CONVERGED
    assert np.isfinite(found.interval()).all()


@pytest.mark.parametrize(
    ("margins", "error", "text"),
    [
        ({"ward": {"a": 1, "b": 1}}, ArgumentError, "public columns: group"),
        ({"group": {"a": 1}}, ArgumentError, "none for b"),
        ({"group": {"a": 1, "b": 1, "z": 3}}, EmptyError, "people of z"),
        ({"group": {"a": 1, "b": 1, "c": 3}}, EmptyError, "people of c"),
        ({"group": {"a": -1, "b": 1}}, ArgumentError, "at least 0"),
        ({"group": {"a": 0, "b": 0}}, ArgumentError, "a sum that is positive"),
        ({"group": {"a": float("nan"), "b": 1}}, ArgumentError, "finite"),
        ({"group": [1, 2]}, ArgumentTypeError, "value: number"),
        ({}, ArgumentTypeError, "column"),
    ],
)
def test_bad_margins_are_refused(margins: Any, error: type[Exception], text: str) -> None:
    refused(error, text, weighted, drawn(1, [10, 20, 0]), margins)


def test_margins_of_different_totals_are_refused() -> None:
    with pytest.raises(ArgumentError, match="the same total; got 10 by column 1, 100 by column 2"):
        weighted(_crossed(), {"column 1": {"n": 4, "s": 6}, "column 2": {"f": 70, "m": 30}})


@pytest.mark.parametrize("unit", [1e308, 1.0, 5e-324])
def test_weights_of_any_size_count_by_their_ratios(unit: float) -> None:
    """Rejects the program that adds up weights as they are: near 1e308 the sum is infinite."""
    groups = drawn(2, [100, 300])
    found = weighted(groups, weights={"a": unit, "b": unit})
    assert found.weights.tolist() == [0.25, 0.75]
    assert weighted(groups, {"group": {"a": unit, "b": 0}}).weights.tolist() == [1, 0]
    refused(
        ArgumentError, "positive and finite", weighted, groups, {"group": {"a": 1e308, "b": 1e308}}
    )


def test_bad_weights_are_refused() -> None:
    groups = drawn(1, [10, 20])
    for weights, text in (
        ({"a": 1.0}, "none for b"),
        ({"a": 0.0, "b": 0.0}, "above 0 in at least one group"),
        ({"a": -1.0, "b": 1.0}, "at least 0"),
        ({"x": 1.0}, "must be one of the groups"),
    ):
        refused(ArgumentError, text, weighted, groups, weights=weights)
    refused(ArgumentError, "margins: must be given, because there are no weights", weighted, groups)
    both = {"margins": {"column 1": {"a": 1}}, "weights": {"a": 1}}
    refused(ArgumentError, "Leave out the argument margins or weights", weighted, groups, **both)


def test_small_groups_have_a_variance() -> None:
    found = weighted(drawn(3, [1, 2, 50]), {"group": {"a": 1, "b": 1, "c": 1}})
    assert (np.diff(found.interval()) > 0.1).all()
    assert (found.variances("respondents") >= 0).all()


def test_pooled_groups_of_numbers_give_no_mean_that_would_be_wrong() -> None:
    rng = np.random.default_rng(1)
    days, region = Integers(0, 9), np.repeat(["a", "b"], 500)
    mechanism = RandomizedResponse(days, 2.0)
    tallies = mechanism.tally(
        mechanism.randomize(rng.integers(0, 6, 1000), rng), {"region": region}
    )
    pooled, alone = estimate(tallies, pool="partial")["a"], estimate(tallies)["a"]
    summaries = (
        lambda one: one.mean(),
        lambda one: one.means(),
        lambda one: one.variance(),
        lambda one: one.quantile(0.5),
        lambda one: one.range(2, 4),
    )
    for summary in summaries:
        refused(ArgumentError, "without pool= and time=", summary, pooled)
        assert summary(alone)
    assert "mean" in str(alone) and "Mean" in alone.table().text()
    for text in (str(pooled), pooled._repr_html_(), pooled.table().text()):
        assert "mean" not in text.lower() and "median" not in text
    assert 0 < pooled[3].low < pooled[3] < pooled[3].high


@pytest.mark.parametrize("domain", [Integers(0, 40), warner.Interval(0, 240, bins=48)])
def test_many_numbers_are_not_pooled(domain: Any) -> None:
    mechanism = RandomizedResponse(domain, 2.0)
    month = {"month": [1, 2] * 50}
    tallies = mechanism.tally(mechanism.randomize([3, 20] * 50, np.random.default_rng(1)), month)
    refused(ArgumentError, "pool: cannot be used for numbers", estimate, tallies, pool="partial")
    refused(ArgumentError, "time: cannot be used for numbers", estimate, tallies, time="month")
    assert 0 < estimate(tallies)[1].mean() < 240


def test_groups_of_many_numbers_are_printed_as_mean_and_quartiles() -> None:
    """Rejects 48 shares of the first group and no row of the others, as it was."""
    rng = np.random.default_rng(1)
    wave = warner.SquareWave(warner.Interval(0, 240, bins=48), 2.0)
    wards = np.repeat(["north", "south"], 800)
    minutes = np.where(wards == "north", 40.0, 150.0) + rng.normal(0, 10, 1600)
    result = warner.estimate(wave.tally(wave.randomize(minutes, rng), {"ward": wards}))
    shown = str(result)
    means = {row[0]: float(row[2]) for row in map(str.split, shown.splitlines()) if "mean" in row}
    assert means == pytest.approx({w: result[w].mean() for w in ("north", "south")}, abs=1)
    assert shown.count("  median  ") == 2 and "to_frame()" in shown
    assert "median" in result._repr_html_() and str(result.table()) == shown
    rows = result.table().rows
    assert [row["measure"] for row in rows[:3]] == ["mean", "quantile:0.25", "median"]
    assert rows[0]["low"] < rows[0]["estimate"] < rows[0]["high"]
    # In Excel, a heading says what is different in the second column of summaries.
    sheet = openpyxl.load_workbook(io.BytesIO(result.table().xlsx()))["results"]
    headings = [cell.value for cell in sheet[1]]
    assert headings[:4] == ["ward", "summary", "summary, as files name it", "estimate"]
    assert result.table().csv().startswith("ward,summary,measure,estimate")
    assert len(result.table(kind="score").rows) == 96 == len(result.rows())
    # Intervals of single shares miss beside heaps, as those of the bands of one group do.
    heaps = "less often where shares of neighbouring numbers differ much"
    assert heaps in shown.replace("\n", " ") and heaps in str(result["north"]).replace("\n", " ")
    assert heaps not in " ".join(result.table(kind="score").notes)
    assert heaps in " ".join(result["north"].table(kind="posterior").notes)


def test_a_notebook_that_leaves_out_values_says_how_to_see_them() -> None:
    """Rejects: a table of the five largest shares of eight that does not say how to see all."""
    mechanism = RandomizedResponse(Categorical([f"v{i}" for i in range(8)]), 2.0)
    reports = mechanism.randomize(mechanism.domain.labels * 20)
    text = estimate(mechanism.tally(reports, {"week": [1, 2] * 80}))._repr_html_()
    assert "the 5 values with the largest shares. To see all, call to_frame()." in text


def test_weeks_can_be_estimated_each_alone_and_drawn_as_lines() -> None:
    """Rejects: a time only of pooled weeks, which blur a jump of all groups in one week."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    weeks = {
        week: coin.tally(coin.randomize(["no"] * (300 - jump) + ["yes"] * jump))
        for week, jump in (("2026-W09", 60), ("2026-W10", 60), ("2026-W11", 240))
    }
    series = estimate(weeks, time="week", pool="none")
    alone = estimate(weeks, pool="none")
    assert series.names == ("week",) and series.groups is not None
    assert series.rows()[2]["estimate"] == alone.rows()[2]["estimate"]
    assert {row["status"] for row in series.rows()} == {"alone"}
    assert series.groups.spent.epsilon == pytest.approx(3)
    for each in (series, alone):
        assert '"type": "line"' in json.dumps(each.plot().to_dict())
    many = warner.SquareWave(Integers(0, 40), 2.0)
    of_numbers = many.tally(many.randomize(list(range(41)) * 20), {"week": [1, 2] * 410})
    assert estimate(of_numbers, time="week", pool="none").groups.time == "week"
    by_week = warner.Tally.from_tallies("week", weeks)
    refused(ArgumentError, "must be one of", estimate, by_week, time="day", pool="none")
    with pytest.raises(ArgumentError, match="only with pool='path' or pool='none'"):
        estimate(weeks, time="week", pool="partial")
