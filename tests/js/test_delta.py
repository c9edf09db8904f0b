"""The delta of the Gaussian mechanism on a grid, which the browser computes from the integers alone."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tests.js._node import HERE, node
from warner import Grid
from warner.mechanisms import Gaussian

GRIDS = (Grid(3, 2), Grid(4, 4, without=[(0, 0), (3, 3)]), Grid(1, 4), Grid(2, 5, side=0.3))


def brute_force(mechanism: Gaussian) -> float:
    """The largest delta of all pairs of cells, by the sum over all reports of two axes."""
    program = mechanism.device_program()
    high, low = (int(str(program["odds_at_most"][key]), 0) for key in ("numerator", "denominator"))
    one, places = mechanism.law.floats(), program["places"]

    def moved(by: int) -> np.ndarray:
        return np.concatenate([one[by:], np.zeros(by)])

    shifts = {tuple(abs(np.subtract(a, b)).tolist()) for a, b in product(places, places)}
    whole = np.outer(one, one)
    return max(
        float(np.maximum(0, whole - high / low * np.outer(moved(a), moved(b))).sum())
        for a, b in shifts
    )


def with_limit(program: dict[str, Any], delta: float) -> dict[str, Any]:
    limit = Fraction(delta).limit_denominator(2**50)
    stated = {"numerator": limit.numerator, "denominator": limit.denominator}
    return {**program, "delta_at_most": stated}


def test_delta_on_two_axes_is_that_of_all_pairs() -> None:
    """Rejects: the nearest pair, one axis alone, and a limit that is not compared."""
    asked, least = [], []
    for grid in GRIDS:
        mechanism = Gaussian(grid, 1.0, 1e-4)
        exact, program = brute_force(mechanism), mechanism.device_program()
        least.append(exact / mechanism.guarantee.delta)
        asked += [
            program,
            with_limit(program, exact * 1.000001),
            with_limit(program, exact / 1.000001),
        ]
    told = json.loads(node(str(HERE / "prepare.mjs"), text=json.dumps(asked)))
    assert told == [None, None, "odds_exceed"] * len(GRIDS)
    assert all(0.9 < share <= 1 for share in least)  # the library's bound is above the exact delta
