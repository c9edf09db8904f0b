"""Products, derived channels, supports and stacks of channels against matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.sparse.linalg import aslinearoperator

import warner
from tests.parity._core._hash import _hash_slowly
from tests.parity.channels._matrices import CHANNELS, _planar, _tied
from tests.parity.estimators._data import BITS, _kept, _simulated, _unordered
from tests.refusals import refused
from tests.registry import MECHANISMS as EVERY_MECHANISM, PLACES, SEEING, smallest
from warner import (
    Categorical,
    Integers,
    Interval,
    KeyValue,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from warner.channels import (
    BandChannel,
    Channel,
    DenseChannel,
    DenseCompositeChannel,
    DirectChannel,
    GeometricChannel,
    KroneckerChannel,
    LikelihoodOperator,
    MergedChannel,
    SomeValues,
    StackChannel,
    SupportChannel,
    SupportRows,
    TiedChannel,
    stacked,
    walsh,
)
from warner.channels.hashed import _collisions
from warner.errors import ArgumentError, IdentifiabilityError
from warner.estimators.base import LikelihoodData, log_likelihood
from warner.estimators.literature import averaged
from warner.mechanisms import Mechanism, UtilityOptimizedRappor, WithNonresponse
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("silent", [0, 1])
@pytest.mark.parametrize("name", ["SquareWave", "Piecewise", "Laplace"])
def test_the_inverse_has_the_mean_of_any_numbers_in_bins(name: str, silent: int) -> None:
    """By the law of the reports of every grid point: the inverse is one of bins, and its mean is the
    number itself. Rejects weighted least squares alone, several minutes off at the limits of 0 and
    240 minutes, and estimates with nonresponse whose sum is not 1 at a heap, and is then moved.
    """
    mechanism = getattr(warner.mechanisms, name)(Interval(0, 240, bins=12), 2.0)
    channel = (WithNonresponse(mechanism) if silent else mechanism).channel()
    inverse = channel.influence(np.eye(12 + silent)).T
    assert inverse @ channel.dense() == pytest.approx(np.eye(12 + silent), abs=1e-9)
    grid = channel.unrounded()
    answers = np.linspace(0, 240, grid.shape[1] - silent)
    centres = np.append(mechanism.domain.points[:, 0], np.zeros(silent))
    estimates = grid.rmatvec(inverse.T)
    assert estimates @ centres == pytest.approx(np.append(answers, np.zeros(silent)), abs=1e-7)
    assert estimates.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert channel.at_limits() == pytest.approx(grid.columns(np.array([0, answers.size - 1])))
    if silent:
        assert estimates[:, -1] == pytest.approx(np.append(np.zeros(answers.size), 1), abs=1e-9)


def test_a_stack_of_budgets_has_the_mean_of_any_numbers_in_bins() -> None:
    """Rejects weights of the budgets that differ between bins."""
    waves = [SquareWave(Interval(0, 240, bins=12), epsilon).channel() for epsilon in (1.0, 4.0)]
    stack = stacked(waves, [300, 100])
    reports = stack.at_limits()
    centres = 10 + 20 * np.arange(12)
    assert centres @ stack.invert(reports) == pytest.approx([0, 240], abs=1e-9)
    assert stack.exact_scores() @ reports == pytest.approx(np.array([[-6, 6]]))


@pytest.mark.parametrize("name", CHANNELS)
def test_products_are_those_of_the_matrix(name: str) -> None:
    channel, dense = CHANNELS[name]()
    rng = np.random.default_rng(0)
    assert channel.shape == dense.shape
    assert dense.sum(axis=0) == pytest.approx(np.ones(dense.shape[1]), abs=1e-9)
    assert channel.dense() == pytest.approx(dense, abs=1e-9)
    for trailing in ((), (3,)):
        theta, r = (
            rng.normal(size=(dense.shape[1], *trailing)),
            rng.normal(size=(dense.shape[0], *trailing)),
        )  # linear: any sign
        assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-9)
        assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-9)
    v = rng.random(dense.shape[0])
    assert channel.gram(v) == pytest.approx(dense.T @ (v[:, None] * dense), abs=1e-9)
    assert channel.columns(np.array([1, 0])) == pytest.approx(dense[:, [1, 0]], abs=1e-9)


@pytest.mark.parametrize("name", CHANNELS)
def test_inverse_and_its_moments_are_those_of_its_weights(name: str) -> None:
    channel, dense = CHANNELS[name]()
    if dense.shape[0] < dense.shape[1]:
        refused(
            IdentifiabilityError, "apart: different shares", channel.invert, np.ones(dense.shape[0])
        )
        return
    weights = np.stack([channel.invert(row) for row in np.eye(dense.shape[0])], axis=1)
    theta = np.random.default_rng(1).dirichlet(np.ones(dense.shape[1]))
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-8)
    several = np.random.default_rng(2).random((dense.shape[0], 2))
    assert channel.invert(several) == pytest.approx(weights @ several, rel=1e-7, abs=1e-9)
    if channel.rows_per_report > 1:
        # rows are parts of reports there: tests/laws checks those by enumerating whole reports
        return
    total, own = channel.inverse_moments(theta)
    assert total == pytest.approx(weights**2 @ (dense @ theta), rel=1e-7)
    assert own == pytest.approx((weights**2 * dense.T).sum(axis=1), rel=1e-7)


@pytest.mark.parametrize("name", CHANNELS)
def test_channels_are_linear_operators_to_scipy(name: str) -> None:
    channel, dense = CHANNELS[name]()
    operator = aslinearoperator(channel)
    theta, thetas = np.ones(dense.shape[1]), np.ones((dense.shape[1], 2))
    assert operator.dtype == np.float64
    assert operator @ theta == pytest.approx(dense.sum(axis=1), abs=1e-9)
    assert operator @ thetas == pytest.approx(dense @ thetas, abs=1e-9)
    assert operator.H @ np.ones(dense.shape[0]) == pytest.approx(np.ones(dense.shape[1]), abs=1e-9)
    assert operator.H @ np.ones((dense.shape[0], 2)) == pytest.approx(
        np.ones((dense.shape[1], 2)), abs=1e-9
    )


def test_parts_of_reports_have_no_joint_law() -> None:
    """A person's report counts for several rows there: drawing rows one by one would be another
    mechanism.
    """
    channel = KroneckerChannel([_tied(3, True)[0], DirectChannel(2, 0.2, 0.6)])
    theta, rng = np.full(channel.shape[1], 1 / channel.shape[1]), np.random.default_rng(0)
    people = np.ones(theta.size, dtype=int)
    for call in (
        lambda: channel.simulate(theta, 10, rng),
        lambda: channel.simulate_from_values(people, rng),
    ):
        refused(ArgumentError, "only the number of reports in which each bit was 1", call)


def test_rows_of_a_channel_are_those_of_its_matrix() -> None:
    for mechanism in (
        warner.LocalHashing(warner.Integers(0, 6), 1.0, seeds=8),
        warner.HadamardResponse(warner.Integers(0, 6), 1.0),
        warner.SquareWave(warner.Integers(0, 6), 1.0, cells=32),
    ):
        channel = mechanism.channel()
        index = np.array([3, 0, 3, 7])
        assert channel.rows(index) == pytest.approx(channel.dense()[index], abs=1e-14)


def test_the_inverse_of_a_tall_matrix_is_the_one_of_least_variance() -> None:
    """At the uniform distribution, over all left inverses; plain least squares, which ignores how
    rare a report is, has more.
    """
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.r_[np.full(5, 5.0), np.full(5, 0.3)], 3).T
    channel = DenseChannel(matrix)
    uniform = np.full(3, 1 / 3)
    plain = np.linalg.pinv(matrix)
    best, simple = channel.variance(uniform), plain**2 @ (matrix @ uniform) - uniform**2
    assert (best <= simple + 1e-12).all() and best.sum() < 0.9 * simple.sum()
    for seed in range(20):  # any other left inverse is this one plus something in the null space
        other = np.random.default_rng(seed).normal(size=(3, 10))
        moved = channel.invert(np.eye(10)) + 0.1 * other @ (np.eye(10) - matrix @ plain)
        assert (moved**2 @ (matrix @ uniform) - uniform**2 >= best - 1e-12).all()


def test_reports_beyond_the_values_count_for_the_nearest() -> None:
    channel = GeometricChannel(3, 0.5, 1, 2)
    assert channel.naive_estimate(np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])) == pytest.approx(
        [0.3, 0.3, 0.4]
    )
    refused(ArgumentError, "ratio", GeometricChannel, 1, 0.5)


@pytest.mark.parametrize("integers", [False, True])
def test_windows_multiply_many_vectors_as_one_by_one(integers: bool) -> None:
    domain: warner.domains.Domain = Integers(0, 29) if integers else Interval(0, 1, 30)
    channel = warner.SquareWave(domain, 1.0, cells=100).channel()
    assert isinstance(channel, BandChannel)
    rng = np.random.default_rng(0)
    thetas, rs = rng.normal(size=(30, 7)), rng.normal(size=(100, 7))
    assert channel.matvec(thetas) == pytest.approx(
        np.stack([channel.matvec(v) for v in thetas.T], axis=1), abs=1e-13
    )
    assert channel.rmatvec(rs) == pytest.approx(
        np.stack([channel.rmatvec(v) for v in rs.T], axis=1), abs=1e-12
    )


@pytest.mark.parametrize("groups", [False, True])
def test_equal_rows_of_windows_are_added(groups: bool) -> None:
    channel: LikelihoodOperator = warner.SquareWave(Integers(0, 9), 1.0, cells=100).channel()
    if groups:
        other = warner.RandomizedResponse(Integers(0, 9), 1.0).channel()
        channel = stacked([channel, other], [70, 30])
    w = np.random.default_rng(0).random(channel.shape[0])
    merged, weights = channel.merge_equal_rows(w)
    each, number = np.unique(
        channel.dense()[:100].round(12), axis=0, return_inverse=True
    )  # in another order
    rows = len(each) + channel.shape[0] - 100
    assert rows < channel.shape[0] / 2 and merged.shape == (rows, 10)
    assert sorted(weights[: len(each)]) == pytest.approx(sorted(np.bincount(number, w[:100])))
    thetas = np.random.default_rng(1).dirichlet(np.ones(10), size=2).T
    d, few = channel.matvec(thetas), merged.matvec(thetas)
    difference = np.log(d[:, 0] / d[:, 1]), np.log(few[:, 0] / few[:, 1])
    assert weights @ difference[1] == pytest.approx(w @ difference[0], rel=1e-12)
    assert few.sum(axis=0) == pytest.approx(d.sum(axis=0))
    assert merged.dense() == pytest.approx(merged.matvec(np.eye(10)))
    r = np.random.default_rng(2).normal(size=(rows, 3))
    assert merged.rmatvec(r) == pytest.approx(merged.dense().T @ r)
    assert merged.rmatvec(r[:, 0]) == pytest.approx(merged.dense().T @ r[:, 0])
    v = np.random.default_rng(3).random(rows)
    assert merged.gram_of(v, thetas) == pytest.approx(few.T @ (v[:, None] * few))


@pytest.mark.parametrize("height, width", [(5, 4), (2, 7), (2, 2), (21, 20)])
def test_products_of_a_planar_channel_are_those_of_its_matrix(height: int, width: int) -> None:
    """Small grids multiply by the whole matrix, large ones transform; both ways are right for both."""
    channel, dense = _planar(height, width, 0.7)
    rng = np.random.default_rng(height)
    for shape in ((height * width,), (height * width, 3)):
        theta = rng.random(shape)
        for forth in (channel.matvec, channel._transformed):
            assert forth(theta) == pytest.approx(dense @ theta, abs=1e-12)
        for back in (channel.rmatvec, channel._transformed_back):
            assert back(theta) == pytest.approx(dense.T @ theta, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 8, 64])
def test_walsh_transform(order: int) -> None:
    values = np.random.default_rng(order).random(order)
    assert walsh(values) == pytest.approx(hadamard(order) @ values, abs=1e-12)


def test_walsh_transforms_of_counts_are_exact() -> None:
    """Sums of integers below 2^53 are not rounded, whatever their order."""
    counts = np.random.default_rng(3).integers(0, 2**40, (2048, 3))
    expected = hadamard(2048, dtype=np.int64) @ counts
    assert (walsh(counts) == expected).all()
    assert (walsh(counts[:, 0]) == expected[:, 0]).all()


def test_collisions_by_counting() -> None:
    table = np.array([[_hash_slowly(s, x, 4) for x in range(9)] for s in range(30)])
    expected = [[np.mean(table[:, a] == table[:, b]) for b in range(9)] for a in range(9)]
    assert _collisions(30, 4, 9) == pytest.approx(np.array(expected), abs=1e-15)


def test_hash_spreads_pairs_of_labels() -> None:
    """Over a pool of 2**16 seeds any two labels collide about 1/g of the time: 5 sd of a fair hash,
    all pairs at once.
    """
    m = _collisions(2**16, 4, 64)[np.triu_indices(64, 1)]
    assert np.abs(m - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 2**16)


def test_hash_channel_in_blocks_is_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = warner.LocalHashing(warner.Integers(0, 19), 1.0, seeds=64).channel()
    theta, r = np.random.default_rng(0).dirichlet(np.ones(20)), np.random.default_rng(1).random(256)
    whole = channel.matvec(theta), channel.rmatvec(r), channel.variance(theta), channel.gram(r)
    monkeypatch.setattr("warner.channels.hashed._BLOCK", 130)
    monkeypatch.setattr("warner.channels.hashed._HASH_CACHE", 0)
    again = warner.LocalHashing(warner.Integers(0, 19), 1.0, seeds=64).channel()
    for a, b in zip(
        whole,
        (again.matvec(theta), again.rmatvec(r), again.variance(theta), again.gram(r)),
        strict=True,
    ):
        assert a == pytest.approx(b, abs=1e-12)
    monkeypatch.setattr("warner.channels.hashed._VARIANCE_WORK", 32 * 4 * 400)
    assert again.variance(theta) == pytest.approx(whole[2], rel=0.4)


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


# Reports that support values against the law of whole reports.


@pytest.mark.parametrize("name", BITS)
def test_rows_of_kept_reports_are_the_law(name: str) -> None:
    data, law = _kept(name, 6, 300, 1.0)
    dense = data.channel.dense()
    assert dense / dense.sum(axis=1, keepdims=True) == pytest.approx(
        law / law.sum(axis=1, keepdims=True), abs=1e-12
    )
    rng = np.random.default_rng(0)
    theta, r = rng.random(6), rng.random(len(law))
    assert data.channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert data.channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-10)
    assert data.channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), rel=1e-5)


def test_rows_of_reports_of_bits_are_read_off_and_not_multiplied_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One product with all reports for every report was 28 of the 30 s that 20,000 people with four
    reports of 100 bits took.
    """
    rng = np.random.default_rng(1)
    channel = SupportRows(np.packbits(rng.integers(0, 2, (9, 11)), axis=1), 11, rng.random(9), 1.5)
    want = channel.dense()[[3, 0, 8]]
    monkeypatch.setattr(SupportRows, "rmatvec", None)
    assert channel.rows(np.array([3, 0, 8])) == pytest.approx(want, rel=1e-12)


DOMAIN = Integers(0, 5)
SETS = {
    "symmetric": UnaryEncoding,
    "optimized": lambda d, e: UnaryEncoding(d, e, variant="oue"),
    "keep 0.9": lambda d, e: UnaryEncoding(d, e, variant=0.9),
    "subsets": SubsetSelection,
    "subsets of four": lambda d, e: SubsetSelection(d, e, size=4),
    "sensitive": lambda d, e: UtilityOptimizedRappor(d, e, sensitive=[0, 1]),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_integral_is_the_sum_over_all_sets(name: str, epsilon: float) -> None:
    """Also where shares are 0, and where a report then has the probability 0."""
    mechanism = SETS[name](DOMAIN, epsilon)
    listed = DenseChannel(mechanism.probabilities().astype(np.float64))
    rng = np.random.default_rng(0)
    for theta in (rng.dirichlet(np.ones(6)), np.array([0.5, 0, 0.2, 0, 0, 0.3]), np.eye(6)[3]):
        finite, infinite = mechanism.channel().information(theta)
        expected, others = listed.information(theta)
        np.testing.assert_allclose(finite, expected, rtol=1e-10)
        assert np.array_equal(infinite.any(axis=0), others.any(axis=0))


def test_the_information_of_many_values_has_the_share_identity() -> None:
    """I theta = 1 for every channel, since theta's = 1 for every report."""
    rng = np.random.default_rng(1)
    for size, mechanism in ((200, UnaryEncoding), (40, SubsetSelection)):
        theta = rng.dirichlet(np.full(size, 0.5))
        finite, _ = mechanism(Integers(0, size - 1), 1.5).channel().information(theta)
        np.testing.assert_allclose(finite @ theta, 1, rtol=1e-9)
        np.testing.assert_allclose(finite, finite.T, rtol=1e-9)


def test_too_many_values_are_refused() -> None:
    huge = SubsetSelection(Integers(0, 2999), 1.0).channel()
    with pytest.raises(ArgumentError, match="too many values"):
        huge.information(np.full(3000, 1 / 3000))


VALUES = Integers(0, 3)
MECHANISMS: dict[str, Mechanism] = {
    "unary": warner.UnaryEncoding(VALUES, 1.0, variant="oue"),
    "uRAP": warner.mechanisms.UtilityOptimizedRappor(VALUES, 2.0, sensitive=[0, 1]),
    "k-RR twice": warner.mechanisms.Repeated(warner.RandomizedResponse(VALUES, 1.0), 2),
    "unary and hashes": warner.mechanisms.Repeated(
        [warner.UnaryEncoding(VALUES, 1.0), warner.LocalHashing(VALUES, 1.0, seeds=8)]
    ),
    "joint inverse": warner.mechanisms.Repeated(
        [
            warner.RandomizedResponse(VALUES, 1.0),
            warner.mechanisms.StochasticRounding(VALUES, 1.0),
        ]
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_terms_of_reports_add_up_to_the_inversion(name: str) -> None:
    mechanism = MECHANISMS[name]
    rng = np.random.default_rng(5)
    reports = mechanism.randomize(rng.integers(0, 4, 500), rng=rng)
    data = likelihood_data(mechanism.tally(reports, keep_reports=True))
    c = rng.normal(size=(4, 2))
    g = data.channel.influence(c)
    assert g.T @ data.weights == pytest.approx(c.T @ data.channel.invert(data.weights))
    assert data.channel.influence(c[:, 0]) == pytest.approx(g[:, 0])
    channel, place = mechanism.channel_of_reports(reports.columns)
    each = channel.influence(c)[place].mean(axis=0)
    assert each == pytest.approx(c.T @ data.channel.invert(data.weights))


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "joint inverse"])
def test_the_sample_mean_of_kept_reports_is_the_mean_of_the_inversion(name: str) -> None:
    """The numbers of observed rows are no scores: an affine function of them is not the mean."""
    mechanism = MECHANISMS[name]
    rng = np.random.default_rng(6)
    tally = mechanism.tally(mechanism.randomize(np.full(2000, 2), rng=rng), keep_reports=True)
    found = warner.estimate(tally, warner.estimators.SampleMean()).mean()
    assert float(found) == pytest.approx(float(warner.estimate(tally, warner.Inversion()).mean()))
    low, high = found.interval(0.9999)
    assert low < 2 < high


# Operators of merged and chosen values, and parts of variances, against their matrices.


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["direct", "bit sums"])
def test_merging_by_mean_counts_is_the_merged_channel(kind: str, seed: int) -> None:
    """Randomised response and bit sums: the closed form on mean counts is the maximum over the
    dense matrix with merged columns.
    """
    rng = np.random.default_rng(seed)
    size, n = 12, 4000
    channel = DirectChannel(size, 0.05, 0.4) if kind == "direct" else SupportChannel(size, 0.2, 0.3)
    w = channel.simulate_from_values(rng.multinomial(n, rng.dirichlet(np.full(size, 0.2))), rng)
    labels = np.unique(rng.integers(0, 6, size), return_inverse=True)[1]
    merged = MergedChannel(channel, labels)
    counts = averaged(channel, w, merged)
    assert counts is not None
    domain = _unordered(size)
    fast = warner.MaximumLikelihood(1e-12).fit(LikelihoodData(channel, counts, n, domain))
    matrix = np.stack(
        [channel.dense()[:, labels == j].mean(axis=1) for j in range(merged.shape[1])], axis=1
    )
    dense = DenseCompositeChannel(matrix, rows_per_report=channel.rows_per_report)
    slow = warner.MaximumLikelihood(1e-12).fit(
        LikelihoodData(dense, w, n, _unordered(merged.shape[1]))
    )
    assert merged.spread(slow.probabilities) == pytest.approx(fast.probabilities, abs=1e-6)
    assert log_likelihood(channel, w, fast.probabilities) == pytest.approx(
        log_likelihood(dense, w, slow.probabilities), abs=1e-11
    )
    assert fast.log_likelihood == pytest.approx(
        n * log_likelihood(channel, w, fast.probabilities)
    ), "merging changes no constant"


def test_counts_are_not_averaged_where_values_differ() -> None:
    """Merging a sensitive and an open value of utility-optimised RR: rows differ, and the mean of
    the counts is the mutant.
    """
    data = _simulated(warner.UtilityOptimizedRR(_unordered(6), 1.0, sensitive=["v0", "v1"]), 2000)
    for labels, same in (
        ([0, 1, 2, 2, 3, 4], True),
        ([0, 0, 1, 2, 3, 4], True),
        ([0, 1, 1, 2, 3, 4], False),
    ):
        merged = MergedChannel(data.channel, np.array(labels))
        assert (averaged(data.channel, data.weights, merged) is not None) == same


@pytest.mark.parametrize("kind", ["direct", "bit sums", "hashed", "whole reports", "square wave"])
def test_merged_channels_multiply_like_their_matrix(kind: str) -> None:
    rng = np.random.default_rng(0)
    name = {
        "direct": "RandomizedResponse",
        "hashed": "LocalHashing optimized",
        "square wave": "SquareWave",
    }.get(kind, "UnaryEncoding optimized")
    data = _simulated(EVERY_MECHANISM[name](Integers(1, 9), 1.0), 300, kept=kind == "whole reports")
    for labels in (
        np.arange(9),
        np.array([0, 1, 0, 2, 2, 2, 3, 1, 4]),
        np.array([0, -1, 0, 1, -1, 2, 2, 3, -1]),
    ):
        merged, w = MergedChannel(data.channel, labels).restrict_to_observed(data.weights)
        matrix = np.zeros((9, merged.shape[1]))
        for x, j in enumerate(labels):
            if j >= 0:
                matrix[x, j] = 1 / np.count_nonzero(labels == j)
        dense = data.channel.restrict_to_observed(data.weights)[0].dense() @ matrix
        assert merged.dense() == pytest.approx(dense, abs=1e-14)
        several, r = rng.random((merged.shape[1], 3)), rng.random((len(w), 3))
        assert merged.matvec(several) == pytest.approx(dense @ several, abs=1e-12)
        assert merged.matvec(several[:, 0]) == pytest.approx(dense @ several[:, 0], abs=1e-12)
        assert merged.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-10)
        assert merged.rmatvec(r[:, 0]) == pytest.approx(dense.T @ r[:, 0], abs=1e-10)
        assert merged.gram(w) == pytest.approx(dense.T @ (w[:, None] * dense), rel=1e-5)


KEPT = np.array([0, 2, 3])


@pytest.mark.parametrize("name", [*EVERY_MECHANISM, *PLACES])
def test_products_are_those_of_the_columns(name: str) -> None:
    whole = smallest(name).channel()
    some, columns = SomeValues(whole, KEPT), whole.dense()[:, KEPT]
    rng = np.random.default_rng(0)
    theta, r = rng.random((3, 2)), rng.random((whole.shape[0], 2))
    assert some.matvec(theta) == pytest.approx(columns @ theta, abs=1e-12)
    assert some.matvec(theta[:, 0]) == pytest.approx(columns @ theta[:, 0], abs=1e-12)
    assert some.rmatvec(r) == pytest.approx(columns.T @ r, abs=1e-12)
    assert some.dense() == pytest.approx(columns, abs=1e-12)
    assert some.gram(r[:, 0]) == pytest.approx(columns.T @ (columns * r[:, :1]), abs=1e-12)
    assert some.rows(np.array([1, 0])) == pytest.approx(columns[[1, 0]], abs=1e-12)


@pytest.mark.parametrize("name", SEEING)
def test_the_inverse_and_its_variance_are_those_of_the_shares(name: str) -> None:
    """Rejects an inverse of other columns, and moments at a distribution on all values."""
    whole = smallest(name, 2.0).channel()
    some, theta = SomeValues(whole, KEPT), np.array([0.5, 0.2, 0.3])
    w = some.matvec(theta)
    assert some.invert(w) == pytest.approx(theta, abs=1e-9)
    c = np.eye(3)
    assert some.influence(c).T @ w == pytest.approx(theta, abs=1e-9)
    if some.rows_per_report == 1:
        wanted = (some.influence(c) ** 2).T @ w
        assert some.inverse_moments(theta)[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["RandomizedResponse", "SquareWave", "TruncatedGeometric"])
def test_the_maximum_is_that_of_the_matrix_of_columns(name: str) -> None:
    mechanism, rng = smallest(name, 1.5), np.random.default_rng(4)
    tally = mechanism.tally(mechanism.randomize([0] * 300 + [2] * 50 + [3] * 150, rng))
    data = likelihood_data(tally).restricted(KEPT)
    plain = LikelihoodData(
        DenseChannel(data.channel.dense()), data.weights, data.n, warner.Integers(0, 2)
    )
    method = warner.MaximumLikelihood()
    found, wanted = method.fit(data), method.fit(plain)
    assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)
    assert found.status == wanted.status and found.gap is not None and found.gap < 1e-6


THETA = np.array([0.5, 0.3, 0.2])
DERIVED: dict[str, list[Channel]] = {
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


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("sizes", [(100, 100), (900, 100), (10, 2000)])
@pytest.mark.parametrize("mix", ["precision", "equal", "people"])
def test_of_several_mechanisms(name: str, sizes: tuple[int, int], mix: str) -> None:
    """Rows of bits are more than reports; people are weighed, not rows."""
    stack = StackChannel(DERIVED[name], sizes, mix)
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


def test_several_tallies_of_subsets_have_the_law_of_tallies_one_by_one() -> None:
    """Against 400 tallies whose subsets are drawn one by one: the mean within 6.5 standard errors
    and the covariance within a fifth. Rejects normal counts that vary independently.
    """
    size, n, runs, rng = 6, 8000, 400, np.random.default_rng(4)
    channel = warner.SubsetSelection(Integers(0, size - 1), 1.0).channel()
    theta = np.array([0.5, 0.2, 0.1, 0.1, 0.06, 0.04])
    fast = np.array([w for _, w in channel.simulate_tallies(theta, n, rng, runs)])
    slow = np.array([channel.simulate_tally(theta, n, rng)[1] for _ in range(runs)])
    fast, slow = fast[:, :size], slow[:, :size]
    errors = np.sqrt((fast.var(axis=0) + slow.var(axis=0)) / runs)
    assert (np.abs(fast.mean(axis=0) - slow.mean(axis=0)) < 6.5 * errors).all()
    scale = np.sqrt(np.multiply.outer(slow.var(axis=0), slow.var(axis=0)))
    assert np.cov(fast.T) / scale == pytest.approx(np.cov(slow.T) / scale, abs=0.25)
    independent = np.diag(np.diag(np.cov(fast.T))) / scale
    assert independent != pytest.approx(np.cov(slow.T) / scale, abs=0.25)
