"""The slack of limits of linear functions against a general minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import warner
from warner.results.linear_limits import UnbiasedShares, _Search


@pytest.mark.parametrize("seed", range(6))
def test_the_path_ends_at_the_least_expected_limit(seed: int) -> None:
    """Within 1e-6 of a bounded quasi-Newton search from two starts. Many m are almost 0, so several
    s are positive, and some become 0 again. Rejects a path on which an s that became positive
    stays so.
    """
    rng, size = np.random.default_rng(seed), 12
    places = np.linspace(0, 1, size)
    channel = np.exp(-3 * np.abs(np.subtract.outer(places, places)))
    inverse = np.linalg.inv(channel / channel.sum(axis=0))
    # Shares sum to 1, so the rows of their covariance matrix sum to 0.
    root = (np.eye(size) - 1 / size) @ inverse * np.sqrt(rng.random(size) + 0.2)
    covariance = root @ root.T
    covariance /= np.trace(covariance) / size
    m = rng.dirichlet(np.full(size, 0.1)) + 1e-3
    m /= m.sum()
    c = np.sort(rng.random(size))
    of_c, variance, radius = covariance @ c, float(c @ covariance @ c), 3.0

    def limit(s: np.ndarray) -> float:
        spread = variance + 2 * of_c @ s + s @ covariance @ s
        return float(m @ s + radius * np.sqrt(max(spread, 1e-300)))

    found = _Search(covariance, of_c, variance, radius).least_slack(m)
    starts = (np.zeros(size), np.full(size, 0.5))
    ends = [minimize(limit, at, method="L-BFGS-B", bounds=[(0, None)] * size) for at in starts]
    assert (found >= 0).all() and found.max() > 0
    assert limit(found) <= min(end.fun for end in ends) + 1e-6


def test_without_room_for_slack_the_limits_are_walds() -> None:
    """Little noise, and no small share: the least limit has s = 0."""
    covariance = np.diag([0.25] * 4) - 1 / 16
    c = np.arange(4.0)
    search = _Search(covariance, covariance @ c, float(c @ covariance @ c), 1e-3)
    assert not search.least_slack(np.full(4, 0.25)).any()


def test_a_ratio_to_everybody_has_the_limits_of_its_numerator() -> None:
    """Rejects a ratio whose slack or bias has the other sign."""
    numbers = warner.SquareWave(warner.Interval(0, 10, bins=8), 1.0)
    values = np.random.default_rng(1).exponential(1.5, 500).clip(0, 10)
    tally = numbers.tally(numbers.randomize(values, np.random.default_rng(2)))
    known = UnbiasedShares.of(warner.estimate(tally), "population")
    assert known is not None
    c = np.arange(8.0)
    limits = known.limits(c, 1.96)
    ratio = float(c @ known.drawn.mean(axis=0))
    assert known.limits_of_ratio(c, np.ones(8), ratio, 1.96) == pytest.approx(limits, rel=0.02)
