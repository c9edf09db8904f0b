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

from math import prod

import numpy as np

from warner._core.checks import choice, integer, probability
from warner._core.errors import ArgumentError, EmptyError, message
from warner._core.progress import steps
from warner.channels import LARGEST_DENSE, FloatArray, LikelihoodOperator, SummedChannel, kron
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics import cramers_v as plain
from warner.metrics.simplex import project
from warner.results.marginals import positions

_ROUNDS = 8  # rounds of the search for an end of the interval
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
            level: the coverage 1 - alpha, in (0, 1).
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
        alpha = 1 - probability("level", level)
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
    """The reports about two attributes with r and c values, and the corrected V^2 of them.

    Args:
        channel: A (m, r c), the channel of the reports about the pair.
        weights: (m,), the frequencies of its rows.
        n: the number of reports.
        shape: (r, c).
    """

    def __init__(
        self, channel: LikelihoodOperator, weights: FloatArray, n: int, shape: tuple[int, int]
    ) -> None:
        self.channel, self.weights, self.n, self.shape = channel, weights, n, shape

    def square(self, w: FloatArray) -> float:
        """The corrected V^2 from the frequencies w (m,). Noise can make it negative."""
        table = self.channel.invert(w).reshape(self.shape)
        sides: list[FloatArray] = [project(table.sum(axis=1 - side)) for side in (0, 1)]
        # D = (I - a 1') T (I - b 1')'.
        maps = [np.eye(side.size) - side[:, None] for side in sides]
        d = maps[0] @ table @ maps[1].T
        variance = (self._squares(w, maps) - d**2) / (self.n - 1)
        floors = [
            np.maximum(side, np.maximum(sd, 1e-300))
            for side, sd in zip(sides, self._deviations(w, sides), strict=True)
        ]
        return float(((d**2 - variance) / np.multiply.outer(*floors)).sum() / (min(self.shape) - 1))

    def _squares(self, w: FloatArray, maps: list[FloatArray]) -> FloatArray:
        """The means (r, c) over the reports of g_ij^2, where the mean of g_ij is D_ij.

        For attributes that were randomised separately, g is a product.
        """
        factors = self.channel.factors(self.shape)
        if factors is not None:
            first, second = (
                (channel.influence(side.T)) ** 2
                for channel, side in zip(factors, maps, strict=True)
            )
            return first.T @ w.reshape(first.shape[0], -1) @ second
        squares = self.channel.influence(kron(maps[0], maps[1]).T) ** 2
        means: FloatArray = squares.T @ w
        return means.reshape(self.shape)

    def _deviations(self, w: FloatArray, sides: list[FloatArray]) -> list[FloatArray]:
        """The standard errors of the two marginals."""
        errors = []
        for side, shares in enumerate(sides):
            separate = self.channel.marginal(w, self.shape, [side])
            if separate is None:
                even = np.multiply.outer(*sides).ravel()
                channel: LikelihoodOperator = SummedChannel(self.channel, self.shape, [side], even)
            else:
                channel = separate[0]
            errors.append(np.sqrt(channel.variance(shares) / self.n))
        return errors

    def errors(self, v: float, replicates: int, rng: np.random.Generator) -> FloatArray:
        """The errors V^2* - V^2 of simulated tallies at a distribution with V = v.

        If no distribution has V = v, the one with V nearest to v is used.

        Args:
            v: Cramer's V, in [0, 1].
            replicates: the number of simulated tallies.
            rng: the generator.

        Returns:
            (replicates,).
        """
        centre = self._distribution_with(v)
        true = plain(centre) ** 2
        squares = []
        for _ in steps(range(replicates), "simulating"):
            channel, weights = self.channel.simulate_tally(centre.ravel(), self.n, rng)
            squares.append(Pair(channel, weights, self.n, self.shape).square(weights) - true)
        return np.array(squares)

    def _distribution_with(self, v: float) -> FloatArray:
        """A distribution (r, c) with V = v: a b' + s D projected on the simplex, s by bisection."""
        table = self.channel.invert(self.weights).reshape(self.shape)
        even = np.multiply.outer(*(project(table.sum(axis=1 - side)) for side in (0, 1)))

        def scaled(s: float) -> FloatArray:
            """a b' + s D, projected."""
            return project((even + s * (table - even)).ravel()).reshape(self.shape)

        low, high = 0.0, 1.0
        while plain(scaled(high)) < v and high < _LARGEST_FACTOR:
            high *= 2
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if plain(scaled(middle)) < v else (low, middle)
        return scaled(high)


def cramers_v(data: LikelihoodData, first: str, second: str) -> Association:
    """Cramer's V of two attributes, corrected for the noise of the reports.

    It does not depend on the method that estimates the shares. The plain V of estimated shares,
    ``metrics.cramers_v(estimate.marginal([a, b]).probabilities.reshape(...))``, is too large.

    Args:
        data: reports on a Product.
        first, second: names of two attributes.

    Returns:
        Association: V in [0, 1], a float with a method ``interval``.

    Raises:
        ArgumentError: not two attributes of the domain, bit sums instead of whole reports, too
            many possible reports, or several reports of one person.
        EmptyError: fewer than two reports.
    """
    if data.reports_per_person > 1:
        rule = "needs people who send one report each"
        got = f"up to {data.reports_per_person} reports of one person"
        remedy = "Take metrics.cramers_v of the estimated shares, which is too large"
        raise ArgumentError(message("cramers_v", rule, got, remedy))
    return Association(pair_of(data, first, second))


def pair_of(data: LikelihoodData, first: str, second: str) -> Pair:
    """The reports about two attributes.

    Args:
        data: reports on a Product.
        first, second: names of two attributes.

    Raises:
        ArgumentError: not two attributes of the domain, bit sums instead of whole reports, or too
            many possible reports.
        EmptyError: fewer than two reports.
    """
    domain = data.domain
    keep = positions(domain, [first, second], least=2)
    if data.n < 2:
        raise EmptyError(message("n", "must be at least 2 for an association", str(data.n)))
    channel = data.channel
    separate = channel.marginal(data.weights, domain.shape, keep)
    if separate is None:
        plug = project(channel.invert(data.weights))
        pair: LikelihoodOperator = SummedChannel(channel, domain.shape, keep, plug)
        weights = data.weights
    else:
        pair, weights = separate
    shape = (domain.shape[keep[0]], domain.shape[keep[1]])
    is_large = pair.factors(shape) is None and pair.shape[0] * prod(shape) > LARGEST_DENSE
    if pair.rows_per_report != 1 or not pair.has_moments or is_large:
        raise ArgumentError(
            message(
                "cramers_v",
                "needs whole reports, and a list of all possible ones",
                type(channel).__name__,
                "Randomise each attribute by itself, with reports that are values, or take "
                "metrics.cramers_v of the shares of their marginal",
            )
        )
    return Pair(pair, weights, data.n, shape)
