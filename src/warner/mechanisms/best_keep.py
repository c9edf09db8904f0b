"""The keep probability of utility-optimised RAPPOR with the least worst-case loss.

[P2] leaves the choice of the keep probability open and uses the symmetric one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_GRID = np.arange(1, 1000) / 1000
_GOLDEN = (math.sqrt(5) - 1) / 2


def best_keep(sensitive: int, others: int, epsilon: float) -> float:
    """The keep probability t of UtilityOptimizedRappor with the least worst-case l1 loss.

    t minimises, over a grid of thousandths,

        max over theta of sum_x sqrt(V_x)
        sensitive x:  V_x = mu (1 - mu) / (t - d1)^2,  mu = d1 + (t - d1) theta_x
        other x:      V_x = nu (1 - nu) / c^2,         nu = c theta_x,  c = 1 - d2 = t (1 - 1/e)
        d1 = t / ((1 - t) e + t),   e = exp(epsilon)

    Here theta_x is the share of value x, and V_x / n is the variance of its estimate from n
    reports. mu and nu are the probabilities that a report sets bit x.
    :class:`~warner.mechanisms.UtilityOptimizedRappor` defines d1 and d2.

    The expected l1 loss of the inversion of n reports is sqrt(2 / (n pi)) times this sum, so the
    best t does not depend on n. The sum is concave in theta. It does not change if two sensitive
    values, or two other values, swap their shares. So the worst theta is uniform within each kind
    of value, and only the total share of the sensitive values is searched.

    Source: METHODS 6, for the loss; the search is ours.

    >>> best_keep(76, 324, 1.0)
    0.547
    """
    t, inverse = _GRID, math.exp(-epsilon)
    raised = t * inverse / ((1 - t) + t * inverse)
    gap, kept = t - raised, -t * math.expm1(-epsilon)

    def loss(share: np.ndarray) -> np.ndarray:
        mu = raised + gap * share / sensitive
        total = sensitive * np.sqrt(mu * (1 - mu)) / gap
        if others:
            nu = kept * (1 - share) / others
            total = total + others * np.sqrt(nu * (1 - nu)) / kept
        return np.asarray(total)

    return float(t[np.argmin(_largest(loss, t.size) if others else loss(np.ones(t.size)))])


def _largest(loss: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
    """The maximum over shares in [0, 1] of ``size`` concave functions, by golden sections."""
    low, high = np.zeros(size), np.ones(size)
    for _ in range(60):
        step = _GOLDEN * (high - low)
        a, b = high - step, low + step
        right = loss(a) < loss(b)
        low, high = np.where(right, a, low), np.where(right, high, b)
    ends = [loss(np.zeros(size)), loss((low + high) / 2), loss(np.ones(size))]
    return np.asarray(np.max(ends, axis=0))
