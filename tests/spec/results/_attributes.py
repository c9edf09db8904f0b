"""Estimates of several attributes from data without noise."""

from __future__ import annotations

import numpy as np

import warner
from warner import Categorical, Estimate, Integers, Interval, Product
from warner.channels import DirectChannel, KroneckerChannel
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData

DOMAIN = Product(sex=Categorical(["f", "m"]), age=Integers(0, 3), pay=Interval(0.0, 9.0, 3))


SHAPE = DOMAIN.shape


def keep(size: int, share: float = 0.5) -> DirectChannel:
    """[P5]'s randomisation (METHODS 9.2): a value is kept with probability ``share``, else uniform
    over all.
    """
    return DirectChannel(size, (1 - share) / size, share)


def family(marginal: np.ndarray, v: float) -> np.ndarray:
    """(1 - v) l l' + v diag(l), which has Cramer's V = v exactly (METHODS 3)."""
    return (1 - v) * np.outer(marginal, marginal) + v * np.diag(marginal)


def seen(
    channel: warner.channels.Channel,
    theta: np.ndarray,
    n: int,
    domain: Product = DOMAIN,
    seed: int = 0,
) -> LikelihoodData:
    return LikelihoodData(
        channel, channel.simulate(theta, n, np.random.default_rng(seed)), n, domain
    )


def fitted(method: Estimator, n: int = 20_000, seed: int = 0) -> tuple[Estimate, np.ndarray]:
    theta = np.random.default_rng(1).dirichlet(np.ones(24))
    data = seen(KroneckerChannel([keep(d) for d in SHAPE]), theta, n, seed=seed)
    return Estimate(method.fit(data), data, method), theta.reshape(SHAPE)
