"""What an estimator is: an immutable description of a method, and one call that applies it to evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod

from warner._check import ArgumentError, message
from warner.domain import Domain
from warner.estimate import Fit
from warner.evidence import Evidence


class Estimator(ABC):
    """A method that turns evidence into a distribution; its repr is the method's name in results."""

    @abstractmethod
    def fit(self, evidence: Evidence) -> Fit:
        """Estimate the distribution over the K values of ``evidence.domain``."""


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
