"""The mean alone: the estimate of a mean from reports of numbers, without a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
)
from warner.channels import FloatArray, LikelihoodOperator
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, MeanFit, Status
from warner.estimators.likelihood_data import LikelihoodData

_FLAT = 1e-9  # of the range of the report scores: a smaller range of their means is rounding
_ROUNDED = 1 / 64  # of the extent of all places: the most that a device's grid moves one, twice
_EXACT = 1e-6  # of the range of values, by which an inverse may miss them
_AFFINE = 1e-7  # of the range of means: more than far tails that are cut off leave


@dataclass(frozen=True)
class SampleMean(Estimator):
    """The unbiased estimate of the mean, from the mean of a function of the reports.

        mean = sum_y w_y g_y,   sum_y A[y, x] g_y = x for every value x

    A (m, K) is the channel, w (m,) the frequencies of its rows, and g (m,) the function. Each
    coordinate is estimated separately. For most mechanisms of numbers the mean report is an affine
    function of the value: stochastic rounding, piecewise, square wave, Laplace, Gaussian and
    geometric. Then g is the inverse of this function, which is the published estimator. Otherwise g
    comes from the inverse of the channel.

    The Gaussian mechanism on places rounds them to its grid before it adds noise. The bias b of the
    sample mean is then at most the largest rounding. The sample mean is returned while b^2 is less
    than its variance, or than that of the inverse, and intervals are wider by b.

    The standard error is sqrt((sum_y w_y g_y^2 - mean^2) / n) for the population. The same number,
    a little too large, is used for the respondents, because the reports need not determine the
    variance of the respondents' values.

    The estimate has no ``probabilities``; ``mean()`` is a number with ``interval()``.

    Raises:
        ArgumentTypeError: values without coordinates.
        IdentifiabilityError: reports do not determine the mean without bias.

    Source: [P3 sec II]; METHODS 2.

    >>> from warner import Interval, estimate
    >>> from warner.mechanisms import StochasticRounding
    >>> pay = StochasticRounding(Interval(0, 10, bins=2), 2.0)
    >>> mean = estimate(pay.tally(pay.randomize([2.5] * 40_000)), SampleMean()).mean()
    >>> bool(abs(mean - 2.5) < 0.5), mean.interval().shape
    (True, (2,))
    """

    references = ("duchi2013", "P3")

    summary: ClassVar[str] = (
        "the mean alone: shares are not estimated; use another method for a distribution"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        points, w = data.domain.points, data.weights
        if points is None:
            raise ArgumentTypeError(
                "method",
                "SampleMean needs values with coordinates",
                type(data.domain).__name__,
                "Use Integers, Interval, Grid or Points",
            )
        if data.channel.rows_per_report != 1:
            raise IdentifiabilityError(
                "tally",
                "keeps bit sums, and several bits belong to one report",
                None,
                "Use Inversion() and the mean() of its estimate",
            )
        extent = float(np.ptp(points, axis=0).max())
        scores = [_least_risk(data, c, extent) for c in points.T]
        g, bias = np.stack([g for g, _ in scores]), np.array([b for _, b in scores])
        mean = g @ w
        spread = np.maximum(g**2 @ w - mean**2, 0.0)
        # The variance is undefined for one report.
        variance = spread * data.n / (data.n - 1) if data.n > 1 else np.full(mean.shape, np.inf)
        return Fit(None, Status.EXACT, mean=MeanFit(mean, variance, bias))


def _least_risk(
    data: LikelihoodData, points: FloatArray, extent: float
) -> tuple[FloatArray, float]:
    """The number g (m,) that each report stands for, and the largest bias |A'g - points|.

    g is unbiased, except for places that a device rounded to its grid. There the affine function of
    the report has a bias. It is returned if its squared bias is at most its variance, or if the
    unbiased g has no smaller squared error. Both are those of the mean of n reports at the uniform
    distribution.
    """
    channel = data.channel
    if (exactly_affine := affine(channel, points)) is not None:
        return exactly_affine, 0.0
    if not channel.has_independent_parts:
        return unbiased_scores(channel, points), 0.0
    g, bias = _nearly_affine(channel, points)
    if bias > _ROUNDED * extent:
        return unbiased_scores(channel, points), 0.0
    d = channel.matvec(np.full(channel.shape[1], 1 / channel.shape[1]))
    noise = float(d @ g**2 - (d @ g) ** 2) / data.n
    if bias**2 <= noise:
        return g, bias
    try:
        inverse = channel.influence(points)
    except (IdentifiabilityError, ArgumentError):
        # Some places make the same reports, or there are too many reports.
        return g, bias
    error = float(np.abs(channel.rmatvec(inverse) - points).max())
    is_exact = error <= _EXACT * float(np.ptp(points))
    has_less_risk = float(d @ inverse**2 - (d @ inverse) ** 2) / data.n < noise + bias**2
    return (inverse, 0.0) if is_exact and has_less_risk else (g, bias)


def _nearly_affine(channel: LikelihoodOperator, points: FloatArray) -> tuple[FloatArray, float]:
    """The affine function of a report score whose means are nearest to the points (K,).

    Returns (m,).
    """
    candidates = []
    for numbers in channel.report_scores():
        means = channel.rmatvec(numbers)
        flat = float(np.ptp(means)) <= _FLAT * float(np.ptp(numbers))
        slope = 0.0 if flat else float(np.cov(means, points, bias=True)[0, 1] / np.var(means))
        g = slope * (numbers - means.mean()) + points.mean()
        distances = np.abs(slope * (means - means.mean()) + points.mean() - points)
        candidates.append((g, float(distances.max())))
    return min(candidates, key=lambda pair: pair[1])


def unbiased_scores(channel: LikelihoodOperator, points: FloatArray) -> FloatArray:
    """The function g of a report whose mean over the reports is an unbiased estimate of the mean.

    Shapes: channel (m, K), points (K,) -> (m,).
    """
    scores = affine(channel, points)
    return channel.influence(points) if scores is None else scores


def affine(channel: LikelihoodOperator, points: FloatArray) -> FloatArray | None:
    """The g of :func:`unbiased_scores` that is an affine function of a report score.

    Shapes: channel (m, K), points (K,) -> (m,).
    """
    first, last = int(np.argmin(points)), int(np.argmax(points))
    if first == last:
        return np.full(channel.shape[0], points[0])
    for numbers in channel.report_scores():
        means = channel.rmatvec(numbers)
        if abs(means[last] - means[first]) <= _FLAT * np.ptp(numbers):
            # The means differ by rounding alone.
            continue
        slope = (means[last] - means[first]) / (points[last] - points[first])
        error = np.abs(means - means[first] - slope * (points - points[first])).max()
        if error <= _AFFINE * abs(means[last] - means[first]):
            return np.asarray((numbers - means[first]) / slope + points[first])
    return None
