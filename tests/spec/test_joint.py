"""What joint estimates say of some attributes, of their dependence, and which way of asking errs
least. One sentence per test.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from warner import (
    Categorical,
    Estimate,
    Integers,
    Interval,
    Inversion,
    MaximumLikelihood,
    Product,
    RandomizedResponse,
    Status,
)
from warner.channels import DirectChannel, KroneckerChannel, StackChannel
from warner.design.clusters import clusters, clusters_of
from warner.design.schemes import compare_schemes
from warner.estimators import Estimator, Independent
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics import cramers_v

DOMAIN = Product(sex=Categorical(["f", "m"]), age=Integers(0, 3), pay=Interval(0.0, 9.0, 3))
SHAPE = DOMAIN.shape


def keep(size: int, share: float = 0.5) -> DirectChannel:
    """[P5]'s randomisation (METHODS 9.2): a value is kept with probability ``share``, else uniform
    over all.
    """
    return DirectChannel(size, (1 - share) / size, share)


def family(marginal: np.ndarray, v: float) -> np.ndarray:
    """(1 - v) l l' + v diag(l), which has Cramer's V = v exactly (METHODS 3)."""
    return (1 - v) * np.outer(marginal, marginal) + v * np.diag(marginal)


def seen(
    channel: warner.channels.Channel,
    theta: np.ndarray,
    n: int,
    domain: Product = DOMAIN,
    seed: int = 0,
) -> LikelihoodData:
    return LikelihoodData(
        channel, channel.simulate(theta, n, np.random.default_rng(seed)), n, domain
    )


def fitted(method: Estimator, n: int = 20_000, seed: int = 0) -> tuple[Estimate, np.ndarray]:
    theta = np.random.default_rng(1).dirichlet(np.ones(24))
    data = seen(KroneckerChannel([keep(d) for d in SHAPE]), theta, n, seed=seed)
    return Estimate(method.fit(data), data, method), theta.reshape(SHAPE)


# ---- P5's worked example


def test_the_worked_example_of_p5_gives_what_its_formula_gives() -> None:
    """METHODS 9.1: 0.45, 0.05, 0.05, 0.45, and a MAE of 0.075; the paper prints 0.375, 0.075,
    0.275, 0.375, which sums to 1.1.
    """
    pair = Product(a=Integers(1, 2), b=Integers(1, 2))
    data = LikelihoodData(
        KroneckerChannel([keep(2), keep(2)]), np.array([0.3, 0.2, 0.2, 0.3]), 10, pair
    )
    joint = Inversion().fit(data).shares
    assert joint == pytest.approx([0.45, 0.05, 0.05, 0.45], abs=1e-12)
    truth = np.array([0.4, 0.0, 0.2, 0.4])
    assert warner.metrics.mean_absolute_error(truth, joint) == pytest.approx(0.075)
    assert Independent(method=Inversion()).fit(data).shares == pytest.approx(np.full(4, 0.25))
    assert warner.metrics.mean_absolute_error(truth, np.full(4, 0.25)) == pytest.approx(0.15)


# ---- marginals


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
        and data["interval"]["kind"] == "wald"
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
    assert found.interval_kind() == ("bootstrap" if name == "LocalHashing" else "wald")
    bounds = found.interval(0.9999)
    assert (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()
    assert (np.diff(bounds, axis=1) < 0.15).all() and found.rows()[0]["low"] <= found.rows()[0][
        "high"
    ]


# ---- Cramer's V


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
    with pytest.raises(warner.errors.ArgumentError):
        cramers_v(table)


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
    with pytest.raises(warner.errors.ArgumentError, match="distinct"):
        whole.cramers_v("sex", "sex")
    with pytest.raises(warner.errors.ArgumentError, match="respondents"):
        whole.cramers_v("sex", "age").interval(target="respondents")
    bits = warner.UnaryEncoding(DOMAIN, 2.0)
    known_by_sums = warner.estimate(bits.tally(bits.randomize(DOMAIN.decode(np.arange(24)))))
    with pytest.raises(warner.errors.ArgumentError, match="whole reports"):
        known_by_sums.cramers_v("sex", "age")


# ---- products of marginals


def test_groups_are_estimated_jointly_and_the_rest_alone() -> None:
    whole, _ = fitted(Inversion())
    found = Independent([["pay", "sex"]], Inversion()).fit(whole.data).shares.reshape(SHAPE)
    grouped, age = (
        whole.marginal(["sex", "pay"]).probabilities.reshape(2, 3),
        whole.marginal("age").probabilities,
    )
    assert found == pytest.approx(grouped[:, None, :] * age[None, :, None])
    assert Independent([["sex", "age", "pay"]], Inversion()).fit(
        whole.data
    ).shares == pytest.approx(whole.probabilities)


@pytest.mark.parametrize(
    "groups", [[["sex", "sex"]], [["sex"], ["sex", "age"]], [[]], [["weight"]], "sex", ["sex"]]
)
def test_groups_that_are_none_are_refused(groups: object) -> None:
    with pytest.raises((warner.errors.ArgumentError, warner.errors.ArgumentTypeError)):
        Independent(groups).fit(fitted(Inversion())[0].data)  # type: ignore[arg-type]


def test_products_of_marginals_say_that_they_take_attributes_as_independent() -> None:
    fit = fitted(Independent())[0].fit
    assert fit.status is Status.EXACT and fit.shares.sum() == pytest.approx(1)


def test_people_of_different_budgets_are_summed_group_by_group() -> None:
    theta = np.random.default_rng(1).dirichlet(np.ones(24))
    stack = StackChannel(
        [KroneckerChannel([keep(d, s) for d in SHAPE]) for s in (0.5, 0.8)], [10_000, 5_000]
    )
    data = seen(stack, theta, 15_000)
    age = Estimate(Inversion().fit(data), data, Inversion()).marginal("age")
    assert isinstance(age.data.channel, StackChannel) and age.data.weights.sum() == pytest.approx(1)
    bounds = age.interval(0.9999)
    truth = theta.reshape(SHAPE).sum(axis=(0, 2))
    assert (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()


# ---- steps from independence


def test_no_step_from_independence_is_the_product_of_marginals_and_many_the_maximum() -> None:
    whole, theta = fitted(Inversion())
    start = Independent().fit(whole.data).shares
    few = warner.ExpectationMaximization(1, start="independent").fit(whole.data).shares
    many = warner.ExpectationMaximization(3000, start="independent").fit(whole.data)
    best = MaximumLikelihood().fit(whole.data)
    assert np.abs(few - start).sum() < 0.3 * np.abs(best.shares - start).sum()
    assert many.gap is not None and many.gap < 1e-4
    assert (
        repr(warner.ExpectationMaximization("auto", start="independent"))
        == "ExpectationMaximization(steps='auto', start='independent')"
    )
    independent = np.einsum(
        "i,j,k->ijk", *(theta.sum(axis=tuple({0, 1, 2} - {a})) for a in range(3))
    ).ravel()
    data = seen(KroneckerChannel([keep(d) for d in SHAPE]), independent, 20_000)
    found = warner.ExpectationMaximization("auto", start="independent").fit(data)
    assert found.iterations is not None
    assert warner.metrics.l1(found.shares, independent) < 0.5 * warner.metrics.l1(
        MaximumLikelihood().fit(data).shares, independent
    )


# ---- groups and schemes


def test_clusters_are_the_attributes_that_depend_as_far_as_they_fit() -> None:
    pair = family(np.full(4, 0.25), 0.6)
    domain = Product(a=Integers(0, 3), b=Integers(0, 3), c=Integers(0, 1), d=Integers(0, 1))
    theta = np.multiply.outer(pair, family(np.full(2, 0.5), 0.3)).ravel()
    assert clusters_of(domain, theta) == (("a", "b"), ("c", "d"))
    assert clusters_of(domain, theta, threshold=0.5) == (("a", "b"), ("c",), ("d",))
    assert clusters_of(domain, theta, largest=15) == (("a",), ("b",), ("c", "d"))
    data = seen(KroneckerChannel([keep(d) for d in domain.shape]), theta, 100_000, domain)
    assert (
        clusters(data)
        == clusters(Estimate(Inversion().fit(data), data, Inversion()))
        == (("a", "b"), ("c", "d"))
    )
    with pytest.raises(warner.errors.ArgumentError, match="threshold"):
        clusters(data, threshold=1.5)


def test_schemes_are_compared_at_one_total_budget() -> None:
    domain = Product(a=Integers(0, 3), b=Integers(0, 3), c=Integers(0, 1))
    theta = np.multiply.outer(family(np.array([0.4, 0.3, 0.2, 0.1]), 0.5), [0.3, 0.7]).ravel()
    found = compare_schemes(domain, 3.0, 5000, theta, runs=10)
    assert {line.scheme for line in found.results} == {
        "RR-Independent",
        "RR-Ind-Joint",
        "RR-Joint",
        "RR-Clusters",
    }
    assert all(
        sum(line.epsilons) == pytest.approx(3.0, abs=1e-9)
        and len(line.epsilons) == len(line.groups)
        for line in found.results
    )
    assert [line.error for line in found.results] == sorted(line.error for line in found.results)
    floors = {line.scheme: line.floor for line in found.results}
    assert (
        floors["RR-Independent"] > 0.01
        and floors["RR-Clusters"] == pytest.approx(0, abs=1e-12)
        and floors["RR-Joint"] == 0
    )
    for line in found.results:
        if line.expected is not None:
            assert abs(line.error - line.expected) < 6 * line.margin
    data = json.loads(json.dumps(found.to_json()))
    assert data["results"][0]["scheme"] == found.best.scheme and data["epsilon"] == 3.0
    assert [line.error for line in compare_schemes(domain, 3.0, 5000, theta, runs=10).results] == [
        line.error for line in found.results
    ]


def test_comparisons_take_estimates_and_refuse_what_they_cannot_compare() -> None:
    whole, _ = fitted(Inversion())
    found = compare_schemes(DOMAIN, 2.0, 1000, whole, groups=[["sex", "pay"]], runs=3, loss="l1")
    assert {line.groups for line in found.results if line.scheme == "RR-Clusters"} == {
        (("sex", "pay"), ("age",))
    }
    alone = compare_schemes(DOMAIN, 2.0, 1000, np.full(24, 1 / 24), runs=3)
    assert "RR-Clusters" in alone.left_out
    with pytest.raises(warner.errors.ArgumentError, match="on the same domain"):
        compare_schemes(Product(a=Integers(0, 1), b=Integers(0, 1)), 2.0, 1000, whole)
    with pytest.raises(warner.errors.ArgumentTypeError, match="Product"):
        compare_schemes(Integers(0, 3), 2.0, 1000, [0.25] * 4)  # type: ignore[arg-type]
    with pytest.raises(warner.errors.BudgetError):
        compare_schemes(DOMAIN, 0.0, 1000, np.full(24, 1 / 24))


def test_a_start_from_independence_needs_no_inverse() -> None:
    """One attribute known by a single bit, whose channel has none; hashes of combinations, which
    tell no attributes apart.
    """
    bit = warner.mechanisms.StochasticRounding(Interval(0.0, 1.0, 4), 1.0).channel()
    pair = Product(a=Interval(0.0, 1.0, 4), b=Integers(0, 2))
    method = warner.ExpectationMaximization("auto", start="independent")
    data = seen(KroneckerChannel([bit, keep(3)]), np.full(12, 1 / 12), 5000, pair)
    assert method.fit(data).shares.sum() == pytest.approx(1)
    hashes = warner.LocalHashing(pair, 2.0, seeds=64)
    data = seen(hashes.channel(), np.full(12, 1 / 12), 5000, pair)
    plain = warner.ExpectationMaximization(5).fit(data).shares
    assert warner.ExpectationMaximization(5, start="independent").fit(data).shares == pytest.approx(
        plain
    )


def test_steps_from_independence_do_not_depend_on_the_order_of_attributes() -> None:
    whole, _ = fitted(warner.ExpectationMaximization("auto", start="independent"))
    order = [2, 0, 1]
    found = whole.data.channel.marginal(whole.data.weights, SHAPE, order)
    assert found is not None
    names = list(DOMAIN.attributes)
    turned = Product(**{names[axis]: DOMAIN.attributes[names[axis]] for axis in order})
    fit = whole.estimator.fit(LikelihoodData(found[0], found[1], whole.n, turned))
    assert fit.shares == pytest.approx(
        whole.probabilities.reshape(SHAPE).transpose(order).ravel(), rel=1e-9
    )


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


def test_clusters_come_from_a_tally_of_pairs() -> None:
    """Three attributes of which two are one: no joint estimate of all is kept, and none is needed."""
    three = Product(
        a=Categorical(["x", "y"]), b=Categorical(["x", "y"]), c=Categorical(["x", "y", "z"])
    )
    survey = warner.PerAttribute(
        three, {name: lambda domain: RandomizedResponse(domain, 2.0) for name in "abc"}
    )
    rng = np.random.default_rng(0)
    x = rng.choice(["x", "y"], 5000)
    tally = survey.tally(
        survey.randomize({"a": x, "b": x, "c": rng.choice(["x", "y", "z"], 5000)}, rng), ways=2
    )
    assert clusters(tally) == (("a", "b"), ("c",))
    plain = RandomizedResponse(Categorical(["x", "y"]), 2.0)
    with pytest.raises(warner.errors.ArgumentTypeError, match="Product"):
        clusters(plain.tally(plain.randomize(x, rng)))


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
        assert low <= quantity <= high and low - 0.02 < truth < high + 0.02 and high - low < 0.1


def test_one_group_of_all_attributes_is_the_joint_scheme() -> None:
    pair = Product(a=Integers(0, 1), b=Integers(0, 1))
    found = warner.compare_schemes(
        pair, 2.0, n=1000, theta=[0.45, 0.05, 0.05, 0.45], groups=[["a", "b"]], runs=3
    )
    assert "RR-Joint" in found.left_out["RR-Clusters"] and all(
        line.scheme != "RR-Clusters" for line in found.results
    )
