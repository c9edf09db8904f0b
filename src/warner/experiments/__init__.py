"""The experiments of the five papers, as data for one runner, and what comes out of them.

An :class:`Experiment` says which cells are run how often, how a cell is measured, what the paper
says, which claims are checked and which pictures are drawn. :func:`reproduce` runs experiments, in
processes, with recorded seeds, and goes on where an earlier run stopped.
"""

from warner.experiments.data_sets import DATA_SETS, DataFolder, DataSet
from warner.experiments.experiment import Claim, Experiment, Picture, Verdict, cells_of
from warner.experiments.measure import Measure
from warner.experiments.measures import (
    BiasAndVariance,
    EstimationError,
    People,
    PerRun,
    of_shares,
)
from warner.experiments.registry import experiments, select
from warner.experiments.runner import Outcome, reproduce
from warner.experiments.table import Table

__all__ = [
    "DATA_SETS",
    "BiasAndVariance",
    "Claim",
    "DataFolder",
    "DataSet",
    "EstimationError",
    "Experiment",
    "Measure",
    "Outcome",
    "People",
    "PerRun",
    "Picture",
    "Table",
    "Verdict",
    "cells_of",
    "experiments",
    "of_shares",
    "reproduce",
    "select",
]
