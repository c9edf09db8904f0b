"""The exact solvers against an independent convex solver, and against each other."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import warner
from tests.parity.channels._matrices import CHANNELS
from tests.registry import MECHANISMS
from warner.channels import RepeatedRows
from warner.estimators.base import LikelihoodData, gap, log_likelihood
from warner.estimators.newton import (
    _peaks,
    accelerated,
    constrained,
    interior_point,
    nonnegative_quadratic,
    sequential,
)
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("size, seeds, n", [(20, 64, 500), (60, 4096, 3000), (60, 256, 100_000)])
def test_sequential_and_interior_point_agree(size: int, seeds: int, n: int) -> None:
    mechanism = warner.LocalHashing(warner.Integers(1, size), 1.0, seeds=seeds)
    rng = np.random.default_rng(size)
    values = 1 + rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.1)))
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
    rows, w = data.channel.restrict_to_observed(data.weights)
    fast, steps, reached = sequential(rows, w, 1e-10)
    slow, _, certain = interior_point(rows, w, 1e-10)
    assert reached and certain and steps < 40
    assert gap(data.channel, data.weights, fast) <= 1e-9
    assert log_likelihood(rows, w, fast) == pytest.approx(log_likelihood(rows, w, slow), abs=1e-9)
    whole = data.channel.dense()[data.weights > 0]
    assert rows.dense() == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_nonnegative_quadratics_meet_their_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(30, 20))
    hessian, linear = root.T @ root, rng.normal(size=20)
    x = nonnegative_quadratic(hessian, linear, np.ones(20, dtype=bool))
    assert x is not None and (x >= 0).all()
    slack = hessian @ x + linear
    assert (slack > -1e-10).all() and np.abs(x * slack).max() < 1e-10
    assert nonnegative_quadratic(np.zeros((3, 3)), np.ones(3), np.ones(3, dtype=bool)) is None


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("n", [30, 3000])
def test_maximum_is_the_oracles_by_every_solver(name: str, n: int) -> None:
    channel, dense = CHANNELS[name]()
    rng = np.random.default_rng(n)
    drawn = rng.dirichlet(np.full(dense.shape[1], 0.4))
    known = channel.rows_per_report == 1 or name in ("stack", "supports, utility-optimised")
    w = channel.simulate(drawn, n, rng) if known else rng.multinomial(n, dense @ drawn) / n
    theta = cp.Variable(dense.shape[1])
    seen = w > 0
    problem = cp.Problem(
        cp.Maximize(w[seen] @ cp.log(channel.rows_per_report * dense[seen] @ theta)),
        [theta >= 0, cp.sum(theta) == 1],
    )
    best = channel.rows_per_report * (
        problem.solve(solver=cp.CLARABEL) + w @ np.broadcast_to(channel.log_factors, w.shape)
    )
    fit = warner.MaximumLikelihood().fit(
        LikelihoodData(channel, w, n, warner.Integers(1, dense.shape[1]))
    )
    assert fit.status is warner.Status.CONVERGED and fit.gap is not None and fit.gap <= 1e-9
    assert fit.log_likelihood / n == pytest.approx(best, abs=1e-6)
    for solve, target, limit in (
        (constrained, 1e-9, 60),
        (interior_point, 1e-9, 60),
        (accelerated, 1e-5, 5000),
    ):
        found, steps, reached = solve(channel, w, target)
        assert reached and steps < limit and found.sum() == pytest.approx(1) and (found >= 0).all()
        assert gap(channel, w, found) <= target
        assert log_likelihood(channel, w, found) == pytest.approx(
            best, abs=1e-5 if solve is accelerated else 1e-6
        )


def test_rows_of_several_reports_have_their_maximum() -> None:
    """[P4 sec VI]: one person, many reports: the maximum is the value under which they are
    likeliest.
    """
    channel = MECHANISMS["HadamardResponse"](warner.Integers(1, 5), 2.0).channel()
    rng = np.random.default_rng(0)
    reports = rng.choice(channel.shape[0], (1, 40), p=channel.columns(np.array([3]))[:, 0])
    rows = RepeatedRows([channel] * 40, reports)
    fit = warner.MaximumLikelihood().fit(LikelihoodData(rows, np.ones(1), 1, warner.Integers(1, 5)))
    assert (
        fit.probabilities.argmax() == rows.dense().argmax()
        and fit.probabilities.max() == pytest.approx(1, abs=1e-6)
    )


def test_flat_peaks_count_once_and_values_below_one_do_not() -> None:
    assert _peaks(np.array([1.2, 1.1, 1.3, 1.3, 0.9, 1.05])).tolist() == [0, 3, 5]
    assert _peaks(np.array([0.9, 0.99, 0.5])).tolist() == []
