"""The roots of a quadratic are the shares that the score test accepts, tried one by one."""

from __future__ import annotations

import numpy as np
import pytest

from warner import (
    Categorical,
    MatrixMechanism,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from warner.channels import LikelihoodOperator, stacked
from warner.estimators.base import LikelihoodData
from warner.metrics import project
from warner.results.intervals import lower_quantiles, score

SIZE, LEVEL, USUAL = 5, 0.95, 1.959963984540054
DOMAIN = Categorical(list(range(SIZE)))
SHARES = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
GRID = np.linspace(0, 1, 1001)
TABLE = np.random.default_rng(3).dirichlet(np.ones(7), SIZE).T


def _channel(name: str) -> LikelihoodOperator:
    makers = {
        "direct": lambda: RandomizedResponse(DOMAIN, 1.0).channel(),
        "bits": lambda: UnaryEncoding(DOMAIN, 1.0).channel(),
        "subsets": lambda: SubsetSelection(DOMAIN, 1.0).channel(),
        "matrix": lambda: MatrixMechanism(DOMAIN, TABLE).channel(),
        "two": lambda: stacked(
            [RandomizedResponse(DOMAIN, e).channel() for e in (1.0, 3.0)], [120, 80]
        ),
        "no noise": lambda: RandomizedResponse(DOMAIN, np.inf).channel(),
    }
    return makers[name]()


def _tried(data: LikelihoodData, shares: np.ndarray, target: str, x: int) -> tuple[float, float]:
    """The least and the largest share of value x that the test accepts, by trying all of a grid.

    The variance is that of the reports of people of whom a share t has value x and the others
    are as the projected estimates say, from the inverse and the law of the reports alone.
    """
    channel, n, r = data.channel, data.n, data.reports_per_person
    estimate = min(max(float(channel.invert(data.weights)[x]), 0.0), 1.0)
    people = n if target == "respondents" else n / r
    least = USUAL**2 / (people + USUAL**2)
    rest = (1 - least) * project(channel.invert(data.weights)) + least / SIZE
    rest[x] = 0
    rest /= rest.sum()
    z, unit = float(lower_quantiles(shares, LEVEL)[x]), np.eye(SIZE)[x]
    law = channel.support_law()
    people = np.multiply.outer(unit, GRID) + np.multiply.outer(rest, 1 - GRID)
    per_report = np.array([channel.inverse_moments(v)[0][x] for v in people.T]) - GRID**2
    if target == "respondents":
        per_report -= GRID * (1 - GRID)
    elif r > 1:
        whole = [np.full(SIZE, t) for t in GRID], [np.full(SIZE, v) for v in per_report]
        more = [channel.part_of_values(t, v)[x] for t, v in zip(*whole, strict=True)]
        per_report += (r - 1) * np.array(more)
    sd, shift = np.sqrt(np.maximum(per_report, 0) / n), np.zeros(GRID.size)
    if law is not None:
        mu = law.q[x] + law.gap[x] * GRID
        shift = (z**2 - USUAL**2) / 6 * (1 - 2 * mu) / law.gap[x] / (n + z**2)
    low = estimate - GRID <= z * sd + shift
    high = GRID - estimate <= USUAL * sd
    return float(GRID[low.argmax()]), float(GRID[::-1][high[::-1].argmax()])


@pytest.mark.parametrize("name", ["direct", "bits", "subsets", "matrix", "two", "no noise"])
@pytest.mark.parametrize(
    "target, per_person", [("population", 1), ("population", 4), ("respondents", 1)]
)
def test_the_limits_are_those_of_the_tests_tried_one_by_one(
    name: str, target: str, per_person: int
) -> None:
    channel, n = _channel(name), 200
    _, weights = channel.simulate_tally(SHARES, n, np.random.default_rng(0))
    data = LikelihoodData(channel, weights, n, DOMAIN, reports_per_person=per_person)
    shares = channel.invert(weights)
    if name == "no noise" and target == "respondents":
        assert score(data, shares, LEVEL, target) == pytest.approx(
            np.stack([shares, shares], axis=1), abs=1e-9
        )
        return
    fast = score(data, shares, LEVEL, target)
    # The variance of several mechanisms together is exact at the estimate, and near it beyond.
    off = 0.008 if name == "two" else 1.1e-3
    for x in range(SIZE):
        assert fast[x] == pytest.approx(_tried(data, shares, target, x), abs=off)
