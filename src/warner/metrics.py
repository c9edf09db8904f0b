"""Losses between distributions, as pure functions of arrays.

``p`` and ``q`` are (K,), in the same order of values. An estimate need not sum to 1 unless a
function says so. All functions raise ArgumentTypeError for arguments that are no numbers, and
ArgumentError for other shapes, NaN and infinity.
"""

from __future__ import annotations

import math
import warnings
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import (
    distribution,
    integer,
    kind,
    numbers_of,
    probability,
    real,
    refuse_labels,
    show,
)
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.extras import not_installed, scipy

__all__ = [
    "ROUNDING",
    "BiasVariance",
    "PairedErrors",
    "bias_variance",
    "cramers_v",
    "cumulative",
    "earth_movers",
    "jensen_shannon",
    "kullback_leibler",
    "l1",
    "mean_absolute_error",
    "mean_error",
    "mean_squared_error",
    "paired_errors",
    "quantile_error",
    "quantiles",
    "range_error",
    "shares",
    "sum_of_squares",
    "total_variation",
    "variance_error",
    "wasserstein1",
    "norm_cut",
    "normalize",
    "project",
    "threshold",
]


def _require_finite(name: str, array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        raise ArgumentError(name, "must be finite", "NaN or infinity")


def _pair(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays (K,) of finite floats."""
    arrays = []
    for name, value in (("p", p), ("q", q)):
        refuse_labels(name, value)
        array = numbers_of(name, value)
        if array.ndim != 1 or array.size == 0:
            raise ArgumentError(
                name, "must be one-dimensional, with at least one number", str(array.shape)
            )
        _require_finite(name, array)
        arrays.append(array)
    if arrays[0].size != arrays[1].size:
        rule = f"must have as many numbers as p, which has {arrays[0].size}"
        raise ArgumentError("q", rule, str(arrays[1].size))
    return arrays[0], arrays[1]


def l1(p: Any, q: Any) -> float:
    """Return sum_x |p_x - q_x|.

    >>> l1([0.5, 0.5], [1.0, 0.0])
    1.0
    """
    p, q = _pair(p, q)
    return float(np.abs(p - q).sum())


def total_variation(p: Any, q: Any) -> float:
    """Return l1(p, q) / 2, the total variation distance.

    For distributions it is the largest difference in probability of any event.

    >>> total_variation([0.5, 0.5], [1.0, 0.0])
    0.5
    """
    return l1(p, q) / 2


def sum_of_squares(p: Any, q: Any) -> float:
    """Return sum_x (p_x - q_x)^2, which [P1] and [P2] call the mean squared error.

    >>> sum_of_squares([0.5, 0.5], [1.0, 0.0])
    0.5
    """
    p, q = _pair(p, q)
    return float(((p - q) ** 2).sum())


def mean_squared_error(p: Any, q: Any) -> float:
    """Return (1/K) sum_x (p_x - q_x)^2, as in [P3] and [P5].

    >>> mean_squared_error([0.5, 0.5], [1.0, 0.0])
    0.25
    """
    p, q = _pair(p, q)
    return float(((p - q) ** 2).mean())


def mean_absolute_error(truth: Any, estimate: Any, top: float | None = None) -> float:
    """Return (1/K) sum_x |truth_x - estimate_x|, over all values or the most frequent ones [P3].

    Args:
        truth: (K,).
        estimate: (K,).
        top: the share of values, those with the largest truth, to average over, in (0, 1). The
            number of values is rounded up. None for all values.

    >>> mean_absolute_error([0.75, 0.25], [0.5, 0.5], top=0.5)
    0.25
    """
    truth, estimate = _pair(truth, estimate)
    error = np.abs(truth - estimate)
    if top is not None:
        keep = int(np.ceil(probability("top", top) * truth.size))
        error = error[np.argsort(-truth, kind="stable")[:keep]]
    return float(error.mean())


def kullback_leibler(p: Any, q: Any) -> float:
    """Return KL(p | q) = sum_x p_x log(p_x / q_x), in nats.

    A value with p_x = 0 adds 0, also where q_x = 0. Where p_x > 0 and q_x = 0 the divergence is
    infinite. It is not symmetric: p is the truth.

    Args:
        p: (K,), >= 0.
        q: (K,), >= 0.

    Raises:
        ArgumentError: a negative entry.

    Source: [P1 eq 7].

    >>> round(kullback_leibler([0.5, 0.5, 0.0], [0.25, 0.75, 0.0]), 6)
    0.143841
    >>> kullback_leibler([0.5, 0.5], [1.0, 0.0])
    inf
    """
    p, q = _non_negative(*_pair(p, q))
    on = p > 0
    if (q[on] == 0).any():
        return math.inf
    # The difference of logarithms, because a ratio of tiny entries can overflow.
    return float((p[on] * (np.log(p[on]) - np.log(q[on]))).sum())


def jensen_shannon(p: Any, q: Any) -> float:
    """Return JS(p, q) = (KL(p | m) + KL(q | m)) / 2 with m = (p + q) / 2, in 0..ln 2.

    Logarithms are natural, and entries must not be negative.

    >>> round(jensen_shannon([1.0, 0.0], [0.0, 1.0]), 6)  # ln 2
    0.693147
    """
    p, q = _non_negative(*_pair(p, q))
    total = 0.0
    for a, b in ((p, q), (q, p)):
        on = a > 0
        # a / m = 2 a / (a + b); m = (a + b) / 2 itself is 0 where a is the least positive float.
        total += float((a[on] * np.log(2 * (a[on] / (a[on] + b[on])))).sum())
    return total / 2


def _non_negative(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays, refused where an entry is negative."""
    if (p < 0).any() or (q < 0).any():
        rule = "must have no negative numbers for a divergence"
        remedy = "Estimate with Inversion('project'), whose shares are never negative"
        raise ArgumentError("p and q", rule, None, remedy)
    return p, q


def wasserstein1(p: Any, q: Any, spacing: float = 1.0) -> float:
    """Return W1 = spacing * sum_x |P_x - Q_x| with cumulative sums P and Q.

    Args:
        p: (K,), of ordered, equally spaced values.
        q: (K,).
        spacing: the distance of neighbouring values; 1, the default, is the scale of [P3].

    >>> wasserstein1([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    2.0
    """
    p, q = _pair(p, q)
    real("spacing", spacing, above=0)
    return float(np.abs(np.cumsum(p - q)[:-1]).sum() * spacing)


def earth_movers(p: Any, q: Any, points: Any) -> float:
    """Return the earth mover's distance, the least mass times distance that turns p into q.

        EMD(p, q) = min sum_xy T_xy |points_x - points_y|
        over T >= 0 with row sums p and column sums q

    The distance is Euclidean and the minimum is exact. On a line it is the area between the
    cumulative shares.

    Args:
        p: (K,), >= 0.
        q: (K,), >= 0, with the sum of p.
        points: (K,) or (K, d), the coordinates of the values, such as ``domain.points``.

    Raises:
        ArgumentError: a negative entry, different sums, or points of another shape.
        MissingExtraError: points off a line, without the extra ``emd``.

    >>> earth_movers([1.0, 0.0, 0.0], [0.0, 0.5, 0.5], points=[0.0, 1.0, 4.0])
    2.5
    """
    p, q = _pair(p, q)
    where = _points(points, p.size)
    remedy = "Estimate with Inversion('project'), whose shares are at least 0 and sum to 1"
    if (p < 0).any() or (q < 0).any():
        raise ArgumentError("p and q", "must have no negative numbers", None, remedy)
    if abs(p.sum() - q.sum()) > 1e-9 * max(p.sum(), q.sum()):
        raise ArgumentError(
            "q",
            f"must have the same sum as p, which sums to {p.sum():.6g}",
            f"{q.sum():.6g}",
            remedy,
        )
    if where.shape[1] == 1:
        order = np.argsort(where[:, 0], kind="stable")
        return float((np.abs(np.cumsum((p - q)[order])[:-1]) * np.diff(where[order, 0])).sum())
    # By the triangle inequality, mass that p and q have in common at a point need not move.
    supply, demand = np.maximum(p - q, 0.0), np.maximum(q - p, 0.0)
    total = supply.sum()
    if total == 0 or demand.sum() == 0:
        return 0.0
    try:
        with warnings.catch_warnings():
            # An escape in a docstring of POT 0.9.7 warns when Python first compiles it.
            warnings.simplefilter("ignore")
            import ot
    except ImportError:
        raise not_installed("ot", "earth_movers of points that are not on a line") from None
    rows, columns = supply > 0, demand > 0
    distance = np.sqrt(((where[rows][:, None, :] - where[columns][None, :, :]) ** 2).sum(axis=2))
    cost, log = ot.emd2(
        supply[rows] / total, demand[columns] / demand.sum(), distance, numItermax=10**8, log=True
    )
    if log["warning"] is not None:
        raise ArithmeticError("the package POT did not find the distance. Use fewer points")
    return float(cost * total)


def cramers_v(table: Any) -> float:
    """Return Cramer's V, the strength of the association of two attributes, in 0..1.

        V = sqrt(phi^2 / (min(r, c) - 1)),   phi^2 = sum_ij (t_ij - t_i. t_.j)^2 / (t_i. t_.j)

    Rows and columns without mass add nothing to phi^2, but count in r and c.

    Args:
        table: (r, c), a joint distribution or counts: >= 0, not all 0, with r and c at least 2.

    Source: Cramer (1946); [P5 sec 3.5].

    >>> cramers_v([[0.5, 0.0], [0.0, 0.5]]), cramers_v([[10, 20], [30, 60]])
    (1.0, 0.0)
    """
    array = numbers_of("table", table)
    if array.ndim != 2 or min(array.shape) < 2:
        raise ArgumentError("table", "must have at least 2 rows and 2 columns", str(array.shape))
    if not (np.isfinite(array).all() and (array >= 0).all() and array.sum() > 0):
        rule = "must have finite numbers of at least 0, and not only zeros"
        remedy = "Estimate with Inversion('project'), whose shares are never negative"
        raise ArgumentError("table", rule, None, remedy)
    array = array / array.sum()
    even = np.multiply.outer(array.sum(axis=1), array.sum(axis=0))
    square = np.divide((array - even) ** 2, even, out=np.zeros_like(even), where=even > 0).sum()
    return float(np.sqrt(min(1.0, square / (min(array.shape) - 1))))


def _points(points: Any, size: int, line: bool = False) -> np.ndarray:
    """Coordinates (size, d) of finite floats; with ``line``, d must be 1."""
    array = numbers_of("points", points)
    array = array[:, None] if array.ndim == 1 else array
    shape = f"({size},)" if line else f"({size},) or ({size}, d)"
    if (
        array.ndim != 2
        or array.shape[0] != size
        or array.shape[1] < 1
        or (line and array.shape[1] > 1)
    ):
        raise ArgumentError("points", f"must have shape {shape}", str(np.shape(points)))
    _require_finite("points", array)
    return array


def mean_error(truth: Any, estimate: Any, points: Any) -> float:
    """Return the error of the mean, |sum_x (truth_x - estimate_x) points_x|, in their unit.

    For points with several coordinates it is the Euclidean length of the difference of the means.

    Args:
        truth: (K,).
        estimate: (K,).
        points: (K,) or (K, d), the coordinates of the values, such as ``domain.points``.

    Source: [P3 sec VII-B].

    >>> mean_error([0.5, 0.5], [0.75, 0.25], points=[0, 10])
    2.5
    """
    truth, estimate = _pair(truth, estimate)
    return float(np.linalg.norm((truth - estimate) @ _points(points, truth.size)))


def variance_error(truth: Any, estimate: Any, points: Any) -> float:
    """Return |Var(truth) - Var(estimate)| with Var(p) = sum_x p_x (points_x - mean)^2.

    Args:
        truth: (K,), a distribution.
        estimate: (K,), a distribution.
        points: (K,) or (K, 1), the numbers that the values stand for.

    Returns:
        The error, in squared units of the points.

    Source: [P3 sec VII-D].

    >>> variance_error([0.5, 0.5], [1.0, 0.0], points=[0, 10])
    25.0
    """
    truth, estimate = distribution("truth", truth), distribution("estimate", estimate)
    truth, estimate = _pair(truth, estimate)
    where = _points(points, truth.size, line=True)[:, 0]
    variances = [float(p @ (where - p @ where) ** 2) for p in (truth, estimate)]
    return abs(variances[0] - variances[1])


def range_error(truth: Any, estimate: Any, width: int | float) -> float:
    """Return the mean error of the share of a range of w neighbouring values.

        1 / (K - w + 1) sum_i |sum_{i <= x < i + w} (truth_x - estimate_x)|

    [P3 sec VI-D] reports such errors without an equation. The authors of the square wave draw
    random ranges of a tenth and of four tenths of the domain; this is the mean of that error.

    Args:
        truth: (K,), of ordered values.
        estimate: (K,).
        width: w, as an int in 1..K; or as a float in (0, 1), the share of the K values, rounded up.

    >>> range_error([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], width=2)  # errors 0.5 and 0
    0.25
    """
    truth, estimate = _pair(truth, estimate)
    if isinstance(width, float):
        width = int(np.ceil(probability("width", width) * truth.size))
    width = integer("width", width, 1, truth.size)
    gap = np.concatenate([[0.0], np.cumsum(truth - estimate)])
    return float(np.abs(gap[width:] - gap[:-width]).mean())


def quantile_error(truth: Any, estimate: Any, qs: Any, points: Any) -> float:
    """Return the mean error of quantiles, in the unit of the points.

        1 / r sum_q |Q(truth, q) - Q(estimate, q)|,   r numbers q, Q as in :func:`quantiles`

    [P3 sec VI-D] reports such errors without an equation. The authors of the square wave take
    q = 0.1, 0.2, .., 0.9.

    Args:
        truth: (K,), a distribution.
        estimate: (K,), a distribution.
        qs: one or several numbers q in [0, 1].
        points: (K,) or (K, 1), increasing.

    >>> quantile_error([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.75], points=[0, 10, 20])
    10.0
    """
    return float(np.abs(quantiles(truth, qs, points) - quantiles(estimate, qs, points)).mean())


def quantiles(p: Any, qs: Any, points: Any) -> np.ndarray:
    """Return Q(p, q) = min {points_x : p_0 + .. + p_x >= q} for each of ``qs``.

    The comparison allows rounding errors of 1e-12.

    Args:
        p: (K,), a distribution.
        qs: one or several numbers q in [0, 1].
        points: (K,) or (K, 1), increasing.

    Returns:
        (r,), one quantile for each q.

    Raises:
        ArgumentError: p is not a distribution, a q outside [0, 1], points that do not increase.

    >>> quantiles([0.25, 0.5, 0.25], [0.0, 0.25, 0.5, 1.0], points=[1, 2, 3]).tolist()
    [1.0, 1.0, 2.0, 3.0]
    """
    p = distribution("p", p)
    where = _points(points, p.size, line=True)[:, 0]
    if (np.diff(where) <= 0).any():
        raise ArgumentError("points", "must be in increasing order", None, "Sort points and p")
    return where[np.searchsorted(cumulative(p)[1:], shares("qs", qs) - ROUNDING)]


# The rounding error of a sum of K shares. A cumulative share this much below q counts as q.
ROUNDING = 1e-12


def cumulative(p: np.ndarray) -> np.ndarray:
    """Return the cumulative shares 0, p_0, p_0 + p_1, .., 1, which end at 1 exactly.

    Args:
        p: (..., K), one or several distributions.

    Returns:
        (..., K + 1).
    """
    sums = np.cumsum(p, axis=-1)
    return np.concatenate([np.zeros_like(sums[..., :1]), sums / sums[..., -1:]], axis=-1)


def shares(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as an array (r,), r >= 1, of numbers in [0, 1].

    Args:
        name: the name of the argument, for messages.
        value: one or several numbers.

    Raises:
        ArgumentError: a number outside [0, 1].
        ArgumentTypeError: no numbers.
    """
    try:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise ArgumentTypeError(name, "must be numbers from 0 to 1", kind(value)) from None
    if array.ndim != 1 or array.size == 0 or not ((array >= 0) & (array <= 1)).all():
        raise ArgumentError(name, "must be numbers from 0 to 1", show(value))
    return array


# -----------------------------------------------------------------------------------------------
# Errors over repeated runs: bias and variance, and two methods on the same runs.


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
    if runs.ndim != 2 or runs.shape[1] != shares.size:
        rule = f"must be rows of {shares.size} numbers, one row for each run"
        raise ArgumentError("estimates", rule, f"the shape {runs.shape}")
    _require_finite("estimates", runs)
    count = len(runs)
    if count < 1 + unbiased:
        rule = f"must have at least {'2 runs' if unbiased else '1 run'}"
        raise ArgumentError("estimates", rule, str(count))
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
        standard_error: the standard error of that mean.
        correlation: Pearson's r of the errors; NaN where a method's errors are all equal.
        p_value: of the paired t-test that the mean difference is 0, two-sided; NaN where all
            differences are 0.
    """

    difference: float
    standard_error: float
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
    if a.ndim != 1 or a.size < 2 or a.shape != b.shape:
        rule = "must be two equally long lists of numbers, at least 2 in each"
        raise ArgumentError("first and second", rule, f"the shapes {a.shape} and {b.shape}")
    for name, errors in (("first", a), ("second", b)):
        _require_finite(name, errors)
    difference = a - b
    mean = float(difference.mean())
    standard_error = float(difference.std(ddof=1)) / math.sqrt(a.size)
    spread = float(a.std() * b.std())
    covariance = float(((a - a.mean()) * (b - b.mean())).mean())
    correlation = min(1.0, max(-1.0, covariance / spread)) if spread > 0 else math.nan
    if standard_error > 0:
        p_value = float(2 * scipy.special.stdtr(a.size - 1, -abs(mean / standard_error)))
    else:
        p_value = math.nan if mean == 0 else 0.0
    return PairedErrors(mean, standard_error, correlation, p_value)


# -----------------------------------------------------------------------------------------------
# Post-processing that turns unbiased estimates (K,) into shares (METHODS 5).


def project(v: np.ndarray) -> np.ndarray:
    """Return the projection on the simplex (Norm-Sub, INV-P).

        p = argmin |p - v|^2 over p >= 0, sum p = 1
        p_x = max(v_x - s, 0)

    If the k largest entries stay positive, s = (their sum - 1) / k. Sorting gives the largest such
    k. Entries are taken relative to the largest and the result is divided by its sum, so that
    shares of very large entries sum to 1 too.

    Args:
        v: (K,), or (K, B) for the projection of every column.

    >>> project(np.array([0.9, 0.4, -0.3])).tolist()
    [0.75, 0.25, 0.0]
    """
    below = v - v.max(axis=0)
    ordered = np.sort(below, axis=0)[::-1]
    # With k, the shift rises as long as the k-th entry exceeds it, and falls afterwards.
    shift = ((np.cumsum(ordered, axis=0) - 1).T / np.arange(1, len(v) + 1)).max(axis=-1)
    shares = np.maximum(below - shift, 0.0)
    return np.asarray(shares / shares.sum(axis=0))


def normalize(v: np.ndarray) -> np.ndarray:
    """Return max(v, 0) divided by its sum (Norm-Mul, INV-N); uniform where no entry is positive.

    Args:
        v: (K,).

    >>> normalize(np.array([0.75, 0.75, -0.5])).tolist()
    [0.5, 0.5, 0.0]
    """
    clipped = np.maximum(v, 0.0)
    total = clipped.sum()
    return clipped / total if total > 0 else np.full(v.size, 1 / v.size)


def norm_cut(v: np.ndarray) -> np.ndarray:
    """Return the largest estimates whose sum is at most 1, and 0 for the others (Norm-Cut).

    Estimates are not rescaled, so the result may sum to less than 1. If the largest estimate
    exceeds 1, the result is 1 for its value and 0 for the others.

    Args:
        v: (K,).

    >>> norm_cut(np.array([0.7, 0.2, 0.2, -0.1])).tolist()
    [0.7, 0.2, 0.0, 0.0]
    """
    order = np.argsort(-v, kind="stable")
    positive = np.maximum(v[order], 0.0)
    # Estimates with the sum 1 may exceed it by rounding, which grows with the entries.
    keep = np.cumsum(positive) <= 1 + v.size * max(1e-12, 1e-14 * float(np.abs(v).max()))
    keep[0] = True
    out = np.zeros(v.size)
    out[order[keep]] = np.minimum(positive[keep], 1.0)
    return out


def threshold(
    v: np.ndarray, sd: np.ndarray, alpha: float = 0.05, rest: str = "spread"
) -> np.ndarray:
    """Return significant estimates, and equal shares for the other values (emp+thr) [P2 sec 6].

    An estimate is significant above T = z(1 - alpha / K) sd, with the normal quantile z. The other
    values share the remaining mass. [P2] does not cover two cases: where the significant estimates
    sum to more than 1, and where all are significant. There they are divided by their sum, and the
    other values get 0.

    With ``rest="discard"`` the significant estimates stay as they are and the others are 0, so the
    result need not sum to 1 [P2 sec 2.5].

    Args:
        v: unbiased estimates (K,).
        sd: the standard deviation (K,) of each at a true share of 0.
        alpha: the family-wise level of the Bonferroni test.
        rest: ``"spread"`` or ``"discard"``, for the mass of the other values.

    >>> threshold(np.array([0.9, 0.05, -0.02]), np.full(3, 0.1)).round(3).tolist()
    [0.9, 0.05, 0.05]
    """
    significant = v > NormalDist().inv_cdf(1 - alpha / v.size) * sd
    mass = float(v[significant].sum())
    out = np.where(significant, v, 0.0)
    if rest == "discard":
        return out
    if mass > 1 or significant.all():
        return out / mass
    out[~significant] = (1 - mass) / np.count_nonzero(~significant)
    return out
