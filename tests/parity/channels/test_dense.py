"""The inverse of a tall matrix is the one of least variance."""

from __future__ import annotations

import numpy as np

from warner.channels import DenseChannel


def test_the_inverse_of_a_tall_matrix_is_the_one_of_least_variance() -> None:
    """At the uniform distribution, over all left inverses; plain least squares, which ignores how
    rare a report is, has more.
    """
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.r_[np.full(5, 5.0), np.full(5, 0.3)], 3).T
    channel = DenseChannel(matrix)
    uniform = np.full(3, 1 / 3)
    plain = np.linalg.pinv(matrix)
    best, simple = channel.variance(uniform), plain**2 @ (matrix @ uniform) - uniform**2
    assert (best <= simple + 1e-12).all() and best.sum() < 0.9 * simple.sum()
    for seed in range(20):  # any other left inverse is this one plus something in the null space
        other = np.random.default_rng(seed).normal(size=(3, 10))
        moved = channel.invert(np.eye(10)) + 0.1 * other @ (np.eye(10) - matrix @ plain)
        assert (moved**2 @ (matrix @ uniform) - uniform**2 >= best - 1e-12).all()
