"""The part of an inverse's variance that is due to the values, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Integers, RandomizedResponse, UnaryEncoding
from warner.channels import Channel, DenseChannel, DirectChannel, StackChannel

THETA = np.array([0.5, 0.3, 0.2])
CHANNELS: dict[str, list[Channel]] = {
    "values": [DirectChannel(3, 0.1, 0.7), DirectChannel(3, 0.25, 0.25)],
    "values and bits": [
        RandomizedResponse(Integers(0, 2), 1.0).channel(),
        UnaryEncoding(Integers(0, 2), 2.0).channel(),
    ],
}


def _slow(stack: StackChannel, theta: np.ndarray) -> np.ndarray:
    """sum_g n_g / n Var_x E[n times what a report of group g with value x adds]."""
    n, inverse = stack.people.sum(), stack.invert(np.eye(stack.shape[0]))
    total = np.zeros(theta.size)
    for channel, part, share, size in zip(
        stack.channels, stack.split(inverse.T), stack.shares, stack.people, strict=True
    ):
        means = n / size * share * (part.T @ channel.dense())
        total += size / n * (means**2 @ theta - (means @ theta) ** 2)
    return total


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("sizes", [(100, 100), (900, 100), (10, 2000)])
@pytest.mark.parametrize("equal", [False, True])
def test_of_several_mechanisms(name: str, sizes: tuple[int, int], equal: bool) -> None:
    """Rows of bits are more than reports; people are weighed, not rows."""
    stack = StackChannel(CHANNELS[name], sizes, equal)
    variance = stack.variance(THETA)
    found = stack.part_of_values(THETA, variance)
    assert found == pytest.approx(_slow(stack, THETA), rel=1e-9)
    assert (found < variance).all()


def test_a_group_without_an_inverse_leaves_the_whole_variance() -> None:
    blind = DenseChannel(np.array([[0.8, 0.8, 0.2], [0.2, 0.2, 0.8]]))
    stack = StackChannel([DirectChannel(3, 0.1, 0.7), blind], (100, 100))
    variance = stack.variance(THETA)
    found = stack.part_of_values(THETA, variance)
    assert stack.is_inverted_together and (found == variance).all()
    assert (found >= _slow(stack, THETA) - 1e-12).all()


def test_one_mechanism_has_the_variance_of_the_values() -> None:
    channel = DirectChannel(3, 0.1, 0.7)
    found = channel.part_of_values(THETA, channel.variance(THETA))
    assert (found == THETA - THETA**2).all()
