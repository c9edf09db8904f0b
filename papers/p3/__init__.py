"""The experiments of P3: maximum likelihood by EM, with and without mixture reduction."""

from __future__ import annotations

from papers.experiment import Experiment
from papers.p3.frequencies import FIG4, FIG7, FIG8
from papers.p3.key_values import FIG10
from papers.p3.means import FIG1, FIG2, FIG3
from papers.p3.numbers import FIG5, FIG9
from papers.p3.times import FIG6, TABLE2

EXPERIMENTS: tuple[Experiment, ...] = (
    FIG1,
    FIG2,
    FIG3,
    FIG4,
    FIG5,
    FIG6,
    TABLE2,
    FIG7,
    FIG8,
    FIG9,
    FIG10,
)
