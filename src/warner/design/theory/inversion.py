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

from warner._core.checks import choice, distribution, integer
from warner._core.errors import ArgumentError
from warner.design.theory.groups import MAX_PEOPLE, domain_of
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
