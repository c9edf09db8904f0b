"""Errors over repeated runs: bias and variance, and two methods on the same runs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import distribution, numbers_of
from warner._core.errors import ArgumentError


class BiasVariance(NamedTuple):
    """The expected sum of squared errors as a sum of two terms.

    Attributes:
        squared_bias: |E estimate - truth|^2.
        variance: E |estimate - E estimate|^2.
        error: E |estimate - truth|^2, their sum.
    """

    squared_bias: float
    variance: float
    error: float


def bias_variance(truth: Any, estimates: Any, unbiased: bool = False) -> BiasVariance:
    """Return squared bias, variance and expected squared error over R runs.

        error = (1/R) sum_r |p_r - truth|^2 = |mean(p) - truth|^2 + (1/R) sum_r |p_r - mean(p)|^2

    The first term is the squared bias, and the second is the variance. Let V be the true variance
    of one estimate. On average, the first term is too large by V / R, and the second is too small
    by V / R. ``unbiased=True`` corrects both terms, and their sum stays the same:

        variance = R / (R - 1) times the second term,   squared bias = error - variance

    The corrected squared bias can be negative. The R runs then give no evidence of a bias.

    Args:
        truth: (K,) a distribution.
        estimates: (R, K), the estimates of R runs.
        unbiased: whether both terms are right on average; R is then at least 2.

    Returns:
        BiasVariance: sums over the K values.

    Raises:
        ArgumentError: estimates of another shape, not finite, or too few.

    Source: [P1 eqs 4-6].

    >>> bias_variance([0.5, 0.5], [[0.75, 0.25], [0.5, 0.5]])
    BiasVariance(squared_bias=0.03125, variance=0.03125, error=0.0625)
    """
    shares = distribution("truth", truth)
    runs = numbers_of("estimates", estimates)
    if runs.ndim != 2 or runs.shape[1] != shares.size or not np.isfinite(runs).all():
        rule = f"must be finite, of shape (R, {shares.size})"
        raise ArgumentError("estimates", rule, str(runs.shape))
    count = len(runs)
    if count < 1 + unbiased:
        raise ArgumentError("estimates", f"must be of {1 + unbiased} runs or more")
    mean = runs.mean(axis=0)
    squared_bias = float(((mean - shares) ** 2).sum())
    variance = float(((runs - mean) ** 2).sum() / count)
    error = squared_bias + variance
    if not unbiased:
        return BiasVariance(squared_bias, variance, error)
    variance *= count / (count - 1)
    return BiasVariance(error - variance, variance, error)


class PairedErrors(NamedTuple):
    """How the errors of two methods on the same runs compare.

    Attributes:
        difference: the mean of the first method's error minus the second's.
        margin: the standard error of that mean.
        correlation: Pearson's r of the errors; NaN where a method's errors are all equal.
        p_value: of the paired t-test that the mean difference is 0, two-sided; NaN where all
            differences are 0.
    """

    difference: float
    margin: float
    correlation: float
    p_value: float


def paired_errors(first: Any, second: Any) -> PairedErrors:
    """Return the comparison of two methods' errors on the same R runs.

        t = mean(d) / (sd(d) / sqrt(R)),   d_r = first_r - second_r,   R - 1 degrees of freedom

    Args:
        first: (R,) errors, R at least 2.
        second: (R,) errors on the same runs.

    Raises:
        ArgumentError: errors of other shapes, or not finite.

    Source: [P1 sec 5.2, fig 9].

    >>> found = paired_errors([1.0, 2.0, 3.0], [0.5, 2.0, 2.0])
    >>> found.difference, round(found.p_value, 3)
    (0.5, 0.225)
    """
    a, b = numbers_of("first", first), numbers_of("second", second)
    if a.ndim != 1 or a.size < 2 or a.shape != b.shape or not np.isfinite([a, b]).all():
        rule = "must both be finite, of one shape (R,), R at least 2"
        raise ArgumentError("first and second", rule, f"{a.shape} and {b.shape}")
    difference = a - b
    mean = float(difference.mean())
    margin = float(difference.std(ddof=1)) / math.sqrt(a.size)
    spread = float(a.std() * b.std())
    covariance = float(((a - a.mean()) * (b - b.mean())).mean())
    correlation = min(1.0, max(-1.0, covariance / spread)) if spread > 0 else math.nan
    if margin > 0:
        from scipy.special import stdtr

        p_value = float(2 * stdtr(a.size - 1, -abs(mean / margin)))
    else:
        p_value = math.nan if mean == 0 else 0.0
    return PairedErrors(mean, margin, correlation, p_value)
