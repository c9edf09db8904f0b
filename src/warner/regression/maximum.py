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
_STARTS = 20  # beside the one at 0
_FEW_STARTS = 6  # where a step takes long
_LONG, _VERY_LONG = 2**17, 2**19  # pairs times coefficients
_RIDGE = 1e-12  # of the information of one log-odds, which is at most a quarter of the people
_SPREAD = 1.5  # standard deviation of the log-odds of a random start
_LARGE_ERROR = 0.25  # in log-odds: the logit is curved at this scale
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
        # The information of the answers is singular in floats where shares are nearly 0 or 1.
        ridge = _RIDGE * float(point.pairs.counts.sum())
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
    """The largest maximum of the log-likelihood that is found.

    The search starts at 0. The log-likelihood is not concave where reports are noisy. If some
    standard error is above 0.25, it is far from a parabola, and the search also starts at random
    places, the same ones each time. There are 20 of them, 6 where a step takes long, and none where
    it takes longer still. The best end is taken.
    """
    shape = (pairs.size - 1, pairs.covariates.shape[1])
    first = _ascend(pairs, np.zeros(shape))
    if not first.is_doubtful:
        return first.maximum()
    rng = np.random.default_rng(0)
    work = len(pairs.group) * int(np.prod(shape))
    count = _STARTS if work <= _LONG else _FEW_STARTS if work <= _VERY_LONG else 0
    starts = [rng.normal(scale=_SPREAD, size=shape) for _ in range(count)]
    others = [_ascend(pairs, start) for start in starts if np.isfinite(pairs.at(start).value)]
    best = max([first, *others], key=lambda end: end.state.point.value)
    is_better = best.state.point.value > first.state.point.value + _SMALL_GAIN
    return (best if is_better else first).maximum()


@dataclass(frozen=True, eq=False)
class _End:
    """The end of one search."""

    state: _State
    steps: int
    is_limited: bool

    @property
    def is_doubtful(self) -> bool:
        """Whether another search may end at a larger maximum."""
        if self.state.point.pairs.are_known:
            return False  # the log-likelihood is concave
        errors = np.sqrt(self._covariance().diagonal())
        return self.is_limited or bool(errors.max() > _LARGE_ERROR)

    def _covariance(self) -> FloatArray:
        state = self.state
        return np.asarray((state.vectors / np.maximum(state.scale, _FLAT)) @ state.vectors.T)

    def maximum(self) -> Maximum:
        """The result of the search."""
        state = self.state
        ending = Ending.STEP_LIMIT if self.is_limited else state.ending()
        return Maximum(state.beta, state.point, self._covariance(), ending, self.steps)


def _ascend(pairs: Pairs, start: FloatArray) -> _End:
    """The end of Newton's method from a start (E, p).

    A step is H^-1 times the gradient, with H the observed information. Where H is not positive, its
    eigenvalues in the metric of the information of the answers are made positive, which still gives
    a direction of ascent. Steps are halved until the log-likelihood rises.

    The search also ends where a step changes log-odds by more than 0.5 and gains less than 1e-4
    nats. Then the standard error along it is above 35 in log-odds, and the maximum is at infinity
    or nearly so.
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

    run = iterate(_State.of(start, pairs.at(start)), step, stop, _MOST_STEPS)
    return _End(run.state, run.steps, run.status is Status.STEP_LIMIT)
