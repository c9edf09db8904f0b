"""Mechanisms of places on cells of any pattern against code of a few lines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from tests.parity.mechanisms._device import exponential_table
from warner import Grid, PlanarGeometric, estimate
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError
from warner.mechanisms import Exponential, PlanarLaplace, from_header
from warner.mechanisms.planar import nearest_places

SEA = [(0, 0), (0, 1), (1, 0), (2, 2), (3, 4)]
SHORE = Grid(4, 5, 0.5, without=SEA)
FAR = 20  # cells beyond the grid over which the plain sums run


def _plane(grid: Grid, x: tuple[int, int], nats: float) -> dict[tuple[int, int], float]:
    """exp(-nats d) over the plane around a cell, normalised: the definition, in a double loop."""
    mass = {
        (r, c): math.exp(-nats * math.hypot(r - x[0], c - x[1]))
        for r in range(-FAR, grid.rows + FAR)
        for c in range(-FAR, grid.columns + FAR)
    }
    total = sum(mass.values())
    return {cell: share / total for cell, share in mass.items()}


def test_reports_on_the_lattice_are_the_published_law_and_the_border_holds_the_rest() -> None:
    """[P4 eq 27]. Rejects a law that is cut off at the reach, or that is that of the grid alone."""
    grid, reach = Grid(3, 4), 3
    mechanism = PlanarGeometric(grid, 1.5, truncated=False, reach=reach)
    found = mechanism.channel().dense().reshape(3 + 2 * reach, 4 + 2 * reach, 12)
    for x, cell in enumerate(grid.labels):
        wanted = np.zeros(found.shape[:2])
        for (r, c), share in _plane(grid, cell, 1.5).items():
            inside = min(max(r, -reach), 2 + reach), min(max(c, -reach), 3 + reach)
            wanted[inside[0] + reach, inside[1] + reach] += share
        assert found[:, :, x] == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("reach", [0, 2, 12])
def test_cells_left_out_go_to_the_nearest_value(reach: int) -> None:
    """Rejects the nearest row and column apart, and cells left out that keep their reports."""
    mechanism = PlanarGeometric(SHORE, 3.0, reach=reach)
    found = mechanism.channel().dense()
    for x, cell in enumerate(SHORE.labels):
        wanted = np.zeros(SHORE.size)
        for (r, c), share in _plane(SHORE, cell, 1.5).items():
            r, c = min(max(r, -reach), 3 + reach), min(max(c, -reach), 4 + reach)
            away = [(r - a) ** 2 + (c - b) ** 2 for a, b in SHORE.labels]
            wanted[away.index(min(away))] += share
        assert found[:, x] == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_value_is_found_as_by_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((int(rng.integers(1, 8)), int(rng.integers(1, 8)))) < rng.random()
    values[rng.integers(values.shape[0]), rng.integers(values.shape[1])] = True
    places = np.argwhere(values)
    for cell, found in zip(np.ndindex(values.shape), nearest_places(values).ravel(), strict=True):
        away = ((places - cell) ** 2).sum(axis=1)
        r, c = places[np.argmin(away)]
        assert found == r * values.shape[1] + c


@pytest.mark.parametrize("kind", [PlanarGeometric, PlanarLaplace])
@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_noise_beyond_the_default_reach_is_rarer_than_2_to_minus_40(
    kind: type[PlanarGeometric], epsilon: float
) -> None:
    """Rejects a reach of exp(-u) alone, without the factor 1 + u of the plane."""
    mechanism = kind(Grid(2, 2), epsilon, truncated=False)
    law, r = mechanism.law, mechanism.reach
    whole, total = law.whole(), 1 << 64 * law.words
    middle = np.array(whole.shape) // 2
    inside = whole[middle[0] - r : middle[0] + r + 1, middle[1] - r : middle[1] + r + 1].sum()
    assert 0 <= total - inside < total >> 40
    assert mechanism.epsilon <= epsilon
    if epsilon > 1:
        assert warner.audit(mechanism).holds


@pytest.mark.parametrize("truncated", [True, False])
def test_samples_follow_the_law_of_the_cells_that_are_there(truncated: bool) -> None:
    """Rejects a sampler that numbers cells by the whole grid (chi-square, one in a million)."""
    from scipy.stats import chisquare

    mechanism = PlanarGeometric(SHORE, 2.0, truncated=truncated, reach=1)
    rng = np.random.default_rng(3)
    for x in (0, 7, SHORE.size - 1):
        reports = mechanism.randomize([SHORE.labels[x]] * 20_000, rng).columns["report"]
        wanted = mechanism.channel().dense()[:, x] * 20_000
        common = wanted > 5
        counts = np.bincount(reports, minlength=len(wanted))
        both = (
            np.append(counts[common], counts[~common].sum()),
            np.append(wanted[common], wanted[~common].sum()),
        )
        assert chisquare(*(part[both[1] > 0] for part in both)).pvalue > 1e-6


def test_products_by_transforms_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    for truncated in (True, False):
        channel = PlanarGeometric(
            Grid(12, 20, without=[(0, 0), (5, 7)]), 0.8, truncated, reach=5
        ).channel()
        dense, theta = channel.dense(), rng.random((channel.shape[1], 2))
        assert channel._transformed(theta) == pytest.approx(dense @ theta, abs=1e-12)
        assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
        r = rng.random((channel.shape[0], 2))
        assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-12)
        assert channel._transformed_back(r) == pytest.approx(dense.T @ r, abs=1e-12)
        possible = dense.any(axis=1)
        w = np.where(possible & (rng.random(len(dense)) < 0.5), rng.random(len(dense)), 0.0)
        small, v = channel.restrict_to_observed(w)
        rows = v > 0
        value = v[rows] @ np.log(small.matvec(theta)[rows])
        assert value == pytest.approx(w[w > 0] @ np.log(dense[w > 0] @ theta))


def test_shares_of_a_shore_are_estimated_and_headers_rebuild_the_law() -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(SHORE.size))
    people = SHORE.decode(rng.choice(SHORE.size, 20_000, p=shares))
    for mechanism in (
        PlanarGeometric(SHORE, 6.0),
        PlanarGeometric(SHORE, 6.0, truncated=False, reach=4),
        PlanarLaplace(SHORE, 6.0),
    ):
        assert from_header(mechanism.header).header == mechanism.header
        assert (
            eval(
                repr(mechanism).replace("PlanarLaplace", "mechanisms.PlanarLaplace"),
                {
                    n: getattr(m, n)
                    for m in (warner, warner.domains, warner.mechanisms)
                    for n in m.__all__
                },
            ).header
            == mechanism.header
        )
        result = estimate(mechanism.tally(mechanism.randomize(people, rng)))
        assert np.abs(result.probabilities - shares).sum() < 0.12
        naive = estimate(
            mechanism.tally(mechanism.randomize(people, rng)), warner.estimators.Observed()
        )
        assert naive.probabilities.sum() == pytest.approx(1)
        assert result.mean()[0] == pytest.approx(shares @ SHORE.points[:, 0], abs=0.05)


def test_a_grid_without_cells_left_out_keeps_its_law_and_its_header() -> None:
    plain = PlanarGeometric(Grid(3, 4), 1.0)
    assert set(plain.parameters()) == {"table"}
    assert PlanarGeometric(Grid(3, 4, without=[]), 1.0).header == plain.header


def test_reaches_that_do_not_matter_or_fit_are_refused_with_those_that_do() -> None:
    with pytest.raises(ArgumentError, match="truncated=False"):
        PlanarGeometric(Grid(3, 4), 1.0, reach=2)
    with pytest.raises(BudgetError, match="reach=127") as error:
        PlanarGeometric(Grid(2, 2), 0.05, truncated=False)
    assert "0.05" in str(error.value)
    PlanarGeometric(Grid(2, 2), 0.05, truncated=False, reach=20)
    with pytest.raises(ArgumentError, match="reach"):
        PlanarGeometric(Grid(2, 2), 1.0, truncated=False, reach=500)
    with pytest.raises(ArgumentTypeError, match="truncated"):
        PlanarGeometric(Grid(2, 2), 1.0, truncated=1)  # type: ignore[arg-type]


def test_distances_that_no_two_values_have_need_no_weight() -> None:
    """Rejects: a program that looks up the weight of every distance of the grid."""
    mechanism = Exponential(Grid(1, 6, without=[(0, 2), (0, 3)]), 0.3)
    program = mechanism.device_program()
    assert exponential_table(program) == mechanism.law.numerators.T.tolist()
    assert program["weights"][0][2] == 0
