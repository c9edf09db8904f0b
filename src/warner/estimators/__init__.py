"""Estimators: from evidence to a distribution. They know channels and weights, never mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.estimators.base import Estimator
from warner.estimators.em.bias_correction import BiasCorrection
from warner.estimators.em.expectation_maximization import ExpectationMaximization
from warner.estimators.em.mixture_reduction import MixtureReduction
from warner.estimators.em.smoothed import SmoothedEM
from warner.estimators.empirical_bayes.estimator import EmpiricalBayes
from warner.estimators.independent import Independent
from warner.estimators.inversion import SYNONYMS, Inversion, Observed, Uniform
from warner.estimators.key_value import KeyMeans, PerKey
from warner.estimators.log_spline import LogSpline
from warner.estimators.mle.maximum_likelihood import MaximumLikelihood
from warner.estimators.sample_mean import SampleMean
from warner.estimators.wiener import WienerFilter

# The registration of an estimator: its names on the command line, and what each makes. ``em`` takes a number, or auto: em:100.
METHODS: dict[str, Callable[..., Estimator]] = {
    "inversion": Inversion,
    "project": partial(Inversion, "project"),
    "normalize": partial(Inversion, "normalize"),
    "base-cut": partial(Inversion, "base-cut"),
    "threshold": partial(Inversion, "threshold"),
    "mle": MaximumLikelihood,
    "em": ExpectationMaximization,
    "mean": SampleMean,
    "ems": SmoothedEM,
    "spline": LogSpline,
    "mr": MixtureReduction,
    "wiener": WienerFilter,
    "eb": EmpiricalBayes,
    "eb-median": partial(EmpiricalBayes, "absolute"),
    "bias": BiasCorrection,
    "em-independent": partial(ExpectationMaximization, "auto", start="independent"),
    "independent": Independent,
    "pckv": KeyMeans,
    "per-key": PerKey,
    "uniform": Uniform,
    "observed": Observed,
}


def method(name: str) -> Estimator:
    """The estimator that a name on the command line stands for; ``em:STEPS`` and ``em:auto`` say how many steps.

    >>> method("em:50"), method("em:auto"), method("norm-sub")
    (ExpectationMaximization(steps=50), ExpectationMaximization(steps='auto'), Inversion(constraint='project'))
    """
    word, _, number = name.lower().partition(":")
    word = SYNONYMS.get(word) or word
    known = ", ".join(METHODS).replace("em,", "em:STEPS, em:auto,")
    if (
        word not in METHODS
        or (word == "em") != bool(number)
        or (number and not number.isdecimal() and number != "auto")
    ):
        raise ArgumentError(message("method", f"must be one of {known}", repr(name)))
    if number:
        return METHODS[word](int(number) if number.isdecimal() else number)
    return METHODS[word]()


__all__ = [
    "BiasCorrection",
    "EmpiricalBayes",
    "Estimator",
    "ExpectationMaximization",
    "Independent",
    "Inversion",
    "KeyMeans",
    "LogSpline",
    "METHODS",
    "MaximumLikelihood",
    "MixtureReduction",
    "Observed",
    "PerKey",
    "SampleMean",
    "SmoothedEM",
    "Uniform",
    "WienerFilter",
    "method",
]
