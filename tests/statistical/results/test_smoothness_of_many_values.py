"""Whether the default keeps the log-spline on very many values. Seeded, so that nothing flakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, LogSpline, MaximumLikelihood
from warner.estimators.likelihood_data import LikelihoodData
from warner.results.recommend import rules_out


@pytest.mark.parametrize(
    "make",
    [
        lambda d: warner.UnaryEncoding(d, 2.0, keep="optimized"),
        lambda d: warner.RandomizedResponse(d, 8.0),
    ],
    ids=["bits", "values"],
)
def test_a_smooth_shape_is_not_ruled_out_and_a_rough_one_is(make: Any) -> None:
    """Rejected: the plain chi-square limit, which rules out smooth shapes of 50,000 values, and a
    rule that never rules out.
    """
    size, n = 50_000, 100_000
    channel = make(Integers(0, size - 1)).channel()
    x = (np.arange(size) + 0.5) / size
    smooth = np.exp(-((x - 0.4) ** 2) / 0.02)
    rough = np.where(np.arange(size) % 500 == 0, 1.0, 1e-6)
    for truth, expected in ((smooth, False), (rough, True)):
        w = channel.simulate(truth / truth.sum(), n, np.random.default_rng(6))
        data = LikelihoodData(channel, w, n, Integers(0, size - 1))
        assert rules_out(LogSpline().fit(data), MaximumLikelihood().fit(data)) is expected
