"""Intervals and their limits against searches, enumerations and slow solvers."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

import warner
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    KeyValue,
    LocalHashing,
    MatrixMechanism,
    Product,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from warner.channels import (
    Channel,
    DenseChannel,
    DirectChannel,
    HadamardChannel,
    KroneckerChannel,
    LikelihoodOperator,
    StackChannel,
    SupportChannel,
    stacked,
)
from warner.estimators.base import Fit, LikelihoodData, Status
from warner.mechanisms import Mechanism
from warner.metrics import project
from warner.results import conditional, share_noise
from warner.results.conditional import shares_given
from warner.results.estimate import Estimate
from warner.results.from_tally import likelihood_data
from warner.results.intervals import lower_quantiles, score
from warner.results.linear_limits import UnbiasedShares, _Near, _Search
from warner.results.share_noise import ShareNoise, _alike, _Kind, _levels, covariance_of
from warner.results.summaries import mean, variance_of_shares

SIZE = 50
LABELS = Categorical(list(range(SIZE)))


@pytest.mark.parametrize(
    "mechanism, n",
    [
        (RandomizedResponse(LABELS, 0.5), 1000),
        (RandomizedResponse(LABELS, 4.0), 20_000),
        (UnaryEncoding(LABELS, 2.0), 5000),
    ],
    ids=["noise", "clear", "bits"],
)
def test_intervals_reach_from_the_first_accepted_share_to_the_last(
    mechanism: Mechanism, n: int
) -> None:
    """Each end lies within two steps of the grid beyond the accepted shares, or at most one inside.

    A search of the end that looks at one border only ends elsewhere where tails are exchanged.
    """
    truth = np.arange(1.0, SIZE + 1) ** -1.2
    truth /= truth.sum()
    channel, rng = mechanism.channel(), np.random.default_rng(1)
    data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
    noise = ShareNoise.of(data, "population")
    (index,) = _alike(noise)
    kind = _Kind.of(noise, index, truth)
    levels = _levels([kind], 0.05, SIZE)
    low, high, _ = kind.tests(levels)
    found = kind.accepted(levels, noise.centre)
    for estimate, (first, last) in zip(noise.centre, found, strict=True):
        accepted = np.flatnonzero((low <= estimate) & (estimate <= high))
        if not accepted.size:
            continue
        ends = [kind.t[accepted[0]], kind.t[accepted[-1]]]
        places = [float(np.interp(v, kind.t, np.arange(kind.t.size))) for v in (first, last)]
        assert -1 - 1e-9 <= places[0] - accepted[0] <= 1e-9, (estimate, ends, first)
        assert -1e-9 <= places[1] - accepted[-1] <= 1 + 1e-9, (estimate, ends, last)


# The roots of a quadratic are the shares that the score test accepts, tried one by one.


JOBS, LEVEL, USUAL = 5, 0.95, 1.959963984540054
DOMAIN = Categorical(list(range(JOBS)))
SHARES = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
GRID = np.linspace(0, 1, 1001)
TABLE = np.random.default_rng(3).dirichlet(np.ones(7), JOBS).T


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
    rest = (1 - least) * project(channel.invert(data.weights)) + least / JOBS
    rest[x] = 0
    rest /= rest.sum()
    z, unit = float(lower_quantiles(shares, LEVEL)[x]), np.eye(JOBS)[x]
    law = channel.support_law()
    people = np.multiply.outer(unit, GRID) + np.multiply.outer(rest, 1 - GRID)
    per_report = np.array([channel.inverse_moments(v)[0][x] for v in people.T]) - GRID**2
    if target == "respondents":
        per_report -= GRID * (1 - GRID)
    elif r > 1:
        whole = (
            [np.full(JOBS, t) for t in GRID],
            [np.full(JOBS, v) for v in per_report],
        )
        more = [channel.part_of_values(t, v)[x] for t, v in zip(*whole, strict=True)]
        per_report += (r - 1) * np.array(more)
    sd, shift = np.sqrt(np.maximum(per_report, 0) / n), np.zeros(GRID.size)
    if law is not None:
        mu = law.q[x] + law.gap[x] * GRID
        shift = (z**2 - USUAL**2) / 6 * (1 - 2 * mu) / law.gap[x] / (n + z**2)
    low = estimate - GRID <= z * sd + shift
    high = GRID - estimate <= USUAL * sd
    return float(GRID[low.argmax()]), float(GRID[::-1][high[::-1].argmax()])


@pytest.mark.crossed(6)
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
    for x in range(JOBS):
        assert fast[x] == pytest.approx(_tried(data, shares, target, x), abs=off)


# Limits of functions of the shares against general minimisers and dense matrices.


@pytest.mark.parametrize("seed", range(6))
def test_the_search_ends_at_the_least_expected_limit(seed: int) -> None:
    """Within 1e-6 of a bounded quasi-Newton search from two starts. Many m are almost 0, so several
    s are positive. Rejects a search that ends after the first solution of least squares.
    """
    rng, size = np.random.default_rng(seed), 12
    places = np.linspace(0, 1, size)
    channel = np.exp(-3 * np.abs(np.subtract.outer(places, places)))
    inverse = np.linalg.inv(channel / channel.sum(axis=0))
    # Shares sum to 1, so the rows of their covariance matrix sum to 0.
    root = (np.eye(size) - 1 / size) @ inverse * np.sqrt(rng.random(size) + 0.2)
    covariance = root @ root.T
    covariance /= np.trace(covariance) / size
    m = rng.dirichlet(np.full(size, 0.1)) + 1e-3
    m /= m.sum()
    c = np.sort(rng.random(size))
    of_c, variance, radius = covariance @ c, float(c @ covariance @ c), 3.0

    def limit(s: np.ndarray) -> float:
        spread = variance + 2 * of_c @ s + s @ covariance @ s
        return float(m @ s + radius * np.sqrt(max(spread, 1e-300)))

    found = _Search(covariance, of_c, variance, radius).least_slack(m)
    starts = (np.zeros(size), np.full(size, 0.5))
    ends = [minimize(limit, at, method="L-BFGS-B", bounds=[(0, None)] * size) for at in starts]
    assert (found >= 0).all() and found.max() > 0
    assert limit(found) <= min(end.fun for end in ends) + 1e-6


def test_without_room_for_slack_the_limits_are_walds() -> None:
    """Little noise, and no small share: the least limit has s = 0."""
    covariance = np.diag([0.25] * 4) - 1 / 16
    c = np.arange(4.0)
    search = _Search(covariance, covariance @ c, float(c @ covariance @ c), 1e-3)
    assert not search.least_slack(np.full(4, 0.25)).any()


def test_a_ratio_to_everybody_has_the_limits_of_its_numerator() -> None:
    """Rejects a ratio whose slack or bias has the other sign."""
    numbers = warner.SquareWave(warner.Interval(0, 10, bins=8), 1.0)
    values = np.random.default_rng(1).exponential(1.5, 500).clip(0, 10)
    tally = numbers.tally(numbers.randomize(values, np.random.default_rng(2)))
    known = UnbiasedShares.of(warner.estimate(tally), "population")
    assert known is not None
    c = np.arange(8.0)
    limits = known.limits(c, 1.96)
    ratio = float(c @ known.drawn.mean(axis=0))
    assert known.limits_of_ratio(c, np.ones(8), ratio, 1.96) == pytest.approx(limits, rel=0.02)


@pytest.mark.parametrize("name", ["RandomizedResponse", "SquareWave"])
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_limits_of_a_variance_are_those_of_two_scores(name: str, target: str) -> None:
    """Without slack: scores s with A's = x and A's = x^2 of least variance, at the exact law of the
    reports; of numbers in bins the first is a line of the report. Rejects a variance of the mean
    that is added twice, or to both limits.
    """
    domain, n = warner.Interval(0, 1, bins=8), 4000
    mechanism = getattr(warner, name)(domain, 2.0)
    theta = np.array([0.05, 0.2, 0.3, 0.2, 0.1, 0.05, 0.05, 0.05])
    channel, x = mechanism.channel().dense(), domain.points[:, 0]
    f = channel @ theta
    root = 1 / np.sqrt(channel.mean(axis=1))
    dual = np.linalg.pinv(channel * root[:, None]).T * root[:, None]
    if name == "SquareWave":
        places, reports = x - x.mean(), np.arange(len(channel))
        line = np.polyfit(channel.T @ reports, places, 1) @ np.stack([reports, np.ones_like(f)])
        dual += np.multiply.outer(line - dual @ places, places) / (places @ places)
    of_mean, of_squares = dual @ x, dual @ x**2
    unbiased = float(f @ of_squares - (f @ of_mean) ** 2)

    def noise(score: np.ndarray, values: np.ndarray) -> float:
        spread = f @ score**2 - (f @ score) ** 2
        return float(
            spread - (target == "respondents") * (theta @ values**2 - (theta @ values) ** 2)
        )

    mean = float(f @ of_mean)
    influence, of_one = of_squares - 2 * mean * of_mean, x**2 - 2 * mean * x
    half = 1.96 * np.sqrt(noise(influence, of_one) / n)
    data = LikelihoodData(mechanism.channel(), f, n, domain)
    result = Estimate(warner.Inversion().fit(data), data, warner.Inversion())
    known = UnbiasedShares._known(data, target, theta, np.empty((0, 8)), None)
    assert known is not None and result.n == n
    low, high = known.limits_of_variance(x, np.ones(8), 1.96)
    assert low == pytest.approx(unbiased - half, rel=2e-3)
    assert high == pytest.approx(unbiased + half + noise(of_mean, x) / n, rel=2e-3)


SUMS = {
    "k-RR": RandomizedResponse,
    "bits": UnaryEncoding,
    "hashes": LocalHashing,
    "subsets": SubsetSelection,
    "Hadamard": HadamardResponse,
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_the_covariance_of_sums_is_that_of_all_values_added_up(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects pairs that are counted twice, and cells that end one value too early."""
    mechanism = SUMS[name](Integers(0, 40), 1.5)
    channel, starts = mechanism.channel(), np.array([0, 1, 7, 20, 36])
    theta = np.random.default_rng(3).dirichlet(np.ones(41))
    w = channel.simulate(theta, 500, np.random.default_rng(4))
    data = LikelihoodData(channel, w, 500, mechanism.domain, reports_per_person=2)
    whole = covariance_of(data, theta, target)
    added = np.add.reduceat(np.add.reduceat(whole, starts, 0), starts, 1)
    assert covariance_of(data, theta, target, starts) == pytest.approx(added)
    monkeypatch.setattr(share_noise, "_DENSE", 0)
    monkeypatch.setattr(share_noise, "_TERMS", 500)  # in several steps
    assert covariance_of(data, theta, target, starts) == pytest.approx(added)


def test_estimates_of_cells_expect_of_a_value_what_is_stated() -> None:
    """Rejects an expectation without the move to the sum 1, and one of other cells."""
    numbers = warner.SquareWave(warner.Integers(0, 1499), 5.0)
    rng, theta = np.random.default_rng(1), np.zeros(1500)
    theta[[0, 700, 1499]] = 0.3, 0.2, 0.5
    data = LikelihoodData(numbers.channel(), numbers.channel().matvec(theta), 900, numbers.domain)
    known = UnbiasedShares.on_cells(data, "population")
    assert known is not None and known.starts is not None and known.shares.size < 1500
    c = rng.random(known.shares.size)
    # The reports have exactly the law of theta, so the estimate is what is expected of theta.
    assert c @ known.shares == pytest.approx(float(known.of_values(c) @ theta), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_distribution_with_a_given_cumulative_share(seed: int) -> None:
    """Rejects least squares that meet the conditions only nearly, and a bisection that ends beside
    the first or the last place.
    """
    rng, size, n, q = np.random.default_rng(seed), 6, 300, 0.4
    root = (np.eye(size) - 1 / size) @ rng.normal(size=(size, size))
    covariance = root @ root.T
    theta = rng.dirichlet(np.ones(size))
    shares = theta + root @ rng.normal(size=size) / np.sqrt(n)
    known = UnbiasedShares(shares, covariance, np.empty((0, size)), n, np.zeros(size))
    near, inverse = _Near.of(known), np.linalg.pinv(covariance, 1e-9) * n
    about = np.tri(size + 1, size, -1) - q

    def slow(*conditions: np.ndarray) -> float:
        found = minimize(
            lambda t: (t - shares) @ inverse @ (t - shares),
            project(shares),
            jac=lambda t: 2 * inverse @ (t - shares),
            method="SLSQP",
            bounds=[(0, 1)] * size,
            constraints=[
                {"type": "eq", "fun": lambda t: t.sum() - 1},
                *({"type": "eq", "fun": lambda t, a=a: a @ t} for a in conditions),
            ],
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return float(found.fun)

    assert near.least == pytest.approx(slow(), rel=1e-3, abs=1e-3)
    distances = np.array([slow(a) for a in about[1:-1]])
    assert [near.distance(a) for a in about[1:-1]] == pytest.approx(distances, rel=1e-3, abs=1e-3)
    is_near = distances <= near.least + 1.96**2
    at = 1 + int(np.argmax(np.append(about[1:-1] @ near.best >= 0, True)))
    first = min([at, *(1 + np.flatnonzero(is_near))])
    last = max([at - 1, *(1 + np.flatnonzero(is_near))])
    assert near.reach(about, 1.96) == (first, last)


# Means, variances and quantiles against slow definitions of the same.


def _estimate(domain: warner.domains.Domain, theta: np.ndarray) -> warner.Estimate:
    """An estimate that is theta, of a mechanism that does not matter."""
    mechanism = warner.RandomizedResponse(domain, 2.0)
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(domain.labels, np.random.default_rng(0)))
    )
    return warner.Estimate(Fit(theta.copy(), Status.EXACT), data, warner.Inversion())


def test_summaries_of_bins_are_those_of_numbers_spread_evenly_in_them() -> None:
    domain, fine = warner.Interval(-2, 4, 6), 20_000
    rng = np.random.default_rng(7)
    theta = rng.dirichlet(np.ones(6))
    theta[2] = 0
    theta /= theta.sum()
    numbers = -2 + 6 * (np.arange(6 * fine) + 0.5) / (6 * fine)
    weights = np.repeat(theta, fine) / fine
    result = _estimate(domain, theta)
    assert result.mean() == pytest.approx(weights @ numbers)
    assert variance_of_shares(result) == pytest.approx(
        weights @ (numbers - weights @ numbers) ** 2, rel=1e-6
    )
    for q in (0.05, 0.3, 0.5, 0.77, 1.0):
        assert result.quantile(q) == pytest.approx(
            numbers[np.searchsorted(np.cumsum(weights), q - 1e-12)], abs=1e-3
        )
    for low, high in ((-2, 4), (-1.3, 0.4), (0.1, 0.2), (3.9, 4.0), (1, 1)):
        assert result.range(low, high) == pytest.approx(
            weights[(numbers >= low) & (numbers <= high)].sum(), abs=1e-4
        )


def test_summaries_of_integers_are_those_of_a_list_of_people() -> None:
    domain = warner.Integers(-1, 5)
    people = np.array([0, 3, 1, 0, 4, 2, 0])
    ages = np.repeat(np.arange(-1, 6), people)
    result = _estimate(domain, people / people.sum())
    assert result.mean() == pytest.approx(ages.mean())
    assert variance_of_shares(result) == pytest.approx(ages.var())
    for q in (0.0, 0.1, 0.3, 0.4, 0.5, 0.8, 0.81, 1.0):
        expected = np.quantile(ages, q, method="inverted_cdf") if q > 0 else -1
        assert result.quantile(q) == expected
    assert result.range(0, 3) == pytest.approx(((ages >= 0) & (ages <= 3)).mean())
    assert result.range(1.5, 3.5) == pytest.approx(((ages >= 1.5) & (ages <= 3.5)).mean())


def test_means_and_variances_of_a_grid_are_those_of_its_rows_and_columns() -> None:
    domain, rng = warner.Grid(3, 4, 0.5), np.random.default_rng(8)
    theta = rng.dirichlet(np.ones(12))
    shares = theta.reshape(3, 4)
    means, variances = (of(_estimate(domain, theta)) for of in (mean, variance_of_shares))
    assert isinstance(means, tuple) and isinstance(variances, tuple)
    for axis, (middle, spread) in enumerate(zip(means, variances, strict=True)):
        side = 0.5 * np.arange(shares.shape[axis])
        marginal = shares.sum(axis=1 - axis)
        assert middle == pytest.approx(marginal @ side)
        assert spread == pytest.approx(marginal @ side**2 - (marginal @ side) ** 2)


# Intervals of shares given a key against Fieller's equation.


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_ends_of_intervals_of_shares_given_a_key_solve_fiellers_equation(key: str) -> None:
    """(mean of g - r h)^2 = z^2 variance / n at either end r, g and h what each report adds to the
    share and to the frequency.

    The variance is that of the distribution whose share is r, the other values of the key keeping
    their proportions.
    """
    mechanism = warner.KeyValue(
        warner.Categorical(["a", "b"]),
        warner.Integers(0, 2),
        4.0,
        key=key,
        value="piecewise",
        cells=5,
    )
    rng = np.random.default_rng(1)
    people = {"key": ["a", "a", "b"] * 10_000, "value": rng.integers(0, 3, 30_000)}
    found = warner.estimate(mechanism.tally(mechanism.randomize(people, rng)))
    channel, checked = found.data.channel, 0
    plug = project(channel.invert(found.data.weights)).reshape(2, 3)
    seen = channel.by_key(found.data.weights)[1]
    h = ((np.arange(seen.size) > 0) - channel.sent) / (channel.keep - channel.sent)
    for v, (g, ends) in enumerate(
        zip(channel.per_report, found.conditional("b").interval(), strict=True)
    ):
        for r in ends[(ends > 0) & (ends < 1)]:
            theta = plug.copy()
            others = np.arange(3) != v
            theta[1, v], theta[1, others] = (
                r * plug[1].sum(),
                (1 - r) * plug[1].sum() * plug[1, others] / plug[1, others].sum(),
            )
            each, law = g - r * h, channel.by_key(channel.matvec(theta.ravel()))[1]
            assert float(law @ each) == pytest.approx(0, abs=1e-12)
            assert float(seen @ each) ** 2 == pytest.approx(
                1.959963984540054**2 * float(law @ each**2) / found.n, rel=1e-6
            )
            checked += 1
    assert checked >= 4


# Second moments behind the intervals of shares given a key, against all reports listed one by one.


PAIR = Product(key=Categorical(["a", "b"]), value=Integers(0, 2))


SHAPE = (2, 3)


THETA = np.array([[0.02, 0.1, 0.28], [0.0, 0.25, 0.35]])


def _columns() -> np.ndarray:
    return np.stack([THETA.ravel(), np.full(6, 1 / 6)], axis=1)


def _bits(keep: float, other: float, ones: int | None) -> np.ndarray:
    """(reports, 6): the law of six bits, independent or a subset of fixed size, of every value,
    with the bits of each report.
    """
    rows = np.array(list(product([0, 1], repeat=6)))
    if ones is None:
        chances = np.where(rows == 1, other, 1 - other).prod(axis=1)[:, None]
        law = chances * np.where(rows == 1, keep / other, (1 - keep) / (1 - other))
        return np.concatenate([rows, law], axis=1)
    rows = np.array([[x in chosen for x in range(6)] for chosen in combinations(range(6), ones)])
    with_it, without = rows[:, 0].sum(), (~rows[:, 0]).sum()
    return np.concatenate([rows, np.where(rows, keep / with_it, (1 - keep) / without)], axis=1)


@pytest.mark.parametrize("ones", [None, 1, 2, 4])
def test_bits_have_the_moments_of_all_their_reports(ones: int | None) -> None:
    keep = 0.7
    other = 0.3 if ones is None else (ones - keep) / 5
    channel = SupportChannel(6, other, keep - other, ones)
    is_enumerable = _bits(keep, other, ones)
    g = (is_enumerable[:, :6] - other) / (keep - other)
    law = is_enumerable[:, 6:] @ _columns()
    h = g[:, 3:].sum(axis=1)
    assert g.T @ law == pytest.approx(_columns())  # the inverse is unbiased, so the list is right
    found = channel.block_moments(channel.matvec(THETA.ravel()), 1, SHAPE, _columns())
    assert found.squares == pytest.approx((g[:, 3:] ** 2).T @ law)
    assert found.mixed == pytest.approx((g[:, 3:] * h[:, None]).T @ law)
    assert found.block_squares == pytest.approx(np.tile(h**2 @ law, (3, 1)))
    assert found.total == pytest.approx(THETA[1]) and found.block == pytest.approx(
        np.full(3, THETA[1].sum())
    )


@pytest.mark.parametrize("second", [DirectChannel(3, 0.2, 0.4), SupportChannel(3, 0.3, 0.4)])
def test_attributes_apart_have_the_moments_of_all_their_reports(second: Channel) -> None:
    """The key is estimated by the reports about it alone: with bits of the value too, sums over
    values would be noisier.
    """
    first = DirectChannel(2, 0.3, 0.4)
    a = (np.eye(2)[:, 1] - 0.3) / 0.4
    if isinstance(second, DirectChannel):
        b, law = (np.eye(3) - 0.2) / 0.4, second.dense()
    else:
        rows = np.array(list(product([0, 1], repeat=3)))
        b = (rows - 0.3) / 0.4
        law = np.array(
            [[np.where(r == 1, p, 1 - p).prod() for p in 0.3 + 0.4 * np.eye(3)] for r in rows]
        )
    joint = np.kron(first.dense(), law) @ _columns()
    g = np.multiply.outer(a, b).reshape(-1, 3)
    h = np.repeat(a, len(b))
    channel = KroneckerChannel([first, second])
    found = channel.block_moments(channel.matvec(THETA.ravel()), 1, SHAPE, _columns())
    assert found.squares == pytest.approx((g**2).T @ joint)
    assert found.mixed == pytest.approx((g * h[:, None]).T @ joint)
    assert found.block_squares == pytest.approx(np.tile(h**2 @ joint, (3, 1)))
    assert found.total == pytest.approx(THETA[1]) and found.block == pytest.approx(
        np.full(3, THETA[1].sum())
    )


def test_what_a_report_of_a_pool_adds_is_the_inverse() -> None:
    channel = LocalHashing(PAIR, 2.0, seeds=16).channel()
    rng = np.random.default_rng(0)
    c, w = rng.normal(size=(6, 2)), rng.dirichlet(np.ones(channel.shape[0]))
    assert channel.influence(c).T @ w == pytest.approx(c.T @ channel.invert(w))


@pytest.mark.parametrize("clear", [0.02, 0.5])
def test_without_noise_the_interval_is_wilsons(clear: float) -> None:
    n, z = 1000, 1.959963984540054
    theta = np.array([[clear / 2, 0.0, clear / 2], [0.0, 1 - clear, 0.0]])
    data = LikelihoodData(DirectChannel(6, 0.0, 1.0), theta.ravel(), n, PAIR)
    people, share = clear * n, theta[0] / clear
    middle = (share + z**2 / (2 * people)) / (1 + z**2 / people)
    half = z / (1 + z**2 / people) * np.sqrt(share * (1 - share) / people + z**2 / (4 * people**2))
    found = shares_given(data, 0, SHAPE, z, respondents=False)
    assert found == pytest.approx(np.stack([middle - half, middle + half], axis=1), abs=1e-9)
    # Of these very people, whose answers are not randomised, all is known.
    assert shares_given(data, 0, SHAPE, z, respondents=True) == pytest.approx(
        np.stack([share, share], axis=1), abs=1e-6
    )


def test_a_key_that_noise_hides_says_nothing_and_a_lone_value_is_certain() -> None:
    coin = RandomizedResponse(PAIR, 0.1).channel()
    data = LikelihoodData(coin, coin.matvec(THETA.ravel()), 100, PAIR)
    assert shares_given(data, 0, SHAPE, 1.96, respondents=False).tolist() == [[0.0, 1.0]] * 3
    assert shares_given(data, 0, (6, 1), 1.96, respondents=False).tolist() == [[1.0, 1.0]]
    blind = DenseChannel(np.full((2, 6), 0.5))
    assert (
        shares_given(
            LikelihoodData(blind, np.full(2, 0.5), 100, PAIR), 0, SHAPE, 1.96, respondents=False
        ).tolist()
        == [[0.0, 1.0]] * 3
    )


@pytest.mark.parametrize("kind", ["reports", "keys"])
def test_several_mechanisms_make_a_narrower_interval_than_each(kind: str) -> None:
    """Weights are the expected ones, so that chance plays no part."""
    if kind == "keys":
        parts = [
            KeyValue(*PAIR.attributes.values(), e, value="piecewise", cells=5).channel()
            for e in (3.0, 4.0)
        ]
    else:
        parts = [RandomizedResponse(PAIR, 3.0).channel(), UnaryEncoding(PAIR, 3.0).channel()]
    theta = THETA.ravel()
    alone = [
        shares_given(
            LikelihoodData(c, c.matvec(theta), 20_000, PAIR), 0, SHAPE, 1.96, respondents=False
        )
        for c in parts
    ]
    stack = StackChannel(parts, [20_000, 20_000])
    both = shares_given(
        LikelihoodData(stack, stack.matvec(theta), 40_000, PAIR), 0, SHAPE, 1.96, respondents=False
    )
    assert (np.diff(both) < np.minimum(*(np.diff(each) for each in alone))).all()
    assert ((both[:, 0] <= THETA[0] / 0.4) & (THETA[0] / 0.4 <= both[:, 1])).all()


@pytest.mark.parametrize("shares", [[0.1, 0.2, 0.3, 0.0, 0.0], [0.6, 0.0, 0.0, 0.0, 0.0]])
@pytest.mark.parametrize(
    "channel",
    [
        DirectChannel(6, 0.1, 0.4),
        SupportChannel(6, 0.2, 0.4),
        DenseChannel(DirectChannel(6, 0.1, 0.4).dense()),
        HadamardChannel(6, 8, 0.6),
    ],
)
def test_variances_of_shares_given_are_those_at_each_distribution(
    channel: Channel, shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a distribution for each value and each end. Rejects moments of other values.

    A value's share of the key is 0, or 1; its others keep their proportions, or have even shares.
    """
    plug = np.array([*shares, 1 - sum(shares)])
    data = LikelihoodData(channel, channel.matvec(plug), 500, Integers(0, 5))
    monkeypatch.setattr(conditional, "_AT_A_TIME", 12)  # two values at a time
    moments, own = conditional._moments(data, plug, 0, (1, 5))
    test = conditional._Test.of(moments, own, plug[:5], 500, 2.0, 1)
    outside = np.append(np.zeros(5), plug[5])
    for v in range(5):
        others = np.where(np.arange(5) == v, 0.0, plug[:5])
        others = others if others.sum() > 0 else 1.0 * (np.arange(5) != v)
        ends = np.stack([others / others.sum(), np.eye(5)[v]], axis=1) * plug[:5].sum()
        columns = np.concatenate([ends, np.zeros((1, 2))]) + outside[:, None]
        slow = channel.block_moments(data.weights, 0, (1, 5), columns)
        several = (slow.squares[v], slow.mixed[v], slow.block_squares[v])
        (gg, gg_at_one), (gh, gh_at_one), (hh, hh_at_one) = several
        wanted = [gg, gg_at_one - gg - 2 * gh, hh - 2 * (gh_at_one - gh), hh_at_one - hh]
        assert test.coefficients[:, v] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("replicates, level", [(39, 0.95), (19 + 20, 0.9), (200, 0.8)])
def test_limits_of_a_bootstrap_are_replicates_that_were_drawn(
    replicates: int, level: float
) -> None:
    """The k-th smallest error of R is the k / (R + 1) quantile. Rejects k / R, and interpolation
    between the first and the last error, which make narrow intervals of few replicates.
    """
    mechanism = RandomizedResponse(Integers(0, 3), 2.0)
    result = warner.estimate(mechanism.tally(mechanism.reports([0, 1, 2, 3, 3] * 400)), "project")
    bounds = result.interval(
        level, kind="bootstrap", replicates=replicates, rng=np.random.default_rng(5)
    )
    rng, errors = np.random.default_rng(5), []
    for _ in range(replicates):
        channel, weights = result.data.channel.simulate_tally(result.probabilities, result.n, rng)
        errors.append(project(channel.invert(weights)) - result.probabilities)
    order = np.sort(errors, axis=0)

    def quantile(share: float) -> np.ndarray:
        below = share * (replicates + 1)
        first = int(np.floor(below + 1e-9))
        later = order[min(first, replicates - 1)]
        return np.asarray(order[first - 1] + (below - first) * (later - order[first - 1]))

    ends = quantile(1 - (1 - level) / 2), quantile((1 - level) / 2)
    expected = np.clip(np.stack([result.probabilities - end for end in ends], axis=1), 0, 1)
    assert bounds == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("reports_per_person", [1, 3])
def test_errors_of_tallies_in_blocks_are_those_of_each(
    target: str, reports_per_person: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects blocks that begin the draws again, and reports of one person taken for others'."""
    mechanism, shares = RandomizedResponse(Integers(0, 2), 1.0), np.array([0.6, 0.3, 0.1])
    channel = mechanism.channel()
    w = channel.matvec(shares)
    data = LikelihoodData(channel, w, 90, mechanism.domain, reports_per_person=reports_per_person)
    monkeypatch.setattr(share_noise, "_MOST_AT_A_TIME", 3)
    found = share_noise.simulated_errors(data, target, shares, np.random.default_rng(4), 7)
    rng, each = np.random.default_rng(4), []
    for _ in range(7):
        people = rng.multinomial(90, shares) if target == "respondents" else None
        _, drawn = channel.simulate_tally(shares, 90, rng, people, reports_per_person)
        each.append(channel.invert(drawn) - (shares if people is None else people / 90))
    assert found == pytest.approx(np.stack(each), abs=1e-12)
