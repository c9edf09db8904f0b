"""Projected gradients against the constrained Newton method."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers, MaximumLikelihood
from warner.channels import DirectChannel
from warner.estimators.base import LikelihoodData, gap, log_likelihood
from warner.estimators.newton import constrained, projected


@pytest.mark.parametrize("make", [warner.HadamardResponse, warner.ProjectiveGeometryResponse])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_maximum_is_that_of_newtons_method(make: type, epsilon: float) -> None:
    size, n, rng = 300, 50_000, np.random.default_rng(3)
    mechanism = make(Integers(0, size - 1), epsilon)
    channel = mechanism.channel()
    truth = rng.dirichlet(np.full(size, 0.1))
    w = channel.simulate(truth, n, rng)
    theta, steps, reached = projected(channel, w, 1e-10)
    slow = constrained(channel, w, 1e-11)[0]
    assert reached and steps < 100 and gap(channel, w, theta) <= 1e-10
    assert log_likelihood(channel, w, theta) == pytest.approx(
        log_likelihood(channel, w, slow), abs=2e-10
    )
    assert theta == pytest.approx(slow, abs=1e-4)
    fit = MaximumLikelihood().fit(LikelihoodData(channel, w, n, mechanism.domain))
    assert fit.status is warner.Status.CONVERGED and fit.gap is not None and fit.gap <= 1e-9
    assert fit.shares == pytest.approx(theta, abs=1e-4)


def test_it_says_that_the_gap_was_not_reached() -> None:
    """A gap below rounding errors cannot be certified."""
    channel = DirectChannel(8, 0.05, 0.6)
    w = np.random.default_rng(1).dirichlet(np.ones(8))
    theta, _, reached = projected(channel, w, 0.0)
    assert theta.sum() == pytest.approx(1) and (reached or gap(channel, w, theta) < 1e-12)


def test_bit_sums_of_very_many_values_converge() -> None:
    """The score of 10^5 bits has a rounding error above 1e-9 nats per report; the status said that
    steps were too few, of a method without steps.
    """
    size, n, rng = 100_000, 10**5, np.random.default_rng(5)
    mechanism = warner.UnaryEncoding(Integers(0, size - 1), 2.0, variant="oue")
    channel = mechanism.channel()
    w = channel.simulate(rng.dirichlet(np.full(size, 0.01)), n, rng)
    fit = MaximumLikelihood().fit(LikelihoodData(channel, w, n, mechanism.domain))
    assert fit.status is warner.Status.CONVERGED and fit.gap is not None and fit.gap < 1e-8
