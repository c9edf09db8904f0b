"""All experiments by name, and the choice among them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache

from papers import p1, p2, p3, p4, p5
from papers.experiment import Experiment
from warner._core.errors import ArgumentError

PAPERS = {
    "P1": "Bias correction of EM for few people",
    "P2": "Utility-optimised local differential privacy",
    "P3": "Mixture reduction for EM",
    "P4": "Convergence of the iterative Bayesian update",
    "P5": "Joint probabilities by randomised response",
}


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, paper by paper in the order of the figures."""
    every = [*p1.EXPERIMENTS, *p2.EXPERIMENTS, *p3.EXPERIMENTS, *p4.EXPERIMENTS, *p5.EXPERIMENTS]
    return {experiment.name: experiment for experiment in every}


def by_name(name: str) -> Experiment:
    """The experiment with a name, such as ``"P2/fig6"``."""
    return select([name])[0]


def select(names: Sequence[str]) -> list[Experiment]:
    """The experiments of some names.

    Args:
        names: names such as ``"P2/fig6"``, or papers such as ``"P2"`` for all of theirs. Capitals
            do not matter.

    Returns:
        The experiments in the order of the papers, each once.

    Raises:
        ArgumentError: no experiment has the name; the message has the nearest names.
    """
    known = {name: e for e in experiments().values() for name in e.names}
    chosen = set()
    for name in names:
        wanted = name.strip().strip("/").lower()
        matches = [
            experiment.name
            for other, experiment in known.items()
            if wanted in (other.lower(), experiment.paper.lower())
        ]
        if not matches:
            near = difflib.get_close_matches(wanted, [k.lower() for k in known], n=3, cutoff=0.5)
            nearest = [other for other in known if other.lower() in near]
            hint = f"Nearest: {', '.join(nearest)}" if nearest else f"Papers: {', '.join(PAPERS)}"
            raise ArgumentError("experiment", "is not known", repr(name), hint)
        chosen.update(matches)
    return [experiment for name, experiment in experiments().items() if name in chosen]
