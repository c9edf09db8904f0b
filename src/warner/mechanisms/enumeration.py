"""All reports of a small mechanism with their exact probabilities, which the audit compares."""

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
        """The exact probability of every report under every value.

        Returns:
            (m, K) object array of Fractions, Pr(report y | value x), in the order of
            :meth:`outputs`.
        """

    def outputs(self) -> Mapping[str, np.ndarray]:
        """Every possible report once, as the schema's columns with m rows."""
        return self.schema.all_reports()

    @property
    def n_reports(self) -> int:
        """m, the number of different reports."""
        return self.schema.n_reports

    @property
    def is_enumerable(self) -> bool:
        """Whether there are at most 2^16 pairs of a report and a value.

        All probabilities can then be listed. Some mechanisms have a lower limit.
        """
        return self.n_reports * self.domain.size <= ENUMERABLE

    def protected(self) -> np.ndarray:
        """Which reports of :meth:`outputs` the guarantee bounds, (m,) booleans [P2 def 2].

        The guarantee bounds all reports, unless some values are not protected.
        """
        return np.ones(self.n_reports, dtype=bool)

    def distances(self, index: np.ndarray | None = None) -> np.ndarray | None:
        """The distances of values, in units of ``distance_unit``.

        Args:
            index: (k,) the indices of the values; None for all K.

        Returns:
            (k, k) distances; None where ``epsilon`` bounds any two values.
        """
        if self.distance_unit is None:
            return None
        points = np.zeros((0, 1)) if self.domain.points is None else self.domain.points
        chosen = points if index is None else points[index]
        return euclidean_distances(chosen) / self.distance_unit

    def epsilon_of_law(self) -> float:
        """The epsilon that an audit states. It is computed from the law, not from the request.

        Returns:
            Nats; with metric privacy, between values that are ``distance_unit`` apart. With
            approximate privacy, the epsilon at which delta is measured.
        """
        if self.guarantee.delta is not None:
            return self.guarantee.epsilon
        return self.law.worst_epsilon() if self.distance_unit is None else self.epsilon
