"""Integers plus two-sided geometric noise: geometric mechanisms, and Laplace on a grid (METHODS 2).

The noise is the difference of two independent geometric numbers G >= 0. Each has Pr(G >= k) = a^k,
where a = T / 2^64 for an integer T. So exactly

    Pr(noise of d steps) = (1 - a) / (1 + a) a^|d|   for every integer d

A report more than ``reach`` steps below the least value or above the greatest is replaced by the
last allowed report on that side. This is post-processing. The two end reports therefore hold the
probabilities of all replaced reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import integer, real, show
from warner._core.errors import ArgumentError, ArgumentTypeError, BudgetError
from warner._core.exact import ONE, check_representable, exp, realise, up
from warner._core.sampling import Source, geometric_digits
from warner.channels import Channel, GeometricChannel, SpreadChannel
from warner.domains import Domain
from warner.mechanisms.base import Dummies
from warner.mechanisms.device_program import ANY, NEIGHBOURS, number, numbers, odds, program
from warner.mechanisms.numeric import Numeric
from warner.privacy.guarantees import LDP, Guarantee, MetricLDP
from warner.privacy.report_laws import Steps
from warner.reports.schema import IntegerColumns

_MOST_REPORTS = 2**22
_TAIL = 40  # noise beyond the default reach has probability below 2^-40
_MOST_FRACTIONS = 128  # reports up to which exact probabilities are computed
_MOST_EXACT = 2**12  # integers up to which each is a grid point


class Noise(Numeric):
    """Base class of mechanisms with two-sided geometric noise on a grid of ``steps`` + 1 points.

    Attributes:
        steps: the number of grid steps between the least and the greatest value.
        reach: the number of steps that reports extend beyond the values, on both sides.
    """

    law: Steps
    schema: IntegerColumns
    # Whether answers are grid points themselves, so that they are encoded as indices.
    lattice = True

    def _set_noise(self, steps: int, decay: int, reach: int | None, nats: float) -> None:
        """Set the grid and the noise, where ``decay`` is T."""
        self.steps, self._decay = steps, decay
        if nats < 1e-9:
            rule = f"is too small: it must be at least {self.requested * 1.001e-9 / nats:.4g}"
            raise BudgetError("epsilon", rule, repr(self.requested), "Pass a larger epsilon")
        if reach is None and steps + 2 * _TAIL * math.log(2) / nats > _MOST_REPORTS:
            enough = self.requested * 2 * _TAIL * math.log(2) / nats / (_MOST_REPORTS - steps)
            rule = f"is too small: for these values it must be at least {enough:.4g}"
            raise BudgetError("epsilon", rule, repr(self.requested), "Pass a larger epsilon")
        self.reach = (
            math.ceil(_TAIL * math.log(2) / nats)
            if reach is None
            else integer("reach", reach, 0, _MOST_REPORTS // 2)
        )
        self.schema = IntegerColumns(("report",), (steps + 1 + 2 * self.reach,))
        self.law = Steps(decay, steps)

    def thresholds(self) -> dict[str, str]:
        return {"fall": hex(self._decay), "steps": hex(self.steps), "reach": hex(self.reach)}

    def _point(self, encoded: np.ndarray, source: Source) -> np.ndarray:
        """The grid points (n,) of answers that ``encode`` returned."""
        return encoded

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        noise = self._noise(len(index), source)
        return self._sum(self._point(index, source), noise)

    def _noise(self, n: int, source: Source) -> np.ndarray:
        """The noise (n,) in grid steps."""
        return np.asarray(source.geometric(self._decay, n) - source.geometric(self._decay, n))

    def _sum(self, points: np.ndarray, noise: np.ndarray) -> dict[str, np.ndarray]:
        """The reports of grid points (n,) with noise (n,)."""
        return {"report": np.clip(points + noise + self.reach, 0, self.schema.sizes[0] - 1)}

    def _program(self) -> dict[str, Any]:
        digits, rest = geometric_digits(self._decay)
        fields = {
            "steps": self.steps,
            "reach": self.reach,
            "fall": number(self._decay),
            "digits": [numbers(digit) for digit in digits],
            "rest": numbers(rest),
        }
        size = {"size": self.steps + 1} if self.lattice else {}
        return program("noise", {**size, **fields}, "index" if self.lattice else "position")

    def _program_odds(self) -> dict[str, Any]:
        # The odds of one grid step. Where epsilon bounds any values, all steps spend it.
        step = Fraction(self.requested) / self._steps_of_epsilon
        if self.distance_unit is not None:
            return odds(Fraction(ONE, self._decay), step, NEIGHBOURS)
        return odds(Fraction(ONE, self._decay), step, ANY, self.steps)

    @property
    def _steps_of_epsilon(self) -> Fraction:
        """The number of grid steps that together spend epsilon."""
        return Fraction(1)

    def channel(self) -> Channel:
        return GeometricChannel(self.steps + 1, self._decay / ONE, self.reach, self.reach)

    @property
    def is_enumerable(self) -> bool:
        return super().is_enumerable and self.n_reports <= _MOST_FRACTIONS

    def probabilities(self) -> np.ndarray:
        columns = [self._reports_of(self._where(x)) for x in range(self.domain.size)]
        return np.stack(columns, axis=1)

    def _reports_of(self, points: Mapping[int, Fraction]) -> np.ndarray:
        """The exact probabilities of all reports (m,), of numbers with this law of grid points."""
        a, last, powers = Fraction(self._decay, ONE), self.schema.sizes[0] - 1, self._powers
        inside, end = (1 - a) / (1 + a), 1 / (1 + a)
        column = np.empty(last + 1, dtype=object)
        for y in range(last + 1):
            level = end if y in (0, last) else inside
            column[y] = level * sum(
                (weight * powers[abs(y - self.reach - k)] for k, weight in points.items()),
                Fraction(0),
            )
        return column

    @cached_property
    def _powers(self) -> list[Fraction]:
        """The powers of the decay, by the distance of a report from the number."""
        powers = [Fraction(1)]
        for _ in range(self.schema.sizes[0] - 1):
            powers.append(powers[-1] * Fraction(self._decay, ONE))
        return powers

    def _where(self, x: int) -> dict[int, Fraction]:
        """The exact distribution of the grid point of value x."""
        return {x: Fraction(1)}


class Geometric(Noise):
    """Geometric mechanism on integers: metric privacy at distance |x - x'| of values x, x'.

        Pr(report z | value x) = (1 - a) / (1 + a) a^|z - x|,   a = exp(-epsilon)

    Args:
        domain: Integers.
        epsilon: nats per unit of distance.
        reach: reports extend this many integers below and above the domain. A report further out is
            replaced by the last allowed one. None for a reach that noise exceeds with probability
            below 2^-40.

    Raises:
        ArgumentTypeError: ``domain`` is not Integers.
        BudgetError: the noise would spread over more than 2^22 reports at this epsilon.

    Source: Ghosh, Roughgarden, Sundararajan (2009); [P4 eq 21].

    >>> from warner import Integers
    >>> ages = Geometric(Integers(0, 99), 0.1)
    >>> round(ages.guarantee.relaxed().epsilon, 9), ages.randomize([30, 99]).columns["report"].shape
    (9.9, (2,))
    """

    references = ("ghosh2009", "P4")

    def __init__(self, domain: Domain, epsilon: float, reach: int | None = None) -> None:
        if isinstance(domain, Domain) and (not domain.is_numeric or domain.is_binned):
            rule = "must be Integers"
            remedy = f"For such values use {domain.usual_mechanism}"
            raise ArgumentTypeError("domain", rule, type(domain).__name__, remedy)
        super().__init__(domain, epsilon)
        e = exp(-self.requested)
        check_representable(self.requested, e)
        self._set_noise(domain.size - 1, up(e), reach, self.requested)
        self._given, self.distance_unit = reach, 1.0
        self.check_realisable()

    @property
    def epsilon(self) -> float:
        return realise(self.requested, ONE, self._decay)

    @property
    def guarantee(self) -> Guarantee:
        return MetricLDP(self.epsilon, float(self.steps))

    def parameters(self) -> dict[str, Any]:
        return {} if self._given is None else {"reach": self._given}

    def encode(self, values: Any) -> np.ndarray:
        return self.domain.encode(values)


class TruncatedGeometric(Geometric):
    """Truncated geometric mechanism: geometric noise with reports in the domain.

        Pr(report z | value x) = c_z a^|z - x|,   a = exp(-epsilon)
        c_z = 1 / (1 + a) at the two ends, (1 - a) / (1 + a) between them

    A report that would lie outside the domain is replaced by the nearest end.

    Args:
        domain: Integers.
        epsilon: nats per unit of distance.

    Raises:
        ArgumentTypeError: ``domain`` is not Integers.
        BudgetError: an epsilon that 64-bit thresholds cannot represent.

    Source: Ghosh, Roughgarden, Sundararajan (2009); [P4 eq 22].

    >>> from warner import Integers
    >>> round(TruncatedGeometric(Integers(0, 99), 0.1).epsilon, 9)
    0.1
    """

    references = ("ghosh2009", "P4")

    def __init__(self, domain: Domain, epsilon: float) -> None:
        super().__init__(domain, epsilon, 0)

    def parameters(self) -> dict[str, Any]:
        return {}


class Laplace(Noise):
    """Laplace mechanism: a number plus two-sided noise of scale sensitivity / epsilon, on a grid.

        Pr(noise of d grid steps) = (1 - a) / (1 + a) a^|d|,   a = exp(-epsilon step / sensitivity)

    By default the sensitivity is the whole range, and the privacy is LDP. A smaller sensitivity
    gives metric privacy of epsilon / sensitivity nats per unit of distance. For example, a person
    may report a node's degree in a graph. Sensitivity 1 then hides each single edge (edge-LDP), and
    the mechanism is Geometric.

    Args:
        domain: Integers or Interval. The device does not see the bins of an Interval.
        epsilon: the budget in nats, between two values at distance ``sensitivity``.
        sensitivity: ``epsilon`` bounds two values at this distance; only for Integers. None for the
            whole range.
        cells: the number of grid steps in the range. A number between grid points is rounded at
            random to one of its neighbours, so that its mean stays exact. With None, integers are
            grid points themselves if there are at most 4096, or if ``sensitivity`` is given. Any
            other range has 256 steps.
        reach: reports extend this many grid steps below and above the range. None for a reach that
            noise exceeds with probability below 2^-40.

    Raises:
        ArgumentTypeError: a domain that is not numeric.
        ArgumentError: a sensitivity without a grid of integers, or outside (0, range].
        BudgetError: the noise would spread over more than 2^22 reports at this epsilon. The message
            states the smallest possible epsilon.

    Source: Dwork et al. (2006); [P3 sec V-B].

    >>> from warner import Integers
    >>> degree = Laplace(Integers(0, 499), 1.0, sensitivity=1)
    >>> print(degree.guarantee)
    an epsilon of 1 for each unit of distance between two values, which are at most 499 apart
    """

    references = ("dwork2006", "P3")

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
            and (domain.size <= _MOST_EXACT or sensitivity is not None)
        )
        steps = (
            domain.size - 1
            if self.lattice
            else integer("cells", 256 if cells is None else cells, 1, 2**20)
        )
        self.sensitivity = None
        if sensitivity is not None:
            if not self.lattice:
                rule = "can be used only on Integers without cells"
                remedy = "Leave out the argument sensitivity"
                raise ArgumentError("sensitivity", rule, show(sensitivity), remedy)
            self.sensitivity = real("sensitivity", sensitivity, above=0, most=steps)
            self.sensitivity = self.distance_unit = (
                None if self.sensitivity == steps else self.sensitivity
            )
        self._span = Fraction(steps if self.sensitivity is None else self.sensitivity)
        nats = Fraction(self.requested) / self._span
        e = exp(-nats)
        check_representable(self.requested, e)
        self._set_noise(steps, up(e), reach, float(nats))
        self.check_realisable()

    @property
    def _steps_of_epsilon(self) -> Fraction:
        return self._span

    @property
    def epsilon(self) -> float:
        """The realised budget in nats between two values at distance ``sensitivity``."""
        return realise(self.requested, ONE, self._decay, self._span)

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

    def dummies(self) -> Dummies | None:
        """The reports of a grid point that is uniform: D[y] = sum_k A[y, k] / (s + 1).

        Let S = 1 + a + .. + a^s for s steps. A[y, x] / D[y] is largest for x = y at an end of the
        grid, where few points are near: (s + 1) / S. For D[y] / A[y, x], let x be the end farther
        from y. One step of y away from it multiplies A[y, x] by a and D[y] by at least a, so the
        largest ratio is at the other end: S / ((s + 1) a^s). Beyond the grid, and at the ends of
        the reports, ratios are those at the grid's ends.
        """
        if self.sensitivity is not None:
            return None
        a, points = Fraction(self._decay, ONE), self.steps + 1
        mean = (1 - a**points) / (1 - a) / points
        return Dummies(
            1 / mean,
            mean / a**self.steps,
            # Reports of people at grid points that are uniform.
            lambda n, source: self._sum(source.uniform(self.steps + 1, n), self._noise(n, source)),
            lambda: super(Laplace, self).channel().matvec(np.full(points, 1 / points)),
            lambda: self._reports_of(dict.fromkeys(range(points), Fraction(1, points))),
        )

    def channel(self) -> Channel:
        noise = super().channel()
        if self.lattice:
            return noise
        return SpreadChannel(noise, self._spread(self.steps), self.domain.is_binned)

    def _where(self, x: int) -> dict[int, Fraction]:
        return super()._where(x) if self.lattice else self._points_of(x, self.steps)
