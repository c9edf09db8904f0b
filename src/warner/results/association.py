"""The dependence of two attributes: Cramer's V from noisy reports.

    V^2 = sum_ij D_ij^2 / (a_i b_j) / (min(r, c) - 1),   D = T - a b'

where a (r,) and b (c,) are the marginals of the joint shares T (r, c) of two attributes with r and
c values. The plain V of an estimate of T is too large, because squares of noise add up. Here

    V^2 = sum_ij (D_ij^2 - Var D_ij) / (a_i b_j) / (min(r, c) - 1)

with D from the unbiased estimate, negative cells included, and the unbiased variance of its linear
part. For given a and b, D = (I - a 1') T (I - b 1')' is linear in T. So D_ij is the mean of a
number g_ij(y) per report, and Var D_ij = (mean of g_ij^2 - D_ij^2) / (n - 1). For answers without
noise this is nearly Bergsma's correction, (r - 1)(c - 1) / (n - 1). The marginals in the
denominator are projected on the simplex, and each is at least its standard error, because shares
near 0 are mostly noise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod

import numpy as np

from warner._core.checks import choice, confidence_level, integer
from warner._core.errors import ArgumentError, EmptyError
from warner._core.progress import in_blocks, steps
from warner.channels import LARGEST_DENSE, FloatArray, LikelihoodOperator, SummedChannel
from warner.estimators.base import LikelihoodData
from warner.metrics import cramers_v as plain, project
from warner.results.solution import positions, summed_reports

_ROUNDS = 8  # rounds of the search for an end of the interval
_ENTRIES = 2**22  # of an array of reports by tallies, or of reports by cells
_SMALL_TABLE = 256  # cells
_LARGEST_FACTOR = 1024.0  # of the estimated dependence, in simulated distributions


class Association(float):
    """The estimate of Cramer's V, a number in [0, 1] with a confidence interval.

    >>> from warner import Categorical, Product, RandomizedResponse, estimate
    >>> domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    >>> both = RandomizedResponse(domain, 3.0)
    >>> answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 500
    >>> v = estimate(both.tally(both.randomize(answers))).cramers_v("a", "b")
    >>> low, high = v.interval(replicates=50)
    >>> bool(v > 0.8), bool(0.7 < low <= high <= 1)
    (True, True)
    """

    _pair: Pair

    def __new__(cls, pair: Pair) -> Association:
        self = super().__new__(cls, np.sqrt(min(1.0, max(0.0, pair.square(pair.weights)))))
        self._pair = pair
        return self

    def __getnewargs__(self) -> tuple[Pair]:  # type: ignore[override]
        return (self._pair,)

    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        replicates: int = 200,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """A confidence interval (2,) for the population's V.

        It inverts a test with a parametric bootstrap, where V^2_hat is the estimate:

            { V : quantile(alpha/2) of V^2* at V <= V^2_hat <= quantile(1 - alpha/2) }

        V^2* comes from tallies that are simulated at a distribution with that V. This distribution
        is the projected estimate with its dependence D multiplied by a number. The noise of V^2
        grows with V, so each end is tested with its own noise.

        Args:
            level: the coverage 1 - alpha, in [0.5, 1).
            target: only ``"population"``.
            replicates: the number of simulated tallies in the last round of the search for each
                end, at least 20. The seven rounds before use a quarter of this number each.
            rng: None for fresh randomness.

        Returns:
            (2,) low and high, in [0, 1].

        Raises:
            ArgumentError: a level, target or number of replicates outside its range, or reports
                that cannot be simulated.
        """
        alpha = 1 - confidence_level(level)
        choice("target", target, ("population",))
        integer("replicates", replicates, 20)
        rng = np.random.default_rng() if rng is None else rng
        estimate = self._pair.square(self._pair.weights)
        reach = 3 * float(np.ptp(self._pair.errors(float(self), replicates, rng)))
        ends = []
        # Search from outside the interval: starting at V would stall when noise makes the corrected
        # V^2 negative.
        outside = ((1 - alpha / 2, estimate - reach), (alpha / 2, max(0.0, estimate) + reach))
        for q, square in steps(outside, "finding the ends of the interval"):
            for rounds_left in steps(range(_ROUNDS)[::-1], "rounds"):
                # A rough end is enough before the last round.
                errors = self._pair.errors(
                    float(np.sqrt(np.clip(square, 0.0, 1.0))),
                    max(20, replicates // 4) if rounds_left else replicates,
                    rng,
                )
                square = estimate - float(np.quantile(errors, q, method="weibull"))
            ends.append(float(np.sqrt(np.clip(square, 0.0, 1.0))))
        return np.array([min(ends), max(ends)])


class Pair:
    """Reports (m,) of two attributes with r and c values, and their corrected V^2."""

    def __init__(
        self, channel: LikelihoodOperator, weights: FloatArray, n: int, shape: tuple[int, int]
    ) -> None:
        self.channel, self.weights, self.n, self.shape = channel, weights, n, shape

    def square(self, w: FloatArray) -> float:
        """The corrected V^2 from the frequencies w (m,). Noise can make it negative."""
        return float(self.squares(w[:, None])[0])

    def squares(self, w: FloatArray) -> FloatArray:
        """The corrected V^2 (R,) from each column of the frequencies w (m, R)."""
        some = in_blocks(w.shape[1], _ENTRIES, max(self.channel.shape))
        return np.concatenate([self._squares_of(np.ascontiguousarray(w[:, at])) for at in some])

    def _squares_of(self, w: FloatArray) -> FloatArray:
        """:meth:`squares` of so few columns that their tables fit in memory together."""
        table = self._each(self.channel.invert, w).reshape(*self.shape, -1)
        sums = [table.sum(axis=1 - side) for side in (0, 1)]
        sides = [project(each) for each in sums]
        a, b = sides[0][:, None], sides[1][None]
        # D = (I - a 1') T (I - b 1')'.
        d = table - a * sums[1][None] - b * sums[0][:, None] + a * b * sums[0].sum(axis=0)
        variance = (self._second_moments(w, sides) - d**2) / (self.n - 1)
        floors = [
            np.maximum(side, np.maximum(sd, 1e-300))
            for side, sd in zip(sides, self._deviations(sides), strict=True)
        ]
        even = floors[0][:, None] * floors[1][None]
        return np.asarray(((d**2 - variance) / even).sum(axis=(0, 1)) / (min(self.shape) - 1))

    def _each(self, function: Callable[[FloatArray], FloatArray], v: FloatArray) -> FloatArray:
        """A function of the columns of v; one by one where groups used several mechanisms."""
        if len(self.channel.groups()) == 1:
            return function(v)
        return np.stack([function(column) for column in np.ascontiguousarray(v.T)], axis=1)

    def _second_moments(self, w: FloatArray, sides: list[FloatArray]) -> FloatArray:
        """The means (r, c, R) over the reports of g_ij^2, where the mean of g_ij is D_ij.

            g_ij = L_ij - a_i L_+j - b_j L_i+ + a_i b_j L_++

        L_ij(y) is the weight of report y in T_ij.
        """
        factors = self.channel.factors(self.shape)
        if factors is not None:
            first, second = (
                self._squared_numbers(channel, side)
                for channel, side in zip(factors, sides, strict=True)
            )
            tables = np.ascontiguousarray(w.T).reshape(-1, first.shape[2], second.shape[2])
            return np.moveaxis(first @ tables @ second.transpose(0, 2, 1), 0, 2)
        count = w.shape[1]
        a, b = sides[0][:, None], sides[1][None]
        names = ("cc", "cj", "ci", "ij", "cs", "jj", "ii", "js", "is", "ss")
        m = dict.fromkeys(names, np.zeros(()))
        for some in in_blocks(len(w), _ENTRIES, prod(self.shape)):
            cell = self._weights_of_reports[some].reshape(-1, *self.shape)
            j, i = cell.sum(axis=1, keepdims=True), cell.sum(axis=2, keepdims=True)
            parts = {"c": cell, "j": j, "i": i, "s": j.sum(axis=2, keepdims=True)}
            for name in names:
                product = parts[name[0]] * parts[name[1]]
                mean = product.reshape(len(cell), -1).T @ w[some]
                m[name] = m[name] + mean.reshape(*product.shape[1:], count)
        linear = m["cc"] - 2 * a * m["cj"] - 2 * b * m["ci"] + 2 * a * b * (m["ij"] + m["cs"])
        squared = a**2 * m["jj"] + b**2 * m["ii"] + (a * b) ** 2 * m["ss"]
        return np.asarray(linear + squared - 2 * a * b * (a * m["js"] + b * m["is"]))

    @cached_property
    def _weights_of_reports(self) -> FloatArray:
        """L (m, r c): what each report adds to the unbiased estimate of each cell."""
        return self.channel.influence(np.eye(prod(self.shape)))

    @staticmethod
    def _squared_numbers(channel: LikelihoodOperator, side: FloatArray) -> FloatArray:
        """The squares (R, k, m) of L_i(y) - a_i L_+(y) for one attribute with shares a (k, R)."""
        weights = channel.influence(np.eye(len(side))).T
        return np.asarray((weights - side.T[:, :, None] * weights.sum(axis=0)) ** 2)

    def _deviations(self, sides: list[FloatArray]) -> list[FloatArray]:
        """The standard errors of the two marginals, (r, R) and (c, R)."""
        errors = []
        for side, shares in enumerate(sides):
            separate, n = self.channel.marginal(self.weights, self.shape, [side]), self.n
            if separate is not None:
                n = separate[0].n_people(n)  # those who were asked this question
                variances = self._each(lambda t, of=separate[0]: of.variance(t), shares)  # type: ignore[misc]
            else:
                variances = self._variance_of_sums(side, sides)
            errors.append(np.sqrt(variances / n))
        return errors

    def _variance_of_sums(self, side: int, sides: list[FloatArray]) -> FloatArray:
        """The variances of sums of cells over one attribute, where the two are independent."""
        even = (sides[0][:, None] * sides[1][None]).reshape(prod(self.shape), -1)
        channels = [SummedChannel(self.channel, self.shape, [side], t) for t in even.T[:1]]
        if len(self.channel.groups()) > 1 or not channels[0].has_moments:
            channels += [SummedChannel(self.channel, self.shape, [side], t) for t in even.T[1:]]
            shares = sides[side].T
            each = [of.variance(t) for of, t in zip(channels, shares, strict=True)]
            return np.stack(each, axis=1)
        squares = channels[0].influence(np.eye(len(sides[side]))) ** 2
        return np.maximum(squares.T @ self.channel.matvec(even) - sides[side] ** 2, 0.0)

    def errors(self, v: float, replicates: int, rng: np.random.Generator) -> FloatArray:
        """The errors V^2* - V^2 of tallies simulated with V = v, or as near to it as can be."""
        centre = self._distribution_with(v)
        true = plain(centre) ** 2
        drawn = self.channel.simulate_tallies(centre.ravel(), self.n, rng, replicates)
        if all(channel is self.channel for channel, _ in drawn):
            return self.squares(np.stack([weights for _, weights in drawn], axis=1)) - true
        pairs = [
            (Pair(channel, weights, self.n, self.shape), weights) for channel, weights in drawn
        ]
        return np.array([pair.square(weights) for pair, weights in pairs]) - true

    def _distribution_with(self, v: float) -> FloatArray:
        """A distribution (r, c) with V = v: a b' + s D projected on the simplex."""
        table = self.channel.invert(self.weights).reshape(self.shape)
        even = np.multiply.outer(*(project(table.sum(axis=1 - side)) for side in (0, 1)))

        def scaled(s: FloatArray) -> FloatArray:
            """a b' + s D, projected, for several s: (r, c, S)."""
            tables = even[..., None] + s * (table - even)[..., None]
            return project(tables.reshape(even.size, -1)).reshape(*self.shape, -1)

        low, high = 0.0, 1.0
        while _plain(scaled(np.array([high])))[0] < v and high < _LARGEST_FACTOR:
            high *= 2
        # Many points at a time save time where a table is small, and cost time where it is large.
        bits = 5 if even.size <= _SMALL_TABLE else 1
        for _ in range(30 // bits):
            between = low + (high - low) * np.arange(1, 2**bits) / 2**bits
            below = int(np.count_nonzero(np.cumprod(_plain(scaled(between)) < v)))
            bounds = [low, *between, high]
            low, high = bounds[below], bounds[below + 1]
        return scaled(np.array([high]))[..., 0]


def _plain(tables: FloatArray) -> FloatArray:
    """``metrics.cramers_v`` of several distributions (r, c, S)."""
    even = tables.sum(axis=1)[:, None] * tables.sum(axis=0)[None]
    parts = np.divide((tables - even) ** 2, even, out=np.zeros_like(even), where=even > 0)
    least = min(tables.shape[:2]) - 1
    return np.asarray(np.sqrt(np.minimum(1.0, parts.sum(axis=(0, 1)) / least)))


def cramers_v(data: LikelihoodData, first: str, second: str) -> Association:
    """Cramer's V corrected for the noise: see :meth:`warner.Estimate.cramers_v`."""
    if data.reports_per_person > 1:
        rule = "needs one report of each person"
        got = f"up to {data.reports_per_person} reports of one person"
        remedy = (
            "Call metrics.cramers_v with the estimated shares, and expect a value that is "
            "somewhat too large"
        )
        raise ArgumentError("cramers_v", rule, got, remedy)
    data.require_simple_sample("cramers_v", "Use warner.results.independence")
    return Association(pair_of(data, first, second))


def pair_of(data: LikelihoodData, first: str, second: str) -> Pair:
    """The reports about two attributes."""
    domain = data.domain
    keep = positions(domain, [first, second], least=2)
    if data.n < 2:
        raise EmptyError("reports", "must be at least 2 for an association", str(data.n))
    on_pair = data.on_attributes(keep)
    if on_pair is None:
        on_pair = summed_reports(data, keep, project(data.channel.invert(data.weights)))
    pair = on_pair.channel
    shape = (domain.shape[keep[0]], domain.shape[keep[1]])
    is_large = pair.factors(shape) is None and pair.shape[0] * prod(shape) > LARGEST_DENSE
    if pair.rows_per_report != 1 or not pair.has_moments or is_large:
        rule = "needs a mechanism whose possible reports can all be listed"
        remedy = "Call metrics.cramers_v with the estimated shares of both questions"
        raise ArgumentError("cramers_v", rule, None, remedy)
    return Pair(pair, on_pair.weights, on_pair.n, shape)
