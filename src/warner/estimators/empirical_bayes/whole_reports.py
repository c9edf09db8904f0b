"""Estimates from whole reports, by one step of their likelihood (METHODS 5).

A report that supports a common value says less of the others that it supports. Support counts do
not know this. One step from consistent shares gives estimates that are efficient for many reports.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.empirical_bayes.settings import SETTINGS
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import safe_divide

# y (K,), the trace of B, the indices of some values, and the diagonal of B at these.
_Step: TypeAlias = tuple[np.ndarray, float, np.ndarray, np.ndarray]


def with_whole_reports(
    data: LikelihoodData, noise: EstimateNoise, theta: np.ndarray
) -> EstimateNoise | None:
    """Estimates from whole reports, by one step of their likelihood from ``theta`` (K,).

    With s the score and I the information at theta, let B be the inverse of I on vectors that sum
    to 0. Then y = theta + B (s - 1) is efficient, with variances diag(B) / n. Taken as independent
    given the sum, the variances are K / (K - 1) times as large. Their mean says how many reports of
    the old kind the new estimates are worth.
    """
    channel, size = data.channel, theta.size
    if noise.q is None or noise.direct or channel.rows_per_report != 1 or size < 2:
        return None
    observed = int(np.count_nonzero(data.weights))
    if (
        data.n < SETTINGS.reports_per_value * size
        or observed < size
        or observed * size**2 > SETTINGS.whole_report_work
    ):
        return None
    all_listed = channel.has_closed_inverse and channel.lists_all_reports
    found = _scoring_step(data, theta) if all_listed else _newton_step(data, theta)
    if found is None:
        return None
    y, trace, common, diagonal = found
    variance = noise.variance(theta) * noise.n * (size - 1) / size
    # A common value may gain less than the others. It then is no better known than it is.
    worth = min([float(variance.sum()) / trace, *(variance[common] / diagonal)])
    if not np.isfinite(worth) or worth * data.n <= noise.n:
        return None
    return replace(noise, n=data.n * worth, y=y)


def _newton_step(data: LikelihoodData, theta: np.ndarray) -> _Step:
    """y (K,) and the trace of B, with the observed information I = A' diag(w / d^2) A."""
    rows, w = data.channel.restrict_to_observed(data.weights)
    d = rows.matvec(theta)
    score = rows.rmatvec(safe_divide(w, d))
    information = rows.gram(safe_divide(w, d**2))
    # On vectors that sum to 0 a constant added to I changes nothing, and it makes I invertible.
    information += float(information.diagonal().mean())
    basis = np.linalg.pinv(information, hermitian=True)
    ones = basis.sum(axis=1)
    basis -= np.outer(ones, ones) / ones.sum()
    none = np.zeros(0, dtype=np.int64)
    return theta + basis @ (score - 1), float(basis.diagonal().sum()), none, np.zeros(0)


def _scoring_step(data: LikelihoodData, theta: np.ndarray) -> _Step | None:
    """y (K,) and the trace of B, with the expected information I = A' diag(1 / d) A.

    All reports are rows here, and products are fast, so B is not formed: conjugate gradients solve
    for its products. The trace is the sum of z'B z over the unit vectors z of the most common
    values, and its mean over vectors z of random signs at the other values, the same at every call.
    With T of these its standard error is sqrt(2 / T) times the root of the sum of their squared
    entries of B off the diagonal. For few values all z are unit vectors, and it is exact.

    The inversion is the estimate of least squares with equal weights, and y has the weights 1 / d.
    With c the coefficient of variation of d, y has about c^2 (1 - K / m) less variance, for
    K unknown numbers from m reports leave (1 - K / m) of the differences to judge by.
    """
    channel, size = data.channel, theta.size
    d = channel.matvec(theta)
    unequal = float((d**2).mean() / d.mean() ** 2) - 1
    if unequal * (1 - size / d.size) < SETTINGS.gain_of_weights:
        return None
    score = channel.rmatvec(data.weights / d)
    probes = SETTINGS.trace_numbers // size + 1
    common = np.argsort(-theta, kind="stable")[: SETTINGS.trace_values if probes < size else size]
    units = np.zeros((size, common.size))
    units[common, np.arange(common.size)] = 1.0
    signs = np.random.default_rng(size).integers(0, 2, (size, probes), dtype=np.int8) * 2.0 - 1.0
    signs[common] = 0.0
    z = np.column_stack([units, signs])
    solved = _inverse_products(channel, d, np.column_stack([score, z]))
    if solved is None:
        return None
    forms = (z * solved[:, 1:]).sum(axis=0)
    exact, rest = forms[: common.size], forms[common.size :]
    trace, few = float(exact.sum() + rest.mean()), slice(SETTINGS.trace_values)
    return theta + solved[:, 0], trace, common[few], exact[few]


def _inverse_products(
    channel: LikelihoodOperator, d: np.ndarray, right: np.ndarray
) -> np.ndarray | None:
    """B r for each column r of ``right`` (K, C), by conjugate gradients on vectors that sum to 0.

    Where d is constant, I is a multiple of the identity there, since any two values share equally
    much. So the number of steps depends on how unequal the d (m,) are, and not on K.
    """
    residual = right - right.mean(axis=0)
    found, direction = np.zeros_like(residual), residual.copy()
    power = (residual**2).sum(axis=0)
    enough = power * SETTINGS.step_precision**2
    for _ in range(SETTINGS.step_iterations):
        image = channel.rmatvec(channel.matvec(direction) / d[:, None])
        image -= image.mean(axis=0)
        curvature = (direction * image).sum(axis=0)
        length = np.divide(power, curvature, out=np.zeros_like(power), where=curvature > 0)
        found += length * direction
        residual -= length * image
        before, power = power, (residual**2).sum(axis=0)
        if (power <= enough).all():
            return np.asarray(found)
        direction *= np.divide(power, before, out=np.zeros_like(power), where=before > 0)
        direction += residual
    return None
