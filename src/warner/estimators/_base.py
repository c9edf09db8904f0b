"""What an estimator is: an immutable description of a method, and one call that applies it to evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod

from warner.estimate import Fit
from warner.evidence import Evidence


class Estimator(ABC):
    """A method that turns evidence into a distribution; its repr is the method's name in results."""

    @abstractmethod
    def fit(self, evidence: Evidence) -> Fit:
        """Estimate the distribution over the K values of ``evidence.domain``."""
