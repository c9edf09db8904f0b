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


def test_walsh_transforms_of_counts_are_exact() -> None:
    """Sums of integers below 2^53 are not rounded, whatever their order."""
    counts = np.random.default_rng(3).integers(0, 2**40, (2048, 3))
    expected = hadamard(2048, dtype=np.int64) @ counts
    assert (walsh(counts) == expected).all()
    assert (walsh(counts[:, 0]) == expected[:, 0]).all()
