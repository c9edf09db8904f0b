"""Closed forms of the maximum against general solvers."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity.estimators.mle._oracle import _evidence, _groups, _oracle
from tests.registry import SEEING
from warner.channels import DirectChannel, StackChannel
from warner.estimators.base import gap, log_likelihood, score
from warner.estimators.maximum_likelihood import budgets, direct, separable
from warner.estimators.newton import interior_point
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("name", SEEING)
def test_closed_forms_agree_with_the_interior_point(name: str) -> None:
    data = _evidence(name, 12, 2000, 1.0)
    theta, _, reached = interior_point(
        data.channel, data.weights, 1e-10 / data.channel.rows_per_report
    )
    exact = warner.MaximumLikelihood(1e-10).fit(data).probabilities
    assert reached
    assert theta == pytest.approx(exact, abs=1e-4)
    assert log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        log_likelihood(data.channel, data.weights, exact), abs=1e-9
    )


@pytest.mark.parametrize(
    "epsilons", [[0.1, 2.0, np.log(6), np.inf], [0.5, 0.5001], [np.inf, 3.0], [0.01, 0.02, 0.03]]
)
@pytest.mark.parametrize("n", [3, 40, 5000])
def test_several_budgets_are_solved_exactly(epsilons: list[float], n: int) -> None:
    data = likelihood_data(_groups(["RandomizedResponse"] * len(epsilons), epsilons, n=n))
    assert isinstance(data.channel, StackChannel)
    theta = budgets(data.channel, data.weights)
    assert gap(data.channel, data.weights, theta) <= 1e-10
    slow, _, reached = interior_point(data.channel, data.weights, 1e-9)
    assert (
        reached
        and log_likelihood(data.channel, data.weights, theta)
        >= log_likelihood(data.channel, data.weights, slow) - 1e-12
    )


def test_worked_examples_of_three_values() -> None:
    """METHODS 4.5: 3-RR (1/2, 1/4, 1/4). Reports 1,2,2,2,3: on the border, not stationary. 1,2,2,3:
    the degenerate one.
    """
    channel = DirectChannel(3, 0.25, 0.25)
    border = direct(channel, np.array([1, 3, 1]) / 5)
    assert border == pytest.approx([0, 1, 0], abs=1e-15)
    assert 5 * score(channel, np.array([1, 3, 1]) / 5, border) == pytest.approx([4.5, 5, 4.5])
    assert channel.invert(np.array([1, 3, 1]) / 5) == pytest.approx([-0.2, 1.4, -0.2])
    degenerate = direct(channel, np.array([1, 2, 1]) / 4)
    assert degenerate == pytest.approx([0, 1, 0], abs=1e-12)
    assert 4 * score(channel, np.array([1, 2, 1]) / 4, np.array([0, 1.0, 0])) == pytest.approx(
        [4, 4, 4]
    )


def test_separable_solver_at_its_edges() -> None:
    mechanism = warner.UnaryEncoding(warner.Integers(1, 4), 1.0)
    channel = mechanism.channel()
    for sums in ([0, 0, 0, 0], [10, 10, 10, 10], [10, 0, 0, 0], [0, 5, 10, 3]):
        s = np.array(sums) / 10
        w = np.concatenate([s, 1 - s]) / 4
        theta = separable(channel, w)
        assert gap(channel, w, theta) <= 1e-9
        assert channel.rows_per_report * (
            w[w > 0] @ np.log(channel.matvec(theta)[w > 0] * 4)
        ) == pytest.approx(_oracle(channel, w), abs=1e-6)
