"""What is asked of a distribution: mean, variance, quantiles, the mass of a range, each a number with an interval.

What a value is, is its place in ``domain.points``. A bin of an Interval holds its numbers spread evenly, so that within a bin
of width h the cumulative share is linear:

    mean = sum_x theta_x c_x,   variance = sum_x theta_x c_x^2 - mean^2 + h^2 / 12,   c the centres

The values of other domains are points: h = 0, and the cumulative share is a staircase.

Mean and range are linear and take the shares as they are, so that they are unbiased where the shares are. Variance and
quantiles are of a distribution: shares that are none are first projected on the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import choice, real, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.channels import SummedChannel
from warner.domains import Domain, Integers, Interval, Product
from warner.estimators import LogSpline
from warner.metrics import ROUNDING, cumulative
from warner.metrics.simplex import project
from warner.results.intervals import TARGETS, holding, interval, normal_quantile
from warner.results.solution import Solution


class Quantity(float):
    """A number that was estimated, and how sure it is.

    >>> from warner import Integers, RandomizedResponse, estimate
    >>> ages = RandomizedResponse(Integers(0, 9), 4.0)
    >>> mean = estimate(ages.tally(ages.randomize([2, 3, 4] * 500))).mean()
    >>> low, high = mean.interval()
    >>> bool(low < mean < high), bool(abs(mean - 3) < 1)
    (True, True)
    """

    _estimate: Solution
    _of: Any  # Linear, Variance, Quantile, Sampled or Ratio, or any of them of a part of the shares

    def __new__(cls, value: float, estimate: Solution, of: Any) -> Quantity:
        self = super().__new__(cls, value)
        self._estimate, self._of = estimate, of
        return self

    def __getnewargs__(self) -> tuple[float, Solution, Any]:  # type: ignore[override]
        return float(self), self._estimate, self._of

    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        kind: str | None = None,
        replicates: int = 200,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """A confidence interval (2,) for the true number; its ends are numbers that it can be.

        Args:
            level: coverage asked for, in (0, 1).
            target: ``"population"``, the distribution that people were drawn from, or ``"respondents"``, exactly these people.
            kind: ``"bootstrap"``, ``"posterior"`` (quantiles of the posterior, where the estimator has one), ``"fisher"`` (means and
                ranges), as in :mod:`warner.results.intervals`; None for the posterior where there is one and the target is the population,
                else the bootstrap; of a marginal, for what its own reports say, widened to hold the estimate.
            replicates: of the bootstrap.
            rng: None for fresh randomness.

        The bootstrap of a quantile is that of all cumulative shares, and the interval is where they can be q [Woodruff 1952]:

            { v : low(F(v - 1)) < q <= high(F(v)) }

        because a quantile itself jumps: reflecting its jumps about the estimate, as is right for smooth functions, misses.

        Where different distributions make the same reports (``has_intervals`` is False), the bootstrap does not see how far the
        number could differ among them, and where an estimator is biased (few steps of EM) it sees the bias only at the estimate.
        """
        if isinstance(self._of, Sampled | Ratio):
            choice("kind", kind, ("wald", None))
            choice("target", target, TARGETS)
            bounds = self._of.around(normal_quantile(level))
            return self._holding(bounds) if isinstance(self._of, Ratio) else bounds
        if kind is None and (alone := self._alone()) is not None:
            return self._holding(alone.interval(level, target, None, replicates, rng))
        if kind is None:
            kind = (
                "posterior"
                if self._estimate.fit.by_draws and target == "population"
                else "bootstrap"
            )
        choice(
            "kind",
            kind,
            ("bootstrap", "posterior", *(("fisher",) if isinstance(self._of, Linear) else ())),
        )
        asked = getattr(self._of, "cumulative", self._of) if kind == "bootstrap" else self._of
        weights = (
            asked.weights
            if isinstance(asked, Linear) and (asked.limits is None or kind == "fisher")
            else asked
        )
        bounds = interval(self._estimate, level, target, kind, weights, replicates, rng)
        return asked.invert(bounds, self._of) if hasattr(asked, "invert") else bounds[0]

    def _holding(self, bounds: np.ndarray) -> np.ndarray:
        """An interval (2,) of another estimate of the same number, widened to hold this one."""
        found: np.ndarray = holding(bounds[None], float(self))[0]
        return found

    def _alone(self) -> Quantity | None:
        """The same number of a marginal, from its own reports: refitting all that it is a marginal of, 200 times, takes minutes."""
        result = self._estimate
        data = result.data
        if (
            result.sums is None
            or isinstance(data.channel, SummedChannel)
            or not isinstance(data.domain, Integers | Interval)
        ):
            return None
        own = Solution(LogSpline().fit(data), data, LogSpline())
        return Quantity(float(np.atleast_1d(self._of(own.probabilities))[0]), own, self._of)


@dataclass(frozen=True, eq=False)
class Sampled:
    """A mean that was estimated by itself, its variance, the least and the largest value, and the most that it is off on average."""

    value: float
    variance: float
    limits: tuple[float, float]
    bias: float = 0.0

    def around(self, z: float) -> np.ndarray:
        """value +- (z sd + bias), within the limits."""
        half = z * np.sqrt(self.variance) + self.bias
        return np.clip([self.value - half, self.value + half], *self.limits)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio of two estimated numbers, such as a mean among those whose share is estimated too.

    ``variance``: (2, 2) of (numerator, denominator); ``limits``: the least and the largest that it can be.
    """

    numerator: float
    denominator: float
    variance: np.ndarray
    limits: tuple[float, float]

    def around(self, z: float) -> np.ndarray:
        """{ r : |N - r f| <= z sd(N - r f) }, within the limits: all of them where f is not clear of 0 [Fieller 1954]."""
        (nn, nf), (_, ff) = z**2 * self.variance
        a, b, c = (
            self.denominator**2 - ff,
            self.numerator * self.denominator - nf,
            self.numerator**2 - nn,
        )
        if a <= 0 or self.denominator <= 0:
            return np.array(self.limits)
        root = np.sqrt(max(b**2 - a * c, 0.0))
        return np.clip([(b - root) / a, (b + root) / a], *self.limits)


@dataclass(frozen=True, eq=False)
class Linear:
    """weights @ theta: (1,); ``limits`` where it can be more than shares of the values make it."""

    weights: np.ndarray
    limits: tuple[float, float] | None = None

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return np.atleast_1d(self.weights @ theta)


@dataclass(frozen=True, eq=False)
class Variance:
    """sum_x theta_x c_x^2 - (sum_x theta_x c_x)^2 + h^2 / 12: (1,), with c (K,) and h the width of a bin."""

    points: np.ndarray
    width: float

    @property
    def limits(self) -> tuple[float, float]:
        least = self.width**2 / 12
        return least, least + float(np.ptp(self.points)) ** 2 / 4

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        theta = _distribution(theta)
        return np.atleast_1d(theta @ (self.points - theta @ self.points) ** 2 + self.width**2 / 12)


@dataclass(frozen=True, eq=False)
class Cumulative:
    """Shares at or below a value: 0, then one (K,) for each value in order, or bin.

    ``edges``: (K + 1,) of bins, or (K,) points in order; ``order``: (K,), the values in that order.
    """

    edges: np.ndarray
    order: np.ndarray

    limits = (0.0, 1.0)

    @property
    def bins(self) -> bool:
        return self.edges.size > self.order.size

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return cumulative(_distribution(theta)[self.order])

    def reached(self, shares: np.ndarray, q: float) -> float:
        """The smallest value at which the cumulative shares (K + 1,), which need not increase, are q or more."""
        j = max(1, int(np.argmax(shares >= q - ROUNDING)))
        if not self.bins:
            return float(self.edges[j - 1])
        before, after = shares[j - 1], shares[j]
        part = min(1.0, max(0.0, (q - before) / (after - before))) if after > before else 0.0
        return float(self.edges[j - 1] + part * (self.edges[j] - self.edges[j - 1]))

    def invert(self, bounds: np.ndarray, of: Any) -> np.ndarray:
        """The values (2,) between which q can be reached, from bounds (K + 1, 2) of the cumulative shares."""
        q = of.q
        if q <= ROUNDING:  # it is the least value whatever the shares are
            return np.repeat(self.edges[0], 2)
        bounds = bounds.copy()
        bounds[0], bounds[-1] = 0.0, 1.0
        low = self.reached(bounds[:, 1], q)
        if not self.bins:
            return np.array([low, self.edges[np.flatnonzero(bounds[:-1, 0] < q)[-1]]])
        j = int(np.flatnonzero(bounds[:, 0] <= q)[-1])
        if j == self.order.size:
            return np.array([low, self.edges[-1]])
        part = (q - bounds[j, 0]) / (bounds[j + 1, 0] - bounds[j, 0])
        return np.array([low, max(low, self.edges[j] + part * (self.edges[j + 1] - self.edges[j]))])


@dataclass(frozen=True, eq=False)
class Quantile:
    """The smallest value whose cumulative share reaches q: (1,)."""

    cumulative: Cumulative
    q: float

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.cumulative.edges[0]), float(self.cumulative.edges[-1])

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return np.array([self.cumulative.reached(self.cumulative(theta), self.q)])


def mean(estimate: Solution) -> Quantity | tuple[Quantity, ...]:
    """See Estimate.mean."""
    points = _points(estimate.domain, "mean")
    if (fit := estimate.fit.mean) is not None:
        given = zip(points.T, fit.value, fit.variance, fit.bias, strict=True)
        found = tuple(
            Quantity(
                float(m),
                estimate,
                Sampled(float(m), float(v / estimate.n), _ends(estimate.domain, c), float(b)),
            )
            for c, m, v, b in given
        )
        return found[0] if len(found) == 1 else found
    return _each(estimate, [Linear(c, _ends(estimate.domain, c)) for c in points.T])


def variance(estimate: Solution) -> Quantity | tuple[Quantity, ...]:
    """See Estimate.variance."""
    points = _points(estimate.domain, "variance")
    return _each(estimate, [Variance(c, _width(estimate.domain)) for c in points.T])


def quantile(estimate: Solution, q: float) -> Quantity:
    """See Estimate.quantile."""
    points = _line(estimate.domain, "quantile")
    q = real("q", q)
    if not 0 <= q <= 1:
        raise ArgumentError(message("q", "must lie in [0, 1]", show(q)))
    order = np.argsort(points, kind="stable")
    edges = _edges(estimate.domain) if isinstance(estimate.domain, Interval) else points[order]
    return _quantity(estimate, Quantile(Cumulative(edges, order), q))


def mass(estimate: Solution, low: float, high: float) -> Quantity:
    """See Estimate.range."""
    domain = estimate.domain
    points = _line(domain, "range")
    first, last = (
        (domain.low, domain.high) if isinstance(domain, Interval) else (points.min(), points.max())
    )
    low, high = real("low", low), real("high", high)
    for name, value in (("low", low), ("high", high)):
        if not first <= value <= last:
            raise ArgumentError(
                message(name, f"must lie in the domain, {first:.10g}..{last:.10g}", f"{value:.10g}")
            )
    if low > high:
        raise ArgumentError(message("low", f"must be at most high, {high:.10g}", f"{low:.10g}"))
    if isinstance(domain, Interval):
        edges = np.clip(_edges(domain), low, high)
        weights = np.clip(np.diff(edges) / _width(domain), 0.0, 1.0)
    else:
        weights = ((points >= low) & (points <= high)).astype(np.float64)
    return _quantity(estimate, Linear(weights))


def _quantity(estimate: Solution, of: Linear | Variance | Quantile) -> Quantity:
    return Quantity(float(of(estimate.probabilities)[0]), estimate, of)


def _each(estimate: Solution, functions: list[Any]) -> Quantity | tuple[Quantity, ...]:
    found = tuple(_quantity(estimate, of) for of in functions)
    return found[0] if len(found) == 1 else found


def _distribution(theta: np.ndarray) -> np.ndarray:
    """theta, projected on the simplex where it is not there."""
    return theta if (theta >= 0).all() and abs(theta.sum() - 1) <= 1e-9 else project(theta)


def _ends(domain: Domain, points: np.ndarray) -> tuple[float, float]:
    """The least and the largest number of the domain, of which bins know the centres only."""
    return (
        (domain.low, domain.high)
        if isinstance(domain, Interval)
        else (float(points.min()), float(points.max()))
    )


def _width(domain: Domain) -> float:
    return (domain.high - domain.low) / domain.size if isinstance(domain, Interval) else 0.0


def _edges(domain: Interval) -> np.ndarray:
    return np.linspace(domain.low, domain.high, domain.size + 1)


def _points(domain: Domain, what: str) -> np.ndarray:
    """Coordinates (K, d) of the values, refused where they have none."""
    if domain.points is None:
        each = "combination" if isinstance(domain, Product) else "value"
        other = (
            "Tally a numeric attribute by itself"
            if isinstance(domain, Product)
            else "Use Integers or Interval if the values are numbers"
        )
        remedy = f"{other}, or ask for interval(kind='bootstrap', weights=...) with a number for each {each}"
        raise ArgumentTypeError(
            message(
                what,
                "needs values that are numbers or places, as of Integers, Interval or Grid",
                type(domain).__name__,
                remedy,
            )
        )
    return domain.points


def _line(domain: Domain, what: str) -> np.ndarray:
    """Coordinates (K,) of values on a line, refused where they are not."""
    points = _points(domain, what)
    if points.shape[1] > 1:
        remedy = "Ask for mean() or variance(), or for interval(kind='bootstrap', weights=...) with a number for each value"
        raise ArgumentTypeError(
            message(
                what,
                "needs values in an order, as of Integers or Interval",
                type(domain).__name__,
                remedy,
            )
        )
    return points[:, 0]
