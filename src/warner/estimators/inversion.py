"""Estimates without a likelihood: inversion of the channel and its post-processing, and two baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import choice
from warner.channels import StackChannel
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import base_cut, normalize, project, threshold

# Established names of the same things.
SYNONYMS = {
    "norm-sub": "project",
    "projection": "project",
    "normalise": "normalize",
    "norm": "normalize",
    "emp+thr": "threshold",
    "significance": "threshold",
    "none": None,
}
_CONSTRAINTS = (None, "normalize", "project", "base-cut", "threshold")


@dataclass(frozen=True)
class Inversion(Estimator):
    """The unbiased estimate theta = A^-1 w, alone or made into shares.

    Args:
        constraint: None leaves the estimate unbiased (entries may be negative); ``"project"`` is the Euclidean projection on
            the simplex (Norm-Sub); ``"normalize"`` clips negatives and divides by the sum; ``"base-cut"`` keeps the largest
            while their sum is at most 1; ``"threshold"`` keeps what a Bonferroni test at 5 % finds above 0 and spreads the rest.
        weights: of the groups, where people report by several mechanisms or budgets: ``"inverse-variance"``, or ``"equal"`` for the plain
            mean of the groups' inversions, as [P1 eq 13] has it. No effect where there is one group.

    Raises:
        IdentifiabilityError: different distributions make the same reports, so there is nothing to invert.

    Source: [P1 eqs 12, 13], [P2 sec 6], [P4 sec IX]; METHODS 5.

    >>> Inversion("norm-sub")
    Inversion(constraint='project')
    """

    summary: ClassVar[str] = "unbiased estimate by inversion of the channel, constrained as named"

    constraint: Any = None
    weights: str = "inverse-variance"

    def __post_init__(self) -> None:
        named = self.constraint.lower() if isinstance(self.constraint, str) else self.constraint
        object.__setattr__(
            self,
            "constraint",
            choice(
                "constraint",
                SYNONYMS.get(named, named) if isinstance(named, str) else named,
                _CONSTRAINTS,
            ),
        )
        choice("weights", self.weights, ("inverse-variance", "equal"))

    def __repr__(self) -> str:
        named = "" if self.weights == "inverse-variance" else f", weights={self.weights!r}"
        return f"Inversion(constraint={self.constraint!r}{named})"

    def _fit(self, data: LikelihoodData) -> Fit:
        channel = data.channel
        if self.weights == "equal" and isinstance(channel, StackChannel):
            channel = channel.equally()
        raw = channel.invert(data.weights)
        if self.constraint is None:
            inside = (raw >= 0).all() and abs(raw.sum() - 1) < 1e-9
            return (
                Fit(raw / raw.sum(), Status.EXACT) if inside else Fit(raw, Status.OUTSIDE_SIMPLEX)
            )
        if self.constraint == "project":
            return Fit(project(raw), Status.EXACT)
        if self.constraint == "normalize":
            return Fit(normalize(raw), Status.EXACT if (raw > 0).any() else Status.NO_POSITIVE_MASS)
        if self.constraint == "base-cut":
            shares = base_cut(raw)
            whole = abs(shares.sum() - 1) < 1e-9
            return (
                Fit(shares / shares.sum(), Status.EXACT)
                if whole
                else Fit(shares, Status.OUTSIDE_SIMPLEX)
            )
        sd = np.sqrt(channel.variance_at_zero(project(raw)) / data.n)
        return Fit(threshold(raw, sd), Status.EXACT)


@dataclass(frozen=True)
class Uniform(Estimator):
    """The uniform distribution, whatever the reports: the baseline that any estimate should beat.

    >>> Uniform()
    Uniform()
    """

    summary: ClassVar[str] = (
        "a baseline for comparison: the uniform distribution, whatever the reports"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        size = data.domain.size
        return Fit(np.full(size, 1 / size), Status.EXACT)


@dataclass(frozen=True)
class Observed(Estimator):
    """The report histogram itself (ObfDat), uncorrected: which values the reports support, divided by the sum.

    >>> Observed()
    Observed()
    """

    summary: ClassVar[str] = "a baseline for comparison: it does not undo the randomisation"

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(data.channel.naive_estimate(data.weights), Status.EXACT)
