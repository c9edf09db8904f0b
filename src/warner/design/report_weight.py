"""The weight of one report: how far a single dishonest person can move an estimated count."""

from __future__ import annotations

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
)
from warner.mechanisms.base import Mechanism


def report_weight(mechanism: Mechanism) -> float | None:
    """The largest change that one report can make to a value's unbiased count, in people.

        max over values x and reports y, y' of L[x, y] - L[x, y']

    L is the unbiased inverse of the channel, and report y adds L[x, y] people to the count of x. A
    person who sends y in place of an honest y' changes the count by the difference. If reports
    support sets of values, the weight is 1 / (p - q). Here p is the probability that a report
    supports the true value, and q that it supports another value. No mechanism can tell one
    forged report from an honest one. Estimators that are biased can move by more: of 200 reports
    on 10 values at epsilon 1, one moves the default estimate by 9 people and more, where the
    weight is 6.8. The smaller epsilon is, the larger the weight is.

    For reports about several attributes, the result is an upper bound of the change of one cell.
    For keys with values it is the change of the count of a key. For a large pool of hashes it is
    1 / (p - q), with q the average share of the values that a report supports.

    >>> from warner import Categorical, RandomizedResponse
    >>> round(report_weight(RandomizedResponse(Categorical(["no", "yes"]), 1.0)), 3)
    2.164
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentTypeError("mechanism", "must be a Mechanism", kind(mechanism))
    try:
        return mechanism.channel().report_weight(mechanism.values_per_person)
    except (IdentifiabilityError, ArgumentError):
        return None
