"""What the demonstration says of its own tables."""

from __future__ import annotations

import numpy as np

import warner
from warner import Categorical
from warner.app.demo import held
from warner.results import intervals


def test_the_intervals_that_are_counted_are_those_that_are_shown() -> None:
    """An estimate pulled far from the unbiased one widens the intervals shown; plain Wald intervals
    do not hold it.
    """
    mechanism = warner.RandomizedResponse(Categorical([str(i) for i in range(40)]), 4.0)
    answers = [str(i % 4) for i in range(3000)]
    result = warner.estimate(
        mechanism.tally(mechanism.randomize(answers, np.random.default_rng(2))),
        warner.estimators.Uniform(),
    )
    truth = result.probabilities
    plain = intervals.wald(result.data, 0.95, "respondents")
    assert held(result, truth) == len(truth)
    assert int(((plain[:, 0] <= truth) & (truth <= plain[:, 1])).sum()) < len(truth)
    assert held(result, np.full(len(truth), 2.0)) == 0
