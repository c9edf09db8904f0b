"""Draws of log-splines a few values at a time, against all draws at once."""

import numpy as np
import pytest

import warner
from warner.estimators import LogSpline, log_spline


@pytest.mark.parametrize("size", [60, 3000])
def test_draws_in_blocks_are_those_of_all_values(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Normalised sums, orders of draws, and quantiles."""
    mechanism = warner.RandomizedResponse(warner.Integers(0, size - 1), 2.0)
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal(0.4, 0.2, 4000) * size, 0, size - 1).astype(np.int64)
    tally = mechanism.tally(mechanism.randomize(values, rng=rng))
    result = warner.estimate(tally, LogSpline())
    posterior = result.fit.posterior
    assert posterior is not None
    whole = posterior.draws(1000, np.random.default_rng(0))
    assert whole.shape == (1000, size)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, rtol=1e-12)
    one_by_one = posterior.one_by_one(1000, np.random.default_rng(0))
    for drawn, row in zip(one_by_one, whole, strict=True):
        np.testing.assert_array_equal(drawn, row)

    low, high = (
        np.quantile(whole, 0.05, axis=0, method="lower"),
        np.quantile(whole, 0.95, axis=0, method="higher"),
    )
    monkeypatch.setattr(log_spline, "_BLOCK", 17 * 1000)
    blocks = list(posterior.blocks(1000, np.random.default_rng(0)))
    assert all(drawn.shape[0] <= 17 for _, drawn in blocks)
    together = np.concatenate([drawn for _, drawn in blocks])
    np.testing.assert_array_equal(np.sort(together, axis=1), np.sort(whole.T, axis=1))
    np.testing.assert_array_equal(result.interval(0.9), np.stack([low, high], axis=1))
    # A draw is one distribution: its values stand in one column of every block.
    np.testing.assert_allclose(together.sum(axis=0), 1.0, rtol=1e-12)
