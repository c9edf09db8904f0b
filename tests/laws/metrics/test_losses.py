"""Metrics take shares that sum to one within rounding."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Integers
from warner.metrics import earth_movers, quantiles, sum_of_squares
from warner.theory import expected_loss

pytestmark = pytest.mark.filterwarnings("error")


def test_metrics_take_shares_that_sum_to_one_within_rounding() -> None:
    theta = np.full(3, 1 / 3) * (1 + 9e-13)
    assert sum_of_squares(theta, np.full(3, 1 / 3)) < 1e-20 and quantiles(
        theta, [1.0], [0, 1, 2]
    ).tolist() == [2.0]
    assert earth_movers(theta, np.full(3, 1 / 3), [0, 1, 2]) < 1e-11
    assert expected_loss(Integers(0, 2), theta, 10) > 0
