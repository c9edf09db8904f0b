"""Distances against slow definitions of the same: a linear programme, a fine grid, a loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import warner
from warner import metrics


def _programme(p: np.ndarray, q: np.ndarray, points: np.ndarray) -> float:
    """min <T, distance> with row sums p and column sums q, as a linear programme."""
    size = p.size
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    rows, columns = np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))
    solved = linprog(
        distance.ravel(), A_eq=np.vstack([rows, columns])[:-1], b_eq=np.concatenate([p, q])[:-1]
    )
    return float(solved.fun)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_earth_movers_distance_is_the_linear_programme(seed: int, dimension: int) -> None:
    rng = np.random.default_rng(seed)
    size = 4 + 3 * seed
    p, q = rng.dirichlet(np.full(size, 0.4)), rng.dirichlet(np.full(size, 0.4))
    points = rng.normal(size=(size, dimension))
    exact = _programme(p, q, points)
    assert metrics.earth_movers(p, q, points) == pytest.approx(exact, rel=1e-7)
    assert metrics.earth_movers(3 * p, 3 * q, 2 * points) == pytest.approx(6 * exact, rel=1e-7)
    assert metrics.earth_movers(q, p, points) == pytest.approx(exact, rel=1e-7)


def test_earth_movers_distance_on_a_line_is_wasserstein1_and_the_same_on_a_grid_of_one_row() -> (
    None
):
    rng = np.random.default_rng(5)
    for size in (2, 7, 50):
        p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
        exact = metrics.wasserstein1(p, q, spacing=0.5)
        assert metrics.earth_movers(p, q, 0.5 * np.arange(size)) == pytest.approx(exact, rel=1e-12)
        assert metrics.earth_movers(p, q, warner.Grid(1, size, 0.5).points) == pytest.approx(
            exact, rel=1e-9
        )
        mixed = rng.permutation(size)
        assert metrics.earth_movers(p[mixed], q[mixed], 0.5 * mixed) == pytest.approx(
            exact, rel=1e-12
        )


def test_range_and_quantile_errors_are_their_loops() -> None:
    rng = np.random.default_rng(6)
    p, q, points = rng.dirichlet(np.ones(11)), rng.dirichlet(np.ones(11)), np.sort(rng.random(11))
    for width in (1, 3, 11):
        loop = [abs(sum(p[i + j] - q[i + j] for j in range(width))) for i in range(11 - width + 1)]
        assert metrics.range_error(p, q, width) == pytest.approx(np.mean(loop))
    assert metrics.range_error(p, q, 0.21) == metrics.range_error(p, q, 3)

    def first(shares: np.ndarray, share: float) -> float:
        return next(x for i, x in enumerate(points) if shares[: i + 1].sum() >= share - 1e-12)

    qs = np.arange(1, 10) / 10
    loop = [abs(first(p, share) - first(q, share)) for share in qs]
    assert metrics.quantile_error(p, q, qs, points) == pytest.approx(np.mean(loop))
