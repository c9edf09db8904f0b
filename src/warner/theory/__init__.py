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

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
