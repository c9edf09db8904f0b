"""Reports that support values against the law of whole reports."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.parity.estimators._data import BITS, _kept
from warner import Integers, SubsetSelection, UnaryEncoding
from warner.channels import DenseChannel, SupportRows
from warner.errors import ArgumentError
from warner.mechanisms import Mechanism, UtilityOptimizedRappor
from warner.results.from_tally import likelihood_data


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
