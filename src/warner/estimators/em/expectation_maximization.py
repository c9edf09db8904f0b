"""Expectation maximisation, stopped early: a regularised estimate, not the maximum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from warner._core.checks import choice, integer, real, show
from warner._core.errors import (
    ArgumentError,
    ImpossibleReportError,
    message,
)
from warner.channels import (
    LikelihoodOperator,
    quick,
    summed,
)
from warner.domains import Domain
from warner.estimators.base import Estimator
from warner.estimators.em.choice_of_steps import chosen_steps, chosen_steps_of_each
from warner.estimators.em.start import (
    CheckedStart,
    Start,
    checked_start,
    is_made_of_reports,
    mixed_with_uniform,
    repr_of_start,
    start_at,
    uniform_start,
)
from warner.estimators.em.step import MOST_STEPS, EMState, em_of_each, moved_or_not, run_em
from warner.estimators.fit import Fit
from warner.estimators.independent import Independent
from warner.estimators.inversion import Inversion
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import (
    certify,
    gap_of_score,
    log_likelihood,
    require_possible,
)

_STARTS = ("uniform", "independent", "histogram")
# Steps that move theta by less than this in l1, or by less than one report's share, have not
# moved it.
_STILL = 1e-3
_TOGETHER = 2**18  # numbers in the frequencies of sets of reports whose steps are taken together


@dataclass(frozen=True)
class ExpectationMaximization(Estimator):
    """Expectation maximisation (EM, iterative Bayesian update, IBU), stopped after some steps.

        theta <- theta * A' (w / A theta)

    A (m, K) is the channel, w (m,) the frequencies of its rows, and theta (K,) the shares. The
    products and quotients of vectors are taken entry by entry. EM needs 10^4 to 10^5 steps to come
    near the maximum, so a smaller number of steps smooths more. The fit's ``gap`` bounds how far
    its log-likelihood is below the maximum. For the maximum itself use MaximumLikelihood.

    Where the tally has bit sums only, one report counts for several rows, and the plain step is too
    short by that factor. The step is then lengthened (``warner.estimators.em.step.advance``).
    Equal numbers of steps then smooth as much as on whole reports.

    With ``"auto"`` the data choose the number of steps. Reports are split at random into 5 folds.
    For each fold, EM runs on the other four. The chosen number, at most 20,000, makes the held-out
    folds together likeliest. EM then takes this number of steps on all reports, and the fit's
    ``iterations`` gives it. The split is a function of the tally, so the same tally gives the same
    estimate. Counts are split multinomially, which for bit sums splits every bit separately. The
    choice costs three to four times as much as EM with that number of steps, and at least 300
    steps.

    With a ``tolerance`` delta, EM runs until |L_t - L_(t-1)| < delta [P4 alg 1]. Here
    L = sum_i log Pr(report i | theta) is the log-likelihood of all n reports, and t counts steps.
    A small last step does not prove that the maximum is near, so the status is ``STOPPED`` too.

    Args:
        steps: the number of steps, at least 1, or ``"auto"``. With a tolerance it is the largest
            number of steps, and None is 100,000. Without a tolerance it must be given.
        keep_path: whether the fit has a ``path`` (steps + 1, 2): log-likelihood and gap before each
            step and at the end.
        start: the distribution at which the steps begin. Where the maximum is not unique, the limit
            depends on it [P4 sec III-B].

            - ``"uniform"``: 1 / K for every value.
            - ``"histogram"``: the report histogram, not corrected, as ``Observed()`` has it [P1
              alg 1]. For k-RR it is the share of the reports that name each value. For bits,
              subsets and hashes it is the share of the reports that support each value, divided by
              the sum of these shares. Reports of numbers and places count for the nearest value.
              The histograms of several mechanisms or budgets are weighted by their numbers of
              people.
            - an estimator, such as ``Inversion("threshold")`` [P2 sec 6]: its shares, the negative
              ones counted as 0 and the sum made one.
            - K numbers in the order of the domain: a distribution, used as it is. A value with
              share 0 keeps it, because EM multiplies shares.
            - ``"independent"``, for several attributes: the product of their estimated marginals,
              with 1 % of the uniform distribution. Few steps then mean little dependence. For one
              attribute, and where reports do not tell attributes apart, it is ``"uniform"``.

            Where the histogram or the estimator has a share of 0, 1 % of the uniform distribution
            is mixed in. The histogram of a single k-RR mechanism stays as it is: at the maximum a
            value that nobody reported has the share 0 too. With ``"auto"`` and any start but
            ``"uniform"``, each fold has its own start. The best number of steps may then be 0.
            Twice the best number are taken, which erred less on the tables on which this rule was
            chosen.
        tolerance: nats over all n reports, positive; None for exactly ``steps`` steps. It cannot be
            combined with ``"auto"``.

    Returns:
        From ``fit``: a distribution with the status ``STOPPED`` or ``NOT_MOVED``, or ``STEP_LIMIT``
        where the steps ended before the tolerance was met.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value, or, with
            K numbers as the start, under every value with a positive share.
        ArgumentError: a start of another length than K; or ``"histogram"`` where reports do not
            point at values, as of ChannelMechanism and Repeated.

    Source: [P1 sec 3.2, alg 1], [P2 sec 6], [P4 alg 1, sec III-B, IV]; METHODS 0, 5.

    >>> ExpectationMaximization(100), ExpectationMaximization("auto")
    (ExpectationMaximization(steps=100), ExpectationMaximization(steps='auto'))
    >>> ExpectationMaximization(start="histogram", tolerance=0.01)
    ExpectationMaximization(start='histogram', tolerance=0.01)
    """

    references = ("P4", "P1", "P2")

    summary: ClassVar[str] = "expectation maximisation, stopped early: a regularised estimate"

    steps: int | Literal["auto"] | None = None
    keep_path: bool = field(default=False, repr=False)
    start: Start = "uniform"
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.steps, str):
            if self.steps != "auto":
                raise ArgumentError(
                    message("steps", "must be a whole number or 'auto'", repr(self.steps))
                )
        elif self.steps is not None:
            integer("steps", self.steps, 1)
        object.__setattr__(self, "start", checked_start(self.start, _STARTS))
        choice("keep_path", self.keep_path, (False, True))
        if self.tolerance is None:
            if self.steps is None:
                raise ArgumentError(
                    message(
                        "steps",
                        "must be given where there is no tolerance",
                        None,
                        "For example steps=100, steps='auto' or tolerance=0.001",
                    )
                )
            return
        if self.steps == "auto":
            raise ArgumentError(
                message("tolerance", "does not go with steps='auto'", None, "Leave one of them out")
            )
        if real("tolerance", self.tolerance) <= 0:
            raise ArgumentError(message("tolerance", "must be positive", show(self.tolerance)))

    def __repr__(self) -> str:
        options = [] if self.steps is None else [f"steps={self.steps!r}"]
        if self._start != "uniform":
            options.append(f"start={repr_of_start(self._start)}")
        if self.tolerance is not None:
            options.append(f"tolerance={self.tolerance!r}")
        return f"ExpectationMaximization({', '.join(options)})"

    @property
    def _start(self) -> CheckedStart:
        """The start as ``__post_init__`` left it."""
        start = self.start
        assert isinstance(start, str | Estimator | tuple)
        return start

    def _fit(self, data: LikelihoodData) -> Fit:
        if (
            self._start == "independent"
            and data.domain.attributes
            and (turned := self._by_name(data, data.domain))
        ):
            return turned
        channel, w = data.channel, data.weights
        rows, weights = channel.restrict_to_observed(w)
        require_possible(rows, weights)
        begin = self._begin(data, rows, weights)
        # A start that is made of reports needs all rows of the channel, in folds too.
        made_of_reports = is_made_of_reports(self._start)
        source = (channel, w) if made_of_reports else (rows, weights)
        if isinstance(self.steps, str):
            steps = chosen_steps(quick(source[0]), source[1], data.n, begin)
        else:
            steps = MOST_STEPS if self.steps is None else self.steps
        theta = uniform_start(channel.shape[1]) if begin is None else begin(source[1])
        if isinstance(self._start, tuple):
            _require_support(rows, weights, theta)
        if (seen := rows.seen_rows()) is not None:
            rows, weights = seen[0], weights[seen[1]]
        path: list[tuple[float, float]] = []

        def observe(state: EMState) -> None:
            path.append((data.n * state.value, gap_of_score(channel, state.score)))

        run = run_em(
            quick(rows),
            weights,
            data.n,
            theta,
            self.tolerance,
            steps,
            observe if self.keep_path else None,
        )
        fit = certify(data, run.state.shares, run.status, run.steps)
        if not made_of_reports:
            fit = moved_or_not(fit, theta, data.n, min(_STILL, 1 / data.n))
        if not self.keep_path:
            return fit
        # Rows that tell the same were merged, which moves every log-likelihood by one number.
        shift = (fit.log_likelihood or 0.0) - data.n * log_likelihood(rows, weights, fit.shares)
        shifted = [(value + shift, missing) for value, missing in path[:-1]]
        return replace(fit, path=np.array([*shifted, (fit.log_likelihood, fit.gap)]))

    def refit_all(
        self, several: Sequence[LikelihoodData], near: np.ndarray
    ) -> Iterator[np.ndarray]:
        """The steps from the uniform start for all sets of reports together, in blocks."""
        channel = several[0].channel
        plain = self._start == "uniform" and self.tolerance is None and self.steps is not None
        alike = all(data.channel is channel for data in several)
        if not plain or not alike or channel.rows_per_report != 1:
            yield from super().refit_all(several, near)
            return
        # One operator for the rows that were observed in any set.
        w = np.stack([data.weights for data in several], axis=1)
        total = w.mean(axis=1)
        rows, weights = channel.restrict_to_observed(total)
        if weights is not total:
            yield from super().refit_all(several, near)
            return
        require_possible(rows, total)
        block = max(1, _TOGETHER // int(np.count_nonzero(total)))
        for at in range(0, len(several), block):
            part = np.ascontiguousarray(w[:, at : at + block])
            if isinstance(self.steps, str):
                steps = chosen_steps_of_each(rows, part, several[0].n)
            else:
                steps = np.full(part.shape[1], self.steps)
            seen = rows.seen_rows()
            used = (rows, part) if seen is None else (seen[0], part[seen[1]])
            yield from em_of_each(*used, steps).T

    def _begin(
        self, data: LikelihoodData, rows: LikelihoodOperator, weights: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray] | None:
        """The start (K,) as a function of frequencies; None for the uniform distribution.

        The frequencies are those of ``rows`` for the product of marginals, and of the data's
        channel for a histogram and an estimator.
        """
        start = self._start
        if start == "independent":
            if not _has_marginals(rows, weights, data.domain):
                return None
            return lambda v: _independence_start(replace(data, channel=rows, weights=v))
        if start == "uniform":
            return None
        return lambda v: start_at(start, replace(data, weights=v))

    def _by_name(self, data: LikelihoodData, domain: Domain) -> Fit | None:
        """The fit with attributes in the order of their names, turned back afterwards.

        Reports are then split into the same folds in whatever order attributes are asked for.
        """
        names = list(domain.attributes)
        order = sorted(range(len(names)), key=names.__getitem__)
        rearranged = (
            None
            if names == sorted(names)
            else data.channel.marginal(data.weights, domain.shape, order)
        )
        if rearranged is None:
            return None
        other = domain.select([names[axis] for axis in order])
        fit = self._fit(LikelihoodData(*rearranged, data.n, other))
        return replace(
            fit,
            probabilities=summed(
                fit.shares, other.shape, [order.index(axis) for axis in range(len(names))]
            ),
        )


@dataclass(frozen=True)
class _Marginal(Estimator):
    """A marginal for the start: by inversion where that is a closed form, else by EM."""

    def _fit(self, data: LikelihoodData) -> Fit:
        plain = data.channel.has_closed_inverse
        return (Inversion("project") if plain else ExpectationMaximization("auto")).fit(data)


def _require_support(rows: LikelihoodOperator, weights: np.ndarray, theta: np.ndarray) -> None:
    """Refuse a given start that makes an observed report impossible."""
    if ((weights > 0) & (rows.matvec(theta) <= 0)).any():
        raise ImpossibleReportError(
            message(
                "start",
                "gives a report that was seen the probability 0",
                None,
                "Give every value a positive share",
            )
        )


def _has_marginals(channel: LikelihoodOperator, w: np.ndarray, domain: Domain) -> bool:
    """Whether reports of one attribute, or a closed form, give marginals to start from."""
    return bool(domain.attributes) and (
        channel.has_closed_inverse or channel.marginal(w, domain.shape, [0]) is not None
    )


def _independence_start(data: LikelihoodData) -> np.ndarray:
    """The product of the marginals, mixed with the uniform distribution so that no share is 0."""
    shares = Independent(method=_Marginal()).fit(data).shares
    return mixed_with_uniform(shares)
