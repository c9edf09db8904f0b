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
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import budget, choice, distribution, integer, numbers_of, real
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.design.theory.joint import MAX_PEOPLE, domain_of
from warner.domains import Domain
from warner.mechanisms import Mechanism

LOSSES = ("l1", "l2")


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
        loss: ``"l2"``, sum_x error_x^2, which P1 and P2 call MSE; or ``"l1"``, sum_x |error_x|,
            twice the total variation.

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
        loss: ``"l2"`` or ``"l1"``, as in :func:`expected_loss`.

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
    choice("loss", loss, LOSSES)
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
    domain = domain_of(mechanism)
    if isinstance(mechanism, Mechanism):
        return domain, mechanism.channel().variance
    return domain, lambda theta: theta * (1 - theta)


def _sensitive(mechanism: Mechanism | Domain, size: int) -> np.ndarray:
    """The mask (K,) of sensitive values; refused where values differ in more than two ways."""
    everything = np.ones(size, dtype=bool)
    if isinstance(mechanism, Domain):
        return everything
    if mechanism.channel().support_law() is None:
        raise ArgumentError(
            "mechanism",
            "must have reports that support some values, in the same way for all of one kind",
            type(mechanism).__name__,
        )
    return everything if mechanism.sensitive_mask is None else mechanism.sensitive_mask


def _total(variance: np.ndarray, n: int, loss: str) -> float:
    """The expected loss over all values, from the variances (K,) of one report."""
    if choice("loss", loss, LOSSES) == "l2":
        return float(variance.sum() / n)
    return float(np.sqrt(2 * variance / (n * math.pi)).sum())


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
    if not 0 < real("epsilon", epsilon) <= 1:
        raise ArgumentError("epsilon", "must lie in (0, 1]", repr(epsilon))
    people = integer("n", n, 1, MAX_PEOPLE) / integer("reports", reports, 1)
    root = size / math.sqrt(people * epsilon**2)
    return root if choice("loss", loss, LOSSES) == "l1" else root**2 / size


# -----------------------------------------------------------------------------------------------
# The error of estimates that give several values one share [P3 sec IV].


FORMS = ("exact", "published")


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
    choice("form", form, FORMS)
    if real("error", error) < 0:
        raise ArgumentError("error", "must not be negative", repr(error))
    shares = distribution("theta", theta)
    names = numbers_of("labels", labels)
    if names.shape != shares.shape:
        raise ArgumentError("labels", f"must have shape {shares.shape}", str(names.shape))
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
