"""Limits of linear functions of the shares, such as a mean, that hold for every distribution.

Let T (K,) be unbiased estimates of the shares theta, with the covariance C / n. For weights c and
any slack s >= 0,

    c'theta <= (c + s)'theta,   so   (c + s)'T + z sd(s),   sd(s)^2 = (c + s)' C (c + s) / n

is an upper limit of c'theta. It holds with the probability Phi(z) for every theta, smooth or not. A
lower limit of c'theta is an upper limit of -c'theta with its sign changed. With s = 0 both are
Wald's.

Slack at values that hardly anybody has costs little, and takes away the noise of T there. The best
s for a distribution m makes the expected limit least:

    min_s  (c + s)'m + z sd(s)
    = max { c'theta : theta >= 0, sum theta = 1, n (theta - m)' C^+ (theta - m) <= z^2 }

s is the mean of the best s_i for draws m_i from the posterior of a log-spline. A distribution that
is not smooth makes the interval wider, and changes nothing else. But the same reports choose s and
make T, and so s'T is too small on average. With normal errors this bias is b below (Stein's
identity, where T and the smooth estimate have the posterior's covariance). The limit is

    (c + s)'T - b + z sd(s),   b = mean_i s_i'(m_i - mean m) <= 0

Source: METHODS 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError, ImpossibleReportError
from warner.estimators import LogSpline
from warner.estimators.base import threads_for
from warner.metrics.simplex import project
from warner.results.intervals import holding, normal_quantile
from warner.results.share_noise import covariance_of
from warner.results.solution import Solution

_DRAWS = 32  # of the log-spline's posterior
# Slack is even within at most so many cells of neighbouring values. The search for it takes about
# as many steps, each with a matrix of about this size.
_MOST_CELLS = 32
_MOST_VALUES = 2048  # beyond, the covariance matrix takes seconds
_HALVINGS = 40
# Of the mean variance; added to variances, because the covariance matrix may be singular.
_RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class UnbiasedShares:
    """Unbiased estimates of the shares that sum to 1, and distributions for which slack is chosen.

    Attributes:
        shares: T (K,).
        covariance: C (K, K) of one report; its rows sum to 0.
        drawn: (B, K) distributions m_i, with no share at 0. Where B is 0, there is no slack.
        n: number of reports.
    """

    shares: np.ndarray
    covariance: np.ndarray
    drawn: np.ndarray
    n: int

    @classmethod
    def of(cls, solution: Solution, target: str) -> UnbiasedShares | None:
        """The unbiased estimates of the reports of an estimate; None where they are not known.

        Where they do not sum to 1, the noise that their sum shows is taken away:
        T - C 1 (1'T - 1) / (1'C 1).

        Args:
            solution: an estimate of numbers, with or without silence.
            target: ``"population"`` or ``"respondents"``.
        """
        data = solution.data
        if not data.domain.answered.is_ordered or data.domain.size > _MOST_VALUES:
            return None
        smooth, drawn = _smooth(solution)
        try:
            shares = data.channel.invert(data.weights)
            if smooth is None:
                smooth = project(shares)
            least = 1 / (data.n + 1)
            smooth, drawn = ((1 - least) * m + least / shares.size for m in (smooth, drawn))
            covariance = covariance_of(data, smooth, target)
        except (IdentifiabilityError, ArgumentError):
            return None
        with_sum = covariance.sum(axis=1)
        of_sum = float(with_sum.sum())
        if of_sum > _RIDGE * np.trace(covariance):
            shares = shares - with_sum * (shares.sum() - 1) / of_sum
            covariance = covariance - np.multiply.outer(with_sum, with_sum) / of_sum
        return cls(shares, covariance, drawn, data.n)

    def limits(self, weights: np.ndarray, z: float) -> np.ndarray:
        """A lower and an upper limit (2,) of c'theta.

        Args:
            weights: c (K,).
            z: the normal quantile of each limit.
        """
        return _in_order(lambda with_slack: self._limits(weights, z, with_slack))

    def _limits(self, weights: np.ndarray, z: float, with_slack: bool) -> np.ndarray:
        """Both limits (2,), which cross where slack takes more than the noise."""
        found = []
        for sign in (-1.0, 1.0):
            slack, bias = self.slack(sign * weights, z) if with_slack else (0.0, 0.0)
            c = sign * weights + slack
            spread = np.sqrt(max(float(c @ self.covariance @ c), 0.0) / self.n)
            found.append(sign * (float(c @ self.shares) - bias + z * spread))
        return np.array(found)

    def interval(
        self,
        weights: np.ndarray,
        level: float,
        estimate: float,
        range_: tuple[float, float] | None = None,
    ) -> np.ndarray:
        """The interval (2,) of c'theta, clipped to its range and widened to hold an estimate.

        Args:
            weights: c (K,).
            level: the coverage, in [0.5, 1).
            estimate: of c'theta.
            range_: the least and the largest possible c'theta; None for those of the weights.
        """
        least, most = range_ or (float(weights.min()), float(weights.max()))
        bounds = np.clip(self.limits(weights, normal_quantile(level)), least, most)
        held: np.ndarray = holding(bounds[None], min(max(estimate, least), most))[0]
        return held

    def limits_of_ratio(
        self, weights: np.ndarray, base: np.ndarray, ratio: float, z: float
    ) -> np.ndarray:
        """A lower and an upper limit (2,) of c'theta / a'theta: Fieller's, with slack in c.

            the r between which (c - s)'T + b - r a'T and (c + s')'T - b' - r a'T can be 0

        They are infinite where a'theta does not differ significantly from 0.

        Args:
            weights: c (K,).
            base: a (K,), at least 0.
            ratio: about which the slack is the best.
            z: the normal quantile of each limit.
        """
        return _in_order(lambda with_slack: self._ratios(weights, base, ratio, z, with_slack))

    def _ratios(
        self, weights: np.ndarray, base: np.ndarray, ratio: float, z: float, with_slack: bool
    ) -> np.ndarray:
        """Both limits (2,) of a ratio, which may cross."""
        found = []
        for sign in (-1.0, 1.0):
            about = sign * (weights - ratio * base)
            slack, bias = self.slack(about, z) if with_slack else (0.0, 0.0)
            both = np.stack([sign * weights + slack, base])
            (nn, nf), (_, ff) = z**2 * (both @ self.covariance @ both.T) / self.n
            numerator, share = both @ self.shares - np.array([bias, 0.0])
            a, b, c = share**2 - ff, numerator * share - nf, numerator**2 - nn
            if a <= 0 or share <= 0:
                return np.array([-np.inf, np.inf])
            found.append(sign * float((b + np.sqrt(max(b**2 - a * c, 0.0))) / a))
        return np.array(found)

    def slack(self, weights: np.ndarray, z: float) -> tuple[np.ndarray, float]:
        """s (K,) of an upper limit of c'theta, and the bias b <= 0 of s'T.

        Args:
            weights: c (K,).
            z: the normal quantile of the limit.
        """
        size = weights.size
        if len(self.drawn) == 0:
            return np.zeros(size), 0.0
        starts = np.arange(0, size, -(-size // _MOST_CELLS))
        with_weights = self.covariance @ weights
        search = _Search(
            np.add.reduceat(np.add.reduceat(self.covariance, starts, 0), starts, 1),
            np.add.reduceat(with_weights, starts),
            float(weights @ with_weights),
            z / np.sqrt(self.n),
        )
        cells = np.add.reduceat(self.drawn, starts, axis=1)
        each = np.stack([search.least_slack(m) for m in cells])
        bias = float(np.einsum("ij,ij->i", each, cells - cells.mean(axis=0)).mean())
        return np.repeat(each.mean(axis=0), np.diff(np.append(starts, size))), min(bias, 0.0)


def _in_order(limits: Callable[[bool], np.ndarray]) -> np.ndarray:
    """A lower and an upper limit (2,), with slack if they do not cross.

    Each limit has a slack of its own. With few reports or at a low level they may cross. Without
    slack they lie on both sides of the unbiased estimate.

    Args:
        limits: takes whether with slack, and returns the limits.
    """
    found = limits(True)
    return found if found[0] <= found[1] else limits(False)


def _smooth(solution: Solution) -> tuple[np.ndarray | None, np.ndarray]:
    """The log-spline of the reports (K,), and draws (B, K) from its posterior.

    None and no draws where no log-spline fits, as with reports that no people can have sent.
    """
    fit = solution.fit
    if solution.estimator != LogSpline() or fit.posterior is None:
        try:
            with threads_for(solution.data):
                fit = LogSpline().fit(solution.data)
        except (ImpossibleReportError, ArgumentError):
            return None, np.empty((0, solution.domain.size))
    assert fit.posterior is not None
    # The same draws at every call, so that an interval that is made again is the same.
    drawn = fit.posterior.one_by_one(_DRAWS, np.random.default_rng(0))
    return fit.shares, np.stack(list(drawn))


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for s >= 0 (J,) with the least m's + radius sqrt(v + 2 b's + s'C s).

    Attributes:
        covariance: C (J, J).
        with_function: b (J,), covariances with the function without slack.
        of_function: v, its variance.
        radius: positive.
    """

    covariance: np.ndarray
    with_function: np.ndarray
    of_function: float
    radius: float

    def least_slack(self, m: np.ndarray) -> np.ndarray:
        """s (J,) for a distribution m (J,) without zeros.

        With k = sqrt(v + 2 b's + s'C s) / radius, the conditions of the minimum are

            k m + b + C s >= 0,   and = 0 where s > 0

        So s is piecewise linear in k. Its path begins with s = 0 at large k, and changes its slope
        where an s becomes positive, or 0 again. It ends at the k of the minimum. The limit
        holds wherever the path is left, because s >= 0 all along.
        """
        k, positive = np.inf, list[int]()
        for _ in range(4 * m.size):
            fixed, slope = self._segment(positive, m)
            event, at = self._event(positive, fixed, slope, m, k)
            if at is None or not self._is_before(fixed + slope * event, event):
                return self._end(fixed, slope, event, k)
            if at in positive:
                positive.remove(at)
            else:
                positive.append(at)
            k = event
        return np.maximum(fixed + slope * k, 0.0)

    def _end(self, fixed: np.ndarray, slope: np.ndarray, low: float, high: float) -> np.ndarray:
        """s (J,) at the end of the path, which lies between two k of one segment."""
        if high == np.inf:
            return np.zeros(fixed.size)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_before = self._is_before(fixed + slope * middle, middle)
            low, high = (low, middle) if is_before else (middle, high)
        return np.maximum(fixed + slope * high, 0.0)

    def _segment(self, positive: list[int], m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s as fixed + slope k, (J,) each, while these s are positive and the others 0."""
        fixed, slope = np.zeros(m.size), np.zeros(m.size)
        if positive:
            inner = self.covariance[np.ix_(positive, positive)]
            inner = inner + _RIDGE * np.trace(self.covariance) / m.size * np.eye(len(positive))
            right = np.stack([self.with_function[positive], m[positive]], axis=1)
            fixed[positive], slope[positive] = -np.linalg.solve(inner, right).T
        return fixed, slope

    def _event(
        self, positive: list[int], fixed: np.ndarray, slope: np.ndarray, m: np.ndarray, k: float
    ) -> tuple[float, int | None]:
        """The next smaller k at which an s becomes positive or 0, and its place; or 0, None."""
        is_zero = np.ones(m.size, dtype=bool)
        is_zero[positive] = False
        # What must not become negative: k m + b + C s where s is 0, and s where it is positive.
        rest = np.where(is_zero, self.with_function + self.covariance @ fixed, fixed)
        steep = np.where(is_zero, m + self.covariance @ slope, slope)
        falls = (steep > 0) & (rest < 0)
        at_k = np.where(falls, -rest / np.where(falls, steep, 1.0), 0.0)
        at_k[at_k >= k * (1 - 1e-12)] = 0.0
        at = int(np.argmax(at_k))
        return (float(at_k[at]), at) if at_k[at] > 0 else (0.0, None)

    def _is_before(self, s: np.ndarray, k: float) -> bool:
        """Whether k is larger than that of the minimum."""
        variance = self.of_function + 2 * float(self.with_function @ s)
        variance += float(s @ self.covariance @ s)
        return max(variance, 0.0) < (self.radius * k) ** 2
