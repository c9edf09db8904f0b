"""Whole numbers plus noise: geometric mechanisms, and Laplace's on a grid (METHODS 2).

Noise is the difference of two geometric numbers with Pr(G >= k) = a^k, a = T / 2**64 the integer threshold: it has exactly the law
(1 - a) / (1 + a) a^|d|, whose logarithm falls by the same number of nats with every step. Reports beyond ``reach`` steps outside the values
are taken to the last step, which is post-processing: the two ends collect the tails.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.checks import integer, real, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    message,
)
from warner._core.exact import ONE, check_representable, exp, realise, up
from warner._core.sampling import Source
from warner.channels import Channel, GeometricChannel, SpreadChannel
from warner.domains import Domain
from warner.mechanisms.base import Mechanism
from warner.mechanisms.numeric import Numeric
from warner.privacy.guarantees import LDP, Guarantee, MetricLDP
from warner.privacy.report_laws import Steps
from warner.reports.schema import (
    IntegerColumns,
)

_MOST_REPORTS = 2**22
_TAIL = 40  # binary digits: noise beyond the default reach has probability below 2^-40
_FEW = 128  # reports up to which powers of a are fractions that can be added up
_LATTICE = 2**12  # integers up to so many are points of the grid themselves


class Noise(Numeric):
    """A grid of ``steps`` + 1 points, two-sided geometric noise that falls by fall / 2**64 a step, and reports that end ``reach`` beyond."""

    law: Steps
    schema: IntegerColumns

    def _add(self, steps: int, fall: int, reach: int | None, nats: float) -> None:
        """Set all up; ``nats`` is what one step costs."""
        self.steps, self._fall = steps, fall
        if steps + 1 > _MOST_REPORTS:
            raise ArgumentError(
                message(
                    "domain",
                    f"must have at most {_MOST_REPORTS} values, or as many cells",
                    str(steps + 1),
                    "Use cells",
                )
            )
        if nats < 1e-9:
            raise BudgetError(
                message(
                    "epsilon",
                    f"is too small: a step of the grid is {nats:.2g} nats, below 1e-09",
                    repr(self.requested),
                    "Pass a larger one",
                )
            )
        if reach is None and steps + 2 * _TAIL * math.log(2) / nats > _MOST_REPORTS:
            enough = self.requested * 2 * _TAIL * math.log(2) / nats / (_MOST_REPORTS - steps)
            raise BudgetError(
                message(
                    "epsilon",
                    f"is too small: its noise spreads over more than {_MOST_REPORTS} reports; the smallest for this grid is {enough:.4g}",
                    repr(self.requested),
                    "Pass a larger epsilon, fewer cells or a smaller reach",
                )
            )
        self.reach = (
            math.ceil(_TAIL * math.log(2) / nats)
            if reach is None
            else integer("reach", reach, 0, _MOST_REPORTS // 2)
        )
        self.schema = IntegerColumns(("report",), (steps + 1 + 2 * self.reach,))
        self.law = Steps(fall, steps)

    def thresholds(self) -> dict[str, str]:
        return {"fall": hex(self._fall), "steps": hex(self.steps), "reach": hex(self.reach)}

    def _point(self, encoded: np.ndarray, source: Source) -> np.ndarray:
        """Where on the grid people stand, (n,)."""
        return encoded

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        n = len(index)
        noise = source.geometric(self._fall, n) - source.geometric(self._fall, n)
        return {
            "report": np.clip(
                self._point(index, source) + noise + self.reach, 0, self.schema.sizes[0] - 1
            )
        }

    def channel(self) -> Channel:
        return GeometricChannel(self.steps + 1, self._fall / ONE, self.reach, self.reach)

    @property
    def is_enumerable(self) -> bool:
        return super().is_enumerable and self.n_reports <= _FEW

    def probabilities(self) -> np.ndarray:
        a, last = Fraction(self._fall, ONE), self.schema.sizes[0] - 1
        powers = [Fraction(1)]
        for _ in range(last):
            powers.append(powers[-1] * a)
        inside, end = (1 - a) / (1 + a), 1 / (1 + a)
        table = np.empty((last + 1, self.domain.size), dtype=object)
        for x in range(self.domain.size):
            for y in range(last + 1):
                level = end if y in (0, last) else inside
                table[y, x] = sum(
                    (
                        weight * level * powers[abs(y - self.reach - k)]
                        for k, weight in self._where(x).items()
                    ),
                    Fraction(0),
                )
        return table

    def _where(self, x: int) -> dict[int, Fraction]:
        """The exact law of the grid point of value x."""
        return {x: Fraction(1)}


class Geometric(Noise):
    """Geometric mechanism on integers: the value plus two-sided geometric noise, metric privacy at distance |x - x'|.

        Pr(z | x) = (1 - a) / (1 + a) a^|z - x|,   a = exp(-epsilon)

    Args:
        domain: Integers.
        epsilon: nats per unit of distance.
        reach: how far beyond the domain reports go; what would go further is reported as the last. None for so far that it hardly
            ever happens (2^-40).

    Raises:
        BudgetError: epsilon so small that noise would spread over more than 2^22 reports.

    Source: Ghosh, Roughgarden, Sundararajan (2009); [P4 eq 21].

    >>> from warner import Integers
    >>> ages = Geometric(Integers(0, 99), 0.1)
    >>> round(ages.guarantee.relaxed().epsilon, 9), ages.randomize([30, 99]).columns["report"].shape
    (9.9, (2,))
    """

    def __init__(self, domain: Domain, epsilon: float, reach: int | None = None) -> None:
        Mechanism.__init__(self, domain, epsilon)
        if not domain.is_numeric or domain.is_binned:
            raise ArgumentTypeError(
                message(
                    "domain",
                    "must be Integers",
                    type(domain).__name__,
                    "For a Grid use PlanarGeometric",
                )
            )
        e = exp(-self.requested)
        check_representable(self.requested, e, "a step of the noise")
        self._add(domain.size - 1, up(e), reach, self.requested)
        self._given, self.distance_unit = reach, 1.0
        self.check_realisable()

    @property
    def epsilon(self) -> float:
        return realise(self.requested, ONE, self._fall)

    @property
    def guarantee(self) -> Guarantee:
        return MetricLDP(self.epsilon, float(self.steps))

    def parameters(self) -> dict[str, Any]:
        return {} if self._given is None else {"reach": self._given}

    def encode(self, values: Any) -> np.ndarray:
        return self.domain.encode(values)


class TruncatedGeometric(Geometric):
    """Truncated geometric mechanism: geometric noise, and reports no wider than the domain, whose ends collect what lies beyond.

        Pr(z | x) = c_z a^|z - x|,   c_z = 1 / (1 + a) at the two ends, (1 - a) / (1 + a) inside,   a = exp(-epsilon)

    Args:
        domain: Integers.
        epsilon: nats per unit of distance.

    Source: Ghosh, Roughgarden, Sundararajan (2009); [P4 eq 22].

    >>> from warner import Integers
    >>> round(TruncatedGeometric(Integers(0, 99), 0.1).epsilon, 9)
    0.1
    """

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon, 0)

    def parameters(self) -> dict[str, Any]:
        return {}


class Laplace(Noise):
    """Laplace mechanism: a number plus two-sided noise of scale sensitivity / epsilon, as an exact law on a grid.

        Pr(noise of d grid steps) = (1 - a) / (1 + a) a^|d|,   a = exp(-epsilon step / sensitivity)

    With the whole range as sensitivity, which is the default, it is LDP. Integers with a smaller one have metric privacy at
    epsilon / sensitivity a unit: with sensitivity 1 the degree of a node of a graph is as well hidden as any single edge at
    it (edge-LDP), and the mechanism is the geometric one.

    Args:
        domain: Integers, or an Interval; its bins belong to estimation, the device does not see them.
        epsilon: budget in nats, between two values that lie ``sensitivity`` apart.
        sensitivity: of Integers, how far apart two values lie that epsilon is for. None for the whole range.
        cells: how many steps the range is divided into; numbers in between are rounded at random, so that the mean is exact. Integers
            are steps themselves (None; up to 4096 of them).
        reach: how many steps beyond the range reports go. None for so many that noise hardly ever goes further (2^-40).

    Raises:
        BudgetError: epsilon so small that noise would spread over more than 2^22 reports; the message says the smallest.

    Source: Dwork et al. (2006); [P3 sec V-B].

    >>> from warner import Integers
    >>> degree = Laplace(Integers(0, 499), 1.0, sensitivity=1)
    >>> print(degree.guarantee)
    1-LDP per unit of distance (values lie up to 499 apart)
    """

    def __init__(
        self,
        domain: Domain,
        epsilon: float,
        sensitivity: float | None = None,
        cells: int | None = None,
        reach: int | None = None,
    ) -> None:
        super().__init__(domain, epsilon)
        self._given = {"sensitivity": sensitivity, "cells": cells, "reach": reach}
        self.lattice = (
            not domain.is_binned
            and cells is None
            and (domain.size <= _LATTICE or sensitivity is not None)
        )
        steps = (
            domain.size - 1
            if self.lattice
            else integer("cells", 256 if cells is None else cells, 1, 2**20)
        )
        self.sensitivity = None
        if sensitivity is not None:
            if not self.lattice:
                raise ArgumentError(
                    message(
                        "sensitivity",
                        "goes with Integers that are steps themselves",
                        show(sensitivity),
                        "Leave it out, or use Integers without cells",
                    )
                )
            self.sensitivity = real("sensitivity", sensitivity)
            if not 0 < self.sensitivity <= steps:
                raise ArgumentError(
                    message("sensitivity", f"must lie in (0, {steps}]", show(sensitivity))
                )
            self.sensitivity = self.distance_unit = (
                None if self.sensitivity == steps else self.sensitivity
            )
        self._span = Fraction(
            steps if self.sensitivity is None else self.sensitivity
        )  # steps that cost epsilon
        nats = Fraction(self.requested) / self._span
        e = exp(-nats)
        check_representable(self.requested, e, "a step of the noise")
        self._add(steps, up(e), reach, float(nats))
        self.check_realisable()

    @property
    def epsilon(self) -> float:
        """Between values ``sensitivity`` apart."""
        return realise(self.requested, ONE, self._fall, self._span)

    @property
    def guarantee(self) -> Guarantee:
        if self.sensitivity is None:
            return LDP(self.epsilon)
        return MetricLDP(self.law.epsilon(1), float(self.steps))

    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in self._given.items() if value is not None}

    def encode(self, values: Any) -> np.ndarray:
        return self.domain.encode(values) if self.lattice else super().encode(values)

    def _point(self, encoded: np.ndarray, source: Source) -> np.ndarray:
        return encoded if self.lattice else self._rounded(encoded, self.steps, source)

    def channel(self) -> Channel:
        noise = super().channel()
        return noise if self.lattice else SpreadChannel(noise, self._spread(self.steps))

    def _where(self, x: int) -> dict[int, Fraction]:
        return super()._where(x) if self.lattice else self._points_of(x, self.steps)
