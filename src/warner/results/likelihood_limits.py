r"""Likelihood-ratio intervals for shares, of few values.

A share is a ratio of sums of the shares theta of K values, v = c'theta / d'theta with c and d of
zeros and ones; of a single value, c is 1 at this value and d is 1 everywhere. Its interval holds
all numbers that the likelihood does not reject,

    { v : 2 (max L - max { L(theta) : (c - v d)'theta = 0 }) <= k(v) }

L is the log-likelihood of n reports. The condition cuts the simplex in a polytope, and each corner
of it has at most two values. So under the condition, L is that of mixtures of the corners' laws,
which is again a maximum of a likelihood. Shares stay within 0 and 1, and so does the interval:
where the unbiased estimate is negative, it begins at 0.

k(v) is the quantile of chi-square with one degree of freedom. It may be too small where several
shares are near 0, because all of them can leave the simplex at once [Self and Liang 1987]. If this
is asked for, k(v) is therefore no less than the quantile of the statistic itself, for reports that
are drawn at v and a likelihood that is taken as quadratic.

Source: METHODS 10.11.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from warner._core.errors import ArgumentError, ImpossibleReportError
from warner._core.extras import scipy
from warner.channels import DenseChannel, FloatArray
from warner.domains import Integers
from warner.estimators.base import LikelihoodData
from warner.estimators.maximum_likelihood import MaximumLikelihood

MOST_VALUES = 16  # whose likelihood is maximised some dozens of times
_MAXIMUM = MaximumLikelihood(gap=1e-13)
_FAR = 1e6  # a statistic beyond all quantiles, where a report is impossible
_TOLERANCE = 1e-9  # of a limit
_DRAWS = 1000  # of reports, for the quantile k(v)
_LEAST = 1e-12  # probability of a report in the variances of frequencies
RANK = 1e-9  # of singular values; smaller ones are rounding
_CONDITION = 1e3  # the weight of a condition over that of the frequencies
_CLOSE, _MOST_QUANTILES = 0.01, 4  # of the quantile k(v), which depends on the limit


def likelihood_ratio_limits(data: LikelihoodData, quantile: float) -> FloatArray:
    """The limits (K, 2) of all shares t with 2 (L - L(theta_x = t)) <= ``quantile``; K up to 16."""
    size = data.domain.size
    if size > MOST_VALUES:
        rule, got = f"'likelihood' can be used for at most {MOST_VALUES} values", str(size)
        raise ArgumentError("kind", rule, got, "Use kind='score'")
    profile, everybody = Profile(data), np.ones(size)
    return np.array([profile.limits(one, everybody, quantile) for one in np.eye(size)])


def last_not_rejected(
    statistic: Callable[[float], float],
    quantile: float,
    inside: float,
    limit: float,
    tolerance: float,
) -> float:
    """The last number on the way to a limit whose statistic, which grows, is within a quantile."""

    def excess(number: float) -> float:
        return statistic(number) - quantile

    return (
        limit
        if excess(limit) <= 0
        else float(scipy.optimize.brentq(excess, inside, limit, xtol=tolerance))
    )


class FitTest(NamedTuple):
    """The test of a design against any other law of the reports.

    Attributes:
        statistic: twice the log-likelihood that the design lacks.
        degrees: the number of frequencies that the design does not leave free.
        p: the probability of a statistic as large, if the design is right.
    """

    statistic: float
    degrees: int
    p: float

    @property
    def text(self) -> str:
        """The test in words."""
        right = "if people do what the design assumes"
        return f"Test of the design: {right}, {self._as_badly('the design')}"

    @property
    def text_of_cards(self) -> str:
        """The test in words, where people had different cards for the same shares."""
        alike = "if the people of all cards have the same shares and follow their card"
        return f"Test of the cards: {alike}, {self._as_badly('the cards')}"

    def _as_badly(self, what: str) -> str:
        chance = f"the probability that a survey fits {what} as badly as this one is p"
        return f"{chance} = {self.p:.3g} ({self.statistic_in_words})."

    @property
    def statistic_in_words(self) -> str:
        """The statistic, and its degrees of freedom."""
        freedom = f"{self.degrees} degree{'s' * (self.degrees > 1)} of freedom"
        return f"chi-square {self.statistic:.3g} with {freedom}"


class Profile:
    """The likelihood of reports under conditions on the shares, for groups of people.

    Of each group, ``matrices`` has the law A_g (m_g, K) of its reports, and ``counts`` how many
    people reported what, (m_g,).
    """

    def __init__(self, data: LikelihoodData) -> None:
        self.data = data
        groups = data.channel.split_groups(data.weights, data.n)
        self.matrices = [channel.dense() for channel, _, _ in groups]
        self.counts = [weights * n for _, weights, n in groups]

    @cached_property
    def people(self) -> FloatArray:
        """The number of people of each group, (G,)."""
        return np.array([count.sum() for count in self.counts])

    @cached_property
    def shares(self) -> FloatArray:
        """The most likely shares (K,)."""
        return self._most_likely(np.eye(self.matrices[0].shape[1]))

    @cached_property
    def best(self) -> float:
        """The largest log-likelihood, in nats."""
        return self.log_likelihood(self.shares)

    @cached_property
    def surplus(self) -> float:
        """Twice the log-likelihood that frequencies without a law have more."""
        free = sum(float(c[c > 0] @ np.log(c[c > 0] / c.sum())) for c in self.counts)
        return max(0.0, 2 * (free - self.best))

    @property
    def fit_test(self) -> FitTest | None:
        """The test of the laws of the groups; None where they leave all frequencies free."""
        steps = np.concatenate(self.matrices) @ basis_of(self.matrices[0].shape[1])
        rank = int(np.linalg.matrix_rank(steps, RANK))
        possible = sum(int((matrix.max(axis=1) > 0).sum()) - 1 for matrix in self.matrices)
        if (degrees := possible - rank) <= 0:
            return None
        # A share at 0 has used none of its freedom: with it, p is never too small.
        degrees += int((self.shares <= 0).sum())
        return FitTest(self.surplus, degrees, float(scipy.special.chdtrc(degrees, self.surplus)))

    def log_likelihood(self, theta: FloatArray) -> float:
        """sum_g sum_y n_gy log(A_g theta)_y, -inf where a report is impossible."""
        total = 0.0
        for matrix, count in zip(self.matrices, self.counts, strict=True):
            law = (matrix @ theta)[count > 0]
            if (law <= 0).any():
                return -np.inf
            total += float(count[count > 0] @ np.log(law))
        return total

    def _most_likely(self, corners: FloatArray) -> FloatArray:
        """The most likely mixture (K,) of distributions (K, r)."""
        columns = corners.shape[1]
        if columns == 1:
            return corners[:, 0]
        # The laws of the groups, one below the other, times the part of the people in each.
        scaled = zip(self.matrices, self.people / self.people.sum(), strict=True)
        channel = DenseChannel(np.concatenate([size * law @ corners for law, size in scaled]))
        weights = np.concatenate(self.counts) / self.people.sum()
        data = LikelihoodData(channel, weights, self.data.n, Integers(0, columns - 1))
        return np.asarray(corners @ _MAXIMUM.fit(data).shares)

    def under(self, condition: FloatArray) -> FloatArray | None:
        """The most likely theta (K,) with a'theta = 0, a (K,); None if none makes these reports."""
        corners = corners_of(condition)
        try:
            return self._most_likely(corners) if corners.size else None
        except ImpossibleReportError:
            return None

    def lacking(self, condition: FloatArray) -> float:
        """The likelihood-ratio statistic of a'theta = 0, for a (K,)."""
        theta = self.under(condition)
        return _FAR if theta is None else min(2 * (self.best - self.log_likelihood(theta)), _FAR)

    def limits(
        self, of: FloatArray, among: FloatArray, usual: float, level: float | None = None
    ) -> FloatArray:
        """The interval (2,) of c'theta / d'theta for the values c (K,) among the values d (K,).

        ``usual`` is the quantile of chi-square; with a ``level``, k(v) is computed too.
        """
        base = float(among @ self.shares)
        if base <= 0:
            return np.array([0.0, 1.0])
        share = min(max(float(of @ self.shares) / base, 0.0), 1.0)

        def statistic(number: float) -> float:
            return self.lacking(of - number * among)

        def end(limit: float) -> float:
            quantile, last = usual, limit
            for _ in range(_MOST_QUANTILES):
                last = last_not_rejected(statistic, quantile, share, limit, _TOLERANCE)
                needed = 0.0 if level is None else self.quantile(of - last * among, level)
                if needed <= (1 + _CLOSE) * quantile:
                    break
                quantile = needed
            return last

        return np.array([end(0.0), end(1.0)])

    def linear(self, theta: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The best unbiased estimate l'f of c'theta, l (m,), and one report's variance (G,)."""
        laws = [matrix @ theta for matrix in self.matrices]
        groups = zip(laws, self.people, strict=True)
        root = np.concatenate([np.sqrt(n / np.maximum(p, _LEAST)) for p, n in groups])
        basis = basis_of(theta.size)
        steps = root[:, None] * np.concatenate(self.matrices) @ basis
        estimate = root * (np.linalg.pinv(steps, RANK).T @ (basis.T @ weights))
        terms = np.split(estimate, np.cumsum([len(p) for p in laws])[:-1])
        each = [p @ (of_group - p @ of_group) ** 2 for p, of_group in zip(laws, terms, strict=True)]
        return estimate, np.array(each)

    def quantile(self, condition: FloatArray, level: float) -> float:
        """The quantile of the likelihood ratio of a'theta = 0, a (K,), of quadratic likelihoods.

        It is computed from draws of reports, with the square of the unbiased estimate of a'theta as
        a control, whose law is chi-square.
        """
        theta = self.under(condition)
        if theta is None:
            return 0.0
        rng = np.random.default_rng(0)  # the same draws at every call
        groups = [
            (round(n), np.maximum(matrix @ theta, 0.0))
            for matrix, n in zip(self.matrices, self.people.tolist(), strict=True)
        ]
        drawn = np.concatenate([rng.multinomial(n, p / p.sum(), _DRAWS) / n for n, p in groups], 1)
        law = np.concatenate([p for _, p in groups])
        people = np.concatenate([np.full(len(p), n) for n, p in groups])
        scale = np.sqrt(people / np.maximum(law, _LEAST))
        whole = np.concatenate(self.matrices)
        weight = _CONDITION * scale.max()

        def distances(laws: FloatArray) -> FloatArray:
            rows = np.vstack([scale[:, None] * laws, np.full(laws.shape[1], weight)])
            columns = np.vstack([(scale * drawn).T, np.full(_DRAWS, weight)])
            shares = np.linalg.lstsq(rows, columns)[0]
            squares: FloatArray = ((rows @ shares - columns) ** 2).sum(axis=0)
            # The nearest combination of all is a mixture where none of its shares is negative.
            for i in np.flatnonzero((shares < 0).any(axis=0)):
                squares[i] = scipy.optimize.nnls(rows, columns[:, i])[1] ** 2
            return squares

        statistics = distances(whole @ corners_of(condition)) - distances(whole)
        estimate, each = self.linear(theta, condition)
        variance = float((each / self.people).sum())
        controls = ((drawn - law) @ estimate) ** 2 / variance if variance > 0 else statistics * 0

        def beyond(quantile: float) -> float:
            differences = (statistics > quantile).mean() - (controls > quantile).mean()
            return float(scipy.special.chdtrc(1, quantile) + differences) - (1 - level)

        largest = float(max(statistics.max(), controls.max())) + _FAR
        return float(scipy.optimize.brentq(beyond, 0.0, largest)) if beyond(0.0) > 0 else 0.0


def basis_of(size: int) -> FloatArray:
    """An orthonormal basis (K, K - 1) of the vectors with the sum 0."""
    square = np.concatenate([np.ones((size, 1)), np.eye(size)[:, :-1]], axis=1)
    return np.asarray(np.linalg.qr(square)[0][:, 1:])


def corners_of(condition: FloatArray) -> FloatArray:
    """The corners (K, r) of the distributions theta with a'theta = 0, for a (K,).

    >>> corners_of(np.array([-1.0, 1.0, 0.0])).T
    array([[0. , 0. , 1. ],
           [0.5, 0.5, 0. ]])
    """
    near = _LEAST * max(float(np.abs(condition).max()), 1.0)
    below, above = np.flatnonzero(condition < -near), np.flatnonzero(condition > near)
    corners = list(np.eye(condition.size)[np.abs(condition) <= near])
    for i in below:
        for j in above:
            corner = np.zeros(condition.size)
            corner[i], corner[j] = condition[j], -condition[i]
            corners.append(corner / corner.sum())
    return np.array(corners).reshape(-1, condition.size).T
