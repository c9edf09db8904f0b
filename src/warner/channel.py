"""Channels: the law of reports as a linear operator A (m, K), A[y, x] = Pr(report y | value x), columns summing to one.

A channel multiplies (``matvec``: theta -> A theta), transposes (``rmatvec``: r -> A' r), and knows its unbiased inverse
(``invert``) and that inverse's variance. It does not know how it is solved; estimators do. Names follow SciPy's
LinearOperator. Rows are in the order in which a tally's counts are laid out.

The pure family (METHODS 1) has rows const * (1 + (e^eps - 1) b): a value is supported by a report or not. With
p = Pr(support | same value), q = Pr(support | other value) and S_x the share of reports that support x, the unbiased
estimate is (S_x - q) / (p - q), and one report contributes variance mu (1 - mu) / (p - q)^2, mu = q + (p - q) theta_x.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property, lru_cache

import numpy as np

from warner._check import ArgumentError, IdentifiabilityError, message
from warner.hashing import buckets

_BLOCK = 2**21  # elements of a block of rows that are worked on at a time
_CACHED = 2**16  # elements that stay in the processor's cache while they are worked on
_HASH_CACHE = 2**27  # bytes of bucket table that are kept instead of hashed anew
_LARGEST_COLLISIONS = 2**13  # values; the matrix of their collisions has the square of it
_VARIANCE_WORK = 5e10  # multiplications that the exact variance of a pool may cost


class Channel(ABC):
    """A (m, K) operator with an unbiased inverse.

    Attributes:
        shape: (m, K).
        copies: how many rows one report counts for: 1, except where a report is taken as several (see SupportChannel).
    """

    shape: tuple[int, int]
    copies: int = 1

    @abstractmethod
    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """A theta: the probability of every report, (K,) -> (m,)."""

    @abstractmethod
    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        """A' r, (m,) -> (K,)."""

    @abstractmethod
    def invert(self, w: np.ndarray) -> np.ndarray:
        """The linear unbiased estimate of theta (K,) from report frequencies w (m,); invert(A theta) = theta."""

    @abstractmethod
    def variance(self, theta: np.ndarray) -> np.ndarray:
        """Variance (K,) of ``invert`` per report, for users drawn independently from theta; divide by n."""

    @abstractmethod
    def observed(self, w: np.ndarray) -> np.ndarray:
        """The report histogram itself as a distribution (K,) over values, with no correction at all."""

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        """Variance (K,) per report of the inverse at each value if its true share were 0 and theta (K,) held for the rest.

        With L the inverse's weights: (sum_y L[x, y]^2 (A theta - theta_x A_x)_y) / (1 - theta_x).
        """
        total, own = self._moments(theta)
        rest = 1 - theta
        return np.where(rest > 0, (total - theta * own) / np.where(rest > 0, rest, 1.0), total)

    def _moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_y L[x, y]^2 (A theta)_y and sum_y L[x, y]^2 A[y, x], each (K,); needed where null_variance has no formula."""
        raise NotImplementedError

    def dense(self) -> np.ndarray:
        """A as an array (m, K)."""
        return np.stack([self.matvec(column) for column in np.eye(self.shape[1])], axis=1)

    def gram(self, v: np.ndarray) -> np.ndarray:
        """A' diag(v) A, (K, K)."""
        total = np.zeros((self.shape[1],) * 2)
        for rows, block in self.blocks():
            total += (block * v[rows, None]).T @ block
        return total

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """A in blocks of rows: (which rows, array)."""
        yield slice(0, self.shape[0]), self._dense

    @cached_property
    def _dense(self) -> np.ndarray:
        return self.dense()


def _pure_variance(theta: np.ndarray, q: float, gap: float) -> np.ndarray:
    mu = q + gap * np.clip(theta, 0.0, 1.0)
    return mu * (1 - mu) / gap**2


class DirectChannel(Channel):
    """Reports are values: A = q + (p - q) I. ``gap`` is p - q, passed itself because the difference cancels digits."""

    def __init__(self, size: int, q: float, gap: float) -> None:
        self.shape = (size, size)
        self.q, self.gap = q, gap

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.q * theta.sum() + self.gap * theta

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.matvec(r)

    def invert(self, w: np.ndarray) -> np.ndarray:
        return (w - self.q) / self.gap

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return _pure_variance(theta, self.q, self.gap)

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        return self.variance(np.zeros_like(theta))

    def observed(self, w: np.ndarray) -> np.ndarray:
        return w.copy()


class SupportChannel(Channel):
    """Reports known only by how many of them support each value (bit sums): 2K rows, [P; 1 - P] / K, P = q + (p - q) I.

    One report is K binary ones, "supports x: yes or no", and a tally of bit sums is their histogram: w = [S; n - S] / (nK).
    The likelihood of these rows is the quasi-likelihood of METHODS 5, sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), divided
    by nK; ``copies`` = K turns it back to nats per report.
    """

    def __init__(self, size: int, q: float, gap: float) -> None:
        self.shape = (2 * size, size)
        self.copies = size
        self.q, self.gap = q, gap

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        total = theta.sum()
        mu = self.q * total + self.gap * theta
        return np.concatenate([mu, total - mu]) / self.copies

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        yes, no = r[: self.copies], r[self.copies :]
        return (self.q * yes.sum() + (1 - self.q) * no.sum() + self.gap * (yes - no)) / self.copies

    def invert(self, w: np.ndarray) -> np.ndarray:
        return (w[: self.copies] * self.copies - self.q) / self.gap

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return _pure_variance(theta, self.q, self.gap)

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        return self.variance(np.zeros_like(theta))

    def observed(self, w: np.ndarray) -> np.ndarray:
        return w[: self.copies] / w[: self.copies].sum()


class HadamardChannel(Channel):
    """Report y in 0..B-1 supports x where row x + 1 of the Hadamard matrix of order B has +1 at y: Pr = 2p/B, else 2(1-p)/B.

    So A = (1 + c H) / B with the contrast c = 2p - 1, and both products are one fast Walsh-Hadamard transform.
    """

    def __init__(self, size: int, order: int, contrast: float) -> None:
        self.shape = (order, size)
        self.contrast = contrast

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        order, size = self.shape
        spread = np.zeros(order)
        spread[1 : size + 1] = theta
        return (theta.sum() + self.contrast * walsh(spread)) / order

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        order, size = self.shape
        return (r.sum() + self.contrast * walsh(r)[1 : size + 1]) / order

    def _supports(self, w: np.ndarray) -> np.ndarray:
        return (w.sum() + walsh(w)[1 : self.shape[1] + 1]) / 2

    def invert(self, w: np.ndarray) -> np.ndarray:
        return (self._supports(w) - 0.5) / (self.contrast / 2)

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return _pure_variance(theta, 0.5, self.contrast / 2)

    def null_variance(self, theta: np.ndarray) -> np.ndarray:
        return self.variance(np.zeros_like(theta))

    def observed(self, w: np.ndarray) -> np.ndarray:
        supports = self._supports(w)
        return supports / supports.sum()


def walsh(values: np.ndarray) -> np.ndarray:
    """The Walsh-Hadamard transform of (B,), B a power of two: sum_y (-1)^popcount(x & y) values_y, in B log B.

    >>> walsh(np.array([1.0, 0.0, 0.0, 2.0])).tolist()
    [3.0, -1.0, -1.0, 3.0]
    """
    out = np.array(values, dtype=np.float64)
    half = 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return out


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

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        sums = np.empty((self.seeds, self.count))
        for seeds, table in self._tables():
            rows = len(table)
            flat = table + (np.arange(rows, dtype=np.int64) * self.count)[:, None]
            weights = np.broadcast_to(theta, table.shape)
            sums[seeds] = np.bincount(flat.ravel(), weights.ravel(), rows * self.count).reshape(rows, self.count)
        return ((self.q * theta.sum() + self.gap * sums) / self.seeds).ravel()

    def _gather(self, r: np.ndarray) -> np.ndarray:
        """sum_s r[s, h_s(x)] for every x."""
        total = np.zeros(self.shape[1])
        step = max(1, _CACHED // self.shape[1])
        for seeds, table in self._tables():
            for start in range(0, len(table), step):
                rows = table[start : start + step]
                flat = rows + (np.arange(seeds.start + start, seeds.start + start + len(rows), dtype=np.int64) * self.count)[:, None]
                total += np.take(r, flat).sum(axis=0)
        return total

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return (self.q * r.sum() + self.gap * self._gather(r)) / self.seeds

    @property
    def _inverse(self) -> np.ndarray:
        return _support_inverse(self.seeds, self.count, self.shape[1], self.q, self.gap)

    def invert(self, w: np.ndarray) -> np.ndarray:
        return self._inverse @ self._gather(w)

    def variance(self, theta: np.ndarray) -> np.ndarray:
        """Exact over the pool, sum_y Pr(y) L[x, y]^2 - theta_x^2 with L the inverse's weights of a report.

        Where that costs more than 5e10 multiplications, over the first seeds of the pool that fit: a relative error of
        about 1/sqrt(seeds used) of a term that varies little from seed to seed.
        """
        return np.maximum(self._moments(theta)[0] - theta**2, 0.0)

    def _moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = self.shape[1]
        rows = self.matvec(theta).reshape(self.seeds, self.count)
        most = max(1, int(_VARIANCE_WORK / (self.count * size**2)))
        total, own, used = np.zeros(size), np.zeros(size), 0
        for seeds, table in self._tables():
            table = table[: max(0, most - used)]
            if not len(table):
                break
            for bucket in range(self.count):
                hit = (table == bucket).astype(np.float64)
                squares = (hit @ self._inverse.T) ** 2
                total += rows[seeds][: len(table), bucket] @ squares
                own += ((self.q + self.gap * hit) * squares).sum(axis=0) / self.seeds
            used += len(table)
        return total * (self.seeds / used), own * (self.seeds / used)

    def observed(self, w: np.ndarray) -> np.ndarray:
        supports = self._gather(w)
        return supports / supports.sum()

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for seeds, table in self._tables():
            hit = table[:, None, :] == np.arange(self.count)[None, :, None]
            block = (self.q + self.gap * hit) / self.seeds
            yield slice(seeds.start * self.count, seeds.stop * self.count), block.reshape(-1, self.shape[1])


def _hash_block(seeds: slice, count: int, size: int) -> np.ndarray:
    """Buckets of all labels under a range of seeds, hashed in pieces that fit the cache."""
    table = np.empty((seeds.stop - seeds.start, size), dtype=np.min_scalar_type(count - 1))
    step = max(1, _CACHED // size)
    index = np.arange(size)[None, :]
    for start in range(0, len(table), step):
        rows = table[start : start + step]
        rows[:] = buckets(np.arange(seeds.start + start, seeds.start + start + len(rows))[:, None], index, count)
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
            message("seeds", "two labels share a bucket under (almost) every seed of the pool", str(seeds), "Use a larger pool of seeds")
        )
    return np.linalg.inv(q + gap * collisions)


class DenseChannel(Channel):
    """Any matrix A (m, K) with columns that sum to one."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = np.array(matrix, dtype=np.float64)
        if self.matrix.ndim != 2 or not self.matrix.size:
            raise ArgumentError(message("matrix", "must have shape (reports, values)", str(self.matrix.shape)))
        if not (np.isfinite(self.matrix).all() and (self.matrix >= 0).all() and np.allclose(self.matrix.sum(axis=0), 1, rtol=0, atol=1e-9)):
            raise ArgumentError(message("matrix", "must have entries >= 0 and columns that sum to 1"))
        self.shape = self.matrix.shape

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.matrix @ theta

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.matrix.T @ r

    def dense(self) -> np.ndarray:
        return self.matrix.copy()

    @cached_property
    def _inverse(self) -> np.ndarray:
        """A left inverse (K, m): weighted least squares with the weights that are right at the uniform distribution."""
        spread = self.matrix.mean(axis=1)
        rows = spread > 0
        scaled = self.matrix[rows] / np.sqrt(spread[rows, None])
        if np.linalg.matrix_rank(scaled) < self.shape[1]:
            raise IdentifiabilityError(
                message(
                    "channel",
                    f"has rank below the number of values, {self.shape[1]}: different distributions make the same reports",
                    None,
                    "Use a mechanism whose channel has full column rank, or a method that does not invert it",
                )
            )
        inverse = np.zeros(self.shape[::-1])
        inverse[:, rows] = np.linalg.pinv(scaled) / np.sqrt(spread[rows])
        return inverse

    def invert(self, w: np.ndarray) -> np.ndarray:
        return self._inverse @ w

    def variance(self, theta: np.ndarray) -> np.ndarray:
        return np.maximum(self._moments(theta)[0] - theta**2, 0.0)

    def _moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        squares = self._inverse**2
        return squares @ self.matvec(theta), (squares * self.matrix.T).sum(axis=1)

    def observed(self, w: np.ndarray) -> np.ndarray:
        if self.shape[0] != self.shape[1]:
            raise ArgumentError(
                message("observed", "needs as many reports as values", f"{self.shape[0]} reports and {self.shape[1]} values", "Use another method")
            )
        return w.copy()
