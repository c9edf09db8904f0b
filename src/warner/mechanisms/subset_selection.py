"""Subset selection: a random subset of d values, which prefers subsets with the true value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.exact import ONE, check_representable, divide, down, exp
from warner._core.sampling import Source, uniform_subsets
from warner.channels import SupportChannel
from warner.domains import Domain
from warner.mechanisms.base import ENUMERABLE
from warner.mechanisms.device_program import number, program
from warner.mechanisms.unary_encoding import BitMechanism
from warner.privacy.report_laws import TwoProbabilities
from warner.reports.schema import BitVector


class SubsetSelection(BitMechanism):
    """Subset selection: a subset of d of the K values.

        Pr(true value in the subset) = d e / (d e + K - d),   e = exp(epsilon)

    Given that, subsets are uniform: a subset with the true value is e times as likely as one
    without it.

    Args:
        domain: K values.
        epsilon: budget in nats.
        size: d in 1..K-1; None for the optimal round(K / (e + 1)), at least 1.

    A report is the subset as K bits, which do not show the order in which members were drawn.

    Raises:
        ArgumentError: a size outside 1..K-1.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Ye and Barg (2018).

    >>> from warner import Integers
    >>> ss = SubsetSelection(Integers(1, 20), 1.0)
    >>> ss.subset, int(np.bitwise_count(ss.randomize([3]).columns["bits"]).sum())
    (5, 5)
    """

    references = ("ye2018",)

    schema: BitVector
    law: TwoProbabilities

    def __init__(self, domain: Domain, epsilon: float, size: int | None = None) -> None:
        super().__init__(domain, epsilon)
        e, total = exp(self.requested), domain.size
        self.subset = (
            max(1, round(divide(total, e + 1)))
            if size is None
            else integer("size", size, 1, total - 1)
        )
        include = divide(self.subset * e, self.subset * e + total - self.subset)
        check_representable(self.requested, min(include, 1 - include), "leaving the true value out")
        self._include = down(include)
        self.schema = BitVector(total, ones=self.subset)
        # The factor d / (2**64 C(K - 1, d - 1)) of all probabilities is kept as a logarithm,
        # because its binomial takes long for many values.
        log_binomial = (
            math.lgamma(total) - math.lgamma(self.subset) - math.lgamma(total - self.subset + 1)
        )
        self.law = TwoProbabilities(
            Fraction(self._include, self.subset),
            Fraction(ONE - self._include, total - self.subset),
            math.log(self.subset) - math.log(ONE) - log_binomial,
        )
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"size": self.subset}

    def thresholds(self) -> dict[str, str]:
        return {"include": hex(self._include)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """A uniform subset of the other K - 1 values, with or without the true value.

        The last value stands in the place of the true value, so the subset is drawn, by the same
        random words, for every true value alike.
        """
        n, last = len(index), self.domain.size - 1
        include = source.below(self._include, n)
        packed = uniform_subsets(source, last, self.subset, include, self.schema.bytes)
        where, mask = (np.arange(n), index >> 3), (128 >> (index & 7)).astype(np.uint8)
        stands_in = packed[where] & mask != 0
        packed[:, last >> 3] |= stands_in * np.uint8(128 >> (last & 7))
        packed[where] = (packed[where] & ~mask) | include * mask
        return {"bits": packed}

    def _program(self) -> dict[str, Any]:
        fields = {"members": self.subset, "include": number(self._include)}
        return program("subset", {"size": self.domain.size, **fields})

    def channel(self) -> SupportChannel:
        p = Fraction(self._include, ONE)
        d, others = self.subset, self.domain.size - 1
        q = p * Fraction(d - 1, others) + (1 - p) * Fraction(d, others)
        return SupportChannel(self.domain.size, float(q), float(p - q), ones=d)

    @property
    def is_enumerable(self) -> bool:
        # There are at least K subsets, so beyond 2^8 values the binomial need not be computed.
        return self.domain.size**2 <= ENUMERABLE and super().is_enumerable

    @property
    def n_reports(self) -> int:
        return math.comb(self.domain.size, self.subset)

    def _members(self) -> np.ndarray:
        """All subsets, (m, K) zeros and ones."""
        chosen = list(combinations(range(self.domain.size), self.subset))
        members = np.zeros((len(chosen), self.domain.size), dtype=np.uint8)
        np.put_along_axis(members, np.array(chosen), 1, axis=1)
        return members

    def outputs(self) -> Mapping[str, np.ndarray]:
        return {"bits": np.packbits(self._members(), axis=1)}

    def probabilities(self) -> np.ndarray:
        # A subset with the true value is one of C(K-1, d-1), one without it one of C(K-1, d).
        others = self.domain.size - 1
        high = Fraction(self._include, ONE * math.comb(others, self.subset - 1))
        low = Fraction(ONE - self._include, ONE * math.comb(others, self.subset))
        return TwoProbabilities(high, low).table(self._members() == 1)
