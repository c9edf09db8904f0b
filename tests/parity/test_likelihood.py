"""Exact solvers against an independent convex solver and against plain EM."""

from __future__ import annotations

import json
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS, SEEING
from warner.channels import Channel, DenseChannel, DirectChannel, StackChannel
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.closed_forms import budgets, direct, separable
from warner.estimators.mle.newton import interior_point, nonnegative_quadratic, sequential
from warner.estimators.mle.objective import gap, log_likelihood, score
from warner.results.from_tally import likelihood_data


def _evidence(name: str, size: int, n: int, epsilon: float, seed: int = 0) -> LikelihoodData:
    mechanism = MECHANISMS[name](warner.Integers(1, size), epsilon)
    rng = np.random.default_rng(seed)
    values = 1 + rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.3)))
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))


def _oracle(channel: Channel, w: np.ndarray) -> float:
    """max l in nats per report, by Clarabel."""
    theta = cp.Variable(channel.shape[1])
    seen = w > 0
    rows = channel.dense()[seen] * channel.rows_per_report
    problem = cp.Problem(
        cp.Maximize(w[seen] @ cp.log(rows @ theta)), [theta >= 0, cp.sum(theta) == 1]
    )
    factors = w[seen] @ np.broadcast_to(channel.log_factors, w.shape)[seen]
    return channel.rows_per_report * (problem.solve(solver=cp.CLARABEL) + factors)


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


@pytest.mark.parametrize("name", MECHANISMS)
def test_em_is_the_textbooks_step_for_step(name: str) -> None:
    data = _evidence(name, 5, 400, 1.0)
    dense, w = data.channel.dense(), data.weights
    theta = np.full(5, 0.2)
    values = []
    for steps in range(1, 8):
        posterior = dense * theta / (dense @ theta)[:, None]
        # Rows that are parts of reports: the step is as many times as long as a report has rows.
        theta = theta + data.channel.rows_per_report * (w @ posterior - theta)
        theta = theta / theta.sum()
        fit = warner.ExpectationMaximization(steps).fit(data)
        assert fit.probabilities == pytest.approx(theta, abs=1e-12)
        assert fit.status is warner.Status.STOPPED and fit.iterations == steps
        values.append(fit.log_likelihood)
    assert all(b >= a - 1e-9 for a, b in pairwise(values))
    path = warner.ExpectationMaximization(7, keep_path=True).fit(data).path
    assert path is not None and path.shape == (8, 2)
    assert path[1:, 0] == pytest.approx(values)
    assert path[3, 1] == pytest.approx(warner.ExpectationMaximization(3).fit(data).gap)


BITS = [
    "UnaryEncoding symmetric",
    "UnaryEncoding optimized",
    "SubsetSelection",
    "UtilityOptimizedRappor",
    "UtilityOptimizedRappor keep 0.7",
]


def _kept(name: str, size: int, n: int, epsilon: float) -> tuple[LikelihoodData, np.ndarray]:
    """Evidence of whole reports, and their exact law up to a factor per row, one report at a time."""
    mechanism = MECHANISMS[name](warner.Integers(1, size), epsilon)
    rng = np.random.default_rng(4)
    tally = mechanism.tally(
        mechanism.randomize(1 + rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.3))), rng),
        keep_reports=True,
    )
    outputs = [row.tobytes() for row in mechanism.outputs()["bits"]]
    assert tally.rows is not None
    return likelihood_data(tally), mechanism.probabilities().astype(float)[
        [outputs.index(row.tobytes()) for row in tally.rows]
    ]


@pytest.mark.parametrize("name", BITS)
def test_rows_of_kept_reports_are_the_law(name: str) -> None:
    data, law = _kept(name, 6, 300, 1.0)
    dense = data.channel.dense()
    assert dense / dense.sum(axis=1, keepdims=True) == pytest.approx(
        law / law.sum(axis=1, keepdims=True), abs=1e-12
    )
    rng = np.random.default_rng(0)
    theta, r = rng.random(6), rng.random(len(law))
    assert data.channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert data.channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-10)
    assert data.channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), rel=1e-5)


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
    blind = warner.ChannelMechanism(warner.Integers(0, 1), [[0.7, 0.2], [0.2, 0.5], [0.1, 0.3]])
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
    assert rows.dense() == pytest.approx(whole, rel=1e-12)


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


def _groups(
    makers: list[str], epsilons: list[float], size: int = 6, n: int = 400
) -> list[warner.Tally]:
    rng = np.random.default_rng(6)
    theta = rng.dirichlet(np.full(size, 0.4))
    mechanisms = [
        MECHANISMS[name](warner.Integers(1, size), epsilon)
        for name, epsilon in zip(makers, epsilons, strict=True)
    ]
    return [
        m.tally(m.randomize(1 + rng.choice(size, n * (i + 1), p=theta), rng))
        for i, m in enumerate(mechanisms)
    ]


MIXED = [
    (["RandomizedResponse"] * 4, [0.1, 2.0, np.log(6), np.inf]),
    (["RandomizedResponse", "UnaryEncoding optimized"], [1.0, 0.5]),
    (["LocalHashing optimized", "HadamardResponse", "SubsetSelection"], [1.0, 2.0, 0.5]),
    (["ChannelMechanism", "UnaryEncoding symmetric"], [2.0, 2.0]),
]


@pytest.mark.parametrize("names, epsilons", MIXED)
def test_several_mechanisms_are_one_stacked_channel(
    names: list[str], epsilons: list[float]
) -> None:
    tallies = _groups(names, epsilons)
    data = likelihood_data(tallies)
    channel, dense = data.channel, data.channel.dense()
    theta, r = (
        np.random.default_rng(0).dirichlet(np.ones(6)),
        np.random.default_rng(1).random(channel.shape[0]),
    )
    assert data.n == sum(t.n for t in tallies) and data.weights.sum() == pytest.approx(1)
    assert dense.sum(axis=0) == pytest.approx(np.ones(6), abs=1e-12)
    assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-12)
    assert channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), abs=1e-12)
    assert np.concatenate([block for _, block in channel.blocks()]) == pytest.approx(
        dense, abs=1e-15
    )
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-9)
    # Per person the stack's likelihood is the groups' together, and the oracle's maximum is ours.
    fit = warner.MaximumLikelihood().fit(data)
    assert (
        fit.status is warner.Status.CONVERGED
        and fit.gap is not None
        and fit.gap <= 1e-9
        and str(fit.unique).startswith("unique")
    )
    assert fit.log_likelihood / data.n == pytest.approx(_oracle(channel, data.weights), abs=1e-6)
    parts = [likelihood_data(t) for t in tallies]
    scores = [p.n * p.channel.rows_per_report * score(p.channel, p.weights, theta) for p in parts]
    assert score(channel, data.weights, theta) * data.n * channel.rows_per_report == pytest.approx(
        np.sum(scores, axis=0), rel=1e-9
    )
    for method in (
        warner.Inversion("threshold"),
        warner.ExpectationMaximization(5),
        warner.estimators.Uniform(),
    ):
        assert warner.estimate(tallies, method).probabilities.sum() == pytest.approx(1)


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
    assert (
        reached
        and log_likelihood(data.channel, data.weights, theta)
        >= log_likelihood(data.channel, data.weights, slow) - 1e-12
    )


def test_the_stacks_inversion_weighs_by_precision() -> None:
    """Half of the people at epsilon 0.1, half unprotected: equal weights [P1 eq 13] would have many
    times the error.
    """
    tallies = _groups(["RandomizedResponse"] * 2, [0.1, np.inf], n=3000)
    data = likelihood_data(tallies)
    theta = np.full(6, 1 / 6)
    mixed = data.channel.variance(theta) / data.n
    single = [likelihood_data(t).channel.variance(theta) / t.n for t in tallies]
    assert mixed == pytest.approx(1 / (1 / single[0] + 1 / single[1]))
    assert (0.25 * (single[0] + single[1]) > 20 * mixed).all()


def test_tallies_on_different_domains_are_not_estimated_together() -> None:
    (a,), (b,) = (
        _groups(["RandomizedResponse"], [1.0]),
        _groups(["HadamardResponse"], [1.0], size=5),
    )
    with pytest.raises(warner.errors.MismatchError, match="different domains"):
        warner.estimate([a, b])
    for wrong in ([], [a, 3], a.header, 5):
        with pytest.raises(warner.WarnerError):
            warner.estimate(wrong)


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


def test_many_maximisers_still_give_a_certificate() -> None:
    """METHODS 4.5: every theta with theta_1 = theta_3 maximises; the one returned must have gap 0."""
    channel = DenseChannel(
        np.array([[1 / 2, 1 / 3, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 3, 1 / 2]]).T
    )
    w = np.full(3, 1 / 3)
    theta, _, reached = interior_point(channel, w, 1e-9)
    assert reached and gap(channel, w, theta) <= 1e-9
    assert theta[0] == pytest.approx(theta[2], abs=1e-3)


def _three(matrix: list[list[float]], counts: list[int]) -> warner.Estimate:
    """An estimate from reports 1, 2, 3 counted, ``matrix`` given with values as rows."""
    mechanism = warner.ChannelMechanism(warner.Integers(1, 3), np.array(matrix).T)
    return warner.estimate(
        mechanism.tally(mechanism.reports(np.repeat([0, 1, 2], counts))), warner.MaximumLikelihood()
    )


RANK_TWO = [[1 / 2, 1 / 3, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 3, 1 / 2]]


def test_whether_the_maximum_is_unique_is_said() -> None:
    """METHODS 4.5: the same channel of rank 2 has many maximisers for reports 1,2,3 and one for
    1,1,1,2,2,3.
    """
    many = _three(RANK_TWO, [1, 1, 1])
    assert str(many.unique).startswith("not unique") and many.probabilities[0] == pytest.approx(
        many.probabilities[2], abs=1e-4
    )
    alone = _three(RANK_TWO, [3, 2, 1])
    assert str(alone.unique).startswith("unique") and alone.probabilities == pytest.approx(
        [1, 0, 0], abs=1e-6
    )
    direct_ = [[1 / 2, 1 / 4, 1 / 4], [1 / 4, 1 / 2, 1 / 4], [1 / 4, 1 / 4, 1 / 2]]
    for counts in ([1, 3, 1], [1, 2, 1]):
        result = _three(direct_, counts)
        assert str(result.unique).startswith("unique") and result.probabilities == pytest.approx(
            [0, 1, 0], abs=1e-4
        )
    twice = [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]
    assert str(_three(twice, [5, 2, 3]).unique).startswith("not unique")
    assert json.loads(json.dumps(many.to_json()))["unique"] == many.unique


@pytest.mark.parametrize("name", SEEING)
def test_channels_of_full_rank_have_one_maximum(name: str) -> None:
    fit = warner.MaximumLikelihood().fit(_evidence(name, 6, 5000, 2.0))
    assert str(fit.unique).startswith("unique")


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
    monkeypatch.setattr("warner.estimators.mle.newton._STEPS", 1)
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
