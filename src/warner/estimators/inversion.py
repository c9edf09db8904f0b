"""Estimates without a likelihood: inversion of the channel, and two baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from warner._core.checks import choice, probability, show
from warner._core.errors import ArgumentError
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import base_cut, normalize, project, threshold

# Established names of the constraints.
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
    """The linear unbiased estimate from the inverse of the channel, with or without a constraint.

        theta = L w,   L A = I

    A (m, K) is the channel, L (K, m) its left inverse, and w (m,) the frequencies of its rows.

    Args:
        constraint: what is done to the unbiased estimate, whose entries may be negative. None
            leaves it unbiased. ``"project"`` takes the Euclidean projection on the simplex
            (Norm-Sub). ``"normalize"`` sets negative entries to 0 and divides by the sum.
            ``"base-cut"`` keeps the largest entries while their sum is at most 1. ``"threshold"``
            keeps the entries that a Bonferroni test at the level ``alpha`` finds above 0.
        weights: how groups of people with different mechanisms or budgets are combined.
            ``"inverse-variance"`` has the least variance. ``"equal"`` takes the plain mean of the
            groups' inversions [P1 eq 13]. A single group is not affected.
        alpha: for ``"threshold"``, the largest probability, in (0, 1), that any absent value is
            kept. [P2] takes 0.05.
        rest: for ``"threshold"``, the shares of the values that are not kept. ``"spread"`` divides
            the remaining mass evenly among them [P2 sec 6]. ``"discard"`` gives them 0 and leaves
            the kept entries unbiased, so that they need not sum to 1 [P2 sec 2.5].

    Raises:
        ArgumentError: an unknown constraint, unknown weights or an unknown rest; or ``alpha`` or
            ``rest`` without ``"threshold"``.
        IdentifiabilityError: different distributions make the same reports, so A has no left
            inverse.

    Source: [P1 eqs 12, 13], [P2 sec 2.5, sec 6], [P4 sec IX]; METHODS 5.

    >>> Inversion("norm-sub"), Inversion("threshold", alpha=0.01)
    (Inversion(constraint='project'), Inversion(constraint='threshold', alpha=0.01))
    """

    references = ("P1", "P2", "wang2017", "P4")

    summary: ClassVar[str] = "unbiased estimate by inversion of the channel, constrained as named"

    constraint: str | None = None
    weights: str = "inverse-variance"
    alpha: float = 0.05
    rest: str = "spread"

    def __post_init__(self) -> None:
        constraint = self.constraint
        if isinstance(constraint, str):
            constraint = SYNONYMS.get(constraint.lower(), constraint.lower())
        object.__setattr__(self, "constraint", choice("constraint", constraint, _CONSTRAINTS))
        choice("weights", self.weights, ("inverse-variance", "equal"))
        probability("alpha", self.alpha)
        choice("rest", self.rest, ("spread", "discard"))
        for name in ("alpha", "rest"):
            if self.constraint != "threshold" and getattr(self, name) != getattr(Inversion, name):
                raise ArgumentError(
                    name,
                    "belongs to the constraint 'threshold'",
                    show(getattr(self, name)),
                    "Pass constraint='threshold', or leave it out",
                )

    @property
    def inverts(self) -> bool:
        """Unconstrained estimates are unbiased, as promised, however large their noise is."""
        return self.constraint is not None

    def __repr__(self) -> str:
        changes = "".join(
            f", {name}={getattr(self, name)!r}"
            for name in ("weights", "alpha", "rest")
            if getattr(self, name) != getattr(Inversion, name)
        )
        return f"Inversion(constraint={self.constraint!r}{changes})"

    def _fit(self, data: LikelihoodData) -> Fit:
        channel = data.channel
        if self.weights == "equal":
            channel = channel.with_equal_groups()
        raw = channel.invert(data.weights)
        if self.constraint is None:
            if (raw >= 0).all() and abs(raw.sum() - 1) < 1e-9:
                return Fit(raw / raw.sum(), Status.EXACT)
            return Fit(raw, Status.OUTSIDE_SIMPLEX)
        if self.constraint == "project":
            return Fit(project(raw), Status.EXACT)
        if self.constraint == "normalize":
            return Fit(normalize(raw), Status.EXACT if (raw > 0).any() else Status.NO_POSITIVE_MASS)
        if self.constraint == "base-cut":
            return _kept(base_cut(raw))
        sd = np.sqrt(channel.variance_at_zero(project(raw)) / data.n)
        shares = threshold(raw, sd, self.alpha, self.rest)
        return _kept(shares) if self.rest == "discard" else Fit(shares, Status.EXACT)


def _kept(shares: np.ndarray) -> Fit:
    """The fit of shares (K,) of which some were set to 0, so that their sum need not be 1."""
    if abs(shares.sum() - 1) < 1e-9:
        return Fit(shares / shares.sum(), Status.EXACT)
    return Fit(shares, Status.OUTSIDE_SIMPLEX)


@dataclass(frozen=True)
class Uniform(Estimator):
    """The uniform distribution, 1 / K for each of the K values: a baseline that uses no report.

    >>> Uniform()
    Uniform()
    """

    references = ("P1",)

    summary: ClassVar[str] = (
        "a baseline for comparison: the uniform distribution, whatever the reports"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        size = data.domain.size
        return Fit(np.full(size, 1 / size), Status.EXACT)


@dataclass(frozen=True)
class Observed(Estimator):
    """The report histogram itself, not corrected (ObfDat): a baseline.

    It is the share of the reports that support each value, divided by the sum of these shares.

    Raises:
        ArgumentError: reports that are not values and do not support values.

    >>> Observed()
    Observed()
    """

    references = ("P1",)

    summary: ClassVar[str] = "a baseline for comparison: it does not undo the randomisation"

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(data.channel.naive_estimate(data.weights), Status.EXACT)
