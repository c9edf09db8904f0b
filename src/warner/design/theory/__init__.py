"""Expected errors and their bounds in closed form, before anyone is asked (METHODS 6).

Nothing here samples. Each statement of a paper that is wrong is corrected, and the docstring says
so.
"""

from __future__ import annotations

from warner.design.theory.differences import people_for_difference, power_for_difference
from warner.design.theory.groups import MAX_PEOPLE
from warner.design.theory.information import (
    cramer_rao,
    effective_sample_size,
    fisher_information,
    minimax_sample_size,
)
from warner.design.theory.inversion import LOSSES, expected_loss, worst_case_loss
from warner.design.theory.joint import independence_bound, inversion_squares, rounding_error
from warner.design.theory.minimax import minimax_rate
from warner.design.theory.reduction import reduction_error
from warner.design.theory.repeated import divergence_tail
from warner.design.theory.sample_mean import prefers_sample_mean
from warner.design.theory.second_order import maximum_likelihood_error, second_order_error

__all__ = [
    "LOSSES",
    "MAX_PEOPLE",
    "cramer_rao",
    "divergence_tail",
    "effective_sample_size",
    "expected_loss",
    "fisher_information",
    "independence_bound",
    "inversion_squares",
    "maximum_likelihood_error",
    "minimax_rate",
    "minimax_sample_size",
    "people_for_difference",
    "power_for_difference",
    "prefers_sample_mean",
    "reduction_error",
    "rounding_error",
    "second_order_error",
    "worst_case_loss",
]
