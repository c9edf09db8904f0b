"""Channels of marginals against slow twins that list every report."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity.channels._matrices import _geometric, _utility
from tests.registry import MECHANISMS
from warner import Integers, Product
from warner.channels import (
    Channel,
    DenseChannel,
    DirectChannel,
    HadamardChannel,
    KroneckerChannel,
    SummedChannel,
    lifted,
    summed,
)
from warner.reports.reports import Reports
from warner.results.from_tally import likelihood_data

SHAPE = (3, 4, 2)


@pytest.mark.parametrize("keep", [[0], [2], [1, 0], [2, 0], [2, 0, 1], [0, 1, 2]])
def test_sums_and_their_transpose_are_those_of_a_matrix(keep: list[int]) -> None:
    places = np.stack(np.unravel_index(np.arange(24), SHAPE))
    kept = np.ravel_multi_index([places[axis] for axis in keep], [SHAPE[axis] for axis in keep])
    matrix = (kept == np.arange(kept.max() + 1)[:, None]).astype(float)
    rng = np.random.default_rng(0)
    for trailing in ((), (5,)):
        v, u = rng.random((24, *trailing)), rng.random((len(matrix), *trailing))
        assert summed(v, SHAPE, keep) == pytest.approx(matrix @ v)
        assert lifted(u, SHAPE, keep) == pytest.approx(matrix.T @ u)


KRONECKER = [_utility(3, 1, 1.0)[0], _geometric(4, 0.5, 0, 1)[0], HadamardChannel(2, 4, 0.5)]


WHOLE: dict[str, Channel] = {
    "kronecker": KroneckerChannel(KRONECKER),
    "direct": DirectChannel(24, 0.02, 0.52),
    "direct, utility-optimised": _utility(24, 9, 1.0)[0],
}


@pytest.mark.parametrize("keep", [[0], [2, 1]])
@pytest.mark.parametrize("name", WHOLE)
def test_marginal_channels_are_the_law_of_the_reports_summed(name: str, keep: list[int]) -> None:
    """For every joint distribution: summing reports over the attributes left out gives the marginal
    channel of its marginal.
    """
    channel = WHOLE[name]
    rows = (
        [c.shape[0] for c in channel.channels] if isinstance(channel, KroneckerChannel) else SHAPE
    )
    for seed in range(5):
        theta = np.random.default_rng(seed).dirichlet(np.full(24, 0.3))
        w = channel.dense() @ theta
        found = channel.marginal(w, SHAPE, keep)
        assert found is not None
        assert found[1] == pytest.approx(summed(w, rows, keep))
        assert found[0].dense() @ summed(theta, SHAPE, keep) == pytest.approx(found[1], abs=1e-12)
        assert found[0].invert(found[1]) == pytest.approx(summed(theta, SHAPE, keep), abs=1e-9)


def test_nothing_falls_away_from_a_channel_without_structure() -> None:
    dense = np.random.default_rng(0).dirichlet(np.ones(24), 24).T
    assert DenseChannel(dense).marginal(np.ones(24) / 24, SHAPE, [0]) is None


@pytest.mark.parametrize("name", ["kronecker", "direct", "direct, utility-optimised"])
def test_functionals_are_those_of_the_inverse_as_a_matrix(name: str) -> None:
    channel = WHOLE[name]
    inverse = channel.invert(np.eye(channel.shape[0]))
    for trailing in ((), (3,)):
        c = np.random.default_rng(0).random((24, *trailing))
        assert channel.influence(c) == pytest.approx(inverse.T @ c, abs=1e-9)


def test_the_functional_of_hadamard_response_is_that_of_its_own_inverse_for_any_weights() -> None:
    channel = HadamardChannel(5, 8, 0.5)
    w, c = np.random.default_rng(0).dirichlet(np.ones(8)), np.random.default_rng(1).random((5, 2))
    assert channel.influence(c).T @ w == pytest.approx(c.T @ channel.invert(w))


PAIR = Product(a=Integers(0, 1), b=Integers(0, 2))


SUMMED = [
    "UnaryEncoding symmetric",
    "UnaryEncoding keep 0.8",
    "SubsetSelection",
    "SubsetSelection of two",
    "HadamardResponse",
    "MatrixMechanism",
]


@pytest.mark.parametrize("keep", [[0], [1]])
@pytest.mark.parametrize("name", [*SUMMED, "UtilityOptimizedRappor"])
def test_variance_of_a_marginal_is_that_over_all_reports(name: str, keep: list[int]) -> None:
    """By enumeration: E[Z(y)^2] - theta'^2, Z(y) the sums of the inverse of one report; summing the
    cells' variances is wrong.
    """
    mechanism = (
        warner.UtilityOptimizedRappor(PAIR, 1.0, sensitive=PAIR.labels[:2])
        if name == "UtilityOptimizedRappor"
        else MECHANISMS[name](PAIR, 1.0)
    )
    theta = np.random.default_rng(3).dirichlet(np.ones(6))
    channel = mechanism.channel()
    outputs = Reports(mechanism.header, mechanism.outputs())
    rows = np.stack(
        [likelihood_data(mechanism.tally(outputs[i : i + 1])).weights for i in range(len(outputs))]
    )
    single = np.stack([summed(channel.invert(row), PAIR.shape, keep) for row in rows])
    law = mechanism.probabilities().astype(float) @ theta
    part = summed(theta, PAIR.shape, keep)
    found = SummedChannel(channel, PAIR.shape, keep, theta)
    assert law @ single == pytest.approx(part, abs=1e-12)
    assert found.variance(part) == pytest.approx(law @ single**2 - part**2, rel=1e-9)
    if "Encoding" not in name:  # whose bits are independent
        assert (
            np.abs(
                summed(channel.variance(theta), PAIR.shape, keep) / found.variance(part) - 1
            ).max()
            > 0.01
        )
    # Also of a law that is not the one it was made for, where the rest given the kept attributes is
    # the same.
    other = np.random.default_rng(4).dirichlet(np.ones(part.size))
    law = mechanism.probabilities().astype(float) @ (theta * lifted(other / part, PAIR.shape, keep))
    assert found.variance(other) == pytest.approx(law @ single**2 - other**2, rel=1e-9)
    assert found.matvec(part) == pytest.approx(channel.matvec(theta))
    r, t = (
        np.random.default_rng(5).random(channel.shape[0]),
        np.random.default_rng(6).random((part.size, 2)),
    )
    assert t.T @ found.rmatvec(r) == pytest.approx(found.matvec(t).T @ r)
