"""Expectation maximisation with smoothing after every step, for values in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from warner._core.checks import integer, real, show
from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.estimators.base import Estimator, require_order
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import advance, assess, finish, moved_or_not, require_possible


@dataclass(frozen=True)
class SmoothedEM(Estimator):
    """EM in which every step is followed by smoothing (EMS), from the uniform start.

        theta <- S (theta * A' (w / A theta)), made to sum to one,
        (S p)_x = p_(x-1) / 4 + p_x / 2 + p_(x+1) / 4,   and at the ends (S p)_0 = 2/3 p_0 + 1/3 p_1, likewise the last

    The ends are the binomial weights (1, 2, 1) that fall inside the domain, divided by their sum, as in the code that Li et al. (2020)
    published; a row of S sums to one and a column need not, hence the division. It stops where a step changes the log-likelihood of all
    n reports by less than ``tolerance`` nats, at the first step that moves theta by less than 1 / n in l1, or after ``steps``.

    Where the tally knows reports by their bit sums only, the step of EM is made as long as on whole reports
    (``warner.estimators.mle.objective.advance``), or smoothing would undo it every time.

    The fixed point maximises nothing: how much it smooths depends on the number of bins and not on n. LogSpline chooses
    how much to smooth from the reports.

    Args:
        tolerance: nats over all reports, at least 0. Published: 1e-3 for EMS with the square wave (Li et al. 2020), which is the default;
            1e-3 e^epsilon in the code of [P3].
        steps: the most steps; published: 10,000.

    Raises:
        ArgumentError: the domain's values have no order, or are not on one line.
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: Li et al. (2020), sec 5.5; [P3 sec VI]; METHODS 5.

    >>> SmoothedEM()
    SmoothedEM(tolerance=0.001, steps=10000)
    """

    summary: ClassVar[str] = (
        "expectation maximisation with smoothing after every step: a regularised estimate"
    )

    tolerance: float = 1e-3
    steps: int = 10_000

    def __post_init__(self) -> None:
        if real("tolerance", self.tolerance) < 0:
            raise ArgumentError(message("tolerance", "must not be negative", show(self.tolerance)))
        integer("steps", self.steps, 1)

    def _fit(self, data: LikelihoodData) -> Fit:
        require_order(data.domain, "SmoothedEM")
        rows, weights = data.channel.restrict_to_observed(data.weights)
        require_possible(rows, weights)
        n = data.n
        theta = np.full(rows.shape[1], 1 / rows.shape[1])
        s, value = assess(rows, weights, theta)
        start_at, pace = theta, rows.rows_per_report
        count, stopped = 0, False
        while count < self.steps and not stopped:
            if rows.rows_per_report == 1:
                moved = smooth(theta * s)
            else:
                raised, _, _, pace = advance(rows, weights, theta, s, value, pace)
                moved = smooth(raised)
            s, new = assess(rows, weights, moved)
            # The likelihood may fall too: it is not what the fixed point maximises.
            stopped = (
                n * abs(new - value) < self.tolerance or float(np.abs(moved - theta).sum()) < 1 / n
            )
            theta, value = moved, new
            count += 1
        return moved_or_not(finish(data, theta, Status.STOPPED, count), start_at, n, 1 / n)


def smooth(p: np.ndarray) -> np.ndarray:
    """S p made to sum to one, (K,)."""
    smoothed = p / 2
    smoothed[1:] += p[:-1] / 4
    smoothed[:-1] += p[1:] / 4
    smoothed[[0, -1]] *= 4 / 3  # weights 2 and 1 of the three are inside
    return smoothed / smoothed.sum()
