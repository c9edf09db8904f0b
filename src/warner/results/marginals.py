"""Estimates of several attributes together: what they say of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warner._core.checks import kind as kind_of
from warner._core.checks import show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.channels import StackChannel, SummedChannel, marginal, summed
from warner.domains import Domain, Product
from warner.estimators.fit import Status
from warner.estimators.inversion import Inversion
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import project
from warner.results.solution import Solution, Sums


def marginal_estimate(estimate: Solution, names: str | Sequence[str]) -> Solution:
    """See Estimate.marginal."""
    domain = estimate.domain
    keep = places(domain, names)
    assert isinstance(domain, Product)
    if keep == tuple(range(len(domain.shape))) and len(keep) > 1:
        return estimate
    part = subdomain(domain, keep)
    data, fit = estimate.data, estimate.fit
    shares = summed(fit.shares, domain.shape, keep)
    found = marginal(data.channel, data.weights, domain.shape, keep)
    usual = "wald"
    if found is None:
        plug = project(estimate.probabilities)
        channel = SummedChannel(data.channel, domain.shape, keep, plug)
        found, usual = (channel, data.weights), "wald" if channel.has_moments else "bootstrap"
    # The inversion of the summed weights needs nothing of the whole. It is the sum of the inversion where what is summed over adds up to one, and
    # much less noisy where that is only so on average, as of reports of bits.
    alone = estimate.estimator == Inversion() and not isinstance(
        found[0], SummedChannel | StackChannel
    )
    summed_data = LikelihoodData(found[0], found[1], data.n, part, data.simulated)
    if alone:
        fit = estimate.estimator.fit(summed_data)
        shares = fit.shares
    status = fit.status
    if status is Status.OUTSIDE_SIMPLEX and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-9:
        status, shares = Status.EXACT, shares / shares.sum()
    whole = None if alone else Sums(estimate, domain.shape, keep, usual)
    named = estimate.attribute if len(keep) > 1 else list(domain.domains)[keep[0]]
    # Draws of shares one by one do not know how the noise of neighbouring cells cancels in their sums.
    return Solution(
        replace(fit, probabilities=shares, status=status, posterior=None, path=None),
        summed_data,
        estimate.estimator,
        named,
        whole,
    )


def places(domain: Domain, names: str | Sequence[str], least: int = 1) -> tuple[int, ...]:
    """Places of some attributes in a Product, in the order named; refused where they are not distinct names of it."""
    if not isinstance(domain, Product):
        raise ArgumentTypeError(
            message("domain", "must be a Product, of several attributes", type(domain).__name__)
        )
    known = list(domain.domains)
    if not isinstance(names, str) and (
        not hasattr(names, "__iter__") or not all(isinstance(name, str) for name in names)
    ):
        raise ArgumentTypeError(
            message(
                "names",
                "must be names of attributes",
                kind_of(names),
                f"There are {', '.join(known)}",
            )
        )
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ArgumentError(
            message(
                "names", f"must be attributes of the domain, {', '.join(known)}", show(unknown[0])
            )
        )
    if len(set(asked)) < len(asked) or len(asked) < least:
        raise ArgumentError(message("names", f"must be distinct, at least {least}", show(asked)))
    return tuple(known.index(name) for name in asked)


def subdomain(domain: Product, keep: Sequence[int]) -> Domain:
    """The Product of some attributes, or the one attribute's own domain."""
    known = list(domain.domains.items())
    return known[keep[0]][1] if len(keep) == 1 else Product(**dict(known[axis] for axis in keep))
