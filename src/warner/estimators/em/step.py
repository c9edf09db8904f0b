"""The step of expectation maximisation (EM), and EM run to a tolerance.

    theta <- theta * s,   s = A' (w / A theta)

A (m, K) is the channel, w (m,) the frequencies of its rows, theta (K,) the shares, and s (K,) the
score. Products and quotients of vectors are taken entry by entry. Every EM step of the package is
``em_step``, for one theta (K,) or for F of them as columns (K, F).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.fit import Fit, Status
from warner.estimators.iteration import Run, iterate
from warner.estimators.mle.objective import safe_divide, score_and_log_likelihood

_MOST_LOST = 0.9  # the largest part of a share that a lengthened step takes
_ROUNDING = 1e-13  # relative: rounding may lower a likelihood by this much
MOST_STEPS = 100_000  # of a run to a tolerance
_NOTHING = 1e-3  # nats over all reports: a start this close to the maximum needs no step


@dataclass(frozen=True, eq=False)
class EMState:
    """A point on the path of EM.

    Attributes:
        theta: (K,) the shares.
        score: s (K,) at theta.
        value: the log-likelihood l(theta) in nats per report.
        pace: the factor by which the next step to try is longer than EM's own step.
        gain: the rise of l in the last step; -inf where l is -inf now, inf at the start.
    """

    theta: np.ndarray
    score: np.ndarray
    value: float
    pace: float
    gain: float = np.inf

    @property
    def shares(self) -> np.ndarray:
        """theta divided by its sum, which can differ from 1 by rounding errors."""
        return np.asarray(self.theta / self.theta.sum())


def em_step(theta: np.ndarray, score: np.ndarray, pace: float = 1.0) -> np.ndarray:
    """Take the EM step from theta to theta * s, made ``pace`` times as long.

        theta (1 + pace (s - 1))

    A lengthened step that would remove more than nine tenths of a share is shortened. It never
    becomes shorter than EM's own step.

    Args:
        theta: (K,), or (K, F) with pace 1.
        score: s at theta, of the same shape.
        pace: the factor, at least 1.

    Returns:
        The next theta. It sums to one as theta does.
    """
    if pace <= 1:
        out: np.ndarray = theta * score
        return out
    lowest = float(score[theta > 0].min(initial=1.0))
    if lowest < 1:
        pace = max(1.0, min(pace, _MOST_LOST / (1 - lowest)))
    moved = theta * (1 + pace * (score - 1))
    # From a sum of 1 + r this step makes a sum of 1 + (1 - pace) r, so rounding is divided out.
    return np.asarray(moved / moved.sum())


def warm_up(
    theta: np.ndarray, score_at: Callable[[np.ndarray], np.ndarray], steps: int
) -> np.ndarray:
    """Take EM steps, from whose end Newton's methods start.

    Args:
        theta: (K,) the start.
        score_at: gives the score s (K,) at theta (K,).
        steps: the number of steps.

    Returns:
        theta (K,) after the steps.
    """
    run = iterate(theta, lambda t: em_step(t, score_at(t)), lambda t, n: None, steps)
    return run.state


def start_em(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> EMState:
    """The state of EM before its first step.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        theta: (K,) the start.
    """
    return EMState(theta, *score_and_log_likelihood(channel, w, theta), channel.rows_per_report)


def advance(channel: LikelihoodOperator, w: np.ndarray, state: EMState) -> EMState:
    """Take one step of EM that is as long as a step on whole reports.

    Where one report counts for several rows, EM over rows treats every row as a whole report. Its
    steps are then ``rows_per_report`` times too short. EM over whole reports moves theta by
    theta (S - 1), where S is the score of whole reports. To first order,
    S - 1 = rows_per_report (s - 1). This holds for unary encoding as K grows, and for subset
    selection up to a factor K / (K - 1). So the pace starts at ``rows_per_report``.

    EM's own step never lowers the likelihood. If a longer step lowers it, the pace is halved until
    it no longer does, down to 1. The next step starts from twice the accepted pace.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        state: the state before the step.

    Returns:
        The state after the step.
    """
    pace = state.pace
    while True:
        theta = em_step(state.theta, state.score, pace)
        score, value = score_and_log_likelihood(channel, w, theta)
        if pace <= 1 or value >= state.value - _ROUNDING * abs(state.value):
            gain = value - state.value if value > -np.inf else -np.inf
            return EMState(theta, score, value, min(channel.rows_per_report, 2 * pace), gain)
        pace = max(1.0, pace / 2)


def run_em(
    channel: LikelihoodOperator,
    w: np.ndarray,
    n: int,
    theta: np.ndarray,
    tolerance: float | None,
    most: int = MOST_STEPS,
    observe: Callable[[EMState], None] | None = None,
) -> Run[EMState]:
    """Run EM until a step raises the log-likelihood of all reports by less than ``tolerance``.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        n: number of reports.
        theta: (K,), the start.
        tolerance: nats over all n reports; None to take ``most`` steps.
        most: the largest number of steps.
        observe: called with every state, the first and the last included.

    Returns:
        The run. Its status is ``STOPPED``, or ``STEP_LIMIT`` if the tolerance was not met.
    """

    def stop(state: EMState, steps: int) -> Status | None:
        if tolerance is None:
            return Status.STOPPED if steps >= most else None
        return Status.STOPPED if n * state.gain < tolerance else None

    if tolerance is None and observe is None and channel.rows_per_report == 1:
        # The likelihood decides nothing before the last state, so it is computed there alone.
        score_at = lambda t: channel.rmatvec(safe_divide(w, channel.matvec(t)))
        end = start_em(channel, w, warm_up(theta, score_at, most))
        return Run(end, most, Status.STOPPED)
    start = start_em(channel, w, theta)
    return iterate(start, partial(advance, channel, w), stop, most, observe)


def em_of_each(channel: LikelihoodOperator, w: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Take EM steps from the uniform start for several sets of reports together.

    Args:
        channel: A (m, K), with one row for each report.
        w: frequencies (m, B) of the rows in each set.
        steps: (B,), the number of steps of each set.

    Returns:
        The shares (K, B).
    """
    size = channel.shape[1]
    out = np.full((size, len(steps)), 1 / size)
    left = np.flatnonzero(steps > 0)
    thetas, weights = out[:, left], w[:, left]
    for taken in range(int(steps.max(initial=0))):
        s = channel.rmatvec(safe_divide(weights, channel.matvec(thetas)))
        thetas = em_step(thetas, s)
        done = steps[left] == taken + 1
        if done.any():
            out[:, left[done]] = thetas[:, done]
            left = left[~done]
            thetas, weights = (np.ascontiguousarray(v[:, ~done]) for v in (thetas, weights))
    return np.asarray(out / out.sum(axis=0))


def moved_or_not(fit: Fit, start: np.ndarray, n: int, least: float) -> Fit:
    """Give a fit the status ``NOT_MOVED`` if it stayed at a start that is no maximum.

    Args:
        fit: a fit with its gap.
        start: (K,), where the steps began.
        n: number of reports.
        least: l1 distance below which theta counts as not moved.

    Returns:
        The fit, with its status changed or not.
    """
    gap = np.inf if fit.gap is None else fit.gap
    still = float(np.abs(fit.shares - start).sum()) < least and n * gap > _NOTHING
    return replace(fit, status=Status.NOT_MOVED) if still else fit
