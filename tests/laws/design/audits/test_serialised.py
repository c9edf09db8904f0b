"""Audits over whole serialised reports find mechanisms that are broken."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import warner
from warner._core.exact import ONE
from warner.design.audits import enumerated
from warner.privacy.report_laws import INFINITE, OneHotBits


class Careless(warner.RandomizedResponse):
    """Declares one law and has the bytes of another: it says the truth a little more often."""

    def probabilities(self) -> np.ndarray:
        honest = super().probabilities()
        extra = Fraction(1, 1000)
        size = len(honest)
        return honest + np.where(np.eye(size, dtype=bool), extra, -extra / (size - 1))


def test_audit_finds_a_broken_mechanism() -> None:
    worse = warner.audit(Careless(warner.Integers(0, 3), 1.0))
    assert (
        not worse.holds
        and "larger odds than the law" in str(worse.violation)
        and worse.epsilon > 1.001
    )
    greedy = warner.RandomizedResponse(warner.Integers(0, 3), 1.0)
    greedy.requested = 0.5
    assert not warner.audit(greedy).holds and "exceeds 0.5" in str(warner.audit(greedy).violation)
    lying = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    lying.law = OneHotBits(ONE - 1, lying.law.raised)
    assert not warner.audit(lying).holds and "BROKEN" in str(warner.audit(lying))


def test_order_of_a_subset_leaks() -> None:
    """multi-freq-ldpy 0.2.5's SS_Client: the true value comes first. ln(w e (K-1) / (K-w)) is far
    above epsilon.
    """
    size, width, e = 6, 2, Fraction(271828, 100000)
    include = width * e / (width * e + size - width)
    records, rows = [], []
    for first in range(size):
        for second in range(size):
            if first != second:
                records.append(bytes([first, second]))
                # Included: true value first, then a random other. Left out: two random others in
                # random order.
                without = (1 - include) / ((size - 1) * (size - 2))
                rows.append(
                    [
                        include / (size - 1) if first == x else 0 if second == x else without
                        for x in range(size)
                    ]
                )
    ratio, problem = enumerated(records, np.array(rows, dtype=object))
    assert (
        problem is None and ratio == INFINITE
    )  # the true value never comes second: unbounded over ordered reports
    # Even the first element alone: Pr(first = x | x) against Pr(first = x | other).
    odds = include / ((1 - include) / (size - 1))
    assert odds == width * e * (size - 1) / (size - width) > e


def test_reports_of_different_length_are_refused() -> None:
    assert (
        enumerated([b"a", b"bb"], np.array([[1, 0], [0, 1]], dtype=object))[1]
        == "serialised reports differ in length"
    )


def test_a_law_that_does_not_sum_to_one_is_refused() -> None:
    half = Fraction(1, 2)
    assert "sum to one" in str(
        enumerated([b"a", b"b"], np.array([[half, half], [half, Fraction(1, 3)]], dtype=object))[1]
    )
