"""Smoothed EM against the published code."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Interval
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM


def test_smoothed_em_is_the_published_code() -> None:
    """With the dense channel and the smoothing matrix, step by step: theta <- S (theta * A' (c / A
    theta)), made to sum to one.
    """
    bins, n = 32, 4_000
    channel = warner.mechanisms.Piecewise(Interval(0, 1, bins), 1.0, cells=64).channel()
    w = channel.simulate(
        np.arange(1.0, bins + 1) / np.arange(1.0, bins + 1).sum(), n, np.random.default_rng(0)
    )
    kernel = (
        np.diag(np.full(bins, 2.0)) + np.diag(np.ones(bins - 1), 1) + np.diag(np.ones(bins - 1), -1)
    )
    kernel /= kernel.sum(axis=1, keepdims=True)
    dense, theta, last, steps = channel.dense(), np.full(bins, 1 / bins), -np.inf, 0
    value = n * w @ np.log(dense @ theta)
    while True:
        before, last = theta, value
        theta = kernel @ (theta * (dense.T @ (n * w / (dense @ theta))))
        theta /= theta.sum()
        value = n * w @ np.log(dense @ theta)
        steps += 1
        if abs(value - last) < 1e-3 or np.abs(theta - before).sum() < 1 / n:
            break
    fit = SmoothedEM().fit(LikelihoodData(channel, w, n, Interval(0, 1, bins)))
    assert fit.iterations == steps
    assert fit.probabilities == pytest.approx(theta, abs=1e-12)
