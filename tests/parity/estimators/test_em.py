"""Steps of EM on bit sums against steps of EM on the whole reports that were summed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import warner
from tests.parity.estimators._data import _evidence
from tests.registry import MECHANISMS
from warner import Integers
from warner.channels import (
    Channel,
    DirectChannel,
    KroneckerChannel,
    MatrixRows,
    SupportChannel,
    quick,
)
from warner.estimators import ExpectationMaximization, Inversion, MaximumLikelihood, Status, em
from warner.estimators.base import LikelihoodData, gap, log_likelihood, safe_divide
from warner.estimators.em import EMPath
from warner.estimators.literature import BiasCorrection, MixtureReduction, SmoothedEM
from warner.mechanisms import Mechanism
from warner.metrics import total_variation
from warner.results.from_tally import likelihood_data

BITS: dict[str, Callable[[Integers, float], Mechanism]] = {
    "OUE": lambda domain, epsilon: warner.UnaryEncoding(domain, epsilon, variant="oue"),
    "SUE": warner.UnaryEncoding,
    "subsets": warner.SubsetSelection,
}


def _both(
    name: str, shares: np.ndarray, n: int, epsilon: float, seed: int
) -> tuple[LikelihoodData, LikelihoodData]:
    """Evidence of the same reports, known by their bit sums and whole."""
    mechanism, rng = BITS[name](Integers(0, shares.size - 1), epsilon), np.random.default_rng(seed)
    reports = mechanism.randomize(rng.choice(shares.size, n, p=shares), rng)
    return likelihood_data(mechanism.tally(reports, keep_reports=False)), likelihood_data(
        mechanism.tally(reports, keep_reports=True)
    )


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("size, epsilon", [(8, 0.5), (16, 1.0), (16, 2.0)])
def test_a_number_of_steps_on_bit_sums_is_worth_as_many_on_whole_reports(
    name: str, size: int, epsilon: float
) -> None:
    """Squared errors after 1 to 300 steps within a factor 1.6 of each other, on the mean of 4 runs;
    measured at most 1.3.

    The wrong program takes every row of a bit for a report of its own. Its errors after 30 steps
    are more than twice as large.
    """
    shares = 1 / np.arange(1, size + 1)
    shares /= shares.sum()
    data = [_both(name, shares, 2000, epsilon, seed) for seed in range(4)]

    def error(steps: int, kept: bool) -> float:
        fits = [ExpectationMaximization(steps).fit(pair[kept]).shares for pair in data]
        return float(np.mean([((fit - shares) ** 2).sum() for fit in fits]))

    for steps in (1, 3, 10, 30, 100, 300):
        assert 1 / 1.6 < error(steps, False) / error(steps, True) < 1.6
    sums = data[0][0]
    plain = np.full(size, 1 / size)
    for _ in range(30 if epsilon < 1 else 10):
        plain = plain * sums.channel.rmatvec(sums.weights / sums.channel.matvec(plain))
    assert ((plain - shares) ** 2).sum() > 1.05 * error(30 if epsilon < 1 else 10, True)


@pytest.mark.parametrize("name", BITS)
def test_smoothed_steps_on_bit_sums_lead_away_from_the_uniform_distribution(name: str) -> None:
    """100 values, 8,000 people: the squared error is that of whole reports within a tenth, and a
    fifth of the uniform's.

    The wrong program stops after one step and returns the uniform distribution.
    """
    shares = np.exp(-((np.arange(100) - 39.5) ** 2) / 200)
    shares /= shares.sum()
    sums, kept = _both(name, shares, 8_000, 1.0, 0)
    for method in (SmoothedEM(), SmoothedEM(tolerance=0.0)):
        fit = method.fit(sums)
        assert fit.status is Status.STOPPED and fit.iterations is not None and fit.iterations > 100
        error = ((fit.shares - shares) ** 2).sum()
        assert error < ((0.01 - shares) ** 2).sum() / 5
    whole = ((SmoothedEM(steps=300).fit(kept).shares - shares) ** 2).sum()
    assert ((SmoothedEM(steps=300).fit(sums).shares - shares) ** 2).sum() == pytest.approx(
        whole, rel=0.1
    )


def test_longer_steps_never_lower_the_quasi_likelihood_nor_leave_the_simplex() -> None:
    """Keep probabilities near 1 and few people: steps as long as on whole reports overshoot, and
    are shortened.
    """
    for seed, variant in ((0, 0.99), (1, 0.9), (2, 0.5)):
        mechanism = warner.UnaryEncoding(Integers(0, 3), 6.0, variant=variant)
        rng = np.random.default_rng(seed)
        data = likelihood_data(mechanism.tally(mechanism.randomize([0] * 9 + [1], rng)))
        path = ExpectationMaximization(200, keep_path=True).fit(data).path
        assert path is not None and (np.diff(path[:, 0]) >= -1e-10).all()
        fit = ExpectationMaximization(200).fit(data)
        assert fit.shares.sum() == pytest.approx(1, abs=1e-12) and (fit.shares >= 0).all()


def test_one_and_the_same_step_for_stacks_of_bit_sums_and_values() -> None:
    """Groups of bits and of values: to first order the step is the mean of the groups' own steps,
    by people.

    The wrong program weighs groups by rows, so that the bits of 1000 people outweigh the values of
    3000.
    """
    domain = Integers(0, 9)
    values, bits = warner.RandomizedResponse(domain, 1.0), warner.UnaryEncoding(domain, 1.0)
    rng = np.random.default_rng(0)
    tallies = [
        values.tally(values.randomize([3] * 3000, rng)),
        bits.tally(bits.randomize([7] * 1000, rng)),
    ]
    one = ExpectationMaximization(1)
    alone = [warner.estimate(tally, one).probabilities - 0.1 for tally in tallies]
    assert warner.estimate(tallies, one).probabilities - 0.1 == pytest.approx(
        0.75 * alone[0] + 0.25 * alone[1], abs=1e-12
    )


def test_the_number_of_steps_that_the_data_choose_is_that_of_whole_reports() -> None:
    """Within a factor 3: held-out bits are not held-out reports. The wrong program takes as many
    times more as there are values, 16.
    """
    shares = 1 / np.arange(1, 17)
    sums, kept = _both("OUE", shares / shares.sum(), 4000, 1.0, 0)
    found, whole = (
        ExpectationMaximization("auto").fit(data).iterations or 0 for data in (sums, kept)
    )
    assert whole / 3 < found < 3 * whole


def test_a_method_that_has_not_moved_from_its_start_says_so() -> None:
    domain = Integers(0, 99)
    channel = SupportChannel(100, 0.5, 1e-5)
    rng = np.random.default_rng(0)
    data = LikelihoodData(channel, channel.simulate(np.eye(100)[3], 10_000, rng), 10_000, domain)
    for method in (SmoothedEM(), ExpectationMaximization(3)):
        fit = method.fit(data)
        assert fit.status is Status.NOT_MOVED and "MaximumLikelihood" in fit.status.value
        assert fit.shares == pytest.approx(np.full(100, 0.01), abs=1e-4)
    exact = SupportChannel(4, 0.25, 0.5)
    even = LikelihoodData(exact, exact.matvec(np.full(4, 0.25)), 1000, Integers(0, 3))
    assert SmoothedEM().fit(even).status is Status.STOPPED, (
        "where the start is the maximum, there is nowhere to move"
    )


# EM against the textbook's step.


@pytest.mark.parametrize("name", MECHANISMS)
def test_em_is_the_textbooks_step_for_step(name: str) -> None:
    data = _evidence(name, 5, 400, 1.0)
    dense, w = data.channel.dense(), data.weights
    theta = np.full(5, 0.2)
    values = []
    for steps in range(1, 8):
        posterior = dense * theta / (dense @ theta)[:, None]
        # Rows that are parts of reports: the step is as many times as long as a report has rows.
        theta = theta + data.channel.rows_per_report * (w @ posterior - theta)
        theta = theta / theta.sum()
        fit = warner.ExpectationMaximization(steps).fit(data)
        assert fit.probabilities == pytest.approx(theta, abs=1e-12)
        assert fit.status is warner.estimators.Status.STOPPED and fit.iterations == steps
        values.append(fit.log_likelihood)
    assert all(b >= a - 1e-9 for a, b in pairwise(values))
    path = warner.ExpectationMaximization(7, keep_path=True).fit(data).path
    assert path is not None and path.shape == (8, 2)
    assert path[1:, 0] == pytest.approx(values)
    assert path[3, 1] == pytest.approx(warner.ExpectationMaximization(3).fit(data).gap)


# EM with the matrix of a small channel, and without likelihoods, against plain steps.


@pytest.mark.parametrize(
    "make",
    [
        warner.RandomizedResponse,
        warner.HadamardResponse,
        warner.mechanisms.ProjectiveGeometryResponse,
    ],
)
def test_steps_are_those_of_the_equation(make: type) -> None:
    mechanism = make(Integers(0, 11), 1.0)
    channel = mechanism.channel()
    w = channel.simulate(np.arange(1, 13) / 78, 5_000, np.random.default_rng(2))
    theta = np.full(12, 1 / 12)
    for _ in range(300):
        theta = theta * channel.rmatvec(w / channel.matvec(theta))
    data = LikelihoodData(channel, w, 5_000, mechanism.domain)
    fit = ExpectationMaximization(300).fit(data)
    kept = ExpectationMaximization(300, keep_path=True).fit(data)
    assert fit.shares == pytest.approx(theta / theta.sum(), rel=1e-9)
    assert kept.shares == pytest.approx(fit.shares, rel=1e-12)
    assert (fit.status, fit.iterations) == (kept.status, 300)
    assert fit.log_likelihood == pytest.approx(kept.log_likelihood)


def test_small_operators_become_matrices() -> None:
    small = warner.HadamardResponse(Integers(0, 30), 1.0).channel()
    large = warner.HadamardResponse(Integers(0, 999), 1.0).channel()
    found, r = quick(small), np.random.default_rng(0).random((32, 3))
    assert isinstance(found, MatrixRows) and quick(large) is large
    assert found.rmatvec(r) == pytest.approx(small.rmatvec(r))
    assert found.matvec(r[:31]) == pytest.approx(small.matvec(r[:31]))


# Algorithms of the papers, one person after the other, against the estimators' names for them.


def _people(
    budgets: tuple[float, ...] = (0.5, 2.0), n: int = 60
) -> tuple[LikelihoodData, np.ndarray, np.ndarray]:
    """Data, every person's row (n, K) of the likelihood, and the reports (n,)."""
    rng = np.random.default_rng(3)
    tallies, rows, named = [], [], []
    for epsilon in budgets:
        mechanism = warner.RandomizedResponse(Integers(0, 3), epsilon)
        reports = mechanism.randomize(rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05]).tolist(), rng)
        tallies.append(mechanism.tally(reports))
        column = reports.columns["report"].astype(int)
        rows.append(mechanism.channel().dense()[column])
        named.append(column)
    return likelihood_data(tallies), np.concatenate(rows), np.concatenate(named)


def _em_by_people(rows: np.ndarray, theta: np.ndarray, delta: float) -> tuple[np.ndarray, int]:
    """[P4 alg 1]: posteriors of every person, their mean, until |L_t - L_(t-1)| < delta."""
    value, steps = float(np.log(rows @ theta).sum()), 0
    while True:
        posteriors = rows * theta
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        theta, steps = posteriors.mean(axis=0), steps + 1
        before, value = value, float(np.log(rows @ theta).sum())
        if abs(value - before) < delta:
            return theta, steps


@pytest.mark.parametrize("delta", [1.0, 0.01])
def test_em_of_p1_starts_at_the_histogram_and_ends_at_delta(delta: float) -> None:
    data, rows, reports = _people()
    theta, steps = _em_by_people(rows, np.bincount(reports, minlength=4) / reports.size, delta)
    fit = ExpectationMaximization(start="histogram", tolerance=delta).fit(data)
    assert fit.iterations == steps
    np.testing.assert_allclose(fit.shares, theta, rtol=1e-9)


def test_em_of_p2_starts_at_the_thresholded_estimate() -> None:
    data, rows, _ = _people((1.0,))
    start = Inversion("threshold").fit(data).shares
    theta, steps = _em_by_people(rows, start, 0.01)
    fit = ExpectationMaximization(start=Inversion("threshold"), tolerance=0.01).fit(data)
    assert fit.iterations == steps
    np.testing.assert_allclose(fit.shares, theta, rtol=1e-9)


def test_the_literature_runs_the_same_em() -> None:
    data, _, _ = _people()
    histogram = ExpectationMaximization(start="histogram", tolerance=1e-3).fit(data)
    uncorrected = BiasCorrection(alpha=0.0).fit(data)
    np.testing.assert_allclose(uncorrected.shares, histogram.shares, rtol=1e-14)
    assert uncorrected.iterations == histogram.iterations
    plain = ExpectationMaximization(tolerance=0.05).fit(data)
    alone = MixtureReduction("em", operation=None, tolerance=0.05).fit(data)
    np.testing.assert_allclose(alone.shares, plain.shares, rtol=1e-14)
    assert alone.iterations == plain.iterations


# Fits of simulated reports that begin at the estimate, or are made together, against single fits.


PRODUCTS: dict[str, list[Channel]] = {
    "answers that are values": [DirectChannel(6, 0.1, 0.4), DirectChannel(5, 0.12, 0.4)],
    "bit sums": [SupportChannel(5, 0.2, 0.4), SupportChannel(4, 0.25, 0.3)],
    "three attributes": [DirectChannel(k, 0.5 / k, 0.5) for k in (2, 3, 4)],
}


def _several(channel: Channel, theta: np.ndarray, n: int, count: int) -> list[LikelihoodData]:
    domain = warner.Integers(0, channel.shape[1] - 1)
    drawn = channel.simulate_tallies(theta, n, np.random.default_rng(1), count)
    return [LikelihoodData(of, w, n, domain) for of, w in drawn]


@pytest.mark.parametrize("name", PRODUCTS)
def test_maxima_from_the_estimate_are_maxima_within_the_gap(name: str) -> None:
    """The log-likelihoods differ by no more than the certified gap, also from a start at the border."""
    channel, method = KroneckerChannel(PRODUCTS[name]), MaximumLikelihood()
    theta = np.random.default_rng(0).dirichlet(np.full(channel.shape[1], 0.3))
    corner = np.where(np.arange(theta.size) < 2, 0.5, 0.0)
    for data in _several(channel, theta, 3000, 4):
        usual = method.fit(data).shares
        for near in (theta, corner):
            shares = method.refit(data, near)
            assert gap(channel, data.weights, shares) <= method.gap
            values = [log_likelihood(channel, data.weights, v) for v in (usual, shares)]
            assert values[0] == pytest.approx(values[1], abs=2 * method.gap)


@pytest.mark.parametrize("steps", ["auto", 7])
@pytest.mark.parametrize("truncated", [True, False])
def test_em_of_several_sets_of_reports_is_em_of_each(steps: int | str, truncated: bool) -> None:
    """The numbers of steps are chosen for each set, so the mutant with one number for all fails."""
    grid = warner.Grid(4, 4, 1.0)
    channel = warner.PlanarGeometric(grid, 1.0, truncated=truncated).channel()
    theta = np.where(np.arange(grid.size) == 5, 0.7, 0.02)
    drawn = channel.simulate_tallies(theta, 300, np.random.default_rng(1), 4)
    several = [LikelihoodData(of, w, 300, grid) for of, w in drawn]
    method = ExpectationMaximization(steps)  # type: ignore[arg-type]
    found = list(method.refit_all(several, theta))
    each = [method.fit(data) for data in several]
    if steps == "auto":
        assert len({fit.iterations for fit in each}) > 1
    for shares, fit in zip(found, each, strict=True):
        # Leaps along the path are as long as all sets allow, so their errors differ.
        assert total_variation(shares, fit.shares) <= (0.005 if steps == "auto" else 1e-9)


FOLLOWED: dict[str, tuple[Channel, int]] = {
    "few leaps": (warner.RandomizedResponse(Integers(1, 60), 6.0).channel(), 10**4),
    "values that nobody reports": (warner.RandomizedResponse(Integers(1, 60), 4.0).channel(), 200),
    "long leaps": (warner.HadamardResponse(Integers(1, 1000), 2.0).channel(), 10**5),
    "a band": (warner.SquareWave(warner.Interval(0, 1, 64), 1.0).channel(), 5000),
    "places": (warner.PlanarGeometric(warner.Grid(6, 6), 0.5).channel(), 2000),
    "bit sums": (SupportChannel(40, 0.2, 0.5), 3000),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_leaps_along_the_path_of_em_end_where_its_steps_do(name: str) -> None:
    """Points are compared at all distances, so leaps that are too long or lack stages fail."""
    channel, n = FOLLOWED[name]
    size, copies = channel.shape[1], channel.rows_per_report
    rng = np.random.default_rng(3)
    theta = np.stack([1 / np.arange(1, size + 1), rng.dirichlet(np.full(size, 0.3))])
    w = np.stack([channel.simulate(t / t.sum(), n, rng) for t in theta], axis=1)
    plain, taken = np.full((size, 2), 1 / size), 0
    path = EMPath(channel, w, plain)
    for steps in (1, 12, 40, 200, 900):
        path.follow_to(steps)
        for _ in range(copies * (steps - taken)):
            plain = plain * channel.rmatvec(safe_divide(w, channel.matvec(plain)))
        taken = steps
        off = np.abs(path.thetas - plain / plain.sum(axis=0)).sum(axis=0) / 2
        assert off.max() < (1e-12 if copies * steps <= 12 else 0.01)


def test_products_of_one_set_after_the_other_are_those_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    channel, n = FOLLOWED["a band"]
    rng = np.random.default_rng(4)
    w = np.stack([channel.simulate(np.full(64, 1 / 64), n, rng) for _ in range(3)], axis=1)
    ends = []
    for together in (2**30, 0):
        monkeypatch.setattr(em, "_SLOW_TOGETHER", together)
        path = EMPath(channel, w, np.full((64, 3), 1 / 64))
        path.follow_to(30)
        path.keep(np.array([True, False, True]))
        path.follow_to(60)
        ends.append(path.thetas)
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


@pytest.mark.parametrize("start", ["uniform", "histogram"])
def test_em_of_bit_sums_and_of_other_starts_is_fitted_one_by_one(start: str) -> None:
    channel = SupportChannel(6, 0.2, 0.4)
    several = _several(channel, np.full(6, 1 / 6), 500, 3)
    method = ExpectationMaximization(5, start=start)  # type: ignore[arg-type]
    found = list(method.refit_all(several, np.full(6, 1 / 6)))
    for shares, data in zip(found, several, strict=True):
        assert (shares == method.fit(data).shares).all()
