"""The experiments of P3."""

from __future__ import annotations

from warner.experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
