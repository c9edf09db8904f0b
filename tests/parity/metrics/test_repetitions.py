"""Divergence, errors of moments, and errors over runs, against loops and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import warner
from warner import metrics


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
    with pytest.raises(warner.errors.ArgumentError, match="Project"):
        metrics.kullback_leibler([1.1, -0.1], [0.5, 0.5])


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
        with pytest.raises(warner.WarnerError):
            call()


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
    assert found.difference / found.margin == pytest.approx(test.statistic)
    assert found.correlation == pytest.approx(stats.pearsonr(first, second).statistic)
    same = metrics.paired_errors(first, first)
    assert (
        same.difference == 0 and same.correlation == pytest.approx(1) and math.isnan(same.p_value)
    )
    assert math.isnan(metrics.paired_errors([1.0, 1.0], [2.0, 3.0]).correlation)
    assert metrics.paired_errors([1.0, 2.0], [2.0, 3.0]).p_value == 0


def test_wrong_runs_are_refused() -> None:
    for call in (
        lambda: metrics.bias_variance([0.5, 0.5], [0.5, 0.5]),
        lambda: metrics.bias_variance([0.5, 0.5], [[0.5, 0.5]], unbiased=True),
        lambda: metrics.bias_variance([0.5, 0.5], [[np.nan, 0.5]]),
        lambda: metrics.bias_variance([0.5, 0.5], np.zeros((0, 2))),
        lambda: metrics.paired_errors([1.0], [1.0]),
        lambda: metrics.paired_errors([1.0, 2.0], [1.0]),
        lambda: metrics.paired_errors([1.0, np.inf], [1.0, 2.0]),
    ):
        with pytest.raises(warner.WarnerError):
            call()
