"""The exponential mechanism, which reports a nearby value with higher probability."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.errors import ArgumentError, ArgumentTypeError, BudgetError
from warner._core.exact import exp, natural, share_of
from warner._core.sampling import Edges, Source
from warner.channels import DenseChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.device_program import Places, numbers, odds_of_neighbours, program
from warner.privacy.guarantees import MetricLDP
from warner.privacy.report_laws import (
    ROUNDING,
    ExactTable,
    euclidean_distances,
    floats,
    fractions,
)
from warner.reports.rules import smallest_dtype
from warner.reports.schema import (
    IntegerColumns,
)

# Each distance takes one exponential in decimal arithmetic.
_MOST_DISTANCES = 2**16
# Nats between the closest values; fewer would need thousands of digits.
_LEAST_NATS = 1e-9
# The distribution is a table of K x K exact integers.
_MOST_VALUES = 1024
# Nats across the domain; estimation needs probabilities that are floats.
_MOST_NATS = 1200.0


class Exponential(Mechanism):
    """Exponential mechanism: metric privacy for values with coordinates, at Euclidean distance d.

        Pr(report z | value x) = exp(-epsilon d(x, z) / 2) / sum_z' exp(-epsilon d(x, z') / 2)

    The sum is over all values z'. The argument epsilon is an upper bound that is not reached. For
    two values x and x', the numerators differ by at most epsilon d(x, x') / 2 nats. The
    denominators differ by less. The attribute ``epsilon`` is the exact budget, and ``requested`` is
    the argument. For 4 x 4 cells and the argument 0.5, the exact budget is 0.377.

    Args:
        domain: Integers, Grid or Points, with at most 1024 values and at most 2^16 different
            distances between two values.
        epsilon: an upper bound of the nats per unit of distance.

    Raises:
        ArgumentTypeError: values without coordinates.
        ArgumentError: too many values, or too many different distances.
        BudgetError: more than 1200 nats between the two most distant values, or less than 1e-9
            nats between the two closest.

    Source: McSherry, Talwar (2007); [P4 sec IX-C].

    >>> from warner import Grid
    >>> round(Exponential(Grid(4, 4), 0.5).epsilon, 3)
    0.377
    """

    references = ("mcsherry2007", "P4")

    law: ExactTable
    schema: IntegerColumns
    distance_unit = 1.0

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon)
        if not domain.dimension or domain.is_binned:
            rule = "must be Integers, Grid or Points"
            remedy = f"For such values use {domain.usual_mechanism}"
            raise ArgumentTypeError("domain", rule, type(domain).__name__, remedy)
        integer(
            "number of values", domain.size, 2, _MOST_VALUES, "Use Geometric or PlanarGeometric"
        )
        points = domain.points
        assert points is not None
        self._distance = euclidean_distances(points)
        if self.requested * self._distance.max() > _MOST_NATS:
            # rounded down, so that the number that a message names can be passed
            most = math.floor(1e4 * _MOST_NATS / self._distance.max()) / 1e4
            rule = f"is too large: for these values the largest is {most:g}"
            raise BudgetError("epsilon", rule, repr(self.requested), "Pass a smaller epsilon")
        numerators, self.words = self._integers()
        self.law = ExactTable(numerators, total=1 << 64 * self.words)
        self.schema = IntegerColumns(("report",), (domain.size,))

    def _integers(self) -> tuple[np.ndarray, int]:
        """The numerators (K, K) of the probabilities over 2^(64 words), and the number of words."""
        # Decimal arithmetic gives the same integers on every machine. The diagonal takes the
        # rounding, so that each column sums to 2^(64 words).
        distances, classes = np.unique(self._distance, return_inverse=True)
        classes = classes.reshape(self._distance.shape)
        if distances.size > _MOST_DISTANCES:
            rule = f"must have at most {_MOST_DISTANCES} different distances between its values"
            remedy = "Use fewer points, or a grid"
            raise ArgumentError("domain", rule, str(distances.size), remedy)
        nearest = self.requested * float(distances[1])
        if nearest < _LEAST_NATS:
            enough = 1.001 * _LEAST_NATS / float(distances[1])
            rule = f"is too small: for the two closest values it must be at least {enough:.4g}"
            remedy = "Pass a larger epsilon, or merge values that are close together"
            raise BudgetError("epsilon", rule, repr(self.requested), remedy)
        size, furthest = len(classes), self.requested * float(distances[-1])
        # 64 binary digits for the least likely report, and more to tell the closest values apart.
        words = math.ceil(
            (64 + (furthest / 2 - math.log(nearest)) / math.log(2) + math.log2(size)) / 64
        )
        total = 1 << 64 * words
        half = Fraction(self.requested) / 2
        weights = np.array(
            [share_of(exp(-half * Fraction(d)), Decimal(1), total) for d in distances.tolist()],
            dtype=object,
        )
        self._weights = dict(zip(distances.tolist(), weights.tolist(), strict=True))
        out = np.empty((size, size), dtype=object)
        # One value at a time, because the products are long integers.
        for x in range(size):
            column = weights[classes[:, x]]
            out[:, x] = column * total // column.sum()
        out[np.arange(size), np.arange(size)] += total - out.sum(axis=0)
        return out, words

    @cached_property
    def _realised_epsilon(self) -> float:
        # max over x, x' of epsilon / 2 + |ln Z_x - ln Z_x'| / d(x, x'), Z the denominators.
        #
        # The result is moved up by the largest effect of rounding.
        # The maximum over z of d(x', z) - d(x, z) is d(x, x'), at z = x. So the worst report of a
        # pair is one of the two values, and the probability of reporting x itself is 1 / Z_x.
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

    def _program(self) -> dict[str, Any]:
        # The weights of distances; the table of all numerators where distances have no axes.
        fields: dict[str, Any] = {"size": self.domain.size, "words": self.words}
        places = Places.of(self.domain)
        if places is None:
            columns = [numbers(column) for column in self.law.numerators.T.tolist()]
            return program("table", {**fields, "numerators": columns})
        # No two values may have the distance of a pair of classes, in a grid with gaps.
        weights = [
            numbers(self._weights.get(d, 0) for d in row) for row in places.distances().tolist()
        ]
        return program("exponential", {**fields, **places.fields(), "weights": weights})

    def _program_odds(self) -> dict[str, Any]:
        return odds_of_neighbours(self.law.numerators, self.domain, self.requested)

    def channel(self) -> DenseChannel:
        return self._channel

    @cached_property
    def _channel(self) -> DenseChannel:
        # Long divisions: a second and more for 1000 values.
        return DenseChannel(floats(self.law.numerators, 1 << 64 * self.words))

    def probabilities(self) -> np.ndarray:
        return fractions(self.law.numerators, 1 << 64 * self.words)
