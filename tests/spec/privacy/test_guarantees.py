"""Guarantees: the numbers they bound, another epsilon, and tables that keep or break them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import warner
from warner.privacy import LDP, OSLDP, ULDP, ApproximateLDP, MetricLDP
from warner.privacy.guarantees import Guarantee

EACH: list[Guarantee] = [
    LDP(1.0),
    ULDP(1.0, (0,)),
    OSLDP(1.0, (0,)),
    MetricLDP(1.0, 3.0),
    ApproximateLDP(1.0, 0.5),
]


def _table(*rows: tuple[str, str]) -> np.ndarray:
    return np.array([[Fraction(v) for v in row] for row in rows], dtype=object)


EVEN = _table(("1/2", "1/2"), ("1/2", "1/2"))


THREE = _table(("3/4", "1/4"), ("1/4", "3/4"))  # odds of 3 both ways


MANGAT = _table(("1", "1/3"), ("0", "2/3"))  # the second report names value 1


TWO = warner.Integers(0, 1)


@pytest.mark.parametrize("guarantee", EACH, ids=repr)
def test_a_guarantee_at_another_epsilon_is_of_its_kind(guarantee: Guarantee) -> None:
    again = guarantee.with_epsilon(0.5, 1.0)
    assert type(again) is type(guarantee) and again.epsilon == 0.5
    assert (again.delta, again.sensitive, again.diameter) == (
        guarantee.delta,
        guarantee.sensitive,
        guarantee.diameter,
    )
    assert guarantee.with_epsilon(guarantee.epsilon, 1.0) == guarantee


def test_metric_guarantees_are_converted_by_the_distance_that_epsilon_is_for() -> None:
    assert MetricLDP(1.0, 3.0).with_epsilon(1.0, 0.5).epsilon == 2.0


def test_guarantees_say_what_they_bound() -> None:
    assert [g.is_metric for g in EACH] == [False, False, False, True, False]
    assert [g.bounds_all_pairs for g in EACH] == [True, True, True, False, False]
    assert [g.is_one_sided for g in EACH] == [False, False, True, False, False]
    assert [g.sensitive for g in EACH] == [None, (0,), (0,), None, None]
    assert [g.total for g in EACH] == [1.0, 1.0, 1.0, 3.0, 1.0]
    for guarantee in EACH:
        assert not guarantee.between_any_values().is_metric
        assert guarantee.between_any_values().epsilon == guarantee.total


@pytest.mark.parametrize("guarantee", EACH, ids=repr)
def test_every_guarantee_holds_where_reports_tell_nothing(guarantee: Guarantee) -> None:
    assert guarantee.examine(EVEN, TWO).violation is None


@pytest.mark.parametrize(
    "table, kept, broken",
    [
        (THREE, LDP(math.log(3) + 1e-9), LDP(math.log(3) - 1e-9)),
        (THREE, ApproximateLDP(0.0, 0.5 + 1e-9), ApproximateLDP(0.0, 0.5 - 1e-9)),
        (THREE, MetricLDP(math.log(3) + 1e-9, 1.0), MetricLDP(math.log(3) - 1e-9, 1.0)),
        (MANGAT, ULDP(math.log(3) + 1e-9, (0,)), LDP(50.0)),
        (MANGAT, OSLDP(math.log(3) + 1e-9, (0,)), OSLDP(50.0, (1,))),
    ],
    ids=lambda v: repr(v)[:20],
)
def test_a_table_keeps_a_guarantee_and_breaks_a_stronger_one(
    table: np.ndarray, kept: Guarantee, broken: Guarantee
) -> None:
    assert kept.examine(table, TWO).violation is None
    assert broken.examine(table, TWO).violation is not None


def test_a_report_that_does_not_name_one_value_breaks_uldp() -> None:
    three = warner.Integers(0, 2)
    table = _table(("1", "1/2", "1/2"), ("0", "1/2", "1/2"))
    found = ULDP(50.0, (0,)).examine(table, three)
    assert found.violation == "unprotected report 1 comes from 1 and from 2"
    assert found.epsilon == math.inf


def test_metric_guarantees_compose_and_relax() -> None:
    a, b = warner.privacy.MetricLDP(0.5, 10.0), warner.privacy.MetricLDP(0.25, 10.0)
    assert warner.compose([a, b]) == warner.privacy.MetricLDP(0.75, 10.0)
    assert warner.compose([a, warner.LDP(1.0)]) == warner.LDP(6.0)
    assert warner.compose([a, warner.privacy.MetricLDP(0.5, 4.0)]) == warner.LDP(7.0)
    assert warner.compose(
        [warner.privacy.ApproximateLDP(1.0, 1e-6), warner.LDP(0.5), a]
    ) == warner.privacy.ApproximateLDP(6.5, 1e-6)
    assert warner.compose([warner.privacy.ApproximateLDP(1.0, 0.6)] * 2).delta == 1.0
    with pytest.raises(warner.errors.MismatchError):
        warner.compose(
            [warner.privacy.ApproximateLDP(1.0, 1e-6), warner.privacy.OSLDP(1.0, ("a",))]
        )
    for wrong in ((1.0, 0.0), (1.0, math.inf), (-1.0, 1.0), ("1", 1.0)):
        with pytest.raises(warner.WarnerError):
            warner.privacy.MetricLDP(*wrong)
    for wrong in ((1.0, -0.1), (1.0, 1.1), (1.0, math.nan), (1.0, "0")):
        with pytest.raises(warner.WarnerError):
            warner.privacy.ApproximateLDP(*wrong)


def test_relaxing_never_rounds_down() -> None:
    for epsilon, distance in ((0.1, 3.0), (1 / 3, 0.7), (0.3, 1e9)):
        assert Fraction(warner.privacy.MetricLDP(epsilon, distance).relaxed().epsilon) >= Fraction(
            epsilon
        ) * Fraction(distance)


def test_an_infinite_budget_has_an_infinite_total() -> None:
    """Rejects the program that makes a fraction of infinity."""
    for epsilon, diameter in ((math.inf, 3.0), (1e300, 1e300)):
        metric = MetricLDP(epsilon, diameter)
        assert metric.total == metric.relaxed().epsilon == math.inf
    assert LDP(math.inf).total == math.inf
