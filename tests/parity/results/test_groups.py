"""Groups and associations against loops and enumerations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import warner
from tests.parity.channels._matrices import _geometric, _utility
from tests.registry import (
    KEYED,
    MECHANISMS as EVERY_KIND,
    PER_ATTRIBUTE,
    REPEATED,
    smallest,
)
from warner import (
    Categorical,
    Integers,
    PerAttribute,
    Product,
    RandomizedResponse,
    Reports,
    UnaryEncoding,
)
from warner._core.sampling import Source
from warner.channels import DenseChannel, DirectChannel, HadamardChannel, KroneckerChannel, stacked
from warner.estimators import Uniform
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.metrics import cramers_v, project
from warner.results import association
from warner.results.association import Pair
from warner.results.pooling import (
    Coordinates,
    Pooled,
    _mixed_over_groups,
    along_time,
    beside_separate,
    exchangeable,
)
from warner.results.wald_tests import dealt_moments, independence, quadratic

SIZES = np.array([30, 400, 1, 0, 90])
DOMAIN = Categorical(["a", "b", "c", "d"])
MU = np.array([0.4, 0.3, 0.2, 0.1])
MECHANISMS = [RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 1.5)]
PRIOR = np.diag(MU) - np.outer(MU, MU)
# Drops the last share, which is 1 less the others.
FREE = np.eye(4)[:3]


def _problem(number: int) -> tuple[np.ndarray, np.ndarray, Coordinates]:
    """Unbiased estimates of groups, C, and coordinates."""
    covariance = MECHANISMS[number].channel().covariance(MU)
    rng = np.random.default_rng(3)
    noise = [
        rng.multivariate_normal(np.zeros(4), covariance / n) if n else np.zeros(4) for n in SIZES
    ]
    return MU + np.array(noise), covariance, Coordinates.of(MU, covariance)


def _constrained(shares: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first three shares, and their covariance, given that all four sum to 1."""
    row = covariance.sum(axis=1)
    if row.sum() > 1e-9:
        shares = shares - np.outer(shares.sum(axis=1) - 1, row / row.sum())
        covariance = covariance - np.outer(row, row) / row.sum()
    return shares @ FREE.T, FREE @ covariance @ FREE.T


def _gaussian(
    y: np.ndarray, prior: np.ndarray, total: np.ndarray, cross: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Posterior mean, covariance and log-likelihood of a normal vector given y."""
    gain = cross @ np.linalg.inv(total)
    log = multivariate_normal(np.zeros(y.size), total).logpdf(y)
    return gain @ y, prior - gain @ cross.T, float(log)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("per_person", [1, 3])
def test_partial_pooling_is_the_posterior_of_all_shares_together(
    number: int, per_person: int
) -> None:
    shares, covariance, coordinates = _problem(number)
    z = coordinates.to(shares)
    z[SIZES == 0] = 0
    at = exchangeable(z, SIZES, coordinates.ratios, per_person)
    known = SIZES > 0
    logs = []
    for s in (0.02, 0.3):
        own, noise = _constrained(shares, covariance)
        prior = FREE @ PRIOR @ FREE.T
        groups = len(SIZES)
        joint = np.kron(np.eye(groups), s * prior) + np.kron(np.ones((groups, groups)), prior)
        within = np.zeros_like(joint)
        for g, n in enumerate(np.maximum(SIZES, 1)):
            drawn = max(1 - per_person / n, 0) - 1
            block = slice(3 * g, 3 * g + 3)
            within[block, block] = noise / n + drawn * s * prior
        seen = np.repeat(known, 3)
        y = (own - MU[:3])[known].ravel()
        mean, posterior, log = _gaussian(
            y, joint, (joint + within)[np.ix_(seen, seen)], joint[:, seen]
        )
        found = at(s)
        assert coordinates.back(found.mean)[:, :3].ravel() == pytest.approx(
            np.tile(MU[:3], groups) + mean, abs=1e-7
        )
        variance = found.variance @ (coordinates.basis.T**2)
        assert variance[:, :3].ravel() == pytest.approx(posterior.diagonal(), rel=1e-6)
        logs.append((found.log_likelihoods.sum() + found.common, log))
    (a, slow_a), (b, slow_b) = logs
    assert a - b == pytest.approx(slow_a - slow_b, abs=1e-8)


@pytest.mark.parametrize("number", [0, 1])
def test_a_path_is_the_posterior_of_a_random_walk(number: int) -> None:
    shares, covariance, coordinates = _problem(number)
    z = coordinates.to(shares)
    z[SIZES == 0] = 0
    # Two paths; the first has the groups 3, 0, 2 at the times 0, 1, 3, the other 4, 1 at 5, 6.
    times = np.array([1.0, 6.0, 3.0, 0.0, 5.0])
    series = np.array([0, 1, 0, 0, 1])
    at = along_time(z, SIZES, coordinates.ratios, times, series)
    walk = np.zeros((5, 5))
    logs = []
    for s in (0.02, 0.3):
        for i in range(5):
            for j in range(5):
                start = {0: 0.0, 1: 5.0}[int(series[i])]
                alike = series[i] == series[j]
                walk[i, j] = alike * (1 + s * (min(times[i], times[j]) - start))
        own, noise = _constrained(shares, covariance)
        joint = np.kron(walk, FREE @ PRIOR @ FREE.T)
        within = np.kron(np.diag(1 / np.maximum(SIZES, 1)), noise)
        seen = np.repeat(SIZES > 0, 3)
        y = (own - MU[:3])[SIZES > 0].ravel()
        mean, posterior, log = _gaussian(
            y, joint, (joint + within)[np.ix_(seen, seen)], joint[:, seen]
        )
        found = at(s)
        assert coordinates.back(found.mean)[:, :3].ravel() == pytest.approx(
            np.tile(MU[:3], 5) + mean, abs=1e-7
        )
        variance = found.variance @ (coordinates.basis.T**2)
        assert variance[:, :3].ravel() == pytest.approx(posterior.diagonal(), rel=1e-6)
        logs.append((found.log_likelihoods.sum() + found.common, log))
    (a, slow_a), (b, slow_b) = logs
    assert a - b == pytest.approx(slow_a - slow_b, abs=1e-8)


def test_coordinates_hold_noise_and_prior() -> None:
    for number in (0, 1):
        _, covariance, found = _problem(number)
        noise = _constrained(np.ones((1, 4)) / 4, covariance)[1]
        basis = FREE @ found.basis
        assert basis @ basis.T == pytest.approx(noise, rel=1e-9)
        assert (basis * found.ratios) @ basis.T == pytest.approx(FREE @ PRIOR @ FREE.T, rel=1e-9)


# Laws and statistics of tests, against reports that are dealt and covariances of all cells.


DEALT = np.array([12, 6, 4])
COUNTS = np.array([10, 5, 3, 2, 1, 1])


def test_moments_over_all_deals_are_those_of_dealt_reports() -> None:
    """Rejects the program that takes the moments of a chi-square: their variance is 12."""
    rng = np.random.default_rng(1)
    shares, z = COUNTS / COUNTS.sum(), rng.normal(size=(6, 3))
    z -= shares @ z
    z = z @ np.linalg.cholesky(np.linalg.inv((z.T * shares) @ z))
    reports, ends, dealt = np.repeat(z, COUNTS, axis=0), np.cumsum(DEALT)[:-1], []
    for _ in range(4000):
        groups = np.split(rng.permutation(reports), ends)
        dealt.append(sum(len(g) * (g.mean(axis=0) ** 2).sum() for g in groups))
    moments = dealt_moments(DEALT.astype(float), shares, (z**2).sum(axis=1))
    assert moments is not None
    mean, variance = moments
    assert mean == pytest.approx(np.mean(dealt), abs=0.2)
    assert variance == pytest.approx(np.var(dealt), rel=0.1)
    assert dealt_moments(DEALT[:2] / 6, shares, shares) is None


def test_attributes_randomised_separately_are_tested_by_the_noise_of_each() -> None:
    """Against the covariance of all cells."""
    domain = Product(a=Categorical(["x", "y", "z"]), b=Categorical(["p", "q"]))
    survey = PerAttribute(
        domain, {"a": lambda d: RandomizedResponse(d, 1.0), "b": lambda d: RandomizedResponse(d, 2)}
    )
    channel, rng = survey.channel(), np.random.default_rng(2)
    weights = channel.simulate(np.array([0.3, 0.1, 0.2, 0.2, 0.15, 0.05]), 900, rng)
    found = independence(LikelihoodData(channel, weights, 900, domain, True), "a", "b")
    table = channel.invert(weights).reshape(3, 2)
    sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
    a, b = ((900 * side + 0.5) / (900 + 0.5 * side.size) for side in sides)
    contrast = np.kron(np.eye(3) - a[:, None], np.eye(2) - b[:, None])
    d, covariance = contrast @ table.ravel(), channel.covariance(np.multiply.outer(a, b).ravel())
    slow = 900 * quadratic(d, contrast @ covariance @ contrast.T, 2)
    assert (found.statistic, found.degrees) == (pytest.approx(slow), 2)


# The square of an association against a slow twin that lists every report.


def test_the_square_of_an_association_is_the_same_axis_by_axis_and_listed() -> None:
    factors = [_utility(3, 1, 1.0)[0], _geometric(4, 0.5, 0, 0)[0]]
    fast = KroneckerChannel(factors)
    w = fast.simulate(
        np.random.default_rng(0).dirichlet(np.ones(12)), 500, np.random.default_rng(1)
    )
    slow = DenseChannel(fast.dense())
    pair = Pair(fast, w, 500, (3, 4))
    sides = [np.random.default_rng(k).dirichlet(np.ones(k), 2).T for k in (3, 4)]
    maps = [np.eye(len(side)) - side[:, :1] for side in sides]
    inverse = slow.invert(np.eye(12))
    numbers = np.kron(maps[0], maps[1]) @ inverse  # (r c, m): g_ij of each report
    both = np.stack([w, w[::-1]], axis=1)
    for each in (pair, Pair(slow, w, 500, (3, 4))):
        assert each._second_moments(both, sides)[..., 0] == pytest.approx(
            (numbers**2 @ w).reshape(3, 4)
        )
    assert pair.square(w) == pytest.approx(Pair(slow, w, 500, (3, 4)).square(w), rel=1e-6)


# The squares of associations of several tallies against those of each.


CHANNELS = {
    "one report of both": DirectChannel(6, 0.05, 0.7),
    "one report of each": KroneckerChannel(
        [DirectChannel(2, 0.2, 0.6), DirectChannel(3, 0.2, 0.4)]
    ),
    "no marginals": HadamardChannel(6, 8, 0.6),
    "two budgets": stacked([DirectChannel(6, 0.05, 0.7), DirectChannel(6, 0.1, 0.4)], [300, 200]),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_the_squares_of_several_tallies_are_those_of_each(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, theta = CHANNELS[name], np.random.default_rng(0).dirichlet(np.ones(6))
    drawn = channel.simulate_tallies(theta, 500, np.random.default_rng(1), 5)
    w = np.stack([weights for _, weights in drawn], axis=1)
    pair = Pair(channel, w[:, 0], 500, (2, 3))
    each = [pair.square(column) for column in w.T]
    assert pair.squares(w) == pytest.approx(np.array(each), rel=1e-9)
    monkeypatch.setattr(association, "_ENTRIES", 14)  # blocks of few tallies, and of few reports
    assert pair.squares(w) == pytest.approx(np.array(each), rel=1e-9)


@pytest.mark.parametrize("cells", [256, 2])
def test_distributions_of_a_wanted_association_are_found_in_either_way(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(association, "_SMALL_TABLE", cells)
    channel = CHANNELS["one report of both"]
    w = channel.matvec(np.array([0.3, 0.1, 0.1, 0.05, 0.15, 0.3]))
    found = Pair(channel, w, 500, (2, 3))._distribution_with(0.4)
    assert cramers_v(found) == pytest.approx(0.4, abs=1e-6)


# ``Estimate.log_likelihood_at`` against sums over reports, from the mechanisms' exact tables.


PEOPLE = 40


def _parts(mechanism: Mechanism, reports: Reports) -> list[list[tuple[object, ...]]]:
    """For each report its parts: one bit, or one key, and every other column whole."""
    columns = []
    for name, values in reports.columns.items():
        if name.endswith("bits"):
            attribute = name.rpartition(".")[0]
            domain = mechanism.domain
            size = domain.attributes[attribute].size if attribute else domain.size
            bits = np.unpackbits(values, axis=1)[:, :size]
            columns.append([list(enumerate(row.tolist())) for row in bits])
        elif name == "digits":
            columns.append([list(enumerate(row.tolist())) for row in values])
        else:
            columns.append([[value] for value in values.tolist()])
    return [list(itertools.product(*row)) for row in zip(*columns, strict=True)]


def _sum_over_parts(mechanism: Mechanism, reports: Reports, theta: np.ndarray) -> float:
    """sum over reports, and over their parts, of log Pr(part | theta)."""
    law = np.asarray(mechanism.probabilities(), dtype=np.float64) @ theta
    of_part: dict[tuple[object, ...], float] = {}
    every = Reports(mechanism.header, mechanism.outputs())
    for probability, parts in zip(law.tolist(), _parts(mechanism, every), strict=True):
        for part in parts:
            of_part[part] = of_part.get(part, 0.0) + probability
    return float(sum(np.log(of_part[p]) for parts in _parts(mechanism, reports) for p in parts))


def _drawn(mechanism: Mechanism, seed: int = 0) -> tuple[Reports, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = mechanism.domain.size
    index, theta = rng.integers(0, size, PEOPLE), rng.dirichlet(np.full(size, 2.0))
    return Reports(mechanism.header, mechanism.randomize_index(index, Source(rng))), theta


SMALL = {
    **{name: EVERY_KIND[name] for name in EVERY_KIND if "Rappor" in name or "Subset" in name},
    **{name: make for name, make in KEYED.items() if "unary" in name},
    **{name: make for name, make in PER_ATTRIBUTE.items() if "UE" in name or "RAP" in name},
    "subsets x RR": PER_ATTRIBUTE["subsets x RR"],
}


@pytest.mark.parametrize("name", SMALL)
def test_where_bits_are_summed_it_is_the_sum_over_all_parts_of_reports(name: str) -> None:
    """The wrong program divides each part's probability by the number of parts."""
    mechanism = PER_ATTRIBUTE[name](1.0) if name in PER_ATTRIBUTE else smallest(name)
    reports, theta = _drawn(mechanism)
    result = warner.estimate(mechanism.tally(reports).sums(), Uniform())
    expected = _sum_over_parts(mechanism, reports, theta)
    assert result.log_likelihood_at(theta) == pytest.approx(expected, rel=1e-9)


def test_two_budgets_are_the_sum_of_the_logarithms_by_hand() -> None:
    """The wrong program is off by the entropy of the group sizes, 1000 log 2 nats here."""
    domain, theta = Integers(0, 3), np.array([0.4, 0.3, 0.2, 0.1])
    tallies, total = [], 0.0
    for i, epsilon in enumerate((0.5, 2.0)):
        mechanism = warner.RandomizedResponse(domain, epsilon)
        counts = np.array([200, 150, 100, 50]) + 10 * i * np.array([1, -1, 1, -1])
        tally = mechanism.tally(mechanism.reports(np.repeat(np.arange(4), counts)))
        tallies.append(tally.trusted())
        keep = np.exp(epsilon) / (np.exp(epsilon) + 3)
        law = (1 - keep) / 3 + (keep - (1 - keep) / 3) * theta
        total += float(counts @ np.log(law))
    result = warner.estimate(tallies, warner.MaximumLikelihood())
    assert result.log_likelihood_at(theta) == pytest.approx(total, rel=1e-9)
    assert result.log_likelihood == pytest.approx(
        result.log_likelihood_at(result.probabilities), rel=1e-12
    )


STACKED = (
    "RandomizedResponse",
    "UnaryEncoding optimized",
    "LocalHashing optimized",
    "SubsetSelection",
    "HadamardResponse",
    "UtilityOptimizedRappor",
    "Geometric",
    "MatrixMechanism",
)
TWICE = ("RR three times", "OUE twice", "RR, OUE, OLH")


def test_every_kind_of_report_on_one_domain_adds_up() -> None:
    """Bit sums, kept bits, hashes, numbers and several reports of one person, in one stack."""
    domain = Integers(0, 3)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    makers = [
        *((EVERY_KIND[name](domain, 1.0), False) for name in STACKED),
        *((EVERY_KIND[name](domain, 0.7), True) for name in ("SubsetSelection",)),
        *((REPEATED[name](0.5), False) for name in TWICE),
    ]
    tallies, total = [], 0.0
    for seed, (mechanism, keep) in enumerate(makers):
        reports, _ = _drawn(mechanism, seed)
        tallies.append(
            mechanism.tally(reports, keep_reports=True) if keep else mechanism.tally(reports)
        )
        alone = warner.estimate(tallies[-1], Uniform())
        total += float(alone.log_likelihood_at(theta))
    together = warner.estimate(tallies, Uniform())
    assert len(tallies) > 10
    assert together.log_likelihood_at(theta) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("name", [*EVERY_KIND, *KEYED])
def test_many_distributions_at_once_are_each_alone(name: str) -> None:
    mechanism = smallest(name)
    reports, _ = _drawn(mechanism)
    result = warner.estimate(mechanism.tally(reports), Uniform())
    thetas = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size), (2, 3))
    at_once = result.log_likelihood_at(thetas)
    alone = [[result.log_likelihood_at(theta) for theta in row] for row in thetas]
    np.testing.assert_allclose(at_once, alone, rtol=1e-12)


def test_the_highest_point_of_the_surface_is_the_maximum_of_the_likelihood() -> None:
    """[P4 figs 4, 5]: three values, all distributions on a grid."""
    mechanism = warner.RandomizedResponse(Integers(0, 2), 1.0)
    result = warner.estimate(
        mechanism.tally(mechanism.reports([0] * 50 + [1] * 30 + [2] * 20)),
        warner.MaximumLikelihood(),
    )
    grid = [(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]
    surface = np.asarray(result.log_likelihood_at(np.array(grid) / 100))
    assert result.log_likelihood is not None and surface.max() <= result.log_likelihood
    best = np.array(grid[int(surface.argmax())]) / 100
    assert np.abs(best - result.probabilities).max() <= 0.01


def test_spreads_of_groups_are_mixed_as_by_all_cases() -> None:
    """Rejects the program in which all groups have one spread."""
    grid, rng = np.array([-2.0, -1.0, 0.0]), np.random.default_rng(4)
    logs, level = rng.normal(0, 2, (3, 2)), rng.normal(size=3)
    joint = np.zeros((3, 3))  # of the places of both groups
    for deviation in (0.0, 0.7, 1.4):
        for centre in range(3):
            law = np.exp(-(((grid - grid[centre]) / max(deviation, 1e-9)) ** 2) / 2)
            law /= law.sum()
            of_each = law[:, None] * np.exp(logs)
            joint += np.exp(level[centre]) * np.multiply.outer(of_each[:, 0], of_each[:, 1])
    joint /= joint.sum()
    expected = np.stack([joint.sum(axis=1), joint.sum(axis=0)], axis=1)
    assert _mixed_over_groups(logs, level, grid) == pytest.approx(expected, rel=1e-9)


def test_pooled_and_separate_estimates_are_weighed_by_steins_risk() -> None:
    """The slow twin differentiates both estimates by the reports of each group."""
    shares, _, coordinates = _problem(0)
    sizes = np.array([150, 400, 1000, 130, 90])  # the last is of too few reports
    z = coordinates.to(shares)
    gain = np.random.default_rng(2).uniform(0.2, 0.9, z.shape)
    z /= 20  # so that both estimates are about as good
    mean = coordinates.back(0.02 + gain * (z - 0.02))
    posterior = Pooled(mean, np.full(mean.shape, 0.02), 0.1, gain)
    found, mixed = beside_separate(posterior, coordinates, z, sizes)
    noise = coordinates.basis @ coordinates.basis.T
    scale, step, risks = np.trace(noise) / coordinates.rank, 1e-6, []
    for follows in (gain, np.ones_like(gain)):
        risk = 0.0
        for g in range(4):
            at = 0.02 + follows[g] * (z[g] - 0.02) if follows is gain else z[g]
            here = project(coordinates.back(at[None])[0])
            moved = [
                project(coordinates.back((at + step * unit * follows[g])[None])[0]) - here
                for unit in np.eye(coordinates.rank)
            ]
            derivative = sum(
                float(move @ column) / step
                for move, column in zip(moved, coordinates.basis.T, strict=True)
            )
            seen = coordinates.back(z[g][None])[0]
            risk += sizes[g] * float(((here - seen) ** 2).sum()) + 2 * derivative
        risks.append(risk / scale)
    weight = 1 / (1 + np.exp((risks[0] - risks[1]) / 8))
    both = weight * project(mean.T).T + (1 - weight) * project(coordinates.back(z).T).T
    assert 0.01 < weight < 0.99
    assert found[:4] == pytest.approx(both[:4], abs=1e-5)
    assert found[4] == pytest.approx(project(mean[4]))
    assert mixed.mean[4] == pytest.approx(mean[4]) and (mixed.deviation[4] == 0.02).all()
