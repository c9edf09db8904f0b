"""Newton's methods for the likelihood of any channel, each stopped on the certified gap (METHODS 4.3, 4.4).

All drop the sum constraint: minimise f(theta) = -l(theta) + sum theta over theta >= 0, whose solution sums to one by itself.
"""

from __future__ import annotations

import numpy as np

from warner.channels import LikelihoodOperator, NearlyConstantRows
from warner.estimators.mle.objective import gap, over

_STEPS = 200  # interior-point steps; 15 to 40 are usual
_START_ALL = 512  # up to so many values all are there from the start
_START = 32  # of more values, so many, evenly spaced
_WARM = (
    20  # EM steps to start with: far from the maximum the quadratic model of rare reports misleads
)
_ENTRIES = 2**25  # of the columns in use
_BOUNDARY = 0.995  # how far a step may go towards the boundary


def interior_point(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Any channel: a primal-dual interior-point method, certified; (theta, steps, whether the gap was reached).

    With multipliers z, Newton's step for f' = z, theta z = mu solves (A' diag(w / d^2) A + diag(z / theta)) step =
    -(f' - mu / theta), d = A theta. Rows may be scaled freely, and one barrier step costs one Gram product.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    size = channel.shape[1]
    theta = np.full(size, 1 / size)
    z = np.ones(size)
    best, best_gap = theta, gap(channel, w, theta)
    barrier = 1 / size
    steps = 0
    while best_gap > target and steps < _STEPS:
        steps += 1
        d = channel.matvec(theta)
        gradient = 1 - channel.rmatvec(over(w, d))
        barrier = min(barrier, 0.1 * float(theta @ z) / size)
        hessian = channel.gram(over(w, d**2))
        hessian[np.diag_indices(size)] += z / theta
        for ridge in (0.0, 1e-14, 1e-11, 1e-8):
            try:
                factor = cho_factor(
                    hessian + ridge * np.diag(hessian.diagonal()), check_finite=False
                )
                break
            except LinAlgError:
                continue
        else:
            break
        move = cho_solve(factor, barrier / theta - gradient, check_finite=False)
        dual = barrier / theta - z - z / theta * move
        theta = _shorten(channel, w, theta, move, barrier)
        z = z + _limit(z, dual) * dual
        found = theta / theta.sum()
        found_gap = gap(channel, w, found)
        if found_gap < best_gap:
            best, best_gap = found, found_gap
    return best, steps, best_gap <= target


def sequential(
    channel: NearlyConstantRows, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Pure rows, many of them: sequential quadratic programming with one Hessian, certified; (theta, steps, reached).

    Rows are nearly constant, so d = A theta hardly changes and the Hessian at the start serves to the end: one Gram product, then
    one pass over the rows a step, each of which shrinks the gap about eightfold (METHODS 4.3). A step that does not is taken
    with a new Hessian. Rows that name a value are theta_x itself: theirs is a diagonal, and taken anew at every step.
    """
    size = channel.shape[1]
    theta = np.full(size, 1 / size)
    varying = not channel.steady.all()
    for _ in range(_WARM // 4 if varying else 0):
        theta = theta * channel.rmatvec(w / channel.matvec(theta))
    hessian: np.ndarray | None = None
    best, best_gap, last = theta, np.inf, np.inf
    steps, slow = 0, 0
    while steps < _STEPS // 4:
        d = channel.matvec(theta)
        gradient = 1 - channel.rmatvec(over(w, d))
        found = max(0.0, -float(gradient.min())) * channel.rows_per_report
        if found < best_gap:
            best, best_gap = theta, found
        if best_gap <= target:
            break
        curvature = over(w, d**2)
        slow = slow + 1 if found > 0.5 * last else 0
        if hessian is None or slow > varying:
            slow = 0
            hessian = channel.gram(np.where(channel.steady, curvature, 0.0))
            hessian[np.diag_indices(size)] *= 1 + 1e-10
        last = found
        metric = hessian
        if varying:
            metric = hessian.copy()
            metric[np.diag_indices(size)] += channel.named_gram(curvature)
        aim = nonnegative_quadratic(metric, gradient - metric @ theta, theta > 0)
        if aim is None:
            break
        theta = _halved(channel, w, theta, aim - theta)
        steps += 1
    return best, steps, best_gap <= target


def constrained(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Any channel, best where few values carry the maximum: Newton's steps on the values that matter (theta, steps, reached).

    The maximum over many bins sits on few of them, where the score is 1. So a step takes the values in use and those at which
    the score peaks above 1, solves the quadratic model of f on them exactly over theta >= 0, halves the step until f falls
    enough, and drops what became 0 (the constrained Newton method of Wang 2007 for mixtures). Only columns in use are formed.
    """
    size = channel.shape[1]
    seen = np.flatnonzero(w > 0)
    weights = w[seen]
    most = max(1, _ENTRIES // channel.shape[0])
    used = (
        np.unique(np.linspace(0, size - 1, _START).astype(np.int64))
        if size > _START_ALL
        else np.arange(size)
    )
    if used.size > most:
        return np.full(size, 1 / size), 0, False
    columns = channel.columns(used)[seen]
    if (columns.sum(axis=1) <= 0).any():
        if size > most:
            return np.full(size, 1 / size), 0, False
        used = np.arange(size)
        columns = channel.columns(used)[seen]
    x = np.full(used.size, 1 / used.size)
    for _ in range(_WARM):
        x = x * (columns.T @ (weights / (columns @ x)))
    scaled = np.zeros(w.size)
    steps, reached = 0, False
    while True:
        d = columns @ x
        scaled[seen] = weights / d
        s = channel.rmatvec(scaled)
        found = float(s.max()) - 1
        reached = found * channel.rows_per_report <= target
        if reached or steps >= _STEPS:
            break
        fresh = np.setdiff1d(_peaks(s), used)
        if used.size + fresh.size > most:
            break
        if fresh.size:
            order = np.argsort(np.concatenate([used, fresh]))
            used = np.concatenate([used, fresh])[order]
            columns = np.concatenate([columns, channel.columns(fresh)[seen]], axis=1)[:, order]
            x = np.concatenate([x, np.zeros(fresh.size)])[order]
        gradient = 1 - s[used]
        half = columns * (np.sqrt(weights) / d)[:, None]
        hessian = half.T @ half
        # Neighbouring columns are all but equal: without a ridge the choice among them takes many pivots. It fades with the gap.
        hessian[np.diag_indices(used.size)] *= 1 + min(1e-4, max(1e-10, 0.1 * found))
        aim = nonnegative_quadratic(hessian, gradient - hessian @ x, x > 0)
        if aim is None:
            break
        move = aim - x
        step = _sufficient(weights, d, columns @ move, float(move.sum()), float(gradient @ move))
        if step == 0:
            break
        x = np.maximum(x + step * move, 0.0)
        kept = x > 0
        used, columns, x = used[kept], columns[:, kept], x[kept] / x.sum()
        steps += 1
    theta = np.zeros(size)
    theta[used] = x
    return theta, steps, reached


def _peaks(s: np.ndarray) -> np.ndarray:
    """Values at which the score is above 1 and no neighbour's is higher."""
    padded = np.concatenate([[-np.inf], s, [-np.inf]])
    return np.flatnonzero((s > 1) & (s >= padded[:-2]) & (s > padded[2:]))


def _sufficient(
    w: np.ndarray, d: np.ndarray, moved: np.ndarray, growth: float, slope: float
) -> float:
    """The first of 1, 1/2, 1/4, ... that lowers f by a share of what its slope promises (Armijo); 0 where none does."""
    here, step = float(w @ np.log(d)), 1.0
    while step > 1e-9:
        there = d + step * moved
        if (there > 0).all() and here - float(
            w @ np.log(there)
        ) + step * growth <= 1e-4 * step * slope + 1e-15 * abs(here):
            return step
        step /= 2
    return 0.0


def nonnegative_quadratic(
    hessian: np.ndarray, linear: np.ndarray, start: np.ndarray
) -> np.ndarray | None:
    """argmin x' H x / 2 + c' x over x >= 0 by block principal pivoting (Kim and Park 2011); None where it does not end.

    The set of free variables is changed wherever x or its multiplier is negative, all at once while that helps, else one at
    a time, which ends after finitely many changes.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    size = linear.size
    free, fewest, patience = start.copy(), size + 1, 3
    scale = np.abs(linear).max()
    for _ in range(10 * size + 100):
        index = np.flatnonzero(free)
        x = np.zeros(size)
        if index.size:
            try:
                x[index] = cho_solve(
                    cho_factor(hessian[np.ix_(index, index)], check_finite=False),
                    -linear[index],
                    check_finite=False,
                )
            except LinAlgError:
                return None
        slack = hessian @ x + linear
        wrong = np.where(free, x < 0, slack < -1e-15 * scale)
        count = np.count_nonzero(wrong)
        if count == 0:
            return x
        if count < fewest:
            fewest, patience = int(count), 3
        elif patience:
            patience -= 1
        else:
            wrong = np.arange(size) == np.flatnonzero(wrong)[-1]
        free ^= wrong
    return None


def _halved(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, move: np.ndarray
) -> np.ndarray:
    """theta + step * move on the simplex, the step halved until the likelihood does not fall."""

    def at(step: float) -> tuple[np.ndarray, float]:
        point = np.maximum(theta + step * move, 0.0)
        point /= point.sum()
        d = channel.matvec(point)
        return point, float(w @ np.log(d)) if (d > 0).all() else -np.inf

    here, step = at(0.0)[1], 1.0
    point, value = at(step)
    while value < here - 1e-13 * abs(here) and step > 1e-4:
        step /= 2
        point, value = at(step)
    return point


def _limit(v: np.ndarray, move: np.ndarray) -> float:
    """The longest step <= 1 that keeps v + step * move clearly positive."""
    falling = move < 0
    return (
        min(1.0, _BOUNDARY * float((v[falling] / -move[falling]).min())) if falling.any() else 1.0
    )


def _shorten(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, move: np.ndarray, barrier: float
) -> np.ndarray:
    """theta + step * move with the step halved until the barrier function does not rise."""

    def value(point: np.ndarray) -> float:
        seen = w > 0
        return float(
            point.sum()
            - w[seen] @ np.log(channel.matvec(point)[seen])
            - barrier * np.log(point).sum()
        )

    here, step = value(theta), _limit(theta, move)
    while step > 1e-6 and value(theta + step * move) > here + 1e-12 * abs(here):
        step /= 2
    return theta + step * move
