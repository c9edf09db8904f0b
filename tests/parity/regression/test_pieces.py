"""The likelihood of any pieces against slow twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from warner._core.survey_design import SurveyDesign
from warner.regression import likelihood
from warner.regression.coefficients import solved
from warner.regression.likelihood import (
    Likelihood,
    Mixture,
    Pairs,
    Predictor,
    RandomIntercepts,
    maximize,
)
from warner.regression.pieces import LINKS, Binary, Choice, Normal, log_shares

N = 60
RNG = np.random.default_rng(3)
Z = np.stack([np.ones(N), RNG.normal(size=N)], axis=1)
SEEN = RNG.normal(size=N)
GROUP = RNG.integers(0, 7, N)
WEIGHTS = RNG.uniform(0.5, 2, N)
ONE = np.zeros(2, dtype=np.int64)


def _rows(classes: int) -> np.ndarray:
    return RNG.uniform(0.1, 1, (N, classes))


def _mixture(name: str) -> Mixture:
    """A small mixture of the pieces that are named."""
    constant = Predictor(np.ones((N, 1)), np.array([2]))
    hidden = Predictor(Z, np.arange(2))
    two = np.arange(2)
    if name in LINKS:
        return Mixture(_rows(2), WEIGHTS, [hidden], [Binary(name, two, ONE)], np.zeros(2))
    if name == "three answers":
        predictors = [hidden, Predictor(Z, np.arange(2, 4))]
        return Mixture(_rows(3), WEIGHTS, predictors, [Choice(np.arange(3), 3)], np.zeros(4))
    if name == "honesty":
        none = np.zeros(3, dtype=np.int64)
        pieces = [
            Binary("logit", np.array([0, 1, 1]), none),
            Binary("logit", np.array([-1, 1, 0]), none),
        ]
        return Mixture(_rows(3), WEIGHTS, [hidden, constant], pieces, np.zeros(3))
    each = [Predictor(np.column_stack([Z, np.full(N, x)]), np.arange(2, 5)) for x in (0.0, 1.0)]
    if name == "a number":
        spread = Predictor(np.ones((N, 1)), np.array([5]))
        pieces = [Binary("logit", two, ONE), Normal(SEEN, two)]
        return Mixture(_rows(2), WEIGHTS, [hidden, *each, spread], pieces, np.zeros(6))
    label = (SEEN > 0).astype(np.int64)[:, None]
    pieces = [Binary("logit", two, ONE), Binary("probit", label, two)]
    return Mixture(_rows(2), WEIGHTS, [hidden, *each], pieces, np.zeros(5))


PIECES = [*LINKS, "three answers", "honesty", "a number", "two values"]


def _differences(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    steps = 1e-5 * np.eye(len(at))
    return np.stack([(function(at + s) - function(at - s)) / 2e-5 for s in steps])


def _check_derivatives(model: Likelihood, at: np.ndarray) -> None:
    gradient, information, complete = model.at(at).derivatives()
    values = _differences(lambda theta: np.array(model.at(theta).value), at)
    assert gradient == pytest.approx(values, abs=1e-5)
    slopes = _differences(lambda theta: model.at(theta).derivatives()[0], at)
    assert information == pytest.approx(-slopes, abs=1e-4)
    assert np.linalg.eigvalsh(complete).min() > 0


@pytest.mark.parametrize("name", PIECES)
def test_derivatives_are_differences(name: str) -> None:
    """Rejects a Hessian without the variance of the scores over the classes."""
    mixture = _mixture(name)
    _check_derivatives(mixture, RNG.normal(scale=0.5, size=len(mixture.start)))


@pytest.mark.parametrize("name", ["logit", "a number", "honesty"])
def test_derivatives_with_random_intercepts_are_differences(name: str) -> None:
    mixture = _mixture(name)
    shifted = [1, 2] if name == "a number" else [0]
    model = RandomIntercepts.of(mixture, shifted, GROUP, RNG.uniform(0.5, 2, 7))
    at = np.append(RNG.normal(scale=0.5, size=len(mixture.start)), 0.8)
    _check_derivatives(model.placed(at), at)


@pytest.mark.parametrize("name", PIECES)
def test_people_in_blocks_are_all_people(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mixture = _mixture(name)
    at = RNG.normal(scale=0.5, size=len(mixture.start))
    whole = mixture.at(at).derivatives()
    monkeypatch.setattr(likelihood, "_LARGEST_BLOCK", 400)
    for one, other in zip(whole, mixture.at(at).derivatives(), strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("link", LINKS)
def test_links_are_distribution_functions(link: str) -> None:
    law = {"logit": stats.logistic, "probit": stats.norm, "cauchit": stats.cauchy}
    t = np.linspace(-6, 3, 31)
    no, yes = log_shares(t, link)
    share = law[link].cdf(t) if link in law else 1 - np.exp(-np.exp(t))
    assert np.exp(yes[0]) == pytest.approx(share, rel=1e-9)
    assert np.exp(no[0]) == pytest.approx(1 - share, rel=1e-6)
    for far in (-1e6, 1e6):
        assert all(
            np.isfinite(each).all() for pair in log_shares(np.array([far]), link) for each in pair
        )


def test_the_likelihood_of_one_person_after_the_other() -> None:
    """A number that is seen beside a hidden answer, summed by hand."""
    mixture = _mixture("a number")
    theta = RNG.normal(scale=0.5, size=6)
    total = 0.0
    for i in range(N):
        yes = 1 / (1 + np.exp(-(Z[i] @ theta[:2])))
        seen = [
            stats.norm.pdf(SEEN[i], Z[i] @ theta[2:4] + x * theta[4], np.exp(theta[5]))
            for x in (0, 1)
        ]
        total += WEIGHTS[i] * np.log(
            mixture.rows[i, 0] * (1 - yes) * seen[0] + mixture.rows[i, 1] * yes * seen[1]
        )
    assert mixture.at(theta).value == pytest.approx(total)


def test_random_intercepts_by_many_fixed_nodes() -> None:
    """Rejects nodes that do not follow the modes of groups, and weights that forget their place."""
    mixture = _mixture("logit")
    weights = RNG.uniform(0.5, 2, 7)
    theta = np.array([0.3, -0.7, 1.3])
    u = np.linspace(-9, 9, 4001)
    eta = (Z @ theta[:2])[:, None] + theta[2] * u
    yes = 1 / (1 + np.exp(-eta))
    logs = WEIGHTS[:, None] * np.log(mixture.rows[:, :1] * (1 - yes) + mixture.rows[:, 1:] * yes)
    total = 0.0
    for j in range(7):
        integrand = np.exp(logs[j == GROUP].sum(axis=0)) * stats.norm.pdf(u)
        total += weights[j] * np.log(np.trapezoid(integrand, u))
    model = RandomIntercepts.of(mixture, [0], GROUP, weights).placed(theta)
    assert model.at(theta).value == pytest.approx(total, abs=1e-8)


def test_a_choice_of_pieces_is_the_fast_multinomial_logit() -> None:
    """The fast path of many values against the mixture, with its scores."""
    rng = np.random.default_rng(4)
    rows, report = rng.uniform(0.1, 1, (5, 3)), rng.integers(0, 5, N)
    z = np.stack([np.ones(N), rng.integers(0, 3, N)], axis=1).astype(float)
    fast = Pairs.of(rows, report, z, WEIGHTS)
    places = np.arange(4).reshape(2, 2)
    slow = Mixture(
        rows[report], WEIGHTS, [Predictor(z, p) for p in places], [Choice(np.arange(3), 3)],
        np.zeros(4),
    )  # fmt: skip
    beta = rng.normal(size=4)
    one, other = fast.at(beta), slow.at(beta)
    assert one.value == pytest.approx(other.value)
    for fast_one, slow_one in zip(one.derivatives(), other.derivatives(), strict=True):
        assert fast_one == pytest.approx(slow_one)
    assert one.squared_scores() == pytest.approx(other.squared_scores())
    ends = maximize(fast), maximize(slow)
    assert ends[0].beta == pytest.approx(ends[1].beta, abs=1e-6)


@pytest.mark.parametrize("name", ["a number", "honesty"])
def test_errors_of_clusters_by_the_scores_of_people(name: str) -> None:
    """H^-1 (sum_h G_h/(G_h - 1) sum_g (S_g - S_h)(S_g - S_h)') H^-1 with scores by differences."""
    mixture = _mixture(name)
    region = (GROUP >= 4).astype(int)
    columns = {"w": WEIGHTS, "c": GROUP, "r": region}
    drawn = SurveyDesign("w", "c", "r").sample(columns, np.ones(N))
    mixture = replace(mixture, weights=drawn.weights)
    best = maximize(mixture)
    found = solved(mixture, np.eye(len(best.beta)), None, drawn)
    alone = [
        replace(mixture, rows=mixture.rows[i : i + 1], weights=np.ones(1),
                predictors=[Predictor(x[i : i + 1], c) for x, c in mixture.predictors],
                pieces=[piece.of(slice(i, i + 1)) for piece in mixture.pieces])
        for i in range(N)
    ]  # fmt: skip
    scores = np.stack(
        [
            _differences(lambda theta, one=one: np.array(one.at(theta).value), found.theta)
            for one in alone
        ]
    )
    meat = np.zeros((len(best.beta), len(best.beta)))
    for h in (0, 1):
        clusters = np.unique(GROUP[region == h])
        sums = np.stack([drawn.weights[g == GROUP] @ scores[g == GROUP] for g in clusters])
        centred = sums - sums.mean(axis=0)
        meat += len(clusters) / (len(clusters) - 1) * centred.T @ centred
    inverse = np.linalg.inv(mixture.at(found.theta).derivatives()[1])
    assert found.covariance == pytest.approx(inverse @ meat @ inverse, rel=1e-3, abs=1e-4)
