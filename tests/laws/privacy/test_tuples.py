"""Budgets and guarantees of several reports of one person are those of their parts together."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import warner
from tests.registry import COMBINED
from warner import Reports
from warner._core.exact import log_ratio
from warner.design.audits import enumerated
from warner.privacy.report_laws import INFINITE, hockey_stick

NAMES = list(COMBINED)


FIXED = [
    n for n in NAMES if n not in ("geometric x RR", "geometric twice", "Gaussian x RR")
]  # whose epsilon is for any two values


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_serialised_tuples_have_the_epsilon_of_the_parts_together(
    name: str, epsilon: float
) -> None:
    mechanism = COMBINED[name](epsilon)
    records = Reports(mechanism.header, mechanism.outputs()).records()
    assert len(set(records)) == len(records) == mechanism.n_reports
    result = warner.audit(mechanism)
    assert result.holds, result
    assert result.epsilon <= mechanism.requested
    if name == "Gaussian x RR":
        promised = mechanism.guarantee
        assert (
            isinstance(promised, warner.privacy.ApproximateLDP)
            and hockey_stick(mechanism.probabilities(), promised.epsilon) <= promised.delta
        )
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
    mechanism = warner.Repeated(warner.RandomizedResponse(domain, 0.1), 10)
    part = warner.RandomizedResponse(domain, 0.1).epsilon
    assert Fraction(mechanism.epsilon) >= 10 * Fraction(
        part
    ) and mechanism.epsilon <= math.nextafter(1.0, 2)
    assert Fraction(mechanism.requested) >= 10 * Fraction(0.1)


def test_guarantees_of_tuples_are_those_of_their_parts_together() -> None:
    kinds = {"uRR x RR": warner.privacy.OSLDP, "uRAP x OUE": warner.privacy.OSLDP, "geometric x RR": warner.LDP, "Gaussian x RR": warner.privacy.ApproximateLDP,
             "uRR twice": warner.privacy.ULDP, "uRR, RR": warner.privacy.ULDP, "geometric twice": warner.privacy.MetricLDP, "RR three times": warner.LDP}  # fmt: skip
    for name, kind in kinds.items():
        assert type(COMBINED[name](1.0).guarantee) is kind
    assert COMBINED["uRR x RR"](1.0).guarantee.sensitive == (("a", 0), ("a", 1))
    assert COMBINED["geometric x RR"](1.0).epsilon == pytest.approx(4.0)
