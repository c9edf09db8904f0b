"""The squares of associations of several tallies against those of each."""

from __future__ import annotations

import numpy as np
import pytest

from warner.channels import DirectChannel, HadamardChannel, KroneckerChannel, stacked
from warner.metrics import cramers_v
from warner.results import association
from warner.results.association import Pair

CHANNELS = {
    "one report of both": DirectChannel(6, 0.05, 0.7),
    "one report of each": KroneckerChannel(
        [DirectChannel(2, 0.2, 0.6), DirectChannel(3, 0.2, 0.4)]
    ),
    "no marginals": HadamardChannel(6, 8, 0.6),
    "two budgets": stacked([DirectChannel(6, 0.05, 0.7), DirectChannel(6, 0.1, 0.4)], [300, 200]),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_the_squares_of_several_tallies_are_those_of_each(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, theta = CHANNELS[name], np.random.default_rng(0).dirichlet(np.ones(6))
    drawn = channel.simulate_tallies(theta, 500, np.random.default_rng(1), 5)
    w = np.stack([weights for _, weights in drawn], axis=1)
    pair = Pair(channel, w[:, 0], 500, (2, 3))
    each = [pair.square(column) for column in w.T]
    assert pair.squares(w) == pytest.approx(np.array(each), rel=1e-9)
    monkeypatch.setattr(association, "_ENTRIES", 14)  # blocks of few tallies, and of few reports
    assert pair.squares(w) == pytest.approx(np.array(each), rel=1e-9)


@pytest.mark.parametrize("cells", [256, 2])
def test_distributions_of_a_wanted_association_are_found_in_either_way(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(association, "_SMALL_TABLE", cells)
    channel = CHANNELS["one report of both"]
    w = channel.matvec(np.array([0.3, 0.1, 0.1, 0.05, 0.15, 0.3]))
    found = Pair(channel, w, 500, (2, 3))._distribution_with(0.4)
    assert cramers_v(found) == pytest.approx(0.4, abs=1e-6)
