"""The best keep probability against worst cases computed one by one from the channel."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Integers, PersonalizedULDP, UtilityOptimizedRappor, theory
from warner.mechanisms import from_header
from warner.mechanisms.utility_optimized import best_probability


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
