"""Audits name the report that breaks a definition, and samples find parts that say too much."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey
from warner import LDP, Integers, PerAttribute, Product, RandomizedResponse, UtilityOptimizedRR
from warner.design.audits import enumerated
from warner.mechanisms import UtilityOptimizedRappor
from warner.privacy import OSLDP, ULDP

DOMAIN = Integers(0, 9)


class Leaky(UtilityOptimizedRR):
    """A wrong program: now and then a sensitive value is sent as another, unprotected one."""

    def probabilities(self) -> np.ndarray:
        table = super().probabilities()
        table[5, 0] = Fraction(1, 1000)
        table[0, 0] -= Fraction(1, 1000)
        return table


def test_an_audit_names_the_report_that_breaks_the_definition() -> None:
    broken = warner.audit(Leaky(DOMAIN, 1.0, [0, 1]))
    assert not broken.holds and "report 5" in str(broken.violation)
    # Claims: what is broken is the report, or the report and the pair of values.
    matrix = np.array([[0.5, 0.1], [0.5, 0.9]])
    mixing = warner.MatrixMechanism(Integers(0, 1), matrix, sensitive=[0])
    assert isinstance(mixing.guarantee, ULDP) and mixing.epsilon == pytest.approx(np.log(5))
    assert not warner.audit(mixing, claim=ULDP(1.0, (0,))).holds
    assert "report 0 comes from 0, 5 times as likely as from 1" in str(
        warner.audit(mixing, claim=ULDP(1.0, (0,))).violation
    )
    assert "report 0" in str(warner.audit(mixing, claim=LDP(1.0)).violation)
    assert (
        warner.audit(mixing, claim=ULDP(1.7, (0,))).holds
        and warner.audit(mixing, claim=OSLDP(1.7, (0,))).holds
    )
    uninvertible = warner.MatrixMechanism(
        Integers(0, 2), [[0.5, 0.5, 0.5], [0.5, 0.0, 0.0], [0.0, 0.5, 0.5]], sensitive=[0]
    )
    assert isinstance(uninvertible.guarantee, OSLDP) and uninvertible.epsilon == np.inf
    assert "unprotected report 2 comes from 1 and from 2" in str(
        warner.audit(uninvertible, claim=ULDP(9.0, (0,))).violation
    )
    one_sided = warner.MatrixMechanism(
        Integers(0, 2), [[1.0, 0.5, 0.5], [0.0, 0.5, 0.5]], sensitive=[0]
    )
    assert isinstance(one_sided.guarantee, OSLDP) and one_sided.epsilon == pytest.approx(np.log(2))
    assert warner.audit(one_sided).holds and warner.audit(one_sided, claim=OSLDP(0.7, (0,))).holds
    with pytest.raises(warner.errors.ArgumentError, match="too many to list"):
        warner.audit(warner.UnaryEncoding(Integers(0, 30), 1.0), claim=LDP(1.0))
    with pytest.raises(warner.errors.ArgumentTypeError, match="claim"):
        warner.audit(mixing, claim=1.0)  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentError, match="do not go with a claim"):
        warner.audit(mixing, samples=1000, claim=LDP(1.0))
    assert warner.audit(uninvertible, claim=ULDP(9.0, (0,))).epsilon == np.inf
    assert "1 sensitive value" in warner.audit(one_sided).guarantee and "one-sided" in str(
        warner.audit(one_sided)
    )


def test_samplers_that_leak_are_caught_by_samples() -> None:
    class Naive(UtilityOptimizedRR):
        """Sends a sensitive value as it is, too often."""

        def _sample(self, index, source):  # type: ignore[no-untyped-def]
            report = super()._sample(index, source)["report"]
            return {"report": np.where(np.arange(len(index)) % 2 == 0, index, report)}

    assert not warner.audit(Naive(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds
    assert warner.audit(UtilityOptimizedRR(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds
    assert warner.audit(UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds


def test_enumerated_counts_reports_that_serialise_alike_once() -> None:
    rows = np.array(
        [
            [Fraction(1, 2), Fraction(1, 4)],
            [Fraction(1, 2), Fraction(1, 4)],
            [Fraction(0), Fraction(1, 2)],
        ]
    )
    ratio, problem = enumerated(
        [b"a", b"a", b"b"], rows, np.array([True, False]), np.array([True, True, False])
    )
    assert ratio == 2 and problem is None


def test_samples_find_parts_that_say_too_much() -> None:
    class Blunt(RandomizedResponse):
        """Says the truth to everyone who asks twice."""

        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            return {"report": index}

    assert warner.audit(_survey(), samples=20_000).holds
    worse = warner.audit(
        PerAttribute(BOTH, {"sex": Blunt(SEX, 1.0), "age": RandomizedResponse(AGE, 1.0)}),
        samples=20_000,
    )
    assert not worse.holds and "samples show" in str(worse.violation)
    names = [f"q{i}" for i in range(9)]
    sensitive_mask = PerAttribute(
        Product(**dict.fromkeys(names, AGE)),
        {k: lambda d: warner.UtilityOptimizedRR(d, 1.0, [0]) for k in names},
    )
    assert warner.audit(sensitive_mask).holds
    with pytest.raises(warner.errors.ArgumentError, match="one by one"):
        warner.audit(sensitive_mask, samples=1000)
