"""Confidence intervals for shares."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from warner._check import ArgumentError, choice, message, probability
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
