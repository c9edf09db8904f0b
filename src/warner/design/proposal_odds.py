"""What epsilon means in odds, from the probabilities that a mechanism realises."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from warner._core.errors import ArgumentError
from warner.mechanisms import Mechanism
from warner.privacy.likelihood_ratios import INFINITE, worst_pair

_LARGEST = 700.0  # nats, whose exponential is a float
_MOST_LISTED = 2**12  # probabilities, which are exact fractions


@dataclass(frozen=True)
class Odds:
    """How much surer of an answer one report can make somebody who sees it.

    Attributes:
        epsilon: the realised epsilon in nats, of any two values.
        factor: by how much the odds of two answers can change, e^epsilon.
        answer, other: the two answers that a report tells apart best; None where the reports are
            too many to list.
        sent: of 100 people with ``answer``, those who send that report; None as above.
        sent_by_other: of 100 people with ``other``, those who send it; None as above.
        delta: of approximate privacy; 0 otherwise.
        of_sensitive: whether this holds for sensitive answers only. A report can show others.
    """

    epsilon: float
    factor: float
    answer: Any = None
    other: Any = None
    sent: float | None = None
    sent_by_other: float | None = None
    delta: float = 0.0
    of_sensitive: bool = False

    def surer(self, before: float = 0.5) -> float:
        """The largest probability of an answer after a report was seen.

            odds after = factor * odds before

        With a delta a rare report can tell more. Then it is the probability that the best guess
        between this answer, held to be the likelier one, and another is right,

            Pr(right) <= after + delta (1 - after)   for equally likely answers.

        Shapes: before (0, 1).

        >>> round(Odds(1.0, math.exp(1)).surer(), 3)
        0.731
        """
        odds = self.factor * before / (1 - before)
        after = 1.0 if math.isinf(odds) else odds / (1 + odds)
        return after + self.delta * (1 - after)

    def of_all(self, times: int) -> Odds:
        """The odds of several reports of one person together, without an example."""
        if times == 1:
            return self
        total = self.epsilon * times
        factor = math.exp(total) if total < _LARGEST else math.inf
        delta = min(1.0, self.delta * times)
        return Odds(total, factor, delta=delta, of_sensitive=self.of_sensitive)

    def row(self) -> dict[str, Any]:
        """The odds as a dict of JSON data."""
        return {**vars(self), "surer_from_half": self.surer()}


def odds_of(mechanism: Mechanism) -> Odds:
    """The odds of a mechanism, from its realised law.

    With sensitive values only they are protected, and the odds are of reports that a sensitive
    value can make.

    >>> from warner import Categorical, RandomizedResponse
    >>> odds = odds_of(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> round(odds.factor, 3), odds.answer, round(odds.sent), round(odds.sent_by_other)
    (2.718, 'no', 73, 27)
    """
    promised, mask = mechanism.guarantee.between_any_values(), mechanism.sensitive_mask
    epsilon = promised.epsilon
    factor = math.exp(epsilon) if epsilon < _LARGEST else math.inf
    of_sensitive = mask is not None and not bool(mask.all())
    bound = Odds(epsilon, factor, delta=promised.delta or 0.0, of_sensitive=of_sensitive)
    if not mechanism.is_enumerable or mechanism.n_reports * mechanism.domain.size > _MOST_LISTED:
        return bound
    try:
        table = mechanism.probabilities()[mechanism.protected()]
    except ArgumentError:
        return bound
    worst = worst_pair(table, mask)
    if worst.ratio in (INFINITE, 1) or bound.delta:
        return bound
    sent, by_other = (100 * float(table[worst.report, x]) for x in (worst.likely, worst.unlikely))
    labels = mechanism.domain.labels
    answer, other = labels[worst.likely], labels[worst.unlikely]
    return replace(bound, answer=answer, other=other, sent=sent, sent_by_other=by_other)
