"""Optimal: the variance that no mechanism is below, and mechanisms that the program gives back."""

from __future__ import annotations

import itertools
from math import exp

import numpy as np
import pytest

import warner
from tests.refusals import refused
from warner import Categorical, Integers, Optimal, SubsetSelection, UtilityOptimizedRR
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError, WarnerError
from warner.mechanisms import from_header
from warner.mechanisms.optimal import Certificate
from warner.mechanisms.row_bounds import bound_of_all
from warner.mechanisms.row_design import Problem, best_design, lower_bound


def _loss(name: str, size: int) -> np.ndarray:
    if name == "shares":
        return np.eye(size)
    if name == "distribution":
        return sum(np.outer(np.arange(size) <= k, np.arange(size) <= k) for k in range(size - 1))
    return np.outer(np.arange(size), np.arange(size))


def _variance(table: np.ndarray, loss: np.ndarray, theta: np.ndarray) -> float:
    """tr(W J^-1) - theta'W theta of a channel (m, K), by the definition."""
    chance = table @ theta
    information = sum(np.outer(row, row) / c for row, c in zip(table, chance, strict=True) if c > 0)
    return float(np.trace(loss @ np.linalg.inv(information)) - theta @ loss @ theta)


def _subsets(size: int, epsilon: float, loss: np.ndarray) -> float:
    """The least variance of subset selection over its sizes, at equal shares."""
    theta = np.full(size, 1 / size)
    tables = (
        SubsetSelection(Integers(1, size), epsilon, size=d).probabilities().astype(float)
        for d in range(1, size)
    )
    return min(_variance(table, loss, theta) for table in tables)


@pytest.mark.parametrize("size", [2, 4, 7])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_for_shares_it_is_subset_selection_or_better(size: int, epsilon: float) -> None:
    best = Optimal(Integers(1, size), epsilon).certificate.value
    rival = _subsets(size, epsilon, np.eye(size))
    assert 0.995 * rival <= best <= rival * (1 + 1e-9)


@pytest.mark.parametrize(
    ("size", "epsilon", "ratio"),
    # The variance of the best subset selection over the optimum's, by an interior-point solver
    # of cvxpy with all rows.
    [(5, 0.5, 1.170), (5, 1.0, 1.171), (7, 0.5, 1.333), (7, 1.0, 1.311), (7, 2.0, 1.108)],
)
def test_the_distribution_of_a_rating(size: int, epsilon: float, ratio: float) -> None:
    mechanism = Optimal(Integers(1, size), epsilon, loss="distribution")
    rival = _subsets(size, epsilon, _loss("distribution", size))
    assert rival / mechanism.certificate.value == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("name", ["shares", "distribution", "mean"])
def test_the_certificate_is_of_the_matrix_that_is_sampled(name: str) -> None:
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    mechanism = Optimal(Integers(0, 4), 1.0, loss=name, prior=shares)
    found = mechanism.certificate
    table = mechanism.probabilities().astype(float)
    assert found.value == pytest.approx(_variance(table, _loss(name, 5), shares), rel=1e-6)
    assert found.lower_bound <= found.value * (1 + 1e-12)
    assert found.gap < 1e-5
    assert "best" in str(found)
    assert sum(mechanism.law.numerators[:, 0]) == 2**64


def test_no_feasible_channel_is_below_the_bound() -> None:
    # Rejects a bound without the factor for rows that the search left out, and one of other shares.
    rng = np.random.default_rng(1)
    size, e, channels = 5, exp(1.0), 12_000
    everyone = np.array(list(itertools.product([1.0, e], repeat=size)))
    # Weights of all rows, and a rest for each column that randomised response of one value takes
    # up: e_x + c with c the same in all, from a row of e at x for each value.
    weights = rng.dirichlet(np.full(len(everyone), 0.05), channels)
    weights /= 2 * (weights @ everyone).max(axis=1, keepdims=True)
    single = 1 + (e - 1) * np.eye(size)
    rest = np.linalg.solve(single, 1 - (weights @ everyone)[:, :, None])[:, :, 0]
    is_channel = (rest >= 0).all(axis=1)
    rows = np.vstack([everyone, single])
    weights = np.hstack([weights, rest])[is_channel]
    assert len(weights) >= 10_000
    assert weights @ rows == pytest.approx(1.0)
    for name in ("shares", "distribution", "mean"):
        loss, theta = _loss(name, size), rng.dirichlet(np.full(size, 2.0))
        problem = Problem.of(e, theta[None], loss, np.zeros(size, dtype=bool))
        designed, best = best_design(problem)
        least = lower_bound(problem, designed, best)
        poor = lower_bound(problem, designed, np.full(len(designed), size / designed.sum()))
        assert poor <= least * (1 + 1e-9)
        information = np.einsum(
            "ci,ix,iy->cxy", weights / (rows @ theta), rows, rows, optimize=True
        )
        inverse = np.linalg.inv(information)
        variances = np.einsum("xy,cyx->c", loss, inverse) - theta @ loss @ theta
        first = _variance(rows * weights[0][:, None], loss, theta)
        assert variances[0] == pytest.approx(first, rel=1e-6)
        assert variances.min() >= least * (1 - 1e-9)


def test_it_agrees_with_a_solver_of_convex_programs() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    size, e = 4, exp(1.0)
    theta, loss = np.array([0.1, 0.2, 0.3, 0.4]), _loss("distribution", 4)
    rows = np.array(list(itertools.product([1.0, e], repeat=size)))[1:-1]
    weights = cvxpy.Variable(len(rows), nonneg=True)
    information = sum(
        w * (np.outer(q, q) / (q @ theta)) for w, q in zip(weights, rows, strict=True)
    )
    root = np.linalg.cholesky(loss + 1e-12 * np.eye(size))
    value = sum(cvxpy.matrix_frac(column, information) for column in root.T)
    solved = cvxpy.Problem(cvxpy.Minimize(value), [rows.T @ weights == 1]).solve(solver="CLARABEL")
    found = Optimal(Integers(1, size), 1.0, "distribution", prior=theta).certificate
    assert found.value == pytest.approx(solved - theta @ loss @ theta, rel=1e-5)


@pytest.mark.parametrize(("protected", "epsilon", "ratio"), [(2, 1.0, 1.0), (7, 0.5, 1.496)])
def test_with_sensitive_values(protected: int, epsilon: float, ratio: float) -> None:
    domain, theta = Integers(1, 8), np.full(8, 1 / 8)
    sensitive = list(range(1, protected + 1))
    mechanism = Optimal(domain, epsilon, sensitive=sensitive)
    rival = UtilityOptimizedRR(domain, epsilon, sensitive=sensitive).probabilities().astype(float)
    quotient = _variance(rival, np.eye(8), theta) / mechanism.certificate.value
    assert quotient == pytest.approx(ratio, abs=1e-3)
    assert type(mechanism.guarantee).__name__ == "ULDP"


def test_several_priors_have_their_largest_variance_least() -> None:
    priors = np.array([[0.7, 0.2, 0.05, 0.05], [0.05, 0.05, 0.2, 0.7]])
    both = Optimal(Integers(1, 4), 1.0, "distribution", prior=priors)
    table, loss = both.probabilities().astype(float), _loss("distribution", 4)
    largest = max(_variance(table, loss, prior) for prior in priors)
    assert both.certificate.value == pytest.approx(largest, rel=1e-6)
    assert both.certificate.gap < 1e-4
    one = Optimal(Integers(1, 4), 1.0, "distribution", prior=priors[0])
    at_other = _variance(one.probabilities().astype(float), loss, priors[1])
    assert largest < at_other


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 8.0, 12.0, 22.0])
def test_never_above_the_epsilon_asked_for(epsilon: float) -> None:
    for name in ("shares", "distribution", "mean"):
        mechanism = Optimal(Integers(1, 5), epsilon, loss=name)
        assert epsilon * (1 - 1e-6) <= mechanism.epsilon <= epsilon


def test_many_values_say_how_good_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve values stand for 21 and more, of which not all rows are priced."""
    for name in ("row_design", "row_bounds", "optimal"):
        monkeypatch.setattr(f"warner.mechanisms.{name}.EXHAUSTIVE", 10)
    size = 12
    mechanism = Optimal(Integers(1, size), 1.0, loss="distribution")
    value, least, gap = mechanism.certificate
    assert least <= value
    assert gap == pytest.approx(value / least - 1)
    assert gap < 0.05
    # Several priors, whose largest variance is at least that of one.
    theta = np.full(size, 1 / size)
    rows, weights = mechanism._rows(exp(1.0)), mechanism._weights()
    two = Problem.of(
        exp(1.0),
        np.vstack([theta, theta]),
        _loss("distribution", size),
        np.zeros(size, dtype=bool),
    )
    assert lower_bound(two, rows, weights) == 0.0
    assert 0.7 * value < bound_of_all(two, rows, weights) <= value


def test_a_bound_far_below_is_said() -> None:
    assert str(Certificate(30.0, 1.0, 29.0)) == (
        "the best that was found; no other can have less than 3.3 % of its variance"
    )


def test_headers_and_studies_make_the_same_mechanism() -> None:
    mechanism = Optimal(Integers(1, 5), 1.0, loss="distribution")
    again = from_header(mechanism.header)
    assert again == mechanism and again.law.numerators.tolist() == mechanism.law.numerators.tolist()
    assert isinstance(again, Optimal)
    assert again.certificate.gap == mechanism.certificate.gap
    study = warner.Study.parse(
        '[attributes.pain]\nintegers = [1, 5]\nmechanism = "Optimal"\nloss = "distribution"\n'
        "epsilon = 1.0\n"
    )
    assert study.mechanisms["pain"] == mechanism
    assert set("".join(mechanism.rows)) == {"1", "e"}


def test_a_study_states_the_rows_that_every_computer_uses() -> None:
    # Rejects a study whose devices search anew: the search of another processor ends elsewhere.
    found = Optimal(Integers(1, 5), 1.0, loss="distribution")
    turned = found.stated_rows()[::-1]  # a mechanism that is as good, with other numbers of reports
    lines = ", ".join(f'"{row}"' for row in turned)
    study = warner.Study.parse(
        '[attributes.pain]\nintegers = [1, 5]\nmechanism = "Optimal"\nloss = "distribution"\n'
        f"epsilon = 1.0\nrows = [{lines}]\n"
    )
    stated = study.mechanisms["pain"]
    assert stated == Optimal(Integers(1, 5), 1.0, "distribution", rows=turned) != found
    assert stated.certificate.value == pytest.approx(found.certificate.value, rel=1e-12)
    reports = stated.randomize([1, 5], np.random.default_rng(1))
    refused(WarnerError, "warner study check --rows", found.tally, reports)
    few = found.stated_rows()[1:]
    five = Integers(1, 5)
    refused(ArgumentError, "rows: do not give", Optimal, five, 1.0, "distribution", rows=few)
    for wrong in (["eee 0x1"], ["1111- 0x1"], ["--1-- 0x1"], [1]):
        refused(ArgumentError, 'rows: must each be 5 letters "1"', Optimal, five, 1.0, rows=wrong)


def test_refusals() -> None:
    abc, five = Categorical(["a", "b", "c"]), Integers(1, 5)
    refused(
        ArgumentTypeError,
        'domain: must have an order for loss="distribution"',
        Optimal,
        abc,
        1.0,
        "distribution",
    )
    refused(ArgumentTypeError, 'domain: must be numbers for loss="mean"', Optimal, abc, 1.0, "mean")
    refused(
        ArgumentError, "loss: must be one of shares, distribution, mean", Optimal, five, 1.0, "cdf"
    )
    same = "got 'mse'. Write loss=\"shares\", which is l2: .* Divide by 5 for mse"
    refused(ArgumentError, same, Optimal, five, 1.0, "mse")
    refused(ArgumentError, "loss: .*matrix of shape", Optimal, five, 1.0, np.eye(4))
    refused(ArgumentError, "loss: must be a symmetric", Optimal, five, 1.0, -np.eye(5))
    refused(
        ArgumentError,
        "prior: must not have a share of 0",
        Optimal,
        five,
        1.0,
        "shares",
        [1, 0, 0, 0, 0],
    )
    refused(
        WarnerError,
        "prior: must be a list of 5 numbers; got 2 numbers",
        Optimal,
        five,
        1.0,
        "shares",
        [0.5, 0.5],
    )
    refused(
        WarnerError,
        "number of values: must be from 2 to 64.*SquareWave",
        Optimal,
        Integers(1, 65),
        1.0,
    )
    refused(
        ArgumentError,
        "domain: must have at most 20 values .*Use SubsetSelection",
        Optimal,
        Integers(1, 21),
        1.0,
    )
    refused(BudgetError, "epsilon", Optimal, five, float("inf"))
    refused(BudgetError, "epsilon", Optimal, five, 40.0)
