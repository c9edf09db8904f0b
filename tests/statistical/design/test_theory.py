"""Squared errors of joint inversion are the closed form. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.results._pairs import _family, _tallies
from warner import Inversion
from warner.theory import inversion_squares


@pytest.mark.parametrize("v", [0.0, 0.9])
def test_squared_errors_of_joint_inversion_are_the_closed_form(v: float) -> None:
    """Within 6 standard errors over 300 tallies. Mutants: one budget for both attributes together,
    and one report counted twice (2 n).
    """
    theta, epsilon = (
        _family(v),
        float(np.log(6)),
    )  # keep 0.5 of 5 values is epsilon = ln(1 + d) (METHODS 9.2)
    errors = np.array(
        [
            ((Inversion().fit(each).shares - theta) ** 2).sum()
            for each in _tallies(theta, 2000, 300, 6)
        ]
    )
    margin = 6 * errors.std() / np.sqrt(len(errors))
    assert (
        abs(errors.mean() - inversion_squares([5, 5], [epsilon, epsilon], 2000, theta @ theta))
        < margin
    )
    for mutant in (
        inversion_squares([25], [2 * epsilon], 2000, theta @ theta),
        inversion_squares([5, 5], [epsilon] * 2, 4000, theta @ theta),
    ):
        assert abs(errors.mean() - mutant) > margin
