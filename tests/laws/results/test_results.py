"""What holds for every result: at the border, of several reports of a person, of graphical models."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from tests.laws.estimators._extremes import _extremes, _mechanism
from tests.registry import MECHANISMS
from tests.spec.results._graphical import NAMES, model
from warner import (
    Categorical,
    Estimate,
    Integers,
    PerAttribute,
    Product,
    RandomizedResponse,
    UnaryEncoding,
    estimate,
)
from warner.errors import IdentifiabilityError
from warner.estimators import Inversion, Status
from warner.estimators.base import LikelihoodData
from warner.estimators.raked_tables import margin
from warner.mechanisms import Repeated
from warner.metrics import quantiles
from warner.reports.tally import Tally

EPSILONS = [1e-6, 1.0, 20.0]


@pytest.mark.crossed(6)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "name",
    ["RandomizedResponse", "UnaryEncoding optimized", "HadamardResponse", "SquareWave", "Laplace"],
)
def test_what_is_said_of_such_estimates_is_finite_and_in_order(name: str, epsilon: float) -> None:
    """Intervals of all kinds, summaries and JSON. Rejects a bootstrap that divides by the sum of
    unbiased estimates, which may be 0.
    """
    mechanism = _mechanism(name, 3, epsilon)
    for data in _extremes(mechanism):
        for method in (
            warner.Inversion(),
            warner.Inversion("norm-cut"),
            warner.MaximumLikelihood(),
            warner.EmpiricalBayes(),
        ):
            try:
                found = Estimate(method.fit(data), data, method)
            except IdentifiabilityError:
                continue
            json.dumps(found.to_json(), allow_nan=False)
            bounds = [found.interval(target=target) for target in ("population", "respondents")]
            mean, variance, median = found.mean(), found.variance(), found.quantile(0.5)
            if isinstance(method, warner.Inversion):
                rng = np.random.default_rng(0)
                bounds += [
                    found.interval(kind="bootstrap", replicates=20, rng=rng),
                    *(
                        summary.interval(replicates=20, rng=rng)[None]
                        for summary in (mean, variance, median)
                    ),
                ]
            if found.fit.posterior is not None:
                bounds.append(found.interval(kind="posterior"))
            for each in bounds:
                assert np.isfinite(each).all() and (each[:, 0] <= each[:, 1]).all(), (method, each)
            said = [
                mean,
                variance,
                found.quantile(0.0),
                median,
                found.quantile(1.0),
                found.range(0, 0),
                found.range(0, 2),
            ]
            assert np.isfinite(np.array(said, dtype=float)).all()
            if found.status is not Status.OUTSIDE_SIMPLEX:
                assert np.isfinite(quantiles(found.probabilities, [0.0, 1.0], [0, 1, 2])).all()


def test_unbiased_estimates_that_are_all_zero_have_a_bootstrap() -> None:
    """As many reports for every value as against it. Rejects a plug-in that is the estimate divided
    by its sum.
    """
    mechanism = warner.HadamardResponse(Integers(0, 2), 1.0)
    channel = mechanism.channel()
    data = LikelihoodData(
        channel, np.full(channel.shape[0], 1 / channel.shape[0]), 4, mechanism.domain
    )
    found = Estimate(warner.Inversion().fit(data), data, warner.Inversion())
    assert found.probabilities.tolist() == [0, 0, 0] and found.status is Status.OUTSIDE_SIMPLEX
    assert np.isfinite(
        found.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0))
    ).all()


# Laws of graphical models: marginals agree with each other, samples have the model's law.


def test_marginals_agree_with_each_other() -> None:
    found = model()
    for names in combinations(NAMES[:5], 3):
        table = found.marginal(names)
        for axis, name in enumerate(names):
            assert margin(table, [axis]) == pytest.approx(found.marginal(name), abs=1e-5)
        # Two larger tables have the same table of their first two attributes.
        other = found.marginal([*names[:2], NAMES[5]])
        assert other.sum(axis=2) == pytest.approx(table.sum(axis=2), abs=1e-5)
    for first, second in found.edges:
        axes = tuple(NAMES.index(name) for name in (first, second))
        assert found.tree.marginal(axes) == pytest.approx(found.marginal([first, second]), abs=1e-6)


def test_samples_have_the_law_of_the_model() -> None:
    """Rejects draws of each clique that ignore the clique above it."""
    found, n = model(), 20_000
    people = found.sample(n, np.random.default_rng(11))
    columns = np.stack([np.array(people[name]) for name in NAMES], axis=1) == "yes"
    axes = (0, 1, 2, 6)
    number = columns[:, axes] @ (1 << np.arange(4)[::-1])
    counts = np.bincount(number, minlength=16)

    def distance(law: np.ndarray) -> float:
        return float(((counts - n * law) ** 2 / (n * law)).sum())

    limit = chi2.ppf(1 - 1e-4, 15)
    assert distance(found.tree.marginal(axes).ravel()) < limit
    ignored = np.ones(())
    for axis in axes:
        ignored = np.multiply.outer(ignored, found.tree.marginal([axis]))
    assert distance(ignored.ravel()) > 3 * limit


# Intervals of people with several reports, for every mechanism.


TIMES, SIZE = 6, 5


def _tally(name: str) -> Tally:
    mechanism = MECHANISMS[name](Integers(0, SIZE - 1), 2.0)
    rng = np.random.default_rng(0)
    return mechanism.tally(mechanism.randomize(rng.integers(0, SIZE, 300), rng))


# Rounds of a permanent report are never several reports of one person.
_SINGLE = [n for n in MECHANISMS if n != "StochasticRounding" and not n.startswith("Permanent")]


@pytest.mark.parametrize("name", _SINGLE)
def test_variances_grow_by_a_factor_between_one_and_the_reports_of_one_person(name: str) -> None:
    """n reports of n / t people say no less than one report each of n / t people, and no more than
    n reports of n people. Limits are clipped, so a bound is compared where both are inside.
    """
    tally = _tally(name)
    slim, wide = (estimate(tally.per_person(t), Inversion()).interval() for t in (1, TIMES))
    assert (wide[:, 0] <= slim[:, 0]).all() and (wide[:, 1] >= slim[:, 1]).all()
    inside = ((wide > 0) & (wide < 1)).all(axis=1)
    ratio = np.diff(wide[inside]) / np.diff(slim[inside])
    assert (ratio <= np.sqrt(TIMES) * (1 + 1e-9)).all()


def test_reports_of_one_value_and_of_several_attributes_may_be_of_several_values_too() -> None:
    """A person is asked on six days, each day twice; or two questions on each of six days."""
    rng = np.random.default_rng(2)
    twice = Repeated(RandomizedResponse(Integers(0, 2), 2.0), 2)
    pair = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    both = PerAttribute(
        pair,
        {
            "a": RandomizedResponse(pair.attributes["a"], 2.0),
            "b": UnaryEncoding(pair.attributes["b"], 2.0),
        },
    )
    answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 150
    for tally in (
        twice.tally(twice.randomize([0, 1, 2] * 100, rng)),
        both.tally(both.randomize(answers, rng)),
        both.tally(both.randomize(answers, rng), ways=2),
    ):
        widths = [
            [
                np.diff(
                    estimate(tally.per_person(t), Inversion()).interval(
                        kind=kind, replicates=60, rng=np.random.default_rng(3)
                    )
                    if kind == "bootstrap"
                    else estimate(tally.per_person(t), Inversion()).interval(kind=kind)
                ).mean()
                for t in (1, TIMES)
            ]
            for kind in ("wald", "bootstrap")
        ]
        for slim, wide in widths:
            assert 1.1 * slim < wide < 1.2 * np.sqrt(TIMES) * slim
