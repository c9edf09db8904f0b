"""Associations are right on average, and their intervals hold the truth. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.results._pairs import CHANNEL, _family, _tallies
from warner import Inversion
from warner.metrics import cramers_v as plain
from warner.results.association import Pair, cramers_v


@pytest.mark.parametrize("v", [0.0, 0.2, 0.6])
def test_the_corrected_square_of_an_association_is_right_on_average(v: float) -> None:
    """Over 400 tallies within 6 standard errors and 0.003. Mutants: the plain one of the projected
    shares, of the inversion, and Bergsma's correction for open answers, which knows nothing of the
    noise: all too large.
    """
    theta = _family(v)
    data = _tallies(theta, 20_000, 400, 3)
    found = np.array(
        [Pair(CHANNEL, each.weights, each.n, (5, 5)).square(each.weights) for each in data]
    )
    margin = 6 * found.std() / np.sqrt(len(data)) + 0.003
    assert abs(found.mean() - v**2) < margin
    if v == 0.0:
        projected = np.array(
            [plain(Inversion("project").fit(each).shares.reshape(5, 5)) ** 2 for each in data]
        )
        assert projected.mean() > margin and (projected - 16 / 20_000 / 4).mean() > margin


@pytest.mark.parametrize("v", [0.0, 0.5])
def test_intervals_of_an_association_cover_at_the_border_too(v: float) -> None:
    """25 tallies at 90 %: at least 0.9 less 4 sd (0.06). The mutant that reflects the plug-in V's
    bootstrap misses a V of 0 always.
    """
    rng = np.random.default_rng(4)
    found = []
    for each in _tallies(_family(v), 5000, 25, 5):
        low, high = cramers_v(each, "a", "b").interval(0.9, replicates=20, rng=rng)
        found.append((low, high))
    low, high = np.array(found).T
    assert ((low <= v + 1e-9) & (v - 1e-9 <= high)).mean() > 0.9 - 4 * 0.06
    assert np.median(high - low) < 0.35
    if v == 0.0:
        mutant = [
            plain(Inversion("project").fit(each).shares.reshape(5, 5))
            for each in _tallies(_family(v), 5000, 60, 5)
        ]
        assert min(mutant) > 0.02
