"""Regressions against slow solvers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize
from scipy.special import logsumexp

import warner
from warner import Categorical, Integers, RandomizedResponse, regress
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.regression import likelihood
from warner.regression.likelihood import Ending, Pairs, maximize
from warner.regression.people import problem_of

INFINITE = float("inf")

# Spector and Mazzeo (1980): grade point average, score in a test, whether the course was by a new
# method, and whether the grade improved.
SPECTOR = np.array(
    [
        [2.66, 20, 0, 0], [2.89, 22, 0, 0], [3.28, 24, 0, 0], [2.92, 12, 0, 0], [4.00, 21, 0, 1],
        [2.86, 17, 0, 0], [2.76, 17, 0, 0], [2.87, 21, 0, 0], [3.03, 25, 0, 0], [3.92, 29, 0, 1],
        [2.63, 20, 0, 0], [3.32, 23, 0, 0], [3.57, 23, 0, 0], [3.26, 25, 0, 1], [3.53, 26, 0, 0],
        [2.74, 19, 0, 0], [2.75, 25, 0, 0], [2.83, 19, 0, 0], [3.12, 23, 1, 0], [3.16, 25, 1, 1],
        [2.06, 22, 1, 0], [3.62, 28, 1, 1], [2.89, 14, 1, 0], [3.51, 26, 1, 0], [3.54, 24, 1, 1],
        [2.83, 27, 1, 1], [3.39, 17, 1, 1], [2.67, 24, 1, 0], [3.65, 21, 1, 1], [4.00, 23, 1, 1],
        [3.10, 21, 1, 0], [2.39, 19, 1, 1],
    ]
)  # fmt: skip


def test_without_protection_it_is_ordinary_logistic_regression() -> None:
    """The numbers are those of statsmodels 0.15.0: Logit, its standard errors, and HC0."""
    mechanism = warner.RandomizedResponse(Integers(0, 1), INFINITE)
    reports = mechanism.reports(SPECTOR[:, 3].astype(int))
    found = regress(reports, SPECTOR[:, :3])
    assert found.coefficients[0] == pytest.approx(
        [-13.021346858115688, 2.82611259488932, 0.0951576613179094, 2.3786876550933536], abs=1e-6
    )
    assert found.standard_errors[0] == pytest.approx(
        [4.9313242136027355, 1.2629410756290917, 0.1415542056736946, 1.0645642544971312], abs=1e-6
    )
    assert found.log_likelihood == pytest.approx(-12.889634222131415, abs=1e-9)
    robust = regress(reports, SPECTOR[:, :3], errors="sandwich")
    assert robust.standard_errors[0] == pytest.approx(
        [5.197585410299325, 1.2675459820157193, 0.11792226774939274, 0.9644192096528739], abs=1e-6
    )


def _people(size: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Covariates (n, 3) with an intercept, and values that depend on them."""
    z = np.stack([np.ones(n), rng.integers(0, 3, n) - 1.0, rng.normal(size=n).round(1)], axis=1)
    eta = z @ rng.normal(scale=0.5, size=(3, size))
    p = np.exp(eta - logsumexp(eta, axis=1, keepdims=True))
    return z, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def twin(rows: np.ndarray, z: np.ndarray, beta: np.ndarray) -> float:
    """The log-likelihood, person by person."""
    eta = np.concatenate([np.zeros((len(z), 1)), z @ beta.T], axis=1)
    with np.errstate(divide="ignore"):
        return float((logsumexp(eta + np.log(rows), axis=1) - logsumexp(eta, axis=1)).sum())


MECHANISMS: dict[str, Callable[[Domain], Mechanism]] = {
    "no protection": lambda d: warner.RandomizedResponse(d, INFINITE),
    "k-RR": lambda d: warner.RandomizedResponse(d, 2.0),
    "OUE": lambda d: warner.UnaryEncoding(d, 2.0, variant="oue"),
    "OLH": lambda d: warner.LocalHashing(d, 2.0, seeds=64),
    "subsets": lambda d: warner.SubsetSelection(d, 2.0),
    "Hadamard": lambda d: warner.HadamardResponse(d, 2.0),
    "projective": lambda d: warner.mechanisms.ProjectiveGeometryResponse(d, 2.0),
    "uRR": lambda d: warner.UtilityOptimizedRR(d, 2.0, sensitive=[0]),
    "uRAP": lambda d: warner.mechanisms.UtilityOptimizedRappor(d, 2.0, sensitive=[0]),
    "k-RR and OUE": lambda d: warner.mechanisms.Repeated(
        [warner.RandomizedResponse(d, 1.5), warner.UnaryEncoding(d, 1.5)]
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_other_coefficients_are_more_likely(name: str) -> None:
    """A general optimiser on the likelihood of single people ends at the same coefficients."""
    rng = np.random.default_rng(7)
    domain = Integers(0, 2)
    z, values = _people(3, 400, rng)
    mechanism = MECHANISMS[name](domain)
    reports = mechanism.randomize(values, rng=rng)
    found = regress(reports, z[:, 1:])
    assert found.status.name == "CONVERGED"
    problem = problem_of(reports, None, trusted=False)
    rows = problem.channel.rows(problem.row)
    best = optimize.minimize(
        lambda b: -twin(rows, z, b.reshape(2, 3)), np.zeros(6), method="BFGS", tol=1e-8
    )
    assert found.coefficients.ravel() == pytest.approx(best.x, abs=1e-3)
    assert twin(rows, z, found.coefficients) >= -best.fun - 1e-9
    shift = found.log_likelihood - twin(rows, z, found.coefficients)
    logs = problem.channel.log_factors_of(problem.row)
    assert shift == pytest.approx(float(np.sum(np.broadcast_to(logs, len(z)))), abs=1e-6)


def test_derivatives_are_those_of_the_likelihood() -> None:
    """The gradient and the information are finite differences, also at coefficients far from the
    maximum. A Hessian without the part that reports lack would be the complete one.
    """
    rng = np.random.default_rng(3)
    z, _ = _people(4, 300, rng)
    rows = rng.random((5, 4)) + 0.05
    pairs = Pairs.of(rows, rng.integers(0, 5, 300), z)
    assert len(pairs.counts) < 300
    beta = rng.normal(size=(3, 3))
    gradient, information, complete = pairs.at(beta).derivatives()

    def slope(b: np.ndarray) -> np.ndarray:
        return pairs.at(b.reshape(3, 3)).derivatives()[0]

    numeric = optimize.approx_fprime(beta.ravel(), lambda b: pairs.at(b.reshape(3, 3)).value, 1e-6)
    assert gradient == pytest.approx(numeric, abs=1e-3)
    steps = 1e-5 * np.eye(9)
    hessian = [(slope(beta.ravel() + s) - slope(beta.ravel() - s)) / 2e-5 for s in steps]
    assert -np.array(hessian) == pytest.approx(information, abs=1e-5)
    assert np.abs(complete - information).max() > 1


def test_rows_counted_once_are_people_counted_one_by_one() -> None:
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, (500, 2)).astype(float)
    rows, report = rng.random((3, 3)) + 0.1, rng.integers(0, 3, 500)
    merged = Pairs.of(rows, report, z)
    apart = Pairs(rows, z, report, np.arange(500), np.ones(500), np.arange(500))
    assert len(merged.counts) <= 12
    beta = rng.normal(size=(2, 2))
    assert merged.at(beta).value == pytest.approx(apart.at(beta).value)
    for one, other in zip(merged.at(beta).derivatives(), apart.at(beta).derivatives(), strict=True):
        assert one == pytest.approx(other)
    assert merged.at(beta).squared_scores() == pytest.approx(apart.at(beta).squared_scores())


def test_predicted_shares_and_intervals_by_simulated_coefficients() -> None:
    """The delta method on log-odds against draws of the coefficients."""
    rng = np.random.default_rng(6)
    domain = Categorical(["a", "b", "c"])
    z, values = _people(3, 4000, rng)
    mechanism = warner.RandomizedResponse(domain, 2.0)
    reports = mechanism.randomize(domain.decode(values), rng=rng)
    found = regress(reports, z[:, 1:], reference="b")
    at = np.array([[1.0, 0.3], [-1.0, 1.0]])
    predicted = found.predict(at, level=0.9)
    draws = rng.multivariate_normal(found.coefficients.ravel(), found.covariance, 20_000)
    eta = np.einsum("mj,dej->dme", np.c_[np.ones(2), at], draws.reshape(-1, 2, 3))
    full = np.concatenate([eta[..., :1], np.zeros((*eta.shape[:2], 1)), eta[..., 1:]], axis=-1)
    shares = np.exp(full - logsumexp(full, axis=-1, keepdims=True))
    assert predicted.values == ("a", "b", "c")
    assert predicted.shares.sum(axis=1) == pytest.approx([1, 1])
    assert predicted.shares == pytest.approx(np.median(shares, axis=0), abs=0.01)
    assert predicted.low == pytest.approx(np.quantile(shares, 0.05, axis=0), abs=0.01)
    assert predicted.high == pytest.approx(np.quantile(shares, 0.95, axis=0), abs=0.01)


# The largest maximum of a likelihood with several, against a general optimiser.


def _pairs(seed: int, n: int = 300) -> Pairs:
    """A survey at epsilon 1 with three values. With 300 people errors are large."""
    rng = np.random.default_rng(seed)
    channel = RandomizedResponse(Integers(0, 2), 1.0).channel()
    z = np.stack([np.ones(n), 2.0 * rng.integers(0, 2, n) - 1, rng.integers(-1, 2, n)], axis=1)
    p = np.exp(z @ rng.normal(size=(3, 3)).T)
    p /= p.sum(axis=1, keepdims=True)
    values = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return Pairs.of(channel.dense(), channel.sample_rows(values, rng), z)


@pytest.mark.parametrize("seed", [60, 89, 110, 3, 4])
def test_no_other_start_ends_higher(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the first three seeds, the search from 0 alone ends at a smaller maximum."""
    pairs = _pairs(seed)
    found = maximize(pairs)
    rng = np.random.default_rng(1)
    values = [
        -optimize.minimize(
            lambda b: -pairs.at(b.reshape(2, 3)).value,
            start,
            jac=lambda b: -pairs.at(b.reshape(2, 3)).derivatives()[0],
            method="L-BFGS-B",
            bounds=[(-30, 30)] * 6,
        ).fun
        for start in [np.zeros(6), *rng.normal(scale=2, size=(6, 6))]
    ]
    assert found.point.value >= max(values) - 1e-3
    monkeypatch.setattr(likelihood, "_STARTS", 0)
    alone = maximize(pairs).point.value
    assert (found.point.value > alone + 0.1) == (seed in (60, 89, 110))


def test_the_covariance_is_the_inverse_of_the_information() -> None:
    found = maximize(_pairs(3, 6000))
    assert found.ending is Ending.CONVERGED
    information = found.point.derivatives()[1]
    assert found.covariance @ information == pytest.approx(np.eye(6), abs=1e-6)
