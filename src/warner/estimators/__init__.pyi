from . import literature as literature
from .base import Estimator as Estimator, Status as Status
from .em import ExpectationMaximization as ExpectationMaximization
from .empirical_bayes import EmpiricalBayes as EmpiricalBayes
from .inversion import (
    Independent as Independent,
    Inversion as Inversion,
    Observed as Observed,
    SampleMean as SampleMean,
    Uniform as Uniform,
)
from .key_value import KeyMeans as KeyMeans, PerKey as PerKey
from .log_spline import LogSpline as LogSpline
from .maximum_likelihood import MaximumLikelihood as MaximumLikelihood
from .raking import RakedJoint as RakedJoint
