"""Pure functions of arrays: losses between distributions, errors over runs, and projections."""

from __future__ import annotations

from warner.metrics.losses import (
    ROUNDING,
    cramers_v,
    cumulative,
    earth_movers,
    jensen_shannon,
    kullback_leibler,
    l1,
    mean_absolute_error,
    mean_error,
    mean_squared_error,
    quantile_error,
    quantiles,
    range_error,
    shares,
    sum_of_squares,
    total_variation,
    variance_error,
    wasserstein1,
)
from warner.metrics.repetitions import (
    BiasVariance,
    PairedErrors,
    bias_variance,
    paired_errors,
)
from warner.metrics.simplex import base_cut, normalize, project, threshold

__all__ = [
    "ROUNDING",
    "BiasVariance",
    "PairedErrors",
    "bias_variance",
    "cramers_v",
    "cumulative",
    "earth_movers",
    "jensen_shannon",
    "kullback_leibler",
    "l1",
    "mean_absolute_error",
    "mean_error",
    "mean_squared_error",
    "paired_errors",
    "quantile_error",
    "quantiles",
    "range_error",
    "shares",
    "sum_of_squares",
    "total_variation",
    "variance_error",
    "wasserstein1",
    "base_cut",
    "normalize",
    "project",
    "threshold",
]
