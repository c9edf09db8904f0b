"""Simulated errors of a plan against fits one by one."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.design.planning import distance_of_values, made_shares, simulated_error
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.recommend import recommended

NUMBERS, CELLS = warner.Integers(0, 4), warner.Grid(2, 3, 1.0)


@pytest.mark.parametrize(
    "mechanism", [warner.RandomizedResponse(NUMBERS, 1.0), warner.RandomizedResponse(CELLS, 1.0)]
)
def test_errors_of_a_plan_are_those_of_single_fits_and_do_not_change(mechanism: Mechanism) -> None:
    domain, rng, errors = mechanism.domain, np.random.default_rng(0), []
    theta, channel = made_shares(domain), mechanism.channel()
    for _ in range(2):
        operator, w = channel.simulate_tally(theta, 500, rng)
        data = LikelihoodData(operator, w, 500, domain)
        errors.append(
            distance_of_values(recommended(domain, channel).fit(data).shares, theta, domain)
        )
    found = simulated_error(domain, mechanism, theta, 500, 2)
    assert found[0] == pytest.approx(np.mean(errors), rel=1e-6)
    assert simulated_error(domain, mechanism, theta, 500, 2) == found
