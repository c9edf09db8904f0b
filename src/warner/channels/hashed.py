"""Local hashing with a public pool of seeds, through the pool's own collisions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from warner._core.errors import (
    ArgumentError,
    IdentifiabilityError,
    message,
)
from warner._core.hash_family import buckets
from warner.channels.base import Channel, one_by_one
from warner.channels.dense import DenseChannel
from warner.channels.pure import normalized
from warner.channels.support_reports import SupportRows

_BLOCK = 2**21  # elements of a block of rows that are worked on at a time
_CACHED = 2**16  # elements that stay in the processor's cache while they are worked on
_HASH_CACHE = 2**27  # bytes of bucket table that are kept instead of hashed anew
_LARGEST_COLLISIONS = 2**13  # values; the matrix of their collisions has the square of it
_VARIANCE_WORK = 5e10  # multiplications that the exact variance of a pool may cost


class HashChannel(Channel):
    """Local hashing with a public pool of seeds: report (s, b) has probability q' + (p - q') [h_s(x) = b], divided by the
    size of the pool; here ``q`` is q' and ``gap`` is p - q'.

    q' = (1 - p) / (g - 1). A finite pool has its own collision matrix M[x, x'] = share of seeds with h(x) = h(x'), and
    Pr(report supports x | x') = q' + (p - q') M[x, x']. The textbook's 1/g in place of it is inconsistent (METHODS 1).
    """

    def __init__(self, size: int, seeds: int, count: int, q: float, gap: float) -> None:
        self.shape = (seeds * count, size)
        self.seeds, self.count = seeds, count
        self.q, self.gap = q, gap

    def _tables(self) -> Iterator[tuple[slice, np.ndarray]]:
        return _bucket_tables(self.seeds, self.count, self.shape[1])

    @one_by_one
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        sums = np.empty((self.seeds, self.count))
        for seeds, table in self._tables():
            rows = len(table)
            flat = table + (np.arange(rows, dtype=np.int64) * self.count)[:, None]
            weights = np.broadcast_to(theta, table.shape)
            sums[seeds] = np.bincount(flat.ravel(), weights.ravel(), rows * self.count).reshape(
                rows, self.count
            )
        return ((self.q * theta.sum() + self.gap * sums) / self.seeds).ravel()

    @one_by_one
    def _gather(self, r: np.ndarray) -> np.ndarray:
        """sum_s r[s, h_s(x)] for every x."""
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

    def rows(self, index: np.ndarray) -> np.ndarray:
        seed, bucket = np.divmod(index, self.count)
        hit = (
            buckets(seed[:, None], np.arange(self.shape[1])[None, :], self.count) == bucket[:, None]
        )
        return (self.q + self.gap * hit) / self.seeds

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return (self.q * r.sum(axis=0) + self.gap * self._gather(r)) / self.seeds

    @property
    def _support_inverse(self) -> np.ndarray:
        return _support_inverse(self.seeds, self.count, self.shape[1], self.q, self.gap)

    def invert(self, w: np.ndarray) -> np.ndarray:
        return self._support_inverse @ self._gather(w)

    def influence(self, c: np.ndarray) -> np.ndarray:
        """A report (s, b) adds the sum of u = inverse' c over the values in its bucket: matvec with q' = 0 and p = the pool's size."""
        plain = HashChannel(self.shape[1], self.seeds, self.count, 0.0, float(self.seeds))
        return plain.matvec(self._support_inverse.T @ c)

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exact over the pool where that costs at most 5e10 multiplications.

        Else over the first seeds of the pool that fit: a relative error of about 1/sqrt(seeds used) of a term that varies little
        from seed to seed.
        """
        size = self.shape[1]
        inverse = self._support_inverse.T
        rows = self.matvec(theta).reshape(self.seeds, self.count, *theta.shape[1:])
        most = max(1, int(_VARIANCE_WORK / (self.count * size**2)))
        total, own, used = np.zeros(theta.shape), np.zeros(size), 0
        for seeds, table in self._tables():
            table = table[: max(0, most - used)]
            if not len(table):
                break
            for bucket in range(self.count):
                hit = (table == bucket).astype(np.float64)
                squares = (hit @ inverse) ** 2
                total += squares.T @ rows[seeds][: len(table), bucket]
                own += ((self.q + self.gap * hit) * squares).sum(axis=0) / self.seeds
            used += len(table)
        return total * (self.seeds / used), own * (self.seeds / used)

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """With probability p - q' a report is a random seed and the value's own bucket, else a random seed and bucket."""
        own = rng.binomial(people, self.gap)
        cells = self.shape[0]
        total = rng.multinomial(int(people.sum() - own.sum()), np.full(cells, 1 / cells)).reshape(
            self.seeds, self.count
        )
        every, even = np.arange(self.seeds), np.full(self.seeds, 1 / self.seeds)
        for x in np.flatnonzero(own):
            total[every, buckets(every, np.array(x), self.count)] += rng.multinomial(own[x], even)
        return total.ravel() / people.sum()

    def supports(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """Support counts through the pool's own collisions: Pr(report supports x | x') = q' + (p - q') M[x, x']."""
        size, shares = self.shape[1], self._gather(w)
        supported = self.q + self.gap * _collisions(self.seeds, self.count, size)
        return DenseChannel(
            np.concatenate([supported, 1 - supported]) / size, rows_per_report=size
        ), np.concatenate([shares, 1 - shares]) / size

    def shares(self, w: np.ndarray) -> np.ndarray:
        """S (K,): the share of reports that support each value."""
        return self._gather(w)

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        return normalized(self._gather(w))

    def restrict_to_observed(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """The rows that were seen, as packed bits: an eighth of a byte per value and row, hashed once."""
        rows = np.flatnonzero(w)
        packed = np.empty((rows.size, -(-self.shape[1] // 8)), dtype=np.uint8)
        for seeds, table in self._tables():
            first, last = np.searchsorted(rows, (seeds.start * self.count, seeds.stop * self.count))
            seed, bucket = np.divmod(rows[first:last], self.count)
            packed[first:last] = np.packbits(table[seed - seeds.start] == bucket[:, None], axis=1)
        return SupportRows(packed, self.shape[1], self.q / self.seeds, self.gap / self.seeds), w[
            rows
        ]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for seeds, table in self._tables():
            hit = table[:, None, :] == np.arange(self.count)[None, :, None]
            block = (self.q + self.gap * hit) / self.seeds
            yield (
                slice(seeds.start * self.count, seeds.stop * self.count),
                block.reshape(-1, self.shape[1]),
            )


def _hash_block(seeds: slice, count: int, size: int) -> np.ndarray:
    """Buckets of all labels under a range of seeds, hashed in pieces that fit the cache."""
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
def _bucket_table(seeds: int, count: int, size: int) -> np.ndarray:
    return _hash_block(slice(0, seeds), count, size)


def _bucket_tables(seeds: int, count: int, size: int) -> Iterator[tuple[slice, np.ndarray]]:
    """The buckets of all labels, for a block of seeds at a time: (which seeds, (block, K))."""
    step = max(1, _BLOCK // size)
    kept = _bucket_table(seeds, count, size) if seeds * size <= _HASH_CACHE else None
    for start in range(0, seeds, step):
        block = slice(start, min(start + step, seeds))
        yield block, kept[block] if kept is not None else _hash_block(block, count, size)


@lru_cache(maxsize=4)
def _collisions(seeds: int, count: int, size: int) -> np.ndarray:
    """M[x, x']: the share of the pool's seeds under which x and x' fall in one bucket, (K, K).

    [h = h'] is the sum over buckets of [h = b] [h' = b]. Where g is a power of two one product less does: the rows of the
    Hadamard matrix of order g have sum_j H[j, h] H[j, h'] = g [h = h'], the row j = 0 is constant, and H = 1 - 2 c with c
    the parity of j & h. Products of 0/1 matrices in single precision are exact, because a block has fewer than 2**24 rows.
    """
    if size > _LARGEST_COLLISIONS:
        raise ArgumentError(
            message(
                "domain",
                f"the collision matrix of a hash pool is kept for at most {_LARGEST_COLLISIONS} values",
                str(size),
                "Use UnaryEncoding or HadamardResponse for a domain of this size",
            )
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
def _support_inverse(seeds: int, count: int, size: int, q: float, gap: float) -> np.ndarray:
    """The inverse (K, K) of Pr(report supports x | x') = q' + (p - q') M[x, x'].

    M is a Gram matrix, so its rank shows in its eigenvalues; theirs is the same for every epsilon.
    """
    collisions = _collisions(seeds, count, size)
    if np.linalg.eigvalsh(collisions)[0] < 1e-9:
        raise IdentifiabilityError(
            message(
                "seeds",
                "two labels share a bucket under (almost) every seed of the pool",
                str(seeds),
                "Use a larger pool of seeds",
            )
        )
    return np.linalg.inv(q + gap * collisions)
