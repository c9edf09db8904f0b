"""Unary encoding: one bit per value, randomised independently (RAPPOR's basic form, SUE, OUE)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.checks import probability, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
)
from warner._core.exact import ONE, check_representable, divide, down, exp, up
from warner._core.sampling import Source
from warner.channels import SupportChannel
from warner.domains import Domain
from warner.mechanisms.bits import BitMechanism, all_patterns, independent_bit_table
from warner.mechanisms.device_program import number, program
from warner.privacy.report_laws import OneHotBits
from warner.reports.schema import BitVector


def keep_probability(keep: str | float, epsilon: float) -> tuple[str | float, Decimal]:
    """The probability t that a bit of 1 stays 1, from the argument ``keep``."""
    if isinstance(keep, str):
        if keep in ("optimised", "optimized"):
            return "optimized", Decimal("0.5")
        if keep != "symmetric":
            raise ArgumentError(
                "keep", "must be 'symmetric', 'optimized' or a probability", show(keep)
            )
        root = exp(epsilon / 2)
        return keep, divide(root, root + 1)
    if not isinstance(keep, float):
        raise ArgumentTypeError(
            "keep", "must be 'symmetric', 'optimized' or a probability", show(keep)
        )
    return probability("keep", keep), Decimal(keep)


def bit_thresholds(keep: str | float, epsilon: float) -> tuple[str | float, int, int]:
    """Integer thresholds over 2**64 for the bits of unary encoding.

    A bit of 1 stays 1 with probability t, and a bit of 0 becomes 1 with probability q:

        q = t / ((1 - t) e + t),   e = exp(epsilon)

    t is rounded first, and q is computed from the rounded t. Then q is rounded up, towards t. So
    the realised epsilon is at most the requested one.
    """
    written, t = keep_probability(keep, epsilon)
    kept = down(t)
    share = divide(kept, ONE)
    q = divide(share, (1 - share) * exp(epsilon) + share)
    check_representable(epsilon, min(t, 1 - t, q, 1 - q), "the rarer outcome of a bit")
    return written, kept, up(q)


class UnaryEncoding(BitMechanism):
    """Unary encoding (RAPPOR's basic form, SUE, OUE): K bits, one for each value.

        Pr(bit j is 1 | value x) = t if j = x, else q
        q = t / ((1 - t) e + t),   e = exp(epsilon),   so that [t / q] [(1 - q) / (1 - t)] = e

    Args:
        domain: K values.
        epsilon: budget in nats.
        keep: t, a number strictly between 0 and 1. ``"symmetric"`` stands for t = e^(epsilon/2) /
            (e^(epsilon/2) + 1) (SUE, basic one-time RAPPOR), and ``"optimized"`` for 1/2 (OUE).

    A report is K bits, packed 8 to a byte, and takes about 2 random bits for each of them. Its
    tally is the K bit sums, or whole reports with ``keep_reports=True``.

    Raises:
        ArgumentError, ArgumentTypeError: a ``keep`` that is no probability.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: generalised RAPPOR [P2 sec 2.4]; Wang et al. (2017) for the optimised form.

    >>> from warner import Categorical
    >>> oue = UnaryEncoding(Categorical(list("abcdefghijk")), 1.0, keep="optimized")
    >>> oue.randomize(["c"]).columns["bits"].shape
    (1, 2)
    """

    references = ("erlingsson2014", "wang2017", "P2")

    schema: BitVector
    law: OneHotBits

    def __init__(self, domain: Domain, epsilon: float, keep: str | float = "symmetric") -> None:
        super().__init__(domain, epsilon)
        self.keep, self._keep_threshold, self._raise_threshold = bit_thresholds(
            keep, self.requested
        )
        self.schema = BitVector(domain.size)
        self.law = OneHotBits(self._keep_threshold, self._raise_threshold)
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"keep": self.keep}

    def thresholds(self) -> dict[str, str]:
        return {"keep": hex(self._keep_threshold), "raised": hex(self._raise_threshold)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n, size = len(index), self.schema.bytes
        packed = source.bits(self._raise_threshold, n * size).reshape(n, size)
        rows, byte = np.arange(n), index >> 3
        mask = (np.uint8(128) >> (index & 7).astype(np.uint8)).astype(np.uint8)
        kept = source.below(self._keep_threshold, n)
        packed[rows, byte] = (packed[rows, byte] & ~mask) | np.where(kept, mask, np.uint8(0))
        packed[:, -1] &= np.array(256 - 2**self.schema.padding, np.uint8)
        return {"bits": packed}

    def _program(self) -> dict[str, Any]:
        fields = {"keep": number(self._keep_threshold), "raised": number(self._raise_threshold)}
        return program("bits", {"size": self.domain.size, **fields})

    def channel(self) -> SupportChannel:
        return SupportChannel(
            self.domain.size,
            self._raise_threshold / ONE,
            (self._keep_threshold - self._raise_threshold) / ONE,
        )

    @property
    def n_reports(self) -> int:
        return 1 << self.domain.size

    def outputs(self) -> Mapping[str, np.ndarray]:
        return {"bits": np.packbits(all_patterns(self.domain.size), axis=1)}

    def probabilities(self) -> np.ndarray:
        size = self.domain.size
        chance = np.full((size, size), Fraction(self._raise_threshold, ONE), dtype=object)
        np.fill_diagonal(chance, Fraction(self._keep_threshold, ONE))
        return independent_bit_table(all_patterns(size), chance)
