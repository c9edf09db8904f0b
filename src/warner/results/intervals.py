"""Confidence intervals for shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from warner._core.checks import (
    choice,
    integer,
    kind,
    probability,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    message,
)
from warner.estimators.fit import Status
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import WHOLE
from warner.metrics.simplex import project
from warner.results.solution import Solution

TARGETS = ("population", "respondents")


def interval(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
    weights: Any = None,
    replicates: int = 200,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Confidence intervals (K, 2) for the true shares, or (r, 2) for functions of them; arguments as of ``Estimate.interval``."""
    asked, kind = kind, default_kind(solution, target) if kind is None else kind
    choice("kind", kind, ("wald", "bootstrap", "fisher", "posterior"))
    if solution.sums is not None and kind in ("bootstrap", "fisher"):
        # A function of a marginal is a function of the whole, which is refitted and summed.
        return interval(
            solution.sums.whole,
            level,
            target,
            kind,
            solution.sums.of_whole(weights, kind),
            replicates,
            rng,
        )
    if kind == "bootstrap":
        return bootstrap(solution, level, target, weights, replicates, rng)
    if kind == "posterior":
        return posterior(solution, level, target, weights, rng)
    if kind == "fisher":
        return fisher(solution, level, target, weights)
    choice("weights of wald intervals", weights, (None,))
    bounds = wald(solution.data, level, target)
    if asked is None and solution.fit.probabilities is not None:
        return holding(bounds, np.clip(solution.probabilities, 0.0, 1.0))
    return bounds


def default_kind(solution: Solution, target: str) -> str:
    """The kind of intervals that is given where none is asked for."""
    if solution.fit.by_draws and target == "population":
        return "posterior"
    return "wald" if solution.sums is None else solution.sums.kind


def available_kind(solution: Solution, target: str = "population") -> str:
    """The kind of intervals in a table of shares: as :func:`default_kind`, or ``"none"`` where nothing bounds a share."""
    kind = default_kind(solution, target)
    return (
        kind
        if kind == "posterior" or solution.fit.mean is not None or solution.has_intervals
        else "none"
    )


def wald(data: LikelihoodData, level: float = 0.95, target: str = "population") -> np.ndarray:
    """Wald intervals (K, 2) around the unbiased estimate, from the exact variance of the inversion.

        theta_x +- z sqrt(V_x / n),   V_x = sum_y Pr(y) L[x, y]^2 - theta_x^2,   L the linear inverse

    V_x is for users drawn independently from a population. For *these respondents*, whose values are fixed, only the
    mechanism's randomness counts: V_x - theta_x (1 - theta_x). Limits are clipped to [0, 1].

    The intervals are centred on the unbiased estimate whatever method made the point estimate; each holds on its own, not
    all at once. Where the unbiased estimate lies outside [0, 1] its nearest end takes its place as the centre: the interval then
    keeps its width, and covers at least as often. All is asymptotic: it takes a few hundred people, more at small epsilon.

    Args:
        level: coverage asked for, in (0, 1).
        target: ``"population"`` or ``"respondents"``.

    Raises:
        IdentifiabilityError: the channel has no inverse.
    """
    z = normal_quantile(level)
    choice("target", target, TARGETS)
    centre = data.channel.invert(data.weights)
    plausible = project(centre)
    variance = data.channel.variance(plausible)
    # A value whose reports only it can make has variance 0 where nobody reported it, or everybody. Its share is taken to be at least
    # z^2 / (n + z^2) from 0 and from 1, which gives a binomial the limits of Wilson's interval there. Noise makes that negligible elsewhere.
    least = z**2 / (data.n + z**2)
    spread = (
        1 - least
    ) * plausible + least / plausible.size  # some share for every value, so that each has others
    own = data.channel.inverse_moments(spread)[1]
    null = data.channel.variance_at_zero(spread)
    if target == "respondents":
        variance = variance - (plausible - plausible**2)
    for share, near in ((least, plausible < least), (1 - least, plausible > 1 - least)):
        there = (1 - share) * null + share * own - share**2
        if target == "respondents":
            there = there - (share - share**2)
        variance = np.where(near, np.maximum(variance, there), variance)
    variance = np.maximum(variance, 0.0)
    half = z * np.sqrt(variance / data.n)
    centre = np.clip(centre, 0.0, 1.0)
    return np.clip(np.stack([centre - half, centre + half], axis=1), 0.0, 1.0)


def bootstrap(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    weights: Any = None,
    replicates: int = 200,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Parametric bootstrap intervals for shares (K, 2), or for functions of them (r, 2).

        theta* = estimator(tally simulated from theta);   limits 2 f(theta) - (1 - a/2), (a/2) quantiles of f(theta*)

    Tallies are simulated, not people, so the cost does not grow with n. For *these respondents* people's values are drawn
    too, their reports from those, and what counts is how far f(theta*) is from f of the values drawn.

    Around shares inside the simplex the intervals are asymptotically exact. At its border, where a true share is 0, an estimator
    that keeps to the simplex is biased and the bootstrap does not see it: limits are then clipped to the range of f on the
    simplex, and cover at least where the estimate is 0 too, but no level is guaranteed. Wald intervals hold there.

    A function that jumps, such as a quantile of a discrete distribution, must not be given here: see :mod:`warner.results.summaries`.

    Args:
        solution: an estimate with its estimator.
        level: coverage asked for, in (0, 1).
        target: ``"population"`` or ``"respondents"``.
        weights: (r, K) or (K,): f(theta) = weights @ theta; None for the shares themselves; or f itself, a smooth function
            (K,) -> (r,), whose attribute ``limits``, (low, high), where it has one, is the range that it can have.
        replicates: how many simulated tallies; at least 20.
        rng: None for fresh randomness.

    Raises:
        ArgumentError: weights of another shape, or a tally that keeps only the reports seen.

    Source: METHODS 5; [P3 sec VII].
    """
    alpha = 1 - probability("level", level)
    respondents = choice("target", target, TARGETS) == "respondents"
    integer("replicates", replicates, 20)
    rng = _generator(rng)
    data = solution.data
    function, lowest, highest = _function(weights, data.domain.size)
    centre = solution.probabilities
    if (centre < 0).any() or not centre.sum() > 0:  # unbiased estimates of few reports may all be 0
        centre = project(centre)
    chances = centre / centre.sum()
    middle = function(centre)
    errors = np.empty((replicates, middle.size))
    for row in errors:
        if respondents:
            people = rng.multinomial(data.n, chances)
            (channel, drawn), truth = (
                data.channel.simulate_tally(chances, data.n, rng, people),
                people / data.n,
            )
        else:
            (channel, drawn), truth = data.channel.simulate_tally(chances, data.n, rng), chances
        row[:] = function(
            solution.estimator.fit(replace(data, channel=channel, weights=drawn)).shares
        ) - function(truth)
    # Of R replicates the k-th smallest stands at k / (R + 1); else few replicates make narrow intervals.
    low, high = np.quantile(errors, [alpha / 2, 1 - alpha / 2], axis=0, method="weibull")
    return np.clip(np.stack([middle - high, middle - low]), lowest, highest).T


DRAWS = 1000  # its 0.025 quantile is then that of a share within 0.005 (one sd)


def holding(bounds: np.ndarray, values: Any) -> np.ndarray:
    """Intervals (r, 2) widened to hold ``values`` (r,), estimates of the same numbers that were made otherwise.

    >>> holding(np.array([[0.1, 0.2], [0.3, 0.4]]), [0.15, 0.5]).tolist()
    [[0.1, 0.2], [0.3, 0.5]]
    """
    return np.stack([np.minimum(bounds[:, 0], values), np.maximum(bounds[:, 1], values)], axis=1)


def posterior(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    weights: Any = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Posterior intervals for shares (K, 2), or for functions of them (r, 2): a/2 and 1 - a/2 quantiles of f over draws of theta.

    Args:
        solution: one whose estimator has a posterior: ``solution.fit.posterior``.
        level: posterior probability, in (0, 1).
        target: only ``"population"``.
        weights: (r, K) or (K,): f(theta) = weights @ theta; None for the shares themselves; or f itself, (K,) -> (r,).
        rng: None for the same draws at every call.

    Raises:
        ArgumentError: no posterior, or one that was asked about the respondents.
    """
    alpha = 1 - probability("level", level)
    if choice("target", target, TARGETS) == "respondents":
        raise ArgumentError(
            message(
                "target",
                "must be 'population' for a posterior of the population's shares",
                None,
                "Use kind='bootstrap'",
            )
        )
    if solution.fit.posterior is None:
        raise ArgumentError(
            message(
                "kind",
                "'posterior' needs an estimator that has a posterior",
                solution.method,
                "Use kind='bootstrap'",
            )
        )
    function, _, _ = _function(weights, solution.domain.size)
    found = np.stack(
        [
            function(theta)
            for theta in solution.fit.posterior.draws(
                DRAWS, _generator(np.random.default_rng(0) if rng is None else rng)
            )
        ]
    )
    # Of a function that jumps the limits are values that it had.
    low, high = (
        np.quantile(found, alpha / 2, axis=0, method="lower"),
        np.quantile(found, 1 - alpha / 2, axis=0, method="higher"),
    )
    return np.stack([low, high], axis=1)


def fisher(
    solution: Solution, level: float = 0.95, target: str = "population", weights: Any = None
) -> np.ndarray:
    """Intervals for shares (K, 2), or for linear functions of them (r, 2), from the Fisher information at a maximum.

        f(theta) +- z sqrt(c' V c),   V = T (T' I T)^-1 T',   I = n A' diag(1 / A theta) A,   T a basis of {d : 1'd = 0}

    For reports that say more than the inversion uses (local hashing, whole reports of bits) they are narrower than Wald's. For
    *these respondents*, V - (diag theta - theta theta') / n: the covariance of the efficient estimate with the respondents' shares
    is the variance of the latter.

    Args:
        solution: a maximum of the likelihood with no share at 0: there the likelihood is flat to first order all around.
        level: coverage asked for, in (0, 1).
        target: ``"population"`` or ``"respondents"``.
        weights: (r, K) or (K,): f(theta) = weights @ theta; None for the shares themselves.

    Raises:
        ArgumentError: not the maximum of a likelihood of whole reports, or one at the border of the simplex.
        IdentifiabilityError: the information is singular: some function of the shares is not identified.

    Source: METHODS 6; Cramer-Rao on the simplex.
    """
    z = normal_quantile(level)
    respondents = choice("target", target, TARGETS) == "respondents"
    data, theta = solution.data, solution.probabilities
    matrix = _functions(weights, data.domain.size)
    if solution.status is not Status.CONVERGED or solution.likelihood != WHOLE:
        raise ArgumentError(
            message(
                "estimate",
                "must be the maximum of the likelihood of whole reports",
                solution.method,
                "Use kind='wald' or 'bootstrap'",
            )
        )
    if (theta <= 0).any():
        raise ArgumentError(
            message(
                "estimate",
                "must have no share at 0",
                f"{np.count_nonzero(theta <= 0)} at 0",
                "Use kind='wald', which holds at the border too",
            )
        )
    information = _information(data, theta)
    basis = np.linalg.qr(
        np.concatenate([np.ones((theta.size, 1)), np.eye(theta.size)[:, :-1]], axis=1)
    )[0][:, 1:]
    inner = basis.T @ information @ basis
    values, vectors = np.linalg.eigh(inner)
    if values.size and values[0] <= 1e-12 * values[-1]:
        raise IdentifiabilityError(
            message(
                "channel",
                "leaves some function of the shares unidentified",
                None,
                "Use kind='bootstrap'",
            )
        )
    spread = (matrix @ basis) @ (vectors / np.sqrt(values))
    variance = (spread**2).sum(axis=1)
    middle = matrix @ theta
    if respondents:
        variance = np.maximum(variance - (matrix**2 @ theta - middle**2), 0.0)
    half = z * np.sqrt(variance / data.n)
    return _clipped(matrix, middle, half, half)


def _information(data: LikelihoodData, theta: np.ndarray) -> np.ndarray:
    """Fisher information (K, K) per report: over all reports where the channel lists them, else the observed one."""
    channel = data.channel
    d = channel.matvec(theta)
    rows, w = channel.restrict_to_observed(data.weights)
    if rows is channel and not (data.weights[d <= 0] > 0).any() and abs(float(d.sum()) - 1) < 1e-9:
        return channel.gram(np.divide(1.0, d, out=np.zeros_like(d), where=d > 0))
    return rows.gram(w / rows.matvec(theta) ** 2)


def normal_quantile(level: float) -> float:
    """z of a two-sided interval."""
    upper = (1 + probability("level", level)) / 2
    if upper >= 1:
        raise ArgumentError(message("level", "must be further from 1", repr(level)))
    return NormalDist().inv_cdf(upper)


def _generator(rng: Any) -> np.random.Generator:
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise ArgumentTypeError(
            message("rng", "must be None or a numpy.random.Generator", kind(rng))
        )
    return np.random.default_rng() if rng is None else rng


def _function(weights: Any, size: int) -> tuple[Callable[[np.ndarray], np.ndarray], Any, Any]:
    """A function of the shares, (K,) -> (r,), and the least and the largest that it can be, (r,) or one for all."""
    if callable(weights):
        lowest, highest = getattr(weights, "limits", (-np.inf, np.inf))
        return (lambda theta: _vector(weights(theta))), lowest, highest
    matrix = _functions(weights, size)
    return (lambda theta: matrix @ theta), matrix.min(axis=1), matrix.max(axis=1)


def _vector(value: Any) -> np.ndarray:
    """What a function of the shares gave, as finite numbers (r,)."""
    array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ArgumentError(
            message(
                "weights",
                "as a function must give finite numbers, of shape (r,)",
                f"shape {array.shape}",
            )
        )
    return array


def _functions(weights: Any, size: int) -> np.ndarray:
    """(r, K) linear functions of the shares; the shares themselves for None."""
    if weights is None:
        return np.eye(size)
    try:
        matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            message("weights", f"must be numbers, of shape (r, {size})", kind(weights))
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] != size or not np.isfinite(matrix).all():
        raise ArgumentError(
            message("weights", f"must be finite, of shape (r, {size})", str(matrix.shape))
        )
    return matrix


def _clipped(
    matrix: np.ndarray, middle: np.ndarray, below: np.ndarray, above: np.ndarray
) -> np.ndarray:
    """Limits (r, 2) within what the functions can be on the simplex."""
    limits = np.stack([middle - below, middle + above], axis=1)
    return np.clip(limits, matrix.min(axis=1)[:, None], matrix.max(axis=1)[:, None])
