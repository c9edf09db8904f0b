"""The posterior of intervals of single numbers, bands and ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import warner
from warner import Integers, Interval, LogSpline, RandomizedResponse, SquareWave
from warner.domains import Domain
from warner.domains.derived import Optional
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Gaussian, Mechanism
from warner.results.estimate import Estimate
from warner.results.rough_posterior import _heaps


@pytest.mark.parametrize(
    ("domain", "round_ones", "rounder"),
    [
        (Integers(18, 89), [20, 25, 30, 35], [20, 30, 40]),
        (Interval(0, 60, 60), [5.5, 10.5, 15.5, 20.5], [10.5, 20.5, 30.5]),
        (Integers(0, 1000), [50, 100, 150, 200], [100, 200, 300]),
        (Optional(Integers(18, 89)), [20, 25, 30, 35], [20, 30, 40]),
        (Integers(0, 9), [], []),
    ],
)
def test_heaps_are_at_round_numbers(
    domain: Domain, round_ones: list[float], rounder: list[float]
) -> None:
    columns = _heaps(domain)
    assert columns.shape[0] == domain.size
    if not round_ones:
        assert columns.shape[1] == 0
        return
    points = domain.answered.points
    assert points is not None
    common, tens = columns[: len(points), -2:].T
    assert points[common > 0, 0][:4].tolist() == round_ones
    assert points[tens > 0, 0][:3].tolist() == rounder
    assert not columns[[0, len(points) - 1]].any()  # the ends have atoms of their own


AGES = SquareWave(Integers(18, 89), 1.0)


def _of(
    shares: np.ndarray, n: int, rng: np.random.Generator, mechanism: Mechanism = AGES
) -> Estimate:
    channel, w = mechanism.channel().simulate_tally(shares, n, rng)
    data = LikelihoodData(channel, w, n, mechanism.domain)
    return Estimate(LogSpline().fit(data), data, LogSpline())


def test_intervals_hold_heaps_empty_bands_and_peaks() -> None:
    """Of 12 surveys at least 10 hold each share. Rejects the log-spline's own posterior, which holds
    the heap and the empty band in none or few.
    """
    ages, rng = np.arange(18, 90), np.random.default_rng(3)
    shares = np.exp(-(((ages - 40) / 9.0) ** 2) / 2)
    shares[ages == 40] *= 3
    shares /= shares.sum()
    functions = np.stack([ages == 40, (ages >= 35) & (ages <= 44), ages >= 80]).astype(float)
    hits = np.zeros((2, 3), dtype=int)
    for _ in range(12):
        result = _of(shares, 4000, rng)
        assert result.fit.posterior is not None
        drawn = result.fit.posterior.draws(300, np.random.default_rng(0)) @ functions.T
        smooth = np.quantile(drawn, [0.025, 0.975], axis=0).T
        bounds = result.interval(kind="posterior", weights=functions)
        assert bounds[1] == pytest.approx(result.range(35, 44).interval())
        for i, ends in enumerate((bounds, smooth)):
            hits[i] += (ends[:, 0] <= functions @ shares) & (functions @ shares <= ends[:, 1])
    assert hits[0].min() >= 10, hits
    assert hits[1][[0, 2]].max() <= 6, hits


def test_bands_of_few_people_are_held() -> None:
    """Of 15 surveys of 40 people at least 13 hold each band of a peak. Rejects bent draws of so few
    reports, whose intervals hold each in 10 or fewer.
    """
    mechanism, rng = SquareWave(Interval(0, 120, 24), 1.0), np.random.default_rng(8)
    points = mechanism.domain.points[:, 0]
    shares = np.exp(-(((points - 30) / 8) ** 2) / 2) + np.exp(-(((points - 85) / 8) ** 2) / 2)
    shares /= shares.sum()
    functions = np.stack([(points > low) & (points < low + 10) for low in (20, 30, 80)])
    hits = np.zeros((2, 3), dtype=int)
    for _ in range(15):
        result = _of(shares, 40, rng, mechanism)
        rough = result.rough_posterior
        assert rough is not None and not rough.is_bent
        usual = result.interval(kind="posterior", weights=functions.astype(float))
        bent = replace(rough, is_bent=True).limits(functions.astype(float), 0.95, 1000, None)
        for i, ends in enumerate((usual, bent)):
            hits[i] += (ends[:, 0] <= functions @ shares) & (functions @ shares <= ends[:, 1])
    assert hits[0].min() >= 13, hits
    assert hits[1].max() <= 10, hits


def test_bands_are_held_where_no_share_of_a_band_is_known() -> None:
    """Of 15 surveys at least 13 hold each band. Rejects bent draws of reports with so much noise
    that they leave open where people are: their intervals hold the bands from 20 to 50 in 9 or
    fewer.
    """
    mechanism, rng = Gaussian(Interval(0, 100, 50), 2.0, 1e-6), np.random.default_rng(3)
    points = (np.arange(50) + 0.5) / 50
    shares = points * (1 - points) ** 4
    shares /= shares.sum()
    functions = (np.arange(50) // 5 == np.arange(10)[:, None]).astype(float)
    hits = np.zeros(10, dtype=int)
    for _ in range(15):
        ends = _of(shares, 2000, rng, mechanism).interval(kind="posterior", weights=functions)
        hits += (ends[:, 0] <= functions @ shares) & (functions @ shares <= ends[:, 1])
    assert hits.min() >= 13, hits


def test_bands_and_numbers_are_held_where_labels_say_little() -> None:
    """Of 30 surveys of 2,000 people at least 27 hold each band of a gamma shape, and its numbers.

    Rejects bent draws of so few reports, as widening by their number had them: their intervals hold
    the largest two in 20 and 21, and the numbers in 22 on average over people.
    """
    mechanism, rng = RandomizedResponse(Integers(0, 31), 0.5), np.random.default_rng(5)
    numbers = np.arange(0.5, 32)
    shares = numbers**5 * np.exp(-numbers / 2.2)
    shares /= shares.sum()
    functions = np.stack([(numbers > low) & (numbers < low + 5) for low in (0, 5, 10, 15, 20)])
    every = np.concatenate([functions, np.eye(32)]).astype(float)
    hits = np.zeros(len(every), dtype=int)
    for _ in range(30):
        ends = _of(shares, 2000, rng, mechanism).interval(kind="posterior", weights=every)
        hits += (ends[:, 0] <= every @ shares) & (every @ shares <= ends[:, 1])
    assert hits[:5].min() >= 27, hits
    assert hits[5:] @ shares >= 27, hits


def test_bands_beside_a_narrow_peak_are_held() -> None:
    """Of 15 surveys at least 12 hold each band below it. Rejects limits of the model alone, which
    say that hardly anybody is there, and hold them in 5 or fewer.
    """
    mechanism, rng = RandomizedResponse(Integers(0, 31), 2.0), np.random.default_rng(2)
    shares = np.exp(-(((np.arange(32) - 19) / 0.9) ** 2) / 2) + 0.002
    shares /= shares.sum()
    functions = np.stack([(np.arange(32) // 5 == band) for band in (0, 1, 2)]).astype(float)
    hits = np.zeros(3, dtype=int)
    for _ in range(15):
        ends = _of(shares, 5000, rng, mechanism).interval(kind="posterior", weights=functions)
        hits += (ends[:, 0] <= functions @ shares) & (functions @ shares <= ends[:, 1])
    assert hits.min() >= 12, hits


def test_intervals_of_many_people_stay_as_short() -> None:
    of_many = _of(np.full(72, 1 / 72), 4000, np.random.default_rng(4)).rough_posterior
    assert of_many is not None and of_many.is_bent and of_many.overlap == 0


def test_an_interval_that_is_made_again_is_the_same_and_holds_the_estimate() -> None:
    result = _of(np.full(72, 1 / 72), 500, np.random.default_rng(4))
    bounds = result.interval()
    assert np.array_equal(bounds, result.interval())
    assert (bounds[:, 0] <= result.probabilities).all()
    assert (result.probabilities <= bounds[:, 1]).all()
    assert bounds.min() >= 0 and bounds.max() <= 1
    assert warner.EmpiricalBayes().fit(result.data).posterior is not None


def test_a_mean_of_people_who_are_mostly_at_one_end_says_that_it_is_drawn_to_the_middle() -> None:
    """Rejects silence on cigarettes a day, whose mean is too high by most of a standard error, and
    the sentence on numbers in bins, whose mean is near the unbiased one.
    """
    whole, rng = SquareWave(Integers(0, 40), 1.0), np.random.default_rng(7)
    in_bins = SquareWave(Interval(0, 40, bins=40), 1.0)
    answers = np.where(rng.random(3000) < 0.8, 0.0, rng.normal(12, 5, 3000).clip(0, 40))
    for mechanism, values, is_said in (
        (whole, answers.round(), True),
        (whole, rng.uniform(0, 40, 3000).round(), False),
        (in_bins, answers, False),
    ):
        shown = " ".join(
            str(warner.estimate(mechanism.tally(mechanism.randomize(values, rng)))).split()
        )
        assert ("Most people are near one end of the range. Means are" in shown) == is_said


def test_a_mean_of_few_people_says_that_it_is_drawn_to_the_middle() -> None:
    """Under the table of one group and of several. Rejects silence, by which a small group whose
    people are near one end seems to have another mean than a large group of the same people.
    """
    mechanism, rng = SquareWave(Interval(0, 240, bins=24), 1.0), np.random.default_rng(7)
    reports = mechanism.randomize(rng.gamma(2, 20, 3200).clip(0, 240), rng)
    sizes = {"region": np.repeat(["north", "west"], [3000, 200])}
    tally = mechanism.tally(reports, by=sizes)
    of_both = " ".join(str(warner.estimate(tally)).split())
    assert "From 200 reports or fewer, means and quantiles are on average estimated too" in of_both
    one = mechanism.tally(reports[:301], by={"region": ["north"] * 300 + ["west"]})
    assert "From 1 report or fewer, means" in " ".join(str(warner.estimate(one)).split())
    alone = warner.estimate(tally)
    assert "From so few reports, means" in " ".join(str(alone[("west",)]).split())
    assert "too near to the middle" not in " ".join(str(alone[("north",)]).split())
