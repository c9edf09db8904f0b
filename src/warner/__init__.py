"""warner: learn the distribution of sensitive answers without collecting them.

values --randomize--> Reports --tally--> Tally --estimate--> Estimate

The names here serve most studies. The packages below hold all of them:

    warner.domains      what a person can answer
    warner.mechanisms   how an answer is randomised
    warner.privacy      guarantees, and how they compose
    warner.estimators   how shares are estimated from a tally
    warner.theory       expected errors in closed form
    warner.metrics      losses between distributions
    warner.testing      tests for mechanisms and estimators of your own
    warner.io           report files and data frames
    warner.spark        reports in a Spark cluster; imported when it is first used
    warner.errors       every error that warner raises
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from warner._core.foreign_tables import (
    ForeignTable as _ForeignTable,
    register_reader as _register_reader,
)

__version__ = "0.1.0"

__all__ = [
    # packages
    "domains",
    "errors",
    "estimators",
    "io",
    "mechanisms",
    "metrics",
    "privacy",
    "spark",
    "testing",
    "theory",
    # domains
    "Domain",
    "Categorical",
    "Integers",
    "Interval",
    "Grid",
    "Points",
    "Product",
    # mechanisms
    "RandomizedResponse",
    "UnaryEncoding",
    "LocalHashing",
    "SubsetSelection",
    "HadamardResponse",
    "ProjectiveGeometryResponse",
    "UtilityOptimizedRR",
    "UtilityOptimizedRappor",
    "PersonalizedULDP",
    "SquareWave",
    "Laplace",
    "Geometric",
    "PlanarGeometric",
    "MatrixMechanism",
    "PerAttribute",
    "Repeated",
    "KeyValue",
    # what travels from people to the collector
    "Reports",
    "Tally",
    # estimation
    "estimate",
    "Estimate",
    "Status",
    "Inversion",
    "MaximumLikelihood",
    "EmpiricalBayes",
    "ExpectationMaximization",
    "LogSpline",
    "SampleMean",
    "graphical_model",
    "GraphicalModel",
    "regress",
    # groups of people
    "goodness_of_fit",
    "independence",
    "weighted",
    # design of a study
    "Study",
    "plan",
    "audit",
    "compare",
    "compare_groups",
    "benchmark",
    "compare_schemes",
    "clusters",
    "LDP",
    "compose",
    # all of it
    "progress",
    "register",
    "WarnerError",
]

# Where the names are defined. A module is imported when one of its names is first asked for, so
# each program loads what it uses. Type checkers read the imports below.
_HOMES = {
    "warner._core.progress": ("progress",),
    "warner.design.audits": ("audit",),
    "warner.design.benchmark": ("benchmark",),
    "warner.design.comparison": ("compare",),
    "warner.design.planning": ("plan",),
    "warner.design.schemes": ("clusters", "compare_schemes"),
    "warner.domains": (
        "Categorical",
        "Domain",
        "Grid",
        "Integers",
        "Interval",
        "Points",
        "Product",
    ),
    "warner.errors": ("WarnerError",),
    "warner.estimators": (
        "EmpiricalBayes",
        "ExpectationMaximization",
        "Inversion",
        "LogSpline",
        "MaximumLikelihood",
        "SampleMean",
    ),
    "warner.estimators.base": ("Status",),
    "warner.mechanisms": (
        "MatrixMechanism",
        "Geometric",
        "HadamardResponse",
        "KeyValue",
        "Laplace",
        "LocalHashing",
        "PerAttribute",
        "PersonalizedULDP",
        "PlanarGeometric",
        "ProjectiveGeometryResponse",
        "RandomizedResponse",
        "Repeated",
        "SquareWave",
        "SubsetSelection",
        "UnaryEncoding",
        "UtilityOptimizedRappor",
        "UtilityOptimizedRR",
    ),
    "warner.privacy": (
        "LDP",
        "compose",
    ),
    "warner.regression.answer": ("regress",),
    "warner.reports.reports": ("Reports",),
    "warner.reports.tally": ("Tally",),
    "warner.results.differences": ("compare_groups", "goodness_of_fit", "independence"),
    "warner.results.estimate": ("Estimate", "estimate"),
    "warner.results.graphical_model": (
        "GraphicalModel",
        "graphical_model",
    ),
    "warner.results.recommend": ("register",),
    "warner.results.weights": ("weighted",),
    "warner.studies.study": ("Study",),
}
_PLACES = {name: module for module, names in _HOMES.items() for name in names}
# Not public, but scripts and messages name modules in them, such as warner.reports.tally.
_ROOMS = ("channels", "design", "regression", "reports", "results", "studies")


def __dir__() -> list[str]:
    """The public names. Modules that Python sets as attributes while it imports are left out."""
    return sorted([*__all__, "__version__"])


def _frame_of_reports(data: _Any) -> _ForeignTable | None:
    """The data frame that an object is, by a reader that is imported for such objects alone."""
    # Frames have columns by their class; data sets of Arrow have scanners, and readers streams.
    if not any(hasattr(type(data), name) for name in ("columns", "scanner", "__arrow_c_stream__")):
        return None
    from warner.io.frames import frame_of_reports

    return frame_of_reports(data)


_register_reader(_frame_of_reports)


if _TYPE_CHECKING:
    from warner import (
        domains,
        errors,
        estimators,
        io,
        mechanisms,
        metrics,
        privacy,
        spark,
        testing,
        theory,
    )
    from warner._core.progress import progress
    from warner.design.audits import audit
    from warner.design.benchmark import benchmark
    from warner.design.comparison import compare
    from warner.design.planning import plan
    from warner.design.schemes import clusters, compare_schemes
    from warner.domains import Categorical, Domain, Grid, Integers, Interval, Points, Product
    from warner.errors import WarnerError
    from warner.estimators import (
        EmpiricalBayes,
        ExpectationMaximization,
        Inversion,
        LogSpline,
        MaximumLikelihood,
        SampleMean,
    )
    from warner.estimators.base import Status
    from warner.mechanisms import (
        Geometric,
        HadamardResponse,
        KeyValue,
        Laplace,
        LocalHashing,
        MatrixMechanism,
        PerAttribute,
        PersonalizedULDP,
        PlanarGeometric,
        ProjectiveGeometryResponse,
        RandomizedResponse,
        Repeated,
        SquareWave,
        SubsetSelection,
        UnaryEncoding,
        UtilityOptimizedRappor,
        UtilityOptimizedRR,
    )
    from warner.privacy import LDP, compose
    from warner.regression.answer import regress
    from warner.reports.reports import Reports
    from warner.reports.tally import Tally
    from warner.results.differences import compare_groups, goodness_of_fit, independence
    from warner.results.estimate import Estimate, estimate
    from warner.results.graphical_model import GraphicalModel, graphical_model
    from warner.results.recommend import register
    from warner.results.weights import weighted
    from warner.studies.study import Study
else:

    def __getattr__(name: str) -> object:
        """A public name that is asked for the first time."""
        if name in _PLACES:
            thing = getattr(_import_module(_PLACES[name]), name)
        elif name in __all__:
            thing = _import_module(f"warner.{name}")
        elif name in _ROOMS:
            for module in _HOMES:  # which import the modules of these packages
                _import_module(module)
            thing = _import_module(f"warner.{name}")
        else:
            raise AttributeError(f"module 'warner' has no attribute {name!r}")
        globals()[name] = thing
        return thing
