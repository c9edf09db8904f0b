"""Intervals that hold the true shares of all values together.

Both ways to find the half-width, in standard deviations, know that an interval whose centre was
moved to 0 errs on one side only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warner._core.checks import confidence_level
from warner._core.errors import ArgumentError
from warner._core.progress import steps
from warner.estimators.base import LikelihoodData, threads_for
from warner.metrics import project
from warner.results.share_noise import ShareNoise, least_share
from warner.results.solution import Solution

_DRAWS = 2000  # the 0.95 quantile of so many draws is that of a share within 0.005 (one sd)
_MOST_SIMULATED = 1000  # values; beyond, the largest of nearly independent errors is known
_MOST_ROWS = 4  # rows of a channel for each value; beyond, a simulation takes seconds
_SMALL_CHANNEL = 2**16  # entries of a channel that may have more rows


def simultaneous(solution: Solution, level: float = 0.95, target: str = "population") -> np.ndarray:
    """Intervals that hold all true shares at once.

        T_x +- c sd_x,   Pr(all K intervals hold their shares) = level

    T_x is the unbiased estimate and sd_x its standard deviation, as in Wald intervals. Up to 1000
    values, c is the quantile of the largest error, in standard deviations, over tallies simulated
    from the estimated shares. The simulation has the exact law of the reports: the covariance of
    the estimates, and the skewness of small counts. Beyond 1000 values, and for reports that cannot
    be simulated or not fast, c is the bound of independent errors [Sidak 1967]. It is nearly exact
    where reports support values. Where the noise of many values is one, as after inverting noise
    on a line, the intervals are wider than needed.

    Source: Montiel Olea and Plagborg-Moller (2019), sup-t bands; METHODS 5.

    Returns (K, 2).
    """
    alpha = 1 - confidence_level(level)
    data = solution.data
    alone = independent_factor(1 - alpha, np.ones(data.domain.size, dtype=bool))
    noise = ShareNoise.of(data, target, least_share(data, target, alone))
    shares = project(solution.probabilities)
    errors = simulated_errors(data, target, shares, np.random.default_rng(0), _DRAWS)
    if errors is not None:
        largest = _largest(noise, shares, errors, alone)
        factor = float(np.quantile(largest, 1 - alpha, method="weibull"))
    else:
        factor = _two_sided(1 - alpha, shares, noise.deviations(alone))
    return noise.around(alone, factor)


def _largest(noise: ShareNoise, shares: np.ndarray, errors: np.ndarray, z: float) -> np.ndarray:
    """The largest error in standard deviations of each of B simulated tallies, (B,).

    Shapes: shares (K,), errors (B, K).
    """
    n, least = noise.data.n, least_share(noise.data, noise.target, z)
    out = np.empty(len(errors))
    for row, error in enumerate(errors):
        at = np.clip(project(shares + error), least, 1 - least)
        deviation = np.sqrt(np.maximum(noise.at(at), 0.0) / n)
        # Estimates above 1 are not moved here, else most tallies would have one largest error.
        away = np.abs(np.maximum(shares + error, 0.0) - shares)
        out[row] = np.max(np.divide(away, deviation, out=np.zeros_like(away), where=deviation > 0))
    return out


def simulated_errors(
    data: LikelihoodData,
    target: str,
    shares: np.ndarray,
    rng: np.random.Generator,
    draws: int,
) -> np.ndarray | None:
    """The errors of the unbiased estimates on tallies simulated from ``shares``.

    Shapes: shares (K,), B = draws -> (B, K).
    """
    rows, size = data.channel.shape
    if size > _MOST_SIMULATED or (rows > _MOST_ROWS * size and rows * size > _SMALL_CHANNEL):
        return None
    errors = np.empty((draws, size))
    with threads_for(data):
        for row in steps(errors, "simulating"):
            drawn = _simulated(data, target, shares, rng)
            if drawn is None:
                return None
            row[:] = drawn
    return errors


def _simulated(
    data: LikelihoodData, target: str, shares: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """The error (K,) of the unbiased estimate of one simulated tally; None where there is none."""
    people = rng.multinomial(data.n, shares) if target == "respondents" else None
    try:
        channel, weights = data.channel.simulate_tally(
            shares, data.n, rng, people, data.reports_per_person
        )
    except ArgumentError:  # a tally of the observed reports alone
        return None
    truth = shares if people is None else people / data.n
    return np.asarray(replace(data, channel=channel).channel.invert(weights) - truth)


def independent_factor(level: float, two_sided: np.ndarray) -> float:
    """c with prod_x (1 - sides_x Phi(-c)) = level, where interval x errs on one side or on two.

    Shapes: two_sided (K,).
    """
    from scipy.special import ndtr, ndtri

    sides = 1.0 + two_sided
    low, high = 0.0, float(-ndtri(max((1 - level) / (2 * float(sides.sum())), 1e-300)))
    for _ in range(60):
        middle = (low + high) / 2
        inside = np.log1p(-np.minimum(sides * ndtr(-middle), 1 - 1e-12)).sum()
        low, high = (low, middle) if inside > np.log(level) else (middle, high)
    return high


def _two_sided(level: float, shares: np.ndarray, deviation: np.ndarray) -> float:
    """c of independent errors, where shares well below c standard deviations err on one side."""
    factor = independent_factor(level, np.ones(shares.size, dtype=bool))
    for _ in range(3):
        factor = independent_factor(level, shares + deviation > factor * deviation)
    return factor
