"""Marginals: estimates of some attributes from an estimate of several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warner._core.checks import kind as kind_of, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.channels import LikelihoodOperator, SummedChannel, summed
from warner.domains import Domain
from warner.estimators.base import Fit, Status
from warner.estimators.inversion import Inversion
from warner.metrics import project
from warner.results.solution import Solution, Sums


def marginal_estimate(estimate: Solution, names: str | Sequence[str]) -> Solution:
    """The marginal of a joint estimate on some of its attributes.

    theta'(x') = sum of theta(x) over the tuples x with the kept attributes x'
    """
    domain = estimate.domain
    keep = positions(domain, names)
    if keep == tuple(range(len(domain.shape))) and len(keep) > 1:
        return estimate
    data, fit = estimate.data, estimate.fit
    shares = summed(fit.shares, domain.shape, keep)
    separate = data.channel.marginal(data.weights, domain.shape, keep)
    if separate is None:
        plug = project(estimate.probabilities)
        operator: LikelihoodOperator = SummedChannel(data.channel, domain.shape, keep, plug)
        weights = data.weights
    else:
        operator, weights = separate
    # For categorical reports, the inversion of the marginal's reports equals the sum of the joint
    # inversion. For bit reports it has a much lower variance.
    alone = (
        estimate.estimator == Inversion() and separate is not None and len(operator.groups()) == 1
    )
    summed_data = replace(data, channel=operator, weights=weights, domain=subdomain(domain, keep))
    if alone:
        fit = estimate.estimator.fit(summed_data)
        shares = fit.shares
    status = fit.status
    if status is Status.OUTSIDE_SIMPLEX and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-9:
        status, shares = Status.EXACT, shares / shares.sum()
    usual = "score" if operator.has_moments else "bootstrap"
    sums = None if alone else Sums(estimate, domain.shape, keep, usual)
    attribute = estimate.attribute if len(keep) > 1 else list(domain.attributes)[keep[0]]
    # Independent draws of shares do not show how the noise of neighbouring cells cancels in sums.
    return Solution(
        replace(fit, probabilities=shares, status=status, posterior=None, path=None),
        summed_data,
        estimate.estimator,
        attribute,
        sums,
    )


def attribute_names(domain: Domain) -> list[str]:
    """The names of the attributes of a Product."""
    if not domain.attributes:
        raise ArgumentTypeError(
            "domain", "must be a Product, of several attributes", type(domain).__name__
        )
    return list(domain.attributes)


def positions(domain: Domain, names: str | Sequence[str], least: int = 1) -> tuple[int, ...]:
    """The positions of some attributes in a Product, in the order of their names."""
    known = attribute_names(domain)
    if not isinstance(names, str) and (
        not hasattr(names, "__iter__") or not all(isinstance(name, str) for name in names)
    ):
        raise ArgumentTypeError(
            "names",
            "must be names of attributes",
            kind_of(names),
            f"There are {', '.join(known)}",
        )
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ArgumentError(
            "names", f"must be attributes of the domain, {', '.join(known)}", show(unknown[0])
        )
    if len(set(asked)) < len(asked) or len(asked) < least:
        raise ArgumentError("names", f"must be distinct, at least {least}", show(asked))
    return tuple(known.index(name) for name in asked)


def subdomain(domain: Domain, keep: Sequence[int]) -> Domain:
    """The Product of the attributes at ``keep``, or the domain of a single attribute."""
    names = list(domain.attributes)
    return domain.select([names[axis] for axis in keep])


# -----------------------------------------------------------------------------------------------
# Functions of the shares within a block of values, such as the values of people with one key.


@dataclass(frozen=True, eq=False)
class BlockShares:
    """The attributes of a solution that summaries read, for one block of values.

    Attributes:
        probabilities: (V,) the shares within the block.
        domain: the V values.
        whole: the solution on all values.
    """

    probabilities: np.ndarray
    domain: Domain
    whole: Solution

    @property
    def fit(self) -> Fit:
        """The fit of all values."""
        return self.whole.fit


class WithinBlock:
    """A function of the shares of a block of values, as a function of the shares of all values.

    Args:
        of: a function (V,) -> (1,) of a distribution on the block, with ``limits``.
        block: the places of the block's values among all values.
    """

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
        value: np.ndarray = self.of(within(theta, self.block))
        return value


def within(theta: np.ndarray, block: slice) -> np.ndarray:
    """The shares of a block, divided by their sum; uniform where the sum is not positive.

    Shapes: theta (K,) -> (V,).
    """
    shares = theta[block]
    total = float(shares.sum())
    return shares / total if total > 0 else np.full(shares.size, 1 / shares.size)
