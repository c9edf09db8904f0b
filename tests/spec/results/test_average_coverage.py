"""Intervals of average coverage: what they promise, one sentence a test."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.registry import MECHANISMS, SEEING
from warner import (
    Categorical,
    EmpiricalBayes,
    HadamardResponse,
    Integers,
    Inversion,
    RandomizedResponse,
)
from warner.app.cli import main
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.reports.tally_kinds import Counted, Histogram
from warner.results.estimate import Estimate
from warner.results.share_noise import _Levels

SIZE, PEOPLE = 40, 3000
SHARES = 1 / np.arange(1.0, SIZE + 1)
SHARES /= SHARES.sum()


def _estimate(mechanism: Mechanism, method: Estimator, seed: int = 0) -> Estimate:
    """An estimate from a tally of PEOPLE reports, drawn from its law."""
    channel, rng = mechanism.channel(), np.random.default_rng(seed)
    size = mechanism.domain.size
    weights = channel.simulate(SHARES[:size] / SHARES[:size].sum(), PEOPLE, rng)
    data = LikelihoodData(channel, weights, PEOPLE, mechanism.domain)
    return Estimate(method.fit(data), data, method)


@pytest.mark.parametrize("name", SEEING)
def test_intervals_hold_the_estimate_for_every_mechanism(name: str) -> None:
    for target, method in (("population", EmpiricalBayes()), ("respondents", Inversion())):
        result = _estimate(MECHANISMS[name](Integers(0, 7), 1.0), method)
        low, high = result.interval(target=target, kind="average").T
        given = np.clip(result.probabilities, 0.0, 1.0)
        assert ((low >= 0) & (low <= given) & (given <= high) & (high <= 1)).all()


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_intervals_hold_the_unbiased_estimate_to_rounding(epsilon: float) -> None:
    """Each share is missed at most half of the time, so the middle of the noise is inside."""
    result = _estimate(
        RandomizedResponse(Categorical(list(range(SIZE))), epsilon), EmpiricalBayes()
    )
    low, high = result.interval(kind="average").T
    centre = np.clip(result.data.channel.invert(result.data.weights), 0.0, 1.0)
    noise = np.diff(result.interval(kind="wald"))[:, 0] / 4
    outside = np.maximum(low - centre, centre - high)
    assert (outside < 0.25 * noise).all()


def test_intervals_are_much_shorter_than_those_of_each_value() -> None:
    for epsilon, most in ((0.5, 0.6), (1.0, 0.7), (2.0, 0.9)):
        mechanism = RandomizedResponse(Categorical(list(range(SIZE))), epsilon)
        result = _estimate(mechanism, EmpiricalBayes())
        average, wald = (np.diff(result.interval(kind=kind)).mean() for kind in ("average", "wald"))
        assert average < most * wald


def test_a_marginal_keeps_intervals_of_each_value_and_has_the_others_when_asked() -> None:
    people = warner.Product(a=Integers(0, 5), b=Integers(0, 5))
    result = _estimate(RandomizedResponse(people, 3.0), EmpiricalBayes(order=False))
    margin = result.marginal("a")
    assert margin.interval_kind() == "score"
    for kind in ("average", "simultaneous"):
        low, high = margin.interval(kind=kind).T
        assert low.shape == (6,)
        assert ((low <= margin.probabilities) & (margin.probabilities <= high)).all()


def test_a_large_share_among_very_many_has_an_interval_near_it() -> None:
    """Where almost all shares are small, no test gives all its level to one side."""
    size, people = 20_000, 200_000
    shares = 1 / np.arange(1.0, size + 1)
    channel = HadamardResponse(Integers(0, size - 1), 2.0).channel()
    weights = channel.simulate(shares / shares.sum(), people, np.random.default_rng(0))
    data = LikelihoodData(channel, weights, people, Integers(0, size - 1))
    result = Estimate(EmpiricalBayes().fit(data), data, EmpiricalBayes())
    width = np.diff(result.interval(kind="average"))[:, 0]
    assert (width[:5] < 1.5 * np.diff(result.interval(kind="wald"))[:5, 0]).all()


def test_a_higher_level_makes_wider_intervals() -> None:
    result = _estimate(RandomizedResponse(Categorical(list(range(SIZE))), 1.0), EmpiricalBayes())
    widths = [np.diff(result.interval(level, kind="average")).mean() for level in (0.5, 0.8, 0.99)]
    assert widths == sorted(widths)


def test_intervals_do_not_depend_on_the_order_of_the_values() -> None:
    mechanism = RandomizedResponse(Categorical(list(range(SIZE))), 2.0)
    result, order = _estimate(mechanism, EmpiricalBayes(order=False)), np.arange(SIZE)[::-1]
    data = result.data
    turned = LikelihoodData(data.channel, data.weights[order], PEOPLE, mechanism.domain)
    method = EmpiricalBayes(order=False)
    other = Estimate(method.fit(turned), turned, method)
    assert other.interval(kind="average") == pytest.approx(
        result.interval(kind="average")[order], abs=1e-6
    )


def test_answers_without_noise_have_intervals_around_their_shares() -> None:
    result = _estimate(RandomizedResponse(Integers(0, 39), np.inf), Inversion("project"))
    for target in ("population", "respondents"):
        low, high = result.interval(target=target, kind="average").T
        assert ((low <= result.probabilities) & (result.probabilities <= high)).all()


def test_other_kinds_refuse_what_they_do_not_need() -> None:
    result = _estimate(RandomizedResponse(Integers(0, 7), 1.0), EmpiricalBayes())
    for kind in ("average", "simultaneous", "anytime"):
        with pytest.raises(warner.errors.ArgumentError, match=f"weights of {kind} intervals"):
            result.interval(kind=kind, weights=np.eye(8), planned=10)
        with pytest.raises(warner.errors.ArgumentError, match="target"):
            result.interval(kind=kind, target="everyone", planned=10)
    with pytest.raises(warner.errors.ArgumentTypeError, match="first look"):
        result.interval(kind="anytime")
    blind = warner.MatrixMechanism(Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    flat = _estimate(blind, warner.MaximumLikelihood())
    for kind in ("average", "simultaneous", "anytime"):
        with pytest.raises(warner.errors.IdentifiabilityError):
            flat.interval(kind=kind, planned=10)


def test_bands_are_wider_than_intervals_of_each_value_and_narrower_than_bonferroni() -> None:
    result = _estimate(RandomizedResponse(Categorical(list(range(SIZE))), 3.0), EmpiricalBayes())
    band, each = (result.interval(kind=kind) for kind in ("simultaneous", "wald"))
    bonferroni = result.interval(1 - 0.05 / SIZE, kind="wald")
    inside = (band[:, 0] > 0) & (band[:, 1] < 1)
    width, least, most = (np.diff(v)[:, 0] for v in (band, each, bonferroni))
    assert inside.any() and (width > least)[inside].all() and (width < most)[inside].all()
    assert (result.interval(kind="simultaneous") == band).all()


def test_bands_exist_where_reports_cannot_be_simulated_and_for_many_values() -> None:
    bits = warner.UnaryEncoding(Integers(0, 3), 1.0)
    reports = bits.randomize([0, 1, 2, 3] * 300, np.random.default_rng(0))
    kept = warner.estimate(bits.tally(reports, keep_reports=True), warner.MaximumLikelihood())
    summed = warner.estimate(bits.tally(reports), warner.MaximumLikelihood())
    widths = [np.diff(e.interval(kind="simultaneous")).mean() for e in (kept, summed)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)
    large = RandomizedResponse(Categorical(list(range(1200))), 1.0)
    rng = np.random.default_rng(0)
    tally = large.tally(large.randomize(rng.integers(0, 1200, 2000), rng))
    result = warner.estimate(tally, Inversion("project"))
    band, each = (np.diff(result.interval(kind=k)).mean() for k in ("simultaneous", "wald"))
    assert each < band <= 1


def test_anytime_intervals_are_the_formula_and_narrowest_near_the_plan() -> None:
    """At n = planned = 10,000 and alpha = 0.05, n r^2 = 5.99 + log 5.99 + 1 = 8.781."""
    coin = RandomizedResponse(Integers(0, 1), np.log(3))
    tally = warner.Tally(coin.header, Counted.together(Histogram(), np.array([6000, 4000]), 10_000))
    result = warner.estimate(tally, Inversion())
    growth = 2 * np.log(20) + np.log(2 * np.log(20)) + 1
    factor = np.sqrt(2 * (growth + 1) / growth * np.log(np.sqrt(growth + 1) * 20))
    half = factor * np.sqrt(0.6 * 0.4 / 10_000) / 0.5
    low, high = result.interval(kind="anytime", planned=10_000)[0]
    assert (low, high) == pytest.approx((0.7 - half, 0.7 + half), abs=1e-9)
    widths = [
        float(np.ptp(result.interval(kind="anytime", planned=planned)[0]))
        for planned in (100, 10_000, 1_000_000)
    ]
    assert widths[1] == min(widths)


@pytest.mark.parametrize(
    "kind, words",
    [
        (None, "also for one that is read because its share is large"),
        ("score", "also for one that is read because its share is large"),
        ("average", "on average over the values"),
        ("wald", "It holds for its value, not for all at once"),
        ("simultaneous", "hold for all values at once"),
    ],
)
def test_the_command_line_says_what_the_intervals_hold(
    kind: str | None, words: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mechanism, rng = (
        RandomizedResponse(Categorical(list(range(SIZE))), 2.0),
        np.random.default_rng(0),
    )
    path = tmp_path_factory.mktemp("kinds") / "t.json"
    mechanism.tally(mechanism.randomize(rng.choice(SIZE, PEOPLE, p=SHARES), rng)).save(path)
    asked = [] if kind is None else ["--interval", kind]
    shown = CliRunner().invoke(main, ["estimate", str(path), *asked])
    assert shown.exit_code == 0 and words in " ".join(shown.output.split())
    written = CliRunner().invoke(main, ["estimate", str(path), *asked, "--json"])
    data = json.loads(written.stdout)[0]
    assert data["interval"]["kind"] == (kind or "score")
    heading = "average 95 % interval"
    assert (heading in shown.output) is (kind == "average")
    assert "people, estimated" in shown.output
    expected = warner.estimate(warner.Tally.load(path)).interval(kind=kind)
    assert [row["high"] for row in data["shares"]] == pytest.approx(expected[:, 1].tolist())


def test_levels_are_alpha_on_average_for_every_distribution() -> None:
    """The promise itself: sum_x alpha(theta_x) <= alpha K, from corners to the uniform one."""
    rng = np.random.default_rng(0)
    for size in (2, 10, 500):
        for large in (np.inf, 0.1, 0.0):
            levels = _Levels(0.05, 0.05 / 2 * size, large)
            for shape in (0.01, 0.3, 10.0):
                shares = rng.dirichlet(np.full(size, shape))
                assert levels(shares).mean() <= 0.05 + 1e-12
                assert levels(shares).max() <= 0.5
        even = _Levels(0.05, 0.05 / 2 * size, np.inf)(np.full(size, 1 / size))
        assert even == pytest.approx(np.full(size, 0.05))


def test_bands_are_wide_where_noise_carries_estimates_beyond_one() -> None:
    """Rejects errors that are measured from estimates cut at 1: then most tallies have the same
    largest error, and bands around the estimates above 1 hold no small share.
    """
    mechanism, rng = (
        RandomizedResponse(Categorical(list(range(200))), 0.5),
        np.random.default_rng(0),
    )
    tally = mechanism.tally(mechanism.randomize(rng.integers(0, 200, 500), rng))
    result = warner.estimate(tally)
    assert result.data.channel.invert(result.data.weights).max() > 1
    assert result.interval(kind="simultaneous")[:, 0].max() == 0
