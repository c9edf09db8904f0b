"""Many reports of one value: how fast their histogram approaches their law [P4 sec VI]."""

from __future__ import annotations

import math

from warner._core.checks import choice, integer, real
from warner._core.errors import ArgumentError

FORMS = ("published", "tight")


def divergence_tail(delta: float, times: int, reports: int, form: str = "tight") -> float:
    """A bound on the probability that the histogram of k reports is far from their law.

        published   Pr(KL(q || a) > delta) <= (1 + k)^m exp(-k delta)
        tight       Pr(KL(q || a) > delta) <= binomial(k + m - 1, m - 1) exp(-k delta)

    q is the histogram of k reports of one value, a the law of a report, m the number of different
    reports. The first factor counts histograms: there are exactly binomial(k + m - 1, m - 1), and
    at most (1 + k)^m.

    The maximum of the likelihood from such reports is the value with the least KL(q || a_x), so it
    errs with a probability that falls exponentially in k.

    Args:
        delta: the divergence in nats, at least 0. [P4] measures it in bits, with 2^(-k delta).
        times: k, the number of reports.
        reports: m, the number of different reports that the mechanism can send.
        form: ``"tight"`` or ``"published"``.

    Returns:
        The bound, at most 1.

    Source: [P4 eq 17], after Cover and Thomas (2006), chapter 11.

    >>> round(divergence_tail(0.1, times=100, reports=3), 4)
    0.2339
    >>> divergence_tail(0.1, times=100, reports=3, form="published")
    1.0
    """
    if real("delta", delta) < 0:
        raise ArgumentError("delta", "must not be negative", repr(delta))
    integer("times", times, 1)
    integer("reports", reports, 1)
    if choice("form", form, FORMS) == "published":
        count = reports * math.log1p(times)
    else:
        count = math.lgamma(times + reports) - math.lgamma(reports) - math.lgamma(times + 1)
    return math.exp(min(0.0, count - times * delta))
