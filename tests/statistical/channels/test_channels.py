"""Simulated tallies have the law of real ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

import warner
from tests.registry import KEYED, MECHANISMS, SEEING, smallest
from tests.statistical.mechanisms._chi_square import ALPHA
from warner import Integers, LocalHashing
from warner.channels import (
    Channel,
    DirectChannel,
    HadamardChannel,
    HashSupportChannel,
    KroneckerChannel,
    SupportChannel,
    TiedChannel,
    hashed,
)
from warner.channels.support import _noise_of_others, _sample_others
from warner.channels.tuples import marked_table, whole_table
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("name", SEEING)
def test_simulated_tallies_have_the_law_of_real_ones(name: str) -> None:
    """Mean and variance of the inversion over simulated tallies, against the exact variance; 1e-9
    limits.
    """
    size, n, runs = 6, 5000, 400
    mechanism = MECHANISMS[name](warner.Integers(0, size - 1), 1.5)
    channel, rng = mechanism.channel(), np.random.default_rng(1)
    theta = rng.dirichlet(np.ones(size))
    tallies = [channel.simulate(theta, n, rng) for _ in range(runs)]
    drawn = channel.invert(np.stack(tallies, axis=1)).T
    variance = channel.variance(theta) / n
    assert (np.abs(drawn.mean(axis=0) - theta) < 6.5 * np.sqrt(variance / runs)).all()
    ratio = ((drawn - theta) ** 2).mean(axis=0) / variance
    low, high = (chi2.ppf(q, runs) / runs for q in (1e-10, 1 - 1e-10))
    assert ((low < ratio) & (ratio < high)).all()


def test_simulated_bit_sums_vary_together_as_real_ones_do() -> None:
    """The sum of all estimates varies only with the bits' noise: ((K-1) q (1-q) + p (1-p)) /
    (p-q)^2 / n, whatever theta is.

    The mutant that draws every bit sum on its own, binomially with the right rate, has many times
    that.
    """
    size, n, runs = 6, 5000, 400
    mechanism = warner.UnaryEncoding(warner.Integers(0, size - 1), 5.0)
    channel, rng = mechanism.channel(), np.random.default_rng(3)
    theta = rng.dirichlet(np.ones(size))
    q, gap = channel.q[0], channel.gap[0]
    exact = ((size - 1) * q * (1 - q) + (q + gap) * (1 - q - gap)) / gap**2 / n
    low, high = (chi2.ppf(p, runs) / runs for p in (1e-10, 1 - 1e-10))
    spread = np.mean(
        [(channel.invert(channel.simulate(theta, n, rng)).sum() - 1) ** 2 for _ in range(runs)]
    )
    assert low < spread / exact < high
    mu = q + gap * theta
    apart = np.mean([((rng.binomial(n, mu) / n - q).sum() / gap - 1) ** 2 for _ in range(runs)])
    assert apart / exact > high


@pytest.mark.parametrize(
    "count, n, normal_from", [(1, 100, np.inf), (3, 300_000, np.inf), (3, 3000, 400.0)]
)
def test_subsets_of_others_have_the_covariance_of_sampling_without_replacement(
    count: int, n: int, normal_from: float
) -> None:
    """One by one and by the normal limit: mean, variance and covariance of two values' counts; 1e-9
    limits, and a mutant without it.
    """
    people, rng, runs = np.array([0, n, 0, 0, 0]), np.random.default_rng(0), 3000
    drawn = np.stack([_sample_others(people, count, rng, normal_from) for _ in range(runs)])
    rate = count / 4
    assert (drawn[:, 1] == 0).all()
    rest = drawn[:, [0, 2, 3, 4]]
    assert np.abs(rest.mean(axis=0) - n * rate).max() < 6.5 * np.sqrt(n * rate * (1 - rate) / runs)
    together = np.cov(rest.T) / (n * rate * (1 - rate))
    assert np.diag(together) == pytest.approx(np.ones(4), abs=0.17)
    assert together[0, 1:] == pytest.approx(np.full(3, -1 / 3), abs=0.12)


@pytest.mark.parametrize(
    "people",
    [[7, 0, 0, 0, 0], [5, 4, 3, 0, 1], [80, 6, 9, 1, 0], [3, 3, 3, 3, 3], [2, 2, 0, 0, 0]],
    ids=["one value", "several", "most of one value", "even", "two values"],
)
def test_noise_of_subsets_has_the_covariance_of_all_people(people: list[int]) -> None:
    """Against the sum over people. Rejected: independent noise of the same variances."""
    rng, runs = np.random.default_rng(1), 3000
    drawn = np.stack([_noise_of_others(np.array(people), rng) for _ in range(runs)])
    exact = np.zeros((5, 5))
    for x, count in enumerate(people):
        others = np.arange(5) != x
        exact += count * np.where(np.eye(5), 1.0, -1 / 3) * np.outer(others, others)
    scale = np.abs(exact).max()
    assert np.cov(drawn.T) / scale == pytest.approx(exact / scale, abs=0.13)
    assert np.diag(np.diag(exact)) / scale != pytest.approx(exact / scale, abs=0.2)


def test_subsets_of_very_many_values_take_little_memory() -> None:
    """Rejected: one row of random numbers for each value, which takes 30 GB here."""
    size, n = 60_000, 100_000
    people = np.bincount(np.random.default_rng(2).integers(0, size // 2, n), minlength=size)
    channel = warner.SubsetSelection(warner.Categorical(range(size)), 2.0).channel()
    shares = channel.support_shares(channel.simulate_from_values(people, np.random.default_rng(3)))
    assert float(shares.sum()) == pytest.approx(channel.ones, rel=1e-3)


# Simulated and real tallies of local hashing over a prime field have the theoretical error.


@pytest.mark.parametrize("whole", [True, False])
def test_a_small_field_has_the_theoretical_error(whole: bool) -> None:
    """n = 10^6 on 11 residues: the squared error over its variance, within 1e-9 limits of a
    chi-square. The mutant that takes 1/g for c has a bias, and is rejected.
    """
    size, n = 10, 10**6
    mechanism = LocalHashing(Integers(0, size - 1), 1.0, prime=11, whole_reports=whole)
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.ones(size))
    values = rng.choice(size, n, p=theta)
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
    z = (data.channel.invert(data.weights) - theta) ** 2 / (data.channel.variance(theta) / n)
    assert chi2.ppf(1e-9, size) < z.sum() < chi2.ppf(1 - 1e-9, size)
    low, gap = float(mechanism.law.low), float(mechanism.law.high - mechanism.law.low)
    g = mechanism.buckets
    textbook = (data.channel.support_shares(data.weights) - low - gap / g) / (gap * (1 - 1 / g))
    assert ((textbook - theta) ** 2 / (data.channel.variance(theta) / n)).sum() > 10 * z.sum() + 500


def test_ten_thousand_values_have_the_theoretical_error() -> None:
    """Ten runs of 10^4 reports on 10^4 values: their mean ratio to theory within 1 %, which is 4.5
    of its standard deviations. A variance that is 3 % off is rejected.
    """
    size, n, runs = 10**4, 10**4, 10
    mechanism = LocalHashing(Integers(0, size - 1), 2.0)
    assert not mechanism.whole_reports
    theta = 1 / np.arange(1.0, size + 1)
    theta /= theta.sum()
    rng, ratios = np.random.default_rng(6), []
    for _ in range(runs):
        values = rng.choice(size, n, p=theta)
        data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))
        error = ((data.channel.invert(data.weights) - theta) ** 2).sum()
        ratios.append(error / warner.theory.expected_loss(mechanism, theta, n))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("exact", [True, False])
def test_simulated_counts_have_the_moments_of_reports(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variance of the sum of all counts, which is far below that of independent bits; 200 runs,
    within 5 standard deviations (50 %).
    """
    monkeypatch.setattr(hashed, "_DRAWS", 2**40 if exact else 0)
    size, n, runs = 96, 400, 200
    mechanism = LocalHashing(Integers(0, size - 1), 1.0, whole_reports=False)
    channel = mechanism.channel()
    assert isinstance(channel, HashSupportChannel)
    rng, people = np.random.default_rng(7), np.full(size, n // size)
    n = int(people.sum())
    sums = np.stack(
        [channel.simulate_from_values(people, rng)[:size] * n * size for _ in range(runs)]
    )
    variance = n * channel._variance_of_number()
    assert sums.sum(axis=1).var() == pytest.approx(variance, rel=0.5)
    assert variance < 0.5 * n * channel._variance_if_independent()
    single = people * (channel.q + channel.gap) * (1 - channel.q - channel.gap)
    single += (n - people) * channel.q * (1 - channel.q)
    assert sums.var(axis=0).mean() == pytest.approx(single.mean(), rel=0.06)


# Simulated tallies of Hadamard response.


@pytest.mark.parametrize("people", [3, 3000])
def test_simulated_tallies_have_the_mean_and_spread_of_the_matrix(people: int) -> None:
    """Drawn report by report, and value by value. A wrong channel with values in reverse is far
    off: its mean differs by more than 20 standard errors.
    """
    channel = HadamardChannel(3, 4, 0.6)
    rng, held = np.random.default_rng(people), np.array([people, 0, people // 3])
    draws = np.array([channel.simulate_from_values(held, rng) for _ in range(2000)])
    n, dense = held.sum(), channel.dense()
    mean = dense @ held / n
    spread = np.sqrt((dense * (1 - dense)) @ held) / n
    error = spread / np.sqrt(len(draws))
    assert (abs(draws.mean(axis=0) - mean) < 5 * error).all()
    assert (abs(dense @ held[::-1] / n - mean) > 20 * error).any()
    assert draws.std(axis=0) == pytest.approx(spread, rel=0.1)


# A small pool of seeds has the error that theory says.


def test_a_small_pool_of_seeds_has_the_theoretical_error_at_ten_million() -> None:
    """n = 10^7, 1024 seeds: squared error over its expectation, a chi-square of about K degrees,
    within its 1e-9 limits.

    The mutant that uses 1/g for the pool's collision rate has a bias that does not shrink with n
    and is rejected.
    """
    size, n = 256, 10**7
    mechanism = warner.LocalHashing(warner.Integers(0, size - 1), 1.0, seeds=1024)
    rng = np.random.default_rng(11)
    theta = rng.dirichlet(np.full(size, 0.5))
    values = rng.choice(size, n, p=theta)
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))

    e, g = np.e, mechanism.buckets
    p = e / (e + g - 1)
    share = 1 / g + (p - 1 / g) * theta
    theory = (share * (1 - share) / (p - 1 / g) ** 2 / n).sum()
    low, high = (chi2.ppf(q, size) / size for q in (5e-10, 1 - 5e-10))

    error = ((data.channel.invert(data.weights) - theta) ** 2).sum()
    assert low < error / theory < high
    textbook = (data.channel._gather(data.weights) - 1 / g) / (p - 1 / g)
    assert ((textbook - theta) ** 2).sum() / theory > 5 * high


# Simulated key-value tallies follow the law of every key, at a false alarm rate of 1e-9.


def _counts(channel: TiedChannel, w: np.ndarray, n: int) -> np.ndarray:
    return np.rint(channel.by_key(w) * n)


@pytest.mark.parametrize("name", [name for name in KEYED if "unary" in name])
@pytest.mark.parametrize("kind", ["simulate", "rerandomize"])
def test_simulated_tallies_follow_the_law_of_every_key(name: str, kind: str) -> None:
    """The sum of 50 tallies, key by key; the mutant that raises a key among its own people too is
    rejected.
    """
    mechanism = smallest(name, 2.0)
    channel, rng, n = mechanism.channel(), np.random.default_rng(4), 20_000
    assert isinstance(channel, TiedChannel)
    people = rng.multinomial(n, rng.dirichlet(np.ones(mechanism.domain.size)))
    theta = people / n
    draw = (
        (lambda: channel.simulate(theta, n, rng))
        if kind == "simulate"
        else (lambda: channel.simulate_from_values(people, rng))
    )
    total = sum((_counts(channel, draw(), n) for _ in range(50)), np.zeros((channel.keys, 1)))
    law = channel.by_key(channel.matvec(theta))
    raised = law + theta.reshape(channel.keys, -1).sum(axis=1, keepdims=True) * np.append(
        -channel.sent, channel.dummy
    )
    for row, right, wrong in zip(total, law, raised, strict=True):
        assert chisquare(row, right * row.sum()).pvalue > ALPHA
        assert chisquare(row, np.abs(wrong) / np.abs(wrong).sum() * row.sum()).pvalue < ALPHA


# Simulated tables of tuples vary as real ones do; a named wrong program does not.


PAIRS: dict[str, list[Channel]] = {
    "bits x bits": [SupportChannel(4, 0.2, 0.5), SupportChannel(3, 0.3, 0.4)],
    "subsets x bits": [
        warner.SubsetSelection(warner.Integers(0, 4), 1.0, size=2).channel(),
        SupportChannel(3, 0.3, 0.4),
    ],
    "values x bits": [DirectChannel(4, 0.15, 0.4), SupportChannel(3, 0.3, 0.4)],
    "values x values": [DirectChannel(4, 0.15, 0.4), DirectChannel(3, 0.2, 0.4)],
}


RUNS, PEOPLE = 1500, 200


def _worst(channels: list[Channel], target: str, independent_rows: bool = False) -> float:
    """How many standard errors the mean and the variance of the inversion of simulated tallies are
    off, the most over all cells.
    """
    channel, rng = KroneckerChannel(channels), np.random.default_rng(5)
    theta = np.random.default_rng(1).dirichlet(np.ones(channel.shape[1]))
    people = np.random.default_rng(2).multinomial(PEOPLE, theta)
    truth = theta if target == "population" else people / PEOPLE

    def draw() -> np.ndarray:
        if independent_rows:
            return rng.multinomial(PEOPLE * int(channel.rows_per_report), channel.matvec(theta)) / (
                PEOPLE * channel.rows_per_report
            )
        return (
            channel.simulate(theta, PEOPLE, rng)
            if target == "population"
            else channel.simulate_from_values(people, rng)
        )

    found = channel.invert(np.stack([draw() for _ in range(RUNS)], axis=1)).T
    variance = (
        channel.variance(truth) - (0 if target == "population" else truth * (1 - truth))
    ) / PEOPLE
    mean = np.abs(found.mean(axis=0) - truth) / np.sqrt(variance / RUNS)
    spread = np.abs(found.var(axis=0) / variance - 1) / np.sqrt(2 / RUNS)
    return float(max(mean.max(), spread.max()))


@pytest.mark.crossed(4)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_simulated_tables_have_the_mean_and_variance_of_real_ones(name: str, target: str) -> None:
    assert (
        _worst(PAIRS[name], target) < 7.5
    )  # squares of counts have somewhat heavier tails than a normal's


def test_tables_with_rows_drawn_one_by_one_are_rejected() -> None:
    """The mutant takes a person's co-occurrences for so many people: variances far too small or
    large.
    """
    assert _worst(PAIRS["bits x bits"], "population", independent_rows=True) > 15


def test_tables_drawn_by_attribute_and_by_person_are_alike() -> None:
    channels = PAIRS["values x values"]
    people = np.random.default_rng(0).multinomial(500, np.full(12, 1 / 12)).reshape(4, 3)
    rng = np.random.default_rng(1)
    means = [
        np.mean([draw(channels, people, rng) for _ in range(2000)], axis=0)
        for draw in (whole_table, marked_table)
    ]
    expected = np.einsum("ia,jb,ab->ij", channels[0].dense(), channels[1].dense(), people)
    for mean in means:
        assert np.abs(mean - expected).max() < 6.5 * np.sqrt(expected.max() / 2000)
