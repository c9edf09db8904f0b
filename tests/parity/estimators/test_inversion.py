"""Inversion leaves an unbiased estimate inside the simplex alone."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import COMBINED, PER_ATTRIBUTE
from warner.estimators.base import LikelihoodData
from warner.results.from_tally import likelihood_data
from warner.results.share_noise import simulated_tallies


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_an_unbiased_estimate_inside_the_simplex_sums_to_one(epsilon: float) -> None:
    """Entries of 1e6 cancel: without a division by the sum it is off by 1e-10."""
    coin = warner.RandomizedResponse(warner.Integers(0, 1), epsilon)
    channel = coin.channel()
    for constraint in (None, "project", "normalize", "norm-cut", "threshold"):
        fit = warner.Inversion(constraint).fit(
            LikelihoodData(channel, np.array([0.5, 0.5]), 2, coin.domain)
        )
        assert abs(fit.shares.sum() - 1) <= 1e-12
        assert fit.shares == pytest.approx([0.5, 0.5], abs=1e-6)
        assert fit.status is warner.estimators.Status.EXACT


# What is estimated from tables of tuples against the dense law.


@pytest.mark.parametrize("name", [n for n in PER_ATTRIBUTE if n != "Gaussian x RR"])
def test_estimates_of_tuples_are_those_of_the_dense_law(name: str) -> None:
    mechanism = COMBINED[name](2.0)
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(mechanism.domain.size))
    tally = mechanism.tally(
        mechanism.randomize(mechanism.domain.decode(rng.choice(theta.size, 3000, p=theta)), rng)
    )
    data = likelihood_data(tally)
    dense = np.ones((1, 1))
    for part in mechanism.parts.values():
        dense = np.kron(dense, part.channel().dense())
    inverse = np.ones((1, 1))
    for part in mechanism.parts.values():
        inverse = np.kron(
            inverse,
            np.stack(
                [part.channel().invert(unit) for unit in np.eye(part.channel().shape[0])], axis=1
            ),
        )
    assert data.channel.dense() == pytest.approx(dense, abs=1e-13)
    assert warner.estimate(tally, warner.Inversion()).probabilities == pytest.approx(
        inverse @ data.weights, abs=1e-9
    )
    t = np.full(theta.size, 1 / theta.size)
    found = warner.estimate(tally, warner.ExpectationMaximization(1)).probabilities
    # A report counts for ``copies`` rows, and its step is as many times as long unless the
    # quasi-likelihood would fall.
    longest = found / t - 1
    step = dense.T @ (data.weights / (dense @ t)) - 1
    pace = float(longest @ step / (step @ step))
    assert longest == pytest.approx(pace * step, abs=1e-10)
    assert 1 - 1e-9 <= pace <= data.channel.rows_per_report + 1e-9
    if data.channel.rows_per_report == 1:
        for _ in range(5):
            t = t * (dense.T @ (data.weights / (dense @ t)))
        assert warner.estimate(
            tally, warner.ExpectationMaximization(5)
        ).probabilities == pytest.approx(t, abs=1e-10)


@pytest.mark.parametrize("name", PER_ATTRIBUTE)
def test_one_attribute_of_a_tuple_is_estimated_as_if_it_had_been_asked_alone(name: str) -> None:
    mechanism = COMBINED[name](2.0)
    rng = np.random.default_rng(0)
    reports = mechanism.randomize(
        mechanism.domain.decode(rng.integers(0, mechanism.domain.size, 500)), rng
    )
    columns = mechanism.schema.split(reports.columns)
    for attribute, part in mechanism.parts.items():
        if isinstance(part, warner.mechanisms.Repeated):
            # alone it keeps the tuples seen, here it has rows for all: other rows, one likelihood
            continue
        alone = likelihood_data(part.tally(part.reports(columns[attribute])).sums())
        within = likelihood_data(mechanism.tally(reports), [attribute])
        assert within.domain == alone.domain and type(within.channel) is type(alone.channel)
        assert within.weights.tolist() == alone.weights.tolist()


@pytest.mark.parametrize("constraint", [None, "project", "normalize"])
@pytest.mark.parametrize("reports_differ", [False, True])
def test_several_tallies_are_inverted_as_each(constraint: str | None, reports_differ: bool) -> None:
    """Rejects the channel of the first tally for all: of whole reports each has rows of its own."""
    bits, rng = warner.UnaryEncoding(warner.Integers(0, 23), 1.0), np.random.default_rng(0)
    tally = bits.tally(bits.randomize([0] * 60 + [1] * 40, rng), keep_reports=reports_differ)
    data, near = likelihood_data(tally), np.full(24, 1 / 24)
    several, _ = simulated_tallies(data, "population", near, 5, rng)
    assert (several[0].channel is not several[1].channel) is reports_differ
    method = warner.Inversion(constraint)
    found = np.stack(list(method.refit_all(several, near)))
    assert found == pytest.approx(np.stack([method.fit(one).shares for one in several]), abs=1e-12)
