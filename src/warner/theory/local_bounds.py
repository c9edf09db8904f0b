"""The least error that any mechanism of a budget allows, near given shares.

Any channel that keeps epsilon is a sum of rows w_i q_i with sum_i w_i q_i = 1, q_i in {1, e}^K, and
has the information J(w) = sum_i w_i q_i q_i' / (q_i . theta). Let the loss W have W theta = 0, and
let M be a matrix and nu a vector with

    q'Mq <= (q . nu)(q . theta)    for all rows q,    N = sum(nu)

Then tr(M J(w)) <= N for every channel, and by Cauchy and Schwarz its covariance V has

    tr(W V) >= B = t^2 / N,    t = tr (W^1/2 M W^1/2)^1/2

Up to ``_SMALL`` values M and nu are those of the best channel, which ``row_design.py`` finds, so
that B is its variance. For more values M is the square of the covariance D - DD' / sum(D) with
D = 1 + a theta, and nu is proportional to 1 + b theta: q'Mq then depends on the number of values
with e and on their share alone, so that N is a maximum of two numbers. Merged values give another
bound: shares that are known within each group leave a question of few values.

The bound of any estimate is that of van Trees. Let theta move in an ellipsoid theta + rho L z,
|z| <= 1, in r directions, with the density (1 - |z|^2)^m. Its information is 2m^2 in each
direction at the best m = 1 + (1 + r/2)^1/2. With LL' = X, XWX <= M and l = tr(W X), the mean loss
is

    at least l^2 / (n N / (1 - d^2) + 2 l m^2 / rho^2)

where d bounds how far the chance of a report moves, as a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import integer, real
from warner._core.errors import ArgumentError
from warner.domains import Domain
from warner.mechanisms.optimal import loss_matrix
from warner.mechanisms.row_design import Problem, best_design, information, lower_bound, variance
from warner.privacy.guarantees import sensitive_mask
from warner.theory.inversion import MAX_PEOPLE, shares_of

_SMALL = 16  # values, up to which the best channel is sought
_LARGEST = 1024  # values
_SHARP = 1e-3  # the gap up to which a bound is called sharp
_SLOPES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # a, in parts of the mean share
_CELLS = 400  # steps of the share of the values with e


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
        how = "some mechanism reaches it" if self.is_sharp else "not known to be sharp"
        return f"no unbiased estimate errs less than {self.unbiased:.3g} ({how})"


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
    no unbiased estimate errs less than 0.00067 (some mechanism reaches it)
    >>> from warner.theory import maximum_likelihood_error
    >>> round(maximum_likelihood_error(SubsetSelection(scale, 1.0), even, 50_000), 6)
    0.00067
    >>> bound.any_estimate < bound.unbiased
    True
    """
    if real("epsilon", epsilon) <= 0:
        raise ArgumentError("epsilon", "must be positive", repr(epsilon))
    integer("n", n, 1, MAX_PEOPLE)
    integer("number of values", domain.size, 2, _LARGEST, "Merge neighbouring values")
    shares = shares_of(theta, domain)
    open_values = np.zeros(domain.size, dtype=bool)
    if sensitive is not None:
        open_values = ~sensitive_mask(domain, sensitive)
        if (shares[open_values] == 0).any():
            rule = "must have no share of 0 where some values are not sensitive"
            raise ArgumentError("theta", rule, None, "A small share, such as 0.001, will do")
    e = float(np.exp(np.minimum(epsilon, 40.0)))
    problem = Problem.of(e, shares[None], loss_matrix(domain, loss), open_values)
    judged = list(_bounds_of(problem))
    least = max(bound.value for bound in judged)
    is_sharp = min(bound.reached for bound in judged) < least * (1 + _SHARP)
    spread = np.diag(shares) - np.outer(shares, shares)
    drawn = float(np.sum(problem.losses[0] * spread)) if fixed else 0.0
    nearby = max(bound.of_any_estimate(problem, n) for bound in judged)
    return LocalBound(
        max(least - drawn, 0.0) / n,
        max(nearby**0.5 - (drawn / n) ** 0.5, 0.0) ** 2,
        is_sharp,
    )


@dataclass(frozen=True, eq=False)
class _Bound:
    """tr(W V) >= value, from directions L (K, r) with L'WL diagonal and LL'W LL' <= M."""

    value: float
    directions: np.ndarray
    reached: float = np.inf  # by a channel

    def of_any_estimate(self, problem: Problem, n: int) -> float:
        """The largest van Trees bound along the first directions, of ellipsoids of any size."""
        theta = problem.priors[0]
        losses = np.einsum("xj,xy,yj->j", self.directions, problem.losses[0], self.directions)
        order = np.argsort(-losses)
        losses, directions = losses[order], self.directions[:, order]
        total = losses.sum() ** 2 / self.value  # N
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
                change = share * (1 - 1 / problem.e)
                if change < 1:
                    most = n * total / (1 - change**2) + level * prior / share**2
                    largest = max(largest, float(level**2 / most))
        return largest


def _bounds_of(problem: Problem) -> Iterator[_Bound]:
    """Bounds of one problem of one prior."""
    theta = problem.priors[0]
    if problem.size <= _SMALL:
        yield _of_best_channel(problem)
    elif not problem.open_values.any():
        yield _of_many_values(problem)
    # Groups of like shares have no small ones; groups that are also of like length keep an order.
    groups = {tuple(_groups(theta, k)) for k in (2, 4, 8)}
    if problem.size > _SMALL:
        groups.add(tuple(_groups((theta + 1 / theta.size) / 2, _SMALL)))
    for group in sorted(groups):
        if 1 < group[-1] + 1 < problem.size:
            yield _of_groups(problem, np.array(group))


def _of_best_channel(problem: Problem) -> _Bound:
    """The bound of the best channel."""
    rows, weights = best_design(problem, _SHARP / 10)
    value = lower_bound(problem, rows, weights)
    assert value is not None
    theta = problem.priors[0]
    inverse = np.linalg.pinv(information(rows, weights, theta), hermitian=True)
    values, vectors = np.linalg.eigh(inverse - np.outer(theta, theta))
    half = vectors * np.sqrt(np.maximum(values, 0))
    _, turned = np.linalg.eigh(half.T @ problem.losses[0] @ half)
    return _Bound(value, half @ turned, variance(problem, rows, weights))


def _of_groups(problem: Problem, groups: np.ndarray) -> _Bound:
    """The bound where the shares within groups of neighbouring values are known."""
    theta, count = problem.priors[0], int(groups.max()) + 1
    within = np.zeros((theta.size, count))
    within[np.arange(theta.size), groups] = np.maximum(theta, 1e-300)
    within /= within.sum(axis=0)
    merged = within.T @ problem.losses[0] @ within
    # A report that names one value of a group may name the group.
    opened = np.bincount(groups, problem.open_values, count) > 0
    bound = _of_best_channel(
        Problem.of(problem.e, np.bincount(groups, theta, count)[None], merged, opened)
    )
    return _Bound(bound.value, within @ bound.directions)


def _groups(shares: np.ndarray, count: int) -> np.ndarray:
    """Groups of neighbouring values with like sums of shares, by number: (K,) from 0."""
    middle = np.cumsum(shares) - shares / 2
    numbers = np.clip((middle * count).astype(int), 0, count - 1)
    return np.unique(numbers, return_inverse=True)[1]


def _of_many_values(problem: Problem) -> _Bound:
    """The best bound of covariances D - DD' / sum(D)."""
    theta = problem.priors[0]
    values, vectors = np.linalg.eigh(problem.losses[0])
    root = vectors * np.sqrt(np.maximum(values, 0))
    # Subset selection has the least variance of equal shares.
    is_reached = np.ptp(theta) < 1e-12 and np.ptp(values[1:]) < 1e-9
    best = _Bound(0.0, np.zeros((theta.size, 1)))
    for slope in _SLOPES:
        spread = 1 + slope * theta.size * theta
        covariance = np.diag(spread) - np.outer(spread, spread) / spread.sum()
        _, sizes, right = np.linalg.svd(root.T @ covariance)
        value = sizes.sum() ** 2 / _most_information(theta, problem.e, slope * theta.size)
        if value > best.value:
            turns = sizes > 1e-9 * sizes[0]
            directions = covariance @ right[turns].T / np.sqrt(sizes[turns])
            best = _Bound(value, directions, value if is_reached else np.inf)
    return best


def _most_information(theta: np.ndarray, e: float, slope: float) -> float:
    """N of M = (D - DD' / sum(D))^2 with D = 1 + slope theta, the least over b."""
    # With S the d values that have e, t their share and k = D(S) / sum(D),
    #     q'Mq = (e - 1)^2 ((1 - k)^2 D^2(S) + k^2 (sum(D^2) - D^2(S)))
    # and D^2(S) = d + 2 a t + a^2 theta^2(S). Each cell of t takes the worse end of every term.
    size, ordered = theta.size, np.sort(theta)
    count = np.arange(1, size)[:, None]
    low, high = np.cumsum(ordered)[:-1, None], np.cumsum(ordered[::-1])[:-1, None]
    cells = low + (high - low) * np.linspace(0, 1, max(2, min(_CELLS, 10**6 // size)))
    below, above = cells[:, :-1], cells[:, 1:]
    spread = 1 + slope * theta
    total, squares, power = spread.sum(), spread @ spread, theta @ theta

    def at_most(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(np.minimum(t**2, ordered[-1] * t), power))

    k_low, k_high = (count + slope * below) / total, (count + slope * above) / total
    largest = count + 2 * slope * above + slope**2 * at_most(above)
    least = (
        count
        + 2 * slope * below
        + slope**2 * np.maximum(below**2 / count, power - at_most(1 - below))
    )
    change = (1 - 2 * k_low) * np.where(k_low < 0.5, largest, least)
    form = (e - 1) ** 2 * (k_high**2 * squares + change)
    chance = 1 + (e - 1) * below

    def most(b: float) -> float:
        inside = count + np.minimum(b * below, b * above)
        nu = (size + b + (e - 1) * inside) / (size + b)
        return float((form / (nu * chance)).max())

    heaviest = 1 / ordered[-1]
    return min(most(b) for b in (-0.98 * heaviest, -0.7 * heaviest, -0.4 * heaviest, 0.0, heaviest))
