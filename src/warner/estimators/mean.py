"""The mean alone: what reports of numbers tell without any distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._check import ArgumentTypeError, IdentifiabilityError, message
from warner.channel import Channel
from warner.estimators._base import Estimator
from warner.estimators.evidence import Evidence
from warner.estimators.fit import Fit, Status

_FLAT = 1e-9  # of the range of what reports carry
_AFFINE = 1e-7  # of the range of means: far tails that are cut off, and nothing else, leave less


@dataclass(frozen=True)
class SampleMean(Estimator):
    """The unbiased estimate of the mean, coordinate by coordinate, and nothing else: sum_y w_y g_y with sum_y A[y, x] g_y = x for every value x.

    Where the mean report is an affine function of the value (stochastic rounding, piecewise, square wave, Laplace, Gaussian, geometric
    mechanisms) g is its inverse, the published estimator; elsewhere, where the channel has an inverse, the mean of that. Its
    standard error is that of the sample: sqrt((sum_y w_y g_y^2 - mean^2) / n) for the population; for the respondents, whose own spread
    reports need not determine, it is the same and a little wide.

    The estimate has no ``probabilities``; ``mean()`` is a number with ``interval()``.

    Raises:
        ArgumentTypeError: values without coordinates.
        IdentifiabilityError: reports do not determine the mean without bias.

    Source: [P3 sec II]; METHODS 2.

    >>> from warner import Interval, StochasticRounding, estimate
    >>> pay = StochasticRounding(Interval(0, 10, bins=2), 2.0)
    >>> found = estimate(pay.tally(pay.randomize([2.5] * 40_000)), SampleMean()).mean()
    >>> bool(abs(found - 2.5) < 0.5), found.interval().shape
    (True, (2,))
    """

    def fit(self, evidence: Evidence) -> Fit:
        points, w = evidence.domain.points, evidence.weights
        if points is None:
            raise ArgumentTypeError(
                message(
                    "method", "SampleMean needs values with coordinates", type(evidence.domain).__name__, "Use Integers, Interval, Grid or Points"
                )
            )
        if evidence.channel.copies != 1:
            raise IdentifiabilityError(
                message("tally", "keeps bit sums, of which each report is several", None, "Use Inversion() and the mean() of its estimate")
            )
        each = np.stack([carried(evidence.channel, c) for c in points.T])
        mean = each @ w
        spread = np.maximum(each**2 @ w - mean**2, 0.0)
        # One report says nothing of how far its like would be from it.
        variance = spread * evidence.n / (evidence.n - 1) if evidence.n > 1 else np.full(mean.shape, np.inf)
        return Fit(None, Status.MEAN_ONLY, mean=mean, mean_variance=variance)


def carried(channel: Channel, points: np.ndarray) -> np.ndarray:
    """The number that each report stands for: g (m,) with A'g = points (K,), so that the mean of g is that of the values."""
    first, last = int(np.argmin(points)), int(np.argmax(points))
    if first == last:
        return np.full(channel.shape[0], points[0])
    for numbers in channel.scales():
        means = channel.rmatvec(numbers)
        if abs(means[last] - means[first]) <= _FLAT * np.ptp(numbers):
            continue  # rounding, not a slope
        slope = (means[last] - means[first]) / (points[last] - points[first])
        error = np.abs(means - means[first] - slope * (points - points[first])).max()
        if error <= _AFFINE * abs(means[last] - means[first]):
            return (numbers - means[first]) / slope + points[first]
    return channel.functional(points)
