"""Posteriors in blocks of values, and computed again for draws, are those in one array."""

from __future__ import annotations

import numpy as np
import pytest

from warner import EmpiricalBayes, HadamardResponse, Integers
from warner.estimators import empirical_bayes
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import prior


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_blocks_and_recomputed_laws_change_nothing(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smooth shares, so that predictions from neighbours make every value's data its own."""
    mechanism = HadamardResponse(Integers(1, 90), 2.0)
    theta = 1 + np.sin(np.arange(90) / 15)
    theta /= theta.sum()
    channel, rng = mechanism.channel(), np.random.default_rng(8)
    data = LikelihoodData(channel, channel.simulate(theta, 5000, rng), 5000, mechanism.domain)
    whole = EmpiricalBayes(loss).fit(data)
    assert whole.posterior is not None
    draws = whole.posterior.draws(20, np.random.default_rng(1))
    monkeypatch.setattr(prior, "_BLOCK", 500)
    monkeypatch.setattr(empirical_bayes, "_KEPT", 0)
    monkeypatch.setattr(empirical_bayes, "_DRAWN", 100)
    blocks = EmpiricalBayes(loss).fit(data)
    assert blocks.posterior is not None
    assert blocks.shares == pytest.approx(whole.shares, abs=1e-12)
    again = blocks.posterior.draws(20, np.random.default_rng(1))
    assert again == pytest.approx(draws, abs=1e-12)
