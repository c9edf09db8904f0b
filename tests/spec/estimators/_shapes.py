"""Smooth distributions, random data of them, and the estimators for values in order."""

from __future__ import annotations

from typing import Any

import numpy as np

import warner
from warner import LogSpline
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM

BOTH: list[Estimator] = [SmoothedEM(), LogSpline()]


def _shape(density: Any, bins: int) -> np.ndarray:
    values = density((np.arange(bins) + 0.5) / bins)
    return values / values.sum()


def _bell(bins: int) -> np.ndarray:
    return _shape(lambda x: np.exp(-((x - 0.4) ** 2) / 0.02), bins)


def _simulated(
    mechanism: warner.mechanisms.Mechanism,
    theta: np.ndarray,
    n: int,
    seed: int = 0,
    exact: bool = False,
) -> LikelihoodData:
    channel = mechanism.channel()
    w = channel.matvec(theta) if exact else channel.simulate(theta, n, np.random.default_rng(seed))
    return LikelihoodData(channel, w / w.sum(), n, mechanism.domain)
