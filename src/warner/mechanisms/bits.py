"""The collector's half of mechanisms whose report is K bits, one for each value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from warner.channels import LikelihoodOperator, SupportChannel, SupportRows
from warner.mechanisms.base import Mechanism
from warner.privacy.report_laws import UnsupportedLikelihood
from warner.reports.counting import unique_rows
from warner.reports.schema import BitVector


class BitMechanism(Mechanism):
    """A mechanism that reports K bits. Abstract.

    A tally keeps the K bit sums, or with ``keep_reports=True`` the distinct reports.
    """

    schema: BitVector

    @abstractmethod
    def channel(self) -> SupportChannel: ...

    def report_channel(self, rows: np.ndarray) -> SupportRows:
        """The channel whose rows are the given reports.

        Row y is 1 + (e - 1) b_y. Here b_y are the bits of report y, and e is the law's exact
        likelihood ratio.

        Args:
            rows: uint8 (m, bytes), the distinct reports as packed bits, 8 to a byte.

        Returns:
            The channel (m, K). Its row y is proportional to Pr(report y | value).
        """
        self.schema.check({"bits": rows})
        support, law = self.channel(), self.law
        assert isinstance(law, UnsupportedLikelihood)
        ones = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return SupportRows(
            rows,
            self.domain.size,
            1.0,
            float(law.ratio() - 1),
            support.q,
            support.gap,
            log_factors=law.log_unsupported(ones, self.domain.size),
            ones=support.ones,
        )

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        different, place = unique_rows(columns["bits"])
        return self.report_channel(different), place


def all_patterns(size: int) -> np.ndarray:
    """All patterns of ``size`` bits in the order of binary numbers.

    >>> all_patterns(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    shifts = np.arange(size - 1, -1, -1)
    return np.asarray(np.arange(2**size)[:, None] >> shifts & 1, dtype=np.uint8)


def independent_bit_table(patterns: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Exact probabilities of patterns whose bits are independent given the value.

        Pr(pattern y | value x) = product over j of
            chance[j, x] if bit j of pattern y is 1, else 1 - chance[j, x]

    Shapes: patterns (m, K), chance (K, K) -> (m, K).
    """
    table = np.empty((len(patterns), chance.shape[1]), dtype=object)
    for x in range(chance.shape[1]):
        bits = np.where(patterns == 1, chance[:, x], 1 - chance[:, x])
        table[:, x] = np.multiply.reduce(bits, axis=1)
    return table
