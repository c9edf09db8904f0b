"""The experiments of P2: utility-optimised mechanisms."""

from __future__ import annotations

from papers.experiment import Experiment
from papers.p2 import attributes, budgets, personal, sizes, worst_cases

_EVERY = {
    experiment.name: experiment
    for experiment in (
        *budgets.EXPERIMENTS,
        *sizes.EXPERIMENTS,
        *attributes.EXPERIMENTS,
        *personal.EXPERIMENTS,
        *worst_cases.EXPERIMENTS,
    )
}
_NAMES = ("5", "5-start", "5-whole", "6", "7", "8", "9", "10", "11", "12")
_TABLES = (1, 3, 4)
EXPERIMENTS: tuple[Experiment, ...] = (
    *(_EVERY[f"P2/fig{name}"] for name in _NAMES),
    *(_EVERY[f"P2/table{number}"] for number in _TABLES),
)
