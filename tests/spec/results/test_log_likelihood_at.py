"""What ``Estimate.log_likelihood_at`` accepts and refuses."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Categorical, Product, UtilityOptimizedRR
from warner.errors import ArgumentError
from warner.estimators import Uniform
from warner.results.estimate import Estimate


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


def test_a_marginal_refers_to_the_joint_estimate() -> None:
    people = Product(sex=Categorical(["f", "m"]), smokes=Categorical(["no", "yes"]))
    mechanism = warner.RandomizedResponse(people, 1.0)
    result = warner.estimate(mechanism.tally(mechanism.reports([0, 1, 2, 3])), Uniform())
    with pytest.raises(ArgumentError, match="Ask the joint estimate"):
        result.marginal("sex").log_likelihood_at([0.5, 0.5])
