"""The weights of a channel's rows for which an estimate varies least, and a bound (METHODS 1).

A private channel is a sum of rows ``w_i q_i``. Of those that keep epsilon, the extreme ones have
the entries 1 and e = exp(epsilon) alone (Kairouz, Oh and Viswanath 2016; Holohan et al. 2017).
Where only some values are protected, rows may name one other value too. With the shares theta,

    J(w) = sum_i w_i q_i q_i' / (q_i . theta),     f(w) = tr(W J(w)^-1)

is the variance of one report's contribution to the loss, where W theta = 0. So the best channel is

    minimise f(w)    subject to    sum_i w_i q_i = 1,   w >= 0

It is convex, as an A-optimal design. Rows that may lower f are found by pricing and added.

Bound: with M = J^-1 W J^-1 at any w, and mu such that q'Mq / (q . theta) <= q . mu for every q,

    f(w') >= f(w)^2 / sum(mu)    for every channel w'

because f(w') tr(M J(w')) >= tr(W J^-1)^2 by Cauchy and Schwarz, and
tr(M J(w')) <= sum_i w'_i q_i . mu = sum(mu).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from warner._core.extras import scipy

EXHAUSTIVE = 20  # values, up to which all 2^K rows are priced
_BLOCK = 13  # values whose patterns are priced at once, as a table
_GAP = 1e-7  # relative, at which a search of all rows ends
_LOCAL_GAP = 1e-3  # relative, at which another search ends, of the rows that it finds
_LOCAL_GAIN = 2e-5  # relative, of one round, below which it ends too
_ROUNDS = 120
_TIGHT = 1e-7  # of the sum of the multipliers, below which a row is as good as the best
_SOLID = 1e-8  # of the loss of all shares
_WORK = 6e11  # multiplications after which a search that is not exhaustive ends


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised: the largest over C pairs of shares and losses of tr(W_c J_c^-1)."""

    e: float
    priors: np.ndarray  # (C, K), rows sum to 1
    losses: np.ndarray  # (C, K, K) positive semidefinite, with W theta = 0
    open_values: np.ndarray  # (K,) booleans: values that a row may name

    @property
    def size(self) -> int:
        return int(self.priors.shape[1])

    @classmethod
    def of(cls, e: float, priors: np.ndarray, loss: np.ndarray, open_values: np.ndarray) -> Problem:
        """The problem of one loss W (K, K) at several shares."""
        # Errors of shares sum to 0, so that W and (1 - 1 theta')W(1 - theta 1') judge them alike,
        # and J^-1 = V + theta theta' with the covariance V: of the latter the trace is tr(W V).
        centres = np.eye(priors.shape[1]) - priors[:, None, :]
        return cls(e, priors, centres @ loss @ centres.transpose(0, 2, 1), open_values)

    def solid(self) -> Problem:
        """The problem with a little of the loss of all shares."""
        # A loss of few directions leaves others free, in which the information may be 0.
        unit = np.trace(self.losses, axis1=1, axis2=2)[:, None, None] * np.eye(self.size)
        return replace(self, losses=self.losses + _SOLID / self.size * unit)

    def rows(self, members: np.ndarray) -> np.ndarray:
        """The rows of patterns: e at members, else 1; members (m, K) booleans."""
        return np.where(members, self.e, 1.0)

    def named(self) -> np.ndarray:
        """The rows that name one value, (u, K)."""
        return np.asarray(np.eye(self.size)[self.open_values])


@dataclass(frozen=True, eq=False)
class _Solution:
    """The best weights of given rows, with the multipliers of the constraints."""

    weights: np.ndarray  # (m,)
    multipliers: np.ndarray  # (K,), mu
    mixture: np.ndarray  # (C,), which prior counts
    values: np.ndarray  # (C,), f of each prior
    matrices: np.ndarray  # (C, K, K), M of each prior, times its part in the mixture

    def mean(self, problem: Problem) -> np.ndarray:
        """The mean of the priors, by their parts in the mixture, (K,)."""
        return np.asarray(self.mixture / self.mixture.sum() @ problem.priors)


def information(rows: np.ndarray, weights: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """J(w) at one prior. Shapes: rows (m, K), weights (m,), prior (K,) -> (K, K)."""
    return np.asarray((rows * (weights / (rows @ prior))[:, None]).T @ rows)


def variance(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> float:
    """What the problem minimises, of these rows. Shapes: rows (m, K), weights (m,)."""
    values = [
        float(np.sum(loss * np.linalg.pinv(information(rows, weights, prior), hermitian=True)))
        for prior, loss in zip(problem.priors, problem.losses, strict=True)
    ]
    return max(values)


def solve_weights(problem: Problem, rows: np.ndarray, tolerance: float) -> _Solution:
    """The best weights of rows (m, K), by an interior-point method of Newton steps."""
    (m, size), count = rows.shape, len(problem.priors)
    scaled = [rows / np.sqrt(rows @ prior)[:, None] for prior in problem.priors]
    w = np.full(m, size / rows.sum())
    mixture = np.full(count, 1 / count)

    def at(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inverse = np.stack([np.linalg.inv((v * w[:, None]).T @ v) for v in scaled])
        inverse = (inverse + inverse.transpose(0, 2, 1)) / 2
        return inverse, inverse @ problem.losses @ inverse

    inverse, matrix = at(w)
    value = np.einsum("cxy,cyx->c", problem.losses, inverse)
    gains = np.stack(
        [np.einsum("ix,xy,iy->i", v, a, v) for v, a in zip(scaled, matrix, strict=True)]
    )
    mu = np.full(size, float((mixture @ gains / rows.sum(axis=1)).max()) * 1.1)
    z = np.maximum(rows @ mu - mixture @ gains, 1e-3 * mu[0])
    top = float(value.max()) * 1.1 + 1e-3
    slack = top - value
    for _ in range(100):
        inverse, matrix = at(w)
        value = np.einsum("cxy,cyx->c", problem.losses, inverse)
        hessian, gains = np.diag(z / w), np.empty((count, m))
        for c, v in enumerate(scaled):
            heard = v @ matrix[c] @ v.T
            gains[c] = np.diag(heard)
            hessian = hessian + mixture[c] * 2 * heard * (v @ inverse[c] @ v.T)
        stationary = rows @ mu - mixture @ gains - z
        feasible, level = 1 - rows.T @ w, value + slack - top
        gap, scale = float(w @ z + mixture @ slack), float(np.abs(mixture @ value))
        off = max(np.abs(stationary).max(), np.abs(level).max())
        met = gap < tolerance * scale and off < tolerance * scale
        # Below the last digits of floats nothing more is gained.
        if (met and np.abs(feasible).max() < 1e-11) or gap < 1e-15 * scale:
            break
        target = 0.1 * gap / (m + count)
        # The unknowns are w, then the mixture, mu and the level that bounds all f.
        border = np.hstack([-gains.T, rows, np.zeros((m, 1))])
        right = np.column_stack([border, target / w - z - stationary])
        hessian[np.diag_indices(m)] += 1e-14 * float(np.trace(hessian)) / m
        solved = scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(hessian, overwrite_a=True, check_finite=False), right
        )
        corner = np.zeros((count + size + 1,) * 2)
        corner[:count, :count] = -np.diag(slack / mixture)
        corner[:count, -1] = corner[-1, :count] = -1
        residual = np.concatenate([slack - target / mixture - level, feasible, [mixture.sum() - 1]])
        step = np.linalg.solve(
            corner - border.T @ solved[:, :-1], residual - border.T @ solved[:, -1]
        )
        dw = solved[:, -1] - solved[:, :-1] @ step
        d_mixture, d_mu, d_top = step[:count], step[count:-1], float(step[-1])
        dz = target / w - z - z / w * dw
        d_slack = target / mixture - slack - slack / mixture * d_mixture
        primal = min(_longest(w, dw), _longest(slack, d_slack))
        dual = min(_longest(z, dz), _longest(mixture, d_mixture))
        w, slack, top = w + primal * dw, slack + primal * d_slack, top + primal * d_top
        mu, z, mixture = mu + dual * d_mu, z + dual * dz, mixture + dual * d_mixture
    else:
        inverse, matrix = at(w)
        value = np.einsum("cxy,cyx->c", problem.losses, inverse)
    return _Solution(w, mu, mixture, value, mixture[:, None, None] * matrix)


def polished(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights (m,) after Newton steps on these rows (m, K) alone, all of which stay above 0."""
    # An interior point is as near as its last gap; these steps are as near as floats are, so that
    # machines agree.
    m, size = rows.shape
    for _ in range(3):
        solution = multipliers(problem, rows, weights)
        curvature, slope = np.zeros((m, m)), np.zeros(m)
        for share, matrix, prior in zip(
            solution.mixture, solution.matrices, problem.priors, strict=True
        ):
            inverse = np.linalg.pinv(information(rows, weights, prior), hermitian=True)
            scaled = rows / (rows @ prior)[:, None] ** 0.5
            heard = scaled @ matrix @ scaled.T
            curvature += 2 * heard * (scaled @ inverse @ scaled.T) * (share > 0)
            slope += np.diag(heard)
        # In parts of the weights and of the size of the loss, all entries are of one order.
        level = float(solution.values @ solution.mixture)
        system, parts = np.zeros((m + size,) * 2), rows * weights[:, None]
        system[:m, :m] = curvature * weights[:, None] * weights / level
        system[:m, m:], system[m:, :m] = parts, parts.T
        right = np.concatenate([slope * weights / level, 1 - parts.sum(axis=0)])
        step = np.linalg.lstsq(system, right, rcond=1e-13)[0][:m]
        if not (np.abs(step) < 0.5).all():
            break
        weights = weights * (1 + step)
    return weights


def _longest(values: np.ndarray, change: np.ndarray) -> float:
    """The longest step, at most 1, that keeps positive values positive."""
    falling = change < 0
    if not falling.any():
        return 1.0
    return min(1.0, 0.95 * float((-values[falling] / change[falling]).min()))


# -------------------------------------------------------------------------------------------------
# Pricing: a row q lowers the variance where r(q) > 0,
#     r(q) = (sum_c q'M_c q / (q . theta_c) - q . mu) / (q . theta).


def _gains(problem: Problem, matrices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """q'M_c q / (q . theta_c) of rows. Shapes: matrices (C, K, K), rows (m, K) -> (C, m)."""
    return np.stack(
        [
            np.einsum("ix,ix->i", rows @ matrix, rows) / (rows @ prior)
            for matrix, prior in zip(matrices, problem.priors, strict=True)
        ]
    )


def excess(problem: Problem, solution: _Solution, rows: np.ndarray) -> np.ndarray:
    """r(q) of rows; above 0 a row lowers the variance. Shapes: rows (m, K) -> (m,)."""
    gain = _gains(problem, solution.matrices, rows).sum(axis=0)
    mean = solution.mean(problem)
    return np.asarray((gain - rows @ solution.multipliers) / (rows @ mean))


def _all_excesses(problem: Problem, solution: _Solution) -> np.ndarray:
    """r(q) of all rows, (2^K,): row i has e at the values whose bit of i is set."""
    # A row is a pattern of the first values beside one of the last values, so that a quadratic form
    # is a sum of two tables and a product.
    size = problem.size
    low = min(size, _BLOCK)
    a, b = (problem.rows(_members(np.arange(2**k), k)) for k in (low, size - low))
    mean = solution.mean(problem)
    mu = solution.multipliers
    scores = -((a @ mu[:low])[None, :] + (b @ mu[low:])[:, None])
    for matrix, prior in zip(solution.matrices, problem.priors, strict=True):
        inner = np.einsum("ix,ix->i", a @ matrix[:low, :low], a)
        outer = np.einsum("ix,ix->i", b @ matrix[low:, low:], b)
        cross = (b @ (2 * matrix[low:, :low])) @ a.T
        total = (a @ prior[:low])[None, :] + (b @ prior[low:])[:, None]
        scores += (inner[None, :] + outer[:, None] + cross) / total
    scores /= (a @ mean[:low])[None, :] + (b @ mean[low:])[:, None]
    return np.asarray(scores.ravel())


def _members(codes: np.ndarray, size: int) -> np.ndarray:
    """The values whose bit of a code is set. Shapes: codes (m,) -> (m, K) booleans."""
    return (codes[:, None] >> np.arange(size) & 1).astype(bool)


def _price_all(problem: Problem, solution: _Solution, most: int) -> tuple[np.ndarray, float]:
    """The members of up to ``most`` rows that lower the variance, and the largest r(q) of all."""
    scores = _all_excesses(problem, solution)
    # Rows that no change of one value improves differ from each other, and so help most together.
    peak, codes = scores > 0, np.arange(scores.size)
    for x in range(problem.size):
        peak &= scores >= scores[codes ^ (1 << x)]
    best = np.flatnonzero(peak)
    best = best[np.argsort(-scores[best], kind="stable")][:most]
    return _members(best, problem.size), float(scores.max())


def tight_rows(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """All rows that a best design may have, where these rows with weights are one: (m', K)."""
    solution = multipliers(problem, rows, weights)
    level = -_TIGHT * float(solution.multipliers.sum())
    codes = np.flatnonzero(_all_excesses(problem, solution) > level)
    named = problem.named()
    named = named[excess(problem, solution, named) > level] if len(named) else named
    return np.vstack([problem.rows(_members(codes, problem.size)), named])


def _climb(problem: Problem, solution: _Solution, members: np.ndarray, most: int) -> np.ndarray:
    """Up to ``most`` rows that no change of one value improves. Members (s, K)."""
    members = np.unique(members, axis=0)
    rows, step = problem.rows(members), problem.e - 1
    mean, mu = solution.mean(problem), solution.multipliers
    products = [rows @ matrix for matrix in solution.matrices]
    for _ in range(3 * problem.size):
        # One value x changes by d: q'Mq by 2 d (Mq)_x + d^2 M_xx, and q . v by d v_x.
        change = np.where(rows > 1, -step, step)
        scores = -((rows @ mu)[:, None] + change * mu)
        now = -(rows @ mu)
        for product, matrix, prior in zip(products, solution.matrices, problem.priors, strict=True):
            form, chance = np.einsum("ix,ix->i", product, rows), rows @ prior
            changed = form[:, None] + change * (2 * product + change * np.diag(matrix))
            scores += changed / (chance[:, None] + change * prior)
            now += form / chance
        scores /= (rows @ mean)[:, None] + change * mean
        now /= rows @ mean
        best = scores.argmax(axis=1)
        better = np.flatnonzero(scores.max(axis=1) > now + 1e-12 * np.abs(now).max())
        if better.size == 0:
            break
        moved = change[better, best[better]]
        rows[better, best[better]] = np.where(moved > 0, problem.e, 1.0)
        for product, matrix in zip(products, solution.matrices, strict=True):
            product[better] += moved[:, None] * matrix[best[better]]
    rows = np.unique(rows, axis=0)
    scores = excess(problem, solution, rows)
    order = np.argsort(-scores, kind="stable")[:most]
    return np.asarray(rows[order[scores[order] > 0]] > 1)


def _bound_of_all(problem: Problem, solution: _Solution) -> float | None:
    """An upper bound of r(q) over all 2^K rows; None with several priors."""
    # With one prior, r(q) <= v if q'N(v) q <= 0 for all q, N(v) = M - (mu theta' + theta mu') / 2 -
    # v theta theta'. The largest q'Nq is at most sum(D) for each diagonal D with D - B positive
    # semidefinite, B the form of N in signs: the dual of the semidefinite relaxation.
    if len(problem.priors) > 1:
        return None
    prior, mu = problem.priors[0], solution.multipliers
    half = np.outer(mu, prior) / 2
    matrix = solution.matrices[0] / solution.mixture[0]
    middle, radius = (problem.e + 1) / 2, (problem.e - 1) / 2
    size = problem.size
    signs = np.hstack([radius * np.eye(size), np.full((size, 1), middle)])
    rank = int(np.sqrt(2 * (size + 1))) + 2
    vectors = np.random.default_rng(0).standard_normal((size + 1, rank))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def largest(level: float) -> float:
        form = signs.T @ (matrix - half - half.T - level * np.outer(prior, prior)) @ signs
        diagonal = np.diag(form).copy()
        off = form - np.diag(diagonal)
        for _ in range(100):
            for i in range(size + 1):
                direction = off[i] @ vectors
                vectors[i] = direction / max(float(np.linalg.norm(direction)), 1e-300)
        shifted = diagonal + np.linalg.norm(off @ vectors, axis=1)
        missing = float(np.linalg.eigvalsh(form - np.diag(shifted))[-1])
        return float(shifted.sum()) + (size + 1) * max(missing, 0.0)

    low, high = 0.0, max(largest(0.0), 0.0)  # q . theta >= 1, so r(q) <= the largest q'N(0) q
    for _ in range(12):
        if high <= 1e-6 * float(np.abs(mu).sum()):
            break
        level = (low + high) / 2
        low, high = (low, level) if largest(level) <= 0 else (level, high)
    return high


# -------------------------------------------------------------------------------------------------
# The search.


def _start(size: int) -> np.ndarray:
    """Members of intervals of neighbouring values and of all others, (s, K) booleans."""
    index = np.arange(size)
    spans = {
        tuple((index >= a) & (index < a + length))
        for length in {1, 2, max(1, size // 4), max(1, size // 3), max(1, size // 2)}
        for a in range(size - length + 1)
    }
    members = np.array(sorted(span for span in spans if not all(span)))
    return np.unique(np.vstack([members, ~members]), axis=0)


def best_design(problem: Problem, gap: float = _GAP) -> tuple[np.ndarray, np.ndarray]:
    """The rows (m, K) and weights (m,) of the least variance, up to this part of it."""
    size = problem.size
    solid = problem.solid()
    exhaustive = size <= EXHAUSTIVE
    members, named = _start(size), problem.named()
    rng = np.random.default_rng(0)
    work, tolerance, before = 0.0, 1e-4, np.inf
    for _ in range(_ROUNDS):
        rows = np.vstack([problem.rows(members), named])
        solution = solve_weights(solid, rows, tolerance)
        work += 20 * len(rows) ** 3
        if exhaustive:
            better, largest = _price_all(solid, solution, max(60, 4 * size))
        else:
            starts = [members, ~members, rng.random((4 * size, size)) < rng.random((4 * size, 1))]
            better = _climb(solid, solution, np.vstack(starts), 4 * size)
            largest = float(excess(solid, solution, solid.rows(better)).max(initial=0.0))
        total = float(solution.multipliers.sum())
        apart = max(largest, 0.0) / total
        if (apart < gap and tolerance <= gap) or work > _WORK:
            break
        if not exhaustive and apart < _LOCAL_GAP:
            break
        value = float(solution.values.max())
        # Where weights at this tolerance do not get better, rows come and go for ever.
        gain = 1 - value / before
        if not exhaustive and gain < _LOCAL_GAIN and tolerance <= 1e-5:
            break
        if apart < 100 * tolerance or len(better) == 0 or gain < tolerance:
            tolerance = max(tolerance / 100, gap / 10)
        before = value
        weights = solution.weights[: len(members)]
        heavy = members[weights > tolerance * weights.max()]
        members = np.unique(np.vstack([heavy, better]), axis=0)
    return rows, solution.weights


def lower_bound(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> float:
    """What no channel is below, judged from rows (m, K) and weights (m,); 0 if not known."""
    solution = multipliers(problem, rows, weights)
    if problem.size <= EXHAUSTIVE:
        _, largest = _price_all(problem, solution, 1)
    else:
        every = _bound_of_all(problem, solution)
        if every is None:
            return 0.0
        largest = every
    named = excess(problem, solution, problem.named()).max(initial=0.0)
    value, total = float(solution.mixture @ solution.values), float(solution.multipliers.sum())
    most = total + max(largest, float(named), 0.0)
    return value**2 / most if most > 0 else 0.0


def multipliers(problem: Problem, rows: np.ndarray, weights: np.ndarray) -> _Solution:
    """The multipliers at which rows with weights are as they would be at the best design."""
    # There q . mu = sum_c mixture_c q'M_c q / (q . theta_c) for each row with a weight above 0.
    inverse = [
        np.linalg.pinv(information(rows, weights, prior), hermitian=True)
        for prior in problem.priors
    ]
    matrices = inverse @ problem.losses @ inverse
    values = np.einsum("cxy,cyx->c", problem.losses, inverse)
    # Only priors at which the variance is largest count. Their parts and mu solve linear equations.
    counts = values > values.max() * (1 - 1e-5)
    gained, root = _gains(problem, matrices, rows)[counts].T, np.sqrt(weights)[:, None]
    mixture = np.zeros(len(counts))
    if counts.sum() == 1:
        mixture[counts] = 1.0
        mu = np.linalg.lstsq(rows * root, (gained * root)[:, 0], rcond=None)[0]
    else:
        left = np.hstack([gained, -rows]) * root
        weight_of_sum = float(np.abs(left).max()) * 1e3
        left = np.vstack(
            [left, weight_of_sum * np.r_[np.ones(counts.sum()), np.zeros(problem.size)]]
        )
        solved = np.linalg.lstsq(left, np.r_[np.zeros(len(rows)), weight_of_sum], rcond=None)[0]
        mixture[counts] = np.maximum(solved[: counts.sum()], 1e-9)
        mixture /= mixture.sum()
        mu = solved[counts.sum() :]
    return _Solution(weights, mu, mixture, values, mixture[:, None, None] * matrices)
