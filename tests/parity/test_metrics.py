"""Distances against slow definitions of the same: a linear programme, a fine grid, a loop."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

import warner
from tests.refusals import refused
from warner import metrics
from warner.errors import ArgumentError, WarnerError
from warner.metrics import jensen_shannon, norm_cut, normalize, project, threshold


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


# The projection of several columns against that of each.


def test_several_columns_are_projected_as_each_alone() -> None:
    columns = np.random.default_rng(0).normal(0.1, 0.4, (7, 20))
    columns[:, 3] = columns[0, 3]  # ties
    each = np.stack([project(column) for column in columns.T], axis=1)
    assert (project(columns) == each).all() and np.allclose(each.sum(axis=0), 1)


# Divergence, errors of moments, and errors over runs, against loops and SciPy.


def test_divergence_is_its_sum_with_the_conventions_for_zeros() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(9))
    assert metrics.kullback_leibler(p, q) == pytest.approx(stats.entropy(p, q))
    middle = (p + q) / 2
    halves = metrics.kullback_leibler(p, middle) + metrics.kullback_leibler(q, middle)
    assert metrics.jensen_shannon(p, q) == pytest.approx(halves / 2)
    assert metrics.kullback_leibler([0, 1, 0], [0, 0.5, 0.5]) == pytest.approx(math.log(2))
    assert metrics.kullback_leibler([0.5, 0.5], [1, 0]) == math.inf
    assert metrics.kullback_leibler(p, p) == 0
    tiny = [5e-324, 1 - 5e-324]
    assert math.isfinite(metrics.kullback_leibler(tiny, tiny[::-1]))
    refused(ArgumentError, "Inversion", metrics.kullback_leibler, [1.1, -0.1], [0.5, 0.5])


def test_errors_of_mean_and_variance_are_their_loops() -> None:
    rng = np.random.default_rng(1)
    p, q, points = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7)), rng.normal(size=7)

    def moments(shares: np.ndarray) -> tuple[float, float]:
        mean = sum(s * x for s, x in zip(shares, points, strict=True))
        return mean, sum(s * (x - mean) ** 2 for s, x in zip(shares, points, strict=True))

    assert metrics.mean_error(p, q, points) == pytest.approx(abs(moments(p)[0] - moments(q)[0]))
    assert metrics.variance_error(p, q, points) == pytest.approx(abs(moments(p)[1] - moments(q)[1]))
    places = rng.normal(size=(7, 2))
    assert metrics.mean_error(p, q, places) == pytest.approx(math.dist(p @ places, q @ places))
    # The mean is linear, so estimates outside the simplex are taken as they are.
    assert metrics.mean_error([1.0, 0.0], [1.5, -0.5], [0, 10]) == 5
    for call in (
        lambda: metrics.variance_error(p, q, places),
        lambda: metrics.variance_error([1.0, 0.0], [1.5, -0.5], [0, 1]),
        lambda: metrics.mean_error(p, q, points[1:]),
    ):
        refused(WarnerError, "", call)


def test_bias_and_variance_add_up_to_the_error() -> None:
    rng = np.random.default_rng(2)
    truth, runs = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5), 11)
    error = np.mean([metrics.sum_of_squares(truth, run) for run in runs])
    for unbiased in (False, True):
        parts = metrics.bias_variance(truth, runs, unbiased=unbiased)
        assert parts.squared_bias + parts.variance == pytest.approx(parts.error)
        assert parts.error == pytest.approx(error)
        assert parts.variance == pytest.approx(runs.var(axis=0, ddof=unbiased).sum())


def test_the_unbiased_parts_are_right_on_average_over_few_runs() -> None:
    """Three runs of an estimate with squared bias 0.02 and variance 0.5, 6000 times. The plain
    parts are 0.167 too large and too small, which is 20 standard errors.
    """
    rng, truth = np.random.default_rng(3), np.array([0.5, 0.5])
    runs = rng.normal(truth + 0.1, 0.5, size=(6000, 3, 2))
    found = np.array([metrics.bias_variance(truth, each, unbiased=True)[:2] for each in runs])
    margin = 4 * found.std(axis=0) / math.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - [0.02, 0.5]) < margin).all() and margin.max() < 0.04
    plain = np.array([metrics.bias_variance(truth, each)[:2] for each in runs[:1500]])
    assert plain.mean(axis=0) == pytest.approx([0.02 + 0.5 / 3, 0.5 - 0.5 / 3], abs=0.03)


def test_paired_errors_are_the_paired_t_test() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.exponential(size=30), rng.exponential(size=30)
    found = metrics.paired_errors(first, second)
    test = stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(test.pvalue)
    assert found.difference / found.standard_error == pytest.approx(test.statistic)
    assert found.correlation == pytest.approx(stats.pearsonr(first, second).statistic)
    same = metrics.paired_errors(first, first)
    assert same.difference == 0 and same.correlation == pytest.approx(1)
    assert math.isnan(same.p_value)
    assert math.isnan(metrics.paired_errors([1.0, 1.0], [2.0, 3.0]).correlation)
    assert metrics.paired_errors([1.0, 2.0], [2.0, 3.0]).p_value == 0


def test_wrong_runs_are_refused() -> None:
    half = [0.5, 0.5]
    for call, said in (
        (lambda: metrics.bias_variance(half, half), "estimates: must be rows of 2 numbers"),
        (lambda: metrics.bias_variance(half, [half], unbiased=True), "at least 2 runs; got 1"),
        (lambda: metrics.bias_variance(half, [[np.nan, 0.5]]), "estimates: must be finite"),
        (lambda: metrics.bias_variance(half, np.zeros((0, 2))), "at least 1 run; got 0"),
        (lambda: metrics.paired_errors([1.0], [1.0]), "at least 2 in each"),
        (lambda: metrics.paired_errors([1.0, 2.0], [1.0]), "two equally long lists"),
        (lambda: metrics.paired_errors([1.0, np.inf], half), "first: must be finite; got NaN or"),
    ):
        refused(WarnerError, said, call)


# Projections and other post-processing against their definitions.


@pytest.mark.parametrize("seed", range(20))
def test_projection_satisfies_its_optimality_conditions(seed: int) -> None:
    """p = argmin |p - v|^2 on the simplex iff v - p is constant on the support and no larger off
    it.
    """
    v = np.random.default_rng(seed).normal(0.1, 0.3, 1 + seed)
    p = project(v)
    assert p.sum() == pytest.approx(1, abs=1e-12) and (p >= 0).all()
    slack = v - p
    on = p > 0
    assert slack[on] == pytest.approx(np.full(on.sum(), slack[on][0]), abs=1e-12)
    assert (slack[~on] <= slack[on][0] + 1e-12).all()


def test_post_processing_at_its_edges() -> None:
    negative = np.array([-0.5, -0.1, -0.4])
    assert project(negative) == pytest.approx(negative + 2 / 3)
    assert normalize(negative).tolist() == [1 / 3] * 3
    assert norm_cut(negative).tolist() == [0, 0, 0]
    assert norm_cut(np.array([1.4, 0.2])).tolist() == [1, 0]
    whole = np.array([0.4, 0.25, 0.2, 0.1, 0.05]) + 1e-16
    assert (norm_cut(whole[::-1]) > 0).all(), "rounding must not cost the last share"
    assert threshold(np.array([0.9, 0.4, 0.0]), np.full(3, 0.01)) == pytest.approx(
        [0.9 / 1.3, 0.4 / 1.3, 0]
    )
    assert threshold(np.array([0.4, 0.4]), np.full(2, 0.01)) == pytest.approx([0.5, 0.5])
    assert threshold(np.array([0.3, 0.0, 0.0]), np.zeros(3)) == pytest.approx([0.3, 0.35, 0.35])
    # Threshold by the slow rule: above z(1 - alpha / K) sd.
    v, sd = np.array([0.30, 0.25, 0.20, -0.1]), np.full(4, 0.1)
    z = 2.2414027276  # the 0.9875 quantile
    assert threshold(v, sd) == pytest.approx([0.30, 0.25, 0.225, 0.225]) and 0.25 > z * 0.1 > 0.20


def test_pure_python_projection() -> None:
    """By bisection on the number that is subtracted."""
    v = np.random.default_rng(3).normal(0, 1, 50)
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    assert project(v) == pytest.approx(np.maximum(v - low, 0), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6, 1e12, 1e18])
def test_projections_sum_to_one_at_every_scale(scale: float) -> None:
    """Rejects the sum without the largest taken off first: it loses the 1 in entries of 1e6, and
    finds nothing to keep in those of 1e18.
    """
    for seed in range(20):
        v = scale * np.random.default_rng(seed).normal(size=5)
        for entries in (v, v - v.mean(), v + 1 - v.sum(), np.repeat(v[:1], 5)):
            found = project(entries)
            assert abs(found.sum() - 1) <= 1e-12 and (found >= 0).all()
            assert found.argmax() == entries.argmax() or found.max() == found[entries.argmax()]


@pytest.mark.parametrize("seed", range(10))
def test_post_processing_is_its_definition(seed: int) -> None:
    """[P3 app. E] and [P2 sec 6] word by word."""
    v = np.random.default_rng(seed).normal(0.08, 0.15, 12)
    kept, total = np.zeros(12), 0.0  # Norm-Cut: in decreasing order, until the total is reached
    for x in sorted(range(12), key=lambda x: -v[x]):
        if v[x] <= 0 or total + v[x] > 1:
            break
        kept[x] = v[x]
        total += v[x]
    if total > 0:
        assert norm_cut(v) == pytest.approx(kept, abs=1e-15)
    # Norm-Sub: negatives to 0, a constant added to the rest, until the sum is 1 with none negative
    shares = v.copy()
    for _ in range(50):
        shares = np.maximum(shares, 0)
        on = shares > 0
        shares[on] += (1 - shares.sum()) / on.sum()
    if v.sum() >= 1 or np.maximum(v, 0).sum() >= 1:
        assert project(v) == pytest.approx(shares, abs=1e-12)
    limit = NormalDist().inv_cdf(1 - 0.05 / 12) * 0.1  # emp+thr
    large = [x for x in range(12) if v[x] > limit]
    left = 1 - sum(v[x] for x in large)
    expected = [v[x] if x in large else max(left, 0.0) / (12 - len(large)) for x in range(12)]
    expected = [share / max(1.0, 1 - left) for share in expected]
    assert threshold(v, np.full(12, 0.1)) == pytest.approx(expected, abs=1e-12)


# Distances between distributions with shares as small as floats can be.


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
