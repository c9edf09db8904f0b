"""Whether an order of very many values says something. Seeded, so that nothing flakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warner import Categorical, RandomizedResponse
from warner.estimators.empirical_bayes import prior
from warner.metrics import project

SIZE, PEOPLE = 4_000, 20_000


def _accepted(shares: np.ndarray, runs: int, shuffle: bool, epsilon: float = 2.0) -> int:
    """How often the order of the values is used, of ``runs`` sets of reports."""
    channel = RandomizedResponse(Categorical(range(SIZE)), epsilon).channel()
    rng, found = np.random.default_rng(3), 0
    for _ in range(runs):
        truth = rng.permutation(shares) if shuffle else shares
        y = channel.invert(channel.simulate_from_values(rng.multinomial(PEOPLE, truth), rng))
        variance = channel.variance(project(y)) / PEOPLE
        found += prior.predict_from_neighbours(y, variance) is not None
    return found


def test_shuffled_labels_are_rarely_predicted_from_their_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejected: a standard error for which noise makes no pattern, which accepts one in six."""
    shares = 1 / np.arange(1.0, SIZE + 1) ** 1.1
    shares /= shares.sum()
    assert _accepted(shares, 60, True) <= 4
    settings = replace(prior.SETTINGS, values_of_chance=np.inf)
    monkeypatch.setattr(prior, "SETTINGS", settings)
    assert _accepted(shares, 60, True) > 4


def test_an_order_that_says_something_is_used() -> None:
    """Rejected: a standard error so large that no order is used."""
    shares = np.exp(-((np.linspace(0, 1, SIZE) - 0.4) ** 2) / 0.02)
    assert _accepted(shares / shares.sum(), 5, False, 7.0) == 5
