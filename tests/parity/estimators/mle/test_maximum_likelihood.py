"""Exact solvers against an independent convex solver and against plain EM."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import warner
from tests.parity.estimators.mle._oracle import BITS, _evidence, _kept, _oracle
from tests.registry import MECHANISMS
from warner.channels import DenseChannel
from warner.estimators.base import LikelihoodData, gap, log_likelihood, score
from warner.estimators.newton import interior_point
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    "size, n, epsilon", [(3, 50, 0.5), (8, 1000, 1.0), (20, 300, 0.3), (20, 5000, 3.0)]
)
def test_maximum_is_the_oracles(name: str, size: int, n: int, epsilon: float) -> None:
    data = _evidence(name, size, n, epsilon)
    fit = warner.MaximumLikelihood().fit(data)
    assert fit.status is warner.Status.CONVERGED
    assert fit.gap is not None and fit.gap <= 1e-9
    assert fit.probabilities.sum() == pytest.approx(1, abs=1e-12) and (fit.probabilities >= 0).all()
    assert fit.log_likelihood == pytest.approx(
        n * log_likelihood(data.channel, data.weights, fit.probabilities)
    )
    best = _oracle(data.channel, data.weights)
    assert fit.log_likelihood / n == pytest.approx(best, abs=1e-6)
    assert best <= fit.log_likelihood / n + fit.gap + 1e-6


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_gap_bounds_what_is_missing(name: str) -> None:
    """At any theta, not only at the end: l(best) - l(theta) <= gap(theta)."""
    data = _evidence(name, 6, 500, 1.0)
    channel, w = data.channel, data.weights
    best = log_likelihood(channel, w, warner.MaximumLikelihood().fit(data).probabilities)
    for seed in range(20):
        theta = np.random.default_rng(seed).dirichlet(np.ones(6))
        assert theta @ score(channel, w, theta) == pytest.approx(1, abs=1e-12)
        assert best - log_likelihood(channel, w, theta) <= gap(channel, w, theta) + 1e-12


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize(
    "size, n, epsilon", [(3, 50, 0.5), (6, 1000, 1.0), (8, 300, 0.3), (8, 5000, 3.0)]
)
def test_likelihood_of_whole_reports_is_the_oracles(
    name: str, size: int, n: int, epsilon: float
) -> None:
    data, _ = _kept(name, size, n, epsilon)
    fit = warner.MaximumLikelihood().fit(data)
    assert fit.status is warner.Status.CONVERGED and fit.likelihood == "likelihood of the reports"
    assert fit.gap is not None and fit.gap <= 1e-9
    assert fit.log_likelihood / n == pytest.approx(_oracle(data.channel, data.weights), abs=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "LocalHashing optimized",
        "LocalHashing binary",
        "HadamardResponse",
        "SubsetSelection",
        "RandomizedResponse",
    ],
)
def test_quasi_likelihood_of_support_counts_is_the_oracles(name: str) -> None:
    """sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), mu = Pr(a report supports x), from enumerated
    reports; named, with its own gap.
    """
    size, n = 4, 800
    mechanism = MECHANISMS[name](warner.Integers(1, size), 1.0)
    rng = np.random.default_rng(0)
    tally = mechanism.tally(mechanism.randomize(1 + rng.choice(size, n, p=[0.7, 0.2, 0.1, 0]), rng))
    data = likelihood_data(tally)
    law = mechanism.probabilities().astype(float)
    supported = law > (law.max() + law.min()) / 2  # a pure law has two levels
    theta = cp.Variable(size)
    mu = (supported.T @ law) @ theta
    counts = (
        data.channel.support_shares(data.weights)
        if name == "SubsetSelection"
        else supported.T @ data.weights
    ) * n
    oracle = cp.Problem(
        cp.Maximize(counts @ cp.log(mu) + (n - counts) @ cp.log(1 - mu)),
        [theta >= 0, cp.sum(theta) == 1],
    ).solve(solver=cp.CLARABEL)
    result = warner.estimate(tally, warner.MaximumLikelihood(likelihood="supports"))
    assert (
        result.likelihood == "quasi-likelihood of the support counts"
        and result.gap is not None
        and result.gap <= 1e-9
    )
    assert result.log_likelihood == pytest.approx(oracle, abs=1e-4)
    if name != "SubsetSelection":
        whole = warner.estimate(tally, warner.MaximumLikelihood(likelihood="reports"))
        assert (
            whole.likelihood == "likelihood of the reports"
            and whole.gap is not None
            and whole.gap <= 1e-9
        )
        assert whole.probabilities == pytest.approx(
            warner.estimate(tally, warner.MaximumLikelihood()).probabilities
        )


def test_each_likelihood_is_named_and_refused_where_it_is_not_there() -> None:
    mechanism = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    reports = mechanism.randomize([0, 1, 2, 2] * 100, np.random.default_rng(0))
    sums, kept = mechanism.tally(reports), mechanism.tally(reports, keep_reports=True)
    by_sums = warner.estimate(sums, warner.MaximumLikelihood(likelihood="supports"))
    assert by_sums.probabilities == pytest.approx(
        warner.estimate(kept, warner.MaximumLikelihood(likelihood="supports")).probabilities,
        abs=1e-12,
    )
    assert by_sums.probabilities == pytest.approx(
        warner.estimate(sums, warner.MaximumLikelihood()).probabilities, abs=1e-12
    )
    with pytest.raises(warner.errors.MismatchError, match="keep_reports=True"):
        warner.estimate(sums, warner.MaximumLikelihood(likelihood="reports"))
    blind = warner.MatrixMechanism(warner.Integers(0, 1), [[0.7, 0.2], [0.2, 0.5], [0.1, 0.3]])
    with pytest.raises(warner.errors.ArgumentError, match="support values"):
        warner.estimate(
            blind.tally(blind.randomize([0, 1], np.random.default_rng(0))),
            warner.MaximumLikelihood(likelihood="supports"),
        )
    with pytest.raises(warner.errors.ArgumentError, match="likelihood"):
        warner.MaximumLikelihood(likelihood="best")
    assert (
        repr(warner.MaximumLikelihood(likelihood="supports"))
        == "MaximumLikelihood(gap=1e-09, likelihood='supports')"
    )


def test_many_maximisers_still_give_a_certificate() -> None:
    """METHODS 4.5: every theta with theta_1 = theta_3 maximises; the one returned must have gap 0."""
    channel = DenseChannel(
        np.array([[1 / 2, 1 / 3, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 3, 1 / 2]]).T
    )
    w = np.full(3, 1 / 3)
    theta, _, reached = interior_point(channel, w, 1e-9)
    assert reached and gap(channel, w, theta) <= 1e-9
    assert theta[0] == pytest.approx(theta[2], abs=1e-3)


def test_exact_likelihood_without_protection_is_the_histogram() -> None:
    open_ = warner.RandomizedResponse(warner.Integers(0, 3), float("inf"))
    result = warner.estimate(open_.tally(open_.randomize([0, 0, 1, 3])), warner.MaximumLikelihood())
    assert (
        result.probabilities == pytest.approx([0.5, 0.25, 0, 0.25], abs=1e-12)
        and result.probabilities[2] == 0
    )
    assert (
        result.gap is not None and result.gap <= 1e-12 and result.status is warner.Status.CONVERGED
    )


def test_impossible_reports_are_refused() -> None:
    never = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]])
    data = LikelihoodData(
        DenseChannel(never), np.array([0.5, 0.25, 0.25]), 4, warner.Integers(0, 1)
    )
    for method in (warner.MaximumLikelihood(), warner.ExpectationMaximization(3)):
        with pytest.raises(warner.errors.ImpossibleReportError, match="probability 0"):
            method.fit(data)


def test_a_gap_that_is_not_reached_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _evidence("HadamardResponse", 12, 2000, 1.0)
    assert interior_point(data.channel, data.weights, 1e-12)[2]
    monkeypatch.setattr("warner.estimators.newton._STEPS", 1)
    fit = warner.MaximumLikelihood(1e-9).fit(data)
    assert (
        fit.status is warner.Status.STEP_LIMIT and fit.iterations == 2
    )  # one of each solver that was tried
    assert fit.gap is not None and fit.gap > 1e-9


def test_a_likelihood_of_minus_infinity_is_said_and_never_nan() -> None:
    channel = DenseChannel(np.array([[0.5, 0.0], [0.5, 0.2], [0.0, 0.8]]))
    w, theta = np.array([0.5, 0.25, 0.25]), np.array([0.0, 1.0])
    assert log_likelihood(channel, w, theta) == -np.inf and gap(channel, w, theta) == np.inf
    fit = warner.MaximumLikelihood().fit(LikelihoodData(channel, w, 4, warner.Integers(0, 1)))
    assert (
        np.isfinite(fit.probabilities).all()
        and fit.gap is not None
        and fit.gap <= 1e-9
        and np.isfinite(float(fit.log_likelihood or 0))
    )


@pytest.mark.parametrize("name", ["UtilityOptimizedRappor", "UtilityOptimizedRappor keep 0.7"])
@pytest.mark.parametrize("size, n", [(6, 40), (8, 3000), (30, 500)])
def test_values_that_lump_have_the_maximum_of_those_that_do_not(
    name: str, size: int, n: int
) -> None:
    mechanism = MECHANISMS[name](warner.Integers(1, size), 1.0)
    rng = np.random.default_rng(size)
    values = 1 + rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.5)))
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng), keep_reports=True))
    channel, w = data.channel, data.weights
    lumped = channel.merge_unsupported_values(w)
    assert lumped is not None and lumped[0].shape[1] < size
    fit = warner.MaximumLikelihood(1e-10).fit(data)
    slow, _, reached = interior_point(channel, w, 1e-10)
    assert reached and fit.gap is not None and fit.gap <= 1e-9
    assert fit.log_likelihood == pytest.approx(n * log_likelihood(channel, w, slow), abs=1e-4)
    alone = warner.MaximumLikelihood().fit(
        likelihood_data(mechanism.tally(mechanism.randomize(np.array([1]), rng), keep_reports=True))
    )
    assert alone.probabilities.sum() == pytest.approx(1, abs=1e-12)
