"""The names that estimators have on the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from warner._core.errors import ArgumentError, message
from warner.estimators import (
    EmpiricalBayes,
    Estimator,
    ExpectationMaximization,
    Independent,
    Inversion,
    KeyMeans,
    LogSpline,
    MaximumLikelihood,
    Observed,
    PerKey,
    SampleMean,
    Uniform,
)
from warner.estimators.inversion import SYNONYMS
from warner.estimators.literature import (
    BiasCorrection,
    MixtureReduction,
    SmoothedEM,
    WienerFilter,
)

# What each name makes. ``em`` takes a number of steps or "auto": em:100, em:auto.
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
    """The estimator that a name on the command line stands for.

    Args:
        name: one of ``METHODS``, in any case, or a synonym such as ``norm-sub``. ``em`` needs a
            number of steps or ``auto``: ``em:100``, ``em:auto``.

    Returns:
        The estimator, with its default options.

    Raises:
        ArgumentError: no method has this name.

    >>> method("em:50"), method("em:auto")
    (ExpectationMaximization(steps=50), ExpectationMaximization(steps='auto'))
    >>> method("norm-sub")
    Inversion(constraint='project')
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
