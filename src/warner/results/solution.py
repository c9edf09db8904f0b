"""A solved estimation problem: the data, the estimator and what it returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import kind as kind_of
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
)
from warner.channels import lifted, summed
from warner.domains import Domain
from warner.estimators import Estimator
from warner.estimators.base import Fit, LikelihoodData, Status

# Functions of the shares: a matrix (r, K), a function (K,) -> (r,), or None for the shares.
Weights = ArrayLike | Callable[[np.ndarray], ArrayLike] | None


@dataclass(frozen=True, eq=False)
class Solution:
    """The data of an estimation problem, the estimator and its fit: a record that computes nothing.

    Attributes:
        fit: what the estimator returned.
        data: the channel, the frequencies of its rows and the number of reports.
        estimator: the estimator.
        attribute: the name of the attribute, where it has one.
        sums: for a marginal, the joint solution that was summed over other attributes.
        normal: for one of several groups that were pooled, the posterior of its shares.
    """

    fit: Fit = field(repr=False)
    data: LikelihoodData = field(repr=False)
    estimator: Estimator
    attribute: str | None = None
    sums: Sums | None = field(default=None, repr=False)
    normal: NormalPosterior | None = field(default=None, repr=False)

    @property
    def probabilities(self) -> np.ndarray:
        """The estimated shares (K,) in the domain's order.

        Raises:
            IdentifiabilityError: the method does not estimate shares.
        """
        return self.fit.shares

    @property
    def domain(self) -> Domain:
        """The K values."""
        return self.data.domain

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.data.n

    @property
    def reports_per_person(self) -> int:
        """The most reports of different values that one person sent."""
        return self.data.reports_per_person

    @property
    def method(self) -> str:
        """The name of the estimator, as Python code."""
        return repr(self.estimator)

    @property
    def status(self) -> Status:
        """How the estimator ended."""
        return self.fit.status

    @property
    def gap(self) -> float | None:
        """The gap in nats per report (METHODS 0), or None where there is no likelihood."""
        return self.fit.gap

    @property
    def iterations(self) -> int | None:
        """The number of steps, or None for a method without steps."""
        return self.fit.iterations

    @property
    def unique(self) -> str | None:
        """Whether a maximum of the likelihood is the only one, in words, or None."""
        return self.fit.unique

    @property
    def components(self) -> int | None:
        """The number of estimates where several values share one, or None."""
        return self.fit.components

    @property
    def bic(self) -> float | None:
        """The Bayesian information criterion of a fit by mixture reduction; None for others.

            BIC = -2 L + k ln n

        L is the log-likelihood of the n reports, and k the number of components that were
        estimated. Less is better.
        """
        return self.fit.bic

    @property
    def log_likelihood(self) -> float | None:
        """The log-likelihood in nats over all n reports, or None."""
        return self.fit.log_likelihood

    @property
    def likelihood(self) -> str | None:
        """The name of the likelihood that ``log_likelihood`` refers to, or None."""
        return self.fit.likelihood

    @property
    def seconds(self) -> float | None:
        """The time in seconds that an iterative method took, or None."""
        return self.fit.seconds

    @property
    def has_posterior_intervals(self) -> bool:
        """Whether intervals for the population are made of posterior draws by default.

        It is False where one person sent several reports. The posterior assumes that each report
        is of a different person.
        """
        return self.fit.by_draws and self.reports_per_person == 1

    @cached_property
    def has_intervals(self) -> bool:
        """Whether the channel has an inverse that can be formed; intervals need it."""
        return self.data.channel.has_wald_intervals(self.data.weights)


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """Means and standard deviations of shares, (K,) or (G, K) of several groups."""

    mean: np.ndarray
    deviation: np.ndarray

    def interval(self, level: float, shares: np.ndarray) -> np.ndarray:
        """Intervals (.., 2) that hold the estimated shares, too."""
        half = NormalDist().inv_cdf((1 + level) / 2) * self.deviation
        low, high = np.clip(self.mean - half, 0.0, 1.0), np.clip(self.mean + half, 0.0, 1.0)
        return np.stack([np.minimum(low, shares), np.maximum(high, shares)], axis=-1)


def same(a: Solution, b: Solution) -> bool:
    """Whether two solutions are by one method, from the same frequencies of reports."""
    first, second = a.fit, b.fit
    known = first.probabilities is not None and second.probabilities is not None
    return (
        (a.attribute, a.n, a.reports_per_person, a.method, first.status, first.gap)
        == (b.attribute, b.n, b.reports_per_person, b.method, second.status, second.gap)
        and (first.mean, known) == (second.mean, second.probabilities is not None)
        and a.domain == b.domain
        and a.data.simulated == b.data.simulated
        and a.data.channel.shape == b.data.channel.shape
        and (not known or np.array_equal(a.probabilities, b.probabilities))
        and np.array_equal(a.data.weights, b.data.weights)
    )


@dataclass(frozen=True, eq=False)
class Sums:
    """How a marginal solution was made: a joint solution, summed over attributes.

    A function of the marginal is a function of the joint distribution. Its bootstrap therefore
    refits the joint distribution and sums.

    Attributes:
        whole: the joint solution.
        shape: the numbers of values of its attributes.
        keep: the places of the attributes that were not summed over.
        kind: the kind of intervals that is used if no kind is named.
    """

    whole: Solution
    shape: tuple[int, ...]
    keep: tuple[int, ...]
    kind: str

    def of_whole(self, weights: Weights, kind: str) -> Any:
        """Functions of the marginal, as functions of the joint distribution."""
        size = int(np.prod([self.shape[axis] for axis in self.keep]))
        if callable(weights):
            return Composed(weights, self, getattr(weights, "limits", (-np.inf, np.inf)))
        if weights is None and kind != "fisher":
            return Composed(lambda shares: shares, self, (0.0, 1.0))
        try:
            matrix = np.atleast_2d(
                np.asarray(np.eye(size) if weights is None else weights, dtype=np.float64)
            )
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                "weights", f"must be numbers, of shape (r, {size})", kind_of(weights)
            ) from None
        if matrix.ndim != 2 or matrix.shape[1] != size:
            raise ArgumentError(
                "weights", f"must be finite, of shape (r, {size})", str(matrix.shape)
            )
        return lifted(matrix.T, self.shape, self.keep).T


@dataclass(frozen=True, eq=False)
class Composed:
    """A function of a marginal, as a function of the joint distribution, with its limits."""

    function: Callable[[np.ndarray], Any]
    sums: Sums
    limits: tuple[Any, Any]

    def __call__(self, theta: np.ndarray) -> Any:
        return self.function(summed(theta, self.sums.shape, self.sums.keep))
