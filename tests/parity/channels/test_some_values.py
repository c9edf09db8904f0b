"""Operators on some values against the columns of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS, PLACES, SEEING, smallest
from warner.channels import DenseChannel, SomeValues
from warner.estimators.base import LikelihoodData
from warner.results.from_tally import likelihood_data

KEPT = np.array([0, 2, 3])


@pytest.mark.parametrize("name", [*MECHANISMS, *PLACES])
def test_products_are_those_of_the_columns(name: str) -> None:
    whole = smallest(name).channel()
    some, columns = SomeValues(whole, KEPT), whole.dense()[:, KEPT]
    rng = np.random.default_rng(0)
    theta, r = rng.random((3, 2)), rng.random((whole.shape[0], 2))
    assert some.matvec(theta) == pytest.approx(columns @ theta, abs=1e-12)
    assert some.matvec(theta[:, 0]) == pytest.approx(columns @ theta[:, 0], abs=1e-12)
    assert some.rmatvec(r) == pytest.approx(columns.T @ r, abs=1e-12)
    assert some.dense() == pytest.approx(columns, abs=1e-12)
    assert some.gram(r[:, 0]) == pytest.approx(columns.T @ (columns * r[:, :1]), abs=1e-12)
    assert some.rows(np.array([1, 0])) == pytest.approx(columns[[1, 0]], abs=1e-12)


@pytest.mark.parametrize("name", SEEING)
def test_the_inverse_and_its_variance_are_those_of_the_shares(name: str) -> None:
    """Rejects an inverse of other columns, and moments at a distribution on all values."""
    whole = smallest(name, 2.0).channel()
    some, theta = SomeValues(whole, KEPT), np.array([0.5, 0.2, 0.3])
    w = some.matvec(theta)
    assert some.invert(w) == pytest.approx(theta, abs=1e-9)
    c = np.eye(3)
    assert some.influence(c).T @ w == pytest.approx(theta, abs=1e-9)
    if some.rows_per_report == 1:
        wanted = (some.influence(c) ** 2).T @ w
        assert some.inverse_moments(theta)[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["RandomizedResponse", "SquareWave", "TruncatedGeometric"])
def test_the_maximum_is_that_of_the_matrix_of_columns(name: str) -> None:
    mechanism, rng = smallest(name, 1.5), np.random.default_rng(4)
    tally = mechanism.tally(mechanism.randomize([0] * 300 + [2] * 50 + [3] * 150, rng))
    data = likelihood_data(tally).restricted(KEPT)
    plain = LikelihoodData(
        DenseChannel(data.channel.dense()), data.weights, data.n, warner.Integers(0, 2)
    )
    method = warner.MaximumLikelihood()
    found, wanted = method.fit(data), method.fit(plain)
    assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)
    assert found.status == wanted.status and found.gap is not None and found.gap < 1e-6
