"""Log-splines: a distribution over ordered values, as smooth as the reports say (METHODS 5).

``likelihood``
    The likelihood and its derivatives, exactly or to second order.

``cells``
    Cells of consecutive values, where there are very many.

``basis``
    The columns X of log theta = X phi.

``coefficient_prior``
    The prior of phi.

``penalized_maximum``
    One order and scale: Newton's method, and the evidence.

``model_average``
    All orders and scales, their probabilities, and draws from their mixture.

``estimator``
    The estimator, which averages them.
"""

from __future__ import annotations

from warner.estimators.log_spline.basis import Design, design, design_of_cells, softmax
from warner.estimators.log_spline.cells import Cells, cells_for
from warner.estimators.log_spline.coefficient_prior import CoefficientPrior
from warner.estimators.log_spline.estimator import LogSpline
from warner.estimators.log_spline.likelihood import Expansion, Likelihood
from warner.estimators.log_spline.model_average import Draws, fit_grid, posterior
from warner.estimators.log_spline.penalized_maximum import (
    Model,
    derivatives,
    maximize_penalized,
)

__all__ = [
    "Cells",
    "CoefficientPrior",
    "Design",
    "Draws",
    "Expansion",
    "Likelihood",
    "LogSpline",
    "Model",
    "cells_for",
    "derivatives",
    "design",
    "design_of_cells",
    "fit_grid",
    "maximize_penalized",
    "posterior",
    "softmax",
]
