"""Points check what they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from warner.domains import Points


def test_points_check_what_they_are_given() -> None:
    shapes = ([1, 2, 3], [[0, 0]], [[0, 0], [0, 0]], "ab", [[0, 0], [1]], [[]], None)
    for wrong in (
        *shapes,
        [[0, math.nan], [1, 1]],
        [["1", "2"], ["3", "4"]],
        [[True], [False]],
        [[0], [1e170]],
    ):
        with pytest.raises(warner.errors.WarnerError):
            Points(wrong)
    domain = Points([[0, 0], [1.5, -2]])
    assert domain.encode([[1.5, -2.0], (0, 0)]).tolist() == [1, 0] and domain.encode(
        np.array([[0, 0]])
    ).tolist() == [0]
    for bad in (
        [[1, 1]],
        [(0,)],
        ["00"],
        [None],
        [[True, False]],
        [[math.nan, 0]],
        np.zeros((2, 3)),
        3,
    ):
        with pytest.raises(warner.errors.WarnerError):
            domain.encode(bad)
    assert warner.domains.from_spec(domain.spec()) == domain
