"""What every estimator for values in order promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import warner
from tests.spec.estimators._shapes import BOTH, _bell, _facts
from warner import Integers, Interval, LogSpline, RandomizedResponse, SquareWave, Status
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
@pytest.mark.parametrize(
    "domain",
    [
        warner.Categorical(["a", "b", "c"]),
        warner.Grid(2, 2),
        warner.Product(a=Integers(0, 1), b=Integers(0, 2)),
    ],
)
def test_values_without_order_are_refused(estimator: Estimator, domain: warner.Domain) -> None:
    mechanism = RandomizedResponse(domain, 1.0)
    with pytest.raises(
        warner.errors.ArgumentError,
        match=f"domain: of {type(estimator).__name__} must have values in order on a line; got",
    ):
        estimator.fit(_facts(mechanism, np.full(domain.size, 1 / domain.size), 100))


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_impossible_reports_are_refused(estimator: Estimator) -> None:
    channel = warner.channels.DenseChannel(np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]))
    with pytest.raises(warner.errors.ImpossibleReportError):
        estimator.fit(LikelihoodData(channel, np.array([0.5, 0.4, 0.1]), 10, Integers(0, 1)))


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_results_are_deterministic(estimator: Estimator) -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 5_000)
    assert estimator.fit(data).probabilities == pytest.approx(
        estimator.fit(data).probabilities, abs=1e-12
    )


@pytest.mark.parametrize("size", [2, 3, 8, 64])
@pytest.mark.parametrize("report", [0, 500, 1023])
@pytest.mark.parametrize("n", [1, 10**6])
def test_one_report_or_one_kind_of_report_gives_a_distribution(
    size: int, report: int, n: int
) -> None:
    mechanism = SquareWave(Interval(0, 1, size), 1.0)
    w = np.zeros(1024)
    w[report] = 1.0
    for estimator in BOTH:
        fit = estimator.fit(LikelihoodData(mechanism.channel(), w, n, mechanism.domain))
        assert np.isfinite(fit.probabilities).all() and (fit.probabilities >= 0).all()
        assert fit.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert fit.status is Status.COMPLETED


def test_draws_are_distributions_and_belong_to_the_generator_given() -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    fit = LogSpline().fit(data)
    assert fit.posterior is not None and SmoothedEM().fit(data).posterior is None
    first, again = (fit.posterior.draws(50, np.random.default_rng(1)) for _ in range(2))
    assert first.shape == (50, 64) and (first >= 0).all() and first.sum(axis=1) == pytest.approx(1)
    assert first == pytest.approx(again, abs=1e-12)
    assert first.mean(axis=0) == pytest.approx(fit.probabilities, abs=0.01)
    fewer = LogSpline().fit(replace(data, n=200)).posterior
    assert fewer is not None
    at = np.arange(64)
    assert (fewer.draws(200, np.random.default_rng(1)) @ at).std() > 3 * (
        fit.posterior.draws(200, np.random.default_rng(1)) @ at
    ).std()
