"""The experiments of the five papers, as data for one runner, and their results.

An :class:`Experiment` lists its cells and the number of runs of each cell. It also has the measure
of a cell, the statement of the paper, the claims to check and the pictures to draw.
:func:`reproduce` runs experiments in several processes with recorded seeds. It continues where an
earlier run stopped.
"""

from papers.data_sets import DATA_SETS, DataFolder, DataSet
from papers.experiment import Claim, Experiment, Failure, Picture, Reason, Verdict, cells_of
from papers.measure import Measure
from papers.measures import (
    BiasAndVariance,
    EstimationError,
    People,
    PerRun,
    of_shares,
)
from papers.registry import experiments, select
from papers.runner import Outcome, reproduce
from papers.table import Table

__all__ = [
    "DATA_SETS",
    "BiasAndVariance",
    "Claim",
    "DataFolder",
    "DataSet",
    "EstimationError",
    "Experiment",
    "Failure",
    "Measure",
    "Outcome",
    "People",
    "PerRun",
    "Picture",
    "Reason",
    "Table",
    "Verdict",
    "cells_of",
    "experiments",
    "of_shares",
    "reproduce",
    "select",
]
