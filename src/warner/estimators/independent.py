"""Attributes taken as independent: the product of their marginals (RR-Independent, RR-Clusters)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.channels import Channel, marginal, summed
from warner.domains import Product
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status, status_of_parts
from warner.estimators.inversion import Inversion
from warner.estimators.likelihood_data import LikelihoodData


@dataclass(frozen=True)
class Independent(Estimator):
    """theta(x_1, .., x_d) = theta_1(x_1) .. theta_d(x_d), each marginal estimated from its own reports.

    With d attributes of K values it has d (K - 1) numbers to learn and not K^d - 1, so it errs less where attributes are nearly
    independent or people few; its bias is their dependence, which more people do not lessen. On attributes that were randomised apart, and on
    randomised response of all together, marginals come from summed weights, and nothing of the size of the product is worked on but the
    result. Elsewhere the method estimates the whole, and its sums are taken. A domain of one attribute has one marginal.

    Args:
        groups: attributes that are estimated jointly, such as [["age", "sex"]]; those not named stand alone. None for all apart.
        method: what estimates each marginal.

    Raises:
        ArgumentError: groups that name an attribute twice, or one that the domain does not have.

    Source: [P5 alg 2]; groups: Domingo-Ferrer and Soria-Comas (2022); METHODS 3.

    >>> Independent(), Independent([["age", "sex"]], Inversion())
    (Independent(), Independent(groups=(('age', 'sex'),), method=Inversion(constraint=None)))
    """

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
                message(
                    "method",
                    "must be an estimator",
                    kind(self.method),
                    "For example Inversion('project')",
                )
            )
        if self.groups is None:
            return
        if isinstance(self.groups, str) or not all(
            isinstance(g, Sequence) and not isinstance(g, str) for g in self.groups
        ):
            raise ArgumentTypeError(
                message(
                    "groups",
                    "must be lists of names",
                    kind(self.groups),
                    "For example [['age', 'sex']]",
                )
            )
        groups = tuple(tuple(group) for group in self.groups)
        names = [name for group in groups for name in group]
        if not all(isinstance(name, str) for name in names):
            raise ArgumentTypeError(
                message("groups", "must be lists of names", "other things in them")
            )
        if len(set(names)) < len(names) or not all(groups):
            raise ArgumentError(
                message(
                    "groups",
                    "must name every attribute once at most, and none be empty",
                    show([list(g) for g in groups]),
                )
            )
        object.__setattr__(self, "groups", groups)

    def __repr__(self) -> str:
        parts = [] if self.groups is None else [f"groups={self.groups!r}"]
        parts += [] if self.method == Inversion("project") else [f"method={self.method!r}"]
        return f"Independent({', '.join(parts)})"

    def _fit(self, data: LikelihoodData) -> Fit:
        domain = data.domain
        if not isinstance(domain, Product):
            return self.method.fit(data)
        groups = self.places(domain)
        if len(groups) == 1:
            return self.method.fit(data)
        shape = domain.shape
        parts = [self._part(data, domain, keep) for keep in groups]
        table = np.ones(())
        for (part, _), keep in zip(parts, groups, strict=True):
            table = np.multiply.outer(table, part.reshape([shape[axis] for axis in keep]))
        order = np.argsort([axis for keep in groups for axis in keep])
        status = status_of_parts(status for _, status in parts)
        return Fit(np.ascontiguousarray(table.transpose(order)).ravel(), status)

    def places(self, domain: Product) -> list[list[int]]:
        """The groups as places of their attributes, in the order of the domain."""
        names = list(domain.domains)
        groups = [list(group) for group in self.groups or ()]
        unknown = [name for group in groups for name in group if name not in names]
        if unknown:
            raise ArgumentError(
                message(
                    "groups",
                    f"must name attributes of the domain, {', '.join(names)}",
                    show(unknown[0]),
                )
            )
        named = {name for group in groups for name in group}
        groups += [[name] for name in names if name not in named]
        return sorted(sorted(names.index(name) for name in group) for group in groups)

    def _part(
        self, data: LikelihoodData, domain: Product, keep: list[int]
    ) -> tuple[np.ndarray, Status]:
        """The estimated marginal of one group, and how its fit ended."""
        found: tuple[Channel, Any] | None = marginal(data.channel, data.weights, domain.shape, keep)
        if found is None:
            fit = self.method.fit(data)
            return summed(fit.shares, domain.shape, keep), fit.status
        attributes = [list(domain.domains.items())[axis] for axis in keep]
        own = attributes[0][1] if len(keep) == 1 else Product(**dict(attributes))
        fit = self.method.fit(LikelihoodData(found[0], found[1], data.n, own))
        return fit.shares, fit.status
