"""The data of an estimation problem, in the form that all estimators read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warner.channels import FloatArray, IntArray, LikelihoodOperator, SomeValues
from warner.domains import Domain, Subset


@dataclass(frozen=True, eq=False)
class LikelihoodData:
    """The reports of n people, as frequencies of the rows of a likelihood operator.

    The log-likelihood of theta (K,) is n sum_y w_y log (A theta)_y, up to a constant. With the
    constant it is ``warner.estimators.mle.objective.log_likelihood_at``.

    Attributes:
        channel: A (m, K).
        weights: w (m,), frequencies of the rows with the sum 1.
        n: number of reports.
        domain: the K values.
        simulated: whether the reports were made with a generator that can be repeated.
        reports_per_person: the largest number of reports of different values that one person sent.
    """

    channel: LikelihoodOperator
    weights: FloatArray
    n: int
    domain: Domain
    simulated: bool = False
    reports_per_person: int = 1

    @property
    def least_people(self) -> int:
        """The least number of people that can have sent the n reports."""
        return -(-self.n // self.reports_per_person)

    def restricted(self, index: IntArray) -> LikelihoodData:
        """The same reports, as data on some of the values; all other values have share 0.

        Args:
            index: (k,) the indices of these values, increasing.
        """
        domain = Subset(self.domain, index)
        return replace(self, channel=SomeValues(self.channel, index), domain=domain)
