"""Laws of mechanisms, and places on any cells."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import warner
from tests.parity.mechanisms._device import exponential_table
from tests.refusals import refused
from warner import Grid, Integers, PlanarGeometric, estimate, theory
from warner._core.exact import log_ratio
from warner._core.projective_space import ProjectiveSpace, is_prime
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError
from warner.mechanisms import (
    Exponential,
    PersonalizedULDP,
    PlanarLaplace,
    UtilityOptimizedRappor,
    from_header,
)
from warner.mechanisms.geometry import squared_error
from warner.mechanisms.key_value import KeyValueDistribution
from warner.mechanisms.planar import nearest_places
from warner.mechanisms.utility_optimized import best_probability
from warner.privacy.report_laws import TwoProbabilities


def _ratio(law: KeyValueDistribution, keys: int) -> Fraction:
    """The worst ratio over all reports and pairs of answers, a value standing on any of the cells."""
    dummy = law.other / law.cells
    own = [
        [law.keep * (law.value.high if y == v else law.value.low) for y in range(law.cells)]
        for v in range(law.cells)
    ]
    answers = list(product(range(keys), range(law.cells)))
    worst = Fraction(1)
    everything = (
        product(range(law.cells + 1), repeat=keys)
        if law.separate
        else product(range(keys), range(law.cells))
    )
    for report in everything:  # a digit of 0 is nothing
        chances = []
        for k, v in answers:
            if not law.separate:
                chances.append(own[v][report[1]] if report[0] == k else dummy)
                continue
            chance = Fraction(1)
            for j, digit in enumerate(report):
                mine, other = (
                    (1 - law.keep, 1 - law.other) if digit == 0 else (own[v][digit - 1], dummy)
                )
                chance *= mine if j == k else other
            chances.append(chance)
        worst = max(worst, max(chances) / min(chances))
    return worst


def _law(
    epsilon: float, second: float, first: float, keys: int, cells: int, apart: bool
) -> KeyValueDistribution:
    """Key-value reports with a window of one cell at epsilon_2 ``second`` and keys at epsilon_1
    ``first``.
    """
    e, one = Fraction(np.exp(second)), Fraction(np.exp(first))
    value = TwoProbabilities(e / (e + cells - 1), 1 / (e + cells - 1))
    keep, other = (
        (Fraction(1, 2), 1 / (one + 1)) if apart else (one / (one + keys - 1), 1 / (one + keys - 1))
    )
    return KeyValueDistribution(keep, other, value, cells, apart)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("keys", [2, 3, 4])
@pytest.mark.parametrize("cells", [2, 3])
def test_the_ratio_of_a_law_is_that_of_all_its_reports(apart: bool, keys: int, cells: int) -> None:
    for second, first in ((0.5, 0.7), (1.0, 0.2), (2.0, 0.1), (0.1, 1.5)):
        law = _law(1.0, second, first, keys, cells, apart)
        assert law.ratio() == _ratio(law, keys)


@pytest.mark.parametrize("apart", [True, False])
def test_wrong_budgets_are_seen(apart: bool) -> None:
    """epsilon = 1 = epsilon_2: keys at epsilon_1 = epsilon break it, at epsilon - epsilon_2 they
    waste it, and so do other slips.
    """
    cells = 3
    peak = float(_law(1.0, 1.0, 1.0, 3, cells, apart).value.high * cells)
    right = log_ratio(_law(1.0, 1.0, 1.0 - np.log(peak), 3, cells, apart).ratio(), 1)
    assert right == pytest.approx(1.0, abs=1e-12)
    wrong = log_ratio(_law(1.0, 1.0, 1.0, 3, cells, apart).ratio(), 1)
    assert wrong == pytest.approx(1.0 + np.log(peak), abs=1e-12) and wrong > 1.3
    half = _law(1.0, 0.5, 0.5, 3, cells, apart)
    assert (
        log_ratio(half.ratio(), 1) < 0.85
    )  # epsilon_1 = epsilon - epsilon_2 spends less than it may


def test_direct_keys_as_if_they_carried_no_value_break_the_budget() -> None:
    """The mutant that keeps keys w.p. e / (e + d - 1), randomised response over d and not over 2d."""
    law = _law(1.0, 1.0, 1.0, 4, 2, False)
    assert log_ratio(law.ratio(), 1) == pytest.approx(1 + np.log(2 * np.e / (np.e + 1)), abs=1e-12)


def _worst(size: int, members: int, epsilon: float, variant: str | float) -> float:
    places = UtilityOptimizedRappor(
        Integers(0, size - 1), epsilon, sensitive=range(members), variant=variant
    )
    return theory.worst_case_loss(places, 10_000, "l1")[0]


@pytest.mark.parametrize(
    ("size", "members", "epsilon"),
    [(20, 4, 0.1), (20, 4, 1.0), (20, 4, 4.0), (10, 9, 1.0), (10, 10, 1.0), (5, 1, 6.0)],
)
def test_no_other_keep_probability_has_a_smaller_worst_case(
    size: int, members: int, epsilon: float
) -> None:
    """Rejects the symmetric t, t = 1/2 and a search at one distribution instead of the worst."""
    best = UtilityOptimizedRappor(
        Integers(0, size - 1), epsilon, sensitive=range(members), variant="best"
    ).variant
    assert isinstance(best, float)
    grid = np.round(np.linspace(0.01, 0.99, 50), 3)
    losses = [_worst(size, members, epsilon, float(t)) for t in grid]
    found = _worst(size, members, epsilon, best)
    assert found <= min(losses) + 1e-12
    assert found <= _worst(size, members, epsilon, "sue") * (1 + 1e-5)
    assert abs(best - grid[np.argmin(losses)]) <= 0.021


def test_the_gain_at_the_size_of_the_papers_census() -> None:
    best, symmetric, half = (_worst(400, 76, 1.0, t) for t in ("best", "sue", 0.5))
    assert best / symmetric == pytest.approx(0.98874, abs=1e-4)
    assert best / half == pytest.approx(0.99574, abs=1e-4)


def test_headers_hold_the_number_and_repr_makes_the_same_mechanism() -> None:
    places = UtilityOptimizedRappor(Integers(0, 19), 1.0, sensitive=[3, 7], variant="best")
    assert places.header["parameters"]["variant"] == places.variant == 0.715
    assert from_header(places.header).header == places.header
    assert (
        UtilityOptimizedRappor(Integers(0, 19), 1.0, sensitive=[3, 7], variant=0.715).header
        == places.header
    )


def test_tags_count_as_sensitive_values_in_the_search() -> None:
    kind = UtilityOptimizedRappor
    alone = PersonalizedULDP(kind, ["home"], Integers(0, 19), 1.0, variant="best")
    beside = PersonalizedULDP(kind(Integers(0, 19), 1.0, [3], variant="best"), ["home"])
    assert alone.parameters()["variant"] == best_probability(1, 20, 1.0)
    assert beside.parameters()["variant"] == best_probability(2, 19, 1.0)


EPSILONS = [0.01, 0.34, 0.5, 1.0, 1.05, 1.5, 2.5, 3.0, 4.0, 6.0, 8.0]


def _error(space: ProjectiveSpace, size: int, e: float) -> float:
    n = space.are_orthogonal(np.arange(space.points)[:, None], np.arange(2)[None, :])
    a = np.where(n, e, 1.0) / np.where(n, e, 1.0).sum(axis=0)
    p, q = float(a[:, 0] @ n[:, 0]), float(a[:, 0] @ n[:, 1])
    return size * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q)


def _spaces(size: int) -> list[ProjectiveSpace]:
    spaces = []
    for q in filter(is_prime, range(2, 2 * size + 4)):
        t = next(t for t in range(2, 20) if (q**t - 1) // (q - 1) >= size)
        spaces.append(ProjectiveSpace(q, t))
    return spaces


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 13, 31, 50, 157])
def test_the_prime_has_the_least_error_of_all(size: int) -> None:
    for epsilon in EPSILONS:
        e = math.exp(epsilon)
        chosen = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, size), epsilon, blocks=1)
        space = ProjectiveSpace(chosen.prime, chosen.dimension)
        least = min(squared_error(other, size, e) for other in _spaces(size))
        assert squared_error(space, size, e) <= least * (1 + 1e-12)


@pytest.mark.parametrize(("q", "t"), [(2, 2), (2, 5), (3, 3), (7, 3), (29, 2)])
def test_the_error_is_that_of_the_matrix(q: int, t: int) -> None:
    space = ProjectiveSpace(q, t)
    for epsilon in (0.1, 1.0, 4.0):
        e = math.exp(epsilon)
        assert squared_error(space, 3, e) == pytest.approx(_error(space, 3, e), rel=1e-9)


def _excess(size: int, epsilon: float) -> float:
    """The error of the least prime relative to that of subset selection."""
    one = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, size), epsilon).channel()
    p, subset = np.full(size, 1 / size), warner.SubsetSelection(Integers(1, size), epsilon)
    return float(one.variance(p).sum() / subset.channel().variance(p).sum())


def test_the_excess_over_subset_selection_is_at_most_the_documented_one() -> None:
    for size in (256, 300, 1000, 5000):
        for epsilon in np.linspace(0.02, math.log(size) / 2, 30):
            assert _excess(size, float(epsilon)) < 1.035
    for size in (5, 6, 15, 16, 33, 64, 200):
        assert max(_excess(size, float(x)) for x in np.linspace(0.02, 8, 30)) < 1.25


def test_the_expected_error_is_the_formula_of_the_documents() -> None:
    theta = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    for epsilon in (0.4, 1.0, 3.0):
        mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 6), epsilon, blocks=1)
        space = ProjectiveSpace(mechanism.prime, mechanism.dimension)
        expected = squared_error(space, 6, math.exp(epsilon)) - float(theta @ theta)
        assert warner.theory.expected_loss(mechanism, theta, 1, "l2") == pytest.approx(
            expected, rel=1e-7
        )


# Mechanisms of places on cells of any pattern against code of a few lines.


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
    refused(ArgumentError, "truncated=False", PlanarGeometric, Grid(3, 4), 1.0, reach=2)
    said = refused(BudgetError, "reach=127", PlanarGeometric, Grid(2, 2), 0.05, truncated=False)
    assert "0.05" in said
    PlanarGeometric(Grid(2, 2), 0.05, truncated=False, reach=20)
    refused(ArgumentError, "reach", PlanarGeometric, Grid(2, 2), 1.0, truncated=False, reach=500)
    with pytest.raises(ArgumentTypeError, match="truncated"):
        PlanarGeometric(Grid(2, 2), 1.0, truncated=1)  # type: ignore[arg-type]


def test_distances_that_no_two_values_have_need_no_weight() -> None:
    """Rejects: a program that looks up the weight of every distance of the grid."""
    mechanism = Exponential(Grid(1, 6, without=[(0, 2), (0, 3)]), 0.3)
    program = mechanism.device_program()
    assert exponential_table(program) == mechanism.law.numerators.T.tolist()
    assert program["weights"][0][2] == 0
