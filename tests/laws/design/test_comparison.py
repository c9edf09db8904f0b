"""Rankings of methods where tallies are smallest or methods are the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

import warner
from tests.registry import ESTIMATORS
from warner import Integers
from warner.design.comparison import compare

pytestmark = pytest.mark.filterwarnings("error")


SLOW = (warner.estimators.literature.BiasCorrection, warner.LogSpline)  # their bootstraps


EPSILONS = [1e-6, 1.0, 20.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_methods_are_compared_on_two_reports(epsilon: float) -> None:
    coin = warner.RandomizedResponse(Integers(0, 1), epsilon)
    found = compare(
        coin.tally(coin.randomize([0, 0], np.random.default_rng(0))),
        [m for m in ESTIMATORS if not isinstance(m, SLOW)][:8],
        runs=2,
    )
    json.dumps(found.to_json(), allow_nan=False)
    assert all(
        np.isfinite([line.error, line.margin, line.excess_error]).all() for line in found.results
    )


def test_methods_that_differ_by_rounding_alone_win_alike() -> None:
    """With one report a value the maximum of the likelihood and the projection are both the corner.
    Rejects wins that are decided by rounding.
    """
    coin = warner.RandomizedResponse(Integers(0, 1), 1.0)
    found = compare(
        coin.tally(coin.randomize([0] * 50, np.random.default_rng(0))),
        [warner.MaximumLikelihood(), warner.Inversion("project")],
        runs=5,
    )
    assert [line.best_share for line in found.results] == [1.0, 1.0]
    assert [line.method for line in found.results] == [
        warner.MaximumLikelihood(),
        warner.Inversion("project"),
    ]
