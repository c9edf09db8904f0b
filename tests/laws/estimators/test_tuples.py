"""Every estimator runs on several reports of one person."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import COMBINED, ESTIMATORS


@pytest.mark.parametrize("name", ["RR x OUE x OLH", "RR three times", "RR, OUE, OLH"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_run_on_tuples(name: str, estimator: warner.estimators.Estimator) -> None:
    """Or say why not; those that are neither baselines nor smooth find the truth."""
    mechanism = COMBINED[name](3.0)
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 0.5))
    tally = mechanism.tally(
        mechanism.randomize(mechanism.domain.decode(rng.choice(theta.size, 20_000, p=theta)), rng)
    )
    try:
        result = warner.estimate(tally, estimator)
    except (
        warner.errors.ArgumentError,
        warner.errors.ArgumentTypeError,
        warner.errors.IdentifiabilityError,
    ) as error:
        # Those seen of several bits are not simulated; a tuple of attributes has no order.
        simulated = (
            isinstance(estimator, warner.estimators.literature.BiasCorrection)
            and name == "RR, OUE, OLH"
        )
        assert simulated or isinstance(
            estimator,
            warner.estimators.Observed
            | warner.estimators.literature.SmoothedEM
            | warner.LogSpline
            | warner.estimators.literature.WienerFilter,
        ), error
        return
    assert result.probabilities.shape == theta.shape and np.isfinite(result.probabilities).all()
    if isinstance(
        estimator,
        warner.Inversion | warner.MaximumLikelihood | warner.estimators.literature.MixtureReduction,
    ):
        assert result.probabilities == pytest.approx(
            theta, abs=0.15 if estimator == warner.Inversion("base-cut") else 0.06
        )
    bounds = result.interval()
    assert (bounds[:, 0] <= bounds[:, 1]).all()
