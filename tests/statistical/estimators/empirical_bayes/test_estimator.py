"""Empirical Bayes errs as little as it should, and what it is made of is needed. Seeded, so that
nothing flakes.
"""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.statistical.estimators.empirical_bayes._errors import _errors
from warner import EmpiricalBayes, Integers
from warner.channels import StackChannel
from warner.estimators.base import LikelihoodData


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
            _errors(e, theta, n, epsilon, 12).mean()
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
