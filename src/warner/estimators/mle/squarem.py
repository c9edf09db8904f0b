"""Accelerated EM, for channels that allow products only (METHODS 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.em.step import em_step
from warner.estimators.fit import Status
from warner.estimators.iteration import iterate
from warner.estimators.mle.objective import score_and_log_likelihood

_PRODUCTS = 5000  # the largest number of scores computed
_TINY = 1e-300
_PLAIN = 1.01  # step lengths below this are plain EM


@dataclass(frozen=True, eq=False)
class _State:
    """theta (K,), its score (K,) and l, and the number of scores computed so far."""

    theta: np.ndarray
    score: np.ndarray
    value: float
    products: int


def accelerated(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """EM extrapolated by the squared step length of Varadhan and Roland (2008), SQUAREM.

    One EM step is theta * s(theta). Let r be the first of two steps and v the second minus the
    first, both in logarithms of theta, so that theta stays positive. The next point is
    theta + 2 a r + a^2 v with a = |r| / |v|. The length a is lowered towards 1, which is plain EM,
    until the likelihood is no lower than after the first step. Every score is the certificate of
    the point at which it was computed.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        target: the gap to reach, nats per report.

    Returns:
        (theta (K,), number of scores computed, whether the gap was reached).
    """
    theta = np.full(channel.shape[1], 1 / channel.shape[1])

    def stop(state: _State, steps: int) -> Status | None:
        if (float(state.score.max()) - 1) * channel.rows_per_report <= target:
            return Status.CONVERGED
        return Status.STEP_LIMIT if state.products >= _PRODUCTS else None

    start = _State(theta, *score_and_log_likelihood(channel, w, theta), 1)
    run = iterate(start, partial(_extrapolate, channel, w), stop, _PRODUCTS)
    theta = run.state.theta
    return theta / theta.sum(), run.state.products, run.status is Status.CONVERGED


def _extrapolate(channel: LikelihoodOperator, w: np.ndarray, state: _State) -> _State:
    """The state after an EM step and the extrapolation from it."""
    start = np.log(np.maximum(state.theta, _TINY))
    r = np.log(np.maximum(state.score, _TINY))
    theta = em_step(state.theta, state.score)
    score, value = score_and_log_likelihood(channel, w, theta)
    products = state.products + 1
    v = np.log(np.maximum(score, _TINY)) - r
    # Shares weigh as they do in the likelihood: shares close to 0 do not set the length.
    length = float(np.sqrt((theta @ r**2) / max(theta @ v**2, _TINY)))
    while length > _PLAIN:
        exponent = start + 2 * length * r + length**2 * v
        trial = np.exp(exponent - exponent.max())
        trial /= trial.sum()
        trial_score, trial_value = score_and_log_likelihood(channel, w, trial)
        products += 1
        if trial_value >= value:
            return _State(trial, trial_score, trial_value, products)
        length = (1 + length) / 2 if length < 4 else length / 4
    return _State(theta, score, value, products)
