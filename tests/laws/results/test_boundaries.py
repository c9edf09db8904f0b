"""Estimates from one report, or from reports that cancel: what is said of them is finite and in order."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.laws.estimators._extremes import _extremes, _mechanism
from warner import Estimate, Integers
from warner.estimators import Status
from warner.estimators.base import LikelihoodData
from warner.metrics import quantiles

EPSILONS = [1e-6, 1.0, 20.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "name",
    ["RandomizedResponse", "UnaryEncoding optimized", "HadamardResponse", "SquareWave", "Laplace"],
)
def test_what_is_said_of_such_estimates_is_finite_and_in_order(name: str, epsilon: float) -> None:
    """Intervals of all kinds, summaries and JSON. Rejects a bootstrap that divides by the sum of
    unbiased estimates, which may be 0.
    """
    mechanism = _mechanism(name, 3, epsilon)
    for data in _extremes(mechanism):
        for method in (
            warner.Inversion(),
            warner.Inversion("base-cut"),
            warner.MaximumLikelihood(),
            warner.EmpiricalBayes(),
        ):
            try:
                found = Estimate(method.fit(data), data, method)
            except warner.errors.IdentifiabilityError:
                continue
            json.dumps(found.to_json(), allow_nan=False)
            bounds = [found.interval(target=target) for target in ("population", "respondents")]
            if isinstance(method, warner.Inversion):
                rng = np.random.default_rng(0)
                bounds += [
                    found.interval(kind="bootstrap", replicates=20, rng=rng),
                    found.mean().interval(replicates=20, rng=rng)[None],
                ]
                bounds += [
                    found.variance().interval(replicates=20, rng=rng)[None],
                    found.quantile(0.5).interval(replicates=20, rng=rng)[None],
                ]
            if found.fit.posterior is not None:
                bounds.append(found.interval(kind="posterior"))
            for each in bounds:
                assert np.isfinite(each).all() and (each[:, 0] <= each[:, 1]).all(), (method, each)
            said = [
                found.mean(),
                found.variance(),
                *(found.quantile(q) for q in (0.0, 0.5, 1.0)),
                found.range(0, 0),
                found.range(0, 2),
            ]
            assert np.isfinite(np.array(said, dtype=float)).all()
            if found.status is not Status.OUTSIDE_SIMPLEX:
                assert np.isfinite(quantiles(found.probabilities, [0.0, 1.0], [0, 1, 2])).all()


def test_unbiased_estimates_that_are_all_zero_have_a_bootstrap() -> None:
    """As many reports for every value as against it. Rejects a plug-in that is the estimate divided
    by its sum.
    """
    mechanism = warner.HadamardResponse(Integers(0, 2), 1.0)
    channel = mechanism.channel()
    data = LikelihoodData(
        channel, np.full(channel.shape[0], 1 / channel.shape[0]), 4, mechanism.domain
    )
    found = Estimate(warner.Inversion().fit(data), data, warner.Inversion())
    assert found.probabilities.tolist() == [0, 0, 0] and found.status is Status.OUTSIDE_SIMPLEX
    assert np.isfinite(
        found.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0))
    ).all()
