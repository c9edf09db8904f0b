"""Products of columns of Kronecker products, from pairs of values, against matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from warner.channels import Channel, DenseChannel, DirectChannel, KroneckerChannel, SupportChannel


def _dense(rows: int, size: int, seed: int) -> DenseChannel:
    matrix = np.random.default_rng(seed).random((rows, size))
    return DenseChannel(matrix / matrix.sum(axis=0))


FACTORS: list[list[Channel]] = [
    [_dense(5, 3, 1), _dense(4, 6, 2)],
    [_dense(3, 4, 3)],
    [DirectChannel(5, np.array([0.1, 0.1, 0.0, 0.1, 0.1]), 0.6), _dense(2, 3, 4)],
    [
        SupportChannel(5, 0.1, 0.5),
        DirectChannel(3, 0.2, 0.4),
        SupportChannel(4, np.array([0.1, 0.2, 0.3, 0.1]), 0.3),
    ],
]


@pytest.mark.parametrize("factors", FACTORS)
def test_products_of_columns_of_some_values_are_those_of_the_matrix(
    factors: Sequence[Channel],
) -> None:
    """The mutant that counts a pair of equal values twice is rejected by the diagonal."""
    channel, rng = KroneckerChannel(factors), np.random.default_rng(0)
    index = np.sort(rng.choice(channel.shape[1], max(2, channel.shape[1] // 2), replace=False))
    v = rng.random(channel.shape[0])
    columns = channel.dense()[:, index]
    assert channel.gram_among(index, v) == pytest.approx((columns * v[:, None]).T @ columns)


@pytest.mark.parametrize("factors", FACTORS)
def test_pairs_of_columns_are_multiplied_in_the_order_of_the_upper_triangle(
    factors: Sequence[Channel],
) -> None:
    rng = np.random.default_rng(1)
    for channel in factors:
        index, matrix = np.arange(0, channel.shape[1], 2), channel.dense()
        r = rng.random((channel.shape[0], 2))
        pairs = [(matrix[:, x] * matrix[:, z]) @ r for a, x in enumerate(index) for z in index[a:]]
        assert channel.pair_products(index, r) == pytest.approx(np.array(pairs))
