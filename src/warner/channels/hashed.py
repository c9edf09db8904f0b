"""Local hashing with a public pool of seeds, whose collisions are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner._core.hashing import FieldHash, buckets as bucket_of
from warner._core.progress import in_blocks
from warner.channels.base import (
    Channel,
    DenseCompositeChannel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    SupportLaw,
    extremes,
    one_by_one,
    simulate_reports,
)
from warner.channels.support import SupportChannel, SupportInverse, SupportRows, normalized

_BLOCK = 2**21  # elements of a block of rows that are worked on at a time
_CACHED = 2**16  # elements that stay in the processor's cache while they are worked on
_HASH_CACHE = 2**27  # bytes of a bucket table that is kept instead of hashed anew
_LARGEST_COLLISIONS = 2**13  # values; the matrix of their collisions has the square of it
_LARGEST_TABLE = 2**18  # entries of the table of supported values that is formed for its extremes
_VARIANCE_WORK = 5e10  # multiplications that the exact variance of a pool may cost

Buckets: TypeAlias = NDArray[np.unsignedinteger[Any]]


class HashChannel(Channel):
    """The channel of local hashing with a public pool: report (s, b) is a seed and a bucket.

    >>> HashChannel(3, 8, 2, 0.25, 0.5).matvec(np.ones(3) / 3).sum().round(12)
    np.float64(1.0)
    """

    # Pr((s, b) | x) = (q' + (p - q') [h_s(x) = b]) / seeds, q' = (1 - p) / (g - 1), gap = p - q'.
    # Pr(report supports x | x') = q' + (p - q') M[x, x'] with the pool's own collision matrix M;
    # the textbook's 1 / g in place of M is inconsistent (METHODS 1).

    has_row_blocks = True
    has_closed_moments = True
    lists_all_reports = False

    def __init__(self, size: int, seeds: int, buckets: int, q: float, gap: float) -> None:
        self.shape = (seeds * buckets, size)
        self.seeds, self.buckets = seeds, buckets
        self.q, self.gap = q, gap

    def average_support_law(self) -> SupportLaw:
        """Another value shares the bucket under one seed of g: q = q' + (p - q') / g."""
        other = np.full(self.shape[1], 1 / self.buckets)
        return SupportLaw(self.q + self.gap * other, self.gap * (1 - other))

    def function_shares(self, w: FloatArray) -> FloatArray:
        return np.asarray(w.reshape(self.seeds, self.buckets).sum(axis=1))

    def _tables(self) -> Iterator[tuple[slice, Buckets]]:
        return _bucket_tables(self.seeds, self.buckets, self.shape[1])

    @one_by_one
    def matvec(self, theta: FloatArray) -> FloatArray:
        sums = np.empty((self.seeds, self.buckets))
        for seeds, table in self._tables():
            rows = len(table)
            flat = table + (np.arange(rows, dtype=np.int64) * self.buckets)[:, None]
            weights = np.broadcast_to(theta, table.shape)
            sums[seeds] = np.bincount(flat.ravel(), weights.ravel(), rows * self.buckets).reshape(
                rows, self.buckets
            )
        return np.asarray(((self.q * theta.sum() + self.gap * sums) / self.seeds).ravel())

    @one_by_one
    def _gather(self, r: FloatArray) -> FloatArray:
        """sum_s r[s, h_s(x)] for every x, (K,)."""
        total = np.zeros(self.shape[1])
        for seeds, table in self._tables():
            for rows in in_blocks(len(table), _CACHED, self.shape[1]):
                seed = seeds.start + np.arange(rows.start, rows.stop, dtype=np.int64)
                flat = table[rows] + (seed * self.buckets)[:, None]
                total += np.take(r, flat).sum(axis=0)
        return total

    def rows(self, index: IntArray) -> FloatArray:
        seed, bucket = np.divmod(index, self.buckets)
        hit = (
            bucket_of(seed[:, None], np.arange(self.shape[1])[None, :], self.buckets)
            == bucket[:, None]
        )
        return np.asarray((self.q + self.gap * hit) / self.seeds)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return np.asarray((self.q * r.sum(axis=0) + self.gap * self._gather(r)) / self.seeds)

    @property
    def _support_inverse(self) -> FloatArray:
        return _support_inverse(self.seeds, self.buckets, self.shape[1], self.q, self.gap)

    def invert(self, w: FloatArray) -> FloatArray:
        return self._support_inverse @ self._gather(w)

    def influence(self, c: FloatArray) -> FloatArray:
        # A report (s, b) adds the sum of u = inverse' c over the values in its bucket.
        #
        # These sums are the product of a pool with q' = 0 and p = seeds.
        counting = HashChannel(self.shape[1], self.seeds, self.buckets, 0.0, float(self.seeds))
        return counting.matvec(self._support_inverse.T @ c)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Exact over the pool where that costs at most 5e10 multiplications.
        #
        # Otherwise it uses the first seeds that fit. The relative error is about 1 / sqrt(seeds
        # used) of a term that varies little from seed to seed.
        size = self.shape[1]
        inverse = self._support_inverse.T
        rows = self.matvec(theta).reshape(self.seeds, self.buckets, *theta.shape[1:])
        most = max(1, int(_VARIANCE_WORK / (self.buckets * size**2)))
        total, at_value, used = np.zeros(theta.shape), np.zeros(size), 0
        for seeds, table in self._tables():
            table = table[: max(0, most - used)]
            if not len(table):
                break
            for bucket in range(self.buckets):
                hit = (table == bucket).astype(np.float64)
                squares = (hit @ inverse) ** 2
                total += squares.T @ rows[seeds][: len(table), bucket]
                at_value += ((self.q + self.gap * hit) * squares).sum(axis=0) / self.seeds
            used += len(table)
        return total * (self.seeds / used), at_value * (self.seeds / used)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # With probability p - q' a report is a random seed with the value's bucket.
        #
        # Otherwise it is a random seed with a random bucket.
        truthful = rng.binomial(people, self.gap)
        cells = self.shape[0]
        total = rng.multinomial(
            int(people.sum() - truthful.sum()), np.full(cells, 1 / cells)
        ).reshape(self.seeds, self.buckets)
        every, even = np.arange(self.seeds), np.full(self.seeds, 1 / self.seeds)
        for x in np.flatnonzero(truthful):
            total[every, bucket_of(every, np.array(x), self.buckets)] += rng.multinomial(
                truthful[x], even
            )
        return np.asarray(total.ravel() / people.sum())

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        # Support counts with the collisions of the pool, q' + (p - q') M[x, x'].
        size, shares = self.shape[1], self._gather(w)
        supported = self.q + self.gap * _collisions(self.seeds, self.buckets, size)
        channel = DenseCompositeChannel(
            np.concatenate([supported, 1 - supported]) / size, rows_per_report=size
        )
        return channel, np.concatenate([shares, 1 - shares]) / size

    def support_shares(self, w: FloatArray) -> FloatArray:
        return self._gather(w)

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        # Of a large pool, the weights at the average share of values that a report supports.
        if self.shape[0] * self.shape[1] > _LARGEST_TABLE:
            level = self.gap * (1 - 1 / self.buckets)
            q = self.q + self.gap / self.buckets
            return np.full(1, -q / level), np.full(1, (1 - q) / level)
        supports = self.dense() * self.seeds > self.q + self.gap / 2
        return extremes(self._support_inverse @ supports.T)

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return normalized(self._gather(w))

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        # The rows of the observed reports as packed bits, hashed once.
        rows = np.flatnonzero(w)
        packed = np.empty((rows.size, -(-self.shape[1] // 8)), dtype=np.uint8)
        for seeds, table in self._tables():
            first, last = np.searchsorted(
                rows, (seeds.start * self.buckets, seeds.stop * self.buckets)
            )
            seed, bucket = np.divmod(rows[first:last], self.buckets)
            packed[first:last] = np.packbits(table[seed - seeds.start] == bucket[:, None], axis=1)
        observed = SupportRows(packed, self.shape[1], self.q / self.seeds, self.gap / self.seeds)
        return observed, w[rows]

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for seeds, table in self._tables():
            hit = table[:, None, :] == np.arange(self.buckets)[None, :, None]
            block = (self.q + self.gap * hit) / self.seeds
            yield (
                slice(seeds.start * self.buckets, seeds.stop * self.buckets),
                block.reshape(-1, self.shape[1]),
            )


def _hash_block(seeds: slice, count: int, size: int) -> Buckets:
    """Buckets of all values under a range of seeds, hashed in pieces that fit the cache."""
    table = np.empty((seeds.stop - seeds.start, size), dtype=np.min_scalar_type(count - 1))
    index = np.arange(size)[None, :]
    for rows in in_blocks(len(table), _CACHED, size):
        seed = seeds.start + np.arange(rows.start, rows.stop)
        table[rows] = bucket_of(seed[:, None], index, count)
    return table


@lru_cache(maxsize=2)
def _bucket_table(seeds: int, count: int, size: int) -> Buckets:
    """The buckets of all values under all seeds, kept for the next call."""
    return _hash_block(slice(0, seeds), count, size)


def _bucket_tables(seeds: int, count: int, size: int) -> Iterator[tuple[slice, Buckets]]:
    """The buckets of all values for blocks of seeds: a slice of the seeds, and an array (b, K)."""
    cached = _bucket_table(seeds, count, size) if seeds * size <= _HASH_CACHE else None
    for block in in_blocks(seeds, _BLOCK, size):
        yield block, cached[block] if cached is not None else _hash_block(block, count, size)


@lru_cache(maxsize=4)
def _collisions(seeds: int, count: int, size: int) -> FloatArray:
    """M[x, x'], (K, K): the share of the seeds under which x and x' fall in one bucket."""
    # Where g is a power of two, sum_j H[j, h] H[j, h'] = g [h = h'] for the Hadamard matrix H = 1 -
    # 2 parity(j & h), whose row 0 is constant: one product fewer. 0/1 products in single precision
    # are exact, because a block has fewer than 2**24 rows.
    if size > _LARGEST_COLLISIONS:
        rule = f"must have at most {_LARGEST_COLLISIONS} values if seeds is given"
        remedy = "Use UnaryEncoding or HadamardResponse for a domain of this size"
        raise ArgumentError("domain", rule, str(size), remedy)
    total = np.zeros((size, size))
    if count & (count - 1):
        for _, table in _bucket_tables(seeds, count, size):
            for bucket in range(count):
                hit = (table == bucket).astype(np.float32)
                total += hit.T @ hit
        return total / seeds
    for _, table in _bucket_tables(seeds, count, size):
        for j in range(1, count):
            parity = (np.bitwise_count(table & table.dtype.type(j)) & 1).astype(np.float32)
            total += parity.T @ parity
    ones = np.diag(total)
    # sum_j H H' = g - 1 - 2 (c + c') + 4 c c' over j >= 1, and 1 for j = 0.
    return (count * seeds - 2 * (ones[:, None] + ones[None, :]) + 4 * total) / (count * seeds)


@lru_cache(maxsize=4)
def _support_inverse(seeds: int, count: int, size: int, q: float, gap: float) -> FloatArray:
    """The inverse (K, K) of Pr(report supports x | x') = q' + (p - q') M[x, x']."""
    # M is a Gram matrix: its eigenvalues show its rank, which is the same for every epsilon.
    collisions = _collisions(seeds, count, size)
    if np.linalg.eigvalsh(collisions)[0] < 1e-9:
        rule = (
            "must be more, because with these seeds two values nearly always fall into the same "
            "bucket"
        )
        remedy = "Pass a larger number of seeds"
        raise IdentifiabilityError("seeds", rule, str(seeds), remedy)
    return np.asarray(np.linalg.inv(q + gap * collisions), dtype=np.float64)


# -----------------------------------------------------------------------------------------------
# Local hashing over a prime field: channels of whole reports and of support counts.


_PEOPLE = 2**16  # people who are simulated at a time
_LARGEST_BITS = 2**31  # bytes of the bits of whole reports
_INFORMATION_WORK = 2e9  # multiplications up to which the information of reports is exact
_DRAWS = 2**24  # pairs of a person and a value for which reports are drawn one by one


@dataclass(frozen=True)
class HashedReports:
    """The law of a report (a, b, z): z is the value's bucket under h_ab with probability p."""

    size: int  # K
    hashes: FieldHash  # the hash functions h_ab
    q: float  # q' = (1 - p) / (g - 1), the probability of any other bucket
    gap: float  # p - q'

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
        """How often a report supports a pair of values, given the person's value x (METHODS 1)."""
        # Pr(x and v) = p c; Pr(u and v) = q' c + (p - q') c_3, c_3 the probability that u, v and x
        # share a bucket, averaged over triples of residues: sums over many values have the average.
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
        """Which values each report supports, as bits, most significant first, (m, ceil(K / 8))."""
        width = -(-self.size // 8)
        if len(a) * width > _LARGEST_BITS:
            rule = (
                f"would need {len(a) * width} bytes for {len(a)} reports, and at most 2^31 are "
                "possible"
            )
            remedy = "Make the tally without keep_reports"
            raise ArgumentError("keep_reports", rule, f"{self.size} values", remedy)
        packed = np.empty((len(a), width), dtype=np.uint8)
        index = np.arange(self.size)[None, :]
        for rows in in_blocks(len(a), _BLOCK, self.size):
            bucket = self.hashes.bucket_of(a[rows, None], b[rows, None], index)
            packed[rows] = np.packbits(bucket == z[rows, None], axis=1)
        return packed


class WindowChannel(SupportInverse, Channel):
    """Local hashing over a prime field, where reports that support the same values are one row.

    >>> channel = WindowChannel(HashedReports(3, FieldHash(5, 4), 0.2, 0.2))
    >>> channel.shape, channel.matvec(np.ones(3) / 3).sum().round(12)
    ((20, 3), np.float64(1.0))
    """

    # A report supports residues y with (alpha y + beta) mod p in 0..L-1: in the order of alpha y
    # mod p a window from t = -beta. There are two lengths L at most, and -alpha reverses alpha, so
    # about p^2 rows, and O(p^2) products. Rows are in C order of (alpha, L, t), alpha = 1..p // 2;
    # each counts ``members`` equally likely reports.

    has_closed_inverse = True
    has_row_blocks = True

    def __init__(self, reports: HashedReports) -> None:
        self.reports = reports
        self._shape = reports.hashes.window_shape
        self._length = int(reports.hashes.sizes.min())
        self.members = reports.hashes.window_members
        each = -np.log(self.members.reshape(self._shape)[0])  # two numbers, for all rows
        self.log_factors = np.broadcast_to(each[:, :1], self._shape).ravel()
        self.shape = (self.members.size, reports.size)
        self._set_support_law(reports.size, reports.support.q, reports.support.gap)

    def function_shares(self, w: FloatArray) -> FloatArray:
        # By multiplier: a shift moves the window of a report, and so does the answer.
        return np.asarray(w.reshape(self._shape[0], -1).sum(axis=1))

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
            _window_sums(placed.reshape(half, p), self._length, sums)
        return np.asarray(out.reshape(*theta.T.shape[:-1], -1).T)

    def _support_sums(self, r: FloatArray) -> FloatArray:
        """N' r, (K,) or (K, B)."""
        half, lengths, p = self._shape
        parts = np.ascontiguousarray(r.T).reshape(-1, half, lengths, p)
        out = np.empty((len(parts), self.shape[1]))
        for weights, total in zip(parts, out, strict=True):
            reached = _windows_around(weights, self._length)
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

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        shares = self.support_shares(w)
        weights = np.concatenate([shares, 1 - shares]) / self.shape[1]
        return HashSupportChannel(self.reports), weights

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        observed = np.flatnonzero(w)
        return WindowRows(self, observed), w[observed]

    def sample_rows(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        return self.reports.hashes.windows(*self.reports.draw(np.asarray(index), rng))

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # Report by report, or value by value where there are many people for each value.
        n, (rows, size) = int(people.sum()), self.shape
        if n > rows * size:
            return super().simulate_from_values(people, rng)
        return simulate_reports(self, people, rng, _PEOPLE)

    def bits(self, index: IntArray) -> NDArray[np.uint8]:
        """The values that rows support, as packed bits."""
        half, kind, t = np.unravel_index(np.asarray(index), self._shape)
        length, p = self._length + kind, self.reports.hashes.prime
        out = np.empty((len(half), -(-self.shape[1] // 8)), dtype=np.uint8)
        for rows in in_blocks(len(out), _BLOCK, self.shape[1]):
            base = half[rows, None] * p
            position = self._places[:, half[rows]].T - base - t[rows, None]
            position += np.where(position < 0, p, 0)
            out[rows] = np.packbits(position < length[rows, None], axis=1)
        return out

    def rows(self, index: IntArray) -> FloatArray:
        bits = np.unpackbits(self.bits(index), axis=1, count=self.shape[1])
        scale = self.members[index, None] / self.reports.functions
        return np.asarray((self.reports.q + self.reports.gap * bits) * scale)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for rows in in_blocks(self.shape[0], _BLOCK, self.shape[1]):
            yield rows, self.rows(np.arange(rows.start, rows.stop))

    def dense(self) -> FloatArray:
        return self.rows(np.arange(self.shape[0]))


class WindowRows(SupportRows):
    """The windows ``index`` (m,) that were observed; sums over windows where they are cheaper."""

    draws_reports = False

    def __init__(self, windows: WindowChannel, index: IntArray) -> None:
        law, shape = windows.reports, (len(index), windows.shape[1])
        scale = windows.members[index] / law.functions
        self._set_levels(shape, law.q * scale, law.gap * scale, windows.log_factors_of(index))
        self._set_support_law(law.size, windows.q, windows.gap)
        self._windows, self._index = windows, index
        # A sum over windows costs about as much as four bytes of bits.
        self._is_dense = 4 * windows.shape[0] < len(index) * -(-law.size // 8)

    @cached_property
    def bits(self) -> NDArray[np.uint8]:
        """They are formed where they are needed, since products may do without."""
        return np.asfortranarray(self._windows.bits(self._index))

    @property
    def counted(self) -> NDArray[np.uint8]:
        return self.bits

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
    """Whole reports a, b, z (m,) of local hashing that a tally keeps, one row each."""

    draws_reports = False

    def __init__(self, reports: HashedReports, a: IntArray, b: IntArray, z: IntArray) -> None:
        n, law = reports.functions, reports.support
        bits = reports.packed_bits(a, b, z)
        super().__init__(bits, reports.size, reports.q / n, reports.gap / n, law.q, law.gap)
        self._reports = reports

    def complete(self) -> HashSupportChannel:
        return HashSupportChannel(self._reports)


class HashSupportChannel(SupportChannel):
    """The channel of support counts of local hashing over a prime field."""

    # Bits of different values exclude each other slightly, but all pairs of values are alike
    # (``HashedReports.pairs``), so every quadratic form costs O(K).

    def __init__(self, reports: HashedReports) -> None:
        law = reports.support
        super().__init__(reports.size, law.q, law.gap)
        self.reports = reports

    def support_law(self) -> SupportLaw:
        return SupportLaw(self.q, self.gap, alike=self.reports.pairs)

    def information(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # That of whole reports: exact where it is affordable, else that of independent bits.
        #
        # With p residues the difference is about 1 / p of the information (METHODS 1).
        if (self.reports.hashes.prime * self._size) ** 2 <= _INFORMATION_WORK:
            return WindowChannel(self.reports).information(theta)
        return super().information(theta)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # Report by report where that is little work.
        #
        # Otherwise bits are drawn as independent given the value. Then ones are taken away or added
        # at random values, so that the number of all ones has its own variance.
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
            excess = float((sums - mean).sum()) * (1 - np.sqrt(max(spread, 0.0)))
            moved = rng.multinomial(round(abs(excess)), np.full(size, 1 / size))
            sums = np.clip(sums - (moved if excess > 0 else -moved), 0, n)
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


@lru_cache(maxsize=4)
def _places(hashes: FieldHash, size: int) -> IntArray:
    """Where alpha y mod p of each value stands in a table (alphas, p), flat indices (K, alphas)."""
    p, alphas = hashes.prime, hashes.window_shape[0]
    positions = hashes.points(np.arange(size))[:, None] * np.arange(1, alphas + 1) % p
    positions += np.arange(alphas) * p
    positions.setflags(write=False)
    return positions


def _window_sums(values: FloatArray, length: int, out: FloatArray) -> None:
    """Sums of ``values`` (alphas, p) over windows around the circle, and over one place more."""
    p = values.shape[1]
    sums = np.zeros((len(values), p + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    inside = min(p - length + 1, p)
    np.subtract(sums[:, length : length + inside], sums[:, :inside], out=out[:, 0, :inside])
    np.subtract(sums[:, p:], sums[:, inside:p], out=out[:, 0, inside:])
    out[:, 0, inside:] += sums[:, 1:length]
    if out.shape[1] > 1:
        np.add(out[:, 0, : p - length], values[:, length:], out=out[:, 1, : p - length])
        np.add(out[:, 0, p - length :], values[:, :length], out=out[:, 1, p - length :])


def _windows_around(weights: FloatArray, length: int) -> FloatArray:
    """The sum of the weights of the windows, L = ``length``, that hold each place: the adjoint."""
    p = weights.shape[2]
    # Place j is in the windows of length L that start at j - L + 1, .., j.
    sums = np.empty((len(weights), 1, p))
    _window_sums(weights.sum(axis=1), length, sums)
    out = np.roll(sums[:, 0], length - 1, axis=1)
    if weights.shape[1] > 1:
        out[:, length:] += weights[:, 1, : p - length]
        out[:, :length] += weights[:, 1, p - length :]
    return np.asarray(out)
