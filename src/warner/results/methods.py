"""The names that estimators have in Python and on the command line, such as ``mle``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from warner._core.checks import kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.text import meant
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
from warner.mechanisms.headers import same_definition
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


def estimator_of(chosen: Estimator | str) -> Estimator:
    """The estimator that an argument means: itself, or the one that its name stands for.

    >>> estimator_of("mle") == estimator_of(MaximumLikelihood())
    True
    """
    if isinstance(chosen, Estimator):
        return chosen
    if isinstance(chosen, str):
        return method(chosen)
    rule = "must be an estimator object, or the name of one"
    remedy = "For example MaximumLikelihood() or 'mle'"
    raise ArgumentTypeError("method", rule, kind(chosen), remedy)


def estimators_of(methods: Sequence[Estimator | str]) -> list[Estimator]:
    """The estimators of a list of estimators and names."""
    alone = isinstance(methods, Estimator | str)
    if alone or not isinstance(methods, Sequence) or not methods:
        rule, remedy = "must be a list of estimators", "For example [MaximumLikelihood(), 'eb']"
        is_empty = isinstance(methods, Sequence) and not methods
        got = "an empty list" if is_empty else kind(methods)
        raise ArgumentTypeError("methods", rule, got, remedy)
    for each in methods:
        if not isinstance(each, Estimator | str):
            rule = "must all be estimators, or names such as 'mle'"
            raise ArgumentTypeError("methods", rule, kind(each))
    return [estimator_of(each) for each in methods]


def method(name: str) -> Estimator:
    """The estimator that a name stands for.

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
    if (
        word not in METHODS
        or (word == "em") != bool(detail)
        or (detail and not detail.isdecimal() and detail != "auto")
    ):
        em = ("em:STEPS", "em:auto", *(f"em:{start}" for start in _STARTS))
        known = [n for each in METHODS for n in (em if each == "em" else (each,))]
        remedy = meant(name, known)
        raise ArgumentError("method", f"must be one of {', '.join(known)}", show(name), remedy)
    if detail:
        return METHODS[word](int(detail) if detail.isdecimal() else detail)
    return METHODS[word]()


def add_method(name: str, make: Callable[[], Estimator]) -> None:
    """Give an estimator a name, in Python and on the command line."""
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9-]*", name):
        rule, remedy = "must be lower-case letters, digits and hyphens", "For example 'my-method'"
        raise ArgumentError("name", rule, show(name), remedy)
    known = METHODS.get(name)
    if name in SYNONYMS or (known is not None and not same_definition(known, make)):
        raise ArgumentError("name", "is taken by another method", show(name), "Rename it")
    try:
        made: object = make()
    except TypeError as problem:
        rule, remedy = "must make an estimator without arguments", "Give each option a default"
        raise ArgumentTypeError(name, rule, str(problem), remedy) from None
    if not isinstance(made, Estimator):
        rule, remedy = "must make an estimator", "Derive the class from warner.estimators.Estimator"
        raise ArgumentTypeError(name, rule, kind(made), remedy)
    METHODS[name] = make
