"""The experiments of P1: EM, its correction and simpler methods on the reports of few people."""

from __future__ import annotations

from warner.experiments.experiment import Experiment
from warner.experiments.papers.p1 import errors, methods, regions

EXPERIMENTS: tuple[Experiment, ...] = (
    *errors.EXPERIMENTS,
    *regions.EXPERIMENTS,
    *methods.EXPERIMENTS,
)
