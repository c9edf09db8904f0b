"""What EM promises that chooses its number of steps."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from tests.spec.estimators.empirical_bayes._data import _reported
from warner import ExpectationMaximization, Integers


@pytest.mark.parametrize(
    "name", ["RandomizedResponse", "UnaryEncoding optimized", "LocalHashing optimized"]
)
def test_chosen_steps_are_repeatable_and_those_of_plain_em(name: str) -> None:
    data = _reported(MECHANISMS[name](Integers(1, 20), 2.0), np.arange(20) / 190, 5000)
    fit = ExpectationMaximization("auto").fit(data)
    again = ExpectationMaximization("auto").fit(data)
    assert fit.iterations == again.iterations and fit.probabilities == pytest.approx(
        again.probabilities, abs=1e-12
    )
    assert fit.iterations is not None and fit.iterations > 1
    assert fit.probabilities == pytest.approx(
        ExpectationMaximization(fit.iterations).fit(data).probabilities, abs=1e-12
    )


def test_steps_are_chosen_for_reports_of_several_mechanisms_and_for_one_report() -> None:
    domain = Integers(1, 10)
    rng = np.random.default_rng(6)
    values = 1 + rng.choice(10, 3001, p=np.arange(10) / 45)
    mechanisms = [warner.RandomizedResponse(domain, 2.0), warner.UnaryEncoding(domain, 1.0)]
    tallies = [m.tally(m.randomize(values, rng)) for m in mechanisms]
    assert (warner.estimate(tallies, ExpectationMaximization("auto")).iterations or 0) > 1
    one = mechanisms[0].tally(mechanisms[0].randomize([3], rng))
    assert warner.estimate(one, ExpectationMaximization("auto")).iterations == 1


def test_no_sign_of_any_difference_takes_one_step() -> None:
    data = _reported(warner.RandomizedResponse(Integers(1, 50), 0.5), np.full(50, 0.02), 2000)
    assert ExpectationMaximization("auto").fit(data).iterations == 1
