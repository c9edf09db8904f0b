"""Estimates of groups: what they hold, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.results._tallies import MECHANISM, SHARES, drawn
from warner import (
    Categorical,
    Integers,
    PerAttribute,
    Product,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    estimate,
)
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, MismatchError
from warner.results.pooling import time_as_number, to_simplex


def test_a_mapping_gives_groups_and_a_tally_an_estimate() -> None:
    groups = drawn(1, [100, 200, 300])
    found = estimate(groups)
    assert (len(found), found.pool, found.names) == (3, "partial", ("group",))
    assert estimate(groups["a",]).probabilities.shape == (4,)
    with pytest.raises(ArgumentTypeError, match="pool: goes with a tally by public columns"):
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
    groups = drawn(3, [300, 400])
    found = estimate(groups)
    assert found.pool == "none"  # two groups do not tell how much groups differ
    for key, tally in groups.items():
        own = estimate(tally)
        assert found[key] == own
        assert found.interval()[found.keys.index(key)] == pytest.approx(own.interval())


def test_equal_groups_are_drawn_together_and_different_ones_are_not() -> None:
    alike = estimate(drawn(4, [500] * 20))
    apart = np.ptp(alike.probabilities, axis=0).max()
    assert apart < np.ptp(alike.groups.table.shares, axis=0).max() / 2
    far = {(i,): MECHANISM.tally(MECHANISM.randomize([i % 4] * 5000)) for i in range(8)}
    found = estimate(far)
    assert found.probabilities.max(axis=1).min() > 0.9
    assert found.groups.concentration is not None and alike.groups.concentration is not None
    assert found.groups.concentration < 2 < alike.groups.concentration


def test_wald_intervals_hold_for_every_group_and_are_wider() -> None:
    found = estimate(drawn(5, [200] * 12))
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
    found = estimate(groups)
    assert found.groups and found.groups.posterior is not None
    assert (found.groups.posterior.mean < 0).any()  # so that the simplex matters
    pooled = found.groups.posterior.mean.mean(axis=0)
    assert found.probabilities.mean(axis=0) == pytest.approx(pooled, abs=1e-6)


def test_projection_alone_raises_small_shares() -> None:
    """The mutant that projects each group by itself, and does not rake."""
    rng = np.random.default_rng(0)
    shares = np.array([0.9, 0.05, 0.03, 0.02]) + rng.normal(0, 0.1, (500, 4)) @ (np.eye(4) - 0.25)
    mean = shares.mean(axis=0)
    assert to_simplex(shares, np.ones(500)).mean(axis=0) == pytest.approx(mean, abs=1e-6)
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
    with pytest.raises(ArgumentError, match="must hold numbers or dates"):
        time_as_number("t", value)


def test_bad_groups_are_refused() -> None:
    groups: dict[Any, Any] = dict(drawn(8, [10, 20]))
    other = RandomizedResponse(Integers(0, 3), 1.0)
    cases: list[tuple[Any, type[Exception], str]] = [
        ({}, EmptyError, "must not be empty"),
        (drawn(8, [0, 0]), EmptyError, "at least one report"),
        ({"a": 3}, ArgumentTypeError, "Tally objects"),
        ({**groups, ("z", 1): groups["a",]}, ArgumentError, "several lengths"),
        ({**groups, ("z",): drawn(1, [5], other)["a",]}, MismatchError, "one mechanism"),
        (
            {**groups, ("z",): MECHANISM.tally(MECHANISM.randomize([0, 1]))},
            MismatchError,
            "simulated",
        ),
    ]
    for bad, error, text in cases:
        with pytest.raises(error, match=text):
            estimate(bad)
    with pytest.raises(ArgumentError, match="is not used for pooled groups"):
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
    assert estimate(groups, attributes=["b"]).pool == "partial"
    # The bits of a are counted apart from the reports on b.
    assert estimate(groups).pool == "none"
    with pytest.raises(ArgumentError, match="bit sums"):
        estimate(groups, pool="partial")
    assert warner.compare_groups(groups, attributes=["a"]).test.degrees == 2
    numbers = {"group": {0: 1.0, 1: 1.0, 2: 1.0}}
    assert warner.weighted(groups, numbers, attributes=["b"]).probabilities.size == 3
    with pytest.raises(ArgumentError, match="of the estimates given"):
        warner.compare_groups(estimate(groups, attributes=["b"]), attributes=["a"])
