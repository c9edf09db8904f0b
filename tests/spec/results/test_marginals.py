"""Several attributes, a key with values, and those who answered."""

from __future__ import annotations

import json
import pickle
import re
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import COMBINED, PER_ATTRIBUTE
from tests.spec.mechanisms._key_value import PAY, _make, _people, _theta
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey, _tally
from tests.spec.results._attributes import DOMAIN, SHAPE, family, fitted, keep, seen
from tests.spec.results._graphical import NAMES, model, survey, tally
from warner import (
    Categorical,
    Estimate,
    Grid,
    Integers,
    Interval,
    Inversion,
    LogSpline,
    MaximumLikelihood,
    Product,
    RandomizedResponse,
    compare_groups,
    estimate,
    graphical_model,
)
from warner.channels import KroneckerChannel
from warner.domains import Optional, with_missing
from warner.errors import ArgumentError, ArgumentTypeError
from warner.estimators import Estimator, Independent, PerKey, Status
from warner.estimators.literature import SmoothedEM
from warner.mechanisms import Mechanism
from warner.metrics import cramers_v
from warner.results.intervals import normal_quantile
from warner.results.summaries import Ratio
from warner.results.wald_tests import independence


@pytest.mark.parametrize(
    "method", [Inversion(), Inversion("project"), MaximumLikelihood(), Independent()], ids=repr
)
def test_a_marginal_is_sums_in_the_order_asked(method: Estimator) -> None:
    whole, _ = fitted(method)
    table = whole.probabilities.reshape(SHAPE)
    assert whole.marginal(["pay", "sex"]).probabilities == pytest.approx(
        table.sum(axis=1).T.ravel()
    )
    assert list(whole.marginal(["pay", "sex"]).domain.attributes) == ["pay", "sex"]  # type: ignore[attr-defined]
    assert whole.marginal(["age", "pay", "sex"]).probabilities == pytest.approx(
        np.moveaxis(table, 0, 2).ravel()
    )
    assert whole.marginal(["sex", "age", "pay"]) is whole


PAIRS = list(combinations("abcd", 2))
DRAWN = warner.OneOf(
    Product(**{name: Categorical(["no", "yes"]) for name in "abcd"}),
    2.0,
    blocks=PAIRS,
    mechanisms=RandomizedResponse,
)


def drawn_pairs() -> warner.Tally:
    """The tally of 6,000 people who were asked two of four questions."""
    rng = np.random.default_rng(8)
    said = {
        name: np.where(rng.random(6000) < share, "yes", "no")
        for name, share in zip("abcd", (0.3, 0.5, 0.2, 0.6), strict=True)
    }
    return DRAWN.tally(DRAWN.randomize(said, rng))


def test_the_error_of_a_marginal_is_that_of_the_people_who_were_asked() -> None:
    """Rejects the variance of one report divided by the number of all people.

    Of pairs of four questions, half of the people are asked one of them. A report names one of
    four pairs of answers, the true one with chance p and each other with q, so yes has the chance
    p + q among those with yes and 2 q among the others, and the share has the variance
    r (1 - r) / (n (p - q)^2), where n counts those who were asked and r is the share of yes in
    their reports. With the number of all, errors are too small by a factor of 1.4.
    """
    counted = drawn_pairs()
    whole, alone = estimate(counted), estimate(counted, attributes="a")
    marginal = whole.marginal("a")
    of_pairs = counted.counts.reshape(len(PAIRS), 5)[:, 0]  # each before its table of 2 x 2
    asked = int(of_pairs[["a" in pair for pair in PAIRS]].sum())
    assert marginal.n == alone.n == asked < 0.55 * whole.n
    q = 1 / (np.exp(2.0) + 3)
    gap = (np.exp(2.0) - 1) * q
    reports = 2 * q + gap * alone.data.channel.invert(alone.data.weights)[1]
    error = np.sqrt(reports * (1 - reports) / asked) / gap
    low, high = marginal.interval(kind="wald")[1]
    assert (high - low) / 2 == pytest.approx(normal_quantile(0.95) * error, rel=1e-3)
    assert marginal.interval() == pytest.approx(alone.interval(), abs=1e-3)
    assert "asked" not in str(marginal)


@pytest.mark.parametrize("of", ["marginal", "independence", "cramers_v"])
def test_two_of_several_drawn_questions_have_the_error_of_those_asked_one_of_them(of: str) -> None:
    """Rejects people who were asked neither of two questions, counted among their reports."""
    counted = drawn_pairs()
    whole, pair = estimate(counted), estimate(counted, attributes=["a", "b"])
    assert pair.n < whole.n
    if of == "marginal":
        assert whole.marginal(["a", "b"]).n == pair.n
        wald = whole.marginal(["a", "b"]).interval(kind="wald")
        assert wald == pytest.approx(pair.interval(kind="wald"))
    elif of == "independence":
        test, other = (independence(each, "a", "b") for each in (whole, pair))
        assert (test.n, test.statistic) == (other.n, pytest.approx(other.statistic))
    else:
        v, other_v = (each.cramers_v("a", "b") for each in (whole, pair))
        assert float(v) == pytest.approx(float(other_v))


def test_one_name_gives_the_attributes_own_domain_with_its_numbers() -> None:
    whole, theta = fitted(MaximumLikelihood())
    age = whole.marginal("age")
    assert age.domain == Integers(0, 3)
    assert age.attribute == "age"
    assert whole.marginal(["age"]).domain == age.domain
    truth = theta.sum(axis=(0, 2)) @ np.arange(4)
    mean = age.mean()
    low, high = mean.interval(replicates=50, rng=np.random.default_rng(0))  # type: ignore[union-attr]
    assert low < truth < high and low < mean < high
    assert 0 <= whole.marginal("pay").quantile(0.5) <= 9
    assert age.status is Status.CONVERGED and age.gap == whole.gap


@pytest.mark.parametrize(
    ("names", "error", "says"),
    [
        ("weight", ArgumentError, "sex, age, pay; got 'weight'"),
        (["sex", "sex"], ArgumentError, "different question"),
        ([], ArgumentError, "at least 1"),
        (3, ArgumentTypeError, "names of questions"),
        (["sex", 3], ArgumentTypeError, "names of questions"),
    ],
)
def test_names_that_are_not_there_or_repeated_are_refused(
    names: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        fitted(Inversion())[0].marginal(names)  # type: ignore[arg-type]


def test_a_domain_of_one_attribute_has_no_marginals() -> None:
    coin = RandomizedResponse(Integers(0, 1), 1.0)
    with pytest.raises(ArgumentTypeError, match="Product"):
        warner.estimate(coin.tally(coin.randomize([0, 1, 1]))).marginal("coin")


def test_a_marginal_of_a_marginal_is_the_marginal() -> None:
    whole, _ = fitted(Inversion("project"))
    once, twice = whole.marginal("age"), whole.marginal(["pay", "age"]).marginal("age")
    assert twice.probabilities == pytest.approx(once.probabilities)
    assert twice.interval() == pytest.approx(once.interval())
    both = [
        e.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0))
        for e in (once, twice)
    ]
    assert both[0] == pytest.approx(both[1])


def test_marginals_become_rows_and_json_and_say_their_intervals() -> None:
    age = fitted(MaximumLikelihood())[0].marginal("age")
    data = json.loads(json.dumps(age.to_json()))
    assert data["attribute"] == "age"
    assert data["interval"]["kind"] == "score"
    assert len(data["shares"]) == 4


def test_functions_of_a_marginal_are_functions_of_the_whole() -> None:
    """A matrix of weights and the same as a function give the same bootstrap; weights of another
    shape are refused.
    """
    age = fitted(MaximumLikelihood())[0].marginal("age")
    weights = np.array([[0.0, 1.0, 2.0, 3.0]])
    by = [
        age.interval(kind="bootstrap", weights=w, replicates=20, rng=np.random.default_rng(0))
        for w in (weights, lambda t: weights @ t)
    ]
    assert by[0] == pytest.approx(by[1])
    refused(
        ArgumentError,
        "rows of 4 finite numbers",
        age.interval,
        kind="bootstrap",
        weights=np.ones((1, 24)),
    )


@pytest.mark.parametrize(
    "name",
    ["RandomizedResponse", "UnaryEncoding", "SubsetSelection", "HadamardResponse", "LocalHashing"],
)
def test_marginals_of_one_mechanism_on_all_combinations_hold_the_truth(name: str) -> None:
    mechanism = getattr(warner, name)(
        DOMAIN, 3.0, **({"seeds": 128} if name == "LocalHashing" else {})
    )
    theta = np.random.default_rng(1).dirichlet(np.ones(24))
    rng = np.random.default_rng(2)
    values = DOMAIN.decode(rng.choice(24, 20_000, p=theta))
    found = warner.estimate(
        mechanism.tally(mechanism.randomize(values, rng)), Inversion("project")
    ).marginal(["pay", "age"])
    truth = theta.reshape(SHAPE).sum(axis=0).T.ravel()
    whole = name in ("LocalHashing", "UnaryEncoding")  # whole reports, as they say more
    assert found.interval_kind() == ("bootstrap" if whole else "score")
    bounds = found.interval(0.995)
    assert (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()
    assert (np.diff(bounds, axis=1) < 0.15).all() and found.rows()[0]["low"] <= found.rows()[0][
        "high"
    ]


def test_the_inversion_of_some_attributes_adds_no_noise_of_others() -> None:
    """Unbiased shares of bits sum to one on average only: sums over them had 16 times the variance,
    and a bootstrap that did not know of it.
    """
    domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q", "r", "s"]))
    survey = warner.PerAttribute(
        domain,
        {"a": lambda d: RandomizedResponse(d, 2.0), "b": lambda d: warner.UnaryEncoding(d, 1.0)},
    )
    tally = survey.tally(
        survey.randomize(domain.decode(np.arange(800) % 8), np.random.default_rng(1))
    )
    part = warner.estimate(tally, Inversion()).marginal("a")
    alone = warner.estimate(tally, Inversion(), attributes=["a"])
    assert part.probabilities == pytest.approx(alone.probabilities, abs=1e-12)
    assert part.status is alone.status
    assert part.interval() == pytest.approx(alone.interval(), abs=1e-12)
    bounds = [e.interval(kind="bootstrap", rng=np.random.default_rng(2)) for e in (part, alone)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-12)


def test_numbers_of_a_marginal_are_bounded_by_its_own_reports() -> None:
    """The mean and median of one of two attributes: within seconds, around the truth, and holding
    the estimate.
    """
    both = Product(smokes=Categorical(["no", "yes"]), pay=Interval(0, 1, bins=32))
    survey = warner.PerAttribute(
        both,
        {
            "smokes": lambda d: RandomizedResponse(d, 1.0),
            "pay": lambda d: warner.SquareWave(d, 1.0),
        },
    )
    rng = np.random.default_rng(1)
    pay = rng.beta(2, 5, 10_000)
    tally = survey.tally(
        survey.randomize({"smokes": rng.choice(["no", "yes"], pay.size), "pay": pay}, rng)
    )
    marginal = warner.estimate(tally, attributes=["smokes", "pay"]).marginal("pay")
    for quantity, truth in ((marginal.mean(), 2 / 7), (marginal.quantile(0.5), 0.2644)):
        low, high = quantity.interval()
        assert low <= quantity <= high and low - 0.02 < truth < high + 0.02
        assert high - low < 0.13


# Estimates of attributes that are named in a list.


@pytest.mark.parametrize("attributes", [[], ["sex", "sex"], ["sex", "other"], [3]], ids=repr)
def test_attributes_that_are_not_there_are_refused(attributes: Any) -> None:
    with pytest.raises(ArgumentError, match=r"must name questions \(sex, age\), each of them once"):
        estimate(_tally(_survey()), attributes=attributes)


def test_attributes_are_of_tuples_and_named_in_a_list() -> None:
    alone = estimate(_tally(_survey()), attributes=["sex"])
    assert estimate(_tally(_survey()), attributes="sex") == alone  # type: ignore[arg-type]
    coin = RandomizedResponse(SEX, 1.0)
    with pytest.raises(ArgumentError, match="several"):
        estimate(coin.tally(coin.randomize(["f"])), attributes=["sex"])
    with pytest.raises(ArgumentError, match=r"must be one question.*got sex, age.*ways=2"):
        estimate(_tally(_survey(), ways=1))


def test_attributes_come_in_the_order_asked() -> None:
    tally = _tally(_survey())
    a, b = (
        estimate(tally, warner.Inversion("project"), attributes=names)
        for names in (["sex", "age"], ["age", "sex"])
    )
    assert a.probabilities.reshape(2, 4) == pytest.approx(b.probabilities.reshape(4, 2).T)
    assert list(a.domain.attributes) == ["sex", "age"] and list(b.domain.attributes) == [
        "age",
        "sex",
    ]
    assert estimate(tally).domain == BOTH and estimate(tally, attributes=["age"]).domain == AGE


def test_tallies_of_several_budgets_are_estimated_together() -> None:
    parts = [_tally(_survey(1.0), 30_000), _tally(_survey(3.0), 30_000)]
    both = estimate(parts, warner.Inversion(), attributes=["age", "sex"])
    assert both.n == 60_000 and both.probabilities == pytest.approx(np.full(8, 1 / 8), abs=0.02)
    assert both.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0)).shape == (
        8,
        2,
    )


@pytest.mark.parametrize(
    "name", ["uRAP x OUE", "RR x OUE x OLH", "subsets x RR", "RR x SquareWave"]
)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_bootstrap_intervals_of_tuples_are_as_wide_as_walds(name: str, target: str) -> None:
    survey: Mechanism = COMBINED[name](3.0)
    rng = np.random.default_rng(1)
    tally = survey.tally(
        survey.randomize(survey.domain.decode(rng.integers(0, survey.domain.size, 3000)), rng)
    )
    found = estimate(tally, warner.Inversion(), attributes=list(PER_ATTRIBUTE[name](3.0).parts)[:2])
    wald = found.interval(target=target)
    boot = found.interval(target=target, kind="bootstrap", replicates=100, rng=rng)
    inside = (wald[:, 0] > 0) & (boot[:, 0] > 0)
    assert inside.any() and np.diff(boot, axis=1)[inside] == pytest.approx(
        np.diff(wald, axis=1)[inside], rel=0.5
    )


# Shares and means given a key, with their intervals.


def test_the_values_of_a_key_are_a_distribution_with_intervals() -> None:
    mechanism = _make("direct", "piecewise", 4.0)
    tally = mechanism.tally(mechanism.randomize(_people(40_000), np.random.default_rng(2)))
    found = warner.estimate(tally, PerKey(warner.estimators.literature.SmoothedEM())).conditional(
        "b"
    )
    assert found.probabilities.sum() == pytest.approx(1) and found.frequency == pytest.approx(
        0.35, abs=0.03
    )
    truth = _theta().reshape(4, 8)[1] / 0.35
    bounds = found.interval(0.999)
    assert (
        bounds.shape == (8, 2) and (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()
    )
    low, high = found.quantile(0.5).interval(replicates=20, rng=np.random.default_rng(0))
    assert PAY.low <= low <= found.quantile(0.5) <= high <= PAY.high
    low, high = found.variance().interval(replicates=20, rng=np.random.default_rng(0))
    assert 0 < low < high < 1 and len(found.rows()) == 8


def test_fiellers_interval_is_all_there_is_where_the_denominator_may_be_zero() -> None:
    z = normal_quantile(0.95)
    variance = np.diag([0.01, 0.0004])
    assert Ratio(0.05, 0.1, variance, (-1, 1)).around(z)[1] == 1
    assert Ratio(0.05, 0.03, variance, (-1, 1)).around(z).tolist() == [-1, 1]
    tight = Ratio(0.3, 0.6, variance * 1e-6, (-1, 1)).around(z)
    assert tight == pytest.approx([0.5, 0.5], abs=1e-3) and tight[0] < 0.5 < tight[1]


def test_a_distribution_of_two_attributes_is_conditioned_whatever_made_it() -> None:
    both = warner.Product(key=Categorical(["x", "y"]), value=Integers(0, 2))
    coin = warner.RandomizedResponse(both, 4.0)
    answers = [{"key": "x", "value": 0}, {"key": "x", "value": 2}, {"key": "y", "value": 1}] * 3000
    found = warner.estimate(coin.tally(coin.randomize(answers, np.random.default_rng(0))))
    one = found.conditional("x")
    assert one.probabilities == pytest.approx(
        [0.5, 0, 0.5], abs=0.05
    ) and one.mean() == pytest.approx(1, abs=0.1)
    low, high = one.mean().interval(replicates=20, rng=np.random.default_rng(0))
    assert low < 1 < high and one.interval().shape == (3, 2)
    rows = found.frequencies()
    assert [row["estimate"] for row in rows] == pytest.approx([2 / 3, 1 / 3], abs=0.05)
    # Frequencies and shares have closed intervals: no bootstrap, whose limits at a share of 0 are
    # both 0.
    assert [[row["low"], row["high"]] for row in rows] == found.marginal("key").interval().tolist()
    low, high = one.interval()[1]
    assert low == 0 and high > 0.002
    assert one.interval(target="respondents")[0].tolist() != one.interval()[0].tolist()


# The distribution among those who answered, where nonresponse is a value.


UNITS = warner.SubsetSelection(Optional(Integers(0, 9)), 3.0)
ANSWERS = [*np.minimum(np.random.default_rng(5).poisson(3, 4000), 9).tolist(), *[None] * 1000]


def _estimate(method: warner.estimators.Estimator | None = None) -> warner.Estimate:
    return warner.estimate(UNITS.tally(UNITS.randomize(ANSWERS, np.random.default_rng(2))), method)


@pytest.mark.parametrize(
    "method", [None, MaximumLikelihood(), warner.Inversion("project")], ids=repr
)
def test_shares_mean_and_quantile_are_of_those_who_answered(
    method: warner.estimators.Estimator | None,
) -> None:
    result = _estimate(method)
    given = result.answered()
    assert given.domain == Integers(0, 9) and given.probabilities.sum() == pytest.approx(1)
    assert given.frequency == pytest.approx(0.8, abs=0.04)
    assert given.n == pytest.approx(5000 * given.frequency)
    shares = result.probabilities[:-1] / result.probabilities[:-1].sum()
    assert given.probabilities == pytest.approx(shares)
    assert given.mean() == pytest.approx(shares @ np.arange(10)) and given.mean() == result.mean()
    assert given.quantile(0.5) in (2, 3) and given.range(0, 9) == pytest.approx(1)
    rng = np.random.default_rng(0)
    for number, truth in (
        (given.mean(), 3.0),
        (result.mean(), 3.0),
        (given.range(0, 2), 0.423),
        (given.variance(), 3.0),
        (given.quantile(0.5), 3.0),
    ):
        low, high = number.interval(0.95, replicates=20, rng=rng)
        assert low <= number <= high and low - 0.05 <= truth <= high + 0.05
    row = given.row()
    assert row["low"] < 0.8 < row["high"] and row["high"] - row["low"] < 0.08
    assert len(given.rows()) == 10 and repr(given).startswith("Answered(")
    assert pickle.loads(pickle.dumps(result)).answered().rows() == given.rows()


def test_an_order_of_the_values_is_used_though_nonresponse_has_no_place_in_it() -> None:
    """A smooth fit moves mass between neighbours, and nonresponse is nobody's neighbour."""
    result = _estimate()
    assert result.method == "LogSpline()" and result.has_posterior_intervals
    rough = _estimate(MaximumLikelihood()).probabilities
    bend = [np.abs(np.diff(p[:-1], 2)).sum() for p in (result.probabilities, rough)]
    assert bend[0] < bend[1] and result.probabilities[-1] == pytest.approx(rough[-1], abs=0.01)


@pytest.mark.parametrize("method", [LogSpline(), SmoothedEM()], ids=repr)
@pytest.mark.parametrize("size", [12, 300])
def test_with_little_noise_the_answers_are_estimated_as_if_nobody_were_silent(
    method: warner.estimators.Estimator, size: int
) -> None:
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal(size / 3, size / 10, 3000), 0, size - 1).astype(int).tolist()
    plain = warner.RandomizedResponse(Integers(0, size - 1), 14.0)
    silent = warner.RandomizedResponse(Optional(Integers(0, size - 1)), 14.0)
    alone = warner.estimate(plain.tally(plain.randomize(values, rng)), method)
    beside = warner.estimate(silent.tally(silent.randomize([*values, *[None] * 1000], rng)), method)
    given = beside.answered()
    assert given.frequency == pytest.approx(0.75, abs=0.005)
    assert np.abs(np.cumsum(given.probabilities - alone.probabilities)).max() < 0.01


def test_places_have_a_mean_of_two_coordinates() -> None:
    cells = warner.SubsetSelection(with_missing(Grid(2, 2), "answer"), 4.0)
    answers = [(0, 1), None, (1, 1)] * 500
    result = warner.estimate(cells.tally(cells.randomize(answers, np.random.default_rng(0))))
    down, right = result.answered().mean()  # type: ignore[misc]
    assert down == pytest.approx(0.5, abs=0.1) and right == pytest.approx(1, abs=0.1)
    low, high = down.interval()
    assert low < 0.5 < high


def test_labels_have_no_mean_and_other_domains_no_nonresponse() -> None:
    coin = warner.RandomizedResponse(Optional(Categorical(["no", "yes"])), 2.0)
    result = warner.estimate(coin.tally(coin.randomize(["no", "yes", None] * 50)))
    refused(ArgumentTypeError, "mean", result.answered().mean)
    plain = warner.RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    tally = plain.tally(plain.randomize(["no", "yes"] * 50))
    refused(ArgumentTypeError, '"no answer" as one of its values', warner.estimate(tally).answered)


def test_tables_have_the_label_of_nonresponse() -> None:
    result = _estimate()
    assert result.rows()[-1]["value"] == "(no answer)"
    frame = result.to_frame()
    assert frame.column("value").to_pylist()[-2:] == ["9", "(no answer)"]
    assert result.to_json()["answered"]["people_about"] == pytest.approx(result.answered().n)


def test_a_log_spline_with_nonresponse_has_a_limit_that_it_names() -> None:
    many = warner.RandomizedResponse(Optional(Interval(0, 1, 3000)), 5.0)
    tally = many.tally(many.randomize([0.5, None] * 50, np.random.default_rng(0)))
    refused(ArgumentError, "2048", warner.estimate, tally, LogSpline())
    assert warner.estimate(tally).method == "EmpiricalBayes()"


# What graphical models say.


def test_a_chain_gives_the_edges_of_the_chain() -> None:
    found = model()
    assert {frozenset(edge) for edge in found.edges} >= {
        frozenset(pair) for pair in pairwise(NAMES[:6])
    }
    assert ("q6",) in found.cliques and found.attributes == NAMES
    assert repr(found).startswith("GraphicalModel(7 attributes, ") and len(repr(found)) < 80


def test_one_and_two_attributes_have_their_separate_estimates() -> None:
    for names in (["q0"], ["q0", "q1"], ["q5", "q2"], ["q6", "q3"]):
        alone = estimate(tally(), attributes=names)
        shares = model().marginal(names).ravel()
        assert shares == pytest.approx(alone.probabilities, abs=1e-6)
    assert model().marginal("q0") == pytest.approx(model().marginal(["q0"]))


def test_marginals_are_in_the_order_asked() -> None:
    table = model().marginal(["q0", "q2", "q1"])
    turned = model().marginal(["q1", "q0", "q2"])
    assert turned == pytest.approx(table.transpose(2, 0, 1))
    assert table.sum() == pytest.approx(1) and (table >= 0).all()


def test_three_attributes_of_a_chain_are_close_to_their_direct_estimate() -> None:
    names = ["q1", "q2", "q3"]
    direct = estimate(tally(3), attributes=names).probabilities
    assert model().marginal(names).ravel() == pytest.approx(direct, abs=0.02)


def test_samples_are_columns_that_can_be_randomised_again() -> None:
    people = model().sample(50, np.random.default_rng(1))
    assert list(people) == NAMES and {len(column) for column in people.values()} == {50}
    assert len(survey().randomize(people).columns["q0.report"]) == 50
    assert people == model().sample(50, np.random.default_rng(1))


def test_the_summary_has_the_strongest_edge_first() -> None:
    rows = model().summary()
    assert [(row["first"], row["second"]) for row in rows] == list(model().edges)
    information = [row["information"] for row in rows]
    assert information == sorted(information, reverse=True) and min(information) > 0


def test_cliques_stay_within_their_limit_and_attributes_can_be_left_out() -> None:
    small = graphical_model(tally(), ["q3", "q1", "q2"], largest_clique=2)
    assert small.attributes == ["q3", "q1", "q2"]
    assert max(map(len, small.cliques)) == 2
    several = graphical_model(iter([tally()]), ["q3", "q1", "q2"], largest_clique=2)
    assert several.edges == small.edges


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"tally": 3}, ArgumentTypeError, "must be a tally"),
        ({"tally": []}, ArgumentTypeError, "must be a tally"),
        ({"attributes": ["q1"]}, ArgumentError, "two or more"),
        ({"attributes": ["q1", "no"]}, ArgumentError, "must name questions"),
        ({"attributes": "q1"}, ArgumentError, "must be two or more"),
        ({"largest_clique": 0}, ArgumentError, "largest_clique"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    change: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        graphical_model(**{"tally": tally(), **change})  # type: ignore[arg-type]


def test_a_tally_of_single_attributes_is_refused() -> None:
    refused(ArgumentError, "ways=2", graphical_model, tally(1))


def test_names_that_are_not_there_are_refused() -> None:
    refused(ArgumentError, "weight", model().marginal, ["q0", "weight"])
    refused(ArgumentError, "n: must", model().sample, 0)


# What joint estimates say of the dependence of two attributes.


def test_the_test_family_has_the_association_that_it_is_named_for() -> None:
    marginal = np.array([0.5, 0.3, 0.2])
    for v in (0.0, 0.3, 1.0):
        assert cramers_v(family(marginal, v)) == pytest.approx(v, abs=1e-12)
    assert cramers_v([[0, 5, 5], [0, 5, 5]]) == 0


@pytest.mark.parametrize(
    "table",
    [[[1.0, 2.0]], [1.0, 2.0], [[0, 0], [0, 0]], [[1, -1], [1, 1]], [[1, float("nan")], [1, 1]]],
)
def test_tables_without_an_association_are_refused(table: object) -> None:
    refused(ArgumentError, "", cramers_v, table)


def test_association_of_answers_that_were_not_randomised_is_the_tables_up_to_its_correction() -> (
    None
):
    marginal = np.array([0.5, 0.3, 0.2])
    pair = Product(a=Integers(0, 2), b=Integers(0, 2))
    data = seen(KroneckerChannel([keep(3, 1.0)] * 2), family(marginal, 0.4).ravel(), 10**6, pair)
    table = data.weights.reshape(3, 3)
    v = Estimate(Inversion().fit(data), data, Inversion()).cramers_v("a", "b")
    assert v == pytest.approx(cramers_v(table), abs=1e-4)
    low, high = v.interval(replicates=20, rng=np.random.default_rng(0))
    assert 0.39 < low < v < high < 0.41


def test_association_is_refused_where_it_cannot_be_known() -> None:
    whole, _ = fitted(Inversion())
    refused(ArgumentError, "different question", whole.cramers_v, "sex", "sex")
    with pytest.raises(ArgumentError, match="respondents"):
        whole.cramers_v("sex", "age").interval(target="respondents")
    bits = warner.UnaryEncoding(DOMAIN, 2.0)
    known_by_sums = warner.estimate(bits.tally(bits.randomize(DOMAIN.decode(np.arange(24)))))
    refused(
        ArgumentError, "possible reports can all be listed", known_by_sums.cramers_v, "sex", "age"
    )


def _plans_and_minutes(by: bool = False) -> warner.Tally:
    """Reports of a plan and of minutes, in two regions or of all people."""
    rng = np.random.default_rng(4)
    plans, minutes = Categorical(["free", "pro"]), Interval(0, 240, bins=24)
    app = warner.PerAttribute(
        {"plan": RandomizedResponse(plans, 2.0), "minutes": warner.SquareWave(minutes, 2.0)}
    )
    people = {"plan": ["free", "pro", "free"] * 400, "minutes": [20.5, 90.5, 70.5] * 400}
    region = {"region": ["east", "west"] * 600} if by else None
    return app.tally(app.randomize(people, rng), region)


@pytest.mark.parametrize("by", [False, True])
def test_several_questions_with_many_combinations_are_each_printed_by_itself(by: bool) -> None:
    """Rejects 50 of 48 combinations, or more, with intervals as wide as all there is."""
    tally = _plans_and_minutes(by)
    result = estimate(tally)
    alone = [str(estimate(tally, attributes=[name])) for name in ("plan", "minutes")]
    assert str(result).startswith("\n\n".join(alone))
    both = (
        'combinations of plan and minutes: warner.estimate(tally, attributes=["plan", "minutes"]).'
    )
    assert f"For the 48 {both}" in str(result)
    assert "median" in result._repr_html_() and "free, " not in result._repr_html_()
    assert str(pickle.loads(pickle.dumps(result))) == str(result)
    assert by or "These are combinations" in str(estimate(tally, "mle"))


@pytest.mark.parametrize("by", [False, True])
def test_several_questions_are_in_rows_frames_tables_and_charts_as_they_are_printed(
    by: bool,
) -> None:
    """Rejects 48 rows such as {"plan": "free", "minutes": 5.0} below a print of two questions."""
    tally = _plans_and_minutes(by)
    result = estimate(tally)
    alone = {name: estimate(tally, attributes=name) for name in ("plan", "minutes")}
    each = [{"attribute": name, **row} for name, one in alone.items() for row in one.rows()]
    for row, expected in zip(result.rows(), each, strict=True):
        assert row == {
            k: pytest.approx(x) if isinstance(x, float) else x for k, x in expected.items()
        }
    frame = result.to_frame("pandas")
    assert list(frame["attribute"]) == [row["attribute"] for row in each]
    assert list(frame["value"]) == [str(row["value"]) for row in each]
    listed = result.table().to_frame("pandas")
    tables = {name: one.table().to_frame("pandas") for name, one in alone.items()}
    shares = [share for table in tables.values() for share in table["estimate"]]
    assert list(listed["estimate"]) == pytest.approx(shares)
    assert "mean" in list(listed["value"]) and "free" in str(result.table())
    spec = result.plot().to_dict()
    assert len(spec["vconcat"]) == 2 and "free, " not in str(spec)
    refused(ArgumentError, "where one question is drawn", result.plot, unit="minutes")
    joint = estimate(tally, attributes=["plan", "minutes"])
    assert len(joint.rows()) == 48 * (2 if by else 1) and "attribute" not in joint.rows()[0]
    assert "These are combinations" in str(joint) and len(joint.to_frame()) == len(joint.rows())


def test_a_question_of_several_is_called_by_its_name() -> None:
    result = estimate(_plans_and_minutes())
    alone = estimate(_plans_and_minutes(), attributes="plan")
    assert result["plan"]["free"] == alone["free"] and str(result["plan"]) == str(alone)
    assert 0 <= result["free", 25.0] <= 1
    words = "For the share in one question, write estimate['plan']['pro']"
    refused(ArgumentError, re.escape(words), lambda: result["pro"])
    refused(ArgumentError, "Is 'plan' meant", lambda: result["plans"])
    whole, _ = fitted(Inversion())
    assert whole["sex"].domain == whole.marginal("sex").domain
    of_groups = estimate(_plans_and_minutes(by=True))
    plans = estimate(_plans_and_minutes(by=True), attributes="plan")
    assert of_groups["east"]["plan"]["free"] == pytest.approx(plans["east"]["free"])


def test_two_tallies_are_estimated_and_compared_by_a_question() -> None:
    groups = _plans_and_minutes(by=True)
    east, west = groups["east"], groups["west"]
    made = compare_groups(east, west, attributes="plan", names=("east", "west"))
    first, second = estimate(east), estimate(west)
    assert str(made) == str(compare_groups(first["plan"], second["plan"], names=("east", "west")))
    remedy = "compare_groups(first, second, attributes=['plan'])"
    refused(ArgumentError, re.escape(remedy), compare_groups, east, west)
    of_estimates = re.escape("first['plan'], second['plan']")
    refused(ArgumentError, of_estimates, compare_groups, first, second)


def test_few_combinations_of_labels_stay_in_one_table() -> None:
    assert not estimate(_tally(_survey())).by_question


def test_groups_of_several_questions_are_compared_by_a_question() -> None:
    """Rejects rows of a plan with a minute, of which nobody learns anything."""
    tally = _plans_and_minutes(by=True)
    for groups in (tally, estimate(tally)):
        refused(
            ArgumentError,
            "must name one question, because plan and minutes",
            compare_groups,
            groups,
        )
    assert len(compare_groups(tally, attributes="plan").rows()) == 2
    one = estimate(tally, attributes="plan")
    assert str(one) == str(estimate(tally, attributes=["plan"])) and one.attribute == "plan"
    assert len(compare_groups(tally, attributes=["plan", "minutes"]).rows()) == 48
