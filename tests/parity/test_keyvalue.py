"""Keys with values: fast forms against the same law written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import warner
from warner import Categorical, Interval, KeyValue
from warner._core.exact import log_ratio
from warner.channels import DilutedChannel, StackChannel, TiedChannel
from warner.estimators.key_value import key_moments, of_keys, of_values
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms.key_value import Keyed
from warner.metrics.simplex import project
from warner.privacy.report_laws import TwoLevel


def _ratio(law: Keyed, keys: int) -> Fraction:
    """The worst ratio over all reports and pairs of answers, a value standing on any of the cells."""
    dummy = law.other / law.cells
    own = [
        [law.keep * (law.value.high if y == v else law.value.low) for y in range(law.cells)]
        for v in range(law.cells)
    ]
    answers = list(product(range(keys), range(law.cells)))
    worst = Fraction(1)
    everything = (
        product(range(law.cells + 1), repeat=keys)
        if law.separate
        else product(range(keys), range(law.cells))
    )
    for report in everything:  # a digit of 0 is nothing
        chances = []
        for k, v in answers:
            if not law.separate:
                chances.append(own[v][report[1]] if report[0] == k else dummy)
                continue
            chance = Fraction(1)
            for j, digit in enumerate(report):
                mine, other = (
                    (1 - law.keep, 1 - law.other) if digit == 0 else (own[v][digit - 1], dummy)
                )
                chance *= mine if j == k else other
            chances.append(chance)
        worst = max(worst, max(chances) / min(chances))
    return worst


def _law(epsilon: float, second: float, first: float, keys: int, cells: int, apart: bool) -> Keyed:
    """Key-value reports with a window of one cell at epsilon_2 ``second`` and keys at epsilon_1
    ``first``.
    """
    e, one = Fraction(np.exp(second)), Fraction(np.exp(first))
    value = TwoLevel(e / (e + cells - 1), 1 / (e + cells - 1))
    keep, other = (
        (Fraction(1, 2), 1 / (one + 1)) if apart else (one / (one + keys - 1), 1 / (one + keys - 1))
    )
    return Keyed(keep, other, value, cells, apart)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("keys", [2, 3, 4])
@pytest.mark.parametrize("cells", [2, 3])
def test_the_ratio_of_a_law_is_that_of_all_its_reports(apart: bool, keys: int, cells: int) -> None:
    for second, first in ((0.5, 0.7), (1.0, 0.2), (2.0, 0.1), (0.1, 1.5)):
        law = _law(1.0, second, first, keys, cells, apart)
        assert law.ratio() == _ratio(law, keys)


@pytest.mark.parametrize("apart", [True, False])
def test_wrong_budgets_are_seen(apart: bool) -> None:
    """epsilon = 1 = epsilon_2: keys at epsilon_1 = epsilon break it, at epsilon - epsilon_2 they
    waste it, and so do other slips.
    """
    cells = 3
    peak = float(_law(1.0, 1.0, 1.0, 3, cells, apart).value.high * cells)
    right = log_ratio(_law(1.0, 1.0, 1.0 - np.log(peak), 3, cells, apart).ratio(), 1)
    assert right == pytest.approx(1.0, abs=1e-12)
    wrong = log_ratio(_law(1.0, 1.0, 1.0, 3, cells, apart).ratio(), 1)
    assert wrong == pytest.approx(1.0 + np.log(peak), abs=1e-12) and wrong > 1.3
    half = _law(1.0, 0.5, 0.5, 3, cells, apart)
    assert (
        log_ratio(half.ratio(), 1) < 0.85
    )  # epsilon_1 = epsilon - epsilon_2 spends less than it may


def test_direct_keys_as_if_they_carried_no_value_break_the_budget() -> None:
    """The mutant that keeps keys w.p. e / (e + d - 1), randomised response over d and not over 2d."""
    law = _law(1.0, 1.0, 1.0, 4, 2, False)
    assert log_ratio(law.ratio(), 1) == pytest.approx(1 + np.log(2 * np.e / (np.e + 1)), abs=1e-12)


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_what_reports_of_a_key_say_is_their_conditional_law(key: str) -> None:
    mechanism = KeyValue(
        Categorical(["a", "b", "c"]), Interval(-1, 1, 6), 1.5, key=key, value="piecewise", cells=9
    )
    channel = mechanism.channel()
    f, rest = np.array([0.2, 0.5, 0.3]), np.random.default_rng(0).dirichlet(np.ones(6), 3)
    w = channel.matvec((f[:, None] * rest).ravel())
    data = LikelihoodData(channel, w, 1000, mechanism.domain)
    for k in range(3):
        seen = channel.by_key(w)[k, 1:]
        part = of_values(data, k, float(f[k]))
        assert part is not None and isinstance(part.channel, DilutedChannel)
        assert part.channel.matvec(rest[k]) == pytest.approx(seen / seen.sum(), abs=1e-14)
        assert part.n == round(1000 * seen.sum())
        dense = part.channel.dense()
        assert dense.sum(axis=0) == pytest.approx(np.ones(6)) and part.channel.rmatvec(
            seen
        ) == pytest.approx(dense.T @ seen)
    keys = of_keys(data)
    assert keys.channel.invert(keys.weights) == pytest.approx(
        f
    ) and keys.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("value", ["rounding", "piecewise"])
def test_variances_of_moments_are_those_of_single_reports(key: str, value: str) -> None:
    """By enumeration of all reports: what each adds to f and N, its mean and its covariance."""
    cells = {} if value == "rounding" else {"cells": 4}
    mechanism = KeyValue(
        Categorical(["a", "b"]), Interval(-1, 1, 4), 1.5, key=key, value=value, **cells
    )
    channel, theta = mechanism.channel(), np.random.default_rng(1).dirichlet(np.ones(8))
    law = mechanism.probabilities().astype(float) @ theta
    reports = warner.Reports(mechanism.header, mechanism.outputs())
    single = []
    for i in range(len(reports)):
        tally = mechanism.tally(reports[i : i + 1])
        found = key_moments(warner.results.from_tally.likelihood_data(tally))
        single.append(np.stack([found.total, found.frequency], axis=1))
    each = np.array(single)
    mean = np.einsum("y,yki->ki", law, each)
    table = theta.reshape(2, 4)
    assert mean[:, 1] == pytest.approx(table.sum(axis=1)) and mean[:, 0] == pytest.approx(
        table @ mechanism.values.points[:, 0]
    )
    covariance = np.einsum("y,yki,ykj->kij", law, each, each) - np.einsum("ki,kj->kij", mean, mean)
    n = 10**12  # beside which the few reports that are added for small n are nothing
    assert key_moments(
        LikelihoodData(channel, channel.matvec(theta), n, mechanism.domain)
    ).variance * n == pytest.approx(covariance, abs=1e-9)


@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("value", ["rounding", "piecewise"])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_few_reports_that_are_alike_do_not_make_a_mean_certain(
    key: str, value: str, n: int, epsilon: float
) -> None:
    """Rejects the variance among the reports alone: five reports of the same were said to have a
    mean of 2, and no other.
    """
    mechanism = KeyValue(
        Categorical(["a", "b", "c"]), warner.Integers(0, 2), epsilon, key=key, value=value
    )
    for report in range(3):
        each = mechanism.randomize(
            {"key": ["a"], "value": [2]}, np.random.default_rng(report)
        ).columns
        alike = warner.Reports(
            mechanism.header, {name: np.repeat(column, n, axis=0) for name, column in each.items()}
        )
        tally = mechanism.tally(alike)
        found = warner.estimate(tally)
        for label in "abc":
            low, high = found.conditional(label).mean().interval()
            assert high - low > 0.05


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_the_gram_product_is_that_of_the_matrix(key: str) -> None:
    channel = KeyValue(
        Categorical(["a", "b", "c"]), Interval(-1, 1, 4), 1.5, key=key, value="piecewise", cells=5
    ).channel()
    dense, v = channel.dense(), np.random.default_rng(0).random(channel.shape[0])
    assert channel.gram(v) == pytest.approx(dense.T @ (v[:, None] * dense), abs=1e-13)


def test_products_of_several_vectors_are_those_of_one() -> None:
    channel = KeyValue(
        Categorical(["a", "b"]), Interval(-1, 1, 4), 1.5, value="piecewise", cells=5
    ).channel()
    assert isinstance(channel, TiedChannel)
    thetas = np.random.default_rng(1).dirichlet(np.ones(8), 3).T
    w = channel.matvec(thetas)
    assert channel.invert(w) == pytest.approx(thetas, abs=1e-10)
    assert channel.influence(thetas).T @ w[:, 0] == pytest.approx(
        thetas.T @ channel.invert(w[:, 0]), abs=1e-10
    )
    assert channel.inverse_moments(thetas)[0][:, 1] == pytest.approx(
        channel.inverse_moments(thetas[:, 1])[0]
    )


# Found by review: changes to these lines broke no test.


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_the_adjoint_is_the_transposed_matrix(key: str) -> None:
    channel = warner.KeyValue(
        warner.Categorical(["a", "b", "c"]),
        warner.Integers(0, 3),
        1.5,
        key=key,
        value="piecewise",
        cells=5,
    ).channel()
    r = np.random.default_rng(1).normal(size=channel.shape[0])
    assert channel.rmatvec(r) == pytest.approx(channel.dense().T @ r, abs=1e-14)


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


def test_mechanisms_are_mixed_by_what_their_reports_are_worth() -> None:
    """Beside a large budget a small one must not count alike: the variance of a mixture is below
    that of either part.
    """
    keys, values = warner.Categorical(["a", "b"]), warner.Integers(0, 2)
    parts = [warner.KeyValue(keys, values, epsilon) for epsilon in (0.5, 4.0)]
    theta = np.full(6, 1 / 6)
    single = [LikelihoodData(m.channel(), m.channel().matvec(theta), 1000, m.domain) for m in parts]
    channel = StackChannel([e.channel for e in single], [1000, 1000])
    both = LikelihoodData(
        channel, channel.stack([e.weights for e in single]), 2000, parts[0].domain
    )
    variances = [key_moments(e).variance[:, 1, 1] for e in (*single, both)]
    assert (variances[2] < np.minimum(variances[0], variances[1])).all()


def test_the_bootstrap_of_one_key_fits_that_key_alone() -> None:
    """Fitting all 20 keys in every replicate took 80 s."""
    mechanism = KeyValue(Categorical(["a", "b", "c"]), Interval(0, 1, 8), 4.0, value="piecewise")
    rng = np.random.default_rng(1)
    found = warner.estimate(
        mechanism.tally(
            mechanism.randomize({"key": list("abc") * 2000, "value": rng.random(6000)}, rng)
        )
    )
    one = found.conditional("b").quantile(0.5)
    whole = type(one)(float(one), found, one._of)
    bounds = [q.interval(replicates=20, rng=np.random.default_rng(2)) for q in (one, whole)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)
    part = one._estimate.estimator.fit(found.data).shares.reshape(3, 8)
    assert part[1] == pytest.approx(found.probabilities.reshape(3, 8)[1], abs=1e-12)
    assert (np.ptp(part, axis=1) == 0).tolist() == [True, False, True]
