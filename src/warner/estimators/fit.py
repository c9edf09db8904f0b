"""The result of an estimator: the shares, how the fit ended, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from warner._core.errors import IdentifiabilityError


class Status(Enum):
    """How a fit ended; the text states the cause and the remedy.

    ``Estimator.summary`` says what the method computes.

    >>> Status.EXACT.value
    'exact: computed directly, without iteration'
    >>> print(Status.EXACT)
    exact: computed directly, without iteration
    """

    EXACT = "exact: computed directly, without iteration"
    CONVERGED = "converged: no distribution has a log-likelihood higher by more than the gap"
    COMPLETED = (
        "completed: the method ended by its own rule. It does not maximise the likelihood. A gap, "
        "where one is given, bounds how far its log-likelihood is below the largest"
    )
    STOPPED = (
        "stopped early, after the steps or at the tolerance asked for, not at the maximum of the "
        "likelihood; the gap says how far it is"
    )
    NOT_MOVED = (
        "not moved: the steps left the start as it was, so the estimate says nothing about the "
        "reports; allow more steps, or use MaximumLikelihood()"
    )
    STEP_LIMIT = (
        "step limit reached before the gap or the tolerance asked for: allow more steps, or a "
        "larger gap or tolerance"
    )
    OUTSIDE_SIMPLEX = (
        "outside the simplex: some estimates are negative or they do not sum to 1, which unbiased "
        "estimates may; use constraint='project' for a distribution"
    )
    NO_POSITIVE_MASS = (
        "no estimate was positive, so there was nothing to normalise: the uniform distribution "
        "takes its place; collect more reports"
    )
    KEY_ABSENT = (
        "nobody seems to have this key: nothing is known of its values, a placeholder takes their "
        "place, and intervals hold all that is possible; collect more reports"
    )

    def __str__(self) -> str:
        """The text: the name says less."""
        return self.value


# From the mildest to the gravest, for an estimate that is made of several fits.
_GRAVITY = (
    Status.EXACT,
    Status.CONVERGED,
    Status.COMPLETED,
    Status.STOPPED,
    Status.NOT_MOVED,
    Status.STEP_LIMIT,
    Status.OUTSIDE_SIMPLEX,
    Status.NO_POSITIVE_MASS,
    Status.KEY_ABSENT,
)


def status_of_parts(statuses: Iterable[Status]) -> Status:
    """The status of an estimate that is computed from other fits: their gravest status.

    ``CONVERGED`` becomes ``COMPLETED``, because the certificate of one fit does not hold for the
    whole estimate.

    >>> status_of_parts([Status.EXACT, Status.CONVERGED])
    <Status.COMPLETED: ...>
    >>> status_of_parts([Status.STOPPED, Status.STEP_LIMIT]).name
    'STEP_LIMIT'
    """
    gravest = max(statuses, key=_GRAVITY.index, default=Status.EXACT)
    return Status.COMPLETED if gravest is Status.CONVERGED else gravest


@dataclass(frozen=True, eq=False)
class MeanFit:
    """An estimate of the mean of values with d coordinates.

    Attributes:
        value: (d,), in the units of the values.
        variance: (d,), the variance of one report's contribution to ``value``, in squared units.
        bias: (d,), a bound on the absolute bias, in the units of the values.
    """

    value: np.ndarray
    variance: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class KeyFit:
    """Estimates for each of d keys.

    Attributes:
        frequencies: (d,), the share of people who have each key.
        means: (d,), the mean of each key's values, in their units.
    """

    frequencies: np.ndarray
    means: np.ndarray


@dataclass(frozen=True, eq=False)
class PosteriorFit:
    """The posterior of the shares.

    Attributes:
        draws: a function of ``count`` and ``rng`` that returns (count, K), distributions drawn from
            the posterior. Quantiles of a function over the rows are an interval for the function.
        for_intervals: whether draws are the default for intervals. It is False where the prior was
            learnt from the same reports, because such intervals may not cover shares that are
            unlike the rest.
        singly: the same draws as an iterator of distributions (K,), where ``draws`` takes much
            memory; None where it does not.
        by_values: the same draws as an iterator over blocks of values: a slice of the values, and
            (values, count); None as before.
    """

    draws: Callable[[int, np.random.Generator], np.ndarray]
    for_intervals: bool = False
    singly: Callable[[int, np.random.Generator], Iterator[np.ndarray]] | None = None
    by_values: Callable[[int, np.random.Generator], Iterator[tuple[slice, np.ndarray]]] | None = (
        None
    )

    def one_by_one(self, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The draws, (K,) each."""
        yield from (self.draws if self.singly is None else self.singly)(count, rng)

    def blocks(self, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """The draws of some values after the other: a slice of them, and (values, count)."""
        if self.by_values is not None:
            yield from self.by_values(count, rng)
        else:
            drawn = self.draws(count, rng)
            yield slice(0, drawn.shape[1]), drawn.T


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of an estimator.

    Attributes:
        probabilities: (K,) the shares, or None where shares are not estimated.
        status: how the fit ended.
        gap: a bound, in nats per report, on how much the largest log-likelihood exceeds that of
            the shares (METHODS 0). None where no likelihood is evaluated.
        iterations: number of steps, or None.
        log_likelihood: in nats over all n reports, or None.
        likelihood: the name of that likelihood.
        unique: for a maximum, the text on whether it is the only one, see
            ``warner.estimators.mle.maximum_likelihood``.
        components: number of separate estimates where several values share one, else None.
        bic: -2 log-likelihood + K' ln n, K' the number of separate estimates, for methods that
            choose K' by it; lower is better.
        path: (steps + 1, 2), log-likelihood and gap before each step and at the end; None unless
            the estimator was told to keep it.
        seconds: the time that the fit took, in seconds.
        posterior: the posterior of the shares, for methods that have one.
        mean: the estimate of the mean, for methods that estimate it without shares.
        keys: frequencies and means of keys, for methods that estimate them without shares.
    """

    probabilities: np.ndarray | None
    status: Status
    gap: float | None = None
    iterations: int | None = None
    log_likelihood: float | None = None
    likelihood: str | None = None
    unique: str | None = None
    components: int | None = None
    bic: float | None = None
    path: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = field(default=None, repr=False)
    posterior: PosteriorFit | None = field(default=None, repr=False)
    mean: MeanFit | None = None
    keys: KeyFit | None = None

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            self.probabilities.setflags(write=False)

    @property
    def by_draws(self) -> bool:
        """Whether intervals are made of posterior draws by default."""
        return self.posterior is not None and self.posterior.for_intervals

    @property
    def shares(self) -> np.ndarray:
        """The shares (K,), for methods that estimate them.

        Raises:
            IdentifiabilityError: the method does not estimate shares.
        """
        if self.probabilities is None:
            rule, remedy = "were not estimated, the mean alone was", ".mean()"
            if self.keys is not None:
                rule = "were not estimated, only frequencies of keys and means of their values were"
                remedy = ".frequencies() and .conditional(key).mean()"
            raise IdentifiabilityError(
                "probabilities", rule, None, f"Use {remedy}, or another method"
            )
        return self.probabilities
