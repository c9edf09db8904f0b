"""Simulated key-value tallies follow the law of every key, at a false alarm rate of 1e-9."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.registry import KEYED, smallest
from tests.statistical.mechanisms._chi_square import ALPHA
from warner.channels import TiedChannel


def _counts(channel: TiedChannel, w: np.ndarray, n: int) -> np.ndarray:
    return np.rint(channel.by_key(w) * n)


@pytest.mark.parametrize("name", [name for name in KEYED if "unary" in name])
@pytest.mark.parametrize("kind", ["simulate", "rerandomize"])
def test_simulated_tallies_follow_the_law_of_every_key(name: str, kind: str) -> None:
    """The sum of 50 tallies, key by key; the mutant that raises a key among its own people too is
    rejected.
    """
    mechanism = smallest(name, 2.0)
    channel, rng, n = mechanism.channel(), np.random.default_rng(4), 20_000
    assert isinstance(channel, TiedChannel)
    people = rng.multinomial(n, rng.dirichlet(np.ones(mechanism.domain.size)))
    theta = people / n
    draw = (
        (lambda: channel.simulate(theta, n, rng))
        if kind == "simulate"
        else (lambda: channel.simulate_from_values(people, rng))
    )
    total = sum((_counts(channel, draw(), n) for _ in range(50)), np.zeros((channel.keys, 1)))
    law = channel.by_key(channel.matvec(theta))
    raised = law + theta.reshape(channel.keys, -1).sum(axis=1, keepdims=True) * np.append(
        -channel.sent, channel.dummy
    )
    for row, right, wrong in zip(total, law, raised, strict=True):
        assert chisquare(row, right * row.sum()).pvalue > ALPHA
        assert chisquare(row, np.abs(wrong) / np.abs(wrong).sum() * row.sum()).pvalue < ALPHA
