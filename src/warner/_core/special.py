"""Probabilities of the normal, chi-square, gamma and binomial laws, and solutions of positive
definite systems, by NumPy alone.

Estimates of labels need them on devices and in notebooks without SciPy, whose import takes longer
than such an estimate. Names and arguments are the same as in ``scipy.special``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

_erfc = np.vectorize(math.erfc, otypes=[float])
_log_gamma = np.vectorize(math.lgamma, otypes=[float])
_MOST_STEPS = 10_000  # of a series or a continued fraction, which end long before
_PRECISION = 1e-16
_LARGE = 16.0  # a shape or a count from which Stirling's series is exact


def xlogy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x log y, and 0 where x is 0."""
    return x * np.log(np.where(x == 0, 1.0, y))


def ndtr(x: ArrayLike) -> np.ndarray:
    """The normal distribution function, Pr(Z <= x)."""
    values: np.ndarray = _erfc(-np.asarray(x) / math.sqrt(2)) / 2
    return values


# The rational functions of algorithm AS 241 (Wichura 1988), highest powers first: of the middle, of
# the tails, and of the far tails.
_MIDDLE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_TAIL = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_FAR = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)


def ndtri(p: ArrayLike) -> np.ndarray:
    """The normal quantiles, x with Pr(Z <= x) = p, for 0 < p < 1."""
    p = np.asarray(p, np.float64)
    centred = p - 0.5
    small = np.clip(np.minimum(p, 1 - p), np.finfo(np.float64).tiny, 0.5)
    depth = np.sqrt(-np.log(small))

    def ratio(terms: tuple[tuple[float, ...], tuple[float, ...]], x: np.ndarray) -> np.ndarray:
        quotient: np.ndarray = np.polyval(terms[0], x) / np.polyval(terms[1], x)
        return quotient

    tails = np.where(depth <= 5, ratio(_TAIL, depth - 1.6), ratio(_FAR, depth - 5))
    middle = centred * ratio(_MIDDLE, 0.180625 - centred**2)
    return np.where(np.abs(centred) <= 0.425, middle, np.copysign(tails, centred))


def chdtrc(degrees: int, x: float) -> float:
    """Pr(a chi-square with a whole number of degrees of freedom exceeds x)."""
    half, shift = x / 2, degrees % 2 / 2
    if half <= 0:
        return 1.0
    # The terms of the finite sum, as logarithms: exp(-x / 2) alone is 0 where x is large.
    i = np.arange(degrees // 2) + shift
    terms = np.exp(i * math.log(half) - half - _log_gamma(i + 1))
    ends = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    return min(ends + float(terms.sum()), 1.0)


def gammainc(a: ArrayLike, x: ArrayLike) -> np.ndarray:
    """Pr(a gamma variable of shape a and scale 1 is at most x), for x >= 0 or infinite."""
    log_gamma = _log_gamma(np.minimum(a, _LARGE))
    shape, point, log_gamma = np.broadcast_arrays(np.asarray(a, float), x, log_gamma)
    result = np.where(point > 0, 1.0, 0.0)
    inside = (point > 0) & (point < shape + 40 * np.sqrt(shape) + 800)  # beyond, all is below
    low = inside & (point < shape + 1)
    for chosen, of in ((low, _lower_series), (inside & ~low, _upper_fraction)):
        if chosen.any():
            a_, x_ = shape[chosen], point[chosen]
            # x^a exp(-x) / Gamma(a), whose logarithms would cancel where a is large.
            large, small = np.maximum(a_, _LARGE), np.minimum(a_, _LARGE)
            front = np.exp(-_stirling(large) - _deviance(large, x_)) * np.sqrt(large / math.tau)
            plain = np.exp(small * np.log(x_) - x_ - log_gamma[chosen])
            result[chosen] = of(a_, x_, np.where(a_ < _LARGE, plain, front))
    return result


def _lower_series(a: np.ndarray, x: np.ndarray, front: np.ndarray) -> np.ndarray:
    """front sum_n x^n / (a (a + 1) ... (a + n))."""
    total = term = 1 / a
    for n in range(1, _MOST_STEPS):
        term = term * x / (a + n)
        total = total + term
        if (term <= _PRECISION * total).all():
            break
    return np.asarray(front * total)


def _upper_fraction(a: np.ndarray, x: np.ndarray, front: np.ndarray) -> np.ndarray:
    """1 - front / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), by Lentz's method."""
    b = x + 1 - a
    d = 1 / b
    c, fraction = np.full_like(x, 1e300), d
    unfinished = np.ones(x.shape, dtype=bool)
    for n in range(1, _MOST_STEPS):
        factor, b = n * (a - n), b + 2
        d, c = 1 / (factor * d + b), b + factor / c
        fraction = fraction * (c * d)
        # Once is enough: of many elements, rounding lifts some above the limit at every step.
        unfinished &= np.abs(c * d - 1) > 4 * _PRECISION
        if not unfinished.any():
            break
    return np.asarray(1 - front * fraction)


# log k! - log(sqrt(2 pi k) (k / e)^k) of the first integers; of larger ones its series.
_STIRLING = np.array(
    [0.0]
    + [
        math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - math.log(math.tau) / 2
        for k in range(1, 16)
    ]
)


def _stirling(k: np.ndarray) -> np.ndarray:
    large = np.maximum(k, _LARGE)
    inverse = 1 / large**2
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / large
    return np.asarray(np.where(k < _LARGE, _STIRLING[np.minimum(k, 15).astype(np.int64)], series))


def _deviance(k: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """k log(k / mean) + mean - k, without cancellation where k is close to the mean."""
    v = (k - mean) / (k + mean)
    near = np.abs(v) < 0.1
    small = np.where(near, v, 0.0)
    total, power = (k - mean) * small, 2 * k * small
    for j in range(1, 12):
        power = power * small**2
        total = total + power / (2 * j + 1)
    far = xlogy(k, np.maximum(k, 1.0) / mean) + mean - k
    return np.asarray(np.where(near, total, far))


def binomial_pmf(k: ArrayLike, n: int, p: ArrayLike) -> np.ndarray:
    """Pr(k of n events, each with the chance p), with a relative error of 1e-12 (Loader 2000)."""
    events, p = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(p, np.float64))
    inner = np.clip(events, 1, max(n - 1, 1))
    q = np.clip(p, 1e-300, 1 - 1e-16)
    rest = np.maximum(n - inner, 1.0)
    log = _stirling(np.array(float(n))) - _stirling(inner) - _stirling(rest)
    log = log - _deviance(inner, n * q) - _deviance(rest, n * (1 - q))
    middle = np.exp(log) * np.sqrt(n / (math.tau * inner * rest)) if n > 1 else np.zeros_like(q)
    ends = np.where(events == 0, (1 - p) ** n, p**n)
    return np.where((events == 0) | (events == n), ends, middle)


def bdtr(k: ArrayLike, n: int, p: ArrayLike) -> np.ndarray:
    """Pr(at most k of n events, each with the chance p), for whole k >= -1."""
    most, p = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(p, np.float64))
    result = np.empty(most.shape)
    for i in np.ndindex(most.shape):
        result[i] = _at_most(min(int(most[i]), n), n, float(p[i]))
    return result


def bdtrc(k: ArrayLike, n: int, p: ArrayLike) -> np.ndarray:
    """Pr(more than k of n events, each with the chance p), for whole k >= -1."""
    return bdtr(n - 1 - np.asarray(k, np.float64), n, 1 - np.asarray(p, np.float64))


def _at_most(k: int, n: int, p: float) -> float:
    """The tail of a binomial law, as a sum of its probabilities from the middle outwards."""
    if k < 0 or k >= n or p <= 0 or p >= 1:
        return float(k >= n or (k >= 0 and p <= 0))
    if k > n * p:
        return 1 - _at_most(n - k - 1, n, 1 - p)
    # Pr(j - 1) / Pr(j) = j (1 - p) / ((n - j + 1) p) falls outwards, so that after m steps the
    # probability is below exp(-2 m^2 / n) of the first: what is left out is below 1e-20.
    j = np.arange(k, max(k - int(5 * math.sqrt(n)) - 50, 0), -1, dtype=np.float64)
    ratios = np.cumsum(np.log(j * (1 - p)) - np.log((n - j + 1) * p))
    first = float(binomial_pmf(k, n, p))
    return min(first * (1 + float(np.exp(ratios).sum())), 1.0)


def positive_solver(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """The function b -> x with matrix x = b of a positive definite matrix (K, K), None of another.

    Few values need no SciPy; many take its triangular solutions where it is installed.
    """
    if len(matrix) > _FEW:
        try:
            from scipy.linalg import cho_factor, cho_solve
        except ModuleNotFoundError:
            pass
        else:
            try:
                factor = cho_factor(matrix, check_finite=False)
            except np.linalg.LinAlgError:
                return None
            return lambda b: np.asarray(cho_solve(factor, b, check_finite=False))
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return lambda b: np.asarray(np.linalg.solve(lower.T, np.linalg.solve(lower, b)))


_FEW = 64  # rows of a matrix up to which an import of SciPy costs more than it gains
