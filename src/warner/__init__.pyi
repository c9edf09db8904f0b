from . import (
    channels as channels,
    design as design,
    designs as designs,
    domains as domains,
    errors as errors,
    estimators as estimators,
    io as io,
    mechanisms as mechanisms,
    metrics as metrics,
    privacy as privacy,
    regression as regression,
    reports as reports,
    results as results,
    spark as spark,
    studies as studies,
    testing as testing,
    theory as theory,
)
from .collector.device import Device as Device
from .design.audits import audit as audit
from .design.benchmark import benchmark as benchmark
from .design.planning import plan as plan
from .domains import (
    Categorical as Categorical,
    Grid as Grid,
    Integers as Integers,
    Interval as Interval,
    Product as Product,
    Words as Words,
)
from .estimators import (
    EmpiricalBayes as EmpiricalBayes,
    ExpectationMaximization as ExpectationMaximization,
    Inversion as Inversion,
    LogSpline as LogSpline,
    MaximumLikelihood as MaximumLikelihood,
)
from .mechanisms import (
    HadamardResponse as HadamardResponse,
    KeyValue as KeyValue,
    Laplace as Laplace,
    LocalHashing as LocalHashing,
    MatrixMechanism as MatrixMechanism,
    OneOf as OneOf,
    Optimal as Optimal,
    PerAttribute as PerAttribute,
    PlanarGeometric as PlanarGeometric,
    RandomizedResponse as RandomizedResponse,
    SquareWave as SquareWave,
    SubsetSelection as SubsetSelection,
    UnaryEncoding as UnaryEncoding,
    UtilityOptimizedRR as UtilityOptimizedRR,
)
from .privacy import LDP as LDP
from .regression.answer import regress as regress
from .reports.reports import Reports as Reports
from .reports.tally import Tally as Tally
from .results.differences import compare_groups as compare_groups
from .results.estimate import Estimate as Estimate, estimate as estimate
from .results.graphical_model import graphical_model as graphical_model
from .results.recommend import register as register
from .results.weights import weighted as weighted
from .studies.study import Study as Study
from .studies.word_search import find as find

__version__: str
