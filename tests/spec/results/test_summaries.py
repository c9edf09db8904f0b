"""What mean, variance, quantile and range of an estimate promise, one sentence per test."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import warner
from warner import Categorical, Estimate, Grid, Integers, Interval, Product
from warner.estimators.base import Fit, PosteriorFit


def _result(
    domain: warner.domains.Domain, n: int = 3000, method: Any = None, epsilon: float = 2.0
) -> Estimate:
    mechanism, rng = warner.RandomizedResponse(domain, epsilon), np.random.default_rng(1)
    index = rng.choice(domain.size, n)
    return warner.estimate(
        mechanism.tally(mechanism.randomize(domain.decode(index), rng)),
        method or warner.Inversion("project"),
    )


def test_a_quantity_is_a_float_that_survives_copies_files_and_arithmetic() -> None:
    mean = _result(Integers(0, 4)).mean()
    rng = np.random.default_rng
    limits = mean.interval(rng=rng(0))
    assert (
        type(mean + 1) is float
        and json.dumps(mean) == repr(float(mean))
        and np.asarray([mean]).dtype == float
    )
    for again in (copy.copy(mean), copy.deepcopy(mean), pickle.loads(pickle.dumps(mean))):
        assert again == mean and again.interval(rng=rng(0)) == pytest.approx(limits, rel=1e-9)


def test_intervals_of_every_summary_are_ordered_and_inside_what_it_can_be() -> None:
    for domain, low, high, ends in (
        (Integers(2, 7), 3, 5, (2, 7)),
        (Interval(2, 7, 5), 2.5, 4, (2, 7)),
    ):
        result, span = _result(domain), 25 / 4 + 1
        for found, (least, most) in (
            (result.mean(), ends),
            (result.variance(), (0, span)),
            (result.quantile(0.5), ends),
            (result.quantile(0.01), ends),
            (result.range(low, high), (0, 1)),
        ):
            wide, narrow = (
                found.interval(level, rng=np.random.default_rng(0)) for level in (0.99, 0.5)
            )
            assert (
                wide.shape == (2,)
                and least <= wide[0] <= narrow[0] <= found <= narrow[1] <= wide[1] <= most
            )


def test_limits_of_a_quantile_of_integers_are_integers() -> None:
    limits = _result(Integers(0, 20), n=500).quantile(0.5).interval(rng=np.random.default_rng(0))
    assert (limits == np.round(limits)).all() and limits[0] < limits[1]


def test_the_zeroth_quantile_is_the_least_value_for_certain() -> None:
    for domain in (Integers(3, 9), Interval(3, 9, 4)):
        least = _result(domain).quantile(0)
        assert least == 3 and least.interval().tolist() == [3, 3]


def test_the_whole_range_has_mass_one_for_certain() -> None:
    for domain in (Integers(3, 9), Interval(3, 9, 4)):
        whole = _result(domain).range(3, 9)
        assert whole == pytest.approx(1) and whole.interval() == pytest.approx([1, 1])


@pytest.mark.parametrize("domain", [Integers(0, 9), Interval(0, 9, 4)])
@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None, True, [0.5]])
def test_shares_that_are_none_are_refused(domain: warner.domains.Domain, q: Any) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=r"^q: must"
    ):
        _result(domain).quantile(q)


@pytest.mark.parametrize("domain", [Integers(0, 9), Interval(0, 9, 4)])
@pytest.mark.parametrize(
    "low, high, name",
    [
        (5, 4, "low"),
        (-1, 4, "low"),
        (0, 9.1, "high"),
        (float("nan"), 4, "low"),
        (0, float("inf"), "high"),
        ("0", 4, "low"),
        (0, None, "high"),
    ],
)
def test_ranges_that_are_none_are_refused(
    domain: warner.domains.Domain, low: Any, high: Any, name: str
) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=f"^{name}: must"
    ):
        _result(domain).range(low, high)


def test_values_without_numbers_or_order_are_refused_with_what_would_do() -> None:
    labels, both = (
        _result(Categorical(["a", "b", "c"])),
        _result(Product(a=Integers(0, 1), b=Integers(0, 1))),
    )
    for result, remedy in (
        (labels, "Use Integers or Interval if the values are numbers"),
        (both, "Tally a numeric attribute by itself"),
    ):
        for ask in (
            result.mean,
            result.variance,
            lambda r=result: r.quantile(0.5),
            lambda r=result: r.range(0, 1),
        ):
            with pytest.raises(warner.errors.ArgumentTypeError, match=remedy):
                ask()
    place = _result(Grid(3, 2))
    for ask in (lambda: place.quantile(0.5), lambda: place.range(0, 1)):
        with pytest.raises(warner.errors.ArgumentTypeError, match=r"in an order.*Ask for mean\(\)"):
            ask()
    for quantity in (*place.mean(), *place.variance()):
        low, high = quantity.interval(rng=np.random.default_rng(0))
        assert low < quantity < high
    # The remedy works: a number for each value.
    assert labels.interval(
        kind="bootstrap", weights=[1, 2, 4], rng=np.random.default_rng(0)
    ).shape == (1, 2)


def test_outside_the_simplex_mean_and_range_take_the_shares_as_they_are_and_the_rest_projects_them() -> (
    None
):
    raw = _result(Integers(0, 9), n=60, method=warner.Inversion(), epsilon=0.5)
    theta, points = raw.probabilities, np.arange(10)
    assert theta.min() < 0
    assert raw.mean() == pytest.approx(theta @ points) and raw.range(2, 4) == pytest.approx(
        theta[2:5].sum()
    )
    near = _result(Integers(0, 9), n=60, epsilon=0.5)  # projected
    assert raw.variance() == pytest.approx(near.variance()) and raw.quantile(0.5) == near.quantile(
        0.5
    )
    for quantity in (raw.mean(), raw.variance(), raw.quantile(0.5), raw.range(2, 4)):
        low, high = quantity.interval(rng=np.random.default_rng(0))
        assert low <= high


def test_fisher_is_for_linear_summaries_and_agrees_with_the_bootstrap() -> None:
    result = _result(Integers(0, 4), n=20_000, method=warner.MaximumLikelihood())
    for quantity in (result.mean(), result.range(1, 2)):
        fisher, bootstrap = (
            quantity.interval(kind="fisher"),
            quantity.interval(replicates=1000, rng=np.random.default_rng(0)),
        )
        assert np.ptp(fisher) == pytest.approx(np.ptp(bootstrap), rel=0.15)
    for quantity in (result.variance(), result.quantile(0.5)):
        with pytest.raises(
            warner.errors.ArgumentError, match="kind: must be one of 'bootstrap', 'posterior'"
        ):
            quantity.interval(kind="fisher")
    with pytest.raises(warner.errors.ArgumentTypeError, match="weights"):
        result.interval(kind="fisher", weights=lambda theta: theta[:1])


def _with_posterior(domain: warner.domains.Domain, counts: list[int]) -> Estimate:
    """Answers sent as they are, and the posterior of their shares under a flat prior:
    Dirichlet(counts + 1).
    """
    open_ = warner.RandomizedResponse(domain, float("inf"))
    index = np.repeat(np.arange(domain.size), counts)
    plain = warner.estimate(
        open_.tally(open_.randomize(domain.decode(index))), warner.Inversion("project")
    )
    asked: list[int] = []

    def draws(number: int, rng: np.random.Generator) -> np.ndarray:
        asked.append(number)
        return rng.dirichlet(np.asarray(counts) + 1.0, number)

    return Estimate(
        Fit(
            plain.probabilities.copy(),
            plain.status,
            posterior=PosteriorFit(draws, for_intervals=True),
        ),
        plain.data,
        plain.estimator,
    )


def test_a_posterior_is_of_the_population_where_there_is_one() -> None:
    result = _with_posterior(Integers(0, 3), [40, 30, 20, 10])
    shares = result.interval(kind="posterior", rng=np.random.default_rng(0))
    exact = np.array(
        [[beta.ppf(p, c + 1, 103 - c) for p in (0.025, 0.975)] for c in (40, 30, 20, 10)]
    )
    assert shares == pytest.approx(exact, abs=0.02)
    for quantity in (result.variance(), result.quantile(0.5)):
        low, high = quantity.interval(kind="posterior", rng=np.random.default_rng(0))
        assert low <= quantity <= high
    for kind in ("posterior", None):
        assert result.quantile(0.4).interval(kind=kind).tolist() == [0, 1]  # either is likely
    assert result.mean().interval(target="respondents") == pytest.approx(
        [1, 1]
    )  # by the bootstrap: nothing is random
    with pytest.raises(
        warner.errors.ArgumentError, match=r"target: must be 'population'.*kind='bootstrap'"
    ):
        result.mean().interval(target="respondents", kind="posterior")
    with pytest.raises(
        warner.errors.ArgumentError,
        match=r"needs an estimator that has a posterior.*kind='bootstrap'",
    ):
        _result(Integers(0, 3)).interval(kind="posterior")


def test_functions_of_shares_have_intervals() -> None:
    result = _result(Integers(0, 3), n=4000)
    linear = result.interval(kind="bootstrap", weights=np.arange(4.0), rng=np.random.default_rng(0))
    same = result.interval(
        kind="bootstrap", weights=lambda theta: theta @ np.arange(4.0), rng=np.random.default_rng(0)
    )
    assert same == pytest.approx(linear)
    two = result.interval(
        kind="bootstrap",
        weights=lambda theta: np.array([theta[0] / theta[1], theta[2] ** 2]),
        rng=np.random.default_rng(0),
    )
    assert two.shape == (2, 2) and (two[:, 0] < two[:, 1]).all()
    for wrong in (lambda theta: np.nan, lambda theta: np.ones((2, 2))):
        with pytest.raises(warner.errors.ArgumentError, match="must give finite numbers"):
            result.interval(kind="bootstrap", weights=wrong)
    for wrong in (
        {"kind": "average"},
        {"target": "everyone"},
        {"level": 1.0},
        {"kind": "bootstrap", "replicates": 3},
        {"kind": "bootstrap", "rng": 3},
    ):
        with pytest.raises((warner.errors.ArgumentError, warner.errors.ArgumentTypeError)):
            result.mean().interval(**wrong)
