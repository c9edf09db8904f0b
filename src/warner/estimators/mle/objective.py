"""The objective of maximum likelihood, and the certificate (METHODS 0).

    maximise l(theta) = sum_y w_y log (A theta)_y   over the simplex

Rows of A are probabilities of reports, up to a factor per row (``Channel.log_factors``). The score
s = A' (w / A theta) has theta . s = 1. By concavity no distribution beats theta by more than
gap = max_x s_x - 1 nats per row. Every solver stops on the gap, and every fit reports it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import numbers_of
from warner._core.errors import ArgumentError, ImpossibleReportError
from warner.channels import LikelihoodOperator
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData

_ENTRIES = 2**22  # of the products that are formed at a time
_ORDER = "Give one share for each value, in the order of the domain"
WHOLE, SUPPORTS = "likelihood of the reports", "quasi-likelihood of the support counts"
# Shares below these are tried at 0, the largest first.
_SMALL_SHARES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-9)


def safe_divide(w: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The quotient w / d of vectors (m,); 0 for reports that are impossible or not observed."""
    if d.size and d.min() > 0:  # the usual case, without masks
        return np.asarray(w / d)
    out: np.ndarray = np.divide(w, d, out=np.zeros_like(d), where=(w > 0) & (d > 0))
    return out


def score_and_log_likelihood(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, float]:
    """The score s = A' (w / A theta) and l(theta); rows that were not observed do not count.

    Shapes: channel (m, K), w (m,), theta (K,) -> (K,).
    """
    observed = w > 0
    d = channel.matvec(theta)
    s = channel.rmatvec(safe_divide(w, d))
    scaled = d[observed] * channel.rows_per_report
    if not (scaled > 0).all():
        return s, -np.inf
    logs = np.log(scaled) + channel.log_factors_of(observed)
    return s, float(channel.rows_per_report * (w[observed] @ logs))


def score(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The score s = A' (w / A theta), (K,).

    Shapes: channel (m, K), w (m,).
    """
    return score_and_log_likelihood(channel, w, theta)[0]


def log_likelihood(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> float:
    """The log-likelihood l(theta) in nats per report.

    n l(theta) is the sum of the log-probabilities of all n reports.

    Shapes: channel (m, K), w (m,), theta (K,).
    """
    return score_and_log_likelihood(channel, w, theta)[1]


def log_likelihood_at(data: LikelihoodData, theta: ArrayLike) -> float | np.ndarray:
    """The log-likelihood n l of one distribution or of several; see Estimate.log_likelihood_at.

    Distributions are multiplied by the channel together, in blocks.

    Shapes: theta (K,).
    """
    channel, size = data.channel, data.domain.size
    thetas = numbers_of("theta", theta)
    if thetas.ndim == 0 or thetas.shape[-1] != size:
        raise ArgumentError("theta", f"must have shape (..., {size})", str(thetas.shape), _ORDER)
    columns = thetas.reshape(-1, size).T
    if not np.isfinite(columns).all() or (columns < 0).any() or (_off(columns) > 1e-9).any():
        worst = int(np.argmax(_off(columns))) if np.isfinite(columns).all() else 0
        raise ArgumentError(
            "theta",
            "must hold distributions: entries >= 0 that sum to 1",
            f"sum {columns[:, worst].sum():.6g}",
        )
    observed = data.weights > 0
    w = data.weights[observed]
    copies = channel.rows_per_report
    factors = np.broadcast_to(channel.log_factors_of(observed), w.shape)
    values = np.empty(columns.shape[1])
    step = max(1, _ENTRIES // max(channel.shape))
    for first in range(0, values.size, step):
        block = np.ascontiguousarray(columns[:, first : first + step])
        d = np.maximum(channel.matvec(block)[observed] * copies, 0.0)
        with np.errstate(divide="ignore"):
            values[first : first + step] = w @ (np.log(d) + factors[:, None])
    values *= data.n * copies
    return float(values[0]) if thetas.ndim == 1 else values.reshape(thetas.shape[:-1])


def _off(columns: np.ndarray) -> np.ndarray:
    """The distances from 1 of the sums of several columns."""
    return np.asarray(np.abs(columns.sum(axis=0) - 1))


def gap_of_score(channel: LikelihoodOperator, s: np.ndarray) -> float:
    """The most by which the maximum can exceed l at a point with score s, in nats per report.

    Shapes: channel (m, K), s (K,).
    """
    return max(0.0, float(s.max()) - 1) * channel.rows_per_report


def gap(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> float:
    """The most by which the maximum can exceed l(theta), in nats per report.

    Shapes: channel (m, K), w (m,), theta (K,).
    """
    s, value = score_and_log_likelihood(channel, w, theta)
    return gap_of_score(channel, s) if value > -np.inf else np.inf


def name_of(channel: LikelihoodOperator) -> str:
    """The name of the likelihood that the channel's rows give."""
    return SUPPORTS if channel.rows_per_report > 1 else WHOLE


def certify(data: LikelihoodData, theta: np.ndarray, status: Status, iterations: int | None) -> Fit:
    """Make the fit of a distribution, with its log-likelihood and its gap.

    Shapes: theta (K,).
    """
    channel = data.channel
    s, value = score_and_log_likelihood(channel, data.weights, theta)
    missing = gap_of_score(channel, s) if value > -np.inf else np.inf
    return Fit(theta, status, missing, iterations, data.n * value, name_of(channel))


def require_possible(channel: LikelihoodOperator, w: np.ndarray) -> None:
    """Refuse reports that have probability 0 under every value.

    Shapes: channel (m, K), w (m,).
    """
    impossible = (w > 0) & (channel.matvec(np.ones(channel.shape[1])) <= 0)
    if impossible.any():
        count = np.count_nonzero(impossible)
        raise ImpossibleReportError(
            "reports",
            f"{count} of the reports seen have probability 0 under every value",
            None,
            "They cannot come from this mechanism: check the channel",
        )


def zero_small_shares(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, target: float
) -> np.ndarray:
    """Set small shares of theta to 0, unless the gap then exceeds the allowed gap.

    A share is set to 0 if it is smaller than 1 minus its score. In the degenerate case (METHODS
    4.5) both tend to 0 together. So setting all shares below 1e-3, 1e-4, .. to 0 is tried too.

    Shapes: channel (m, K), w (m,), theta (K,) -> (K,).
    """
    s = score(channel, w, theta)
    allowed = max(target, gap_of_score(channel, s))
    tried: set[bytes] = set()
    for absent in (1 - s > theta, *(theta < cut for cut in _SMALL_SHARES)):
        sparse = np.where(absent, 0.0, theta)
        if (sparse == theta).all() or sparse.sum() <= 0 or absent.tobytes() in tried:
            continue
        tried.add(absent.tobytes())
        sparse /= sparse.sum()
        if gap(channel, w, sparse) <= allowed:
            theta = sparse
    return theta
