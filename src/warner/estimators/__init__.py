"""Estimators: from evidence to a distribution. They know channels and weights, never mechanisms."""

from __future__ import annotations

from warner.estimators._base import Estimator
from warner.estimators.em import ExpectationMaximization
from warner.estimators.inversion import Inversion, Observed, Uniform
from warner.estimators.likelihood import MaximumLikelihood

# The registration of an estimator: its class, and a default instance per name on the command line.
ESTIMATORS: tuple[type[Estimator], ...] = (Inversion, ExpectationMaximization, MaximumLikelihood, Uniform, Observed)

__all__ = ["ESTIMATORS", "Estimator", "ExpectationMaximization", "Inversion", "MaximumLikelihood", "Observed", "Uniform"]
