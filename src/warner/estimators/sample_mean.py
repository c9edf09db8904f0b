"""The mean alone: what reports of numbers tell without any distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    message,
)
from warner.channels import Channel, KhatriRaoChannel
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, MeanFit, Status
from warner.estimators.likelihood_data import LikelihoodData

_FLAT = 1e-9  # of the range of what reports carry
_ROUNDED = (
    1 / 64
)  # of the extent of all places: the most that rounding to a device's grid moves one, twice over
_EXACT = 1e-6  # of the range of values, by which an inverse may miss them
_AFFINE = 1e-7  # of the range of means: far tails that are cut off, and nothing else, leave less


@dataclass(frozen=True)
class SampleMean(Estimator):
    """The unbiased estimate of the mean, coordinate by coordinate, and nothing else: sum_y w_y g_y with sum_y A[y, x] g_y = x for every value x.

    Where the mean report is an affine function of the value (stochastic rounding, piecewise, square wave, Laplace, Gaussian, geometric
    mechanisms) g is its inverse, the published estimator; elsewhere, where the channel has an inverse, the mean of that. The Gaussian
    mechanism on places rounds them to its grid before it adds noise. The sample mean of its reports is then off by at most the largest
    rounding, b, and this is what is returned while b^2 is less than its variance, or than that of the inverse; intervals are wider by b. Its
    standard error is that of the sample: sqrt((sum_y w_y g_y^2 - mean^2) / n) for the population; for the respondents, whose own spread
    reports need not determine, it is the same and a little wide.

    The estimate has no ``probabilities``; ``mean()`` is a number with ``interval()``.

    Raises:
        ArgumentTypeError: values without coordinates.
        IdentifiabilityError: reports do not determine the mean without bias.

    Source: [P3 sec II]; METHODS 2.

    >>> from warner import Interval, estimate
    >>> from warner.mechanisms import StochasticRounding
    >>> pay = StochasticRounding(Interval(0, 10, bins=2), 2.0)
    >>> found = estimate(pay.tally(pay.randomize([2.5] * 40_000)), SampleMean()).mean()
    >>> bool(abs(found - 2.5) < 0.5), found.interval().shape
    (True, (2,))
    """

    summary: ClassVar[str] = (
        "the mean alone: shares are not estimated; use another method for a distribution"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        points, w = data.domain.points, data.weights
        if points is None:
            raise ArgumentTypeError(
                message(
                    "method",
                    "SampleMean needs values with coordinates",
                    type(data.domain).__name__,
                    "Use Integers, Interval, Grid or Points",
                )
            )
        if data.channel.rows_per_report != 1:
            raise IdentifiabilityError(
                message(
                    "tally",
                    "keeps bit sums, of which each report is several",
                    None,
                    "Use Inversion() and the mean() of its estimate",
                )
            )
        extent = float(np.ptp(points, axis=0).max())
        found = [_least_risk(data, c, extent) for c in points.T]
        each, bias = np.stack([g for g, _ in found]), np.array([b for _, b in found])
        mean = each @ w
        spread = np.maximum(each**2 @ w - mean**2, 0.0)
        # One report says nothing of how far its like would be from it.
        variance = spread * data.n / (data.n - 1) if data.n > 1 else np.full(mean.shape, np.inf)
        return Fit(None, Status.EXACT, mean=MeanFit(mean, variance, bias))


def _least_risk(
    data: LikelihoodData, points: np.ndarray, extent: float
) -> tuple[np.ndarray, float]:
    """The number that each report stands for, g (m,), and the largest bias |A'g - points| that its mean can have.

    An unbiased g, but for places that a device rounded to its grid: of those the affine function of the report, unless its bias
    squared is more than the variance that both it and the unbiased g have (at the uniform distribution) in the mean of n reports.
    """
    channel = data.channel
    if (direct := affine(channel, points)) is not None:
        return direct, 0.0
    near = _nearly_affine(channel, points) if isinstance(channel, KhatriRaoChannel) else None
    if near is None or near[1] > _ROUNDED * extent:
        return carried(channel, points), 0.0
    g, bias = near
    d = channel.matvec(np.full(channel.shape[1], 1 / channel.shape[1]))
    noise = float(d @ g**2 - (d @ g) ** 2) / data.n
    if bias**2 <= noise:
        return g, bias
    try:
        inverse = channel.influence(points)
    except (
        IdentifiabilityError,
        ArgumentError,
    ):  # places make the same reports, or there are too many reports
        return g, bias
    exact = float(np.abs(channel.rmatvec(inverse) - points).max()) <= _EXACT * float(np.ptp(points))
    less = float(d @ inverse**2 - (d @ inverse) ** 2) / data.n < noise + bias**2
    return (inverse, 0.0) if exact and less else (g, bias)


def _nearly_affine(channel: Channel, points: np.ndarray) -> tuple[np.ndarray, float]:
    """The affine function of one of the channel's scales whose means are nearest to points (K,), and how far they are at most."""
    found = []
    for numbers in channel.report_scores():
        means = channel.rmatvec(numbers)
        flat = float(np.ptp(means)) <= _FLAT * float(np.ptp(numbers))
        slope = 0.0 if flat else float(np.cov(means, points, bias=True)[0, 1] / np.var(means))
        g = slope * (numbers - means.mean()) + points.mean()
        found.append(
            (g, float(np.abs(slope * (means - means.mean()) + points.mean() - points).max()))
        )
    return min(found, key=lambda pair: pair[1])


def carried(channel: Channel, points: np.ndarray) -> np.ndarray:
    """The number that each report stands for: g (m,) with A'g = points (K,), so that the mean of g is that of the values."""
    found = affine(channel, points)
    return channel.influence(points) if found is None else found


def affine(channel: Channel, points: np.ndarray) -> np.ndarray | None:
    """The same where it is an affine function of the number that a report is; else None."""
    first, last = int(np.argmin(points)), int(np.argmax(points))
    if first == last:
        return np.full(channel.shape[0], points[0])
    for numbers in channel.report_scores():
        means = channel.rmatvec(numbers)
        if abs(means[last] - means[first]) <= _FLAT * np.ptp(numbers):
            continue  # rounding, not a slope
        slope = (means[last] - means[first]) / (points[last] - points[first])
        error = np.abs(means - means[first] - slope * (points - points[first])).max()
        if error <= _AFFINE * abs(means[last] - means[first]):
            return (numbers - means[first]) / slope + points[first]
    return None
