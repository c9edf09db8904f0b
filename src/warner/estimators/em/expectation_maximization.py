"""Expectation maximisation, stopped early: a regularised estimate, not the maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from warner._core.checks import choice, integer
from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels import (
    LikelihoodOperator,
    summed,
)
from warner.domains import Domain
from warner.estimators.base import Estimator
from warner.estimators.em.choice_of_steps import chosen_steps
from warner.estimators.em.step import EMState, advance, moved_or_not, start_em
from warner.estimators.fit import Fit, Status
from warner.estimators.independent import Independent
from warner.estimators.inversion import Inversion
from warner.estimators.iteration import iterate
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import (
    certify,
    gap_of_score,
    log_likelihood,
    require_possible,
)

# Part of the uniform distribution in a start at the product of marginals: a share that starts at
# 0 stays there.
_EVEN = 0.01
# Steps that move theta by less than this in l1, or by less than one report's share, have not
# moved it.
_STILL = 1e-3


@dataclass(frozen=True)
class ExpectationMaximization(Estimator):
    """``steps`` steps theta <- theta * A' (w / A theta) (EM, iterative Bayesian update, IBU).

    EM needs 10^4 to 10^5 steps to come near the maximum, so the number of steps says how much to
    smooth. The fit's ``gap`` says how far from the maximum it stopped. For the maximum itself use
    MaximumLikelihood.

    Where the tally has bit sums only, a report counts for several rows, and the step is too short
    by their number. It is then made longer (``warner.estimators.em.step.advance``), so that a
    number of steps smooths as much as on whole reports.

    With ``"auto"`` the data choose the number. Reports are split at random into 5 folds, and EM
    runs on all but one. The number of steps after which the held-out folds together are likeliest
    is taken on all reports, at most 20,000. The fit's ``iterations`` says how many. The split is a
    function of the tally, so the same tally gives the same estimate. Counts are split
    multinomially, which for bit sums splits every bit by itself. The choice costs three to four
    times as much as EM with that number of steps, and at least 300 steps.

    Args:
        steps: the number of steps, at least 1, or ``"auto"``.
        keep_path: whether the fit has a ``path`` (steps + 1, 2): log-likelihood and gap before each
            step and at the end.
        start: ``"uniform"``. Or, for several attributes, ``"independent"``: the product of their
            estimated marginals, with 1 % of the uniform distribution. Few steps then mean little
            dependence. With ``"auto"`` each fold has its own start, 0 steps may be the best
            number, and twice the best number are taken. For one attribute, and where reports do
            not tell attributes apart, the two starts are the same.

    Returns:
        From ``fit``: a distribution with the status ``STOPPED`` or ``NOT_MOVED``.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: [P1 sec 3.2], [P4 sec IV]; METHODS 0.

    >>> ExpectationMaximization(100), ExpectationMaximization("auto")
    (ExpectationMaximization(steps=100), ExpectationMaximization(steps='auto'))
    """

    summary: ClassVar[str] = "expectation maximisation, stopped early: a regularised estimate"

    steps: int | Literal["auto"]
    keep_path: bool = field(default=False, repr=False)
    start: str = "uniform"

    def __post_init__(self) -> None:
        if isinstance(self.steps, str):
            if self.steps != "auto":
                raise ArgumentError(
                    message("steps", "must be a whole number or 'auto'", repr(self.steps))
                )
        else:
            integer("steps", self.steps, 1)
        choice("start", self.start, ("uniform", "independent"))
        choice("keep_path", self.keep_path, (False, True))

    def __repr__(self) -> str:
        start = "" if self.start == "uniform" else f", start={self.start!r}"
        return f"ExpectationMaximization(steps={self.steps!r}{start})"

    def _fit(self, data: LikelihoodData) -> Fit:
        if (
            self.start == "independent"
            and data.domain.attributes
            and (turned := self._by_name(data, data.domain))
        ):
            return turned
        channel, w = data.channel, data.weights
        rows, weights = channel.restrict_to_observed(w)
        require_possible(rows, weights)
        start_from: Callable[[np.ndarray], np.ndarray] | None = None
        if self.start == "independent" and _has_marginals(rows, weights, data.domain):
            start_from = lambda v: _independence_start(replace(data, channel=rows, weights=v))
        steps = (
            chosen_steps(rows, weights, data.n, start_from)
            if isinstance(self.steps, str)
            else self.steps
        )
        theta = (
            np.full(channel.shape[1], 1 / channel.shape[1])
            if start_from is None
            else start_from(weights)
        )
        path: list[tuple[float, float]] = []

        def observe(state: EMState) -> None:
            path.append((data.n * state.value, gap_of_score(channel, state.score)))

        start = start_em(rows, weights, theta)
        run = iterate(
            start,
            partial(advance, rows, weights),
            lambda state, count: None,
            steps,
            observe if self.keep_path else None,
        )
        least = min(_STILL, 1 / data.n)
        fit = certify(data, run.state.shares, Status.STOPPED, run.steps)
        fit = moved_or_not(fit, theta, data.n, least)
        if not self.keep_path:
            return fit
        # Rows that tell the same were merged, which moves every log-likelihood by one number.
        shift = (fit.log_likelihood or 0.0) - data.n * log_likelihood(rows, weights, fit.shares)
        shifted = [(value + shift, missing) for value, missing in path[:-1]]
        return replace(fit, path=np.array([*shifted, (fit.log_likelihood, fit.gap)]))

    def _by_name(self, data: LikelihoodData, domain: Domain) -> Fit | None:
        """The fit with attributes in the order of their names, turned back afterwards.

        Reports are then split into the same folds in whatever order attributes are asked for.
        """
        names = list(domain.attributes)
        order = sorted(range(len(names)), key=names.__getitem__)
        found = (
            None
            if names == sorted(names)
            else data.channel.marginal(data.weights, domain.shape, order)
        )
        if found is None:
            return None
        other = domain.select([names[axis] for axis in order])
        fit = self._fit(LikelihoodData(found[0], found[1], data.n, other))
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


def _has_marginals(channel: LikelihoodOperator, w: np.ndarray, domain: Domain) -> bool:
    """Whether reports of one attribute, or a closed form, give marginals to start from."""
    return bool(domain.attributes) and (
        channel.has_closed_inverse or channel.marginal(w, domain.shape, [0]) is not None
    )


def _independence_start(data: LikelihoodData) -> np.ndarray:
    """The product of the marginals, mixed with the uniform distribution so that no share is 0."""
    shares = Independent(method=_Marginal()).fit(data).shares
    return (1 - _EVEN) * shares + _EVEN / shares.size
