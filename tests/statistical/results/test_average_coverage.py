"""Intervals of average coverage, bands and anytime intervals hold what they say. Seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from warner import Categorical, EmpiricalBayes, Integers, RandomizedResponse, UnaryEncoding
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.estimate import Estimate
from warner.results.intervals import anytime, wald
from warner.results.share_noise import ShareNoise, _largest, independent_factor, simulated_errors

SIZE, RUNS = 60, 10
RANK = np.arange(1.0, SIZE + 1)
TRUTHS = {
    "few large": RANK**-1.2 / (RANK**-1.2).sum(),
    "half absent": np.where(RANK > SIZE / 2, 0.0, 2 / SIZE),
    "all different": RANK / RANK.sum(),
}
CELLS: dict[str, tuple[Callable[..., Mechanism], float, int]] = {
    "noise only": (RandomizedResponse, 0.5, 1000),
    "some noise": (UnaryEncoding, 1.0, 20_000),
    "small counts": (RandomizedResponse, 4.0, 300),
}

Intervals = Callable[[Estimate], np.ndarray]


def _average(result: Estimate) -> np.ndarray:
    return result.interval(kind="average")


def _prior_as_known(result: Estimate) -> np.ndarray:
    """The wrong program: the shrunken estimate and the posterior's standard deviation."""
    assert result.fit.posterior is not None
    drawn = result.fit.posterior.draws(100, np.random.default_rng(0))
    half = 1.96 * drawn.std(axis=0)
    return np.stack([result.probabilities - half, result.probabilities + half], axis=1)


def _coverage(cell: str, truth: np.ndarray, intervals: Intervals, runs: int) -> np.ndarray:
    """The part of the shares that the intervals hold, of each run."""
    make, epsilon, n = CELLS[cell]
    mechanism = make(Categorical(list(range(SIZE))), epsilon)
    channel, rng, method = mechanism.channel(), np.random.default_rng(4), EmpiricalBayes()
    found = []
    for _ in range(runs):
        data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
        low, high = intervals(Estimate(method.fit(data), data, method)).T
        found.append(((low <= truth) & (truth <= high)).mean())
    return np.array(found)


@pytest.mark.parametrize(
    "name, cell",
    [
        ("few large", "noise only"),
        ("few large", "some noise"),
        ("half absent", "noise only"),
        ("half absent", "small counts"),
        ("all different", "some noise"),
    ],
)
def test_average_coverage_is_the_level_whatever_the_shares(name: str, cell: str) -> None:
    """600 intervals: the mean is at least 0.95 less 4 standard errors, and at most 0.985."""
    found = _coverage(cell, TRUTHS[name], _average, RUNS)
    error = max(float(found.std()) / RUNS**0.5, 0.0089)
    assert 0.95 - 4 * error < found.mean() < 0.985 + error


@pytest.mark.parametrize("name", TRUTHS)
def test_a_prior_that_is_taken_as_known_is_caught(name: str) -> None:
    """The shrunken estimate with its posterior deviation covers far less where noise is large."""
    assert _coverage("noise only", TRUTHS[name], _prior_as_known, 4).mean() < 0.8


def _held(mechanism: Mechanism, truth: np.ndarray, n: int) -> tuple[float, float]:
    """How often bands hold all shares: with their own half-width, and with independent errors'.

    Both half-widths are those of a tally of the truth. 4000 other tallies judge them.
    """
    channel = mechanism.channel()
    data = LikelihoodData(channel, channel.matvec(truth), n, mechanism.domain)
    ignorant = independent_factor(0.95, np.ones(truth.size, dtype=bool))
    noise = ShareNoise.of(data, "population")
    largest: list[np.ndarray] = []
    for seed, draws in ((1, 2000), (2, 4000)):
        rng = np.random.default_rng(seed)
        errors = simulated_errors(data, "population", truth, rng, draws)
        assert errors is not None
        largest.append(_largest(noise, truth, errors, ignorant))
    factor = np.quantile(largest[0], 0.95, method="weibull")
    return float((largest[1] <= factor).mean()), float((largest[1] <= ignorant).mean())


@pytest.mark.parametrize(
    "mechanism, truth",
    [
        (RandomizedResponse(Integers(0, 1), 1.0), np.array([0.6, 0.4])),
        (RandomizedResponse(Integers(0, 39), 1.0), np.full(40, 1 / 40)),
    ],
    ids=["two values", "shares within the noise"],
)
def test_bands_hold_all_shares_at_once(mechanism: Mechanism, truth: np.ndarray) -> None:
    """0.94 to 0.96, with a standard error of 0.006. Errors that are taken as independent and
    two-sided make bands that hold more than 0.97: those of yes and no are one error, and those of
    shares near 0 have one side.
    """
    found, ignorant = _held(mechanism, truth, 5000)
    assert abs(found - 0.95) < 0.024 and ignorant > 0.965


def test_intervals_of_each_value_are_no_bands() -> None:
    mechanism, truth = RandomizedResponse(Integers(0, 19), 2.0), np.full(20, 0.05)
    channel, rng = mechanism.channel(), np.random.default_rng(5)
    held: list[list[bool]] = []
    for _ in range(40):
        weights = channel.simulate(truth, 20_000, rng)
        data = LikelihoodData(channel, weights, 20_000, mechanism.domain)
        method = EmpiricalBayes()
        bounds = [wald(data)]
        if len(held) < 8:
            bounds.append(Estimate(method.fit(data), data, method).interval(kind="simultaneous"))
        held.append([bool(((b[:, 0] <= 0.05) & (b[:, 1] >= 0.05)).all()) for b in bounds])
    assert np.mean([row[0] for row in held]) < 0.7
    assert np.mean([row[1] for row in held[:8]]) > 0.7


def test_anytime_intervals_hold_at_every_look() -> None:
    """60 paths of 25 looks. Intervals for one look miss on more than a fifth of the paths."""
    mechanism, truth = RandomizedResponse(Integers(0, 1), 1.0), 0.3
    channel, rng, step = mechanism.channel(), np.random.default_rng(6), 100
    held = np.ones((60, 2), dtype=bool)
    for path in held:
        counts = np.zeros(2)
        for _ in range(25):
            counts += step * channel.simulate(np.array([truth, 1 - truth]), step, rng)
            n = round(counts.sum())
            data = LikelihoodData(channel, counts / n, n, mechanism.domain)
            for i, bounds in enumerate((anytime(data, 1000), wald(data))):
                path[i] &= bool(bounds[0, 0] <= truth <= bounds[0, 1])
    always, once = held.mean(axis=0)
    assert always > 0.85 and once < 0.8
