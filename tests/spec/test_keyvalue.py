"""Keys with values: the published probabilities and estimators, exact budgets, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import chi2

import warner
from tests.registry import KEYED
from warner import Categorical, Integers, Interval, KeyValue, MaximumLikelihood, Status
from warner.app.cli import main
from warner.estimators import (
    KeyMeans,
    PerKey,
)
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.literature import MixtureReduction
from warner.mechanisms import from_header
from warner.results.from_tally import likelihood_data
from warner.results.intervals import normal_quantile
from warner.results.summaries import Ratio

KEYS, PAY = Categorical(["a", "b", "c", "d"]), Interval(-1, 1, 8)
F = np.array([0.4, 0.35, 0.25, 0.0])
VARIANTS = [(key, value) for key in ("unary", "direct") for value in ("rounding", "piecewise")]


def _make(key: str, value: str, epsilon: float = 2.0, **more: Any) -> KeyValue:
    return KeyValue(KEYS, PAY, epsilon, key=key, value=value, **more)


def _theta() -> np.ndarray:
    """Shares of (key, bin), C order: each key's values peak elsewhere, nobody has the last key."""
    peaks = np.exp(-((np.arange(8)[None, :] - np.array([1, 4, 6, 3])[:, None]) ** 2) / 3)
    return (F[:, None] * peaks / peaks.sum(axis=1, keepdims=True)).ravel()


def _means() -> np.ndarray:
    table = _theta().reshape(4, 8)[:3]
    return table @ PAY.points[:, 0] / F[:3]


def _facts(mechanism: KeyValue, n: int = 10**6) -> LikelihoodData:
    """What a tally would hold on average."""
    channel = mechanism.channel()
    return LikelihoodData(channel, channel.matvec(_theta()), n, mechanism.domain)


def _people(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    cell = rng.choice(32, n, p=_theta())
    return {
        "key": KEYS.decode(cell // 8),
        "value": PAY.points[cell % 8, 0] + rng.uniform(-1 / 8, 1 / 8, n),
    }


# Budgets.


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_pckv_keeps_and_raises_keys_as_published(epsilon: float) -> None:
    e, d = math.exp(epsilon), 4
    unary, direct = KeyValue(KEYS, PAY, epsilon).law, KeyValue(KEYS, PAY, epsilon, key="direct").law
    assert [float(unary.keep), float(unary.other), float(unary.value.high)] == pytest.approx(
        [1 / 2, 2 / (e + 3), e / (e + 1)], abs=1e-15
    )
    found = [float(direct.keep), float(direct.other), float(direct.value.high)]
    assert found == pytest.approx(
        [(e + 1) / (e + 2 * d - 1), 2 / (e + 2 * d - 1), e / (e + 1)], abs=1e-15
    )


def test_with_piecewise_values_the_rest_of_the_budget_goes_to_keys() -> None:
    """epsilon_1 = epsilon - epsilon_2 / 2 in the limit of many cells."""
    for second in (0.4, 1.0, 1.5):
        one = math.exp(1.5 - second / 2)
        unary = KeyValue(KEYS, PAY, 1.5, value="piecewise", value_epsilon=second, cells=2**14).law
        direct = KeyValue(
            KEYS, PAY, 1.5, key="direct", value="piecewise", value_epsilon=second, cells=2**14
        ).law
        assert float(unary.other) == pytest.approx(1 / (one + 1), abs=1e-4)
        assert float(direct.keep) == pytest.approx(one / (one + 3), abs=1e-4)


def test_direct_rounding_is_randomised_response_over_keys_and_signs() -> None:
    pairs = KeyValue(
        Categorical(["a", "b", "c"]), Integers(0, 1), 1.0, key="direct"
    ).probabilities()
    whole = warner.RandomizedResponse(Integers(0, 5), 1.0).probabilities()
    assert pairs.astype(float) == pytest.approx(whole.astype(float), abs=1e-15)


def test_unary_rounding_is_pure() -> None:
    """A report's probabilities under pairs of a key and an end of the range have two levels, a
    factor e apart [METHODS 2].
    """
    rows = KeyValue(Categorical(["a", "b"]), Integers(0, 1), 1.0).probabilities().astype(float)
    ratios = (rows / rows.min(axis=1, keepdims=True)).ravel()
    assert np.minimum(abs(ratios - 1), abs(ratios - math.e)).max() < 1e-12


@pytest.mark.parametrize("key, value", VARIANTS)
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("share", [0.25, 0.7, 1.0])
def test_epsilon_is_exact_by_enumeration(key: str, value: str, size: int, share: float) -> None:
    for epsilon in (0.3, 1.0, 3.0):
        cells = {} if value == "rounding" else {"cells": 4 if size == 4 else 6}
        mechanism = KeyValue(
            Categorical(list(range(size))),
            Integers(0, 3),
            epsilon,
            key,
            value,
            share * epsilon,
            **cells,
        )
        found = warner.audit(mechanism)
        assert found.holds and "enumerated" in found.method
        assert epsilon - 1e-9 <= found.epsilon <= epsilon


@pytest.mark.parametrize("key, value", VARIANTS)
def test_many_keys_are_audited_key_by_key(key: str, value: str) -> None:
    mechanism = KeyValue(Categorical(list(range(5000))), PAY, 1.0, key=key, value=value)
    found = warner.audit(mechanism)
    assert found.holds and found.method == "key by key, exactly" and 1 - 1e-9 <= found.epsilon <= 1


# Estimates.


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_means_of_rounded_values_are_pckvs_formula(key: str) -> None:
    """f_k = (n_k / n - b) / (a - b), m_k = (n_k+ - n_k-) / (n f_k a (2p - 1))."""
    mechanism, n = _make(key, "rounding"), 50_000
    tally = mechanism.tally(mechanism.randomize(_people(n), np.random.default_rng(1)))
    lower, upper = (tally.counts[:, -2], tally.counts[:, -1])
    a, b, p = (
        float(v) for v in (mechanism.law.keep, mechanism.law.other, mechanism.law.value.high)
    )
    f = ((lower + upper) / n - b) / (a - b)
    means = (upper - lower) / (n * f * a * (2 * p - 1))
    fit = KeyMeans(clip=False).fit(likelihood_data(tally))
    assert fit.keys is not None and fit.keys.frequencies == pytest.approx(f, abs=1e-12)
    assert fit.keys.means[:3] == pytest.approx(means[:3], abs=1e-9)
    clipped = KeyMeans().fit(likelihood_data(tally))
    assert (
        clipped.keys is not None
        and clipped.keys.frequencies == pytest.approx(np.clip(f, 1 / n, 1))
        and np.abs(clipped.keys.means).max() <= 1
    )
    assert fit.probabilities is None and fit.status is Status.EXACT


@pytest.mark.parametrize("key, value", VARIANTS)
def test_frequencies_and_means_are_unbiased(key: str, value: str) -> None:
    """On exactly expected counts every method that is consistent gives the truth; EM's early stop
    is not such a method.
    """
    mechanism = _make(key, value)
    data = _facts(mechanism)
    fit = KeyMeans(clip=False).fit(data)
    assert fit.keys is not None and fit.keys.frequencies == pytest.approx(F, abs=1e-12)
    assert fit.keys.means[:3] == pytest.approx(_means(), abs=1e-12)
    for method in (MaximumLikelihood(), PerKey(MaximumLikelihood())):
        table = method.fit(data).shares.reshape(4, 8)
        assert table.sum(axis=1) == pytest.approx(F, abs=1e-5)
        assert table[:3] @ PAY.points[:, 0] / F[:3] == pytest.approx(_means(), abs=1e-4)
        if value == "piecewise":
            assert table.ravel() == pytest.approx(_theta(), abs=2e-3)
    if value == "piecewise":
        assert data.channel.invert(data.weights) == pytest.approx(_theta(), abs=1e-10)


def test_dummies_that_are_not_taken_out_bias_means() -> None:
    """The mutant that takes every report of a key for the person's own draws means to the middle."""
    data = _facts(_make("unary", "piecewise"))
    channel = data.channel
    seen = channel.by_key(data.weights)[0, 1:]
    naive = MaximumLikelihood().fit(LikelihoodData(channel.inner, seen / seen.sum(), 10**6, PAY))
    honest = PerKey(MaximumLikelihood()).fit(data).shares[:8]
    middle = float(naive.shares @ PAY.points[:, 0])
    assert (
        abs(float(honest @ PAY.points[:, 0] / honest.sum()) - _means()[0])
        < 1e-4
        < 0.1
        < abs(middle - _means()[0])
    )


def test_rounded_values_tell_no_distribution() -> None:
    data = _facts(_make("unary", "rounding"))
    for method in (warner.Inversion("project"), warner.EmpiricalBayes()):
        with pytest.raises(warner.errors.IdentifiabilityError, match="KeyMeans"):
            method.fit(data)
    assert str(MaximumLikelihood().fit(data).unique).startswith("not unique")


@pytest.mark.parametrize("key, value", VARIANTS)
def test_the_recommended_method_fits_the_reports(key: str, value: str) -> None:
    mechanism = _make(key, value, 3.0)
    tally = mechanism.tally(mechanism.randomize(_people(40_000), np.random.default_rng(2)))
    found = warner.estimate(tally)
    assert found.estimator == (KeyMeans() if value == "rounding" else PerKey())
    for k, label in enumerate("abc"):
        one = found.conditional(label)
        low, high = one.mean().interval(0.999)
        assert low <= _means()[k] <= high and abs(one.mean() - _means()[k]) < 0.15
        assert one.status is found.status and f"{label!r}" in repr(one)
    rows = found.frequencies(0.9999)
    assert [row["estimate"] for row in rows] == pytest.approx(F, abs=0.05)
    assert all(row["low"] <= f <= row["high"] for row, f in zip(rows, F, strict=True))
    assert json.loads(json.dumps(found.to_json()))["keys"][0]["value"] == "a"
    if value == "rounding":
        with pytest.raises(warner.errors.IdentifiabilityError, match="conditional"):
            _ = found.probabilities
        assert found.conditional("a").rows() == [] and found.to_frame().num_rows == 4


def test_the_values_of_a_key_are_a_distribution_with_intervals() -> None:
    mechanism = _make("direct", "piecewise", 4.0)
    tally = mechanism.tally(mechanism.randomize(_people(40_000), np.random.default_rng(2)))
    found = warner.estimate(tally, PerKey(warner.estimators.literature.SmoothedEM())).conditional(
        "b"
    )
    assert found.probabilities.sum() == pytest.approx(1) and found.frequency == pytest.approx(
        0.35, abs=0.03
    )
    truth = _theta().reshape(4, 8)[1] / 0.35
    bounds = found.interval(0.999)
    assert (
        bounds.shape == (8, 2) and (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()
    )
    low, high = found.quantile(0.5).interval(replicates=20, rng=np.random.default_rng(0))
    assert PAY.low <= low <= found.quantile(0.5) <= high <= PAY.high
    low, high = found.variance().interval(replicates=20, rng=np.random.default_rng(0))
    assert 0 < low < high < 1 and len(found.rows()) == 8


@pytest.mark.parametrize("key, value", VARIANTS)
def test_a_key_that_nobody_has_is_a_status_and_no_nan(key: str, value: str) -> None:
    data = _facts(_make(key, value), 1000)
    nothing = np.zeros(data.weights.size)
    rows = nothing.reshape(4, -1)
    if key == "unary":
        rows[:, 0] = rows[0, 0] = 1  # everybody is silent of every key ...
        rows[0, :2] = 0, 1  # ... but of the first
        rows /= 4
    else:
        rows[0, 0] = 1
    for method in (
        KeyMeans(),
        KeyMeans(clip=False),
        PerKey(MaximumLikelihood()),
        MaximumLikelihood(),
        warner.ExpectationMaximization(5),
    ):
        whole = LikelihoodData(data.channel, nothing, 1000, data.domain)
        one = warner.Estimate(method.fit(whole), whole, method).conditional("d")
        assert one.status is Status.KEY_ABSENT
        assert math.isfinite(one.mean()) and one.mean().interval().tolist() == [-1, 1]
        if one.estimate.fit.probabilities is not None:
            assert one.probabilities.sum() == pytest.approx(1) and np.isfinite(one.interval()).all()


def test_fiellers_interval_is_all_there_is_where_the_denominator_may_be_zero() -> None:
    z = normal_quantile(0.95)
    variance = np.diag([0.01, 0.0004])
    assert Ratio(0.05, 0.1, variance, (-1, 1)).around(z)[1] == 1
    assert Ratio(0.05, 0.03, variance, (-1, 1)).around(z).tolist() == [-1, 1]
    tight = Ratio(0.3, 0.6, variance * 1e-6, (-1, 1)).around(z)
    assert tight == pytest.approx([0.5, 0.5], abs=1e-3) and tight[0] < 0.5 < tight[1]


def test_several_budgets_are_estimated_from_together() -> None:
    tallies = []
    for seed, mechanism in enumerate(
        (
            _make("unary", "piecewise", 3.0),
            _make("direct", "piecewise", 1.0),
            _make("direct", "rounding", 2.0),
        )
    ):
        tallies.append(
            mechanism.tally(
                mechanism.randomize(_people(30_000, seed), np.random.default_rng(100 + seed))
            )
        )
    for method in (None, PerKey(MaximumLikelihood()), MaximumLikelihood()):
        found = warner.estimate(tallies, method)
        for k, label in enumerate("abc"):
            low, high = found.conditional(label).mean().interval(0.9999)
            assert low <= _means()[k] <= high
        assert [row["estimate"] for row in found.frequencies()] == pytest.approx(F, abs=0.06)


def test_merging_stays_inside_a_key() -> None:
    """P3's reduction of a key's values; over the whole channel values of different keys may share
    an estimate.
    """
    data = _facts(_make("direct", "piecewise", 1.0), 5000)
    fit = PerKey(MixtureReduction()).fit(data)
    assert fit.components is not None and 4 <= fit.components < 32 and fit.status is Status.STOPPED
    assert fit.shares.reshape(4, 8).sum(axis=1) == pytest.approx(F, abs=1e-9)
    whole = MixtureReduction().fit(data)
    assert whole.status is Status.STOPPED and whole.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize(
    "method",
    [
        KeyMeans(),
        PerKey(),
        PerKey(MixtureReduction()),
        PerKey(MaximumLikelihood()),
        MixtureReduction(),
        warner.ExpectationMaximization("auto"),
    ],
    ids=repr,
)
def test_every_variant_is_estimated_by_every_method(name: str, method: Any) -> None:
    mechanism = KEYED[name](KEYS, PAY, 2.0)
    people = _people(5000)
    fit = method.fit(
        likelihood_data(
            mechanism.tally(
                mechanism.randomize(
                    people if "several" not in name else [[{"key": "a", "value": 0.5}], []] * 50
                )
            )
        )
    )
    assert fit.probabilities is None or (
        fit.shares.sum() == pytest.approx(1) and fit.shares.min() >= 0
    )


# Several pairs.


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_people_with_several_pairs_are_sampled_and_scaled_back(key: str) -> None:
    mechanism = _make(key, "rounding", 4.0, pairs=2)
    pairs = {k: {"key": k, "value": v} for k, v in zip("abc", (0.5, -0.5, 0.0), strict=True)}
    people = [[pairs["a"], pairs["b"]], [pairs["a"]], [], [pairs["c"]]] * 15_000
    found = warner.estimate(mechanism.tally(mechanism.randomize(people, np.random.default_rng(3))))
    rows = found.frequencies(level=1 - 1e-9)
    assert [row["value"] for row in rows] == list("abcd")
    assert [row["estimate"] for row in rows] == pytest.approx([0.5, 0.25, 0.25, 0.0], abs=0.04)
    assert all(
        row["low"] <= f <= row["high"] for row, f in zip(rows, (0.5, 0.25, 0.25, 0.0), strict=True)
    )
    assert found.conditional("a").mean() == pytest.approx(0.5, abs=0.1) and found.conditional(
        "b"
    ).mean() == pytest.approx(-0.5, abs=0.15)
    assert from_header(mechanism.header).header == mechanism.header


def test_pairs_beyond_the_most_are_drawn_less_often() -> None:
    """With three pairs and pairs=1 a key that everybody holds comes out at 1/3: the truncation that
    the docstring states.
    """
    mechanism = _make("direct", "rounding", 6.0, pairs=1)
    people = [[{"key": k, "value": 0.0} for k in "abc"]] * 20_000
    found = warner.estimate(mechanism.tally(mechanism.randomize(people, np.random.default_rng(3))))
    assert [row["estimate"] for row in found.frequencies()] == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3, 0], abs=0.03
    )


# What is refused.


@pytest.mark.parametrize("key, value", VARIANTS)
def test_answers_outside_are_refused_by_position(key: str, value: str) -> None:
    mechanism, good = _make(key, value), {"key": "a", "value": 0.0}
    wrong = [{"key": "a", "value": v} for v in (1.5, math.nan, "1", None)]
    for bad in (*wrong, {"key": "secret", "value": 0.0}, {"key": "a"}, [good]):
        for values, position in (([bad], 0), ([good, good, bad], 2)):
            with pytest.raises(warner.errors.ValuesError) as caught:
                mechanism.randomize(values)
            assert (
                caught.value.position == position
                and "secret" not in str(caught.value)
                and "1.5" not in str(caught.value)
            )
    for columns in (
        {"key": ["a"]},
        {"key": ["a"], "value": [0.0, 1.0]},
        [],
        {"key": [], "value": []},
        5,
        None,
    ):
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.ArgumentTypeError, warner.errors.EmptyError)
        ):
            mechanism.randomize(columns)
    with pytest.raises(warner.errors.ValuesError, match="pairs="):
        mechanism.randomize([good, [good, good]])


def test_sets_of_pairs_are_refused_by_person() -> None:
    mechanism, good = _make("unary", "rounding", pairs=2), {"key": "a", "value": 0.0}
    for bad in (
        [good, {"key": "secret", "value": 0.0}],
        [good, {"key": "b", "value": -7.5}],
        [good, good],
        5,
    ):
        with pytest.raises(warner.errors.ValuesError) as caught:
            mechanism.randomize([[good], [], [good, {"key": "b", "value": 1}], bad])
        assert (
            caught.value.position == 3
            and "secret" not in str(caught.value)
            and "7.5" not in str(caught.value)
        )
    for bad in ({"key": ["a"], "value": [0.0]}, [], 3):
        with pytest.raises((warner.errors.ArgumentTypeError, warner.errors.EmptyError)):
            mechanism.randomize(bad)


@pytest.mark.parametrize(
    "arguments, name",
    [
        ({"value_epsilon": 1.5}, "value_epsilon"),
        ({"value_epsilon": 0}, "value_epsilon"),
        ({"value_epsilon": -1.0}, "value_epsilon"),
        ({"value_epsilon": math.nan}, "value_epsilon"),
        ({"value_epsilon": "1"}, "value_epsilon"),
        ({"key": "hashed"}, "key"),
        ({"value": "laplace"}, "value"),
        ({"cells": 5}, "cells"),
        ({"value": "piecewise", "cells": 1}, "cells"),
        ({"pairs": 0}, "pairs"),
        ({"pairs": 1.5}, "pairs"),
        ({"keys": ["a", "b"]}, "keys"),
        ({"values": [0, 1]}, "values"),
        ({"values": Categorical(["x", "y"])}, "domain"),
    ],
    ids=repr,
)
def test_arguments_are_refused_by_name(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=rf"^{name}:"
    ):
        KeyValue(**{"keys": KEYS, "values": PAY, "epsilon": 1.0, **arguments})


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, 50.0, "1"], ids=repr)
@pytest.mark.parametrize("key, value", VARIANTS)
def test_budgets_are_refused(epsilon: Any, key: str, value: str) -> None:
    with pytest.raises(
        (warner.errors.BudgetError, warner.errors.ArgumentTypeError), match="epsilon"
    ):
        KeyValue(KEYS, PAY, epsilon, key=key, value=value)


def test_foreign_reports_are_checked() -> None:
    mechanism = _make("unary", "rounding")
    assert mechanism.reports([[0, 1, 2, 0]]).columns["digits"].tolist() == [[0, 1, 2, 0]]
    for bad in ([[0, 1, 3, 0]], [[0, 1, -1, 0]], [[0, 1, 2]], [0, 1, 2, 0], [[0.5, 0, 0, 0]]):
        with pytest.raises(warner.errors.ReportError):
            mechanism.reports(bad)
    with pytest.raises(warner.errors.ReportError):
        _make("direct", "rounding").reports({"key": [0], "value": [2]})


def test_a_tally_whose_keys_do_not_add_up_is_refused() -> None:
    mechanism = _make("unary", "rounding")
    tally = mechanism.tally(mechanism.randomize([{"key": "a", "value": 0.0}] * 5))
    counts = tally.counts.copy()
    counts[:2, 0] += [1, -1]
    with pytest.raises(warner.errors.MismatchError, match="does not fit"):
        warner.estimate(warner.Tally(tally.header, tally.kind, counts, tally.n))


def test_only_reports_of_keys_and_values_have_such_estimates() -> None:
    coin = warner.RandomizedResponse(KEYS, 1.0)
    tally = coin.tally(coin.randomize(["a", "b"]))
    for method in (KeyMeans(), PerKey()):
        with pytest.raises(warner.errors.ArgumentError, match="KeyValue"):
            warner.estimate(tally, method)
    found = warner.estimate(tally)
    for ask in (found.frequencies, lambda: found.conditional("a")):
        with pytest.raises(warner.errors.ArgumentTypeError, match="two attributes"):
            ask()
    assert found.key_rows() == []
    mechanism = _make("unary", "rounding")
    with pytest.raises(warner.errors.ArgumentError, match="key: must be one of 'a', 'b'"):
        warner.estimate(
            mechanism.tally(mechanism.randomize([{"key": "a", "value": 0.0}]))
        ).conditional("z")
    for wrong in (5, "eb", KeyMeans(), PerKey()):
        with pytest.raises(warner.errors.ArgumentTypeError, match="method"):
            PerKey(wrong)


def test_a_distribution_of_two_attributes_is_conditioned_whatever_made_it() -> None:
    both = warner.Product(key=Categorical(["x", "y"]), value=Integers(0, 2))
    coin = warner.RandomizedResponse(both, 4.0)
    answers = [{"key": "x", "value": 0}, {"key": "x", "value": 2}, {"key": "y", "value": 1}] * 3000
    found = warner.estimate(coin.tally(coin.randomize(answers, np.random.default_rng(0))))
    one = found.conditional("x")
    assert one.probabilities == pytest.approx(
        [0.5, 0, 0.5], abs=0.05
    ) and one.mean() == pytest.approx(1, abs=0.1)
    low, high = one.mean().interval(replicates=20, rng=np.random.default_rng(0))
    assert low < 1 < high and one.interval().shape == (3, 2)
    rows = found.frequencies()
    assert [row["estimate"] for row in rows] == pytest.approx([2 / 3, 1 / 3], abs=0.05)
    # Frequencies and shares have closed intervals: no bootstrap, whose limits at a share of 0 are
    # both 0.
    assert [[row["low"], row["high"]] for row in rows] == found.marginal("key").interval().tolist()
    low, high = one.interval()[1]
    assert low == 0 and high > 0.002
    assert one.interval(target="respondents")[0].tolist() != one.interval()[0].tolist()


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_keys_and_values_are_one_attribute_among_several(key: str) -> None:
    pay = KeyValue(
        Categorical(["a", "b"]), Integers(0, 2), 4.0, key=key, value="piecewise", cells=8
    )
    sex = warner.RandomizedResponse(Categorical(["f", "m"]), 4.0)
    both = warner.PerAttribute(
        warner.Product(sex=sex.domain, pay=pay.domain), {"sex": sex, "pay": pay}
    )
    people = [
        {"sex": "f", "pay": {"key": "a", "value": 1}},
        {"sex": "m", "pay": {"key": "b", "value": 2}},
    ] * 5000
    tally = both.tally(both.randomize(people, np.random.default_rng(8)))
    joint = warner.estimate(tally, attributes=["sex", "pay"]).probabilities
    assert joint.reshape(2, 6)[[0, 1], [1, 5]] == pytest.approx([0.5, 0.5], abs=0.1)
    alone = warner.estimate(tally, attributes=["pay"])
    assert alone.estimator == PerKey() and [
        row["mean"] for row in alone.key_rows()
    ] == pytest.approx([1, 2], abs=0.15)


def test_only_whole_reports_are_repeated() -> None:
    with pytest.raises(warner.errors.ArgumentError, match="key='direct'"):
        warner.Repeated(_make("unary", "rounding"), 2)
    twice = warner.Repeated(_make("direct", "rounding"), 2)
    tally = twice.tally(twice.randomize([{"key": "a", "value": 0.0}] * 50))
    assert warner.estimate(tally, MaximumLikelihood()).probabilities.sum() == pytest.approx(1)


# Studies and files.

STUDY = """
[attributes.pay]
keys = ["a", "b"]
interval = { low = -1, high = 1, bins = 8 }
mechanism = "KeyValue"
epsilon = 4.0
"""


@pytest.mark.parametrize(
    "options",
    [
        "",
        'key = "direct"',
        'value = "piecewise"\ncells = 31',
        'key = "direct"\nvalue = "piecewise"\nvalue_epsilon = 2.0',
    ],
)
def test_a_study_asks_for_keys_and_values(options: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY + options)
    (tmp_path / "answers.csv").write_text("pay_value,pay_key\n" + "0.5,a\n-0.5,b\n" * 4000)
    run = CliRunner()
    for command in (
        ["randomize", "study.toml", "answers.csv", "-o", "reports.parquet"],
        ["tally", "reports.parquet", "-o", "tally.json", "--study", "study.toml"],
        ["audit", "study.toml"],
    ):
        done = run.invoke(main, [str(tmp_path / part) if "." in part else part for part in command])
        assert done.exit_code == 0, done.output
    shown = run.invoke(main, ["estimate", str(tmp_path / "tally.json")]).output
    assert "frequency" in shown and "mean" in shown
    rows = [
        line.split(",")
        for line in run.invoke(
            main, ["estimate", str(tmp_path / "tally.json"), "--csv", "-"]
        ).stdout.splitlines()
    ]
    means = {row[1]: float(row[2]) for row in rows if row[0] == "pay (mean of key)"}
    assert means == pytest.approx({"a": 0.5, "b": -0.5}, abs=0.2)


def test_answers_in_files_are_refused_by_column_and_row(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    for text, problem in (
        ("pay_key,pay_value\na,0\nb,7.25\n", "column 'pay_value', data row 2"),
        ("pay_key,pay_value\nsecret,0\n", "column 'pay_key', data row 1"),
        ("key,value\na,0\n", "pay_key, pay_value"),
    ):
        (tmp_path / "answers.csv").write_text(text)
        done = CliRunner().invoke(
            main, ["randomize", str(tmp_path / "study.toml"), str(tmp_path / "answers.csv")]
        )
        assert (
            done.exit_code != 0
            and problem in done.output
            and "secret" not in done.output
            and "7.25" not in done.output
        )


@pytest.mark.parametrize(
    "text, place",
    [
        (STUDY.replace('keys = ["a", "b"]', ""), "pay.keys"),
        (STUDY.replace("KeyValue", "Piecewise"), "pay.keys"),
        (STUDY + "pairs = 2", "pay.pairs"),
        (STUDY + "value_epsilon = 9.0", "value_epsilon"),
        (
            STUDY.replace("interval = { low = -1, high = 1, bins = 8 }", 'values = ["x", "y"]'),
            "pay",
        ),
    ],
)
def test_a_study_that_breaks_a_rule_says_where(text: str, place: str) -> None:
    with pytest.raises(warner.errors.StudyError, match=place):
        warner.Study.parse(text)


def test_a_study_in_which_two_attributes_would_be_read_from_one_column_is_refused() -> None:
    """The command line ended in Arrow's own KeyError."""
    text = """
[attributes.pay]
keys = ["a", "b"]
integers = [0, 1]
mechanism = "KeyValue"
epsilon = 1.0
[attributes.pay_key]
values = ["a", "b"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
    with pytest.raises(warner.errors.StudyError, match="pay_key"):
        warner.Study.parse(text)


@pytest.mark.parametrize("values", [Integers(0, 1), Integers(0, 2), Interval(0, 1, 3)], ids=repr)
@pytest.mark.parametrize("key", ["unary", "direct"])
@pytest.mark.parametrize("value", ["rounding", "piecewise"])
def test_padding_is_sent_as_a_mixture_of_the_domains_values(
    values: Any, key: str, value: str
) -> None:
    """What people without pairs send is the even mixture of padding's columns: chi-square, alpha
    1e-9.

    A program whose padding has the value in the middle fails: of Integers(0, 1) no mixture of the
    two ends is as likely in the middle.
    """
    cells = {} if value == "rounding" else {"cells": 9}
    mechanism = KeyValue(
        Categorical(["a", "b"]), values, 4.0, key=key, value=value, pairs=2, **cells
    )
    n = 40_000
    counts = mechanism.tally(mechanism.randomize([[]] * n, np.random.default_rng(5))).counts
    channel = mechanism.channel()
    even = np.zeros(channel.shape[1])
    even[-values.size :] = 1 / values.size
    law = (channel.matvec(even) * channel.rows_per_report).reshape(counts.shape)
    if key == "unary":  # each key reports by itself
        law, counts = law[-1], counts[-1]
    distance = float(((counts - n * law) ** 2 / (n * law)).sum())
    assert chi2.sf(distance, counts.size - 1) > 1e-9


def test_methods_agree_where_padding_is_half_of_what_is_drawn() -> None:
    """The maximum of the likelihood took padding in the middle for keys that nobody has: 0.40 of
    draws for 0.25, and 0.02 for 0.38.
    """
    mechanism = KeyValue(
        Categorical(["a", "b"]),
        Integers(0, 1),
        4.0,
        key="direct",
        value="piecewise",
        pairs=2,
        cells=15,
    )
    people = [
        [{"key": "a", "value": 0}],
        [{"key": "b", "value": 1}, {"key": "a", "value": 1}],
        [{"key": "b", "value": 1}],
        [{"key": "b", "value": 1}],
    ]
    tally = mechanism.tally(mechanism.randomize(people * 10_000, np.random.default_rng(1)))
    for method in (
        warner.MaximumLikelihood(),
        warner.ExpectationMaximization("auto"),
        warner.estimators.PerKey(),
        warner.EmpiricalBayes(),
    ):
        shares = warner.estimate(tally, method).probabilities.reshape(3, 2)
        assert shares.sum(axis=1) == pytest.approx([0.25, 0.375, 0.375], abs=0.03), method
