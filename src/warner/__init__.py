"""warner: learn the distribution of sensitive answers without collecting them.

values --randomize--> Reports --tally--> Tally --estimate--> Estimate
"""

from __future__ import annotations

from warner import metrics, theory, uldp
from warner._check import (
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
from warner.audit import Audit, audit
from warner.clusters import clusters
from warner.compare import compare
from warner.domain import Categorical, Domain, Grid, Integers, Interval, Points, Product
from warner.estimate import Estimate, estimate
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
from warner.guarantee import LDP, OSLDP, ULDP, ApproximateLDP, MetricLDP, compose
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
from warner.personal import redistribute
from warner.plan import plan
from warner.reports import Reports
from warner.schemes import compare_schemes
from warner.study import Study
from warner.tally import Tally

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
