"""The order of the least error that any mechanism can have."""

from __future__ import annotations

import math

from warner._core.checks import choice, integer, real
from warner._core.errors import ArgumentError
from warner.design.theory.groups import MAX_PEOPLE
from warner.design.theory.inversion import LOSSES


def minimax_rate(size: int, epsilon: float, n: int, loss: str = "l2", reports: int = 1) -> float:
    """The order of the least worst-case loss that any mechanism can have, without its constant.

        t size / (n epsilon^2) for l2,   sqrt(t) size / sqrt(n epsilon^2) for l1

    Each of n people has t values. Each value is reported at epsilon / t, so there are n t reports.

    Args:
        size: the number of values K under LDP; the number of sensitive values under ULDP.
        epsilon: budget in nats, in (0, 1].
        n: number of people.
        loss: ``"l2"`` or ``"l1"``, as in :func:`expected_loss`.
        reports: t, the number of different values of each person.

    Returns:
        The rate.

    Source: [P2 secs 3.2, 7], after Duchi, Jordan and Wainwright (2013).

    >>> minimax_rate(10, 0.5, 400), minimax_rate(10, 0.5, 400, loss="l1")
    (0.1, 1.0)
    >>> minimax_rate(10, 0.5, 400, reports=4)
    0.4
    """
    integer("size", size, 1)
    if not 0 < real("epsilon", epsilon) <= 1:
        raise ArgumentError("epsilon", "must lie in (0, 1]", repr(epsilon))
    people = integer("n", n, 1, MAX_PEOPLE) / integer("reports", reports, 1)
    root = size / math.sqrt(people * epsilon**2)
    return root if choice("loss", loss, LOSSES) == "l1" else root**2 / size
