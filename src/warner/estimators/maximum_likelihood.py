"""Maximum likelihood with a certificate: closed forms, uniqueness, the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import choice
from warner._core.errors import (
    MismatchError,
)
from warner._core.extras import scipy
from warner.channels import (
    LARGEST_DENSE,
    LikelihoodOperator,
    NearlyConstantRows,
    SupportLaw,
)
from warner.estimators.base import (
    Estimator,
    Fit,
    LikelihoodData,
    Status,
    certify,
    gap,
    require_positive,
    require_possible,
    score,
    zero_small_shares,
)
from warner.estimators.newton import (
    accelerated,
    constrained,
    interior_point,
    projected,
    sequential,
)


def direct(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray:
    """The maximiser (K,) for randomised response, also utility-optimised, in O(K log K)."""
    # l = sum_y w_y log(theta_y + a_y), a_y = q / (p - q), 0 if only value y sends report y. At the
    # maximum theta_y = max(0, w_y / lambda - a_y): the first k in decreasing order of w_y / a_y are
    # positive, lambda = W_k / (1 + A_k) with sums of w_y and a_y, k the largest possible.
    law = _support_law(channel)
    a = law.q / law.gap
    ratio = np.divide(w, a, out=np.where(w > 0, np.inf, 0.0), where=a > 0)
    order = np.argsort(-ratio)
    multiplier = np.cumsum(w[order]) / (1 + np.cumsum(a[order]))
    k = np.flatnonzero(ratio[order] > multiplier)[-1]
    theta = np.maximum(w / multiplier[k] - a, 0.0)
    return np.asarray(theta / theta.sum())


def separable(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray:
    """The maximiser (K,) for bit sums: a sum of strictly concave functions of one share each."""
    #     maximise sum_x s_x log(a + theta_x) + (1 - s_x) log(b - theta_x)
    #     a = q / (p - q),   b = (1 - q) / (p - q),   for each value x
    # s_x is the share of reports with bit x. With t = a + theta, c = a + b and lambda the
    # multiplier of sum theta = 1, t = 2 s c / (1 + lambda c + sqrt((1 + lambda c)^2 - 4 lambda s
    # c)); lambda is the root of a decreasing function.
    law = _support_law(channel)
    a, c = law.q / law.gap, 1 / law.gap
    s = channel.support_shares(w)

    def theta(multiplier: float) -> np.ndarray:
        slope = 1 + multiplier * c
        # (1 + lambda c)^2 - 4 lambda s c = (1 - lambda c)^2 + 4 lambda c (1 - s). Each form is a
        # sum of squares on its side.
        root = np.sqrt(
            (1 - multiplier * c) ** 2 + 4 * multiplier * c * (1 - s)
            if multiplier > 0
            else slope**2 - 4 * multiplier * c * s
        )
        near = np.divide(2 * s * c, slope + root, out=np.zeros_like(s), where=slope > 0)
        t = (
            near
            if multiplier >= 0
            else np.where(slope > 0, near, (slope - root) / (2 * multiplier))
        )
        return np.asarray(np.maximum(t - a, 0.0))

    def excess(multiplier: float) -> float:
        return float(theta(multiplier).sum()) - 1

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low *= 2
    while excess(high) > 0:
        high *= 2
    best = theta(scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    return np.asarray(best / best.sum())


def budgets(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray:
    """The maximiser (K,) for several budgets, also infinite, of randomised response [P1]
    (METHODS 4.2).
    """
    #     l = sum_x sum_g w_gx log(theta_x + a_g) + const,   a_g = q_g / (p_g - q_g)
    # theta_x solves h_x(theta_x) = lambda, h_x(t) = sum_g w_gx / (t + a_g), or is 0 where h_x(0) <=
    # lambda. h_x is decreasing and convex, so Newton's method from the largest root of a single
    # term never passes the root; the same holds for lambda.
    laws = [_support_law(group) for group in channel.groups()]
    a = np.stack([law.q / law.gap for law in laws])
    weights = np.stack(np.split(w, len(laws)))

    def shares(multiplier: float) -> tuple[np.ndarray, float]:
        """theta at a multiplier, and the derivative of its sum."""
        theta = np.maximum((weights / multiplier - a).max(axis=0), 0.0)
        for _ in range(60):
            terms = np.divide(weights, theta + a, out=np.zeros_like(weights), where=weights > 0)
            slope = np.divide(terms, theta + a, out=np.zeros_like(weights), where=weights > 0).sum(
                axis=0
            )
            rise = np.divide(
                terms.sum(axis=0) - multiplier, slope, out=np.zeros_like(theta), where=slope > 0
            )
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
    return np.asarray(theta / theta.sum())


def _support_law(channel: LikelihoodOperator) -> SupportLaw:
    """The support law of a channel that has one."""
    law = channel.support_law()
    assert law is not None
    return law


_NEAR = 1e-4  # a score this close to 1 may be 1 at the maximiser itself
_EXACT = 1e-7  # a score this close is taken to be 1
_CLEAR = 1e-10  # smallest eigenvalue of unit columns' products above which they are independent
_DEPENDENT = 1e-14  # and below which, times their number, they are dependent
_LARGEST = 2000  # values; the check factorises a matrix of their products
_MOST_COLUMNS = 2**21  # of the columns that are formed for it; beyond, a Gram product in blocks


class Uniqueness(Enum):
    """Whether another distribution has the same, largest likelihood."""

    UNIQUE = "unique: no other shares fit the reports as well as these"
    NOT_UNIQUE = (
        "not unique: other shares fit the reports just as well, so do not rely on single shares; "
        "use another mechanism or fewer values"
    )
    TOO_LARGE = "perhaps not unique: with so many values and different reports, this is not checked"
    TOO_FAR = "perhaps not unique: the gap is too large to tell"
    TOO_CLOSE = "perhaps not unique: other shares fit the reports equally well, or nearly so"


def uniqueness(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, score: np.ndarray
) -> Uniqueness:
    """Whether ``theta`` (K,), a maximiser up to rounding errors, is the only one."""
    # First the rank of the observed rows on values that could have score 1, which is sufficient;
    # then a linear programme on those whose score is 1. TOO_CLOSE if the answer may depend on the
    # difference or on rounding errors.
    if channel.shape[1] > _LARGEST:
        return Uniqueness.TOO_LARGE
    if score.max() > 1 + _EXACT:
        return Uniqueness.TOO_FAR
    near = np.flatnonzero(score >= 1 - _NEAR)
    seen = np.flatnonzero(w > 0)
    if (
        seen.size * near.size > _MOST_COLUMNS
        and channel.shape[0] * channel.shape[1] > _MOST_COLUMNS
    ):
        # Columns that are independent on some of the rows are independent. The reverse need not
        # hold.
        if not channel.has_row_blocks:
            return Uniqueness.TOO_LARGE
        rows, block = next(channel.blocks())
        some = block[:, near][w[rows] > 0]
        return Uniqueness.UNIQUE if _lowest(_scaled(some)[0]) > _CLEAR else Uniqueness.TOO_LARGE
    products, norms = _scaled(channel.columns(near)[seen])
    if _lowest(products) > _CLEAR:
        return Uniqueness.UNIQUE
    among = np.flatnonzero(score[near] >= 1 - _EXACT)
    moves = _moves(products[np.ix_(among, among)], 1 / norms[among], theta[near[among]] > 0)
    if moves:
        return Uniqueness.NOT_UNIQUE
    return Uniqueness.UNIQUE if moves is False and among.size == near.size else Uniqueness.TOO_CLOSE


def _scaled(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C'C of scaled columns, and the scales of the columns.

    Each row is divided by its largest entry, then each column by its length. That changes no rank,
    and a row counts however rare it is, a column however weak.
    """
    high = columns.max(axis=1, keepdims=True)
    rows = columns / np.where(high > 0, high, 1.0)
    norms = np.sqrt((rows**2).sum(axis=0))
    norms[norms == 0] = 1.0
    rows = rows / norms
    return rows.T @ rows, norms


def _lowest(products: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(products)[0]) if len(products) else np.inf


def _moves(products: np.ndarray, ones: np.ndarray, positive: np.ndarray) -> bool | None:
    """Whether there is d != 0 with A d = 0, 1'd = 0 and d >= 0 off ``positive``.

    ``products`` is C'C with C = A / lengths, column by column. So d = d' / lengths with C d' = 0
    and ones'd' = 0, ``ones`` = 1 / lengths; signs are the same. With N a basis of the kernel,
    d' = N a. If d' can be positive somewhere off ``positive``, the linear programme that maximises
    the sum of those entries, each at most 1, finds it. If not, d' must vanish there and lie in the
    kernel of the other columns.
    """
    ones = ones / np.linalg.norm(ones) if len(ones) else ones
    values, vectors = np.linalg.eigh(products + np.outer(ones, ones))
    if ((values > _DEPENDENT * len(ones)) & (values <= _CLEAR)).any():
        return None
    kernel = vectors[:, values <= _DEPENDENT * len(ones)]
    if not kernel.shape[1]:
        return False
    border = kernel[~positive]
    if not len(border):
        return True
    limits = np.concatenate([-border, border])
    bound = np.concatenate([np.zeros(len(border)), np.ones(len(border))])
    optimum = scipy.optimize.linprog(
        -border.sum(axis=0), A_ub=limits, b_ub=bound, bounds=(None, None), method="highs"
    )
    if optimum.status == 0 and -optimum.fun > 1e-6:
        return True
    # Directions that leave the border alone.
    return bool(np.linalg.matrix_rank(border, tol=1e-7) < kernel.shape[1])


_Solver = Callable[[Any, np.ndarray, float], tuple[np.ndarray, int, bool]]
_PROJECTED_FROM = 512  # values, beyond which the projected gradient is the first solver
# Relative error of a score of bit sums, one report's worth of K bits.
_ROUNDING = 1e-13
_LARGEST_NEWTON = 4096  # values; beyond, a matrix of their products is not formed


@dataclass(frozen=True, repr=False)
class MaximumLikelihood(Estimator):
    """The maximum of the likelihood, to a certified gap.

        argmax_theta sum_y w_y log (A theta)_y   over the simplex

    A (m, K) is the channel and w (m,) the frequencies of its rows. The solver depends on the
    channel:

    - a closed form for randomised response;
    - Newton's method in one number for randomised response with several budgets, and for bit sums;
    - projected gradients for Hadamard and projective geometry response on more than 512 values;
    - sequential quadratic programming for many distinct reports, such as of local hashing and whole
      reports of bits;
    - accelerated EM if the channel allows products only;
    - a constrained Newton method for every other channel.

    Args:
        gap: nats per report by which the maximum may exceed the estimate's log-likelihood. The
            fit's ``gap`` is the bound that was reached.
        likelihood: ``"fullest"`` uses all information in the tally. ``"reports"`` is the likelihood
            of whole reports. ``"supports"`` is the quasi-likelihood of S_x, the number of reports
            that support value x: sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), with the expected
            share mu_x = E S_x / n. It treats the S_x as independent. The fit's ``likelihood`` names
            the likelihood that was maximised.

    Returns:
        From ``fit``: a distribution with the status ``CONVERGED``, or ``STEP_LIMIT`` where the gap
        was not reached.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.
        MismatchError: whole reports were asked for, and the tally has bit sums only.
        ArgumentError: support counts were asked for, and reports do not support values.

    Source: METHODS 4, 5; [P4 sec IV-VIII] on the maximum and its uniqueness.

    >>> MaximumLikelihood()
    MaximumLikelihood()
    """

    references = ("P4", "wang2007")

    summary: ClassVar[str] = "maximum of the likelihood"

    gap: float = 1e-9
    likelihood: str = "fullest"

    def __post_init__(self) -> None:
        require_positive(self, "gap")
        choice("likelihood", self.likelihood, ("fullest", "reports", "supports"))

    def _fit(self, data: LikelihoodData) -> Fit:
        channel, w = data.channel, data.weights
        if self.likelihood == "supports":
            channel, w = channel.supports(w)
            data = replace(data, channel=channel, weights=w)
        if self.likelihood == "reports" and channel.rows_per_report > 1:
            rule = "has only the counts of each bit, but this method needs complete reports"
            remedy = "Run warner tally with --keep-reports, or in Python pass keep_reports=True"
            raise MismatchError("tally", rule, None, remedy)
        steps: int | None = None
        solve = _closed_form(channel)
        rows, weights = (channel, w) if solve is not None else channel.restrict_to_observed(w)
        require_possible(rows, weights)
        if solve is not None:
            theta = solve(channel, w)
            reached = gap(channel, w, theta) <= max(self.gap, _ROUNDING * channel.rows_per_report)
            # A sum of strictly concave functions of one share each. A share of a value that was
            # not observed only lowers it.
            only = Uniqueness.UNIQUE if reached else Uniqueness.TOO_FAR
        else:
            lumped = None
            if isinstance(rows, NearlyConstantRows):
                lumped = rows.merge_unsupported_values(weights)
            if lumped is not None:
                rows, weights, lift = lumped
            theta, steps, reached = self.iterate(rows, weights)
            theta = zero_small_shares(rows, weights, theta, self.gap)
            only = (
                uniqueness(rows, weights, theta, score(rows, weights, theta))
                if reached
                else Uniqueness.TOO_FAR
            )
            theta = theta if lumped is None else lift(theta)
        fit = certify(data, theta, Status.CONVERGED if reached else Status.STEP_LIMIT, steps)
        return replace(fit, unique=only.value)

    def refit(self, data: LikelihoodData, near: np.ndarray) -> np.ndarray:
        """The shares, by Newton's steps from ``near`` where the constrained method applies."""
        channel, w = data.channel, data.weights
        if self.likelihood == "fullest" and _closed_form(channel) is None:
            rows, weights = channel.restrict_to_observed(w)
            if not isinstance(rows, NearlyConstantRows):
                theta, _, reached = constrained(rows, weights, self.gap, near)
                if reached:
                    return theta
        return super().refit(data, near)

    def iterate(
        self, rows: LikelihoodOperator, weights: np.ndarray
    ) -> tuple[np.ndarray, int, bool]:
        """Shares (K,), steps, and whether the gap is reached: the channel's solvers in turn."""
        products = rows.has_fast_gram or rows.shape[0] * rows.shape[1] <= LARGEST_DENSE
        solvers: list[_Solver] = (
            [sequential] if isinstance(rows, NearlyConstantRows) else [constrained]
        )
        if rows.shape[1] > _PROJECTED_FROM and rows.supports_overlap_alike:
            solvers.insert(0, projected)
        solvers += (
            [interior_point] if products and rows.shape[1] <= _LARGEST_NEWTON else [accelerated]
        )
        steps = 0
        candidates: list[tuple[float, int, np.ndarray]] = []
        for solve in solvers:
            theta, more, reached = solve(rows, weights, self.gap)
            steps += more
            candidates.append((gap(rows, weights, theta), len(candidates), theta))
            if reached:
                break
        return min(candidates)[2], steps, reached


def _closed_form(channel: LikelihoodOperator) -> Callable[..., np.ndarray] | None:
    """The closed form or root that maximises the channel's likelihood; None where there is none."""
    if channel.rows_are_bit_sums and channel.support_law() is not None:
        return separable
    if channel.reports_are_values:
        return direct
    if all(group.reports_are_values for group in channel.groups()):
        return budgets
    return None
