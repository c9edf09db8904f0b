"""The noise of the score between independent attributes is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warner
from warner import Categorical, Product
from warner.channels import Channel, KroneckerChannel, StackChannel
from warner.domains import Domain
from warner.estimators.base import LikelihoodData
from warner.estimators.raking import energy_and_noise
from warner.mechanisms import Mechanism

DOMAIN = Product(a=Categorical(list("abcd")), b=Categorical(list("xyz")))
PARTS = [np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.3, 0.2])]
N, RUNS = 4000, 150
MAKERS: dict[str, Callable[[Domain, float], Mechanism]] = {
    "RR": warner.RandomizedResponse,
    "OUE": lambda d, e: warner.UnaryEncoding(d, e, variant="oue"),
    "subsets": lambda d, e: warner.SubsetSelection(d, e, size=2),
}


def _channel(maker: str, epsilon: float) -> KroneckerChannel:
    parts = [MAKERS[maker](d, epsilon).channel() for d in DOMAIN.attributes.values()]
    return KroneckerChannel(parts)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("budgets", [1, 2])
def test_noise_over_energy_is_one_on_average(maker: str, budgets: int) -> None:
    """Over tallies of independent attributes, the mean energy is the mean of the known noise.

    It rejects a program that takes the rows of a report as reports (bits: 12 times off), one that
    takes the bits of a subset as independent (2 times), and one that weights two groups of people
    equally (1.5 times and more).
    """
    channel: Channel = _channel(maker, 1.0)
    if budgets == 2:
        channel = StackChannel([_channel(maker, 1.0), _channel(maker, 2.0)], [3000, 1000])
    rng = np.random.default_rng(0)
    theta = np.outer(*PARTS).ravel()
    found = []
    for _ in range(RUNS):
        data = LikelihoodData(channel, channel.simulate(theta, N, rng), N, DOMAIN)
        found.append(energy_and_noise(data, PARTS))
    energy, noise = np.array(found, dtype=float).mean(axis=0)
    # One energy has a relative standard deviation of 0.6 to 0.75: the mean of 150 has 0.06.
    assert energy / noise == pytest.approx(1, abs=0.2)
