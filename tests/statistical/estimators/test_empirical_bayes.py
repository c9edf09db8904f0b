"""Empirical Bayes errs as little as it should, and what it is made of is needed. Seeded, so that
nothing flakes.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import warner
from warner import Categorical, EmpiricalBayes, Integers, Inversion, RandomizedResponse
from warner.channels import StackChannel
from warner.estimators import Estimator, empirical_bayes, empirical_bayes as small_domain
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import noise, prior
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.metrics import project


def _errors(
    estimator: warner.estimators.Estimator,
    theta: np.ndarray,
    n: int,
    epsilon: float,
    runs: int = 12,
) -> np.ndarray:
    """Sums of squared errors (runs,) for bit sums."""
    channel = warner.UnaryEncoding(Integers(1, theta.size), epsilon, variant="oue").channel()
    rng = np.random.default_rng(17)
    weights = [channel.simulate(theta, n, rng) for _ in range(runs)]
    data = [LikelihoodData(channel, w, n, Integers(1, theta.size)) for w in weights]
    return np.array([((estimator.fit(f).probabilities - theta) ** 2).sum() for f in data])


def _facts(
    theta: np.ndarray,
    n: int,
    epsilon: float,
    rng: np.random.Generator,
    mechanism: type = warner.UnaryEncoding,
) -> LikelihoodData:
    domain = Categorical([str(i) for i in range(theta.size)])
    channel = mechanism(domain, epsilon).channel()
    return LikelihoodData(channel, channel.simulate(theta, n, rng), n, domain)


def _smooth(size: int) -> np.ndarray:
    law = np.exp(2 * np.sin(np.arange(size) * 2 * np.pi / size))
    return np.asarray(law / law.sum())


def _heaped(size: int) -> np.ndarray:
    law = np.where(np.arange(size) % 5 == 0, 3.0, 1.0) * np.exp(-np.arange(size) / size)
    return np.asarray(law / law.sum())


@pytest.mark.crossed(3)
@pytest.mark.parametrize("exponent", [0.5, 1.1, 2.0])
@pytest.mark.parametrize("size", [5, 60])
def test_it_errs_no_more_than_the_projection(exponent: float, size: int) -> None:
    """By a quarter nowhere, over all by a tenth where values are few and there is little to learn,
    and less where they are many.
    """
    theta = np.arange(1.0, size + 1) ** -exponent
    theta /= theta.sum()
    ratios = []
    for n, epsilon in ((10**3, 2.0), (10**4, 1.0), (10**5, 1.0), (10**5, 4.0)):
        ours, theirs = (
            _errors(e, theta, n, epsilon, 12).mean()
            for e in (EmpiricalBayes(), warner.Inversion("project"))
        )
        ratios.append(ours / theirs)
    assert max(ratios) < 1.25 and np.exp(np.log(ratios).mean()) < (1.1 if size == 5 else 0.95)


def test_draws_cover_the_truth() -> None:
    """95 % of draws' middle holds a share of the law the shares were drawn from, 90 to 99 times in
    a hundred.
    """
    rng = np.random.default_rng(12)
    channel = warner.RandomizedResponse(Integers(1, 40), 1.5).channel()
    hits = []
    for _ in range(25):
        theta = rng.dirichlet(np.ones(40))
        data = LikelihoodData(channel, channel.simulate(theta, 10**4, rng), 10**4, Integers(1, 40))
        posterior = EmpiricalBayes().fit(data).posterior
        assert posterior is not None
        low, high = np.quantile(posterior.draws(400, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99


def test_several_budgets_of_few_people_taken_as_normal_are_rejected() -> None:
    """30 people at epsilon 4 name a value each: counts of 0 and 1, of which normal noise makes
    shares. It errs at least half as much again.
    """
    theta = np.exp(-(np.linspace(-2.5, 2.5, 120) ** 2))
    theta /= theta.sum()
    people, domain = (300, 100, 30), Integers(1, 120)
    channel = StackChannel(
        [warner.RandomizedResponse(domain, e).channel() for e in (1.0, 2.0, 4.0)], people
    )
    rng, errors = np.random.default_rng(5), np.zeros(2)
    for _ in range(20):
        data = LikelihoodData(
            channel, channel.simulate(theta, sum(people), rng), sum(people), domain
        )
        for k, likelihood in enumerate(("binomial", "normal")):
            errors[k] += (
                (EmpiricalBayes(likelihood=likelihood).fit(data).probabilities - theta) ** 2
            ).sum()
    assert errors[1] > 1.5 * errors[0]


# Yes or no: the risk over all shares, summed over all counts, so nothing is random.


PEOPLE, EPSILON = 2000, 0.4
SHARES = np.linspace(0, 0.5, 26)


def _risks(estimator: Estimator) -> np.ndarray:
    domain = Categorical(["yes", "no"])
    channel = RandomizedResponse(domain, EPSILON).channel()
    counts, keep = np.arange(PEOPLE + 1), 1 / (1 + math.exp(-EPSILON))
    some = np.linspace(0.32 * PEOPLE, 0.68 * PEOPLE, 61).astype(np.int64)
    shares = [
        estimator.fit(
            LikelihoodData(channel, np.array([c, PEOPLE - c]) / PEOPLE, PEOPLE, domain)
        ).shares[0]
        for c in some
    ]
    estimates = np.interp(counts, some, shares)
    yes = SHARES * keep + (1 - SHARES) * (1 - keep)
    laws = binom.pmf(counts, PEOPLE, yes[:, None])
    return np.asarray((laws * (estimates - SHARES[:, None]) ** 2).sum(axis=1))


def test_the_risk_of_yes_or_no_is_near_the_projections_at_every_share() -> None:
    ours, theirs = _risks(EmpiricalBayes()), _risks(Inversion("project"))
    assert (ours / theirs).max() < 1.12
    assert ours.mean() < 1.02 * theirs.mean()


@pytest.mark.parametrize(("times", "at"), [(0.0, 0.0), (4.0, 0.16)])
def test_too_little_or_too_much_mass_at_zero_is_rejected(
    monkeypatch: pytest.MonkeyPatch, times: float, at: float
) -> None:
    """The flat law alone errs twice as much where nobody has the value; with four times the mass at
    0, shares of about three standard deviations are drawn to 0.
    """
    laws = small_domain.SETTINGS.simplex_laws
    changed = tuple((c, times * absent, times * rare, w) for c, absent, rare, w in laws)
    wrong = replace(small_domain.SETTINGS, simplex_laws=changed)
    monkeypatch.setattr(small_domain, "SETTINGS", wrong)
    ratio = _risks(EmpiricalBayes()) / _risks(Inversion("project"))
    assert ratio.max() > 1.2
    assert SHARES[ratio.argmax()] == pytest.approx(at, abs=0.05)


def test_several_rare_shares_are_not_drawn_to_zero_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six of seven values have a share of two standard deviations each. With atoms at 0 in both flat
    laws, in place of rare shares, they err a sixth more at least.
    """

    def ratio() -> float:
        rng, rare = np.random.default_rng(9), 0.0065
        theta = np.array([1 - 6 * rare, *[rare] * 6])
        errors = np.zeros(2)
        for _ in range(40):
            data = _facts(theta, 2000, 4.0, rng, warner.RandomizedResponse)
            for k, method in enumerate((EmpiricalBayes(), Inversion("project"))):
                errors[k] += ((method.fit(data).shares - theta) ** 2).sum()
        return float(errors[0] / errors[1])

    right = ratio()
    laws = ((1.0, 1.15, 0.0, 0.94), (1.0, 10.0, 0.0, 0.06), *small_domain.SETTINGS.simplex_laws[2:])
    wrong = replace(small_domain.SETTINGS, simplex_laws=laws)
    monkeypatch.setattr(small_domain, "SETTINGS", wrong)
    assert right < 1.25
    assert ratio() > 7 / 6 * right


def test_few_values_with_little_noise_err_little_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million people: the noise is too small for a lattice. A prior that is learnt from the two
    shares, as from many, draws a rare one towards 0.
    """

    def ratio() -> float:
        rng, theta = np.random.default_rng(8), np.array([0.0006, 0.9994])
        errors = np.zeros(2)
        for _ in range(30):
            data = _facts(theta, 1_000_000, 3.0, rng, warner.RandomizedResponse)
            for k, method in enumerate((EmpiricalBayes(), Inversion("project"))):
                errors[k] += ((method.fit(data).shares - theta) ** 2).sum()
        return float(errors[0] / errors[1])

    assert ratio() < 1.25
    monkeypatch.setattr(
        empirical_bayes,
        "few_values_prior",
        lambda likelihood, atoms, noise: prior.fit_prior(
            likelihood, np.ones(len(likelihood)), atoms, 0.5, False
        ),
    )
    assert ratio() > 1.6


# Draws of few values hold the truth as often as they say. Seeded, so that nothing flakes.


@pytest.mark.parametrize("size", [2, 5])
def test_draws_of_few_values_cover_the_truth(size: int) -> None:
    """95 % of draws' middle holds a share of the law it was drawn from, 90 to 99 times in a
    hundred; the draws' own spread is the posterior's.
    """
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(120):
        theta = rng.dirichlet(np.ones(size))
        fit = EmpiricalBayes().fit(_facts(theta, 1000, 1.0, rng, warner.RandomizedResponse))
        assert fit.posterior is not None
        low, high = np.quantile(fit.posterior.draws(400, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99


# The order of the values is used where it says something, and costs little where it does not. Seeded, so that nothing flakes.


def _ratio(
    theta: np.ndarray, shuffle: bool, runs: int, estimators: tuple[EmpiricalBayes, EmpiricalBayes]
) -> float:
    """Squared error with the order over that without."""
    rng = np.random.default_rng(21)
    errors = np.zeros(2)
    for _ in range(runs):
        truth = rng.permutation(theta) if shuffle else theta
        data = _facts(truth, 30_000, 2.0, rng)
        errors += [((e.fit(data).shares - truth) ** 2).sum() for e in estimators]
    return float(errors[0] / errors[1])


BOTH = (EmpiricalBayes(), EmpiricalBayes(order=False))


@pytest.mark.parametrize("law", [_smooth, _heaped])
def test_neighbours_alike_and_repeating_patterns_are_used(law: type) -> None:
    assert _ratio(law(120), False, 6, BOTH) < 0.75


@pytest.mark.parametrize("law", [_smooth, _heaped])
def test_labels_in_no_order_lose_little(law: type) -> None:
    assert _ratio(law(120), True, 15, BOTH) < 1.04


def test_a_guess_that_has_seen_its_own_value_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filtered estimate itself taken for a prediction from the others, h = 0: labels in no
    order then lose a tenth at least.
    """
    filtered = prior.filtered
    monkeypatch.setattr(prior, "filtered", lambda d, noise: (filtered(d, noise)[0], 0.0))
    assert _ratio(_smooth(120), True, 8, BOTH) > 1.1


def test_one_large_value_does_not_pass_for_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cap, and with odd values taken for none, a few large values ruin the guesses of
    the others.
    """
    theta = np.arange(1.0, 301) ** -1.2
    theta /= theta.sum()
    right = _ratio(theta, False, 6, BOTH)
    monkeypatch.setattr(prior, "SETTINGS", replace(prior.SETTINGS, peakedness=1.0, odd_value=0.0))
    assert right < 1.02 and _ratio(theta, False, 6, BOTH) > 1.2 * right


def test_draws_cover_shares_in_order() -> None:
    """95 % of draws' middle holds the truth 90 to 99 times in a hundred, though the guesses' errors
    are alike along the order.
    """
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(12):
        walk = np.exp(np.cumsum(rng.normal(size=100)) * 0.2)
        theta = walk / walk.sum()
        fit = EmpiricalBayes().fit(_facts(theta, 30_000, 2.0, rng))
        assert fit.posterior is not None
        low, high = np.quantile(fit.posterior.draws(300, rng), [0.025, 0.975], axis=0)
        hits.append(((low <= theta) & (theta <= high)).mean())
    assert 0.90 < np.mean(hits) < 0.99


# Whether an order of very many values says something. Seeded, so that nothing flakes.


SIZE, MANY_PEOPLE = 4_000, 20_000


def _accepted(shares: np.ndarray, runs: int, shuffle: bool, epsilon: float = 2.0) -> int:
    """How often the order of the values is used, of ``runs`` sets of reports."""
    channel = RandomizedResponse(Categorical(range(SIZE)), epsilon).channel()
    rng, found = np.random.default_rng(3), 0
    for _ in range(runs):
        truth = rng.permutation(shares) if shuffle else shares
        y = channel.invert(channel.simulate_from_values(rng.multinomial(MANY_PEOPLE, truth), rng))
        variance = channel.variance(project(y)) / MANY_PEOPLE
        found += prior.predict_from_neighbours(y, variance) is not None
    return found


def test_shuffled_labels_are_rarely_predicted_from_their_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejected: a standard error for which noise makes no pattern, which accepts one in six."""
    shares = 1 / np.arange(1.0, SIZE + 1) ** 1.1
    shares /= shares.sum()
    assert _accepted(shares, 60, True) <= 4
    settings = replace(prior.SETTINGS, values_of_chance=np.inf)
    monkeypatch.setattr(prior, "SETTINGS", settings)
    assert _accepted(shares, 60, True) > 4


def test_an_order_that_says_something_is_used() -> None:
    """Rejected: a standard error so large that no order is used."""
    shares = np.exp(-((np.linspace(0, 1, SIZE) - 0.4) ** 2) / 0.02)
    assert _accepted(shares / shares.sum(), 5, False, 7.0) == 5


# The noise of a pool of seeds is as stated. Seeded, so that nothing flakes.


def test_a_pool_of_seeds_is_not_taken_for_independent_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """300 values, 256 seeds, few reports: the inverse of the collisions, its noise taken for the
    counts' own, errs a tenth more at least.
    """
    domain = Categorical([str(i) for i in range(300)])
    channel = warner.LocalHashing(domain, 1.0, seeds=256).channel()
    rng = np.random.default_rng(7)
    theta = np.arange(1.0, 301) ** -1.0
    theta /= theta.sum()
    data = [
        LikelihoodData(channel, channel.simulate(theta, 1000, rng), 1000, domain) for _ in range(10)
    ]

    def error() -> float:
        return float(
            np.mean(
                [((EmpiricalBayes(order=False).fit(f).shares - theta) ** 2).sum() for f in data]
            )
        )

    right = error()
    monkeypatch.setattr(noise, "_pool_estimates", lambda channel, data, y, q, gap: (y, 1.0))
    monkeypatch.setattr(empirical_bayes, "_without_collisions", lambda *_: None)
    assert error() > 1.1 * right


def test_the_noise_of_what_is_left_of_collisions_is_as_stated() -> None:
    """Estimates with other values' shares left in: their squared errors are the stated variance,
    within a tenth.
    """
    domain = Categorical([str(i) for i in range(200)])
    channel = warner.LocalHashing(domain, 1.0, seeds=512).channel()
    rng = np.random.default_rng(8)
    theta = rng.dirichlet(np.full(200, 0.3))
    ratios = []
    for _ in range(30):
        noise = EstimateNoise.of(
            LikelihoodData(channel, channel.simulate(theta, 3000, rng), 3000, domain), "binomial"
        )
        ratios.append(((noise.y - theta) ** 2).sum() / noise.variance(theta).sum())
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


# Parts of the learned prior are needed: the method without one of them is rejected. Seeded, so that nothing flakes.


def test_rescaling_instead_of_the_sum_constraint_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One value with 0.6 of the mass, little noise: dividing by the sum charges it with 0.6 of
    everyone's noise.

    By theory the squared error is then K - 2 + K sum theta^2 = 14.7 instead of K - 1 = 11 times the
    variance.
    """
    theta = np.append(0.4 * np.arange(1.0, 12.0) / 66, 0.6)
    right = _errors(EmpiricalBayes(), theta, 10**6, 1.0, 15).mean()
    monkeypatch.setattr(empirical_bayes, "tilt_to_sum", lambda laws, *_: laws)
    for module in (empirical_bayes, noise):
        monkeypatch.setattr(module, "move_to_sum", lambda v, variance: v / v.sum())
    assert _errors(EmpiricalBayes(), theta, 10**6, 1.0, 15).mean() > 1.15 * right


def test_a_prior_that_has_seen_the_value_itself_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few values: the nonparametric prior alone, here a concentration of next to nothing, errs at
    least a quarter more than the mixture.
    """
    theta = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    monkeypatch.setattr(
        empirical_bayes, "SETTINGS", replace(empirical_bayes.SETTINGS, small_domain=0)
    )
    right = _errors(EmpiricalBayes(), theta, 3000, 1.0, 30).mean()
    monkeypatch.setattr(prior, "SETTINGS", replace(prior.SETTINGS, base_concentrations=(0.01,)))
    assert _errors(EmpiricalBayes(), theta, 3000, 1.0, 30).mean() > 1.25 * right


# Large values beside a smooth rest. Seeded, so that nothing flakes.


def _squares_by_power(
    theta: np.ndarray, runs: int, power: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, float]:
    """Squared errors of the default, and with another ``large_risk_power``, on the same draws."""
    other = replace(prior.SETTINGS, large_risk_power=power)
    found = []
    for settings in (prior.SETTINGS, other):
        monkeypatch.setattr(prior, "SETTINGS", settings)
        rng = np.random.default_rng(31)
        data = [_facts(theta, 10_000, 1.0, rng, warner.RandomizedResponse) for _ in range(runs)]
        found.append(
            sum(float(((EmpiricalBayes().fit(d).shares - theta) ** 2).sum()) for d in data)
        )
    return found[0], found[1]


def test_a_large_share_among_many_values_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of all people have one of 250 values: laws without large values, divided by their small risk, win in the wrong
    program, and much of the share is lost.
    """
    rest = np.random.default_rng(4).dirichlet(np.ones(249))
    ours, wrong = _squares_by_power(np.append(0.5 * rest, 0.5), 12, 1.0, monkeypatch)
    assert ours < 0.85 * wrong


def test_chance_does_not_pass_for_a_large_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two levels of shares in 200 values: by evidence alone, the largest counts pass for large
    values at times, and the error is larger.
    """
    theta = np.repeat([2.0, 1.0], [40, 160])
    ours, wrong = _squares_by_power(theta / theta.sum(), 24, 0.0, monkeypatch)
    assert wrong > 1.3 * ours
