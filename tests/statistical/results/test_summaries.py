"""Intervals of summaries cover what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, expon, gamma

import warner
from tests.statistical.results._estimates import _estimated
from warner import (
    Integers,
    Interval,
    Inversion,
    LogSpline,
    MaximumLikelihood,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
)
from warner._core.projective_space import ProjectiveBlocks
from warner._core.sampling import Source
from warner.channels.geometry import ProjectiveBlocksChannel
from warner.domains import Domain, Optional
from warner.estimators.base import Fit, LikelihoodData, PosteriorFit, certify
from warner.mechanisms import Laplace, Mechanism, Piecewise, WithNonresponse
from warner.reports.tally_kinds import Counted, Histogram
from warner.results.estimate import Estimate
from warner.results.from_tally import likelihood_data
from warner.results.intervals import normal_quantile
from warner.results.linear_limits import UnbiasedShares, _Near
from warner.results.recommend import rules_out
from warner.results.summaries import variance_of_shares

PROJECTED = warner.Inversion("project")


TARGETS = ("population", "respondents")
SIX = np.array([0.1, 0.15, 0.25, 0.25, 0.15, 0.1])


Ask = Callable[[warner.Estimate], Any]
Truth = Callable[[np.ndarray, Domain], float]


def _variance(shares: np.ndarray, domain: Domain) -> float:
    """The variance of numbers of which those of a bin are spread evenly in it."""
    assert domain.points is not None
    points = domain.points[:, 0]
    width = (domain.high - domain.low) / domain.size if isinstance(domain, Interval) else 0.0
    return float(shares @ points**2 - (shares @ points) ** 2 + width**2 / 12)


def _quantile(probability: float) -> Truth:
    def of(shares: np.ndarray, domain: Domain) -> float:
        below = np.append(0.0, shares.cumsum())
        if isinstance(domain, Interval):
            return float(
                np.interp(probability, below, np.linspace(domain.low, domain.high, len(below)))
            )
        return float(np.searchsorted(below[1:], probability))

    return of


# What is asked of an estimate, and the same of true shares, by hand.
ASKED: list[tuple[Ask, Truth]] = [
    (lambda e: e.mean(), lambda shares, domain: float(shares @ domain.points[:, 0])),  # type: ignore[index]
    (lambda e: e.variance(), _variance),
    (lambda e: e.quantile(0.45), _quantile(0.45)),
    (lambda e: e.range(1, 3), lambda shares, _: float(shares[1:3].sum())),
]


@dataclass(frozen=True)
class Remembered(warner.estimators.Estimator):
    """An estimator that fits equal tallies once: several intervals share their replicates."""

    inner: warner.estimators.Estimator
    fits: dict[bytes, Fit] = field(default_factory=dict)

    def _fit(self, data: LikelihoodData) -> Fit:
        key = data.weights.tobytes()
        if key not in self.fits:
            self.fits[key] = self.inner.fit(data)
        return self.fits[key]


def _covered(
    mechanism: warner.mechanisms.Mechanism,
    runs: int,
    interval: Callable[[warner.Estimate, float, np.random.Generator], np.ndarray],
    people: int = 2000,
    theta: np.ndarray = SIX,
    method: warner.estimators.Estimator = PROJECTED,
    asked: list[tuple[Ask, Truth]] = ASKED,
) -> dict[str, np.ndarray]:
    """How often intervals hold the truth of each target, over whole runs from people to interval,
    for each that is asked.

    The truth is the same summary of the true shares; people of a bin are spread evenly in it. All
    intervals of a run are made of the same replicates.
    """
    domain, rng = mechanism.domain, np.random.default_rng(12)
    hits = {target: np.zeros(len(asked)) for target in TARGETS}
    for run in range(runs):
        index = rng.choice(domain.size, people, p=theta)
        values = np.asarray(domain.decode(index))
        if isinstance(domain, warner.Interval):
            values = values + (rng.random(people) - 0.5) * (domain.high - domain.low) / domain.size
        result = _estimated(mechanism.tally(mechanism.randomize(values, rng)), Remembered(method))
        truths = {
            "population": theta,
            "respondents": np.bincount(index, minlength=domain.size) / people,
        }
        for i, (ask, truth) in enumerate(asked):
            low, high = interval(result, ask(result), np.random.default_rng([12, run]))
            for target, shares in truths.items():
                hits[target][i] += low - 1e-12 <= truth(shares, domain) <= high + 1e-12
    return {target: count / runs for target, count in hits.items()}


def _asked(
    target: str, replicates: int
) -> Callable[
    [warner.Estimate, warner.results.summaries.Quantity, np.random.Generator], np.ndarray
]:
    return lambda _, quantity, rng: quantity.interval(0.95, target, replicates=replicates, rng=rng)


RR = {
    "Integers": warner.RandomizedResponse(warner.Integers(0, 5), 4.0),
    "Interval": warner.RandomizedResponse(warner.Interval(0, 6, 6), 4.0),
}


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("name", RR)
def test_intervals_of_summaries_cover_what_they_say(name: str, target: str) -> None:
    """100 runs, within 6 sd (0.024) of 0.94, what 60 replicates cover; a quantile of integers,
    which jumps, at least that.

    Population's intervals claimed for respondents cover them more often, respondents' claimed for
    the population less often. Integers differ from bins in their quantiles alone.
    """
    if name == "Integers":
        found = _covered(RR[name], 100, _asked(target, 60), asked=ASKED[2:3])[target]
        assert found[0] > 0.94 - 6 * 0.024
        return
    found = _covered(RR[name], 100, _asked(target, 60))
    assert (np.abs(found[target] - 0.94) < 6 * 0.024).all()
    # Respondents' intervals are about half as wide as the population's here.
    if target == "respondents":
        assert found["population"][0] < 0.94 - 6 * 0.024
    else:
        assert found["respondents"][0] > 0.975


def test_intervals_of_summaries_cover_by_maximum_likelihood_of_a_numeric_mechanism() -> None:
    """60 runs of the square wave: within 6 sd (0.033) of 0.93, and not all; a third of the width
    falls below that.
    """
    domain = warner.Interval(0, 6, 6)
    mechanism = warner.SquareWave(domain, 3.0, cells=252)
    seen: list[np.ndarray] = []

    def remembered(
        result: warner.Estimate, quantity: float, rng: np.random.Generator
    ) -> np.ndarray:
        seen.append(_asked("population", 40)(result, quantity, rng))  # type: ignore[arg-type]
        return seen[-1]

    right = _covered(
        mechanism,
        60,
        remembered,
        20_000,
        method=warner.MaximumLikelihood(),
    )["population"]
    assert (right > 0.93 - 6 * 0.033).all() and right[[0, 1, 3]].mean() < 0.999
    low, high = np.array(seen[:: len(ASKED)]).T
    assert domain.points is not None
    third = np.abs(SIX @ domain.points[:, 0] - (low + high) / 2) <= (high - low) / 6
    assert third.mean() < 0.93 - 6 * 0.033


def test_an_interval_of_a_quantile_that_may_jump_is_not_reflected() -> None:
    """F(1) = 0.51: the median is 1, its estimate often 2. The wrong program that bootstraps the
    median itself then says 2..3.
    """
    theta = np.array([0.25, 0.26, 0.24, 0.15, 0.1])
    mechanism = warner.RandomizedResponse(warner.Integers(0, 4), 3.0)
    asked: list[tuple[Ask, Truth]] = [(lambda e: e.quantile(0.5), _quantile(0.5))]

    def reflected(result: warner.Estimate, _: float, rng: np.random.Generator) -> np.ndarray:
        return result.interval(
            kind="bootstrap",
            weights=lambda t: warner.metrics.quantiles(t, 0.5, np.arange(5)),
            replicates=60,
            rng=rng,
        )[0]

    # 150 runs, sd 0.0194.
    right, wrong = (
        _covered(mechanism, 150, interval, theta=theta, asked=asked)["population"][0]
        for interval in (_asked("population", 60), reflected)
    )
    assert wrong < 0.94 - 6 * 0.0194 < right


def test_posterior_intervals_of_summaries_cover_what_they_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Dirichlet posterior of answers sent as they are, 60 runs: within 6 sd (0.028) of 0.95; one
    of ten times the weight covers 0.46.
    """
    monkeypatch.setattr("warner.results.intervals._DRAWS", 200)  # enough for this question
    domain, n, rng = warner.Integers(0, 5), 500, np.random.default_rng(13)
    open_ = warner.RandomizedResponse(domain, float("inf"))
    hits = np.zeros(3)
    for _ in range(60):
        counts = rng.multinomial(n, SIX)
        plain = _estimated(
            warner.Tally(open_.header, Counted.together(Histogram(), counts, n)),
            warner.Inversion("project"),
        )
        for j, (weight, (ask, truth)) in enumerate(((1, ASKED[0]), (1, ASKED[2]), (10, ASKED[0]))):
            fit = Fit(
                plain.probabilities.copy(),
                plain.status,
                posterior=PosteriorFit(
                    lambda b, g, c=counts * weight: g.dirichlet(c + 1, b), for_intervals=True
                ),
            )  # type: ignore[misc]
            number = ask(warner.Estimate(fit, plain.data, plain.estimator))
            low, high = number.interval(kind="posterior", rng=rng)  # type: ignore[attr-defined]
            hits[j] += low <= truth(SIX, domain) <= high
    mean, median, confident = hits / 60
    assert mean > 0.95 - 6 * 0.028 and median > 0.95 - 6 * 0.028
    assert confident < 0.95 - 6 * 0.028


# Intervals of means, ranges, variances and quantiles of numbers hold, near a border too. Seeded,
# so that nothing flakes.


RUNS = 24


def test_intervals_hold_means_and_ranges_near_both_borders() -> None:
    """Of 24 surveys of 300 people at least 20 hold the mean, and 20 the share of the quarter next to
    the border. With 95 % the chance of fewer is 0.6 %, and the seed is fixed.

    Rejects quantiles of the log-spline's own posterior, which is smoother: they hold the mean in at
    most 18 surveys, and the share in fewer.
    """
    domain = Interval(0, 60, bins=12)
    mechanism, n = SubsetSelection(domain, 1.7), 300
    low = np.diff(gamma(2.25, scale=4).cdf(np.append(np.linspace(0, 55, 12), np.inf)))
    rng, points, held = np.random.default_rng(6), domain.points[:, 0], np.zeros((2, 2), dtype=int)
    for run in range(RUNS):
        theta, ends = (low, (0, 15)) if run % 2 else (low[::-1], (45, 60))
        data = LikelihoodData(
            mechanism.channel(), mechanism.channel().simulate(theta, n, rng), n, domain
        )
        result = Estimate(LogSpline().fit(data), data, LogSpline())
        numbers = (result.mean(), result.range(*ends))
        truths = (theta @ points, low[:3].sum())
        assert result.fit.posterior is not None
        drawn = result.fit.posterior.draws(400, np.random.default_rng(0))
        weights = (points, ((points > ends[0]) & (points < ends[1])).astype(float))
        for i, (number, truth) in enumerate(zip(numbers, truths, strict=True)):
            smooth = np.quantile(drawn @ weights[i], [0.025, 0.975])
            for j, (least, most) in enumerate((number.interval(), smooth)):
                assert least <= number <= most or j
                held[i, j] += least <= truth <= most
    assert held[:, 0].min() >= 20, held
    assert held[:, 1].max() <= 18, held


def _many_zeros(n: int, rng: np.random.Generator, zeros: float = 0.8) -> np.ndarray:
    """Minutes of n people, a share of them exactly 0, as of users who did not come."""
    return np.where(rng.random(n) < zeros, 0.0, rng.gamma(2, 30, n).clip(0, 240))


def test_means_and_bands_in_bins_hold_where_most_people_are_at_a_limit() -> None:
    """Of 5 surveys of 40,000 people, four fifths of them at exactly 0, at least 4 hold the mean and
    each of two bands, and errors are small on average. The seed is fixed.

    Rejects the mean of shares of bins, in whose middle the zeros would be: 2 minutes too much, held
    in 0; the mean of the left inverse without exact scores, 2 minutes too small; and the curve
    without an atom at the limit itself, which has hardly anybody in the band from 40 to 60.
    """
    mechanism, n = SquareWave(Interval(0, 240, bins=48), 2.0), 40_000
    rng, runs = np.random.default_rng(1), 5
    law = gamma(2, scale=30)
    bands = [(low, low + 20, 0.2 * np.diff(law.cdf([low, low + 20]))[0]) for low in (40, 60)]
    truth = 0.2 * law.expect(lambda minutes: min(minutes, 240.0), epsabs=1e-3)
    held, errors = np.zeros(3, dtype=int), np.zeros((3, runs))
    for i in range(runs):
        result = warner.estimate(mechanism.tally(mechanism.randomize(_many_zeros(n, rng), rng)))
        numbers = [(result.mean(), truth)]
        numbers += [(result.range(low, high), share) for low, high, share in bands]
        for j, (number, true) in enumerate(numbers):
            low, high = number.interval()
            held[j] += low <= true <= high
            errors[j, i] = number - true
    assert held.min() >= 4, held
    assert (np.abs(errors.mean(axis=1)) < [0.6, 0.006, 0.006]).all(), errors.mean(axis=1)


def test_means_in_bins_have_no_bias_of_the_bins_in_any_way() -> None:
    """Of zeros: by mechanism, of those who answered, at two budgets, of one of two questions, and the
    difference of two groups, which is near that of the answers and whose interval holds it.

    Rejects the mean of shares of bins in any of them, which is 2 minutes off.
    """
    minutes, rng, n = Interval(0, 240, bins=48), np.random.default_rng(2), 100_000
    wave, answers = SquareWave(minutes, 4.0), _many_zeros(n, rng)
    sure = SquareWave(minutes, 5.0)
    both = warner.PerAttribute(
        {"plan": RandomizedResponse(warner.Categorical(["a", "b"]), 1.0), "minutes": wave}
    )
    some = WithNonresponse(wave)
    silent = rng.random(n) < 0.3
    spoken = [None if left else each for left, each in zip(silent, answers, strict=True)]
    half = n // 2
    parts = [
        m.tally(m.randomize(v, rng)) for m, v in ((wave, answers[:half]), (sure, answers[half:]))
    ]
    together = both.randomize({"plan": ["a", "b"] * half, "minutes": answers}, rng)
    means = {
        name: (warner.estimate(m.tally(m.randomize(answers, rng))).mean(), answers.mean())
        for name, m in (("piecewise", Piecewise(minutes, 4.0)), ("noise", Laplace(minutes, 4.0)))
    }
    means["answered"] = (
        warner.estimate(some.tally(some.randomize(spoken, rng))).mean(),
        answers[~silent].mean(),
    )
    means["two budgets"] = warner.estimate(parts).mean(), answers.mean()
    means["one question"] = (
        warner.estimate(both.tally(together), attributes="minutes").mean(),
        answers.mean(),
    )
    for name, (mean, truth) in means.items():
        assert mean.low <= truth <= mean.high, name
        assert abs(mean - truth) < 1, name
    often = _many_zeros(n, rng, 0.2)
    groups = {"rare": parts[0], "often": wave.tally(wave.randomize(often, rng))}
    compared = warner.compare_groups(groups, reference="rare", of="mean")
    (row,), difference = compared.rows(), often.mean() - answers[:half].mean()
    assert row["low"] <= difference <= row["high"] and row["difference"] == pytest.approx(
        difference, abs=1
    )
    assert compared.test is not None and row["p"] == pytest.approx(compared.test.p_value)


def test_posterior_intervals_of_quantiles_hold_smooth_ones_and_are_half_as_wide() -> None:
    """Of 24 surveys of 10,000 people at least 21 hold each quantile of a smooth shape. With 95 % the
    chance of fewer is 3 %, and the seed is fixed.

    Rejects the quantiles of posterior draws, which hold the first decile in 18, and an option that
    gives the default, which holds for every shape and is of whole bins.
    """
    mechanism, n = SquareWave(Interval(0, 240, bins=40), 2.0), 10_000
    rng = np.random.default_rng(5)
    levels = (0.1, 0.5, 0.9)
    held, widths = np.zeros(3, dtype=int), np.zeros((2, 3))
    for _ in range(RUNS):
        minutes = rng.gamma(2, 30, n).clip(0, 239)
        result = _estimated(mechanism.tally(mechanism.randomize(minutes, rng)), LogSpline())
        for i, q in enumerate(levels):
            number = result.quantile(q)
            low, high = number.interval(kind="posterior")
            assert low <= number <= high
            held[i] += low <= gamma(2, scale=30).ppf(q) <= high
            widths[:, i] += high - low, np.ptp(number.interval())
    assert held.min() >= 21, held
    assert (widths[0] < 0.5 * widths[1]).all(), widths


def test_intervals_hold_the_variance_and_outer_quantiles_of_a_smooth_shape() -> None:
    """Of 20 surveys of 2000 people, at least 17 hold the variance, with an estimate that is at most
    a fifth too large on average, and at least 17 each quantile. With 95 % the chance of fewer is
    1.6 %, and the seed is fixed.

    Rejects quantiles of the posterior, which hold the variance in at most 14, and the variance of
    the smooth distribution, which is a quarter too large or more.
    """
    mechanism, rng = SquareWave(Interval(0, 1, bins=32), 1.0), np.random.default_rng(2)
    variance, held, points = 10 / (49 * 8), np.zeros(4, dtype=int), []
    quantiles = dict(zip((0.1, 0.9), beta(2, 5).ppf([0.1, 0.9]), strict=True))
    for _ in range(20):
        reports = mechanism.randomize(rng.beta(2, 5, 2000), rng)
        result = _estimated(mechanism.tally(reports), LogSpline())
        number = result.variance()
        points.append((float(number), float(variance_of_shares(result))))
        for i, kind in enumerate((None, "posterior")):
            low, high = number.interval(kind=kind)
            held[i] += low <= variance <= high
        for i, (q, truth) in enumerate(quantiles.items(), start=2):
            low, high = result.quantile(q).interval()
            held[i] += low <= truth <= high
    assert held[[0, 2, 3]].min() >= 17 and held[1] <= 14, held
    moved, smooth = np.mean(points, axis=0) / variance
    assert 0.8 < moved < 1.2 and smooth > 1.25, (moved, smooth)


def test_quantiles_hold_where_many_bins_are_empty_and_their_errors_independent() -> None:
    """Of 30 surveys at least 25 hold the 0.9 quantile. With 95 % the chance of fewer is 0.3 %.

    Rejects the set of all distributions near the estimates, which holds it in at most 5: of empty
    bins it keeps the errors above 0 alone.
    """
    mechanism, n, z = RandomizedResponse(Interval(0, 1, bins=128), 3.0), 2000, 1.96
    edges = np.append(expon(scale=0.08).cdf(np.arange(128) / 128), 1.0)
    truth, held = float(expon(scale=0.08).ppf(0.9)), np.zeros(2, dtype=int)
    rng, channel, method = np.random.default_rng(2), mechanism.channel(), MaximumLikelihood(1e-4)
    about = np.tri(129, 128, -1) - 0.9
    for _ in range(30):
        weights = channel.simulate(np.diff(edges), n, rng)
        data = LikelihoodData(channel, weights, n, mechanism.domain)
        result = Estimate(method.fit(data), data, method)
        limits = result.quantile(0.9)._around(z, "population")
        known = UnbiasedShares.on_cells(result.data, "population")
        assert limits is not None and known is not None
        first, last = _Near.of(known).reach(about, z)
        held += [limits[0] <= truth <= limits[1], (first - 1) / 128 <= truth <= (last + 1) / 128]
    assert held[0] >= 25 and held[1] <= 5, held


# Intervals among those who answered hold the truth as often as they say, and are not too wide.
# The mean of numbers far from 0 shows whether an interval knows that the share of nonresponse is
# estimated from the same reports. A program that divides the interval of the sum by the estimated
# share would be several times too wide here. One that takes the people who answered as a sample
# without noise of the mechanism would be too narrow.


DOMAIN = Optional(Integers(40, 45))
SHARES = np.array([0.3, 0.25, 0.2, 0.15, 0.1, 0.0])
ANSWER, N, SURVEYS = 0.6, 3000, 150


def test_means_and_shares_of_those_who_answered() -> None:
    mechanism = SubsetSelection(DOMAIN, 1.0)
    rng = np.random.default_rng(7)
    theta = np.append(SHARES * ANSWER, 1 - ANSWER)
    truth = float(SHARES @ np.arange(40, 46))
    means, bounds, shares, rows = [], [], [], []
    for _ in range(SURVEYS):
        index = rng.choice(7, N, p=theta)
        tally = mechanism.count(mechanism.randomize_index(index, Source(rng)))
        given = _estimated(tally, Inversion()).answered()
        means.append(float(given.mean()))
        bounds.append(given.mean().interval())
        shares.append(given.interval())
        rows.append([given.row()[end] for end in ("low", "high")])
    low, high = np.transpose(bounds)
    # Of 150 runs at 95 %, fewer than 0.89 hold with probability below 0.002.
    assert np.mean((low <= truth) & (truth <= high)) >= 0.89
    low_row, high_row = np.transpose(rows)
    assert np.mean((low_row <= ANSWER) & (high_row >= ANSWER)) >= 0.89
    held = (np.array(shares)[..., 0] <= SHARES) & (np.array(shares)[..., 1] >= SHARES)
    assert (held.mean(axis=0) >= 0.89).all()
    # The standard error of the ratio of a width to an estimated deviation is 6 %.
    width = np.mean(high - low) / (2 * normal_quantile(0.95))
    assert 0.8 < width / np.std(means) < 1.25


# Estimates of numbers where some people give no answer.


_BINS = Interval(0.0, 1.0, bins=20)
_SILENT, _PEOPLE, _RUNS = 0.3, 4000, 8


def _truth() -> np.ndarray:
    x = (np.arange(20) + 0.5) / 20
    shares = x * (1 - x) ** 3
    return np.append((1 - _SILENT) * shares / shares.sum(), _SILENT)


def _estimates(mechanism: Mechanism) -> list[warner.Estimate]:
    """Estimates of reports that the mechanism itself randomised."""
    rng, found = np.random.default_rng(2), []
    for _ in range(_RUNS):
        index = rng.choice(21, _PEOPLE, p=_truth())
        inside = (index + rng.random(_PEOPLE)) / 20
        values = np.where(index == 20, np.nan, inside)
        found.append(warner.estimate(mechanism.tally(mechanism.randomize(values, rng))))
    return found


def _distance(found: warner.Estimate) -> float:
    answers = _truth()[:-1] / (1 - _SILENT)
    return float(np.abs(np.cumsum(found.answered().probabilities - answers)).sum() / 20)


def test_numbers_with_nonresponse_err_less_than_labels() -> None:
    """Rejects a mechanism of numbers that loses the order of the answers to nonresponse: its distance
    is then that of labels, 2 to 3 times as large. The ratio has a standard error of about 0.1.
    """
    beside = _estimates(WithNonresponse(SquareWave(_BINS, 1.0)))
    labels = _estimates(warner.SubsetSelection(Optional(_BINS), 1.0))
    ours, theirs = (np.mean([_distance(e) for e in found]) for found in (beside, labels))
    assert ours < 0.8 * theirs


def test_intervals_of_the_answered_hold_the_truth() -> None:
    """Rejects intervals of half the width, or around a share that counts nonresponse as an answer.

    Of 8 surveys at most 2 may miss the mean or the share of answers. Intervals that hold in 95 % do
    in all but 0.6 % of draws, those of half the width, which hold in 67 %, in 47 %.
    """
    answers = _truth()[:-1] / (1 - _SILENT)
    mean = float(answers @ ((np.arange(20) + 0.5) / 20))
    missed = {"mean": 0, "answered": 0, "shares": 0.0}
    for found in _estimates(WithNonresponse(SquareWave(_BINS, 1.0))):
        given = found.answered()
        low, high = given.mean().interval()
        missed["mean"] += not low <= mean <= high
        row = given.row()
        missed["answered"] += not row["low"] <= 1 - _SILENT <= row["high"]
        limits = given.interval()
        outside = (answers < limits[:, 0]) | (answers > limits[:, 1])
        missed["shares"] += float(outside.mean()) / _RUNS
        # Fieller's intervals around an inverted square wave hold nearly every share.
        assert np.diff(limits, axis=1).mean() < 0.3
    assert missed["mean"] <= 2 and missed["answered"] <= 2 and missed["shares"] <= 0.15


def test_a_stated_tally_is_estimated_without_bias() -> None:
    """Rejects swapped probabilities of "no answer", which move the share of nonresponse by 0.3."""
    mechanism = WithNonresponse(SquareWave(_BINS, 1.0))
    channel = mechanism.channel()
    data = LikelihoodData(channel, channel.matvec(_truth()), 10**7, mechanism.domain)
    fit = warner.LogSpline().fit(data)
    assert abs(fit.shares[-1] - _SILENT) < 0.01


# Whether the default keeps the log-spline on very many values. Seeded, so that nothing flakes.


@pytest.mark.parametrize(
    "make",
    [
        lambda d: warner.UnaryEncoding(d, 2.0, variant="oue"),
        lambda d: warner.RandomizedResponse(d, 8.0),
    ],
    ids=["bits", "values"],
)
def test_a_smooth_shape_is_not_ruled_out_and_a_rough_one_is(make: Any) -> None:
    """Rejected: the plain chi-square limit, which rules out smooth shapes of 50,000 values, and a
    rule that never rules out.
    """
    size, n = 50_000, 100_000
    channel = make(Integers(0, size - 1)).channel()
    x = (np.arange(size) + 0.5) / size
    smooth = np.exp(-((x - 0.4) ** 2) / 0.02)
    rough = np.where(np.arange(size) % 500 == 0, 1.0, 1e-6)
    for truth, expected in ((smooth, False), (rough, True)):
        w = channel.simulate(truth / truth.sum(), n, np.random.default_rng(6))
        data = LikelihoodData(channel, w, n, Integers(0, size - 1))
        assert rules_out(LogSpline().fit(data), MaximumLikelihood().fit(data)) is expected


@pytest.mark.parametrize("make", [partial(warner.LocalHashing, buckets=2), warner.HadamardResponse])
def test_smooth_shapes_of_a_thousand_values_are_not_ruled_out_by_chance(make: Any) -> None:
    """With a margin of 2.5 standard deviations, in each of 5 sets of reports.

    Rejected: the plain chi-square limit, which is four standard deviations off on average, so that
    one set in ten was called rough.
    """
    size, n = 1000, 100_000
    mechanism = make(Integers(0, size - 1), 2.0)
    x = (np.arange(size) + 0.5) / size
    shares = 0.6 * np.exp(-((x - 0.35) ** 2) / 0.0128) / 0.08
    shares += 0.4 * np.exp(-((x - 0.7) ** 2) / 0.02) / 0.1
    rng = np.random.default_rng(7)
    for _ in range(5):
        people = rng.choice(size, n, p=shares / shares.sum())
        data = likelihood_data(mechanism.tally(mechanism.randomize(people, rng=rng)))
        counted = data.for_test_of_smoothness()
        smooth, best = LogSpline().fit(data), MaximumLikelihood().fit(counted)
        value = certify(counted, smooth.shares, smooth.status, None).log_likelihood
        assert value is not None
        margin = 2.5 * np.sqrt(2 * np.count_nonzero(best.shares)) / 2
        assert not rules_out(replace(smooth, log_likelihood=value - margin), best)


def test_whole_reports_of_many_values_count_by_their_sums() -> None:
    """Smooth shapes only: spikes get the maximum of the likelihood of whole reports.

    Rejected: a test that never rejects, and the maximum of the likelihood of sums.
    """
    size, n = 600, 20_000
    mechanism = warner.LocalHashing(Integers(0, size - 1), 2.0)
    rng = np.random.default_rng(8)
    smooth = np.clip(rng.normal(0.4, 0.1, n) * size, 0, size - 1).astype(np.int64)
    data = likelihood_data(mechanism.tally(mechanism.randomize(smooth, rng=rng)))
    counted = data.by_sums()
    assert counted.channel.rows_are_bit_sums and counted.by_sums() is counted
    found, of_sums = LogSpline().fit(data).shares, LogSpline().fit(counted).shares
    np.testing.assert_allclose(found, of_sums, rtol=1e-9)
    few = replace(data, weights=np.eye(1, data.weights.size)[0])
    assert few.by_sums() is few

    spikes = rng.choice(np.arange(0, size, 60), n)
    rough = warner.estimate(mechanism.tally(mechanism.randomize(spikes, rng=rng)))
    assert rough.method == "MaximumLikelihood()"
    assert rough.fit.likelihood == "likelihood of the reports"


def test_reports_without_support_law_keep_their_likelihood() -> None:
    """Rejected: support counts of blocks of a projective space, which have no common law."""
    channel = ProjectiveBlocksChannel(600, ProjectiveBlocks(3, 6, 2, 600), 0.003, 0.001)
    w = channel.simulate(np.full(600, 1 / 600), 9000, np.random.default_rng(1))
    data = LikelihoodData(channel, w, 9000, Integers(0, 599))
    assert channel.supports_overlap_alike and data.for_test_of_smoothness() is data
