"""Results show themselves in notebooks: short as text, tables as HTML, and frames of every table."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import ALL, smallest
from warner import (
    Categorical,
    Integers,
    Inversion,
    KeyValue,
    MaximumLikelihood,
    Product,
    RandomizedResponse,
    Study,
    Tally,
    estimate,
)
from warner.domains.interval import Dates
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, MismatchError
from warner.estimators import SampleMean

LABELS = Categorical(["<i>tea", "coffee", *(f"s{i:03d}" for i in range(58))])
MANY = RandomizedResponse(LABELS, 6.0)
_RNG = np.random.default_rng(3)
_SHARES = 1 / np.arange(1, 61)
TALLY = MANY.tally(
    MANY.randomize(np.array(LABELS.labels)[_RNG.choice(60, 9000, p=_SHARES / _SHARES.sum())], _RNG)
)
RESULT = estimate(TALLY)
COIN = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
STUDY = Study.parse("""
title = "A < B"
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
""")  # fmt: skip


def _weeks(count: int = 4) -> list[warner.Tally]:
    return [COIN.tally(COIN.randomize(["no", "yes"] * (50 + i), _RNG)) for i in range(count)]


_BOTH = RandomizedResponse(Product(sex=Categorical(["a", "b"]), age=Integers(0, 2)), 4.0)
_PAIRS = estimate(_BOTH.tally(_BOTH.randomize([{"sex": "a", "age": 1}] * 200)))
_WARDS = _weeks(2)
SERIES = Tally.from_tallies("week", _weeks())
SHOWN: dict[str, Any] = {
    "tally": TALLY,
    "grouped": SERIES,
    "estimate": RESULT,
    "top": RESULT.top(20),
    "ranks": RESULT.ranks(),
    "groups": estimate(SERIES, time="week"),
    "differences": warner.compare_groups(SERIES, reference=1),
    "plan": warner.plan(Categorical(["a", "b", "c"]), 1.0, 1000),
    "comparison": warner.design.compare(_weeks(1)[0], [Inversion(), MaximumLikelihood()], runs=2),
    "audit": warner.audit(COIN),
    "conditional": _PAIRS.conditional("a"),
    "weighted": warner.weighted({"a": _WARDS[0], "b": _WARDS[1]}, {"group": {"a": 3, "b": 1}}),
    "regression": warner.regress(COIN.randomize(["no", "yes"] * 40), {"age": list(range(80))}),
    "study": STUDY,
}


class _Tags(HTMLParser):
    """The tags that are open, to see that all are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        assert not {"style", "onclick", "src", "href"} & {name for name, _ in attrs}
        if tag not in ("rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "path"):
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", SHOWN)
def test_everything_shows_itself(name: str) -> None:
    text = repr(SHOWN[name])
    assert (
        len(text) < (300 if name != "top" else 1600) and "0x" not in text and "array(" not in text
    )
    page = SHOWN[name]._repr_html_()
    tags = _Tags()
    tags.feed(page)
    assert tags.open == [] and "table" in tags.seen and "i" not in tags.seen
    assert len(page) < 30_000


def test_a_tally_prints_no_labels() -> None:
    assert (
        "s001" not in repr(TALLY) and "9000" in repr(TALLY) and "RandomizedResponse" in repr(TALLY)
    )


@pytest.mark.parametrize(
    "name",
    [
        "estimate",
        "top",
        "ranks",
        "groups",
        "differences",
        "plan",
        "comparison",
        "audit",
        "conditional",
        "weighted",
    ],
)
def test_every_table_is_a_frame_of_the_callers_library(name: str) -> None:
    import pandas as pd
    import polars as pl

    thing = SHOWN[name]
    rows = thing.rows()
    frame = thing.to_frame("polars", wave=3)
    assert (
        isinstance(frame, pl.DataFrame) and frame.columns[0] == "wave" and len(frame) == len(rows)
    )
    assert frame.columns[1:] == list(rows[0])
    assert isinstance(thing.to_frame("pandas"), pd.DataFrame)
    with pytest.raises(ArgumentError, match="names that the table does not have"):
        thing.to_frame("polars", **{next(iter(rows[0])): 1})


def test_one_share_is_a_number_with_its_interval() -> None:
    share = RESULT["coffee"]
    row = next(r for r in RESULT.rows() if r["value"] == "coffee")
    assert (float(share), share.low, share.high) == (row["estimate"], row["low"], row["high"])
    assert share.value == "coffee" and share + 0 == row["estimate"]
    assert (share.interval(kind="wald") != share.interval()).any()
    assert repr(share).count(",") == 1 and pickle.loads(pickle.dumps(share)).high == share.high
    assert "coffee" in RESULT and "milk" not in RESULT and ["x"] not in RESULT
    assert len(RESULT) == 60 and list(RESULT)[:2] == ["<i>tea", "coffee"]
    with pytest.raises(ArgumentError, match="one of 60 values"):
        RESULT["milk"]


def test_values_of_products_and_bins_are_found() -> None:
    both = RandomizedResponse(Product(sex=Categorical(["f", "m"]), age=Integers(0, 2)), 4.0)
    found = estimate(both.tally(both.randomize([{"sex": "m", "age": 2}] * 200)))
    assert found["m", 2] == found[{"sex": "m", "age": 2}] == found.probabilities[5]
    wave = warner.SquareWave(warner.Interval(0, 1, bins=4), 3.0)
    bins = estimate(wave.tally(wave.randomize([0.1, 0.9] * 200)), MaximumLikelihood())
    assert bins[0.8] == bins.probabilities[3]


def test_the_top_is_sorted_and_wider_than_intervals_of_single_shares() -> None:
    top = RESULT.top(20)
    rows = top.rows()
    assert [r["estimate"] for r in rows] == sorted(RESULT.probabilities, reverse=True)[:20]
    alone = RESULT.interval(kind="wald")[top.places]
    assert (np.diff(top.bounds) >= np.diff(alone)).all()
    assert len(top) == 20
    assert all(1 <= r["rank_low"] <= i + 1 <= r["rank_high"] <= 60 for i, r in enumerate(rows))
    assert top.surely and set(top.surely) <= {r["value"] for r in rows}
    # A value is surely above another where its interval is: the ranks say no more than that.
    bounds = RESULT.interval(kind="simultaneous")
    for place, (low, high) in zip(top.places, top.ranks, strict=True):
        assert low == 1 + (bounds[:, 0] > bounds[place, 1]).sum()
        assert high == 60 - (bounds[:, 1] < bounds[place, 0]).sum()
    for wrong in ({"count": 0}, {"level": 95}, {"target": "people"}):
        with pytest.raises(ArgumentError):
            RESULT.top(**wrong)


def test_means_and_keys_show_themselves() -> None:
    laplace = warner.Laplace(Integers(0, 9), 2.0)
    mean = estimate(laplace.tally(laplace.randomize([3] * 50)), SampleMean())
    assert "<table" in mean._repr_html_()
    keys = KeyValue(Categorical(["a", "b"]), warner.Interval(0, 1, bins=4), 2.0)
    found = estimate(keys.tally(keys.randomize([{"key": "a", "value": 0.5}] * 50)))
    assert "mean" in found._repr_html_()


@pytest.mark.parametrize("name", ALL)
def test_pickled_mechanisms_and_domains_are_equal(name: str) -> None:
    mechanism = smallest(name)
    mechanism.channel(), mechanism.header
    again = pickle.loads(pickle.dumps(mechanism))
    assert again == mechanism and hash(again) == hash(mechanism) and again is not mechanism
    assert again.domain == mechanism.domain and again.header == mechanism.header
    assert mechanism != smallest(name, 0.5) and mechanism != 3


def test_pickled_results_are_equal_and_small() -> None:
    local = warner.LocalHashing(Categorical(list("abcd")), 1.0, seeds=2**16)
    reports = local.randomize(["a"] * 300)
    tally = local.tally(reports)
    bits = warner.UnaryEncoding(Integers(0, 9), 1.0)
    kept = bits.tally(bits.randomize([1, 2, 3]), keep_reports=True)
    for thing in (tally, reports, estimate(tally), kept, SERIES, STUDY, RESULT, estimate(kept)):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing and hash(again) == hash(thing), type(thing)
    assert len(pickle.dumps(tally)) < tally.counts.nbytes / 7
    assert len(pickle.dumps(estimate(tally))) < tally.counts.nbytes / 3
    again = pickle.loads(pickle.dumps(tally))
    assert again.counts.dtype == np.int64 and not again.counts.flags.writeable
    assert not pickle.loads(pickle.dumps(reports)).columns["seed"].flags.writeable
    assert estimate(tally) != estimate(tally, Inversion()) and reports != local.randomize(
        ["a"] * 300
    )


def test_series_of_weeks() -> None:
    weeks = _weeks(3)
    series = Tally.from_tallies("week", {"2026-W02": weeks[1], "2026-W01": weeks[0]})
    assert list(series) == [("2026-W01",), ("2026-W02",)] and series["2026-W02"] == weeks[1]
    assert list(Tally.from_tallies(["week", "ward"], {(1, "b"): weeks[0], (1, "a"): weeks[1]})) == [(1, "a"), (1, "b")]  # fmt: skip
    with pytest.raises(EmptyError):
        Tally.from_tallies("week", [])
    with pytest.raises(ArgumentTypeError, match="must be tallies"):
        Tally.from_tallies("week", [weeks[0], 3])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="2 values in each key"):
        Tally.from_tallies(["week", "ward"], weeks)
    with pytest.raises(MismatchError):
        Tally.from_tallies("week", [weeks[0], TALLY])
    days = Dates("week")
    with pytest.raises(ArgumentError, match="different groups"):
        Tally.from_tallies("week", {"2026-01-05": weeks[0], "2026-01-06": weeks[1]}, days)
    result = estimate(Tally.from_tallies("week", weeks), time="week")
    spent = result.groups
    assert spent is not None and spent.rounds == 3 and 2.99 < spent.spent.epsilon <= 3
    assert "epsilon = 3" in spent.spent_text and "epsilon = 3" in result._repr_html_()
    assert len({row["week"] for row in result.to_frame("polars").rows(named=True)}) == 3
    wards = estimate({"a": weeks[0], "b": weeks[1]})
    assert wards.groups.rounds == 1 and wards.groups.spent.epsilon <= 1


def test_pictures_of_the_top_values_over_weeks() -> None:
    series = Tally.from_tallies("week", [TALLY, TALLY.of_others()])
    picture = estimate(series, time="week").plot(top=3).to_dict()
    assert "the 3 values of 60" in str(picture)
