"""One attribute given another: the frequency of keys, and the values of people with one key.

    theta_(v | k) = theta_kv / f_k,   f_k = sum_v theta_kv
    mean_k = N_k / f_k,               N_k = sum_v theta_kv c_v

Both are ratios of estimated numbers. Where f_k can be 0, no ratio to it is bounded. The intervals
of means and shares are therefore Fieller's, which then hold all possible ratios. They are around
the unbiased estimates, like Wald intervals of shares, whatever method made the point estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import choice, show
from warner._core.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError, ValuesError
from warner._core.progress import in_blocks
from warner._core.table import Table, Tabular
from warner.channels import BlockMoments, FloatArray
from warner.domains import Domain
from warner.estimators.base import LikelihoodData, Status
from warner.metrics import project
from warner.results.intervals import (
    TARGETS,
    anytime_factor,
    holding,
    interval,
    normal_quantile,
    posterior,
    score,
    share_columns,
    share_row,
    with_plan,
)
from warner.results.share_noise import covariance_of
from warner.results.solution import BlockShares, Solution, WithinBlock, marginal_estimate, within
from warner.results.summaries import (
    Quantity,
    Ratio,
    between_limits,
    mass,
    mean_of_shares,
    quantile,
    variance_of_shares,
    without_bins,
)

if TYPE_CHECKING:
    from warner.estimators.key_value import KeyMoments
    from warner.reports.public_columns import Key


# -----------------------------------------------------------------------------------------------
# Intervals for the share of a value among the people who have one key.
#
# The share is a ratio of two estimated numbers. With T_v the unbiased estimate of the share of
# people who have the key and the value v, and F that of the key, the interval is
#
#     { r in [0, 1] : (T_v - r F)^2 <= z^2 V_v(r) / n }
#     V_v(r) = E[g_v^2] - 2 r E[g_v h] + r^2 E[h^2]
#
# where g_v and h are the terms that one report adds to T_v and to F. This is Fieller's set
# [Fieller 1954]. The expectations are taken at the distribution in which the value's share of the
# key is r. The other values divide the rest in their estimated proportions. So the variance is
# that under the tested hypothesis. The interval keeps its width where the share is 0 or 1 and
# nobody reported the value. Without noise it is Wilson's interval.


_GRID = 129  # shares that are tried before the ends are bisected
_HALVINGS = 30
_AT_A_TIME = 2**20  # numbers in the distributions whose moments are computed together
_LEAST_LEFT = 1e-9  # of the people of a key, below which all of them have one value


def shares_given(
    data: LikelihoodData, index: int, shape: tuple[int, int], z: float, respondents: bool
) -> FloatArray:
    """Intervals (V, 2) for the shares of the values among the people who have the key.

    An interval is (0, 1) where the reports rule out no share.

    The part of the variance that comes from people's values is not counted for respondents. For the
    population it is multiplied by t if one person sent up to t reports. If there are also several
    mechanisms, the whole variance for the population is multiplied by t.
    """
    size = shape[1]
    if size == 1:
        return np.ones((1, 2))
    block = slice(index * size, (index + 1) * size)
    if data.survey is not None:
        return _of_survey(data, block, z, "respondents" if respondents else "population")
    try:
        plug = project(data.channel.invert(data.weights))
        moments, of_value = _moments(data, plug, index, shape)
    except IdentifiabilityError:
        return np.tile([0.0, 1.0], (size, 1))
    shares = plug[block]
    n, times = float(data.n), 0 if respondents else data.reports_per_person
    if times > 1 and len(data.channel.groups()) > 1:
        n, times = n / times, 1
    test = _Test.of(moments, of_value, shares, n, z, times)
    # The interval is found where the key's share is clearly above 0.
    frequency = float(shares.sum())
    slopes = test.block_slope
    share = shares / frequency if frequency > 0 else np.full(size, 1 / size)
    # The variance of F is that of a ratio without a numerator, at the estimated share.
    variance = (
        test.block_at_zero
        + share * slopes
        - frequency**2
        - (1 - times) * frequency * (1 - frequency)
    )
    clear = moments.block > z * np.sqrt(np.maximum(variance, 0.0) / n)
    centre = np.where(clear, test.total / np.where(clear, moments.block, 1.0), 0.5)
    ends = _outermost(test, centre)
    return np.where(clear[:, None], ends, np.array([0.0, 1.0]))


def _of_survey(data: LikelihoodData, block: slice, z: float, target: str) -> FloatArray:
    """Fieller's intervals (V, 2) of T_v / F, by the covariance of the design of a survey."""
    shares = data.channel.invert(data.weights)
    covariance = covariance_of(data, np.empty(0), target) / data.n
    parts, inside = shares[block], covariance[block, block]
    total, of_total = float(parts.sum()), float(inside.sum())
    ratios = []
    for share, nn, nf in zip(parts, inside.diagonal(), inside.sum(axis=1), strict=True):
        variance = np.array([[nn, nf], [nf, of_total]])
        ratios.append(Ratio(float(share), total, variance, (0.0, 1.0)).around(z))
    return np.array(ratios)


def _moments(
    data: LikelihoodData, plug: FloatArray, index: int, shape: tuple[int, int]
) -> tuple[BlockMoments, FloatArray]:
    """The moments (3, V) of a key at ``plug`` (K,), and those of each value where all have it."""
    size, all_values = shape[1], plug.size
    block = slice(index * size, (index + 1) * size)
    columns = np.zeros((all_values, 4))
    columns[:, 0], columns[:, 3] = plug, 1 / all_values
    columns[block, 0], columns[block, 1], columns[block, 2] = 0.0, plug[block], 1 / size
    of_key = data.channel.block_moments(data.weights, index, shape, columns)
    of_value = np.empty((3, size))
    for some in in_blocks(size, _AT_A_TIME, all_values):
        values = np.arange(some.start, some.stop)
        alone = np.zeros((all_values, values.size + 1))
        alone[index * size + values, values - some.start] = 1.0
        alone[:, -1] = 1 / all_values
        at = data.channel.block_moments(data.weights, index, shape, alone)
        for row, moment in zip(of_value, (at.squares, at.mixed, at.block_squares), strict=True):
            row[values] = moment[values, values - some.start]
    return of_key, of_value


@dataclass(frozen=True, eq=False)
class _Test:
    """Fieller's test of shares r: (T - r F)^2 <= z^2 / n V(r), V(r) a polynomial of degree 3."""

    total: FloatArray  # T, (V,), clipped to [0, F]
    key: FloatArray  # F, (V,)
    coefficients: FloatArray  # (4, V) of V(r), the constant first
    scale: float  # z^2 / n
    block_at_zero: FloatArray  # E[h^2] at r = 0, (V,)
    block_slope: FloatArray  # the increase of E[h^2] up to r = 1, (V,)

    @classmethod
    def of(
        cls,
        moments: BlockMoments,
        of_value: FloatArray,
        shares: FloatArray,
        n: float,
        z: float,
        times: int,
    ) -> _Test:
        """The test of one key's ``shares`` (V,); the variance of values counts ``times`` times."""
        size, frequency = shares.size, float(shares.sum())
        left = frequency - shares
        has_others = left > _LEAST_LEFT * frequency

        def at_ends(moment: FloatArray, alone: FloatArray) -> tuple[FloatArray, FloatArray]:
            """A moment where the value's share of the key is 0, and its increase up to 1."""
            # Moments are linear in the distribution. The key's other values have the rest in their
            # proportions, or evenly where nobody has them.
            rest = (moment[:, 1] - shares * alone) / np.where(has_others, left, 1.0)
            even = (size * moment[:, 2] - alone) / (size - 1)
            at_zero = moment[:, 0] + frequency * np.where(has_others, rest, even)
            return at_zero, moment[:, 0] + frequency * alone - at_zero

        several = (moments.squares, moments.mixed, moments.block_squares)
        (gg, gg_slope), (gh, gh_slope), (hh, hh_slope) = map(at_ends, several, of_value)
        fixed = (1 - times) * frequency
        linear = gg_slope - 2 * gh - fixed
        square = hh - 2 * gh_slope + fixed
        # A numerator outside its range is taken at the nearest end, as in Wald's intervals.
        total = np.clip(moments.total, 0.0, np.maximum(moments.block, 0.0))
        coefficients = np.stack([gg, linear, square, hh_slope])
        return cls(total, moments.block, coefficients, z**2 / n, hh, hh_slope)

    def accepts(self, r: FloatArray) -> np.ndarray:
        """Whether shares (.., V) of the key are within z standard deviations."""
        constant, linear, square, cube = self.coefficients
        variance = np.maximum(constant + r * (linear + r * (square + r * cube)), 0.0)
        return np.asarray((self.total - r * self.key) ** 2 <= self.scale * variance)


def _outermost(test: _Test, centre: FloatArray) -> FloatArray:
    """(V, 2): on each side of the centre (V,), the accepted share that is furthest from it."""
    sides = np.array([[0.0], [1.0]])
    tried = sides + (centre - sides) * np.linspace(0.0, 1.0, _GRID)[:, None, None]
    accepted = test.accepts(tried)
    accepted[-1] = True
    first = np.argmax(accepted, axis=0)[None]
    inside = np.take_along_axis(tried, first, axis=0)[0]
    outside = np.take_along_axis(tried, np.maximum(first - 1, 0), axis=0)[0]
    for _ in range(_HALVINGS):
        half = (inside + outside) / 2
        right = test.accepts(half)
        inside, outside = np.where(right, half, inside), np.where(right, outside, half)
    return np.asarray(inside.T)


@dataclass(frozen=True, eq=False)
class Conditional(Tabular):
    """The estimated distribution of values among the people who have one key.

    Attributes:
        estimate: the estimate of keys and values together.
        key: the key.
        index: its place among the keys.
        domain: the V values.
        frequency: the estimated share of people with the key. Where people hold several pairs and
            the device draws one of them, it is the share of the draws.
        n: the estimated number of these people, or draws.
        status: how the estimate ended, or that nobody seems to have the key.
        probabilities: (V,) the shares of the values; uniform where the frequency is 0.

    >>> from warner import Categorical, Interval, KeyValue, estimate
    >>> pay = KeyValue(Categorical(["a", "b"]), Interval(0, 10, bins=8), 4.0, value="piecewise")
    >>> answers = {"key": ["a", "b"] * 5000, "value": [2.1, 8.0] * 5000}
    >>> of_a = estimate(pay.tally(pay.randomize(answers))).conditional("a")
    >>> bool(abs(of_a.mean() - 2) < 1), of_a.mean().interval().shape, of_a.probabilities.shape
    (True, (2,), (8,))
    """

    estimate: Solution
    key: Any
    index: int

    def __repr__(self) -> str:
        about = f"{self.estimate.method}, K={self.domain.size}, n={self.n:.0f}"
        return f"Conditional({self.key!r}, {about}, status={self.status.name})"

    @property
    def domain(self) -> Domain:
        """The V values."""
        return _attributes(self.estimate)[1]

    @property
    def method(self) -> str:
        """The name of the estimator, as Python code."""
        return self.estimate.method

    @property
    def frequency(self) -> float:
        """The estimated share of people, or draws, with the key."""
        return float(_shares(self.estimate)[self.index])

    @property
    def n(self) -> float:
        """The estimated number of people, or draws, with the key."""
        return self.frequency * self.estimate.n

    @property
    def status(self) -> Status:
        """How the estimate ended, or that nobody seems to have the key."""
        absent = self.frequency <= 0 or (
            self._moments is not None and self._moments.frequency[self.index] <= 0
        )
        return Status.KEY_ABSENT if absent else self.estimate.status

    @property
    def probabilities(self) -> np.ndarray:
        """The shares (V,) of the values among the people with the key."""
        return within(self.estimate.probabilities, self._block)

    def mean(self) -> Quantity:
        """The mean of the key's values.

        Returns:
            A float with a method ``interval``. For reports of KeyValue it gives Fieller's interval,
            for other reports that of :meth:`warner.Estimate.mean`.

        Raises:
            ArgumentTypeError: the values are not points on a line.
        """
        moments, fit = self._moments, self.estimate.fit
        if moments is None:
            return without_bins(self._summary(mean_of_shares))
        value = (
            float(fit.keys.means[self.index])
            if fit.keys is not None
            else float(self._summary(mean_of_shares))
        )
        k = self.index
        total, frequency = float(moments.total[k]), float(moments.frequency[k])
        ratio = Ratio(total, frequency, moments.variance[k], moments.ends)
        return Quantity(value, self.estimate, ratio)

    def variance(self) -> Quantity:
        """The variance of the key's values.

        Returns:
            A float with a method ``interval``, as of :meth:`warner.Estimate.variance`.

        Raises:
            ArgumentTypeError: the values are not points on a line.
        """
        moved: Quantity = between_limits(self._summary(variance_of_shares))
        return moved

    def quantile(self, q: float) -> Quantity:
        """The smallest value whose cumulative share among the key's values reaches q.

        Args:
            q: in [0, 1]; 0.5 for the median.

        Returns:
            A float with a method ``interval``, as of :meth:`warner.Estimate.quantile`.

        Raises:
            ArgumentTypeError: the values are not points on a line.
            ArgumentError: q outside [0, 1].
        """
        return self._summary(quantile, q)

    def interval(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> np.ndarray:
        """Confidence intervals for the shares of the key's values.

        The level holds for each interval separately, not for all together. They are Fieller's
        intervals with the variance at the tested share. They are widened to include the estimates.

        Args:
            level: coverage, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            kind: ``"anytime:N"`` for intervals that hold at every look; None for the default.

        Returns:
            (V, 2) low and high of each share; 0 and 1 where the reports rule out no share.

        Raises:
            ArgumentError: another kind.
        """
        look, planned = with_plan(kind)
        choice("kind", look, ("anytime", None))
        z = normal_quantile(level)
        if look is not None:
            z = anytime_factor(self.estimate.n, planned, level)
        respondents = choice("target", target, TARGETS) == "respondents"
        bounds = shares_given(self.estimate.data, self.index, self._shape, z, respondents)
        if self.estimate.fit.probabilities is None:
            return bounds
        return holding(bounds, np.clip(self.probabilities, 0.0, 1.0))

    def rows(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> list[dict[str, Any]]:
        """The shares of the key's values as a table.

        Args:
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            kind: ``"anytime:N"`` for intervals that hold at every look; None for the default.

        Returns:
            One dict per value, with the keys ``"value"``, ``"estimate"``, ``"low"``, ``"high"``
            and ``"people_about"``, as of :meth:`warner.Estimate.rows`. The list is empty where only
            means were estimated.
        """
        if self.estimate.fit.probabilities is None:
            return []
        bounds = self.interval(level, target, kind)
        shares = zip(self.domain.labels, self.probabilities, bounds, strict=True)
        return [share_row(value, share, limits, self.n) for value, share, limits in shares]

    def table(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> Table:
        """The rows as a table; for the arguments see :meth:`rows`."""
        rows, simulated = self.rows(level, target, kind), self.estimate.data.simulated
        return Table(share_columns(level), rows, (), repr(self), simulated)

    def range(self, low: float, high: float) -> Quantity:
        """The share of the key's values from low to high, both included.

        Args:
            low, high: the limits of the range, as of :meth:`warner.Estimate.range`.

        Returns:
            A float with a method ``interval``, as of :meth:`warner.Estimate.range`.

        Raises:
            ArgumentTypeError: the values are not points on a line.
            ArgumentError: a limit outside the values, or ``low`` above ``high``.
        """
        return self._summary(mass, low, high)

    @property
    def _shape(self) -> tuple[int, int]:
        """The number of blocks of cells like the key's, and the number of cells in each."""
        return _attributes(self.estimate)[0].size, self.domain.size

    @property
    def _block(self) -> slice:
        """The places of the key's cells among all cells."""
        return slice(self.index * self.domain.size, (self.index + 1) * self.domain.size)

    @cached_property
    def _moments(self) -> KeyMoments | None:
        """Unbiased frequencies and sums of values, where reports are of keys with values."""
        from warner.estimators.key_value import key_moments

        return key_moments(self.estimate.data) if self.estimate.data.channel.is_keyed else None

    def _summary(self, summary: Callable[..., Any], *arguments: Any) -> Quantity:
        """A summary of the key's values, with the interval of a function of all shares."""
        from warner.estimators.key_value import PerKey

        of_key = summary(BlockShares(self.probabilities, self.domain, self.estimate), *arguments)
        if not isinstance(of_key, Quantity):
            rule = "must be numbers on a line"
            remedy = "Use Interval or Integers"
            raise ArgumentTypeError("values", rule, type(self.domain).__name__, remedy)
        solution, method = self.estimate, self.estimate.estimator
        if isinstance(method, PerKey):
            solution = replace(solution, estimator=method.alone(self.index))
        return Quantity(float(of_key), solution, WithinBlock(of_key._of, self._block))


@dataclass(frozen=True, eq=False)
class Answered(Conditional):
    """The estimated distribution among the people who gave an answer.

        theta_(v | answered) = theta_v / f,   f = 1 - the share of nonresponse

    It has the methods of :class:`Conditional`: shares, mean, variance, quantiles and ranges, with
    intervals. The mean and the variance of places are tuples, of a number for each coordinate.
    ``frequency`` is f, and ``n`` the estimated number of people who answered. It says
    nothing about what silent people would have answered.

    >>> from warner import Integers, SubsetSelection, estimate
    >>> from warner.domains import with_missing
    >>> units = SubsetSelection(with_missing(Integers(0, 4), "answer"), 4.0)
    >>> answers = [1, 2, None, 3, 2] * 2000
    >>> given = estimate(units.tally(units.randomize(answers))).answered()
    >>> round(given.frequency, 1), round(given.mean(), 1), given.domain
    (0.8, 2.0, Integers(low=0, high=4))
    """

    key: Any = None
    index: int = 0

    def __repr__(self) -> str:
        about = f"{self.estimate.method}, K={self.domain.size}, n={self.n:.0f}"
        return f"Answered({about}, status={self.status.name})"

    @property
    def domain(self) -> Domain:
        """The K values, without nonresponse."""
        return self.estimate.domain.answered

    @property
    def frequency(self) -> float:
        """The estimated share of people who answered."""
        return float(self.estimate.probabilities[self._block].sum())

    def row(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> dict[str, Any]:
        """The share of people who answered, as a row of a table.

        Args:
            level: coverage of the interval, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            kind: ``"anytime:N"`` for an interval that holds at every look; None for the default.

        Returns:
            A dict with the keys of :meth:`warner.Estimate.rows`. Its interval is one minus that of
            the share of nonresponse: by the posterior of smooth estimates, otherwise a score
            interval.
        """
        solution, limits = self.estimate, np.array([0.0, 1.0])
        if kind is None and solution.has_posterior_intervals and target == "population":
            limits = 1 - interval(solution, level, target, "posterior")[-1, ::-1]
        elif solution.has_intervals:
            nonresponse = interval(solution, level, target, kind or "score")[-1:]
            limits = 1 - nonresponse[0, ::-1]
        return share_row("(answered)", self.frequency, limits, self.estimate.n)

    def interval(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> np.ndarray:
        """Intervals for the shares of the values among the people who answered.

        They are of the posterior of theta_v / f where the estimate has one and the target is the
        population, as of :meth:`warner.Estimate.interval`. Otherwise they are made as in
        :meth:`Conditional.interval`, which needs a channel that can be inverted.

        Args:
            level: coverage, in [0.5, 1), of each interval separately.
            target: ``"population"`` or ``"respondents"``.
            kind: ``"anytime:N"`` for intervals that hold at every look; None for the default.

        Returns:
            (V, 2) low and high of each share.
        """
        by_draws = self.estimate.has_posterior_intervals and target == "population"
        if kind is not None or not by_draws:
            return super().interval(level, target, kind)
        bounds = posterior(self.estimate, level, target, lambda theta: within(theta, self._block))
        return holding(bounds, self.probabilities)

    def _summary(self, summary: Callable[..., Any], *arguments: Any) -> Any:
        """A summary of the answers, without nonresponse."""
        return summary(self.estimate, *arguments)

    @property
    def _shape(self) -> tuple[int, int]:
        return 1, self.domain.size

    @property
    def _block(self) -> slice:
        return slice(0, self.domain.size)


def answered(estimate: Solution) -> Answered:
    """The distribution among those who answered: see :meth:`warner.Estimate.answered`."""
    if estimate.domain.nonresponse is None:
        rule = 'must have "no answer" as one of its values'
        remedy = (
            'Use warner.domains.with_missing(domain, "answer"); in a study file, missing = "answer"'
        )
        raise ArgumentTypeError("estimate", rule, type(estimate.domain).__name__, remedy)
    return Answered(estimate)


def those_who_answered(result: Any) -> list[tuple[Key, Answered]]:
    """The distribution among those who answered of each group that was estimated alone.

    The key is () where an estimate has no groups. The list is empty where nonresponse is no value.
    """
    if result.domain.nonresponse is None or result.fit.probabilities is None:
        return []
    if result.groups is None:
        return [((), Answered(result))]
    # Groups that were pooled have no members: the share of who answered is not pooled by itself.
    groups = [*zip(result.groups.table.keys, result.groups.members, strict=False)]
    of_groups = [*groups, *result.groups.last]
    return [(key, Answered(member)) for key, member in of_groups if member is not None]


def conditional(estimate: Solution, key: Any) -> Conditional:
    """The distribution of values given a key: see :meth:`warner.Estimate.conditional`."""
    keys, _ = _attributes(estimate)
    estimate.data.require_simple_sample("conditional", "Use compare_groups(tally, by=...)")
    try:
        index = int(keys.encode([key])[0])
    except (ValuesError, ArgumentTypeError):
        index = -1
    if index < 0:
        labels = ", ".join(show(value) for value in keys.labels[:6])
        more = ", ..." if keys.size > 6 else ""
        raise ArgumentError("key", f"must be one of the keys {labels}{more}", show(key))
    return Conditional(estimate, key, index)


def frequencies(
    estimate: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, Any]]:
    """The share of people with every key: of l slots of which one is drawn, l times the draws'."""
    from warner.estimators.key_value import of_keys

    keys, _ = _attributes(estimate)
    shares, times = _shares(estimate), 1
    if estimate.data.channel.is_keyed:
        bounds = score(of_keys(estimate.data), shares, level, target)
    else:
        first = next(iter(estimate.domain.attributes))
        bounds = interval(marginal_estimate(estimate, first), level, target)
    if keys.pairs is not None:
        times, shares, bounds = keys.pairs, shares[:-1], bounds[:-1]
        if estimate.fit.status is not Status.OUTSIDE_SIMPLEX:
            shares = np.clip(shares, 0.0, 1 / times)  # nobody holds a key more than once
    # The intervals are around the unbiased estimate, and may not hold the estimate of a method
    # that shrinks.
    bounds = np.clip(times * holding(bounds, shares), 0.0, 1.0)
    return [
        share_row(key, share, limits, estimate.n)
        for key, share, limits in zip(keys.labels, times * shares, bounds, strict=False)
    ]


def key_rows(
    estimate: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, Any]]:
    """The frequency and mean of every key: see :meth:`warner.Estimate.key_rows`."""
    if not estimate.data.channel.is_keyed:
        return []
    rows = frequencies(estimate, level, target)
    for index, row in enumerate(rows):
        of_key = Conditional(estimate, row["value"], index)
        mean_of_key = of_key.mean()
        low, high = mean_of_key.interval(level, target)
        row |= {
            "mean": float(mean_of_key),
            "mean_low": float(low),
            "mean_high": float(high),
            "status": of_key.status.name.lower(),
        }
    return rows


def _attributes(estimate: Solution) -> tuple[Domain, Domain]:
    """The domains of keys and of values; refused where there are not two attributes."""
    domain = estimate.domain
    if len(domain.attributes) != 2:
        rule = "must be of two questions (a Product), such as a key and a value"
        remedy = "For the shares of this estimate, call rows()"
        several = f"{len(domain.attributes)} questions" if domain.attributes else "one question"
        raise ArgumentTypeError("estimate", rule, several, remedy)
    keys, values = domain.attributes.values()
    return keys, values


def _shares(estimate: Solution) -> np.ndarray:
    """The frequency (d,) of every key; of draws where people hold several pairs."""
    if estimate.fit.keys is not None:
        return estimate.fit.keys.frequencies
    return np.asarray(estimate.probabilities.reshape(_attributes(estimate)[0].size, -1).sum(axis=1))
