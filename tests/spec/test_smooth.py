"""What the estimators for values in order promise, one sentence per test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, Interval, LogSpline, RandomizedResponse, SquareWave, Status
from warner.channels import StackChannel
from warner.estimators import (
    Estimator,
)
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.estimators.literature.smoothed_em import smooth
from warner.mechanisms import Piecewise
from warner.metrics import wasserstein1
from warner.results.from_tally import likelihood_data

BOTH: list[Estimator] = [SmoothedEM(), LogSpline()]


def _shape(density: Any, bins: int) -> np.ndarray:
    values = density((np.arange(bins) + 0.5) / bins)
    return values / values.sum()


def _bell(bins: int) -> np.ndarray:
    return _shape(lambda x: np.exp(-((x - 0.4) ** 2) / 0.02), bins)


def _facts(
    mechanism: warner.mechanisms.Mechanism,
    theta: np.ndarray,
    n: int,
    seed: int = 0,
    exact: bool = False,
) -> LikelihoodData:
    channel = mechanism.channel()
    w = channel.matvec(theta) if exact else channel.simulate(theta, n, np.random.default_rng(seed))
    return LikelihoodData(channel, w / w.sum(), n, mechanism.domain)


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
@pytest.mark.parametrize(
    "domain",
    [
        warner.Categorical(["a", "b", "c"]),
        warner.Grid(2, 2),
        warner.Product(a=Integers(0, 1), b=Integers(0, 2)),
    ],
)
def test_values_without_order_are_refused(estimator: Estimator, domain: warner.Domain) -> None:
    mechanism = RandomizedResponse(domain, 1.0)
    with pytest.raises(
        warner.errors.ArgumentError,
        match=f"domain: of {type(estimator).__name__} must have values in order on a line; got",
    ):
        estimator.fit(_facts(mechanism, np.full(domain.size, 1 / domain.size), 100))


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_impossible_reports_are_refused(estimator: Estimator) -> None:
    channel = warner.channels.DenseChannel(np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]))
    with pytest.raises(warner.errors.ImpossibleReportError):
        estimator.fit(LikelihoodData(channel, np.array([0.5, 0.4, 0.1]), 10, Integers(0, 1)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": -1e-9},
        {"tolerance": float("nan")},
        {"tolerance": None},
        {"steps": 0},
        {"steps": 1.5},
    ],
)
def test_stops_of_smoothing_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=next(iter(wrong))
    ):
        SmoothedEM(**wrong)


def test_smoothing_keeps_a_uniform_distribution_and_weighs_ends_by_thirds() -> None:
    assert smooth(np.full(7, 1 / 7)) == pytest.approx(np.full(7, 1 / 7), abs=1e-15)
    before = np.array([0.6, 0.3, 0.1, 0.0])
    after = np.array([0.6 * 2 / 3 + 0.3 / 3, 0.15 + 0.15 + 0.025, 0.075 + 0.05, 0.1 / 3])
    assert smooth(before) == pytest.approx(after / after.sum(), abs=1e-15)
    assert smooth(np.array([1.0, 0.0])) == pytest.approx([2 / 3, 1 / 3])


def test_smoothed_em_stops_when_the_likelihood_hardly_changes_and_says_that_it_stopped() -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    loose, published, tight = (SmoothedEM(tolerance).fit(data) for tolerance in (1.0, 1e-3, 0.0))
    assert loose.status is published.status is Status.STOPPED
    assert (
        loose.iterations is not None
        and published.iterations is not None
        and tight.iterations is not None
    )
    assert (
        0 < loose.iterations < published.iterations <= tight.iterations < 10_000
    )  # at last a step moves theta by less than 1 / n
    assert published.gap is not None and published.gap > 0
    assert SmoothedEM(steps=3).fit(data).iterations == 3


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_results_are_deterministic(estimator: Estimator) -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 5_000)
    assert estimator.fit(data).probabilities == pytest.approx(
        estimator.fit(data).probabilities, abs=1e-12
    )


def test_a_log_spline_says_how_far_below_the_maximum_of_the_likelihood_it_is() -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    fit, best = LogSpline().fit(data), warner.MaximumLikelihood().fit(data)
    assert (
        fit.status is Status.COMPLETED
        and "gap" in fit.status.value
        and "MaximumLikelihood" in LogSpline.summary
    )
    assert (
        fit.gap is not None and fit.log_likelihood is not None and best.log_likelihood is not None
    )
    assert 0 < best.log_likelihood - fit.log_likelihood <= data.n * fit.gap
    assert fit.iterations and fit.seconds and fit.likelihood == "likelihood of the reports"


@pytest.mark.parametrize("make", [SquareWave, Piecewise])
def test_a_normal_shape_which_the_penalty_leaves_alone_is_recovered(make: Any) -> None:
    """From expected frequencies of 10^6 reports the error left is less than a fifth of the sampling
    error of the mean.
    """
    truth = _bell(128)
    mechanism = make(Interval(0, 1, 128), 1.0)
    fit = LogSpline().fit(_facts(mechanism, truth, 10**6, exact=True))
    assert wasserstein1(fit.probabilities, truth, 1 / 128) < 2e-4


@pytest.mark.parametrize(
    "truth",
    [
        _bell(128),
        _shape(lambda x: np.where(x < 0.3, 0.2, np.where(x < 0.6, 1.0, 0.05)), 128),
        _shape(lambda x: np.exp(-((x - 0.2) ** 2) / 2e-4) + np.exp(-((x - 0.7) ** 2) / 2e-4), 128),
        _shape(lambda x: np.exp(-8 * x), 128),
    ],
    ids=["bell", "steps", "spikes", "exponential"],
)
def test_many_reports_bring_it_to_the_truth(truth: np.ndarray) -> None:
    """Smooth or not: the error falls with n, to 1e-3 of the domain's length at 10^8."""
    mechanism = SquareWave(Interval(0, 1, 128), 2.0)
    few, many = (
        wasserstein1(LogSpline().fit(_facts(mechanism, truth, n)).probabilities, truth, 1 / 128)
        for n in (10**4, 10**8)
    )
    assert many < few and many < 1e-3


@pytest.mark.parametrize("end", [0, -1])
def test_a_spike_at_the_border_is_found_and_stays_in_its_bin(end: int) -> None:
    """Clipped values: a quarter of all in one end bin; mutants without atoms smear it over the
    neighbours.
    """
    truth = 0.75 * _bell(256)
    truth[end] += 0.25
    fit = LogSpline().fit(_facts(SquareWave(Interval(0, 1, 256), 2.0), truth, 10**6))
    assert fit.probabilities[end] == pytest.approx(0.25, abs=0.02)
    assert fit.probabilities[1 if end == 0 else -2] < 0.01


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("make", [RandomizedResponse, SquareWave, warner.LocalHashing])
def test_a_handful_of_values_works(size: int, make: Any) -> None:
    truth = np.arange(1.0, size + 1) / np.arange(1.0, size + 1).sum()
    mechanism = make(Integers(1, size), 2.0)
    rng = np.random.default_rng(1)
    tally = mechanism.tally(mechanism.randomize(1 + rng.choice(size, 40_000, p=truth), rng))
    assert warner.estimate(tally, LogSpline()).probabilities == pytest.approx(truth, abs=0.04)


@pytest.mark.parametrize("size", [2, 3, 8, 64])
@pytest.mark.parametrize("report", [0, 500, 1023])
@pytest.mark.parametrize("n", [1, 10**6])
def test_one_report_or_one_kind_of_report_gives_a_distribution(
    size: int, report: int, n: int
) -> None:
    mechanism = SquareWave(Interval(0, 1, size), 1.0)
    w = np.zeros(1024)
    w[report] = 1.0
    for estimator in BOTH:
        fit = estimator.fit(LikelihoodData(mechanism.channel(), w, n, mechanism.domain))
        assert np.isfinite(fit.probabilities).all() and (fit.probabilities >= 0).all()
        assert fit.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert fit.status is Status.COMPLETED


def test_one_report_changes_little() -> None:
    """The mutant without a prior on what the penalty leaves alone puts all mass beside the report."""
    mechanism = SquareWave(Interval(0, 1, 64), 1.0)
    w = np.zeros(1024)
    w[300] = 1.0
    fit = LogSpline().fit(LikelihoodData(mechanism.channel(), w, 1, mechanism.domain))
    assert fit.probabilities.max() < 10 / 64


def test_several_mechanisms_and_bit_sums_are_taken_together() -> None:
    domain, truth, rng = Integers(0, 31), _bell(32), np.random.default_rng(3)
    values = rng.choice(32, 60_000, p=truth)
    parts = [
        (RandomizedResponse(domain, 2.0), values[:20_000], {}),
        (warner.UnaryEncoding(domain, 2.0), values[20_000:40_000], {}),
        (warner.LocalHashing(domain, 2.0, seeds=256), values[40_000:], {}),
    ]
    data = likelihood_data([m.tally(m.randomize(v, rng), **how) for m, v, how in parts])
    assert isinstance(data.channel, StackChannel) and data.channel.rows_per_report > 1
    fit = LogSpline().fit(data)
    assert fit.likelihood == "quasi-likelihood of the support counts"
    assert wasserstein1(fit.probabilities, truth) < 0.2  # index units


def test_draws_are_distributions_and_belong_to_the_generator_given() -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    fit = LogSpline().fit(data)
    assert fit.posterior is not None and SmoothedEM().fit(data).posterior is None
    first, again = (fit.posterior.draws(50, np.random.default_rng(1)) for _ in range(2))
    assert first.shape == (50, 64) and (first >= 0).all() and first.sum(axis=1) == pytest.approx(1)
    assert first == pytest.approx(again, abs=1e-12)
    assert first.mean(axis=0) == pytest.approx(fit.probabilities, abs=0.01)
    fewer = LogSpline().fit(replace(data, n=200)).posterior
    assert fewer is not None
    at = np.arange(64)
    assert (fewer.draws(200, np.random.default_rng(1)) @ at).std() > 3 * (
        fit.posterior.draws(200, np.random.default_rng(1)) @ at
    ).std()


@pytest.mark.parametrize(
    "make", [SquareWave, RandomizedResponse, warner.UnaryEncoding], ids=lambda m: m.__name__
)
def test_any_number_of_reports_has_a_smooth_estimate(make: Any) -> None:
    """With 9e18 reports rounding hides the smallest eigenvalues of matrices that are positive;
    numpy's LinAlgError came through.
    """
    mechanism = make(Interval(0, 1, 32) if make is SquareWave else Integers(0, 31), 1.0)
    channel, truth = mechanism.channel(), np.exp(-(((np.arange(32) - 10) / 4) ** 2))
    truth /= truth.sum()
    weights = channel.matvec(truth)
    for n in (10**12, 9 * 10**18):
        fit = LogSpline().fit(LikelihoodData(channel, weights / weights.sum(), n, mechanism.domain))
        assert np.abs(fit.shares - truth).sum() < 1e-4
        assert (
            fit.posterior is not None
            and np.isfinite(fit.posterior.draws(5, np.random.default_rng(0))).all()
        )
