"""The unbiased estimates of the shares, and the variance of their noise at any true share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels import LikelihoodOperator
from warner.channels.base import LARGEST_DENSE
from warner.estimators.base import LikelihoodData
from warner.metrics import project


@dataclass(frozen=True, eq=False)
class ShareNoise:
    """Unbiased estimates T of K shares, and the variance of each if its share were t.

        n Var(T_x) = (1 - t) null_x + t own_x - t^2

    null_x is the second moment of the inverse's weight of one report where nobody has value x, and
    own_x where everybody has it. The formula is for people drawn from a population;
    :meth:`variance` adapts it to the target.

    Attributes:
        data: the channel, the report frequencies and n.
        target: ``"population"`` or ``"respondents"``.
        centre: (K,) the unbiased estimates T.
        plausible: (K,) their projection on the simplex.
        null, own: (K,) each, per report.
    """

    data: LikelihoodData
    target: str
    centre: np.ndarray
    plausible: np.ndarray
    null: np.ndarray
    own: np.ndarray

    @classmethod
    def of(
        cls,
        data: LikelihoodData,
        target: str,
        least: float = 0.0,
        centre: np.ndarray | None = None,
    ) -> ShareNoise:
        """The noise of the inversion of a tally.

        Shapes: centre (K,).
        """
        channel = data.channel
        centre = channel.invert(data.weights) if centre is None else centre
        plausible = project(centre)
        # Every value gets some share, so that the moments given the other values exist.
        spread = (1 - least) * plausible + least / plausible.size
        own = channel.inverse_moments(spread)[1]
        return cls(data, target, centre, plausible, channel.variance_at_zero(spread), own)

    def at(self, shares: np.ndarray | float) -> np.ndarray:
        """n times the variance (K,) of the estimate of each value at ``shares``, (K,) or one."""
        t = np.broadcast_to(np.asarray(shares, dtype=np.float64), self.centre.shape)
        there = (1 - t) * self.null + t * self.own - t**2
        return for_target(self.data, self.target, there, t)

    def deviations(self, z: float) -> np.ndarray:
        """The standard deviation (K,) of each estimate, at the projected estimates.

        A report that only one value can make has variance 0 where nobody or everybody sent it. The
        share is then taken to be at least z^2 / (n + z^2) from 0 and from 1, for n people. For a
        binomial this gives the limits of Wilson's interval there. With noise it is negligible.
        """
        data, plausible = self.data, self.plausible
        variance = for_target(data, self.target, data.channel.variance(plausible), plausible)
        least = least_share(data, self.target, z)
        for share, near in ((least, plausible < least), (1 - least, plausible > 1 - least)):
            variance = np.where(near, np.maximum(variance, self.at(share)), variance)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / data.n))

    def variance(self, null: float, own: float, t: np.ndarray) -> np.ndarray:
        """The variance (J,) of an estimate with the moments ``null`` and ``own`` at shares t (J,).

        It is at least 0.
        """
        there = (1 - t) * null + t * own - t**2
        out = for_target(self.data, self.target, there, t)
        return np.asarray(np.maximum(out, 0.0) / self.data.n)

    def accepted(self, z: np.ndarray, usual: float) -> np.ndarray:
        """Limits (K, 2) of the shares t that a test accepts: T_x is not too far from t.

            T_x - t <= z sd(t) + (z^2 - usual^2) skew(t) sd(t) / 6,   t - T_x <= usual sd(t)

        n sd(t)^2 is :meth:`at`, so with z = usual it is Wilson's interval where reports support
        values: a quadratic has the limits as its roots. Farther out in the tail the skewness of a
        support count moves the quantile [Cornish-Fisher]; skew(t) sd(t) is linear in t, so there
        the limit is the root of a quadratic too. Limits are clipped to [0, 1]. An estimate outside
        is first moved to the nearest end, so that the interval keeps its width.

        Shapes: z (K,).
        """
        at_0, between, at_1 = (self.at(t) for t in (0.0, 0.5, 1.0))
        square = 2 * (at_0 + at_1 - 2 * between)
        slope, law = at_1 - at_0 - square, self.data.channel.support_law()
        constant = linear = np.zeros_like(self.centre)
        if law is not None:
            # The square in the denominator keeps the correction small where people are few.
            part = (z**2 - usual**2) / (6 * (self.data.n + z**2)) * (between > 0)
            constant, linear = part * (1 - 2 * law.q) / law.gap, -2 * part
        centre = np.clip(self.centre, 0.0, 1.0)
        ends = []
        for side, times, shift, rise in ((-1, z, constant, linear), (1, usual, 0.0, 0.0)):
            # (T - shift - (1 + rise) t)^2 = times^2 (at_0 + slope t + square t^2) / n
            factor, rate, rest = times**2 / self.data.n, 1 + rise, centre - shift
            first = rate**2 - factor * square
            middle = rest * rate + factor * slope / 2
            root = np.sqrt(np.maximum(middle**2 - first * (rest**2 - factor * at_0), 0.0))
            ends.append((middle + side * root) / first)
        # Of respondents without noise the skewness alone would move the lower limit up.
        low, high = np.minimum(ends[0], centre), ends[1]
        low = np.where(centre > constant, low, 0.0)  # a share of 0 is accepted without noise, too
        return np.asarray(np.clip(np.stack([low, high], axis=1), 0.0, 1.0))

    def around(self, z: float, factor: float | None = None) -> np.ndarray:
        """Limits (K, 2) around the unbiased estimates, clipped to [0, 1].

        An estimate outside [0, 1] is first moved to the nearest end, so that the interval keeps its
        width.
        """
        half = (z if factor is None else factor) * self.deviations(z)
        centre = np.clip(self.centre, 0.0, 1.0)
        return np.asarray(np.clip(np.stack([centre - half, centre + half], axis=1), 0.0, 1.0))


def least_share(data: LikelihoodData, target: str, z: float) -> float:
    """z^2 / (n + z^2) for n people: the least share at which a variance is taken."""
    independent = data.n / data.reports_per_person if target == "population" else data.n
    return z**2 / (independent + z**2)


def for_target(
    data: LikelihoodData, target: str, variance: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """The variance (K,) per report around the target, from that of independent people.

    Shapes: shares (K,).
    """
    if target == "respondents":
        return np.asarray(variance - (shares - shares**2))
    if data.reports_per_person == 1:
        return variance
    more = data.reports_per_person - 1
    return np.asarray(variance + more * data.channel.part_of_values(shares, variance))


_DENSE = 2048  # values of which the covariance matrix is formed; more take seconds
_TERMS = 2**24  # numbers that are held at a time
_PAIRS = 32  # sums whose covariances are found pair by pair


def covariance_of(
    data: LikelihoodData,
    shares: np.ndarray,
    target: str = "population",
    starts: np.ndarray | None = None,
) -> np.ndarray:
    """The covariance (K, K) of the inversion per report, for a target.

    Shapes: shares (K,), starts (C,).
    """
    if starts is None:
        found = data.channel.covariance(shares)
    elif _has_matrix(data.channel.complete()):
        found = np.add.reduceat(data.channel.covariance(shares), starts, axis=0)
        found = np.add.reduceat(found, starts, axis=1)
    else:
        found = _covariance_of_sums(data.channel.complete(), shares, starts)
    if starts is not None:
        shares = np.add.reduceat(shares, starts)
    of_values = np.diag(shares) - np.multiply.outer(shares, shares)
    if target == "respondents":
        return np.asarray(found - of_values)
    return np.asarray(found + (data.reports_per_person - 1) * of_values)


def most_cells(channel: LikelihoodOperator, most: int) -> int:
    """The number of cells, at most ``most``, whose sums have a covariance in little memory.

    It is 0 where the inverse of so many values has no closed form.
    """
    try:
        whole = channel.complete()
    except ArgumentError:
        return 0  # reports that were not observed are not known
    if _has_matrix(whole):
        return most
    if not whole.has_closed_inverse:
        return 0
    return min(most, _PAIRS if whole.rows_per_report > 1 else _TERMS // whole.shape[0])


def _has_matrix(channel: LikelihoodOperator) -> bool:
    """Whether the covariance matrix of all values takes less than seconds."""
    rows, size = channel.shape
    return size <= _DENSE and (channel.rows_per_report > 1 or rows * size <= LARGEST_DENSE)


def _covariance_of_sums(
    channel: LikelihoodOperator, shares: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """The covariance (C, C) per report of sums of the inversion over cells of values.

    Of bit sums, that of two sums is half the variance of both together less those of each.
    """
    cells = np.repeat(np.arange(starts.size), np.diff(starts, append=shares.size))
    if channel.rows_per_report == 1:
        sums = (cells[:, None] == np.arange(starts.size)).astype(np.float64)
        terms = channel.influence(sums) - np.add.reduceat(shares, starts)
        return np.asarray((terms.T * channel.matvec(shares)) @ terms)
    first, second = np.triu_indices(starts.size)
    variances = np.empty(first.size)
    step = max(1, _TERMS // (2 * channel.shape[0]))
    for start in range(0, first.size, step):
        some = slice(start, start + step)
        either = (cells[:, None] == first[some]) | (cells[:, None] == second[some])
        variances[some] = channel.variance_of(either.astype(np.float64), shares)
    alone = variances[first == second]
    apart = (variances - alone[first] - alone[second]) / 2
    found = np.diag(alone)
    found[first, second] = found[second, first] = np.where(first == second, variances, apart)
    return found
