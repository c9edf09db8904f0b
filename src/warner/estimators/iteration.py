"""The loop that runs every iterative estimator: start, step, stop, observe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from warner._core.progress import stage
from warner.estimators.fit import Status

State = TypeVar("State")


@dataclass(frozen=True)
class Run(Generic[State]):
    """The end of an iteration.

    Attributes:
        state: the last state.
        steps: the number of steps taken.
        status: the reason for the end; ``STEP_LIMIT`` if ``stop`` gave no reason.
    """

    state: State
    steps: int
    status: Status


def iterate(
    start: State,
    step: Callable[[State], State | None],
    stop: Callable[[State, int], Status | None],
    most: int,
    observe: Callable[[State], None] | None = None,
) -> Run[State]:
    """Apply ``step`` until ``stop`` gives a reason, no step is possible, or ``most`` are done.

    The steps are a stage of :func:`warner.progress`. Most methods stop long before ``most`` steps,
    so the stage has no total.

    >>> halve = iterate(1.0, lambda x: x / 2, lambda x, n: Status.CONVERGED if x < 0.3 else None, 9)
    >>> halve.state, halve.steps, halve.status.name
    (0.25, 2, 'CONVERGED')
    """
    state, steps = start, 0
    with stage("iterations") as tell:
        while True:
            if observe is not None:
                observe(state)
            reason = stop(state, steps)
            if reason is not None:
                return Run(state, steps, reason)
            following = step(state) if steps < most else None
            if following is None:
                return Run(state, steps, Status.STEP_LIMIT)
            state, steps = following, steps + 1
            tell(steps)
