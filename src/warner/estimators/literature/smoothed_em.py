"""Expectation maximisation with smoothing after every step, for values in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from warner._core.checks import integer, real, show
from warner._core.errors import (
    ArgumentError,
)
from warner.estimators.base import Estimator, require_order
from warner.estimators.em import (
    CheckedStart,
    EMState,
    Start,
    advance,
    checked_start,
    em_step,
    is_made_of_reports,
    moved_or_not,
    repr_of_start,
    start_at,
    start_em,
)
from warner.estimators.fit import Fit, Status
from warner.estimators.iteration import iterate
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import certify, require_possible, score_and_log_likelihood

_STARTS = ("uniform", "histogram")


@dataclass(frozen=True)
class SmoothedEM(Estimator):
    """EM in which every step is followed by smoothing (EMS).

        theta <- S (theta * A' (w / A theta)), made to sum to one
        (S p)_x = p_(x-1) / 4 + p_x / 2 + p_(x+1) / 4,   at the ends (S p)_0 = 2/3 p_0 + 1/3 p_1

    A (m, K) is the channel, w (m,) the frequencies of its rows, and p a distribution (K,). At the
    ends, those of the binomial weights (1, 2, 1) that lie inside the domain are divided by their
    sum, as in the code of Li et al. (2020). A row of S sums to one but a column need not, so theta
    is divided by its sum. The method stops when a step changes the log-likelihood of all n reports
    by less than ``tolerance`` nats. It also stops when a step moves theta by less than 1 / n in l1,
    or after ``steps`` steps.

    Where the tally has bit sums only, the step of EM is made as long as on whole reports
    (``warner.estimators.em.advance``). Otherwise smoothing would undo every step.

    The fixed point maximises no objective. The amount of smoothing depends on the number of bins
    and not on n. LogSpline chooses the amount of smoothing from the reports.

    Args:
        tolerance: nats over all reports, at least 0. Published: 1e-3 for EMS with the square wave
            (Li et al. 2020), which is the default; 1e-3 e^epsilon in the code of [P3].
        steps: the largest number of steps; published: 10,000.
        start: as of ExpectationMaximization; published: ``"uniform"``.

    Raises:
        ArgumentError: the domain's values have no order, or are not on one line.
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: Li et al. (2020), sec 5.5; [P3 sec VI]; METHODS 5.

    >>> SmoothedEM()
    SmoothedEM(tolerance=0.001, steps=10000)
    """

    references = ("li2020", "P3")

    summary: ClassVar[str] = (
        "expectation maximisation with smoothing after every step: a regularised estimate"
    )

    tolerance: float = 1e-3
    steps: int = 10_000
    start: Start = "uniform"

    def __post_init__(self) -> None:
        if real("tolerance", self.tolerance) < 0:
            raise ArgumentError("tolerance", "must not be negative", show(self.tolerance))
        integer("steps", self.steps, 1)
        object.__setattr__(self, "start", checked_start(self.start, _STARTS))

    def __repr__(self) -> str:
        start = "" if self.start == "uniform" else f", start={repr_of_start(self._start)}"
        return f"SmoothedEM(tolerance={self.tolerance!r}, steps={self.steps!r}{start})"

    @property
    def _start(self) -> CheckedStart:
        """The start as ``__post_init__`` left it."""
        assert isinstance(self.start, str | Estimator | tuple)
        return self.start

    def _fit(self, data: LikelihoodData) -> Fit:
        require_order(data.domain.answered, "SmoothedEM")
        silence = data.domain.silence is not None
        rows, weights = data.channel.restrict_to_observed(data.weights)
        require_possible(rows, weights)
        n = data.n
        theta = start_at(self._start, data)

        def step(state: _Smoothed) -> _Smoothed:
            if rows.rows_per_report == 1:
                moved, pace = em_step(state.theta, state.score), state.pace
            else:
                ahead = advance(rows, weights, state)
                moved, pace = ahead.theta, ahead.pace
            moved = smooth_but_last(moved) if silence else smooth(moved)
            score, value = score_and_log_likelihood(rows, weights, moved)
            distance = float(np.abs(moved - state.theta).sum())
            return _Smoothed(moved, score, value, pace, value - state.value, distance)

        def stop(state: _Smoothed, count: int) -> Status | None:
            # The likelihood may fall too: the fixed point does not maximise it.
            settled = n * abs(state.gain) < self.tolerance or state.distance < 1 / n
            return Status.STOPPED if settled else None

        first = start_em(rows, weights, theta)
        start = _Smoothed(first.theta, first.score, first.value, first.pace)
        run = iterate(start, step, stop, self.steps)
        fit = certify(data, run.state.theta, Status.STOPPED, run.steps)
        return fit if is_made_of_reports(self._start) else moved_or_not(fit, theta, n, 1 / n)


@dataclass(frozen=True, eq=False)
class _Smoothed(EMState):
    """A point on the path, and the l1 length of the last step."""

    distance: float = np.inf


def smooth(p: np.ndarray) -> np.ndarray:
    """Smooth a distribution p (K,) by S of :class:`SmoothedEM`, and divide it by its sum."""
    smoothed = p / 2
    smoothed[1:] += p[:-1] / 4
    smoothed[:-1] += p[1:] / 4
    smoothed[[0, -1]] *= 4 / 3  # weights 2 and 1 of the three are inside
    out: np.ndarray = smoothed / smoothed.sum()
    return out


def smooth_but_last(p: np.ndarray) -> np.ndarray:
    """:func:`smooth` of all shares but the last, that of silence, which keeps its share.

    Shapes: p (K + 1,) -> (K + 1,).
    """
    total = float(p[:-1].sum())
    return np.append(smooth(p[:-1]) * total, p[-1]) if total > 0 else p
