"""All reports of a small mechanism with their exact probabilities: the audit compares them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from warner.mechanisms.description import Description
from warner.privacy.likelihood_ratios import euclidean_distances

ENUMERABLE = 2**16  # probabilities that an audit compares one by one


class Enumeration(Description):
    """Lists reports and their probabilities under each value. Abstract."""

    @abstractmethod
    def probabilities(self) -> np.ndarray:
        """Pr(report | value) of each of :meth:`outputs`, an object array (m, K) of Fractions."""

    def outputs(self) -> Mapping[str, np.ndarray]:
        """Every report that can be sent, once, as the schema's columns, m rows."""
        return self.schema.all_reports()

    @property
    def n_reports(self) -> int:
        """m, the number of different reports."""
        return self.schema.n_reports

    @property
    def is_enumerable(self) -> bool:
        """Whether reports and values are few enough to list all probabilities."""
        return self.n_reports * self.domain.size <= ENUMERABLE

    def protected(self) -> np.ndarray:
        """Which of :meth:`outputs` the guarantee bounds, (m,) booleans [P2 def 2].

        All of them, unless some values are not protected.
        """
        return np.ones(self.n_reports, dtype=bool)

    def distances(self, index: np.ndarray | None = None) -> np.ndarray | None:
        """The distances of values, in units of ``distance_unit``.

        Args:
            index: (k,) which values; None for all K.

        Returns:
            (k, k), or None where epsilon is for any two values.
        """
        if self.distance_unit is None:
            return None
        points = np.zeros((0, 1)) if self.domain.points is None else self.domain.points
        chosen = points if index is None else points[index]
        return euclidean_distances(chosen) / self.distance_unit

    def epsilon_of_law(self) -> float:
        """The epsilon that an audit states: from the law alone, not from the request.

        Nats between values ``distance_unit`` apart; where privacy is approximate, the epsilon at
        which delta is measured.
        """
        if self.guarantee.delta is not None:
            return self.guarantee.epsilon
        return self.law.worst_epsilon() if self.distance_unit is None else self.epsilon
