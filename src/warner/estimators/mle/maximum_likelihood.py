"""Maximum likelihood with a certificate (METHODS 0, 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import choice, real, show
from warner._core.errors import (
    ArgumentError,
    MismatchError,
    message,
)
from warner.channels import (
    LARGEST_DENSE,
    LikelihoodOperator,
)
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.closed_forms import budgets, direct, separable
from warner.estimators.mle.newton import constrained, interior_point, sequential
from warner.estimators.mle.objective import certify, gap, require_possible, score, zero_small_shares
from warner.estimators.mle.projected import projected
from warner.estimators.mle.squarem import accelerated
from warner.estimators.mle.uniqueness import Uniqueness, uniqueness

_Solver = Callable[[Any, np.ndarray, float], tuple[np.ndarray, int, bool]]
_PROJECTED_FROM = 512  # values, beyond which the projected gradient is the first solver
# Relative error of a score of bit sums, one report's worth of K bits.
_ROUNDING = 1e-13
_LARGEST_NEWTON = 4096  # values; beyond, a matrix of their products is not formed


@dataclass(frozen=True)
class MaximumLikelihood(Estimator):
    """The maximum of the likelihood, to a certified gap.

        argmax_theta sum_y w_y log (A theta)_y   over the simplex

    A (m, K) is the channel and w (m,) the frequencies of its rows. The solver depends on the
    channel:

    - a closed form for randomised response;
    - Newton's method in one number for randomised response with several budgets, and for bit sums;
    - projected gradients for Hadamard and projective geometry response on more than 512 values;
    - sequential quadratic programming for many distinct reports, such as of local hashing and whole
      reports of bits;
    - accelerated EM if the channel allows products only;
    - a constrained Newton method for every other channel.

    Args:
        gap: nats per report by which the maximum may exceed the estimate's log-likelihood. The
            fit's ``gap`` is the bound that was reached.
        likelihood: ``"fullest"`` uses all information in the tally. ``"reports"`` is the likelihood
            of whole reports. ``"supports"`` is the quasi-likelihood of S_x, the number of reports
            that support value x: sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), with the expected
            share mu_x = E S_x / n. It treats the S_x as independent. The fit's ``likelihood`` names
            the likelihood that was maximised.

    Returns:
        From ``fit``: a distribution with the status ``CONVERGED``, or ``STEP_LIMIT`` where the gap
        was not reached.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.
        MismatchError: whole reports were asked for, and the tally has bit sums only.
        ArgumentError: support counts were asked for, and reports do not support values.

    Source: METHODS 4, 5; [P4 sec IV-VIII] on the maximum and its uniqueness.

    >>> MaximumLikelihood()
    MaximumLikelihood(gap=1e-09)
    """

    references = ("P4", "wang2007")

    summary: ClassVar[str] = "maximum of the likelihood"

    gap: float = 1e-9
    likelihood: str = "fullest"

    def __post_init__(self) -> None:
        if real("gap", self.gap) <= 0:
            raise ArgumentError(message("gap", "must be positive", show(self.gap)))
        choice("likelihood", self.likelihood, ("fullest", "reports", "supports"))

    def __repr__(self) -> str:
        named = "" if self.likelihood == "fullest" else f", likelihood={self.likelihood!r}"
        return f"MaximumLikelihood(gap={self.gap!r}{named})"

    def _fit(self, data: LikelihoodData) -> Fit:
        channel, w = data.channel, data.weights
        if self.likelihood == "supports":
            channel, w = channel.supports(w)
            data = replace(data, channel=channel, weights=w)
        if self.likelihood == "reports" and channel.rows_per_report > 1:
            raise MismatchError(
                message(
                    "tally",
                    "knows reports by their bit sums only",
                    None,
                    "Tally with keep_reports=True",
                )
            )
        steps: int | None = None
        solve = _closed_form(channel)
        rows, weights = (channel, w) if solve is not None else channel.restrict_to_observed(w)
        require_possible(rows, weights)
        if solve is not None:
            theta = solve(channel, w)
            reached = gap(channel, w, theta) <= max(self.gap, _ROUNDING * channel.rows_per_report)
            # A sum of strictly concave functions of one share each. A share of a value that was
            # not observed only lowers it.
            only = Uniqueness.UNIQUE if reached else Uniqueness.NOT_CERTIFIED
        else:
            lumped = rows.merge_unsupported_values(weights)
            if lumped is not None:
                rows, weights, lift = lumped
            theta, steps, reached = self._iterate(rows, weights)
            theta = zero_small_shares(rows, weights, theta, self.gap)
            only = (
                uniqueness(rows, weights, theta, score(rows, weights, theta))
                if reached
                else Uniqueness.NOT_CERTIFIED
            )
            theta = theta if lumped is None else lift(theta)
        fit = certify(data, theta, Status.CONVERGED if reached else Status.STEP_LIMIT, steps)
        return replace(fit, unique=only.value)

    def refit(self, data: LikelihoodData, near: np.ndarray) -> np.ndarray:
        """The shares, by Newton's steps from ``near`` where the constrained method applies."""
        channel, w = data.channel, data.weights
        if self.likelihood == "fullest" and _closed_form(channel) is None:
            rows, weights = channel.restrict_to_observed(w)
            if rows.nearly_constant() is None and rows.merge_unsupported_values(weights) is None:
                theta, _, reached = constrained(rows, weights, self.gap, near)
                if reached:
                    return theta
        return super().refit(data, near)

    def _iterate(
        self, rows: LikelihoodOperator, weights: np.ndarray
    ) -> tuple[np.ndarray, int, bool]:
        """The solvers that fit the channel in turn, until one reaches the gap."""
        products = rows.has_fast_gram or rows.shape[0] * rows.shape[1] <= LARGEST_DENSE
        solvers: list[_Solver] = [constrained] if rows.nearly_constant() is None else [sequential]
        if rows.shape[1] > _PROJECTED_FROM and rows.supports_overlap_alike:
            solvers.insert(0, projected)
        solvers += (
            [interior_point] if products and rows.shape[1] <= _LARGEST_NEWTON else [accelerated]
        )
        steps = 0
        found: list[tuple[float, int, np.ndarray]] = []
        for solve in solvers:
            theta, more, reached = solve(rows, weights, self.gap)
            steps += more
            found.append((gap(rows, weights, theta), len(found), theta))
            if reached:
                break
        return min(found)[2], steps, reached


def _closed_form(channel: LikelihoodOperator) -> Callable[..., np.ndarray] | None:
    """The closed form or root that maximises the channel's likelihood; None where there is none."""
    if channel.rows_are_bit_sums:
        return separable
    if channel.reports_are_values:
        return direct
    if all(group.reports_are_values for group in channel.groups()):
        return budgets
    return None
