"""Differences and associations: coverage and levels of tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from tests.statistical.results._pairs import CHANNEL, _family, _tallies
from warner import (
    Categorical,
    Integers,
    Inversion,
    RandomizedResponse,
    UnaryEncoding,
    compare_groups,
)
from warner.domains import Product
from warner.domains.derived import Optional
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.metrics import cramers_v as plain
from warner.results import goodness_of_fit, independence
from warner.results.association import Pair, cramers_v
from warner.results.estimate import Estimate
from warner.results.samples import Sample
from warner.results.wald_tests import equal_means, no_difference

RUNS = 300
DOMAIN = Integers(0, 3)
SHARES = np.array([0.35, 0.3, 0.2, 0.15])
FINE, COARSE = RandomizedResponse(DOMAIN, 2.0), UnaryEncoding(DOMAIN, 0.7)


def _drawn(mechanism: Mechanism, shares: np.ndarray, n: int, rng: np.random.Generator) -> Estimate:
    """An estimate from a simulated tally."""
    channel = mechanism.channel()
    weights = channel.simulate(shares, n, rng)
    data = LikelihoodData(channel, weights, n, mechanism.domain, True)
    return Estimate(Inversion().fit(data), data, Inversion())


def _rate(hits: list[bool]) -> tuple[float, float]:
    """A rate and its standard error."""
    found = float(np.mean(hits))
    return found, max((found * (1 - found) / len(hits)) ** 0.5, 1e-3)


def _pairs(of: str | float, runs: int = RUNS) -> list[tuple[Estimate, Estimate, dict[str, float]]]:
    """Two groups with different noise and size, and a row of their difference."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(runs):
        a, b = _drawn(FINE, SHARES, 1500, rng), _drawn(COARSE, SHARES[::-1], 3000, rng)
        found.append((a, b, compare_groups(a, b, of=of).rows()[0]))
    return found


def test_intervals_of_means_of_those_who_answered_cover_the_truth() -> None:
    """Rejects the program that forgets that the number of answers is estimated, too."""
    domain, points = Optional(DOMAIN), np.arange(4)
    truth = SHARES @ points - SHARES[::-1] @ points
    first, second = RandomizedResponse(domain, 2.0), UnaryEncoding(domain, 1.0)
    rng, covered, narrow = np.random.default_rng(4), [], []
    for _ in range(RUNS):
        a = _drawn(first, np.append(0.7 * SHARES, 0.3), 1500, rng)
        b = _drawn(second, np.append(0.5 * SHARES[::-1], 0.5), 3000, rng)
        (row,) = compare_groups(a, b, of="mean").rows()
        covered.append(row["low"] <= truth <= row["high"])
        # c'T divided by a number f that is taken as known.
        variance = 0.0
        for each in (a, b):
            c = np.append(points, 0) / each.probabilities[:4].sum()
            variance += c @ each.data.channel.covariance(each.probabilities) @ c / each.n
        off = row["difference"] - truth
        narrow.append(abs(off) <= 1.96 * variance**0.5)
    rate, error = _rate(covered)
    assert abs(rate - 0.95) < 4 * error
    wrong, error = _rate(narrow)
    assert abs(wrong - 0.95) > 3 * error


@pytest.mark.parametrize("of", ["shares", "mean"])
def test_intervals_of_differences_cover_what_they_say(of: str) -> None:
    points = np.arange(4)
    truth = SHARES[0] - SHARES[3] if of == "shares" else SHARES @ points - SHARES[::-1] @ points
    pairs = _pairs(of)
    rate, error = _rate([row["low"] <= truth <= row["high"] for _, _, row in pairs])
    assert abs(rate - 0.95) < 3 * error
    # The mutant that takes the first group's noise for that of both.
    halves = [1.96 * np.sqrt(2 * a.data.channel.variance(SHARES)[0] / a.n) for a, _, _ in pairs]
    if of == "shares":
        mutant, error = _rate(
            [abs(r["difference"] - truth) < h for (_, _, r), h in zip(pairs, halves, strict=True)]
        )
        assert mutant < 0.95 - 5 * error


def test_intervals_of_medians_cover_what_they_say() -> None:
    """A quantile of whole numbers jumps, so its interval covers at least as often."""
    pairs = _pairs(0.5, 100)
    rate, error = _rate([row["low"] <= -1 <= row["high"] for _, _, row in pairs])
    assert rate > 0.95 - 3 * error


def _size(p_values: list[float]) -> tuple[float, float]:
    return _rate([p < 0.05 for p in p_values])


@pytest.mark.parametrize("alike", [True, False])
def test_no_difference_is_rejected_as_often_as_the_level_says(alike: bool) -> None:
    rng = np.random.default_rng(2)
    p_values, mutant = [], []
    for _ in range(RUNS):
        other = FINE if alike else COARSE
        a, b = _drawn(FINE, SHARES, 800, rng), _drawn(other, SHARES, 2500, rng)
        p_values.append(compare_groups(a, b).test.p_value)
        if alike:
            # The mutant that takes reports for answers: the chi-square of shares without noise.
            counts = [e.n * np.clip(e.probabilities, 1e-3, 1) for e in (a, b)]
            mean = sum(counts) / (a.n + b.n)
            statistic = sum(
                ((c - e.n * mean) ** 2 / (e.n * mean)).sum()
                for c, e in zip(counts, (a, b), strict=True)
            )
            mutant.append(float(chi2.sf(statistic, 3)))
    rate, error = _size(p_values)
    assert abs(rate - 0.05) < 3 * error
    assert not alike or _size(mutant)[0] > 0.2


def test_no_difference_of_many_values_is_rejected_as_often_as_the_level_says() -> None:
    """Rejects the program that gives half a person to each of 100 values: of 750 people with a
    Zipf law it rejected 1.2 % at the level .05.
    """
    many = RandomizedResponse(Integers(0, 99), 5.0)
    channel, shares = many.channel(), 1 / np.arange(1, 101)
    shares, rng = shares / shares.sum(), np.random.default_rng(6)
    p_values = []
    for _ in range(RUNS):
        samples = [
            Sample.of("", LikelihoodData(channel, weights, n, many.domain, True), "population")
            for n in (500, 250)
            for weights in (channel.simulate(shares, n, rng),)
        ]
        p_values.append(no_difference(samples).p_value)
    rate, error = _size(p_values)
    assert abs(rate - 0.05) < 2.5 * error


def test_equal_means_are_rejected_as_often_as_the_level_says() -> None:
    """Rejects errors of one group for all, and a mean of all groups that counts people."""
    rng, p_values, wrong = np.random.default_rng(8), [], []
    for _ in range(RUNS):
        mechanisms = (FINE, 1200), (COARSE, 900), (FINE, 300), (COARSE, 2500)
        groups = [_drawn(mechanism, SHARES, n, rng) for mechanism, n in mechanisms]
        samples = [Sample.of("", group.data, "population") for group in groups]
        p_values.append(equal_means(samples, DOMAIN, "wald").p_value)
        means = np.array([s.shares @ np.arange(4) for s in samples])
        first = samples[0].covariance()
        statistic = ((means - means.mean()) ** 2).sum() / (np.arange(4) @ first @ np.arange(4))
        wrong.append(float(chi2.sf(statistic, 3)))
    rate, error = _size(p_values)
    assert abs(rate - 0.05) < 2.5 * error
    assert _size(wrong)[0] > 0.2


def test_a_difference_is_found_as_often_as_theory_says() -> None:
    """Power from the non-central chi-square law."""
    from scipy.stats import ncx2

    rng = np.random.default_rng(3)
    other = np.array([0.40, 0.25, 0.2, 0.15])
    p_values = [
        compare_groups(_drawn(FINE, SHARES, 2000, rng), _drawn(FINE, other, 2000, rng)).test.p_value
        for _ in range(RUNS)
    ]
    channel = FINE.channel()
    inverse = np.linalg.pinv(channel.covariance((SHARES + other) / 2))
    shift = 1000 * (other - SHARES) @ inverse @ (other - SHARES)
    rate, error = _size(p_values)
    assert abs(rate - ncx2.sf(chi2.isf(0.05, 3), 3, shift)) < 3 * error


@pytest.mark.parametrize("mechanism", [FINE, COARSE])
def test_goodness_of_fit_keeps_its_level(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(4)
    p_values = [
        goodness_of_fit(_drawn(mechanism, SHARES, 1000, rng), SHARES).p_value for _ in range(RUNS)
    ]
    rate, error = _size(p_values)
    assert abs(rate - 0.05) < 3 * error


def test_independence_keeps_its_level_and_reports_are_not_answers() -> None:
    domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q", "r"]))
    both = RandomizedResponse(domain, 2.0)
    even = np.multiply.outer([0.6, 0.4], [0.5, 0.3, 0.2]).ravel()
    rng = np.random.default_rng(5)
    estimates = [_drawn(both, even, 2000, rng) for _ in range(RUNS)]
    rate, error = _size([independence(e, "a", "b").p_value for e in estimates])
    assert abs(rate - 0.05) < 3 * error
    assert _mutant(estimates) > 0.2


def _mutant(estimates: list[Estimate]) -> float:
    """How often the chi-square of the estimated shares, as if they were answers, rejects."""
    rejected = []
    for e in estimates:
        table = np.clip(e.probabilities, 1e-3, 1).reshape(2, 3)
        even = np.multiply.outer(table.sum(axis=1), table.sum(axis=0))
        statistic = e.n * ((table - even) ** 2 / even).sum()
        rejected.append(float(chi2.sf(statistic, 2)))
    return _size(rejected)[0]


# Associations are right on average, and their intervals hold the truth. Seeded, so that nothing
# flakes.


@pytest.mark.parametrize("v", [0.0, 0.2, 0.6])
def test_the_corrected_square_of_an_association_is_right_on_average(v: float) -> None:
    """Over 400 tallies within 6 standard errors and 0.003. Mutants: the plain one of the projected
    shares, of the inversion, and Bergsma's correction for open answers, which knows nothing of the
    noise: all too large.
    """
    theta = _family(v)
    data = _tallies(theta, 20_000, 400, 3)
    found = np.array(
        [Pair(CHANNEL, each.weights, each.n, (5, 5)).square(each.weights) for each in data]
    )
    margin = 6 * found.std() / np.sqrt(len(data)) + 0.003
    assert abs(found.mean() - v**2) < margin
    if v == 0.0:
        projected = np.array(
            [plain(Inversion("project").fit(each).shares.reshape(5, 5)) ** 2 for each in data]
        )
        assert projected.mean() > margin and (projected - 16 / 20_000 / 4).mean() > margin


@pytest.mark.parametrize("v", [0.0, 0.5])
def test_intervals_of_an_association_cover_at_the_border_too(v: float) -> None:
    """25 tallies at 90 %: at least 0.9 less 4 sd (0.06). The mutant that reflects the plug-in V's
    bootstrap misses a V of 0 always.
    """
    rng = np.random.default_rng(4)
    found = []
    for each in _tallies(_family(v), 5000, 25, 5):
        low, high = cramers_v(each, "a", "b").interval(0.9, replicates=20, rng=rng)
        found.append((low, high))
    low, high = np.array(found).T
    assert ((low <= v + 1e-9) & (v - 1e-9 <= high)).mean() > 0.9 - 4 * 0.06
    assert np.median(high - low) < 0.35
    if v == 0.0:
        mutant = [
            plain(Inversion("project").fit(each).shares.reshape(5, 5))
            for each in _tallies(_family(v), 5000, 60, 5)
        ]
        assert min(mutant) > 0.02
