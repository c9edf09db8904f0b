"""Local hashing: a public hash maps K values to g buckets, and the bucket is randomised."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

import numpy as np

from warner._core.checks import integer, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.exact import exp
from warner._core.hashing import (
    FIELD_FAMILY,
    LARGEST_BUCKETS,
    MIXED_FAMILY,
    FieldHash,
    buckets,
    next_suitable,
    suits,
)
from warner._core.sampling import Source
from warner.channels import (
    Channel,
    HashChannel,
    HashedReports,
    HashedRows,
    HashSupportChannel,
    LikelihoodOperator,
    WindowChannel,
)
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import number, program
from warner.mechanisms.direct import direct_law, direct_sample, direct_widths
from warner.privacy.report_laws import TwoProbabilities
from warner.reports.counting import unique_rows
from warner.reports.rules import smallest_dtype
from warner.reports.schema import IntegerColumns, SupportCounts, WindowCounts

_LARGEST_TABLE = 2**26  # counts of a tally, seeds * buckets
# Counts of a tally of whole reports, up to which it is the default: 8 MB. It reaches 1000 values.
# Beyond, whole reports say hardly more than the support counts, and estimates take longer.
_LARGEST_WINDOWS = 2**20
_MOST_WINDOWS = 2**24  # counts that can be asked for
_LARGEST_PRIME = 2**27  # the products of two residues stay below 2^63


class LocalHashing(Mechanism):
    """Local hashing (OLH, BLH): reports a random hash function and the value's randomised bucket.

        Pr(bucket z | function h, value x) = e / (e + g - 1) if z = h(x), else 1 / (e + g - 1)
        e = exp(epsilon)

    The public hash functions map the K values to g buckets. By default they are those over a prime
    field,

        h(x) = ((a x^3 + b) mod p) mod g,   a uniform in 1..p-1,   b uniform in 0..p-1

    whose collisions are exactly alike for every two values: their probability is
    c = sum_j c_j (c_j - 1) / (p (p - 1)), with c_j the residues in bucket j, and c <= 1 / g. So the
    share of the reports that support x has the exact mean q + (own - q) theta_x with

        own = e / (e + g - 1),   other = 1 / (e + g - 1),   q = other + (own - other) c

    and no matrix of collisions is needed. A report is a - 1, b and z.

    OLH of the paper has q = 1 / g. With few values c is less, and so is the error: at epsilon 1 the
    expected squared error of the unbiased shares is 0.63 times the paper's with 4 values, 0.80
    times with 10 and 0.97 times with 100. A large ``prime``, such as 4001, has the error of the
    paper. g is rounded up, where others round to the nearest: see ``buckets``.

    Args:
        domain: K values.
        epsilon: budget in nats.
        buckets: g; None for the optimised ceil(e + 1) (OLH); 2 is binary local hashing (BLH).
        seeds: None for the functions over a field. A number for a public pool of so many hash
            functions, from which one is drawn uniformly; a report is then a seed and a bucket, and
            estimates use the collisions of the pool, a matrix (K, K).
        prime: p, at least K and not 1 modulo 3; None for the smallest one.
        whole_reports: whether a tally counts whole reports, which say the most: about p^2 counts,
            for reports that support the same values are counted together. Otherwise it has K
            counts, of the reports that support each value. None for whole reports up to 2^20
            counts, which is up to 1000 values.

    Attributes:
        buckets: g.
        seeds: the size of the pool; None for functions over a field.
        prime: p; None for a pool.
        whole_reports: whether a tally counts whole reports.

    Raises:
        ArgumentError: an argument out of range, or a number that is not a prime; a prime together
            with seeds.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Wang et al. (2017); [P3 sec II]. Carter and Wegman (1979) for hashing over a field;
    METHODS 1.

    >>> from warner import Integers
    >>> olh = LocalHashing(Integers(0, 999), 1.0)
    >>> olh.buckets, olh.prime, sorted(olh.randomize([5, 7]).columns)
    (4, 1013, ['bucket', 'multiplier', 'shift'])
    """

    references = ("wang2017", "carter1979", "P3")

    schema: IntegerColumns
    law: TwoProbabilities

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        buckets: int | None = None,
        seeds: int | None = None,
        prime: int | None = None,
        whole_reports: bool | None = None,
    ) -> None:
        super().__init__(domain, epsilon)
        if buckets is None:
            buckets = min(math.ceil(exp(self.requested) + 1), LARGEST_BUCKETS)
        self.buckets = integer("buckets", buckets, 2, LARGEST_BUCKETS)
        self._true_width, self._other_width = direct_widths(self.buckets, self.requested)
        self.law = direct_law(self.buckets, self._true_width, self._other_width)
        self._functions: _Functions
        if seeds is None:
            self._functions = _FieldFunctions.of(domain.size, self.buckets, prime, whole_reports)
        else:
            for name, value in (("prime", prime), ("whole_reports", whole_reports)):
                if value is not None:
                    rule = "cannot be used with the argument seeds"
                    raise ArgumentError(name, rule, show(value), f"Leave out {name} or seeds")
            self._functions = _Pool(domain.size, self.buckets, seeds)
        self.seeds, self.prime = self._functions.seeds, self._functions.prime
        self.schema = self._functions.schema
        self.whole_reports = self.schema.rows_are_reports
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"buckets": self.buckets, **self._functions.parameters()}

    def thresholds(self) -> dict[str, str]:
        return {
            "own": hex(self._true_width),
            "other": hex(self._other_width),
            "hash_family": str(self._functions.family),
        }

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        columns, bucket = self._functions.draw(index, source)
        reported = direct_sample(bucket, self.buckets, self._true_width, self._other_width, source)
        return {**columns, "bucket": reported}

    def _program(self) -> dict[str, Any]:
        widths = {"own": number(self._true_width), "other": number(self._other_width)}
        choice = {"prime": self.prime} if self.seeds is None else {"seeds": self.seeds}
        functions = {"family": self._functions.family, **choice}
        fields = {"size": self.domain.size, "buckets": self.buckets, **widths, **functions}
        return program("hash", fields)

    def channel(self) -> Channel:
        return self._functions.channel(float(self.law.low), float(self.law.high - self.law.low))

    def report_channel(self, rows: np.ndarray) -> LikelihoodOperator:
        if self.whole_reports:
            return super().report_channel(rows)
        schema = cast(SupportCounts, self.schema)
        low, gap = float(self.law.low), float(self.law.high - self.law.low)
        law = HashedReports(self.domain.size, schema.hashes, low, gap)
        return HashedRows(law, *schema.parts(schema.unpack(rows)))

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        if self.whole_reports:
            return super().channel_of_reports(columns)
        different, row = unique_rows(cast(SupportCounts, self.schema).pack(columns))
        return self.report_channel(different), row

    def probabilities(self) -> np.ndarray:
        columns = {name: column.astype(np.int64) for name, column in self.outputs().items()}
        hit = self._functions.supported(columns)
        functions = self._functions.number
        return TwoProbabilities(self.law.high / functions, self.law.low / functions).table(hit)


class _Functions(ABC):
    """The public hash functions that reports choose from."""

    family: int  # the number of the family in headers
    number: int  # how many functions there are
    schema: IntegerColumns  # the columns of a report; the last one is the bucket
    # ``seeds`` and ``prime``: see :class:`LocalHashing`
    seeds: int | None = None
    prime: int | None = None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments that choose these functions."""

    @abstractmethod
    def draw(self, index: np.ndarray, source: Source) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """A random function for each of n values: its columns, and the value's bucket (n,)."""

    @abstractmethod
    def channel(self, q: float, gap: float) -> Channel:
        """The channel, with q' = Pr(a wrong bucket) and gap = Pr(the right one) - q'."""

    @abstractmethod
    def supported(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Whether reports (m,) have the bucket of each value, (m, K)."""


class _Pool(_Functions):
    """A pool of hash functions, numbered by seeds."""

    family = MIXED_FAMILY

    def __init__(self, size: int, count: int, seeds: int) -> None:
        most = _LARGEST_TABLE // count
        self._size, self._buckets = size, count
        self.number = integer("seeds", seeds, 1, most)
        self.seeds = self.number
        self.schema = IntegerColumns(("seed", "bucket"), (self.number, count))

    def parameters(self) -> dict[str, Any]:
        return {"seeds": self.number}

    def draw(self, index: np.ndarray, source: Source) -> tuple[dict[str, np.ndarray], np.ndarray]:
        seed = source.uniform(self.number, len(index), np.uint32)
        return {"seed": seed}, buckets(seed, index, self._buckets)

    def channel(self, q: float, gap: float) -> Channel:
        return HashChannel(self._size, self.number, self._buckets, q, gap)

    def supported(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        supports = buckets(columns["seed"][:, None], np.arange(self._size)[None, :], self._buckets)
        return np.asarray(supports == columns["bucket"][:, None])


class _FieldFunctions(_Functions):
    """All functions over a prime field."""

    family = FIELD_FAMILY

    def __init__(self, size: int, hashes: FieldHash, whole_reports: bool) -> None:
        self._size, self._hashes = size, hashes
        self.prime = hashes.prime
        self.number = hashes.prime * (hashes.prime - 1)
        self._whole = whole_reports
        self.schema = (WindowCounts if whole_reports else SupportCounts).of(hashes, size)

    @classmethod
    def of(
        cls, size: int, count: int, prime: int | None, whole_reports: bool | None
    ) -> _FieldFunctions:
        """The functions for K values and g buckets; None for the defaults."""
        p = next_suitable(size) if prime is None else _checked_prime(prime, size)
        hashes = FieldHash(p, count)
        counts = math.prod(hashes.window_shape)
        if whole_reports is None:
            whole = counts <= _LARGEST_WINDOWS
        else:
            whole = whole_reports
            if not isinstance(whole, bool):
                rule = "must be True, False or None"
                raise ArgumentTypeError("whole_reports", rule, kind(whole))
        if whole and counts > _MOST_WINDOWS:
            rule = f"would need {counts} counts in a tally, which has at most {_MOST_WINDOWS}"
            remedy = "Leave out the argument whole_reports, and tally with keep_reports=True"
            raise ArgumentError("whole_reports", rule, f"{size} values", remedy)
        return cls(size, hashes, whole)

    def parameters(self) -> dict[str, Any]:
        return {"prime": self.prime, "whole_reports": self._whole}

    def draw(self, index: np.ndarray, source: Source) -> tuple[dict[str, np.ndarray], np.ndarray]:
        p = self._hashes.prime
        dtype = smallest_dtype(max(p**2, self._hashes.buckets + 1))  # holds a x^3 + b and g
        multiplier = source.uniform(p - 1, len(index), dtype)
        shift = source.uniform(p, len(index), dtype)
        bucket = self._hashes.bucket_of(multiplier + dtype.type(1), shift, index.astype(dtype))
        return {"multiplier": multiplier, "shift": shift}, bucket

    def channel(self, q: float, gap: float) -> Channel:
        law = HashedReports(self._size, self._hashes, q, gap)
        return WindowChannel(law) if self._whole else HashSupportChannel(law)

    def supported(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        supports = self._hashes.bucket_of(
            columns["multiplier"][:, None] + 1,
            columns["shift"][:, None],
            np.arange(self._size)[None, :],
        )
        return np.asarray(supports == columns["bucket"][:, None])


def prime_of_whole_reports(size: int, buckets: int) -> int | None:
    """The prime whose functions are most like random ones with whole reports kept; else None."""
    primes = filter(suits, range(max(size, 2), 2 * math.isqrt(_LARGEST_WINDOWS)))
    fields = (FieldHash(prime, buckets) for prime in primes)
    suited = [each for each in fields if math.prod(each.window_shape) <= _LARGEST_WINDOWS]
    nearest = min(suited, key=lambda each: abs(each.collision - Fraction(1, buckets)), default=None)
    return None if nearest is None else nearest.prime


def _checked_prime(prime: int, size: int) -> int:
    number = integer("prime", prime, 2, _LARGEST_PRIME)
    if number < size or not suits(number):
        rule = f"must be a prime number of at least {size} where prime % 3 is not 1"
        remedy = f"Pass {next_suitable(max(number, size))}, for example"
        raise ArgumentError("prime", rule, show(number), remedy)
    return number
