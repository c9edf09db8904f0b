"""Estimates: what they hold, how they show themselves, and what narrows them."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import openpyxl
import pytest

import warner
from tests.refusals import refused
from tests.registry import ALL, smallest
from tests.spec._labels import _estimate
from warner import (
    Categorical,
    Integers,
    Interval,
    Inversion,
    KeyValue,
    MatrixMechanism,
    MaximumLikelihood,
    Product,
    RandomizedResponse,
    Study,
    Tally,
    UnaryEncoding,
    UtilityOptimizedRR,
    estimate,
)
from warner._core.table import as_cell
from warner.domains.interval import Dates
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, MismatchError, WarnerError
from warner.estimators import SampleMean, Uniform
from warner.mechanisms import Permanent, PersonalizedULDP, TruncatedGeometric
from warner.results.estimate import Estimate
from warner.results.result_files import table_of_estimates


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


def test_a_method_must_be_an_estimator_object_or_a_name(tally: warner.Tally) -> None:
    for wrong in (warner.Inversion, 1, ["mle"]):
        refused(ArgumentTypeError, "estimator object", warner.estimate, tally, wrong)


def test_a_question_in_place_of_a_method_is_refused_by_name() -> None:
    """Rejects a list of methods for people who write estimate(tally, "smokes")."""
    labels = warner.Categorical(["no", "yes"])
    parts = {name: warner.RandomizedResponse(labels, 1.0) for name in ("smokes", "drinks")}
    device = warner.PerAttribute(warner.Product(smokes=labels, drinks=labels), parts)
    tally = device.tally(device.randomize({"smokes": ["no"] * 50, "drinks": ["yes"] * 50}))
    refused(ArgumentError, "Write attributes='smokes'", estimate, tally, "smokes")


def test_the_recommended_method_of_labels_is_empirical_bayes(tally: warner.Tally) -> None:
    assert warner.estimate(tally).method == "EmpiricalBayes()"


def test_several_tallies_of_one_mechanism_are_added(tally: warner.Tally) -> None:
    assert warner.estimate([tally, tally.of_others()]).n == 2 * tally.n
    project = warner.Inversion("project")
    assert warner.estimate([tally, tally.of_others()], project).probabilities == pytest.approx(
        warner.estimate(tally, project).probabilities
    )
    for wrong in ([], [1], 3):
        refused((EmptyError, TypeError), "", warner.estimate, wrong)


def test_an_estimate_is_json_and_frame_and_rows(tally: warner.Tally) -> None:
    result = warner.estimate(tally, warner.MaximumLikelihood())
    data = json.loads(json.dumps(result.to_json()))
    assert data["status"] == "converged"
    assert data["n"] == 1000
    assert data["interval"]["target"] == "population"
    assert [row["value"] for row in data["shares"]] == ["a", "b", "c", "d"]
    for backend in ("pyarrow", "polars", "pandas"):
        frame = result.to_frame(backend)
        assert list(frame.column_names if backend == "pyarrow" else frame.columns) == [
            "value",
            "estimate",
            "low",
            "high",
            "people_about",
            "error",
            "shrunk_from",
        ]
    refused(ArgumentError, "backend", result.to_frame, "excel")
    assert "gap=" in repr(result) and "K=4" in repr(result)


def test_json_has_unbiased_estimates_with_standard_errors() -> None:
    """R's RRreg 0.7.6 gives .28833 (.03182) for Warner's design with p = .7; it divides by n - 1.

    Rejects the error of the share of the reports, .0127, and that of the shrunk estimate.
    """
    coin = warner.RandomizedResponse(Categorical(["no", "yes"]), float(np.log(0.7 / 0.3)))
    result = warner.estimate(coin.tally(coin.reports(np.repeat([0, 1], [877, 623]))))
    no, yes = result.to_json()["unbiased"]
    assert yes["value"] == "yes" and yes["estimate"] == pytest.approx(0.288333333, abs=1e-6)
    assert yes["error"] == pytest.approx(0.0318193829 * np.sqrt(1499 / 1500), rel=1e-5)
    assert no["error"] == pytest.approx(yes["error"])
    # The rows have the same errors, of all people, of groups and of a survey with weights.
    assert [row["error"] for row in result.rows()] == [no["error"], yes["error"]]
    public = {"ward": ["n", "s"] * 750, "w": [1, 3] * 750}
    tally = coin.tally(coin.reports(np.repeat([0, 1], [877, 623])), by=public)
    for row in warner.estimate(tally.by("ward")).rows():
        seen = 0.3 + 0.4 * row["estimate"]
        assert row["error"] == pytest.approx(np.sqrt(seen * (1 - seen) / 750) / 0.4, rel=1e-3)
    of_survey = warner.estimate(tally.by("w"), weights="w")
    effect = of_survey.rows()[1]["design_effect"]
    seen = 0.3 + 0.4 * of_survey.rows()[1]["estimate"]
    assert of_survey.rows()[1]["error"] == pytest.approx(
        np.sqrt(seen * (1 - seen) / 1500 * effect) / 0.4, rel=2e-3
    )
    assert warner.estimate(tally.by("ward"), pool="partial").rows()[0]["error"] is None
    smooth = warner.SquareWave(warner.Integers(0, 20), 1.0)
    assert "unbiased" not in warner.estimate(smooth.tally(smooth.randomize([3] * 99))).to_json()


def test_values_that_are_no_scalars_are_written_as_json_in_frames() -> None:
    mechanism = warner.RandomizedResponse(
        warner.Product(a=warner.Integers(0, 1), b=Categorical(["x", "y"])), 2.0
    )
    result = warner.estimate(
        mechanism.tally(mechanism.randomize({"a": [0, 1, 1], "b": ["x", "y", "x"]}))
    )
    assert json.loads(result.to_frame("polars")["value"][3]) == {"a": 1, "b": "y"}


# Results show themselves in notebooks: short as text, tables as HTML, and frames of every table.


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
    # As people write it who know the constructors alone, which must not make a frame of the names.
    assert pl.DataFrame(thing).equals(thing.to_frame("polars"))
    if isinstance(thing, Estimate):
        refused(ArgumentTypeError, 'Use to_frame."pandas".', pd.DataFrame, thing)
    elif name not in ("plan", "comparison"):
        assert list(pd.DataFrame(thing)) == list(rows[0])
        assert pl.DataFrame(thing.table()).equals(thing.table().to_frame("polars"))
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
    with pytest.raises(ArgumentError, match="one of the 60 values"):
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
        refused(ArgumentError, "", RESULT.top, **wrong)


def test_means_and_keys_show_themselves() -> None:
    laplace = warner.Laplace(Integers(0, 9), 2.0)
    mean = estimate(laplace.tally(laplace.randomize([3] * 50)), SampleMean())
    assert "Mean " in mean._repr_html_() and "Mean " in str(mean)
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
    refused(EmptyError, "", Tally.from_tallies, "week", [])
    with pytest.raises(ArgumentTypeError, match="must be tallies"):
        Tally.from_tallies("week", [weeks[0], 3])  # type: ignore[list-item]
    refused(
        ArgumentError,
        r"must have a value for each column in every key: week, ward; got \(1,\)",
        Tally.from_tallies,
        ["week", "ward"],
        weeks,
    )
    refused(MismatchError, "", Tally.from_tallies, "week", [weeks[0], TALLY])
    days = Dates("week")
    with pytest.raises(ArgumentError, match="different groups"):
        Tally.from_tallies("week", {"2026-01-05": weeks[0], "2026-01-06": weeks[1]}, days)
    result = estimate(Tally.from_tallies("week", weeks), time="week")
    spent = result.groups
    assert spent is not None and spent.rounds == 3 and 2.99 < spent.spent.epsilon <= 3
    assert "epsilon = 3" in spent.spent_text and "epsilon = 3" in result._repr_html_()
    assert len({row["week"] for row in result.to_frame("polars").rows(named=True)}) == 3
    # Rounds of permanent reports are not composed: that is too much on an answer that stays, and no
    # bound where answers change.
    weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 0.5), 1.5, 2)
    rounds = [weekly.tally(weekly.reports([0] * 60 + [1] * 40)) for _ in range(3)]
    kept = estimate(Tally.from_tallies("week", rounds), time="week").groups
    assert kept is not None and 2.99 < kept.spent.epsilon <= 3
    stays = weekly.of_rounds(3).epsilon
    assert (
        f"always gave the same answer has spent epsilon = {stays:.6g} on this question"
        in kept.spent_text
    )
    # Rejects "all 2 times".
    both = estimate(Tally.from_tallies("week", rounds[:2]), time="week").groups
    assert both is not None and "who reported both times and" in both.spent_text
    wards = estimate({"a": weeks[0], "b": weeks[1]})
    assert wards.groups.rounds == 1 and wards.groups.spent.epsilon <= 1


def test_what_a_person_has_spent_on_one_of_several_questions() -> None:
    """Rejects a question that has spent what all questions have, and rounds of permanent reports
    that are composed because another question is asked beside them.
    """
    yes_or_no = Categorical(["no", "yes"])
    coin = RandomizedResponse(yes_or_no, 1.0)
    weekly = Permanent(RandomizedResponse(yes_or_no, 0.5), 1.5, 2)
    survey = warner.PerAttribute({"smokes": coin, "drinks": coin, "gambles": weekly})
    each = np.unravel_index(np.arange(800) % 8, (2, 2, 2))
    columns = dict(zip(survey.schema.empty(0), each, strict=True))
    by = {"week": np.arange(800) // 200}
    weeks = survey.tally(survey.reports(columns), by=by, ways=2)
    for names, epsilon, words in (
        (
            "smokes",
            4.0,
            "has spent epsilon = 4 on this question. On all questions together, the person",
        ),
        (["drinks", "smokes"], 8.0, "has spent epsilon = 8 on these questions. On all questions"),
        ("gambles", 3.0, f"has spent epsilon = {weekly.of_rounds(4).epsilon:.6g} on this question"),
    ):
        groups = estimate(weeks, attributes=names, time="week").groups
        assert groups.spent.epsilon == pytest.approx(epsilon)
        assert groups.spent_in_all.epsilon == pytest.approx(11.0)
        assert words in groups.spent_text and "at most epsilon = 11. A" in groups.spent_text
    together = warner.PerAttribute({"smokes": coin, "drinks": coin})
    reports = together.reports({name: columns[name] for name in list(columns)[:2]})
    text = estimate(together.tally(reports, by=by), time="week").groups.spent_text
    assert "epsilon = 8 on these questions. A smaller" in text
    drawn = warner.OneOf(together.domain, 1.0, mechanisms=RandomizedResponse)
    assert drawn.about(["smokes"]) == coin and drawn.about(["drinks", "smokes"]) == drawn
    # Of two questions that a person is asked, each has half of the epsilon.
    domain = warner.Product(smokes=yes_or_no, drinks=yes_or_no, gambles=yes_or_no)
    two_of_three = warner.OneOf(domain, 2.0, mechanisms=RandomizedResponse, ask=2)
    assert two_of_three.about(["smokes"]) == coin
    assert two_of_three.about(["smokes", "drinks"]) == two_of_three


def test_pictures_of_the_top_values_over_weeks() -> None:
    series = Tally.from_tallies("week", [TALLY, TALLY.of_others()])
    picture = estimate(series, time="week").plot(top=3).to_dict()
    assert "of 60 values, the 3 with" in str(picture)


# Spreadsheets do not run labels, and numbers stay numbers.


def test_spreadsheets_do_not_run_labels_and_numbers_stay_numbers() -> None:
    labels = [
        '=HYPERLINK("http://x")',
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        " =1",
        "'=1",
        "＝1+1",
        "-5",
        "1e3",
        "a=b",
        "it's",
    ]
    rows = list(
        csv.reader(
            io.StringIO(table_of_estimates([_estimate(labels, "=name")], 0.95, "population").csv())
        )
    )
    cells = [row[1] for row in rows[1:]]
    assert cells == ["'" + label for label in labels[:7]] + labels[7:]
    assert {row[0] for row in rows[1:]} == {"'=name"}
    assert all(np.isfinite(float(cell)) for row in rows[1:] for cell in row[3:7])
    assert [as_cell(v) for v in (-5, 3, -0.5, True, (1, 2))] == [
        "-5",
        "3",
        "-0.5",
        "true",
        "[1, 2]",
    ]


# Estimates on the values that are possible, such as those that were reported [P4 sec VIII].


RNG = np.random.default_rng(8)
AGES = TruncatedGeometric(Integers(0, 99), 0.5)
OF_SOME = AGES.tally(AGES.randomize([20] * 300 + [40] * 100, RNG))


def test_reported_values_alone_have_shares_and_a_unique_maximum() -> None:
    result = estimate(OF_SOME, MaximumLikelihood(), values="reported")
    named = np.flatnonzero(OF_SOME.counts)
    assert result.domain.labels == named.tolist() and result.probabilities.sum() == pytest.approx(1)
    assert str(result.unique).startswith("unique")
    best = estimate(OF_SOME, MaximumLikelihood())
    assert result.log_likelihood <= best.log_likelihood + 1e-6
    assert [row["value"] for row in result.rows()] == named.tolist()
    assert json.loads(json.dumps(result.to_json()))["domain"]["index"] == named.tolist()


def test_values_that_are_ruled_out_make_the_rest_identifiable() -> None:
    """Two groups that a report does not tell apart: their labels together are one value less."""
    cloak = MatrixMechanism(
        Categorical(["a", "b", "c"]), np.array([[0.6, 0.6, 0.2], [0.4, 0.4, 0.8]])
    )
    tally = cloak.tally(cloak.randomize(["a"] * 500 + ["c"] * 500, RNG))
    result = estimate(tally, MaximumLikelihood(), values=["c", "a"])
    assert estimate(tally, MaximumLikelihood()).unique != result.unique
    assert str(result.unique).startswith("unique") and result.domain.labels == ["a", "c"]
    low, high = result.interval().T
    assert (low < [0.5, 0.5]).all() and (high > [0.5, 0.5]).all()
    assert estimate(tally, warner.Inversion(), values=["a", "c"]).probabilities == pytest.approx(
        result.probabilities, abs=1e-9
    )


METHODS: list[Any] = [
    warner.Inversion("project"),
    MaximumLikelihood(),
    warner.ExpectationMaximization(50),
    warner.EmpiricalBayes(),
    None,
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("keep", [None, False, True])
def test_all_estimators_and_intervals_work_on_some_values(method: Any, keep: bool | None) -> None:
    domain = Categorical([f"v{i}" for i in range(12)])
    mechanism: Any = RandomizedResponse(domain, 2.0) if keep is None else UnaryEncoding(domain, 2.0)
    reports = mechanism.randomize(["v3"] * 3_000 + ["v7"] * 1_000, np.random.default_rng(2))
    tally = mechanism.tally(reports, keep_reports=bool(keep))
    result = estimate(tally, method, values=["v3", "v7", "v11"])
    assert result.probabilities == pytest.approx([0.75, 0.25, 0], abs=0.07)
    low, high = result.interval().T
    assert (low <= result.probabilities + 1e-9).all() and (
        high >= result.probabilities - 1e-9
    ).all()
    if keep is not True and method == MaximumLikelihood():
        rng = np.random.default_rng(0)
        low, high = result.interval(kind="bootstrap", replicates=20, rng=rng).T
        assert low[0] < 0.78 and high[0] > 0.72


def test_fewer_possible_values_mean_less_error() -> None:
    """Rejects shares of the whole domain that are cut and scaled."""
    domain, rng = Integers(0, 49), np.random.default_rng(11)
    mechanism = UnaryEncoding(domain, 1.0)
    errors = []
    for _ in range(20):
        tally = mechanism.tally(mechanism.randomize([5] * 150 + [6] * 50, rng))
        some = estimate(tally, MaximumLikelihood(), values=[5, 6, 7]).probabilities
        cut = estimate(tally, MaximumLikelihood()).probabilities[[5, 6, 7]]
        cut = cut / max(cut.sum(), 1e-9)
        truth = np.array([0.75, 0.25, 0])
        errors.append([((some - truth) ** 2).sum(), ((cut - truth) ** 2).sum()])
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]


def test_several_budgets_and_bins_take_values_too() -> None:
    domain = Interval(0.0, 1.0, 10)
    tallies = []
    for epsilon in (1.0, 3.0):
        mechanism = warner.SquareWave(domain, epsilon, cells=64)
        tallies.append(mechanism.tally(mechanism.randomize([0.05] * 600 + [0.95] * 200, RNG)))
    result = estimate(tallies, MaximumLikelihood(), values=[0.05, 0.55, 0.95])
    assert result.probabilities == pytest.approx([0.75, 0, 0.25], abs=0.12)
    assert result.mean() == pytest.approx(0.275, abs=0.1)


@pytest.mark.parametrize(
    "values", ["all", [1], [], [1, 1, 2], [1, 100], ["1", 2], 3, [1.5, 2], {"a": 1}]
)
def test_values_that_cannot_be_all_that_is_possible_are_refused(values: Any) -> None:
    refused(WarnerError, "values", estimate, OF_SOME, values=values)


def test_reports_that_name_no_values_leave_the_choice_to_a_list() -> None:
    product = warner.Product(a=Integers(0, 2), b=Integers(0, 1))
    parts = {
        "a": RandomizedResponse(product.attributes["a"], 2.0),
        "b": warner.UnaryEncoding(product.attributes["b"], 2.0),
    }
    both = warner.PerAttribute(product, parts)
    tally = both.tally(both.randomize([{"a": 0, "b": 1}, {"a": 2, "b": 0}] * 20))
    refused(
        ArgumentError,
        r"values: cannot be 'reported', because these reports do not name values. Pass a list of the values",
        estimate,
        tally,
        values="reported",
    )


def test_one_reported_value_is_too_few() -> None:
    tally = AGES.tally(AGES.reports([3, 3]))
    refused(
        ArgumentError,
        "cannot be 'reported', because reports name fewer than 2 values; got",
        estimate,
        tally,
        values="reported",
    )


# What ``Estimate.log_likelihood_at`` accepts and refuses.


def _result() -> Estimate:
    coin = UtilityOptimizedRR(Categorical(["a", "b", "c"]), 1.0, sensitive=["a"])
    return warner.estimate(coin.tally(coin.reports([0, 1, 1, 2])), Uniform())


def test_one_distribution_gives_a_float_and_an_array_of_them_an_array() -> None:
    assert isinstance(_result().log_likelihood_at([0.5, 0.25, 0.25]), float)
    several = _result().log_likelihood_at(np.full((4, 5, 3), 1 / 3))
    assert isinstance(several, np.ndarray) and several.shape == (4, 5)


def test_an_impossible_report_makes_it_minus_infinity_and_no_warning() -> None:
    assert _result().log_likelihood_at([0.5, 0.5, 0.0]) == -np.inf


@pytest.mark.parametrize(
    "theta", [0.5, [0.5, 0.5], [0.5, 0.6, -0.1], [0.2] * 3, [np.nan, 0.5, 0.5]]
)
def test_what_is_no_distribution_over_the_domain_is_refused(theta: object) -> None:
    with pytest.raises(ArgumentError, match=r"^theta: must"):
        _result().log_likelihood_at(theta)  # type: ignore[arg-type]


def test_the_share_below_zero_is_shown() -> None:
    with pytest.raises(ArgumentError, match=r"got the sum 1 and the smallest share -0\.1"):
        _result().log_likelihood_at([0.5, 0.6, -0.1])


def test_a_marginal_refers_to_the_joint_estimate() -> None:
    people = Product(sex=Categorical(["f", "m"]), smokes=Categorical(["no", "yes"]))
    mechanism = warner.RandomizedResponse(people, 1.0)
    result = warner.estimate(mechanism.tally(mechanism.reports([0, 1, 2, 3])), Uniform())
    with pytest.raises(ArgumentError, match="Use the whole estimate"):
        result.marginal("sex").log_likelihood_at([0.5, 0.5])


# Shares of stand-ins are given back to the values that they stand for.


DOMAIN = Integers(0, 9)


def _city(n: int, seed: int = 0) -> tuple[warner.Tally, np.ndarray, np.ndarray, np.ndarray]:
    """Reports of n people, each with a home of her own; the truth, where people at home are, and
    the true shares of what was mapped.
    """
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(10, 2.0))
    city = PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 2.0, [3]), ["home", "work"])
    values = rng.choice(10, n, p=theta)
    at_home = (rng.random(n) < 0.3) & (values != 3)
    devices = {x: city.device({"home": [x]}) for x in range(10) if x != 3}
    total = None
    truth = np.bincount(values, minlength=10) / n
    homes = np.bincount(values[at_home], minlength=10) / at_home.sum()
    for x, device in devices.items():
        mine = values[at_home & (values == x)]
        if mine.size:
            part = city.tally(device.randomize(mine, rng))
            total = part if total is None else total + part
    rest = city.tally(city.device().randomize(values[~at_home], rng))
    assert total is not None
    mapped = np.append(np.bincount(values[~at_home], minlength=10), [at_home.sum(), 0]) / n
    return total + rest, truth, homes, mapped


@pytest.mark.parametrize("method", [warner.Inversion(), warner.MaximumLikelihood(), None], ids=repr)
def test_shares_of_stand_ins_are_given_back(method: warner.estimators.Estimator | None) -> None:
    tally, truth, homes, mapped = _city(200_000)
    result = warner.estimate(tally, method)
    assert result.domain.labels[-2:] == ["@home", "@work"]
    known = result.redistribute({"home": homes})
    assert known.probabilities == pytest.approx(
        truth, abs=0.015
    ) and known.probabilities.sum() == pytest.approx(result.probabilities.sum())
    assert (
        known.tag_shares["home"] > 0.2 and abs(known.tag_shares["work"]) < 0.02
    )  # a tag without users
    assert known.worst_case == pytest.approx(2 * sum(abs(v) for v in known.tag_shares.values()))
    blind = result.redistribute()
    r = result.probabilities
    open_ = np.arange(10) != 3
    assert blind.probabilities == pytest.approx(
        r[:10] + (r[10] + r[11]) * np.where(open_, r[:10], 0) / r[:10][open_].sum()
    )
    # [P2 theorem 1] with the true losses, and its worst case.
    loss, error = float(np.abs(r - mapped).sum()), float(np.abs(known.probabilities - truth).sum())
    assert error <= known.bound(loss, {"home": 0.0}) <= known.bound(loss) == loss + known.worst_case
    wrong = result.redistribute({"home": homes[::-1]})
    assert np.abs(wrong.probabilities - truth).sum() <= wrong.bound(
        loss, {"home": float(np.abs(homes - homes[::-1]).sum())}
    )
    low, high = known.interval(replicates=30, rng=np.random.default_rng(0)).T
    assert (
        (low <= known.probabilities + 1e-9).all() and (known.probabilities <= high + 1e-9).all()
    ) or method is not None


def test_background_knowledge_is_checked() -> None:
    result = warner.estimate(_city(2000)[0])
    for wrong in (
        {"home": [0.5] * 10},
        {"home": [1.0]},
        {"gym": [0.1] * 10},
        {"home": [-0.1, 1.1, *[0] * 8]},
        {"home": "x"},
        {"home": [np.nan] * 10},
    ):
        refused(WarnerError, "", result.redistribute, wrong)
    plain = UtilityOptimizedRR(DOMAIN, 1.0, [3])
    with pytest.raises(MismatchError, match="no tags"):
        warner.estimate(plain.tally(plain.randomize([1, 2]))).redistribute()
    for loss in ({"home": 3.0}, {"gym": 0.1}):
        refused(ArgumentError, "background", result.redistribute().bound, 0.1, loss)
    for bad_loss in (-1, float("nan"), "x"):
        with pytest.raises(WarnerError):
            result.redistribute().bound(bad_loss)  # type: ignore[arg-type]
    for is_enumerable in ([1], "home", 5):
        with pytest.raises(ArgumentTypeError, match="dict"):
            result.redistribute(is_enumerable)  # type: ignore[arg-type]
    closed = PersonalizedULDP(
        UtilityOptimizedRR(warner.Categorical(list("abc")), 0.1, list("abc")), ["h"]
    )
    negative = warner.estimate(
        closed.tally(closed.device().randomize(["b"] * 100, np.random.default_rng(0))),
        warner.Inversion(),
    )
    shares = negative.redistribute().matrix[:, -1]
    assert (shares >= 0).all() and shares.sum() == pytest.approx(1)


def test_an_exported_table_of_numbers_has_what_is_printed() -> None:
    """Rejects: 48 rows of single numbers without mean and quartiles, where bands are printed."""
    wave, rng = warner.SquareWave(Interval(0, 240, bins=48), 2.0), np.random.default_rng(1)
    result = estimate(wave.tally(wave.randomize(rng.gamma(2, 20, 4000).clip(0, 240), rng)))
    rows = list(csv.DictReader(io.StringIO(result.table().csv())))
    values = [row["value"] for row in rows]
    assert values[0] == "0 to 20" and values[12:] == [
        "mean",
        "25 % quantile",
        "median",
        "75 % quantile",
    ]
    numbers = [result.range(0, 20), result.mean(), result.quantile(0.5)]
    assert [rows[i]["measure"] for i in (0, 12, 14)] == ["between:0:20", "mean", "median"]
    for i, number in zip((0, 12, 14), numbers, strict=True):
        low, high = number.interval()  # type: ignore[union-attr]
        assert [float(rows[i][key]) for key in ("estimate", "low", "high")] == [number, low, high]
    shown, table = str(result), str(result.table())
    for line in table.splitlines()[3:19]:
        assert " ".join(line.split()[:6]).rstrip(" -") in " ".join(shown.split())
    sheet = openpyxl.load_workbook(io.BytesIO(result.table().xlsx())).active
    assert [sheet.cell(2, 3).number_format, sheet.cell(14, 3).number_format] == [
        "0.0 %",
        "#,##0.00",
    ]
    assert len(result.to_frame()) == len(result.table(kind="posterior")) == 48
    few = RandomizedResponse(Integers(0, 4), 2.0)
    of_few = estimate(few.tally(few.randomize([0, 1, 2, 3, 4] * 200, rng)))
    low, high = of_few.mean().interval()  # type: ignore[union-attr]
    (said,) = re.findall(r"Mean [0-9.]+ \(([0-9.]+) to ([0-9.]+)\)", str(of_few.table()))
    assert [float(end) for end in said] == pytest.approx([low, high], abs=0.1)
