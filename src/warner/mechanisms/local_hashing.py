"""Local hashing: a public hash maps K values to g buckets, and the bucket is randomised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.exact import exp
from warner._core.hash_family import FAMILY, LARGEST_BUCKETS, buckets
from warner._core.sampling import Source
from warner.channels import HashChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.direct import direct_law, direct_sample, direct_widths
from warner.privacy.report_laws import TwoLevel
from warner.reports.schema import IntegerColumns

_LARGEST_TABLE = 2**26  # counts of a tally, seeds * buckets


class LocalHashing(Mechanism):
    """Local hashing (OLH, BLH): reports a random seed and the randomised bucket of the value.

        Pr(bucket b | seed s, value x) = e / (e + g - 1) if b = h_s(x), else 1 / (e + g - 1)
        e = exp(epsilon)

    The public hash function h_s maps the K values to g buckets.

    Args:
        domain: K values.
        epsilon: budget in nats.
        buckets: g; None for the optimised ceil(e + 1) (OLH); 2 is binary local hashing (BLH).
        seeds: the size of the public pool from which s is drawn uniformly. None for the smaller of
            2**16 and 2**26 // g. A tally is a table of seeds x g counts, which does not grow with
            the number of reports. Estimation uses the collisions of the pool, so a small pool is
            unbiased too.

    Raises:
        ArgumentError: buckets or seeds out of range.
        BudgetError: epsilon not positive, NaN, or outside the range of 64-bit sampling.

    Source: Wang et al. (2017); [P3 sec II].

    >>> from warner import Integers
    >>> olh = LocalHashing(Integers(0, 999), 1.0, seeds=256)
    >>> olh.buckets, sorted(olh.randomize([5, 7]).columns)
    (4, ['bucket', 'seed'])
    """

    schema: IntegerColumns
    law: TwoLevel

    def __init__(
        self, domain: Domain, epsilon: float, buckets: int | None = None, seeds: int | None = None
    ) -> None:
        super().__init__(domain, epsilon)
        if buckets is None:
            buckets = min(math.ceil(exp(self.requested) + 1), LARGEST_BUCKETS)
        self.buckets = integer("buckets", buckets, 2, LARGEST_BUCKETS)
        if seeds is None:
            seeds = min(2**16, _LARGEST_TABLE // self.buckets)
        self.seeds = integer(
            "seeds",
            seeds,
            1,
            _LARGEST_TABLE // self.buckets,
            "The tally has seeds * buckets counts",
        )
        self._true_width, self._other_width = direct_widths(self.buckets, self.requested)
        self.schema = IntegerColumns(("seed", "bucket"), (self.seeds, self.buckets))
        self.law = direct_law(self.buckets, self._true_width, self._other_width)
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {"buckets": self.buckets, "seeds": self.seeds}

    def thresholds(self) -> dict[str, str]:
        return {
            "own": hex(self._true_width),
            "other": hex(self._other_width),
            "hash_family": str(FAMILY),
        }

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        seed = source.uniform(self.seeds, len(index))
        bucket = buckets(seed, index, self.buckets).astype(np.int64)
        return {
            "seed": seed,
            "bucket": direct_sample(
                bucket, self.buckets, self._true_width, self._other_width, source
            ),
        }

    def channel(self) -> HashChannel:
        return HashChannel(
            self.domain.size,
            self.seeds,
            self.buckets,
            float(self.law.low),
            float(self.law.high - self.law.low),
        )

    def probabilities(self) -> np.ndarray:
        columns = self.outputs()
        hit = (
            buckets(
                columns["seed"][:, None].astype(np.int64),
                np.arange(self.domain.size)[None, :],
                self.buckets,
            )
            == columns["bucket"][:, None]
        )
        return TwoLevel(self.law.high / self.seeds, self.law.low / self.seeds).table(hit)
