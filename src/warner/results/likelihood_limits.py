"""Likelihood-ratio intervals for shares, of few values.

    I_x = {t : 2 (L(all theta) - L(theta with theta_x = t)) <= chi2(level, 1)}

L is the largest log-likelihood of the n reports. A distribution with theta_x = t is a mixture, with
other shares, of the reports of value x and of one other value, so

    L(theta_x = t) = max over phi of n sum_y w_y log sum_z (t A[y, x] + (1 - t) A[y, z]) phi_z

over z != x is the maximum of the likelihood of K - 1 values whose columns are such mixtures. Shares
stay within 0 and 1, and so does the interval: where the unbiased estimate is negative, it begins at
0.
"""

from __future__ import annotations

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels import DenseChannel
from warner.domains import Integers
from warner.estimators.base import LikelihoodData
from warner.estimators.maximum_likelihood import MaximumLikelihood

MOST_VALUES = 16  # whose likelihood is maximised some dozens of times
_MAXIMUM = MaximumLikelihood(gap=1e-11)
_FAR = 1e6  # a statistic beyond all quantiles, where a report is impossible
_TOLERANCE = 1e-9  # of a limit


def likelihood_ratio_limits(data: LikelihoodData, quantile: float) -> np.ndarray:
    """The limits (K, 2) of all shares t with 2 (L - L(theta_x = t)) <= ``quantile``.

    Raises:
        ArgumentError: more than 16 values.
    """
    size = data.domain.size
    if size > MOST_VALUES:
        rule, got = f"'likelihood' goes with at most {MOST_VALUES} values", str(size)
        raise ArgumentError("kind", rule, got, "Use kind='score'")
    matrix = data.channel.dense()
    best, shares = _largest(data, matrix)
    return np.array(
        [_limits(data, matrix, x, best, float(shares[x]), quantile) for x in range(size)]
    )


def _largest(data: LikelihoodData, matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest log-likelihood of the reports, and the shares of the columns that have it.

    Shapes: matrix (m, K).
    """
    size = matrix.shape[1]
    shares = np.ones(1)
    if size > 1:
        channel, domain = DenseChannel(matrix), Integers(0, size - 1)
        shares = _MAXIMUM.fit(LikelihoodData(channel, data.weights, data.n, domain)).shares
    seen = data.weights > 0
    law = matrix[seen] @ shares
    if (law <= 0).any():
        return -np.inf, shares
    return float(data.n * (data.weights[seen] @ np.log(law))), shares


def _limits(
    data: LikelihoodData, matrix: np.ndarray, x: int, best: float, share: float, quantile: float
) -> tuple[float, float]:
    """The limits of the share of value x, whose maximum of the likelihood is ``share``."""
    from scipy.optimize import brentq

    others = np.delete(matrix, x, axis=1)

    def excess(t: float) -> float:
        mixed = t * matrix[:, [x]] + (1 - t) * others
        return min(2 * (best - _largest(data, mixed)[0]) - quantile, _FAR)

    limits = [
        end if excess(end) <= 0 else brentq(excess, end, share, xtol=_TOLERANCE) for end in (0, 1)
    ]
    return limits[0], limits[1]
