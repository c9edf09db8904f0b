"""Fisher information and its bounds against sums over reports and known closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import MECHANISMS
from warner import Categorical, Grid, Integers, RandomizedResponse, UnaryEncoding
from warner.errors import ArgumentError, WarnerError
from warner.theory import (
    cramer_rao,
    effective_sample_size,
    expected_loss,
    fisher_information,
    minimax_sample_size,
)

DOMAIN = Integers(0, 3)
THETA = np.array([0.4, 0.3, 0.2, 0.1])
KNOWING = [name for name in MECHANISMS if not name.startswith(("Stochastic", "Gaussian"))]


def _listed(mechanism: warner.mechanisms.Mechanism) -> np.ndarray:
    """sum_y A_y A_y' / (A theta)_y, one report after the other."""
    total = np.zeros((DOMAIN.size,) * 2)
    for row in mechanism.probabilities().astype(np.float64):
        if row @ THETA > 0:
            total += np.outer(row, row) / (row @ THETA)
    return total


@pytest.mark.parametrize("name", KNOWING)
def test_the_information_is_the_sum_over_the_reports(name: str) -> None:
    mechanism = MECHANISMS[name](DOMAIN, 1.0)
    found = fisher_information(mechanism, THETA, n=7)
    np.testing.assert_allclose(found, 7 * _listed(mechanism), rtol=1e-9)


@pytest.mark.parametrize("name", KNOWING)
def test_the_bound_on_the_simplex_is_the_inverse_less_theta_theta(name: str) -> None:
    """V = I^-1 - theta theta' / n, which uses no basis; and never above the inversion's."""
    mechanism = MECHANISMS[name](DOMAIN, 1.0)
    plain = np.linalg.inv(fisher_information(mechanism, THETA, 10)) - np.outer(THETA, THETA) / 10
    np.testing.assert_allclose(cramer_rao(mechanism, THETA, 10), np.diag(plain), rtol=1e-6)
    c = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 0.0, 0.0]])
    found = cramer_rao(mechanism, THETA, 10, c)
    np.testing.assert_allclose(found, np.einsum("ri,ij,rj->r", c, plain, c), rtol=1e-6)
    inversion = mechanism.channel().variance(THETA) / 10
    assert (cramer_rao(mechanism, THETA, 10) <= inversion * (1 + 1e-9)).all()


def test_unprotected_answers_and_randomized_response_reach_their_known_bounds() -> None:
    """Multinomial covariance; randomised response has as many reports as values, so its inversion
    is efficient.
    """
    assert cramer_rao(DOMAIN, THETA, 50) == pytest.approx(THETA * (1 - THETA) / 50)
    coin = RandomizedResponse(DOMAIN, 1.0)
    assert cramer_rao(coin, THETA, 50).sum() == pytest.approx(expected_loss(coin, THETA, 50))
    constant = cramer_rao(coin, THETA, 50, weights=np.ones(4))
    assert constant == pytest.approx(0, abs=1e-15)


def test_groups_add_their_information() -> None:
    low, high = RandomizedResponse(DOMAIN, 0.5), UnaryEncoding(DOMAIN, 2.0)
    parts = fisher_information(low, THETA, 30) + fisher_information(high, THETA, 12)
    np.testing.assert_allclose(fisher_information([low, high], THETA, [30, 12]), parts)
    together = cramer_rao([low, high], THETA, [30, 12])
    assert (together < cramer_rao(low, THETA, 30)).all()
    assert (together < cramer_rao(high, THETA, 12)).all()


@pytest.mark.parametrize(
    "mechanism",
    [
        Integers(0, 3),
        warner.UtilityOptimizedRR(Integers(0, 3), 1.0, sensitive=[0]),
        warner.mechanisms.UtilityOptimizedRappor(Integers(0, 3), 1.0, sensitive=[0]),
        RandomizedResponse(Integers(0, 3), 1.0),
    ],
    ids=["none", "uRR", "uRAP", "RR"],
)
def test_at_a_share_of_zero_the_bound_is_the_limit_from_inside(mechanism: object) -> None:
    border = np.array([0.5, 0.0, 0.5, 0.0])
    found = cramer_rao(mechanism, border, 10)  # type: ignore[arg-type]
    near = cramer_rao(mechanism, 0.99999999 * border + 1e-8 / 4, 10)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, near, rtol=1e-5, atol=1e-7)


def test_infinite_information_is_refused_and_undetermined_functions_have_no_bound() -> None:
    refused(ArgumentError, "infinite", fisher_information, DOMAIN, [0.5, 0.5, 0, 0], 10)
    blind = warner.MatrixMechanism(DOMAIN, [[0.7, 0.7, 0.2, 0.2], [0.3, 0.3, 0.8, 0.8]])
    found = cramer_rao(blind, THETA, 10, [[1, 1, 0, 0], [1, 0, 0, 0]])
    assert np.isfinite(found[0]) and found[1] == math.inf
    assert effective_sample_size(blind, THETA, 10) == 0
    # Together with another mechanism the values are told apart.
    other = warner.MatrixMechanism(DOMAIN, [[0.6, 0.3, 0.6, 0.3], [0.4, 0.7, 0.4, 0.7]])
    both = cramer_rao([blind, other], THETA, [10, 10], [[1, 1, 0, 0], [1, 0, 1, 0]])
    assert np.isfinite(both).all()


def test_the_effective_sample_size_is_the_number_of_true_answers_that_errs_as_much() -> None:
    for mechanism in (RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 2.0)):
        for by, error in (
            ("information", cramer_rao(mechanism, THETA, 10_000).sum()),
            ("inversion", expected_loss(mechanism, THETA, 10_000)),
        ):
            size = effective_sample_size(mechanism, THETA, 10_000, by=by)
            assert 0 < size < 10_000
            assert (1 - THETA @ THETA) / size == pytest.approx(error)
    assert effective_sample_size(DOMAIN, THETA, 10_000) == pytest.approx(10_000)
    groups = [RandomizedResponse(DOMAIN, 1.0), RandomizedResponse(DOMAIN, 3.0)]
    both = effective_sample_size(groups, THETA, [100, 200], by="inversion")
    assert both <= effective_sample_size(groups, THETA, [100, 200]) * (1 + 1e-9)


def test_no_budget_up_to_the_limit_beats_the_minimax_sample_size() -> None:
    """At the worst distribution of two values; 4 epsilon^2 n is the published figure."""
    pair = Integers(0, 1)
    for epsilon in (0.05, 0.2, 0.4):
        published = minimax_sample_size(epsilon, 10**6)
        assert published == pytest.approx(4e6 * epsilon**2)
        for mechanism in (RandomizedResponse(pair, epsilon), UnaryEncoding(pair, epsilon)):
            assert effective_sample_size(mechanism, [0.5, 0.5], 10**6) < published
    assert minimax_sample_size(0.6, 10) == 10


def _tuples_of_bits() -> warner.PerAttribute:
    """Two unary reports of ten bits each: neither few nor the set of one value."""
    pair = warner.Product(a=Integers(0, 9), b=Integers(0, 9))
    return warner.PerAttribute(pair, {k: lambda d: UnaryEncoding(d, 1.0) for k in "ab"})


def test_fine_numbers_have_finite_bounds() -> None:
    """Laplace noise hides differences of neighbouring bins almost, but not quite."""
    mechanism = warner.Laplace(warner.Interval(0, 1, 64), 1.0, cells=128)
    bounds = cramer_rao(mechanism, np.full(64, 1 / 64), 1000)
    assert np.isfinite(bounds).all() and bounds.sum() > 1e3


def test_wrong_arguments_are_refused() -> None:
    coin, place = RandomizedResponse(DOMAIN, 1.0), RandomizedResponse(Categorical(["a", "b"]), 1.0)
    for call in (
        lambda: fisher_information(coin, [0.5, 0.5], 10),
        lambda: fisher_information([coin, place], THETA, [1, 1]),
        lambda: fisher_information([coin, coin], THETA, 10),
        lambda: fisher_information([], THETA, []),
        lambda: fisher_information(coin, THETA, 0),
        lambda: fisher_information("coin", THETA, 1),  # type: ignore[arg-type]
        lambda: cramer_rao(coin, THETA, 10, [1.0, 2.0]),
        lambda: cramer_rao(coin, THETA, 10, np.full((1, 4), np.nan)),
        lambda: effective_sample_size(coin, [1, 0, 0, 0], 10),
        lambda: effective_sample_size(coin, THETA, 10, by="luck"),
        lambda: minimax_sample_size(0.7, 10),
        lambda: cramer_rao(_tuples_of_bits(), np.full(100, 0.01), 10),
    ):
        refused(WarnerError, "", call)


def test_places_have_bounds_too() -> None:
    """Planar channels have no closed information; the default forms the matrix."""
    grid = Grid(3, 3)
    theta = np.full(9, 1 / 9)
    mechanism = warner.PlanarGeometric(grid, 1.0)
    rows = mechanism.channel().dense()
    expected = rows.T @ (rows / (rows @ theta)[:, None])
    np.testing.assert_allclose(fisher_information(mechanism, theta), expected, rtol=1e-9)
