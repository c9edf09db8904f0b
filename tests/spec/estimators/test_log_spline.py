"""What log-splines promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.estimators._shapes import _bell, _shape, _simulated
from warner import Estimate, Integers, Interval, LogSpline, RandomizedResponse, SquareWave
from warner.channels import StackChannel
from warner.estimators import Status
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Piecewise
from warner.metrics import wasserstein1
from warner.results.from_tally import likelihood_data
from warner.results.tables import explained


def test_a_log_spline_says_how_far_below_the_maximum_of_the_likelihood_it_is() -> None:
    data = _simulated(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    fit, best = LogSpline().fit(data), warner.MaximumLikelihood().fit(data)
    (said,) = explained(Estimate(fit, data, LogSpline()), "score")
    assert fit.status is Status.COMPLETED and f"at most {fit.gap:.1e} in log-likelihood" in said
    assert "MaximumLikelihood" in LogSpline.summary
    assert fit.gap is not None and fit.log_likelihood is not None
    assert best.log_likelihood is not None
    assert 0 < best.log_likelihood - fit.log_likelihood <= data.n * fit.gap
    assert fit.iterations and fit.seconds and fit.likelihood == "likelihood of the reports"


@pytest.mark.parametrize("make", [SquareWave, Piecewise])
def test_a_normal_shape_which_the_penalty_leaves_alone_is_recovered(make: Any) -> None:
    """From expected frequencies of 10^6 reports the error left is less than a fifth of the sampling
    error of the mean.
    """
    truth = _bell(128)
    mechanism = make(Interval(0, 1, 128), 1.0)
    fit = LogSpline().fit(_simulated(mechanism, truth, 10**6, exact=True))
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
        wasserstein1(LogSpline().fit(_simulated(mechanism, truth, n)).probabilities, truth, 1 / 128)
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
    fit = LogSpline().fit(_simulated(SquareWave(Interval(0, 1, 256), 2.0), truth, 10**6))
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
    assert fit.likelihood == "quasi-likelihood of the counts"
    assert wasserstein1(fit.probabilities, truth) < 0.2  # index units


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
        assert fit.posterior is not None
        assert np.isfinite(fit.posterior.draws(5, np.random.default_rng(0))).all()
