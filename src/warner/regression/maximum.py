"""The maximum of the likelihood of a regression, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from warner.channels import FloatArray
from warner.estimators.fit import Status
from warner.estimators.iteration import iterate
from warner.regression.likelihood import Pairs, Point

_MOST_STEPS = 200
_DECREMENT = 1e-14  # squared length of the step in standard errors, at which Newton's method ends
_SMALL_GAIN = 1e-4  # nats
_LONG_STEP = 0.5  # in log-odds
_HALVINGS = 40
# In log-odds. A longer step may end where all derivatives are 0, unless log-odds are large already.
_LONGEST_STEP = 5.0
_FLAT = 1e-9  # of the information of the answers themselves: below it, rounding
_ROUNDING = 1e-13  # of the log-likelihood


class Ending(Enum):
    """How a regression ended; the text states the cause and the remedy.

    >>> Ending.EXACT.value
    'exact: computed directly, without iteration'
    """

    EXACT = "exact: computed directly, without iteration"
    CONVERGED = "converged: the log-likelihood has a maximum at these coefficients"
    SEPARATED = (
        "separated: the log-likelihood still rises while some coefficients grow without bound, "
        "because the estimated share of a value is 0 at some covariates. Those coefficients and "
        "their errors have no meaning; use fewer covariates, merge values, or predict shares"
    )
    FLAT = (
        "flat: the log-likelihood is nearly constant along some direction, so the reports do not "
        "determine all coefficients. The errors along it are huge; use fewer covariates or merge "
        "values"
    )
    STEP_LIMIT = "step limit reached before the maximum: use fewer covariates or merge values"


@dataclass(frozen=True, eq=False)
class Maximum:
    """The end of the maximisation.

    Attributes:
        beta: (E, p) coefficients.
        point: the likelihood there.
        covariance: (E p, E p) the inverse of the observed information.
        ending: how it ended.
        steps: the number of steps.
    """

    beta: FloatArray
    point: Point
    covariance: FloatArray
    ending: Ending
    steps: int


@dataclass(frozen=True, eq=False)
class _State:
    """A point of the search, and the step from it.

    Attributes:
        beta: (E, p).
        point: the likelihood at beta.
        scale: (E p,) the eigenvalues of the observed information, in the metric of the information
            of the answers.
        vectors: (E p, E p) their vectors V: the inverse of the observed information is
            V diag(1 / scale) V'.
        step: (E, p) the step to take.
        gain: the gradient times the step. It is twice the gain in nats of a step of Newton.
    """

    beta: FloatArray
    point: Point
    scale: FloatArray
    vectors: FloatArray
    step: FloatArray
    gain: float

    @classmethod
    def of(cls, beta: FloatArray, point: Point) -> _State:
        """The state at coefficients, from the likelihood there."""
        from scipy import linalg

        gradient, observed, complete = point.derivatives()
        # The information of the answers is singular in floats where shares are nearly 0.
        ridge = 1e-12 * max(float(np.trace(complete)) / len(complete), 1e-300)
        scale, vectors = linalg.eigh(observed, complete + ridge * np.eye(len(complete)))
        steepness = np.maximum(np.abs(scale), _FLAT)
        step = vectors @ ((vectors.T @ gradient) / steepness)
        return cls(beta, point, scale, vectors, step.reshape(beta.shape), float(gradient @ step))

    @property
    def is_concave(self) -> bool:
        """Whether the log-likelihood is concave here."""
        return bool(self.scale.min() > 0)

    def reach(self, beta: FloatArray) -> float:
        """The largest log-odds at coefficients (E, p), or the largest change by a step."""
        return float(np.abs(self.point.pairs.covariates @ beta.T).max())

    @property
    def is_endless(self) -> bool:
        """Whether the step is long and gains nearly nothing."""
        return self.gain < _SMALL_GAIN and self.reach(self.step) > _LONG_STEP

    def ending(self) -> Ending:
        """The reason why the search ended here."""
        if self.is_endless:
            is_large = self.reach(self.beta) > _LONGEST_STEP
            return Ending.SEPARATED if is_large else Ending.FLAT
        return Ending.FLAT if self.scale.min() <= _FLAT else Ending.CONVERGED


def maximize(pairs: Pairs) -> Maximum:
    """Maximise the log-likelihood of coefficients, from 0.

    A step is H^-1 times the gradient, with H the observed information. Where H is not positive, its
    eigenvalues in the metric of the information of the answers are made positive, which still gives
    a direction of ascent. Steps are halved until the log-likelihood rises.

    The search also ends where a step changes log-odds by more than 0.5 and gains less than 1e-4
    nats. Then the standard error along it is above 35 in log-odds, and the maximum is at infinity
    or nearly so.

    Args:
        pairs: the reports and covariates. The covariates should be orthogonal columns or nearly
            so, for the sake of rounding.
    """

    def stop(here: _State, steps: int) -> Status | None:
        is_still = here.gain <= _DECREMENT
        ends = is_still or (here.is_concave and here.is_endless)
        return Status.CONVERGED if ends else None

    def step(here: _State) -> _State | None:
        longest = max(_LONGEST_STEP, here.reach(here.beta))
        size = min(1.0, longest / max(here.reach(here.step), longest))
        for _ in range(_HALVINGS):
            beta = here.beta + size * here.step
            point = pairs.at(beta)
            enough = here.point.value + 1e-4 * size * here.gain
            if point.value >= enough - _ROUNDING * abs(enough):
                return _State.of(beta, point)
            size /= 2
        return None

    start = np.zeros((pairs.size - 1, pairs.covariates.shape[1]))
    run = iterate(_State.of(start, pairs.at(start)), step, stop, _MOST_STEPS)
    end = run.state
    covariance = (end.vectors / np.maximum(end.scale, _FLAT)) @ end.vectors.T
    ending = Ending.STEP_LIMIT if run.status is Status.STEP_LIMIT else end.ending()
    return Maximum(end.beta, end.point, covariance, ending, run.steps)
