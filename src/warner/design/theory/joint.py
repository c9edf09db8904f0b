"""Errors of the joint distribution of several attributes, in closed form [P5]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from warner._core.checks import choice, distribution, integer, kind, real
from warner._core.errors import ArgumentError, ArgumentTypeError, MismatchError
from warner.channels import Channel, DenseChannel, DirectChannel
from warner.domains import Domain
from warner.mechanisms import Mechanism

# -----------------------------------------------------------------------------------------------
# Many reports of one value: how fast their histogram approaches their law [P4 sec VI].


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


# -----------------------------------------------------------------------------------------------
# The people of a survey, in groups that use one mechanism each, and the channels of reports.


MAX_PEOPLE = 10**15

Asked: TypeAlias = Mechanism | Domain
Mechanisms: TypeAlias = Asked | Sequence[Asked]
People: TypeAlias = int | Sequence[int]


def groups_of(mechanisms: Mechanisms, n: People) -> tuple[Domain, list[tuple[Asked, int]]]:
    """The domain, and the mechanism and the number of people of each group."""
    several = mechanisms if isinstance(mechanisms, Sequence) else [mechanisms]
    people = n if isinstance(n, Sequence) else [n]
    if len(several) != len(people) or not several:
        rule = "must have one number of people for each mechanism, and at least one"
        raise ArgumentError("n", rule, f"{len(people)} for {len(several)} mechanisms")
    domains = [domain_of(each) for each in several]
    if any(domain != domains[0] for domain in domains):
        raise MismatchError("mechanisms", "must be on one domain")
    counts = [integer("n", each, 1, MAX_PEOPLE) for each in people]
    return domains[0], list(zip(several, counts, strict=True))


def domain_of(asked: Asked) -> Domain:
    """The domain of a mechanism, or a Domain itself."""
    if isinstance(asked, Mechanism):
        return asked.domain
    if isinstance(asked, Domain):
        return asked
    rule = "must be a Mechanism, or a Domain for no protection"
    raise ArgumentTypeError("mechanism", rule, kind(asked))


def tally_channel(asked: Asked) -> Channel:
    """The channel of a mechanism's tallies; for a Domain, the identity."""
    return DirectChannel(asked.size, 0.0, 1.0) if isinstance(asked, Domain) else asked.channel()


def report_channel(asked: Asked) -> Channel:
    """The channel of whole reports if they can be listed, else the channel of tallies."""
    channel = tally_channel(asked)
    if channel.rows_per_report != 1 and isinstance(asked, Mechanism) and asked.is_enumerable:
        return DenseChannel(asked.probabilities().astype(np.float64))
    return channel


def shares_of(theta: object, domain: Domain) -> np.ndarray:
    """``theta`` as a distribution (K,) on the domain."""
    return distribution("theta", theta, domain.size)


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
