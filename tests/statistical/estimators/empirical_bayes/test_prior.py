"""Parts of the learned prior are needed: the method without one of them is rejected. Seeded, so that nothing flakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.statistical.estimators.empirical_bayes._errors import _errors
from warner import EmpiricalBayes
from warner.estimators import empirical_bayes
from warner.estimators.empirical_bayes import noise, prior


def test_rescaling_instead_of_the_sum_constraint_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One value with 0.6 of the mass, little noise: dividing by the sum charges it with 0.6 of
    everyone's noise.

    By theory the squared error is then K - 2 + K sum theta^2 = 14.7 instead of K - 1 = 11 times the
    variance.
    """
    theta = np.append(0.4 * np.arange(1.0, 12.0) / 66, 0.6)
    right = _errors(EmpiricalBayes(), theta, 10**6, 1.0, 60).mean()
    monkeypatch.setattr(empirical_bayes, "tilt_to_sum", lambda laws, *_: laws)
    for module in (empirical_bayes, noise):
        monkeypatch.setattr(module, "move_to_sum", lambda v, variance: v / v.sum())
    assert _errors(EmpiricalBayes(), theta, 10**6, 1.0, 60).mean() > 1.15 * right


def test_a_prior_that_has_seen_the_value_itself_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few values: the nonparametric prior alone, here a concentration of next to nothing, errs at
    least a quarter more than the mixture.
    """
    theta = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    monkeypatch.setattr(
        empirical_bayes, "SETTINGS", replace(empirical_bayes.SETTINGS, small_domain=0)
    )
    right = _errors(EmpiricalBayes(), theta, 3000, 1.0, 60).mean()
    monkeypatch.setattr(prior, "SETTINGS", replace(prior.SETTINGS, base_concentrations=(0.01,)))
    assert _errors(EmpiricalBayes(), theta, 3000, 1.0, 60).mean() > 1.25 * right
