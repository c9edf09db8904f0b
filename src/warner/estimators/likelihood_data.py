"""The data of an estimation problem, in the form that all estimators read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from warner._core.pickles import packed, unpacked
from warner.channels import FloatArray, IntArray, LikelihoodOperator, SomeValues
from warner.domains import Domain, Subset

MANY_ROWS = 4  # rows per value from which on whole reports of bits are many
_FEW_VALUES = 512


@dataclass(frozen=True, eq=False)
class LikelihoodData:
    """The reports of n people, as frequencies of the rows of a likelihood operator.

    The log-likelihood of theta (K,) is n sum_y w_y log (A theta)_y, up to a constant. With the
    constant it is ``warner.estimators.mle.maximum_likelihood.log_likelihood_at``.

    Attributes:
        channel: A (m, K).
        weights: w (m,), frequencies of the rows with the sum 1. They cannot be written to, because
            other methods read them next.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _read_only(self.weights))

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with frequencies of few bytes."""
        return vars(self) | {"weights": packed(self.weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            is_weights = name == "weights"
            object.__setattr__(self, name, _read_only(unpacked(value)) if is_weights else value)

    @property
    def least_people(self) -> int:
        """The least number of people that can have sent the n reports."""
        return -(-self.n // self.reports_per_person)

    def by_sums(self) -> LikelihoodData:
        """The same data for smooth distributions, with sums of bits for many whole reports of bits.

        These reports are more than 4 K, of more than 512 values. Their sums lose next to nothing
        where no value has a large share: a report supports many values, and each of them hardly
        changes its probability. A log-spline of 1000 values then takes a twentieth of the time.
        """
        size = self.channel.shape[1]
        if size <= _FEW_VALUES or self.channel.rows_per_report > 1:
            return self
        rows, _ = self.channel.restrict_to_observed(self.weights)
        steady = rows.nearly_constant()
        if steady is None or not steady.steady.all() or rows.shape[0] <= MANY_ROWS * size:
            return self
        return self._supports()

    def for_test_of_smoothness(self) -> LikelihoodData:
        """:meth:`by_sums`, and sums also where every two values share equally many reports.

        The maximum of the likelihood of sums has a closed form. That of the reports of Hadamard and
        projective geometry response takes many products.
        """
        if self.channel.shape[1] > _FEW_VALUES and self.channel.supports_overlap_alike:
            return self._supports()
        return self.by_sums()

    def _supports(self) -> LikelihoodData:
        """The support counts of the same reports, where their likelihood is one of bit sums."""
        if self.channel.support_law() is None:
            return self
        channel, weights = self.channel.supports(self.weights)
        if not channel.rows_are_bit_sums:
            return self
        return replace(self, channel=channel, weights=weights)

    def restricted(self, index: IntArray) -> LikelihoodData:
        """The same reports, as data on some of the values; all other values have share 0.

        Shapes: index (k,).
        """
        domain = Subset(self.domain, index)
        return replace(self, channel=SomeValues(self.channel, index), domain=domain)


def _read_only(weights: FloatArray) -> FloatArray:
    """A view that cannot be written to."""
    view = weights.view()
    view.flags.writeable = False
    return view
