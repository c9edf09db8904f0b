"""The mean squared error of the maximum of the likelihood, by powers of 1 / n [P1 sec 4.4].

The maximum expands in the score s_i = A[y_i, :] / (A theta)[y_i] of each report. [P1] and [P3]
write the expansion in R^K, where the likelihood does not have its maximum: theta's_i = 1 for every
report, so the mean score is the vector of ones, not 0. Here it is written on the directions d with
1'd = 0, with s_i replaced by T's_i. There the mean score is 0 and all terms exist (METHODS 9.4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner.channels import Channel, FloatArray
from warner.design.theory.groups import Mechanisms, People, groups_of, report_channel, shares_of
from warner.design.theory.information import cramer_rao, tangent

_LARGEST = 2**13  # reports, whose pairs are summed over
_BLOCK = 2**10
_SINGULAR = 1e-12


def maximum_likelihood_error(mechanisms: Mechanisms, theta: ArrayLike, n: People) -> float:
    """The expected sum of squared errors of the maximum of the likelihood, to order 1 / n.

        b_-1 = trace V,   V the Cramer-Rao bound of all shares

    The published form is E |d|^2 with d = -Q mean(s), Q = -E[s s']^-1. It takes E[s] for 0, but
    E[s] = 1 and E[d] = theta, so as printed it equals (trace(Q) + |theta|^2) / -n + |theta|^2 and
    does not vanish as n grows. Subtracting E[d] gives (-trace(Q) - |theta|^2) / n, which is
    trace V.

    Args:
        mechanisms: one mechanism, or one for each group of people.
        theta: (K,) the distribution that people are drawn from. Where a share is 0, the maximum
            stays on the simplex and errs less.
        n: the number of people; for several mechanisms a list, one number for each.

    Returns:
        The expected sum over the K values. Divide by K for the mean of [P3].

    Source: [P1 eq 35], [P3 lemma 1], both corrected; METHODS 9.4.

    >>> from warner import Integers
    >>> round(maximum_likelihood_error(Integers(0, 3), [0.25] * 4, n=1000), 6)
    0.00075
    """
    return float(cramer_rao(mechanisms, theta, n).sum())


def second_order_error(mechanisms: Mechanisms, theta: ArrayLike, n: People) -> tuple[float, float]:
    """The first two terms b_-1 and b_-3/2 of the mean squared error of the maximum.

        b_-1   = E |d|^2,                        d = Q mean(s),   Q = -(T' S T)^-1,   S = I / n
        b_-3/2 = -E[d' {2 Q V d - Q H (d x d)}],   V = mean(S - s s'),   H = 2 E[s x s x s]

    All vectors are in coordinates of the directions with 1'd = 0. b_-1 is the trace of the
    Cramer-Rao bound. b_-3/2 is a mean of products of three means of independent terms, so it is of
    order n^-2, although its index is -3/2:

        b_-3/2 = -(2 / n^2) {E[|d_1|^2 t_1 + d_1' Q S_1 d_1] - E[(d_1' Q s_2)(s_2' d_1)^2]}

    for two independent reports 1 and 2, with t = -s' Q s and S_1 the information of a report of
    the first one's group. Other terms of order n^-2 exist, which [P1] leaves out. [P1 eq 24], the
    second derivative of the score, lacks the factor 2 that H has here.

    Where there are as many reports as values, the maximum is linear in the reports, and b_-3/2 is
    0.

    Args:
        mechanisms: one mechanism, or one for each group of people, whose reports can be listed.
        theta: (K,) the distribution that people are drawn from; all positive.
        n: the number of people; for several mechanisms a list, one number for each.

    Returns:
        b_-1 and b_-3/2, sums over the K values.

    Raises:
        ArgumentError: a share of 0, or more than 8192 different reports.
        IdentifiabilityError: the reports do not determine the shares.

    Source: [P1 eqs 34-38], corrected; METHODS 9.4.

    >>> from warner import Integers, RandomizedResponse
    >>> first, second = second_order_error(
    ...     RandomizedResponse(Integers(0, 2), 1.0), [0.5, 0.3, 0.2], n=1000
    ... )
    >>> bool(first > 0), abs(second) < 1e-12
    (True, True)
    """
    domain, groups = groups_of(mechanisms, n)
    theta = shares_of(theta, domain)
    if (theta <= 0).any():
        raise ArgumentError("theta", "must have no share at 0 for a second-order error")
    people = sum(each for _, each in groups)
    basis = tangent(domain.size)
    parts = [
        (each / people, *_scores(report_channel(asked), theta, basis)) for asked, each in groups
    ]
    informations = [(s * d[:, None]).T @ s for _, s, d in parts]
    total = np.sum([p[0] * each for p, each in zip(parts, informations, strict=True)], axis=0)
    values = np.linalg.eigvalsh(total)
    if values.size and values[0] <= _SINGULAR * values[-1]:
        raise IdentifiabilityError("mechanisms", "leave some function of the shares undetermined")
    q = -np.linalg.inv(total)
    one = 0.0
    for (share, s, chance), information in zip(parts, informations, strict=True):
        d = s @ q
        t = -np.einsum("ij,ij->i", d, s)
        spread = np.einsum("ij,ij->i", d @ q @ information, d)
        one += share * float(chance @ ((d**2).sum(axis=1) * t + spread))
    scores = np.concatenate([s for _, s, _ in parts])
    weights = np.concatenate([share * chance for share, _, chance in parts])
    two = _pairs(scores, weights, q)
    return float(-np.trace(q)) / people, -2 * (one - two) / people**2


def _scores(
    channel: Channel, theta: FloatArray, basis: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """T's of every report (m, K - 1), and its probability (m,)."""
    if channel.rows_per_report != 1 or channel.shape[0] > _LARGEST:
        raise ArgumentError(
            "mechanisms",
            f"must have at most {_LARGEST} different reports for a second-order error",
            None,
            "Use maximum_likelihood_error, or a smaller domain",
        )
    rows = channel.dense()
    chance = rows @ theta
    positive = chance > 0
    return rows[positive] / chance[positive, None] @ basis, chance[positive]


def _pairs(s: FloatArray, weights: FloatArray, q: FloatArray) -> float:
    """E[(d_1' Q s_2)(s_2' d_1)^2] over pairs of independent reports."""
    total = 0.0
    for start in range(0, len(s), _BLOCK):
        d = s[start : start + _BLOCK] @ q
        total += float(weights[start : start + _BLOCK] @ ((d @ q @ s.T) * (d @ s.T) ** 2) @ weights)
    return total
