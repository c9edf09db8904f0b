"""How many people a test needs to detect a difference of a share between groups (METHODS 10.7).

Groups are of equal size and public. The test is Wald's test of "the share is equal in all groups",
from the unbiased estimate T_g of each group and its variance V_g / m, with m people in a group:

    W = m sum_g (T_g - T)^2 / V_g,   T the mean of the T_g with weights 1 / V_g

W is chi-square with G - 1 degrees of freedom if there is no difference. Otherwise it is noncentral,
and its parameter is m times the same sum at the true shares. Of two groups it is the two-sided
normal test of their difference.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import confidence_level, distribution, integer, probability, real
from warner._core.errors import ArgumentError
from warner.design.theory.inversion import variance_of
from warner.design.theory.joint import MAX_PEOPLE
from warner.domains import Domain
from warner.mechanisms import Mechanism

_MOST_GROUPS = 10**6
_LEAST_VARIANCE = 1e-12  # of a share that nobody or everybody has


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
    from scipy.special import chndtrinc

    rate, cut = _rate_and_cut(mechanism, difference, theta, groups, level)
    if not 1 - level < probability("power", power):
        rule = f"must be above 1 - level = {1 - level:.4g}"
        raise ArgumentError("power", rule, repr(power))
    in_group = float(chndtrinc(cut, groups - 1, 1 - power)) / rate
    if not in_group * groups <= MAX_PEOPLE:
        rule = f"would need more than {MAX_PEOPLE:.0e} people"
        raise ArgumentError("difference", rule, repr(difference), "Name a larger one")
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
    from scipy.special import chndtr

    rate, cut = _rate_and_cut(mechanism, difference, theta, groups, level)
    people = integer("n", n, 1, MAX_PEOPLE)
    return float(1 - chndtr(cut, groups - 1, people / groups * rate))


def _rate_and_cut(
    mechanism: Mechanism | Domain,
    difference: float,
    theta: ArrayLike | None,
    groups: int,
    level: float,
) -> tuple[float, float]:
    """The noncentrality for each person of a group, and the value above which the test detects."""
    from scipy.special import chdtri

    integer("groups", groups, 2, _MOST_GROUPS)
    if not 0 < real("difference", difference) < 1:
        raise ArgumentError("difference", "must lie in (0, 1)", repr(difference))
    domain, variance = variance_of(mechanism)
    guess = np.full(domain.size, 1 / domain.size)
    if theta is not None:
        guess = distribution("theta", theta, domain.size)
    x = int(np.argmax(variance(guess).round(12)))
    low = float(np.clip(guess[x] - difference / 2, 0.0, 1 - difference))
    shares = np.array([low, low + difference, *([guess[x]] if groups > 2 else [])])
    noise = np.array([variance(_with_share(guess, x, share))[x] for share in shares])
    # The groups that have the guess are equal to each other.
    weights = np.array([1.0, 1.0, groups - 2.0])[: len(shares)] / np.maximum(noise, _LEAST_VARIANCE)
    mean = float(weights @ shares / weights.sum())
    cut = float(chdtri(groups - 1, 1 - confidence_level(level)))
    return float(weights @ (shares - mean) ** 2), cut


def _with_share(theta: np.ndarray, x: int, share: float) -> np.ndarray:
    """The distribution with another share of value x. Other values keep their proportions."""
    rest = 1 - theta[x]
    others = theta / rest if rest > 0 else np.full(theta.size, 1 / (theta.size - 1))
    found: np.ndarray = others * (1 - share)
    found[x] = share
    return found
