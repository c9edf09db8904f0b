"""The least error that any mechanism of a budget allows, near given shares.

The bound of unbiased estimates is that of the information of any channel: ``row_bounds.py`` of the
mechanisms has it, with a matrix M for which tr(M J) <= N for every channel.

The bound of any estimate is that of van Trees. Let theta move in an ellipsoid theta + rho L z,
|z| <= 1, in r directions, with the density (1 - |z|^2)^m. Its information is 2m^2 in each
direction at the best m = 1 + (1 + r/2)^1/2. With LL' = X, XWX <= M and l = tr(W X), the mean loss
is

    at least l^2 / (n N / (1 - d^2) + 2 l m^2 / rho^2)

where d bounds how far the chance of a report moves, as a part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import distribution, integer, real
from warner._core.errors import ArgumentError
from warner.domains import Domain
from warner.mechanisms.optimal import loss_matrix
from warner.mechanisms.row_bounds import Bound, bounds_of
from warner.mechanisms.row_design import Problem
from warner.privacy.guarantees import sensitive_mask
from warner.theory.inversion import MAX_PEOPLE

_LARGEST = 1024  # values
_SHARP = 1e-3  # the gap up to which a bound is called sharp


class LocalBound(NamedTuple):
    """What no mechanism is below: :func:`local_bound`.

    Attributes:
        unbiased: the least expected loss of any unbiased estimate.
        any_estimate: the least mean of the expected loss of any estimate, biased or not, over
            shares near the given ones. 0 where too many shares are too small.
        is_sharp: whether a mechanism is known that has ``unbiased``, up to 0.1 %.
    """

    unbiased: float
    any_estimate: float
    is_sharp: bool

    def __str__(self) -> str:
        how = "a mechanism reaches" if self.is_sharp else "no mechanism is known to reach"
        return f"no unbiased estimate has an error below {self.unbiased:.3g} ({how} this error)"


def local_bound(
    domain: Domain,
    epsilon: float,
    theta: ArrayLike,
    n: int,
    loss: str | ArrayLike = "shares",
    *,
    sensitive: Sequence[Any] | None = None,
    fixed: bool = False,
) -> LocalBound:
    """The least expected error of the shares, their distribution function or their mean.

        E (estimate - theta)' W (estimate - theta)  >=  min over mechanisms of tr(W V) / n

    V is the Cramer-Rao bound of one report. The mechanism may be any that keeps epsilon for each
    person, may differ from person to person, and may depend on the reports of earlier people. An
    estimate that draws rare shares together is biased and can err less than ``unbiased``; over all
    shares near theta no estimate errs less than ``any_estimate`` in the mean.

    Args:
        domain: K values, up to 1024.
        epsilon: budget in nats.
        theta: (K,) the distribution that people are drawn from.
        n: the number of people.
        loss: ``"shares"``, ``"distribution"``, ``"mean"`` or W, as of :class:`warner.Optimal`.
            ``"shares"`` is the ``"l2"`` of :func:`expected_loss` and :func:`warner.benchmark`, and
            K times their ``"mse"``.
        sensitive: the values to protect; None for all.
        fixed: False where the error is judged against theta, from which people are drawn anew;
            True where it is judged against the shares of the people who answer, so that the
            randomising alone counts.

    Returns:
        LocalBound, in the unit of the loss. For up to 16 values, and for equal shares with the loss
        ``"shares"``, ``unbiased`` is sharp. For other questions it was within a third of the least
        error in all cases tried, and mostly within a tenth.

    Raises:
        ArgumentError: a loss that the values do not have; sensitive values with a share of 0.

    Source: extreme rows: Kairouz, Oh and Viswanath (2016); information under local privacy: Barnes,
    Chen and Ozgur (2020); any estimate: Gill and Levit (1995).

    >>> from warner import Integers, SubsetSelection
    >>> scale, even = Integers(0, 10), [1 / 11] * 11
    >>> bound = local_bound(scale, 1.0, even, n=50_000)
    >>> print(bound)
    no unbiased estimate has an error below 0.00067 (a mechanism reaches this error)
    >>> from warner.theory import maximum_likelihood_error
    >>> round(maximum_likelihood_error(SubsetSelection(scale, 1.0), even, 50_000), 6)
    0.00067
    >>> bound.any_estimate < bound.unbiased
    True
    """
    real("epsilon", epsilon, above=0)
    integer("n", n, 1, MAX_PEOPLE)
    integer("number of values", domain.size, 2, _LARGEST, "Merge neighbouring values")
    shares = distribution("theta", theta, domain.size)
    open_values = np.zeros(domain.size, dtype=bool)
    if sensitive is not None:
        open_values = ~sensitive_mask(domain, sensitive)
        if (shares[open_values] == 0).any():
            rule = "must not have a share of 0 for a value that is not sensitive"
            raise ArgumentError("theta", rule, None, "Use a small share, such as 0.001")
    e = float(np.exp(np.minimum(epsilon, 40.0)))
    problem = Problem.of(e, shares[None], loss_matrix(domain, loss), open_values)
    judged = list(bounds_of(problem))
    least = max(bound.value for bound in judged)
    is_sharp = min(bound.reached for bound in judged) < least * (1 + _SHARP)
    spread = np.diag(shares) - np.outer(shares, shares)
    drawn = float(np.sum(problem.losses[0] * spread)) if fixed else 0.0
    # A report of an open value can come from it alone: the odds of reports have no limit there.
    odds = np.inf if open_values.any() else e
    nearby = max(_of_any_estimate(bound, shares, odds, problem.losses[0], n) for bound in judged)
    return LocalBound(
        max(least - drawn, 0.0) / n,
        max(nearby**0.5 - (drawn / n) ** 0.5, 0.0) ** 2,
        is_sharp,
    )


def _of_any_estimate(
    bound: Bound, theta: np.ndarray, odds: float, loss: np.ndarray, n: int
) -> float:
    """The largest van Trees bound along the first directions, of ellipsoids of any size."""
    losses = np.einsum("xj,xy,yj->j", bound.directions, loss, bound.directions)
    order = np.argsort(-losses)
    losses, directions = losses[order], bound.directions[:, order]
    total = losses.sum() ** 2 / bound.value  # N
    largest = 0.0
    squares, level = np.zeros(theta.size), 0.0
    for r in range(losses.size):
        squares, level = squares + directions[:, r] ** 2, level + losses[r]
        moved = squares > 0
        reach = float((theta[moved] ** 2 / squares[moved]).min())
        if reach == 0:
            break
        prior = 2 * (1 + (1 + (r + 1) / 2) ** 0.5) ** 2 / reach
        for share in np.linspace(0.05, 1.0, 20):
            change = share * (1 - 1 / odds)
            if change < 1:
                most = n * total / (1 - change**2) + level * prior / share**2
                largest = max(largest, float(level**2 / most))
    return largest
