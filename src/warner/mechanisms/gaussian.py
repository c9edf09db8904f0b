"""The Gaussian mechanism: normal noise on a grid, with the (epsilon, delta) of exactly that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, probability, real
from warner._core.errors import (
    ArgumentTypeError,
    BudgetError,
    message,
)
from warner._core.sampling import Source
from warner.channels import Channel, DenseChannel, KhatriRaoChannel
from warner.domains import Domain, Integers, Interval
from warner.mechanisms.base import Mechanism
from warner.mechanisms.gaussian_law import Rounded
from warner.mechanisms.numeric import Numeric
from warner.privacy.guarantees import ApproximateLDP
from warner.privacy.likelihood_ratios import fractions
from warner.reports.schema import (
    IntegerColumns,
)

_MOST_REPORTS = 2**22
_MOST_VALUES = 2**14  # places whose pairs are compared
_LEAST_DELTA = 1e-12  # below it sums of double precision say nothing
_CUT = 1e-4  # of delta: the mass of the noise that reports do not go out to; it is reported as the last
_FINEST = 2**15  # grid steps in one sigma
_FINE = (16, 8, 4, 2, 1)  # report cells in one sigma
_FARTHEST = 16  # pairs of points, from the most distant one down, whose divergence is computed


class Gaussian(Numeric):
    """Gaussian mechanism: numbers, or points in R^d, plus independent normal noise on every axis, as an exact law on a grid.

        Pr(noise of j grid steps h) proportional to exp(-(j h)^2 / (2 sigma^2));   approximate LDP with
        delta = max over x, x' of sum_y max(0, Pr(y | x) - exp(epsilon) Pr(y | x'))   (hockey-stick divergence)

    sigma is calibrated to the largest Euclidean distance of two values [Balle and Wang], then moved up until the divergence of the
    discrete law itself is at most delta. There is no ``epsilon`` without its delta: see ``guarantee``.

    Args:
        domain: Interval, Integers, or Points (or a Grid) in up to about five dimensions.
        epsilon: nats.
        delta: in (0, 1); far below 1 / n, or some people may have no protection at all.
        sigma: standard deviation of the noise, in the unit of the values, where a larger one than needed is wanted.

    Raises:
        BudgetError: a sigma that does not keep (epsilon, delta).
        ArgumentTypeError: values without coordinates, or too many dimensions.

    Source: Balle, Wang (2018); Canonne, Kamath, Steinke (2020); [P3 sec V-B].

    >>> from warner import Interval, Points
    >>> print(Gaussian(Interval(0, 100, bins=64), 1.0, delta=1e-6).guarantee.epsilon)
    1.0
    >>> Gaussian(Points([[0, 0], [1, 0], [0, 1]]), 2.0, delta=1e-6).randomize([(1, 0)]).columns.keys()
    dict_keys(['axis0', 'axis1'])
    """

    law: Rounded
    schema: IntegerColumns

    def __init__(
        self, domain: Domain, epsilon: float, delta: float, sigma: float | None = None
    ) -> None:
        Mechanism.__init__(self, domain, epsilon)
        if not isinstance(domain, Integers | Interval):
            # Distances are of all pairs. Checked before the points of a large grid are made.
            integer(
                "number of values",
                domain.size,
                2,
                _MOST_VALUES,
                "Use fewer values, or larger cells",
            )
        if domain.points is None:
            raise ArgumentTypeError(
                message(
                    "domain",
                    "must have coordinates: Interval, Integers, Grid or Points",
                    type(domain).__name__,
                    "For labels use RandomizedResponse",
                )
            )
        self.delta = probability("delta", delta)
        if self.delta < _LEAST_DELTA:
            raise BudgetError(
                message(
                    "delta",
                    f"must be at least {_LEAST_DELTA:g}, which double precision can tell from 0",
                    repr(delta),
                )
            )
        self.numeric = isinstance(domain, Integers | Interval)
        low, high = (
            (domain.low, domain.high) if isinstance(domain, Integers | Interval) else (0.0, 0.0)
        )
        self._span = float(high - low)
        self.represents_interval = isinstance(domain, Interval)
        far = self._span if self.numeric else _diameter(domain.points)
        least = far * calibrate(self.requested, self.delta)
        if not math.isfinite(least):
            rule = f"is too wide for its noise to be a float: values lie up to {far:.3g} apart"
            raise BudgetError(
                message("domain", rule, None, "Use a larger unit, or a larger epsilon")
            )
        if sigma is not None:
            enough = real("sigma", sigma) > 0.99 * least
            if enough:
                self._lay(float(sigma))
            if not enough or self._found > self.delta:
                raise BudgetError(
                    message(
                        "sigma",
                        f"must be at least about {least:.6g} for ({epsilon!r}, {delta!r})-LDP",
                        repr(sigma),
                        "Leave it out for the least",
                    )
                )
            return
        for _ in range(200):
            self._lay(least)
            if self._found <= self.delta:
                return
            least *= 1.001
        raise BudgetError(
            message(
                "epsilon and delta",
                "cannot be met on the grid of this domain",
                f"{epsilon!r}, {delta!r}",
                "Pass a sigma",
            )
        )

    def _lay(self, sigma: float) -> None:
        """Lay the grid for noise of standard deviation ``sigma``, and find what it realises."""
        self.sigma = sigma
        if self.numeric:
            # A 64th of the range, or of sigma an eighth; where sigma is many times the range, coarser.
            fine = max(8 * self._span / sigma, min(64.0, _FINEST * self._span / sigma / 2))
            self.steps = np.array([max(4, math.ceil(fine))])
            deviation = sigma / self._span * int(self.steps[0])
            self._places = None
        else:
            deviation, self._places = self._round(sigma)
            self.steps = self._places.max(axis=0)
        if deviation > _FINEST:
            raise BudgetError(
                message("epsilon", f"is too small: its noise has {deviation:.3g} grid steps in one sigma, and at most {_FINEST} are summed exactly",
                        repr(self.requested), f"Pass an epsilon of about {self.requested * deviation / _FINEST:.2g} or more")
            )  # fmt: skip
        # Normal tails beyond z are below exp(-z^2 / 2).
        self._beyond = math.ceil(math.sqrt(-2 * math.log(_CUT * self.delta)) * deviation)
        for fine in _FINE:
            # Reports are told in groups of grid points, which is post-processing: a sixteenth of sigma, or as much as must be.
            self._group = max(1, int(deviation / fine))
            sizes = tuple(-(-(int(c) + 1 + 2 * self._beyond) // self._group) for c in self.steps)
            if math.prod(sizes) <= _MOST_REPORTS:
                break
        else:
            raise ArgumentTypeError(
                message(
                    "domain",
                    f"would need {math.prod(sizes)} different reports, more than {_MOST_REPORTS}",
                    None,
                    "Use fewer axes, or a smaller epsilon",
                )
            )
        self.law = Rounded.normal(deviation, int(self.steps.max()) + self._beyond)
        self.schema = IntegerColumns(
            ("report",) if self.numeric else tuple(f"axis{k}" for k in range(len(sizes))), sizes
        )
        self._found = _up(self.law.divergence(self.requested, self._shifts()))

    def _round(self, sigma: float) -> tuple[float, np.ndarray]:
        """Points (K, d) on a grid of at most sigma / 8 and a 64th of their extent, finer where they would fall together; sigma in steps."""
        points = self.domain.points
        assert points is not None
        origin, extent = points.min(axis=0), float(np.ptp(points, axis=0).max())
        step = min(sigma / 8, extent / 64)
        while sigma / step <= _FINEST:
            places = np.rint((points - origin) / step).astype(np.int64)
            if len(np.unique(places, axis=0)) == len(places):
                return sigma / step, places
            step /= 2
        raise BudgetError(
            message(
                "domain",
                "has points too close to each other for the noise it needs",
                None,
                "Merge points that are close",
            )
        )

    def _shifts(self) -> np.ndarray:
        """Differences of two values in grid steps, (s, d), of the ``_FARTHEST`` most distant pairs: closer ones diverge less."""
        if self._places is None:
            return self.steps[None, :]
        found = []
        for place in self._places:
            away = np.abs(self._places - place)
            most = min(_FARTHEST, len(away) - 1)
            found.append(away[np.argpartition((away**2).sum(axis=1), -most)[-most:]])
        shifts = np.unique(np.concatenate(found), axis=0)
        shifts = shifts[np.argsort(-(shifts**2).sum(axis=1), kind="stable")][:_FARTHEST]
        return shifts[shifts.any(axis=1)]

    @property
    def epsilon(self) -> float:
        raise AttributeError(
            "Gaussian has no epsilon of its own: see .guarantee for (epsilon, delta)"
        )

    @property
    def guarantee(self) -> ApproximateLDP:
        return ApproximateLDP(self.requested, self._found)

    def parameters(self) -> dict[str, Any]:
        return {"delta": self.delta, "sigma": self.sigma}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        return cls(domain, epsilon, parameters["delta"], parameters["sigma"])

    def thresholds(self) -> dict[str, str]:
        return {"words": hex(self.law.words), "beyond": hex(self._beyond)}

    def encode(self, values: Any) -> np.ndarray:
        return super().encode(values) if self.numeric else self.domain.encode(values)

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return (
            super().randomize_index(index, source)
            if self.numeric
            else Mechanism.randomize_index(self, index, source)
        )

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        places = (
            self._rounded(index, int(self.steps[0]), source)[:, None]
            if self._places is None
            else self._places[index]
        )
        columns = {}
        for name, steps, place in zip(self.schema.names, self.steps, places.T, strict=True):
            noise = source.among(self.law.edges, len(index)) - self.law.reach
            columns[name] = (
                np.clip(place + noise + self._beyond, 0, int(steps) + 2 * self._beyond)
                // self._group
            )
        return columns

    def _tables(self, masses: np.ndarray) -> list[np.ndarray]:
        """Per axis, the law of reports, (m_k, places): noise moved to a place, its tails at the two ends, in groups.

        Numbers may lie at every grid point. Points lie at few of many, and only those have a column.
        """
        tables = []
        below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
        for axis, steps in enumerate(self.steps):
            last = int(steps) + 2 * self._beyond
            groups = np.arange(0, last + 1, self._group)
            places = np.arange(int(steps) + 1) if self._places is None else self._places[:, axis]
            used, column = np.unique(places, return_inverse=True)
            table = np.empty((len(groups), len(used)), dtype=masses.dtype)
            for k, place in enumerate(used.tolist()):
                first = self.law.reach - self._beyond - place
                law = masses[first : first + last + 1].copy()
                law[0], law[-1] = below[first], above[first + last]
                table[:, k] = np.add.reduceat(law, groups)
            tables.append(table[:, column])
        return tables

    def channel(self) -> Channel:
        tables, size = self._tables(self.law.floats()), self.domain.size
        if self._places is not None:
            return KhatriRaoChannel(tables)
        steps = int(self.steps[0])
        cell = np.arange(len(tables[0])) * self._group + (self._group - 1) / 2 - self._beyond
        return DenseChannel(
            tables[0] @ self._spread(steps),
            nearest=np.clip((cell / steps * size).astype(np.int64), 0, size - 1),
        )

    def probabilities(self) -> np.ndarray:
        total = 1 << 64 * self.law.words
        tables = [fractions(table, total) for table in self._tables(self.law.masses)]
        if self._places is None:
            columns = [
                sum(w * tables[0][:, k] for k, w in self._points_of(x, int(self.steps[0])).items())
                for x in range(self.domain.size)
            ]
            return np.stack(columns, axis=1)
        out = np.ones((1, self.domain.size), dtype=object)
        for table in tables:
            out = (out[:, None, :] * table[None, :, :]).reshape(-1, self.domain.size)
        return out


def calibrate(epsilon: float, delta: float) -> float:
    """The least sigma per unit of sensitivity: delta = Phi(1/(2 s) - epsilon s) - e^epsilon Phi(-1/(2 s) - epsilon s) [Balle and Wang, thm 8].

    >>> round(calibrate(1.0, 1e-5), 3)
    3.731
    """
    low, high = -20.0, 40.0  # of ln sigma
    for _ in range(200):
        middle = (low + high) / 2
        if divergence(epsilon, math.exp(middle)) > delta:
            low = middle
        else:
            high = middle
    return math.exp(high)


def divergence(epsilon: float, sigma: float) -> float:
    """delta of continuous normal noise at sensitivity 1."""
    near, far = (
        (1 / (2 * sigma) - epsilon * sigma) / math.sqrt(2),
        (1 / (2 * sigma) + epsilon * sigma) / math.sqrt(2),
    )
    return math.erfc(-near) / 2 - math.exp(epsilon) * math.erfc(far) / 2


def _diameter(points: np.ndarray) -> float:
    """The largest distance between two points."""
    return math.sqrt(max(float(((points - point) ** 2).sum(axis=1).max()) for point in points))


def _up(delta: float) -> float:
    """To nine digits, rounded up: other machines' arithmetic may differ in the last of sixteen."""
    if delta <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(delta)) - 8)
    return min(1.0, math.ceil(delta / unit) * unit)
