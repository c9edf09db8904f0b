"""Ranks of values: what they promise, one sentence a test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warner
from warner import Categorical, RandomizedResponse
from warner._core.progress import Stage
from warner.estimators.base import LikelihoodData
from warner.results.estimate import Estimate


def _estimate(shares: np.ndarray, n: int, epsilon: float = 2.0) -> Estimate:
    """An estimate from the expected frequencies of reports."""
    domain = Categorical([f"v{i}" for i in range(shares.size)])
    channel = RandomizedResponse(domain, epsilon).channel()
    data = LikelihoodData(channel, channel.matvec(shares), n, domain)
    method = warner.Inversion("project")
    return Estimate(method.fit(data), data, method)


def test_ranks_are_exact_with_many_reports_and_all_with_few() -> None:
    shares = np.array([0.1, 0.4, 0.2, 0.3])
    many, few = (_estimate(shares, n).ranks() for n in (10**7, 20))
    assert many.low.tolist() == many.high.tolist() == [4, 1, 3, 2]
    assert few.low.tolist() == [1] * 4 and few.high.tolist() == [4] * 4
    assert many.rows()[1] == {"value": "v1", "low": 1, "high": 1}
    assert many.is_commoner("v1", "v3") is True and many.is_commoner("v0", "v3") is False
    assert few.is_commoner("v1", "v3") is None and many.is_commoner("v1", "v1") is None
    with pytest.raises(warner.errors.ArgumentError, match="value of the domain"):
        many.is_commoner("v1", "w")


def test_equal_values_share_their_ranks() -> None:
    found = _estimate(np.array([0.5, 0.2, 0.2, 0.1]), 10**6).ranks()
    assert found.low.tolist() == [1, 2, 2, 4] and found.high.tolist() == [1, 3, 3, 4]


@pytest.mark.parametrize("size", [40, 400])
def test_ranks_hold_the_order_of_the_estimates(size: int) -> None:
    """By simulation of all pairs, and beyond 300 values by a bound."""
    shares = np.arange(1.0, size + 1) ** 2
    found = _estimate(shares / shares.sum(), 10**8, 4.0).ranks()
    rank = size - np.arange(size)
    assert ((found.low <= rank) & (rank <= found.high)).all()
    assert found.high[-1] < size / 4 and found.low[0] > size / 4
    pairs = [(0, size - 1), (1, 2), (size - 1, size // 2)]
    for a, b in pairs:
        commoner = found.is_commoner(f"v{a}", f"v{b}")
        assert commoner is None or commoner == (a > b)


def test_a_higher_level_leaves_more_open() -> None:
    result = _estimate(np.array([0.4, 0.35, 0.15, 0.1]), 3000, 1.0)
    open_ = [(lambda r: (r.high - r.low).sum())(result.ranks(level)) for level in (0.5, 0.99)]
    assert open_[0] <= open_[1]
    with pytest.raises(warner.errors.WarnerError, match="target"):
        result.ranks(target="everyone")


@pytest.mark.parametrize("ask", [Estimate.ranks, lambda r: r.interval(kind="simultaneous")])
def test_the_simulation_tells_its_steps(ask: Callable[[Estimate], object]) -> None:
    """With reports that are simulated one by one it takes up to a minute."""
    told: list[tuple[Stage, ...]] = []
    with warner.results.progress(told.append):
        ask(_estimate(np.array([0.1, 0.4, 0.5]), 100))
    (first, *_), (last, *_) = told[0], told[-2]
    assert (first.name, first.done, last.done) == ("simulating", 0, first.total)
