"""Expected losses of the inversion: the error of an estimate before anyone is asked (METHODS 6).

All losses are of the inversion of the reports of n people, whose values are drawn independently
from theta. With V_x the variance of one report's contribution to the estimate of theta_x,

    E l2 = sum_x V_x / n                  exactly
    E l1 ~ sum_x sqrt(2 V_x / (n pi))     by the central limit theorem; the ratio tends to 1

For randomised response, RAPPOR and their utility-optimised forms these are
[P2 eqs 12, 17, 46, 48]. Nothing here samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import (
    budget,
    choice,
    confidence_level,
    distribution,
    integer,
    kind,
    numbers_of,
    probability,
    real,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    MismatchError,
)
from warner._core.extras import scipy
from warner._core.names import LOSSES_ELSEWHERE
from warner.channels import Channel, DenseChannel, DirectChannel
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.mechanisms.base import require_mechanism

# -----------------------------------------------------------------------------------------------
# Many reports of one value: how fast their histogram approaches their law [P4 sec VI].


_TAIL_FORMS = ("published", "tight")


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
    real("delta", delta, least=0)
    integer("times", times, 1)
    integer("reports", reports, 1)
    if choice("form", form, _TAIL_FORMS) == "published":
        count = reports * math.log1p(times)
    else:
        count = math.lgamma(times + reports) - math.lgamma(reports) - math.lgamma(times + 1)
    return math.exp(min(0.0, count - times * delta))


# -----------------------------------------------------------------------------------------------
# The people of a survey, in groups that use one mechanism each, and the channels of reports.


MAX_PEOPLE = 10**15

Subject: TypeAlias = Mechanism | Domain
Mechanisms: TypeAlias = Subject | Sequence[Subject]
People: TypeAlias = int | Sequence[int]


def groups_of(mechanisms: Mechanisms, n: People) -> tuple[Domain, list[tuple[Subject, int]]]:
    """The domain, and the mechanism and the number of people of each group."""
    several = mechanisms if isinstance(mechanisms, Sequence) else [mechanisms]
    people = n if isinstance(n, Sequence) else [n]
    if len(several) != len(people) or not several:
        rule = "must have one number of people for each mechanism, and at least one"
        raise ArgumentError("n", rule, f"{len(people)} for {len(several)} mechanisms")
    domains = [domain_of(each) for each in several]
    if any(domain != domains[0] for domain in domains):
        raise MismatchError("mechanisms", "must all have the same domain (the same values)")
    counts = [integer("n", each, 1, MAX_PEOPLE) for each in people]
    return domains[0], list(zip(several, counts, strict=True))


def domain_of(subject: Subject) -> Domain:
    """The domain of a mechanism, or a Domain itself."""
    if isinstance(subject, Mechanism):
        return subject.domain
    if isinstance(subject, Domain):
        return subject
    rule = "must be a Mechanism, or a Domain for answers without protection"
    raise ArgumentTypeError("mechanism", rule, kind(subject))


def tally_channel(subject: Subject) -> Channel:
    """The channel of a mechanism's tallies; for a Domain, the identity."""
    return (
        DirectChannel(subject.size, 0.0, 1.0) if isinstance(subject, Domain) else subject.channel()
    )


def report_channel(subject: Subject) -> Channel:
    """The channel of whole reports if they can be listed, else the channel of tallies."""
    channel = tally_channel(subject)
    if channel.rows_per_report != 1 and isinstance(subject, Mechanism) and subject.is_enumerable:
        return DenseChannel(subject.probabilities().astype(np.float64))
    return channel


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
        rule = "must have one number for each number in sizes, and at least one"
        raise ArgumentError("epsilons", rule, f"{len(epsilons)} numbers for {len(sizes)} sizes")
    real("squares", squares, least=0, most=1)
    product = 1.0
    for size, epsilon in zip(sizes, epsilons, strict=True):
        integer("size", size, 2)
        real("epsilon", epsilon, above=0)
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
    real("v", v, least=0, most=1)
    if len(shape) != 2:
        raise ArgumentError(
            "shape", "must have two numbers: of rows and of columns", str(len(shape))
        )
    rows, columns = (integer("shape", size, 2) for size in shape)
    return v**2 * (min(rows, columns) - 1) / (rows * columns)


def rounding_error(mechanism: Subject, n: int, largest: float = 1.0) -> np.ndarray:
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
    real("largest", largest, above=0)
    channel = tally_channel(mechanism)
    if channel.rows_per_report != 1:
        rule, remedy = "must have tallies of complete reports", "For example RandomizedResponse"
        raise ArgumentError("mechanism", rule, type(mechanism).__name__, remedy)
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
        rule = f"has an inverse matrix with more than {_ENTRIES} entries, which is too large"
        remedy = "Use a domain with fewer values"
        raise ArgumentError(
            "mechanism", rule, f"{reports} possible reports and {size} values", remedy
        )
    return np.asarray((channel.influence(np.eye(size)) ** 2).sum(axis=0))


# -----------------------------------------------------------------------------------------------
# Expected losses of the inversion: the error of an estimate before anyone is asked (METHODS 6).

LOSSES = ("l1", "l2")
_PER_VALUE = {"mae": "l1", "mse": "l2"}  # {a mean over the K values: the sum that it is of}


def expected_loss(
    mechanism: Mechanism | Domain, theta: ArrayLike, n: int, loss: str = "l2"
) -> float:
    """The expected loss of the inversion at a distribution theta.

        E l2 = sum_x V_x / n,   E l1 ~ sum_x sqrt(2 V_x / (n pi))

    Args:
        mechanism: any mechanism whose channel has an inverse. A Domain stands for no protection:
            the reports are then the values.
        theta: (K,) the distribution that people are drawn from.
        n: number of people.
        loss: ``"l2"``, sum_x error_x^2, which P1 and P2 call MSE; ``"l1"``, sum_x |error_x|,
            twice the total variation; ``"mse"`` or ``"mae"``, the one or the other divided by K.

    Returns:
        The expected loss.

    Raises:
        IdentifiabilityError: the channel has no inverse.

    Source: [P2 props 6, 9, 14, 17].

    >>> from warner import Integers, RandomizedResponse
    >>> coin = RandomizedResponse(Integers(0, 3), 1.0)
    >>> round(expected_loss(coin, [0.25] * 4, n=1000), 4)
    0.0083
    >>> round(expected_loss(Integers(0, 3), [0.25] * 4, n=1000), 6)  # no protection
    0.00075
    """
    domain, variance = variance_of(mechanism)
    shares = distribution("theta", theta, domain.size)
    return _total(variance(shares), integer("n", n, 1, MAX_PEOPLE), loss)


def worst_case_loss(
    mechanism: Mechanism | Domain, n: int, loss: str = "l2"
) -> tuple[float, np.ndarray]:
    """The largest expected loss over all distributions, and a distribution that has it.

        max_theta E loss(theta)

    Both losses are concave in theta. Values of one kind (sensitive, or not sensitive) are
    interchangeable, so the maximum is uniform within each kind. One number is left: w, the total
    share of the sensitive values. A golden-section search maximises over it.

    Args:
        mechanism: one whose reports each support some values, such as randomised response or
            unary encoding. A Domain stands for no protection.
        n: number of people.
        loss: ``"l2"``, ``"l1"``, ``"mse"`` or ``"mae"``, as in :func:`expected_loss`.

    Returns:
        The largest expected loss, and theta (K,) that has it.

    Raises:
        ArgumentError: a mechanism whose reports do not support values, such as SquareWave.

    Source: [P2 props 7, 8, 10, 15, 16, 18], which give the maximiser where epsilon is small or
    large enough.

    >>> from warner import Integers, UtilityOptimizedRR
    >>> survey = UtilityOptimizedRR(Integers(0, 9), 1.0, sensitive=[0])
    >>> loss, theta = worst_case_loss(survey, n=1000, loss="l1")
    >>> float(theta[0])  # nobody has the sensitive value [P2 prop 7]
    0.0
    """
    integer("n", n, 1, MAX_PEOPLE)
    domain, variance = variance_of(mechanism)
    sensitive = _sensitive(mechanism, domain.size)
    inside, outside = int(sensitive.sum()), int((~sensitive).sum())
    if not outside:
        uniform = np.full(domain.size, 1 / domain.size)
        return _total(variance(uniform), n, loss), uniform

    def distribution_with(w: float) -> np.ndarray:
        return np.where(sensitive, w / inside, (1 - w) / outside)

    def loss_at(w: float) -> float:
        return _total(variance(distribution_with(w)), n, loss)

    low, high = 0.0, 1.0
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-9:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (a, high) if loss_at(a) < loss_at(b) else (low, b)
    worst = max((0.0, (low + high) / 2, 1.0), key=loss_at)
    return loss_at(worst), distribution_with(worst)


def variance_of(
    mechanism: Mechanism | Domain,
) -> tuple[Domain, Callable[[np.ndarray], np.ndarray]]:
    """The domain, and the variance (K,) of one report's contribution as a function of theta."""
    return domain_of(mechanism), tally_channel(mechanism).variance


def _sensitive(mechanism: Mechanism | Domain, size: int) -> np.ndarray:
    """The mask (K,) of sensitive values; refused where values differ in more than two ways."""
    everything = np.ones(size, dtype=bool)
    if isinstance(mechanism, Domain):
        return everything
    if mechanism.channel().binomial_law(everything / size) is None:
        rule = (
            "must treat all values alike, or all sensitive values alike and all other values alike"
        )
        remedy = "Use expected_loss, with the shares that you expect"
        raise ArgumentError("mechanism", rule, type(mechanism).__name__, remedy)
    return everything if mechanism.sensitive_mask is None else mechanism.sensitive_mask


def _total(variance: np.ndarray, n: int, loss: str) -> float:
    """The expected loss over all values, from the variances (K,) of one report."""
    choice("loss", loss, (*LOSSES, *_PER_VALUE), LOSSES_ELSEWHERE)
    of_values = variance / n
    if _PER_VALUE.get(loss, loss) == "l1":
        of_values = np.sqrt(2 * of_values / math.pi)
    return float(of_values.mean() if loss in _PER_VALUE else of_values.sum())


# -----------------------------------------------------------------------------------------------
# When the mean of the reports serves better than the mean of an estimated distribution.


_PEOPLE, _EPSILON = 300_000, 2.0


def prefers_sample_mean(epsilon: float, n: int) -> bool:
    """Whether [P3] advises the sample mean, rather than a mixture, for the mean of numbers.

        n > 300,000  and  epsilon > 2

    The rule is an observation of [P3] about the piecewise mechanism, and not a theorem. For many
    people the error of the sample mean, ``SampleMean()``, depends on the values only by their mean
    and variance. A mixture smooths the reports. It is biased, but has less variance if epsilon or
    the number of people is small.

    In simulations of warner with 64 bins, two shapes and 20 runs, the sample mean erred 2 to 44 %
    more than the best method up to 20,000 people. With a million people and epsilon of 2.5 or 4, it
    lay between the best and 10 % more. So there is no large gain above the limits, and a loss
    below. In theory there is none for many people: the sample mean's variance is never below
    ``cramer_rao(mechanism, theta, n, weights=points)``, which the maximum of the likelihood reaches
    where no share is 0. For your own data ask ``compare(tally, methods, loss="mae_mean")``.

    Args:
        epsilon: budget in nats.
        n: number of people.

    Source: [P3 sec V-B].

    >>> prefers_sample_mean(3.0, 1_000_000), prefers_sample_mean(1.0, 1_000_000)
    (True, False)
    """
    return integer("n", n, 1, MAX_PEOPLE) > _PEOPLE and budget(epsilon) > _EPSILON


# -----------------------------------------------------------------------------------------------
# The order of the least error that any mechanism can have.


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
    real("epsilon", epsilon, above=0, most=1)
    people = integer("n", n, 1, MAX_PEOPLE) / integer("reports", reports, 1)
    root = size / math.sqrt(people * epsilon**2)
    return root if choice("loss", loss, LOSSES, LOSSES_ELSEWHERE) == "l1" else root**2 / size


# -----------------------------------------------------------------------------------------------
# The error of estimates that give several values one share [P3 sec IV].


_REDUCTION_FORMS = ("exact", "published")


def reduction_error(
    error: float, theta: ArrayLike, labels: ArrayLike, form: str = "exact"
) -> float:
    """The expected squared error after values are merged into components of equal shares.

        published   (K' / K) error + (1 / K) sum_j h_j sigma_j^2
        exact       ((K' - 1) / (K - 1)) error + (1 / K) sum_j h_j sigma_j^2

    K values are merged into K' components. Component j has h_j values, whose true shares have the
    variance sigma_j^2 (with divisor h_j). The first term is the noise. The second term is the
    squared bias, which more people do not reduce.

    Both forms assume that all estimates are equally noisy. The published first term also assumes
    that they are uncorrelated. But the estimates sum to 1, so each pair has the correlation
    -1 / (K - 1), and merging removes K - K' of K - 1 degrees of freedom. With one component all
    shares are 1 / K for any reports. The noise is then 0, but the published term is error / K.
    Components that are chosen by the same reports, as in [P3 alg 1], have more bias than fixed
    ones.

    Args:
        error: the mean over values of the expected squared error before merging, in share^2.
        theta: (K,) the true distribution.
        labels: (K,) whole numbers, equal for values of one component.
        form: ``"exact"`` or ``"published"``.

    Returns:
        The mean over values of the expected squared error, in share^2.

    Raises:
        ArgumentError: a negative error, or labels of another number.

    Source: [P3 prop 1, eq 11]; METHODS 9.11.

    >>> reduction_error(0.02, [0.5, 0.3, 0.1, 0.1], [0, 1, 2, 2], form="published")
    0.015
    >>> round(reduction_error(0.02, [0.4, 0.4, 0.1, 0.1], [0, 0, 1, 1]), 6)
    0.006667
    """
    choice("form", form, _REDUCTION_FORMS)
    real("error", error, least=0)
    shares = distribution("theta", theta)
    names = numbers_of("labels", labels)
    if names.shape != shares.shape:
        rule = f"must be {shares.size} numbers, one for each share"
        raise ArgumentError("labels", rule, f"shape {names.shape}")
    if not (np.isfinite(names).all() and (names == np.rint(names)).all()):
        raise ArgumentTypeError("labels", "must be whole numbers")
    component = np.unique(names, return_inverse=True)[1]
    sizes = np.bincount(component)
    means = np.bincount(component, shares) / sizes
    bias = float(((shares - means[component]) ** 2).mean())
    count, size = sizes.size, shares.size
    if form == "published":
        return count / size * error + bias
    return (count - 1) / max(size - 1, 1) * error + bias


# -----------------------------------------------------------------------------------------------
# How many people a test needs to detect a difference of a share between groups (METHODS 10.7).

_MOST_GROUPS = 10**6
_LEAST_VARIANCE = 1e-12  # of a share that nobody or everybody has
# Values up to which the test is planned by the covariance of all shares. Of more, where that takes
# long, by the variance of one share, which asks for as many people or more (Cauchy-Schwarz).
_MOST_BY_COVARIANCE = 64
_RANK = 1e-9  # relative size of a variance that counts as 0
_MOST_DEGREES = 10**9  # beyond, the noncentral chi-square is not computed


def people_for_difference(
    mechanism: Mechanism | Domain,
    difference: float,
    theta: ArrayLike | None = None,
    groups: int = 2,
    power: float = 0.8,
    level: float = 0.95,
) -> int:
    """The number of people in all groups with whom a test detects a difference of a share.

    Two groups differ by ``difference``, half of it on each side of the guess. All other groups have
    the guess, which is the hardest case of such a difference. Other values keep their proportions.
    The share is that of the value whose estimate is noisiest at the guess.

    Of two groups the test is that of this share, which was chosen before the reports. Of more
    groups it is the test that all shares are the same in all groups, which
    :func:`warner.compare_groups` prints. Of K values it has (G - 1)(K - 1) degrees of freedom.

    Args:
        mechanism: any mechanism whose channel has an inverse. A Domain stands for no protection.
        difference: of two shares, in (0, 1).
        theta: (K,) a guess of the distribution; None for the uniform one.
        groups: the number G of groups, at least 2, of equal size.
        power: the probability that the test detects the difference, above 1 - level.
        level: 1 minus the probability that it detects one where there is none.

    Returns:
        The number of people, a multiple of the number of groups.

    Raises:
        ArgumentError: a number outside its range, or more than 10^15 people.
        IdentifiabilityError: the channel has no inverse.

    Source: METHODS 10.7.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> people_for_difference(coin, 0.02), people_for_difference(coin.domain, 0.02)
    (91878, 19616)
    """
    rate, degrees = _rate_and_degrees(mechanism, difference, theta, groups)
    cut = float(scipy.special.chdtri(degrees, 1 - confidence_level(level)))
    if not 1 - level < probability("power", power):
        rule = f"must be above {1 - level:.4g}, which is 1 - level"
        raise ArgumentError("power", rule, repr(power))
    in_group = float(scipy.special.chndtrinc(cut, degrees, 1 - power)) / rate
    if not in_group * groups <= MAX_PEOPLE:
        rule = f"is so small that more than {MAX_PEOPLE:.0e} people are needed"
        raise ArgumentError("difference", rule, repr(difference), "Pass a larger difference")
    return groups * math.ceil(in_group * (1 - 1e-12))


def power_for_difference(
    mechanism: Mechanism | Domain,
    difference: float,
    n: int,
    theta: ArrayLike | None = None,
    groups: int = 2,
    level: float = 0.95,
) -> float:
    """The probability that a test of n people in all groups detects a difference of a share.

    See :func:`people_for_difference`, whose inverse this is.

    Args:
        mechanism: any mechanism whose channel has an inverse. A Domain stands for no protection.
        difference: of two shares, in (0, 1).
        n: the number of people in all groups together.
        theta: (K,) a guess of the distribution; None for the uniform one.
        groups: the number of groups, at least 2, of equal size.
        level: 1 minus the probability that the test detects a difference where there is none.

    Returns:
        The power, in (0, 1).

    Raises:
        ArgumentError: a number outside its range.
        IdentifiabilityError: the channel has no inverse.

    Source: METHODS 10.7.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> round(power_for_difference(coin, 0.02, 91878), 4)
    0.8
    """
    rate, degrees = _rate_and_degrees(mechanism, difference, theta, groups)
    cut = float(scipy.special.chdtri(degrees, 1 - confidence_level(level)))
    people = integer("n", n, 1, MAX_PEOPLE)
    return float(1 - scipy.special.chndtr(cut, degrees, people / groups * rate))


def _rate_and_degrees(
    mechanism: Mechanism | Domain, difference: float, theta: ArrayLike | None, groups: int
) -> tuple[float, int]:
    """The noncentrality for each person of a group, and the degrees of freedom of the test."""
    integer("groups", groups, 2, _MOST_GROUPS)
    probability("difference", difference)
    domain, variance = variance_of(mechanism)
    guess = np.full(domain.size, 1 / domain.size)
    if theta is not None:
        guess = distribution("theta", theta, domain.size)
    x = int(np.argmax(variance(guess).round(12)))
    shares = np.array(shares_that_differ(float(guess[x]), difference, groups))
    if groups == 2:
        of_both = sum(float(variance(with_share(guess, x, share))[x]) for share in shares)
        return difference**2 / max(of_both, _LEAST_VARIANCE), 1
    alike = np.array([1.0, 1.0, groups - 2.0])  # the groups that have the guess
    mean = float(alike @ shares / groups)
    centre = with_share(guess, x, mean)
    # The shares of group g differ from their mean by (shares[g] - mean) * direction.
    direction = np.where(np.arange(domain.size) == x, 1.0, -centre / max(1 - mean, _LEAST_VARIANCE))
    per_square = 1 / max(float(variance(centre)[x]), _LEAST_VARIANCE)
    rank = domain.size - 1
    if domain.size <= _MOST_BY_COVARIANCE:
        noise = tally_channel(mechanism).covariance(centre)
        solution, _, of_noise, _ = np.linalg.lstsq(noise, direction, rcond=_RANK)
        # The noise of the sum of all shares has no part in this: the direction sums to 0.
        per_square, rank = float(direction @ solution), min(rank, int(of_noise))
    if (degrees := (groups - 1) * rank) > _MOST_DEGREES:
        most = _MOST_DEGREES // rank + 1
        rule = f"must be at most {most:,} for {domain.size:,} values"
        raise ArgumentError("groups", rule, f"{groups:,}")
    return float(alike @ (shares - mean) ** 2) * per_square, degrees


def shares_that_differ(share: float, difference: float, groups: int) -> list[float]:
    """The shares of a value in two groups around ``share``, which all further groups have.

    >>> shares_that_differ(0.25, 0.5, 3), shares_that_differ(0.02, 0.1, 2)
    ([0.0, 0.5, 0.25], [0.0, 0.1])
    """
    low = float(np.clip(share - difference / 2, 0.0, 1 - difference))
    return [low, low + difference, *([share] if groups > 2 else [])]


def with_share(theta: np.ndarray, x: int, share: float) -> np.ndarray:
    """The distribution with another share of value x. Other values keep their proportions."""
    rest = 1 - theta[x]
    others = theta / rest if rest > 0 else np.full(theta.size, 1 / (theta.size - 1))
    shares: np.ndarray = others * (1 - share)
    shares[x] = share
    return shares


# -----------------------------------------------------------------------------------------------
# The influence of one report: how far a single dishonest person can move an estimated count.


def max_influence(mechanism: Mechanism) -> float | None:
    """The largest change that one report can make to a value's unbiased count, in people.

        max over values x and reports y, y' of L[x, y] - L[x, y']

    L is the unbiased inverse of the channel, and report y adds L[x, y] people to the count of x. A
    person who sends y in place of an honest y' changes the count by the difference. If reports
    support sets of values, that is 1 / (p - q), with p the probability that a report supports the
    true value, and q that it supports another one. No mechanism can tell one forged report from an
    honest one. Estimators that are biased can move by more: of 200 reports on 10 values at epsilon
    1, one moves the default estimate by 9 people and more, and the count by 6.8.

    For reports about several attributes, the result is an upper bound of the change of one cell.
    For keys with values it is the change of the count of a key. For a large pool of hashes it is
    1 / (p - q), with q the average share of the values that a report supports.

    >>> from warner import Categorical, RandomizedResponse
    >>> round(max_influence(RandomizedResponse(Categorical(["no", "yes"]), 1.0)), 3)
    2.164
    """
    require_mechanism(mechanism)
    try:
        return mechanism.checked_channel().report_weight(mechanism.values_per_person)
    except (IdentifiabilityError, ArgumentError):
        return None


def total_influence(mechanism: Mechanism) -> float | None:
    """The most people by which one report changes the unbiased counts of all values, added up.

        max over reports y, y' of sum_x |L[x, y] - L[x, y']|

    A report of one value moves that value's count and takes the place of another's; a report of
    bits can support all values at once. Where the maximum has no closed form it is bounded by the
    sum over values of what :func:`max_influence` is the maximum of. None where that is None.

    >>> from warner import Categorical, RandomizedResponse, UnaryEncoding
    >>> domain = Categorical([str(value) for value in range(100)])
    >>> round(total_influence(RandomizedResponse(domain, 1.0)), 1)
    118.4
    >>> round(total_influence(UnaryEncoding(domain, 1.0)), 1)
    408.3
    """
    try:
        channel = mechanism.channel()
        bounds, law = channel.inverse_range(), channel.support_law()
    except (IdentifiabilityError, ArgumentError):
        return None
    if bounds is None:
        return None
    widths, size = bounds[1] - bounds[0], mechanism.domain.size
    ones = 1 if channel.reports_are_values else None if law is None else law.ones
    # Two reports that support ``ones`` values each differ in so many.
    different = size if ones is None else min(size, 2 * min(ones, size - ones))
    return mechanism.values_per_person * float(min(widths.sum(), different * widths.max()))
