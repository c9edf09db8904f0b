"""Distances between distributions with shares as small as floats can be."""

from __future__ import annotations

import numpy as np

from warner.metrics import jensen_shannon


def test_the_divergence_is_finite_at_the_least_floats_and_the_same_elsewhere() -> None:
    least = 5e-324
    assert jensen_shannon([1.0, least], [1.0, 0.0]) == 0
    assert jensen_shannon([1.0, least], [0.5, 0.5]) == jensen_shannon([1.0, 0.0], [0.5, 0.5])
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.full(9, 0.1), 2)
        m = (p + q) / 2
        halves = [a[a > 0] @ np.log(a[a > 0] / m[a > 0]) for a in (p, q)]
        np.testing.assert_allclose(jensen_shannon(p, q), sum(halves) / 2, rtol=1e-12)
