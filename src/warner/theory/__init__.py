"""Expected errors and their bounds, before anyone is asked (METHODS 6).

Nothing here samples. Each statement of a paper that is wrong is corrected, and the docstring says
so.

``expected_loss`` and ``worst_case_loss`` are of the inversion. ``fisher_information``,
``cramer_rao`` and ``effective_sample_size`` bound any unbiased estimate.
``maximum_likelihood_error``, ``second_order_error`` and ``reduction_error`` are of the maximum of
the likelihood. ``inversion_squares``, ``independence_bound`` and ``rounding_error`` are of joint
distributions, ``divergence_tail`` of many reports of one value, ``local_bound`` and the minimax
figures of any mechanism. ``people_for_difference`` and ``power_for_difference`` are of a test
between groups.
"""

from __future__ import annotations

from warner.theory.information import (
    cramer_rao,
    effective_sample_size,
    fisher_information,
    maximum_likelihood_error,
    minimax_sample_size,
    second_order_error,
)
from warner.theory.inversion import (
    divergence_tail,
    expected_loss,
    independence_bound,
    inversion_squares,
    minimax_rate,
    people_for_difference,
    power_for_difference,
    prefers_sample_mean,
    reduction_error,
    rounding_error,
    worst_case_loss,
)
from warner.theory.local_bounds import LocalBound, local_bound

__all__ = [
    "LocalBound",
    "cramer_rao",
    "divergence_tail",
    "effective_sample_size",
    "expected_loss",
    "fisher_information",
    "independence_bound",
    "inversion_squares",
    "local_bound",
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
