"""The experiments of P5: the joint distribution of attributes that are randomised one by one.

Every experiment has an axis ``mode`` (METHODS 9.3): ``"exact"``, reports exactly as often as
expected, whose inversion errs by the rounding of floats alone; ``"rounded"``, each expected count
rounded by itself, which [P5] has in mind; ``"sampled"``, reports of n people, which a survey has.
[P5] has no sampled reports, so claims on them are this package's.
"""

from __future__ import annotations

from papers.experiment import Experiment
from papers.p5 import adult, example, synthetic

EXPERIMENTS: tuple[Experiment, ...] = (
    *example.EXPERIMENTS,
    *synthetic.EXPERIMENTS,
    *adult.EXPERIMENTS,
)
