"""Privacy guarantees as frozen facts: what they say, and how they add up. No mechanism, no sampling."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from warner._check import ArgumentTypeError, BudgetError, EmptyError, kind, message


@dataclass(frozen=True)
class LDP:
    """Local differential privacy: A[y, x] <= exp(epsilon) A[y, x'] for every report y and all values x, x'.

    ``epsilon`` in nats; infinity means no protection. [P2 def 1]

    >>> LDP(1.0)
    LDP(epsilon=1.0)
    """

    epsilon: float

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float):
            raise ArgumentTypeError(message("epsilon", "must be a number (nats)", kind(self.epsilon)))
        if not self.epsilon >= 0:
            raise BudgetError(message("epsilon", "must be at least 0", repr(self.epsilon)))

    def __str__(self) -> str:
        return "no protection" if math.isinf(self.epsilon) else f"{self.epsilon:.10g}-LDP"


def compose(guarantees: Iterable[LDP]) -> LDP:
    """What one person who sends several reports has spent: epsilons add (METHODS 8).

    The sum is rounded up, so that it is never below the exact one.

    >>> compose([LDP(0.5), LDP(1.0)])
    LDP(epsilon=1.5)
    """
    if not isinstance(guarantees, Iterable):
        raise ArgumentTypeError(message("guarantees", "must be a list of guarantees", kind(guarantees)))
    parts = list(guarantees)
    if not parts:
        raise EmptyError(message("guarantees", "must not be empty"))
    for part in parts:
        if not isinstance(part, LDP):
            raise ArgumentTypeError(message("guarantees", "must all be LDP", kind(part)))
    total = math.fsum(part.epsilon for part in parts)
    exact = math.isinf(total) or math.fsum([*(part.epsilon for part in parts), -total]) <= 0
    return LDP(total if exact else math.nextafter(total, math.inf))
