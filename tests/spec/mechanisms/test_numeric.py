"""Mechanisms of numbers: the law on the device, and what the bins of estimation have to do with it
(nothing).
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Integers, Interval, SquareWave
from warner.errors import ArgumentError, ArgumentTypeError
from warner.mechanisms import (
    Geometric,
    Laplace,
    Mechanism,
    Piecewise,
    StochasticRounding,
    TruncatedGeometric,
)
from warner.mechanisms.numeric import WindowMechanism

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
        with pytest.raises(warner.errors.WarnerError) as error:
            SquareWave(domain, 1.0).randomize([5.0, bad])
        assert "10.1" not in str(error.value)
    assert clipped.position([-5, 15, 2.5]).tolist() == [0, 1, 0.25] and clipped.encode(
        [-5, 15]
    ).tolist() == [0, 3]
    for bad in (float("nan"), float("inf")):
        with pytest.raises(warner.errors.ValuesError):
            clipped.position([bad])
    assert warner.domains.from_spec(clipped.spec()) == clipped != domain
    for make in MAKERS:
        for wrong in (warner.Categorical(["a", "b"]), warner.Grid(2, 2)):
            with pytest.raises(warner.errors.ArgumentTypeError, match="Integers or Interval"):
                make(wrong, 1.0)  # type: ignore[call-arg]
        for cells in (1, 0, 2.5, 2**21):
            with pytest.raises(warner.errors.WarnerError, match="cells"):
                make(domain, 1.0, cells)  # type: ignore[call-arg]
        with pytest.raises(warner.errors.BudgetError):
            make(domain, 40.0)  # type: ignore[call-arg]
    for low, high in ((1, 1), (2, 1), (0, float("inf")), (float("nan"), 1)):
        with pytest.raises(warner.errors.WarnerError):
            Interval(low, high, 4)
    with pytest.raises(warner.errors.WarnerError):
        Interval(0, 1, 1)


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
    with pytest.raises(ArgumentTypeError):
        make("integers", 1.0)
