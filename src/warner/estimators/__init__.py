"""Estimators: methods that turn reports into a distribution.

An estimator reads ``LikelihoodData`` (a channel and the frequencies of its rows). It never
imports a mechanism. To add one: write a class with ``_fit`` in a file here, list it below and in
``warner.results.recommend``, and add it to the registry of the tests.

``warner.estimators.literature`` holds published methods that are kept for comparison only.
"""

from __future__ import annotations

from warner.estimators import literature
from warner.estimators.base import Estimator
from warner.estimators.em import ExpectationMaximization
from warner.estimators.empirical_bayes import EmpiricalBayes
from warner.estimators.inversion import Independent, Inversion, Observed, SampleMean, Uniform
from warner.estimators.key_value import KeyMeans, PerKey
from warner.estimators.log_spline import LogSpline
from warner.estimators.maximum_likelihood import MaximumLikelihood
from warner.estimators.raking import RakedJoint

__all__ = [
    "EmpiricalBayes",
    "Estimator",
    "ExpectationMaximization",
    "Independent",
    "Inversion",
    "KeyMeans",
    "LogSpline",
    "MaximumLikelihood",
    "Observed",
    "PerKey",
    "RakedJoint",
    "SampleMean",
    "Uniform",
    "literature",
]
