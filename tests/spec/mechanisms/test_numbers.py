"""Noise on numbers."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.refusals import refused
from warner import Grid, Integers, Interval, SquareWave
from warner.domains import Points
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    FrameWarning,
    ValuesError,
    WarnerError,
)
from warner.mechanisms import (
    Gaussian,
    Geometric,
    Laplace,
    Mechanism,
    Piecewise,
    StochasticRounding,
    TruncatedGeometric,
    from_header,
)
from warner.mechanisms.gaussian import calibrate, divergence
from warner.mechanisms.numeric import WindowMechanism
from warner.privacy.report_laws import hockey_stick


def test_calibration_is_the_analytic_one() -> None:
    """delta of the continuous mechanism at the sigma found is the one asked for, by quadrature; the
    classical sigma is larger.
    """
    for epsilon, delta in ((0.1, 1e-3), (1.0, 1e-5), (5.0, 1e-8)):
        sigma = calibrate(epsilon, delta)
        x = np.linspace(-12 * sigma, 1 + 12 * sigma, 400_001)
        a, b = (
            np.exp(-((x - m) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
            for m in (0, 1)
        )
        assert np.trapezoid(np.maximum(0, a - math.exp(epsilon) * b), x) == pytest.approx(
            delta, rel=1e-3
        )
        assert divergence(epsilon, sigma) <= delta
        if epsilon <= 1:
            assert sigma < math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@pytest.mark.parametrize(
    "domain",
    [
        Integers(0, 5),
        Interval(-1, 1, 4),
        Points([[0, 0], [1, 0], [0, 2], [3, 3]]),
        Points([[0, 0, 0], [1, 0, 1], [0, 2, 0]]),
        Points([[0.0], [0.001], [5.0]]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("epsilon, delta", [(0.5, 1e-2), (3.0, 1e-4)])
def test_delta_is_the_hockey_stick_divergence_of_what_is_sampled(
    domain: warner.domains.Domain, epsilon: float, delta: float
) -> None:
    mechanism = Gaussian(domain, epsilon, delta)
    law = mechanism.channel().dense()
    worst = max(
        float(np.maximum(0, law[:, [x]] - math.exp(epsilon) * law).sum(axis=0).max())
        for x in range(domain.size)
    )
    assert worst <= mechanism.guarantee.delta <= delta
    if not isinstance(domain, Interval):  # whose bins are averages
        # On several axes it is a bound, which a coarse sum of the losses moves up.
        assert mechanism.guarantee.delta < (1.01 if domain.size == 6 else 1.1) * worst
    # Noise a tenth smaller would not do: the calibration wastes little.
    refused(BudgetError, "", Gaussian, domain, epsilon, delta, sigma=0.9 * mechanism.sigma)


def test_the_exact_law_is_what_the_channel_says() -> None:
    for mechanism in (
        Gaussian(Integers(0, 2), 4.0, 0.05),
        Gaussian(Points([[0, 0], [1, 2]]), 9.0, 0.4),
    ):
        table = mechanism.probabilities()
        assert set(table.sum(axis=0)) == {1}
        assert mechanism.channel().dense() == pytest.approx(table.astype(float), rel=1e-12)
        assert hockey_stick(table, mechanism.requested) <= mechanism.guarantee.delta
        result = warner.audit(mechanism)
        assert result.holds and result.delta is not None and result.delta <= mechanism.delta


@pytest.mark.parametrize(
    "epsilon, delta",
    [(1.0, 1e-6), (1.0, 1e-11), (0.1, 1e-9), (5.0, 1e-6), (30.0, 1e-6), (1.0, 1e-12)],
)
def test_cut_tails_are_counted(epsilon: float, delta: float) -> None:
    """In exact fractions, far tails included: once claimed a part in 10^7 too little, and 0 at
    1e-15.
    """
    from fractions import Fraction

    mechanism = Gaussian(Integers(0, 1), epsilon, delta)
    table = mechanism.probabilities()
    e = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 2**50))
    exact = max(
        sum(max(Fraction(0), a - e * b) for a, b in zip(table[:, x], table[:, 1 - x], strict=True))
        for x in (0, 1)
    )
    assert exact <= mechanism.guarantee.delta <= delta
    assert warner.audit(mechanism).holds
    refused(BudgetError, "because rounding loses", Gaussian, Integers(0, 1), 1.0, 1e-15)


def test_reports_stop_at_the_ends() -> None:
    """Noise drawn at its very ends is reported as the first and the last, not around the corner."""
    from warner._core.sampling import Edges, Source

    mechanism = Gaussian(Interval(0, 1, 4), 1.0, 1e-4)
    for widths, expected in (([1 << 64, 0], 0), ([0, 1 << 64], mechanism.n_reports - 1)):
        whole = [0] * len(mechanism.law.masses)
        whole[0], whole[-1] = widths
        mechanism.law.__dict__["edges"] = Edges.of(whole)
        assert mechanism._sample(np.array([0.5]), Source(None))["report"].tolist() == [expected]


def test_an_audit_finds_a_delta_that_is_too_small() -> None:
    mechanism = Gaussian(Integers(0, 3), 1.0, 1e-2)
    assert warner.audit(mechanism, claim=warner.privacy.ApproximateLDP(1.0, 1e-2)).holds
    assert "delta is" in str(
        warner.audit(mechanism, claim=warner.privacy.ApproximateLDP(1.0, 1e-3)).violation
    )
    assert not warner.audit(
        mechanism, claim=warner.LDP(3.0)
    ).holds  # normal tails keep no epsilon alone
    mechanism._found = 1e-4
    assert not warner.audit(mechanism).holds


def test_there_is_no_lone_epsilon() -> None:
    mechanism = Gaussian(Interval(0, 1, 4), 1.0, 1e-5)
    assert not hasattr(mechanism, "epsilon") and isinstance(
        mechanism.guarantee, warner.privacy.ApproximateLDP
    )
    assert mechanism.header["epsilon"] == 1.0 and 0 < mechanism.header["delta"] <= 1e-5
    assert from_header(mechanism.header).header == mechanism.header


def test_points_close_together_stay_apart() -> None:
    """Points much closer than sigma have different laws, and their mean comes back."""
    points = Points([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]])
    mechanism, rng = Gaussian(points, 2.0, 1e-3), np.random.default_rng(0)
    law = mechanism.channel().dense()
    assert np.abs(law[:, 0] - law[:, 1]).sum() > 0
    values = [points.labels[i] for i in rng.choice(3, 100_000, p=[0.5, 0.2, 0.3])]
    tally = mechanism.tally(mechanism.randomize(values, rng))
    x, y = warner.estimate(tally, warner.estimators.SampleMean()).mean()
    sd = mechanism.sigma / math.sqrt(100_000)
    assert abs(x - 0.302) < 6.5 * sd and abs(y - 0.3) < 6.5 * sd
    fit = warner.estimate(tally, warner.MaximumLikelihood(gap=1e-6))
    assert fit.gap is not None
    assert fit.gap <= 1e-6
    assert fit.probabilities[2] == pytest.approx(0.3, abs=0.05)


def test_points_close_to_each_other_and_far_from_others_take_little_memory() -> None:
    """The wrong program builds a column for each of the 4,097 grid points: 4 GB."""
    mechanism = Gaussian(Points([[0.0], [0.001], [5.0]]), 3.0, 1e-4)
    assert len(mechanism.law.masses) > 10_000
    tracemalloc.start()
    try:
        mechanism.channel()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**26


def test_noise_has_the_variance_it_says() -> None:
    """Mean and variance of 200,000 reports of one number, within 6.5 sd; the wrong program takes
    sigma for the variance.
    """
    mechanism, n = Gaussian(Interval(0, 10, 4), 2.0, 1e-5), 200_000
    report = (
        mechanism.randomize(np.full(n, 3.21), np.random.default_rng(5))
        .columns["report"]
        .astype(float)
    )
    step = 10 / int(mechanism.steps[0])
    value = ((report * mechanism._group + (mechanism._group - 1) / 2) - mechanism._beyond) * step
    variance = (
        mechanism.sigma**2 + (mechanism._group**2 - 1) / 12 * step**2 + step**2 * 0.456 * 0.544
    )
    assert abs(value.mean() - 3.21) < 6.5 * mechanism.sigma / math.sqrt(n)
    assert abs(value.var() - variance) < 6.5 * variance * math.sqrt(2 / n)
    assert abs(value.var() - mechanism.sigma) > 6.5 * variance * math.sqrt(2 / n)


def test_places_can_be_points() -> None:
    mechanism = Gaussian(Grid(3, 4, 0.5), 4.0, 1e-4)
    reports = mechanism.randomize([(0, 0), (2, 3)])
    assert set(reports.columns) == {"axis0", "axis1"} and mechanism.tally(reports).counts.ndim == 2


def test_what_cannot_be_kept_is_refused() -> None:
    domain = Interval(0, 1, 4)
    for delta in (0, 1, -0.1, float("nan"), "1e-5", None, True):
        with pytest.raises(WarnerError, match="delta"):
            Gaussian(domain, 1.0, delta)  # type: ignore[arg-type]
    refused(BudgetError, "at least about", Gaussian, domain, 1.0, 1e-5, sigma=0.5)
    for sigma in (0.0, -1.0, 1e-300, float("inf"), "1"):
        with pytest.raises(WarnerError, match="sigma"):
            Gaussian(domain, 1.0, 1e-5, sigma=sigma)  # type: ignore[arg-type]
    refused(
        ArgumentTypeError,
        "must be Interval, Integers, Grid or Points",
        Gaussian,
        warner.Categorical(["a", "b"]),
        1.0,
        1e-5,
    )
    refused(ArgumentTypeError, "different reports", Gaussian, Points(np.eye(9)), 1.0, 1e-5)


def test_gaussian_noise_beyond_every_float_is_refused() -> None:
    with pytest.raises(BudgetError, match="domain: is too wide"):
        warner.mechanisms.Gaussian(warner.Interval(0, 1e308, 4), 1.0, delta=1e-5)
    assert (
        warner.mechanisms.Gaussian(warner.Interval(0, 1e200, 4), 1.0, delta=1e-5).guarantee.epsilon
        == 1.0
    )


# Mechanisms of numbers: the law on the device, and what the bins of estimation have to do with it
# (nothing).


MAKERS: list[type[WindowMechanism]] = [SquareWave, Piecewise]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_windows_are_as_wide_as_published(epsilon: float) -> None:
    """METHODS 2: 2b / (1 + 2b) and 1 / (e^(eps/2) + 1) of the cells, to the nearest cell."""
    e = math.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    domain = Interval(0, 1, 8)
    assert SquareWave(domain, epsilon, 2**14).width == round(2 * b / (1 + 2 * b) * 2**14)
    assert Piecewise(domain, epsilon, 2**14).width == round(2**14 / (math.exp(epsilon / 2) + 1))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_piecewise_has_the_published_mean_and_variance(epsilon: float) -> None:
    """Rescaled to be unbiased on [-1, 1]: variance x^2 / (h - 1) + (h + 3) / (3 (h - 1)^2), h =
    e^(eps/2), up to the width of a cell.
    """
    mechanism, h = Piecewise(Integers(0, 100), epsilon, 2**12), math.exp(epsilon / 2)
    law = mechanism.channel().dense()
    cells, position = np.arange(mechanism.cells), np.arange(101) / 100
    means = cells @ law
    slope, offset = np.polyfit(position, means, 1)
    assert means == pytest.approx(offset + slope * position, rel=1e-12)  # affine, exactly
    x = 2 * position - 1
    variance = ((cells[:, None] - means) ** 2 * law).sum(axis=0) * (2 / slope) ** 2
    assert variance == pytest.approx(x**2 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2), rel=2e-3)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("v", [0.0, 0.123, 0.5, 0.987, 1.0])
def test_the_device_samples_the_law_of_the_number_itself(
    make: type[WindowMechanism], v: float
) -> None:
    """Chi-square of the reports of one number against the dithered window at 1e-9; the mutant
    without dithering is rejected.
    """
    from scipy.stats import chi2

    mechanism = make(Interval(0, 1, 4), 3.0, 48)
    n, rng = 400_000, np.random.default_rng(0)
    report = mechanism.randomize(np.full(n, v), rng).columns["report"]
    s = v * (mechanism.cells - mechanism.width)
    inside = np.zeros((2, mechanism.cells), dtype=bool)
    for row, start in enumerate(
        (math.floor(s), min(math.floor(s) + 1, mechanism.cells - mechanism.width))
    ):
        inside[row, start : start + mechanism.width] = True
    high, low = float(mechanism.law.high), float(mechanism.law.low)
    laws = np.where(inside, high, low)
    share = s - math.floor(s)
    seen = np.bincount(report, minlength=mechanism.cells)

    def distance(law: np.ndarray) -> float:
        return float(((seen - n * law) ** 2 / (n * law)).sum())

    limit = chi2.ppf(1 - 1e-9, mechanism.cells - 1)
    assert distance((1 - share) * laws[0] + share * laws[1]) < limit
    if 0.1 < share < 0.9:
        assert distance(laws[0]) > limit and distance(laws[1]) > limit


def test_bins_are_not_on_the_device() -> None:
    """Two domains that differ in bins make the same reports of the same numbers."""
    values = np.random.default_rng(1).random(1000)
    coarse, fine = (SquareWave(Interval(0, 1, bins), 1.0) for bins in (2, 500))
    a, b = (m.randomize(values, np.random.default_rng(2)).columns["report"] for m in (coarse, fine))
    assert (a == b).all()
    assert len(np.unique(a)) > 500


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("domain", [Interval(-1, 1, 5), Integers(-3, 4)])
def test_every_pair_of_numbers_keeps_epsilon(
    make: type[WindowMechanism], domain: warner.domains.Domain
) -> None:
    mechanism = make(domain, 1.0, 40)
    table = mechanism.probabilities()
    assert set(table.sum(axis=0)) == {Fraction(1)}
    assert warner.audit(mechanism, samples=20_000).holds
    assert mechanism.channel().dense() == pytest.approx(table.astype(float), abs=1e-15)


def test_shares_come_back() -> None:
    rng = np.random.default_rng(0)
    values = rng.beta(2, 5, 200_000) * 50 + 10
    mechanism = SquareWave(Interval(10, 60, 64), 2.0)
    result = warner.estimate(
        mechanism.tally(mechanism.randomize(values, rng)), warner.MaximumLikelihood()
    )
    truth = np.histogram(values, np.linspace(10, 60, 65))[0] / len(values)
    assert np.cumsum(result.probabilities) == pytest.approx(np.cumsum(truth), abs=0.03)
    assert warner.estimate(
        mechanism.tally(mechanism.randomize(values, rng)), warner.estimators.Observed()
    ).probabilities.sum() == pytest.approx(1)


def test_numbers_are_checked_and_clipped_only_on_request() -> None:
    domain, clipped = Interval(0, 10, 4), Interval(0, 10, 4, clip=True)
    for bad in (-0.1, 10.1, float("nan"), float("inf"), "5", None, True):
        said = refused(WarnerError, "", SquareWave(domain, 1.0).randomize, [5.0, bad])
        assert "10.1" not in said
    assert clipped.position([-5, 15, 2.5]).tolist() == [0, 1, 0.25] and clipped.encode(
        [-5, 15]
    ).tolist() == [0, 3]
    for bad in (float("nan"), float("inf")):
        refused(ValuesError, "", clipped.position, [bad])
    assert warner.domains.from_spec(clipped.spec()) == clipped != domain
    for make in MAKERS:
        for wrong in (warner.Categorical(["a", "b"]), warner.Grid(2, 2)):
            with pytest.raises(ArgumentTypeError, match="Integers or Interval"):
                make(wrong, 1.0)  # type: ignore[call-arg]
        for cells in (1, 0, 2.5, 2**21):
            with pytest.raises(WarnerError, match="cells"):
                make(domain, 1.0, cells)  # type: ignore[call-arg]
        with pytest.raises(BudgetError):
            make(domain, 40.0)  # type: ignore[call-arg]
    for low, high in ((1, 1), (2, 1), (0, float("inf")), (float("nan"), 1)):
        refused(WarnerError, "", Interval, low, high, 4)
    refused(WarnerError, "", Interval, 0, 1, 1)


def test_numbers_in_another_unit_are_warned_of() -> None:
    """Rejects seconds that are silently taken for the largest number of minutes."""
    minutes = SquareWave(Interval(0, 60, 30, clip=True), 1.0)
    rng = np.random.default_rng(3)
    spent = rng.gamma(2, 10, 2000)
    with pytest.warns(FrameWarning, match="Most of these answers lie outside the limits 0 and 60"):
        reports = minutes.randomize(60 * spent, rng)
    said = str(warner.estimate(minutes.tally(reports)))
    assert (
        "most answers may lie outside the limits. Perhaps people answered in another unit" in said
    )
    # Of few people a warning would tell what they answered; and 3 of 100 beyond a limit are usual.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minutes.randomize([3600.0])
        reports = minutes.randomize(spent, rng)
    assert "outside the limits" not in str(warner.estimate(minutes.tally(reports)))


def test_whole_numbers_in_bins_are_warned_of_and_integers_are_named() -> None:
    """Rejects silence on minutes that all lie at the edges of their bins; a warning of one person or
    a few; and one of numbers with decimals, of middles of bins, and of far more whole numbers.
    """
    rng = np.random.default_rng(4)
    minutes = rng.gamma(2, 30, 1000).clip(0, 240)
    text = r"All of these answers are whole numbers from 0 to 240\..*48 bins.*Use Integers\(0, 240\), which is "
    text += r"integers = \[0, 240\] in a study\."
    for answers in (minutes.round(), 10 * (minutes / 10).round(), minutes.astype(int)):
        for clip, more in ((False, "$"), (True, " Integers refuses numbers outside 0 to 240")):
            wave = SquareWave(Interval(0, 240, 48, clip=clip), 1.0)
            with pytest.warns(FrameWarning, match=text + more):
                wave.randomize(answers, rng)
    device = SquareWave(Integers(0, 240), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        device.randomize(minutes.round(), rng)  # what the warning names takes these answers
        wave = SquareWave(Interval(0, 240, 48), 1.0)
        wave.randomize([30.0])
        wave.randomize(minutes.round()[:999], rng)
        wave.randomize(minutes, rng)
        wave.randomize(np.append(minutes.round(), 7.5), rng)
        wave.randomize(240.0 * rng.integers(0, 2, 1000), rng)  # only limits, which have atoms
        SquareWave(Interval(0, 240, 24), 1.0).randomize(5 + 10.0 * rng.integers(0, 24, 1000), rng)
        SquareWave(Interval(0, 10**6, 50), 1.0).randomize(rng.integers(0, 10**6, 1000), rng)


@pytest.mark.parametrize("make", [SquareWave, Laplace])
def test_tables_say_what_is_supposed_of_numbers_in_bins(make: type[Mechanism]) -> None:
    """Rejects the sentences of numbers themselves where devices reported bins, and vice versa."""
    rng, minutes = np.random.default_rng(5), Interval(0, 240, 48)
    answers = rng.gamma(2, 30, 2000).clip(0, 240)
    wave, labels = make(minutes, 2.0), warner.RandomizedResponse(minutes, 4.0)
    exact = "spread evenly over each of the 48 bins. Where many people gave the same number, these"
    bins = "Reports tell only about the 48 bins, not where in its bin a number lies. Means"
    for mechanism, said, silent in ((wave, exact, bins), (labels, bins, exact)):
        result = warner.estimate(mechanism.tally(mechanism.randomize(answers, rng)))
        shown = " ".join(str(result).split())
        assert said in shown and silent not in shown
        assert ("Means have no such error." in shown) == (mechanism is wave)
    assert "For whole numbers, use Integers(0, 240), which is integers = [0, 240]" in " ".join(
        str(warner.estimate(wave.tally(wave.randomize(answers, rng)))).split()
    )


def test_numbers_go_through_files(tmp_path: Path) -> None:
    from warner.io import read_values

    (tmp_path / "v.csv").write_text("income\n12.5\n99\n0\n")
    mechanism = SquareWave(Interval(0, 100, 4), 1.0)
    (batch,) = read_values(str(tmp_path / "v.csv"), {"income": mechanism})
    assert batch["income"].tolist() == [0.125, 0.99, 0]


@pytest.mark.parametrize(
    "make", [SquareWave, Piecewise, StochasticRounding, Laplace, Geometric, TruncatedGeometric]
)
def test_more_numbers_than_can_be_estimated_are_refused_at_once(make: type[Mechanism]) -> None:
    """Rejects a mechanism whose audit takes minutes and gigabytes."""
    with pytest.raises(ArgumentError, match=r"2,097,152 values.*got 16,000,001.*fewer bins"):
        make(Integers(0, 16_000_000), 1.0)
    refused(ArgumentTypeError, "", make, "integers", 1.0)


VALUES = {
    "labels": warner.Categorical(["a", "b"]),
    "numbers": Interval(0, 10, 5),
    "integers": Integers(0, 9),
    "cells": Grid(3, 3),
    "points": Points([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]),
    "integers or no answer": warner.domains.with_missing(Integers(0, 5), "answer"),
}


@pytest.mark.parametrize("values", list(VALUES))
def test_who_refuses_values_names_a_mechanism_that_takes_them(values: str) -> None:
    """Rejects one remedy for all values, such as RandomizedResponse for an interval, and a remedy
    that refuses the same values.
    """
    domain = VALUES[values]
    usual = domain.usual_mechanism
    assert getattr(warner.mechanisms, usual)(domain, 1.0).domain == domain
    for name in ("Geometric", "Exponential", "PlanarLaplace", "StochasticRounding"):
        try:
            getattr(warner.mechanisms, name)(domain, 1.0)
        except ArgumentTypeError as error:
            assert usual in str(error) or "a mechanism for labels" in str(error)
    row = Grid(1, 5)
    refused(ArgumentTypeError, "Use the domain Integers", warner.mechanisms.PlanarLaplace, row, 1.0)


def test_an_answer_outside_the_limits_is_told_the_limits_and_not_the_bins() -> None:
    """Rejects "must be one of the 5 values" for numbers in bins, of which people can give any."""
    device = SquareWave(Interval(0, 10, 5), 1.0)
    refused(
        ValuesError, "must be a number from 0 to 10; got a number outside", device.randomize, [11]
    )
