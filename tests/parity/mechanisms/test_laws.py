"""Laws of mechanisms against slow twins: key-value, the best variant, projective geometry."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import warner
from warner import Integers, theory
from warner._core.exact import log_ratio
from warner._core.projective_space import ProjectiveSpace, is_prime
from warner.mechanisms import PersonalizedULDP, UtilityOptimizedRappor, from_header
from warner.mechanisms.geometry import squared_error
from warner.mechanisms.key_value import KeyValueDistribution
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
