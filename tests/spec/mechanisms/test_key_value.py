"""Keys with values: the published probabilities, exact budgets, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import warner
from tests.refusals import refused
from tests.spec.mechanisms._key_value import KEYS, PAY, VARIANTS, _facts, _make, _means
from warner import Categorical, Integers, Interval, KeyValue, MaximumLikelihood
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    ReportError,
    ValuesError,
)
from warner.estimators import PerKey
from warner.estimators.base import LikelihoodData


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


@pytest.mark.crossed(18)
@pytest.mark.parametrize("key, value", VARIANTS)
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("share", [0.25, 0.7, 1.0])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_epsilon_is_exact_by_enumeration(
    key: str, value: str, size: int, share: float, epsilon: float
) -> None:
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
    assert found.holds and "were checked" in found.method
    assert epsilon - 1e-9 <= found.epsilon <= epsilon


@pytest.mark.parametrize("key, value", VARIANTS)
def test_many_keys_are_audited_key_by_key(key: str, value: str) -> None:
    mechanism = KeyValue(Categorical(list(range(5000))), PAY, 1.0, key=key, value=value)
    found = warner.audit(mechanism)
    assert (
        found.holds
        and found.method == "computed exactly, key by key"
        and 1 - 1e-9 <= found.epsilon <= 1
    )


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


@pytest.mark.parametrize("key, value", VARIANTS)
def test_answers_outside_are_refused_by_position(key: str, value: str) -> None:
    mechanism, good = _make(key, value), {"key": "a", "value": 0.0}
    wrong = [{"key": "a", "value": v} for v in (1.5, math.nan, "1", None)]
    for bad in (*wrong, {"key": "secret", "value": 0.0}, {"key": "a"}, [good]):
        for values, position in (([bad], 0), ([good, good, bad], 2)):
            with pytest.raises(ValuesError) as caught:
                mechanism.randomize(values)
            assert caught.value.position == position
            assert "secret" not in str(caught.value)
            assert "1.5" not in str(caught.value)
    for columns in (
        {"key": ["a"]},
        {"key": ["a"], "value": [0.0, 1.0]},
        [],
        {"key": [], "value": []},
        5,
        None,
    ):
        refused((ArgumentError, ArgumentTypeError, EmptyError), "", mechanism.randomize, columns)
    refused(ValuesError, "pairs=", mechanism.randomize, [good, [good, good]])


def test_sets_of_pairs_are_refused_by_person() -> None:
    mechanism, good = _make("unary", "rounding", pairs=2), {"key": "a", "value": 0.0}
    for bad in (
        [good, {"key": "secret", "value": 0.0}],
        [good, {"key": "b", "value": -7.5}],
        [good, good],
        5,
    ):
        with pytest.raises(ValuesError) as caught:
            mechanism.randomize([[good], [], [good, {"key": "b", "value": 1}], bad])
        assert caught.value.position == 3
        assert "secret" not in str(caught.value)
        assert "7.5" not in str(caught.value)
    for bad in ({"key": ["a"], "value": [0.0]}, [], 3):
        refused((ArgumentTypeError, EmptyError), "", mechanism.randomize, bad)


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
    with pytest.raises((ArgumentError, ArgumentTypeError), match=rf"^{name}:"):
        KeyValue(**{"keys": KEYS, "values": PAY, "epsilon": 1.0, **arguments})


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, 50.0, "1"], ids=repr)
@pytest.mark.parametrize("key, value", VARIANTS)
def test_budgets_are_refused(epsilon: Any, key: str, value: str) -> None:
    with pytest.raises((BudgetError, ArgumentTypeError), match="epsilon"):
        KeyValue(KEYS, PAY, epsilon, key=key, value=value)


def test_foreign_reports_are_checked() -> None:
    mechanism = _make("unary", "rounding")
    assert mechanism.reports([[0, 1, 2, 0]]).columns["digits"].tolist() == [[0, 1, 2, 0]]
    for bad in ([[0, 1, 3, 0]], [[0, 1, -1, 0]], [[0, 1, 2]], [0, 1, 2, 0], [[0.5, 0, 0, 0]]):
        refused(ReportError, "", mechanism.reports, bad)
    refused(ReportError, "", _make("direct", "rounding").reports, {"key": [0], "value": [2]})


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
    with pytest.raises(ArgumentError, match="key='direct'"):
        warner.mechanisms.Repeated(_make("unary", "rounding"), 2)
    twice = warner.mechanisms.Repeated(_make("direct", "rounding"), 2)
    tally = twice.tally(twice.randomize([{"key": "a", "value": 0.0}] * 50))
    assert warner.estimate(tally, MaximumLikelihood()).probabilities.sum() == pytest.approx(1)


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
