"""Empirical Bayes errs as little as it should, and what it is made of is needed. Seeded, so that
nothing flakes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import warner
from warner import EmpiricalBayes, Integers
from warner.channels import StackChannel
from warner.estimators.empirical_bayes import estimator, noise, prior
from warner.estimators.likelihood_data import LikelihoodData


def _errors(
    estimator: warner.estimators.Estimator,
    theta: np.ndarray,
    n: int,
    epsilon: float,
    runs: int = 12,
) -> np.ndarray:
    """Sums of squared errors (runs,) for bit sums."""
    channel = warner.UnaryEncoding(Integers(1, theta.size), epsilon, keep="optimized").channel()
    rng = np.random.default_rng(17)
    weights = [channel.simulate(theta, n, rng) for _ in range(runs)]
    data = [LikelihoodData(channel, w, n, Integers(1, theta.size)) for w in weights]
    return np.array([((estimator.fit(f).probabilities - theta) ** 2).sum() for f in data])


def test_rescaling_instead_of_the_sum_constraint_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One value with 0.6 of the mass, little noise: dividing by the sum charges it with 0.6 of
    everyone's noise.

    By theory the squared error is then K - 2 + K sum theta^2 = 14.7 instead of K - 1 = 11 times the
    variance.
    """
    theta = np.append(0.4 * np.arange(1.0, 12.0) / 66, 0.6)
    right = _errors(EmpiricalBayes(), theta, 10**6, 1.0, 60).mean()
    monkeypatch.setattr(estimator, "tilt_to_sum", lambda laws, *_: laws)
    for module in (estimator, noise):
        monkeypatch.setattr(module, "move_to_sum", lambda v, variance: v / v.sum())
    assert _errors(EmpiricalBayes(), theta, 10**6, 1.0, 60).mean() > 1.15 * right


def test_a_prior_that_has_seen_the_value_itself_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few values: the nonparametric prior alone, here a concentration of next to nothing, errs at
    least a quarter more than the mixture.
    """
    theta = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    monkeypatch.setattr(estimator, "SETTINGS", replace(estimator.SETTINGS, small_domain=0))
    right = _errors(EmpiricalBayes(), theta, 3000, 1.0, 60).mean()
    monkeypatch.setattr(prior, "SETTINGS", replace(prior.SETTINGS, base_concentrations=(0.01,)))
    assert _errors(EmpiricalBayes(), theta, 3000, 1.0, 60).mean() > 1.25 * right


@pytest.mark.parametrize("exponent", [0.5, 1.1, 2.0])
@pytest.mark.parametrize("size", [5, 60])
def test_it_errs_no_more_than_the_projection(exponent: float, size: int) -> None:
    """By a quarter nowhere, over all by a tenth where values are few and there is little to learn,
    and less where they are many.
    """
    theta = np.arange(1.0, size + 1) ** -exponent
    theta /= theta.sum()
    ratios = []
    for n, epsilon in ((10**3, 2.0), (10**4, 1.0), (10**5, 1.0), (10**5, 4.0)):
        ours, theirs = (
            _errors(e, theta, n, epsilon, 25).mean()
            for e in (EmpiricalBayes(), warner.Inversion("project"))
        )
        ratios.append(ours / theirs)
    assert max(ratios) < 1.25 and np.exp(np.log(ratios).mean()) < (1.1 if size == 5 else 0.95)


def test_draws_cover_the_truth() -> None:
    """95 % of draws' middle holds a share of the law the shares were drawn from, 90 to 99 times in
    a hundred.
    """
    rng = np.random.default_rng(12)
    channel = warner.RandomizedResponse(Integers(1, 40), 1.5).channel()
    hits = []
    for _ in range(25):
        theta = rng.dirichlet(np.ones(40))
        data = LikelihoodData(channel, channel.simulate(theta, 10**4, rng), 10**4, Integers(1, 40))
        posterior = EmpiricalBayes().fit(data).posterior
        assert posterior is not None
        low, high = np.quantile(posterior.draws(400, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99


def test_chosen_steps_err_little_more_than_the_best_number_of_steps() -> None:
    """Mean over eight laws of the squared error against the least on the path: within a quarter.
    Always 10 steps err four times as much, always 1500 half as much again.
    """
    rng = np.random.default_rng(9)
    domain = Integers(1, 60)
    ratios: dict[str | int, list[float]] = {"auto": [], 10: [], 1500: []}
    for law in (
        np.arange(1.0, 61.0) ** -0.3,
        np.arange(1.0, 61.0) ** -1.1,
        np.exp(-(np.linspace(-3, 3, 60) ** 2) / 2),
        np.arange(1.0, 61.0),
    ):
        for epsilon in (2.0, 4.0):
            theta = law / law.sum()
            channel = warner.RandomizedResponse(domain, epsilon).channel()
            w = np.stack([channel.simulate(theta, 10**4, rng) for _ in range(6)], axis=1)
            path, now = [], np.full((60, 6), 1 / 60)
            for _ in range(1500):
                now = now * channel.rmatvec(w / channel.matvec(now))
                path.append(((now - theta[:, None]) ** 2).sum(axis=0).mean())
            chosen = [
                warner.ExpectationMaximization("auto")
                .fit(LikelihoodData(channel, v, 10**4, domain))
                .probabilities
                for v in w.T
            ]
            ratios["auto"].append(np.mean([((p - theta) ** 2).sum() for p in chosen]) / min(path))
            for steps in (10, 1500):
                ratios[steps].append(path[steps - 1] / min(path))
    mean = {k: np.exp(np.log(v).mean()) for k, v in ratios.items()}
    assert mean["auto"] < 1.25 and mean[10] > 1.5 and mean[1500] > 1.5, mean


def test_several_budgets_of_few_people_taken_as_normal_are_rejected() -> None:
    """30 people at epsilon 4 name a value each: counts of 0 and 1, of which normal noise makes
    shares. It errs at least half as much again.
    """
    theta = np.exp(-(np.linspace(-2.5, 2.5, 120) ** 2))
    theta /= theta.sum()
    people, domain = (300, 100, 30), Integers(1, 120)
    channel = StackChannel(
        [warner.RandomizedResponse(domain, e).channel() for e in (1.0, 2.0, 4.0)], people
    )
    rng, errors = np.random.default_rng(5), np.zeros(2)
    for _ in range(20):
        data = LikelihoodData(
            channel, channel.simulate(theta, sum(people), rng), sum(people), domain
        )
        for k, likelihood in enumerate(("binomial", "normal")):
            errors[k] += (
                (EmpiricalBayes(likelihood=likelihood).fit(data).probabilities - theta) ** 2
            ).sum()
    assert errors[1] > 1.5 * errors[0]
