"""Steps of expectation maximisation along conjugate directions, as many as held-out reports allow.

The step of expectation maximisation (EM) from theta (K,) moves in the direction theta (s - 1), with
s the score A' (w / A theta). It is the gradient of the log-likelihood in the metric
sum_x u_x v_x / theta_x. Its length is that of complete data, so many steps are needed where
reports say little. Here a step has the length that maximises the log-likelihood to second order,

    theta + alpha v,   alpha = v's / sum_y w_y ((A v)_y / (A theta)_y)^2

and v is conjugate to the direction before it (Polak and Ribiere). A dozen such steps do what
thousands of EM steps do, at the same cost each: one product with A and one with A'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.em.choice_of_steps import split_into_folds
from warner.estimators.fit import Status
from warner.estimators.iteration import Run, iterate
from warner.estimators.mle.objective import safe_divide

_MOST_LOST = 0.9  # the largest part of a share that one step takes
_SHORTEST = 1e-6  # a step that must be shortened more is not taken
_TINY = 1e-300
_BEYOND = 2  # times the best number of steps are taken, as EM does from independence


@dataclass(frozen=True, eq=False)
class AscentState:
    """A point on the path.

    Attributes:
        theta: (K,) the shares.
        d: A theta, (m,).
        value: the log-likelihood in nats per report, without the constant.
        gain: the rise in the last step, inf at the start.
        gain_before: the rise in the step before that.
        direction: (K,) of the last step; None at the start.
        gradient: (K,) s - 1 before the last step.
        energy: sum theta (s - 1)^2 before the last step.
    """

    theta: np.ndarray
    d: np.ndarray
    value: float
    gain: float = np.inf
    gain_before: float = np.inf
    direction: np.ndarray | None = None
    gradient: np.ndarray | None = None
    energy: float = 0.0


def start_ascent(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> AscentState:
    """The state before the first step.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        theta: (K,) positive shares.
    """
    d = channel.matvec(theta)
    return AscentState(theta, d, _log_likelihood(w, d))


def ascend(channel: LikelihoodOperator, w: np.ndarray, state: AscentState) -> AscentState | None:
    """Take one step. It never lowers the likelihood.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        state: the state before the step.

    Returns:
        The state after the step, or None at a maximum.
    """
    theta, d = state.theta, state.d
    gradient = channel.rmatvec(safe_divide(w, d)) - 1
    steepest = theta * gradient
    energy = float(steepest @ gradient)
    if energy <= 0:
        return None
    v = steepest
    if state.direction is not None and state.gradient is not None:
        conjugacy = float(steepest @ (gradient - state.gradient)) / state.energy
        v = steepest + max(0.0, conjugacy) * state.direction
        v -= v.sum() * theta
        if v @ gradient <= 0:
            v = steepest
    moved = channel.matvec(v)
    slope, bend = float(v @ gradient), float(safe_divide(w, d**2) @ moved**2)
    if slope <= 0 or bend <= 0:
        return None
    falling = v < 0
    longest = float((theta[falling] / -v[falling]).min(initial=np.inf))
    length = min(slope / bend, _MOST_LOST * longest)
    while length * bend > _SHORTEST * slope:
        after = d + length * moved
        value = _log_likelihood(w, after)
        if value >= state.value:
            shares = np.maximum(theta + length * v, 0.0)
            gain = value - state.value
            return AscentState(shares, after, value, gain, state.gain, v, gradient, energy)
        length /= 2
    return None


def ascent(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    theta: np.ndarray,
    tolerance: float,
    most: int,
    observe: Callable[[AscentState], None] | None = None,
) -> Run[AscentState]:
    """Take steps until two in turn raise the log-likelihood of all reports by less than a number.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        n: number of reports.
        theta: (K,) positive shares, the start.
        tolerance: nats over all reports.
        most: the largest number of steps.
        observe: called with every state.
    """

    def stop(state: AscentState, steps: int) -> Status | None:
        small = n * max(state.gain, state.gain_before) < tolerance
        return Status.STOPPED if small else None

    start = start_ascent(channel, w, theta)
    return iterate(start, lambda state: ascend(channel, w, state), stop, most, observe)


def held_out_ascent(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    base: np.ndarray,
    most: int,
    folds: int,
) -> tuple[np.ndarray, int]:
    """As many steps from ``base`` as held-out reports support, and as much of their way.

        base + c (theta_t - base),   t = 0 .. most,   c in {1/4, 1/2, 3/4, 1}

    Reports are split into 5 folds as in :func:`warner.estimators.em.choice_of_steps.chosen_steps`.
    t and c make held-out folds likeliest, after t steps on the others. Then 2 t steps are taken on
    all reports, at most ``most``: too few steps leave bias, and extra ones add little variance.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        n: number of reports.
        base: (K,) positive shares.
        most: the largest number of steps.
        folds: how many of the 5 folds are held out in turn.

    Returns:
        The shares (K,), and the number of steps; ``base`` and 0 where no steps are supported.
    """
    counts = np.rint(w * (n * channel.rows_per_report)).astype(np.int64)
    held_out, rest = split_into_folds(counts)
    parts = np.arange(1, 5) / 4
    gains = np.zeros((most + 1, parts.size))
    for counted, weights in zip(held_out.T[:folds], rest.T[:folds], strict=True):
        gains += _held_out_gains(channel, counted, weights, n, base, most, parts)
    steps, part = np.unravel_index(int(gains.argmax()), gains.shape)
    if gains[steps, part] <= 0:
        return base, 0
    run = ascent(channel, w, n, base, 0.0, min(most, _BEYOND * int(steps)))
    return base + parts[part] * (run.state.theta - base), run.steps


def _held_out_gains(
    channel: LikelihoodOperator,
    counted: np.ndarray,
    weights: np.ndarray,
    n: int,
    base: np.ndarray,
    most: int,
    parts: np.ndarray,
) -> np.ndarray:
    """The gains (most + 1, parts) of one fold over ``base``, in nats."""
    seen = counted > 0
    counts = counted[seen]
    gains: list[np.ndarray] = []
    before: list[np.ndarray] = []

    def observe(state: AscentState) -> None:
        d = state.d[seen]
        if not before:
            before.append(d)
        ratio = np.maximum(d, 0.0) / np.maximum(before[0], _TINY)
        mixed = np.maximum(1 + parts[:, None] * (ratio - 1), _TINY)
        gains.append(np.log(mixed) @ counts)

    ascent(channel, weights, n, base, 0.0, most, observe)
    # A path that ended at a maximum stays there.
    gains += [gains[-1]] * (most + 1 - len(gains))
    return np.array(gains)


def _log_likelihood(w: np.ndarray, d: np.ndarray) -> float:
    """sum_y w_y log d_y over the observed rows; -inf where one has no probability."""
    seen = w > 0
    if (d[seen] <= 0).any():
        return -np.inf
    return float(w[seen] @ np.log(d[seen]))
