"""Key-value mechanisms, a distribution of keys and values, and people who follow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner import Categorical, Interval, KeyValue
from warner.estimators.base import LikelihoodData

KEYS, PAY = Categorical(["a", "b", "c", "d"]), Interval(-1, 1, 8)


F = np.array([0.4, 0.35, 0.25, 0.0])


VARIANTS = [(key, value) for key in ("unary", "direct") for value in ("rounding", "piecewise")]


def _make(key: str, value: str, epsilon: float = 2.0, **more: Any) -> KeyValue:
    return KeyValue(KEYS, PAY, epsilon, key=key, value=value, **more)


def _theta() -> np.ndarray:
    """Shares of (key, bin), C order: each key's values peak elsewhere, nobody has the last key."""
    peaks = np.exp(-((np.arange(8)[None, :] - np.array([1, 4, 6, 3])[:, None]) ** 2) / 3)
    return (F[:, None] * peaks / peaks.sum(axis=1, keepdims=True)).ravel()


def _means() -> np.ndarray:
    table = _theta().reshape(4, 8)[:3]
    return table @ PAY.points[:, 0] / F[:3]


def _facts(mechanism: KeyValue, n: int = 10**6) -> LikelihoodData:
    """What a tally would hold on average."""
    channel = mechanism.channel()
    return LikelihoodData(channel, channel.matvec(_theta()), n, mechanism.domain)


def _people(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    cell = rng.choice(32, n, p=_theta())
    return {
        "key": KEYS.decode(cell // 8),
        "value": PAY.points[cell % 8, 0] + rng.uniform(-1 / 8, 1 / 8, n),
    }
