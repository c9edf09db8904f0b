"""One true answer among fake ones: the exact guarantees, the estimates, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.refusals import refused
from warner import (
    Categorical,
    Estimate,
    Integers,
    Inversion,
    PerAttribute,
    Product,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    audit,
    estimate,
)
from warner.errors import ArgumentError, ArgumentTypeError
from warner.mechanisms import HiddenQuestion, WithFakes, from_header
from warner.privacy.report_laws import worst_ratio
from warner.results.from_tally import likelihood_data

ABC, UVW, YN = Categorical(list("abc")), Categorical(list("uvw")), Categorical(["n", "y"])
TWO, THREE = Product(p=ABC, q=UVW), Product(p=ABC, q=UVW, r=YN)
SHARES = {"a": 0.7, "b": 0.2, "c": 0.1}
SURVEYS = {
    "two": lambda e: HiddenQuestion(TWO, e),
    "three": lambda e: HiddenQuestion(THREE, e),
    "unequal odds and public fakes": lambda e: HiddenQuestion(
        TWO, e, odds={"p": 3, "q": 1}, fakes={"p": SHARES}
    ),
    "three with public fakes": lambda e: HiddenQuestion(
        THREE, e, fakes={"p": SHARES, "r": {"n": 0.9, "y": 0.1}}
    ),
    "subsets": lambda e: HiddenQuestion(
        Product(p=Integers(1, 5), q=YN),
        e,
        {"p": lambda d: SubsetSelection(d, e, size=2), "q": lambda d: RandomizedResponse(d, e)},
    ),
    "own epsilons": lambda e: HiddenQuestion(
        THREE,
        None,
        {
            "p": RandomizedResponse(ABC, e),
            "q": RandomizedResponse(UVW, e / 4),
            "r": RandomizedResponse(YN, e / 2),
        },
        fakes={"q": {"u": 0.1, "v": 0.6, "w": 0.3}},
    ),
}


def _of_one_answer(survey: HiddenQuestion) -> Fraction:
    """The largest ratio between two people who differ in one answer, from the whole table."""
    table = survey.probabilities().reshape(-1, *survey.domain.shape)
    return max(
        worst_ratio(np.moveaxis(table, axis + 1, -1).reshape(-1, size))
        for axis, size in enumerate(survey.domain.shape)
    )


@pytest.mark.parametrize("name", SURVEYS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_epsilon_is_the_largest_ratio_of_all_reports(name: str, epsilon: float) -> None:
    # rejects the papers' amplified epsilon taken for that of any two people, and a mechanism that
    # draws the fakes by another law than it says
    survey = SURVEYS[name](epsilon)
    table = survey.probabilities()
    assert (table.sum(axis=0) == 1).all()
    assert worst_ratio(table) == survey.law.ratio()
    assert survey.epsilon <= epsilon
    assert audit(survey).holds and audit(survey).epsilon == survey.epsilon
    assert from_header(survey.header) == survey


@pytest.mark.parametrize("name", SURVEYS)
def test_two_people_who_differ_in_one_answer(name: str) -> None:
    survey = SURVEYS[name](1.0)
    exact = _of_one_answer(survey)
    assert survey.law.ratio_of_one_answer() == exact
    assert survey.epsilon_of_one_answer == pytest.approx(math.log(exact), abs=1e-12)
    assert survey.epsilon_of_one_answer < survey.epsilon


@pytest.mark.parametrize("d", [2, 3])
def test_the_formula_of_the_papers_is_that_of_one_answer(d: int) -> None:
    survey = HiddenQuestion(
        Product(**{f"q{i}": ABC for i in range(d)}), math.log(d * (math.e - 1) + 1)
    )
    assert survey.epsilon_of_one_answer == pytest.approx(1.0, abs=1e-9)
    assert worst_ratio(survey.probabilities()) > Fraction(math.exp(1.3))  # of any two people


def test_the_sampler_follows_the_law() -> None:
    # chi-square far beyond 1e-9 would need a statistic above 70
    survey = HiddenQuestion(TWO, 1.5, odds={"p": 2, "q": 1}, fakes={"p": SHARES})
    n, rng = 60_000, np.random.default_rng(3)
    reports = survey.randomize([{"p": "c", "q": "u"}] * n, rng)
    expected = survey.probabilities()[:, 6].astype(float) * n
    counts = np.bincount(survey.schema.index(reports.columns), minlength=9)
    assert ((counts - expected) ** 2 / expected).sum() < 70
    one = WithFakes(RandomizedResponse(ABC, 1.5), 2**62, [2**63, 2**62, 2**62])
    alone = np.bincount(one.randomize(["b"] * n, rng).columns["report"], minlength=3)
    chance = one.probabilities()[:, 1].astype(float) * n
    assert ((alone - chance) ** 2 / chance).sum() < 70
    assert np.allclose(one.channel().dense(), one.probabilities().astype(float))
    assert one.epsilon == audit(one).epsilon
    with pytest.raises(ArgumentTypeError, match=r"share: must be a whole number; got 0\.5"):
        WithFakes(RandomizedResponse(ABC, 1.5), 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["unequal odds and public fakes", "subsets"])
def test_shares_and_their_intervals(name: str) -> None:
    # 200 simulations of six shares or more; 95 % of 1,200 has a standard error of 0.6 %. Rejects
    # the channel of other fakes, or of other odds, than those that were drawn.
    survey = SURVEYS[name](3.0)
    rng = np.random.default_rng(8)
    names, sizes = list(survey.parts), survey.domain.shape
    truth = [rng.dirichlet(np.full(size, 4.0)) for size in sizes]
    covered: list[np.ndarray] = []
    for _ in range(200):
        index = [rng.choice(size, 6000, p=p) for size, p in zip(sizes, truth, strict=True)]
        columns = survey.randomize_index(np.ravel_multi_index(index, sizes), _source(rng))
        tally = survey.tally(survey.reports(columns))
        for which, p in zip(names, truth, strict=True):
            data = likelihood_data(tally, [which])
            interval = Estimate(Inversion().fit(data), data, Inversion()).interval()
            covered.append((interval[:, 0] <= p) & (p <= interval[:, 1]))
    assert 0.91 < np.concatenate(covered).mean() < 0.985


def _source(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    from warner._core.sampling import Source

    return Source(rng)


def test_what_hiding_costs_is_the_ratio_of_the_variances() -> None:
    survey = HiddenQuestion(Product(**{f"q{i}": Integers(1, 4) for i in range(5)}), 2.0)
    uniform = np.full(4, 0.25)
    hidden = survey.parts["q0"].channel().variance(uniform).sum()
    alone = 5 * RandomizedResponse(Integers(1, 4), 2.0).channel().variance(uniform).sum()
    assert hidden / alone == pytest.approx(5, rel=1e-4)
    assert survey.cost == pytest.approx(5, rel=1e-4)


def test_questions_are_estimated_one_by_one() -> None:
    survey = HiddenQuestion(THREE, 2.0)
    reports = survey.randomize([{"p": "a", "q": "u", "r": "y"}] * 500)
    tally = survey.tally(reports)
    assert tally.ways == 1 and tally.n == 500
    assert (tally + survey.tally(survey.randomize([{"p": "a", "q": "u", "r": "y"}] * 9))).n == 509
    one_by_one = "only one answer of a person is true"
    refused(ArgumentError, one_by_one, survey.tally, reports, ways=2)
    refused(ArgumentError, one_by_one, estimate, tally)
    refused(ArgumentError, one_by_one, estimate, tally, attributes=["p", "q"])
    refused(ArgumentTypeError, "no program for other devices", survey.device_program)


def test_what_cannot_be_hidden_is_refused() -> None:
    one, hidden = Product(p=ABC), HiddenQuestion
    refused(ArgumentTypeError, "two or more", hidden, one, 1.0)
    refused(ArgumentError, "must be a number, because the mechanisms", hidden, TWO)
    refused(
        ArgumentTypeError, "RandomizedResponse or SubsetSelection", hidden, TWO, 1.0, UnaryEncoding
    )
    refused(
        ArgumentError, "name each block once", hidden, TWO, 1.0, {"p": RandomizedResponse(ABC, 1)}
    )
    refused(ArgumentError, "odds", hidden, TWO, 1.0, odds={"p": 1})
    refused(ArgumentError, "above 0", hidden, TWO, 1.0, odds={"p": 1, "q": 0})
    refused(ArgumentError, "add up to 1", hidden, TWO, 1.0, fakes={"p": dict.fromkeys("abc", 0.5)})
    refused(
        ArgumentError, "must have one weight for each of", hidden, TWO, 1.0, fakes={"p": {"a": 1.0}}
    )
    refused(ArgumentError, "must name only the questions", hidden, TWO, 1.0, fakes={"z": SHARES})
    refused(ArgumentTypeError, "dict", hidden, TWO, 1.0, fakes=[0.5])
    twice = Product(h=TWO, r=YN)
    inside = {"h": lambda d: HiddenQuestion(d, 1.0), "r": lambda d: RandomizedResponse(d, 1.0)}
    refused(ArgumentError, "Put all questions into one", PerAttribute, twice, inside)
    subsets = {"p": SubsetSelection(ABC, 1.0, size=2), "q": RandomizedResponse(UVW, 1.0)}
    refused(
        ArgumentError,
        "always draws fake answers with equal",
        hidden,
        TWO,
        None,
        subsets,
        fakes={"p": SHARES},
    )
