"""Simulated tallies of Hadamard response."""

from __future__ import annotations

import numpy as np
import pytest

from warner.channels import HadamardChannel


@pytest.mark.parametrize("people", [3, 3000])
def test_simulated_tallies_have_the_mean_and_spread_of_the_matrix(people: int) -> None:
    """Drawn report by report, and value by value. A wrong channel with values in reverse is far
    off: its mean differs by more than 20 standard errors.
    """
    channel = HadamardChannel(3, 4, 0.6)
    rng, held = np.random.default_rng(people), np.array([people, 0, people // 3])
    draws = np.array([channel.simulate_from_values(held, rng) for _ in range(2000)])
    n, dense = held.sum(), channel.dense()
    mean = dense @ held / n
    spread = np.sqrt((dense * (1 - dense)) @ held) / n
    error = spread / np.sqrt(len(draws))
    assert (abs(draws.mean(axis=0) - mean) < 5 * error).all()
    assert (abs(dense @ held[::-1] / n - mean) > 20 * error).any()
    assert draws.std(axis=0) == pytest.approx(spread, rel=0.1)
