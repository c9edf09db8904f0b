"""One block of questions for each person."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np
import pyarrow
import pytest

import warner
from tests.refusals import refused
from warner import Categorical, Integers, Interval, OneOf, Product, estimate
from warner.errors import ArgumentError, ArgumentTypeError
from warner.mechanisms import PerAttribute, RandomizedResponse, cover_of_pairs, from_header
from warner.mechanisms.one_of import variance_of_tables

YES_NO, ABC = Categorical(["no", "yes"]), Categorical(list("abc"))
TWO = Product(x=ABC, y=ABC)
THREE = Product(a=YES_NO, b=ABC, c=ABC)
DESIGNS = {
    "one": lambda e: OneOf(THREE, e),
    "pairs": lambda e: OneOf(THREE, e, "pairs"),
    "a pair and one": lambda e: OneOf(THREE, e, [("a", "b"), "c"]),
    "two questions": lambda e: OneOf(THREE, e, ask=2),
    "bits": lambda e: OneOf(THREE, e, mechanisms=warner.UnaryEncoding),
    "hashes": lambda e: OneOf(THREE, e, mechanisms=lambda d, e: warner.LocalHashing(d, e)),
    "odds": lambda e: OneOf(THREE, e, odds={"a": 1, "b": 5, "c": 2.5}),
    "numbers": lambda e: OneOf(
        Product(age=Interval(0, 90, 6), a=YES_NO),
        mechanisms={
            "age": lambda d: warner.SquareWave(d, e, cells=24),
            "a": warner.RandomizedResponse(YES_NO, e / 2),
        },
    ),
}


def _answers(domain: Product, n: int, seed: int = 1) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(domain.size, 0.3))
    return domain.decode(rng.choice(domain.size, n, p=shares))


@pytest.mark.parametrize("ask", [1, 2])
def test_the_odds_of_two_questions_are_those_of_one_report(ask: int) -> None:
    epsilon = 1.5
    survey = OneOf(TWO, epsilon, ask=1) if ask == 1 else OneOf(THREE, epsilon, ask=2)
    table = survey.probabilities()
    assert all(column.sum() == 1 for column in table.T)
    ratio = max(row.max() / row.min() for row in table)
    assert ratio == survey.law.ratio()
    assert float(ratio) <= np.exp(epsilon) * (1 + 1e-15)
    assert float(ratio) == pytest.approx(np.exp(epsilon), rel=1e-12)
    assert survey.epsilon <= epsilon


def test_each_report_has_the_probability_of_its_block_times_that_of_the_block() -> None:
    survey = OneOf(TWO, 1.0, odds={"x": 1, "y": 3})
    table, coin = survey.probabilities(), RandomizedResponse(ABC, 1.0).probabilities()
    quarter = Fraction(survey.odds[0], 2**64)
    assert quarter == Fraction(1, 4)
    for x, y in np.ndindex(3, 3):
        assert table[:3, 3 * x + y].tolist() == [quarter * p for p in coin[:, x]]
        assert table[3:, 3 * x + y].tolist() == [(1 - quarter) * p for p in coin[:, y]]


@pytest.mark.parametrize("name", DESIGNS)
def test_headers_tallies_and_groups(name: str) -> None:
    survey = DESIGNS[name](2.0)
    assert from_header(survey.header) == survey
    assert sum(survey.odds) == 2**64
    answers = _answers(survey.domain, 600)
    reports = survey.randomize(answers, np.random.default_rng(2))
    whole = survey.tally(reports)
    assert whole.n == 600 and whole.ways == survey.schema.ways
    halves = survey.tally(reports, {"half": np.arange(600) % 2})
    assert halves.total() == whole
    assert warner.Tally.from_json(whole.to_json()) == whole
    assert sum(one.n for one in survey.block_tallies(whole).values()) == 600
    again = survey.reports(dict(reports.columns))
    assert survey.tally(again).counts.tolist() == whole.counts.tolist()


@pytest.mark.parametrize("name", DESIGNS)
def test_an_audit_enumerates_small_designs(name: str) -> None:
    survey = DESIGNS[name](1.0)
    audit = warner.audit(survey)
    assert audit.holds and audit.epsilon <= 1.0


@pytest.mark.parametrize("name", DESIGNS)
def test_the_shares_of_single_questions_come_out(name: str) -> None:
    survey = DESIGNS[name](4.0)
    answers = _answers(survey.domain, 20_000)
    tally = survey.tally(survey.randomize(answers, np.random.default_rng(3)))
    for question, domain in survey.domain.attributes.items():
        truth = np.bincount(domain.encode([a[question] for a in answers]), minlength=domain.size)
        shares = estimate(tally, attributes=[question]).probabilities
        assert np.abs(shares - truth / len(answers)).max() < 0.05


def test_pairs_use_the_reports_on_all_blocks_that_hold_one_of_them() -> None:
    survey = OneOf(THREE, 3.0, "pairs")
    answers = _answers(THREE, 50_000)
    tally = survey.tally(survey.randomize(answers, np.random.default_rng(4)))
    for pair in combinations(THREE.attributes, 2):
        domain = THREE.select(pair)
        index = domain.encode({name: [a[name] for a in answers] for name in pair})
        truth = np.bincount(index, minlength=domain.size) / len(answers)
        both = estimate(tally, attributes=pair)
        assert both.n == 50_000  # each of three blocks holds one of them at least
        assert np.abs(both.probabilities - truth).max() < 0.05
        low, high = both.interval().T
        assert (low <= high).all()
    alone = estimate(tally, attributes=["a"])
    assert alone.n == sum(t.n for name, t in survey.block_tallies(tally).items() if "a" in name)


def test_the_draw_does_not_depend_on_the_answers() -> None:
    survey = OneOf(THREE, 1.0)
    draws = [
        survey.randomize([answer] * 1000, np.random.default_rng(5)).columns["block"]
        for answer in ({"a": "no", "b": "a", "c": "a"}, {"a": "yes", "b": "c", "c": "b"})
    ]
    assert (draws[0] == draws[1]).all()


MISTAKES = {
    "no product": (lambda: OneOf(ABC, 1.0), "must be a Product"),
    "one question": (lambda: OneOf(Product(a=ABC), 1.0), "two or more"),
    "no budget": (lambda: OneOf(THREE), "epsilon: must be a number, because the mechanisms of the blocks"),
    "a question in no block": (lambda: OneOf(THREE, 1.0, ["a", "b"]), "'c' is in no block"),
    "a block twice": (lambda: OneOf(THREE, 1.0, [("a", "b"), ("b", "a"), "c"]), "must not have the same questions twice"),
    "an unknown word": (lambda: OneOf(THREE, 1.0, "triples"), "'attributes', 'pairs' or a list"),
    "one block": (lambda: OneOf(THREE, 1.0, [("a", "b", "c")]), "must be 2 to 10,000 blocks"),
    "odds of nothing": (lambda: OneOf(TWO, 1.0, odds={"x": 1}), "must have one weight for each of x, y"),
    "odds of 0": (lambda: OneOf(TWO, 1.0, odds={"x": 1, "y": 0}), "must all be numbers above 0"),
    "too many questions": (lambda: OneOf(TWO, 1.0, ask=3), "ask: must be from 1 to 2"),
    "a mechanism on other values": (
        lambda: OneOf(TWO, mechanisms={"x": RandomizedResponse(ABC, 1.0), "y": RandomizedResponse(YES_NO, 1.0)}),
        "must have the domain of its question",
    ),
    "combined with other mechanisms": (
        lambda: PerAttribute({"first": OneOf(TWO, 1.0), "second": RandomizedResponse(ABC, 1.0)}),
        "cannot be combined with other mechanisms",
    ),
    "two that nobody was asked": (
        lambda: estimate(_tally(), attributes=["a", "b"]), "nobody is asked both"),
    "a pair that nobody drew": (
        lambda: estimate(_tally("pairs", 1), attributes=["a", "b"]), "in this tally was asked both"),
    "all questions": (lambda: estimate(_tally()), "attributes=['a']"),
    "a table of three": (lambda: OneOf(THREE, 1.0).tally(_reports(), ways=3), "ways: must be at most 1"),
    "a report of a smaller block": (
        lambda: OneOf(THREE, 1.0).reports({"block": [0], "report": [2]}), "'a': must be from 0 to 1"),
}  # fmt: skip


def _reports(blocks: str = "attributes", n: int = 50) -> warner.Reports:
    survey = OneOf(THREE, 1.0, blocks)
    return survey.randomize(_answers(THREE, n), np.random.default_rng(1))


def _tally(blocks: str = "attributes", n: int = 50) -> warner.Tally:
    return OneOf(THREE, 1.0, blocks).tally(_reports(blocks, n))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_end_in_a_message(name: str) -> None:
    call, words = MISTAKES[name]
    with pytest.raises(warner.errors.WarnerError) as caught:
        call()
    assert words in str(caught.value)


def test_blocks_of_many_questions_keep_few_columns() -> None:
    names = [f"q{i}" for i in range(20)]
    survey = OneOf(Product(**dict.fromkeys(names, Integers(0, 3))), 1.0, "pairs")
    assert len(survey.blocks) == 190
    # Subsets of the 16 combinations, as two bytes.
    assert survey.schema.file_columns() == {"block": 190, "report_1": 256, "report_2": 256}
    everyone = [dict.fromkeys(names, 1)] * 5000
    tally = survey.tally(survey.randomize(everyone, np.random.default_rng(6)))
    assert estimate(tally, attributes=["q3", "q7"]).probabilities.shape == (16,)


def test_groups_count_the_people_who_were_asked() -> None:
    survey = OneOf(THREE, 2.0)
    reports = survey.randomize(_answers(THREE, 9000), np.random.default_rng(7))
    groups = survey.tally(reports, {"ward": np.arange(9000) % 3})
    of_groups = estimate(groups, attributes=["a"])
    numbers = [of.n for _, of in of_groups.items()]
    assert sum(numbers) == estimate(groups.total(), attributes=["a"]).n < 9000
    width = np.diff(estimate(groups[(0,)], attributes=["a"]).interval())[0, 0]
    alone = estimate(groups, attributes=["a"], pool="none")
    assert np.diff(alone[(0,)].interval())[0, 0] == pytest.approx(width, rel=0.1)


def test_three_questions_come_together_from_all_pairs() -> None:
    survey = OneOf(THREE, 4.0, "pairs")
    answers = _answers(THREE, 60_000)
    tally = survey.tally(survey.randomize(answers, np.random.default_rng(8)))
    truth = np.bincount(THREE.encode(answers), minlength=THREE.size) / len(answers)
    model = warner.graphical_model(tally)
    assert len(model.edges) == 3
    for table in (estimate(tally).probabilities, model.marginal(["a", "b", "c"]).ravel()):
        pairs = [table.reshape(THREE.shape).sum(axis=axis) for axis in range(3)]
        expected = [truth.reshape(THREE.shape).sum(axis=axis) for axis in range(3)]
        assert max(np.abs(p - t).max() for p, t in zip(pairs, expected, strict=True)) < 0.04


@pytest.mark.parametrize("name", ["one", "pairs", "bits", "hashes", "numbers", "two questions"])
def test_frames_are_counted_as_reports_in_memory_are(name: str) -> None:
    survey = DESIGNS[name](2.0)
    reports = survey.randomize(_answers(survey.domain, 400), np.random.default_rng(9))
    frame = reports.to_frame()
    ward = np.arange(400) % 3
    assert survey.tally(frame).counts.tolist() == survey.tally(reports).counts.tolist()
    frame = frame.append_column("ward", [ward])
    by_frame, by_reports = survey.tally(frame, "ward"), survey.tally(reports, {"ward": ward})
    assert by_frame.counts.tolist() == by_reports.counts.tolist()


def test_a_frame_with_a_report_that_the_block_does_not_have_is_refused() -> None:
    survey = OneOf(THREE, 2.0)
    wrong = pyarrow.table({"block": [0, 1], "report": [2, 2]})
    with pytest.warns(warner.errors.FrameWarning):
        refused(warner.errors.ReportError, "'a'", survey.tally, wrong)


def test_pairs_of_subsets_err_less_than_pairs_of_values() -> None:
    """The default of a block; margins of subsets are slices of their bits."""
    rng = np.random.default_rng(8)
    names = ["a", "b", "c"]
    domain = Product(**dict.fromkeys(names, Categorical(["w", "x", "y", "z"])))
    latent = rng.integers(4, size=(30_000, 1))
    values = np.where(rng.random((30_000, 3)) < 0.4, latent, rng.integers(4, size=(30_000, 3)))
    answers = {name: np.array(list("wxyz"))[values[:, i]].tolist() for i, name in enumerate(names)}
    truth = np.histogram2d(values[:, 0], values[:, 1], bins=4)[0].ravel() / 30_000
    errors = {}
    for make in (None, RandomizedResponse):
        survey = OneOf(domain, 1.0, "pairs", mechanisms=make)
        both = estimate(survey.tally(survey.randomize(answers, rng)), attributes=["a", "b"])
        assert "RakedJoint" in both.method
        errors[make] = float(np.square(both.probabilities - truth).sum())
        lower, upper = both.interval(level=0.9999).T
        assert ((lower <= truth) & (truth <= upper)).all()
    assert errors[None] < errors[RandomizedResponse]


def test_a_cover_holds_each_pair_once_and_costs_less() -> None:
    names = [f"q{i:02}" for i in range(12)]
    domain = Product(**dict.fromkeys(names[1:], YES_NO), q00=Categorical(list("abcdefgh")))
    pairs = set(combinations(domain.attributes, 2))
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        blocks = cover_of_pairs(domain, epsilon)
        held = [pair for block in blocks for pair in combinations(block, 2)]
        assert len(held) == len(pairs)
        assert set(held) == pairs
        assert 2 < max(map(len, blocks)) <= 4
        assert len(blocks) < len(pairs)
        cost = {}
        for design in (blocks, "pairs"):
            survey = OneOf(domain, epsilon, design)
            roots = [
                sqrt(variance_of_tables(inner.channel(), inner.domain.shape))
                for inner in survey.parts.values()
            ]
            cost[str(design)] = sum(roots) ** 2
            shares = np.array(survey.odds) / 2**64
            assert shares == pytest.approx(np.array(roots) / sum(roots), rel=1e-3)
        assert cost[str(blocks)] < cost["pairs"]
    assert max(map(len, cover_of_pairs(domain, 5.0, largest=3))) == 3
    assert set(cover_of_pairs(domain, 1.0, people=200 * len(pairs))) == pairs
    assert cover_of_pairs(domain, 1.0, people=1000) == cover_of_pairs(domain, 1.0)
    refused(ArgumentError, "people", cover_of_pairs, domain, 1.0, 0)
    refused(ArgumentTypeError, "Product", cover_of_pairs, YES_NO, 1.0)


def test_a_graphical_model_takes_pairs_that_nobody_was_asked_as_independent_given_others() -> None:
    rng = np.random.default_rng(10)
    names = ["a", "b", "c", "d"]
    domain = Product(**dict.fromkeys(names, YES_NO))
    first = rng.integers(2, size=80_000)
    chain = [first]
    for _ in names[1:]:
        chain.append(np.where(rng.random(80_000) < 0.15, 1 - chain[-1], chain[-1]))
    answers = {
        name: np.array(["no", "yes"])[values].tolist()
        for name, values in zip(names, chain, strict=True)
    }
    survey = OneOf(domain, 3.0, [("a", "b"), ("b", "c"), ("c", "d")])
    tally = survey.tally(survey.randomize(answers, rng))
    refused(ArgumentError, "a and c", estimate, tally, attributes=["a", "c"])
    model = warner.graphical_model(tally)
    assert model.n == 80_000
    assert set(model.edges) == {("a", "b"), ("b", "c"), ("c", "d")}
    truth = np.histogramdd(np.stack([chain[0], chain[3]], axis=1), bins=2)[0] / 80_000
    assert model.marginal(["a", "d"]) == pytest.approx(truth, abs=0.02)
    assert model.marginal(["d", "a"]) == pytest.approx(model.marginal(["a", "d"]).T)
    assert model.marginal(names).sum() == pytest.approx(1)
    alone = OneOf(domain, 3.0)
    counted = alone.tally(alone.randomize(answers, rng))
    refused(
        ArgumentError,
        "must include two questions that the same people were asked",
        warner.graphical_model,
        counted,
    )


def test_a_regression_takes_the_people_who_were_asked() -> None:
    rng, n = np.random.default_rng(10), 20_000
    ward = rng.integers(0, 2, n)
    smokes = rng.random(n) < np.where(ward, 0.6, 0.3)
    answers = {"a": np.where(smokes, "yes", "no"), "b": ["a", "b"] * 10_000, "c": ["c"] * n}
    alone = OneOf(THREE, 2.0)
    reports = alone.randomize(answers, rng)
    of_all = warner.regress(reports, {"ward": ward}, attribute="a")
    asked_a = reports.columns["block"] == 0
    coin = RandomizedResponse(YES_NO, 2.0)
    some = coin.reports(reports.columns["report"][asked_a])
    of_some = warner.regress(some, {"ward": ward[asked_a]})
    assert of_all.n == asked_a.sum()
    assert of_all.coefficients == pytest.approx(of_some.coefficients, rel=1e-8)
    assert of_all.covariance == pytest.approx(of_some.covariance, rel=1e-8)
    expected = [np.log(3 / 7), np.log(1.5) - np.log(3 / 7)]
    for survey in (OneOf(THREE, 2.0, "pairs", RandomizedResponse), OneOf(THREE, 2.0, ask=2)):
        result = warner.regress(survey.randomize(answers, rng), {"ward": ward}, attribute="a")
        errors = np.sqrt(np.diag(result.covariance))
        assert (np.abs(result.coefficients[0] - expected) < 6 * errors).all()
    subsets = OneOf(THREE, 2.0, "pairs", lambda d, e: warner.SubsetSelection(d, e, size=2))
    pairs = subsets.randomize(answers, rng)
    refused(
        warner.errors.EmptyError,
        "must be a question that somebody was asked alone",
        warner.regress,
        pairs,
        {"ward": ward},
        attribute="a",
    )
