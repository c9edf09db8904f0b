"""Mechanisms with metric privacy: noise on a line and on a plane, and exponential mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import LOOSE, METRIC, PLACES, smallest
from warner import Grid, Integers, Interval, Laplace
from warner.domains import Points
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError, MismatchError, WarnerError
from warner.mechanisms import (
    Exponential,
    Geometric,
    PlanarGeometric,
    PlanarLaplace,
    TruncatedGeometric,
    from_header,
)
from warner.mechanisms.planar import Displacements
from warner.privacy.report_laws import worst_slope


@pytest.mark.crossed(12)
@pytest.mark.parametrize("name", METRIC)
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0])
def test_every_pair_of_values_keeps_epsilon_times_their_distance(name: str, epsilon: float) -> None:
    mechanism = smallest(name, epsilon)
    table, distances = mechanism.probabilities(), mechanism.distances()
    assert distances is not None and set(table.sum(axis=0)) == {Fraction(1)}
    found = worst_slope(table, distances)[0]
    assert found <= epsilon * (1 + 1e-12) and found == pytest.approx(mechanism.epsilon, rel=1e-11)
    assert isinstance(mechanism.guarantee, warner.privacy.MetricLDP)
    assert warner.audit(mechanism).holds
    if name not in LOOSE:
        assert found > epsilon - 1e-9
    assert warner.audit(mechanism, claim=mechanism.guarantee).holds
    assert not warner.audit(mechanism, claim=warner.privacy.MetricLDP(found * 0.99, 1.0)).holds
    assert not warner.audit(
        mechanism, claim=warner.LDP(epsilon)
    ).holds  # not at that price for distant values


def test_what_no_law_can_represent_is_refused_with_what_can() -> None:
    refused(BudgetError, "for these values it must be at least", Geometric, Integers(0, 9), 1e-6)
    refused(BudgetError, r"it must be at least 0\.04", PlanarGeometric, Grid(4, 4, 0.5), 0.03)
    assert PlanarGeometric(Grid(4, 4, 0.5), 0.04).epsilon <= 0.04
    refused(BudgetError, "for this grid the largest is", PlanarLaplace, Grid(40, 40), 20.0)
    refused(BudgetError, "for these values the largest is", Exponential, Integers(0, 99), 20.0)
    said = refused(
        BudgetError, "for these values it must be at least", Laplace, Interval(0, 1, 8), 1e-3
    )
    smallest = float(said.split("must be at least ")[1].split(";")[0])
    assert Laplace(Interval(0, 1, 8), smallest * 1.01).epsilon <= smallest * 1.01
    assert Laplace(Interval(0, 1, 8), 1e-3, cells=32).epsilon <= 1e-3
    for make in (PlanarGeometric, PlanarLaplace):
        for domain in (Integers(0, 9), Grid(1, 9), warner.Categorical(["a", "b"])):
            refused(ArgumentTypeError, "at least 2 rows", make, domain, 1.0)
    for domain in (Interval(0, 1, 4), Grid(3, 3)):
        refused(ArgumentTypeError, "Integers", Geometric, domain, 1.0)
    refused(
        ArgumentTypeError,
        "must be Integers, Grid or Points",
        Exponential,
        warner.Categorical(["a", "b"]),
        1.0,
    )
    with pytest.raises(ArgumentTypeError, match="must be Integers, Grid or Points"):
        Exponential(
            Interval(0, 10, 20), 0.3
        )  # two numbers on either side of an edge are close, their bins are not
    refused(ArgumentError, "number of values", Exponential, Integers(0, 2000), 0.1)
    refused(BudgetError, "closest values", Exponential, Points([[0], [1e-25], [1]]), 1.0)
    with pytest.raises(ArgumentError, match="different distances"):
        Exponential(Points(np.random.default_rng(0).random((500, 2))), 1.0)
    refused(ArgumentError, "number of cells", PlanarGeometric, Grid(1000, 1000), 1.0)
    refused(ArgumentError, "at most 2,097,152 values", Geometric, Integers(0, 2**23), 1.0)
    for make in (lambda d: Exponential(d, 1.0), lambda d: PlanarGeometric(d, 1.0)):  # type: ignore[arg-type, return-value]
        refused(WarnerError, "", make, Integers(2**53 - 10, 2**53 + 10))
    for arguments in (
        {"sensitivity": 0},
        {"sensitivity": 99},
        {"sensitivity": 1, "cells": 5},
        {"cells": 0},
        {"reach": -1},
        {"sensitivity": "1"},
    ):
        refused(WarnerError, "", Laplace, Integers(0, 9), 1.0, **arguments)
    refused(ArgumentError, "sensitivity", Laplace, Interval(0, 9, 4), 1.0, sensitivity=1)


@pytest.mark.parametrize("epsilon", [0.003, 0.1, 1.0, 6.0])
def test_geometric_noise_has_the_published_mean_and_variance(epsilon: float) -> None:
    """Variance 2 a / (1 - a)^2 [P4 eq 21] within 6.5 sd; the wrong program has noise on one side
    only, or half the scale.
    """
    n = 400_000
    mechanism = Geometric(Integers(0, 9), epsilon)
    noise = (
        mechanism.randomize([4] * n, np.random.default_rng(1)).columns["report"].astype(float)
        - mechanism.reach
        - 4
    )
    a = math.exp(-epsilon)
    variance = 2 * a / (1 - a) ** 2
    fourth = (2 * a * (1 + 10 * a + a**2)) / (1 - a) ** 4
    limit = 6.5 * math.sqrt((fourth - variance**2) / n)
    assert abs(noise.mean()) < 6.5 * math.sqrt(variance / n)
    assert abs((noise**2).mean() - variance) < limit
    half = 2 * math.sqrt(a) / (1 - math.sqrt(a)) ** 2
    assert abs((noise**2).mean() - half) > limit and abs(np.abs(noise).mean()) > 6.5 * math.sqrt(
        variance / n
    )


def test_laplace_has_the_published_scale() -> None:
    """Noise of variance 2 (range / epsilon)^2, up to the grid's own; numbers between grid points
    are right on average.
    """
    n, rng = 400_000, np.random.default_rng(2)
    mechanism = Laplace(Interval(10, 20, 5), 2.0)
    report = mechanism.randomize(np.full(n, 13.21), rng).columns["report"].astype(float)
    value = 10 + (report - mechanism.reach) * 10 / 256
    assert abs(value.mean() - 13.21) < 6.5 * math.sqrt(50 / n)
    assert value.var() == pytest.approx(2 * (10 / 2.0) ** 2, rel=0.02)


def test_the_degree_of_a_node_is_hidden_edge_by_edge() -> None:
    degree = Laplace(Integers(0, 60), 1.0, sensitivity=1)
    assert degree.guarantee == warner.privacy.MetricLDP(degree.epsilon, 60.0)
    assert 1 - 1e-9 < degree.epsilon <= 1
    same = Geometric(Integers(0, 60), 1.0)
    assert degree.channel().dense() == pytest.approx(same.channel().dense())
    wider = Laplace(Integers(0, 60), 1.0, sensitivity=3)  # two values three apart at one nat
    assert wider.guarantee.epsilon == pytest.approx(1 / 3, abs=1e-9)
    assert 1 - 1e-9 < wider.epsilon <= 1
    assert isinstance(Laplace(Integers(0, 60), 1.0).guarantee, warner.LDP)
    rng = np.random.default_rng(0)
    degrees = rng.binomial(60, 0.2, 20_000)
    mean = warner.estimate(
        degree.tally(degree.randomize(degrees, rng)), warner.estimators.SampleMean()
    ).mean()
    assert abs(mean - degrees.mean()) < 6.5 * math.sqrt(
        (2 / (1 - math.exp(-1)) ** 2 * math.exp(-1)) / 20_000
    )


def test_folded_reports_say_as_much() -> None:
    """Reports beyond the values, taken together with the end: the same likelihood up to a constant,
    the same inversion and variance.
    """
    wide = Geometric(Integers(0, 7), 0.5, reach=9).channel()
    narrow = TruncatedGeometric(Integers(0, 7), 0.5).channel()
    theta = np.random.default_rng(0).dirichlet(np.ones(8))
    w = np.random.default_rng(1).dirichlet(np.ones(26))
    folded, rows = wide.merge_proportional_rows() or (None, None)
    assert folded is not None and rows is not None
    small = np.bincount(rows, w)
    assert folded.dense() == pytest.approx(narrow.dense())
    other = np.random.default_rng(2).dirichlet(np.ones(8))
    long, short = ((c, v) for c, v in ((wide, w), (narrow, small)))
    difference = [float(v @ np.log(c.matvec(theta) / c.matvec(other))) for c, v in (long, short)]
    assert difference[0] == pytest.approx(difference[1], rel=1e-12)
    assert wide.invert(w) == pytest.approx(narrow.invert(small)) and wide.variance(
        theta
    ) == pytest.approx(narrow.variance(theta))


def test_audits_of_noise_at_another_sensitivity_are_in_its_unit() -> None:
    for sensitivity in (0.25, 3, 7.5):
        mechanism = Laplace(Integers(0, 20), 1.0, sensitivity=sensitivity, reach=3)
        result = warner.audit(mechanism)
        assert result.holds and result.epsilon == pytest.approx(1.0, abs=1e-9)
    looser = Laplace(Integers(0, 20), 2.7, sensitivity=3, reach=3)
    mechanism = Laplace(Integers(0, 20), 1.0, sensitivity=3, reach=3)
    mechanism.probabilities = looser.probabilities  # type: ignore[method-assign]
    assert not warner.audit(mechanism).holds


def test_the_exponential_mechanism_reports_what_it_really_needs() -> None:
    """METHODS 2: 4 x 4 cells, 0.377 at declared 0.5; and the same found pair by pair."""
    mechanism = Exponential(Grid(4, 4), 0.5)
    assert round(mechanism.epsilon, 3) == 0.377 and mechanism.requested == 0.5
    assert worst_slope(mechanism.probabilities(), mechanism.distances())[0] == pytest.approx(
        mechanism.epsilon, abs=1e-12
    )
    weights = np.exp(-0.25 * mechanism.distances())
    assert mechanism.channel().dense() == pytest.approx(weights / weights.sum(axis=0), rel=1e-12)
    scattered = Exponential(Points(np.random.default_rng(0).random((12, 3))), 2.0)
    assert scattered.epsilon < 2 and warner.audit(scattered).holds


def test_exponential_keeps_the_budget_to_the_last_digit() -> None:
    """By exact fractions, on values so close that rounding of the table matters: without its
    allowance the epsilon stated is too small.
    """
    mechanism = Exponential(Points([[0.0], [1e-6], [3e-6], [1.0]]), 2.0)
    table, points = mechanism.probabilities(), [0.0, 1e-6, 3e-6, 1.0]
    for x in range(4):
        for other in range(4):
            if x != other:
                ratio = max(Fraction(table[z, x]) / Fraction(table[z, other]) for z in range(4))
                assert math.log1p(float(ratio - 1)) <= mechanism.epsilon * abs(
                    points[x] - points[other]
                ) * (1 + 1e-9)


def _brute(grid: Grid, epsilon: float, reach: int) -> np.ndarray:
    """P4 app. B, literally: the law on a grid that goes on for ``reach`` cells on every side, each
    draw remapped to the nearest cell.
    """
    rows, columns = np.arange(-reach, grid.rows + reach), np.arange(-reach, grid.columns + reach)
    to = (
        np.clip(rows, 0, grid.rows - 1)[:, None] * grid.columns
        + np.clip(columns, 0, grid.columns - 1)[None, :]
    )
    out = np.zeros((grid.size, grid.size))
    for x in range(grid.size):
        r, c = divmod(x, grid.columns)
        w = np.exp(-epsilon * grid.side * np.hypot(rows[:, None] - r, columns[None, :] - c))
        out[:, x] = np.bincount(to.ravel(), w.ravel(), grid.size)
    return out / out.sum(axis=0)


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
def test_planar_geometric_is_the_published_law_borders_included(epsilon: float) -> None:
    grid = Grid(4, 6, side=0.5)
    law = PlanarGeometric(grid, epsilon).channel().dense()
    brute = _brute(grid, epsilon, round(60 / epsilon))
    assert law == pytest.approx(brute, rel=1e-9)
    # The wrong program takes the border for the inside of a larger grid and divides: at the corners
    # it is far off (METHODS 2).
    points = grid.points
    assert points is not None
    inside = np.exp(-epsilon * np.sqrt(((points[:, None] - points[None, :]) ** 2).sum(axis=2)))
    inside /= inside.sum(axis=0)
    if epsilon < 3:
        assert abs(inside[0, 0] / brute[0, 0] - 1) > 0.3


def test_planar_laplace_is_the_integral_over_cells() -> None:
    """Against 2 * 10^6 continuous draws: angle uniform, radius Gamma(2, 1 / epsilon); sd of a
    cell's share at most 0.00035, limits 6.5 sd.

    The wrong program takes the density at cell centres: it is off by more than that.
    """
    grid, n, rng = Grid(3, 4, side=1.0), 2_000_000, np.random.default_rng(0)
    law = PlanarLaplace(grid, 1.0).channel().dense()
    angle, radius = rng.random(n) * 2 * math.pi, rng.gamma(2, 1.0, n)
    centres = _brute(grid, 1.0, 60)
    for x in (0, 5):
        r, c = divmod(x, 4)
        row = np.clip(np.rint(r + radius * np.cos(angle)), 0, 2).astype(int)
        column = np.clip(np.rint(c + radius * np.sin(angle)), 0, 3).astype(int)
        seen = np.bincount(row * 4 + column, minlength=12) / n
        sd = np.sqrt(law[:, x] * (1 - law[:, x]) / n)
        assert (np.abs(seen - law[:, x]) < 6.5 * sd).all()
        assert (np.abs(seen - centres[:, x]) > 6.5 * sd).any()


@pytest.mark.crossed(5)
@pytest.mark.parametrize(
    "rows, columns, side, epsilon",
    [
        (2, 2, 1.0, 1.0),
        (5, 3, 0.5, 6.0),
        (24, 16, 0.5, 0.2),
        (24, 16, 0.5, 6.0),
        (30, 30, 2.0, 0.1),
    ],
)
@pytest.mark.parametrize("name", PLACES)
def test_planar_mechanisms_keep_the_budget_on_any_grid(
    name: str, rows: int, columns: int, side: float, epsilon: float
) -> None:
    mechanism = PLACES[name](Grid(rows, columns, side), epsilon)
    # Of 2 x 2 cells all are corners, which blur distances: less is needed there.
    assert epsilon * (0.8 if rows == 2 else 0.9) < mechanism.epsilon <= epsilon
    if name == "PlanarGeometric" and rows > 2:
        assert mechanism.epsilon > epsilon - 1e-9
    channel = mechanism.channel()
    assert channel.rmatvec(np.ones(channel.shape[0])) == pytest.approx(
        np.ones(channel.shape[1]), abs=1e-12
    )
    assert from_header(mechanism.header).header == mechanism.header


def test_a_header_with_another_table_is_refused() -> None:
    mechanism = PlanarGeometric(Grid(3, 3), 1.0)
    header = {**mechanism.header, "parameters": {"table": [[0.2, 0.05, 0.05]] * 3}}
    refused(MismatchError, "", from_header, header)


def test_far_tails_are_sampled_exactly() -> None:
    """A grid 86 nats across: probabilities down to 10^-38 are integers over 2^192, drawn to the
    last bit where 64 bits do not decide.
    """
    mechanism = PlanarGeometric(Grid(24, 16, 0.5), 6.0)
    assert mechanism.law.words == 3 and min(mechanism.law.whole().ravel()) > 0
    report = mechanism.randomize([(12, 8)] * 100_000, np.random.default_rng(0)).columns["report"]
    stayed = (report == 12 * 16 + 8).mean()
    p = float(mechanism.channel().dense()[12 * 16 + 8, 12 * 16 + 8])
    assert abs(stayed - p) < 6.2 * math.sqrt(p * (1 - p) / 100_000)


def test_probabilities_are_summed_without_seams() -> None:
    """Steep laws on long grids, beyond the 400 cells whose pairs are all compared: found 0.0016
    above the budget once, where the number of nodes changed with the distance.
    """
    for grid, epsilon in ((Grid(4, 101), 5.9), (Grid(3, 140), 4.2), (Grid(3, 150), 1.0)):
        for make in (PlanarLaplace, PlanarGeometric):
            mechanism = make(grid, epsilon)
            assert mechanism.law.epsilon_per_unit() <= epsilon
            result = warner.audit(mechanism)
            assert (
                result.holds and "all pairs of cells" in result.method and result.epsilon <= epsilon
            )


class CityBlock(PlanarGeometric):
    """A displacement that falls with the city-block distance: diagonal neighbours are sqrt(2) times
    as easy to tell apart as promised.
    """

    def _cell(self, rows: np.ndarray, columns: np.ndarray, nats: float) -> np.ndarray:
        return np.exp(-nats * (rows + columns))


@pytest.mark.parametrize("side", [20, 21])
def test_the_city_block_distance_is_no_euclidean_one(side: int) -> None:
    """Rejects a bound from cells next to each other alone, which holds for the city-block distance."""
    refused(BudgetError, "cannot be kept", CityBlock, Grid(side, side), 1.0)
    mechanism = PlanarGeometric(Grid(side, side), 1.0)
    mechanism.law = Displacements.of(CityBlock.__new__(CityBlock)._masses(side, side, 1.0))
    if side > 20:  # the audit looks at all pairs itself, whatever the mechanism says
        result = warner.audit(mechanism)
        assert not result.holds and result.epsilon == pytest.approx(math.sqrt(2), abs=1e-9)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("rows, columns", [(2, 2), (2, 7), (3, 4), (7, 5)])
def test_displacements_without_a_common_divisor_bound_all_pairs_of_cells(
    name: str, rows: int, columns: int
) -> None:
    """Also of a law that falls unevenly: rejects one that looks at too few reports or
    displacements.
    """
    mechanism = PLACES[name](Grid(rows, columns), 1.0)
    laws = [mechanism.law]
    for seed in range(5):
        uneven = np.random.default_rng(seed).random((rows, columns)) + 0.05
        quarters = (
            np.where(np.arange(rows) > 0, 2, 1)[:, None]
            * np.where(np.arange(columns) > 0, 2, 1)[None, :]
        )
        laws.append(Displacements.of(uneven / (uneven * quarters).sum()))
    for law in laws:
        assert law.is_small and law.steepest() == pytest.approx(law.epsilon_per_unit(), rel=1e-12)


def test_a_planar_law_changed_in_the_tenth_digit_is_not_taken() -> None:
    """One entry of the table smaller by 9e-10, relatively: the law then needs 1 + 6e-10 where 1 is
    stated.
    """
    mechanism = PlanarGeometric(Grid(21, 21), 1.0)
    table = np.array(mechanism.header["parameters"]["table"])
    table[1, 1] *= 1 - 9e-10
    with pytest.raises(MismatchError, match="does not describe a possible PlanarGeometric"):
        from_header({**mechanism.header, "parameters": {"table": table.tolist()}})
    mechanism.law = Displacements.of(table)
    result = warner.audit(mechanism)
    assert not result.holds and 1 + 1e-10 < result.epsilon < 1 + 2e-9
    again = from_header(PlanarGeometric(Grid(21, 21), 1.0).header)
    assert warner.audit(again).holds and 1 - 1e-10 < warner.audit(again).epsilon <= 1


def test_a_header_whose_table_is_a_little_off_is_refused() -> None:
    mechanism = PlanarLaplace(Grid(4, 4), 1.0)
    table = np.array(mechanism.header["parameters"]["table"])
    table[0, 1] *= 1.005
    with pytest.raises(MismatchError):
        from_header({**mechanism.header, "parameters": {"table": table.tolist()}})


def test_it_is_the_largest_over_all_pairs_of_values() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows, columns = rng.integers(2, 9, 2).tolist()
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        out = rng.permutation(len(cells))[: int(rng.integers(1, len(cells) - 1))]
        mechanism = PlanarGeometric(
            Grid(rows, columns, without=[cells[i] for i in out]), 1.0, reach=0
        )
        values = mechanism.domain.labels
        furthest = max(math.dist(a, b) for a in values for b in values)
        assert math.isclose(mechanism.guarantee.diameter, furthest, rel_tol=1e-15)


def test_long_grids_need_little_memory() -> None:
    # All pairs of the ends of 5000 rows would be 1.6 GB.
    long = PlanarGeometric(Grid(5000, 2, without=[(0, 0)]), 0.1, reach=0)
    assert long.guarantee.diameter == math.hypot(4999, 1)
