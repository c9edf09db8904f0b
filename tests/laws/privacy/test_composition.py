"""Composition adds budgets and never rounds down."""

from __future__ import annotations

from fractions import Fraction

import pytest

import warner


def test_composition_adds_and_never_rounds_down() -> None:
    parts = [warner.LDP(0.1)] * 10
    total = warner.compose(parts).epsilon
    assert Fraction(total) >= sum(Fraction(p.epsilon) for p in parts)
    assert total == pytest.approx(1.0, abs=1e-15)
