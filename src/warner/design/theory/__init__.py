"""Expected errors and their bounds in closed form, before anyone is asked (METHODS 6).

Nothing here samples. Each statement of a paper that is wrong is corrected, and the docstring says
so.
"""

from __future__ import annotations

from warner.design.theory.differences import people_for_difference, power_for_difference
from warner.design.theory.information import (
    cramer_rao,
    effective_sample_size,
    fisher_information,
    maximum_likelihood_error,
    minimax_sample_size,
    second_order_error,
)
from warner.design.theory.inversion import (
    LOSSES,
    expected_loss,
    minimax_rate,
    prefers_sample_mean,
    reduction_error,
    worst_case_loss,
)
from warner.design.theory.joint import (
    MAX_PEOPLE,
    divergence_tail,
    independence_bound,
    inversion_squares,
    rounding_error,
)

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
