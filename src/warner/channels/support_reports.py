"""Reports of the pure family one by one: which values each supports, as bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel, one_by_one
from warner.channels.pure import SupportChannel, _Pure

_BLOCK = 2**20  # elements of a block of rows that are unpacked at a time
# Bit k of a byte, most significant first: (256, 8).
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


class SupportRows(_Pure):
    """Rows base + gain * b, with b the packed bits of the values that a report supports (METHODS 1, 4.3).

    Only the rows of reports that were seen are kept: products are right for them, and columns do not sum to one. Both
    products go through 256-entry tables per byte of a row, K/8 operations per report instead of K, in double precision.

    Args:
        bits: (m, ceil(K / 8)) uint8, most significant bit first.
        size: K.
        base, gain: what a report's row is where it does not, and more where it does, support a value; one number for all
            reports or (m,): base 0 and gain 1 for a report that only one value can have made [P2 def 5].
        q, gap: support probabilities of the unbiased estimate, (S_x - q) / gap.
        counted: (m, ceil(K / 8)) the bits that S_x counts, where they are not those of the likelihood.
        log_factors: (m,) what turns the rows into probabilities, see Channel; 0 where they are probabilities.
        ones: how many bits of a report are 1, where that is fixed.
    """

    def __init__(
        self,
        bits: np.ndarray,
        size: int,
        base: Any,
        gain: Any,
        q: Any = 0.0,
        gap: Any = 1.0,
        counted: np.ndarray | None = None,
        log_factors: np.ndarray | float = 0.0,
        ones: int | None = None,
    ) -> None:
        self.shape = (len(bits), size)
        self.bits = np.asfortranarray(bits)
        self.base, self.gain = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), (len(bits),)) for v in (base, gain)
        )
        self.log_factors, self.ones = log_factors, ones
        self.steady = self.base > 0  # rows that hardly change with theta
        self.tally_columns = self.bits if counted is None else np.asfortranarray(counted)
        self._supported(size, q, gap)

    @one_by_one
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        padded = np.zeros(self.bits.shape[1] * 8)
        padded[: theta.size] = theta
        tables = padded.reshape(-1, 8) @ _BITS.T
        out = np.zeros(self.shape[0])
        for table, column in zip(tables, self.bits.T, strict=True):
            out += np.take(table, column)
        return self.base * theta.sum() + self.gain * out

    def whole(self) -> Channel:
        return SupportChannel(self.shape[1], self.q, self.gap, self.ones)

    def placed(self, w: np.ndarray) -> np.ndarray:
        return self.supports(w)[1]

    @one_by_one
    def shares(self, w: np.ndarray) -> np.ndarray:
        return self._sums(self.tally_columns, w)

    def _sums(self, bits: np.ndarray, r: np.ndarray) -> np.ndarray:
        """sum_i r_i b_i, (K,)."""
        bins = np.stack([np.bincount(column, r, 256) for column in bits.T])
        return (bins @ _BITS).ravel()[: self.shape[1]]

    @one_by_one
    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.base @ r + self._sums(self.bits, self.gain * r)

    def merge_unsupported_values(
        self, w: np.ndarray
    ) -> tuple[Channel, np.ndarray, Callable[[np.ndarray], np.ndarray]] | None:
        """Values that other reports do not support are told apart only by the reports that name them (utility-optimised RAPPOR).

        With c_x the share of reports that name x and m their values' mass together, their part of the likelihood is
        sum_x c_x log theta_x, which is largest at theta_x = m c_x / C, C = sum c, and leaves C log m: one value instead of many.
        """
        named = ~self.steady
        size = self.shape[1]
        counts = self._sums(self.bits[named], w[named])
        inside = (
            np.unpackbits(np.bitwise_or.reduce(self.bits[~named], axis=0))[:size].astype(bool)
            if not named.all()
            else np.zeros(size, dtype=bool)
        )
        total = float(counts.sum())
        if total <= 0 or counts[inside].any() or (~inside).sum() < 2:
            return None
        members = np.flatnonzero(inside)
        rows = np.flatnonzero(~named)
        packed = np.zeros((rows.size + 1, -(-(members.size + 1) // 8)), dtype=np.uint8)
        step = max(1, _BLOCK // size)
        for start in range(0, rows.size, step):
            part = np.unpackbits(self.bits[rows[start : start + step]], axis=1)[:, members]
            block = np.packbits(part, axis=1)
            packed[start : start + len(block), : block.shape[1]] = block
        packed[-1, members.size >> 3] = 128 >> (members.size & 7)
        small = SupportRows(
            packed,
            members.size + 1,
            np.append(self.base[rows], 0.0),
            np.append(self.gain[rows], 1.0),
        )

        def lift(theta: np.ndarray) -> np.ndarray:
            whole = theta[-1] * counts / total
            whole[members] = theta[:-1]
            return whole

        return small, np.append(w[rows], total), lift

    def named_gram(self, v: np.ndarray) -> np.ndarray:
        """The diagonal (K,) of A' diag(v) A over the rows that name one value alone, which is all that those have."""
        return self._sums(self.bits[~self.steady], v[~self.steady])

    def gram(self, v: np.ndarray) -> np.ndarray:
        """A' diag(v) A from the weighted co-occurrences of bits, in single precision: a metric for steps, not a certificate."""
        size = self.shape[1]
        together = np.zeros((size, size))
        root = (np.sqrt(v) * self.gain).astype(np.float32)
        step = max(
            1, _BLOCK // size, 4 * size
        )  # many rows to a product, or adding the products up takes longer than making them
        for start in range(0, self.shape[0], step):
            rows = slice(start, start + step)
            block = np.unpackbits(self.bits[rows], axis=1)[:, :size].astype(np.float32)
            block *= root[rows, None]
            together += block.T @ block
        single = self._sums(self.bits, v * self.base * self.gain)
        return self.base**2 @ v + (single[:, None] + single) + together

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            yield (
                rows,
                self.base[rows, None]
                + self.gain[rows, None]
                * np.unpackbits(self.bits[rows], axis=1)[:, : self.shape[1]],
            )

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.base[index, None] + self.gain[index, None] * np.unpackbits(
            self.bits[index], axis=1, count=self.shape[1]
        )

    def dense(self) -> np.ndarray:
        return np.concatenate([block for _, block in self.blocks()])

    def sample_rows(self, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.simulate(index, 0, rng)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        rule = "needs a tally of all possible reports; this one keeps only those seen"
        raise ArgumentError(
            message("bootstrap", rule, None, "Use kind='wald', or tally without keep_reports")
        )

    simulate_from_values = simulate  # type: ignore[assignment]
