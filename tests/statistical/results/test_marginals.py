"""Intervals of marginals hold the truth as often as they say. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.results._pairs import CHANNEL, _family, _tallies
from warner import Estimate, Inversion
from warner.channels import summed
from warner.results.intervals import normal_quantile


@pytest.mark.parametrize("method", [Inversion(), Inversion("project")], ids=repr)
def test_intervals_of_marginals_cover_what_they_say(method: Inversion) -> None:
    """2000 shares, within 6 sd (0.0049) of 0.95. The mutant that adds up the variances of cells is
    too wide.
    """
    theta = _family(0.5)
    truth = summed(theta, (5, 5), [1])
    hits, added = 0.0, 0.0
    data = _tallies(theta, 3000, 400, 1)
    for each in data:
        whole = Estimate(method.fit(each), each, method)
        part = whole.marginal("b")
        low, high = part.interval().T
        hits += ((low <= truth) & (truth <= high)).mean()
        half = normal_quantile(0.95) * np.sqrt(summed(CHANNEL.variance(theta), (5, 5), [1]) / 3000)
        added += (np.abs(part.probabilities - truth) <= half).mean()
    assert abs(hits / len(data) - 0.95) < 6 * 0.0049
    assert method.constraint is not None or added / len(data) > 0.95 + 6 * 0.0049


def test_bootstrap_of_a_marginal_covers_inside_the_simplex() -> None:
    """600 shares, within 6 sd (0.0097) of 0.94, what 60 replicates cover."""
    theta = (_family(0.3, np.full(5, 0.2)) + 0.04) / 2
    truth, hits = summed(theta, (5, 5), [0]), []
    rng = np.random.default_rng(0)
    for each in _tallies(theta, 200_000, 120, 2):
        bounds = (
            Estimate(Inversion("project").fit(each), each, Inversion("project"))
            .marginal("a")
            .interval(kind="bootstrap", replicates=60, rng=rng)
        )
        hits.append(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())
    assert abs(np.mean(hits) - 0.94) < 6 * 0.0097
