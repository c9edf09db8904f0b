"""Solvers of maximum likelihood: projected Newton steps, interior points, and SQUAREM."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from warner.channels import LikelihoodOperator, NearlyConstantRows
from warner.estimators.base import (
    Status,
    gap,
    gap_of_score,
    iterate,
    safe_divide,
    score_and_log_likelihood,
)
from warner.estimators.em import em_step, warm_up
from warner.metrics import project

_PROJECTED_STEPS = 300  # 6 to 20 are usual
_ROUNDING = 1e-15  # relative: rounding may lower a likelihood by this much
_SHORTEST = 1e-9  # part of the first step below which steps are given up


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the projected gradient method.

    Attributes:
        theta, score, value: (K,), (K,), and l in nats per report.
        first, length: the lengths of the first and of the next step.
        short: whether the step after the next has the shorter length.
    """

    theta: np.ndarray
    score: np.ndarray
    value: float
    first: float
    length: float
    short: bool = False


def projected(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Maximise the likelihood by gradient steps, projected on the simplex.

        theta <- P(theta + a s),   s = A' (w / A theta)

    P is the Euclidean projection on the simplex. With x = theta_t - theta_(t-1) and
    y = s_(t-1) - s_t the length a is x.x / x.y or x.y / y.y in turn (Barzilai and Borwein 1988).
    It is halved until the likelihood does not fall. The start is the projected unbiased estimate.

    Shapes: channel (m, K), w (m,) -> (K,).
    """
    theta = project(channel.invert(w))
    score, value = score_and_log_likelihood(channel, w, theta)
    if value == -np.inf:
        return theta, 0, False
    d, centred = channel.matvec(theta), score - score.mean()
    bend = float(safe_divide(safe_divide(w, d), d) @ channel.matvec(centred) ** 2)
    first = float(centred @ centred) / bend if bend > 0 else 1.0

    def stop(point: _Point, steps: int) -> Status | None:
        return Status.CONVERGED if gap_of_score(channel, point.score) <= target else None

    start = _Point(theta, score, value, first, first)
    run = iterate(start, partial(_step, channel, w), stop, _PROJECTED_STEPS)
    return run.state.theta, run.steps, run.status is Status.CONVERGED


def _step(channel: LikelihoodOperator, w: np.ndarray, point: _Point) -> _Point | None:
    """One projected step; None where no length keeps the likelihood from falling."""
    length = point.length
    while length > _SHORTEST * point.first:
        theta = project(point.theta + length * point.score)
        score, value = score_and_log_likelihood(channel, w, theta)
        if value >= point.value - _ROUNDING * abs(point.value):
            moved, fell = theta - point.theta, point.score - score
            along = float(moved @ fell)
            following = point.first
            if along > 0:
                following = along / float(fell @ fell) if point.short else moved @ moved / along
            return _Point(theta, score, value, point.first, float(following), not point.short)
        length /= 2
    return None


_PRODUCTS = 5000  # the largest number of scores computed
_TINY = 1e-300
_PLAIN = 1.01  # step lengths below this are plain EM


@dataclass(frozen=True, eq=False)
class _State:
    """theta (K,), its score (K,) and l, and the number of scores computed so far."""

    theta: np.ndarray
    score: np.ndarray
    value: float
    products: int


def accelerated(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """EM extrapolated by the squared step length of Varadhan and Roland (2008), SQUAREM.

    One EM step is theta * s(theta). Let r be the first of two steps and v the second minus the
    first, both in logarithms of theta, so that theta stays positive. The next point is
    theta + 2 a r + a^2 v with a = |r| / |v|. The length a is lowered towards 1, which is plain EM,
    until the likelihood is no lower than after the first step. Every score is the certificate of
    the point at which it was computed.

    Shapes: channel (m, K), w (m,) -> (K,).
    """
    theta = np.full(channel.shape[1], 1 / channel.shape[1])

    def stop(state: _State, steps: int) -> Status | None:
        if (float(state.score.max()) - 1) * channel.rows_per_report <= target:
            return Status.CONVERGED
        return Status.STEP_LIMIT if state.products >= _PRODUCTS else None

    start = _State(theta, *score_and_log_likelihood(channel, w, theta), 1)
    run = iterate(start, partial(_extrapolate, channel, w), stop, _PRODUCTS)
    theta = run.state.theta
    return theta / theta.sum(), run.state.products, run.status is Status.CONVERGED


def _extrapolate(channel: LikelihoodOperator, w: np.ndarray, state: _State) -> _State:
    """The state after an EM step and the extrapolation from it."""
    start = np.log(np.maximum(state.theta, _TINY))
    r = np.log(np.maximum(state.score, _TINY))
    theta = em_step(state.theta, state.score)
    score, value = score_and_log_likelihood(channel, w, theta)
    products = state.products + 1
    v = np.log(np.maximum(score, _TINY)) - r
    # Shares weigh as they do in the likelihood: shares close to 0 do not set the length.
    length = float(np.sqrt((theta @ r**2) / max(theta @ v**2, _TINY)))
    while length > _PLAIN:
        exponent = start + 2 * length * r + length**2 * v
        trial = np.exp(exponent - exponent.max())
        trial /= trial.sum()
        trial_score, trial_value = score_and_log_likelihood(channel, w, trial)
        products += 1
        if trial_value >= value:
            return _State(trial, trial_score, trial_value, products)
        length = (1 + length) / 2 if length < 4 else length / 4
    return _State(theta, score, value, products)


_STEPS = 200  # interior-point steps; 15 to 40 are usual
_START_ALL = 512  # up to this many values, all are in use at the start
_START = 32  # of more values, this many are, evenly spaced
# EM steps at the start: far from the maximum the quadratic model of rare reports misleads.
_WARM = 20
_ENTRIES = 2**25  # largest number of entries of the columns in use, and of their products
_BOUNDARY = 0.995  # the part of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class _Interior:
    """A point of the interior-point method: theta (K,), multipliers z (K,) and the barrier mu."""

    theta: np.ndarray
    z: np.ndarray
    barrier: float
    best: np.ndarray
    best_gap: float


def interior_point(
    channel: LikelihoodOperator, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Maximise the likelihood of any channel by a primal-dual interior-point method, certified.

    With multipliers z and d = A theta, Newton's step for f' = z and theta z = mu solves
    (A' diag(w / d^2) A + diag(z / theta)) step = -(f' - mu / theta). A factor on a row does not
    change the result. A step costs one Gram product.

    Shapes: channel (m, K), w (m,) -> (K,).
    """
    size = channel.shape[1]
    theta = np.full(size, 1 / size)
    start = _Interior(theta, np.ones(size), 1 / size, theta, gap(channel, w, theta))

    def stop(state: _Interior, steps: int) -> Status | None:
        return Status.CONVERGED if state.best_gap <= target else None

    run = iterate(start, partial(_interior_step, channel, w), stop, _STEPS)
    return run.state.best, run.steps, run.status is Status.CONVERGED


def _interior_step(
    channel: LikelihoodOperator, w: np.ndarray, state: _Interior
) -> _Interior | None:
    """One step of the interior-point method; None where the Hessian has no factor."""
    from scipy.linalg import cho_solve

    theta, z, size = state.theta, state.z, state.theta.size
    d = channel.matvec(theta)
    gradient = 1 - channel.rmatvec(safe_divide(w, d))
    barrier = min(state.barrier, 0.1 * float(theta @ z) / size)
    hessian = channel.gram(safe_divide(w, d**2))
    hessian[np.diag_indices(size)] += z / theta
    factor = _factor_with_ridge(hessian)
    if factor is None:
        return None
    move = cho_solve(factor, barrier / theta - gradient, check_finite=False)
    dual = barrier / theta - z - z / theta * move
    theta = _step_within(channel, w, theta, move, barrier)
    z = z + _longest_step(z, dual) * dual
    shares = theta / theta.sum()
    reached = gap(channel, w, shares)
    if reached < state.best_gap:
        return _Interior(theta, z, barrier, shares, reached)
    return _Interior(theta, z, barrier, state.best, state.best_gap)


def _factor_with_ridge(hessian: np.ndarray) -> tuple[np.ndarray, bool] | None:
    """The Cholesky factor with the smallest ridge that allows it, None where none does."""
    from scipy.linalg import LinAlgError, cho_factor

    for ridge in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            matrix = hessian + ridge * np.diag(hessian.diagonal())
            factor: tuple[np.ndarray, bool] = cho_factor(matrix, check_finite=False)
            return factor
        except LinAlgError:
            continue
    return None


@dataclass(frozen=True, eq=False)
class _Sequential:
    """A point of the sequential method: theta, A theta, the gradient, its gap, and the Hessian."""

    theta: np.ndarray
    d: np.ndarray
    gradient: np.ndarray
    gap: float
    best: np.ndarray
    best_gap: float
    hessian: np.ndarray | None = None
    slow: int = 0


def sequential(
    channel: NearlyConstantRows, w: np.ndarray, target: float
) -> tuple[np.ndarray, int, bool]:
    """Maximise by sequential quadratic programming with one Hessian, for many distinct reports.

    Rows are nearly constant, so d = A theta hardly changes, and all steps use the Hessian at the
    start. The cost is one Gram product, then one pass over the rows per step. A step divides the
    gap by about eight (METHODS 4.3). If a step does not, the Hessian is computed anew. For a row
    that names a single value x, d is theta_x. Such rows have a diagonal Hessian, computed at every
    step.

    Shapes: channel (m, K), w (m,) -> (K,).
    """
    size = channel.shape[1]
    theta = np.full(size, 1 / size)
    varying = not channel.steady.all()
    if varying:
        score_at = lambda t: channel.rmatvec(w / channel.matvec(t))
        theta = warm_up(theta, score_at, _WARM // 4)

    def at(theta: np.ndarray, before: _Sequential | None) -> _Sequential:
        d = channel.matvec(theta)
        gradient = 1 - channel.rmatvec(safe_divide(w, d))
        reached = max(0.0, -float(gradient.min())) * channel.rows_per_report
        if before is None:
            return _Sequential(theta, d, gradient, reached, theta, reached)
        slow = before.slow + 1 if reached > 0.5 * before.gap else 0
        better = reached < before.best_gap
        best = (theta, reached) if better else (before.best, before.best_gap)
        return _Sequential(theta, d, gradient, reached, *best, before.hessian, slow)

    def step(state: _Sequential) -> _Sequential | None:
        curvature = safe_divide(w, state.d**2)
        hessian, slow = state.hessian, state.slow
        if hessian is None or slow > varying:
            slow = 0
            hessian = channel.gram(np.where(channel.steady, curvature, 0.0))
            hessian[np.diag_indices(size)] *= 1 + 1e-10
        metric = hessian
        if varying:
            metric = hessian.copy()
            metric[np.diag_indices(size)] += channel.named_gram(curvature)
        theta, gradient = state.theta, state.gradient
        goal = nonnegative_quadratic(metric, gradient - metric @ theta, theta > 0)
        if goal is None:
            return None
        moved = _halved(channel, w, theta, goal - theta)
        return at(moved, replace(state, hessian=hessian, slow=slow))

    def stop(state: _Sequential, steps: int) -> Status | None:
        return Status.CONVERGED if state.best_gap <= target else None

    run = iterate(at(theta, None), step, stop, max(0, _STEPS // 4 - 1))
    return run.state.best, run.steps, run.status is Status.CONVERGED


class _Columns:
    """The columns of the values in use at the observed rows, as an array (m', U).

    Args:
        channel: A (m, K).
        observed: (m',), the rows.
        used: (U,), the values in use.
        array: their columns, where they are known.
    """

    def __init__(
        self,
        channel: LikelihoodOperator,
        observed: np.ndarray,
        used: np.ndarray,
        array: np.ndarray | None = None,
    ) -> None:
        self.channel, self.observed, self.used = channel, observed, used
        self.array: np.ndarray = channel.columns(used)[observed] if array is None else array

    def times(self, x: np.ndarray) -> np.ndarray:
        """A x at the observed rows, for x (U,) on the values in use."""
        return np.asarray(self.array @ x)

    def back(self, r: np.ndarray) -> np.ndarray:
        """A' r at the values in use, for r (m',) on the observed rows."""
        return np.asarray(self.array.T @ r)

    def gram(self, v: np.ndarray) -> np.ndarray:
        """A' diag(v) A among the values in use, for v (m',)."""
        half = self.array * np.sqrt(v)[:, None]
        return np.asarray(half.T @ half)

    def kept(self, which: np.ndarray) -> _Columns:
        """The same for some of the values, given by number or as booleans."""
        array = self.array[:, which]
        return _Columns(self.channel, self.observed, self.used[which], array)

    def widened(self, fresh: np.ndarray) -> _Columns:
        """The same with more values, after those in use."""
        added = self.channel.columns(fresh)[self.observed]
        used = np.concatenate([self.used, fresh])
        array = np.concatenate([self.array, added], axis=1)
        return _Columns(self.channel, self.observed, used, array)


class _Products:
    """What :class:`_Columns` computes, by the channel's products, where no column is needed.

    Args:
        channel: A (m, K), which has a fast ``gram_among``.
        observed: (m',), the rows.
        used: (U,), the values in use.
    """

    def __init__(self, channel: LikelihoodOperator, observed: np.ndarray, used: np.ndarray) -> None:
        self.channel, self.observed, self.used = channel, observed, used

    def _at_rows(self, r: np.ndarray) -> np.ndarray:
        """Numbers (m',) of the observed rows among those of all rows, (m,)."""
        rows = np.zeros(self.channel.shape[0])
        rows[self.observed] = r
        return rows

    def times(self, x: np.ndarray) -> np.ndarray:
        theta = np.zeros(self.channel.shape[1])
        theta[self.used] = x
        return np.asarray(self.channel.matvec(theta)[self.observed])

    def back(self, r: np.ndarray) -> np.ndarray:
        return np.asarray(self.channel.rmatvec(self._at_rows(r))[self.used])

    def gram(self, v: np.ndarray) -> np.ndarray:
        return self.channel.gram_among(self.used, self._at_rows(v))

    def kept(self, which: np.ndarray) -> _Products:
        return _Products(self.channel, self.observed, self.used[which])

    def widened(self, fresh: np.ndarray) -> _Products:
        return _Products(self.channel, self.observed, np.concatenate([self.used, fresh]))


@dataclass(frozen=True, eq=False)
class _Active:
    """A point of the constrained method on the values in use.

    Attributes:
        columns: the values in use, with the columns of these U values.
        x: (U,), their shares.
        d: (m',), A theta at the observed rows.
        score: (K,), of all values.
    """

    columns: _Columns | _Products
    x: np.ndarray
    d: np.ndarray
    score: np.ndarray


class _Constrained:
    """The constrained Newton method for one problem: see ``constrained``."""

    def __init__(self, channel: LikelihoodOperator, w: np.ndarray) -> None:
        self.channel = channel
        self.observed = np.flatnonzero(w > 0)
        self.weights = w[self.observed]
        self.view: type[_Columns] | type[_Products] = (
            _Products if channel.has_fast_gram_among else _Columns
        )
        rows = 1 if channel.has_fast_gram_among else channel.shape[0]
        self.few = True  # whether a step takes only the peaks of the score
        self.most = max(1, min(_ENTRIES // rows, math.isqrt(_ENTRIES)))

    def start(self, near: np.ndarray | None) -> _Active | None:
        """A few values evenly spaced, or all, or those of an earlier maximum.

        None where their columns are too many to form.
        """
        size = self.channel.shape[1]
        if near is not None:
            # Newton's method ends sooner with all values that could have a share.
            self.few = size > _START_ALL
            used = np.flatnonzero(near > 0)
            if used.size <= self.most:
                columns = self.view(self.channel, self.observed, used)
                if (columns.times(near[used]) > 0).all():
                    return self.at(columns, near[used] / near.sum())
        every = np.arange(size)
        spaced = np.unique(np.linspace(0, size - 1, _START).astype(np.int64))
        for used in (spaced, every) if size > _START_ALL else (every,):
            if used.size > self.most:
                return None
            columns = self.view(self.channel, self.observed, used)
            x = np.full(used.size, 1 / used.size)
            if (columns.times(x) > 0).all():
                break
        score_at = lambda t: columns.back(self.weights / columns.times(t))
        return self.at(columns, warm_up(x, score_at, _WARM))

    def at(self, columns: _Columns | _Products, x: np.ndarray) -> _Active:
        """The point with the score of all values."""
        d = columns.times(x)
        scaled = np.zeros(self.channel.shape[0])
        scaled[self.observed] = self.weights / d
        return _Active(columns, x, d, self.channel.rmatvec(scaled))

    def step(self, state: _Active) -> _Active | None:
        """One Newton step on the values in use; None where none is possible."""
        widened = self._with_peaks(state)
        if widened is None:
            return None
        columns, x = widened
        gradient = 1 - state.score[columns.used]
        hessian = columns.gram(self.weights / state.d**2)
        # Neighbouring columns are almost equal: without a ridge the choice among them takes many
        # pivots. The ridge fades with the gap.
        ridge = min(1e-4, max(1e-10, 0.1 * (float(state.score.max()) - 1)))
        hessian[np.diag_indices(x.size)] *= 1 + ridge
        goal = nonnegative_quadratic(hessian, gradient - hessian @ x, x > 0)
        if goal is None:
            return None
        move = goal - x
        slope, growth = float(gradient @ move), float(move.sum())
        length = _sufficient(self.weights, state.d, columns.times(move), growth, slope)
        if length == 0:
            return None
        x = np.maximum(x + length * move, 0.0)
        kept = x > 0
        return self.at(columns.kept(kept), x[kept] / x.sum())

    def _with_peaks(self, state: _Active) -> tuple[_Columns | _Products, np.ndarray] | None:
        """Values in use with the peaks of the score, and their shares; None for too many."""
        columns, x = state.columns, state.x
        fresh = _peaks(state.score) if self.few else np.flatnonzero(state.score > 1)
        fresh = np.setdiff1d(fresh, columns.used, assume_unique=True)
        if x.size + fresh.size > self.most:
            return None
        if fresh.size:
            columns = columns.widened(fresh)
            order = np.argsort(columns.used)
            columns = columns.kept(order)
            x = np.concatenate([x, np.zeros(fresh.size)])[order]
        return columns, x


def constrained(
    channel: LikelihoodOperator,
    w: np.ndarray,
    target: float,
    near: np.ndarray | None = None,
) -> tuple[np.ndarray, int, bool]:
    """Maximise the likelihood of any channel by Newton's steps on the shares above 0.

    The method is fast if the maximum has few shares above 0. Over many bins the maximum has only
    few, and there the score is 1. A step takes the values with shares above 0, and those at which
    the score has a local maximum above 1. It solves the quadratic model of f on these values
    exactly over theta >= 0, and halves the step until f falls enough. Then it drops the shares that
    became 0 (the constrained Newton method of Wang 2007 for mixtures). Only the columns of these
    values are formed.

    Shapes: channel (m, K), w (m,), near (K,) -> (K,).
    """
    size = channel.shape[1]
    method = _Constrained(channel, w)
    start = method.start(near)
    if start is None:
        return np.full(size, 1 / size), 0, False

    def stop(state: _Active, steps: int) -> Status | None:
        missing = (float(state.score.max()) - 1) * channel.rows_per_report
        return Status.CONVERGED if missing <= target else None

    run = iterate(start, method.step, stop, _STEPS)
    theta = np.zeros(size)
    theta[run.state.columns.used] = run.state.x
    return theta, run.steps, run.status is Status.CONVERGED


def _peaks(s: np.ndarray) -> np.ndarray:
    """Values at which the score is above 1 and no neighbour's is higher."""
    padded = np.concatenate([[-np.inf], s, [-np.inf]])
    return np.flatnonzero((s > 1) & (s >= padded[:-2]) & (s > padded[2:]))


def _sufficient(
    w: np.ndarray, d: np.ndarray, moved: np.ndarray, growth: float, slope: float
) -> float:
    """The first of 1, 1/2, 1/4, ... that lowers f by a part of what its slope promises (Armijo).

    0 where none does.
    """
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
    """Minimise a quadratic over x >= 0 by block principal pivoting (Kim and Park 2011).

        argmin x' H x / 2 + c' x   over x >= 0

    The set of free variables changes wherever x or its multiplier is negative. All such variables
    change at once while their number falls. Otherwise one variable changes at a time, which ends
    after finitely many changes.

    Shapes: hessian H (U, U), linear c (U,), start (U,) -> (U,).
    """
    from scipy.linalg.lapack import dposv

    size = linear.size
    free, fewest, patience = start.copy(), size + 1, 3
    scale = np.abs(linear).max()
    for _ in range(10 * size + 100):
        index = np.flatnonzero(free)
        x = np.zeros(size)
        if index.size:
            # The matrix is symmetric, so its transpose has the order of memory that LAPACK reads.
            inner = hessian[np.ix_(index, index)].T
            _, x[index], failed = dposv(inner, -linear[index], overwrite_a=True)
            if failed:
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


def _longest_step(v: np.ndarray, move: np.ndarray) -> float:
    """The longest step <= 1 that keeps v + step * move clearly positive."""
    falling = move < 0
    return (
        min(1.0, _BOUNDARY * float((v[falling] / -move[falling]).min())) if falling.any() else 1.0
    )


def _step_within(
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

    here, step = value(theta), _longest_step(theta, move)
    while step > 1e-6 and value(theta + step * move) > here + 1e-12 * abs(here):
        step /= 2
    return theta + step * move
