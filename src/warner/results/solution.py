"""A solved estimation problem: the data, the estimator and what it returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import kind as kind_of
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.channels import lifted, summed
from warner.domains import Domain
from warner.estimators import Estimator
from warner.estimators.fit import Fit, Status
from warner.estimators.likelihood_data import LikelihoodData


@dataclass(frozen=True, eq=False)
class Solution:
    """What an estimator made of data: a record without methods that compute.

    Attributes:
        fit: what the estimator returned.
        data: the channel, the frequencies of its rows and the number of reports.
        estimator: the estimator.
        attribute: the name of the attribute, where it has one.
        sums: for a marginal, the solution that was summed over other attributes.
    """

    fit: Fit = field(repr=False)
    data: LikelihoodData = field(repr=False)
    estimator: Estimator
    attribute: str | None = None
    sums: Sums | None = field(default=None, repr=False)

    @property
    def probabilities(self) -> np.ndarray:
        return self.fit.shares

    @property
    def domain(self) -> Domain:
        return self.data.domain

    @property
    def method(self) -> str:
        return repr(self.estimator)

    @property
    def n(self) -> int:
        return self.data.n

    @property
    def status(self) -> Status:
        return self.fit.status

    @property
    def gap(self) -> float | None:
        return self.fit.gap

    @property
    def iterations(self) -> int | None:
        return self.fit.iterations

    @property
    def unique(self) -> str | None:
        return self.fit.unique

    @property
    def components(self) -> int | None:
        return self.fit.components

    @property
    def log_likelihood(self) -> float | None:
        return self.fit.log_likelihood

    @property
    def likelihood(self) -> str | None:
        return self.fit.likelihood

    @property
    def seconds(self) -> float | None:
        return self.fit.seconds

    @cached_property
    def has_intervals(self) -> bool:
        """Whether the channel has an inverse that can be formed, which Wald intervals are made from."""
        return self.data.channel.has_wald_intervals(self.data.weights)


@dataclass(frozen=True, eq=False)
class Sums:
    """What a marginal estimate is sums of: an estimate on a Product with ``shape`` values, summed over attributes not in ``keep``.

    A function of the marginal is a function of the whole, so its bootstrap refits the whole and sums; ``kind`` is the interval
    that is given where none is asked for.
    """

    whole: Solution
    shape: tuple[int, ...]
    keep: tuple[int, ...]
    kind: str

    def of_whole(self, weights: Any, kind: str) -> Any:
        """``weights``, functions of the sums, as functions of all shares; few of them stay a matrix, which the Fisher information needs."""
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
                message("weights", f"must be numbers, of shape (r, {size})", kind_of(weights))
            ) from None
        if matrix.ndim != 2 or matrix.shape[1] != size:
            raise ArgumentError(
                message("weights", f"must be finite, of shape (r, {size})", str(matrix.shape))
            )
        return lifted(matrix.T, self.shape, self.keep).T


@dataclass(frozen=True, eq=False)
class Composed:
    """f(sums of theta), with the limits of f."""

    function: Callable[[np.ndarray], Any]
    sums: Sums
    limits: tuple[Any, Any]

    def __call__(self, theta: np.ndarray) -> Any:
        return self.function(summed(theta, self.sums.shape, self.sums.keep))
