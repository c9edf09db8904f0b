"""Steps of empirical Bayes against brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import dirichlet, gamma

import warner
from tests.registry import MECHANISMS, SEEING
from warner import (
    Categorical,
    EmpiricalBayes,
    HadamardResponse,
    Integers,
    LocalHashing,
    UnaryEncoding,
)
from warner.channels import StackChannel, SupportChannel
from warner.estimators import empirical_bayes
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import (
    SmallDomainPosterior,
    _common_quantile,
    _without_collisions,
    noise as noise_module,
    prior,
    prior as neighbours,
    prior as prior_module,
    with_whole_reports,
)
from warner.estimators.empirical_bayes.noise import EstimateNoise, SupportCounts, same_columns
from warner.estimators.empirical_bayes.prior import (
    SETTINGS,
    LearnedPrior,
    candidate_priors,
    fit_prior,
    tilt_to_sum,
    with_mean,
)
from warner.mechanisms import Mechanism, ProjectiveGeometryResponse
from warner.results.from_tally import likelihood_data


def test_counts_less_what_others_have_in_them_are_those_of_the_collisions() -> None:
    """y = theta + (S - (q' + (p - q') M) theta) / gap, with M counted seed by seed, then moved onto
    the sum.
    """
    mechanism = LocalHashing(Categorical([str(i) for i in range(30)]), 1.0, seeds=64)
    channel = mechanism.channel()
    assert hasattr(channel, "support_shares")
    rng = np.random.default_rng(2)
    theta = rng.dirichlet(np.ones(30))
    w = channel.simulate(theta, 4000, rng)
    data = LikelihoodData(channel, w, 4000, mechanism.domain)
    noise = EstimateNoise.of(data, "binomial")
    posterior = EmpiricalBayes()._posterior(noise)
    clearer = _without_collisions(data, noise, posterior)
    assert clearer is not None and clearer.n > noise.n and noise.gap is not None
    hit = (channel.dense() > channel.dense().min() + 1e-12).astype(float)
    expected = hit.T @ (channel.dense() @ posterior.shares)
    y = posterior.shares + (hit.T @ w - expected) / noise.gap
    assert np.ptp(clearer.y - y) < 0.2 * np.sqrt(clearer.variance(theta).mean())
    assert clearer.y.sum() == pytest.approx(1, abs=1e-12)
    assert np.std(clearer.y - y) < 1e-3


def test_the_common_quantile_has_the_least_absolute_error_of_its_sum() -> None:
    """A linear programme over the posteriors' own cells, each cut in twenty."""
    rng = np.random.default_rng(3)
    atoms = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.6])
    laws = rng.dirichlet(np.ones(6), size=4)
    found = _common_quantile(laws, atoms, 1.0)
    edges = np.concatenate([[0.0, 0.0], (atoms[2:] + atoms[1:-1]) / 2, atoms[-1:]])
    fine = (edges[:-1, None] + (np.arange(20) + 0.5) / 20 * np.diff(edges)[:, None]).ravel()
    weights = np.repeat(laws, 20, axis=1) / 20

    def risk(t: np.ndarray) -> float:
        return float((weights * np.abs(t[:, None] - fine)).sum())

    t = cp.Variable(4)
    objective = sum(cp.sum(cp.multiply(weights[x], cp.abs(t[x] - fine))) for x in range(4))
    cp.Problem(cp.Minimize(objective), [t >= 0, cp.sum(t) == 1]).solve(solver=cp.CLARABEL)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert risk(found) <= risk(t.value) + 1e-4


def test_sharpened_estimates_are_newtons_step() -> None:
    """Against the bordered system of the dense likelihood, sum held at one."""
    mechanism = warner.LocalHashing(Integers(1, 6), 3.0, seeds=64)
    rng = np.random.default_rng(5)
    theta = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    data = likelihood_data(
        mechanism.tally(mechanism.randomize(1 + rng.choice(6, 3000, p=theta), rng))
    )
    noise = EstimateNoise.of(data, "binomial")
    sharp = with_whole_reports(data, noise, theta)
    assert sharp is not None
    a, w = data.channel.dense(), data.weights
    d = a @ theta
    information = a.T @ (a * (w / d**2)[:, None])
    system = np.block([[information, np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
    step = np.linalg.solve(system, np.append(a.T @ (w / d), 0.0))[:6]
    assert sharp.y == pytest.approx(theta + step, abs=1e-5)
    inverse = np.linalg.inv(system)[:6, :6]
    assert sharp.n > noise.n
    assert sharp.variance(theta).sum() * 5 / 6 == pytest.approx(np.trace(inverse) / 3000, rel=1e-4)


# The posterior of few values against enumeration and its law.


@pytest.mark.parametrize("size", [2, 3, 4])
def test_laws_given_the_sum_are_those_of_the_enumeration(size: int) -> None:
    """All points of a coarse lattice on the simplex, one by one."""
    points = 9
    rng = np.random.default_rng(size)
    likelihood, noise = rng.random((size, points)), rng.random(size) / 4
    grid = [t for t in itertools.product(range(points), repeat=size) if sum(t) == points - 1]
    total, scores = [], []
    for concentration, absent, rare, weight in SETTINGS.simplex_laws:
        prior = empirical_bayes._prior(concentration, absent, rare, noise, points)
        mass = np.array(
            [np.prod([prior[x, j] * likelihood[x, j] for x, j in enumerate(t)]) for t in grid]
        )
        whole = sum(np.prod([prior[x, j] for x, j in enumerate(t)]) for t in grid)
        scores.append(mass.sum() / whole * weight)
        laws = np.zeros((size, points))
        for t, m in zip(grid, mass / mass.sum(), strict=True):
            laws[np.arange(size), t] += m
        total.append(laws)
    few = SmallDomainPosterior.of(likelihood, noise)
    assert few.weights == pytest.approx(np.array(scores) / sum(scores), abs=1e-9)
    assert few.laws == pytest.approx(np.einsum("c,ckj->kj", few.weights, np.array(total)), abs=1e-9)


def test_without_data_the_prior_is_dirichlet() -> None:
    """Variance of each share under a flat likelihood and without noise, which makes the masses near
    0 vanish: (1/K) (1 - 1/K) / (K c + 1), averaged over the laws with their weights.
    """
    few = SmallDomainPosterior.of(np.ones((4, 1025)), np.zeros(4))
    atoms = np.arange(1025) / 1024
    concentrations, _, _, weights = np.array(SETTINGS.simplex_laws).T
    weights = weights / weights.sum()
    exact = weights @ [dirichlet(np.full(4, c)).var()[0] for c in concentrations]
    assert few.weights == pytest.approx(weights, abs=1e-6)
    assert few.laws @ atoms == pytest.approx(np.full(4, 0.25), abs=1e-9)
    assert few.laws @ atoms**2 - 0.25**2 == pytest.approx(np.full(4, exact), rel=0.01)


def test_the_atom_of_an_absent_value_is_as_wide_as_stated() -> None:
    """Two values: the flat law has density 1, so an atom of width w has w times the mass of one sd."""
    noise, points = np.array([0.01, 0.02]), 4097
    prior = empirical_bayes._prior(1.0, 2.0, 0.0, noise, points)
    without = empirical_bayes._prior(1.0, 0.0, 0.0, noise, points)
    assert (prior - without)[:, 0] / points == pytest.approx(2 * noise)
    assert (prior - without)[:, 1:].any() == np.False_


def test_rare_shares_are_exponential_with_the_stated_mass_and_mean() -> None:
    noise, points = np.array([0.01, 0.02]), 4097
    more = empirical_bayes._prior(1.0, 0.0, 3.0, noise, points) - empirical_bayes._prior(
        1.0, 0.0, 0.0, noise, points
    )
    mass = more.sum(axis=1)
    assert mass / points == pytest.approx(3 * noise)
    mean = 1 / (1 / (SETTINGS.rare_share * noise) + SETTINGS.rare_rate * 2)
    atoms = np.arange(points) / (points - 1)
    assert more @ atoms / mass == pytest.approx(mean, rel=1e-3)
    assert more @ atoms**2 / mass == pytest.approx(2 * mean**2, rel=1e-3)


def test_draws_of_few_values_have_their_laws() -> None:
    rng = np.random.default_rng(3)
    channel = SupportChannel(4, 0.25, 0.3)
    w = channel.simulate(np.array([0.6, 0.3, 0.1, 0.0]), 800, rng)
    noise = EstimateNoise.of(LikelihoodData(channel, w, 800, Categorical(list("abcd"))), "binomial")
    few = SmallDomainPosterior.of(noise.likelihood(np.arange(257) / 256), noise.near_zero())
    draws = few.draws(20_000, rng)
    assert draws.sum(axis=1) == pytest.approx(np.ones(20_000), abs=1e-12)
    for x in range(4):
        empirical = (
            np.bincount(np.rint(draws[:, x] * 256).astype(int), minlength=257).cumsum() / 20_000
        )
        assert np.abs(empirical - few.laws[x].cumsum()).max() < 3.5 / np.sqrt(
            20_000
        )  # Kolmogorov: 1e-10


# The noise of estimates against channels' variances and binomial laws.


@pytest.mark.parametrize("likelihood", ["binomial", "normal"])
@pytest.mark.parametrize(
    "name", [n for n in SEEING if n not in ("SquareWave", "Piecewise", "MatrixMechanism")]
)
def test_the_noise_has_the_channels_variance(name: str, likelihood: str) -> None:
    """Exactly for counts; in the normal form the rest of the distribution is taken as estimated.
    The least is one report in n^2.
    """
    mechanism = MECHANISMS[name](Integers(1, 7), 1.0)
    channel, n = mechanism.channel(), 1000
    theta = np.random.default_rng(0).dirichlet(np.ones(7))
    noise = EstimateNoise.of(
        LikelihoodData(channel, channel.matvec(theta), n, mechanism.domain), likelihood
    )
    assert noise.y == pytest.approx(theta, abs=1e-9)
    exact = np.maximum(channel.variance(theta) / n, 1e-6)
    if "Hashing" in name and likelihood == "binomial":
        # One number says what a small pool of seeds costs, on the mean over values.
        assert noise.variance(theta).sum() == pytest.approx(exact.sum(), rel=0.05)
    else:
        assert noise.variance(theta) == pytest.approx(
            exact, rel=0.1 if likelihood == "normal" else 1e-6
        )


def test_likelihoods_of_several_budgets_are_products_of_binomial_laws() -> None:
    """Bits at two budgets, against the binomial law of each group's counts, moved as the estimates
    were.
    """
    domain, people = Integers(1, 5), (400, 700)
    parts = [SupportChannel(5, 0.25, 0.3), SupportChannel(5, 0.1, 0.5)]
    channel, rng = StackChannel(parts, people), np.random.default_rng(4)
    w = channel.simulate(rng.dirichlet(np.ones(5)), sum(people), rng)
    noise = EstimateNoise.of(LikelihoodData(channel, w, sum(people), domain), "binomial")
    atoms, moved = np.linspace(0, 0.8, 9), noise.y - channel.invert(w)
    logs = np.zeros((5, 9))
    for part, own, share, n in zip(parts, channel.split(w), channel.shares, people, strict=True):
        # The binomial law goes on between whole numbers up to a factor without the share in it.
        counts = n * (part.q + part.gap * (part.invert(own / share) + moved))
        mu = part.q[:, None] + part.gap[:, None] * atoms
        logs += np.stack(
            [c * np.log(m) + (n - c) * np.log1p(-m) for c, m in zip(counts, mu, strict=True)]
        )
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    assert noise.likelihood(atoms) == pytest.approx(expected, rel=1e-9)
    assert noise.subset(np.array([3, 1])).likelihood(atoms) == pytest.approx(
        expected[[3, 1]], rel=1e-9
    )


# Values with the same data, fitted once, against every value fitted on its own.


SIZE, N = 600, 3000


def _alone(noise: EstimateNoise) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slow twin: no two values are alike."""
    every = np.arange(noise.y.size)
    return every, every, np.ones(every.size)


def _data(mechanism: Mechanism, rng: np.random.Generator) -> LikelihoodData:
    theta = rng.permutation(np.geomspace(1, 1e-4, SIZE))
    channel = mechanism.channel()
    weights = channel.simulate(theta / theta.sum(), N, rng)
    return LikelihoodData(channel, weights, N, mechanism.domain)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("name", ["RandomizedResponse", "HadamardResponse", "UnaryEncoding"])
def test_values_with_the_same_data_are_fitted_once(
    name: str, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = _data(getattr(warner, name)(Integers(1, SIZE), 2.0), np.random.default_rng(4))
    kinds, _, alike = EstimateNoise.of(data, "binomial").distinct()
    assert kinds.max() + 1 == len(alike) < SIZE and alike.sum() == SIZE
    method = EmpiricalBayes(loss=loss, order=False)
    fast = method.fit(data)
    monkeypatch.setattr(EstimateNoise, "distinct", _alone)
    slow = method.fit(data)
    assert fast.probabilities is not None and slow.probabilities is not None
    assert fast.posterior is not None and slow.posterior is not None
    # Posteriors move by a fraction of ``same_estimate``, 1e-9 standard deviations.
    assert np.abs(fast.probabilities - slow.probabilities).max() < 1e-9
    drawn = [fit.posterior.draws(5, np.random.default_rng(1)) for fit in (fast, slow)]
    assert np.abs(drawn[0] - drawn[1]).max() < 1e-7


def test_a_prediction_tells_values_apart() -> None:
    """Rejects a program that merges values of one count where their neighbours differ."""
    mechanism = warner.RandomizedResponse(Integers(1, SIZE), 3.0)
    smooth = np.exp(-(((np.arange(SIZE) - 200) / 80) ** 2))
    rng = np.random.default_rng(6)
    weights = mechanism.channel().simulate(smooth / smooth.sum(), 20_000, rng)
    noise = EstimateNoise.of(
        LikelihoodData(mechanism.channel(), weights, 20_000, mechanism.domain), "binomial"
    )
    told = noise.with_neighbours()
    assert told.prediction is not None
    assert len(noise.distinct()[1]) < SIZE == len(told.distinct()[1])


def test_values_of_two_kinds_of_noise_are_not_alike() -> None:
    noise = EstimateNoise(
        100.0,
        np.full(4, 0.25),
        np.array([1.0, 1.0, 2.0, 2.0]),
        np.array([0.5, 0.5, 0.5, 0.6]),
        None,
        None,
        False,
    )
    kinds, one, alike = noise.distinct()
    assert kinds.tolist() == [0, 0, 1, 2]
    assert one.tolist() == [0, 2, 3] and alike.tolist() == [2, 1, 1]


def test_values_that_one_of_several_mechanisms_tells_apart_are_not_alike() -> None:
    """Rejects a program that looks at the estimates only, where two groups count."""
    q, gap = np.full(3, 0.1), np.full(3, 0.5)
    first, second = np.array([0.2, 0.3, 0.2]), np.array([0.3, 0.2, 0.3])
    groups = tuple(SupportCounts(50.0, share, q, gap, False) for share in (first, second))
    third = np.full(3, 1 / 3)
    noise = EstimateNoise(100.0, third, third, third, None, None, False, groups=groups)
    assert noise.distinct()[0].tolist() == [0, 1, 0]


def test_kinds_of_columns_are_those_of_sorted_tuples() -> None:
    rng = np.random.default_rng(2)
    columns = [rng.integers(-2, 3, 500) * 0.5, np.zeros(500), rng.integers(0, 4, 500) / 3]
    _, expected = np.unique(np.stack(columns), axis=1, return_inverse=True)
    assert same_columns(columns).tolist() == expected.ravel().tolist()
    assert same_columns([np.zeros(3)]).tolist() == [0, 0, 0]


# Posteriors in blocks of values, and computed again for draws, are those in one array.


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_blocks_and_recomputed_laws_change_nothing(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smooth shares, so that predictions from neighbours make every value's data its own."""
    mechanism = HadamardResponse(Integers(1, 90), 2.0)
    theta = 1 + np.sin(np.arange(90) / 15)
    theta /= theta.sum()
    channel, rng = mechanism.channel(), np.random.default_rng(8)
    data = LikelihoodData(channel, channel.simulate(theta, 5000, rng), 5000, mechanism.domain)
    whole = EmpiricalBayes(loss).fit(data)
    assert whole.posterior is not None
    draws = whole.posterior.draws(20, np.random.default_rng(1))
    monkeypatch.setattr(prior, "_BLOCK", 500)
    monkeypatch.setattr(empirical_bayes, "_KEPT", 0)
    monkeypatch.setattr(empirical_bayes, "_DRAWN", 100)
    blocks = EmpiricalBayes(loss).fit(data)
    assert blocks.posterior is not None
    assert blocks.shares == pytest.approx(whole.shares, abs=1e-12)
    again = blocks.posterior.draws(20, np.random.default_rng(1))
    assert again == pytest.approx(draws, abs=1e-12)


# The learned prior against brute force: integrals, exact convolutions, a convex solver.


def _noise(size: int = 8, n: int = 3000, seed: int = 0) -> EstimateNoise:
    channel = SupportChannel(size, 0.25, 0.3)
    rng = np.random.default_rng(seed)
    w = channel.simulate(rng.dirichlet(np.full(size, 0.7)), n, rng)
    return EstimateNoise.of(LikelihoodData(channel, w, n, Integers(1, size)), "binomial")


def test_posterior_means_are_the_integrals() -> None:
    """Gamma prior of shape 4, binomial counts: atoms against quadrature, within a fiftieth of the
    posterior's spread.
    """
    noise = _noise()
    atoms = noise.atoms(1 / 8)
    law = next(
        g
        for g in candidate_priors(atoms, 1 / 8)[0]
        if np.isclose(g @ atoms**2, 1 / 64 * (1 + 1 / 4), rtol=0.02)
    )
    prior = LearnedPrior(law, [(1.0, np.inf, np.empty(0), np.empty(0), np.empty(0))])
    posteriors = prior.posteriors(noise.likelihood(atoms), np.zeros(8, dtype=int))
    means = posteriors @ atoms
    spread = np.sqrt(posteriors @ atoms**2 - means**2)
    for x in range(8):
        count = noise.n * (0.25 + 0.3 * noise.y[x])

        def joint(t: float, count: float = count) -> float:
            mu = 0.25 + 0.3 * t
            return float(
                np.exp(count * np.log(mu) + (3000 - count) * np.log1p(-mu) - _peak(count))
                * gamma.pdf(t, 4, scale=1 / 32)
            )

        mass = quad(joint, 0, 1, limit=200)[0]
        exact = quad(lambda t: t * joint(t), 0, 1, limit=200)[0] / mass
        assert means[x] == pytest.approx(exact, abs=spread[x] / 50)


def _peak(count: float) -> float:
    share = count / 3000
    return float(count * np.log(share) + (3000 - count) * np.log1p(-share))


def test_tilted_means_are_those_given_the_sum() -> None:
    """Atoms on a lattice make the law given the sum an exact convolution; the tilt is within 3 % of
    a posterior's spread of it.
    """
    rng = np.random.default_rng(4)
    size, cells = 30, 60
    atoms = np.arange(cells) / 200
    centres = rng.dirichlet(np.full(size, 2.0)) * 1.1
    posteriors = np.exp(-((atoms - centres[:, None]) ** 2) / (2 * 0.02**2))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    found = tilt_to_sum(posteriors.copy(), atoms, 1.0, np.zeros(0)) @ atoms
    assert found.sum() == pytest.approx(1, abs=1e-9)
    spread = np.sqrt(posteriors @ atoms**2 - (posteriors @ atoms) ** 2)
    for x in range(size):
        others = np.ones(1)
        for other in np.delete(np.arange(size), x):
            others = np.convolve(others, posteriors[other])
        given = np.array([posteriors[x, j] * others[200 - j] for j in range(cells)])
        assert found[x] == pytest.approx(given @ atoms / given.sum(), abs=0.03 * spread[x])


def test_tilts_do_not_depend_on_how_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By factors that all laws share, or by logarithms where such factors could underflow; in one
    block or in many.
    """
    rng = np.random.default_rng(3)
    atoms, alike = np.arange(40) / 400, rng.integers(1, 5, 50)
    posteriors = rng.dirichlet(np.full(40, 0.3), 50)
    args = (atoms, 1.5, np.array([1e-4]), alike)
    whole = tilt_to_sum(posteriors.copy(), *args)
    monkeypatch.setattr(prior_module, "_BLOCK", 400)
    assert tilt_to_sum(posteriors.copy(), *args) == pytest.approx(whole, abs=1e-13)
    monkeypatch.setattr(prior_module, "_SAFE_EXPONENT", 0.0)
    assert tilt_to_sum(posteriors.copy(), *args) == pytest.approx(whole, abs=1e-12)


def test_the_law_of_given_mean_is_the_convex_solvers() -> None:
    rng = np.random.default_rng(2)
    atoms = np.sort(rng.random(25))
    g = rng.dirichlet(np.ones(25))
    for mean in (0.15, 0.5, 0.8):
        h = cp.Variable(25)
        cp.Problem(cp.Maximize(g @ cp.log(h)), [cp.sum(h) == 1, atoms @ h == mean]).solve(
            solver=cp.CLARABEL
        )
        assert with_mean(g, atoms, mean) == pytest.approx(h.value, abs=1e-4)


def test_rows_that_are_told_apart_finely_make_the_same_prior() -> None:
    """Values closer than a tenth of the noise are one row; with a row each, shares move by less
    than a twentieth of the noise.
    """
    noise = _noise(size=200, n=20_000)
    atoms = noise.atoms(1 / 200)
    rows, first, counts = noise.subset(np.arange(200)).rows()
    assert counts.size < 120
    likelihood = noise.likelihood(atoms)
    coarse = fit_prior(likelihood[first], counts, atoms, 1 / 200, False).posteriors(
        likelihood, rows
    )
    fine = fit_prior(likelihood, np.ones(200), atoms, 1 / 200, False).posteriors(
        likelihood, np.arange(200)
    )
    assert coarse @ atoms == pytest.approx(
        fine @ atoms, abs=float(np.sqrt(noise.variance(noise.y)).min()) / 20
    )


# The guess from neighbours: fast paths against slow ones, derivatives against differences.


def test_gains_are_those_of_the_loop_over_frequencies() -> None:
    """The sums over near frequencies by cumulative sums, against sums written out."""
    p = np.random.default_rng(0).exponential(1 + 50 / np.arange(1.0, 41) ** 2)
    keep = 1 / (
        1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, max(4, int(np.log2(p.max()) + 2)))])
    )
    base = np.array([0.5] + [0.5 / (keep.size - 1)] * (keep.size - 1))
    posteriors = np.array([keep * np.exp(-v * keep) * base for v in p])
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    for _ in range(SETTINGS.power_sweeps):
        moved = np.empty_like(posteriors)
        for k in range(40):
            others = [j for j in range(40) if j != k]
            near = [j for j in others if 1 / 1.5 <= (j + 1) / (k + 1) <= 1.5]
            here = posteriors[near].sum(axis=0) * min(1.0, 4 / len(near)) if near else 0.0
            moved[k] = (
                keep
                * np.exp(-p[k] * keep)
                * ((posteriors[others].sum(axis=0) + 2 * base) / 41 + here)
            )
            moved[k] /= moved[k].sum()
        done = np.abs(moved - posteriors).max() < 1e-3
        posteriors = moved
        if done:
            break
    gain, slope = neighbours.gains(p)
    assert gain == pytest.approx(posteriors @ (1 - keep), abs=1e-12)
    assert slope == pytest.approx(posteriors @ (1 - keep) ** 2 - gain**2, abs=1e-12)


def test_what_each_value_adds_to_its_own_is_the_filters_derivative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the prior of powers held, by central differences; sizes with and without a real highest
    frequency.
    """
    prior = np.array([0.5, 0.2, 0.2, 0.1])
    keep = np.array([1.0, 0.5, 0.1, 0.01])

    def held(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        posteriors = prior * keep * np.exp(-p[:, None] * keep)
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        mean = posteriors @ (1 - keep)
        return mean, posteriors @ (1 - keep) ** 2 - mean**2

    monkeypatch.setattr(neighbours, "gains", held)
    for size in (24, 25):
        d = np.random.default_rng(1).normal(size=size) / np.sqrt(size)
        d -= d.mean()
        rows = 1e-5 * np.eye(size)
        rise = [
            neighbours.filtered(d + row, 1.0)[0][x] - neighbours.filtered(d - row, 1.0)[0][x]
            for x, row in enumerate(rows)
        ]
        assert neighbours.filtered(d, 1.0)[1] == pytest.approx(np.mean(rise) / 2e-5, abs=1e-8)


def test_a_guess_changes_rows_apart_by_little() -> None:
    """Values whose counts and guesses hardly differ are one row of the prior's data: the estimate
    with a row each is the same to a twentieth of the noise.
    """
    rng = np.random.default_rng(4)
    theta = np.exp(np.sin(np.arange(120) / 12))
    theta /= theta.sum()
    channel = UnaryEncoding(Categorical([str(i) for i in range(120)]), 2.0, variant="oue").channel()
    w = channel.simulate(theta, 20_000, rng)
    noise = EstimateNoise.of(
        LikelihoodData(channel, w, 20_000, Categorical([str(i) for i in range(120)])), "binomial"
    ).with_neighbours()
    assert noise.prediction is not None
    whole = EmpiricalBayes()
    coarse = whole._posterior(noise).shares
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_module, "SETTINGS", replace(SETTINGS, row_width=1e-6))
        fine = whole._posterior(noise).shares
    assert coarse == pytest.approx(fine, abs=float(np.sqrt(noise.variance(theta)).min()) / 20)


# The weighted estimates from whole reports, against dense least squares.


def _reported(size: int, seed: int) -> tuple[LikelihoodData, np.ndarray]:
    """Reports of skewed shares, with many more kinds of reports than values."""
    mechanism = ProjectiveGeometryResponse(Categorical(range(size)), 3.0, prime=13)
    channel, rng = mechanism.channel(), np.random.default_rng(seed)
    theta = 1 / np.arange(1.0, size + 1)
    theta /= theta.sum()
    chances = channel.matvec(theta)
    n = 100 * size
    w = rng.multinomial(n, chances / chances.sum()) / n
    return LikelihoodData(channel, w, n, mechanism.domain), theta


def _dense(data: LikelihoodData, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Least squares with the weights 1 / d, and the trace of the covariance given the sum."""
    a = data.channel.dense()
    weighted = a / (a @ theta)[:, None]
    inverse = np.linalg.inv(a.T @ weighted)
    return inverse @ (weighted.T @ data.weights), float(np.trace(inverse) - theta @ theta)


@pytest.mark.parametrize("size", [40, 200])
def test_conjugate_gradients_give_weighted_least_squares(size: int) -> None:
    data, theta = _reported(size, 3)
    found = empirical_bayes._scoring_step(data, theta)
    assert found is not None
    y, trace = _dense(data, theta)
    assert found[0] == pytest.approx(y, abs=1e-9)
    assert found[1] == pytest.approx(trace, rel=1e-9 if size < 64 else 0.01)


def test_the_new_estimates_are_worth_their_variance() -> None:
    """Without the factor K / (K - 1) they would be worth 2 % more. Where one value gains less than
    the others, they are worth what they are for this value.
    """
    data, theta = _reported(50, 5)
    noise = EstimateNoise.of(data, "binomial")
    found = empirical_bayes.with_whole_reports(data, noise, theta)
    assert found is not None and found.n > 1.02 * noise.n
    a = data.channel.dense()
    covariance = np.linalg.inv(a.T @ (a / (a @ theta)[:, None])) - np.outer(theta, theta)
    before = noise.variance(theta) * 49 / 50
    gains = before[:8] * data.n / np.diag(covariance)[:8]
    mean = before.sum() * data.n / np.trace(covariance)
    assert found.n == pytest.approx(data.n * min(mean, gains.min()), rel=1e-9)


def test_no_step_where_weights_gain_nothing() -> None:
    """With equal shares all reports are about equally likely."""
    data, theta = _reported(200, 3)
    equal = np.full(200, 1 / 200)
    assert empirical_bayes._scoring_step(data, equal) is None
    few = replace(data, n=10)
    noise = EstimateNoise.of(few, "binomial")
    assert empirical_bayes.with_whole_reports(few, noise, theta) is None
