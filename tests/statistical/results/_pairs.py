"""Two dependent attributes, and random tallies of them."""

from __future__ import annotations

import numpy as np

from warner import Integers, Product
from warner.channels import DirectChannel, KroneckerChannel
from warner.estimators.base import LikelihoodData

LAMBDA = 1 / np.arange(2, 7) / (1 / np.arange(2, 7)).sum()  # [P5 sec 4.1]


PAIR = Product(a=Integers(1, 5), b=Integers(1, 5))


CHANNEL = KroneckerChannel([DirectChannel(5, 0.1, 0.5)] * 2)


def _family(v: float, marginal: np.ndarray = LAMBDA) -> np.ndarray:
    return ((1 - v) * np.outer(marginal, marginal) + v * np.diag(marginal)).ravel()


def _tallies(theta: np.ndarray, n: int, runs: int, seed: int) -> list[LikelihoodData]:
    rng = np.random.default_rng(seed)
    return [LikelihoodData(CHANNEL, CHANNEL.simulate(theta, n, rng), n, PAIR) for _ in range(runs)]
