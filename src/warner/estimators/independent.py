"""Independent attributes: the product of their marginals (RR-Independent, RR-Clusters)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.channels import FloatArray, summed
from warner.domains import Domain
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status, status_of_parts
from warner.estimators.inversion import Inversion
from warner.estimators.likelihood_data import LikelihoodData


@dataclass(frozen=True)
class Independent(Estimator):
    """The joint distribution of independent attributes: the product of estimated marginals.

        theta(x_1, .., x_d) = theta_1(x_1) .. theta_d(x_d)

    theta_k is the marginal of attribute k of d, and each marginal is estimated separately. If each
    attribute has K values, d (K - 1) numbers are estimated instead of K^d - 1. The error is
    smaller than that of a joint estimate if attributes are nearly independent, or if there are few
    people for K^d shares. The bias is the dependence of the attributes. More people do not reduce
    it.

    Marginals are estimated from summed report frequencies if the attributes were randomised
    separately, or together by randomised response. Then only the result has the size of the
    product. Otherwise ``method`` estimates the joint distribution, which is summed. On a domain
    that is not a Product, the result is that of ``method``.

    Args:
        groups: attributes that are estimated jointly, such as [["age", "sex"]]. Every other
            attribute is a group of its own. None if no attributes are estimated jointly.
        method: the estimator of each marginal.

    Raises:
        ArgumentError: groups that name an attribute twice, or one that the domain does not have.
        ArgumentTypeError: groups that are not lists of names, or a method that is no estimator.

    Source: [P5 alg 2]; groups: Domingo-Ferrer and Soria-Comas (2022); METHODS 3.

    >>> Independent(), Independent([["age", "sex"]], Inversion())
    (Independent(), Independent(groups=(('age', 'sex'),), method=Inversion(constraint=None)))
    """

    references = ("P5", "domingo2022")

    summary: ClassVar[str] = (
        "product of marginals, each estimated alone: right where the attributes, or groups, are "
        "independent, biased by their dependence elsewhere; for their joint distribution use "
        "another method"
    )

    groups: Sequence[Sequence[str]] | None = None
    method: Estimator = field(default=Inversion("project"))

    def __post_init__(self) -> None:
        if not isinstance(self.method, Estimator):
            raise ArgumentTypeError(
                "method",
                "must be an estimator",
                kind(self.method),
                "For example Inversion('project')",
            )
        if self.groups is None:
            return
        if isinstance(self.groups, str) or not all(
            isinstance(g, Sequence) and not isinstance(g, str) for g in self.groups
        ):
            raise ArgumentTypeError(
                "groups",
                "must be lists of names",
                kind(self.groups),
                "For example [['age', 'sex']]",
            )
        groups = tuple(tuple(group) for group in self.groups)
        names = [name for group in groups for name in group]
        if not all(isinstance(name, str) for name in names):
            raise ArgumentTypeError("groups", "must be lists of names", "other things in them")
        if len(set(names)) < len(names) or not all(groups):
            raise ArgumentError(
                "groups",
                "must name every attribute once at most, and none be empty",
                show([list(g) for g in groups]),
            )
        object.__setattr__(self, "groups", groups)

    def __repr__(self) -> str:
        parts = [] if self.groups is None else [f"groups={self.groups!r}"]
        parts += [] if self.method == Inversion("project") else [f"method={self.method!r}"]
        return f"Independent({', '.join(parts)})"

    def _fit(self, data: LikelihoodData) -> Fit:
        domain = data.domain
        if not domain.attributes:
            return self.method.fit(data)
        shape = domain.shape
        together = data.channel.clusters(shape) if self.groups is None else None
        groups = together or self.places(domain)
        if len(groups) == 1:
            return self.method.fit(data)
        parts = [self._marginal(data, domain, keep) for keep in groups]
        table = np.ones(())
        for (part, _), keep in zip(parts, groups, strict=True):
            table = np.multiply.outer(table, part.reshape([shape[axis] for axis in keep]))
        order = np.argsort([axis for keep in groups for axis in keep])
        status = status_of_parts(status for _, status in parts)
        return Fit(np.ascontiguousarray(table.transpose(order)).ravel(), status)

    def places(self, domain: Domain) -> list[list[int]]:
        """The groups as positions of their attributes, in the order of the domain.

        Args:
            domain: a Product with the attributes that the groups name.

        Returns:
            One list of positions for each group.

        Raises:
            ArgumentError: a group names an attribute that the domain does not have.
        """
        names = list(domain.attributes)
        groups = [list(group) for group in self.groups or ()]
        unknown = [name for group in groups for name in group if name not in names]
        if unknown:
            raise ArgumentError(
                "groups",
                f"must name attributes of the domain, {', '.join(names)}",
                show(unknown[0]),
            )
        named = {name for group in groups for name in group}
        groups += [[name] for name in names if name not in named]
        return sorted(sorted(names.index(name) for name in group) for group in groups)

    def _marginal(
        self, data: LikelihoodData, domain: Domain, keep: list[int]
    ) -> tuple[FloatArray, Status]:
        """The estimated marginal of one group, and how its fit ended."""
        marginal = data.channel.marginal(data.weights, domain.shape, keep)
        if marginal is None:
            fit = self.method.fit(data)
            return summed(fit.shares, domain.shape, keep), fit.status
        names = list(domain.attributes)
        subdomain = domain.select([names[axis] for axis in keep])
        fit = self.method.fit(LikelihoodData(*marginal, data.n, subdomain))
        return fit.shares, fit.status
