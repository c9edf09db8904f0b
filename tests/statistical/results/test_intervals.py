"""Intervals of shares cover what they say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, chi2

import warner
from tests.registry import MECHANISMS, SEEING
from tests.statistical.mechanisms._chi_square import ALPHA
from tests.statistical.results._estimates import _estimated
from tests.statistical.results._pairs import CHANNEL, _family, _tallies
from warner import (
    Categorical,
    EmpiricalBayes,
    Estimate,
    Integers,
    Interval,
    Inversion,
    KeyValue,
    Product,
    RandomizedResponse,
    UnaryEncoding,
)
from warner.channels import Channel, DirectChannel, KroneckerChannel, summed
from warner.designs import Crosswise, ForcedResponse
from warner.estimators import MaximumLikelihood, SampleMean
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.metrics import project
from warner.reports.reports import Reports
from warner.reports.tally import Tally
from warner.results.conditional import shares_given
from warner.results.from_tally import likelihood_data
from warner.results.intervals import anytime, normal_quantile, wald
from warner.results.ranks import _factor_of_pairs, _spread_of_pairs
from warner.results.share_noise import ShareNoise, _largest, independent_factor, simulated_errors

SIZE, PEOPLE, RUNS = 4, 2000, 200


def test_weighted_shares_of_two_designs_cover_those_of_the_population() -> None:
    """300 surveys, in which 10 % of one half of the people and 40 % of the other say yes, and
    weights depend on the answer. Rejects the program that weighs the designs by their precision:
    its intervals hold the share in 58 % of these surveys.
    """
    rng, n, held = np.random.default_rng(5), 1000, []
    designs = [(Crosswise("90/365"), 0.1), (ForcedResponse("1/6", "1/6"), 0.4)]
    for _ in range(300):
        tallies = []
        for design, share in designs:
            is_yes = rng.random(n) < share
            weights = np.where(is_yes, rng.choice([1, 2], n), rng.choice([1, 3], n))
            reports = design.randomize(np.where(is_yes, "yes", "no").tolist(), rng)
            tallies.append(design.tally(reports, {"w": weights}))
        low, high = warner.estimate(tallies, weights="w").interval()[1]
        held.append(low <= 1.5 * 0.5 / (1.5 * 0.5 + 2 * 1.5) <= high)
    assert 0.95 - 4 * (0.95 * 0.05 / 300) ** 0.5 < np.mean(held) < 0.9951


def _coverage(
    name: str, target: str, interval: Callable[[LikelihoodData], np.ndarray], epsilon: float
) -> tuple[float, float]:
    """How often intervals hold the truth, averaged over SIZE values, and the standard error of
    that.

    Tallies are drawn from their law. Two other tests hold that law to the one of real reports.
    """
    mechanism = MECHANISMS[name](warner.Integers(0, SIZE - 1), epsilon)
    channel, rng = mechanism.channel(), np.random.default_rng(8)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    people = rng.multinomial(PEOPLE, theta)
    hits = []
    for _ in range(RUNS):
        population = target == "population"
        weights = (
            channel.simulate(theta, PEOPLE, rng)
            if population
            else channel.simulate_from_values(people, rng)
        )
        truth = theta if population else people / PEOPLE
        bounds = interval(LikelihoodData(channel, weights, PEOPLE, mechanism.domain))
        hits.append(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())
    return float(np.mean(hits)), float(np.std(hits)) / RUNS**0.5


def _off(found: tuple[float, float]) -> float:
    """By how many standard errors a coverage is off 0.95."""
    return (found[0] - 0.95) / max(found[1], 1e-9)


@pytest.mark.crossed(31)
@pytest.mark.parametrize(
    "name",
    [
        n
        for n in SEEING
        if n not in ("UnaryEncoding keep 0.8", "LocalHashing binary", "SubsetSelection of two")
    ],
)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_intervals_cover_what_they_say(name: str, target: str) -> None:
    assert abs(_off(_coverage(name, target, lambda data: wald(data, 0.95, target), 3.0))) < 6


def test_intervals_that_are_wrong_are_caught() -> None:
    """Respondents' intervals claimed for the population, the reverse, and intervals of 68 % claimed
    as 95 %.
    """
    name = "RandomizedResponse"
    assert (
        _off(_coverage(name, "population", lambda data: wald(data, 0.95, "respondents"), 3.0)) < -6
    )
    assert (
        _off(_coverage(name, "respondents", lambda data: wald(data, 0.95, "population"), 3.0)) > 6
    )
    assert _off(_coverage(name, "population", lambda data: wald(data, 0.68), 3.0)) < -6


FACTORS = (
    1.0,
    0.5**0.5,
    2**0.5,
)  # of the widths of intervals: the information as it is, twice, half
LINEAR = np.stack([*np.eye(SIZE), np.arange(SIZE), [0, 1, 1, 0]])  # shares, a mean, a range


def _covered(
    name: str,
    epsilon: float,
    runs: int,
    interval: Callable[[warner.Estimate, np.random.Generator], np.ndarray],
    factors: tuple[float, ...] = (1.0,),
    method: warner.estimators.Estimator | None = None,
) -> dict[str, np.ndarray]:
    """How often the intervals of LINEAR hold the truth of each target, over whole runs from people
    to interval: a row for each factor of their width. The method is maximum likelihood unless
    another is given.
    """
    mechanism = MECHANISMS[name](warner.Integers(0, SIZE - 1), epsilon)
    method = method or MaximumLikelihood()
    theta, rng = np.array([0.4, 0.3, 0.2, 0.1]), np.random.default_rng(2)
    hits = {
        target: np.zeros((len(factors), len(LINEAR))) for target in ("population", "respondents")
    }
    for _ in range(runs):
        values = rng.choice(SIZE, PEOPLE, p=theta)
        shares = np.bincount(values, minlength=SIZE) / PEOPLE
        data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
        bounds = interval(Estimate(method.fit(data), data, method), rng)
        middle, half = bounds.mean(axis=1), np.diff(bounds)[:, 0] / 2
        for target, truth in (("population", theta), ("respondents", shares)):
            hits[target] += np.abs(LINEAR @ truth - middle) <= np.outer(factors, half)
    return {target: count / runs for target, count in hits.items()}


@pytest.mark.parametrize(
    "name, target, method",
    [
        ("RandomizedResponse", "population", warner.MaximumLikelihood()),
        ("RandomizedResponse", "respondents", warner.MaximumLikelihood()),
        # 6,000 maxima of the likelihood of bits take long, and the bootstrap does the same for any.
        ("UnaryEncoding symmetric", "respondents", warner.Inversion("project")),
    ],
)
def test_bootstrap_intervals_cover_shares_and_linear_functions(
    name: str, target: str, method: warner.estimators.Estimator
) -> None:
    """Away from the border: coverage over 60 runs of 4 shares, a mean and a range, within 6 sd of
    0.94 (sd 0.031).

    Intervals of half the width cover 0.67. Those of the population claimed for respondents cover
    too often.
    """
    found = _covered(
        name,
        3.0,
        60,
        lambda e, rng: e.interval(0.95, target, "bootstrap", LINEAR, replicates=60, rng=rng),
        method=method,
    )
    # Quantiles of 60 replicates cover about 0.01 less than they should.
    assert (np.abs(found[target] - 0.94) < 6 * 0.031).all()
    if target == "population":
        assert found["respondents"].mean() > 0.97


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_bootstraps_of_subsets_know_that_their_bits_go_together(target: str) -> None:
    """The share of two of four values: the mean width of 15 intervals is that of the exact law of
    reports, within 9 %. Bits drawn apart make intervals a fifth too wide.
    """
    mechanism, n = warner.SubsetSelection(warner.Integers(1, 4), 1.0), 1000
    rng, half, widths = np.random.default_rng(1), np.arange(4) < 2, []
    for _ in range(15):
        reports = mechanism.randomize(rng.integers(1, 5, n), rng)
        result = _estimated(mechanism.tally(reports), warner.Inversion())
        widths.append(np.ptp(result.interval(0.95, target, "bootstrap", half, 300, rng)))
    # What one report adds to the estimate, for every report that there is.
    every = Reports(mechanism.header, mechanism.outputs())
    tallies = [mechanism.tally(every[i : i + 1]) for i in range(4)]
    g = np.array([half @ _estimated(t, warner.Inversion()).probabilities for t in tallies])
    law = mechanism.probabilities().astype(float)
    law = law if target == "respondents" else law.mean(axis=1, keepdims=True)
    variance = (g**2 @ law - (g @ law) ** 2).mean() / n
    assert abs(np.mean(widths) / (2 * 1.96 * np.sqrt(variance)) - 1) < 0.09


def test_bootstraps_of_estimates_that_do_not_sum_to_one_are_centred() -> None:
    """Errors are measured from the distribution that was simulated; measured from the estimate,
    coverage falls to 0.68.
    """
    mechanism = warner.UnaryEncoding(warner.Integers(0, 3), 1.0)
    rng, theta, hits = np.random.default_rng(3), np.array([0.7, 0.1, 0.1, 0.1]), 0
    for _ in range(100):
        result = _estimated(
            mechanism.tally(mechanism.randomize(rng.choice(4, 2000, p=theta), rng)),
            warner.Inversion(),
        )
        low, high = result.interval(kind="bootstrap", replicates=60, rng=rng)[0]
        hits += low <= 0.7 <= high
    assert hits / 100 > 0.85


@pytest.mark.crossed(2)
@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("name", ["LocalHashing optimized", "MatrixMechanism"])
def test_fisher_intervals_cover_shares_and_linear_functions(name: str, target: str) -> None:
    """Over 300 runs: within 6 sd of 0.95 (sd 0.0126), and on average over the six functions between
    0.89 and 0.98. The information of twice or half the people is rejected by the average.
    """
    found = _covered(
        name, 3.0, 300, lambda e, _: e.interval(0.95, target, "fisher", LINEAR), FACTORS
    )[target]
    assert (np.abs(found[0] - 0.95) < 6 * 0.0126).all()
    right, narrow, wide = found.mean(axis=1)
    assert narrow < 0.89 < right < 0.98 < wide


@pytest.mark.parametrize("name", SEEING)
def test_reports_of_fixed_people_vary_as_their_intervals_say(name: str) -> None:
    """Mean and variance of the inversion over re-randomised people, 400 times: chi-square and z
    limits of 1e-9.

    The wrong program draws people anew as well: k-RR at epsilon 4 then has more than twice the
    variance.
    """
    size, runs = 5, 400
    mechanism = MECHANISMS[name](warner.Integers(0, size - 1), 4.0)
    channel, rng = mechanism.channel(), np.random.default_rng(6)
    people = np.array([900, 600, 300, 200, 100])
    n, theta = people.sum(), people / people.sum()
    tallies = [channel.simulate_from_values(people, rng) for _ in range(runs)]
    drawn = channel.invert(np.stack(tallies, axis=1)).T
    variance = (channel.variance(theta) - theta * (1 - theta)) / n
    assert (np.abs(drawn.mean(axis=0) - theta) < 6.5 * np.sqrt(variance / runs)).all()
    ratio = ((drawn - theta) ** 2).mean(axis=0) / variance
    low, high = (chi2.ppf(q, runs) / runs for q in (1e-10, 1 - 1e-10))
    assert ((low < ratio) & (ratio < high)).all()
    if name == "RandomizedResponse":
        anew = np.stack([channel.invert(channel.simulate(theta, int(n), rng)) for _ in range(runs)])
        assert (((anew - theta) ** 2).mean(axis=0) / variance)[0] > high


# Intervals of average coverage, bands and anytime intervals hold what they say. Seeded.


RANKED, SURVEYS = 60, 10
RANK = np.arange(1.0, RANKED + 1)
TRUTHS = {
    "few large": RANK**-1.2 / (RANK**-1.2).sum(),
    "half absent": np.where(RANK > RANKED / 2, 0.0, 2 / RANKED),
    "all different": RANK / RANK.sum(),
}
CELLS: dict[str, tuple[Callable[..., Mechanism], float, int]] = {
    "noise only": (RandomizedResponse, 0.5, 1000),
    "some noise": (UnaryEncoding, 1.0, 20_000),
    "small counts": (RandomizedResponse, 4.0, 300),
}

Intervals = Callable[[Estimate], np.ndarray]


def _average(result: Estimate) -> np.ndarray:
    return result.interval(kind="average")


def _prior_as_known(result: Estimate) -> np.ndarray:
    """The wrong program: the shrunken estimate and the posterior's standard deviation."""
    assert result.fit.posterior is not None
    drawn = result.fit.posterior.draws(100, np.random.default_rng(0))
    half = 1.96 * drawn.std(axis=0)
    return np.stack([result.probabilities - half, result.probabilities + half], axis=1)


def _share_covered(cell: str, truth: np.ndarray, intervals: Intervals, runs: int) -> np.ndarray:
    """The part of the shares that the intervals hold, of each run."""
    make, epsilon, n = CELLS[cell]
    mechanism = make(Categorical(list(range(RANKED))), epsilon)
    channel, rng, method = mechanism.channel(), np.random.default_rng(4), EmpiricalBayes()
    found = []
    for _ in range(runs):
        data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
        low, high = intervals(Estimate(method.fit(data), data, method)).T
        found.append(((low <= truth) & (truth <= high)).mean())
    return np.array(found)


@pytest.mark.parametrize(
    "name, cell",
    [
        ("few large", "noise only"),
        ("few large", "some noise"),
        ("half absent", "noise only"),
        ("half absent", "small counts"),
        ("all different", "some noise"),
    ],
)
def test_average_coverage_is_the_level_whatever_the_shares(name: str, cell: str) -> None:
    """600 intervals: the mean is at least 0.95 less 4 standard errors, and at most 0.985."""
    found = _share_covered(cell, TRUTHS[name], _average, SURVEYS)
    error = max(float(found.std()) / SURVEYS**0.5, 0.0089)
    assert 0.95 - 4 * error < found.mean() < 0.985 + error


@pytest.mark.parametrize("name", TRUTHS)
def test_a_prior_that_is_taken_as_known_is_caught(name: str) -> None:
    """The shrunken estimate with its posterior deviation covers far less where noise is large."""
    assert _share_covered("noise only", TRUTHS[name], _prior_as_known, 4).mean() < 0.8


def _held(mechanism: Mechanism, truth: np.ndarray, n: int) -> tuple[float, float]:
    """How often bands hold all shares: with their own half-width, and with independent errors'.

    Both half-widths are those of a tally of the truth. 4000 other tallies judge them.
    """
    channel = mechanism.channel()
    data = LikelihoodData(channel, channel.matvec(truth), n, mechanism.domain)
    ignorant = independent_factor(0.95, np.ones(truth.size, dtype=bool))
    noise = ShareNoise.of(data, "population")
    largest: list[np.ndarray] = []
    for seed, draws in ((1, 2000), (2, 4000)):
        rng = np.random.default_rng(seed)
        errors = simulated_errors(data, "population", truth, rng, draws)
        assert errors is not None
        largest.append(_largest(noise, truth, errors, ignorant))
    factor = np.quantile(largest[0], 0.95, method="weibull")
    return float((largest[1] <= factor).mean()), float((largest[1] <= ignorant).mean())


@pytest.mark.parametrize(
    "mechanism, truth",
    [
        (RandomizedResponse(Integers(0, 1), 1.0), np.array([0.6, 0.4])),
        (RandomizedResponse(Integers(0, 39), 1.0), np.full(40, 1 / 40)),
    ],
    ids=["two values", "shares within the noise"],
)
def test_bands_hold_all_shares_at_once(mechanism: Mechanism, truth: np.ndarray) -> None:
    """0.94 to 0.96, with a standard error of 0.006. Errors that are taken as independent and
    two-sided make bands that hold more than 0.97: those of yes and no are one error, and those of
    shares near 0 have one side.
    """
    found, ignorant = _held(mechanism, truth, 5000)
    assert abs(found - 0.95) < 0.024 and ignorant > 0.965


def test_intervals_of_each_value_are_no_bands() -> None:
    mechanism, truth = RandomizedResponse(Integers(0, 19), 2.0), np.full(20, 0.05)
    channel, rng = mechanism.channel(), np.random.default_rng(5)
    held: list[list[bool]] = []
    for _ in range(40):
        weights = channel.simulate(truth, 20_000, rng)
        data = LikelihoodData(channel, weights, 20_000, mechanism.domain)
        method = EmpiricalBayes()
        bounds = [wald(data)]
        if len(held) < 8:
            bounds.append(Estimate(method.fit(data), data, method).interval(kind="simultaneous"))
        held.append([bool(((b[:, 0] <= 0.05) & (b[:, 1] >= 0.05)).all()) for b in bounds])
    assert np.mean([row[0] for row in held]) < 0.7
    assert np.mean([row[1] for row in held[:8]]) > 0.7


def test_anytime_intervals_hold_at_every_look() -> None:
    """60 paths of 25 looks. Intervals for one look miss on more than a fifth of the paths."""
    mechanism, truth = RandomizedResponse(Integers(0, 1), 1.0), 0.3
    channel, rng, step = mechanism.channel(), np.random.default_rng(6), 100
    held = np.ones((60, 2), dtype=bool)
    for path in held:
        counts = np.zeros(2)
        for _ in range(25):
            counts += step * channel.simulate(np.array([truth, 1 - truth]), step, rng)
            n = round(counts.sum())
            data = LikelihoodData(channel, counts / n, n, mechanism.domain)
            for i, bounds in enumerate((anytime(data, 1000), wald(data))):
                path[i] &= bool(bounds[0, 0] <= truth <= bounds[0, 1])
    always, once = held.mean(axis=0)
    assert always > 0.85 and once < 0.8


# Intervals of marginals hold the truth as often as they say. Seeded, so that nothing flakes.


@pytest.mark.parametrize("method", [Inversion(), Inversion("project")], ids=repr)
def test_intervals_of_marginals_cover_what_they_say(method: Inversion) -> None:
    """2000 shares, within 6 sd (0.0049) of 0.95. The mutant that adds up the variances of cells is
    too wide.
    """
    theta = _family(0.5)
    truth = summed(theta, (5, 5), [1])
    hits, added = 0.0, 0.0
    data = _tallies(theta, 3000, 400, 1)
    for each in data:
        whole = Estimate(method.fit(each), each, method)
        part = whole.marginal("b")
        low, high = part.interval().T
        hits += ((low <= truth) & (truth <= high)).mean()
        half = normal_quantile(0.95) * np.sqrt(summed(CHANNEL.variance(theta), (5, 5), [1]) / 3000)
        added += (np.abs(part.probabilities - truth) <= half).mean()
    assert abs(hits / len(data) - 0.95) < 6 * 0.0049
    assert method.constraint is not None or added / len(data) > 0.95 + 6 * 0.0049


def test_bootstrap_of_a_marginal_covers_inside_the_simplex() -> None:
    """300 shares, within 6 sd (0.0137) of 0.94, what 60 replicates cover."""
    theta = (_family(0.3, np.full(5, 0.2)) + 0.04) / 2
    truth, hits = summed(theta, (5, 5), [0]), []
    rng = np.random.default_rng(0)
    for each in _tallies(theta, 200_000, 60, 2):
        bounds = (
            Estimate(Inversion("project").fit(each), each, Inversion("project"))
            .marginal("a")
            .interval(kind="bootstrap", replicates=60, rng=rng)
        )
        hits.append(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())
    assert abs(np.mean(hits) - 0.94) < 6 * 0.0137


# Intervals of people who send several reports each hold the truth as often as they say.
# The values of a person are all alike, which is the hardest case. The wrong program counts each
# report as that of another person: its intervals are then too narrow.


TIMES, SENDERS, REPEATS = 16, 120, 60
THETA = np.array([0.5, 0.3, 0.2])
JOINT = np.array([[0.1, 0.2, 0.3], [0.1, 0.1, 0.2]])

Case = Callable[[np.random.Generator], list[Tally]]
Bounds = Callable[[list[Tally], np.random.Generator], np.ndarray]


def _of_persons(shares: np.ndarray, people: int, rng: np.random.Generator) -> np.ndarray:
    """The values of all reports, one person after the other."""
    return np.repeat(rng.choice(shares.size, people, p=shares), TIMES)


PLAIN = RandomizedResponse(Integers(0, 2), 2.0)
BITS = UnaryEncoding(Integers(0, 2), 2.0)
PAIRS = RandomizedResponse(Product(k=Categorical(["a", "b"]), v=Integers(0, 2)), 4.0)
KEYS = KeyValue(Categorical(["a", "b"]), Interval(0, 10, bins=4), 6.0, value="piecewise")


def _plain(rng: np.random.Generator) -> list[Tally]:
    return [PLAIN.tally(PLAIN.randomize(_of_persons(THETA, SENDERS, rng), rng))]


def _two_mechanisms(rng: np.random.Generator) -> list[Tally]:
    bits = BITS.tally(BITS.randomize(_of_persons(THETA, SENDERS // 3, rng), rng))
    return [*_plain(rng), bits]


def _pairs(rng: np.random.Generator) -> list[Tally]:
    cells = _of_persons(JOINT.ravel(), SENDERS, rng)
    return [
        PAIRS.tally(PAIRS.randomize([{"k": "ab"[c // 3], "v": int(c % 3)} for c in cells], rng))
    ]


def _keys(rng: np.random.Generator) -> list[Tally]:
    keys = _of_persons(np.array([0.4, 0.6]), SENDERS, rng)
    values = np.repeat(rng.choice([1.1, 8.9], SENDERS), TIMES)
    return [KEYS.tally(KEYS.randomize({"key": ["ab"[k] for k in keys], "value": values}, rng))]


def _bootstrap(tallies: list[Tally], rng: np.random.Generator) -> np.ndarray:
    fit = _estimated(tallies, MaximumLikelihood())
    return fit.interval(kind="bootstrap", replicates=30, rng=rng)


def _frequencies(tallies: list[Tally], rng: np.random.Generator) -> np.ndarray:
    rows = _estimated(tallies, Inversion()).frequencies()
    return np.array([[row["low"], row["high"]] for row in rows])


# Case, intervals, truth.
INTERVALS: dict[str, tuple[Case, Bounds, np.ndarray]] = {
    "wald": (_plain, lambda t, _: _estimated(t, Inversion()).interval(), THETA),
    "fisher": (
        _plain,
        lambda t, _: _estimated(t, MaximumLikelihood()).interval(kind="fisher"),
        THETA,
    ),
    "bootstrap": (_plain, _bootstrap, THETA),
    "sample mean": (
        _plain,
        lambda t, _: _estimated(t, SampleMean()).mean().interval()[None],  # type: ignore[union-attr]
        np.array([0.7]),
    ),
    "two mechanisms": (
        _two_mechanisms,
        lambda t, _: _estimated(t, Inversion()).interval(),
        THETA,
    ),
    "marginal": (
        _pairs,
        lambda t, _: _estimated(t, Inversion()).marginal("v").interval(),
        JOINT.sum(axis=0),
    ),
    "given a key": (
        _pairs,
        lambda t, _: _estimated(t, Inversion()).conditional("a").interval(),
        JOINT[0] / JOINT[0].sum(),
    ),
    "keys": (_keys, _frequencies, np.array([0.4, 0.6])),
    "mean of a key": (
        _keys,
        lambda t, _: _estimated(t, Inversion()).conditional("a").mean().interval()[None],
        np.array([5.0]),
    ),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_count_people(name: str) -> None:
    """The first share is covered as often as it says. Where reports are counted as people, it is
    not.
    """
    case, bounds, truth = INTERVALS[name]
    rng = np.random.default_rng(5)
    hits = dict.fromkeys(("people", "reports"), 0)
    for _ in range(REPEATS):
        tallies = case(rng)
        counted = {"people": [t.per_person(TIMES) for t in tallies], "reports": tallies}
        for how, given in counted.items():
            low, high = bounds(given, rng)[0]
            hits[how] += int(low <= truth[0] <= high)
    enough = binom.ppf(ALPHA, REPEATS, 0.95)
    assert hits["people"] >= enough
    assert hits["reports"] < enough


def test_intervals_for_respondents_do_not_depend_on_who_sent_the_reports() -> None:
    """Their noise is independent, whoever sends them. An interval that counts people for
    respondents too would cover too often, and is rejected.
    """
    rng = np.random.default_rng(6)
    hits = wide = 0
    for _ in range(REPEATS):
        values = _of_persons(THETA, SENDERS, rng)
        tally = PLAIN.tally(PLAIN.randomize(values, rng))
        found = _estimated(tally.per_person(TIMES), Inversion())
        truth = np.mean(values == 0)
        low, high = found.interval(target="respondents")[0]
        hits += int(low <= truth <= high)
        low, high = found.interval()[0]
        wide += int(low <= truth <= high)
    assert binom.ppf(ALPHA, REPEATS, 0.95) <= hits <= binom.ppf(1 - ALPHA, REPEATS, 0.95)
    assert wide > binom.ppf(0.95, REPEATS, 0.95)


# Ranks hold as often as they say. Seeded, so that nothing flakes.


def test_no_pair_is_put_in_the_wrong_order_as_often_as_said() -> None:
    """Ten equal shares, 3000 tallies: no order is claimed in 0.95 of them (sd 0.008, with that of
    the quantile). The quantile of one pair claims an order in most, and that of independent pairs,
    which ignores that two pairs share a value, in a third less than it may.
    """
    shares, n = np.full(10, 0.1), 20_000
    mechanism = RandomizedResponse(Integers(0, 9), 1.0)
    channel = mechanism.channel()
    data = LikelihoodData(channel, channel.matvec(shares), n, mechanism.domain)
    learnt, judged = (
        simulated_errors(data, "population", shares, np.random.default_rng(seed), draws)
        for seed, draws in ((1, 1500), (2, 3000))
    )
    assert learnt is not None and judged is not None
    spread = _spread_of_pairs(learnt)
    inverse = 1 / (spread + np.eye(10))
    largest = np.array([(np.abs(row[:, None] - row) * inverse).max() for row in judged])
    held = (largest <= _factor_of_pairs(learnt, spread, 0.95)).mean()
    assert abs(held - 0.95) < 0.03
    assert (largest <= 1.96).mean() < 0.6
    assert (largest <= independent_factor(0.95, np.ones(45, dtype=bool))).mean() > 0.96


# The table of the largest shares holds as a whole, though the reports chose which values it shows.


VALUES, SHOWN, TALLIES = 24, 6, 40


def test_intervals_and_ranks_of_the_largest_shares_hold_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects intervals that hold one share each: the largest of equal shares are overestimated.

    All shares are 1/24, so every rank is possible and the choice is of noise alone. If the table
    holds with probability 0.95, it fails 8 times or more in 40 with probability 0.001. Intervals of
    single shares fail in two of five tallies, so they fail fewer than 8 times with probability
    0.002.
    """
    monkeypatch.setattr("warner.results.share_noise._DRAWS", 200)  # enough for this question
    rng = np.random.default_rng(11)
    mechanism = RandomizedResponse(Categorical([f"s{i}" for i in range(VALUES)]), 1.0)
    truth, failed, alone = 1 / VALUES, 0, 0
    for _ in range(TALLIES):
        reports = mechanism.randomize(
            np.array(mechanism.domain.labels)[rng.integers(0, VALUES, 2000)], rng
        )
        result = _estimated(mechanism.tally(reports), Inversion())
        top = result.top(SHOWN)
        # Rank 1 and rank 24 are both right for equal shares: low is 1 and high is 24.
        holds = (top.bounds[:, 0] <= truth) & (truth <= top.bounds[:, 1])
        failed += not (holds.all() and (top.ranks == [1, VALUES]).all())
        single = result.interval(kind="wald")[top.places]
        alone += not ((single[:, 0] <= truth) & (truth <= single[:, 1])).all()
    assert failed < 8
    assert alone > 12


# Intervals of shares given a key hold the truth as often as they say, also where the share is
# nearly 0.


PAIR = Product(key=Categorical(["a", "b"]), value=Integers(0, 2))


KEYED = np.array([[0.02, 0.38, 0.6], [0.2, 0.3, 0.5]]) / 2


N, Z = 1000, normal_quantile(0.95)


CHANNELS = {
    "together": DirectChannel(6, 0.08, 0.52),
    "apart": KroneckerChannel([DirectChannel(2, 0.1, 0.8), DirectChannel(3, 0.1, 0.7)]),
}


def _bootstrap_of_key(
    channel: Channel, w: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """The wrong program: the projected share of the first value, and its errors in 40 tallies
    simulated from the projected estimate.
    """

    def share(weights: np.ndarray) -> float:
        part = project(channel.invert(weights))[:3]
        return float(part[0] / part.sum())

    centre = project(channel.invert(w))
    found = share(w)
    low, high = np.quantile(
        [share(channel.simulate(centre, N, rng)) - found for _ in range(40)],
        [0.025, 0.975],
        method="weibull",
    )
    return max(found - high, 0.0), min(found - low, 1.0)


@pytest.mark.parametrize("name", CHANNELS)
def test_a_share_of_two_in_a_hundred_is_covered(name: str) -> None:
    """2,000 tallies of 1,000 reports: 90 % in place of 95 % is rejected. So is the bootstrap of the
    projected shares, after 150 of the first channel.
    """
    channel, rng = CHANNELS[name], np.random.default_rng(11)
    runs, hits, nearly = 2000, np.zeros(3), 0.0
    for _ in range(runs):
        data = LikelihoodData(channel, channel.simulate(KEYED.ravel(), N, rng), N, PAIR)
        low, high = shares_given(data, 0, (2, 3), Z, respondents=False).T
        truth = KEYED[0] / 0.5
        hits += (low <= truth) & (truth <= high)
    assert (hits >= binom.ppf(ALPHA, runs, 0.95)).all()
    assert binom.ppf(ALPHA, runs, 0.95) > binom.ppf(0.99, runs, 0.9)
    # Inside the range the interval is not wider than it says: away from 0 and 1 it covers no more
    # than 95 %.
    assert hits[1] <= binom.ppf(1 - ALPHA, runs, 0.95) or name == "apart"
    for _ in range(150 if name == "together" else 0):
        low, high = _bootstrap_of_key(channel, channel.simulate(KEYED.ravel(), N, rng), rng)
        nearly += low <= 0.02 <= high
    assert name != "together" or binom.cdf(nearly, 150, 0.95) < ALPHA
