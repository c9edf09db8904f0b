"""The experiments of P4: the iterative Bayesian update against inversion."""

from __future__ import annotations

from papers.experiment import Experiment
from papers.p4 import numbers, places, surfaces

_FIGURES = {
    experiment.name: experiment
    for experiment in (*numbers.EXPERIMENTS, *places.EXPERIMENTS, *surfaces.EXPERIMENTS)
}
EXPERIMENTS: tuple[Experiment, ...] = tuple(
    _FIGURES[f"P4/fig{number}"] for number in (1, 2, 4, 5, 8, 9, 10, 11, 12, 13, 14)
)
