"""Unary encoding: one bit per value, each randomised on its own (RAPPOR's basic form, SUE, OUE)."""

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
    message,
)
from warner._core.exact import ONE, check_representable, divide, down, exp, up
from warner._core.sampling import Source
from warner.channels import SupportChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.privacy.report_laws import OneHotBits
from warner.reports.schema import (
    BitVector,
)


def keep_probability(keep: Any, epsilon: float) -> tuple[str | float, Decimal]:
    """``keep`` as it is written again, and the probability t it stands for."""
    if isinstance(keep, str):
        if keep in ("optimised", "optimized"):
            return "optimized", Decimal("0.5")
        if keep != "symmetric":
            raise ArgumentError(
                message("keep", "must be 'symmetric', 'optimized' or a probability", show(keep))
            )
        root = exp(epsilon / 2)
        return keep, divide(root, root + 1)
    if not isinstance(keep, float):
        raise ArgumentTypeError(
            message("keep", "must be 'symmetric', 'optimized' or a probability", show(keep))
        )
    return probability("keep", keep), Decimal(keep)


def bit_thresholds(keep: Any, epsilon: float) -> tuple[str | float, int, int]:
    """``keep`` as it is written again, and the thresholds over 2**64 of a set bit that stays and of a clear one that is raised.

    q goes with the t that is really sampled, so that only one rounding costs epsilon: up, towards p.
    """
    written, t = keep_probability(keep, epsilon)
    kept = down(t)
    share = divide(kept, ONE)
    q = divide(share, (1 - share) * exp(epsilon) + share)
    check_representable(epsilon, min(t, 1 - t, q, 1 - q), "the rarer outcome of a bit")
    return written, kept, up(q)


class UnaryEncoding(Mechanism):
    """The value as K bits, one of them set; a set bit is kept with probability t, a clear one raised with probability q.

        q = t / ((1 - t) e + t),   e = exp(epsilon),   so that [t / q] [(1 - q) / (1 - t)] = e

    Args:
        domain: K values.
        epsilon: budget in nats.
        keep: t: ``"symmetric"`` for e^(epsilon/2) / (e^(epsilon/2) + 1) (SUE, basic one-time RAPPOR), ``"optimized"`` for 1/2
            (OUE), or any number strictly between 0 and 1.

    A report is K bits, packed 8 to a byte. Its tally is the K bit sums.

    Source: generalised RAPPOR [P2 sec 2.4]; Wang et al. (2017) for the optimised form.

    >>> from warner import Categorical
    >>> oue = UnaryEncoding(Categorical(list("abcdefghijk")), 1.0, keep="optimized")
    >>> oue.randomize(["c"]).columns["bits"].shape
    (1, 2)
    """

    schema: BitVector

    def __init__(self, domain: Domain, epsilon: float, keep: str | float = "symmetric") -> None:
        self._start(domain, epsilon)
        self.keep, self._keep, self._raised = bit_thresholds(keep, self.requested)
        self.schema = BitVector(domain.size)
        self.law = OneHotBits(self._keep, self._raised)
        self.epsilon  # noqa: B018 - refuses here what the grid cannot represent

    def parameters(self) -> dict[str, Any]:
        return {"keep": self.keep}

    def thresholds(self) -> dict[str, str]:
        return {"keep": hex(self._keep), "raised": hex(self._raised)}

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n, size = len(index), self.schema.bytes
        packed = source.bits(self._raised, n * size).reshape(n, size)
        rows, byte = np.arange(n), index >> 3
        mask = (np.uint8(128) >> (index & 7).astype(np.uint8)).astype(np.uint8)
        kept = source.below(self._keep, n)
        packed[rows, byte] = (packed[rows, byte] & ~mask) | np.where(kept, mask, np.uint8(0))
        packed[:, -1] &= np.array(256 - 2**self.schema.padding, np.uint8)
        return {"bits": packed}

    def channel(self) -> SupportChannel:
        return SupportChannel(
            self.domain.size, self._raised / ONE, (self._keep - self._raised) / ONE
        )

    @property
    def n_reports(self) -> int:
        return 2**self.domain.size

    def outputs(self) -> Mapping[str, np.ndarray]:
        return {"bits": np.packbits(self._patterns(), axis=1)}

    def _patterns(self) -> np.ndarray:
        size = self.domain.size
        return (np.arange(2**size)[:, None] >> np.arange(size - 1, -1, -1) & 1).astype(np.uint8)

    def probabilities(self) -> np.ndarray:
        own = (Fraction(ONE - self._keep, ONE), Fraction(self._keep, ONE))
        other = (Fraction(ONE - self._raised, ONE), Fraction(self._raised, ONE))
        patterns = self._patterns()
        table = np.empty((len(patterns), self.domain.size), dtype=object)
        for y, pattern in enumerate(patterns.tolist()):
            for x in range(self.domain.size):
                value = Fraction(1)
                for j, bit in enumerate(pattern):
                    value *= own[bit] if j == x else other[bit]
                table[y, x] = value
        return table
