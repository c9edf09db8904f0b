from .information import (
    cramer_rao as cramer_rao,
    effective_sample_size as effective_sample_size,
    fisher_information as fisher_information,
    maximum_likelihood_error as maximum_likelihood_error,
    minimax_sample_size as minimax_sample_size,
    second_order_error as second_order_error,
)
from .inversion import (
    divergence_tail as divergence_tail,
    expected_loss as expected_loss,
    independence_bound as independence_bound,
    inversion_squares as inversion_squares,
    minimax_rate as minimax_rate,
    people_for_difference as people_for_difference,
    power_for_difference as power_for_difference,
    prefers_sample_mean as prefers_sample_mean,
    reduction_error as reduction_error,
    rounding_error as rounding_error,
    worst_case_loss as worst_case_loss,
)
from .local_bounds import (
    LocalBound as LocalBound,
    local_bound as local_bound,
)
