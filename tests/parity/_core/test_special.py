"""The probabilities that need NumPy alone against those of SciPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import special, stats

from warner._core import special as _special
from warner._core.special import (
    bdtr,
    bdtrc,
    binomial_pmf,
    chdtrc,
    gammainc,
    ndtr,
    ndtri,
    positive_solver,
    xlogy,
)


def test_normal_probabilities_and_quantiles() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-30, 8, 500)
    np.testing.assert_allclose(ndtr(x), special.ndtr(x), rtol=1e-12)
    p = np.concatenate([rng.random(500), 10 ** -rng.uniform(0, 300, 500), [0.075, 0.5, 0.925]])
    np.testing.assert_allclose(ndtri(p), special.ndtri(p), rtol=1e-13, atol=1e-15)


def test_chi_square_of_whole_degrees() -> None:
    for degrees in range(1, 40):
        for x in (0.0, 1e-3, 0.5, 3.0, 30.0, 300.0):
            assert chdtrc(degrees, x) == pytest.approx(special.chdtrc(degrees, x), rel=1e-12)
    for degrees in (2_000, 2_001):  # exp(-x / 2) alone is 0
        for x in (1_900.0, 2_000.0, 2_300.0, 9_000.0):
            assert chdtrc(degrees, x) == pytest.approx(special.chdtrc(degrees, x), rel=1e-9)


def test_gamma_from_tiny_shapes_to_large_ones() -> None:
    a = np.array([0.05, 0.5, 1.0, 4.0, 12.0, 15.9, 16.0, 50.0, 300.0])[:, None]
    x = np.concatenate([[0.0], np.geomspace(1e-8, 1e6, 300), [np.inf]])
    np.testing.assert_allclose(gammainc(a, x), special.gammainc(a, x), rtol=1e-11, atol=1e-14)


def test_gamma_of_many_points_takes_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a fraction that goes on until all points are within rounding at the same step."""
    steps = []

    def counted(*ends: int) -> Iterator[int]:
        for step in range(*ends):
            steps.append(step)
            yield step

    monkeypatch.setattr(_special, "range", counted, raising=False)
    a, x = np.array([0.1, 0.2, 1.7, 5.0, 9.9])[:, None], np.geomspace(1.2, 50, 3000)
    np.testing.assert_allclose(gammainc(a, x), special.gammainc(a, x), rtol=1e-13)
    assert max(steps) < 300


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.5, 0.8, 0.999])
def test_binomial_tails_near_the_mean_and_far_from_it(n: int, p: float) -> None:
    steps = np.sqrt(n * p * (1 - p)) * np.array([-30, -8, -3, -1, 0, 1, 3, 8, 30])
    k = np.unique(np.clip(np.rint(n * p + steps), 0, n))
    law = stats.binom(n, p)
    np.testing.assert_allclose(binomial_pmf(k, n, p), law.pmf(k), rtol=1e-7, atol=1e-290)
    np.testing.assert_allclose(bdtr(k, n, p), law.cdf(k), rtol=1e-7, atol=1e-290)
    np.testing.assert_allclose(bdtrc(k, n, p), law.sf(k), rtol=1e-7, atol=1e-290)
    assert bdtr(0, n, 0.0) == bdtrc(0, n, 1.0) == 1 and bdtr(n - 1, n, 1.0) == 0
    assert bdtrc(-1, n, p) == bdtr(n, n, p) == 1 and bdtrc(n, n, p) == 0


def test_xlogy_of_nothing_is_nothing() -> None:
    x, y = np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 5.0])
    np.testing.assert_allclose(xlogy(x, y), special.xlogy(x, y))


@pytest.mark.parametrize("size", [1, 5, 64, 65, 200])
def test_positive_systems_are_solved_and_others_refused(size: int) -> None:
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    matrix, right = root @ root.T + np.eye(size), rng.normal(size=size)
    solve = positive_solver(matrix)
    assert solve is not None
    np.testing.assert_allclose(matrix @ solve(right), right, atol=1e-8)
    assert positive_solver(matrix - 2 * np.linalg.eigvalsh(matrix)[-1] * np.eye(size)) is None
