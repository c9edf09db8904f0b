"""Expectation maximisation, stopped early: a regularised estimate, and never called the maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._check import integer
from warner.estimate import Fit, Status
from warner.estimators._base import Estimator
from warner.estimators.likelihood import finish, require_possible, score
from warner.evidence import Evidence


@dataclass(frozen=True)
class ExpectationMaximization(Estimator):
    """``steps`` steps theta <- theta * A' (w / A theta) from the uniform start (iterative Bayesian update, IBU).

    Plain EM needs 10^4 to 10^5 steps to come near the maximiser, so the number of steps is a choice of how much to smooth;
    the fit's ``gap`` says how far from the maximum it stopped. For the maximum itself use MaximumLikelihood.

    Args:
        steps: how many steps, at least 1.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: [P1 sec 3.2], [P4 sec IV]; METHODS 0.

    >>> ExpectationMaximization(100)
    ExpectationMaximization(steps=100)
    """

    steps: int

    def __post_init__(self) -> None:
        integer("steps", self.steps, 1)

    def fit(self, evidence: Evidence) -> Fit:
        channel, w = evidence.channel, evidence.weights
        require_possible(channel, w)
        theta = np.full(channel.shape[1], 1 / channel.shape[1])
        for _ in range(self.steps):
            theta = theta * score(channel, w, theta)
        return finish(evidence, theta / theta.sum(), Status.STOPPED, self.steps)
