"""Errors of the joint distribution of several attributes, in closed form [P5]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from warner._core.checks import integer, real
from warner._core.errors import ArgumentError
from warner.channels import Channel
from warner.design.theory.groups import MAX_PEOPLE, Asked, domain_of, tally_channel

_ENTRIES = 2**24  # of an array of weights of reports


def inversion_squares(
    sizes: Sequence[int], epsilons: Sequence[float], n: int, squares: float = 0.0
) -> float:
    """The expected sum of squared errors of all cells of a joint distribution, by inversion.

        (prod_k s_k - sum_x theta_x^2) / n
        s_k = ((e_k + d_k - 2)^2 + d_k - 1) / (e_k - 1)^2,   e_k = exp(epsilon_k)

    Each attribute is randomised on its own (RR-Ind-Joint), or all combinations are randomised
    as one attribute (RR-Joint).

    Derivation: the inverse of randomised response has weights L[x, y] = ([x = y] - q) / (p - q).
    Every report y has one weight with x = y and d - 1 others, so
    sum_x L[x, y]^2 = ((1 - q)^2 + (d - 1) q^2) / (p - q)^2 = s,
    with q = 1 / (e + d - 1) and p - q = (e - 1) q. The weights of several attributes multiply,
    and so do these sums. The error therefore depends on theta by its sum of squares alone, and
    not on how the attributes depend on each other.

    Args:
        sizes: d_k, the number of values of each attribute; for RR-Joint the number of
            combinations alone.
        epsilons: the budget of each attribute in nats.
        n: number of people.
        squares: sum of theta_x^2 over all cells, in [0, 1]; 0 gives an upper bound.

    Returns:
        The expected sum. Divide it by the number of cells for the mean over cells [P5].

    Source: METHODS 3.

    >>> apart = inversion_squares([10, 10], [1.0, 1.0], n=1000)
    >>> together = inversion_squares([100], [2.0], n=1000)
    >>> together < apart
    True
    """
    if len(sizes) != len(epsilons) or not len(sizes):
        raise ArgumentError(
            "epsilons",
            "must have as many entries as sizes, at least one",
            f"{len(epsilons)} for {len(sizes)}",
        )
    if not 0 <= real("squares", squares) <= 1:
        raise ArgumentError("squares", "must lie in [0, 1]", repr(squares))
    product = 1.0
    for size, epsilon in zip(sizes, epsilons, strict=True):
        integer("size", size, 2)
        if real("epsilon", epsilon) <= 0:
            raise ArgumentError("epsilon", "must be positive", repr(epsilon))
        # exp(epsilon) can overflow; exp(-epsilon) cannot.
        t = math.exp(-epsilon)
        product *= ((1 + (size - 2) * t) ** 2 + (size - 1) * t**2) / math.expm1(-epsilon) ** 2
    return (product - squares) / integer("n", n, 1, MAX_PEOPLE)


def independence_bound(v: float, shape: Sequence[int]) -> float:
    """The largest mean squared error if two dependent attributes are taken as independent.

        mean over cells of (t_ab - t_a. t_.b)^2  <=  V^2 (min(r, c) - 1) / (r c)  <=  V^2 / d

    t (r, c) is the joint distribution, t_a. and t_.b are its marginals, and V is Cramer's V.

    Derivation: V^2 (min(r, c) - 1) = sum (t_ab - e_ab)^2 / e_ab with e_ab = t_a. t_.b <= 1. The
    last form is the published one, for r = c = d. It is true but too large by d / (d - 1). The
    published proof has two signs wrong.

    The bound is for exact marginals. RR-Independent has this error for any number of people, and in
    addition the error of its estimated marginals.

    Args:
        v: Cramer's V of the two attributes, in [0, 1].
        shape: r and c, the numbers of their values, both at least 2.

    Returns:
        The bound, in share^2, a mean over the r c cells.

    Source: [P5 theorem 3]; METHODS 9.3.

    >>> independence_bound(1.0, (2, 2))  # theta = (1/2, 0, 0, 1/2) errs by 1/16
    0.25
    """
    if not 0 <= real("v", v) <= 1:
        raise ArgumentError("v", "must lie in [0, 1]", repr(v))
    if len(shape) != 2:
        raise ArgumentError("shape", "must have two entries", str(len(shape)))
    rows, columns = (integer("shape", size, 2) for size in shape)
    return v**2 * (min(rows, columns) - 1) / (rows * columns)


def rounding_error(mechanism: Asked, n: int, largest: float = 1.0) -> np.ndarray:
    """The expected absolute error of each share if rounding the report shares is the only error.

        E |L u|_x ~ sqrt(2 / pi) sqrt(sum_y L[x, y]^2 / 3) r / n,   u_y uniform on [-r/n, r/n]

    L is the inverse of the channel. The inversion of exact report probabilities has no error, so
    that of rounded ones has the rounding error alone. [P5] takes r = 1, which is a mean rounding
    error of 1 / (2n). Expected counts that are rounded to the nearest whole number have r = 1/2.
    The sum is taken for normal, as in [P5]. Where one report has most of the weight it is nearly
    uniform, and the result is too small by at most 8.6 %.

    Sampled reports, which a survey has, err by about 1 / sqrt(n) and not 1 / n: see
    :func:`inversion_squares`.

    Args:
        mechanism: one whose tally counts whole reports, such as PerAttribute of randomised
            responses.
        n: the number of people.
        largest: r, the largest rounding error of a count.

    Returns:
        (K,), in shares. Its mean is the MAE of [P5].

    Raises:
        ArgumentError: a tally of bit sums; or an inverse that is too large to form.
        IdentifiabilityError: the channel has no inverse.

    Source: [P5 sec 3.5]; METHODS 9.3.

    >>> from warner import Integers, RandomizedResponse
    >>> error = rounding_error(RandomizedResponse(Integers(0, 9), 1.0), n=1000)
    >>> error.shape, round(float(error.mean()), 5)
    ((10,), 0.00298)
    """
    domain_of(mechanism)
    if real("largest", largest) <= 0:
        raise ArgumentError("largest", "must be positive", repr(largest))
    channel = tally_channel(mechanism)
    if channel.rows_per_report != 1:
        rule = "must count whole reports for a model of their rounding, not bit sums"
        raise ArgumentError("mechanism", rule)
    deviation = np.sqrt(_squares(channel) / 3) * largest / integer("n", n, 1, MAX_PEOPLE)
    return np.asarray(math.sqrt(2 / math.pi) * deviation)


def _squares(channel: Channel) -> np.ndarray:
    """sum_y L[x, y]^2 (K,) of the inverse L."""
    reports, size = channel.shape
    ones = np.ones(reports)
    even = channel.invert(ones)
    if np.allclose(channel.matvec(even), ones, rtol=0, atol=1e-9):
        return channel.inverse_moments(even)[0]
    if reports * size > _ENTRIES:
        rule = f"has an inverse with more than {_ENTRIES} entries"
        raise ArgumentError("channel", rule, f"{reports} reports and {size} values")
    return np.asarray((channel.influence(np.eye(size)) ** 2).sum(axis=0))
