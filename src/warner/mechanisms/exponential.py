"""The exponential mechanism: reports are values, the likelier the nearer."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    message,
)
from warner._core.exact import exp, natural, share_of
from warner._core.sampling import Edges, Source
from warner.channels import DenseChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.privacy.guarantees import MetricLDP
from warner.privacy.likelihood_ratios import (
    ROUNDING,
    euclidean_distances,
    floats,
    fractions,
)
from warner.privacy.report_laws import Table
from warner.reports.schema import (
    IntegerColumns,
    smallest_dtype,
)

_DISTANCES = 2**16  # each is an exponential in decimal arithmetic
_CLOSE = 1e-9  # nats: closer values would need more digits than are of use
_MOST = 1024  # values: the law is a table of K x K exact integers
_LARGEST = 1200.0  # nats across the domain; probabilities must be floats for estimation


class Exponential(Mechanism):
    """Exponential mechanism on values with coordinates: metric privacy at Euclidean distance, by a law that is nobody's tail.

        Pr(z | x) = exp(-epsilon d(x, z) / 2) / sum_z' exp(-epsilon d(x, z') / 2)

    It is not tight: half of epsilon pays for the numerator and the denominators need less than the other half. ``epsilon`` is the exact
    one, ``requested`` what was asked (4 x 4 cells at 0.5: 0.377).

    Args:
        domain: Integers, Grid or Points, up to 1024 values at 2^16 different distances.
        epsilon: nats per unit of distance, at most.

    Raises:
        ArgumentTypeError: values without coordinates.
        BudgetError: more than 1200 nats across the domain, or values next to nothing apart.

    Source: McSherry, Talwar (2007); [P4 sec IX-C].

    >>> from warner import Grid
    >>> round(Exponential(Grid(4, 4), 0.5).epsilon, 3)
    0.377
    """

    law: Table
    schema: IntegerColumns
    distance_unit = 1.0

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        if not domain.dimension or domain.is_binned:
            raise ArgumentTypeError(
                message(
                    "domain",
                    "must have coordinates: Integers, Grid or Points",
                    type(domain).__name__,
                    "For labels use RandomizedResponse",
                )
            )
        integer("number of values", domain.size, 2, _MOST, "Use Geometric or PlanarGeometric")
        points = domain.points
        assert points is not None
        self._distance = euclidean_distances(points)
        if self.requested * self._distance.max() > _LARGEST:
            raise BudgetError(
                message(
                    "epsilon",
                    f"is too large: across this domain it must be at most {_LARGEST:g} nats, here epsilon {_LARGEST / self._distance.max():.4g}",
                    repr(self.requested),
                    "Pass a smaller epsilon",
                )
            )
        numerators, self.words = self._integers()
        self.law = Table(numerators)
        self.schema = IntegerColumns(("report",), (domain.size,))

    def _integers(self) -> tuple[np.ndarray, int]:
        """The law as integers over 2**(64 words), by decimal arithmetic, which is the same on every machine; each value takes its rounding."""
        known, place = np.unique(self._distance, return_inverse=True)
        place = place.reshape(self._distance.shape)
        if known.size > _DISTANCES:
            raise ArgumentError(
                message(
                    "domain",
                    f"must have at most {_DISTANCES} different distances",
                    str(known.size),
                    "Use fewer points, or a grid",
                )
            )
        nearest = self.requested * float(known[1])
        if nearest < _CLOSE:
            raise BudgetError(
                message(
                    "epsilon",
                    f"leaves the closest values {nearest:.2g} nats apart, below {_CLOSE:g}",
                    repr(self.requested),
                    "Merge them",
                )
            )
        size, furthest = len(place), self.requested * float(known[-1])
        # 64 binary digits for the least likely report, and as many more as the closest values are alike.
        words = math.ceil(
            (64 + (furthest / 2 - math.log(nearest)) / math.log(2) + math.log2(size)) / 64
        )
        total = 1 << 64 * words
        half = Fraction(self.requested) / 2
        weights = np.array(
            [share_of(exp(-half * Fraction(d)), Decimal(1), total) for d in known.tolist()],
            dtype=object,
        )
        out = np.empty((size, size), dtype=object)
        for x in range(size):  # one value at a time: the products are long, and many
            own = weights[place[:, x]]
            out[:, x] = own * total // own.sum()
        out[np.arange(size), np.arange(size)] += total - out.sum(axis=0)
        return out, words

    @cached_property
    def _realised_epsilon(self) -> float:
        """Half of it, and what the denominators Z differ by: max over pairs of epsilon / 2 + |ln Z - ln Z'| / d, moved up by what rounding can do."""
        # max_z d(x', z) - d(x, z) is d(x, x'), taken at z = x: so the worst report of a pair is one of the two, whose mass is 1 / Z.
        log = np.array([natural(column[x]) for x, column in enumerate(self.law.numerators.T)])
        distance = np.where(self._distance > 0, self._distance, np.inf)
        return min(
            self.requested,
            self.requested / 2
            + float(((log[:, None] - log[None, :] + ROUNDING * (1 + log.max())) / distance).max()),
        )

    @property
    def guarantee(self) -> MetricLDP:
        return MetricLDP(self.epsilon, float(self._distance.max()))

    def parameters(self) -> dict[str, Any]:
        return {}

    def thresholds(self) -> dict[str, str]:
        return {"words": hex(self.words)}

    @cached_property
    def _edges(self) -> list[Edges]:
        return [Edges.of(column.tolist()) for column in self.law.numerators.T]

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        report = np.empty(len(index), dtype=smallest_dtype(self.domain.size))
        for x in np.unique(index):
            rows = np.flatnonzero(index == x)
            report[rows] = source.among(self._edges[x], rows.size)
        return {"report": report}

    def channel(self) -> DenseChannel:
        return DenseChannel(floats(self.law.numerators, 1 << 64 * self.words))

    def probabilities(self) -> np.ndarray:
        return fractions(self.law.numerators, 1 << 64 * self.words)
