"""The exponential mechanism keeps its budget to the last digit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import warner
from warner import Grid, Points
from warner.mechanisms import Exponential
from warner.privacy.report_laws import worst_slope


def test_the_exponential_mechanism_reports_what_it_really_needs() -> None:
    """METHODS 2: 4 x 4 cells, 0.377 at declared 0.5; and the same found pair by pair."""
    mechanism = Exponential(Grid(4, 4), 0.5)
    assert round(mechanism.epsilon, 3) == 0.377 and mechanism.requested == 0.5
    assert worst_slope(mechanism.probabilities(), mechanism.distances())[0] == pytest.approx(
        mechanism.epsilon, abs=1e-12
    )
    weights = np.exp(-0.25 * mechanism.distances())
    assert mechanism.channel().dense() == pytest.approx(weights / weights.sum(axis=0), rel=1e-12)
    scattered = Exponential(Points(np.random.default_rng(0).random((12, 3))), 2.0)
    assert scattered.epsilon < 2 and warner.audit(scattered).holds


def test_exponential_keeps_the_budget_to_the_last_digit() -> None:
    """By exact fractions, on values so close that rounding of the table matters: without its
    allowance the epsilon stated is too small.
    """
    mechanism = Exponential(Points([[0.0], [1e-6], [3e-6], [1.0]]), 2.0)
    table, points = mechanism.probabilities(), [0.0, 1e-6, 3e-6, 1.0]
    for x in range(4):
        for other in range(4):
            if x != other:
                ratio = max(Fraction(table[z, x]) / Fraction(table[z, other]) for z in range(4))
                assert math.log1p(float(ratio - 1)) <= mechanism.epsilon * abs(
                    points[x] - points[other]
                ) * (1 + 1e-9)
