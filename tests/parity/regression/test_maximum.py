"""The largest maximum of a likelihood with several, against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from warner import Integers, RandomizedResponse
from warner.regression import likelihood
from warner.regression.likelihood import Ending, Pairs, maximize


def _pairs(seed: int, n: int = 300) -> Pairs:
    """A survey at epsilon 1 with three values. With 300 people errors are large."""
    rng = np.random.default_rng(seed)
    channel = RandomizedResponse(Integers(0, 2), 1.0).channel()
    z = np.stack([np.ones(n), 2.0 * rng.integers(0, 2, n) - 1, rng.integers(-1, 2, n)], axis=1)
    p = np.exp(z @ rng.normal(size=(3, 3)).T)
    p /= p.sum(axis=1, keepdims=True)
    values = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return Pairs.of(channel.dense(), channel.sample_rows(values, rng), z)


@pytest.mark.parametrize("seed", [60, 89, 110, 3, 4])
def test_no_other_start_ends_higher(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the first three seeds, the search from 0 alone ends at a smaller maximum."""
    pairs = _pairs(seed)
    found = maximize(pairs)
    rng = np.random.default_rng(1)
    values = [
        -optimize.minimize(
            lambda b: -pairs.at(b.reshape(2, 3)).value,
            start,
            jac=lambda b: -pairs.at(b.reshape(2, 3)).derivatives()[0],
            method="L-BFGS-B",
            bounds=[(-30, 30)] * 6,
        ).fun
        for start in [np.zeros(6), *rng.normal(scale=2, size=(6, 6))]
    ]
    assert found.point.value >= max(values) - 1e-3
    monkeypatch.setattr(likelihood, "_STARTS", 0)
    alone = maximize(pairs).point.value
    assert (found.point.value > alone + 0.1) == (seed in (60, 89, 110))


def test_the_covariance_is_the_inverse_of_the_information() -> None:
    found = maximize(_pairs(3, 6000))
    assert found.ending is Ending.CONVERGED
    information = found.point.derivatives()[1]
    assert found.covariance @ information == pytest.approx(np.eye(6), abs=1e-6)
