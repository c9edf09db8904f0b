"""Limits of functions of the shares against general minimisers and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import warner
from warner import (
    HadamardResponse,
    Integers,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from warner.estimators.base import LikelihoodData
from warner.metrics import project
from warner.results import share_noise
from warner.results.estimate import Estimate
from warner.results.linear_limits import UnbiasedShares, _Near, _Search
from warner.results.share_noise import covariance_of


@pytest.mark.parametrize("seed", range(6))
def test_the_search_ends_at_the_least_expected_limit(seed: int) -> None:
    """Within 1e-6 of a bounded quasi-Newton search from two starts. Many m are almost 0, so several
    s are positive. Rejects a search that ends after the first solution of least squares.
    """
    rng, size = np.random.default_rng(seed), 12
    places = np.linspace(0, 1, size)
    channel = np.exp(-3 * np.abs(np.subtract.outer(places, places)))
    inverse = np.linalg.inv(channel / channel.sum(axis=0))
    # Shares sum to 1, so the rows of their covariance matrix sum to 0.
    root = (np.eye(size) - 1 / size) @ inverse * np.sqrt(rng.random(size) + 0.2)
    covariance = root @ root.T
    covariance /= np.trace(covariance) / size
    m = rng.dirichlet(np.full(size, 0.1)) + 1e-3
    m /= m.sum()
    c = np.sort(rng.random(size))
    of_c, variance, radius = covariance @ c, float(c @ covariance @ c), 3.0

    def limit(s: np.ndarray) -> float:
        spread = variance + 2 * of_c @ s + s @ covariance @ s
        return float(m @ s + radius * np.sqrt(max(spread, 1e-300)))

    found = _Search(covariance, of_c, variance, radius).least_slack(m)
    starts = (np.zeros(size), np.full(size, 0.5))
    ends = [minimize(limit, at, method="L-BFGS-B", bounds=[(0, None)] * size) for at in starts]
    assert (found >= 0).all() and found.max() > 0
    assert limit(found) <= min(end.fun for end in ends) + 1e-6


def test_without_room_for_slack_the_limits_are_walds() -> None:
    """Little noise, and no small share: the least limit has s = 0."""
    covariance = np.diag([0.25] * 4) - 1 / 16
    c = np.arange(4.0)
    search = _Search(covariance, covariance @ c, float(c @ covariance @ c), 1e-3)
    assert not search.least_slack(np.full(4, 0.25)).any()


def test_a_ratio_to_everybody_has_the_limits_of_its_numerator() -> None:
    """Rejects a ratio whose slack or bias has the other sign."""
    numbers = warner.SquareWave(warner.Interval(0, 10, bins=8), 1.0)
    values = np.random.default_rng(1).exponential(1.5, 500).clip(0, 10)
    tally = numbers.tally(numbers.randomize(values, np.random.default_rng(2)))
    known = UnbiasedShares.of(warner.estimate(tally), "population")
    assert known is not None
    c = np.arange(8.0)
    limits = known.limits(c, 1.96)
    ratio = float(c @ known.drawn.mean(axis=0))
    assert known.limits_of_ratio(c, np.ones(8), ratio, 1.96) == pytest.approx(limits, rel=0.02)


@pytest.mark.parametrize("name", ["RandomizedResponse", "SquareWave"])
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_limits_of_a_variance_are_those_of_two_scores(name: str, target: str) -> None:
    """Without slack: scores s with A's = x and A's = x^2 of least variance, at the exact law of the
    reports. Rejects a variance of the mean that is added twice, or to both limits.
    """
    domain, n = warner.Interval(0, 1, bins=8), 4000
    mechanism = getattr(warner, name)(domain, 2.0)
    theta = np.array([0.05, 0.2, 0.3, 0.2, 0.1, 0.05, 0.05, 0.05])
    channel, x = mechanism.channel().dense(), domain.points[:, 0]
    f = channel @ theta
    root = 1 / np.sqrt(channel.mean(axis=1))
    dual = np.linalg.pinv(channel * root[:, None]).T * root[:, None]
    of_mean, of_squares = dual @ x, dual @ x**2
    unbiased = float(f @ of_squares - (f @ of_mean) ** 2)

    def noise(score: np.ndarray, values: np.ndarray) -> float:
        spread = f @ score**2 - (f @ score) ** 2
        return float(
            spread - (target == "respondents") * (theta @ values**2 - (theta @ values) ** 2)
        )

    mean = float(f @ of_mean)
    influence, of_one = of_squares - 2 * mean * of_mean, x**2 - 2 * mean * x
    half = 1.96 * np.sqrt(noise(influence, of_one) / n)
    data = LikelihoodData(mechanism.channel(), f, n, domain)
    result = Estimate(warner.Inversion().fit(data), data, warner.Inversion())
    known = UnbiasedShares._known(data, target, theta, np.empty((0, 8)), None)
    assert known is not None and result.n == n
    low, high = known.limits_of_variance(x, np.ones(8), 1.96)
    assert low == pytest.approx(unbiased - half, rel=2e-3)
    assert high == pytest.approx(unbiased + half + noise(of_mean, x) / n, rel=2e-3)


SUMS = {
    "k-RR": RandomizedResponse,
    "bits": UnaryEncoding,
    "hashes": LocalHashing,
    "subsets": SubsetSelection,
    "Hadamard": HadamardResponse,
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_the_covariance_of_sums_is_that_of_all_values_added_up(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects pairs that are counted twice, and cells that end one value too early."""
    mechanism = SUMS[name](Integers(0, 40), 1.5)
    channel, starts = mechanism.channel(), np.array([0, 1, 7, 20, 36])
    theta = np.random.default_rng(3).dirichlet(np.ones(41))
    w = channel.simulate(theta, 500, np.random.default_rng(4))
    data = LikelihoodData(channel, w, 500, mechanism.domain, reports_per_person=2)
    whole = covariance_of(data, theta, target)
    added = np.add.reduceat(np.add.reduceat(whole, starts, 0), starts, 1)
    assert covariance_of(data, theta, target, starts) == pytest.approx(added)
    monkeypatch.setattr(share_noise, "_DENSE", 0)
    monkeypatch.setattr(share_noise, "_TERMS", 500)  # in several steps
    assert covariance_of(data, theta, target, starts) == pytest.approx(added)


def test_estimates_of_cells_expect_of_a_value_what_is_stated() -> None:
    """Rejects an expectation without the move to the sum 1, and one of other cells."""
    numbers = warner.SquareWave(warner.Integers(0, 1499), 5.0)
    rng, theta = np.random.default_rng(1), np.zeros(1500)
    theta[[0, 700, 1499]] = 0.3, 0.2, 0.5
    data = LikelihoodData(numbers.channel(), numbers.channel().matvec(theta), 900, numbers.domain)
    method = warner.Inversion("project")
    fit = warner.MaximumLikelihood(1e-2).fit(data)
    known = UnbiasedShares.on_cells(Estimate(fit, data, method), "population")
    assert known is not None and known.starts is not None and known.shares.size < 1500
    c = rng.random(known.shares.size)
    # The reports have exactly the law of theta, so the estimate is what is expected of theta.
    assert c @ known.shares == pytest.approx(float(known.of_values(c) @ theta), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_distribution_with_a_given_cumulative_share(seed: int) -> None:
    """Rejects least squares that meet the conditions only nearly, and a bisection that ends beside
    the first or the last place.
    """
    rng, size, n, q = np.random.default_rng(seed), 6, 300, 0.4
    root = (np.eye(size) - 1 / size) @ rng.normal(size=(size, size))
    covariance = root @ root.T
    theta = rng.dirichlet(np.ones(size))
    shares = theta + root @ rng.normal(size=size) / np.sqrt(n)
    known = UnbiasedShares(shares, covariance, np.empty((0, size)), n, np.zeros(size))
    near, inverse = _Near.of(known), np.linalg.pinv(covariance, 1e-9) * n
    about = np.tri(size + 1, size, -1) - q

    def slow(*conditions: np.ndarray) -> float:
        found = minimize(
            lambda t: (t - shares) @ inverse @ (t - shares),
            project(shares),
            jac=lambda t: 2 * inverse @ (t - shares),
            method="SLSQP",
            bounds=[(0, 1)] * size,
            constraints=[
                {"type": "eq", "fun": lambda t: t.sum() - 1},
                *({"type": "eq", "fun": lambda t, a=a: a @ t} for a in conditions),
            ],
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return float(found.fun)

    assert near.least == pytest.approx(slow(), rel=1e-3, abs=1e-3)
    distances = np.array([slow(a) for a in about[1:-1]])
    assert [near.distance(a) for a in about[1:-1]] == pytest.approx(distances, rel=1e-3, abs=1e-3)
    is_near = distances <= near.least + 1.96**2
    at = 1 + int(np.argmax(np.append(about[1:-1] @ near.best >= 0, True)))
    first = min([at, *(1 + np.flatnonzero(is_near))])
    last = max([at - 1, *(1 + np.flatnonzero(is_near))])
    assert near.reach(about, 1.96) == (first, last)
