"""Several simulated tallies are those that are drawn one after another."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import ALL, smallest
from warner.channels import Channel, DirectChannel, stacked


def _draws_are_the_same(channel: Channel) -> None:
    size = channel.shape[1]
    theta = np.arange(1.0, size + 1)
    theta /= theta.sum()
    together = channel.simulate_tallies(theta, 50, np.random.default_rng(7), 3)
    rng = np.random.default_rng(7)
    for _, w in together:
        assert (w == channel.simulate_tally(theta, 50, rng)[1]).all()


@pytest.mark.parametrize("name", ALL)
def test_tallies_drawn_together_are_those_drawn_one_by_one(name: str) -> None:
    _draws_are_the_same(smallest(name).channel())


def test_groups_keep_their_sizes_in_each_of_several_tallies() -> None:
    parts = [DirectChannel(3, 0.2, 0.4), DirectChannel(3, 0.1, 0.7)]
    stack = stacked(parts, [20, 30])
    assert isinstance(stack, Channel)
    _draws_are_the_same(stack)
    repeated = warner.Repeated(warner.RandomizedResponse(warner.Integers(0, 2), 1.0), 2)
    _draws_are_the_same(repeated.channel())
