"""Intervals from the draws of a log-spline hold the truth about as often as they say. Seeded, so
that nothing flakes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, Interval, LogSpline, SquareWave
from warner.estimators import log_spline
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.estimators.log_spline import Likelihood
from warner.metrics import wasserstein1


def test_draws_cover_smooth_functionals_of_a_smooth_shape() -> None:
    """95 % intervals for mean, median and mass of a range: at least 50 of 60, and not always; the
    mutant of half the spread covers fewer.

    The draws are of a Laplace approximation and the estimate is biased towards smoothness, so the
    level is not promised exactly.
    """
    bins, n, runs = 48, 10_000, 60
    x = (np.arange(bins) + 0.5) / bins
    truth = np.exp(-((x - 0.35) ** 2) / 0.03) + 0.6 * np.exp(-((x - 0.75) ** 2) / 0.02)
    truth /= truth.sum()
    mechanism = warner.SquareWave(Interval(0, 1, bins), 1.0)
    channel = mechanism.channel()

    def functionals(thetas: np.ndarray) -> np.ndarray:
        below = np.cumsum(thetas, axis=1)
        median = np.array([np.interp(0.5, row, x + 0.5 / bins) for row in below])
        return np.stack([thetas @ x, median, thetas[:, 12:24].sum(axis=1)])

    expected = functionals(truth[None, :])[:, 0]
    hits, halved = np.zeros(3), np.zeros(3)
    for seed in range(runs):
        rng = np.random.default_rng([seed, 9])
        fit = LogSpline().fit(
            LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
        )
        assert fit.posterior is not None
        low, high = np.quantile(functionals(fit.posterior.draws(200, rng)), [0.025, 0.975], axis=1)
        hits += (low <= expected) & (expected <= high)
        middle, half = (low + high) / 2, (high - low) / 4
        halved += np.abs(expected - middle) <= half
    assert (hits >= 50).all() and hits.sum() < 3 * runs
    assert halved.sum() < 0.85 * 3 * runs


# With few reports a log-spline is about as close to the truth as smoothed EM. Seeded, so that
# nothing flakes.


BINS, RUNS = 64, 4


def _distances() -> tuple[float, float]:
    """Mean Wasserstein-1 distance of the log-spline and of smoothed EM, over two shapes."""
    x = (np.arange(BINS) + 0.5) / BINS
    mechanism = SquareWave(Interval(0, 1, BINS), 0.25)
    channel, found = mechanism.channel(), []
    for index, shape in enumerate((np.ones(BINS), x * np.exp(-((x / 0.4) ** 2)))):
        truth = shape / shape.sum()
        for seed in range(RUNS):
            rng = np.random.default_rng([seed, index])
            weights = channel.simulate(truth, 2_000, rng)
            data = LikelihoodData(channel, weights, 2_000, mechanism.domain)
            found.append(
                [
                    wasserstein1(method.fit(data).shares, truth, 1 / BINS)
                    for method in (LogSpline(), SmoothedEM())
                ]
            )
    spline, smoothed = np.mean(found, axis=0)
    return float(spline), float(smoothed)


def test_few_reports_do_not_make_it_rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 1.10 times the distance of smoothed EM. The mutant whose scale has a flat prior, and
    that does not average with smoothed EM, is above it.
    """
    spline, smoothed = _distances()
    assert spline <= 1.10 * smoothed
    monkeypatch.setattr(log_spline, "_POWER", 1.0)
    monkeypatch.setattr(log_spline, "weight_of_smoothed_em", lambda *_: 0.0)
    mutant, smoothed = _distances()
    assert mutant > 1.10 * smoothed


@pytest.mark.parametrize(("size", "n"), [(64, 500), (64, 5_000), (600, 500), (2_100, 500)])
def test_draws_are_moved_with_the_estimate(size: int, n: int) -> None:
    """The draws are those of the mixture of models, times the factors by which the estimate differs
    from the mixture; and smoothed EM on cells counts in every domain.
    """
    mechanism = SquareWave(Interval(0, 1, size), 0.5)
    truth = np.exp(-4 * np.arange(size) / size)
    channel, rng = mechanism.channel(), np.random.default_rng(3)
    weights = channel.simulate(truth / truth.sum(), n, rng)
    fit = LogSpline().fit(LikelihoodData(channel, weights, n, mechanism.domain))
    assert fit.posterior is not None
    draws = fit.posterior.draws
    assert isinstance(draws, log_spline.Draws) and draws.tilt is not None
    mixture = sum(
        chance * model.design.theta_of_values(model.phi)
        for model, chance in zip(draws.models, draws.chances, strict=True)
    )

    def of_values(shares: np.ndarray) -> np.ndarray:
        has_limits = draws.starts is not None  # beside the bins, where reports are not very few
        assert has_limits == (n > 500)
        return np.add.reduceat(shares, draws.starts, axis=-1) if has_limits else shares

    assert of_values(mixture * draws.tilt) == pytest.approx(fit.shares, rel=1e-6)
    still = log_spline.Draws(draws.models, draws.chances)(20, np.random.default_rng(1))
    moved = of_values(still * draws.tilt)
    moved /= moved.sum(axis=1, keepdims=True)
    assert draws(20, np.random.default_rng(1)) == pytest.approx(moved, rel=1e-6)


def test_the_weight_of_smoothed_em_falls_with_information() -> None:
    """By dense formulas; 0 for many reports."""
    channel = SquareWave(Interval(0, 1, BINS), 1.0).channel()
    dense, d = channel.dense(), channel.matvec(np.full(BINS, 1 / BINS))
    z = np.arange(BINS) - (BINS - 1) / 2
    v = np.resize([1.0, -1.0], BINS)
    slope, fine = (((dense @ t / BINS) ** 2 / d).sum() for t in (z / z.std(), v))
    for n in (100, 1_000, 10_000):
        expected = 0.7 * max(0.0, 1 - 0.05 * np.sqrt(n * slope)) * max(0.0, 1 - 4 * fine / slope)
        weight = log_spline.weight_of_smoothed_em(Likelihood(channel, d, n))
        assert weight == pytest.approx(expected)
    assert weight == 0


@pytest.mark.parametrize(
    "make", [warner.RandomizedResponse, warner.UnaryEncoding, warner.HadamardResponse]
)
def test_reports_that_tell_neighbours_apart_are_not_smoothed_over(make: Any) -> None:
    """The weight is 0 for any number of reports; the mutant without the ratio does not."""
    channel = make(Integers(0, 63), 0.5).channel()
    d = channel.matvec(np.full(64, 1 / 64))
    assert log_spline.weight_of_smoothed_em(Likelihood(channel, d / d.sum(), 10)) == 0
