"""Estimates that take attributes, or groups of them, as independent."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import SHAPE, fitted, keep, seen
from warner import Estimate, Integers, Inversion, Product, Status
from warner.channels import KroneckerChannel, StackChannel
from warner.estimators import Independent
from warner.estimators.base import LikelihoodData


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
