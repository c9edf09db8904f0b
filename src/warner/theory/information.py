"""The Fisher information of reports about the shares, and the bounds that follow.

A report of group g has the probability (A_g theta)_y, so n_g people of each group have the
information

    I = sum_g n_g A_g' diag(1 / (A_g theta)) A_g

about theta in R^K. The shares sum to 1, so only directions d with 1'd = 0 count. With T a basis of
them, no unbiased estimate of c'theta has a variance below c' V c,

    V = T (T' I T)^-1 T' = I^-1 - theta theta' / n

The second form holds because I theta = n 1. The maximum of the likelihood reaches the bound as n
grows, where no true share is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, distribution, integer, numbers_of, real
from warner._core.errors import ArgumentError, IdentifiabilityError
from warner._core.progress import in_blocks
from warner.channels import Channel, FloatArray, stacked
from warner.results.likelihood_limits import basis_of
from warner.theory.inversion import (
    MAX_PEOPLE,
    Mechanisms,
    People,
    groups_of,
    report_channel,
    tally_channel,
)

_ROUNDING = 4 * np.finfo(np.float64).eps  # of K times the largest eigenvalue: less is 0
_NONE = 1e-12  # of the length of a function, or of 1: less is 0
_LARGEST_EPSILON = 22 / 35  # up to which the minimax bound of Duchi et al. is proved


def fisher_information(mechanisms: Mechanisms, theta: ArrayLike, n: People = 1) -> np.ndarray:
    """The Fisher information matrix of the reports of n people about their shares.

        I = sum_g n_g A_g' diag(1 / (A_g theta)) A_g

    Its entry (x, x) is the information about theta_x where all other shares are known. [P3 eqs 12,
    13] state it with the numerator A[y, x] where its square belongs; this is the right form.

    The information is that of whole reports, also for mechanisms whose tallies keep bit sums.

    Args:
        mechanisms: one mechanism, or one for each group of people, on one domain of K values. A
            Domain stands for no protection.
        theta: (K,) the distribution that people are drawn from.
        n: the number of people; for several mechanisms a list, one number for each.

    Returns:
        I, (K, K), in 1 / share^2.

    Raises:
        ArgumentError: a report has probability 0 at theta and not at others, so that the
            information is infinite; or reports that are neither listed nor sets of values.
        MismatchError: mechanisms on different domains.

    Source: [P1 eq 25], times -n; [P3 eqs 12, 13], corrected; METHODS 6, 9.8.

    >>> from warner import Integers, RandomizedResponse
    >>> coin = RandomizedResponse(Integers(0, 1), 1.0)
    >>> information = fisher_information(coin, [0.5, 0.5], n=100)
    >>> bool(np.allclose(information @ [0.5, 0.5], 100))  # I theta = n 1
    True
    """
    information, infinite = _information(mechanisms, theta, n)[1:]
    if infinite.any():
        rule = "must make every report possible, because otherwise the information is infinite"
        remedy = "Replace shares of 0 by small shares"
        raise ArgumentError("theta", rule, None, remedy)
    return information


def cramer_rao(
    mechanisms: Mechanisms,
    theta: ArrayLike,
    n: People = 1,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """The least variance of any unbiased estimate of linear functions of the shares.

        c' V c,   V = T (T' I T)^-1 T',   T a basis of {d : 1'd = 0}

    Where theta gives a report the probability 0, the bound is the limit from inside the simplex.

    Args:
        mechanisms: one mechanism, or one for each group of people; a Domain stands for no
            protection.
        theta: (K,) the distribution that people are drawn from.
        n: the number of people; for several mechanisms a list, one number for each.
        weights: (r, K) or (K,), the functions c; None for the K shares themselves.

    Returns:
        The bounds (r,) or (K,), in squared units of the function. The root of a bound is a standard
        error. A bound is infinite if the reports do not determine the function. It is also infinite
        if the information about it is lost in rounding: below 1e-15 K of the largest eigenvalue.

    Raises:
        ArgumentError: weights of another shape; reports that are neither listed nor sets of values.

    Source: [P1 eq 25; P3 eqs 12, 13]; METHODS 6.

    >>> from warner import Integers, RandomizedResponse
    >>> dice = RandomizedResponse(Integers(1, 6), 1.0)
    >>> even = [1 / 6] * 6
    >>> bool(cramer_rao(dice, even, 1000)[0] > cramer_rao(dice.domain, even, 1000)[0])
    True
    >>> cramer_rao(Integers(1, 6), even, 1000, weights=[1, 2, 3, 4, 5, 6]).round(6)  # (35 / 12) / n
    array([0.002917])
    """
    shares, information, infinite = _information(mechanisms, theta, n)
    matrix = np.eye(shares.size)
    if weights is not None:
        matrix = np.atleast_2d(numbers_of("weights", weights))
    if matrix.ndim != 2 or matrix.shape[1] != shares.size or not np.isfinite(matrix).all():
        rule = f"must be rows of {shares.size} finite numbers, one for each value"
        raise ArgumentError("weights", rule, f"the shape {matrix.shape}")
    return _bounds(information, infinite, matrix)


def effective_sample_size(
    mechanisms: Mechanisms, theta: ArrayLike, n: People, by: str = "information"
) -> float:
    """The number of people whose unprotected answers would determine the shares as precisely.

        (1 - sum_x theta_x^2) / sum_x V_x

    1 - sum theta^2 is n times the expected sum of squared errors of n people's true answers. V_x is
    the variance of the estimate of theta_x from all n reports.

    Args:
        mechanisms: one mechanism, or one for each group of people.
        theta: (K,) the distribution that people are drawn from, with at least two positive shares.
        n: the number of people; for several mechanisms a list, one number for each.
        by: ``"information"`` takes the Cramer-Rao bound for V; ``"inversion"`` takes the variance
            of the inversion.

    Returns:
        The number of people, at most n; 0 where the reports do not determine the shares.

    Raises:
        ArgumentError: all people have one value.
        IdentifiabilityError: by inversion, a channel that has no inverse.

    Source: [P1 sec 1] has the idea; :func:`minimax_sample_size` is its figure.

    >>> from warner import Integers, RandomizedResponse
    >>> coin = RandomizedResponse(Integers(0, 1), 1.0)
    >>> round(effective_sample_size(coin, [0.5, 0.5], n=1000))  # n tanh(1/2)^2
    214
    """
    domain, groups = groups_of(mechanisms, n)
    shares = distribution("theta", theta, domain.size)
    spread = 1 - float(shares @ shares)
    if spread <= _NONE:
        raise ArgumentError("theta", "must have at least two shares above 0")
    if choice("by", by, ("information", "inversion")) == "information":
        return spread / float(cramer_rao(mechanisms, theta, n).sum())
    people = [each for _, each in groups]
    channel = stacked([tally_channel(subject) for subject, _ in groups], people)
    return spread * sum(people) / float(channel.variance(shares).sum())


def minimax_sample_size(epsilon: float, n: int) -> float:
    """The effective sample size of n reports in the minimax lower bound.

        min(n, 4 epsilon^2 n)

    For every mechanism with this budget, the worst-case error of n reports is at least of the order
    of the error of this number of true answers. Above epsilon = 1/2 the published 4 epsilon^2 n
    exceeds n and bounds nothing, so n is returned. For the number of a single mechanism see
    :func:`effective_sample_size`.

    Args:
        epsilon: budget in nats, in (0, 22/35].
        n: number of people.

    Returns:
        The number of people.

    Source: [P1 sec 1], after Duchi, Jordan and Wainwright (2013).

    >>> round(minimax_sample_size(0.1, 1000), 6)
    40.0
    """
    if not 0 < real("epsilon", epsilon) <= _LARGEST_EPSILON:
        raise ArgumentError("epsilon", "must be above 0 and at most 22/35", repr(epsilon))
    return min(1.0, 4 * epsilon**2) * integer("n", n, 1, MAX_PEOPLE)


def _information(
    mechanisms: Mechanisms, theta: ArrayLike, n: People
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares (K,), I (K, K), and the matrix (K, K) of the directions where I is infinite."""
    domain, groups = groups_of(mechanisms, n)
    shares = distribution("theta", theta, domain.size)
    total, infinite = np.zeros((domain.size,) * 2), np.zeros((domain.size,) * 2)
    for subject, people in groups:
        channel = tally_channel(subject)
        if not channel.has_information:
            channel = report_channel(subject)
        if not channel.has_information:
            rule = (
                "must have reports that are sets of values, or few enough reports to list them all"
            )
            remedy = "Compare methods on simulated reports instead: compare(tally, methods)"
            raise ArgumentError("mechanisms", rule, type(subject).__name__, remedy)
        finite, directions = channel.information(shares)
        total += people * finite
        infinite += directions
    return shares, total, infinite


def _bounds(information: np.ndarray, infinite: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """c' V c (r,) of the rows c of a matrix (r, K); infinite where nothing is known."""
    basis = basis_of(information.shape[0])
    if infinite.any():
        values, vectors = np.linalg.eigh(basis.T @ infinite @ basis)
        basis = basis @ vectors[:, values <= _NONE * np.trace(infinite)]
    if not basis.shape[1]:
        return np.zeros(len(matrix))
    values, vectors = np.linalg.eigh(basis.T @ information @ basis)
    is_known = values > _ROUNDING * len(information) * values[-1]
    functions = matrix @ basis @ vectors
    bounds = (functions[:, is_known] ** 2 / values[is_known]).sum(axis=1)
    unknown = (functions[:, ~is_known] ** 2).sum(axis=1) > _NONE * (functions**2).sum(axis=1)
    return np.where(unknown, np.inf, bounds)


# -----------------------------------------------------------------------------------------------
# The mean squared error of the maximum of the likelihood, by powers of 1 / n [P1 sec 4.4].
#
# The maximum expands in the score s_i = A[y_i, :] / (A theta)[y_i] of each report. [P1] and [P3]
# write the expansion in R^K, where the likelihood does not have its maximum: theta's_i = 1 for
# every report, so the mean score is the vector of ones, not 0. Here it is written on the
# directions d with 1'd = 0, with s_i replaced by T's_i. There the mean score is 0 and all terms
# exist (METHODS 9.4).


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
    theta = distribution("theta", theta, domain.size)
    if (theta <= 0).any():
        rule = "must have no share of 0 for a second-order error"
        raise ArgumentError("theta", rule, None, "Replace shares of 0 by small shares")
    people = sum(each for _, each in groups)
    basis = basis_of(domain.size)
    parts = [
        (each / people, *_scores(report_channel(subject), theta, basis)) for subject, each in groups
    ]
    informations = [(s * d[:, None]).T @ s for _, s, d in parts]
    total = np.sum([p[0] * each for p, each in zip(parts, informations, strict=True)], axis=0)
    values = np.linalg.eigvalsh(total)
    if values.size and values[0] <= _SINGULAR * values[-1]:
        raise IdentifiabilityError(
            "mechanisms",
            "give the same reports for different shares, so shares cannot be estimated",
        )
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
        rule = f"must have at most {_LARGEST} different reports for a second-order error"
        remedy = "Use maximum_likelihood_error"
        raise ArgumentError("mechanisms", rule, None, remedy)
    rows = channel.dense()
    chance = rows @ theta
    positive = chance > 0
    return rows[positive] / chance[positive, None] @ basis, chance[positive]


def _pairs(s: FloatArray, weights: FloatArray, q: FloatArray) -> float:
    """E[(d_1' Q s_2)(s_2' d_1)^2] over pairs of independent reports."""
    total = 0.0
    for some in in_blocks(len(s), _BLOCK):
        d = s[some] @ q
        total += float(weights[some] @ ((d @ q @ s.T) * (d @ s.T) ** 2) @ weights)
    return total
