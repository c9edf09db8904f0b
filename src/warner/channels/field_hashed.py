"""Local hashing over a prime field: channels of whole reports and of support counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warner._core.errors import ArgumentError, message
from warner._core.field_hash import FieldHash
from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import Channel, LikelihoodOperator, one_by_one
from warner.channels.descriptions import BlockMoments, SupportLaw
from warner.channels.pure import SupportChannel, SupportInverse
from warner.channels.support_reports import SupportRows

_PEOPLE = 2**16  # people who are simulated at a time
_BLOCK = 2**21  # entries of a block of rows
_LARGEST_BITS = 2**31  # bytes of the bits of whole reports
_DRAWS = 2**24  # pairs of a person and a value for which reports are drawn one by one


@dataclass(frozen=True)
class HashedReports:
    """The law of a report (a, b, z): z is the value's bucket under h_ab with probability p.

    Args:
        size: K.
        hashes: the hash functions h_ab.
        q: q' = (1 - p) / (g - 1), the probability of any other bucket.
        gap: p - q'.
    """

    size: int
    hashes: FieldHash
    q: float
    gap: float

    @property
    def functions(self) -> int:
        """The number of pairs (a, b)."""
        return self.hashes.prime * (self.hashes.prime - 1)

    @property
    def support(self) -> SupportLaw:
        """q = q' + (p - q') c and p - q = (p - q') (1 - c), alike for all pairs of values."""
        c = self.hashes.collision
        size = (self.size,)
        return SupportLaw(
            np.full(size, self.q + self.gap * float(c)), np.full(size, self.gap * float(1 - c))
        )

    @property
    def pairs(self) -> tuple[float, float]:
        """How often a report supports a pair of values, given the person's value x.

        Pr(x and v) = p c. Pr(u and v) = q' c + (p - q') c_3 for other values, where c_3 is the
        probability that u, v and x share a bucket. c_3 is an average over triples of residues. That
        of a single triple differs, because (a, b) has two numbers; the cubes spread triples, so
        sums over many values have the average (METHODS 10.1).
        """
        c, triple = float(self.hashes.collision), float(self.hashes.triple_collision)
        return (self.q + self.gap) * c, self.q * c + self.gap * triple

    def draw(self, index: IntArray, rng: np.random.Generator) -> tuple[IntArray, ...]:
        """Reports a, b, z of people with the values at ``index``, (n,) each."""
        n, g = len(index), self.hashes.buckets
        a = rng.integers(1, self.hashes.prime, n)
        b = rng.integers(0, self.hashes.prime, n)
        # A report is the value's bucket with probability gap, and else any bucket.
        truthful = rng.random(n) < self.gap
        z = np.where(truthful, self.hashes.bucket_of(a, b, index), rng.integers(0, g, n))
        return a, b, z

    def packed_bits(self, a: IntArray, b: IntArray, z: IntArray) -> NDArray[np.uint8]:
        """Which values each report supports, as bits, most significant first, (m, ceil(K / 8)).

        Raises:
            ArgumentError: more than 2^31 bytes.
        """
        width = -(-self.size // 8)
        if len(a) * width > _LARGEST_BITS:
            rule = f"of {len(a)} whole reports take {len(a) * width} bytes, more than 2^31"
            remedy = "Tally without keep_reports, or use a coarser domain"
            raise ArgumentError(message("bits", rule, f"{self.size} values", remedy))
        packed = np.empty((len(a), width), dtype=np.uint8)
        index, step = np.arange(self.size)[None, :], max(1, _BLOCK // self.size)
        for start in range(0, len(a), step):
            rows = slice(start, start + step)
            bucket = self.hashes.bucket_of(a[rows, None], b[rows, None], index)
            packed[rows] = np.packbits(bucket == z[rows, None], axis=1)
        return packed


class FieldHashChannel(SupportInverse, Channel):
    """The channel of local hashing over a prime field, with a row for each report (a, b, z).

        A = (q' + (p - q') N) / (p_F (p_F - 1)),   N = 1 where a x^3 + b is in bucket z

    p_F is the prime. Rows are in C order of (a - 1, b, z). Reports with the same row of N are few
    groups (see :class:`WindowChannel`), whose products serve this channel too.

    Args:
        reports: the law.

    >>> hashes = FieldHash(5, 4)
    >>> channel = FieldHashChannel(HashedReports(3, hashes, 0.2, 0.2))
    >>> channel.shape, channel.matvec(np.ones(3) / 3).sum().round(12)
    ((80, 3), np.float64(1.0))
    """

    has_closed_inverse = True
    has_row_blocks = True

    def __init__(self, reports: HashedReports) -> None:
        self.reports = reports
        self.shape = (reports.functions * reports.hashes.buckets, reports.size)
        self._set_support_law(reports.size, reports.support.q, reports.support.gap)

    @cached_property
    def _windows(self) -> WindowChannel:
        return WindowChannel(self.reports)

    @property
    def _window_of(self) -> IntArray:
        return _window_of(self.reports.hashes)

    def merge_proportional_rows(self) -> tuple[Channel, IntArray] | None:
        return self._windows, self._window_of

    def matvec(self, theta: FloatArray) -> FloatArray:
        windows = (self._windows.matvec(theta).T / self._windows.members).T
        return np.asarray(windows[self._window_of])

    @one_by_one
    def rmatvec(self, r: FloatArray) -> FloatArray:
        sums = weighted_counts(self._window_of, r, self._windows.shape[0])
        return self._windows.rmatvec((sums.T / self._windows.members).T)

    @one_by_one
    def support_shares(self, w: FloatArray) -> FloatArray:
        return self._windows.support_shares(
            weighted_counts(self._window_of, w, self._windows.shape[0])
        )

    def influence(self, c: FloatArray) -> FloatArray:
        return self._windows.influence(c)[self._window_of]

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        shares = self.support_shares(w)
        weights = np.concatenate([shares, 1 - shares]) / self.shape[1]
        return HashSupportChannel(self.reports), weights

    def second_moments(self, weights: FloatArray) -> FloatArray:
        return self.rmatvec(weights.T**2).T

    def information(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._windows.information(theta)

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        return self._windows.block_moments(
            weighted_counts(self._window_of, w, self._windows.shape[0]), block, shape, columns
        )

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        merged = weighted_counts(self._window_of, w, self._windows.shape[0])
        observed = np.flatnonzero(merged)
        return WindowRows(self._windows, observed), merged[observed]

    def _reports_at(self, index: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The reports a, b, z of rows."""
        hashes = self.reports.hashes
        shape = (hashes.prime - 1, hashes.prime, hashes.buckets)
        a, b, z = np.unravel_index(np.asarray(index), shape)
        return a + 1, b, z

    def rows(self, index: IntArray) -> FloatArray:
        a, b, z = self._reports_at(index)
        values = np.arange(self.shape[1])
        hit = self.reports.hashes.bucket_of(a[:, None], b[:, None], values) == z[:, None]
        return np.asarray((self.reports.q + self.reports.gap * hit) / self.reports.functions)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            yield rows, self.rows(np.arange(rows.start, rows.stop))

    def dense(self) -> FloatArray:
        return self.rows(np.arange(self.shape[0]))

    def sample_rows(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        a, b, z = self.reports.draw(np.asarray(index), rng)
        hashes = self.reports.hashes
        return np.asarray(((a - 1) * hashes.prime + b) * hashes.buckets + z)

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        if n > self.shape[0]:
            return super().simulate(theta, n, rng)
        return self.simulate_from_values(rng.multinomial(n, theta / theta.sum()), rng)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        """Report by report, or value by value where there are many people for each value."""
        n, (reports, size) = int(people.sum()), self.shape
        if n > reports * size:
            return super().simulate_from_values(people, rng)
        total = np.zeros(reports, dtype=np.int64)
        ends = np.cumsum(people)
        for start in range(0, n, _PEOPLE):
            person = np.arange(start, min(start + _PEOPLE, n))
            values = np.searchsorted(ends, person, side="right")
            np.add.at(total, self.sample_rows(values, rng), 1)
        return np.asarray(total / n)


class WindowChannel(SupportInverse, Channel):
    """Local hashing over a prime field, where reports that support the same values are one row.

    A report supports the residues y with (alpha y + beta) mod p in 0..L-1 (see
    :meth:`~warner._core.field_hash.FieldHash.progression`). In the order of alpha y mod p they are
    a window of L neighbours, which starts at t = -beta. There are at most two lengths L, and -alpha
    has the windows of alpha in reverse. So the p (p - 1) g reports have about p^2 different rows,
    and both products are sums over windows: O(p^2) for all reports together.

    Rows are in C order of (alpha, L, t), alpha = 1..p // 2.

    Args:
        reports: the law.
    """

    has_closed_inverse = True
    has_row_blocks = True

    def __init__(self, reports: HashedReports) -> None:
        self.reports = reports
        self._shape = _window_shape(reports.hashes)
        self._lengths, counts = np.unique(reports.hashes.sizes, return_counts=True)
        mirrored = 1 if reports.hashes.prime == 2 else 2
        self.members = np.broadcast_to(
            (mirrored * counts)[:, None].astype(np.float64), self._shape
        ).ravel()
        self.shape = (self.members.size, reports.size)
        self._set_support_law(reports.size, reports.support.q, reports.support.gap)

    @property
    def _places(self) -> IntArray:
        return _places(self.reports.hashes, self.reports.size)

    def _supporting(self, theta: FloatArray) -> FloatArray:
        """N theta, (rows,) or (rows, B): the sum of theta over the values of each window."""
        half, lengths, p = self._shape
        parts = np.ascontiguousarray(theta.T).reshape(-1, self.shape[1])
        out = np.empty((len(parts), half, lengths, p))
        for values, sums in zip(parts, out, strict=True):
            placed = np.zeros(half * p)
            placed[self._places] = values[:, None]
            _window_sums(placed.reshape(half, p), self._lengths, sums)
        return np.asarray(out.reshape(*theta.T.shape[:-1], -1).T)

    def _support_sums(self, r: FloatArray) -> FloatArray:
        """N' r, (K,) or (K, B)."""
        half, lengths, p = self._shape
        parts = np.ascontiguousarray(r.T).reshape(-1, half, lengths, p)
        out = np.empty((len(parts), self.shape[1]))
        sums = np.empty((half, 1, p))
        for weights, total in zip(parts, out, strict=True):
            reached = np.zeros((half, p))
            for i, length in enumerate(self._lengths):
                # Place j is in the windows that start at j - k, k < L: windows in reverse.
                _window_sums(weights[:, i, ::-1], [length], sums)
                reached += sums[:, 0, ::-1]
            total[:] = np.take(reached.ravel(), self._places).sum(axis=1)
        return np.asarray(out.reshape(*r.T.shape[:-1], -1).T)

    def matvec(self, theta: FloatArray) -> FloatArray:
        law = self.reports
        chance = law.q * theta.sum(axis=0) + law.gap * self._supporting(theta)
        return np.asarray((chance.T * self.members / law.functions).T)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        law = self.reports
        scaled = (r.T * self.members / law.functions).T
        return np.asarray(law.q * scaled.sum(axis=0) + law.gap * self._support_sums(scaled))

    def support_shares(self, w: FloatArray) -> FloatArray:
        return self._support_sums(w)

    def influence(self, c: FloatArray) -> FloatArray:
        u = (c.T / self.gap).T
        return np.asarray(self._supporting(u) - self.q @ u)

    def second_moments(self, weights: FloatArray) -> FloatArray:
        return self.rmatvec(weights.T**2).T

    def bits(self, index: IntArray) -> NDArray[np.uint8]:
        """The values that rows support, as packed bits."""
        half, kind, t = np.unravel_index(np.asarray(index), self._shape)
        length, p = self._lengths[kind], self.reports.hashes.prime
        out = np.empty((len(half), -(-self.shape[1] // 8)), dtype=np.uint8)
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, len(out), step):
            rows = slice(start, start + step)
            base = half[rows, None] * p
            place = self._places[:, half[rows]].T - base - t[rows, None]
            place += np.where(place < 0, p, 0)
            out[rows] = np.packbits(place < length[rows, None], axis=1)
        return out

    def rows(self, index: IntArray) -> FloatArray:
        bits = np.unpackbits(self.bits(index), axis=1, count=self.shape[1])
        scale = self.members[index, None] / self.reports.functions
        return np.asarray((self.reports.q + self.reports.gap * bits) * scale)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            yield rows, self.rows(np.arange(rows.start, rows.stop))

    def dense(self) -> FloatArray:
        return self.rows(np.arange(self.shape[0]))

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        """Exact: with h the sum of the block's terms, E[g_v h] = (N'(h d) - q sum h d)_v / gap_v.

        d are the probabilities of the reports.
        """
        size = shape[1]
        members = slice(block * size, (block + 1) * size)
        total = self.invert(w)[members]
        squares = self.inverse_moments(columns)[0][members]
        inside = np.zeros(self.shape[1])
        inside[members] = 1.0
        weighted = (self.influence(inside) * self.matvec(columns).T).T
        return BlockMoments.of_sums(total, squares, self.invert(weighted)[members])


class WindowRows(SupportRows):
    """The windows of the observed reports, whose products are sums over windows where that is less.

    Args:
        windows: all windows.
        index: (m,) the observed ones, in order.
    """

    def __init__(self, windows: WindowChannel, index: IntArray) -> None:
        scale = windows.members[index] / windows.reports.functions
        law = windows.reports
        super().__init__(
            windows.bits(index), law.size, law.q * scale, law.gap * scale, windows.q, windows.gap
        )
        self._windows, self._index = windows, index
        # A sum over windows costs about as much as four bytes of bits.
        self._is_dense = 4 * windows.shape[0] < self.bits.size

    def matvec(self, theta: FloatArray) -> FloatArray:
        if self._is_dense:
            return self._windows.matvec(theta)[self._index]
        return super().matvec(theta)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        if not self._is_dense:
            return super().rmatvec(r)
        everywhere = np.zeros((self._windows.shape[0], *r.shape[1:]))
        everywhere[self._index] = r
        return self._windows.rmatvec(everywhere)

    def complete(self) -> HashSupportChannel:
        return HashSupportChannel(self._windows.reports)


class HashedRows(SupportRows):
    """Whole reports of local hashing over a prime field that a tally keeps, one row each.

    Args:
        reports: the law.
        a, b, z: (m,) the distinct reports.
    """

    def __init__(self, reports: HashedReports, a: IntArray, b: IntArray, z: IntArray) -> None:
        n, law = reports.functions, reports.support
        bits = reports.packed_bits(a, b, z)
        super().__init__(bits, reports.size, reports.q / n, reports.gap / n, law.q, law.gap)
        self._reports = reports

    def complete(self) -> HashSupportChannel:
        return HashSupportChannel(self._reports)


class HashSupportChannel(SupportChannel):
    """The channel of support counts of local hashing over a prime field.

    The bits of a report are neither independent nor of a fixed number. Buckets of residues are
    nearly of one size, so that bits of different values exclude each other slightly. All pairs of
    values are alike (see ``HashedReports.pairs``), so every quadratic form costs O(K).

    Args:
        reports: the law.
    """

    def __init__(self, reports: HashedReports) -> None:
        law = reports.support
        super().__init__(reports.size, law.q, law.gap)
        self.reports = reports

    def second_moments(self, weights: FloatArray) -> FloatArray:
        """As :meth:`SupportChannel.second_moments`, with the probabilities of pairs of bits."""
        yes, no = weights[:, : self._size], weights[:, self._size :]
        u, c = yes - no, no.sum(axis=1, keepdims=True)
        with_value, others = self.reports.pairs
        q, p = self.q[0], self.q[0] + self.gap[0]
        total, squares = u.sum(axis=1, keepdims=True), (u**2).sum(axis=1, keepdims=True)
        rest, rest_squares = total - u, squares - u**2
        mean = q * total + self.gap[0] * u
        square = u**2 * p + rest_squares * q + 2 * u * rest * with_value
        square += (rest**2 - rest_squares) * others
        return np.asarray(np.maximum(square + 2 * c * mean + c**2, 0.0))

    def _cross_moments(self, columns: FloatArray, members: slice) -> FloatArray:
        shares, with_value, others = columns[members], *self.reports.pairs
        low, gap = float(self.q[0]), float(self.gap[0])
        one_is_value = (with_value - low * (low + gap)) / gap**2
        neither = (others - low**2) / gap**2
        # Over the pairs (v, u) of v, theta_v counts V - 1 times and theta_u once.
        paired = (len(shares) - 2) * shares + shares.sum(axis=0)
        return np.asarray(
            (len(shares) - 1) * neither * columns.sum(axis=0) + (one_is_value - neither) * paired
        )

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        """Report by report where that is little work.

        Otherwise bits are drawn as independent given the value. Then the deviation of their sum
        over all values, divided among the values, is scaled to have its own variance.
        """
        n, size = int(people.sum()), self._size
        if n * size <= _DRAWS:
            hashes = self.reports.hashes
            a, b, z = self.reports.draw(np.repeat(np.arange(size), people), rng)
            sums = hashes.support_counts(a, b, z)[hashes.points(np.arange(size))]
        else:
            truthful = rng.binomial(people, np.minimum(self.q + self.gap, 1.0))
            sums = truthful + rng.binomial(n - people, self.q)
            mean = n * self.q + people * self.gap
            spread = self._variance_of_number() / self._variance_if_independent()
            moved = (1 - np.sqrt(max(spread, 0.0))) * float((sums - mean).sum()) / size
            sums = np.clip(np.rint(sums - moved), 0, n).astype(np.int64)
        return np.concatenate([sums, n - sums]) / (n * size)

    def _variance_if_independent(self) -> float:
        q, p = float(self.q[0]), float(self.q[0] + self.gap[0])
        return (self._size - 1) * q * (1 - q) + p * (1 - p)

    def _variance_of_number(self) -> float:
        """The variance of the number of values that a report supports."""
        ones = np.zeros((1, 2 * self._size))
        ones[0, : self._size] = 1.0
        mean = self._size * self.q[0] + self.gap[0]
        return float(self.second_moments(ones)[0, 0] - mean**2)

    def sample_marks(self, index: IntArray, rng: np.random.Generator) -> FloatArray:
        a, b, z = self.reports.draw(np.asarray(index), rng)
        values = np.arange(self._size)[None, :]
        bits = self.reports.hashes.bucket_of(a[:, None], b[:, None], values) == z[:, None]
        return np.concatenate([bits, ~bits], axis=1).astype(np.float64)


def _window_shape(hashes: FieldHash) -> tuple[int, int, int]:
    """The number of multipliers alpha up to their sign, of lengths, and of starts."""
    p = hashes.prime
    return max(p // 2, 1), np.unique(hashes.sizes).size, p


@lru_cache(maxsize=4)
def _window_of(hashes: FieldHash) -> IntArray:
    """The window of every report (a, b, z), as a row of :class:`WindowChannel`."""
    p, g = hashes.prime, hashes.buckets
    shape = _window_shape(hashes)
    b, z = np.divmod(np.arange(p * g), g)
    _, kinds = np.unique(hashes.sizes, return_inverse=True)
    out = np.empty((p - 1, p * g), dtype=np.int64)
    for row, a in zip(out, range(1, p), strict=True):
        alpha, beta, length = hashes.progression(np.array(a), b, z)
        mirrored = int(alpha) > shape[0]
        # The places t + k of alpha are the places -t - k of -alpha, from -t - L + 1 on.
        t = (beta - length + 1 if mirrored else -beta) % p
        half = (p - int(alpha) if mirrored else int(alpha)) - 1
        row[:] = (half * shape[1] + kinds[z]) * p + t
    out.setflags(write=False)
    return out.ravel()


@lru_cache(maxsize=4)
def _places(hashes: FieldHash, size: int) -> IntArray:
    """Where alpha y mod p of each value stands in a table (alphas, p), flat indices (K, alphas)."""
    p, alphas = hashes.prime, _window_shape(hashes)[0]
    found = hashes.points(np.arange(size))[:, None] * np.arange(1, alphas + 1) % p
    found += np.arange(alphas) * p
    found.setflags(write=False)
    return found


def _window_sums(values: FloatArray, lengths: Any, out: FloatArray) -> None:
    """The sums of ``values`` (alphas, p) over windows of each length around the circle.

    Args:
        values: (alphas, p).
        lengths: the lengths, at most p.
        out: (alphas, len(lengths), p), written: entry t is the sum over t, t + 1, .., t + L - 1.
    """
    alphas, p = values.shape
    sums = np.zeros((alphas, 2 * p))
    np.cumsum(values, axis=1, out=sums[:, 1 : p + 1])
    sums[:, p + 1 :] = sums[:, 1:p] + sums[:, p : p + 1]
    for i, length in enumerate(lengths):
        np.subtract(sums[:, length : length + p], sums[:, :p], out=out[:, i])
