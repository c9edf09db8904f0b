"""Tuples of reports against matrices and enumeration: products, marginals, repeated reports."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest

import warner
from tests.parity.channels._matrices import _geometric, _utility
from tests.registry import COMBINED, MECHANISMS
from warner import Categorical, Integers, Product, RandomizedResponse
from warner.channels import (
    Channel,
    DenseChannel,
    DirectChannel,
    HadamardChannel,
    KroneckerChannel,
    RepeatedRows,
    SummedChannel,
    SupportChannel,
    lifted,
    summed,
)
from warner.reports.reports import Reports
from warner.results.from_tally import likelihood_data


def test_small_products_are_multiplied_as_large_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = COMBINED["RR twice x OUE"](1.0).channel()
    assert isinstance(channel, KroneckerChannel) and channel._small is not None
    rng = np.random.default_rng(0)
    theta, r = rng.random((channel.shape[1], 3)), rng.random((channel.shape[0], 3))
    monkeypatch.setattr("warner.channels.tuples._SMALL", 0)
    large = KroneckerChannel(channel.channels)
    assert large._small is None
    for several in (slice(None), 0):
        assert channel.matvec(theta[:, several]) == pytest.approx(
            large.matvec(theta[:, several]), abs=1e-14
        )
        assert channel.rmatvec(r[:, several]) == pytest.approx(
            large.rmatvec(r[:, several]), abs=1e-14
        )


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


SHAPE = (2, 3, 4, 2)
# The groups (0, 1), (2,) and (3,), and the groups (0,), (1, 2, 3).
CHANNELS = {
    "2 and 1 and 1": [
        DirectChannel(6, 0.1, 0.4),
        DirectChannel(4, 0.05, 0.8),
        DirectChannel(2, 0.2, 0.6),
    ],
    "1 and 3": [DirectChannel(2, 0.3, 0.4), DirectChannel(24, 0.02, 0.52)],
}
CLUSTERS = {"2 and 1 and 1": [[0, 1], [2], [3]], "1 and 3": [[0], [1, 2, 3]]}


@pytest.mark.parametrize("name", CHANNELS)
def test_the_marginal_of_the_reports_inverts_to_the_marginal_of_the_shares(name: str) -> None:
    channel = KroneckerChannel(CHANNELS[name])
    assert channel.clusters(SHAPE) == CLUSTERS[name]
    theta = np.random.default_rng(0).dirichlet(np.ones(48))
    w = channel.matvec(theta)
    owner = {axis: i for i, axes in enumerate(CLUSTERS[name]) for axis in axes}
    seen = 0
    for keep in [k for size in (1, 2, 3, 4) for k in permutations(range(4), size)]:
        owners = [owner[axis] for axis in keep]
        runs = [o for i, o in enumerate(owners) if not i or owners[i - 1] != o]
        found = channel.marginal(w, SHAPE, keep)
        if len(set(runs)) < len(runs):
            assert found is None  # such a table is no product of channels
            continue
        assert found is not None
        operator, weights = found
        expected = summed(theta, SHAPE, keep)
        np.testing.assert_allclose(operator.invert(weights), expected, atol=1e-12)
        np.testing.assert_allclose(operator.matvec(expected), weights, atol=1e-12)
        seen += 1
    assert seen >= 40


def test_shapes_that_do_not_fit_have_no_clusters() -> None:
    channel = KroneckerChannel(CHANNELS["1 and 3"])
    for shape in ((4, 12), (2, 24, 2), (2, 12), (48,)):
        assert channel.clusters(shape) is None
    assert DirectChannel(6, 0.1, 0.4).clusters((2, 3)) is None


def test_reports_of_several_attributes_together_have_the_marginals_of_their_tallies() -> None:
    """``attributes=`` of randomised response on a Product, against the table of its reports."""
    domain = Product(a=Categorical(["x", "y"]), b=Categorical([0, 1, 2]))
    both = RandomizedResponse(domain, 1.0)
    rng = np.random.default_rng(0)
    tally = both.tally(both.randomize([{"a": "x", "b": 1}, {"a": "y", "b": 2}] * 300, rng))
    channel, counts, alone = both.channel_for(tally, ["b"])
    np.testing.assert_array_equal(counts, tally.counts.reshape(2, 3).sum(axis=0))
    assert alone == domain.attributes["b"] and channel.shape == (3, 3)


SIZES = (3, 4, 2)


@pytest.mark.parametrize("keep", [[0], [2], [1, 0], [2, 0], [2, 0, 1], [0, 1, 2]])
def test_sums_and_their_transpose_are_those_of_a_matrix(keep: list[int]) -> None:
    places = np.stack(np.unravel_index(np.arange(24), SIZES))
    kept = np.ravel_multi_index([places[axis] for axis in keep], [SIZES[axis] for axis in keep])
    matrix = (kept == np.arange(kept.max() + 1)[:, None]).astype(float)
    rng = np.random.default_rng(0)
    for trailing in ((), (5,)):
        v, u = rng.random((24, *trailing)), rng.random((len(matrix), *trailing))
        assert summed(v, SIZES, keep) == pytest.approx(matrix @ v)
        assert lifted(u, SIZES, keep) == pytest.approx(matrix.T @ u)


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
        [c.shape[0] for c in channel.channels] if isinstance(channel, KroneckerChannel) else SIZES
    )
    for seed in range(5):
        theta = np.random.default_rng(seed).dirichlet(np.full(24, 0.3))
        w = channel.dense() @ theta
        found = channel.marginal(w, SIZES, keep)
        assert found is not None
        assert found[1] == pytest.approx(summed(w, rows, keep))
        assert found[0].dense() @ summed(theta, SIZES, keep) == pytest.approx(found[1], abs=1e-12)
        assert found[0].invert(found[1]) == pytest.approx(summed(theta, SIZES, keep), abs=1e-9)


def test_nothing_falls_away_from_a_channel_without_structure() -> None:
    dense = np.random.default_rng(0).dirichlet(np.ones(24), 24).T
    assert DenseChannel(dense).marginal(np.ones(24) / 24, SIZES, [0]) is None


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
        warner.mechanisms.UtilityOptimizedRappor(PAIR, 1.0, sensitive=PAIR.labels[:2])
        if name == "UtilityOptimizedRappor"
        else MECHANISMS[name](PAIR, 1.0)
    )
    theta = np.random.default_rng(3).dirichlet(np.ones(6))
    channel = mechanism.channel()
    outputs = Reports(mechanism.header, mechanism.outputs())
    rows = np.stack(
        [
            likelihood_data(mechanism.tally(outputs[i : i + 1], keep_reports=False)).weights
            for i in range(len(outputs))
        ]
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
    r = np.random.default_rng(5).random(channel.shape[0])
    t = np.random.default_rng(6).random((part.size, 2))
    assert t.T @ found.rmatvec(r) == pytest.approx(found.matvec(t).T @ r)


@pytest.mark.parametrize(
    "name", ["RandomizedResponse", "LocalHashing optimized", "HadamardResponse", "MatrixMechanism"]
)
def test_rows_of_several_reports_of_one_person_are_products(name: str) -> None:
    size, times = 4, 3
    channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    other = DirectChannel(size, 0.15, 0.4)
    channels = [channel, channel, other]
    reports = np.array(
        list(product(range(min(channel.shape[0], 7)), range(min(channel.shape[0], 7)), range(size)))
    )
    rows = RepeatedRows(channels, reports)
    exact = np.prod([c.dense()[reports[:, t]] for t, c in enumerate(channels)], axis=0)
    assert rows.dense() == pytest.approx(exact / exact.max(axis=1, keepdims=True), abs=1e-12)
    rng = np.random.default_rng(0)
    theta, r = rng.random(size), rng.random(len(reports))
    assert rows.matvec(theta) == pytest.approx(rows.dense() @ theta)
    assert rows.rmatvec(r) == pytest.approx(rows.dense().T @ r)
    # Over all tuples the mean inversion is unbiased and has the variance it says.
    every = np.array(list(product(*(range(c.shape[0]) for c in channels))))
    rows = RepeatedRows(channels, every)
    law = np.prod([c.dense()[every[:, t]] for t, c in enumerate(channels)], axis=0)
    theta = rng.dirichlet(np.ones(size))
    single = np.mean(
        [
            np.stack([c.invert(unit) for unit in np.eye(c.shape[0])])[every[:, t]]
            for t, c in enumerate(channels)
        ],
        axis=0,
    )
    assert rows.invert(law @ theta) == pytest.approx(theta, abs=1e-10)
    assert rows.inverse_moments(theta)[0] == pytest.approx((law @ theta) @ single**2, rel=1e-9)
    assert rows.inverse_moments(theta)[1] == pytest.approx((law * single**2).sum(axis=0), rel=1e-9)
    assert times == rows.reports.shape[1]


def test_many_reports_of_one_person_do_not_underflow() -> None:
    """A thousand reports at epsilon = 8 have a probability that no float holds."""
    channel = DirectChannel(3, 1 / (np.exp(8) + 2), (np.exp(8) - 1) / (np.exp(8) + 2))
    rows = RepeatedRows([channel] * 1000, np.full((1, 1000), 1))
    assert rows.matvec(np.array([0.0, 1.0, 0.0])).tolist() == [1.0]


def test_the_order_of_equal_reports_is_not_kept() -> None:
    mechanism = warner.mechanisms.Repeated(warner.RandomizedResponse(warner.Integers(0, 3), 1.0), 3)
    a = mechanism.reports({"1": [0, 3], "2": [1, 3], "3": [2, 0]})
    b = mechanism.reports({"1": [2, 0], "2": [0, 3], "3": [1, 3]})
    assert mechanism.tally(a) == mechanism.tally(b)
    assert likelihood_data(mechanism.tally(a)).channel.dense() == pytest.approx(
        likelihood_data(mechanism.tally(b)).channel.dense()
    )
