"""Maximum likelihood with a certificate (METHODS 0, 4).

    maximise l(theta) = sum_y w_y log (A theta)_y   over the simplex

The score s = A' (w / A theta) has theta . s = 1, and by concavity no distribution beats theta by more than
gap = max_x s_x - 1 nats per row. Every solver here stops on that number, and every fit reports it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from warner._check import ArgumentError, ImpossibleReportError, message, real, show
from warner.channel import Channel, DirectChannel, StackChannel, SupportChannel, SupportRows
from warner.estimate import Fit, Status
from warner.estimators._base import Estimator
from warner.estimators.uniqueness import Uniqueness, uniqueness
from warner.evidence import Evidence

_STEPS = 200  # interior-point steps; 15 to 40 are usual
_BOUNDARY = 0.995  # how far a step may go towards the boundary


def score(channel: Channel, w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """s = A' (w / A theta), (K,); rows that were not seen do not count."""
    d = channel.matvec(theta)
    return channel.rmatvec(np.divide(w, d, out=np.zeros_like(d), where=w > 0))


def gap(channel: Channel, w: np.ndarray, theta: np.ndarray) -> float:
    """Nats per report by which the maximum can exceed l(theta), theta on the simplex."""
    return max(0.0, float(score(channel, w, theta).max()) - 1) * channel.copies


def log_likelihood(channel: Channel, w: np.ndarray, theta: np.ndarray) -> float:
    """sum_y w_y log (A theta)_y in nats per report, up to a constant; -inf where a seen report has probability 0.

    Where reports count for several rows, rows are rescaled to be probabilities: log(copies * row).
    """
    seen = w > 0
    d = channel.matvec(theta)[seen] * channel.copies
    return float(channel.copies * (w[seen] @ np.log(d))) if (d > 0).all() else -np.inf


def name_of(channel: Channel) -> str:
    """Which likelihood the channel's rows give."""
    return "quasi-likelihood of the support counts" if channel.copies > 1 else "likelihood of the reports"


def finish(evidence: Evidence, theta: np.ndarray, status: Status, iterations: int | None) -> Fit:
    """A fit with its certificate."""
    channel, w = evidence.channel, evidence.weights
    return Fit(theta, status, gap(channel, w, theta), iterations, evidence.n * log_likelihood(channel, w, theta), name_of(channel))


def require_possible(channel: Channel, w: np.ndarray) -> None:
    """Refuse reports that have probability zero under every value."""
    impossible = (w > 0) & (channel.matvec(np.ones(channel.shape[1])) <= 0)
    if impossible.any():
        raise ImpossibleReportError(
            message(
                "reports",
                f"{np.count_nonzero(impossible)} of the reports seen have probability 0 under every value",
                None,
                "They cannot come from this mechanism: check the channel",
            )
        )


def direct(channel: DirectChannel, w: np.ndarray) -> np.ndarray:
    """Randomised response in closed form, O(K log K), utility-optimised too.

    l = sum_y w_y log(theta_y + a_y) with a = q / (p - q), 0 for a report that only y itself makes. Stationarity gives
    theta_y = max(0, w_y / lambda - a_y), so y is positive where w_y / a_y > lambda: in the order of that ratio the first k
    are, their sum 1 = W_k / lambda - a_1 .. - a_k fixes lambda = W_k / (1 + A_k), and k is the largest for which the k-th
    stays positive.
    """
    a = channel.q / channel.gap
    ratio = np.divide(w, a, out=np.where(w > 0, np.inf, 0.0), where=a > 0)
    order = np.argsort(-ratio)
    multiplier = np.cumsum(w[order]) / (1 + np.cumsum(a[order]))
    k = np.flatnonzero(ratio[order] > multiplier)[-1]
    theta = np.maximum(w / multiplier[k] - a, 0.0)
    return theta / theta.sum()


def separable(channel: SupportChannel, w: np.ndarray) -> np.ndarray:
    """Bit sums: maximise sum_x s_x log(a + theta_x) + (1 - s_x) log(b - theta_x), a = q / (p - q), b = (1 - q) / (p - q), per x.

    Each theta_x is explicit in the multiplier lambda of sum theta = 1: with t = a + theta and c = a + b, stationarity
    s / t - (1 - s) / (c - t) = lambda is lambda t^2 - (1 + lambda c) t + s c = 0, whose root in (0, c) is
    t = 2 s c / (1 + lambda c + sqrt((1 + lambda c)^2 - 4 lambda s c)). Then lambda is the root of a decreasing function.
    """
    from scipy.optimize import brentq

    a, c = channel.q / channel.gap, 1 / channel.gap
    s = channel.shares(w)

    def theta(multiplier: float) -> np.ndarray:
        slope = 1 + multiplier * c
        # (1 + lambda c)^2 - 4 lambda s c = (1 - lambda c)^2 + 4 lambda c (1 - s): each form is a sum of squares on its side.
        root = np.sqrt((1 - multiplier * c) ** 2 + 4 * multiplier * c * (1 - s) if multiplier > 0 else slope**2 - 4 * multiplier * c * s)
        near = np.divide(2 * s * c, slope + root, out=np.zeros_like(s), where=slope > 0)
        t = near if multiplier >= 0 else np.where(slope > 0, near, (slope - root) / (2 * multiplier))
        return np.maximum(t - a, 0.0)

    def excess(multiplier: float) -> float:
        return float(theta(multiplier).sum()) - 1

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low *= 2
    while excess(high) > 0:
        high *= 2
    best = theta(brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    return best / best.sum()


def budgets(channel: StackChannel, w: np.ndarray) -> np.ndarray:
    """Randomised response with several budgets, infinite ones included [P1]: separable, O(K) a step (METHODS 4.2).

    l = sum_x sum_g w_gx log(theta_x + a_g) + const, a_g = q_g / (p_g - q_g). For a multiplier lambda each theta_x solves
    h(theta) = sum_g w_gx / (theta + a_g) = lambda, or is 0 where h(0) <= lambda. h falls and is convex, so Newton's steps from
    the left, from the largest root that one term alone gives, rise to the root without passing it; likewise lambda, because
    sum_x theta_x falls and is convex in it.
    """
    a = np.stack([c.q / c.gap for c in channel.channels if isinstance(c, DirectChannel)])
    weights = np.stack(channel.split(w))

    def shares(multiplier: float) -> tuple[np.ndarray, float]:
        """theta at a multiplier, and the derivative of its sum."""
        theta = np.maximum((weights / multiplier - a).max(axis=0), 0.0)
        for _ in range(60):
            terms = np.divide(weights, theta + a, out=np.zeros_like(weights), where=weights > 0)
            slope = np.divide(terms, theta + a, out=np.zeros_like(weights), where=weights > 0).sum(axis=0)
            rise = np.divide(terms.sum(axis=0) - multiplier, slope, out=np.zeros_like(theta), where=slope > 0)
            moved = np.maximum(theta + rise, 0.0)
            done = bool((np.abs(moved - theta) <= 1e-15 + 1e-14 * moved).all())
            theta = moved
            if done:
                break
        inner = (theta > 0) & (slope > 0)
        return theta, -float((1 / slope[inner]).sum())

    # Here the heaviest value alone gets a share of at least 1, so the root lies to the right.
    multiplier = float(weights.sum(axis=0).max()) / (1 + float(a.max()))
    for _ in range(200):
        theta, slope = shares(multiplier)
        step = (1 - float(theta.sum())) / slope
        if abs(step) <= 1e-15 * multiplier:
            break
        multiplier = max(multiplier + step, multiplier / 2)
    return theta / theta.sum()


def interior_point(channel: Channel, w: np.ndarray, target: float) -> tuple[np.ndarray, int, bool]:
    """Any channel: a primal-dual interior-point method, certified; (theta, steps, whether the gap was reached).

    The sum constraint is dropped: minimise f = -l(theta) + sum theta over theta >= 0, whose solution sums to one by itself.
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
        gradient = 1 - channel.rmatvec(np.divide(w, d, out=np.zeros_like(d), where=w > 0))
        barrier = min(barrier, 0.1 * float(theta @ z) / size)
        hessian = channel.gram(np.divide(w, d**2, out=np.zeros_like(d), where=w > 0))
        hessian[np.diag_indices(size)] += z / theta
        for ridge in (0.0, 1e-14, 1e-11, 1e-8):
            try:
                factor = cho_factor(hessian + ridge * np.diag(hessian.diagonal()), check_finite=False)
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
    return _clean(channel, w, best, z, max(best_gap, target)), steps, best_gap <= target


def sequential(channel: Channel, w: np.ndarray, target: float) -> tuple[np.ndarray, int, bool]:
    """Pure rows, many of them: sequential quadratic programming with one Hessian, certified; (theta, steps, reached).

    Minimise f = -l(theta) + sum theta over theta >= 0 as in :func:`interior_point`. Rows are nearly constant, so d = A theta
    hardly changes and the Hessian at the start serves to the end: one Gram product, then one pass over the rows a step, each of
    which shrinks the gap about eightfold (METHODS 4.3). A step that does not is taken with a new Hessian.
    """
    size = channel.shape[1]
    theta = np.full(size, 1 / size)
    hessian: np.ndarray | None = None
    best, best_gap, last, z = theta, np.inf, np.inf, np.zeros(size)
    steps = 0
    while steps < _STEPS // 4:
        d = channel.matvec(theta)
        gradient = 1 - channel.rmatvec(w / d)
        found = max(0.0, -float(gradient.min())) * channel.copies
        if found < best_gap:
            best, best_gap, z = theta, found, np.maximum(gradient, 0.0)
        if best_gap <= target:
            break
        if hessian is None or found > 0.5 * last:
            hessian = channel.gram(w / d**2)
            hessian[np.diag_indices(size)] *= 1 + 1e-10
        last = found
        aim = nonnegative_quadratic(hessian, gradient - hessian @ theta, theta > 0)
        if aim is None:
            break
        theta = _halved(channel, w, theta, aim - theta)
        steps += 1
    return _clean(channel, w, best, z, max(best_gap, target)), steps, best_gap <= target


def nonnegative_quadratic(hessian: np.ndarray, linear: np.ndarray, start: np.ndarray) -> np.ndarray | None:
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
                x[index] = cho_solve(cho_factor(hessian[np.ix_(index, index)], check_finite=False), -linear[index], check_finite=False)
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


def _halved(channel: Channel, w: np.ndarray, theta: np.ndarray, move: np.ndarray) -> np.ndarray:
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
    return min(1.0, _BOUNDARY * float((v[falling] / -move[falling]).min())) if falling.any() else 1.0


def _shorten(channel: Channel, w: np.ndarray, theta: np.ndarray, move: np.ndarray, barrier: float) -> np.ndarray:
    """theta + step * move with the step halved until the barrier function does not rise."""

    def value(point: np.ndarray) -> float:
        seen = w > 0
        return float(point.sum() - w[seen] @ np.log(channel.matvec(point)[seen]) - barrier * np.log(point).sum())

    here, step = value(theta), _limit(theta, move)
    while step > 1e-6 and value(theta + step * move) > here + 1e-12 * abs(here):
        step /= 2
    return theta + step * move


def _clean(channel: Channel, w: np.ndarray, theta: np.ndarray, z: np.ndarray, allowed: float) -> np.ndarray:
    """Values that are absent, at exactly 0, unless that costs more than the gap allowed.

    The multipliers say which; where a value is absent and its multiplier is 0 too (the degenerate case of METHODS 4.5) both
    are small together, and small shares are tried instead, the most first.
    """
    small = [theta < cut for cut in (1e-3, 1e-4, 1e-5, 1e-6) if ((theta > 0) & (theta < cut)).any()]
    for absent in (z > theta, *small):
        sharp = np.where(absent, 0.0, theta)
        if sharp.sum() <= 0:
            continue
        sharp /= sharp.sum()
        if np.isfinite(log_likelihood(channel, w, sharp)) and gap(channel, w, sharp) <= allowed:
            theta = sharp
    return theta


_EXACT: dict[type[Channel], Callable[..., np.ndarray]] = {DirectChannel: direct, SupportChannel: separable}


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    """argmax_theta sum_y w_y log (A theta)_y over the simplex, to a certified optimality gap.

    Closed form for randomised response, Newton's method in one number for several budgets of it, a one-dimensional root for
    bit sums (whose likelihood is the named quasi-likelihood of the support counts), sequential quadratic programming for local
    hashing and for whole reports of bits, an interior-point method for every other channel.

    Args:
        gap: nats per report by which the maximum may exceed what is returned; the fit's ``gap`` is the bound that holds.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: METHODS 4; [P4 sec IV-VIII] for what the maximum is and when it is unique.

    >>> MaximumLikelihood()
    MaximumLikelihood(gap=1e-09)
    """

    gap: float = 1e-9

    def __post_init__(self) -> None:
        if real("gap", self.gap) <= 0:
            raise ArgumentError(message("gap", "must be positive", show(self.gap)))

    def fit(self, evidence: Evidence) -> Fit:
        channel, w = evidence.channel, evidence.weights
        require_possible(channel, w)
        steps: int | None = None
        solve = _EXACT.get(type(channel))
        if isinstance(channel, StackChannel) and all(isinstance(c, DirectChannel) for c in channel.channels):
            solve = budgets
        if solve is not None:
            theta = solve(channel, w)
            reached = gap(channel, w, theta) <= self.gap
            only = Uniqueness.UNIQUE  # a sum of strictly concave functions of one share each; values unseen only lose by a share
        else:
            rows, weights = channel.seen(w)
            theta, steps, reached = self._iterate(rows, weights)
            only = uniqueness(rows, weights, theta, score(rows, weights, theta)) if reached else Uniqueness.NOT_CERTIFIED
        return replace(finish(evidence, theta, Status.CONVERGED if reached else Status.STEP_LIMIT, steps), unique=only.value)

    def _iterate(self, rows: Channel, weights: np.ndarray) -> tuple[np.ndarray, int, bool]:
        steps, reached = 0, False
        if isinstance(rows, SupportRows):
            theta, steps, reached = sequential(rows, weights, self.gap)
        if not reached:
            theta, more, reached = interior_point(rows, weights, self.gap)
            steps += more
        return theta, steps, reached
