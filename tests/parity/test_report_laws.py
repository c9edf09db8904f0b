"""Likelihood ratios of reports against enumerations of all reports, and against long decimals."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from warner._core.exact import ONE
from warner.privacy.report_laws import (
    INFINITE,
    SLOPE_TOLERANCE,
    GuardedBits,
    OneHotBits,
    worst_slope,
)

CHANCES = st.integers(0, 8).map(lambda eighths: ONE // 8 * eighths)


def _rows(chances: list[list[int]]) -> Iterator[list[Fraction]]:
    """The probabilities of each vector of bits under the values; chances[x][j] of 1 in bit j."""
    for bits in product((0, 1), repeat=len(chances[0])):
        row = []
        for value in chances:
            p = Fraction(1)
            for bit, one in zip(bits, value, strict=True):
                p *= Fraction(one if bit else ONE - one, ONE)
            row.append(p)
        yield row


def _worst(rows: list[list[Fraction]]) -> Fraction:
    rows = [row for row in rows if any(row)]
    if any(0 in row for row in rows):
        return INFINITE
    return max((max(row) / min(row) for row in rows), default=Fraction(1))


@settings(max_examples=150, deadline=None)
@given(keep=CHANCES, raised=CHANCES, size=st.integers(2, 3))
def test_one_hot_bits_by_enumeration(keep: int, raised: int, size: int) -> None:
    """Rejects a ratio that forgets one of the two bits in which two values differ."""
    chances = [[keep if j == x else raised for j in range(size)] for x in range(size)]
    assert OneHotBits(keep, raised).ratio() == _worst(list(_rows(chances)))


# Only one example in sixty has its worst ratio in the evidence against a sensitive value.
@example(keep=ONE // 8, raised=ONE // 4, dropped=ONE // 8 * 7, sensitive=1, others=1)
@settings(max_examples=300, deadline=None)
@given(
    keep=CHANCES,
    raised=CHANCES,
    dropped=CHANCES,
    sensitive=st.integers(1, 2),
    others=st.integers(0, 2),
)
def test_guarded_bits_by_enumeration(
    keep: int, raised: int, dropped: int, sensitive: int, others: int
) -> None:
    """Of protected reports, those without a 1 in the bit of another value. Rejects a ratio that
    counts evidence for a sensitive value alone.
    """
    size = sensitive + others
    chances = [
        [
            (keep if j == x else raised) if j < sensitive else (ONE - dropped) * (j == x)
            for j in range(size)
        ]
        for x in range(size)
    ]
    shown = list(product((0, 1), repeat=size))
    rows = [
        row for bits, row in zip(shown, _rows(chances), strict=True) if not any(bits[sensitive:])
    ]
    # A protected report compares a sensitive value with any other one.
    pairs = [[row[x], row[y]] for row in rows for x in range(sensitive) for y in range(size)]
    assert GuardedBits(keep, raised, dropped, sensitive, others).ratio() == _worst(pairs)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 2**40), min_size=3, max_size=3), min_size=1, max_size=3),
    st.lists(st.integers(-20, 20), min_size=3, max_size=3, unique=True),
)
def test_slopes_are_never_below_those_of_long_decimals(
    masses: list[list[int]], places: list[int]
) -> None:
    """Rejects an epsilon that is lowered, and not raised, by the error of its logarithms."""
    table = np.array([[Fraction(v, 2**41) for v in row] for row in masses], dtype=object)
    distances = np.abs(np.subtract.outer(places, places)).astype(float)
    with localcontext() as context:
        context.prec = 60
        logs = [[Decimal(v).ln() for v in row] for row in masses]
        exact = max(
            (row[x] - row[y]) / Decimal(distances[x, y])
            for row in logs
            for x in range(3)
            for y in range(3)
            if x != y
        )
        slope = worst_slope(table, distances).epsilon
        assert Decimal(slope) > exact
        assert slope == pytest.approx(float(exact), rel=SLOPE_TOLERANCE, abs=SLOPE_TOLERANCE)
