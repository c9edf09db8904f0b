"""Pure functions of arrays: losses between distributions, quantiles, and projections."""

from __future__ import annotations

from warner.metrics.losses import (
    ROUNDING,
    cramers_v,
    cumulative,
    earth_movers,
    jensen_shannon,
    l1,
    mean_absolute_error,
    mean_squared_error,
    quantile_error,
    quantiles,
    range_error,
    shares,
    sum_of_squares,
    total_variation,
    wasserstein1,
)
from warner.metrics.simplex import base_cut, normalize, project, threshold

__all__ = [
    "ROUNDING",
    "cramers_v",
    "cumulative",
    "earth_movers",
    "jensen_shannon",
    "l1",
    "mean_absolute_error",
    "mean_squared_error",
    "quantile_error",
    "quantiles",
    "range_error",
    "shares",
    "sum_of_squares",
    "total_variation",
    "wasserstein1",
    "base_cut",
    "normalize",
    "project",
    "threshold",
]
