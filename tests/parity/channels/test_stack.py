"""Several channels together against enumeration and against each alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import warner
from tests.parity.estimators._data import MIXED, _groups, _oracle
from tests.refusals import refused
from warner import Integers, MatrixMechanism
from warner.channels import DenseChannel, StackChannel, SupportChannel
from warner.errors import IdentifiabilityError, MismatchError, WarnerError
from warner.estimators.base import score
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize("names, epsilons", MIXED)
def test_several_mechanisms_are_one_stacked_channel(
    names: list[str], epsilons: list[float]
) -> None:
    tallies = _groups(names, epsilons)
    data = likelihood_data(tallies)
    channel, dense = data.channel, data.channel.dense()
    theta = np.random.default_rng(0).dirichlet(np.ones(6))
    r = np.random.default_rng(1).random(channel.shape[0])
    assert data.n == sum(t.n for t in tallies) and data.weights.sum() == pytest.approx(1)
    assert dense.sum(axis=0) == pytest.approx(np.ones(6), abs=1e-12)
    assert channel.matvec(theta) == pytest.approx(dense @ theta, abs=1e-12)
    assert channel.rmatvec(r) == pytest.approx(dense.T @ r, abs=1e-12)
    assert channel.gram(r) == pytest.approx(dense.T @ (r[:, None] * dense), abs=1e-12)
    assert np.concatenate([block for _, block in channel.blocks()]) == pytest.approx(
        dense, abs=1e-15
    )
    assert channel.invert(channel.matvec(theta)) == pytest.approx(theta, abs=1e-9)
    # Per person the stack's likelihood is the groups' together, and the oracle's maximum is ours.
    fit = warner.MaximumLikelihood().fit(data)
    assert fit.status is warner.estimators.Status.CONVERGED
    assert fit.gap is not None
    assert fit.gap <= 1e-9
    assert str(fit.unique).startswith("unique")
    assert fit.log_likelihood / data.n == pytest.approx(_oracle(channel, data.weights), abs=1e-6)
    parts = [likelihood_data(t) for t in tallies]
    scores = [p.n * p.channel.rows_per_report * score(p.channel, p.weights, theta) for p in parts]
    assert score(channel, data.weights, theta) * data.n * channel.rows_per_report == pytest.approx(
        np.sum(scores, axis=0), rel=1e-9
    )
    for method in (
        warner.Inversion("threshold"),
        warner.ExpectationMaximization(5),
        warner.estimators.Uniform(),
    ):
        assert warner.estimate(tallies, method).probabilities.sum() == pytest.approx(1)


def test_the_stacks_inversion_weighs_by_precision() -> None:
    """Half of the people at epsilon 0.1, half unprotected: equal weights [P1 eq 13] would have many
    times the error.
    """
    tallies = _groups(["RandomizedResponse"] * 2, [0.1, np.inf], n=3000)
    data = likelihood_data(tallies)
    theta = np.full(6, 1 / 6)
    mixed = data.channel.variance(theta) / data.n
    single = [likelihood_data(t).channel.variance(theta) / t.n for t in tallies]
    assert mixed == pytest.approx(1 / (1 / single[0] + 1 / single[1]))
    assert (0.25 * (single[0] + single[1]) > 20 * mixed).all()


def test_tallies_on_different_domains_are_not_estimated_together() -> None:
    (a,), (b,) = (
        _groups(["RandomizedResponse"], [1.0]),
        _groups(["HadamardResponse"], [1.0], size=5),
    )
    refused(MismatchError, "all be of one question", warner.estimate, [a, b])
    for wrong in ([], [a, 3], a.header, 5):
        refused(WarnerError, "", warner.estimate, wrong)


DOMAIN = Integers(0, 4)


# Two pairs of values that each make the same reports [P4 sec V].
CLOAKING = np.array(
    [[0.7, 0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.7, 0.1], [0.2, 0.2, 0.2, 0.2, 0.8]]
)


OTHER = np.array([[0.1, 0.6, 0.6, 0.1, 0.3], [0.5, 0.2, 0.2, 0.5, 0.3], [0.4, 0.2, 0.2, 0.4, 0.4]])


SHARES = np.array([0.4, 0.3, 0.1, 0.15, 0.05])


FIRST: dict[str, Callable[[], Mechanism]] = {
    "values": lambda: warner.RandomizedResponse(DOMAIN, 1.0),
    "independent bits": lambda: warner.UnaryEncoding(DOMAIN, 1.0, variant="oue"),
    "subsets": lambda: warner.SubsetSelection(DOMAIN, 1.0, size=2),
    "hashes": lambda: warner.LocalHashing(DOMAIN, 1.0, seeds=24),
    "Hadamard": lambda: warner.HadamardResponse(DOMAIN, 1.0),
    "Laplace": lambda: warner.Laplace(DOMAIN, 1.0, reach=3),
    "another cloaking": lambda: MatrixMechanism(DOMAIN, OTHER),
}


def _cloaking() -> Mechanism:
    return MatrixMechanism(DOMAIN, CLOAKING)


def _people(seed: int = 0, n: int = 3000) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.choice(5, n, p=SHARES), rng


METHODS: list[Any] = [None, warner.Inversion(), warner.EmpiricalBayes(), warner.MaximumLikelihood()]


# Two cloakings side by side do not tell all values apart; two of one person do.
@pytest.mark.parametrize("name", [name for name in FIRST if name != "another cloaking"])
def test_a_stack_whose_whole_channel_has_full_rank_is_estimated_by_every_method(name: str) -> None:
    first, cloaking = FIRST[name](), _cloaking()
    values, rng = _people()
    tallies = [
        first.tally(first.randomize(values[:1000], rng)),
        cloaking.tally(cloaking.randomize(values[1000:], rng)),
    ]
    channel = likelihood_data(tallies).channel
    assert channel.invert(channel.matvec(SHARES)) == pytest.approx(SHARES, abs=1e-9), "unbiased"
    for method in METHODS:
        found = warner.estimate(tallies, method)
        bounds = found.interval()
        assert found.has_intervals
        assert (bounds[:, 0] <= bounds[:, 1]).all()
        assert (np.diff(bounds, axis=1) > 0.01).all()


@pytest.mark.parametrize("name", FIRST)
def test_reports_of_one_person_together_are_estimated_by_every_method(name: str) -> None:
    both = warner.mechanisms.Repeated([FIRST[name](), _cloaking()])
    values, rng = _people()
    tally = both.tally(both.randomize(values, rng))
    for method in METHODS:
        found = warner.estimate(tally, method)
        bounds = found.interval()
        assert found.has_intervals and (bounds[:, 0] <= bounds[:, 1]).all()
    data = likelihood_data(tally)
    sd = np.sqrt(data.channel.variance(SHARES) / data.n)
    # 6.1 standard deviations: alpha is 1e-9. The wrong program averages an inverse that there is
    # not.
    assert (np.abs(data.channel.invert(data.weights) - SHARES) < 6.1 * sd).all()


def test_the_weights_of_least_variance_are_found() -> None:
    """Against least squares with the exact covariance of the groups' frequencies at the uniform
    distribution, pseudo-inverted.
    """
    first, people = FIRST["values"](), (1000, 2000)
    stack = StackChannel([first.channel(), _cloaking().channel()], people)
    even = np.full(5, 0.2)
    rows = [channel.dense() for channel in stack.channels]
    covariance = np.zeros((8, 8))
    for block, matrix, n in zip((slice(0, 5), slice(5, 8)), rows, people, strict=True):
        d = matrix @ even
        covariance[block, block] = (np.diag(d) - np.outer(d, d)) / n
    # Constants are known without error: a little of them in the covariance keeps them in the
    # estimate.
    matrix, fixed = np.concatenate(rows), 1e-9 * np.eye(8)
    inverse = np.linalg.inv(covariance + fixed)
    best = np.linalg.solve(matrix.T @ inverse @ matrix, matrix.T @ inverse)
    least = np.diag(best @ covariance @ best.T)
    assert stack.variance(even) / 3000 == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize("size, ones", [(3, None), (4, 1), (4, 2), (4, 3), (5, 2)])
def test_second_moments_of_bits_are_those_of_all_reports(size: int, ones: int | None) -> None:
    """The wrong program takes bits of subsets for independent."""
    rng = np.random.default_rng(size)
    q, gap = (0.2, 0.4) if ones is None else (0.0, 0.0)
    if ones is not None:
        p = 0.7
        q = p * (ones - 1) / (size - 1) + (1 - p) * ones / (size - 1)
        gap = p - q
    channel = SupportChannel(size, q, gap, ones)
    weights = rng.normal(size=(3, 2 * size))
    reports = np.array([b for b in product((0, 1), repeat=size) if ones is None or sum(b) == ones])
    law = np.empty((len(reports), size))
    for v in range(size):
        if ones is None:
            chance = np.full(size, q)
            chance[v] = q + gap
            law[:, v] = np.where(reports == 1, chance, 1 - chance).prod(axis=1)
        else:
            has = reports[:, v] == 1
            law[:, v] = np.where(
                has, (q + gap) / max(has.sum(), 1), (1 - q - gap) / max((~has).sum(), 1)
            )
    g = weights @ np.concatenate([reports, 1 - reports], axis=1).T
    assert channel.second_moments(weights) == pytest.approx(g**2 @ law, rel=1e-10)


def test_a_stack_of_kept_reports_is_inverted_like_their_counts() -> None:
    """Rows of reports seen are no law of reports: the wrong program inverts them as if they were."""
    bits, cloaking = FIRST["independent bits"](), _cloaking()
    values, rng = _people()
    reports = bits.randomize(values[:1500], rng)
    others = cloaking.tally(cloaking.randomize(values[1500:], rng))
    found = []
    for keep in (False, True):
        data = likelihood_data([bits.tally(reports, keep_reports=keep), others])
        found.append((data.channel.invert(data.weights), data.channel.variance(SHARES)))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-10)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-10)


def test_the_variance_of_a_stack_is_that_of_its_simulated_estimates() -> None:
    """2000 runs: relative sd of a variance 3.2 %, limits 6.1 of them. The wrong program takes each
    group's mean for theta.
    """
    first = FIRST["independent bits"]()
    stack = StackChannel([first.channel(), _cloaking().channel()], (1000, 2000))
    rng = np.random.default_rng(5)
    runs = np.array([stack.invert(stack.simulate(SHARES, 3000, rng)) for _ in range(2000)])
    assert runs.var(axis=0) / (stack.variance(SHARES) / 3000) == pytest.approx(
        np.ones(5), abs=6.1 * np.sqrt(2 / 2000)
    )
    null = stack.variance_at_zero(np.array([0.0, 0.5, 0.2, 0.2, 0.1]))[0]
    assert null == pytest.approx(stack.variance(np.array([0.0, 0.5, 0.2, 0.2, 0.1]))[0], rel=1e-9)


def test_channels_with_inverses_of_their_own_are_mixed_as_before() -> None:
    channels = [warner.RandomizedResponse(DOMAIN, epsilon).channel() for epsilon in (0.5, 2.0)]
    stack = StackChannel(channels, (1000, 2000))
    assert not stack.is_inverted_together and stack.invert(stack.matvec(SHARES)) == pytest.approx(
        SHARES, abs=1e-12
    )
    blind = StackChannel([DenseChannel(CLOAKING), DenseChannel(CLOAKING)], (10, 10))
    refused(IdentifiabilityError, "", blind.invert, blind.matvec(SHARES))
