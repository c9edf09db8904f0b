"""EM against the textbook's step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import warner
from tests.parity.estimators.mle._oracle import _evidence
from tests.registry import MECHANISMS


@pytest.mark.parametrize("name", MECHANISMS)
def test_em_is_the_textbooks_step_for_step(name: str) -> None:
    data = _evidence(name, 5, 400, 1.0)
    dense, w = data.channel.dense(), data.weights
    theta = np.full(5, 0.2)
    values = []
    for steps in range(1, 8):
        posterior = dense * theta / (dense @ theta)[:, None]
        # Rows that are parts of reports: the step is as many times as long as a report has rows.
        theta = theta + data.channel.rows_per_report * (w @ posterior - theta)
        theta = theta / theta.sum()
        fit = warner.ExpectationMaximization(steps).fit(data)
        assert fit.probabilities == pytest.approx(theta, abs=1e-12)
        assert fit.status is warner.Status.STOPPED and fit.iterations == steps
        values.append(fit.log_likelihood)
    assert all(b >= a - 1e-9 for a, b in pairwise(values))
    path = warner.ExpectationMaximization(7, keep_path=True).fit(data).path
    assert path is not None and path.shape == (8, 2)
    assert path[1:, 0] == pytest.approx(values)
    assert path[3, 1] == pytest.approx(warner.ExpectationMaximization(3).fit(data).gap)
