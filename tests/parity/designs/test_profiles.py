"""Fast likelihood-ratio intervals and their slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import chdtri

from tests.spec.designs._by_r import AT_THE_EDGE, INSIDE, LISTS, TwoGroups
from warner.designs import ListExperiment
from warner.designs.list_experiment import ListModel, _weights_of_mixture
from warner.results.likelihood_limits import Profile

CASES = {**INSIDE, **{name: case for name, (case, _) in AT_THE_EDGE.items()}}


def _slow_maximum(profile: Profile, condition: np.ndarray | None) -> float:
    """The largest log-likelihood under a'theta = 0, by a search among all theta."""
    size = profile.matrices[0].shape[1]
    constraints = [{"type": "eq", "fun": lambda theta: theta.sum() - 1}]
    if condition is not None:
        constraints.append({"type": "eq", "fun": lambda theta: condition @ theta})

    def down(theta: np.ndarray) -> float:
        groups = zip(profile.matrices, profile.counts, strict=True)
        laws = [(np.maximum(matrix @ theta, 1e-12), count) for matrix, count in groups]
        return -sum(float(count @ np.log(law)) for law, count in laws)

    ends = []
    for seed in range(3):
        start = np.random.default_rng(seed).dirichlet(np.ones(size))
        options = {"ftol": 1e-14, "maxiter": 1000}
        end = minimize(
            down, start, bounds=[(0, 1)] * size, constraints=constraints, options=options
        )
        ends.append(-float(end.fun) if end.status in (0, 8) else -np.inf)
    return max(ends)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_ends_of_intervals_have_the_statistic_of_a_search_among_all_classes(
    case: TwoGroups,
) -> None:
    result = case.design.estimate(case.counts)
    profile = result.profile
    assert profile.best == pytest.approx(_slow_maximum(profile, None), abs=1e-5)
    name = next(iter(case.design.shares))
    of = case.design.counted(case.design.shares[name].classes)
    for limit in profile.limits(of, np.ones(of.size), chdtri(1, 0.05)):
        condition = of - limit
        slow = 2 * (profile.best - _slow_maximum(profile, condition))
        assert profile.lacking(condition) == pytest.approx(slow, abs=1e-4)
        assert limit in (0, 1) or slow == pytest.approx(chdtri(1, 0.05), abs=1e-4)


def test_quadratic_statistics_have_the_quantile_of_simulated_surveys() -> None:
    # At a share of 0 both classes of carriers leave the simplex: chi-square's 3.84 rejects too
    # often. The quantile of 500 surveys, whose likelihoods are maximised, is the slow twin.
    case = INSIDE["sld"]
    truth = np.array([1.0, 0.0, 0.0])
    rng = np.random.default_rng(1)
    statistics, quantile = [], 0.0
    for _ in range(500):
        counts = [
            dict(zip(group.words, rng.multinomial(1000, group.matrix @ truth), strict=True))
            for group in case.design.groups
        ]
        profile = case.design.estimate(counts).profile
        condition = case.design.counted(case.design.shares["yes"].classes)
        statistics.append(profile.lacking(condition))
        quantile = quantile or profile.quantile(condition, 0.95)
    assert quantile > 4.0
    assert np.mean(np.array(statistics) <= quantile) == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_weights_of_mixtures_are_those_of_projections(size: int) -> None:
    rng = np.random.default_rng(size)
    root = np.tri(size) + 0.3 * rng.normal(size=(size, size))
    covariance = root @ root.T
    weights = _weights_of_mixture(covariance)
    assert weights.sum() == pytest.approx(1.0)
    # w_k: how often k coordinates of the nearest vector without negative ones are 0
    from scipy.optimize import nnls

    inverse = np.linalg.inv(np.linalg.cholesky(covariance))
    drawn = rng.multivariate_normal(np.zeros(size), covariance, 4000)
    zeros = [int((nnls(inverse, inverse @ x)[0] <= 1e-12).sum()) for x in drawn]
    assert np.bincount(zeros, minlength=size + 1) / 4000 == pytest.approx(weights, abs=0.03)


def test_gradients_and_information_of_lists_are_differences() -> None:
    items, counts = LISTS["D"]
    both = ListExperiment(items).counts(counts)
    count = np.concatenate([np.arange(len(c)) for c in both])
    treated = np.repeat([False, True], [len(c) for c in both])
    rng = np.random.default_rng(1)
    covariates = np.column_stack([np.ones(count.size), rng.normal(size=count.size)])
    people = np.concatenate(both)
    for same in (True, False):
        model = ListModel(
            items, count, treated, covariates, people, True, same, floor=True, ceiling=True
        )
        at = rng.normal(size=2 * model.equations + 3)
        every = np.arange(at.size)
        steps = 1e-6 * np.eye(at.size)
        ends = [[model.value_and_gradient(at + sign * s) for sign in (1, -1)] for s in steps]
        gradient = [(high[0] - low[0]) / 2e-6 for high, low in ends]
        information = [(low[1] - high[1]) / 2e-6 for high, low in ends]
        assert model.value_and_gradient(at)[1] == pytest.approx(gradient, rel=1e-6, abs=1e-4)
        assert model.information(at, every) == pytest.approx(
            np.array(information), rel=1e-5, abs=1e-3
        )
