"""Mixture reduction and Wiener filtering against their definitions, step by step on dense matrices;
post-processing likewise.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from warner import Categorical, Domain, Integers, Interval
from warner.channels import DenseCompositeChannel, DirectChannel, MergedChannel, SupportChannel
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.literature.mixture_reduction import averaged, deviations
from warner.estimators.literature.wiener_filter import filtered
from warner.estimators.mle.objective import log_likelihood
from warner.mechanisms import Mechanism
from warner.metrics.simplex import base_cut, project, threshold
from warner.results.from_tally import likelihood_data


def _facts(mechanism: Mechanism, n: int, seed: int = 0, kept: bool = False) -> LikelihoodData:
    rng = np.random.default_rng(seed)
    labels = mechanism.domain.labels
    shares = rng.dirichlet(np.full(len(labels), 0.3))
    values = [labels[i] for i in rng.choice(len(labels), n, p=shares)]
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng), keep_reports=kept))


def _unordered(size: int) -> Domain:
    return Categorical([f"v{x}" for x in range(size)])


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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["direct", "bit sums"])
def test_merging_by_mean_counts_is_the_merged_channel(kind: str, seed: int) -> None:
    """Randomised response and bit sums: the closed form on mean counts is the maximum over the
    dense matrix with merged columns.
    """
    rng = np.random.default_rng(seed)
    size, n = 12, 4000
    channel = DirectChannel(size, 0.05, 0.4) if kind == "direct" else SupportChannel(size, 0.2, 0.3)
    w = channel.simulate_from_values(rng.multinomial(n, rng.dirichlet(np.full(size, 0.2))), rng)
    labels = np.unique(rng.integers(0, 6, size), return_inverse=True)[1]
    merged = MergedChannel(channel, labels)
    counts = averaged(channel, w, merged)
    assert counts is not None
    domain = _unordered(size)
    fast = warner.MaximumLikelihood(1e-12).fit(LikelihoodData(channel, counts, n, domain))
    matrix = np.stack(
        [channel.dense()[:, labels == j].mean(axis=1) for j in range(merged.shape[1])], axis=1
    )
    dense = DenseCompositeChannel(matrix, rows_per_report=channel.rows_per_report)
    slow = warner.MaximumLikelihood(1e-12).fit(
        LikelihoodData(dense, w, n, _unordered(merged.shape[1]))
    )
    assert merged.spread(slow.probabilities) == pytest.approx(fast.probabilities, abs=1e-6)
    assert log_likelihood(channel, w, fast.probabilities) == pytest.approx(
        log_likelihood(dense, w, slow.probabilities), abs=1e-11
    )
    assert fast.log_likelihood == pytest.approx(
        n * log_likelihood(channel, w, fast.probabilities)
    ), "merging changes no constant"


def test_counts_are_not_averaged_where_values_differ() -> None:
    """Merging a sensitive and an open value of utility-optimised RR: rows differ, and the mean of
    the counts is the mutant.
    """
    data = _facts(warner.UtilityOptimizedRR(_unordered(6), 1.0, sensitive=["v0", "v1"]), 2000)
    for labels, same in (
        ([0, 1, 2, 2, 3, 4], True),
        ([0, 0, 1, 2, 3, 4], True),
        ([0, 1, 1, 2, 3, 4], False),
    ):
        merged = MergedChannel(data.channel, np.array(labels))
        assert (averaged(data.channel, data.weights, merged) is not None) == same


@pytest.mark.parametrize("kind", ["direct", "bit sums", "hashed", "whole reports", "square wave"])
def test_merged_channels_multiply_like_their_matrix(kind: str) -> None:
    rng = np.random.default_rng(0)
    name = {
        "direct": "RandomizedResponse",
        "hashed": "LocalHashing optimized",
        "square wave": "SquareWave",
    }.get(kind, "UnaryEncoding optimized")
    data = _facts(MECHANISMS[name](Integers(1, 9), 1.0), 300, kept=kind == "whole reports")
    for labels in (
        np.arange(9),
        np.array([0, 1, 0, 2, 2, 2, 3, 1, 4]),
        np.array([0, -1, 0, 1, -1, 2, 2, 3, -1]),
    ):
        merged, w = MergedChannel(data.channel, labels).restrict_to_observed(data.weights)
        matrix = np.zeros((9, merged.shape[1]))
        for x, j in enumerate(labels):
            if j >= 0:
                matrix[x, j] = 1 / np.count_nonzero(labels == j)
        dense = data.channel.restrict_to_observed(data.weights)[0].dense() @ matrix
        assert merged.dense() == pytest.approx(dense, abs=1e-14)
        several, r = rng.random((merged.shape[1], 3)), rng.random((len(w), 3))
        assert merged.matvec(several) == pytest.approx(dense @ several, abs=1e-12)
        assert merged.matvec(several[:, 0]) == pytest.approx(dense @ several[:, 0], abs=1e-12)
        assert merged.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-10)
        assert merged.rmatvec(r[:, 0]) == pytest.approx(dense.T @ r[:, 0], abs=1e-10)
        assert merged.gram(w) == pytest.approx(dense.T @ (w[:, None] * dense), rel=1e-5)


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


def _published(g: np.ndarray, p: float, q: float, n: int, steps: int) -> np.ndarray:
    """The improved iterative Wiener filter on the shares g of support, by the whole circulant
    matrix and its eigenvalues.
    """
    size = g.size
    turn = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size)) / size)
    h, spectrum = turn @ np.where(np.arange(size) == 0, p, q), turn @ g
    noise = (size * q * (1 - q) + (p - q) * (1 - p - q)) / n
    power = abs(spectrum / h) ** 2
    for step in range(steps):
        wiener = h.conj() * power / (abs(h) ** 2 * power + noise)
        found = wiener * spectrum
        if step < steps - 1:
            power = abs(found) ** 2 + noise * power / (abs(h) ** 2 * power + noise)
    return np.real(turn.conj() @ found) / size


@pytest.mark.parametrize("size", [7, 16])
@pytest.mark.parametrize("steps", [1, 2, 30])
def test_the_filter_is_the_published_one_but_for_the_total(size: int, steps: int) -> None:
    n = 3000
    for keep in (None, "symmetric", "optimized"):
        mechanism = (
            warner.RandomizedResponse(Integers(1, size), 1.0)
            if keep is None
            else warner.UnaryEncoding(Integers(1, size), 1.0, keep=keep)
        )
        data = _facts(mechanism, n)
        channel = data.channel
        assert isinstance(channel, DirectChannel | SupportChannel)
        q, p = float(channel.q[0]), float(channel.q[0] + channel.gap[0])
        published = _published(channel.support_shares(data.weights), p, q, n, steps)
        ours = (
            warner.estimators.literature.WienerFilter(steps, constraint=None)
            .fit(data)
            .probabilities
        )
        assert ours - ours.mean() == pytest.approx(published - published.mean(), abs=1e-12)
        assert ours.sum() == pytest.approx(1, abs=1e-12) and published.sum() == pytest.approx(
            1, abs=0.2
        )
        assert warner.estimators.literature.WienerFilter(steps).fit(
            data
        ).probabilities == pytest.approx(project(ours), abs=1e-12)


def test_the_limit_of_the_filter_is_its_closed_form() -> None:
    rng = np.random.default_rng(2)
    v = project(rng.normal(0.05, 0.1, 40))
    for noise in (0.0, 0.02, 0.1, 10.0):
        assert filtered(v, noise, 20_000) == pytest.approx(filtered(v, noise), abs=1e-3)
    assert filtered(v, 0.0) == pytest.approx(v, abs=1e-12)
    assert filtered(v, 10.0) == pytest.approx(np.full(40, 1 / 40), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_post_processing_is_its_definition(seed: int) -> None:
    """[P3 app. E] and [P2 sec 6] word by word."""
    v = np.random.default_rng(seed).normal(0.08, 0.15, 12)
    kept, total = np.zeros(12), 0.0  # Base-Cut: in decreasing order, until the total is reached
    for x in sorted(range(12), key=lambda x: -v[x]):
        if v[x] <= 0 or total + v[x] > 1:
            break
        kept[x] = v[x]
        total += v[x]
    if total > 0:
        assert base_cut(v) == pytest.approx(kept, abs=1e-15)
    # Norm-Sub: negatives to 0, a constant added to the rest, until the sum is 1 with none negative
    shares = v.copy()
    for _ in range(50):
        shares = np.maximum(shares, 0)
        on = shares > 0
        shares[on] += (1 - shares.sum()) / on.sum()
    if v.sum() >= 1 or np.maximum(v, 0).sum() >= 1:
        assert project(v) == pytest.approx(shares, abs=1e-12)
    limit = NormalDist().inv_cdf(1 - 0.05 / 12) * 0.1  # emp+thr
    large = [x for x in range(12) if v[x] > limit]
    left = 1 - sum(v[x] for x in large)
    expected = [v[x] if x in large else max(left, 0.0) / (12 - len(large)) for x in range(12)]
    expected = [share / max(1.0, 1 - left) for share in expected]
    assert threshold(v, np.full(12, 0.1)) == pytest.approx(expected, abs=1e-12)
