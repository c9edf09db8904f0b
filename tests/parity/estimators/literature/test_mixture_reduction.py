"""Mixture reduction against its definition, step by step on dense matrices."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import warner
from tests.parity.estimators.literature._data import _facts
from tests.registry import MECHANISMS
from warner import Integers, Interval
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import deviations


class Slow:
    """[P3 algs 1, 2, 3] word by word: lists of lists of values, dense rows, one loop a line."""

    def __init__(
        self,
        data: LikelihoodData,
        select: str,
        operation: str = "merge",
        k_min: int | None = None,
        factor: float = 2.0,
    ) -> None:
        self.rows = data.channel.dense()
        self.w, self.n, self.rows_per_report = data.weights, data.n, data.channel.rows_per_report
        self.size = self.rows.shape[1]
        self.operation, self.k_min = operation, -(-self.size // 4) if k_min is None else k_min
        self.tau = factor * deviations(data, data.channel, data.weights)
        groups = [[x] for x in range(self.size)]
        weights = [1 / self.size] * self.size
        weights, bic = self.em(groups, weights)
        self.bics, self.undone, t = [bic], False, 1
        while len(groups) > self.k_min:
            spare = len(groups) - self.k_min + (operation == "merge")
            if select == "window":
                chosen, t = self.window(groups, weights, spare, t)
            else:
                chosen = self.lightest(groups, weights, spare, select)
            if len(chosen) < 1 + (operation == "merge"):
                break
            rest = [
                (g, v)
                for i, (g, v) in enumerate(zip(groups, weights, strict=True))
                if i not in chosen
            ]
            if operation == "merge":
                rest.append(
                    (sorted(x for i in chosen for x in groups[i]), sum(weights[i] for i in chosen))
                )
            rest.sort(key=lambda pair: pair[0][0])
            total = sum(v for _, v in rest)
            found, bic = self.em([g for g, _ in rest], [v / total for _, v in rest])
            if bic > self.bics[-1]:
                self.undone = True
                break
            groups, weights, t = [g for g, _ in rest], found, t + 1
            self.bics.append(bic)
        self.components = len(groups)
        self.theta = np.zeros(self.size)
        for g, v in zip(groups, weights, strict=True):
            self.theta[g] = v / len(g)

    def log_likelihood(self, columns: np.ndarray, weights: list[float]) -> float:
        seen = self.w > 0
        if not (columns @ np.array(weights))[seen].all():
            return -math.inf
        return float(
            self.n
            * self.rows_per_report
            * (self.w[seen] @ np.log(self.rows_per_report * (columns @ np.array(weights))[seen]))
        )

    def em(self, groups: list[list[int]], weights: list[float]) -> tuple[list[float], float]:
        columns = np.stack([self.rows[:, g].mean(axis=1) for g in groups], axis=1)
        value, pace = self.log_likelihood(columns, weights), float(self.rows_per_report)
        while True:
            if value == -math.inf:
                return weights, math.inf
            posterior = columns * weights / (columns @ np.array(weights))[:, None]
            now, step = np.array(weights), self.w @ posterior - np.array(weights)
            before = value
            while True:
                # Rows that are parts of reports: as many times as long, but no share loses more
                # than nine tenths unless EM's own step takes it.
                longest = min(
                    (0.9 * a / -b for a, b in zip(now, step, strict=True) if b < 0),
                    default=math.inf,
                )
                moved = now + max(1.0, min(pace, longest)) * step
                weights = list(moved / moved.sum())
                value = self.log_likelihood(columns, weights)
                if pace == 1 or value >= before - 1e-13 * self.n * abs(before / self.n):
                    break
                pace = max(1.0, pace / 2)
            pace = min(float(self.rows_per_report), 2 * pace)
            if value - before < 1e-3:
                return weights, -2 * value + len(groups) * math.log(self.n)

    def lightest(
        self, groups: list[list[int]], weights: list[float], spare: int, select: str
    ) -> list[int]:
        order = sorted(range(len(groups)), key=lambda i: weights[i])
        if select == "half":
            order = order[: len(order) // 2]
        below = [i for i in order if weights[i] < np.mean(self.tau[groups[i]])]
        if select == "lowest":
            below = below[: max(1 + (self.operation == "merge"), len(below) // 2)]
        return below[:spare]

    def window(
        self, groups: list[list[int]], weights: list[float], spare: int, t: int
    ) -> tuple[list[int], int]:
        alone = {g[0]: i for i, g in enumerate(groups) if len(g) == 1}
        while True:
            width = min(math.ceil(self.size / 2**t), spare)
            if width < 1 + (self.operation == "merge"):
                return [], t
            best: tuple[float, int] | None = None
            for k in range(self.size - width + 1):
                if all(x in alone for x in range(k, k + width)):
                    total = sum(weights[alone[x]] for x in range(k, k + width))
                    best = (total, k) if best is None or total < best[0] else best
            if best is not None and best[0] < np.mean(self.tau[best[1] : best[1] + width]):
                return [alone[x] for x in range(best[1], best[1] + width)], t
            if math.ceil(self.size / 2**t) == 1:
                return [], t
            t += 1


@pytest.mark.parametrize(
    "select, operation",
    [
        ("lowest", "merge"),
        ("half", "merge"),
        ("lowest", "prune"),
        ("window", "merge"),
        ("window", "prune"),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "RandomizedResponse",
        "LocalHashing optimized",
        "UtilityOptimizedRR",
        "UnaryEncoding optimized",
        "SquareWave",
    ],
)
def test_reduction_is_the_papers_round_by_round(name: str, select: str, operation: str) -> None:
    domain = Interval(-1.0, 1.0, 14) if name == "SquareWave" else Integers(1, 14)
    data = _facts(MECHANISMS[name](domain, 1.5), 3000)
    fit = warner.estimators.literature.MixtureReduction("em", operation, select).fit(data)
    slow = Slow(data, select, operation)
    assert (fit.components or 14) == slow.components
    assert fit.probabilities == pytest.approx(slow.theta, abs=1e-10)
    ours = -2 * fit.log_likelihood + slow.components * math.log(data.n)
    assert ours == pytest.approx(slow.bics[-1])


@pytest.mark.parametrize("k_min, tau", [(1, 6.0), (2, 30.0), (10, 30.0), (13, 30.0)])
@pytest.mark.parametrize(
    "select, operation",
    [("lowest", "merge"), ("half", "merge"), ("window", "merge"), ("half", "prune")],
)
def test_limits_are_the_papers_too(select: str, operation: str, k_min: int, tau: float) -> None:
    data = _facts(warner.RandomizedResponse(Integers(1, 14), 2.0), 20_000)
    fit = warner.estimators.literature.MixtureReduction("em", operation, select, tau, k_min).fit(
        data
    )
    slow = Slow(data, select, operation, k_min, tau)
    assert (fit.components or 14) == slow.components >= k_min
    assert fit.probabilities == pytest.approx(slow.theta, abs=1e-10)
    assert len(slow.bics) > 1 or slow.undone, "something is tried in each of these"
    assert all(b <= a for a, b in pairwise(slow.bics))
    if (select, k_min, tau) == ("lowest", 2, 30.0):
        assert slow.undone and slow.components > 2, (
            "a threshold this high merges what must not be, and BIC says so"
        )


def test_the_threshold_of_bins_is_the_curvature_at_the_uniform_distribution() -> None:
    """By differences of the log-likelihood; P3 eq 13 as printed, without the square, is the mutant."""
    data = _facts(warner.SquareWave(Interval(0.0, 1.0, 12), 1.0, cells=64), 5000)
    rows, even, h = data.channel.dense(), np.full(12, 1 / 12), 1e-4
    for x in (0, 5, 11):
        step = h * (np.arange(12) == x)
        up, here, down = (
            data.n * data.weights @ np.log(rows @ (even + move)) for move in (step, 0 * step, -step)
        )
        curvature = -(up - 2 * here + down) / h**2
        assert deviations(data, data.channel, data.weights)[x] == pytest.approx(
            1 / math.sqrt(curvature), rel=1e-4
        )
        printed = data.n * (data.weights / (rows @ even) ** 2) @ rows[:, x]
        assert printed > 2 * curvature
