"""The Walsh-Hadamard transform against its matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard

from warner.channels import walsh


@pytest.mark.parametrize("order", [1, 2, 8, 64])
def test_walsh_transform(order: int) -> None:
    values = np.random.default_rng(order).random(order)
    assert walsh(values) == pytest.approx(hadamard(order) @ values, abs=1e-12)
