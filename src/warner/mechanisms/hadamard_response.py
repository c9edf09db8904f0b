"""Hadamard response, which reports a column index of a Hadamard matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.exact import ONE, check_representable, divide, down, exp
from warner._core.sampling import Source
from warner.channels import HadamardChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import number, program
from warner.privacy.report_laws import TwoProbabilities
from warner.reports.schema import IntegerColumns


class HadamardResponse(Mechanism):
    """Hadamard response: an index y in 0..B-1 whose Hadamard sign is +1 more often than -1.

        Pr(report y | value x) = 2 p / B if (-1)^popcount(y & (x + 1)) = +1, else 2 (1 - p) / B
        p = e / (e + 1),   e = exp(epsilon)

    B is the smallest power of two above K. popcount counts the bits of an integer that are 1, and &
    is the bitwise and. So the sign is the entry of the Hadamard matrix of order B in row x + 1 and
    column y. Row 0 is not used, because it is constant.

    Args:
        domain: K values.
        epsilon: budget in nats.

    Raises:
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Acharya, Sun and Zhang (2019), the form for high privacy.

    >>> from warner import Integers
    >>> HadamardResponse(Integers(0, 99), 1.0).order
    128
    """

    references = ("acharya2019",)

    schema: IntegerColumns
    law: TwoProbabilities

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        e = exp(self.requested)
        agree = divide(e, e + 1)
        check_representable(self.requested, 1 - agree, "the half that disagrees")
        self._agree = down(agree)
        self.order = 1 << domain.size.bit_length()
        self.schema = IntegerColumns(("report",), (self.order,))
        half = self.order // 2
        self.law = TwoProbabilities(
            Fraction(self._agree, ONE * half), Fraction(ONE - self._agree, ONE * half)
        )
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {}

    def thresholds(self) -> dict[str, str]:
        return {"agree": hex(self._agree)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        row = index + 1
        y = source.uniform(self.order, len(index))
        agrees = np.bitwise_count(y & row) & 1 == 0
        # Flipping the lowest bit of y that the row selects maps either half onto the other one to
        # one, so y stays uniform within its half.
        flip = agrees != source.below(self._agree, len(index))
        return {"report": np.where(flip, y ^ (row & -row), y)}

    def _program(self) -> dict[str, Any]:
        fields = {"order": self.order, "agree": number(self._agree)}
        return program("hadamard", {"size": self.domain.size, **fields})

    def channel(self) -> HadamardChannel:
        return HadamardChannel(self.domain.size, self.order, (2 * self._agree - ONE) / ONE)

    def probabilities(self) -> np.ndarray:
        agrees = (
            np.bitwise_count(
                np.arange(self.order)[:, None] & np.arange(1, self.domain.size + 1)[None, :]
            )
            & 1
            == 0
        )
        return self.law.table(agrees)
