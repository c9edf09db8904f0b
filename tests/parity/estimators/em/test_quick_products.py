"""EM with the matrix of a small channel, and without likelihoods, against plain steps."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import ExpectationMaximization, Integers
from warner.channels import MatrixRows, quick
from warner.estimators.base import LikelihoodData


@pytest.mark.parametrize(
    "make", [warner.RandomizedResponse, warner.HadamardResponse, warner.ProjectiveGeometryResponse]
)
def test_steps_are_those_of_the_equation(make: type) -> None:
    mechanism = make(Integers(0, 11), 1.0)
    channel = mechanism.channel()
    w = channel.simulate(np.arange(1, 13) / 78, 5_000, np.random.default_rng(2))
    theta = np.full(12, 1 / 12)
    for _ in range(300):
        theta = theta * channel.rmatvec(w / channel.matvec(theta))
    data = LikelihoodData(channel, w, 5_000, mechanism.domain)
    fit = ExpectationMaximization(300).fit(data)
    kept = ExpectationMaximization(300, keep_path=True).fit(data)
    assert fit.shares == pytest.approx(theta / theta.sum(), rel=1e-9)
    assert kept.shares == pytest.approx(fit.shares, rel=1e-12)
    assert (fit.status, fit.iterations) == (kept.status, 300)
    assert fit.log_likelihood == pytest.approx(kept.log_likelihood)


def test_small_operators_become_matrices() -> None:
    small = warner.HadamardResponse(Integers(0, 30), 1.0).channel()
    large = warner.HadamardResponse(Integers(0, 999), 1.0).channel()
    found, r = quick(small), np.random.default_rng(0).random((32, 3))
    assert isinstance(found, MatrixRows) and quick(large) is large
    assert found.rmatvec(r) == pytest.approx(small.rmatvec(r))
    assert found.matvec(r[:31]) == pytest.approx(small.matvec(r[:31]))
