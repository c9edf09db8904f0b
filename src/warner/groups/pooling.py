"""Partial pooling: shares of groups, drawn towards their mean as reports warrant (METHODS 10.5).

    theta_g ~ mean m, covariance s P,   P = diag mu - mu mu',   s = 1 / (kappa + 1)
    T_g | theta_g ~ mean theta_g, covariance of n_g reports

This holds for Dirichlet shares with the concentration kappa. Only the first two moments are used,
so the posterior mean is the best linear estimate. On average over the prior, T_g has the
covariance C / n_g + s (1 - t / n_g) P, where C is that of one report at mu and a person sent up to
t reports. The covariance of theta_g and T_g is s P.

s is not a single estimate. Its posterior is a sum over a grid, from the normal likelihood of all
T_g with m integrated out, and a uniform prior on (0, 1). Where noise is large, a uniform variance
is Stein's harmonic prior [Morris 1983]: estimates do not err more than separate ones, whatever the
groups are. With few groups s is uncertain, and both the estimates and the intervals say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warner._core.progress import steps

# -----------------------------------------------------------------------------------------------
# Coordinates in which the noise of group estimates and their differences are independent.
#
# The unbiased estimates T_g of n_g reports have the covariance C / n_g. The shares of groups vary
# around their mean with the covariance s P, P = diag mu - mu mu'. There is a basis B with
#
#     C = B B',   P = B diag(lambda) B'
#
# In the coordinates z, T = mu + B z, both are diagonal: z_gj has the variance 1 / n_g from the
# reports and s lambda_j from the groups. So all groups cost one product with B.


_RANK = 1e-10  # relative size of a variance that counts as 0
_ROUNDING = 1e-7  # relative size of a standard deviation that is rounding


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A basis of the contrasts between shares, in which noise and prior are diagonal.

    Attributes:
        centre: mu (K,), the shares of all groups.
        basis: B (K, J), where J is the rank of C, K - 1 if every share can be told.
        ratios: lambda (J,), the variance of the prior in units of the noise of one report.
    """

    centre: np.ndarray
    basis: np.ndarray
    ratios: np.ndarray
    _inverse: np.ndarray
    _along: np.ndarray | None

    @classmethod
    def of(cls, centre: np.ndarray, covariance: np.ndarray) -> Coordinates:
        """The coordinates around a centre.

        Shares sum to 1, and unbiased estimates may not. The deviation of the sum is noise that is
        correlated with the noise of the shares, so it is used to reduce that:
        T - C 1 (1'T - 1) / (1'C 1), whose covariance is C - C 1 1'C / (1'C 1).

        Shapes: centre (K,), covariance C (K, K).
        """
        row = covariance.sum(axis=1)
        total, along = float(row.sum()), None
        if total > _RANK * float(np.trace(covariance)):
            along = row / total
            covariance = covariance - np.multiply.outer(row, row) / total
        # The scale of each value is taken out, so that the rank does not depend on it.
        scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        scale = np.where(scale > _ROUNDING * scale.max(), scale, 1.0)
        size, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
        kept = size > _RANK * max(float(size[-1]), 1e-300)
        kept[: size.size - (centre.size - 1)] = False
        root = np.sqrt(size[kept])
        basis = scale[:, None] * vectors[:, kept] * root
        inverse = (vectors[:, kept] / root) / scale[:, None]
        prior = inverse.T @ (centre[:, None] * inverse) - np.multiply.outer(
            inverse.T @ centre, inverse.T @ centre
        )
        ratios, turn = np.linalg.eigh((prior + prior.T) / 2)
        return cls(centre, basis @ turn, np.maximum(ratios, 0.0), inverse @ turn, along)

    @property
    def rank(self) -> int:
        """J."""
        return int(self.ratios.size)

    def to(self, shares: np.ndarray) -> np.ndarray:
        """The coordinates (G, J) of unbiased estimates or shares (G, K)."""
        inside = shares
        if self._along is not None:
            inside = shares - np.multiply.outer(shares.sum(axis=1) - 1, self._along)
        return np.asarray((inside - self.centre) @ self._inverse)

    def back(self, z: np.ndarray) -> np.ndarray:
        """The shares (G, K) at coordinates (G, J); each row sums to 1."""
        return np.asarray(self.centre + z @ self.basis.T)


_GRID = 17  # values of log s in each round
_ROUNDS = 8  # of refining the grid
_LEAST_WEIGHT = 1e-3  # of a grid value, relative to the largest
_ENOUGH = 5  # grid values that matter; their spacing is then at most a standard deviation
_LOWEST = 1e-4  # of s n lambda: pooling is then complete
_RAKES = 50  # rounds of raking
_SETTLED = 1e-9  # relative change of a round of raking at which it ends

# The log-likelihood at a value of s, and the posterior moments there.
Smoother = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Pooled:
    """The posterior of the shares of G groups.

    Attributes:
        mean: (G, K) posterior means; each row sums to 1, and entries can be negative.
        deviation: (G, K) posterior standard deviations.
        spread: s, the posterior mean; 1 / s - 1 is the concentration kappa.
        values: the values of s on the grid.
        weights: their posterior weights.
    """

    mean: np.ndarray
    deviation: np.ndarray
    spread: float
    values: np.ndarray
    weights: np.ndarray

    @property
    def concentration(self) -> float:
        """kappa of the Dirichlet prior, 1 / s - 1."""
        return 1 / self.spread - 1


@dataclass(frozen=True, eq=False)
class Moments:
    """The posterior at one value of s, in coordinates.

    Attributes:
        log_likelihood: up to a constant.
        mean, variance: (G, J).
    """

    log_likelihood: float
    mean: np.ndarray
    variance: np.ndarray


def exchangeable(
    z: np.ndarray, sizes: np.ndarray, ratios: np.ndarray, per_person: int
) -> Callable[[float], Moments]:
    """The posterior of groups without an order, as a function of s.

    Shapes: z (G, J), sizes (G,), ratios (J,).
    """
    n = np.maximum(sizes, 1)[:, None].astype(np.float64)
    known = (sizes > 0)[:, None]
    fresh = np.maximum(1 - per_person / n, 0.0)

    def at(s: float) -> Moments:
        prior = s * ratios
        variance = prior * fresh + 1 / n
        weight = np.where(known, 1 / variance, 0.0)
        total = weight.sum(axis=0)
        pull = (weight * z).sum(axis=0)
        # The mean m has the prior of a group that is as free as can be, s = 1.
        free = 1 + ratios * total
        m, m_variance = ratios * pull / free, ratios / free
        log = np.where(known, np.log(variance) + z**2 * weight, 0.0).sum()
        log += (np.log(free) - pull * m).sum()
        gain = prior * weight
        mean = m + gain * (z - m)
        return Moments(-float(log) / 2, mean, prior * (1 - gain) + (1 - gain) ** 2 * m_variance)

    return at


def along_time(
    z: np.ndarray,
    sizes: np.ndarray,
    ratios: np.ndarray,
    times: np.ndarray,
    series: np.ndarray,
) -> Callable[[float], Moments]:
    """The posterior of groups on paths in time, as a function of s.

    A path is a random walk on contrasts: from one group to the next, shares change by a step with
    the covariance s d P, where d is the time between them in units of the middle distance. The
    first group of a path is as free as can be, s = 1. Coordinates are independent, so each is a
    local level model, whose posterior a Kalman filter and a backward pass give.

    Shapes: z (G, J), sizes (G,), ratios (J,), times (G,), series (G,).
    """
    order = np.lexsort((times, series))
    first = np.r_[True, np.diff(series[order]) > 0]
    gaps = np.where(first, 0.0, np.r_[0.0, np.diff(times[order])])
    middle = float(np.median(gaps[~first])) if (~first).any() else 1.0
    gaps = gaps / (middle if middle > 0 else 1.0)
    zs, precision = z[order], sizes[order].astype(np.float64)

    def at(s: float) -> Moments:
        mean, variance = np.empty_like(zs), np.empty_like(zs)
        log = 0.0
        level, spread = np.zeros(ratios.size), ratios
        for i in range(len(zs)):
            level, spread = (
                (np.zeros(ratios.size), ratios)
                if first[i]
                else (level, spread + s * gaps[i] * ratios)
            )
            if precision[i] > 0:
                total = spread + 1 / precision[i]
                error = zs[i] - level
                log += float((np.log(total) + error**2 / total).sum())
                gain = spread / total
                level, spread = level + gain * error, spread / precision[i] / total
            mean[i], variance[i] = level, spread
        for i in range(len(zs) - 2, -1, -1):
            if first[i + 1]:
                continue
            ahead = variance[i] + s * gaps[i + 1] * ratios
            back = np.divide(variance[i], ahead, out=np.ones_like(ahead), where=ahead > 0)
            mean[i] += back * (mean[i + 1] - mean[i])
            variance[i] += back**2 * (variance[i + 1] - ahead)
        found_mean, found_variance = np.empty_like(mean), np.empty_like(variance)
        found_mean[order], found_variance[order] = mean, np.maximum(variance, 0.0)
        return Moments(-log / 2, found_mean, found_variance)

    return at


def pooled(at: Callable[[float], Moments], coordinates: Coordinates, sizes: np.ndarray) -> Pooled:
    """The posterior of the shares, averaged over s.

    Shapes: sizes (G,).
    """
    ratios = coordinates.ratios
    unit = float(np.median(sizes[sizes > 0])) * max(float(np.median(ratios)), 1e-300)
    values, weights = _posterior_of_spread(at, unit)
    shape = (len(sizes), coordinates.centre.size)
    mean, square, variance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    squares = coordinates.basis.T**2
    for s, weight in steps(list(zip(values, weights, strict=True)), "pooling groups"):
        moments = at(float(s))
        shares = coordinates.back(moments.mean)
        mean += weight * shares
        square += weight * shares**2
        variance += weight * (moments.variance @ squares)
    variance += np.maximum(square - mean**2, 0.0)
    return Pooled(mean, np.sqrt(variance), float(values @ weights), values, weights)


def _posterior_of_spread(
    at: Callable[[float], Moments], unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Values of s and their posterior weights; the grid is refined around the largest weights."""
    low, high = min(np.log(_LOWEST / unit), -1.0), 0.0
    for _ in steps(range(_ROUNDS), "prior of groups"):
        grid = np.linspace(low, high, _GRID)
        log = np.array([at(float(s)).log_likelihood for s in np.exp(grid)])
        log += grid  # the uniform density of s, per unit of log s
        weights = np.exp(log - log.max())
        matter = np.flatnonzero(weights > _LEAST_WEIGHT)
        if matter.size >= _ENOUGH:
            break
        step = (high - low) / (_GRID - 1)
        low, high = grid[matter[0]] - step, min(grid[matter[-1]] + step, 0.0)
    kept = weights > _LEAST_WEIGHT
    return np.exp(grid[kept]), weights[kept] / weights[kept].sum()


def to_simplex(shares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Estimates of groups as distributions, without a change of the shares of all people.

    Each row is projected on the simplex. That alone raises the small shares, because noise below 0
    is cut and noise above is not. So the table is then raked: rows and columns are multiplied by
    factors until rows sum to 1 again and the mean over all people is that of the estimates given.

    Shapes: shares (G, K), sizes (G,) -> (G, K).

    >>> to_simplex(np.array([[1.1, -0.1], [0.7, 0.3]]), np.array([1, 1])).round(3).tolist()
    [[1.0, 0.0], [0.8, 0.2]]
    """
    if (shares >= 0).all():
        return np.asarray(np.clip(shares, 0.0, 1.0))
    people = sizes / sizes.sum()
    target = project_rows((people @ shares)[None])[0]
    out = project_rows(shares)
    for _ in range(_RAKES):
        column = people @ out
        factor = np.divide(target, column, out=np.ones_like(column), where=column > 0)
        out = out * factor
        total = out.sum(axis=1, keepdims=True)
        out = np.divide(out, total, out=project_rows(shares), where=total > 0)
        if np.abs(factor - 1).max() < _SETTLED:
            break
    return np.asarray(out)


def project_rows(shares: np.ndarray) -> np.ndarray:
    """The projection of each row (G, K) on the simplex: see :func:`warner.metrics.project`.

    >>> project_rows(np.array([[0.9, 0.4, -0.3], [0.2, 0.3, 0.5]])).round(3).tolist()
    [[0.75, 0.25, 0.0], [0.2, 0.3, 0.5]]
    """
    below = shares - shares.max(axis=1, keepdims=True)
    ordered = -np.sort(-below, axis=1)
    shift = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, shares.shape[1] + 1)
    last = (ordered > shift).sum(axis=1) - 1
    out = np.maximum(below - np.take_along_axis(shift, last[:, None], axis=1), 0.0)
    return np.asarray(out / out.sum(axis=1, keepdims=True))
