"""Observed reports of the pure family, one row each: the values that each supports, as bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from warner.channels.arrays import BlockMoments, FloatArray, IntArray
from warner.channels.base import LikelihoodOperator, NearlyConstantRows, one_by_one
from warner.channels.pure import Levels, SupportChannel, SupportInverse

_BLOCK = 2**20  # elements of a block of rows that are unpacked at a time
# Bit k of a byte, most significant first: (256, 8).
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


class SupportRows(SupportInverse, NearlyConstantRows):
    """Rows base + gain * b, b the bits of the values that a report supports (METHODS 1, 4.3).

    Only observed reports are rows, so columns do not sum to one. Both products use a table of 256
    entries for each byte of a row: K / 8 operations per report instead of K, in double precision.

    Args:
        bits: (m, ceil(K / 8)) uint8, most significant bit first.
        size: K.
        base: entries of a row at the values that the report does not support; one number or (m,).
            It is 0 for a report that only one value can make [P2 def 5].
        gain: entries at the supported values, less ``base``; one number or (m,).
        q, gap: the support law of the unbiased estimate (S_x - q) / gap.
        counted: (m, ceil(K / 8)) the bits that S_x counts, where they differ from ``bits``.
        log_factors: (m,) or one number; see :class:`LikelihoodOperator`.
        ones: how many values each report supports, where that number is fixed.

    >>> rows = SupportRows(np.array([[0b10000000], [0b01000000]], dtype=np.uint8), 2, 0.25, 0.5)
    >>> rows.matvec(np.array([1.0, 0.0])).tolist()
    [0.75, 0.25]
    """

    has_fast_gram = True
    has_row_blocks = True
    lists_all_reports = False

    def __init__(
        self,
        bits: NDArray[np.uint8],
        size: int,
        base: Levels,
        gain: Levels,
        q: Levels = 0.0,
        gap: Levels = 1.0,
        counted: NDArray[np.uint8] | None = None,
        log_factors: FloatArray | float = 0.0,
        ones: int | None = None,
    ) -> None:
        self._bits = np.asfortranarray(bits)
        self._counted = self._bits if counted is None else np.asfortranarray(counted)
        self._set_levels((len(bits), size), base, gain, log_factors)
        self.ones = ones
        self._set_support_law(size, q, gap)

    @property
    def bits(self) -> NDArray[np.uint8]:
        return self._bits

    @property
    def counted(self) -> NDArray[np.uint8]:
        return self._counted

    def _set_levels(
        self,
        shape: tuple[int, int],
        base: Levels,
        gain: Levels,
        log_factors: FloatArray | float,
    ) -> None:
        """Store all but the bits and the support law."""
        self.shape, self.log_factors = shape, log_factors
        self.base, self.gain = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), (shape[0],)) for v in (base, gain)
        )
        self.steady = self.base > 0

    @one_by_one
    def matvec(self, theta: FloatArray) -> FloatArray:
        padded = np.zeros(self.bits.shape[1] * 8)
        padded[: theta.size] = theta
        tables = padded.reshape(-1, 8) @ _BITS.T
        out = np.zeros(self.shape[0])
        for table, column in zip(tables, self.bits.T, strict=True):
            out += np.take(table, column)
        return np.asarray(self.base * theta.sum() + self.gain * out)

    @one_by_one
    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self.base @ r + self._sums(self.bits, self.gain * r)

    def _sums(self, bits: NDArray[np.uint8], r: FloatArray) -> FloatArray:
        """sum_i r_i b_i, (K,)."""
        bins = np.stack([np.bincount(column, r, 256) for column in bits.T])
        return (bins @ _BITS).ravel()[: self.shape[1]]

    @one_by_one
    def support_shares(self, w: FloatArray) -> FloatArray:
        return self._sums(self.counted, w)

    @one_by_one
    def influence(self, c: FloatArray) -> FloatArray:
        """g = b'u - q'u with u = c / gap, for the bits b of each report."""
        u = c / self.gap
        bits = SupportRows(self.counted, self.shape[1], 0.0, 1.0)
        return np.asarray(bits.matvec(u) - float(self.q @ u))

    def report_scores(self) -> FloatArray:
        """None, (0, m): the numbers of the observed reports have no meaning."""
        return np.zeros((0, self.shape[0]))

    def complete(self) -> SupportChannel:
        return SupportChannel(self.shape[1], self.q, self.gap, self.ones)

    def complete_weights(self, w: FloatArray) -> FloatArray:
        return self.supports(w)[1]

    def nearly_constant(self) -> NearlyConstantRows:
        return self

    def merge_unsupported_values(
        self, w: FloatArray
    ) -> tuple[LikelihoodOperator, FloatArray, Callable[[FloatArray], FloatArray]] | None:
        """Values that only the reports that name them distinguish become one value.

        This serves utility-optimised RAPPOR. Let c_x be the share of the reports that name x, C
        their sum, and m the mass of the values together. Their part of the likelihood is
        sum_x c_x log theta_x. It is largest at theta_x = m c_x / C, which leaves C log m.
        """
        named = ~self.steady
        size = self.shape[1]
        counts = self._sums(self.bits[named], w[named])
        supported = (
            np.unpackbits(np.bitwise_or.reduce(self.bits[~named], axis=0))[:size].astype(bool)
            if not named.all()
            else np.zeros(size, dtype=bool)
        )
        total = float(counts.sum())
        if total <= 0 or counts[supported].any() or (~supported).sum() < 2:
            return None
        members = np.flatnonzero(supported)
        rows = np.flatnonzero(~named)
        packed = np.zeros((rows.size + 1, -(-(members.size + 1) // 8)), dtype=np.uint8)
        step = max(1, _BLOCK // size)
        for start in range(0, rows.size, step):
            bits = np.unpackbits(self.bits[rows[start : start + step]], axis=1)[:, members]
            block = np.packbits(bits, axis=1)
            packed[start : start + len(block), : block.shape[1]] = block
        packed[-1, members.size >> 3] = 128 >> (members.size & 7)
        small = SupportRows(
            packed,
            members.size + 1,
            np.append(self.base[rows], 0.0),
            np.append(self.gain[rows], 1.0),
        )

        def lift(theta: FloatArray) -> FloatArray:
            lifted = theta[-1] * counts / total
            lifted[members] = theta[:-1]
            return np.asarray(lifted)

        return small, np.append(w[rows], total), lift

    def named_gram(self, v: FloatArray) -> FloatArray:
        return self._sums(self.bits[~self.steady], v[~self.steady])

    def gram(self, v: FloatArray) -> FloatArray:
        """A' diag(v) A from the weighted co-occurrences of bits, in single precision.

        It serves as the metric of a step. It certifies nothing.
        """
        size = self.shape[1]
        together = np.zeros((size, size))
        root = (np.sqrt(v) * self.gain).astype(np.float32)
        # With few rows to a product, adding the products takes longer than making them.
        step = max(1, _BLOCK // size, 4 * size)
        for start in range(0, self.shape[0], step):
            rows = slice(start, start + step)
            block = np.unpackbits(self.bits[rows], axis=1)[:, :size].astype(np.float32)
            block *= root[rows, None]
            together += block.T @ block
        single = self._sums(self.bits, v * self.base * self.gain)
        return np.asarray(self.base**2 @ v + (single[:, None] + single) + together)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            bits = np.unpackbits(self.bits[rows], axis=1)[:, : self.shape[1]]
            yield rows, self.base[rows, None] + self.gain[rows, None] * bits

    def rows(self, index: IntArray) -> FloatArray:
        bits = np.unpackbits(self.bits[index], axis=1, count=self.shape[1])
        return np.asarray(self.base[index, None] + self.gain[index, None] * bits)

    def dense(self) -> FloatArray:
        return np.concatenate([block for _, block in self.blocks()])

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        """The cross moments are those of the observed reports, at every distribution.

        The bits of other values hardly depend on the distribution.
        """
        size = shape[1]
        members = slice(block * size, (block + 1) * size)
        total = self.invert(w)[members]
        squares = self.inverse_moments(columns)[0][members]
        mixed = squares + self._observed_cross_moments(w, members, columns.sum(axis=0))
        return BlockMoments.of_sums(total, squares, mixed)

    def _observed_cross_moments(
        self, w: FloatArray, members: slice, mass: FloatArray
    ) -> FloatArray:
        """E[g_v (h - g_v)] (V, B) of a block, from the observed reports; ``mass`` (B,) scales."""
        inverse_gap = np.zeros(self.shape[1])
        inverse_gap[members] = 1 / self.gap[members]
        bits = SupportRows(self.counted, self.shape[1], 0.0, 1.0)
        h = bits.matvec(inverse_gap) - float(self.q[members] @ inverse_gap[members])
        q, gap, counts = self.q[members], self.gap[members], bits.support_shares(w)[members]
        mixed = (bits.support_shares(w * h)[members] - q * float(w @ h)) / gap
        squares = ((1 - 2 * q) * counts + q**2) / gap**2
        return np.multiply.outer(mixed - squares, mass)
