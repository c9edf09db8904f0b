"""The experiments of P2."""

from __future__ import annotations

from warner.experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
