"""The order of the values is used where it says something, and costs little where it does not. Seeded, so that nothing flakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.statistical.estimators.empirical_bayes._shapes import _facts, _heaped, _smooth
from warner import EmpiricalBayes
from warner.estimators.empirical_bayes import prior


def _ratio(
    theta: np.ndarray, shuffle: bool, runs: int, estimators: tuple[EmpiricalBayes, EmpiricalBayes]
) -> float:
    """Squared error with the order over that without."""
    rng = np.random.default_rng(21)
    errors = np.zeros(2)
    for _ in range(runs):
        truth = rng.permutation(theta) if shuffle else theta
        data = _facts(truth, 30_000, 2.0, rng)
        errors += [((e.fit(data).shares - truth) ** 2).sum() for e in estimators]
    return float(errors[0] / errors[1])


BOTH = (EmpiricalBayes(), EmpiricalBayes(order=False))


@pytest.mark.parametrize("law", [_smooth, _heaped])
def test_neighbours_alike_and_repeating_patterns_are_used(law: type) -> None:
    assert _ratio(law(120), False, 6, BOTH) < 0.75


@pytest.mark.parametrize("law", [_smooth, _heaped])
def test_labels_in_no_order_lose_little(law: type) -> None:
    assert _ratio(law(120), True, 15, BOTH) < 1.04


def test_a_guess_that_has_seen_its_own_value_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filtered estimate itself taken for a prediction from the others, h = 0: labels in no
    order then lose a tenth at least.
    """
    filtered = prior.filtered
    monkeypatch.setattr(prior, "filtered", lambda d, noise: (filtered(d, noise)[0], 0.0))
    assert _ratio(_smooth(120), True, 8, BOTH) > 1.1


def test_one_large_value_does_not_pass_for_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cap, and with odd values taken for none, a few large values ruin the guesses of
    the others.
    """
    theta = np.arange(1.0, 301) ** -1.2
    theta /= theta.sum()
    right = _ratio(theta, False, 6, BOTH)
    monkeypatch.setattr(prior, "SETTINGS", replace(prior.SETTINGS, peakedness=1.0, odd_value=0.0))
    assert right < 1.02 and _ratio(theta, False, 6, BOTH) > 1.2 * right


def test_draws_cover_shares_in_order() -> None:
    """95 % of draws' middle holds the truth 90 to 99 times in a hundred, though the guesses' errors
    are alike along the order.
    """
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(20):
        walk = np.exp(np.cumsum(rng.normal(size=100)) * 0.2)
        theta = walk / walk.sum()
        fit = EmpiricalBayes().fit(_facts(theta, 30_000, 2.0, rng))
        assert fit.posterior is not None
        low, high = np.quantile(fit.posterior.draws(300, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99
