"""Guarantees: the numbers they bound, another epsilon, and tables that keep or break them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import warner
from tests.refusals import refused
from warner import Integers, UtilityOptimizedRR
from warner._core.exact import log_ratio
from warner.errors import ArgumentError, BudgetError, MismatchError, WarnerError
from warner.privacy import LDP, OSLDP, ULDP, ApproximateLDP, MetricLDP
from warner.privacy.guarantees import Guarantee
from warner.privacy.report_laws import ambiguous_report, worst_ratio

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
    assert warner.privacy.compose([a, b]) == warner.privacy.MetricLDP(0.75, 10.0)
    assert warner.privacy.compose([a, warner.LDP(1.0)]) == warner.LDP(6.0)
    assert warner.privacy.compose([a, warner.privacy.MetricLDP(0.5, 4.0)]) == warner.LDP(7.0)
    assert warner.privacy.compose(
        [warner.privacy.ApproximateLDP(1.0, 1e-6), warner.LDP(0.5), a]
    ) == warner.privacy.ApproximateLDP(6.5, 1e-6)
    assert warner.privacy.compose([warner.privacy.ApproximateLDP(1.0, 0.6)] * 2).delta == 1.0
    with pytest.raises(MismatchError):
        warner.privacy.compose(
            [warner.privacy.ApproximateLDP(1.0, 1e-6), warner.privacy.OSLDP(1.0, ("a",))]
        )
    for wrong in ((1.0, 0.0), (1.0, math.inf), (-1.0, 1.0), ("1", 1.0)):
        refused(WarnerError, "", warner.privacy.MetricLDP, *wrong)
    for wrong in ((1.0, -0.1), (1.0, 1.1), (1.0, math.nan), (1.0, "0")):
        refused(WarnerError, "", warner.privacy.ApproximateLDP, *wrong)


def test_relaxing_never_rounds_down() -> None:
    pairs = np.random.default_rng(0).uniform(0.01, 10, (50, 2)).tolist()
    for epsilon, distance in ((0.1, 3.0), (1 / 3, 0.7), (0.3, 1e9), *pairs):
        assert Fraction(warner.privacy.MetricLDP(epsilon, distance).relaxed().epsilon) >= Fraction(
            epsilon
        ) * Fraction(distance)


def test_an_infinite_budget_has_an_infinite_total() -> None:
    """Rejects the program that makes a fraction of infinity."""
    for epsilon, diameter in ((math.inf, 3.0), (1e300, 1e300)):
        metric = MetricLDP(epsilon, diameter)
        assert metric.total == metric.relaxed().epsilon == math.inf
    assert LDP(math.inf).total == math.inf
    refused(BudgetError, "too large to compute with. To turn protection off", LDP, 10**400)


# Guarantees compose where a proposition says so.


def test_guarantees_compose_where_a_proposition_says_so() -> None:
    ill, other = ("ill",), ("poor",)
    assert warner.privacy.compose([ULDP(0.5, ill), ULDP(0.25, ill)]) == ULDP(0.75, ill)
    assert warner.privacy.compose([ULDP(0.5, ill), LDP(1.0)]).epsilon == 1.5
    assert isinstance(warner.privacy.compose([ULDP(0.5, ill), LDP(1.0)]), ULDP)
    assert warner.privacy.compose([ULDP(0.5, ill), OSLDP(1.0, ill)]) == OSLDP(1.5, ill)
    assert ULDP(1.0, ill).relaxed() == OSLDP(1.0, ill)
    with pytest.raises(MismatchError, match=r"same sensitive values; got \('ill',\) and \('poor',"):
        warner.privacy.compose([ULDP(0.5, ill), ULDP(0.5, other)])
    for wrong in ([ULDP(0.5, ill), 1.0], [], 3):
        refused(WarnerError, "", warner.privacy.compose, wrong)
    for bad in (
        lambda: ULDP(-1.0, ill),
        lambda: ULDP(1.0, ()),
        lambda: OSLDP(float("nan"), ill),
        lambda: ULDP(1.0, "ill"),
    ):  # type: ignore[arg-type]
        refused(WarnerError, "", bad)
    # The sum is really needed, by enumeration of pairs of reports [P2 prop 1].
    a, b = (UtilityOptimizedRR(Integers(0, 3), e, [0, 1]).probabilities() for e in (0.5, 1.0))
    pairs = np.array([[x * y for x, y in zip(r, s, strict=True)] for r in a for s in b])
    sensitive_mask = np.array([True, True, False, False])
    protected = np.array([y0 < 2 and y1 < 2 for y0 in range(4) for y1 in range(4)])
    assert ambiguous_report(pairs, sensitive_mask, protected) is None
    assert log_ratio(worst_ratio(pairs[protected]), 1) == pytest.approx(1.5, abs=1e-12)


# Post-processing keeps a guarantee only where it keeps data types.


def test_post_processing_keeps_the_guarantee_only_where_it_keeps_data_types() -> None:
    channel = UtilityOptimizedRR(Integers(0, 3), 1.0, [0, 1]).probabilities().astype(float)
    sensitive_mask = np.array([True, True, False, False])
    blur = np.array([[0.7, 0.4, 0, 0], [0.3, 0.6, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    after = warner.privacy.postprocessing.post_process(
        blur, channel, sensitive_mask, sensitive_mask
    )
    assert after == pytest.approx(blur @ channel)
    assert (after[:2].max(axis=1) / after[:2].min(axis=1) <= np.e + 1e-12).all()
    mixing = np.array([[1.0, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]])
    assert not warner.privacy.postprocessing.preserves_data_types(
        mixing, sensitive_mask, sensitive_mask
    )
    with pytest.raises(ArgumentError, match="guarantee is lost"):
        warner.privacy.postprocessing.post_process(mixing, channel, sensitive_mask, sensitive_mask)
    with pytest.raises(ArgumentError, match="not utility-optimised"):
        warner.privacy.postprocessing.post_process(
            np.eye(2),
            np.array([[1.0, 0.5, 0.5], [0, 0.5, 0.5]]),
            [True, False, False],
            [True, False],
        )
    for matrix, words in (
        ([1.0], "must have two dimensions; got 1 dimension"),
        ([[2.0]], "columns that sum to 1; got sums from 2 to 2"),
        ([[1.5], [-0.5]], "got the smallest entry -0.5"),
        ([[np.nan]], "got the smallest entry nan"),
    ):
        with pytest.raises(ArgumentError, match=words):
            warner.privacy.postprocessing.post_process(
                matrix, channel, sensitive_mask, sensitive_mask
            )


@pytest.mark.parametrize("factor", [1.0, 1 - 1e-14, 1 - 1e-10])
def test_decomposition_survives_rounding(factor: float) -> None:
    """Columns all alike but for rounding: what a value says more often than any other is then
    rounding too.
    """
    column = np.random.default_rng(0).dirichlet(np.ones(1000)) * factor
    channel = np.stack([column, column * (1 + 1e-16), column], axis=1)
    uldp, _, post = warner.privacy.postprocessing.decompose(channel, [True, False, False])
    assert post.sum(axis=0) == pytest.approx(np.ones(post.shape[1]))
    assert post @ uldp == pytest.approx(channel / channel.sum(axis=0), abs=1e-12)
    for wrong in ([1, 0, 0], [True], "abc", None, [False] * 3, [[True], [True, False]]):
        refused(ArgumentError, "booleans", warner.privacy.postprocessing.decompose, channel, wrong)


@pytest.mark.parametrize("seed", range(20))
def test_one_sided_mechanisms_are_utility_optimised_ones_and_a_post_processing(seed: int) -> None:
    """[P2 prop 13] on random OSLDP channels: the product is the channel, and the first factor keeps
    both conditions at the same epsilon.
    """
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    reports = int(rng.integers(3, 9))
    members = int(rng.integers(1, 3))
    sensitive_mask = np.arange(size) < members
    channel = rng.dirichlet(np.full(reports, 0.7), size).T
    unseen = rng.random(reports) < 0.4  # what sensitive values never say
    unseen[0] = False
    channel[np.ix_(unseen, sensitive_mask)] = 0
    channel /= channel.sum(axis=0)
    seen = channel[:, sensitive_mask].max(axis=1) > 0
    epsilon = np.log(
        np.max(channel[seen][:, sensitive_mask].max(axis=1) / channel[seen].min(axis=1))
    )
    uldp, protected, post = warner.privacy.postprocessing.decompose(channel, sensitive_mask)
    assert post @ uldp == pytest.approx(channel, abs=1e-12)
    assert uldp.sum(axis=0) == pytest.approx(np.ones(size))
    assert post.sum(axis=0) == pytest.approx(np.ones(len(uldp))) and (post >= 0).all()
    assert ambiguous_report(uldp, sensitive_mask, protected) is None
    assert (
        np.log((uldp[protected].max(axis=1) / uldp[protected].min(axis=1)).max()) <= epsilon + 1e-9
    )


# Composition adds budgets and never rounds down.


def test_composition_adds_and_never_rounds_down() -> None:
    parts = [warner.LDP(0.1)] * 10
    total = warner.privacy.compose(parts).epsilon
    assert Fraction(total) >= sum(Fraction(p.epsilon) for p in parts)
    assert total == pytest.approx(1.0, abs=1e-15)
