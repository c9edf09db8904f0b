"""Solvers of maximum likelihood: projected Newton steps, interior points, and SQUAREM."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np

from warner._core.special import positive_solver
from warner.channels import ColumnProducts, LikelihoodOperator, NearlyConstantRows
from warner.estimators.base import (
    Status,
    gap,
    gap_of_score,
    iterate,
    safe_divide,
    score_and_log_likelihood,
    uniform,
)
from warner.estimators.em import em_step, warm_up
from warner.metrics import project

# A point of a solver: it has a distribution (K,), ``shares``, and its ``gap`` in nats per report.
_State = TypeVar("_State", "_Point", "_Interior", "_Sequential", "_Active")
# The distribution (K,) with the smallest gap, the steps taken, and whether it reached the target.
Solution: TypeAlias = tuple[np.ndarray, int, bool]


def _solve(
    start: _State, step: Callable[[_State], _State | None], target: float, most: int
) -> Solution:
    """Take steps until the gap of a point is at most the target."""
    best = start

    def stop(state: _State, steps: int) -> Status | None:
        nonlocal best
        if state.gap < best.gap:
            best = state
        return Status.CONVERGED if best.gap <= target else None

    run = iterate(start, step, stop, most)
    return best.shares, run.steps, run.status is Status.CONVERGED


_PROJECTED_STEPS = 300  # 6 to 20 are usual
_ROUNDING = 1e-15  # relative: rounding may lower a likelihood by this much
_SHORTEST = 1e-9  # part of the first step below which steps are given up


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the methods of first order."""

    shares: np.ndarray  # shares, score, value: (K,), (K,), and l in nats per report
    score: np.ndarray
    value: float
    gap: float  # of the shares
    length: float = 1.0  # of the next projected step
    short: bool = False  # whether the projected step after the next has the shorter length


def _point(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> _Point:
    score, value = score_and_log_likelihood(channel, w, theta)
    return _Point(theta, score, value, gap_of_score(channel, score))


def projected(channel: LikelihoodOperator, w: np.ndarray, target: float) -> Solution:
    """Maximise by projected gradient steps theta <- P(theta + a s), s = A' (w / A theta)."""
    # a is x.x / x.y or x.y / y.y in turn (Barzilai and Borwein 1988), x and y the changes of theta
    # and -s, halved until the likelihood does not fall. It starts at the projected unbiased
    # estimate.
    start = _point(channel, w, project(channel.invert(w)))
    if start.value == -np.inf:
        return start.shares, 0, False
    d, centred = channel.matvec(start.shares), start.score - start.score.mean()
    bend = float(safe_divide(safe_divide(w, d), d) @ channel.matvec(centred) ** 2)
    first = float(centred @ centred) / bend if bend > 0 else 1.0

    def step(point: _Point) -> _Point | None:
        length = point.length
        while length > _SHORTEST * first:
            after = _point(channel, w, project(point.shares + length * point.score))
            if after.value >= point.value - _ROUNDING * abs(point.value):
                moved, fell = after.shares - point.shares, point.score - after.score
                along = float(moved @ fell)
                following = first
                if along > 0:
                    following = along / float(fell @ fell) if point.short else moved @ moved / along
                return replace(after, length=float(following), short=not point.short)
            length /= 2
        return None

    return _solve(replace(start, length=first), step, target, _PROJECTED_STEPS)


_PRODUCTS = 5000  # the largest number of scores computed
_TINY = 1e-300
_PLAIN = 1.01  # step lengths below this are plain EM


def accelerated(channel: LikelihoodOperator, w: np.ndarray, target: float) -> Solution:
    """Maximise by EM with the squared step length of Varadhan and Roland (2008), SQUAREM."""
    # theta + 2 a r + a^2 v in logarithms, r the first of two EM steps, v the second minus the
    # first, a = |r| / |v| lowered towards 1 (plain EM) until the likelihood is no lower than after
    # the first. The number of scores is returned as that of the steps.
    products = 1

    def step(point: _Point) -> _Point | None:
        nonlocal products
        if products >= _PRODUCTS:
            return None
        start = np.log(np.maximum(point.shares, _TINY))
        r = np.log(np.maximum(point.score, _TINY))
        plain = _point(channel, w, em_step(point.shares, point.score))
        products += 1
        v = np.log(np.maximum(plain.score, _TINY)) - r
        # Shares weigh as they do in the likelihood: shares close to 0 do not set the length.
        theta = plain.shares
        length = float(np.sqrt((theta @ r**2) / max(theta @ v**2, _TINY)))
        while length > _PLAIN:
            exponent = start + 2 * length * r + length**2 * v
            trial = np.exp(exponent - exponent.max())
            after = _point(channel, w, trial / trial.sum())
            products += 1
            if after.value >= plain.value:
                return after
            length = (1 + length) / 2 if length < 4 else length / 4
        return plain

    start = _point(channel, w, uniform(channel.shape[1]))
    theta, _, reached = _solve(start, step, target, _PRODUCTS)
    return theta / theta.sum(), products, reached


_STEPS = 200  # interior-point steps; 15 to 40 are usual
_START_ALL = 512  # up to this many values, all are in use at the start
_START = 32  # of more values, this many are, evenly spaced
# EM steps at the start: far from the maximum the quadratic model of rare reports misleads.
_WARM = 20
_ENTRIES = 2**25  # largest number of entries of the columns in use, and of their products
_BOUNDARY = 0.995  # the part of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class _Interior:
    """theta (K,), multipliers z (K,), the barrier mu; and theta over its sum, with its gap."""

    theta: np.ndarray
    z: np.ndarray
    barrier: float
    shares: np.ndarray
    gap: float


def interior_point(channel: LikelihoodOperator, w: np.ndarray, target: float) -> Solution:
    """Maximise the likelihood of any channel by a primal-dual interior-point method, certified.

    With multipliers z and d = A theta, Newton's step for f' = z and theta z = mu solves
    (A' diag(w / d^2) A + diag(z / theta)) step = -(f' - mu / theta). A factor on a row does not
    change the result. A step costs one Gram product.

    Shapes: channel (m, K), w (m,) -> (K,).
    """
    size = channel.shape[1]
    seen = w > 0

    def step(state: _Interior) -> _Interior | None:
        theta, z = state.theta, state.z
        d = channel.matvec(theta)
        gradient = 1 - channel.rmatvec(safe_divide(w, d))
        barrier = min(state.barrier, 0.1 * float(theta @ z) / size)
        hessian = channel.gram(safe_divide(w, d**2))
        hessian[np.diag_indices(size)] += z / theta
        solve = _solver_with_ridge(hessian)
        if solve is None:
            return None
        move = solve(barrier / theta - gradient)
        dual = barrier / theta - z - z / theta * move

        def penalised(point: np.ndarray) -> float:
            fit = w[seen] @ np.log(channel.matvec(point)[seen])
            return float(point.sum() - fit - barrier * np.log(point).sum())

        here, length = penalised(theta), _longest_step(theta, move)
        while length > 1e-6 and penalised(theta + length * move) > here + 1e-12 * abs(here):
            length /= 2
        theta = theta + length * move
        shares = theta / theta.sum()
        z = z + _longest_step(z, dual) * dual
        return _Interior(theta, z, barrier, shares, gap(channel, w, shares))

    even = uniform(size)
    start = _Interior(even, np.ones(size), 1 / size, even, gap(channel, w, even))
    return _solve(start, step, target, _STEPS)


def _solver_with_ridge(hessian: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """Solve with the smallest ridge that makes the matrix positive definite, None where none."""
    for ridge in (0.0, 1e-14, 1e-11, 1e-8):
        solve = positive_solver(hessian + ridge * np.diag(hessian.diagonal()))
        if solve is not None:
            return solve
    return None


@dataclass(frozen=True, eq=False)
class _Sequential:
    """A point of the sequential method, after ``slow`` steps that did not halve the gap."""

    shares: np.ndarray
    d: np.ndarray
    gradient: np.ndarray
    gap: float
    hessian: np.ndarray | None = None
    slow: int = 0


def sequential(channel: NearlyConstantRows, w: np.ndarray, target: float) -> Solution:
    """Maximise by sequential quadratic programming with one Hessian, for many distinct reports."""
    # d = A theta hardly changes, so the Hessian is that at the start: a step divides the gap by
    # about eight (METHODS 4.3), else it is computed anew. Rows that name a single value have a
    # diagonal Hessian, computed at every step.
    theta = uniform(channel.shape[1])
    diagonal = np.diag_indices(theta.size)
    varying = not channel.steady.all()
    if varying:
        theta = warm_up(theta, lambda t: channel.rmatvec(w / channel.matvec(t)), _WARM // 4)

    def at(theta: np.ndarray) -> _Sequential:
        d = channel.matvec(theta)
        gradient = 1 - channel.rmatvec(safe_divide(w, d))
        missing = max(0.0, -float(gradient.min())) * channel.rows_per_report
        return _Sequential(theta, d, gradient, missing)

    def step(state: _Sequential) -> _Sequential | None:
        theta, gradient = state.shares, state.gradient
        curvature = safe_divide(w, state.d**2)
        hessian, slow = state.hessian, state.slow
        if hessian is None or slow > varying:
            slow = 0
            hessian = channel.gram(np.where(channel.steady, curvature, 0.0))
            hessian[diagonal] *= 1 + 1e-10
        metric = hessian
        if varying:
            metric = hessian.copy()
            metric[diagonal] += channel.named_gram(curvature)
        goal = nonnegative_quadratic(metric, gradient - metric @ theta, theta > 0)
        if goal is None:
            return None
        after = at(_halved(channel, w, theta, goal - theta))
        return replace(after, hessian=hessian, slow=slow + 1 if after.gap > 0.5 * state.gap else 0)

    return _solve(at(theta), step, target, max(0, _STEPS // 4 - 1))


def _has_column_products(channel: LikelihoodOperator) -> bool:
    """Whether products of columns need no columns."""
    return isinstance(channel, ColumnProducts) and channel.has_fast_gram_among


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of the values in use, at the observed rows."""

    channel: LikelihoodOperator  # A (m, K)
    observed: np.ndarray  # (m',), the rows
    used: np.ndarray  # (U,), the values in use
    # their columns (m', U); None where the channel multiplies faster without them
    array: np.ndarray | None

    @classmethod
    def of(cls, channel: LikelihoodOperator, observed: np.ndarray, used: np.ndarray) -> _Columns:
        formed = None if _has_column_products(channel) else channel.columns(used)[observed]
        return cls(channel, observed, used, formed)

    def _at_rows(self, r: np.ndarray) -> np.ndarray:
        """Numbers (m',) of the observed rows among those of all rows, (m,)."""
        rows = np.zeros(self.channel.shape[0])
        rows[self.observed] = r
        return rows

    def times(self, x: np.ndarray) -> np.ndarray:
        """A x at the observed rows, for x (U,) on the values in use."""
        if self.array is not None:
            return np.asarray(self.array @ x)
        theta = np.zeros(self.channel.shape[1])
        theta[self.used] = x
        return np.asarray(self.channel.matvec(theta)[self.observed])

    def back(self, r: np.ndarray) -> np.ndarray:
        """A' r at the values in use, for r (m',) on the observed rows."""
        if self.array is not None:
            return np.asarray(self.array.T @ r)
        return np.asarray(self.channel.rmatvec(self._at_rows(r))[self.used])

    def gram(self, v: np.ndarray) -> np.ndarray:
        """A' diag(v) A among the values in use, for v (m',)."""
        if self.array is None:
            assert isinstance(self.channel, ColumnProducts)
            return self.channel.gram_among(self.used, self._at_rows(v))
        half = self.array * np.sqrt(v)[:, None]
        return np.asarray(half.T @ half)

    def subset(self, which: np.ndarray) -> _Columns:
        """The same for some of the values, given by number or as booleans."""
        array = None if self.array is None else self.array[:, which]
        return replace(self, used=self.used[which], array=array)

    def widened(self, fresh: np.ndarray) -> _Columns:
        """The same with more values, after those in use."""
        used, array = np.concatenate([self.used, fresh]), self.array
        if array is not None:
            array = np.concatenate([array, self.channel.columns(fresh)[self.observed]], axis=1)
        return replace(self, used=used, array=array)


@dataclass(frozen=True, eq=False)
class _Active:
    """A point of the constrained method on the values in use."""

    columns: _Columns  # the values in use, with the columns of these U values
    x: np.ndarray  # (U,), their shares
    d: np.ndarray  # (m',), A theta at the observed rows
    score: np.ndarray  # (K,), of all values
    gap: float  # of the shares

    @property
    def shares(self) -> np.ndarray:
        theta = np.zeros(self.score.size)
        theta[self.columns.used] = self.x
        return theta


class _Constrained:
    """The constrained Newton method for one problem: see ``constrained``."""

    def __init__(self, channel: LikelihoodOperator, w: np.ndarray) -> None:
        self.channel = channel
        self.observed = np.flatnonzero(w > 0)
        self.weights = w[self.observed]
        rows = 1 if _has_column_products(channel) else channel.shape[0]
        self.few = True  # whether a step takes only the peaks of the score
        self.most = max(1, min(_ENTRIES // rows, math.isqrt(_ENTRIES)))

    def start(self, near: np.ndarray | None) -> _Active | None:
        """A few values evenly spaced, or all, or those of an earlier maximum; None for too many."""
        size = self.channel.shape[1]
        if near is not None:
            # Newton's method ends sooner with all values that could have a share.
            self.few = size > _START_ALL
            used = np.flatnonzero(near > 0)
            if used.size <= self.most:
                columns = _Columns.of(self.channel, self.observed, used)
                if (columns.times(near[used]) > 0).all():
                    return self.at(columns, near[used] / near.sum())
        every = np.arange(size)
        spaced = np.unique(np.linspace(0, size - 1, _START).astype(np.int64))
        for used in (spaced, every) if size > _START_ALL else (every,):
            if used.size > self.most:
                return None
            columns, x = _Columns.of(self.channel, self.observed, used), uniform(used.size)
            if (columns.times(x) > 0).all():
                break
        score_at = lambda t: columns.back(self.weights / columns.times(t))
        return self.at(columns, warm_up(x, score_at, _WARM))

    def at(self, columns: _Columns, x: np.ndarray) -> _Active:
        """The point with the score of all values."""
        d = columns.times(x)
        score = self.channel.rmatvec(columns._at_rows(self.weights / d))
        return _Active(columns, x, d, score, gap_of_score(self.channel, score))

    def step(self, state: _Active) -> _Active | None:
        """One Newton step on the values in use; None where none is possible."""
        columns, x = state.columns, state.x
        fresh = _peaks(state.score) if self.few else np.flatnonzero(state.score > 1)
        fresh = np.setdiff1d(fresh, columns.used, assume_unique=True)
        if x.size + fresh.size > self.most:
            return None
        if fresh.size:
            columns = columns.widened(fresh)
            order = np.argsort(columns.used)
            columns, x = columns.subset(order), np.concatenate([x, np.zeros(fresh.size)])[order]
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
        positive = x > 0
        return self.at(columns.subset(positive), x[positive] / x.sum())


def constrained(
    channel: LikelihoodOperator, w: np.ndarray, target: float, near: np.ndarray | None = None
) -> Solution:
    """Maximise by constrained Newton steps on the shares above 0 (Wang 2007), fast if few."""
    # A step adds values at which the score has a local maximum above 1, solves the quadratic model
    # over theta >= 0, is halved until f falls enough, and drops the shares that became 0.
    method = _Constrained(channel, w)
    start = method.start(near)
    if start is None:
        return uniform(channel.shape[1]), 0, False
    return _solve(start, method.step, target, _STEPS)


def _peaks(s: np.ndarray) -> np.ndarray:
    """Values at which the score is above 1 and no neighbour's is higher."""
    padded = np.concatenate([[-np.inf], s, [-np.inf]])
    return np.flatnonzero((s > 1) & (s >= padded[:-2]) & (s > padded[2:]))


def _sufficient(
    w: np.ndarray, d: np.ndarray, moved: np.ndarray, growth: float, slope: float
) -> float:
    """The first of 1, 1/2, .. that lowers f by part of what its slope says (Armijo), or 0."""
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
    """Minimise x' H x / 2 + c' x over x >= 0 by block principal pivoting (Kim and Park 2011)."""
    # All variables with negative x or multiplier change at once while their number falls, else one
    # at a time, which ends.
    size = linear.size
    free, fewest, patience = start.copy(), size + 1, 3
    scale = np.abs(linear).max()
    for _ in range(10 * size + 100):
        index = np.flatnonzero(free)
        x = np.zeros(size)
        if index.size:
            solve = positive_solver(hessian[np.ix_(index, index)])
            if solve is None:
                return None
            x[index] = solve(-linear[index])
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
