"""The experiments of P1: EM, its correction and simpler methods on the reports of few people."""

from __future__ import annotations

from papers.experiment import Experiment
from papers.p1 import errors, methods, pairs, places, regions, weights

EXPERIMENTS: tuple[Experiment, ...] = (
    *errors.EXPERIMENTS,
    *pairs.EXPERIMENTS,
    *regions.EXPERIMENTS,
    *weights.EXPERIMENTS,
    *methods.EXPERIMENTS,
    *places.EXPERIMENTS,
)
