"""Confidence intervals for shares."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from warner._check import ArgumentError, ArgumentTypeError, choice, integer, kind, message, probability
from warner.estimate import Estimate
from warner.estimators.simplex import project
from warner.evidence import Evidence


def wald(evidence: Evidence, level: float = 0.95, target: str = "population") -> np.ndarray:
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
    upper = (1 + probability("level", level)) / 2
    if upper >= 1:
        raise ArgumentError(message("level", "must be further from 1", repr(level)))
    z = NormalDist().inv_cdf(upper)
    choice("target", target, ("population", "respondents"))
    centre = evidence.channel.invert(evidence.weights)
    plausible = project(centre)
    variance = evidence.channel.variance(plausible)
    if target == "respondents":
        variance = np.maximum(variance - plausible * (1 - plausible), 0.0)
    half = z * np.sqrt(variance / evidence.n)
    centre = np.clip(centre, 0.0, 1.0)
    return np.clip(np.stack([centre - half, centre + half], axis=1), 0.0, 1.0)


def bootstrap(
    estimate: Estimate, level: float = 0.95, weights: Any = None, replicates: int = 200, rng: np.random.Generator | None = None
) -> np.ndarray:
    """Parametric bootstrap intervals for shares (K, 2), or for linear functions of them (r, 2).

        theta* = estimator(tally simulated from theta);   limits 2 f(theta) - (1 - a/2), (a/2) quantiles of f(theta*)

    Tallies are simulated, not people, so the cost does not grow with n. For the population. Around shares inside the simplex
    the intervals are asymptotically exact. At its border, where a true share is 0, an estimator that keeps to the simplex is
    biased and the bootstrap does not see it: limits are then clipped to the range of f on the simplex, and cover at least
    where the estimate is 0 too, but no level is guaranteed. Wald intervals hold there.

    Args:
        estimate: an estimate with its estimator.
        level: coverage asked for, in (0, 1).
        weights: (r, K) or (K,): f(theta) = weights @ theta; None for the shares themselves.
        replicates: how many simulated tallies; at least 20.
        rng: None for fresh randomness.

    Raises:
        ArgumentError: weights of another shape, or a tally that keeps only the reports seen.

    Source: METHODS 5; [P3 sec VII].
    """
    alpha = 1 - probability("level", level)
    integer("replicates", replicates, 20)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise ArgumentTypeError(message("rng", "must be None or a numpy.random.Generator", kind(rng)))
    rng = np.random.default_rng() if rng is None else rng
    facts = estimate.evidence
    size = facts.domain.size
    matrix = np.eye(size) if weights is None else np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] != size or not np.isfinite(matrix).all():
        raise ArgumentError(message("weights", f"must be finite, of shape (r, {size})", str(matrix.shape)))
    centre = project(estimate.probabilities) if (estimate.probabilities < 0).any() else estimate.probabilities
    drawn = [
        estimate.estimator.fit(Evidence(facts.channel, facts.channel.simulate(centre, facts.n, rng), facts.n, facts.domain)).probabilities
        for _ in range(replicates)
    ]
    low, high = np.quantile(np.stack(drawn) @ matrix.T, [alpha / 2, 1 - alpha / 2], axis=0)
    middle = matrix @ centre
    limits = np.stack([2 * middle - high, 2 * middle - low], axis=1)
    return np.clip(limits, matrix.min(axis=1)[:, None], matrix.max(axis=1)[:, None])
