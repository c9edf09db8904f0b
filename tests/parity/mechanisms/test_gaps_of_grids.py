"""Device programs on grids with gaps, where no two values may have a distance of the grid."""

from __future__ import annotations

from tests.parity.mechanisms._device import exponential_table
from warner import Grid
from warner.mechanisms import Exponential


def test_distances_that_no_two_values_have_need_no_weight() -> None:
    """Rejects: a program that looks up the weight of every distance of the grid."""
    mechanism = Exponential(Grid(1, 6, without=[(0, 2), (0, 3)]), 0.3)
    program = mechanism.device_program()
    assert exponential_table(program) == mechanism.law.numerators.T.tolist()
    assert program["weights"][0][2] == 0
