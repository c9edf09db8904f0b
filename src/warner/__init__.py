"""warner: learn the distribution of sensitive answers without collecting them.

values --randomize--> Reports --tally--> Tally --estimate--> Estimate
"""

from __future__ import annotations

from warner import metrics
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    FileError,
    IdentifiabilityError,
    ImpossibleReportError,
    MismatchError,
    MissingExtraError,
    ReportError,
    StudyError,
    ValuesError,
    WarnerError,
)
from warner.app.study import Study
from warner.design import theory
from warner.design.audits import Audit, audit
from warner.design.clusters import clusters
from warner.design.comparison import compare
from warner.design.planning import plan
from warner.design.schemes import compare_schemes
from warner.domains import Categorical, Domain, Grid, Integers, Interval, Points, Product
from warner.estimators import (
    BiasCorrection,
    EmpiricalBayes,
    ExpectationMaximization,
    Independent,
    Inversion,
    KeyMeans,
    LogSpline,
    MaximumLikelihood,
    MixtureReduction,
    Observed,
    PerKey,
    SampleMean,
    SmoothedEM,
    Uniform,
    WienerFilter,
)
from warner.estimators.fit import Status
from warner.mechanisms import (
    ChannelMechanism,
    Exponential,
    Gaussian,
    Geometric,
    HadamardResponse,
    KeyValue,
    Laplace,
    LocalHashing,
    Mechanism,
    PerAttribute,
    Personalized,
    Piecewise,
    PlanarGeometric,
    PlanarLaplace,
    RandomizedResponse,
    Repeated,
    SquareWave,
    StochasticRounding,
    SubsetSelection,
    TruncatedGeometric,
    UnaryEncoding,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
)
from warner.privacy import postprocessing as uldp
from warner.privacy.composition import compose
from warner.privacy.guarantees import LDP, OSLDP, ULDP, ApproximateLDP, MetricLDP
from warner.reports.reports import Reports
from warner.reports.tally import Tally
from warner.results.estimate import Estimate, estimate
from warner.results.redistribution import redistribute

__version__ = "0.1.0"

__all__ = [
    # domains
    "Domain",
    "Categorical",
    "Integers",
    "Interval",
    "Grid",
    "Points",
    "Product",
    # mechanisms
    "Mechanism",
    "RandomizedResponse",
    "UnaryEncoding",
    "LocalHashing",
    "SubsetSelection",
    "HadamardResponse",
    "ChannelMechanism",
    "UtilityOptimizedRR",
    "UtilityOptimizedRappor",
    "Personalized",
    "SquareWave",
    "Piecewise",
    "StochasticRounding",
    "Laplace",
    "Gaussian",
    "Geometric",
    "TruncatedGeometric",
    "PlanarGeometric",
    "PlanarLaplace",
    "Exponential",
    "PerAttribute",
    "Repeated",
    "KeyValue",
    # what travels
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
    "SampleMean",
    "SmoothedEM",
    "LogSpline",
    "MixtureReduction",
    "WienerFilter",
    "BiasCorrection",
    "Independent",
    "KeyMeans",
    "PerKey",
    "Uniform",
    "Observed",
    "redistribute",
    "compare",
    "compare_schemes",
    "clusters",
    # around
    "audit",
    "Audit",
    "compose",
    "plan",
    "theory",
    "uldp",
    "LDP",
    "ULDP",
    "OSLDP",
    "MetricLDP",
    "ApproximateLDP",
    "metrics",
    "Study",
    # errors
    "WarnerError",
    "ArgumentError",
    "ArgumentTypeError",
    "BudgetError",
    "EmptyError",
    "FileError",
    "IdentifiabilityError",
    "ImpossibleReportError",
    "MismatchError",
    "MissingExtraError",
    "ReportError",
    "StudyError",
    "ValuesError",
]
