"""The bias correction of P1 against its equations person by person, and what is wrong with them
(METHODS 9.4).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from warner import Categorical, Inversion, RandomizedResponse
from warner.channels import Channel, DirectChannel, StackChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.em import run_em
from warner.estimators.literature import BiasCorrection, second_order
from warner.mechanisms import Mechanism
from warner.reports.tally_kinds import Counted
from warner.results.from_tally import likelihood_data

LABELS = Categorical([f"v{x}" for x in range(5)])


BUDGETS = (0.5, 2.0, math.log(5), math.inf)


def _facts(counts: tuple[int, ...] = (60, 40, 20, 10), seed: int = 0) -> LikelihoodData:
    """Randomised response with several budgets, by way of tallies."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    tallies = []
    for epsilon, n in zip(BUDGETS, counts, strict=True):
        mechanism = RandomizedResponse(LABELS, epsilon)
        values = LABELS.decode(rng.choice(5, n, p=shares))
        tallies.append(mechanism.tally(mechanism.randomize(values, rng)))
    return likelihood_data(tallies)


def _scores(data: LikelihoodData, theta: np.ndarray) -> np.ndarray:
    """s_n = g_n / theta.g_n of every person, one row each."""
    matrix = data.channel.dense()
    counts = np.rint(data.weights * data.n).astype(int)
    assert counts.sum() == data.n
    people = np.repeat(np.arange(len(matrix)), counts)
    return np.array([matrix[y] / (theta @ matrix[y]) for y in people])


def literal(scores: np.ndarray, ridge: float, curvature: float = 1.0) -> np.ndarray:
    """[P1 eqs 28-32] word by word: a loop over people, third-order tensors."""
    n, size = scores.shape
    total = sum(np.outer(s, s) for s in scores) / n
    q = -np.linalg.inv(total + ridge * np.eye(size))
    first, third, second = np.zeros(size), np.zeros((size,) * 3), np.zeros((size, size))
    for s in scores:
        v = total - np.outer(s, s)
        first += v @ q @ s / n
        third += curvature * np.einsum("i,j,k->ijk", s, s, s)
        second += np.outer(q @ s, q @ s)
    return q @ (first - np.einsum("ijk,jk->i", third, second) / (2 * n**2)) / n


@pytest.mark.parametrize("curvature", [1.0, 2.0])
@pytest.mark.parametrize("ridge", [1e-3, 0.7])
def test_grouped_rows_tell_what_people_one_by_one_do(ridge: float, curvature: float) -> None:
    data = _facts()
    for theta in (np.full(5, 0.2), np.array([0.5, 0.2, 0.1, 0.15, 0.05])):
        fast = second_order(data.channel, data.weights, theta, data.n, ridge, curvature)
        assert fast == pytest.approx(
            literal(_scores(data, theta), ridge, curvature), rel=1e-9, abs=1e-13
        )


@pytest.mark.parametrize(
    "mechanism",
    [
        warner.LocalHashing(LABELS, 1.0, seeds=12),
        warner.HadamardResponse(LABELS, 1.0),
        warner.SubsetSelection(LABELS, 1.0),
    ],
    ids=repr,
)
def test_any_channel_of_whole_reports_has_a_correction(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(1)
    data = likelihood_data(
        mechanism.tally(
            mechanism.randomize(LABELS.decode(rng.integers(0, 5, 80)), rng), keep_reports=True
        )
    )
    theta = np.array([0.5, 0.2, 0.1, 0.15, 0.05])
    rows, w = data.channel.restrict_to_observed(data.weights)
    fast = second_order(rows, w, theta, data.n)
    assert fast == pytest.approx(literal(_scores(data, theta), 1e-3), rel=1e-9, abs=1e-13)


def test_the_whole_method_is_algorithm_2() -> None:
    """Mutants: alpha of another run, the correction added, projected instead of clipped and
    renormalised.
    """
    data = _facts()
    run = run_em(
        data.channel, data.weights, data.n, data.channel.naive_estimate(data.weights), 1e-3, 10**5
    )
    theta, steps = run.state.shares, run.steps
    a = literal(_scores(data, theta), 1e-3)
    for alpha in (0.0, 0.9, 40.0, 400.0):
        clipped = np.maximum(theta - alpha * a, 0)
        fit = BiasCorrection(alpha=alpha).fit(data)
        assert fit.shares == pytest.approx(
            clipped / clipped.sum() if clipped.any() else np.full(5, 0.2), abs=1e-12
        )
        assert fit.iterations == steps


def test_shares_times_a_score_are_one_always_so_scores_do_not_sum_to_zero() -> None:
    data = _facts()
    for theta in np.random.default_rng(0).dirichlet(np.ones(5), 20):
        scores = _scores(data, theta)
        assert scores @ theta == pytest.approx(np.ones(data.n), abs=1e-12)
        assert scores.mean(axis=0) @ theta == pytest.approx(1, abs=1e-12), "P1 eqs 16 and 21 say 0"


def test_with_the_right_factor_and_no_ridge_the_correction_is_the_estimate_over_n() -> None:
    """At any theta, maximum or not; and as printed it is not."""
    data = _facts()
    for theta in np.random.default_rng(1).dirichlet(np.full(5, 3.0), 10):
        right = second_order(data.channel, data.weights, theta, data.n, ridge=0.0, curvature=2.0)
        assert right == pytest.approx(theta / data.n, rel=1e-9)
        printed = second_order(data.channel, data.weights, theta, data.n, ridge=0.0)
        assert np.abs(printed / theta * data.n - 1).max() > 0.1


def test_equation_24_lacks_a_factor_of_two() -> None:
    g, theta, h = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3]), 1e-4
    unit = np.eye(3) * h

    def score(at: np.ndarray) -> np.ndarray:
        return g / (at @ g)

    def second(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (
            score(theta + u + v)
            - score(theta + u - v)
            - score(theta - u + v)
            + score(theta - u - v)
        ) / (4 * h * h)

    numeric = np.array([[second(u, v) for u in unit] for v in unit])
    assert numeric == pytest.approx(
        2 * np.einsum("i,j,k->ijk", g, g, g) / (theta @ g) ** 3, rel=1e-5
    )


@pytest.mark.parametrize(
    "channel",
    [
        DirectChannel(5, 0.1, 0.5),
        StackChannel([DirectChannel(5, 0.15, 0.25), DirectChannel(5, 0.0, 1.0)], [30, 10]),
        "dense",
    ],
    ids=["one budget", "two budgets", "any matrix"],
)
def test_on_the_simplex_the_second_order_bias_of_an_interior_maximum_vanishes(
    channel: Channel | str,
) -> None:
    """Rilstone's formula in the K - 1 coordinates in which the score does have mean 0, expectations
    taken exactly.
    """
    rng = np.random.default_rng(2)
    theta = rng.dirichlet(np.full(5, 3.0))
    matrix = rng.dirichlet(np.ones(8), 5).T if isinstance(channel, str) else channel.dense()
    d = matrix @ theta
    tangent = np.linalg.svd(np.ones((1, 5)))[2][1:].T  # (K, K - 1), columns sum to 0
    s = (matrix / d[:, None]) @ tangent
    assert d @ s == pytest.approx(np.zeros(4), abs=1e-12), "the mean score is 0"
    information = (s * d[:, None]).T @ s
    q = -np.linalg.inv(information)
    slopes = information - s[:, :, None] * s[:, None, :]  # V of every row
    first = np.einsum("y,yij,yj->i", d, slopes, s @ q)
    third = 2 * np.einsum("y,yi,yj,yk->ijk", d, s, s, s)
    bias = q @ (first - np.einsum("ijk,jk->i", third, q @ information @ q) / 2)
    assert np.abs(q @ first).max() > 1e-2, "each of the two terms is there"
    assert np.abs(bias).max() < 1e-12


def test_equal_weights_are_equation_13() -> None:
    """p' = 1/M sum_m q_m' G_m^-1, over the mechanisms that somebody used; not over people, not by
    precision.
    """
    for counts in ((60, 40, 20, 10), (60, 0, 20, 0)):
        rng = np.random.default_rng(3)
        tallies, inverted = [], []
        for epsilon, n in zip(BUDGETS, counts, strict=True):
            mechanism = RandomizedResponse(LABELS, epsilon)
            values = LABELS.decode(rng.integers(0, 5, max(n, 1)))
            tally = mechanism.tally(mechanism.randomize(values, rng))
            if n == 0:
                nobody = Counted.together(tally.kind, np.zeros(5, dtype=np.int64), 0)
                tally = warner.Tally(tally.header, nobody, None, True)
            else:
                inverted.append(np.linalg.solve(mechanism.channel().dense(), tally.counts / n))
            tallies.append(tally)
        equal = warner.estimate(tallies, Inversion(weights="equal"))
        assert equal.probabilities == pytest.approx(np.mean(inverted, axis=0), abs=1e-12)
        assert (
            np.abs(equal.probabilities - warner.estimate(tallies, Inversion()).probabilities).max()
            > 0.01
        )
