"""Bounds of the variance of every channel, of questions of many values (METHODS 1, 6).

Let M be a matrix and nu a vector with

    q'Mq <= (q . nu)(q . theta)    for all rows q in {1, e}^K,    N = sum(nu)

Then tr(M J) <= N for the information J of every channel, and by Cauchy and Schwarz its covariance V
has, for a loss W with W theta = 0,

    tr(W V) >= t^2 / N,    t = tr (W^1/2 M W^1/2)^1/2

Up to ``_SMALL`` values the best channel gives M and nu. For more values M is the square of
the covariance D - DD' / sum(D) with D = 1 + a theta, and nu is proportional to 1 + b theta: q'Mq
then depends on the number of values with e and on their share alone, so that N is a maximum over
two numbers. Merged values give another bound: shares that are known within each group leave a
question of few values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from warner.mechanisms.row_design import (
    EXHAUSTIVE,
    Problem,
    best_design,
    information,
    lower_bound,
    variance,
)

_SMALL = 16  # values, up to which the best channel is sought
_CLOSE = 1e-4  # of the best variance, where only a bound is asked for
_SLOPES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # a, in parts of the mean share
_CELLS = 400  # steps of the share of the values with e


@dataclass(frozen=True, eq=False)
class Bound:
    """tr(W V) >= value, from directions L (K, r) with L'WL diagonal and LL'W LL' <= M."""

    value: float
    directions: np.ndarray
    reached: float = np.inf  # by a channel


def bound_of_all(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> float:
    """What no channel is below, judged from rows (m, K) with weights (m,), and otherwise."""
    least = lower_bound(problem, rows, weights)
    if problem.size <= EXHAUSTIVE:
        return least
    # The largest variance over several priors is at least that at each of them.
    for c in range(len(problem.priors)):
        one = replace(problem, priors=problem.priors[c : c + 1], losses=problem.losses[c : c + 1])
        least = max(least, *(bound.value for bound in bounds_of(one)))
    return least


def bounds_of(problem: Problem) -> Iterator[Bound]:
    """Bounds of one problem of one prior."""
    theta = problem.priors[0]
    if problem.size <= _SMALL:
        yield _of_best_channel(problem)
    elif not problem.open_values.any():
        yield of_many_values(problem)
    # Groups of like shares have no small ones; groups that are also of like length keep an order.
    groups = {tuple(_groups(theta, k)) for k in (2, 4, 8)}
    if problem.size > _SMALL:
        groups.add(tuple(_groups((theta + 1 / theta.size) / 2, _SMALL)))
    for group in sorted(groups):
        if 1 < group[-1] + 1 < problem.size:
            yield _of_groups(problem, np.array(group))


def _of_best_channel(problem: Problem) -> Bound:
    """The bound of the best channel."""
    rows, weights = best_design(problem, _CLOSE)
    value = lower_bound(problem, rows, weights)
    theta = problem.priors[0]
    inverse = np.linalg.pinv(information(rows, weights, theta), hermitian=True)
    values, vectors = np.linalg.eigh(inverse - np.outer(theta, theta))
    half = vectors * np.sqrt(np.maximum(values, 0))
    _, turned = np.linalg.eigh(half.T @ problem.losses[0] @ half)
    return Bound(value, half @ turned, variance(problem, rows, weights))


def _of_groups(problem: Problem, groups: np.ndarray) -> Bound:
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
    return Bound(bound.value, within @ bound.directions)


def _groups(shares: np.ndarray, count: int) -> np.ndarray:
    """Groups of neighbouring values with like sums of shares, by number: (K,) from 0."""
    middle = np.cumsum(shares) - shares / 2
    numbers = np.clip((middle * count).astype(int), 0, count - 1)
    return np.unique(numbers, return_inverse=True)[1]


def of_many_values(problem: Problem) -> Bound:
    """The best bound of covariances D - DD' / sum(D)."""
    theta = problem.priors[0]
    values, vectors = np.linalg.eigh(problem.losses[0])
    root = vectors * np.sqrt(np.maximum(values, 0))
    # Subset selection has the least variance of equal shares.
    is_reached = np.ptp(theta) < 1e-12 and np.ptp(values[1:]) < 1e-9
    best = Bound(0.0, np.zeros((theta.size, 1)))
    for slope in _SLOPES:
        spread = 1 + slope * theta.size * theta
        covariance = np.diag(spread) - np.outer(spread, spread) / spread.sum()
        _, sizes, right = np.linalg.svd(root.T @ covariance)
        value = sizes.sum() ** 2 / most_information(theta, problem.e, slope * theta.size)
        if value > best.value:
            turns = sizes > 1e-9 * sizes[0]
            directions = covariance @ right[turns].T / np.sqrt(sizes[turns])
            best = Bound(value, directions, value if is_reached else np.inf)
    return best


def most_information(theta: np.ndarray, e: float, slope: float) -> float:
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
