"""Yes or no: the risk over all shares, summed over all counts, so nothing is random."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from warner import Categorical, EmpiricalBayes, Inversion, RandomizedResponse
from warner.estimators import Estimator, empirical_bayes as small_domain
from warner.estimators.base import LikelihoodData

PEOPLE, EPSILON = 2000, 0.4
SHARES = np.linspace(0, 0.5, 26)


def _risks(estimator: Estimator) -> np.ndarray:
    domain = Categorical(["yes", "no"])
    channel = RandomizedResponse(domain, EPSILON).channel()
    counts, keep = np.arange(PEOPLE + 1), 1 / (1 + math.exp(-EPSILON))
    some = np.linspace(0.32 * PEOPLE, 0.68 * PEOPLE, 61).astype(np.int64)
    shares = [
        estimator.fit(
            LikelihoodData(channel, np.array([c, PEOPLE - c]) / PEOPLE, PEOPLE, domain)
        ).shares[0]
        for c in some
    ]
    estimates = np.interp(counts, some, shares)
    yes = SHARES * keep + (1 - SHARES) * (1 - keep)
    laws = binom.pmf(counts, PEOPLE, yes[:, None])
    return np.asarray((laws * (estimates - SHARES[:, None]) ** 2).sum(axis=1))


def test_the_risk_of_yes_or_no_is_near_the_projections_at_every_share() -> None:
    ours, theirs = _risks(EmpiricalBayes()), _risks(Inversion("project"))
    assert ours.max() < 1.2 * theirs.max()
    assert ours.mean() < 1.02 * theirs.mean()


def test_equal_weights_of_all_concentrations_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws that favour one half are too many then: shares near one half pay for it."""
    even = replace(small_domain.SETTINGS, dirichlet_weight=1.0)
    monkeypatch.setattr(small_domain, "SETTINGS", even)
    assert _risks(EmpiricalBayes()).max() > 1.3 * _risks(Inversion("project")).max()
