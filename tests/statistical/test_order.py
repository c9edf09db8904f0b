"""The order of the values is used where it says something, and costs little where it does not.
Seeded, so that nothing flakes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import warner
from warner import Categorical, EmpiricalBayes
from warner.estimators.empirical_bayes import estimator, neighbours, noise
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.likelihood_data import LikelihoodData


def _facts(
    theta: np.ndarray,
    n: int,
    epsilon: float,
    rng: np.random.Generator,
    mechanism: type = warner.UnaryEncoding,
) -> LikelihoodData:
    domain = Categorical([str(i) for i in range(theta.size)])
    channel = mechanism(domain, epsilon).channel()
    return LikelihoodData(channel, channel.simulate(theta, n, rng), n, domain)


def _smooth(size: int) -> np.ndarray:
    law = np.exp(2 * np.sin(np.arange(size) * 2 * np.pi / size))
    return np.asarray(law / law.sum())


def _heaped(size: int) -> np.ndarray:
    law = np.where(np.arange(size) % 5 == 0, 3.0, 1.0) * np.exp(-np.arange(size) / size)
    return np.asarray(law / law.sum())


def _ratio(
    theta: np.ndarray, shuffle: bool, runs: int, estimators: tuple[EmpiricalBayes, EmpiricalBayes]
) -> float:
    """Squared error with the order over that without."""
    rng = np.random.default_rng(21)
    errors = np.zeros(2)
    for _ in range(runs):
        truth = rng.permutation(theta) if shuffle else theta
        data = _facts(truth, 30_000, 2.0, rng)
        errors += [((e.fit(data).shares - truth) ** 2).sum() for e in estimators]
    return float(errors[0] / errors[1])


BOTH = (EmpiricalBayes(), EmpiricalBayes(order=False))


@pytest.mark.parametrize("law", [_smooth, _heaped])
def test_neighbours_alike_and_repeating_patterns_are_used(law: type) -> None:
    assert _ratio(law(120), False, 6, BOTH) < 0.75


@pytest.mark.parametrize("law", [_smooth, _heaped])
def test_labels_in_no_order_lose_little(law: type) -> None:
    assert _ratio(law(120), True, 15, BOTH) < 1.04


def test_a_guess_that_has_seen_its_own_value_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filtered estimate itself taken for a prediction from the others, h = 0: labels in no
    order then lose a tenth at least.
    """
    filtered = neighbours.filtered
    monkeypatch.setattr(neighbours, "filtered", lambda d, noise: (filtered(d, noise)[0], 0.0))
    assert _ratio(_smooth(120), True, 8, BOTH) > 1.1


def test_one_large_value_does_not_pass_for_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cap, and with odd values taken for none, a few large values ruin the guesses of
    the others.
    """
    theta = np.arange(1.0, 301) ** -1.2
    theta /= theta.sum()
    right = _ratio(theta, False, 6, BOTH)
    monkeypatch.setattr(
        neighbours, "SETTINGS", replace(neighbours.SETTINGS, peakedness=1.0, odd_value=0.0)
    )
    assert right < 1.02 and _ratio(theta, False, 6, BOTH) > 1.2 * right


def test_draws_cover_shares_in_order() -> None:
    """95 % of draws' middle holds the truth 90 to 99 times in a hundred, though the guesses' errors
    are alike along the order.
    """
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(20):
        walk = np.exp(np.cumsum(rng.normal(size=100)) * 0.2)
        theta = walk / walk.sum()
        fit = EmpiricalBayes().fit(_facts(theta, 30_000, 2.0, rng))
        assert fit.posterior is not None
        low, high = np.quantile(fit.posterior.draws(300, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99


@pytest.mark.parametrize("size", [2, 5])
def test_draws_of_few_values_cover_the_truth(size: int) -> None:
    """95 % of draws' middle holds a share of the law it was drawn from, 90 to 99 times in a
    hundred; the draws' own spread is the posterior's.
    """
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(120):
        theta = rng.dirichlet(np.ones(size))
        fit = EmpiricalBayes().fit(_facts(theta, 1000, 1.0, rng, warner.RandomizedResponse))
        assert fit.posterior is not None
        low, high = np.quantile(fit.posterior.draws(400, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99


def test_a_pool_of_seeds_is_not_taken_for_independent_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 values, 256 seeds, few reports: the inverse of the collisions, its noise taken for the
    counts' own, errs a tenth more at least.
    """
    domain = Categorical([str(i) for i in range(300)])
    channel = warner.LocalHashing(domain, 1.0, seeds=256).channel()
    rng = np.random.default_rng(7)
    theta = np.arange(1.0, 301) ** -1.0
    theta /= theta.sum()
    data = [
        LikelihoodData(channel, channel.simulate(theta, 1000, rng), 1000, domain) for _ in range(10)
    ]

    def error() -> float:
        return float(
            np.mean(
                [((EmpiricalBayes(order=False).fit(f).shares - theta) ** 2).sum() for f in data]
            )
        )

    right = error()
    monkeypatch.setattr(noise, "_pool_estimates", lambda channel, data, y, q, gap: (y, 1.0))
    monkeypatch.setattr(estimator, "_without_collisions", lambda *_: None)
    assert error() > 1.1 * right


def test_the_noise_of_what_is_left_of_collisions_is_as_stated() -> None:
    """Estimates with other values' shares left in: their squared errors are the stated variance,
    within a tenth.
    """
    domain = Categorical([str(i) for i in range(200)])
    channel = warner.LocalHashing(domain, 1.0, seeds=512).channel()
    rng = np.random.default_rng(8)
    theta = rng.dirichlet(np.full(200, 0.3))
    ratios = []
    for _ in range(30):
        noise = EstimateNoise.of(
            LikelihoodData(channel, channel.simulate(theta, 3000, rng), 3000, domain), "binomial"
        )
        ratios.append(((noise.y - theta) ** 2).sum() / noise.variance(theta).sum())
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
