"""What every estimator says of itself and of how it ended."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import ESTIMATORS
from warner import Categorical, Status
from warner.estimators import Estimator


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


def test_status_says_what_happened(tally: warner.Tally) -> None:
    small = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 0.1)
    noisy = small.tally(small.randomize(["a"] * 50, np.random.default_rng(0)))
    assert warner.estimate(noisy, warner.Inversion()).status is Status.OUTSIDE_SIMPLEX
    assert warner.estimate(noisy, warner.Inversion("project")).status is Status.EXACT
    assert warner.estimate(noisy, warner.MaximumLikelihood()).status is Status.CONVERGED
    assert warner.estimate(noisy, warner.ExpectationMaximization(2)).status is Status.STOPPED
    assert warner.estimate(noisy, warner.estimators.Uniform()).status is Status.EXACT
    for status in Status:
        assert len(status.value) > 20, "a status says cause and remedy"


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_every_method_says_what_it_computes(method: Estimator) -> None:
    """One sentence without a full stop, so that tables can join it to the status."""
    assert len(method.summary) > 20 and not method.summary.endswith(".")
