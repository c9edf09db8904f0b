"""The base class of estimators: an immutable description of a method, applied by ``fit``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, fields, replace
from time import perf_counter
from typing import ClassVar, Generic, TypeVar, final

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.processes import SMALL, one_thread
from warner._core.progress import stage
from warner._core.references import bibtex_of
from warner.domains import Domain
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData

_OUTSIDE = (Status.OUTSIDE_SIMPLEX, Status.KEY_ABSENT)
_FAR_OFF = 1e-6  # far above rounding errors; warner.testing has a narrower limit


class Estimator(ABC):
    """A method that estimates a distribution from reports.

    A subclass is a frozen dataclass of the method's options. It defines ``_fit`` and ``summary``.
    Its repr names the method in results.

    Attributes:
        summary: one or more sentences for users on what the method computes, without the last full
            stop.
        references: the sources, as keys of the package's list or as BibTeX entries.
        inverts: whether a distribution is made from the unbiased estimates of single shares.

    >>> from warner.estimators import MaximumLikelihood
    >>> MaximumLikelihood().summary
    'maximum of the likelihood'
    """

    summary: ClassVar[str] = ""
    references: ClassVar[tuple[str, ...]] = ()

    @property
    def inverts(self) -> bool:
        return False

    def bibtex(self) -> str:
        """The sources of the method as BibTeX entries, to be cited with its results.

        >>> from warner.estimators.literature import BiasCorrection
        >>> print(BiasCorrection().bibtex().splitlines()[0])
        @article{murakami2018,
        """
        return bibtex_of(self.references)

    @final
    def fit(self, data: LikelihoodData) -> Fit:
        """Estimate the distribution over the K values of ``data.domain``.

        A fit whose matrix products are small runs on one thread, see ``warner._core.processes``.

        Args:
            data: the channel (m, K), the frequencies (m,) of its rows, and the number of reports.

        Returns:
            The fit, with its ``seconds``.

        Raises:
            ArgumentTypeError: ``_fit`` of an estimator of your own returned no fit.
            ArgumentError: the method does not apply; or ``_fit`` returned a wrong number of shares,
                shares that are not finite, or no distribution where the status says so.
        """
        start = perf_counter()
        with threads_for(data):
            fit = self._fit(data)
        require_fit(type(self).__name__, fit, data.domain.size)
        return replace(fit, seconds=perf_counter() - start)

    def refit(self, data: LikelihoodData, near: np.ndarray) -> np.ndarray:
        """The shares alone, from reports like those of an earlier fit, such as of a bootstrap.

        A method whose result does not depend on its start may begin at the earlier one.

        Args:
            data: the reports.
            near: (K,) the distribution that the reports were simulated from.

        Returns:
            (K,), as of :meth:`fit` up to its certified gap.
        """
        return self._fit(data).shares

    def refit_all(
        self, several: Sequence[LikelihoodData], near: np.ndarray
    ) -> Iterator[np.ndarray]:
        """:meth:`refit` of several sets of reports of one mechanism, from the first to the last.

        A method whose steps are products with the channel may take them for all sets together.

        Args:
            several: the sets of reports.
            near: (K,) the distribution that the reports were simulated from.

        Yields:
            (K,) shares for each set.
        """
        for data in several:
            yield self.refit(data, near)

    @abstractmethod
    def _fit(self, data: LikelihoodData) -> Fit:
        """The fit, without ``seconds``."""


def require_fit(name: str, fit: Fit, size: int) -> None:
    """Refuse what an estimator outside the package may return in place of a fit of K values."""
    if not isinstance(fit, Fit):
        remedy = "Write Fit(shares, Status.COMPLETED)"
        raise ArgumentTypeError(name, "_fit must return a Fit", kind(fit), remedy)
    if not isinstance(fit.status, Status):
        remedy = "For example Status.COMPLETED"
        raise ArgumentTypeError(name, "must state a Status", kind(fit.status), remedy)
    if fit.probabilities is None:
        return
    shares = np.asarray(fit.probabilities)
    if shares.shape != (size,):
        rule, remedy = f"must return shares of shape ({size},)", "Give each value a share"
        raise ArgumentError(name, rule, str(shares.shape), remedy)
    bad = int((~np.isfinite(shares)).sum())
    if bad:
        rule, remedy = "must return finite shares", "Is there a division by zero?"
        raise ArgumentError(name, rule, f"{bad} that are not finite", remedy)
    total, least = float(shares.sum()), float(shares.min())
    if fit.status not in _OUTSIDE and max(abs(total - 1), -least) > _FAR_OFF:
        rule = f"must return a distribution with {fit.status.name}"
        remedy = "Project the shares, or return Status.OUTSIDE_SIMPLEX"
        got = f"the sum {total:.6g} and the least share {least:.6g}"
        raise ArgumentError(name, rule, got, remedy)


def threads_for(data: LikelihoodData) -> AbstractContextManager[None]:
    """Return a context in which linear algebra uses one thread if the products of a fit are small.

    Otherwise all threads are used. Setting the number of threads takes about as long as a small
    fit. So many fits of one size should run in one such block.
    """
    rows, size = data.channel.shape
    return one_thread() if min(rows, data.n) * size**2 <= SMALL else nullcontext()


def repr_of_changes(estimator: Estimator) -> str:
    """The repr of an estimator, with only those options that differ from their defaults."""
    changed = []
    for option in fields(estimator):  # type: ignore[arg-type]
        value = getattr(estimator, option.name)
        if option.default is MISSING or value != option.default:
            changed.append(f"{option.name}={value!r}")
    return f"{type(estimator).__name__}({', '.join(changed)})"


def require_order(domain: Domain, name: str) -> None:
    """Refuse domains whose values are not points on a line."""
    points = domain.points
    if points is None or points.shape[1] != 1:
        raise ArgumentError(
            "domain",
            f"of {name} must have values in order on a line",
            type(domain).__name__,
            "Use Integers or Interval for it, or MaximumLikelihood() for values without order",
        )


# -----------------------------------------------------------------------------------------------
# The loop that runs every iterative estimator: start, step, stop, observe.


State = TypeVar("State")


@dataclass(frozen=True)
class Run(Generic[State]):
    """The end of an iteration.

    Attributes:
        state: the last state.
        steps: the number of steps taken.
        status: the reason for the end; ``STEP_LIMIT`` if ``stop`` gave no reason.
    """

    state: State
    steps: int
    status: Status


def iterate(
    start: State,
    step: Callable[[State], State | None],
    stop: Callable[[State, int], Status | None],
    most: int,
    observe: Callable[[State], None] | None = None,
) -> Run[State]:
    """Apply ``step`` until ``stop`` gives a reason, no step is possible, or ``most`` are done.

    The steps are a stage of :func:`warner.progress`. Most methods stop long before ``most`` steps,
    so the stage has no total.

    >>> halve = iterate(1.0, lambda x: x / 2, lambda x, n: Status.CONVERGED if x < 0.3 else None, 9)
    >>> halve.state, halve.steps, halve.status.name
    (0.25, 2, 'CONVERGED')
    """
    state, steps = start, 0
    with stage("iterations") as tell:
        while True:
            if observe is not None:
                observe(state)
            reason = stop(state, steps)
            if reason is not None:
                return Run(state, steps, reason)
            following = step(state) if steps < most else None
            if following is None:
                return Run(state, steps, Status.STEP_LIMIT)
            state, steps = following, steps + 1
            tell(steps)
