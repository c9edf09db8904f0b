"""What an estimator is: an immutable description of a method, and one call that applies it to evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner._core.threads import SMALL, one_thread
from warner.domains import Domain
from warner.estimators.fit import Fit
from warner.estimators.likelihood_data import LikelihoodData


class Estimator(ABC):
    """A method that turns evidence into a distribution; its repr is the method's name in results."""

    @abstractmethod
    def fit(self, data: LikelihoodData) -> Fit:
        """Estimate the distribution over the K values of ``data.domain``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "fit" in vars(cls):
            cls.fit = _small_on_one_thread(cls.fit)  # type: ignore[method-assign]


def _small_on_one_thread(fit: Callable[..., Fit]) -> Callable[..., Fit]:
    """The same fit, on one thread where its products are small."""

    @wraps(fit)
    def fitted(self: Any, data: LikelihoodData, *args: Any, **kwargs: Any) -> Fit:
        rows, size = data.channel.shape
        if min(rows, data.n) * size**2 > SMALL:
            return fit(self, data, *args, **kwargs)
        with one_thread():
            return fit(self, data, *args, **kwargs)

    return fitted


def repr_of_changes(estimator: Any) -> str:
    """The repr of a dataclass with many arguments: those that are not as by default."""
    changed = {
        f.name: getattr(estimator, f.name)
        for f in fields(estimator)
        if getattr(estimator, f.name) != f.default
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def require_order(domain: Domain, name: str) -> None:
    """Refuse domains whose values are not points on a line."""
    points = domain.points
    if points is None or points.shape[1] != 1:
        raise ArgumentError(
            message(
                "domain",
                f"of {name} must have values in order on a line",
                type(domain).__name__,
                "Use Integers or Interval for it, or MaximumLikelihood() for values without order",
            )
        )
