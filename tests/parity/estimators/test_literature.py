"""The bias correction of P1 against its equations person by person, and what is wrong with them
(METHODS 9.4).
"""

from __future__ import annotations

import hashlib
import math
from itertools import pairwise

import numpy as np
import pytest

import warner
from tests.parity.estimators._data import _simulated
from tests.registry import MECHANISMS
from warner import Categorical, Integers, Interval, Inversion, RandomizedResponse
from warner.channels import Channel, DirectChannel, StackChannel, SupportChannel
from warner.estimators import ExpectationMaximization, MaximumLikelihood, PerKey
from warner.estimators.base import LikelihoodData
from warner.estimators.em import run_em
from warner.estimators.literature import (
    BiasCorrection,
    MixtureReduction,
    SmoothedEM,
    deviations,
    filtered,
    second_order,
)
from warner.mechanisms import Mechanism
from warner.metrics import normalize, project
from warner.reports.tally_kinds import Counted
from warner.results.from_tally import likelihood_data

LABELS = Categorical([f"v{x}" for x in range(5)])


BUDGETS = (0.5, 2.0, math.log(5), math.inf)


def _facts(counts: tuple[int, ...] = (60, 40, 20, 10), seed: int = 0) -> LikelihoodData:
    """Randomised response with several budgets, by way of tallies."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    tallies = []
    for epsilon, n in zip(BUDGETS, counts, strict=True):
        mechanism = RandomizedResponse(LABELS, epsilon)
        values = LABELS.decode(rng.choice(5, n, p=shares))
        tallies.append(mechanism.tally(mechanism.randomize(values, rng)))
    return likelihood_data(tallies)


def _scores(data: LikelihoodData, theta: np.ndarray) -> np.ndarray:
    """s_n = g_n / theta.g_n of every person, one row each."""
    matrix = data.channel.dense()
    counts = np.rint(data.weights * data.n).astype(int)
    assert counts.sum() == data.n
    people = np.repeat(np.arange(len(matrix)), counts)
    return np.array([matrix[y] / (theta @ matrix[y]) for y in people])


def literal(scores: np.ndarray, ridge: float, curvature: float = 2.0) -> np.ndarray:
    """[P1 eqs 28-32] word by word: a loop over people, third-order tensors."""
    n, size = scores.shape
    total = sum(np.outer(s, s) for s in scores) / n
    q = -np.linalg.inv(total + ridge * np.eye(size))
    first, third, second = np.zeros(size), np.zeros((size,) * 3), np.zeros((size, size))
    for s in scores:
        v = total - np.outer(s, s)
        first += v @ q @ s / n
        third += curvature * np.einsum("i,j,k->ijk", s, s, s)
        second += np.outer(q @ s, q @ s)
    return q @ (first - np.einsum("ijk,jk->i", third, second) / (2 * n**2)) / n


@pytest.mark.parametrize("curvature", [1.0, 2.0])
@pytest.mark.parametrize("ridge", [1e-3, 0.7])
def test_grouped_rows_tell_what_people_one_by_one_do(ridge: float, curvature: float) -> None:
    data = _facts()
    for theta in (np.full(5, 0.2), np.array([0.5, 0.2, 0.1, 0.15, 0.05])):
        fast = second_order(data.channel, data.weights, theta, data.n, ridge, curvature)
        assert fast == pytest.approx(
            literal(_scores(data, theta), ridge, curvature), rel=1e-9, abs=1e-13
        )


@pytest.mark.parametrize(
    "mechanism",
    [
        warner.LocalHashing(LABELS, 1.0, seeds=12),
        warner.HadamardResponse(LABELS, 1.0),
        warner.SubsetSelection(LABELS, 1.0),
    ],
    ids=repr,
)
def test_any_channel_of_whole_reports_has_a_correction(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(1)
    data = likelihood_data(
        mechanism.tally(
            mechanism.randomize(LABELS.decode(rng.integers(0, 5, 80)), rng), keep_reports=True
        )
    )
    theta = np.array([0.5, 0.2, 0.1, 0.15, 0.05])
    rows, w = data.channel.restrict_to_observed(data.weights)
    fast = second_order(rows, w, theta, data.n)
    assert fast == pytest.approx(literal(_scores(data, theta), 1e-3), rel=1e-9, abs=1e-13)


def test_the_whole_method_is_algorithm_2() -> None:
    """Mutants: alpha of another run, the correction added, projected instead of clipped and
    renormalised, the two formulas exchanged.
    """
    data = _facts()
    run = run_em(
        data.channel, data.weights, data.n, data.channel.naive_estimate(data.weights), 1e-3, 10**5
    )
    theta, steps = run.state.shares, run.steps
    for formula, curvature in (("derived", 2.0), ("printed", 1.0)):
        a = literal(_scores(data, theta), 1e-3, curvature)
        for alpha in (0.0, 0.9, 40.0, 400.0):
            clipped = np.maximum(theta - alpha * a, 0)
            fit = BiasCorrection(alpha=alpha, formula=formula).fit(data)
            assert fit.shares == pytest.approx(
                clipped / clipped.sum() if clipped.any() else np.full(5, 0.2), abs=1e-12
            )
            assert fit.iterations == steps


def test_shares_times_a_score_are_one_always_so_scores_do_not_sum_to_zero() -> None:
    data = _facts()
    for theta in np.random.default_rng(0).dirichlet(np.ones(5), 20):
        scores = _scores(data, theta)
        assert scores @ theta == pytest.approx(np.ones(data.n), abs=1e-12)
        assert scores.mean(axis=0) @ theta == pytest.approx(1, abs=1e-12), "P1 eqs 16 and 21 say 0"


def test_with_the_right_factor_and_no_ridge_the_correction_is_the_estimate_over_n() -> None:
    """At any theta, maximum or not; and as printed it is not."""
    data = _facts()
    for theta in np.random.default_rng(1).dirichlet(np.full(5, 3.0), 10):
        right = second_order(data.channel, data.weights, theta, data.n, ridge=0.0)
        assert right == pytest.approx(theta / data.n, rel=1e-9)
        printed = second_order(data.channel, data.weights, theta, data.n, ridge=0.0, curvature=1.0)
        assert np.abs(printed / theta * data.n - 1).max() > 0.1


def test_equation_24_lacks_a_factor_of_two() -> None:
    g, theta, h = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3]), 1e-4
    unit = np.eye(3) * h

    def score(at: np.ndarray) -> np.ndarray:
        return g / (at @ g)

    def second(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (
            score(theta + u + v)
            - score(theta + u - v)
            - score(theta - u + v)
            + score(theta - u - v)
        ) / (4 * h * h)

    numeric = np.array([[second(u, v) for u in unit] for v in unit])
    assert numeric == pytest.approx(
        2 * np.einsum("i,j,k->ijk", g, g, g) / (theta @ g) ** 3, rel=1e-5
    )


@pytest.mark.parametrize(
    "channel",
    [
        DirectChannel(5, 0.1, 0.5),
        StackChannel([DirectChannel(5, 0.15, 0.25), DirectChannel(5, 0.0, 1.0)], [30, 10]),
        "dense",
    ],
    ids=["one budget", "two budgets", "any matrix"],
)
def test_on_the_simplex_the_second_order_bias_of_an_interior_maximum_vanishes(
    channel: Channel | str,
) -> None:
    """Rilstone's formula in the K - 1 coordinates in which the score does have mean 0, expectations
    taken exactly.
    """
    rng = np.random.default_rng(2)
    theta = rng.dirichlet(np.full(5, 3.0))
    matrix = rng.dirichlet(np.ones(8), 5).T if isinstance(channel, str) else channel.dense()
    d = matrix @ theta
    tangent = np.linalg.svd(np.ones((1, 5)))[2][1:].T  # (K, K - 1), columns sum to 0
    s = (matrix / d[:, None]) @ tangent
    assert d @ s == pytest.approx(np.zeros(4), abs=1e-12), "the mean score is 0"
    information = (s * d[:, None]).T @ s
    q = -np.linalg.inv(information)
    slopes = information - s[:, :, None] * s[:, None, :]  # V of every row
    first = np.einsum("y,yij,yj->i", d, slopes, s @ q)
    third = 2 * np.einsum("y,yi,yj,yk->ijk", d, s, s, s)
    bias = q @ (first - np.einsum("ijk,jk->i", third, q @ information @ q) / 2)
    assert np.abs(q @ first).max() > 1e-2, "each of the two terms is there"
    assert np.abs(bias).max() < 1e-12


def test_equal_weights_are_equation_13() -> None:
    """p' = 1/M sum_m q_m' G_m^-1, over the mechanisms that somebody used; not over people, not by
    precision.
    """
    for counts in ((60, 40, 20, 10), (60, 0, 20, 0)):
        rng = np.random.default_rng(3)
        tallies, inverted = [], []
        for epsilon, n in zip(BUDGETS, counts, strict=True):
            mechanism = RandomizedResponse(LABELS, epsilon)
            values = LABELS.decode(rng.integers(0, 5, max(n, 1)))
            tally = mechanism.tally(mechanism.randomize(values, rng))
            if n == 0:
                nobody = Counted.together(tally.kind, np.zeros(5, dtype=np.int64), 0)
                tally = warner.Tally(tally.header, nobody, None, True)
            else:
                inverted.append(np.linalg.solve(mechanism.channel().dense(), tally.counts / n))
            tallies.append(tally)
        equal = warner.estimate(tallies, Inversion(weights="equal"))
        assert equal.probabilities == pytest.approx(np.mean(inverted, axis=0), abs=1e-12)
        assert (
            np.abs(equal.probabilities - warner.estimate(tallies, Inversion()).probabilities).max()
            > 0.01
        )


# alpha of the bias correction, from a simulation with the uniform distribution as the truth.


COUNTS = np.array([3450, 530, 520, 500])


def _data(counts: np.ndarray) -> LikelihoodData:
    mechanism = warner.RandomizedResponse(Integers(0, 3), 2.0)
    return likelihood_data(mechanism.tally(mechanism.reports(np.repeat(np.arange(4), counts))))


def test_alpha_from_a_uniform_truth_is_the_least_error_of_one_simulation() -> None:
    """[P1 sec 4.3]. The wrong program takes the report histogram for the truth: it chooses 1e-10,
    because shrinking spoils a histogram with one large share.
    """
    data = _data(COUNTS)
    seed = hashlib.blake2b(COUNTS.astype("<i8").tobytes(), digest_size=16).digest()
    rng = np.random.default_rng(int.from_bytes(seed, "little"))
    simulated = _data(rng.multinomial(5000, np.full(4, 0.25)))
    em = ExpectationMaximization(start="histogram", tolerance=1e-3).fit(simulated).shares
    bias = second_order(simulated.channel, simulated.weights, em, 5000)
    alphas = [c * 10.0**-k for k in range(10, 0, -1) for c in range(1, 10)]
    losses = [((normalize(em - alpha * bias) - 0.25) ** 2).sum() for alpha in alphas]
    chosen = BiasCorrection(alpha="uniform").weight(data)
    assert chosen == alphas[int(np.argmin(losses))]
    assert chosen != BiasCorrection(alpha="published").weight(data)


# Components by prior knowledge against EM on a matrix with averaged columns, and BIC by hand.


N = 3000


def _of_a_mechanism(name: str = "RandomizedResponse", size: int = 6) -> LikelihoodData:
    mechanism = getattr(warner, name)(Integers(0, size - 1), 1.0)
    rng = np.random.default_rng(5)
    theta = np.array([0.5, 0.3, 0.1, 0.05, 0.05, 0.0])[:size]
    return likelihood_data(
        mechanism.tally(mechanism.randomize(rng.choice(size, N, p=theta).tolist(), rng))
    )


# Values 1, 3 and 5 share one estimate, 2 is absent: components {0}, {1, 3, 5}, {4}.
MATRIX = np.array([[1, 0, 0], [0, 1 / 3, 0], [0, 0, 0], [0, 1 / 3, 0], [0, 0, 1], [0, 1 / 3, 0]])
KNOWN = MixtureReduction("em", operation=None, groups=[[3, 1, 5]], absent=[2], tolerance=1e-4)


@pytest.mark.parametrize("name", ["RandomizedResponse", "LocalHashing"])
def test_components_chosen_by_hand_are_em_on_their_averaged_columns(name: str) -> None:
    data = _of_a_mechanism(name)
    rows = data.channel.dense() @ MATRIX
    t, value = np.array([1 / 5, 3 / 5, 1 / 5]), -np.inf
    observed = data.weights > 0
    while True:
        s = rows[observed].T @ (data.weights[observed] / (rows[observed] @ t))
        before = float(data.weights[observed] @ np.log(rows[observed] @ t))
        t = t * s
        value = float(data.weights[observed] @ np.log(rows[observed] @ t))
        if N * (value - before) < 1e-4:
            break
    fit = KNOWN.fit(data)
    np.testing.assert_allclose(fit.shares, MATRIX @ t, atol=1e-9)
    assert fit.components == 3


@pytest.mark.parametrize("name", ["RandomizedResponse", "LocalHashing", "SubsetSelection"])
def test_the_maximum_over_components_chosen_by_hand_meets_its_conditions(name: str) -> None:
    """No component's score exceeds 1, so no weights are likelier (METHODS 0). The wrong program
    keeps the reports of absent values in the averaged counts.
    """
    data = _of_a_mechanism(name)
    fit = MixtureReduction("mle", operation=None, groups=[[3, 1, 5]], absent=[2]).fit(data)
    np.testing.assert_allclose(fit.shares, MATRIX @ (MATRIX.T > 0) @ fit.shares, atol=1e-15)
    d = data.channel.matvec(fit.shares)
    ratio = np.divide(data.weights, d, out=np.zeros_like(d), where=data.weights > 0)
    assert (MATRIX.T @ data.channel.rmatvec(ratio)).max() <= 1 + 1e-8
    assert fit.shares[2] == 0 and (fit.shares[[0, 1, 4]] > 0).all()


def test_the_bic_is_minus_twice_the_log_likelihood_plus_components_times_log_n() -> None:
    data = _of_a_mechanism()
    fit = KNOWN.fit(data)
    law = data.channel.dense() @ fit.shares
    total = float(np.rint(data.weights * N) @ np.log(law))
    assert fit.bic == pytest.approx(-2 * total + 3 * math.log(N), rel=1e-12)
    alone = MixtureReduction("em", operation=None).fit(data)
    assert alone.bic is not None and alone.log_likelihood is not None
    assert alone.bic == pytest.approx(-2 * alone.log_likelihood + 6 * math.log(N), rel=1e-12)


def test_merging_keys_merges_the_components_of_their_frequencies() -> None:
    """[P3 sec V-C] "FO components": keys of one component have one frequency, that of MR on the
    keys alone; given it, values are estimated as before.
    """
    keys, values = Categorical([f"k{i}" for i in range(12)]), Integers(0, 3)
    mechanism = warner.KeyValue(keys, values, 2.0, key="direct", value="piecewise", cells=5)
    rng = np.random.default_rng(2)
    key = rng.choice(12, 2000, p=[0.4, 0.3, *[0.03] * 10])
    value = rng.integers(0, 4, 2000).tolist()
    reports = mechanism.randomize({"key": [f"k{i}" for i in key], "value": value}, rng)
    data = likelihood_data(mechanism.tally(reports))
    method = ExpectationMaximization(20)
    fit = PerKey(method, frequencies=MixtureReduction()).fit(data)
    table = fit.shares.reshape(12, 4)
    expected = MixtureReduction().fit(warner.estimators.key_value.of_keys(data))
    np.testing.assert_allclose(table.sum(axis=1), expected.shares, rtol=1e-9)
    assert expected.components is not None
    assert len(np.unique(table.sum(axis=1).round(12))) == expected.components < 12
    k = int(np.argmax(expected.shares))
    of_key = warner.estimators.key_value.of_values(data, k, float(expected.shares[k]))
    assert of_key is not None
    np.testing.assert_allclose(table[k] / table[k].sum(), method.fit(of_key).shares, rtol=1e-9)


def test_a_known_group_errs_less_where_it_is_true_and_its_values_share_one_estimate() -> None:
    data = _of_a_mechanism()
    fit = MixtureReduction("mle", operation=None, groups=[[3, 4]]).fit(data)
    assert fit.shares[3] == fit.shares[4]
    free = MaximumLikelihood().fit(data)
    assert free.log_likelihood is not None and fit.log_likelihood is not None
    assert fit.log_likelihood <= free.log_likelihood


# Mixture reduction against its definition, step by step on dense matrices.


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
    data = _simulated(MECHANISMS[name](domain, 1.5), 3000)
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
    data = _simulated(warner.RandomizedResponse(Integers(1, 14), 2.0), 20_000)
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
    data = _simulated(warner.SquareWave(Interval(0.0, 1.0, 12), 1.0, cells=64), 5000)
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


# Smoothed EM against the published code.


def test_smoothed_em_is_the_published_code() -> None:
    """With the dense channel and the smoothing matrix, step by step: theta <- S (theta * A' (c / A
    theta)), made to sum to one.
    """
    bins, n = 32, 4_000
    channel = warner.mechanisms.Piecewise(Interval(0, 1, bins), 1.0, cells=64).channel()
    w = channel.simulate(
        np.arange(1.0, bins + 1) / np.arange(1.0, bins + 1).sum(), n, np.random.default_rng(0)
    )
    kernel = (
        np.diag(np.full(bins, 2.0)) + np.diag(np.ones(bins - 1), 1) + np.diag(np.ones(bins - 1), -1)
    )
    kernel /= kernel.sum(axis=1, keepdims=True)
    dense, theta, last, steps = channel.dense(), np.full(bins, 1 / bins), -np.inf, 0
    value = n * w @ np.log(dense @ theta)
    while True:
        before, last = theta, value
        theta = kernel @ (theta * (dense.T @ (n * w / (dense @ theta))))
        theta /= theta.sum()
        value = n * w @ np.log(dense @ theta)
        steps += 1
        if abs(value - last) < 1e-3 or np.abs(theta - before).sum() < 1 / n:
            break
    fit = SmoothedEM().fit(LikelihoodData(channel, w, n, Interval(0, 1, bins)))
    assert fit.iterations == steps
    assert fit.probabilities == pytest.approx(theta, abs=1e-12)


# The Wiener filter against its published form.


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
    for variant in (None, "sue", "oue"):
        mechanism = (
            warner.RandomizedResponse(Integers(1, size), 1.0)
            if variant is None
            else warner.UnaryEncoding(Integers(1, size), 1.0, variant=variant)
        )
        data = _simulated(mechanism, n)
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
        assert ours.sum() == pytest.approx(1, abs=1e-12)
        assert published.sum() == pytest.approx(1, abs=0.2)
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
