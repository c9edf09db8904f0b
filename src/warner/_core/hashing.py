"""Hash functions of local hashing: a family that mixes bits, and one over a prime field.

The mixed family, version 1, is in 32-bit arithmetic as browsers have it.

    key(s)    = mix(s * 0x9E3779B1 + 0x7F4A7C15)
    h_s(x)    = ((mix(key(s) ^ (x * 0x85EBCA77)) >> 16) * g) >> 16        in 0..g-1

All products are modulo 2^32, and ``mix`` is Wellons' lowbias32 finaliser. The last line maps the
upper 16 bits to g buckets by a multiplication, which is exact in JavaScript's numbers. Buckets need
not be equally likely over seeds, because estimation uses the collision matrix of the actual seeds
(METHODS 1). Known answers: tests/parity/_core/hash_vectors.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from warner._core.progress import stage
from warner._core.projective_space import is_prime

MIXED_FAMILY = 1
LARGEST_BUCKETS = 2**16 - 1

_STEP, _OFFSET, _SPREAD = np.uint32(0x9E3779B1), np.uint32(0x7F4A7C15), np.uint32(0x85EBCA77)
_M1, _M2 = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_15, _16 = np.uint32(15), np.uint32(16)


def _mix(h: np.ndarray) -> np.ndarray:
    """The lowbias32 finaliser of 32-bit words, in place."""
    h ^= h >> _16
    h *= _M1
    h ^= h >> _15
    h *= _M2
    h ^= h >> _16
    return h


def buckets(seeds: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Return the buckets h_s(x) for s = ``seeds``, x = ``index`` and g = ``count``."""
    key = _mix(seeds.astype(np.uint32) * _STEP + _OFFSET)
    h = _mix(key ^ (index.astype(np.uint32) * _SPREAD))
    h >>= _16
    h *= np.uint32(count)
    h >>= _16
    return h


# -----------------------------------------------------------------------------------------------
# Hash functions over a prime field, whose collisions are exactly alike for all pairs of values.
#
#     h(x) = ((a x^3 + b) mod p) mod g,   a uniform in 1..p-1,   b uniform in 0..p-1
#
# p is a prime that is not 1 modulo 3, at least the number of values. Then x -> x^3 is one to one,
# and (a, b) -> (a y + b, a z + b) is one to one from these pairs to the pairs of different
# residues. So two values have every pair of different residues equally often, and the same bucket
# with probability
#
#     c = sum_j c_j (c_j - 1) / (p (p - 1))
#
# c_j is the number of residues in bucket j. With r = p mod g, c <= 1/g is r (g - r) <= (g - 1) p.
# It holds because r <= p and g - r <= g - 1. So c never exceeds that of independent buckets.
#
# a = 0 would put all values into one bucket, and such a report tells nothing. Where a > 0 a bucket
# holds a nearly fixed number of values, so sums over many values vary less: their share in the
# lower half of a domain has about half the variance. The cube matters for values in order. Without
# it, the values of a bucket are an arithmetic progression, which is long or short or all on one
# side. Sums of cubes over progressions are at most 2 sqrt(p) (Weil), so each bucket is spread over
# every range.


FIELD_FAMILY = 2
_SECONDS = 3.5e-8  # of one of the p sqrt(n) steps of counting supports
_TERMS = 2**15  # members of progressions that are formed at a time, in the processor's cache


def suits(prime: int) -> bool:
    """Whether a number is a prime over which x -> x^3 is one to one.

    >>> [n for n in range(20) if suits(n)]
    [2, 3, 5, 11, 17]
    """
    return prime % 3 != 1 and is_prime(prime)


def next_suitable(number: int) -> int:
    """The least prime p >= number, at least 2, over which x -> x^3 is one to one.

    >>> next_suitable(12)
    17
    """
    number = max(number, 2)
    while not suits(number):
        number += 1
    return number


def _remainder(x: np.ndarray, divisor: int) -> np.ndarray:
    """x modulo a divisor of integers x >= 0: a third of the time of NumPy's remainder.

    The result is unsigned as x is, else int64.
    """
    if np.asarray(x).dtype.kind == "u":
        unit = x.dtype.type(divisor)
        return np.asarray(x - x // unit * unit)
    return _remainder(np.asarray(x, dtype=np.int64).view(np.uint64), divisor).view(np.int64)


@dataclass(frozen=True)
class FieldHash:
    """The hash functions over one field.

    >>> FieldHash(5, 4).collision, FieldHash(11, 4).collision
    (Fraction(1, 10), Fraction(2, 11))
    """

    prime: int  # p, see suits
    buckets: int  # g, at least 2

    @cached_property
    def sizes(self) -> np.ndarray:
        """c_j, the number of residues in each bucket, int64 (g,)."""
        whole, rest = divmod(self.prime, self.buckets)
        return whole + (np.arange(self.buckets) < rest).astype(np.int64)

    @property
    def collision(self) -> Fraction:
        """c, the probability that two values share a bucket."""
        return self._share_a_bucket(2)

    @property
    def triple_collision(self) -> Fraction:
        """The probability that three values share a bucket, averaged over triples of residues."""
        return self._share_a_bucket(3) if self.prime > 2 else Fraction(0)

    def _share_a_bucket(self, values: int) -> Fraction:
        whole, rest = divmod(self.prime, self.buckets)
        both = rest * _falling(whole + 1, values) + (self.buckets - rest) * _falling(whole, values)
        return Fraction(both, _falling(self.prime, values))

    def points(self, index: np.ndarray) -> np.ndarray:
        """x^3 mod p of values x, int64; of the dtype of x if it is unsigned and holds p^2."""
        fits = index.dtype.kind == "u" and np.iinfo(index.dtype).max >= self.prime**2
        x = index if fits else index.astype(np.int64)
        return _remainder(_remainder(x * x, self.prime) * x, self.prime)

    def bucket_of(self, a: np.ndarray, b: np.ndarray, index: np.ndarray) -> np.ndarray:
        """h(x), int64; of one unsigned dtype if all arguments have it and it holds p^2 and g."""
        return _remainder(_remainder(a * self.points(index) + b, self.prime), self.buckets)

    def progression(
        self, a: np.ndarray, b: np.ndarray, bucket: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The residues y of each bucket (n,) as a condition (alpha y + beta) mod p < length."""
        # The bucket z holds z + k g for 0 <= k < c_z. So a y + b = z + k g, and division by g gives
        # k. Where p <= g, k is 0, and there is nothing to divide.
        p = self.prime
        step = pow(self.buckets, -1, p) if p > self.buckets else 1
        a, b, bucket = (np.asarray(v).astype(np.int64) for v in (a, b, bucket))
        return a * step % p, (b - bucket) % p * step % p, self.sizes[bucket]

    @cached_property
    def window_shape(self) -> tuple[int, int, int]:
        """How many alpha up to their sign, lengths and starts the windows of reports have.

        In the order of alpha y mod p, the residues that a report supports are a window of
        ``length`` neighbours from -beta on. Those of -alpha are the windows of alpha in reverse. So
        there are about p^2 different windows among the p (p - 1) g reports.
        """
        return max(self.prime // 2, 1), np.unique(self.sizes).size, self.prime

    @cached_property
    def window_members(self) -> np.ndarray:
        """How many reports (a, b, z) have each window, floats, in C order of ``window_shape``."""
        _, buckets = np.unique(self.sizes, return_counts=True)
        members = buckets.astype(np.float64) * (1 if self.prime == 2 else 2)
        return np.broadcast_to(members[:, None], self.window_shape).ravel()

    def windows(self, a: np.ndarray, b: np.ndarray, bucket: np.ndarray) -> np.ndarray:
        """The window of each of n reports, a number in C order of ``window_shape``.

        >>> FieldHash(5, 4).windows(np.array([1, 4]), np.array([0, 0]), np.array([1, 1])).tolist()
        [1, 4]
        """
        p = self.prime
        alphas, kinds, _ = self.window_shape
        alpha, beta, length = self.progression(a, b, bucket)
        mirrored = alpha > alphas
        # The places t + k of alpha are the places -t - k of -alpha, from -t - length + 1 on.
        start = np.where(mirrored, beta - length + 1, -beta) % p
        row = np.where(mirrored, p - alpha, alpha) - 1
        kind = length - int(self.sizes[-1])  # lengths differ by one, and the last is the least
        return np.asarray((row * kinds + kind) * p + start)

    def support_counts(
        self,
        a: np.ndarray,
        b: np.ndarray,
        bucket: np.ndarray,
        repeats: np.ndarray | None = None,
    ) -> np.ndarray:
        """The number of reports (a, b, z) that support each residue y: (a y + b) mod p mod g = z.

        A report supports an arithmetic progression y_0 + k s modulo p, k = 0..c_z - 1, with
        s = 1 / alpha. Euclid's algorithm finds m and d with m s = d modulo p, d at most D and m
        below p / D. Where m s = -d, the progression is read from its other end. Let f be 1 at the
        progression and D f(y) = f(y) - f(y - d). The terms k and k + m cancel, so D f is 1 at the
        first m members, and -1 at the m terms behind the last member. All reports of one d share a
        table D f, and its sums along the circle of residues give their counts.

        With D about sqrt(n) this takes O(p sqrt(n)) steps, instead of n p for testing every pair of
        a report and a residue.

        Shapes: a, b, bucket (n,), repeats (n,) -> (p,).

        >>> FieldHash(5, 2).support_counts(np.array([1]), np.array([0]), np.array([1])).tolist()
        [0, 1, 0, 1, 0]
        """
        p = self.prime
        total = np.zeros(p, dtype=np.int64)
        alpha, beta, length = self.progression(a, b, bucket)
        some = np.flatnonzero(length)
        if not some.size:
            return total
        alpha, beta, length = alpha[some], beta[some], length[some]
        weight = None if repeats is None else np.asarray(repeats, dtype=np.int64)[some]
        differences = np.zeros(p + _most_apart(some.size), dtype=np.int64)
        start, step, pieces, distance = _progressions(alpha, beta, length, p)
        behind = (start + length * step) % p
        order = np.argsort(distance, kind="stable")
        apart = distance[order]
        edges = np.flatnonzero(np.diff(apart, prepend=-1, append=-1))
        seconds = _SECONDS * p * float(some.size) ** 0.5
        for first, last in _told(edges.tolist(), some.size, seconds):
            group, d = order[first:last], int(apart[first])
            w = None if weight is None else weight[group]
            m = pieces[group]
            if d == 0:
                _add_terms(total, start[group], step[group], m, w, 1)
                continue
            differences[:p] = 0
            _add_terms(differences[:p], start[group], step[group], m, w, 1)
            _add_terms(differences[:p], behind[group], step[group], m, w, -1)
            members = length[group] if w is None else length[group] * w
            _add_sums(total, differences, d, int(members.sum()))
        return total


def _told(edges: list[int], reports: int, seconds: float) -> Iterator[tuple[int, int]]:
    """The groups (first, last) between edges; a listener hears how many reports are counted."""
    with stage("counting supports", reports, seconds) as tell:
        for first, last in pairwise(edges):
            yield first, last
            tell(last)


def _falling(n: int, k: int) -> int:
    """n (n - 1) .. (n - k + 1)."""
    out = 1
    for i in range(k):
        out *= max(n - i, 0)
    return out


def _most_apart(n: int) -> int:
    """D, the most that members of a piece are apart: a piece and a table cost about the same."""
    return max(1, int(n**0.5))


def _progressions(
    alpha: np.ndarray, beta: np.ndarray, length: np.ndarray, p: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The residues y with (alpha y + beta) mod p < length, as y_0 + k s for k < length."""
    step, pieces, distance = _short_vectors(alpha, p, _most_apart(alpha.size))
    start = (p - beta) * step % p
    back = distance < 0
    start = np.where(back, (start + (length - 1) * step) % p, start)
    step = np.where(back, p - step, step)
    listed = pieces >= length
    return start, step, np.where(listed, length, pieces), np.where(listed, 0, np.abs(distance))


def _short_vectors(
    alpha: np.ndarray, p: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The inverse s of each alpha modulo p, and m, d with m s = d modulo p and \\|d\\| <= ``most``.

    Euclid's algorithm on p and alpha keeps r = t alpha modulo p, from r = alpha and t = 1 down to
    r = 1 and t = 1 / alpha. The remainder before the one with the next t is below p / \\|t\\|, so m
    is the last r whose t is at most ``most``.
    """
    r, t = [np.full_like(alpha, p), alpha.copy()], [np.zeros_like(alpha), np.ones_like(alpha)]
    inverse, m, d = np.ones_like(alpha), alpha.copy(), np.ones_like(alpha)
    open_ = np.arange(alpha.size)
    while open_.size:
        short = np.abs(t[1]) <= most
        m[open_[short]], d[open_[short]] = r[1][short], t[1][short]
        done = r[1] == 1
        inverse[open_[done]] = t[1][done]
        going = ~done
        open_ = open_[going]
        (r0, r1), (t0, t1) = [v[going] for v in r], [v[going] for v in t]
        quotient = r0 // r1
        r, t = [r1, r0 - quotient * r1], [t1, t0 - quotient * t1]
    return inverse % p, m, d


def _add_terms(
    total: np.ndarray,
    start: np.ndarray,
    step: np.ndarray,
    terms: np.ndarray,
    weight: np.ndarray | None,
    sign: int,
) -> None:
    """Add ``sign``, times the weight (n,), to total (p,) at start + i step mod p, i < terms."""
    p = total.size
    ends = np.cumsum(terms)
    first = 0
    while first < ends.size:
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + _TERMS, side="right")))
        rows = slice(first, last)
        report = np.repeat(np.arange(first, last), terms[rows])
        i = np.arange(done, done + report.size) - (ends - terms)[report]
        at = i * step[report]
        at -= at // p * p  # a division by one number is faster than a remainder
        at += start[report]
        at = np.where(at < p, at, at - p)
        np.add.at(total, at, sign if weight is None else sign * weight[report])
        first = last


def _add_sums(total: np.ndarray, differences: np.ndarray, d: int, members: int) -> None:
    """Add f with f(y) - f(y - d) = differences(y) around the circle, and sum f = ``members``.

    The first p of ``differences`` are read, and all of it is overwritten.

    Residues that are equal modulo d form a column, along which f is a sum. The column behind it on
    the circle starts at its last entry plus d, less p.
    """
    p = total.size
    rows = -(-p // d)
    differences[p : rows * d] = 0
    sums = differences[: rows * d].reshape(rows, d)
    np.cumsum(sums, axis=0, out=sums)
    ends = sums[-1].copy()
    follows = _columns(p, d)
    before = np.zeros(d, dtype=np.int64)
    before[follows[1:]] = np.cumsum(ends[follows[:-1]])
    sums += before
    flat = differences[:p]
    level, rest = divmod(members - int(flat.sum()), p)
    assert rest == 0
    total += flat
    total += level


@lru_cache(maxsize=4096)
def _columns(p: int, d: int) -> np.ndarray:
    """The columns 0..d-1 in the order of the circle, from column 0."""
    columns = np.empty(d, dtype=np.int64)
    column = 0
    for k in range(d):
        columns[k] = column
        column = (column - p) % d
    return columns
