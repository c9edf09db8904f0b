"""Reports beyond the values count for the nearest value."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.channels import GeometricChannel


def test_reports_beyond_the_values_count_for_the_nearest() -> None:
    channel = GeometricChannel(3, 0.5, 1, 2)
    assert channel.naive_estimate(np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])) == pytest.approx(
        [0.3, 0.3, 0.4]
    )
    with pytest.raises(warner.errors.ArgumentError, match="ratio"):
        GeometricChannel(1, 0.5)
