"""Products of key-value channels are those of their matrices."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Categorical, Interval, KeyValue
from warner.channels import TiedChannel


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_the_gram_product_is_that_of_the_matrix(key: str) -> None:
    channel = KeyValue(
        Categorical(["a", "b", "c"]), Interval(-1, 1, 4), 1.5, key=key, value="piecewise", cells=5
    ).channel()
    dense, v = channel.dense(), np.random.default_rng(0).random(channel.shape[0])
    assert channel.gram(v) == pytest.approx(dense.T @ (v[:, None] * dense), abs=1e-13)


def test_products_of_several_vectors_are_those_of_one() -> None:
    channel = KeyValue(
        Categorical(["a", "b"]), Interval(-1, 1, 4), 1.5, value="piecewise", cells=5
    ).channel()
    assert isinstance(channel, TiedChannel)
    thetas = np.random.default_rng(1).dirichlet(np.ones(8), 3).T
    w = channel.matvec(thetas)
    assert channel.invert(w) == pytest.approx(thetas, abs=1e-10)
    assert channel.influence(thetas).T @ w[:, 0] == pytest.approx(
        thetas.T @ channel.invert(w[:, 0]), abs=1e-10
    )
    assert channel.inverse_moments(thetas)[0][:, 1] == pytest.approx(
        channel.inverse_moments(thetas[:, 1])[0]
    )


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_the_adjoint_is_the_transposed_matrix(key: str) -> None:
    channel = warner.KeyValue(
        warner.Categorical(["a", "b", "c"]),
        warner.Integers(0, 3),
        1.5,
        key=key,
        value="piecewise",
        cells=5,
    ).channel()
    r = np.random.default_rng(1).normal(size=channel.shape[0])
    assert channel.rmatvec(r) == pytest.approx(channel.dense().T @ r, abs=1e-14)
