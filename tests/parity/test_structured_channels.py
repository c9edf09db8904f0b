"""Structured channels against the same law written out entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse.linalg import aslinearoperator

import warner
from tests.registry import MECHANISMS
from warner.channels import (
    BandChannel,
    Channel,
    DenseChannel,
    DirectChannel,
    GeometricChannel,
    HadamardChannel,
    HashChannel,
    KroneckerChannel,
    PlanarChannel,
    RepeatedRows,
    StackChannel,
    SupportChannel,
    TiedChannel,
    windows,
)
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.newton import _peaks, constrained, interior_point
from warner.estimators.mle.objective import gap, log_likelihood, score
from warner.estimators.mle.squarem import accelerated

REACH = 80  # displacements that matter at the budgets below


def _window(outputs: int, width: int, size: int) -> tuple[BandChannel, np.ndarray]:
    high, low = 3 / (3 * width + outputs - width), 1 / (3 * width + outputs - width)
    dense = np.full((outputs, size), low)
    starts = outputs - width
    for x, k in product(range(size), range(starts + 1)):
        edges = [x * starts / size, (x + 1) * starts / size]
        share = quad(
            lambda s, k=k: max(0.0, 1 - abs(s - k)),
            *edges,
            points=[p for p in (k - 1, k, k + 1) if edges[0] < p < edges[1]],
        )[0]
        dense[k : k + width, x] += (high - low) * share * size / starts
    return windows(outputs, width, size, low, high - low), dense


def _geometric(
    size: int, ratio: float, before: int, after: int
) -> tuple[GeometricChannel, np.ndarray]:
    dense = np.zeros((size + before + after, size))
    for x, z in product(range(size), range(-2000, 2000)):
        dense[min(max(z, -before), size - 1 + after) + before, x] += (
            (1 - ratio) / (1 + ratio) * ratio ** abs(z - x)
        )
    return GeometricChannel(size, ratio, before, after), dense


def _planar(height: int, width: int, epsilon: float) -> tuple[PlanarChannel, np.ndarray]:
    steps = np.arange(-REACH, REACH + 1)
    law = np.exp(-epsilon * np.hypot(steps[:, None], steps[None, :]))
    law /= law.sum()
    dense = np.zeros((height * width,) * 2)
    for r, c in product(range(height), range(width)):
        rows, columns = np.clip(r + steps, 0, height - 1), np.clip(c + steps, 0, width - 1)
        np.add.at(
            dense[:, r * width + c], (rows[:, None] * width + columns[None, :]).ravel(), law.ravel()
        )
    quarter = law[REACH:, REACH:]
    down = np.cumsum(quarter[::-1], axis=0)[::-1]
    right = np.cumsum(quarter[:, ::-1], axis=1)[:, ::-1]
    both = np.cumsum(down[:, ::-1], axis=1)[:, ::-1]
    # Tails that start at 0 or below hold both signs; only >= 0 is asked for, and the channel asks
    # at distances >= 0.
    cut = (slice(height), slice(width))
    return PlanarChannel(quarter[cut], down[cut], right[cut], both[cut]), dense


def _tied(keys: int, nothing: bool) -> tuple[TiedChannel, np.ndarray]:
    rng = np.random.default_rng(keys)
    inner = rng.dirichlet(np.ones(4), 3).T
    if nothing:
        other = rng.dirichlet(np.ones(5))
        own = np.concatenate([np.full((1, 3), 0.4), 0.6 * inner])
    else:
        other = rng.dirichlet(np.ones(4)) * 0.4 / (keys - 1)
        own = 0.6 * inner
    dense = np.zeros((keys * len(other), keys * 3))
    for k, j in product(range(keys), repeat=2):
        dense[k * len(other) : (k + 1) * len(other), j * 3 : (j + 1) * 3] = (
            own if k == j else other[:, None]
        )
    return TiedChannel(keys, DenseChannel(inner), 0.6, other, nothing), dense / (
        keys if nothing else 1
    )


def _utility(size: int, sensitive: int, epsilon: float) -> tuple[DirectChannel, np.ndarray]:
    """METHODS 1: c1, c2, c3 on values of which the first few are sensitive."""
    e = np.exp(epsilon)
    c1, c2, c3 = np.array([e, 1, e - 1]) / (sensitive + e - 1)
    dense = np.zeros((size, size))
    dense[:sensitive] = c2
    for x in range(size):
        dense[x, x] = c1 if x < sensitive else c3
    return DirectChannel(size, np.where(np.arange(size) < sensitive, c2, 0.0), c3), dense


def _rappor(size: int, sensitive: int, epsilon: float) -> tuple[SupportChannel, np.ndarray]:
    e = np.exp(epsilon)
    t = np.exp(epsilon / 2) / (np.exp(epsilon / 2) + 1)
    raised, dropped = t / ((1 - t) * e + t), ((1 - t) * e + t) / e
    secret = np.arange(size) < sensitive
    ones = np.where(
        np.eye(size, dtype=bool),
        np.where(secret, t, 1 - dropped)[:, None],
        np.where(secret, raised, 0.0)[:, None],
    )
    gap = np.where(secret, t - raised, 1 - dropped)
    return SupportChannel(size, np.where(secret, raised, 0.0), gap), np.concatenate(
        [ones, 1 - ones]
    ) / size


def _kronecker() -> tuple[KroneckerChannel, np.ndarray]:
    parts: list[Channel] = [
        DirectChannel(2, 0.2, 0.6),
        SupportChannel(3, 0.3, 0.3),
        HadamardChannel(2, 4, 0.5),
        HashChannel(2, 5, 2, 0.3, 0.4),
    ]
    dense = np.ones((1, 1))
    for part in parts:
        dense = np.kron(dense, part.dense())
    return KroneckerChannel(parts), dense


def _kronecker_whole() -> tuple[KroneckerChannel, np.ndarray]:
    parts: list[Channel] = [
        _utility(3, 1, 1.0)[0],
        _geometric(4, 0.5, 0, 1)[0],
        HadamardChannel(2, 4, 0.5),
    ]
    return KroneckerChannel(parts), np.kron(
        np.kron(parts[0].dense(), parts[1].dense()), parts[2].dense()
    )


def _stack() -> tuple[StackChannel, np.ndarray]:
    parts: list[Channel] = [
        DirectChannel(4, 0.2, 0.2),
        SupportChannel(4, 0.3, 0.3),
        DirectChannel(4, 0.0, 1.0),
    ]
    return StackChannel(parts, [10, 20, 5]), np.concatenate(
        [s * p.dense() for s, p in zip([10 / 95, 80 / 95, 5 / 95], parts, strict=True)]
    )


CHANNELS: dict[str, Callable[[], tuple[Channel, np.ndarray]]] = {
    "window, narrow": lambda: _window(40, 7, 10),
    "window, wide": lambda: _window(16, 9, 20),
    "window of one cell a start": lambda: _window(30, 10, 20),
    "geometric, truncated": lambda: _geometric(9, 0.7, 0, 0),
    "geometric, wider reports": lambda: _geometric(6, 0.5, 3, 2),
    "geometric, flat": lambda: _geometric(5, 0.97, 0, 0),
    "planar": lambda: _planar(5, 4, 0.7),
    "planar, thin": lambda: _planar(2, 7, 1.2),
    "planar, smallest": lambda: _planar(2, 2, 1.0),
    "tied, one key sent": lambda: _tied(4, False),
    "tied, all keys sent": lambda: _tied(3, True),
    "direct, utility-optimised": lambda: _utility(7, 3, 1.0),
    "supports, utility-optimised": lambda: _rappor(6, 2, 1.5),
    "kronecker": _kronecker,
    "kronecker of whole reports": _kronecker_whole,
    "stack": _stack,
}


@pytest.mark.parametrize("name", CHANNELS)
def test_products_are_those_of_the_matrix(name: str) -> None:
    channel, dense = CHANNELS[name]()
    rng = np.random.default_rng(0)
    assert channel.shape == dense.shape
    assert dense.sum(axis=0) == pytest.approx(np.ones(dense.shape[1]), abs=1e-9)
    assert channel.dense() == pytest.approx(dense, abs=1e-9)
    for trailing in ((), (3,)):
        theta, r = (
            rng.normal(size=(dense.shape[1], *trailing)),
            rng.normal(size=(dense.shape[0], *trailing)),
        )  # linear: any sign
        assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-9)
        assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-9)
    v = rng.random(dense.shape[0])
    assert channel.gram(v) == pytest.approx(dense.T @ (v[:, None] * dense), abs=1e-9)
    assert channel.columns(np.array([1, 0])) == pytest.approx(dense[:, [1, 0]], abs=1e-9)


@pytest.mark.parametrize("name", CHANNELS)
def test_inverse_and_its_moments_are_those_of_its_weights(name: str) -> None:
    channel, dense = CHANNELS[name]()
    if dense.shape[0] < dense.shape[1]:
        with pytest.raises(warner.errors.IdentifiabilityError, match="rank"):
            channel.invert(np.ones(dense.shape[0]))
        return
    weights = np.stack([channel.invert(row) for row in np.eye(dense.shape[0])], axis=1)
    theta = np.random.default_rng(1).dirichlet(np.ones(dense.shape[1]))
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-8)
    several = np.random.default_rng(2).random((dense.shape[0], 2))
    assert channel.invert(several) == pytest.approx(weights @ several, rel=1e-7, abs=1e-9)
    if channel.rows_per_report > 1:
        # rows are parts of reports there: tests/laws checks those by enumerating whole reports
        return
    total, own = channel.inverse_moments(theta)
    assert total == pytest.approx(weights**2 @ (dense @ theta), rel=1e-7)
    assert own == pytest.approx((weights**2 * dense.T).sum(axis=1), rel=1e-7)


@pytest.mark.parametrize("name", CHANNELS)
def test_channels_are_linear_operators_to_scipy(name: str) -> None:
    channel, dense = CHANNELS[name]()
    operator = aslinearoperator(channel)
    theta, thetas = np.ones(dense.shape[1]), np.ones((dense.shape[1], 2))
    assert operator.dtype == np.float64
    assert operator @ theta == pytest.approx(dense.sum(axis=1), abs=1e-9)
    assert operator @ thetas == pytest.approx(dense @ thetas, abs=1e-9)
    assert operator.H @ np.ones(dense.shape[0]) == pytest.approx(np.ones(dense.shape[1]), abs=1e-9)
    assert operator.H @ np.ones((dense.shape[0], 2)) == pytest.approx(
        np.ones((dense.shape[1], 2)), abs=1e-9
    )


@pytest.mark.parametrize(
    "name", ["RandomizedResponse", "LocalHashing optimized", "HadamardResponse", "ChannelMechanism"]
)
def test_rows_of_several_reports_of_one_person_are_products(name: str) -> None:
    size, times = 4, 3
    channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    other = DirectChannel(size, 0.15, 0.4)
    channels = [channel, channel, other]
    reports = np.array(
        list(product(range(min(channel.shape[0], 7)), range(min(channel.shape[0], 7)), range(size)))
    )
    rows = RepeatedRows(channels, reports)
    exact = np.prod([c.dense()[reports[:, t]] for t, c in enumerate(channels)], axis=0)
    assert rows.dense() == pytest.approx(exact / exact.max(axis=1, keepdims=True), abs=1e-12)
    rng = np.random.default_rng(0)
    theta, r = rng.random(size), rng.random(len(reports))
    assert rows.matvec(theta) == pytest.approx(rows.dense() @ theta)
    assert rows.rmatvec(r) == pytest.approx(rows.dense().T @ r)
    # Over all tuples the mean inversion is unbiased and has the variance it says.
    every = np.array(list(product(*(range(c.shape[0]) for c in channels))))
    rows = RepeatedRows(channels, every)
    law = np.prod([c.dense()[every[:, t]] for t, c in enumerate(channels)], axis=0)
    theta = rng.dirichlet(np.ones(size))
    single = np.mean(
        [
            np.stack([c.invert(unit) for unit in np.eye(c.shape[0])])[every[:, t]]
            for t, c in enumerate(channels)
        ],
        axis=0,
    )
    assert rows.invert(law @ theta) == pytest.approx(theta, abs=1e-10)
    assert rows.inverse_moments(theta)[0] == pytest.approx((law @ theta) @ single**2, rel=1e-9)
    assert rows.inverse_moments(theta)[1] == pytest.approx((law * single**2).sum(axis=0), rel=1e-9)
    assert times == rows.reports.shape[1]


def test_many_reports_of_one_person_do_not_underflow() -> None:
    """A thousand reports at epsilon = 8 have a probability that no float holds."""
    channel = DirectChannel(3, 1 / (np.exp(8) + 2), (np.exp(8) - 1) / (np.exp(8) + 2))
    rows = RepeatedRows([channel] * 1000, np.full((1, 1000), 1))
    assert rows.matvec(np.array([0.0, 1.0, 0.0])).tolist() == [1.0]


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("n", [30, 3000])
def test_maximum_is_the_oracles_by_every_solver(name: str, n: int) -> None:
    channel, dense = CHANNELS[name]()
    rng = np.random.default_rng(n)
    drawn = rng.dirichlet(np.full(dense.shape[1], 0.4))
    known = channel.rows_per_report == 1 or name in ("stack", "supports, utility-optimised")
    w = channel.simulate(drawn, n, rng) if known else rng.multinomial(n, dense @ drawn) / n
    theta = cp.Variable(dense.shape[1])
    seen = w > 0
    problem = cp.Problem(
        cp.Maximize(w[seen] @ cp.log(channel.rows_per_report * dense[seen] @ theta)),
        [theta >= 0, cp.sum(theta) == 1],
    )
    best = channel.rows_per_report * (
        problem.solve(solver=cp.CLARABEL) + w @ np.broadcast_to(channel.log_factors, w.shape)
    )
    fit = warner.MaximumLikelihood().fit(
        LikelihoodData(channel, w, n, warner.Integers(1, dense.shape[1]))
    )
    assert fit.status is warner.Status.CONVERGED and fit.gap is not None and fit.gap <= 1e-9
    assert fit.log_likelihood / n == pytest.approx(best, abs=1e-6)
    for solve, target, limit in (
        (constrained, 1e-9, 60),
        (interior_point, 1e-9, 60),
        (accelerated, 1e-5, 5000),
    ):
        found, steps, reached = solve(channel, w, target)
        assert reached and steps < limit and found.sum() == pytest.approx(1) and (found >= 0).all()
        assert gap(channel, w, found) <= target
        assert log_likelihood(channel, w, found) == pytest.approx(
            best, abs=1e-5 if solve is accelerated else 1e-6
        )


def test_rows_of_several_reports_have_their_maximum() -> None:
    """[P4 sec VI]: one person, many reports: the maximum is the value under which they are
    likeliest.
    """
    channel = MECHANISMS["HadamardResponse"](warner.Integers(1, 5), 2.0).channel()
    rng = np.random.default_rng(0)
    reports = rng.choice(channel.shape[0], (1, 40), p=channel.columns(np.array([3]))[:, 0])
    rows = RepeatedRows([channel] * 40, reports)
    fit = warner.MaximumLikelihood().fit(LikelihoodData(rows, np.ones(1), 1, warner.Integers(1, 5)))
    assert (
        fit.probabilities.argmax() == rows.dense().argmax()
        and fit.probabilities.max() == pytest.approx(1, abs=1e-6)
    )


def test_em_extrapolated_beats_em_and_never_falls_below_its_first_step() -> None:
    """Few hundred products reach what plain EM misses after thousands; a case that needs the
    fallback to plain steps too.
    """
    channel = GeometricChannel(60, 0.6)
    rng = np.random.default_rng(0)
    w = channel.simulate(rng.dirichlet(np.full(60, 0.3)), 50_000, rng)
    theta, products, reached = accelerated(channel, w, 1e-6)
    assert reached
    plain = np.full(60, 1 / 60)
    for _ in range(products):
        plain = plain * score(channel, w, plain)
    assert (
        log_likelihood(channel, w, theta) > log_likelihood(channel, w, plain)
        and gap(channel, w, plain) > 1e-6
    )


def test_parts_of_reports_have_no_joint_law() -> None:
    """A person's report counts for several rows there: drawing rows one by one would be another
    mechanism.
    """
    channel = KroneckerChannel([_tied(3, True)[0], DirectChannel(2, 0.2, 0.6)])
    theta, rng = np.full(channel.shape[1], 1 / channel.shape[1]), np.random.default_rng(0)
    people = np.ones(theta.size, dtype=int)
    for call in (
        lambda: channel.simulate(theta, 10, rng),
        lambda: channel.simulate_from_values(people, rng),
    ):
        with pytest.raises(warner.errors.ArgumentError, match="bit sums"):
            call()


def test_reports_beyond_the_values_count_for_the_nearest() -> None:
    channel = GeometricChannel(3, 0.5, 1, 2)
    assert channel.naive_estimate(np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])) == pytest.approx(
        [0.3, 0.3, 0.4]
    )
    with pytest.raises(warner.errors.ArgumentError, match="ratio"):
        GeometricChannel(1, 0.5)


def test_uniqueness_is_not_lost_to_rounding() -> None:
    """A degenerate maximum with a share of 1e-12 left by a solver; a row much rarer than the
    others; columns almost alike.
    """
    degenerate = DenseChannel(np.array([[0.5, 0.3, 0.2], [0.5, 0.7, 0.8]]))
    fit = warner.MaximumLikelihood().fit(
        LikelihoodData(degenerate, np.array([0.5, 0.5]), 2, warner.Integers(1, 3))
    )
    assert fit.probabilities == pytest.approx([1, 0, 0], abs=1e-12) and str(fit.unique).startswith(
        "unique"
    )
    rare = np.full((6, 3), 1 / 6) + 0.1 * np.random.default_rng(0).normal(size=(6, 3))
    rare = np.abs(rare)
    rare[5] = [1e-7, 2e-7, 3e-7]
    channel = DenseChannel(rare / rare.sum(axis=0))
    w = channel.matvec(np.array([0.3, 0.3, 0.4]))
    assert str(
        warner.MaximumLikelihood()
        .fit(LikelihoodData(channel, w, 1000, warner.Integers(1, 3)))
        .unique
    ).startswith("unique")
    flat = GeometricChannel(50, 0.999)
    w = flat.matvec(np.full(50, 1 / 50))
    assert not str(
        warner.MaximumLikelihood()
        .fit(LikelihoodData(flat, w, 10**12, warner.Integers(1, 50)))
        .unique
    ).startswith("not unique")


def test_the_inverse_of_a_tall_matrix_is_the_one_of_least_variance() -> None:
    """At the uniform distribution, over all left inverses; plain least squares, which ignores how
    rare a report is, has more.
    """
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.r_[np.full(5, 5.0), np.full(5, 0.3)], 3).T
    channel = DenseChannel(matrix)
    uniform = np.full(3, 1 / 3)
    plain = np.linalg.pinv(matrix)
    best, simple = channel.variance(uniform), plain**2 @ (matrix @ uniform) - uniform**2
    assert (best <= simple + 1e-12).all() and best.sum() < 0.9 * simple.sum()
    for seed in range(20):  # any other left inverse is this one plus something in the null space
        other = np.random.default_rng(seed).normal(size=(3, 10))
        moved = channel.invert(np.eye(10)) + 0.1 * other @ (np.eye(10) - matrix @ plain)
        assert (moved**2 @ (matrix @ uniform) - uniform**2 >= best - 1e-12).all()


def test_flat_peaks_count_once_and_values_below_one_do_not() -> None:
    assert _peaks(np.array([1.2, 1.1, 1.3, 1.3, 0.9, 1.05])).tolist() == [0, 3, 5]
    assert _peaks(np.array([0.9, 0.99, 0.5])).tolist() == []


@pytest.mark.parametrize("height, width", [(5, 4), (2, 7), (2, 2), (21, 20)])
def test_products_of_a_planar_channel_are_those_of_its_matrix(height: int, width: int) -> None:
    """Small grids multiply by the whole matrix, large ones transform; both ways are right for both."""
    channel, dense = _planar(height, width, 0.7)
    rng = np.random.default_rng(height)
    for shape in ((height * width,), (height * width, 3)):
        theta = rng.random(shape)
        for forth in (channel.matvec, channel._transformed):
            assert forth(theta) == pytest.approx(dense @ theta, abs=1e-12)
        for back in (channel.rmatvec, channel._transformed_back):
            assert back(theta) == pytest.approx(dense.T @ theta, abs=1e-12)
