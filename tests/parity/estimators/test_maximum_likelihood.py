"""Closed forms of the maximum against general solvers."""

from __future__ import annotations

import json
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import warner
from tests.parity.channels._matrices import CHANNELS
from tests.parity.estimators._data import BITS, _evidence, _groups, _kept, _oracle
from tests.refusals import refused
from tests.registry import COMBINED, KEYED, MECHANISMS, PLACES, REPEATED, SEEING, smallest
from warner import Integers, MaximumLikelihood, Reports
from warner._core.sampling import Source
from warner.channels import (
    DenseChannel,
    DirectChannel,
    GeometricChannel,
    RepeatedRows,
    StackChannel,
)
from warner.errors import ArgumentError, ImpossibleReportError, MismatchError
from warner.estimators.base import LikelihoodData, gap, log_likelihood, score
from warner.estimators.maximum_likelihood import budgets, direct, separable
from warner.estimators.newton import (
    _peaks,
    _solve,
    accelerated,
    constrained,
    interior_point,
    nonnegative_quadratic,
    projected,
    sequential,
)
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("name", SEEING)
def test_closed_forms_agree_with_the_interior_point(name: str) -> None:
    data = _evidence(name, 12, 2000, 1.0)
    theta, _, reached = interior_point(
        data.channel, data.weights, 1e-10 / data.channel.rows_per_report
    )
    exact = warner.MaximumLikelihood(1e-10).fit(data).probabilities
    assert reached
    assert theta == pytest.approx(exact, abs=1e-4)
    assert log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        log_likelihood(data.channel, data.weights, exact), abs=1e-9
    )


@pytest.mark.parametrize(
    "epsilons", [[0.1, 2.0, np.log(6), np.inf], [0.5, 0.5001], [np.inf, 3.0], [0.01, 0.02, 0.03]]
)
@pytest.mark.parametrize("n", [3, 40, 5000])
def test_several_budgets_are_solved_exactly(epsilons: list[float], n: int) -> None:
    data = likelihood_data(_groups(["RandomizedResponse"] * len(epsilons), epsilons, n=n))
    assert isinstance(data.channel, StackChannel)
    theta = budgets(data.channel, data.weights)
    assert gap(data.channel, data.weights, theta) <= 1e-10
    slow, _, reached = interior_point(data.channel, data.weights, 1e-9)
    assert reached
    assert (
        log_likelihood(data.channel, data.weights, theta)
        >= log_likelihood(data.channel, data.weights, slow) - 1e-12
    )


def test_worked_examples_of_three_values() -> None:
    """METHODS 4.5: 3-RR (1/2, 1/4, 1/4). Reports 1,2,2,2,3: on the border, not stationary. 1,2,2,3:
    the degenerate one.
    """
    channel = DirectChannel(3, 0.25, 0.25)
    border = direct(channel, np.array([1, 3, 1]) / 5)
    assert border == pytest.approx([0, 1, 0], abs=1e-15)
    assert 5 * score(channel, np.array([1, 3, 1]) / 5, border) == pytest.approx([4.5, 5, 4.5])
    assert channel.invert(np.array([1, 3, 1]) / 5) == pytest.approx([-0.2, 1.4, -0.2])
    degenerate = direct(channel, np.array([1, 2, 1]) / 4)
    assert degenerate == pytest.approx([0, 1, 0], abs=1e-12)
    assert 4 * score(channel, np.array([1, 2, 1]) / 4, np.array([0, 1.0, 0])) == pytest.approx(
        [4, 4, 4]
    )


def test_separable_solver_at_its_edges() -> None:
    mechanism = warner.UnaryEncoding(warner.Integers(1, 4), 1.0)
    channel = mechanism.channel()
    for sums in ([0, 0, 0, 0], [10, 10, 10, 10], [10, 0, 0, 0], [0, 5, 10, 3]):
        s = np.array(sums) / 10
        w = np.concatenate([s, 1 - s]) / 4
        theta = separable(channel, w)
        assert gap(channel, w, theta) <= 1e-9
        assert channel.rows_per_report * (
            w[w > 0] @ np.log(channel.matvec(theta)[w > 0] * 4)
        ) == pytest.approx(_oracle(channel, w), abs=1e-6)


# Exact solvers against an independent convex solver and against plain EM.


@pytest.mark.crossed(40)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    "size, n, epsilon", [(3, 50, 0.5), (8, 1000, 1.0), (20, 300, 0.3), (20, 5000, 3.0)]
)
def test_maximum_is_the_oracles(name: str, size: int, n: int, epsilon: float) -> None:
    data = _evidence(name, size, n, epsilon)
    fit = warner.MaximumLikelihood().fit(data)
    assert fit.status is warner.estimators.Status.CONVERGED
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
    assert fit.status is warner.estimators.Status.CONVERGED
    assert fit.likelihood == "likelihood of the reports"
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
    assert result.likelihood == "quasi-likelihood of the counts" and result.gap is not None
    assert result.gap <= 1e-9
    assert result.log_likelihood == pytest.approx(oracle, abs=1e-4)
    if name != "SubsetSelection":
        whole = warner.estimate(tally, warner.MaximumLikelihood(likelihood="reports"))
        assert whole.likelihood == "likelihood of the reports" and whole.gap is not None
        assert whole.gap <= 1e-9
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
    with pytest.raises(MismatchError, match="keep_reports=True"):
        warner.estimate(sums, warner.MaximumLikelihood(likelihood="reports"))
    blind = warner.MatrixMechanism(warner.Integers(0, 1), [[0.7, 0.2], [0.2, 0.5], [0.1, 0.3]])
    with pytest.raises(ArgumentError, match="needs reports that each stand for a set of"):
        warner.estimate(
            blind.tally(blind.randomize([0, 1], np.random.default_rng(0))),
            warner.MaximumLikelihood(likelihood="supports"),
        )
    refused(ArgumentError, "likelihood", warner.MaximumLikelihood, likelihood="best")
    assert (
        repr(warner.MaximumLikelihood(likelihood="supports"))
        == "MaximumLikelihood(likelihood='supports')"
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
    assert result.probabilities == pytest.approx([0.5, 0.25, 0, 0.25], abs=1e-12)
    assert result.probabilities[2] == 0
    assert result.gap is not None and result.gap <= 1e-12
    assert result.status is warner.estimators.Status.CONVERGED


def test_impossible_reports_are_refused() -> None:
    never = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]])
    data = LikelihoodData(
        DenseChannel(never), np.array([0.5, 0.25, 0.25]), 4, warner.Integers(0, 1)
    )
    for method in (warner.MaximumLikelihood(), warner.ExpectationMaximization(3)):
        refused(ImpossibleReportError, "cannot come from any answer", method.fit, data)


def test_a_gap_that_is_not_reached_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _evidence("HadamardResponse", 12, 2000, 1.0)
    assert interior_point(data.channel, data.weights, 1e-12)[2]
    monkeypatch.setattr("warner.estimators.newton._STEPS", 1)
    fit = warner.MaximumLikelihood(1e-9).fit(data)
    assert (
        fit.status is warner.estimators.Status.STEP_LIMIT and fit.iterations == 2
    )  # one of each solver that was tried
    assert fit.gap is not None and fit.gap > 1e-9


def test_a_likelihood_of_minus_infinity_is_said_and_never_nan() -> None:
    channel = DenseChannel(np.array([[0.5, 0.0], [0.5, 0.2], [0.0, 0.8]]))
    w, theta = np.array([0.5, 0.25, 0.25]), np.array([0.0, 1.0])
    assert log_likelihood(channel, w, theta) == -np.inf and gap(channel, w, theta) == np.inf
    fit = warner.MaximumLikelihood().fit(LikelihoodData(channel, w, 4, warner.Integers(0, 1)))
    assert np.isfinite(fit.probabilities).all() and fit.gap is not None and fit.gap <= 1e-9
    assert np.isfinite(float(fit.log_likelihood or 0))


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


# The exact solvers against an independent convex solver, and against each other.


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
    np.testing.assert_allclose(rows.dense(), whole, rtol=1e-12)


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


@pytest.mark.crossed(16)
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
    assert (
        fit.status is warner.estimators.Status.CONVERGED and fit.gap is not None and fit.gap <= 1e-9
    )
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
    assert fit.probabilities.argmax() == rows.dense().argmax()
    assert fit.probabilities.max() == pytest.approx(1, abs=1e-6)


def test_flat_peaks_count_once_and_values_below_one_do_not() -> None:
    assert _peaks(np.array([1.2, 1.1, 1.3, 1.3, 0.9, 1.05])).tolist() == [0, 3, 5]
    assert _peaks(np.array([0.9, 0.99, 0.5])).tolist() == []


# Log-likelihoods against sums over reports of the logarithm of their probability, by the
# mechanisms' exact tables.


PEOPLE = 40


def _sum_of_logs(mechanism: Mechanism, reports: Reports, theta: np.ndarray) -> float:
    """sum_i log Pr(report i), one person after the other."""
    law = np.asarray(mechanism.probabilities(), dtype=np.float64) @ theta
    place = {
        row.tobytes(): y
        for y, row in enumerate(Reports(mechanism.header, mechanism.outputs()).record_array())
    }
    return float(sum(np.log(law[place[row.tobytes()]]) for row in reports.record_array()))


def _of_bits(mechanism: Mechanism, reports: Reports, theta: np.ndarray) -> float:
    """sum over people and values of log Pr(that bit), as if bits were independent."""
    channel = mechanism.channel()
    mean = channel.matvec(theta)[: theta.size] * channel.rows_per_report
    bits = mechanism.schema.indicators(reports.columns)[:, : theta.size]
    return float(np.where(bits == 1, np.log(mean), np.log1p(-mean)).sum())


def _drawn(mechanism: Mechanism, seed: int = 0) -> tuple[Reports, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = mechanism.domain.labels
    index = rng.integers(0, len(labels), PEOPLE)
    theta = rng.dirichlet(np.full(len(labels), 2.0))
    return mechanism.randomize(mechanism.domain.decode(index), rng), theta


@pytest.mark.parametrize("name", [*MECHANISMS, *PLACES])
def test_the_log_likelihood_is_the_sum_of_the_logarithms_of_all_reports(name: str) -> None:
    """The wrong program divides the rows of kept bits by a factor of each, and does not add its
    logarithm again.
    """
    mechanism = smallest(name)
    reports, theta = _drawn(mechanism)
    whole = _sum_of_logs(mechanism, reports, theta)
    bits = mechanism.schema.can_keep_reports
    for keep in (False, True) if bits else (False,):
        data = likelihood_data(mechanism.tally(reports, keep_reports=keep))
        expected = _of_bits(mechanism, reports, theta) if bits and not keep else whole
        assert PEOPLE * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
            expected, rel=1e-9
        )


@pytest.mark.parametrize(
    "name",
    [
        *REPEATED,
        "RR x SquareWave",
        "uRR x RR",
        "geometric x RR",
        "RR x hashes of a field",
        "RR alone",
    ],
)
def test_reports_of_one_person_count_with_their_product(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    rng = np.random.default_rng(0)
    index = rng.integers(0, mechanism.domain.size, PEOPLE)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 2.0))
    reports = mechanism.randomize(mechanism.domain.decode(index), rng)
    data = likelihood_data(mechanism.tally(reports))
    assert PEOPLE * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        _sum_of_logs(mechanism, reports, theta), rel=1e-9
    )


@pytest.mark.parametrize("name", [name for name in KEYED if "direct" in name])
def test_reports_of_one_key_and_a_value_are_whole_reports(name: str) -> None:
    mechanism, rng = smallest(name), np.random.default_rng(0)
    index = rng.integers(0, mechanism.domain.size, PEOPLE)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 2.0))
    reports = Reports(mechanism.header, mechanism.randomize_index(index, Source(rng)))
    data = likelihood_data(mechanism.tally(reports))
    assert PEOPLE * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        _sum_of_logs(mechanism, reports, theta), rel=1e-9
    )


KINDS = {
    "two budgets": [("RandomizedResponse", 0.5, False), ("RandomizedResponse", 2.0, False)],
    "values and hashes": [
        ("RandomizedResponse", 1.0, False),
        ("LocalHashing optimized", 1.0, False),
    ],
    "kept bits and values": [
        ("UnaryEncoding optimized", 1.0, True),
        ("RandomizedResponse", 1.0, False),
    ],
    "kept bits of two kinds": [
        ("SubsetSelection", 1.0, True),
        ("UtilityOptimizedRappor", 1.0, True),
    ],
    "bit sums and values": [
        ("UnaryEncoding symmetric", 1.0, False),
        ("HadamardResponse", 1.0, False),
    ],
    "bit sums of two kinds": [
        ("UnaryEncoding symmetric", 1.0, False),
        ("SubsetSelection", 2.0, False),
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_several_mechanisms_add_up(kind: str) -> None:
    """The wrong program takes n_g / n for part of each report's probability: two budgets are off by
    2 x 40 log 2.
    """
    tallies, total, theta = [], 0.0, np.array([0.4, 0.3, 0.2, 0.1])
    for i, (name, epsilon, keep) in enumerate(KINDS[kind]):
        mechanism = MECHANISMS[name](Integers(0, 3), epsilon)
        reports, _ = _drawn(mechanism, i)
        tallies.append(mechanism.tally(reports, keep_reports=keep))
        of = _of_bits if mechanism.schema.can_keep_reports and not keep else _sum_of_logs
        total += of(mechanism, reports, theta)
    data = likelihood_data(tallies)
    assert data.n * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        total, rel=1e-9
    )
    fit = warner.MaximumLikelihood().fit(data)
    assert fit.log_likelihood is not None and fit.log_likelihood >= total - 1e-9
    path = warner.ExpectationMaximization(3, keep_path=True).fit(data).path
    even = data.n * log_likelihood(data.channel, data.weights, np.full(4, 0.25))
    assert path is not None and path[0, 0] == pytest.approx(even, rel=1e-9)


def test_a_stack_with_repeated_reports_adds_up() -> None:
    domain, theta = Integers(0, 3), np.array([0.4, 0.3, 0.2, 0.1])
    twice = warner.mechanisms.Repeated(
        [warner.RandomizedResponse(domain, 1.0), warner.UnaryEncoding(domain, 1.0)]
    )
    once = warner.RandomizedResponse(domain, 1.0)
    found = [_drawn(twice)[0], _drawn(once, 1)[0]]
    data = likelihood_data([twice.tally(found[0]), once.tally(found[1])])
    total = _sum_of_logs(twice, found[0], theta) + _sum_of_logs(once, found[1], theta)
    assert data.n * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        total, rel=1e-9
    )


# Projected gradients against the constrained Newton method.


@pytest.mark.parametrize(
    "make", [warner.HadamardResponse, warner.mechanisms.ProjectiveGeometryResponse]
)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_maximum_is_that_of_newtons_method(make: type, epsilon: float) -> None:
    size, n, rng = 300, 50_000, np.random.default_rng(3)
    mechanism = make(Integers(0, size - 1), epsilon)
    channel = mechanism.channel()
    truth = rng.dirichlet(np.full(size, 0.1))
    w = channel.simulate(truth, n, rng)
    theta, steps, reached = projected(channel, w, 1e-10)
    slow = constrained(channel, w, 1e-11)[0]
    assert reached and steps < 100 and gap(channel, w, theta) <= 1e-10
    assert log_likelihood(channel, w, theta) == pytest.approx(
        log_likelihood(channel, w, slow), abs=2e-10
    )
    assert theta == pytest.approx(slow, abs=1e-4)
    fit = MaximumLikelihood().fit(LikelihoodData(channel, w, n, mechanism.domain))
    assert (
        fit.status is warner.estimators.Status.CONVERGED and fit.gap is not None and fit.gap <= 1e-9
    )
    assert fit.shares == pytest.approx(theta, abs=1e-4)


def test_it_says_that_the_gap_was_not_reached() -> None:
    """A gap below rounding errors cannot be certified."""
    channel = DirectChannel(8, 0.05, 0.6)
    w = np.random.default_rng(1).dirichlet(np.ones(8))
    theta, _, reached = projected(channel, w, 0.0)
    assert theta.sum() == pytest.approx(1) and (reached or gap(channel, w, theta) < 1e-12)


def test_bit_sums_of_very_many_values_converge() -> None:
    """The score of 10^5 bits has a rounding error above 1e-9 nats per report; the status said that
    steps were too few, of a method without steps.
    """
    size, n, rng = 100_000, 10**5, np.random.default_rng(5)
    mechanism = warner.UnaryEncoding(Integers(0, size - 1), 2.0, variant="oue")
    channel = mechanism.channel()
    w = channel.simulate(rng.dirichlet(np.full(size, 0.01)), n, rng)
    fit = MaximumLikelihood().fit(LikelihoodData(channel, w, n, mechanism.domain))
    assert (
        fit.status is warner.estimators.Status.CONVERGED and fit.gap is not None and fit.gap < 1e-8
    )


# Extrapolated EM against EM.


def test_em_extrapolated_beats_em_and_never_falls_below_its_first_step() -> None:
    """Few hundred products reach what plain EM misses after thousands; a case that needs the
    fallback to plain steps too.
    """
    channel = GeometricChannel(60, 0.6)
    rng = np.random.default_rng(0)
    w = channel.simulate(rng.dirichlet(np.full(60, 0.3)), 50_000, rng)
    theta, products, reached = accelerated(channel, w, 1e-6)
    assert reached
    plain = np.full(60, 1 / 60)
    for _ in range(products):
        plain = plain * score(channel, w, plain)
    assert log_likelihood(channel, w, theta) > log_likelihood(channel, w, plain)
    assert gap(channel, w, plain) > 1e-6


# Whether the maximum of the likelihood is unique.


def _three(matrix: list[list[float]], counts: list[int]) -> warner.Estimate:
    """An estimate from reports 1, 2, 3 counted, ``matrix`` given with values as rows."""
    mechanism = warner.MatrixMechanism(warner.Integers(1, 3), np.array(matrix).T)
    return warner.estimate(
        mechanism.tally(mechanism.reports(np.repeat([0, 1, 2], counts))), warner.MaximumLikelihood()
    )


RANK_TWO = [[1 / 2, 1 / 3, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 3, 1 / 2]]


def test_whether_the_maximum_is_unique_is_said() -> None:
    """METHODS 4.5: the same channel of rank 2 has many maximisers for reports 1,2,3 and one for
    1,1,1,2,2,3.
    """
    many = _three(RANK_TWO, [1, 1, 1])
    assert str(many.unique).startswith("not unique")
    assert many.probabilities[0] == pytest.approx(many.probabilities[2], abs=1e-4)
    alone = _three(RANK_TWO, [3, 2, 1])
    assert str(alone.unique).startswith("unique")
    assert alone.probabilities == pytest.approx([1, 0, 0], abs=1e-6)
    direct_ = [[1 / 2, 1 / 4, 1 / 4], [1 / 4, 1 / 2, 1 / 4], [1 / 4, 1 / 4, 1 / 2]]
    for counts in ([1, 3, 1], [1, 2, 1]):
        result = _three(direct_, counts)
        assert str(result.unique).startswith("unique")
        assert result.probabilities == pytest.approx([0, 1, 0], abs=1e-4)
    twice = [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]
    assert str(_three(twice, [5, 2, 3]).unique).startswith("not unique")
    assert json.loads(json.dumps(many.to_json()))["unique"] == many.unique


def test_why_a_maximum_may_not_be_the_only_one_is_said() -> None:
    """Rejects one text for all reasons, which asks for a smaller gap where values are too many."""
    shops = warner.HadamardResponse(warner.Integers(1, 2500), 3.0)
    tally = shops.tally(shops.randomize([1] * 400 + [2] * 100, rng=np.random.default_rng(4)))
    many = warner.estimate(tally, warner.MaximumLikelihood())
    assert many.unique == (
        "perhaps not unique: with so many values and different reports, this is not checked"
    )
    device = warner.UnaryEncoding(warner.Categorical(list("abcd")), 1.0)
    made = device.randomize(list("aabbcd") * 100, rng=np.random.default_rng(4))
    tally = device.tally(made, keep_reports=True)
    rough = warner.estimate(tally, warner.MaximumLikelihood(gap=0.5))
    assert rough.unique == "perhaps not unique: the gap is too large to tell"
    assert str(warner.estimate(tally, "mle").unique).startswith("unique")


@pytest.mark.parametrize("name", SEEING)
def test_channels_of_full_rank_have_one_maximum(name: str) -> None:
    fit = warner.MaximumLikelihood().fit(_evidence(name, 6, 5000, 2.0))
    assert str(fit.unique).startswith("unique")


def test_uniqueness_is_not_lost_to_rounding() -> None:
    """A degenerate maximum with a share of 1e-12 left by a solver; a row much rarer than the
    others; columns almost alike.
    """
    degenerate = DenseChannel(np.array([[0.5, 0.3, 0.2], [0.5, 0.7, 0.8]]))
    fit = warner.MaximumLikelihood().fit(
        LikelihoodData(degenerate, np.array([0.5, 0.5]), 2, warner.Integers(1, 3))
    )
    assert fit.probabilities == pytest.approx([1, 0, 0], abs=1e-12)
    assert str(fit.unique).startswith("unique")
    rare = np.full((6, 3), 1 / 6) + 0.1 * np.random.default_rng(0).normal(size=(6, 3))
    rare = np.abs(rare)
    rare[5] = [1e-7, 2e-7, 3e-7]
    channel = DenseChannel(rare / rare.sum(axis=0))
    w = channel.matvec(np.array([0.3, 0.3, 0.4]))
    assert str(
        warner.MaximumLikelihood()
        .fit(LikelihoodData(channel, w, 1000, warner.Integers(1, 3)))
        .unique
    ).startswith("unique")
    flat = GeometricChannel(50, 0.999)
    w = flat.matvec(np.full(50, 1 / 50))
    assert not str(
        warner.MaximumLikelihood()
        .fit(LikelihoodData(flat, w, 10**12, warner.Integers(1, 50)))
        .unique
    ).startswith("not unique")


def test_the_best_point_is_kept_where_none_reaches_the_target() -> None:
    """Rejects a solver that returns its start, or where it ended, though it was nearer between."""

    @dataclass(frozen=True)
    class Passed:
        shares: np.ndarray
        gap: float

    points = [Passed(np.array([i]), gap) for i, gap in enumerate([5.0, 3.0, 1.0, 4.0])]
    later = iter(points[1:])
    shares, steps, reached = _solve(points[0], lambda point: next(later, None), 0.5, 10)
    assert (shares.tolist(), reached) == ([2], False) and steps >= 3
