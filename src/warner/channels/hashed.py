"""Local hashing with a public pool of seeds, whose collisions are known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner._core.hash_family import buckets
from warner.channels.arrays import FloatArray, IntArray
from warner.channels.base import Channel, LikelihoodOperator, extremes, one_by_one
from warner.channels.dense import DenseCompositeChannel
from warner.channels.descriptions import HashPool, SupportLaw
from warner.channels.pure import normalized
from warner.channels.support_reports import SupportRows

_BLOCK = 2**21  # elements of a block of rows that are worked on at a time
_CACHED = 2**16  # elements that stay in the processor's cache while they are worked on
_HASH_CACHE = 2**27  # bytes of a bucket table that is kept instead of hashed anew
_LARGEST_COLLISIONS = 2**13  # values; the matrix of their collisions has the square of it
_LARGEST_TABLE = 2**18  # entries of the table of supported values that is formed for its extremes
_VARIANCE_WORK = 5e10  # multiplications that the exact variance of a pool may cost

Buckets: TypeAlias = NDArray[np.unsignedinteger[Any]]


class HashChannel(Channel):
    """The channel of local hashing with a public pool of hash functions.

        Pr(report (s, b) | value x) = (q' + (p - q') [h_s(x) = b]) / seeds

    A report (s, b) is a seed s and a bucket b. p is the probability of the value's bucket, and q' =
    (1 - p) / (g - 1) that of any other bucket. A finite pool has its own collision matrix M[x, x'],
    the share of seeds with h(x) = h(x'), so Pr(report supports x | x') = q' + (p - q') M[x, x'].
    The textbook's 1 / g in place of M is inconsistent (METHODS 1).

    Args:
        size: K.
        seeds: number of hash functions in the pool.
        count: g, the number of buckets.
        q: q'.
        gap: p - q'.

    >>> HashChannel(3, 8, 2, 0.25, 0.5).matvec(np.ones(3) / 3).sum().round(12)
    np.float64(1.0)
    """

    has_row_blocks = True
    lists_all_reports = False

    def __init__(self, size: int, seeds: int, count: int, q: float, gap: float) -> None:
        self.shape = (seeds * count, size)
        self.seeds, self.count = seeds, count
        self.q, self.gap = q, gap

    @property
    def has_closed_moments(self) -> bool:
        return True

    def hash_pool(self) -> HashPool:
        return HashPool(self.seeds, self.count)

    def average_support_law(self) -> SupportLaw:
        """Another value shares the bucket under one seed of g: q = q' + (p - q') / g."""
        other = np.full(self.shape[1], 1 / self.count)
        return SupportLaw(self.q + self.gap * other, self.gap * (1 - other))

    def _tables(self) -> Iterator[tuple[slice, Buckets]]:
        return _bucket_tables(self.seeds, self.count, self.shape[1])

    @one_by_one
    def matvec(self, theta: FloatArray) -> FloatArray:
        sums = np.empty((self.seeds, self.count))
        for seeds, table in self._tables():
            rows = len(table)
            flat = table + (np.arange(rows, dtype=np.int64) * self.count)[:, None]
            weights = np.broadcast_to(theta, table.shape)
            sums[seeds] = np.bincount(flat.ravel(), weights.ravel(), rows * self.count).reshape(
                rows, self.count
            )
        return np.asarray(((self.q * theta.sum() + self.gap * sums) / self.seeds).ravel())

    @one_by_one
    def _gather(self, r: FloatArray) -> FloatArray:
        """sum_s r[s, h_s(x)] for every x, (K,)."""
        total = np.zeros(self.shape[1])
        step = max(1, _CACHED // self.shape[1])
        for seeds, table in self._tables():
            for start in range(0, len(table), step):
                rows = table[start : start + step]
                flat = (
                    rows
                    + (
                        np.arange(
                            seeds.start + start, seeds.start + start + len(rows), dtype=np.int64
                        )
                        * self.count
                    )[:, None]
                )
                total += np.take(r, flat).sum(axis=0)
        return total

    def rows(self, index: IntArray) -> FloatArray:
        seed, bucket = np.divmod(index, self.count)
        hit = (
            buckets(seed[:, None], np.arange(self.shape[1])[None, :], self.count) == bucket[:, None]
        )
        return np.asarray((self.q + self.gap * hit) / self.seeds)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return np.asarray((self.q * r.sum(axis=0) + self.gap * self._gather(r)) / self.seeds)

    @property
    def _support_inverse(self) -> FloatArray:
        return _support_inverse(self.seeds, self.count, self.shape[1], self.q, self.gap)

    def invert(self, w: FloatArray) -> FloatArray:
        return self._support_inverse @ self._gather(w)

    def influence(self, c: FloatArray) -> FloatArray:
        """A report (s, b) adds the sum of u = inverse' c over the values in its bucket.

        These sums are the product of a pool with q' = 0 and p = seeds.
        """
        counting = HashChannel(self.shape[1], self.seeds, self.count, 0.0, float(self.seeds))
        return counting.matvec(self._support_inverse.T @ c)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exact over the pool where that costs at most 5e10 multiplications.

        Otherwise it uses the first seeds that fit. The relative error is about 1 / sqrt(seeds used)
        of a term that varies little from seed to seed.
        """
        size = self.shape[1]
        inverse = self._support_inverse.T
        rows = self.matvec(theta).reshape(self.seeds, self.count, *theta.shape[1:])
        most = max(1, int(_VARIANCE_WORK / (self.count * size**2)))
        total, at_value, used = np.zeros(theta.shape), np.zeros(size), 0
        for seeds, table in self._tables():
            table = table[: max(0, most - used)]
            if not len(table):
                break
            for bucket in range(self.count):
                hit = (table == bucket).astype(np.float64)
                squares = (hit @ inverse) ** 2
                total += squares.T @ rows[seeds][: len(table), bucket]
                at_value += ((self.q + self.gap * hit) * squares).sum(axis=0) / self.seeds
            used += len(table)
        return total * (self.seeds / used), at_value * (self.seeds / used)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        """With probability p - q' a report is a random seed with the value's bucket.

        Otherwise it is a random seed with a random bucket.
        """
        truthful = rng.binomial(people, self.gap)
        cells = self.shape[0]
        total = rng.multinomial(
            int(people.sum() - truthful.sum()), np.full(cells, 1 / cells)
        ).reshape(self.seeds, self.count)
        every, even = np.arange(self.seeds), np.full(self.seeds, 1 / self.seeds)
        for x in np.flatnonzero(truthful):
            total[every, buckets(every, np.array(x), self.count)] += rng.multinomial(
                truthful[x], even
            )
        return np.asarray(total.ravel() / people.sum())

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """Support counts with the collisions of the pool, q' + (p - q') M[x, x']."""
        size, shares = self.shape[1], self._gather(w)
        supported = self.q + self.gap * _collisions(self.seeds, self.count, size)
        channel = DenseCompositeChannel(
            np.concatenate([supported, 1 - supported]) / size, rows_per_report=size
        )
        return channel, np.concatenate([shares, 1 - shares]) / size

    def support_shares(self, w: FloatArray) -> FloatArray:
        return self._gather(w)

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        """Of a large pool, the weights at the average share of values that a report supports."""
        if self.shape[0] * self.shape[1] > _LARGEST_TABLE:
            level = self.gap * (1 - 1 / self.count)
            q = self.q + self.gap / self.count
            return np.full(1, -q / level), np.full(1, (1 - q) / level)
        supports = self.dense() * self.seeds > self.q + self.gap / 2
        return extremes(self._support_inverse @ supports.T)

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return normalized(self._gather(w))

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """The rows of the observed reports as packed bits, hashed once."""
        rows = np.flatnonzero(w)
        packed = np.empty((rows.size, -(-self.shape[1] // 8)), dtype=np.uint8)
        for seeds, table in self._tables():
            first, last = np.searchsorted(rows, (seeds.start * self.count, seeds.stop * self.count))
            seed, bucket = np.divmod(rows[first:last], self.count)
            packed[first:last] = np.packbits(table[seed - seeds.start] == bucket[:, None], axis=1)
        observed = SupportRows(packed, self.shape[1], self.q / self.seeds, self.gap / self.seeds)
        return observed, w[rows]

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for seeds, table in self._tables():
            hit = table[:, None, :] == np.arange(self.count)[None, :, None]
            block = (self.q + self.gap * hit) / self.seeds
            yield (
                slice(seeds.start * self.count, seeds.stop * self.count),
                block.reshape(-1, self.shape[1]),
            )


def _hash_block(seeds: slice, count: int, size: int) -> Buckets:
    """Buckets of all values under a range of seeds, hashed in pieces that fit the cache."""
    table = np.empty((seeds.stop - seeds.start, size), dtype=np.min_scalar_type(count - 1))
    step = max(1, _CACHED // size)
    index = np.arange(size)[None, :]
    for start in range(0, len(table), step):
        rows = table[start : start + step]
        rows[:] = buckets(
            np.arange(seeds.start + start, seeds.start + start + len(rows))[:, None], index, count
        )
    return table


@lru_cache(maxsize=2)
def _bucket_table(seeds: int, count: int, size: int) -> Buckets:
    """The buckets of all values under all seeds, kept for the next call."""
    return _hash_block(slice(0, seeds), count, size)


def _bucket_tables(seeds: int, count: int, size: int) -> Iterator[tuple[slice, Buckets]]:
    """The buckets of all values for blocks of seeds: a slice of the seeds, and an array (b, K)."""
    step = max(1, _BLOCK // size)
    kept = _bucket_table(seeds, count, size) if seeds * size <= _HASH_CACHE else None
    for start in range(0, seeds, step):
        block = slice(start, min(start + step, seeds))
        yield block, kept[block] if kept is not None else _hash_block(block, count, size)


@lru_cache(maxsize=4)
def _collisions(seeds: int, count: int, size: int) -> FloatArray:
    """M[x, x'], (K, K): the share of the seeds under which x and x' fall in one bucket.

    [h = h'] is the sum over buckets of [h = b] [h' = b]. Where g is a power of two, one product
    fewer is enough. The rows of the Hadamard matrix of order g have
    sum_j H[j, h] H[j, h'] = g [h = h']. The row j = 0 is constant, and H = 1 - 2 c with c the
    parity of j & h. Products of 0/1 matrices in single precision are exact, because a block has
    fewer than 2**24 rows.
    """
    if size > _LARGEST_COLLISIONS:
        raise ArgumentError(
            "domain",
            "must have at most "
            f"{_LARGEST_COLLISIONS} values for the collision matrix of a hash pool",
            str(size),
            "Use UnaryEncoding or HadamardResponse for a domain of this size",
        )
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
    """The inverse (K, K) of Pr(report supports x | x') = q' + (p - q') M[x, x'].

    M is a Gram matrix, so its eigenvalues show its rank, which is the same for every epsilon.
    """
    collisions = _collisions(seeds, count, size)
    if np.linalg.eigvalsh(collisions)[0] < 1e-9:
        raise IdentifiabilityError(
            "seeds",
            "two values share a bucket under (almost) every seed of the pool",
            str(seeds),
            "Use a larger pool of seeds",
        )
    return np.asarray(np.linalg.inv(q + gap * collisions), dtype=np.float64)
