"""How far two attributes depend on each other, and which to group: Cramer's V from noisy reports.

    V^2 = sum_ij D_ij^2 / (a_i b_j) / (min(r, c) - 1),   D = T - a b',   a, b the marginals of the joint shares T

Of an estimate of T, V is far too large where the noise is: squares of noise add up, and noise is not dependence. So here

    V^2 = sum_ij (D_ij^2 - Var D_ij) / (a_i b_j) / (min(r, c) - 1)

with D from the unbiased estimate, negative cells and all, and the unbiased variance of its linear part. With a, b given, D = (I - a 1') T (I - b 1')'
is linear in T, so D_ij is the mean of one number g_ij(y) per report and Var D_ij = (mean of g_ij^2 - D_ij^2) / (n - 1). (For open answers
this is nearly Bergsma's correction, (r - 1)(c - 1) / (n - 1).) The marginals that divide are the projected ones, and no
smaller than their standard error: shares that noise cannot tell from 0 would divide by chance.
"""

from __future__ import annotations

from math import prod

import numpy as np

from warner._core.checks import choice, integer, probability
from warner._core.errors import (
    ArgumentError,
    EmptyError,
    message,
)
from warner.channels import LARGEST_DENSE, Channel, KroneckerChannel, SummedChannel, marginal
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics import cramers_v as plain
from warner.metrics.simplex import project
from warner.results.marginals import places

_ROUNDS = 8  # until an end of the interval is where its own errors put it
_MOST = 1024.0  # times the dependence found


class Association(float):
    """Cramer's V as estimated, in [0, 1], and how sure it is.

    >>> from warner import Categorical, Product, RandomizedResponse, estimate
    >>> both = RandomizedResponse(Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"])), 3.0)
    >>> v = estimate(both.tally(both.randomize([{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 500))).cramers_v("a", "b")
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
    ) -> np.ndarray:
        """A confidence interval (2,) for the population's V, by test inversion with a parametric bootstrap.

            { V : quantile(a/2) of V^2* at V <= V^2 found <= quantile(1 - a/2) }

        V^2* from tallies simulated at distributions with that V: the projected estimate with its dependence D scaled.
        The noise of V^2 grows with V, so each end is judged with its own.

        Args:
            level: coverage asked for, in (0, 1).
            target: only ``"population"``.
            replicates: how many simulated tallies for each end, at least 20; on the way there a quarter of that in each of seven rounds.
            rng: None for fresh randomness.
        """
        alpha = 1 - probability("level", level)
        choice("target", target, ("population",))
        integer("replicates", replicates, 20)
        rng = np.random.default_rng() if rng is None else rng
        found = self._pair.square(self._pair.weights)
        reach = 3 * float(np.ptp(self._pair.errors(float(self), replicates, rng)))
        ends = []
        # From far outside inwards, to the outermost V that the data allow: from V itself nothing moves where noise left V^2 below 0.
        for q, square in ((1 - alpha / 2, found - reach), (alpha / 2, max(0.0, found) + reach)):
            for left in reversed(range(_ROUNDS)):
                # On the way a rough end will do.
                errors = self._pair.errors(
                    float(np.sqrt(np.clip(square, 0.0, 1.0))),
                    max(20, replicates // 4) if left else replicates,
                    rng,
                )
                square = found - float(np.quantile(errors, q, method="weibull"))
            ends.append(float(np.sqrt(np.clip(square, 0.0, 1.0))))
        return np.array([min(ends), max(ends)])


class Pair:
    """The evidence of two attributes with r and c values, and the corrected V^2 of any weights of its channel.

    Args:
        channel: of the pair, (m, r c).
        weights: (m,).
        n: number of reports.
        shape: (r, c).
    """

    def __init__(
        self, channel: Channel, weights: np.ndarray, n: int, shape: tuple[int, int]
    ) -> None:
        self.channel, self.weights, self.n, self.shape = channel, weights, n, shape

    def square(self, w: np.ndarray) -> float:
        """Corrected V^2, which noise may make negative."""
        table = self.channel.invert(w).reshape(self.shape)
        sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
        # D = (I - a 1') T (I - b 1')'.
        maps = [np.eye(side.size) - side[:, None] for side in sides]
        d = maps[0] @ table @ maps[1].T
        variance = (self._squares(w, maps) - d**2) / (self.n - 1)
        floors = [
            np.maximum(side, np.maximum(sd, 1e-300))
            for side, sd in zip(sides, self._deviations(w, sides), strict=True)
        ]
        return float(((d**2 - variance) / np.multiply.outer(*floors)).sum() / (min(self.shape) - 1))

    def _squares(self, w: np.ndarray, maps: list[np.ndarray]) -> np.ndarray:
        """Means (r, c) over the reports of g_ij^2, whose means are D_ij; for attributes randomised apart g is a product."""
        if isinstance(self.channel, KroneckerChannel):
            one, two = (
                (channel.influence(side.T)) ** 2
                for channel, side in zip(self.channel.channels, maps, strict=True)
            )
            return one.T @ w.reshape(one.shape[0], -1) @ two
        squares = self.channel.influence(np.kron(maps[0], maps[1]).T) ** 2
        return (squares.T @ w).reshape(self.shape)

    def _deviations(self, w: np.ndarray, sides: list[np.ndarray]) -> list[np.ndarray]:
        """Standard errors of the two marginals."""
        out = []
        for side, shares in enumerate(sides):
            found = marginal(self.channel, w, self.shape, [side])
            channel = (
                SummedChannel(self.channel, self.shape, [side], np.multiply.outer(*sides).ravel())
                if found is None
                else found[0]
            )
            out.append(np.sqrt(channel.variance(shares) / self.n))
        return out

    def errors(self, v: float, replicates: int, rng: np.random.Generator) -> np.ndarray:
        """V^2* - V^2 (replicates,) of tallies simulated at a distribution whose V is v, as near as there is one."""
        centre = self._at(v)
        true = plain(centre) ** 2
        return np.array(
            [
                self.square(self.channel.simulate(centre.ravel(), self.n, rng)) - true
                for _ in range(replicates)
            ]
        )

    def _at(self, v: float) -> np.ndarray:
        """A distribution (r, c) with V = v like the estimate: a b' + s D projected on the simplex, the factor s found by bisection."""
        table = self.channel.invert(self.weights).reshape(self.shape)
        even = np.multiply.outer(*(project(table.sum(axis=1 - side)) for side in (0, 1)))

        def scaled(s: float) -> np.ndarray:
            return project((even + s * (table - even)).ravel()).reshape(self.shape)

        low, high = 0.0, 1.0
        while plain(scaled(high)) < v and high < _MOST:
            high *= 2
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if plain(scaled(middle)) < v else (low, middle)
        return scaled(high)


def cramers_v(data: LikelihoodData, first: str, second: str) -> Association:
    """Cramer's V of two attributes, corrected for the noise, whatever method the shares are estimated by.

    The plain V of estimated shares is ``metrics.cramers_v(estimate.marginal([a, b]).probabilities.reshape(...))``; it is too large.

    Raises:
        ArgumentError: not two attributes of the domain, or reports that are known by parts only, or too many.
        EmptyError: fewer than two reports.
    """
    domain = data.domain
    keep = places(domain, [first, second], least=2)
    if data.n < 2:
        raise EmptyError(message("n", "must be at least 2 for an association", str(data.n)))
    channel = data.channel
    found = marginal(channel, data.weights, domain.shape, keep)
    if found is None:
        plug = project(channel.invert(data.weights))
        found = SummedChannel(channel, domain.shape, keep, plug), data.weights
    shape = (domain.shape[keep[0]], domain.shape[keep[1]])
    rows = found[0].shape[0]
    hidden = isinstance(found[0], SummedChannel) and not found[0].has_moments
    if (
        found[0].rows_per_report != 1
        or hidden
        or (not isinstance(found[0], KroneckerChannel) and rows * prod(shape) > LARGEST_DENSE)
    ):
        remedy = "Randomise each attribute by itself, with reports that are values, or take metrics.cramers_v of the shares of their marginal"
        raise ArgumentError(
            message(
                "cramers_v",
                "needs whole reports whose joint law is listed",
                type(channel).__name__,
                remedy,
            )
        )
    return Association(Pair(found[0], found[1], data.n, shape))
