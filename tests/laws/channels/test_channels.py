"""Channels against the exact law they stand for, for everything registered."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warner
from tests.registry import (
    ALL,
    COMBINED,
    KEYED,
    MECHANISMS,
    PER_ATTRIBUTE,
    PLACES,
    REPEATED,
    SEEING,
    smallest,
)
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    LocalHashing,
    OneOf,
    Product,
    RandomizedResponse,
    Reports,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from warner.channels import (
    Channel,
    DirectChannel,
    LikelihoodOperator,
    SomeValues,
    SummedChannel,
    lifted,
    stacked,
    summed,
)
from warner.errors import ArgumentError, IdentifiabilityError
from warner.results.from_tally import likelihood_data
from warner.testing.mechanisms import rows_of_reports

NAMES = list(MECHANISMS)


INVERTED = [*SEEING, *PLACES, *(name for name in KEYED if "rounding" not in name)]


def _theta(size: int) -> np.ndarray:
    return np.random.default_rng(size).dirichlet(np.ones(size))


@pytest.mark.crossed(60)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [2, 9, 33])
def test_columns_sum_to_one_and_products_agree(name: str, size: int) -> None:
    channel: Channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    dense, rng = channel.dense(), np.random.default_rng(0)
    assert dense.shape == channel.shape
    assert (dense >= 0).all()
    assert dense.sum(axis=0) == pytest.approx(np.ones(size), abs=1e-12)
    theta, r = rng.random(size), rng.random(channel.shape[0])
    assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-12)
    assert channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), abs=1e-12)


@pytest.mark.crossed(60)
@pytest.mark.parametrize("name", SEEING)
@pytest.mark.parametrize("size", [2, 9, 33])
def test_inverse_is_unbiased(name: str, size: int) -> None:
    channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    theta = _theta(size)
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-10)
    c = np.random.default_rng(1).random(size)
    w = channel.matvec(np.random.default_rng(2).dirichlet(np.ones(size)))
    if channel.shape[0] * size < 10**6:
        assert channel.influence(c) @ w == pytest.approx(c @ channel.invert(w), abs=1e-9)


@cache
def _enumerated(name: str) -> tuple[Channel, np.ndarray, np.ndarray]:
    """The channel of a mechanism, the inverse of each of its reports (m, K), and its exact law
    (m, K).
    """
    mechanism = smallest(name)
    channel = mechanism.channel()
    single = np.stack([channel.invert(row) for row in rows_of_reports(mechanism)])
    return channel, single, mechanism.probabilities().astype(float)


@pytest.mark.parametrize("name", INVERTED)
def test_variance_is_that_of_the_inverse(name: str) -> None:
    """By enumeration: E[L(y)^2] - theta^2 over all reports y, L(y) the inverse of one report."""
    channel, single, table = _enumerated(name)
    theta = _theta(channel.shape[1])
    law = table @ theta
    assert law @ single == pytest.approx(theta, abs=1e-12)
    assert channel.variance(theta) == pytest.approx(law @ single**2 - theta**2, rel=1e-9)


@pytest.mark.parametrize("name", SEEING)
def test_null_variance_is_the_variance_at_an_absent_value(name: str) -> None:
    channel = smallest(name).channel()
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    for x in range(4):
        absent = np.where(np.arange(4) == x, 0, theta) / (1 - theta[x])
        assert channel.variance_at_zero(theta)[x] == pytest.approx(
            channel.variance(absent)[x], rel=1e-9
        )
    certain = np.array([0, 1.0, 0, 0])
    assert np.isfinite(channel.variance_at_zero(certain)).all()


def test_textbook_collision_rate_is_not_the_pools() -> None:
    """The mutant that inverts local hashing with 1/g instead of the pool's collision matrix is
    biased.
    """
    mechanism = warner.LocalHashing(warner.Integers(0, 9), 1.0, seeds=16)
    channel, theta = mechanism.channel(), _theta(10)
    w = channel.matvec(theta)
    p, g = float(mechanism.law.high), mechanism.buckets
    textbook = (channel._gather(w) - 1 / g) / (p - 1 / g)
    assert np.abs(textbook - theta).max() > 0.05
    assert channel.invert(w) == pytest.approx(theta, abs=1e-10)


def test_a_pool_that_cannot_tell_labels_apart_is_refused() -> None:
    mechanism = warner.LocalHashing(warner.Integers(0, 9), 1.0, seeds=2)
    with pytest.raises(IdentifiabilityError, match="larger number of seeds"):
        mechanism.channel().invert(np.full(mechanism.n_reports, 1 / mechanism.n_reports))


def test_a_channel_of_low_rank_is_refused_for_inversion_only() -> None:
    blind = warner.MatrixMechanism(warner.Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    tally = blind.tally(blind.randomize([0, 1, 2, 2]))
    with pytest.raises(IdentifiabilityError, match="apart"):
        warner.estimate(tally, warner.Inversion())
    assert warner.estimate(tally, warner.MaximumLikelihood()).probabilities.sum() == pytest.approx(
        1
    )


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
    repeated = warner.mechanisms.Repeated(warner.RandomizedResponse(warner.Integers(0, 2), 1.0), 2)
    _draws_are_the_same(repeated.channel())


@pytest.mark.parametrize("name", [n for n in PER_ATTRIBUTE if n != "Gaussian x RR"])
def test_inverse_of_tuples_is_unbiased_with_the_variance_it_says(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    channel = mechanism.channel()
    theta = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size))
    single = np.stack([channel.invert(row) for row in rows_of_reports(mechanism)])
    law = mechanism.probabilities().astype(float) @ theta
    assert law @ single == pytest.approx(theta, abs=1e-10)
    assert channel.variance(theta) == pytest.approx(law @ single**2 - theta**2, rel=1e-8)


@pytest.mark.parametrize("name", REPEATED)
def test_rows_of_repeated_reports_are_the_law(name: str) -> None:
    """Every tuple's row is proportional to its exact probabilities, whatever order equal mechanisms
    reported in; inversion is unbiased.
    """
    mechanism = COMBINED[name](1.0)
    outputs = Reports(mechanism.header, mechanism.outputs())
    exact = mechanism.probabilities().astype(float)
    theta = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size))
    total, square = np.zeros(theta.size), np.zeros(theta.size)
    for i in (
        range(0, len(outputs), max(1, len(outputs) // 100))
        if len(outputs) > 600
        else range(len(outputs))
    ):
        if not exact[i].any():
            continue  # two values that are not sensitive: one person names one
        data = likelihood_data(mechanism.tally(outputs[i : i + 1]))
        row = data.channel.dense()[0]
        assert row == pytest.approx(exact[i] / exact[i].max(), rel=1e-9)
        single = data.channel.invert(data.weights)
        total, square = total + exact[i] @ theta * single, square + exact[i] @ theta * single**2
    if len(outputs) <= 600:
        assert total == pytest.approx(theta, abs=1e-10)
        assert data.channel.variance(theta) == pytest.approx(square - theta**2, rel=1e-8)


def _has_variances_of_functions(channel: LikelihoodOperator) -> None:
    """Against the matrix. Rejects a variance of the values alone, or of another inverse."""
    size = channel.shape[1]
    theta, c = _shares(size), np.random.default_rng(1).normal(3.0, 1.0, (size, 4))
    c[:, 0], c[:, 1] = 1.0, np.arange(size) > 0
    try:
        matrix = channel.covariance(theta)
    except (ArgumentError, IdentifiabilityError):
        return  # a part of a report in each row, or no inverse
    exact = np.einsum("xb,xz,zb->b", c, matrix, c)
    close = 1e-9 * max(1.0, np.abs(matrix).max())
    assert channel.variance_of(c, theta) == pytest.approx(exact, rel=1e-7, abs=close)


def _shares(size: int) -> np.ndarray:
    return np.random.default_rng(size).dirichlet(np.ones(size))


@pytest.mark.parametrize("name", [*SEEING, *PLACES])
def test_covariance_is_that_of_the_inverse(name: str) -> None:
    """By enumeration: E[L(y) L(y)'] - theta theta' over all reports y."""
    channel, single, table = _enumerated(name)
    theta = _shares(channel.shape[1])
    law = table @ theta
    exact = (single.T * law) @ single - np.outer(theta, theta)
    assert channel.covariance(theta) == pytest.approx(exact, rel=1e-8, abs=1e-9)
    _has_variances_of_functions(channel)
    some = SomeValues(channel, np.arange(0, channel.shape[1], 2))
    _has_variances_of_functions(some)


@pytest.mark.parametrize("name", COMBINED)
def test_covariance_has_the_variances_on_its_diagonal(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    values = mechanism.domain.labels * 3
    # Of one block for each person, the questions of the first one.
    names = mechanism.blocks[0] if isinstance(mechanism, OneOf) else None
    data = likelihood_data(mechanism.tally(mechanism.randomize(values)), names)
    channel, theta = data.channel, _shares(data.domain.size)
    _has_variances_of_functions(channel)
    if not data.domain.attributes:
        return
    shape = data.domain.shape
    _has_variances_of_functions(SummedChannel(channel, shape, [0], theta))
    try:
        found = channel.covariance(theta)
    except (ArgumentError, IdentifiabilityError):
        return  # a part of a report in each row, or no inverse
    assert found.diagonal() == pytest.approx(channel.variance(theta), rel=1e-7, abs=1e-9)
    assert found == pytest.approx(found.T, rel=1e-9, abs=1e-9)
    assert np.linalg.eigvalsh(found).min() >= -1e-9 * np.abs(found).max()


@pytest.mark.crossed(4)
@pytest.mark.parametrize(
    ("mechanism", "shape"),  # 220 reports, and 256: of twelve values a unary encoding has 4,096
    [(SubsetSelection, (2, 3, 2)), (UnaryEncoding, (2, 2, 2))],
)
@pytest.mark.parametrize("keep", [[0], [1], [2, 0], [1, 2]])
def test_slices_of_bit_sums_are_margins(
    mechanism: type, shape: tuple[int, ...], keep: list[int]
) -> None:
    """By enumeration of all reports: the inverse of a margin, its covariance and its moments."""
    names = {name: Integers(1, size) for name, size in zip("abc", shape, strict=True)}
    device = mechanism(Product(**names), 1.0)
    whole, theta = device.channel(), _shares(device.domain.size)
    rows = [whole.marginal(row, shape, keep) for row in rows_of_reports(device)]
    channel, shares = rows[0][0], summed(theta, shape, keep)
    single = np.stack([channel.invert(row) for _, row in rows])
    law = device.probabilities().astype(float)
    assert law.T @ single == pytest.approx(lifted(np.eye(shares.size), shape, keep))
    exact = (single.T * (law @ theta)) @ single - np.outer(shares, shares)
    assert channel.covariance(shares) == pytest.approx(exact, rel=1e-9, abs=1e-9)
    assert channel.variance(shares) == pytest.approx(exact.diagonal(), rel=1e-9)
    _has_variances_of_functions(channel)
    w = np.stack([row for _, row in rows]).T @ (law @ theta)
    assert w == pytest.approx(channel.matvec(shares))
    # A margin of a margin is one of the whole.
    if len(keep) == 2:
        again, of_first = channel.marginal(w, [shape[axis] for axis in keep], [0])
        alone, of_whole = whole.marginal(whole.matvec(theta), shape, keep[:1])
        assert of_first == pytest.approx(of_whole)
        assert again.dense() == pytest.approx(alone.dense())
    people = (1e4 * shares).astype(np.int64)
    drawn = channel.simulate_from_values(people, np.random.default_rng(3))
    deviations = np.sqrt(channel.variance(shares) / people.sum())
    assert (np.abs(channel.invert(drawn) - shares) < 6.5 * deviations).all()


def test_covariance_of_several_mechanisms_is_that_of_their_mixture() -> None:
    domain = Categorical(["a", "b", "c"])
    channels = [RandomizedResponse(domain, 1.0).channel(), UnaryEncoding(domain, 2.0).channel()]
    both, theta = stacked(channels, [100, 300]), _shares(3)
    found = both.covariance(theta)
    assert found.diagonal() == pytest.approx(both.variance(theta), rel=1e-9)
    assert np.linalg.eigvalsh(found).min() > 0
    _has_variances_of_functions(both)
    names = ("RandomizedResponse", "StochasticRounding")
    seeing, blind = (smallest(name).channel() for name in names)
    _has_variances_of_functions(stacked([seeing, blind], [100, 300]))


@pytest.mark.parametrize("mechanism", [RandomizedResponse, UnaryEncoding, SquareWave])
def test_whole_and_counted_reports_have_variances_of_functions(mechanism: type) -> None:
    """Rows of kept reports are completed first."""
    domain = Integers(0, 5)
    method = mechanism(domain, 1.0)
    tally = method.tally(method.randomize([0, 1, 2, 3] * 50), keep_reports=True)
    _has_variances_of_functions(likelihood_data(tally).channel)


def test_a_mean_of_some_values_has_an_interval() -> None:
    """Rejects a completion of the columns that never ends."""
    method = SquareWave(Integers(0, 9), 2.0)
    tally = method.tally(method.randomize([1, 2, 3] * 300, rng=np.random.default_rng(1)))
    low, high = estimate(tally, values=[1, 2, 3, 4]).mean().interval(kind="anytime:1000")
    assert low < 2 < high


def test_a_mean_of_very_many_values_takes_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a covariance of all pairs of values, which is 80 GB here."""
    size = 100_000
    monkeypatch.setattr(LikelihoodOperator, "_dense", None)
    for mechanism in (RandomizedResponse, LocalHashing, SubsetSelection, HadamardResponse):
        method = mechanism(Integers(0, size - 1), 1.0)
        channel = likelihood_data(method.tally(method.randomize([10, 70_000]))).channel
        monkeypatch.setattr(type(channel), "covariance", None)
        found = channel.variance_of(np.arange(size)[:, None] * 1.0, np.full(size, 1 / size))
        assert found.shape == (1,) and found[0] > size**2 / 12
