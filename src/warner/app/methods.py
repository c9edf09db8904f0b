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
    RakedJoint,
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
from warner.results.recommend import fit_alone

# Where EM starts, by the word behind ``em:``; it then runs until a step gains less than _SETTLED
# nats over all reports.
_STARTS: dict[str, str | Estimator] = {
    "histogram": "histogram",
    "threshold": Inversion("threshold"),
}
_SETTLED = 1e-3

# What each name makes. ``em`` takes a number of steps, "auto" or one of _STARTS: em:100, em:auto,
# em:histogram.
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
    "raked": partial(RakedJoint, fit_alone),
    "pckv": KeyMeans,
    "per-key": PerKey,
    "uniform": Uniform,
    "observed": Observed,
}


def method(name: str) -> Estimator:
    """The estimator that a name on the command line stands for.

    Args:
        name: one of ``METHODS``, in any case, or a synonym such as ``norm-sub``. ``em`` needs a
            number of steps, ``auto``, or a start: ``em:100``, ``em:auto``, ``em:histogram``.
            From a start it runs until a step raises the log-likelihood of all reports by less
            than 0.001 nats.

    Returns:
        The estimator, with its default options.

    Raises:
        ArgumentError: no method has this name.

    >>> method("em:50"), method("em:auto")
    (ExpectationMaximization(steps=50), ExpectationMaximization(steps='auto'))
    >>> method("em:histogram")
    ExpectationMaximization(start='histogram', tolerance=0.001)
    >>> method("norm-sub")
    Inversion(constraint='project')
    """
    word, _, detail = name.lower().partition(":")
    word = SYNONYMS.get(word) or word
    if word == "em" and detail in _STARTS:
        return ExpectationMaximization(start=_STARTS[detail], tolerance=_SETTLED)
    em = "em:STEPS, em:auto, " + ", ".join(f"em:{start}" for start in _STARTS)
    known = ", ".join(METHODS).replace("em,", f"{em},")
    if (
        word not in METHODS
        or (word == "em") != bool(detail)
        or (detail and not detail.isdecimal() and detail != "auto")
    ):
        raise ArgumentError(message("method", f"must be one of {known}", repr(name)))
    if detail:
        return METHODS[word](int(detail) if detail.isdecimal() else detail)
    return METHODS[word]()
