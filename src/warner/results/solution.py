"""A solved estimation problem: the data, the estimator and what it returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import kind as kind_of, show, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
)
from warner._core.names import Hinting
from warner.channels import SummedChannel, lifted, summed
from warner.domains import Domain
from warner.estimators import Estimator
from warner.estimators.base import Fit, LikelihoodData, Status
from warner.estimators.inversion import Inversion
from warner.metrics import project

if TYPE_CHECKING:
    from warner.results.rough_posterior import RoughPosterior


# Functions of the shares: a matrix (r, K), a function (K,) -> (r,), or None for the shares.
Weights = ArrayLike | Callable[[np.ndarray], ArrayLike] | None


@dataclass(frozen=True, eq=False)
class Solution(Hinting):
    """The data of an estimation problem, the estimator and its fit: a record that computes nothing.

    Attributes:
        fit: what the estimator returned.
        data: the channel, the frequencies of its rows and the number of reports.
        estimator: the estimator.
        attribute: the name of the attribute, where it has one.
        sums: for a marginal, the joint solution that was summed over other attributes.
        normal: for one of several groups that were pooled, the posterior of its shares.
        group: for one of several groups, its public values as its table shows them.
    """

    fit: Fit = field(repr=False)
    data: LikelihoodData = field(repr=False)
    estimator: Estimator
    attribute: str | None = None
    sums: Sums | None = field(default=None, repr=False)
    normal: NormalPosterior | None = field(default=None, repr=False)
    group: str = field(default="", repr=False, compare=False)

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

        It is False where one person sent several reports, and for a survey with a design. The
        posterior assumes that each report is of a different person, who was drawn by himself.
        """
        is_simple = self.reports_per_person == 1 and self.data.survey is None
        return self.fit.by_draws and is_simple

    @cached_property
    def rough_posterior(self) -> RoughPosterior | None:
        """The posterior that intervals of a log-spline are made of; None of other estimates."""
        from warner.results.rough_posterior import RoughPosterior

        return RoughPosterior.of(self.data, self.fit)

    @cached_property
    def smoothed(self) -> tuple[np.ndarray | None, np.ndarray]:
        """The log-spline of the reports (K,) and draws (B, K); None and no draws if not ordered."""
        if not self.domain.answered.is_ordered:
            return None, np.empty((0, self.domain.size))
        from warner.estimators.log_spline import LogSpline
        from warner.results.rough_posterior import smoothed

        return smoothed(self.data, self.fit if self.estimator == LogSpline() else None)

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
    have_shares = first.probabilities is not None and second.probabilities is not None
    return (
        (a.attribute, a.n, a.reports_per_person, a.method, first.status, first.gap)
        == (b.attribute, b.n, b.reports_per_person, b.method, second.status, second.gap)
        and (first.mean, have_shares) == (second.mean, second.probabilities is not None)
        and a.domain == b.domain
        and a.data.design == b.data.design
        and a.data.simulated == b.data.simulated
        and a.data.channel.shape == b.data.channel.shape
        and (not have_shares or np.array_equal(a.probabilities, b.probabilities))
        and np.array_equal(a.data.weights, b.data.weights)
    )


@dataclass(frozen=True, eq=False)
class Sums:
    """How a marginal was made: a joint solution, summed over attributes not in ``keep``."""

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
            rule = f"must be rows of {size} numbers, one for each value"
            raise ArgumentTypeError("weights", rule, kind_of(weights)) from None
        if matrix.ndim != 2 or matrix.shape[1] != size:
            rule = f"must be rows of {size} finite numbers, one for each value"
            raise ArgumentError("weights", rule, f"the shape {matrix.shape}")
        return lifted(matrix.T, self.shape, self.keep).T


@dataclass(frozen=True, eq=False)
class Composed:
    """A function of a marginal, as a function of the joint distribution, with its limits."""

    function: Callable[[np.ndarray], Any]
    sums: Sums
    limits: tuple[Any, Any]

    def __call__(self, theta: np.ndarray) -> Any:
        return self.function(summed(theta, self.sums.shape, self.sums.keep))


# -----------------------------------------------------------------------------------------------
# Marginals: estimates of some attributes from an estimate of several together.


def marginal_estimate(estimate: Solution, names: str | Sequence[str]) -> Solution:
    """The marginal of a joint estimate: sums over the tuples with the kept attributes."""
    domain = estimate.domain
    keep = positions(domain, names)
    if keep == tuple(range(len(domain.shape))) and len(keep) > 1:
        return estimate
    data, fit = estimate.data, estimate.fit
    shares = summed(fit.shares, domain.shape, keep)
    separate = data.on_attributes(keep)
    # For categorical reports, the inversion of the marginal's reports equals the sum of the joint
    # inversion. For bit reports it has a much lower variance.
    alone = (
        estimate.estimator == Inversion()
        and separate is not None
        and len(separate.channel.groups()) == 1
    )
    summed_data = separate or summed_reports(data, keep, project(estimate.probabilities))
    if alone:
        fit = estimate.estimator.fit(summed_data)
        shares = fit.shares
    status = fit.status
    if status is Status.OUTSIDE_SIMPLEX and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-9:
        status, shares = Status.EXACT, shares / shares.sum()
    usual = "score" if summed_data.channel.has_moments else "bootstrap"
    sums = None if alone else Sums(estimate, domain.shape, keep, usual)
    attribute = estimate.attribute if len(keep) > 1 else list(domain.attributes)[keep[0]]
    # Independent draws of shares do not show how the noise of neighbouring cells cancels in sums.
    fit = replace(fit, probabilities=shares, status=status, posterior=None, path=None)
    return Solution(fit, summed_data, estimate.estimator, attribute, sums)


def summed_reports(data: LikelihoodData, keep: Sequence[int], shares: np.ndarray) -> LikelihoodData:
    """All reports as data on some attributes, which cannot be told apart from the others.

    ``shares`` (K,) say how those with each value of ``keep`` answer the other questions.
    """
    shape = data.domain.shape
    survey = None if data.survey is None else data.survey.on_attributes(shape, keep)
    channel = SummedChannel(data.channel, shape, keep, shares)
    return replace(data, channel=channel, domain=subdomain(data.domain, keep), survey=survey)


def attribute_names(domain: Domain) -> list[str]:
    """The names of the attributes of a Product."""
    if not domain.attributes:
        rule = "must have several questions (a Product)"
        raise ArgumentTypeError("domain", rule, type(domain).__name__)
    return list(domain.attributes)


def positions(domain: Domain, names: str | Sequence[str], least: int = 1) -> tuple[int, ...]:
    """The positions of some attributes in a Product, in the order of their names."""
    attributes = attribute_names(domain)
    if not isinstance(names, str) and (
        not hasattr(names, "__iter__") or not all(isinstance(name, str) for name in names)
    ):
        rule = "must be names of questions"
        remedy = f"The questions are {', '.join(attributes)}"
        raise ArgumentTypeError("names", rule, kind_of(names), remedy)
    listed = [names] if isinstance(names, str) else list(names)
    missing = [name for name in listed if name not in attributes]
    if missing:
        raise unknown("names", missing[0], attributes, "the questions")
    if len(set(listed)) < len(listed) or len(listed) < least:
        rule = f"must name at least {least} different question{'s' * (least > 1)}"
        raise ArgumentError("names", rule, show(listed))
    return tuple(attributes.index(name) for name in listed)


def subdomain(domain: Domain, keep: Sequence[int]) -> Domain:
    """The Product of the attributes at ``keep``, or the domain of a single attribute."""
    names = list(domain.attributes)
    return domain.select([names[axis] for axis in keep])


# -----------------------------------------------------------------------------------------------
# Functions of the shares within a block of values, such as the values of people with one key.


@dataclass(frozen=True, eq=False)
class BlockShares:
    """The attributes of a solution that summaries read, for one block of values."""

    probabilities: np.ndarray  # (V,) the shares within the block
    domain: Domain  # the V values
    whole: Solution  # the solution on all values

    @property
    def fit(self) -> Fit:
        """The fit of all values."""
        return self.whole.fit

    @property
    def normal(self) -> NormalPosterior | None:
        """The posterior of all values, where they are of a pooled group."""
        return self.whole.normal


class WithinBlock:
    """A function with limits of the shares (V,) of a block, as one of the shares of all values."""

    def __init__(self, of: Any, block: slice) -> None:
        self.of, self.block, self.limits = of, block, of.limits
        if self.limits is None:
            self.limits = (float(of.weights.min()), float(of.weights.max()))
        if hasattr(of, "cumulative"):
            self.cumulative = WithinBlock(of.cumulative, block)
            self.q = of.q
        if hasattr(of, "invert"):
            self.invert = of.invert

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(self.of(within(theta, self.block)))


def within(theta: np.ndarray, block: slice) -> np.ndarray:
    """The shares (V,) of a block, divided by their sum; uniform where the sum is not positive."""
    shares = theta[block]
    total = float(shares.sum())
    return shares / total if total > 0 else np.full(shares.size, 1 / shares.size)
