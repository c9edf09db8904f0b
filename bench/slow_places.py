"""Claim: places that took seconds take a fraction of them, with the same numbers.

Each fast way runs side by side with a slow twin, which computes the same one by one or with a
matrix. The estimates of both agree. The bars are the ratios that hold with a margin; where a bar is
below ten, the time that is left is that of draws, or of small matrices that differ by tally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from _measure import SEED, alternate, claim, faster
from warner import (
    Grid,
    Integers,
    MaximumLikelihood,
    PerAttribute,
    PlanarGeometric,
    Product,
    RandomizedResponse,
    UnaryEncoding,
)
from warner.channels import Channel, KroneckerChannel
from warner.channels.planar import PlacedChannel
from warner.design.planning import _simulated_again, plan
from warner.estimators import Estimator, ExpectationMaximization
from warner.estimators.base import LikelihoodData, threads_for
from warner.mechanisms import Mechanism
from warner.metrics import project
from warner.results.association import Pair

REPLICATES = 40


class _Formed(KroneckerChannel):
    """The same channel, whose columns are formed for their products."""

    @property
    def has_fast_gram_among(self) -> bool:
        return False


class _Whole(PlacedChannel):
    """The same channel, with the products of all cells."""

    def restrict_to_observed(self, w: np.ndarray) -> tuple[PlacedChannel, np.ndarray]:
        return self, w


def _agree(text: str, first: Any, second: Any, tolerance: float) -> None:
    """The line that says whether two ways give the same numbers."""
    most = float(np.abs(np.asarray(first) - np.asarray(second)).max())
    claim(f"{text}: the same numbers", most <= tolerance, f"largest difference {most:.1e}")


def two_unary_attributes(rng: np.random.Generator) -> None:
    """The maximum of the likelihood of two unary attributes of 64 values each."""
    product = Product(a=Integers(0, 63), b=Integers(0, 63))
    one = UnaryEncoding(Integers(0, 63), 2.0)
    fast = PerAttribute(product, {"a": one, "b": one}).channel()
    assert isinstance(fast, KroneckerChannel)
    x = np.arange(64)
    theta = np.exp(-(((x[:, None] - 20) / 8) ** 2) / 2 - ((x - x[:, None]) / 5) ** 2 / 2).ravel()
    w = fast.simulate(theta / theta.sum(), 100_000, rng)
    data = [
        LikelihoodData(channel, w, 100_000, product) for channel in (fast, _Formed(fast.channels))
    ]
    fits: dict[int, Any] = {}
    seconds = alternate(
        {
            name: lambda at=at: fits.__setitem__(at, MaximumLikelihood().fit(data[at]))
            for at, name in enumerate(("fast", "slow"))
        }
    )
    faster("the maximum of two unary attributes of 64 values", *seconds.values(), 7)
    values = [fits[at].log_likelihood / 100_000 for at in (0, 1)]
    _agree("two unary attributes, log-likelihood per report", *values, 2e-9)


def _one_square(channel: Channel, w: np.ndarray, n: int, shape: tuple[int, int]) -> float:
    """The corrected V^2 of one tally, with the numbers of every report for every cell."""
    table = channel.invert(w).reshape(shape)
    sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
    maps = [np.eye(side.size) - side[:, None] for side in sides]
    d = maps[0] @ table @ maps[1].T
    squares = (channel.influence(np.kron(maps[0], maps[1]).T) ** 2).T @ w
    variance = (squares.reshape(shape) - d**2) / (n - 1)
    floors = []
    for side, shares in enumerate(sides):
        marginal = channel.marginal(w, shape, [side])
        assert marginal is not None
        floors.append(np.maximum(shares, np.sqrt(marginal[0].variance(shares) / n)))
    return float(((d**2 - variance) / np.multiply.outer(*floors)).sum() / (min(shape) - 1))


def associations(rng: np.random.Generator) -> None:
    """The simulated squares of Cramer's V of two attributes of 20 values each."""
    channel = RandomizedResponse(Integers(0, 399), 2.0).channel()
    drawn = channel.simulate_tallies(rng.dirichlet(np.ones(400)), 20_000, rng, REPLICATES)
    w = np.stack([each for _, each in drawn], axis=1)
    pair = Pair(channel, w[:, 0], 20_000, (20, 20))
    one_by_one = lambda: [_one_square(channel, each, 20_000, (20, 20)) for each in w.T]
    seconds = alternate({"fast": lambda: pair.squares(w), "slow": one_by_one})
    faster("the interval of Cramer's V, 20 by 20 values", *seconds.values(), 5)
    _agree("Cramer's V, squares", pair.squares(w), one_by_one(), 1e-9)


def bootstrap(text: str, bar: float, mechanism: Mechanism, method: Estimator) -> None:
    """Replicates of a bootstrap, from an estimate of 20,000 reports."""
    channel, domain, rng = mechanism.channel(), mechanism.domain, np.random.default_rng(SEED)
    theta, found = rng.dirichlet(np.full(domain.size, 0.3)), {}
    first = LikelihoodData(channel, channel.simulate(theta, 20_000, rng), 20_000, domain)
    near = method.fit(first).shares
    drawn = channel.simulate_tallies(near, 20_000, rng, REPLICATES)
    several = [LikelihoodData(of, w, 20_000, domain) for of, w in drawn]

    def fast() -> None:
        with threads_for(first):
            found["fast"] = np.array(list(method.refit_all(several, near)))

    def slow() -> None:
        with threads_for(first):
            found["slow"] = np.array([method.fit(data).shares for data in several])

    seconds = alternate({"fast": fast, "slow": slow})
    faster(f"the bootstrap of {text}", *seconds.values(), bar)
    _agree(f"the bootstrap of {text}, shares", found["fast"], found["slow"], 1e-4)


def bootstraps() -> None:
    """A maximum of 384 cells, and EM on a grid."""
    sizes = (8, 6, 8)
    product = Product(**{name: Integers(0, k - 1) for name, k in zip("abc", sizes, strict=True)})
    parts = {name: RandomizedResponse(d, 1.0) for name, d in product.attributes.items()}
    bootstrap("a maximum of 384 cells", 1.5, PerAttribute(product, parts), MaximumLikelihood())
    walk = PlanarGeometric(Grid(10, 10, 1.0), 1.0)
    bootstrap("EM on a grid", 1.5, walk, ExpectationMaximization("auto"))


def plans() -> None:
    """The plan of an attribute whose mechanisms were simulated for another attribute."""
    ask = lambda: plan(Integers(0, 63), 1.0, 10_000, loss="w1", runs=2)
    ask()
    again = alternate({"again": ask})["again"]
    first = alternate({"first": ask}, 1, {"first": _simulated_again.cache_clear})["first"]
    faster("the plan of an attribute like another", again, first, 10)


def places_beyond_the_grid(rng: np.random.Generator) -> None:
    """EM with a chosen number of steps, for reports of places that may lie outside the grid."""
    grid = Grid(16, 16, 1.0)
    fast = PlanarGeometric(grid, 0.5, truncated=False).channel()
    assert isinstance(fast, PlacedChannel)
    slow = _Whole(fast.inner, fast._places, fast._reports, fast._nearest)
    theta = np.exp(-((grid.points - 6) ** 2).sum(axis=1) / 12)
    w = fast.simulate(theta / theta.sum(), 20_000, rng)
    found: dict[str, Any] = {}

    def fit(name: str, channel: Channel) -> None:
        data = LikelihoodData(channel, w, 20_000, grid)
        found[name] = ExpectationMaximization("auto").fit(data).shares

    seconds = alternate({"fast": lambda: fit("fast", fast), "slow": lambda: fit("slow", slow)}, 1)
    faster("EM for places beyond the grid", *seconds.values(), 10)
    _agree("places beyond the grid, shares", found["fast"], found["slow"], 1e-9)


def main() -> None:
    """Ratios and agreement of every fast way and its slow twin."""
    rng = np.random.default_rng(SEED)
    two_unary_attributes(rng)
    associations(rng)
    bootstraps()
    plans()
    places_beyond_the_grid(rng)


if __name__ == "__main__":
    main()
