"""Exact privacy, over the whole serialised report, for everything registered."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import warner
from tests.registry import ALL, MECHANISMS, METRIC, SEVERAL, TIGHT, smallest
from warner._core.exact import ONE, log_ratio
from warner.design.audits import enumerated
from warner.errors import BudgetError
from warner.mechanisms import from_header
from warner.privacy.report_laws import INFINITE, OneHotBits, hockey_stick
from warner.reports.reports import Reports

EPSILONS = [1e-3, 0.1, 1.0, math.log(3), 4.0, 10.0]


@pytest.mark.crossed(60)
@pytest.mark.parametrize("name", [n for n in ALL if n != "Gaussian"])
@pytest.mark.parametrize("epsilon", [e for e in EPSILONS if e >= 0.01])
def test_serialised_reports_have_the_epsilon_of_the_law(name: str, epsilon: float) -> None:
    if name.startswith("LocalHashing"):
        epsilon = min(epsilon, 6.0)  # beyond, the pool has hundreds of thousands of reports
    mechanism = smallest(name, epsilon)
    records = Reports(mechanism.header, mechanism.outputs()).records()
    assert len(records) == mechanism.n_reports == len(set(records))
    ratio, problem = enumerated(
        records, mechanism.probabilities(), mechanism.sensitive_mask, mechanism.protected()
    )
    assert problem is None
    assert ratio == mechanism.law.ratio()
    result = warner.audit(mechanism)
    assert result.holds
    # Slopes are logarithms in double precision over distances, rounded up.
    assert result.epsilon == (
        pytest.approx(mechanism.epsilon, rel=1e-12) if name in METRIC else mechanism.epsilon
    )


@pytest.mark.crossed(110)
@pytest.mark.parametrize("name", TIGHT)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 5, 64, 1000])
def test_realised_epsilon_is_the_requested_one_from_below(
    name: str, epsilon: float, size: int
) -> None:
    mechanism = MECHANISMS[name](warner.Integers(1, size), epsilon)
    assert epsilon - 1e-9 <= mechanism.epsilon <= epsilon
    most = epsilon * (size - 1 if name in METRIC else 1)
    if most < 200:
        # Exactly, without rounding to a float: the ratio of probabilities is at most e**epsilon ...
        assert log_ratio(mechanism.law.ratio(), 1) <= most * (1 + 1e-15)
        # ... and the mechanism is not private at anything clearly smaller.
        assert log_ratio(mechanism.law.ratio(), 1) > most - 0.01
    kind = (
        warner.privacy.MetricLDP
        if name in METRIC and not (size == 2 and name.startswith("Laplace"))
        else warner.LDP
    )
    assert mechanism.guarantee.epsilon == mechanism.epsilon
    assert isinstance(mechanism.guarantee, kind) == (mechanism.sensitive_mask is None)


@pytest.mark.parametrize("name", [n for n in TIGHT if not n.startswith("Laplace")])
def test_tight_up_to_the_last_budget_that_is_not_refused(name: str) -> None:
    """Walk epsilon up: every instance that is built is within 1e-9, and the refusal comes (METHODS
    8: at probability 5e-11).
    """
    refused = False
    for epsilon in np.arange(18.0, 50.0, 0.5):
        try:
            mechanism = MECHANISMS[name](warner.Integers(0, 3), float(epsilon))
        except BudgetError:
            refused = True
            continue
        assert not refused, "a budget above a refused one was accepted"
        assert epsilon - 1e-9 <= mechanism.epsilon <= epsilon
    assert refused


@pytest.mark.parametrize("name", ALL)
def test_realised_epsilon_survives_the_header(name: str) -> None:
    mechanism = smallest(name)
    again = from_header(mechanism.header)
    assert type(again) is type(mechanism)
    assert again.header == mechanism.header
    assert again.guarantee == mechanism.guarantee


@pytest.mark.parametrize("size", [2, 7, 256, 12_800])
@pytest.mark.parametrize("variant", ["sue", "oue", 0.9])
def test_unary_encoding_is_audited_bit_by_bit_at_any_size(size: int, variant: str | float) -> None:
    mechanism = warner.UnaryEncoding(warner.Integers(1, size), 2.0, variant=variant)
    result = warner.audit(mechanism)
    assert result.holds and "bit by bit" in result.method
    assert 2.0 - 1e-9 <= result.epsilon <= 2.0


def test_no_protection_is_said_to_be_none() -> None:
    open_ = warner.RandomizedResponse(warner.Integers(0, 4), math.inf)
    assert open_.epsilon == math.inf == warner.audit(open_).epsilon
    assert str(open_.guarantee) == "no protection"
    assert open_.randomize([3, 1]).columns["report"].tolist() == [3, 1]


def test_a_certain_bit_is_unbounded() -> None:
    """pure-ldp 1.2.0's RAPPOR client: a set bit is never cleared."""
    assert OneHotBits(keep=ONE, raised=ONE // 4).ratio() == INFINITE
    assert OneHotBits(keep=ONE // 2, raised=0).ratio() == INFINITE


def test_a_pool_that_never_separates_two_values_tells_less_than_its_law() -> None:
    result = warner.audit(warner.LocalHashing(warner.Integers(0, 1), 1.0, seeds=2, buckets=2))
    assert result.holds and result.epsilon == 0


@pytest.mark.parametrize("size", [2, 10**6, 2**26])
def test_randomized_response_is_tight_at_any_size(size: int) -> None:
    assert 0.5 - 1e-9 <= warner.RandomizedResponse(warner.Integers(1, size), 0.5).epsilon <= 0.5


def test_default_hash_functions_fit_any_budget_and_domain() -> None:
    for epsilon in (1e-3, 0.1, 1.0, 4.0, 7.0, 10.0):
        for size in (2, 10, 1000, 10**6):
            mechanism = warner.LocalHashing(warner.Integers(0, size - 1), epsilon)
            assert mechanism.schema.cells <= max(2**20, size)
            assert epsilon * (1 - 1e-9) <= mechanism.epsilon <= epsilon


# Budgets and guarantees of several reports of one person are those of their parts together.


NAMES = list(SEVERAL)


FIXED = [
    n for n in NAMES if n not in ("geometric x RR", "geometric twice", "Gaussian x RR")
]  # whose epsilon is for any two values


@pytest.mark.crossed(30)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_serialised_tuples_have_the_epsilon_of_the_parts_together(
    name: str, epsilon: float
) -> None:
    mechanism = SEVERAL[name](epsilon)
    records = Reports(mechanism.header, mechanism.outputs()).records()
    assert len(set(records)) == len(records) == mechanism.n_reports
    result = warner.audit(mechanism)
    assert result.holds, result
    assert result.epsilon <= mechanism.requested
    if name == "Gaussian x RR":
        promised = mechanism.guarantee
        assert isinstance(promised, warner.privacy.ApproximateLDP)
        assert hockey_stick(mechanism.probabilities(), promised.epsilon) <= promised.delta
        return
    assert (
        result.epsilon
        == pytest.approx(mechanism.epsilon, rel=1e-9)
        == pytest.approx(mechanism.requested, abs=1e-8)
    )
    if name in FIXED:
        ratio, _ = enumerated(
            records, mechanism.probabilities(), mechanism.sensitive_mask, mechanism.protected()
        )
        law = mechanism.law.ratio()
        # A bin is the average of its numbers, a small pool may never separate two labels, and OSLDP
        # bounds less than ULDP of the parts.
        assert ratio != INFINITE and ratio <= law and log_ratio(law, 1) <= mechanism.requested
        if not mechanism.represents_interval and name not in ("RR x OUE x OLH", "RR, OUE, OLH"):
            assert ratio == law


def test_budgets_add_and_never_round_down() -> None:
    domain = warner.Integers(0, 2)
    mechanism = warner.mechanisms.Repeated(warner.RandomizedResponse(domain, 0.1), 10)
    part = warner.RandomizedResponse(domain, 0.1).epsilon
    assert Fraction(mechanism.epsilon) >= 10 * Fraction(part)
    assert mechanism.epsilon <= math.nextafter(1.0, 2)
    assert Fraction(mechanism.requested) >= 10 * Fraction(0.1)


def test_guarantees_of_tuples_are_those_of_their_parts_together() -> None:
    kinds = {"uRR x RR": warner.privacy.OSLDP, "uRAP x OUE": warner.privacy.OSLDP, "geometric x RR": warner.LDP, "Gaussian x RR": warner.privacy.ApproximateLDP,
             "uRR twice": warner.privacy.ULDP, "uRR, RR": warner.privacy.ULDP, "geometric twice": warner.privacy.MetricLDP, "RR three times": warner.LDP}  # fmt: skip
    for name, kind in kinds.items():
        assert type(SEVERAL[name](1.0).guarantee) is kind
    assert SEVERAL["uRR x RR"](1.0).guarantee.sensitive == (("a", 0), ("a", 1))
    assert SEVERAL["geometric x RR"](1.0).epsilon == pytest.approx(4.0)
