"""Expectation maximisation, stopped early: a regularised estimate, and never called the maximum."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from warner._check import choice, integer
from warner.channel import Channel
from warner.estimate import Fit, Status
from warner.estimators._base import Estimator
from warner.estimators.objective import assess, finish, log_likelihood, require_possible
from warner.evidence import Evidence


@dataclass(frozen=True)
class ExpectationMaximization(Estimator):
    """``steps`` steps theta <- theta * A' (w / A theta) from the uniform start (iterative Bayesian update, IBU).

    Plain EM needs 10^4 to 10^5 steps to come near the maximiser, so the number of steps is a choice of how much to smooth;
    the fit's ``gap`` says how far from the maximum it stopped. For the maximum itself use MaximumLikelihood.

    Args:
        steps: how many steps, at least 1.
        keep_path: also return log-likelihood and gap after every step, as the fit's ``path`` (steps + 1, 2), for plots.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: [P1 sec 3.2], [P4 sec IV]; METHODS 0.

    >>> ExpectationMaximization(100)
    ExpectationMaximization(steps=100)
    """

    steps: int
    keep_path: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        integer("steps", self.steps, 1)
        choice("keep_path", self.keep_path, (False, True))

    def fit(self, evidence: Evidence) -> Fit:
        start = perf_counter()
        channel, w = evidence.channel, evidence.weights
        theta = np.full(channel.shape[1], 1 / channel.shape[1])
        rows, weights = channel.seen(w)
        require_possible(rows, weights)
        path = []
        for _ in range(self.steps):
            s, value = assess(rows, weights, theta)
            path.append((evidence.n * value, max(0.0, float(s.max()) - 1) * channel.copies))
            theta = theta * s
        fit = finish(evidence, theta / theta.sum(), Status.STOPPED, self.steps)
        kept = None
        if self.keep_path:
            # Rows that tell the same were taken together, which moves every log-likelihood by one and the same number.
            moved = (fit.log_likelihood or 0.0) - evidence.n * log_likelihood(rows, weights, fit.shares)
            kept = np.array([*((value + moved, gap) for value, gap in path), (fit.log_likelihood, fit.gap)])
        return replace(fit, path=kept, seconds=perf_counter() - start)


def climb(channel: Channel, w: np.ndarray, n: int, theta: np.ndarray, tolerance: float, most: int) -> tuple[np.ndarray, float, int, Status]:
    """EM from theta until a step raises the log-likelihood of all n reports by less than ``tolerance``: (theta, l, steps, how it ended)."""
    s, value = assess(channel, w, theta)
    for step in range(1, most + 1):
        theta = theta * s
        before = value
        s, value = assess(channel, w, theta)
        if value == -np.inf or n * (value - before) < tolerance:
            return theta / theta.sum(), value, step, Status.STOPPED
    return theta / theta.sum(), value, most, Status.STEP_LIMIT
