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

A variance is such a function but for the square of the mean, and a quantile is where a cumulative
share passes q. Their limits are here too.

Source: METHODS 5; Rust and Burrus (1972) for quantiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner._core.extras import scipy
from warner.channels import DenseChannel, LikelihoodOperator
from warner.estimators.base import LikelihoodData, threads_for
from warner.metrics import ROUNDING, project
from warner.results.share_noise import covariance_of, most_cells
from warner.results.solution import Solution

# Slack is even within at most so many cells of neighbouring values.
_MOST_CELLS = 32
_KEPT = 2  # for the variance and the quantiles of one estimate, which are asked for in a row
_MOST_VALUES = 2048  # beyond, the covariance matrix takes seconds
_MOST_EDGES = 256  # at which cumulative shares are judged
_FEWEST_SUMS, _FEWEST_CELLS = 8, 32
_MOST_NUMBERS = 2**23  # in the channel of cells
_CANCEL = 0.25  # of the variance of independent errors
_FLOOR = 1e-10  # of the largest variance of a combination of shares; smaller ones are rounding
_CONDITION = 1e3  # the weight of a condition over that of the errors, in standard deviations
_STEPS, _CLOSE = 60, 1e-5  # of the search for slack
# Of the mean variance; variances below it are rounding.
_RIDGE, _SLACK_RIDGE = 1e-12, 1e-9


@dataclass(frozen=True, eq=False)
class UnbiasedShares:
    """Unbiased estimates of the shares that sum to 1, and distributions for choosing slack."""

    shares: np.ndarray  # T (K,)
    covariance: np.ndarray  # C (K, K) of one report; its rows sum to 0
    # (B, K) distributions m_i, with no share at 0. Where B is 0, there is no slack.
    drawn: np.ndarray
    n: int  # number of reports
    # (K,) with the sum 1, along which T was moved until its sum is 1; 0 where it was not
    along: np.ndarray
    # the first value of each of the K cells of values; None where each value is one
    starts: np.ndarray | None = None
    # for weights c (K,) of cells, the expectation of c'T where all people have one value, for each
    # of the values
    of_values: Callable[[np.ndarray], np.ndarray] = np.asarray
    are_even: bool = False  # whether the values of a cell are taken as equally common
    degrees: float = np.inf  # of freedom of C, of a survey with few clusters

    @classmethod
    @lru_cache(maxsize=_KEPT)
    def of(cls, solution: Solution, target: str) -> UnbiasedShares | None:
        """The unbiased estimates of the reports of an estimate; None where they are not known.

        Where they do not sum to 1, the noise that their sum shows is taken away:
        T - C 1 (1'T - 1) / (1'C 1).
        """
        if solution.domain.size > _MOST_VALUES:
            return None
        smooth, drawn = solution.smoothed
        return cls._known(solution.data, target, smooth, drawn, None)

    @classmethod
    @lru_cache(maxsize=_KEPT)
    def on_cells(cls, data: LikelihoodData, target: str) -> UnbiasedShares | None:
        """The unbiased estimates of at most 256 shares, without slack; None if there are none."""
        size, answered = data.domain.size, data.domain.answered
        none = np.empty((0, size))
        if size <= _MOST_EDGES:
            return cls._known(data, target, None, none, None)
        if not answered.is_ordered:
            return None
        # Neighbours in a cell are added. Where the shares of values are not determined, those of a
        # cell are taken as equally common, and there are at least 32 cells.
        most = most_cells(data.channel, _MOST_EDGES)
        if most >= _FEWEST_SUMS:
            starts = _starts(answered.size, size, most)
            estimates = cls._known(data, target, None, none, starts)
            if estimates is not None:
                return estimates
        channel = data.channel
        if channel.rows_per_report > 1 or data.survey is not None:
            return None
        most = min(_MOST_EDGES, answered.size // 2, _MOST_NUMBERS // sum(channel.shape))
        for count in (most, most // 2, most // 4):
            if count < _FEWEST_CELLS:
                return None
            starts = _starts(answered.size, size, count)
            means = np.repeat(np.eye(starts.size), np.diff(starts, append=size), axis=0)
            means /= means.sum(axis=0)
            # A row for each report, observed or not, as the covariance needs.
            cells = DenseChannel(channel.matvec(means))
            merged = replace(data, channel=cells)
            estimates = cls._known(merged, target, None, np.empty((0, starts.size)), None)
            if estimates is not None:
                expected = _expectations(channel, cells, estimates.along)
                return replace(estimates, starts=starts, of_values=expected, are_even=True)
        return None

    @classmethod
    def _known(
        cls,
        data: LikelihoodData,
        target: str,
        smooth: np.ndarray | None,
        drawn: np.ndarray,
        starts: np.ndarray | None,
    ) -> UnbiasedShares | None:
        """The estimates of a channel's shares, or of sums of cells; ``smooth`` (K,) is near."""
        try:
            with threads_for(data):
                shares = data.channel.invert(data.weights)
                if smooth is None:
                    smooth = project(shares)
                least = 1 / (data.n + 1)
                smooth, drawn = ((1 - least) * m + least / shares.size for m in (smooth, drawn))
                covariance = covariance_of(data, smooth, target, starts)
        except (IdentifiabilityError, ArgumentError):
            return None

        def make(*parts: Any) -> UnbiasedShares:
            return replace(cls._with_sum_one(*parts), degrees=data.degrees)

        if starts is None:
            return make(shares, covariance, drawn, data.n)
        sizes = np.diff(starts, append=shares.size)
        cells = make(np.add.reduceat(shares, starts), covariance, drawn[:, starts], data.n)
        return replace(cells, starts=starts, of_values=lambda weights: np.repeat(weights, sizes))

    @classmethod
    def _with_sum_one(
        cls, shares: np.ndarray, covariance: np.ndarray, drawn: np.ndarray, n: int
    ) -> UnbiasedShares:
        """The estimates without the noise that their sum shows."""
        with_sum = covariance.sum(axis=1)
        of_sum = float(with_sum.sum())
        along = np.zeros(shares.size)
        if of_sum > _RIDGE * np.trace(covariance):
            along = with_sum / of_sum
            shares = shares - along * (shares.sum() - 1)
            covariance = covariance - np.multiply.outer(with_sum, along)
        return cls(shares, covariance, drawn, n, along)

    @property
    def for_heaps(self) -> UnbiasedShares:
        """The same estimates without slack: beside a heap in a bin they are below 0 on average."""
        return replace(self, drawn=self.drawn[:0])

    def per_cell(self, weights: np.ndarray) -> np.ndarray:
        """The means (K,) over the cells of weights of all values."""
        if self.starts is None:
            return weights
        sizes = np.diff(self.starts, append=weights.size)
        return np.asarray(np.add.reduceat(weights, self.starts) / sizes)

    def limits_of_variance(self, points: np.ndarray, base: np.ndarray, z: float) -> np.ndarray:
        """A lower and an upper limit (2,) of sum_x a_x theta_x (c_x - mu)^2 / a'theta.

            variance = min_m E(c - m)^2 <= E(c - m)^2

        The lower limit is that of E(c - m)^2 at the m that makes it least. Var M of the ratio M of
        unbiased estimates is added to the upper limit. Where values are in cells, both are moved by
        the bounds of the bias. Here c is ``points`` and a ``base``, (K,).
        """
        people = self.per_cell(base)
        total = float(people @ self.shares)
        if total <= 0:
            return np.array([-np.inf, np.inf])
        mean = float(self.per_cell(base * points) @ self.shares) / total
        inside = points[base > 0]
        middle = min(max(mean, float(inside.min())), float(inside.max()))
        about = self.per_cell(base * (points - mean)) / total
        of_mean = float(about @ self.covariance @ about) / self.n
        of_values = base * (points - middle) ** 2
        squares = self.per_cell(of_values)
        bias = (self.of_values(squares) - of_values) / total
        if base.all():
            low, high = self.limits(squares, z)
        else:
            ratio = float(squares @ self.shares) / total
            low, high = self.limits_of_ratio(squares, people, ratio, z)
        return np.array([low - bias.max(), high - bias.min() + of_mean])

    def reach_of_quantile(self, order: np.ndarray, q: float, z: float) -> tuple[int, int]:
        """The first and last of values in order (V,) in which the cumulative share can pass q.

        After the first j values it is q where a'theta = 0, with a = 1 - q at these and -q at later
        values: where |a'T| <= z sd(a), or, if the errors of neighbours cancel, where some
        distribution is near:

            n (theta - T)' C^+ (theta - T) <= least + z^2,   theta >= 0, a'theta = 0
        """
        cells = order if self.starts is None else np.flatnonzero(self.starts < order.size)
        about = np.zeros((cells.size + 1, self.shares.size))
        about[:, cells] = np.tri(cells.size + 1, cells.size, -1) - q
        if self._errors_cancel(cells):
            first, last = self._near.reach(about, z)
        else:
            middle = about @ self.shares
            spread = np.einsum("ij,ij->i", about @ self.covariance, about)
            half = z * np.sqrt(np.maximum(spread, 0.0) / self.n)
            first = 1 + int(np.argmax(np.append((middle + half)[1:-1] >= 0, True)))
            last = int(np.flatnonzero(np.append(True, (middle - half)[1:-1] < 0))[-1])
        if self.starts is None:
            return first - 1, last
        ends = np.append(self.starts[cells], order.size)
        if self.are_even:
            # A share at the edge of a cell is expected in the next one, too.
            first, last = max(first - 1, 1), min(last + 1, cells.size - 1)
        return int(ends[first - 1]), int(ends[last + 1]) - 1

    @cached_property
    def _near(self) -> _Near:
        """The distances of distributions, of which every quantile asks."""
        return _Near.of(self)

    def _errors_cancel(self, cells: np.ndarray) -> bool:
        """Whether the sum of the lower half of shares errs far less than independent errors do."""
        lower = cells[: max(1, cells.size // 2)]
        half = self.covariance[np.ix_(lower, lower)]
        deviations = np.sqrt(np.maximum(half.diagonal(), np.finfo(float).tiny))
        sums = float((half / np.multiply.outer(deviations, deviations)).sum())
        # The variance of the sum is about half the number of errors where values are treated
        # alike, and a fifth of it or less where reports of neighbours are alike.
        return sums < _CANCEL * lower.size

    def limits(self, weights: np.ndarray, z: float) -> np.ndarray:
        """A lower and an upper limit (2,) of c'theta, for weights c (K,)."""
        return _in_order(lambda with_slack: self._limits(weights, z, with_slack))

    def _limits(self, weights: np.ndarray, z: float, with_slack: bool) -> np.ndarray:
        """Both limits (2,), which cross where slack takes more than the noise."""
        ends = []
        for sign in (-1.0, 1.0):
            slack, bias = self.slack(sign * weights, z) if with_slack else (0.0, 0.0)
            c = sign * weights + slack
            spread = np.sqrt(max(float(c @ self.covariance @ c), 0.0) / self.n)
            # An estimate below all possible numbers counts as the least, as for Wald intervals.
            middle = max(float(c @ self.shares) - bias, float((sign * weights).min()))
            ends.append(sign * (middle + z * spread))
        return np.array(ends)

    def limits_of_ratio(
        self, weights: np.ndarray, base: np.ndarray, ratio: float, z: float
    ) -> np.ndarray:
        """The limits (2,) of c'theta / a'theta, c and a (K,): Fieller's, with slack in c.

            the r between which (c - s)'T + b - r a'T and (c + s')'T - b' - r a'T can be 0

        They are infinite where a'theta does not differ significantly from 0.
        """
        return _in_order(lambda with_slack: self._ratios(weights, base, ratio, z, with_slack))

    def _ratios(
        self, weights: np.ndarray, base: np.ndarray, ratio: float, z: float, with_slack: bool
    ) -> np.ndarray:
        """Both limits (2,) of a ratio, which may cross."""
        ends = []
        for sign in (-1.0, 1.0):
            about = sign * (weights - ratio * base)
            slack, bias = self.slack(about, z) if with_slack else (0.0, 0.0)
            both = np.stack([sign * weights + slack, base])
            (nn, nf), (_, ff) = z**2 * (both @ self.covariance @ both.T) / self.n
            numerator, share = both @ self.shares - np.array([bias, 0.0])
            a, b, c = share**2 - ff, numerator * share - nf, numerator**2 - nn
            if a <= 0 or share <= 0:
                return np.array([-np.inf, np.inf])
            ends.append(sign * float((b + np.sqrt(max(b**2 - a * c, 0.0))) / a))
        return np.array(ends)

    def slack(self, weights: np.ndarray, z: float) -> tuple[np.ndarray, float]:
        """s (K,) of an upper limit of c'theta, for weights c (K,), and the bias b <= 0 of s'T."""
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


def _starts(answered: int, size: int, count: int) -> np.ndarray:
    """The first values of cells: ``count`` of answers, and one for each other value."""
    return np.append(np.arange(count) * answered // count, np.arange(answered, size))


def _expectations(
    channel: LikelihoodOperator, cells: LikelihoodOperator, along: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """What estimates of cells expect where all people have one value: see UnbiasedShares."""
    of_sum = channel.rmatvec(cells.influence(np.ones(along.size))) - 1

    def expected(weights: np.ndarray) -> np.ndarray:
        of_cells = channel.rmatvec(cells.influence(weights))
        return np.asarray(of_cells - float(weights @ along) * of_sum)

    return expected


def _in_order(limits: Callable[[bool], np.ndarray]) -> np.ndarray:
    """A lower and an upper limit (2,), with slack if they do not cross."""
    both = limits(True)
    # Each limit has its own slack: they cross with few reports or at a low level.
    return both if both[0] <= both[1] else limits(False)


@dataclass(frozen=True, eq=False)
class _Near:
    """The distances of distributions from unbiased estimates T, n (theta - T)' C^+ (theta - T)."""

    root: np.ndarray  # R (K, K), with R'R = n C^+ but for a floor of the variances
    centre: np.ndarray  # R T (K,)
    weight: float  # of a condition in least squares
    best: np.ndarray  # the nearest distribution (K,)
    least: float  # its distance

    @classmethod
    def of(cls, unbiased: UnbiasedShares) -> _Near:
        """The distances from unbiased estimates and their nearest distribution."""
        variances, vectors = np.linalg.eigh(unbiased.covariance / unbiased.n)
        floor = max(_FLOOR * float(variances[-1]), np.finfo(float).tiny ** 0.5)
        root = (vectors / np.sqrt(np.maximum(variances, floor))).T
        weight = _CONDITION * float(np.sqrt((root**2).sum(axis=0).max()))
        start = cls(root, root @ unbiased.shares, weight, unbiased.shares, 0.0)
        best = start._nearest()
        assert best is not None
        return replace(start, best=best, least=start._distance_of(best))

    def reach(self, about: np.ndarray, z: float) -> tuple[int, int]:
        """The first place after which F can be q, and the last after which it can be less."""
        values = about @ self.best
        at = 1 + int(np.argmax(np.append(values[1:-1] >= -ROUNDING, True)))
        first, last = (0, at), (at - 1, len(about) - 1)
        # As theta >= 0, what can be reached at one place can be reached at each later one.
        while first[1] - first[0] > 1:
            middle = sum(first) // 2
            is_near = self.distance(about[middle]) <= self.least + z**2
            first = (first[0], middle) if is_near else (middle, first[1])
        while last[1] - last[0] > 1:
            middle = sum(last) // 2
            is_near = self.distance(about[middle]) <= self.least + z**2
            last = (middle, last[1]) if is_near else (last[0], middle)
        return first[1], last[0]

    def distance(self, about: np.ndarray) -> float:
        """The least distance of a distribution with about'theta = 0."""
        nearest = self._nearest(about)
        return 0.0 if nearest is None else self._distance_of(nearest)

    def _distance_of(self, theta: np.ndarray) -> float:
        return float(((self.root @ theta - self.centre) ** 2).sum())

    def _nearest(self, *about: np.ndarray) -> np.ndarray | None:
        """The nearest theta (K,) with about'theta = 0; None where the search does not end."""
        size = self.centre.size
        rows = np.vstack([self.root, self.weight * np.stack([np.ones(size), *about])])
        right = np.concatenate([self.centre, [self.weight], np.zeros(len(about))])
        try:
            return np.asarray(scipy.optimize.nnls(rows, right, maxiter=30 * size)[0])
        except RuntimeError:
            return None


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for s >= 0 (J,) with the least m's + radius sqrt(v + 2 b's + s'C s)."""

    covariance: np.ndarray  # C (J, J)
    with_function: np.ndarray  # b (J,), covariances with the function without slack
    of_function: float  # v, its variance
    radius: float  # positive

    @cached_property
    def ridged(self) -> np.ndarray:
        """C (J, J) with a ridge, which has an inverse."""
        size = self.with_function.size
        ridge = _SLACK_RIDGE * (np.trace(self.covariance) / size + np.finfo(float).tiny)
        return np.asarray(self.covariance + ridge * np.eye(size))

    @cached_property
    def root(self) -> np.ndarray:
        """L (J, J) with L L' = C, but for a ridge."""
        return np.linalg.cholesky(self.ridged)

    def least_slack(self, m: np.ndarray) -> np.ndarray:
        """s (J,) for a distribution m (J,) without zeros."""
        # min_s m's + radius sqrt(f(s)) = min_(s, k) m's + (f(s) / k + radius^2 k) / 2,
        # f(s) = v + 2 b's + s'C s. Each of s and k = sqrt(f(s)) / radius is the best for the other
        # in turn, and both together are a convex problem: f(s(k)) / k^2 decreases in k, and is
        # radius^2 at the best k. The limit holds wherever the search ends.
        right = np.linalg.solve(self.root, np.stack([m, self.with_function], axis=1))
        k = self._deviation(np.zeros(m.size)) / self.radius
        low, high, least = 0.0, np.inf, _CLOSE * k
        for _ in range(_STEPS):
            s, _ = scipy.optimize.nnls(self.root.T, -(k * right[:, 0] + right[:, 1]))
            after = self._deviation(s) / self.radius
            if abs(after - k) <= least:
                break
            low, high = (k, high) if after > k else (low, k)
            # While slack is in the same cells, s is linear in k, and f(s(k)) = rest + k^2 m'C^-1 m.
            share = self._share(m, s > 0)
            rest = max(after**2 - share * k**2, 0.0)
            best = max(np.sqrt(rest / (1 - share)), least) if share < 1 else after
            k = best if low < best < high else after
        return np.asarray(s)

    def _share(self, m: np.ndarray, cells: np.ndarray) -> float:
        """m'C^-1 m of some cells, over radius^2."""
        some = m[cells]
        solved = np.linalg.solve(self.ridged[np.ix_(cells, cells)], some)
        return float(some @ solved) / self.radius**2

    def _deviation(self, s: np.ndarray) -> float:
        """sqrt(f(s))."""
        of_slack = 2 * float(self.with_function @ s) + float(s @ self.covariance @ s)
        return float(np.sqrt(max(self.of_function + of_slack, 0.0)))
