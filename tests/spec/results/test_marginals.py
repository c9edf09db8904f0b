"""What joint estimates say of some of their attributes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import DOMAIN, SHAPE, fitted
from warner import (
    Categorical,
    Integers,
    Interval,
    Inversion,
    MaximumLikelihood,
    Product,
    RandomizedResponse,
)
from warner.estimators import Estimator, Independent, Status


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


def test_one_name_gives_the_attributes_own_domain_with_its_numbers() -> None:
    whole, theta = fitted(MaximumLikelihood())
    age = whole.marginal("age")
    assert (
        age.domain == Integers(0, 3)
        and age.attribute == "age"
        and whole.marginal(["age"]).domain == age.domain
    )
    truth = theta.sum(axis=(0, 2)) @ np.arange(4)
    mean = age.mean()
    low, high = mean.interval(replicates=50, rng=np.random.default_rng(0))  # type: ignore[union-attr]
    assert low < truth < high and low < mean < high
    assert 0 <= whole.marginal("pay").quantile(0.5) <= 9
    assert age.status is Status.CONVERGED and age.gap == whole.gap


@pytest.mark.parametrize(
    ("names", "error", "says"),
    [
        ("weight", warner.errors.ArgumentError, "sex, age, pay; got 'weight'"),
        (["sex", "sex"], warner.errors.ArgumentError, "distinct"),
        ([], warner.errors.ArgumentError, "at least 1"),
        (3, warner.errors.ArgumentTypeError, "names of attributes"),
        (["sex", 3], warner.errors.ArgumentTypeError, "names of attributes"),
    ],
)
def test_names_that_are_not_there_or_repeated_are_refused(
    names: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        fitted(Inversion())[0].marginal(names)  # type: ignore[arg-type]


def test_a_domain_of_one_attribute_has_no_marginals() -> None:
    coin = RandomizedResponse(Integers(0, 1), 1.0)
    with pytest.raises(warner.errors.ArgumentTypeError, match="Product"):
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
    assert (
        data["attribute"] == "age"
        and data["interval"]["kind"] == "score"
        and len(data["shares"]) == 4
    )


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
    with pytest.raises(warner.errors.ArgumentError, match=r"\(r, 4\)"):
        age.interval(kind="bootstrap", weights=np.ones((1, 24)))


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
    assert found.interval_kind() == ("bootstrap" if name == "LocalHashing" else "score")
    bounds = found.interval(0.9999)
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
    part, alone = (
        warner.estimate(tally, Inversion()).marginal("a"),
        warner.estimate(tally, Inversion(), attributes=["a"]),
    )
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
