"""Maximum likelihood by projected gradients, for very many values that reports tell apart alike.

Where each report supports a set of values, and every two sets of values overlap alike, the Hessian
A' diag(w / d^2) A is nearly a multiple of the identity on the simplex. A gradient step of the right
length, projected on the simplex, then removes most of the error. A step costs two products.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.fit import Status
from warner.estimators.iteration import iterate
from warner.estimators.mle.objective import (
    gap_of_score,
    safe_divide,
    score_and_log_likelihood,
)
from warner.metrics import project

_STEPS = 300  # 6 to 20 are usual
_ROUNDING = 1e-15  # relative: rounding may lower a likelihood by this much
_SHORTEST = 1e-9  # part of the first step below which steps are given up


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the projected gradient method.

    Attributes:
        theta, score, value: (K,), (K,), and l in nats per report.
        first, length: the lengths of the first and of the next step.
        short: whether the step after the next has the shorter length.
    """

    theta: np.ndarray
    score: np.ndarray
    value: float
    first: float
    length: float
    short: bool = False


def projected(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Maximise the likelihood by gradient steps, projected on the simplex.

        theta <- P(theta + a s),   s = A' (w / A theta)

    P is the Euclidean projection on the simplex. With x = theta_t - theta_(t-1) and
    y = s_(t-1) - s_t the length a is x.x / x.y or x.y / y.y in turn (Barzilai and Borwein 1988).
    It is halved until the likelihood does not fall. The start is the projected unbiased estimate.

    Args:
        channel: A (m, K), with a closed inverse.
        w: frequencies (m,) of the rows.
        target: the gap to reach, nats per report.

    Returns:
        (theta (K,), steps, whether the gap was reached).
    """
    theta = project(channel.invert(w))
    score, value = score_and_log_likelihood(channel, w, theta)
    if value == -np.inf:
        return theta, 0, False
    d, centred = channel.matvec(theta), score - score.mean()
    bend = float(safe_divide(safe_divide(w, d), d) @ channel.matvec(centred) ** 2)
    first = float(centred @ centred) / bend if bend > 0 else 1.0

    def stop(point: _Point, steps: int) -> Status | None:
        return Status.CONVERGED if gap_of_score(channel, point.score) <= target else None

    start = _Point(theta, score, value, first, first)
    run = iterate(start, partial(_step, channel, w), stop, _STEPS)
    return run.state.theta, run.steps, run.status is Status.CONVERGED


def _step(channel: LikelihoodOperator, w: np.ndarray, point: _Point) -> _Point | None:
    """One projected step; None where no length keeps the likelihood from falling."""
    length = point.length
    while length > _SHORTEST * point.first:
        theta = project(point.theta + length * point.score)
        score, value = score_and_log_likelihood(channel, w, theta)
        if value >= point.value - _ROUNDING * abs(point.value):
            moved, fell = theta - point.theta, point.score - score
            along = float(moved @ fell)
            following = point.first
            if along > 0:
                following = along / float(fell @ fell) if point.short else moved @ moved / along
            return _Point(theta, score, value, point.first, float(following), not point.short)
        length /= 2
    return None
