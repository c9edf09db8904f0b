"""Expected losses in closed form: the error of an estimate before anyone is asked (METHODS 6).

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

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import (
    choice,
    distribution,
    integer,
    kind,
    real,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.domains import Domain
from warner.mechanisms import Mechanism

LOSSES = ("l1", "l2")
MAX_PEOPLE = 10**15


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
    domain, variance = _subject(mechanism)
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
        ArgumentError: the values of the mechanism differ in more than two ways.

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
    domain, variance = _subject(mechanism)
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


def minimax_rate(size: int, epsilon: float, n: int, loss: str = "l2") -> float:
    """The order of the least worst-case loss that any mechanism can have, without its constant.

        size / (n epsilon^2) for l2,   size / sqrt(n epsilon^2) for l1

    Args:
        size: the number of values K under LDP; the number of sensitive values under ULDP.
        epsilon: budget in nats, in (0, 1].
        n: number of people.
        loss: ``"l2"`` or ``"l1"``, as in :func:`expected_loss`.

    Returns:
        The rate.

    Source: [P2 sec 3.2], after Duchi, Jordan and Wainwright (2013).

    >>> minimax_rate(10, 0.5, 400), minimax_rate(10, 0.5, 400, loss="l1")
    (0.1, 1.0)
    """
    integer("size", size, 1)
    if not 0 < real("epsilon", epsilon) <= 1:
        raise ArgumentError(message("epsilon", "must lie in (0, 1]", repr(epsilon)))
    root = size / math.sqrt(integer("n", n, 1, MAX_PEOPLE) * epsilon**2)
    return root if choice("loss", loss, LOSSES) == "l1" else root**2 / size


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
            message(
                "epsilons",
                "must have as many entries as sizes, at least one",
                f"{len(epsilons)} for {len(sizes)}",
            )
        )
    if not 0 <= real("squares", squares) <= 1:
        raise ArgumentError(message("squares", "must lie in [0, 1]", repr(squares)))
    product = 1.0
    for size, epsilon in zip(sizes, epsilons, strict=True):
        integer("size", size, 2)
        if real("epsilon", epsilon) <= 0:
            raise ArgumentError(message("epsilon", "must be positive", repr(epsilon)))
        # exp(epsilon) can overflow; exp(-epsilon) cannot.
        t = math.exp(-epsilon)
        product *= ((1 + (size - 2) * t) ** 2 + (size - 1) * t**2) / math.expm1(-epsilon) ** 2
    return (product - squares) / integer("n", n, 1, MAX_PEOPLE)


def _subject(
    mechanism: Mechanism | Domain,
) -> tuple[Domain, Callable[[np.ndarray], np.ndarray]]:
    """The domain, and the variance (K,) of one report's contribution as a function of theta."""
    if isinstance(mechanism, Mechanism):
        return mechanism.domain, mechanism.channel().variance
    if isinstance(mechanism, Domain):
        return mechanism, lambda theta: theta * (1 - theta)
    raise ArgumentTypeError(
        message("mechanism", "must be a Mechanism, or a Domain for no protection", kind(mechanism))
    )


def _sensitive(mechanism: Mechanism | Domain, size: int) -> np.ndarray:
    """The mask (K,) of sensitive values; refused where values differ in more than two ways."""
    everything = np.ones(size, dtype=bool)
    if isinstance(mechanism, Domain):
        return everything
    if mechanism.channel().support_law() is None:
        raise ArgumentError(
            message(
                "mechanism",
                "must have reports that support some values, in the same way for all of one kind",
                type(mechanism).__name__,
            )
        )
    return everything if mechanism.sensitive_mask is None else mechanism.sensitive_mask


def _total(variance: np.ndarray, n: int, loss: str) -> float:
    """The expected loss over all values, from the variances (K,) of one report."""
    if choice("loss", loss, LOSSES) == "l2":
        return float(variance.sum() / n)
    return float(np.sqrt(2 * variance / (n * math.pi)).sum())
