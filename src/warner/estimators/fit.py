"""What an estimator returns: the shares that it found, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from warner._core.errors import (
    IdentifiabilityError,
    message,
)


class Status(Enum):
    """How an estimate came to its end; the text says the cause and the remedy."""

    EXACT = "exact: a closed form, nothing to iterate"
    CONVERGED = "converged: no distribution has a log-likelihood higher by more than the gap"
    PENALIZED = (
        "penalised maximum, the penalty chosen by marginal likelihood: smoother than the maximum of the likelihood, and the gap says how far "
        "below it at most; if values next to each other should not be alike, use MaximumLikelihood() instead"
    )
    STOPPED = (
        "stopped early, after the steps or at the tolerance asked for: a regularised estimate, not the maximum of the likelihood; "
        "the gap says how far it is"
    )
    NOT_MOVED = (
        "not moved: the steps left the start as it was, the uniform distribution unless another was named, so the estimate says nothing "
        "of the reports; allow more steps, or use MaximumLikelihood()"
    )
    REDUCED = "reduced: values of little weight share one estimate, or were left out; components says how many estimates there are"
    SHRUNK = (
        "posterior under a prior learnt from the shares themselves: pulled towards what is common, so that all shares together err least; "
        "for shares that are right on average one by one use Inversion()"
    )
    CORRECTED = (
        "corrected by a multiple of what P1 takes for its bias: a regularised estimate, not the maximum of the likelihood; "
        "for the maximum use MaximumLikelihood()"
    )
    INDEPENDENT = (
        "product of marginals, each estimated alone: right where the attributes, or groups, are independent, biased by their dependence elsewhere; "
        "for their joint distribution use another method"
    )
    STEP_LIMIT = "step limit reached before the gap asked for: allow more steps or a larger gap"
    OUTSIDE_SIMPLEX = (
        "outside the simplex: some estimates are negative or they do not sum to 1, which unbiased estimates may; "
        "use constraint='project' for a distribution"
    )
    NO_POSITIVE_MASS = "no estimate was positive, so nothing was left to normalise: the uniform distribution stands in; collect more reports"
    MEAN_ONLY = "the mean alone: nothing is said of shares; use another method for a distribution"
    KEY_MEANS = (
        "how frequent every key is and the mean of its values, alone: nothing is said of their distribution; "
        "for distributions use value='piecewise' and PerKey()"
    )
    PER_KEY = (
        "key by key: frequencies by inversion, projected, and given those the values of every key by the method named; no joint maximum of the "
        "likelihood, and the gap says how far below it at most"
    )
    KEY_ABSENT = (
        "nobody seems to have this key: nothing is known of its values, a placeholder stands in, and intervals hold all that is possible; "
        "collect more reports"
    )
    BASELINE = "a baseline for comparison: it does not undo the randomisation"


@dataclass(frozen=True, eq=False)
class Fit:
    """What an estimator found.

    Attributes:
        probabilities: (K,), or None where only the mean was estimated.
        status: how it ended.
        gap: nats per report by which the best distribution's log-likelihood can exceed this one's (METHODS 0); None where the
            estimator does not maximise a likelihood.
        iterations: steps taken, or None.
        log_likelihood: in nats over all n reports, or None.
        likelihood: which likelihood that is.
        components: how many estimates there are, where several values share one; None where every value has its own.
        path: log-likelihood and gap after every step of an early-stopped path, where it was asked for.
        unique: for a maximum, the text of whether it is the only one; see warner.estimators.mle.uniqueness.
        seconds: how long an iterative method took.
        mean, mean_variance: where only the mean was estimated, it and the variance of one report's share in it, (d,).
        mean_bias: (d,) how far the mean can be off on average, which its intervals allow for; None for no bias.
        draws: (count, rng) -> (count, K) distributions from the posterior, where the estimator has one; rows belong together, so
            quantiles of a function over the rows are an interval for it.
        by_draws: whether intervals are made of them where no kind is asked for. A prior that the same reports suggested may leave shares
            that are unlike the rest uncovered, and then they are not.
        frequencies, key_means: where only those were estimated, of keys (d,) and of their values (d,); see warner.results.conditional.
    """

    probabilities: np.ndarray | None
    status: Status
    gap: float | None = None
    iterations: int | None = None
    log_likelihood: float | None = None
    likelihood: str | None = None
    unique: str | None = None
    components: int | None = None
    path: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = field(default=None, repr=False)
    draws: Callable[[int, np.random.Generator], np.ndarray] | None = field(default=None, repr=False)
    by_draws: bool = False
    mean: np.ndarray | None = None
    mean_variance: np.ndarray | None = field(default=None, repr=False)
    mean_bias: np.ndarray | None = field(default=None, repr=False)
    frequencies: np.ndarray | None = None
    key_means: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            self.probabilities.setflags(write=False)

    @property
    def shares(self) -> np.ndarray:
        """The probabilities, refused where there are none."""
        if self.probabilities is None:
            given = (
                ".mean()"
                if self.frequencies is None
                else ".frequencies() and .conditional(key).mean()"
            )
            raise IdentifiabilityError(
                message(
                    "probabilities",
                    "were not estimated, the mean alone was",
                    None,
                    f"Use {given}, or another method",
                )
            )
        return self.probabilities
