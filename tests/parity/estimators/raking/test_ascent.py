"""Steps along conjugate directions, against the maximum that plain EM takes long to reach."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Categorical, ExpectationMaximization, MaximumLikelihood, Product
from warner.channels import DirectChannel, KroneckerChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.raking import (
    AscentState,
    ascend,
    ascent,
    held_out_ascent,
    start_ascent,
)

CHANNEL = KroneckerChannel([DirectChannel(3, 0.25, 0.25), DirectChannel(4, 0.2, 0.2)])
EVEN = np.full(12, 1 / 12)


def _weights(theta: np.ndarray, n: int = 20_000) -> np.ndarray:
    return CHANNEL.simulate(theta, n, np.random.default_rng(3))


def test_a_few_dozen_steps_reach_the_maximum() -> None:
    w = _weights(np.random.default_rng(1).dirichlet(np.full(12, 0.5)))
    domain = Product(a=Categorical(list("abc")), b=Categorical(list("wxyz")))
    data = LikelihoodData(CHANNEL, w, 20_000, domain)
    best = MaximumLikelihood().fit(data).log_likelihood
    assert best is not None
    values: list[float] = []

    def observe(state: AscentState) -> None:
        values.append(state.value)

    run = ascent(CHANNEL, w, 20_000, EVEN, 1e-4, 200, observe)
    assert (np.diff(values) >= 0).all()
    assert run.state.theta.sum() == pytest.approx(1)
    reached = 20_000 * run.state.value
    level = best - reached
    plain = ExpectationMaximization(run.steps).fit(data).log_likelihood
    assert plain is not None
    assert level < 0.05 < best - plain


def test_the_first_step_is_the_steepest_with_the_length_of_newton() -> None:
    """Against ten values of the length: none is likelier by more than a third-order term."""
    w = _weights(EVEN)
    start = start_ascent(CHANNEL, w, EVEN)
    after = ascend(CHANNEL, w, start)
    assert after is not None
    way = after.theta - EVEN
    values = [float(w @ np.log(CHANNEL.matvec(EVEN + t * way))) for t in np.linspace(0.5, 1.5, 11)]
    assert max(values) - after.value < 0.01 * after.gain


def test_held_out_reports_of_the_base_itself_support_little() -> None:
    """At the true distribution there is nothing to learn; far from it there is."""
    theta = np.random.default_rng(1).dirichlet(np.full(12, 0.5))
    w = _weights(theta)
    stayed, _ = held_out_ascent(CHANNEL, w, 20_000, 0.99 * theta + 0.01 / 12, 20, 5)
    learnt, steps = held_out_ascent(CHANNEL, w, 20_000, EVEN, 20, 5)
    assert steps > 0
    assert np.abs(stayed - theta).sum() < np.abs(learnt - theta).sum()
    assert np.abs(learnt - theta).sum() < 0.5 * np.abs(EVEN - theta).sum()
