"""Keys with values: the published estimators, and what they say where a key has few people."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import KEYED
from tests.spec.mechanisms._key_value import (
    KEYS,
    PAY,
    VARIANTS,
    F,
    _facts,
    _make,
    _means,
    _people,
    _theta,
)
from warner import Categorical, Integers, KeyValue, MaximumLikelihood
from warner.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError, MismatchError
from warner.estimators import KeyMeans, PerKey, Status
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import MixtureReduction
from warner.mechanisms import from_header
from warner.reports.tally_kinds import Counted
from warner.results.from_tally import likelihood_data


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
    assert clipped.keys is not None
    assert clipped.keys.frequencies == pytest.approx(np.clip(f, 1 / n, 1))
    assert np.abs(clipped.keys.means).max() <= 1
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


def test_rounded_values_tell_no_distribution() -> None:
    data = _facts(_make("unary", "rounding"))
    for method in (warner.Inversion("project"), warner.EmpiricalBayes()):
        refused(IdentifiabilityError, "KeyMeans", method.fit, data)
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
        with pytest.raises(IdentifiabilityError, match="conditional"):
            _ = found.probabilities
        assert found.conditional("a").rows() == [] and found.to_frame().num_rows == 4


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


@pytest.mark.crossed(12)
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
                    people if "several" not in name else [[{"key": "a", "value": 0.5}], []] * 50,
                    np.random.default_rng(1),
                )
            )
        )
    )
    assert fit.probabilities is None or (
        fit.shares.sum() == pytest.approx(1) and fit.shares.min() >= 0
    )


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
    assert found.conditional("a").mean() == pytest.approx(0.5, abs=0.1)
    assert found.conditional("b").mean() == pytest.approx(-0.5, abs=0.15)
    assert from_header(mechanism.header).header == mechanism.header


def test_pairs_beyond_the_most_are_drawn_less_often() -> None:
    """With three pairs and pairs=1 a key that everybody holds comes out at 1/3: the truncation that
    the docstring states.
    """
    mechanism = _make("direct", "rounding", 6.0, pairs=1)
    people = [[{"key": k, "value": 0.1} for k in "abc"]] * 20_000
    found = warner.estimate(mechanism.tally(mechanism.randomize(people, np.random.default_rng(3))))
    assert [row["estimate"] for row in found.frequencies()] == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3, 0], abs=0.03
    )


def test_a_tally_whose_keys_do_not_add_up_is_refused() -> None:
    mechanism = _make("unary", "rounding")
    tally = mechanism.tally(mechanism.randomize([{"key": "a", "value": 0.0}] * 5))
    counts = tally.counts.copy()
    counts[:2, 0] += [1, -1]
    with pytest.raises(MismatchError, match="has counts that"):
        warner.estimate(warner.Tally(tally.header, Counted.together(tally.kind, counts, tally.n)))


def test_only_reports_of_keys_and_values_have_such_estimates() -> None:
    coin = warner.RandomizedResponse(KEYS, 1.0)
    tally = coin.tally(coin.randomize(["a", "b"]))
    for method in (KeyMeans(), PerKey()):
        refused(ArgumentError, "KeyValue", warner.estimate, tally, method)
    found = warner.estimate(tally)
    for ask in (found.frequencies, lambda: found.conditional("a")):
        refused(ArgumentTypeError, "must be of two questions", ask)
    assert found.key_rows() == []
    mechanism = _make("unary", "rounding")
    with pytest.raises(ArgumentError, match="key: must be one of the keys 'a', 'b'"):
        warner.estimate(
            mechanism.tally(mechanism.randomize([{"key": "a", "value": 0.0}]))
        ).conditional("z")
    for wrong in (5, "eb", KeyMeans(), PerKey()):
        refused(ArgumentTypeError, "method", PerKey, wrong)


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
