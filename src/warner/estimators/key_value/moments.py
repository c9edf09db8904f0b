"""Unbiased frequencies of keys and sums of their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._core.errors import ArgumentTypeError, message
from warner.channels import FloatArray, TiedChannel
from warner.estimators.key_value.data import groups_of
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.sample_mean import unbiased_scores

_ADDED = 4  # added reports, about z^2 of an interval of 95 %, as by Agresti and Coull (1998)


@dataclass(frozen=True, eq=False)
class Moments:
    """Unbiased estimates of every key's frequency f, and of N = f times the mean of its values.

    Attributes:
        frequency: f (d,), the share of people who have each of d keys.
        total: N (d,), in the units of the values.
        variance: (d, 2, 2), the covariance matrix of (N, f) for each key.
        ends: the least and the largest value.
    """

    frequency: FloatArray
    total: FloatArray
    variance: FloatArray
    ends: tuple[float, float]


def key_moments(data: LikelihoodData, name: str = "this") -> Moments:
    """Estimate f and N of every key without bias, from means over the reports.

        f_k = mean of h(z),   h = ([z > 0] - b) / (a - b)
        N_k = mean of ([z > 0] G_z - b (1 - h) G_dummy) / a

    z is the part of a report about key k; it is 0 if the report is about another key. A person's
    own key is reported with probability a, and any other key with probability b. G_z is the
    unbiased estimate of a value from its report z, and G_dummy is the mean of G over dummy values.
    Several mechanisms are combined with weights inverse to the variance of f. This variance is
    taken at equal frequencies, so the weights depend on no report.

    Where one person sent up to t reports, the sample has at least n / t people. So (t - 1) / n
    times an upper bound of the variance of the values is added to the variance of n reports.

    Args:
        data: reports about keys with numbers.
        name: the name of the calling method, for the error message.

    Returns:
        The estimates for all keys.

    Raises:
        ArgumentError: reports that are not about keys with values.
        ArgumentTypeError: values that are not numbers.
    """
    groups, _, values = groups_of(data, name)
    if values.points is None or values.dimension != 1:
        raise ArgumentTypeError(
            message(
                "values",
                "must be numbers for their means",
                type(values).__name__,
                "Use Interval or Integers",
            )
        )
    points = values.points[:, 0]
    precision = np.array([n / _even_variance(channel) for channel, _, n in groups])
    means = np.zeros(())
    variance = np.zeros(())
    weight = 0.0
    for (channel, w, n), share in zip(groups, precision / precision.sum(), strict=True):
        a, b, observed = channel.keep, channel.sent, channel.by_key(w)
        numbers = np.append(0.0, unbiased_scores(channel.inner, points))
        h = ((np.arange(numbers.size) > 0) - b) / (a - b)
        g = (numbers - (1 - h) * float(channel.dummy @ numbers[1:])) / a
        both = np.stack([g, h], axis=1)
        means = means + share * (observed @ both)
        # A few equal reports have no variance, so reports of a uniform distribution are added.
        even = channel.by_key(channel.matvec(np.full(channel.shape[1], 1 / channel.shape[1])))
        frequencies = (n * observed + _ADDED * even) / (n + _ADDED)
        mean = frequencies @ both
        squares = np.einsum("ky,yi,yj->kij", frequencies, both, both)
        squares = squares - np.einsum("ki,kj->kij", mean, mean)
        variance = variance + share**2 * squares / n
        weight = weight + share**2 / n
    if (t := data.reports_per_person) > 1:
        least = _ADDED * t / data.n
        own = _variance_of_values(means[:, 1], means[:, 0], values.ends[0], least)
        variance = variance + (t - 1) * weight * own
    return Moments(means[:, 1], means[:, 0], variance, values.ends[0])


def _variance_of_values(
    frequency: FloatArray, total: FloatArray, ends: tuple[float, float], least: float
) -> FloatArray:
    """An upper bound (d, 2, 2) of the covariance of (c [key = k], [key = k]) over the pairs.

    The number c of a pair lies between low and high, so c^2 <= (low + high) c - low high. The
    frequency is taken to be at least ``least`` from 0 and from 1, because that of a key that few
    people hold is uncertain.
    """
    low, high = ends
    least = min(least, 0.5)
    f = np.clip(frequency, least, 1 - least)
    n = np.clip(total, low * f, high * f)
    square = (low + high) * n - low * high * f
    mixed = n * (1 - f)
    rows = [np.stack([square - n**2, mixed], axis=-1), np.stack([mixed, f - f**2], axis=-1)]
    return np.stack(rows, axis=-2)


def _even_variance(channel: TiedChannel) -> float:
    """The variance per report of a key's frequency where all frequencies are equal."""
    share = channel.sent + (channel.keep - channel.sent) / channel.keys
    return share * (1 - share) / (channel.keep - channel.sent) ** 2
