"""What empirical Bayes promises, one sentence per test."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS, SEEING
from warner import EmpiricalBayes, Integers
from warner.channels import Channel
from warner.estimators import Estimator
from warner.estimators.base import Fit, LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _reported(mechanism: Mechanism, theta: np.ndarray, n: int, seed: int = 3) -> LikelihoodData:
    rng = np.random.default_rng(seed)
    values = np.array(mechanism.domain.labels)[rng.choice(theta.size, n, p=theta)]
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))


BOTH = [EmpiricalBayes(), EmpiricalBayes("absolute")]


COUNTED = [
    "RandomizedResponse",
    "UnaryEncoding optimized",
    "LocalHashing optimized",
    "HadamardResponse",
    "SubsetSelection",
    "UtilityOptimizedRR",
]


def _fit(estimator: Estimator, channel: Channel, w: np.ndarray, n: int) -> Fit:
    return estimator.fit(LikelihoodData(channel, w, n, Integers(1, channel.shape[1])))


@pytest.mark.crossed(34)
@pytest.mark.parametrize("name", SEEING)
@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_without_noise_the_truth_comes_back(name: str, estimator: Estimator) -> None:
    theta = np.array([0.6, 0.3, 0.0, 0.09, 0.01, 0.0])
    channel = MECHANISMS[name](Integers(1, 6), 2.0).channel()
    scale = np.sqrt(channel.variance(theta).max() / 1e12)
    assert _fit(estimator, channel, channel.matvec(theta), 10**12).probabilities == pytest.approx(
        theta, abs=5 * scale
    )


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_equal_shares_shrink_to_the_uniform_distribution(name: str, estimator: Estimator) -> None:
    theta = np.full(40, 1 / 40)
    data = _reported(MECHANISMS[name](Integers(1, 40), 1.0), theta, 4000)
    found = estimator.fit(data).probabilities
    projected = warner.Inversion("project").fit(data).probabilities
    assert ((found - theta) ** 2).sum() < 0.05 * ((projected - theta) ** 2).sum()


@pytest.mark.crossed(60)
@pytest.mark.parametrize("name", SEEING)
@pytest.mark.parametrize("estimator", [*BOTH, EmpiricalBayes("squared", "normal")], ids=repr)
@pytest.mark.parametrize("size, n", [(2, 1), (2, 50), (3, 2), (17, 5), (33, 400)])
def test_shares_are_shares_however_few_values_or_reports(
    name: str, estimator: Estimator, size: int, n: int
) -> None:
    mechanism = MECHANISMS[name](Integers(1, max(size, 4) if "keep 0.7" in name else size), 1.0)
    theta = np.arange(1.0, mechanism.domain.size + 1)
    found = estimator.fit(_reported(mechanism, theta / theta.sum(), n)).probabilities
    assert np.isfinite(found).all() and (found >= 0).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_values_that_only_their_own_reports_name_keep_their_counts() -> None:
    domain = Integers(1, 30)
    mechanism = warner.UtilityOptimizedRR(domain, 1.0, sensitive=list(range(1, 11)))
    theta = np.full(30, 0.5 / 29)
    theta[20] = 0.5
    data = _reported(mechanism, theta, 20_000)
    found = EmpiricalBayes().fit(data).probabilities
    assert found[20] == pytest.approx(0.5, abs=0.02)
    raw = data.channel.invert(data.weights)
    assert ((found - theta)[:10] ** 2).sum() < 0.3 * ((raw - theta)[:10] ** 2).sum()


def test_unprotected_answers_are_all_but_counted() -> None:
    mechanism = warner.RandomizedResponse(Integers(1, 5), float("inf"))
    theta = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    data = _reported(mechanism, theta, 10_000)
    assert EmpiricalBayes().fit(data).probabilities == pytest.approx(data.weights, abs=0.003)


def test_each_loss_is_least_for_its_own_estimate() -> None:
    channel = warner.UnaryEncoding(Integers(1, 100), 1.0, variant="oue").channel()
    rng = np.random.default_rng(8)
    squared, absolute = np.zeros(2), np.zeros(2)
    for _ in range(12):
        theta = np.zeros(100)
        theta[:12] = rng.dirichlet(np.ones(12))
        w = channel.simulate(theta, 10**4, rng)
        errors = np.stack([_fit(e, channel, w, 10**4).probabilities - theta for e in BOTH])
        squared += (errors**2).sum(axis=1)
        absolute += np.abs(errors).sum(axis=1)
    assert squared[0] < squared[1] and absolute[1] < absolute[0]


def test_many_values_far_apart_are_held_apart_and_hardly_moved() -> None:
    channel = warner.UnaryEncoding(Integers(1, 300), 3.0).channel()
    theta = np.arange(1.0, 301.0)
    theta /= theta.sum()
    n = 10**10
    w = channel.simulate(theta, n, np.random.default_rng(1))
    sd = np.sqrt(channel.variance(theta) / n)
    assert np.abs(_fit(EmpiricalBayes(), channel, w, n).probabilities - theta).max() < 5 * sd.max()


def test_several_budgets_together_are_shrunk_too() -> None:
    domain = Integers(1, 50)
    rng = np.random.default_rng(6)
    theta = rng.dirichlet(np.full(50, 0.5))
    tallies = []
    for epsilon in (0.5, 1.5):
        mechanism = warner.RandomizedResponse(domain, epsilon)
        tallies.append(mechanism.tally(mechanism.randomize(1 + rng.choice(50, 5000, p=theta), rng)))
    found = warner.estimate(tallies, EmpiricalBayes()).probabilities
    projected = warner.estimate(tallies, warner.Inversion("project")).probabilities
    assert ((found - theta) ** 2).sum() < ((projected - theta) ** 2).sum()


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_draws_are_distributions_about_the_estimate(estimator: Estimator) -> None:
    data = _reported(warner.RandomizedResponse(Integers(1, 12), 1.0), np.arange(12) / 66, 5000)
    fit = estimator.fit(data)
    assert fit.posterior is not None
    draws = fit.posterior.draws(2000, np.random.default_rng(0))
    assert draws.shape == (2000, 12) and (draws >= 0).all()
    assert draws.sum(axis=1) == pytest.approx(np.ones(2000), abs=1e-12)
    assert draws.mean(axis=0) == pytest.approx(fit.probabilities, abs=0.02)
    assert (draws == fit.posterior.draws(2000, np.random.default_rng(0))).all()


@pytest.mark.parametrize("size", [5, 40])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_without_order_labels_may_be_in_any(size: int, loss: str) -> None:
    channel = warner.UnaryEncoding(Integers(1, size), 2.0).channel()
    theta = np.exp(np.sin(np.arange(size) / 5))
    w = channel.simulate(theta / theta.sum(), 20_000, np.random.default_rng(1))
    moved = np.random.default_rng(2).permutation(size)
    both = np.concatenate([w[:size][moved], w[size:][moved]])
    estimator = EmpiricalBayes(loss, order=False)
    assert _fit(estimator, channel, both, 20_000).probabilities == pytest.approx(
        _fit(estimator, channel, w, 20_000).probabilities[moved], abs=1e-9
    )


def test_with_order_neighbours_tell_of_each_other() -> None:
    """One count raised raises the estimates of the values next to it, on a smooth law; not without
    order.
    """
    channel = warner.UnaryEncoding(Integers(1, 100), 2.0).channel()
    theta = np.exp(np.sin(np.arange(100) * 2 * np.pi / 100))
    w = channel.simulate(theta / theta.sum(), 20_000, np.random.default_rng(1))
    more = w.copy()
    more[[50, 150]] += np.array([0.01, -0.01]) / 100
    near, far = [
        (lambda d: d[[49, 51]].mean() - d[[10, 90]].mean())(
            _fit(e, channel, more, 20_000).shares - _fit(e, channel, w, 20_000).shares
        )
        for e in (EmpiricalBayes(), EmpiricalBayes(order=False))
    ]
    assert near > 10 * abs(far)
